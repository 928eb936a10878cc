package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	packSuffix = ".pack"
	// touchAfter is how old a file's mtime must be before a use renews it: often
	// enough for eviction by least recent use, seldom enough to cost nothing.
	touchAfter = time.Hour
)

// A segment that was asked manyLookups times is read into memory, unless it is larger
// than MaxSize: a map asks a hundred times, and a walk of a tree tens of thousands,
// each of which would otherwise read half a dozen places of the file. A megabyte takes
// about as long as forty lookups.
const manyLookups = 512

// errUnusable is what a segment that could not be opened answers from then on; the
// reason is told once.
var errUnusable = errors.New("unusable segment")

var errForeign = errors.New("written by another version of the format")

// segmentName is the name of a segment. Names sort in the order in which segments
// were made: that order is what makes one action newer than another.
func segmentName(stamp, random uint64) string {
	return fmt.Sprintf("%016x-%016x%s", stamp, random, packSuffix)
}

// parseSegmentName returns the time stamp in a segment's name.
func parseSegmentName(name string) (stamp uint64, ok bool) {
	base, ok := strings.CutSuffix(name, packSuffix)
	if !ok || len(base) != 33 || base[16] != '-' || strings.ToLower(base) != base {
		return 0, false
	}
	stamp, err := strconv.ParseUint(base[:16], 16, 64)
	if err != nil {
		return 0, false
	}
	_, err = strconv.ParseUint(base[17:], 16, 64)
	return stamp, err == nil
}

// segment is a sealed file of records. It is opened when it is first asked, and
// from then on only its name and its records' bytes can change, by damage.
type segment struct {
	dir, name string
	stamp     uint64
	// keep says that the file stays open between reads.
	keep bool

	mu     sync.Mutex // guards the fields below
	ready  bool       // size and index are set and stay
	broken bool
	file   *os.File
	size   int64
	mtime  time.Time
	index  index
	// asked counts the lookups, and memory is the whole segment after many, until
	// release.
	asked  int
	memory *bytes.Reader
}

func (s *segment) path() string { return filepath.Join(s.dir, s.name) }

// open reads the index unless that is done, and returns a reader of the file and
// what to do with it afterwards. A file that is gone is an fs.ErrNotExist and may
// be asked for again; any other failure sticks.
func (s *segment) open() (io.ReaderAt, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil, nil, errUnusable
	}
	if s.memory != nil {
		return s.memory, func() {}, nil
	}
	f := s.file
	if f == nil {
		var err error
		if f, err = os.Open(s.path()); err != nil {
			return nil, nil, err
		}
	}
	done := func() {}
	if s.keep {
		s.file = f
	} else if f != s.file {
		done = func() { f.Close() }
	}
	if !s.ready {
		if err := s.load(f); err != nil {
			f.Close()
			s.file, s.broken = nil, true
			return nil, nil, err
		}
		s.ready = true
	}
	if s.asked++; s.asked == manyLookups && s.size <= MaxSize {
		s.remember(f)
	}
	return f, done, nil
}

// remember reads the whole segment. Where that fails, or the segment turns out to be
// damaged, it is read piece by piece as before.
func (s *segment) remember(f *os.File) {
	b := make([]byte, s.size)
	if readAt(f, b, 0) != nil {
		return
	}
	r := bytes.NewReader(b)
	if x, err := readIndex(r, s.size, s.size); err == nil {
		s.index, s.memory = x, r
	}
}

// release lets go of the memory that many lookups took.
func (s *segment) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The index that was read with it lies in memory of its own and stays.
	s.memory, s.asked = nil, 0
}

// load reads the index of an open file, by a scan when there is no good one.
func (s *segment) load(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	s.size, s.mtime = info.Size(), info.ModTime()
	s.index, err = loadSegment(f, s.size, loadIndex)
	return err
}

// loadSegment checks the magic and returns the index, read or made by a scan.
func loadSegment(r io.ReaderAt, size, limit int64) (index, error) {
	if err := checkMagic(r); err != nil {
		return index{}, err
	}
	x, err := readIndex(r, size, limit)
	if errors.Is(err, errDamaged) {
		x, err = scanIndex(r, size)
		if errors.Is(err, errDamaged) {
			err = nil // the records before the first bad one count
		}
	}
	return x, err
}

