package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// FsckReport is what Fsck found.
type FsckReport struct {
	Segments int   // segments of this version of the format
	Records  int   // good records in them
	Slots    int   // good slots
	Bytes    int64 // bytes of all files looked at
	Foreign  int   // files of another version of the format, which are left alone
	Problems []Problem
}

// Problem is a place in a file that no writer produced. To a reader it is a miss.
type Problem struct {
	Path   string
	Offset int64 // in bytes
	What   string
}

// String returns the problem on one line.
func (p Problem) String() string { return fmt.Sprintf("%s: byte %d: %s", p.Path, p.Offset, p.What) }

// Fsck checks every byte of the cache in dir, which is ".../cache/v1": the hashes
// of slots, and of segments each record's tag, its size unpacked, each value's
// digest, and that index and records agree. It changes nothing. Damage is in the
// report; the error is for a directory or file that cannot be read.
func Fsck(dir string) (FsckReport, error) {
	var r FsckReport
	files, err := listKept(dir)
	if err != nil {
		return r, fmt.Errorf("check cache: %w", err)
	}
	c := checker{FsckReport: &r, deflate: new(compressor)}
	defer c.deflate.close()
	// What is no file is passed over everywhere else, and would never be missed.
	for _, p := range misplaced(dir) {
		c.problem(p, 0, errNotRegular)
	}
	for _, f := range files {
		switch f.kind {
		case slotFile:
			err = c.slot(f)
		case packFile:
			err = c.segment(f)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, fmt.Errorf("check cache: %w", err)
		}
	}
	return r, nil
}

// checker adds to a report.
type checker struct {
	*FsckReport
	deflate *compressor
}

func (c *checker) problem(path string, off int64, what any) {
	c.Problems = append(c.Problems, Problem{Path: path, Offset: off, What: fmt.Sprint(what)})
}

func (c *checker) slot(f keptFile) error {
	b, _, err := readFile(f.path)
	if err == nil {
		c.Bytes += f.size
		k, _ := parseHex(filepath.Base(f.path))
		_, err = parseSlot(Key(k), b)
	}
	switch {
	case err == nil:
		c.Slots++
	case err == errForeign:
		c.Foreign++
	case errors.Is(err, errDamaged), err == errTooLarge:
		c.problem(f.path, 0, err)
	default:
		return err
	}
	return nil
}

func (c *checker) segment(f keptFile) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	c.Bytes += f.size
	switch err := checkMagic(file); {
	case err == errForeign:
		c.Foreign++
		return nil
	case errors.Is(err, errDamaged):
		c.problem(f.path, 0, err)
		return nil
	case err != nil:
		return err
	}
	c.Segments++
	return c.records(f.path, file, f.size)
}

// records checks the records one after the other and the index against them.
func (c *checker) records(path string, r io.ReaderAt, size int64) error {
	x, sealErr := readIndex(r, size, size)
	if sealErr != nil && !errors.Is(sealErr, errDamaged) {
		return sealErr
	}
	end := size
	if sealErr == nil {
		end = x.end
	}
	scanned, err := scanIndex(io.NewSectionReader(r, 0, end), end)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	switch {
	case sealErr != nil:
		// Without an index the first bad record and the end are one place.
		c.problem(path, scanned.end, sealErr)
	case err != nil:
		c.problem(path, scanned.end, err)
	case !bytes.Equal(x.values.mem, scanned.values.mem) || !bytes.Equal(x.actions.mem, scanned.actions.mem):
		c.problem(path, x.end, "the index does not list the records that are there")
	}
	known := scanned
	if sealErr == nil {
		known = x // which reaches records behind a bad one
	}
	s := &segment{size: size}
	for _, kind := range []recordKind{valueRecord, actionRecord} {
		entries, err := known.table(kind).all()
		if err != nil {
			return err
		}
		for _, e := range entries {
			_, _, err := source{s: s, indexed: e, kind: kind}.read(r, c.deflate)
			switch {
			case err == nil:
				c.Records++
			case !errors.Is(err, errDamaged):
				return err
			case e.off != scanned.end: // reported above
				c.problem(path, e.off, err)
			}
		}
	}
	return nil
}

// UsageReport is how much a cache holds.
type UsageReport struct {
	Bytes    int64 // of slots and segments
	Slots    int
	Segments int
	Records  int       // in segments that can be read
	Oldest   time.Time // last use, to the hour, of the entry unused for longest; zero when empty
	Newest   time.Time // of the one used last
}

// Usage measures the cache in dir, which is ".../cache/v1". It reads the footers
// of segments and no content.
func Usage(dir string) (UsageReport, error) {
	var u UsageReport
	files, err := listKept(dir)
	if err != nil {
		return u, fmt.Errorf("measure cache: %w", err)
	}
	for _, f := range files {
		switch f.kind {
		case tempFile:
			continue
		case slotFile:
			u.Slots++
		case packFile:
			u.Segments++
			u.Records += countRecords(f)
		}
		u.Bytes += f.size
		if u.Oldest.IsZero() || f.mtime.Before(u.Oldest) {
			u.Oldest = f.mtime
		}
		if f.mtime.After(u.Newest) {
			u.Newest = f.mtime
		}
	}
	return u, nil
}

// countRecords returns the number of records that readers of the segment find.
func countRecords(f keptFile) int {
	file, err := os.Open(f.path)
	if err != nil {
		return 0
	}
	defer file.Close()
	x, err := loadSegment(file, f.size, 0)
	if err != nil {
		return 0
	}
	return x.values.n + x.actions.n
}
