package cas

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The layout of an archive, in bytes; numbers are little-endian.
//
//	0   8   magic
//	8   n   one DEFLATE stream of entries: kind (1), length of the payload (4), digest
//	        or key (32), payload
//	    32  BLAKE3 hash of everything before it
//	    16  who vouches for it, in ASCII, padded with zeros
//	    32  that one's code over the two fields before it, zeros where nobody does
//
// An archive has no names, paths or times, so there is nothing in it to escape with,
// and equal entries give equal bytes. The hash is in front of the code, so that one
// pass over the file is enough for both and damage is told from another's archive.
const (
	archiveMagic = "mwparch\x01"
	entryHead    = 1 + 4 + 32
	trailerSize  = len(Digest{}) + signerSize + len(Digest{})
	signerSize   = 16
	// maxUnpacked bounds what an archive may unpack to: four times the default size of
	// a cache.
	maxUnpacked = 1 << 30
	// MaxEntry is the size in bytes of the largest entry: 16 MiB, which are in memory as a
	// whole. Summaries of ten thousand directories have a few.
	MaxEntry = 16 << 20
	// MaxArchive is the size in bytes of the largest archive that is read.
	MaxArchive = maxUnpacked
)

// EntryKind says what an entry of an archive is.
type EntryKind uint8

// The kinds of entry: a value by its digest, an action by its key, a slot by its key.
const (
	ValueEntry  EntryKind = EntryKind(valueRecord)
	ActionEntry EntryKind = EntryKind(actionRecord)
	SlotEntry   EntryKind = 3
)

// Entry is one thing in an archive. ID is the digest of a value, the key of others.
type Entry struct {
	Kind    EntryKind
	ID      [32]byte
	Payload []byte
}

// Seal says who vouches for an archive: a name of at most 16 bytes, and a code that only
// who has the key can make. The zero Seal is nobody's.
type Seal struct {
	Signer string
	Code   Digest
}

// ArchiveWriter writes the part of a cache that goes to another machine.
type ArchiveWriter struct {
	out  *bufio.Writer
	sum  Summer
	size int64
	z    *flate.Writer
}

// NewArchiveWriter begins an archive. Nothing is complete before Close.
func NewArchiveWriter(w io.Writer) *ArchiveWriter {
	a := &ArchiveWriter{out: bufio.NewWriterSize(w, writeChunk)}
	a.emit([]byte(archiveMagic))
	a.z, _ = flate.NewWriter(emitter{a}, flate.DefaultCompression) // fails for unknown levels only
	return a
}

type emitter struct{ a *ArchiveWriter }

func (e emitter) Write(b []byte) (int, error) { return len(b), e.a.emit(b) }

func (a *ArchiveWriter) emit(b []byte) error {
	a.sum.Write(b)
	a.size += int64(len(b))
	_, err := a.out.Write(b)
	return err
}

// Add appends an entry. Two archives with the same entries in the same order are equal.
func (a *ArchiveWriter) Add(e Entry) error {
	if len(e.Payload) > MaxEntry {
		return fmt.Errorf("an entry of %d bytes, the most that an archive takes is %d", len(e.Payload), int64(MaxEntry))
	}
	head := make([]byte, 0, entryHead)
	head = append(head, byte(e.Kind))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(e.Payload)))
	head = append(head, e.ID[:]...)
	if _, err := a.z.Write(head); err != nil {
		return err
	}
	_, err := a.z.Write(e.Payload)
	return err
}

// Close ends the archive and returns its size in bytes. sign is handed the hash of
// everything and may vouch for it; nil leaves that to nobody.
func (a *ArchiveWriter) Close(sign func(Digest) Seal) (int64, error) {
	if err := a.z.Close(); err != nil {
		return a.size, err
	}
	d := a.sum.Digest()
	var s Seal
	if sign != nil {
		s = sign(d)
	}
	if len(s.Signer) > signerSize {
		panic("cas.ArchiveWriter.Close: a signer's name of more than 16 bytes")
	}
	trailer := make([]byte, trailerSize)
	copy(trailer, d[:])
	copy(trailer[len(d):], s.Signer)
	copy(trailer[len(d)+signerSize:], s.Code[:])
	_, err := a.out.Write(trailer)
	if err == nil {
		err = a.out.Flush()
	}
	return a.size + int64(trailerSize), err
}

// Archive is an archive whose bytes are those that were written. Whether to believe
// what they say is the caller's to decide, by the seal.
type Archive struct {
	// Digest is the hash of everything but the trailer, Seal who vouches for it.
	Digest Digest
	Seal   Seal

	r    io.ReaderAt
	body int64 // where the entries end
	// limit is how many bytes the entries may unpack to.
	limit int64
}

