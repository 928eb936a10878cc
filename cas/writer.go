package cas

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const tempPrefix = "tmp-"

// temp is a file that does not have its name yet: readers never see a half of it.
type temp struct {
	*os.File
}

// newTemp creates a temporary file in dir, which is prepared and tried again when
// it does not exist; so the usual case costs no look at the directory.
func newTemp(dir string, prepare func() error) (temp, error) {
	for prepared := false; ; {
		name := filepath.Join(dir, tempPrefix+strconv.FormatUint(rand.Uint64(), 16))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return temp{f}, nil
		case errors.Is(err, fs.ErrExist):
		case errors.Is(err, fs.ErrNotExist) && !prepared:
			if err := prepare(); err != nil {
				return temp{}, err
			}
			prepared = true
		default:
			return temp{}, err
		}
	}
}

// rename gives the file its name, replacing what has it. Nothing is flushed to the
// device: after a power failure a file may be empty, which is a miss.
func (t temp) rename(name string) error {
	if err := t.Close(); err != nil {
		os.Remove(t.Name())
		return err
	}
	if err := os.Rename(t.Name(), name); err != nil {
		os.Remove(t.Name())
		return err
	}
	return nil
}

// abandon removes the file.
func (t temp) abandon() {
	t.Close()
	os.Remove(t.Name())
}

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// newFile writes a whole file in dir under a temporary name and returns it.
func newFile(dir string, b []byte, prepare func() error) (temp, error) {
	t, err := newTemp(dir, prepare)
	if err != nil {
		return temp{}, err
	}
	if _, err := t.Write(b); err != nil {
		t.abandon()
		return temp{}, err
	}
	return t, nil
}

// segmentWriter writes the bytes of one segment.
type segmentWriter struct {
	out             io.Writer
	buf             []byte // not yet written
	off             int64  // of the next record
	values, actions []indexed
}

// writeChunk is how many bytes are gathered before a write: a usual segment is
// written at once, a large one does not need its own size in memory.
const writeChunk = 256 << 10

func newSegmentWriter(out io.Writer) *segmentWriter {
	return &segmentWriter{out: out, buf: []byte(packMagic), off: int64(len(packMagic))}
}

// add appends a record.
func (w *segmentWriter) add(kind recordKind, key *[32]byte, p payload) error {
	before := len(w.buf)
	w.buf = appendRecord(w.buf, kind, key, p)
	e := indexed{key: *key, place: place{off: w.off, length: len(w.buf) - before}}
	if kind == valueRecord {
		w.values = append(w.values, e)
	} else {
		w.actions = append(w.actions, e)
	}
	w.off += int64(e.length)
	if len(w.buf) < writeChunk {
		return nil
	}
	return w.drain()
}

// seal appends index and footer.
func (w *segmentWriter) seal() error {
	w.buf = appendSeal(w.buf, w.off, newTable(w.values), newTable(w.actions))
	return w.drain()
}

func (w *segmentWriter) drain() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// writeSegment writes a segment of the records that fill adds, under a name.
func writeSegment(dir string, prepare func() error, fill func(*segmentWriter) error, name string) error {
	t, err := newTemp(dir, prepare)
	if err != nil {
		return err
	}
	w := newSegmentWriter(t)
	if err = fill(w); err == nil {
		err = w.seal()
	}
	if err != nil {
		t.abandon()
		return err
	}
	return t.rename(filepath.Join(dir, name))
}
