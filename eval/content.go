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

// pieceBytes is how much of a file is in memory at a time.
const pieceBytes = 128 << 10

// summers are kept, because a buffer and a hasher for each of ten thousand files would
// be most of what a walk allocates.
var summers = sync.Pool{New: func() any { return new(summer) }}

type summer struct {
	buf [pieceBytes]byte
	sum cas.Summer
}

// sumPieces returns the digest of what read yields up to its end, and of how many
// bytes. It gives up where there is more than size, as in a file that is appended to
// all the time.
func sumPieces(read func([]byte) (int, error), size int64) (d cas.Digest, n int64, err error) {
	s := summers.Get().(*summer)
	defer summers.Put(s)
	for {
		filled, err := fill(read, s.buf[:])
		if err != nil {
			s.sum.Digest()
			return cas.Digest{}, 0, err
		}
		if n += int64(filled); n == int64(filled) && filled < len(s.buf) {
			return cas.Sum(s.buf[:filled]), n, nil
		}
		if s.sum.Write(s.buf[:filled]); filled < len(s.buf) || n > size {
			return s.sum.Digest(), n, nil
		}
	}
}

// fill reads until b is full or there is no more, which is the only short read.
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
