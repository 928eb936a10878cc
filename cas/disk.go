package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// maxSegments is the default for DiskOptions.MaxSegments: a miss asks every
	// segment, and 32 cost less than a stat of the sources of one map.
	maxSegments = 32
	// maxOpen bounds the files that stay open. There are more segments only when
	// merging fails again and again; the rest are opened for each read.
	maxOpen = 64
	// compressTotal is the number of pending bytes from which a flush compresses.
	// Somebody waits for the process to end, and a flush of 8, 64 and 256 KiB that
	// compresses takes 0.5, 1.8 and 6 ms longer, in a fresh process on two cores. A
	// merge has to unpack what is compressed, so it takes only about a tenth longer
	// when it compresses what was left raw. What remains is disk: 32 segments that
	// wait for a merge hold some 8 MiB, 3 % of the default size of a cache.
	compressTotal = 256 << 10
	// maxPending bounds the bytes kept for another try after a failed flush.
	maxPending = 64 << 20
)

// DiskOptions are the choices of OpenDisk. The zero value is the usual store.
type DiskOptions struct {
	// Now is the clock, time.Now when nil. It names segments and decides which are
	// touched.
	Now func() time.Time

	// ReadOnly keeps the store from writing, touching and merging. What was put
	// stays readable in this process, until a Flush finds more than 64 MiB of it.
	ReadOnly bool

	// MaxSegments is how many segments may be left by a Flush before they are
	// merged, 32 when zero.
	MaxSegments int

	// Observe, when not nil, is told why a record or segment that is there could
	// not be used. It may be called from several goroutines and must not call the
	// store.
	Observe func(error)
}

// Disk is a store in pack segments. A segment is written by exactly one process,
// sealed by a rename and never changed, so stores of any number of processes
// share a directory without locks.
type Disk struct {
	dir     string
	prepare func() error
	// check, when set, may refuse to write.
	check   func() error
	o       DiskOptions
	deflate compressor
	// large is the size in bytes from which a segment is merged no more.
	large int64
	// step is called at the points where a flush or merge may be interrupted; tests
	// look around or end the process there.
	step func(string)

	flushing sync.Mutex // held by Flush and Close: one segment is written at a time

	mu       sync.RWMutex // guards the fields below; read-held while records are read
	pending  pending
	segments []*segment // newest first
	listed   bool
	closed   bool
}

var _ Store = (*Disk)(nil)

// OpenDisk returns the store in dir, usually ".../cache/v1/packs". It never fails
// and does no I/O: a directory that is absent, unreadable or holds other things
// is an empty store.
func OpenDisk(dir string, o DiskOptions) *Disk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxSegments <= 0 {
		o.MaxSegments = maxSegments
	}
	return &Disk{dir: dir, o: o, large: mergeSize, prepare: func() error { return os.MkdirAll(dir, 0o777) }}
}

// Value implements Store.
func (d *Disk) Value(g Digest) ([]byte, error) {
	var found []byte
	var why error
	d.read(func() {
		why = miss("no such value")
		if b, ok := d.pending.value(g); ok {
			if found, why = checked(g, b); why == nil {
				return
			}
		}
	}, func(s *segment) (bool, error) {
		b, ok, err := s.value(g, &d.deflate)
		if ok {
			found, why = b, nil
			d.touch(s)
			return false, nil
		}
		if err != nil && err != errUnusable && !errors.Is(err, fs.ErrNotExist) {
			why = miss(err.Error())
		}
		return true, err
	}, func() bool { return why != nil })
	return found, why
}

