package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// formatDir holds everything of this version of the formats. Another version
	// has a directory of its own.
	formatDir = "v1"
	slotsDir  = "slots"
	packsDir  = "packs"
)

// ignoreFile keeps a cache inside a repository out of `git status`.
const ignoreFile = "# Everything in this directory can be computed again and is not for version control.\n*\n"

// Area is a cache directory as a whole: its slots, its store and their upkeep.
//
//	<cache>/.gitignore
//	<cache>/v1/slots/   one file per slot
//	<cache>/v1/packs/   the store's segments
type Area struct {
	cache string
	now   func() time.Time
}

// OpenArea returns the cache in a directory, usually ".mwp/cache". It does no I/O;
// the directory is made by the first write. The clock is time.Now when nil.
func OpenArea(cache string, now func() time.Time) *Area {
	if now == nil {
		now = time.Now
	}
	return &Area{cache: cache, now: now}
}

// Dir returns the directory of this version of the formats, ".../cache/v1".
func (a *Area) Dir() string { return filepath.Join(a.cache, formatDir) }

// Slots returns the slots of the cache.
func (a *Area) Slots() *Slots {
	s := OpenSlots(filepath.Join(a.Dir(), slotsDir), a.now)
	s.prepare, s.check = a.preparing(s.dir), a.Check
	return s
}

// Store returns a new store of the cache; the caller closes it. The area's clock
// is used unless the options have one.
func (a *Area) Store(o DiskOptions) *Disk {
	if o.Now == nil {
		o.Now = a.now
	}
	d := OpenDisk(filepath.Join(a.Dir(), packsDir), o)
	d.prepare, d.check = a.preparing(d.dir), a.Check
	return d
}

// Trim evicts; see the function Trim.
func (a *Area) Trim(o TrimOptions) (TrimReport, error) {
	if err := a.Check(); err != nil {
		return TrimReport{}, err
	}
	return Trim(a.Dir(), a.clocked(o))
}

// TrimIfDue evicts at most once a day; see the function TrimIfDue.
func (a *Area) TrimIfDue(o TrimOptions) (TrimReport, bool, error) {
	if err := a.Check(); err != nil {
		return TrimReport{}, false, err
	}
	return TrimIfDue(a.Dir(), a.clocked(o))
}

// Fsck checks every byte; see the function Fsck.
func (a *Area) Fsck() (FsckReport, error) { return Fsck(a.Dir()) }

// Usage measures the cache; see the function Usage.
func (a *Area) Usage() (UsageReport, error) { return Usage(a.Dir()) }

// Clean removes everything that is kept; see the function Clean.
func (a *Area) Clean() error {
	// Clean mends what keeps a cache from being written, files in the place of its
	// directories among it.
	if err := a.checkDirs(true); err != nil {
		return err
	}
	return Clean(a.Dir())
}

// ErrLink is the error of writing to a cache one of whose directories is a link,
// or anything else than a directory.
var ErrLink = errors.New("not a directory of its own, and nothing is written through a link")

// Check refuses a cache whose directories are links. A repository can carry links
// where a cache belongs, and what is written, trimmed or cleaned through one would
// be somebody else's. Every write checks. The first directory looked at is the one that holds the
// cache; whoever wants a cache elsewhere names that place itself.
func (a *Area) Check() error { return a.checkDirs(false) }

func (a *Area) checkDirs(filesPass bool) error {
	for _, dir := range []string{filepath.Dir(a.cache), a.cache, a.Dir(), filepath.Join(a.Dir(), slotsDir), filepath.Join(a.Dir(), packsDir)} {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if m := info.Mode(); !m.IsDir() && !(filesPass && m.IsRegular()) {
			return fmt.Errorf("%s: %w", dir, ErrLink)
		}
	}
	return nil
}

func (a *Area) clocked(o TrimOptions) TrimOptions {
	if o.Now == nil {
		o.Now = a.now
	}
	return o
}

func (a *Area) preparing(dir string) func() error {
	return func() error {
		if err := Prepare(a.cache); err != nil {
			return err
		}
		return os.MkdirAll(dir, 0o777)
	}
}

// ignoreName is the file that keeps a cache out of version control.
const ignoreName = ".gitignore"

// Prepare makes a cache directory with a .gitignore file that covers it. An
// existing .gitignore is left as it is.
func Prepare(cache string) error {
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	info, err := os.Lstat(filepath.Join(cache, ignoreName))
	if err == nil && !info.Mode().IsRegular() {
		// The file's time says when the cache was trimmed, so it has to be one.
		if err := os.Remove(filepath.Join(cache, ignoreName)); err != nil {
			return fmt.Errorf("make cache directory: %w", err)
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		var t temp
		if t, err = newFile(cache, []byte(ignoreFile), func() error { return fs.ErrNotExist }); err == nil {
			err = t.rename(filepath.Join(cache, ignoreName))
		}
	}
	if err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	return nil
}
