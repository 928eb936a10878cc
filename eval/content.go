package eval

import (
	"sync"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// readContent reads a file of any size as a digest. What lies between two looks at it
// is never in memory as a whole.
func (w *World) readContent(l graph.Content) (*reading, error) {
	var d cas.Digest
	s, trusted, err := w.whileStill(l.Path, func(*stat) bool { return false }, func(path string) (n int64, before, after stat, err error) {
		d, n, before, after, err = sumRegular(path)
		return n, before, after, err
	})
	if err != nil {
		return nil, err
	}
	state := graph.ContentState{Type: s.Type}
	if s.Type == graph.Regular {
		w.Count.BytesHashed.Add(s.Size)
		state.Executable, state.Size, state.Digest = s.Exec, s.Size, d
	}
	return &reading{value: state, print: s.Fingerprint, trusted: trusted}, nil
}

// pieceBytes is how much of a file is in memory at a time. A file leaf reads no more
// than that, so that both leaves give one digest to a file that both can read.
const pieceBytes = graph.MaxFileBytes

// pieces are kept, because one for each of ten thousand files would be most of what a
// walk allocates.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

var joinedPieces = cas.Derive("mwp content v1")

// sumPieces returns the digest of what read yields up to its end, and of how many
// bytes. Of one piece it is BLAKE3 of the bytes; each further piece makes a new digest
// from the last one and its own. It gives up where there is more than size, as in a
// file that is appended to all the time.
func sumPieces(read func([]byte) (int, error), size int64) (d cas.Digest, n int64, err error) {
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	for {
		filled, err := fill(read, buf[:])
		if err != nil {
			return cas.Digest{}, 0, err
		}
		piece := cas.Sum(buf[:filled])
		switch {
		case n == 0:
			d = piece
		case filled > 0:
			d = cas.Digest(joinedPieces.Key(append(d[:], piece[:]...)))
		}
		if n += int64(filled); filled < len(buf) || n > size {
			return d, n, nil
		}
	}
}

// fill reads until b is full or there is no more, which is the only short read: where
// one piece ends must not depend on how much the system hands out at a time.
func fill(read func([]byte) (int, error), b []byte) (int, error) {
	filled := 0
	for filled < len(b) {
		n, err := read(b[filled:])
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		filled += n
	}
	return filled, nil
}