// PutValue implements Store.
func (d *Disk) PutValue(g Digest, b []byte) error {
	if len(b) > MaxSize {
		return errTooLarge
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.putValue(g, b)
	return nil
}

// Actions implements Store.
func (d *Disk) Actions(k Key) [][]byte {
	var out [][]byte
	d.read(func() {
		out = d.pending.newest(k)
	}, func(s *segment) (bool, error) {
		used := false
		err := s.actions(k, &d.deflate, func(b []byte) bool {
			used = true
			if !slices.ContainsFunc(out, func(o []byte) bool { return bytes.Equal(o, b) }) {
				out = append(out, b)
			}
			return len(out) < MaxActions
		})
		if used {
			d.touch(s)
		}
		return len(out) < MaxActions, err
	}, func() bool { return len(out) < MaxActions })
	return out
}

// PutAction implements Store.
func (d *Disk) PutAction(k Key, b []byte) error {
	if len(b) > MaxSize {
		return errTooLarge
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.putAction(k, b)
	return nil
}

// Close implements Store.
func (d *Disk) Close() error {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.segments {
		s.close()
	}
	d.pending, d.segments, d.listed, d.closed = pending{}, nil, true, true
	d.deflate.close()
	return nil
}

// read asks the pending entries through start and then, while more says so, the
// segments through ask, newest first, until ask returns false. When a listed
// segment is gone, another process has merged it: the directory is listed again
// and the whole question asked once more; what is gone then is a miss.
func (d *Disk) read(start func(), ask func(*segment) (bool, error), more func() bool) {
	if d.settled(start, more) {
		return
	}
	for again := range 2 {
		d.list(again > 0)
		if !d.readOnce(start, ask, more) {
			return
		}
	}
}

// settled reports whether the pending entries answer the question, so that the
// disk is not touched.
func (d *Disk) settled(start func(), more func() bool) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	start()
	return !more()
}

// readOnce reports whether a segment was gone.
func (d *Disk) readOnce(start func(), ask func(*segment) (bool, error), more func() bool) (gone bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	start()
	if !more() {
		return false
	}
	for _, s := range d.segments {
		on, err := ask(s)
		if errors.Is(err, fs.ErrNotExist) {
			gone = true
		} else if err != nil && err != errUnusable {
			d.observe(fmt.Errorf("%s: %w", s.name, err))
		}
		if !on {
			return false
		}
	}
	return gone
}

// list lists the directory unless that was done, or anew.
func (d *Disk) list(anew bool) {
	d.mu.RLock()
	known := d.listed
	d.mu.RUnlock()
	if known && !anew {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.listed && !anew {
		return
	}
	d.listed = true
	files, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.observe(err)
	}
	old := map[string]*segment{}
	for _, s := range d.segments {
		old[s.name] = s
	}
	d.segments = nil
	for _, f := range slices.Backward(files) {
		stamp, ok := parseSegmentName(f.Name())
		if !ok || !f.Type().IsRegular() {
			// Opening a pipe of that name would wait for a writer.
			continue
		}
		s := old[f.Name()]
		if s == nil {
			s = &segment{dir: d.dir, name: f.Name(), stamp: stamp}
		}
		delete(old, f.Name())
		if s.keep = len(d.segments) < maxOpen; !s.keep {
			s.close()
		}
		d.segments = append(d.segments, s)
	}
	for _, s := range old {
		s.close()
	}
}

// Flush implements Store. It writes everything pending as one segment, without
// what the directory already has, and merges when there are too many segments.
func (d *Disk) Flush() error {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	defer d.release()
	d.mu.RLock()
	n, entries := len(d.pending.log), d.pending.live()
	d.mu.RUnlock()
	if n == 0 {
		return nil
	}
	if d.o.ReadOnly {
		d.limit()
		return nil
	}
	if d.check != nil {
		if err := d.check(); err != nil {
			d.limit()
			return fmt.Errorf("write to the store: %w", err)
		}
	}
	d.list(true)
	entries = d.missing(entries)
	if len(entries) > 0 {
		d.stepped("writing")
		if err := d.write(entries); err != nil {
			d.limit()
			return fmt.Errorf("write cache segment: %w", err)
		}
	}
	d.mu.Lock()
	d.pending.drop(n)
	d.mu.Unlock()
	if err := d.merge(); err != nil {
		return fmt.Errorf("merge cache segments: %w", err)
	}
	return nil
}

// release lets go of what many lookups read into memory: an answer has been given, and
// the next may be a long time off.
func (d *Disk) release() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, s := range d.segments {
		s.release()
	}
}

// missing returns the entries that have to be written. A record counts as there
// only after it was read and checked, so a damaged one heals; its segment is
// touched, because what is about to be written may name it.
func (d *Disk) missing(entries []entry) []entry {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]entry, 0, len(entries))
	decided := make(map[Key]bool, len(entries))
	for _, e := range entries {
		switch e.kind {
		case valueRecord:
			// A value whose digest is another one could never be read.
			if Sum(e.b) != e.key || d.hasValue(e.key) {
				continue
			}
		case actionRecord:
			// Only the oldest pending action of a key can repeat the newest recorded
			// one without changing their order.
			first := !decided[e.key]
			decided[e.key] = true
			if first && d.newestIs(e.key, e.b) {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func (d *Disk) hasValue(g Digest) bool {
	for _, s := range d.segments {
		if _, ok, _ := s.value(g, &d.deflate); ok {
			d.touch(s)
			return true
		}
	}
	return false
}

func (d *Disk) newestIs(k Key, b []byte) bool {
	for _, s := range d.segments {
		any, equal := false, false
		// A bad record is left out by every reader, so the next one is the newest.
		s.actions(k, &d.deflate, func(got []byte) bool {
			any, equal = true, bytes.Equal(got, b)
			return false
		})
		if equal {
			d.touch(s)
		}
		if any {
			return equal
		}
	}
	return false
}

// write writes entries as the newest segment.
func (d *Disk) write(entries []entry) error {
	total := 0
	for _, e := range entries {
		total += len(e.b)
	}
	var pack packer
	fill := func(w *segmentWriter) error {
		for len(entries) > 0 {
			batch := entries[:min(len(entries), packBatch)]
			entries = entries[len(batch):]
			for i, p := range pack.all(batch, total >= compressTotal) {
				if err := w.add(batch[i].kind, &batch[i].key, p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	stamp := uint64(max(d.o.Now().UnixNano(), 0))
	d.mu.RLock()
	if len(d.segments) > 0 {
		stamp = after(d.segments[0].stamp, stamp)
	}
	d.mu.RUnlock()
	s := &segment{dir: d.dir, name: segmentName(stamp, rand.Uint64()), stamp: stamp, keep: true}
	if err := writeSegment(d.dir, d.prepare, fill, s.name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments = slices.Insert(d.segments, 0, s)
	return nil
}

// after returns a stamp larger than newest, now if that is. A clock that was set
// back must not make new actions look old.
func after(newest, now uint64) uint64 {
	if now > newest || newest == math.MaxUint64 {
		return now
	}
	return newest + 1
}

// limit forgets everything pending when there is too much of it. It is called when
// a flush could not write: a long run on a full disk must not fill the memory too.
func (d *Disk) limit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending.bytes > maxPending {
		d.pending = pending{}
	}
}

func (d *Disk) touch(s *segment) {
	if !d.o.ReadOnly {
		s.touch(d.o.Now())
	}
}

func (d *Disk) observe(err error) {
	if d.o.Observe != nil {
		d.o.Observe(err)
	}
}