func checkMagic(r io.ReaderAt) error {
	var magic [len(packMagic)]byte
	if err := readAt(r, magic[:], 0); err != nil {
		return err
	}
	return compareMagic(magic[:], packMagic)
}

// compareMagic tells another version of a format, which differs in the last byte,
// from bytes that are no such file at all.
func compareMagic(got []byte, want string) error {
	name := want[:len(want)-1]
	switch {
	case string(got) == want:
		return nil
	case string(got[:len(name)]) == name:
		return errForeign
	}
	return damaged("the file does not begin with %q", name)
}

// find returns the places of a key's records, oldest first, with a reader for
// them. The caller calls done when there is no error.
func (s *segment) find(kind recordKind, key *[32]byte) (r io.ReaderAt, at []place, done func(), err error) {
	r, done, err = s.open()
	if err != nil {
		return nil, nil, nil, err
	}
	s.mu.Lock()
	t := *s.index.table(kind)
	s.mu.Unlock()
	if t.mem == nil {
		t.r = r // a file that is not kept open is another one each time
	}
	at, err = t.find(key)
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return r, at, done, nil
}

// record reads the bytes of the record at a place, unchecked.
func (s *segment) record(r io.ReaderAt, at place) ([]byte, error) {
	if at.off < 0 || at.length < recordOverhead || at.length > recordOverhead+MaxSize || at.off > s.size-int64(at.length) {
		return nil, damaged("the index names %d bytes at byte %d", at.length, at.off)
	}
	b := make([]byte, at.length)
	return b, readAt(r, b, at.off)
}

// value returns the value of d if the segment has a good one. Without an error
// and without the value, ok is false.
func (s *segment) value(d Digest, c *compressor) (b []byte, ok bool, err error) {
	r, places, done, err := s.find(valueRecord, (*[32]byte)(&d))
	if err != nil {
		return nil, false, err
	}
	defer done()
	for _, at := range places {
		var raw []byte
		if raw, err = s.record(r, at); err != nil {
			continue
		}
		if b, err = openValue(raw, d, c); err == nil {
			return b, true, nil
		}
		err = fmt.Errorf("%s, byte %d: %w", s.name, at.off, err)
	}
	return nil, false, err
}

// openValue returns the value in a record. The digest is the check; the tag would
// only hash the same bytes again.
func openValue(record []byte, d Digest, c *compressor) ([]byte, error) {
	h, p, err := splitRecord(record)
	if err != nil {
		return nil, err
	}
	if h.kind != valueRecord || h.key != d {
		return nil, damaged("another record than the index says")
	}
	b, err := c.unpack(p)
	if err != nil {
		return nil, err
	}
	if Sum(b) != d {
		return nil, damaged("value does not match its digest")
	}
	return b, nil
}

// actions passes the good actions of k to each, newest first, until it returns
// false. The error is that of the last bad record.
func (s *segment) actions(k Key, c *compressor, each func(b []byte) bool) error {
	r, places, done, err := s.find(actionRecord, (*[32]byte)(&k))
	if err != nil {
		return err
	}
	defer done()
	for i := len(places) - 1; i >= 0; i-- {
		raw, e := s.record(r, places[i])
		var b []byte
		if e == nil {
			b, e = openAction(raw, k, c)
		}
		if e != nil {
			err = fmt.Errorf("%s, byte %d: %w", s.name, places[i].off, e)
			continue
		}
		if !each(b) {
			return nil
		}
	}
	return err
}

// openAction returns the action in a record.
func openAction(record []byte, k Key, c *compressor) ([]byte, error) {
	h, p, err := parseRecord(record)
	if err != nil {
		return nil, err
	}
	if h.kind != actionRecord || h.key != k {
		return nil, damaged("another record than the index says")
	}
	return c.unpack(p)
}

// touch renews the mtime when it is old or in the future, so that what is used is
// evicted last. Failing is as good as not having tried.
func (s *segment) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready && stale(s.mtime, now) && os.Chtimes(s.path(), now, now) == nil {
		s.mtime = now
	}
}

// stale reports whether a use at now should renew mtime.
func stale(mtime, now time.Time) bool {
	age := now.Sub(mtime)
	return age > touchAfter || age < -touchAfter
}

// close closes the file; a later read opens it again.
func (s *segment) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = nil
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
