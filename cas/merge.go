package cas

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

const (
	// mergeLock is the lock file in the directory of segments.
	mergeLock = "lock"
	// mergeSize is the size in bytes from which a segment is merged no more: records
	// are then copied a bounded number of times, and eviction, which takes whole
	// segments, has a part of the store to choose instead of all of it. It is a
	// quarter of the default size of a cache.
	mergeSize = 64 << 20
)

// merge makes one segment of many when there are more than MaxSegments. It does
// nothing when another process is at it. The new segment is in place before an old
// one is removed, so an interruption at any point leaves every record readable.
func (d *Disk) merge() error {
	if len(d.mergeable()) <= d.o.MaxSegments {
		return nil
	}
	unlock, ok, err := TryLock(filepath.Join(d.dir, mergeLock))
	if err == nil && !ok {
		return nil
	}
	// The lock only saves double work. Where locks do not work at all, two merges
	// of the same segments make two equal results, and the next merge one of them.
	if err == nil {
		defer unlock()
	}
	d.list(true)
	inputs := d.mergeable()
	if len(inputs) <= d.o.MaxSegments {
		return nil
	}
	m := merger{deflate: &d.deflate, inputs: reopened(inputs)}
	defer m.close()
	if err := m.gather(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // evicted while we looked; the next flush tries again
		}
		return err
	}
	d.stepped("gathered")
	merged, err := m.write(d)
	if err != nil {
		return err
	}
	d.stepped("renamed")
	m.close()
	d.replace(inputs, merged)
	for i, s := range inputs {
		// What cannot be removed, such as a file that is open on Windows, is merged
		// again another time.
		os.Remove(s.path())
		if i == 0 {
			d.stepped("removing")
		}
	}
	return nil
}

// mergeable returns the segments to merge, newest first: all from the newest down
// to the first large one. Taking others from behind it would make their actions
// look newer than they are.
func (d *Disk) mergeable() []*segment {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []*segment
	for _, s := range d.segments {
		_, done, err := s.open()
		if err != nil {
			continue // another version's, unreadable or gone: left alone
		}
		done()
		if s.size >= d.large {
			break
		}
		out = append(out, s)
	}
	return out
}

// replace puts merged in the place of the inputs.
func (d *Disk) replace(inputs []*segment, merged *segment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.Index(d.segments, inputs[0])
	if at < 0 {
		at = 0
	}
	d.segments = slices.Insert(d.segments, at, merged)
	d.segments = slices.DeleteFunc(d.segments, func(s *segment) bool { return slices.Contains(inputs, s) })
	for _, s := range inputs {
		s.close()
	}
}

func (d *Disk) stepped(name string) {
	if d.step != nil {
		d.step(name)
	}
}

// merger chooses the records of a merged segment.
type merger struct {
	deflate *compressor
	inputs  []*segment // newest first
	kept    []source   // newest first
}

// reopened returns segments with files of their own. A merge takes long; a reader
// of the store that lists the directory meanwhile may close the store's.
func reopened(segments []*segment) []*segment {
	var out []*segment
	for i, s := range segments {
		out = append(out, &segment{dir: s.dir, name: s.name, stamp: s.stamp, keep: i < maxOpen})
	}
	return out
}

func (m *merger) close() {
	for _, s := range m.inputs {
		s.close()
	}
}

// source is a record to be copied.
type source struct {
	s *segment
	indexed
	kind recordKind
}

// gather chooses, newest first: each value once, from a record that is good, and
// the newest MaxActions different actions of each key. Damaged records are left
// behind; an error of the disk ends the merge, because what cannot be read now may
// be readable later.
func (m *merger) gather() error {
	values := map[[32]byte]bool{}
	actions := map[[32]byte][]Digest{}
	for _, s := range m.inputs {
		records, err := s.records()
		if err != nil {
			return err
		}
		for _, rec := range slices.Backward(records) {
			if rec.kind == valueRecord && values[rec.key] || len(actions[rec.key]) == MaxActions && rec.kind == actionRecord {
				continue
			}
			_, b, err := m.read(rec)
			if errors.Is(err, errDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			if rec.kind == valueRecord {
				values[rec.key] = true
			} else {
				sum := Sum(b)
				if slices.Contains(actions[rec.key], sum) {
					continue
				}
				actions[rec.key] = append(actions[rec.key], sum)
			}
			m.kept = append(m.kept, rec)
		}
	}
	return nil
}

// records returns all records of the segment in the order in which they lie.
func (s *segment) records() ([]source, error) {
	r, done, err := s.open()
	if err != nil {
		return nil, err
	}
	defer done()
	var out []source
	for _, kind := range []recordKind{valueRecord, actionRecord} {
		t := *s.index.table(kind)
		t.r = r
		entries, err := t.all()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, source{s: s, indexed: e, kind: kind})
		}
	}
	slices.SortFunc(out, func(a, b source) int { return cmp.Compare(a.off, b.off) })
	return out, nil
}

// read returns a record as it is stored and its bytes.
func (m *merger) read(rec source) (payload, []byte, error) {
	r, done, err := rec.s.open()
	if err != nil {
		return payload{}, nil, err
	}
	defer done()
	return rec.read(r, m.deflate)
}

// read reads and checks a record as it is stored and unpacked.
func (rec source) read(r io.ReaderAt, c *compressor) (payload, []byte, error) {
	raw, err := rec.s.record(r, rec.place)
	if err != nil {
		return payload{}, nil, err
	}
	h, p, err := parseRecord(raw)
	if err != nil {
		return p, nil, err
	}
	if h.kind != rec.kind || h.key != rec.key {
		return p, nil, damaged("another record than the index says")
	}
	b, err := c.unpack(p)
	if err == nil && h.kind == valueRecord && Sum(b) != h.key {
		err = damaged("value does not match its digest")
	}
	return p, b, err
}

// write copies the chosen records, oldest first, into a segment that takes the
// newest input's place in the order of segments.
func (m *merger) write(d *Disk) (*segment, error) {
	fill := func(w *segmentWriter) error {
		for _, rec := range slices.Backward(m.kept) {
			p, b, err := m.read(rec)
			if err == nil {
				if p.codec == rawCodec {
					p = m.deflate.pack(b)
				}
				err = w.add(rec.kind, &rec.key, p)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", rec.s.name, err)
			}
		}
		d.stepped("written")
		return nil
	}
	newest := m.inputs[0]
	s := &segment{dir: d.dir, name: segmentName(newest.stamp, rand.Uint64()), stamp: newest.stamp, keep: true}
	if err := writeSegment(d.dir, d.prepare, fill, s.name); err != nil {
		return nil, err
	}
	return s, nil
}
