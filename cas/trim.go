package cas

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	trimLock  = "trim.lock"
	trimEvery = 24 * time.Hour
	// tempAge is how old a temporary file must be to be a killed process's.
	tempAge = time.Hour
)

// TrimOptions are the bounds of a cache. Zero fields take the defaults.
type TrimOptions struct {
	// MaxSize is the size in bytes that may remain, 256 MiB by default: some 40,000
	// slots, or what a large repository uses in weeks.
	MaxSize int64

	// MaxAge is how long an entry may remain unused, 14 days by default. Uses are
	// recorded to the hour.
	MaxAge time.Duration

	// MinAge protects what was just written or used, whatever the size, 1 hour by
	// default: a run must not lose what it is about to read.
	MinAge time.Duration

	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

func (o TrimOptions) withDefaults() TrimOptions {
	o.MaxSize = cmp.Or(o.MaxSize, 256<<20)
	o.MaxAge = cmp.Or(o.MaxAge, 14*24*time.Hour)
	o.MinAge = cmp.Or(o.MinAge, time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// TrimReport says what a trim did.
type TrimReport struct {
	Removed   int   // files removed
	Freed     int64 // their bytes
	Remaining int64 // bytes of slots and segments left
}

// Trim evicts from dir, which is ".../cache/v1": temporary files of killed
// processes, then slots and segments unused for MaxAge, then those least recently
// used until MaxSize bytes remain. The age is that of the mtime. The content is
// not looked at: a bound that a file of unknown content escapes is none. The
// error joins those of files that could not be removed.
func Trim(dir string, o TrimOptions) (TrimReport, error) {
	o = o.withDefaults()
	files, err := listKept(dir)
	if err != nil {
		return TrimReport{}, fmt.Errorf("trim cache: %w", err)
	}
	slices.SortFunc(files, func(a, b keptFile) int {
		return cmp.Or(a.mtime.Compare(b.mtime), cmp.Compare(a.path, b.path))
	})
	now := o.Now()
	var r TrimReport
	for _, f := range files {
		if f.kind != tempFile {
			r.Remaining += f.size
		}
	}
	var errs []error
	for _, f := range files {
		age := now.Sub(f.mtime)
		old := age > o.MaxAge || r.Remaining > o.MaxSize
		if f.kind == tempFile {
			old = age > tempAge
		} else if age < o.MinAge {
			old = false
		}
		if !old {
			continue
		}
		if err := removeGone(f.path); err != nil {
			errs = append(errs, err)
			continue
		}
		r.Removed++
		r.Freed += f.size
		if f.kind != tempFile {
			r.Remaining -= f.size
		}
	}
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("trim cache: %w", err)
	}
	return r, nil
}

// TrimIfDue trims dir when that was not done for a day, and reports whether it
// did. When it is not due, or another process is at it, the cost is one stat. The
// time of the last trim is the mtime of the cache's .gitignore file, which is
// there anyway: each file made costs the first map of a workspace 0.2 ms.
func TrimIfDue(dir string, o TrimOptions) (r TrimReport, done bool, err error) {
	o = o.withDefaults()
	stamp := filepath.Join(filepath.Dir(dir), ignoreName)
	if info, err := os.Lstat(stamp); err == nil && !info.Mode().IsRegular() {
		return r, false, Prepare(filepath.Dir(dir))
	}
	if !trimDue(stamp, o.Now()) {
		return r, false, nil
	}
	unlock, ok, err := TryLock(filepath.Join(dir, trimLock))
	if err != nil || !ok {
		return r, false, err
	}
	defer unlock()
	if !trimDue(stamp, o.Now()) {
		return r, false, nil
	}
	if r, err = Trim(dir, o); err != nil {
		return r, true, err
	}
	// The stamp follows the trim: a trim that was killed is due again.
	now := o.Now()
	if err := os.Chtimes(stamp, now, now); err != nil {
		return r, true, fmt.Errorf("trim cache: %w", err)
	}
	return r, true, nil
}

// trimDue reports whether a day has passed since the stamp, or the stamp is in the
// future because the clock was set back. Without a stamp there is no cache yet, or
// the next write to it makes one.
func trimDue(stamp string, now time.Time) bool {
	info, err := os.Lstat(stamp)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	age := now.Sub(info.ModTime())
	return age >= trimEvery || age < -trimEvery
}

// Clean removes all slots and segments from dir, which is ".../cache/v1", and
// nothing else: directories, lock files and files of unknown names stay. A file in
// the place of one of the two directories goes, for nothing could be kept there. Processes
// that use the cache meanwhile see misses. Temporary files younger than an hour
// are left, because a running process may be about to rename them.
func Clean(dir string) error {
	files, err := listKept(dir)
	if err != nil {
		return fmt.Errorf("clean cache: %w", err)
	}
	var errs []error
	for _, f := range files {
		if f.kind == tempFile && time.Since(f.mtime) < tempAge {
			continue
		}
		if err := removeGone(f.path); err != nil {
			errs = append(errs, err)
		}
	}
	for _, p := range misplaced(dir) {
		errs = append(errs, os.RemoveAll(p))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean cache: %w", err)
	}
	return nil
}