// ErrNoArchive is what is wrong with bytes that no writer of this format produced, or
// that were changed or cut off since. The message has the reason.
var ErrNoArchive = errors.New("no intact archive")

func noArchive(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNoArchive, fmt.Errorf(format, args...))
}

// OpenArchive checks the hash of an archive of size bytes. An error of r is returned as
// it is; every other one is an ErrNoArchive.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	smallest := int64(len(archiveMagic) + trailerSize)
	if size < smallest {
		return nil, noArchive("%d bytes are none, the smallest has %d", size, smallest)
	}
	if size > MaxArchive {
		return nil, noArchive("%d bytes are more than the %d that are read", size, int64(MaxArchive))
	}
	a := &Archive{r: r, body: size - int64(trailerSize), limit: maxUnpacked}
	var magic [len(archiveMagic)]byte
	if err := readAt(r, magic[:], 0); err != nil {
		return nil, err
	}
	switch err := compareMagic(magic[:], archiveMagic); {
	case errors.Is(err, errForeign):
		return nil, noArchive("%w", err)
	case err != nil:
		return nil, noArchive("it does not begin as an archive of a cache does")
	}
	var sum Summer
	buf := make([]byte, writeChunk)
	for off := int64(0); off < a.body; {
		b := buf[:min(int64(len(buf)), a.body-off)]
		if err := readAt(r, b, off); err != nil {
			return nil, err
		}
		sum.Write(b)
		off += int64(len(b))
	}
	trailer := make([]byte, trailerSize)
	if err := readAt(r, trailer, a.body); err != nil {
		return nil, err
	}
	a.Digest = sum.Digest()
	if a.Digest != Digest(trailer[:len(Digest{})]) {
		return nil, noArchive("it does not match its hash: it was cut off or changed")
	}
	name := trailer[len(Digest{}) : len(Digest{})+signerSize]
	a.Seal = Seal{Signer: string(bytes.TrimRight(name, "\x00")), Code: Digest(trailer[len(Digest{})+signerSize:])}
	return a, nil
}

// Each passes every entry to do, in the order in which they were added, and stops at
// its first error. Values match their digests. A payload is do's to keep. Whatever no
// writer produces is an ErrNoArchive, and whoever wants all or nothing goes through the
// archive twice.
func (a *Archive) Each(do func(Entry) error) error {
	packed := bufio.NewReaderSize(io.NewSectionReader(a.r, int64(len(archiveMagic)), a.body-int64(len(archiveMagic))), writeChunk)
	z := flate.NewReader(packed)
	left := a.limit
	for {
		e, err := readEntry(z, &left)
		if left < 0 {
			return noArchive("it unpacks to more than %d bytes", a.limit)
		}
		if err == io.EOF {
			if _, err := packed.ReadByte(); err != io.EOF {
				return noArchive("there are bytes behind the last entry")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(e); err != nil {
			return err
		}
	}
}

// readEntry reads one entry, io.EOF at the end. left is how many bytes may still come;
// an entry that makes it negative is not read.
func readEntry(z io.Reader, left *int64) (Entry, error) {
	var head [entryHead]byte
	switch _, err := io.ReadFull(z, head[:]); {
	case err == io.EOF:
		return Entry{}, err
	case err != nil:
		return Entry{}, noArchive("an entry is cut off: %w", err)
	}
	e := Entry{Kind: EntryKind(head[0]), ID: [32]byte(head[5:])}
	n := int64(binary.LittleEndian.Uint32(head[1:]))
	if e.Kind < ValueEntry || e.Kind > SlotEntry || n > MaxEntry {
		return e, noArchive("an entry of kind %d with %d bytes", e.Kind, n)
	}
	if *left -= n + entryHead; *left < 0 {
		return e, nil
	}
	var err error
	if e.Payload, err = readSome(z, int(n)); err != nil {
		return e, noArchive("an entry is cut off: %w", err)
	}
	if e.Kind == ValueEntry && Sum(e.Payload) != Digest(e.ID) {
		return e, noArchive("the value %s is another one", Digest(e.ID))
	}
	return e, nil
}

// readSome reads n bytes. Memory grows with what is there and not with what was claimed.
func readSome(z io.Reader, n int) ([]byte, error) {
	if n <= writeChunk {
		b := make([]byte, n)
		_, err := io.ReadFull(z, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(z, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}
