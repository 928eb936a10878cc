package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	slotMagic = "mwpslot\x01"
	slotExtra = len(slotMagic) + len(Key{}) + len(Digest{})
)

// Slots keeps one small file per key: the magic, the payload and the BLAKE3 hash
// of both. A read is one open, one stat, one read and one hash, which is the whole
// cost of a warm answer; a pack would need an index before that.
//
// The files lie in one flat directory. The size of a cache allows some 40,000
// slots of 6 KB, file systems find a name among those as fast as among ten, and
// shards would cost a fresh cache up to 256 directories.
//
// Slots is safe for concurrent use by goroutines and processes: a file is
// complete before it has its name.
type Slots struct {
	dir     string
	now     func() time.Time
	prepare func() error
	// check, when set, may refuse to write.
	check func() error
}

// OpenSlots returns the slots in dir, usually ".../cache/v1/slots". It does no
// I/O. The clock, time.Now when nil, decides when a slot that is read is touched.
func OpenSlots(dir string, now func() time.Time) *Slots {
	if now == nil {
		now = time.Now
	}
	return &Slots{dir: dir, now: now, prepare: func() error { return os.MkdirAll(dir, 0o777) }}
}

// Read returns the payload last written under k, which nothing else refers to. All
// errors are ErrAbsent. A slot that was last used more than an hour ago is marked
// as used.
func (s *Slots) Read(k Key) ([]byte, error) {
	path := s.path(k)
	b, mtime, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, miss("no such slot")
	}
	if err == nil {
		b, err = parseSlot(k, b)
	}
	if err != nil {
		return nil, miss(fmt.Sprintf("slot %s: %v", k, err))
	}
	if now := s.now(); stale(mtime, now) {
		os.Chtimes(path, now, now)
	}
	return b, nil
}

// Write replaces the payload under k. The directory is made when it is missing. A
// reader may for a moment find nothing, and never finds a mixture.
func (s *Slots) Write(k Key, payload []byte) error {
	if len(payload) > MaxSize {
		return fmt.Errorf("write slot %s: %w", k, errTooLarge)
	}
	if s.check != nil {
		if err := s.check(); err != nil {
			return fmt.Errorf("write slot %s: %w", k, err)
		}
	}
	t, err := newFile(s.dir, formatSlot(k, payload), s.prepare)
	if err == nil {
		// ext4 takes a rename onto a file for a wish of durability and starts writing
		// to the device: 2 ms instead of 0.5 in an interleaved run. The price is a miss
		// for who reads between these two calls.
		os.Remove(s.path(k))
		err = t.rename(s.path(k))
	}
	if err != nil {
		return fmt.Errorf("write slot %s: %w", k, err)
	}
	return nil
}

// Recent returns the keys of at most n slots, the last used first.
func (s *Slots) Recent(n int) []Key {
	files, _ := listKept(filepath.Dir(s.dir))
	slices.SortFunc(files, func(a, b keptFile) int { return b.mtime.Compare(a.mtime) })
	var keys []Key
	for _, f := range files {
		if f.kind != slotFile || len(keys) == n {
			continue
		}
		if b, ok := parseHex(filepath.Base(f.path)); ok {
			keys = append(keys, Key(b))
		}
	}
	return keys
}

func (s *Slots) path(k Key) string { return filepath.Join(s.dir, k.String()) }

// formatSlot returns the bytes of a slot file. The key is in it, so that a file
// that got another's name is no answer to the other's question.
func formatSlot(k Key, payload []byte) []byte {
	b := make([]byte, 0, len(payload)+slotExtra)
	b = append(append(append(b, slotMagic...), k[:]...), payload...)
	sum := Sum(b)
	return append(b, sum[:]...)
}

// parseSlot returns the payload of the slot file for k as a part of b.
func parseSlot(k Key, b []byte) ([]byte, error) {
	if len(b) < slotExtra {
		return nil, damaged("%d bytes are no slot", len(b))
	}
	if err := compareMagic(b[:len(slotMagic)], slotMagic); err != nil {
		return nil, err
	}
	start, end := len(slotMagic)+len(k), len(b)-len(Digest{})
	if Sum(b[:end]) != Digest(b[end:]) {
		return nil, damaged("the slot does not match its hash")
	}
	if own := Key(b[len(slotMagic):start]); own != k {
		return nil, damaged("the slot belongs to the key %s", own)
	}
	return b[start:end:end], nil
}

var errNotRegular = errors.New("not a regular file")

// checkSize rejects files larger than a slot can be.
func checkSize(size int64) error {
	if size > int64(MaxSize+slotExtra) {
		return errTooLarge
	}
	return nil
}
