package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Dir is the state directory of a workspace (D-01). Its methods may be called at the
// same time, by any number of processes. What is done stays in the directory: a
// repository can carry links under these names, and nothing is read or written through
// one. Every error that is not the caller's own is a *FileError.
type Dir struct {
	// Path is the absolute path of the directory. ".mwp" must exist; ".mwp.d" is made by
	// the first write, beside a file ".mwp".
	Path string
	// Ignore is the text of its .gitignore file, which the first write brings along
	// (D-09). An existing file is left as it is, and "" makes none.
	Ignore string
	// Waiting, if not nil, is called once per lock, with its path, after a second of
	// waiting for it.
	Waiting func(lock string)

	patience time.Duration
	step     func(op, name string) error
}

// anchorName is what makes a directory a workspace (D-01): the state directory itself, or a
// file beside it.
const anchorName = ".mwp"

// Open opens the directory. It returns nil when there is none.
func (d Dir) Open() (*Files, error) {
	f, err := d.open(false)
	return f, unlessMissing(err)
}

// open opens the directory. An anchor is never made, and nothing without one: a workspace
// that was removed would come back as an empty one.
func (d Dir) open(create bool) (*Files, error) {
	around, name := filepath.Dir(d.Path), filepath.Base(d.Path)
	root, err := os.OpenRoot(around)
	if err != nil {
		return nil, d.unanchored(Failed(err, "open", around))
	}
	parent := &Files{root: root, path: around, perm: sharedPerm, step: d.step}
	defer parent.Close()
	beside := name != anchorName
	if create && beside {
		info, err := parent.root.Lstat(anchorName)
		if err == nil && !info.Mode().IsRegular() {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, d.unanchored(Failed(err, "open", parent.Path(anchorName)))
		}
	}
	f, err := parent.enter(name, create && beside)
	return f, d.unanchored(err)
}

// unanchored says what is missing where there is no state directory.
func (d Dir) unanchored(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kind := "a file"
	if filepath.Base(d.Path) == anchorName {
		kind = "a directory"
	}
	return &FileError{
		Message: fmt.Sprintf("%s: expected %s, the anchor of the workspace, found none", Shown(filepath.Join(filepath.Dir(d.Path), anchorName)), kind),
		Hint:    "run `mwp init` in the project's root if it is to be a workspace again",
		Reason:  err,
	}
}

// Locked calls do with the open directory, which it makes where it may, under the lock of
// a name, for which it waits at most five seconds (D-103). The error of do is returned
// as it is.
func (d Dir) Locked(ctx context.Context, lock string, do func(*Files) error) error {
	f, err := d.open(true)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.ignore(d.Ignore); err != nil {
		return err
	}
	path, err := f.lockPath(lock)
	if err != nil {
		return err
	}
	unlock, err := takeLock(ctx, path, d.patience, d.Waiting)
	if err != nil {
		return err
	}
	defer unlock()
	return do(f)
}

// Locks returns the directory of all locks, for those that are held for longer than a
// file is written. It is made like everything else in the state directory, and through
// no link.
func (d Dir) Locks() (dir string, err error) {
	f, err := d.open(true)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := f.ignore(d.Ignore); err != nil {
		return "", err
	}
	return f.locks()
}

const ignoreName = ".gitignore"

// ignore makes a .gitignore file unless something has its name.
func (f *Files) ignore(text string) error {
	if text == "" {
		return nil
	}
	if missing, _ := f.Missing(ignoreName); !missing {
		return nil
	}
	if err := f.Create(ignoreName, []byte(text)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// lockPath returns the path of a lock.
func (f *Files) lockPath(name string) (string, error) {
	locks, err := f.locks()
	return filepath.Join(locks, name), err
}

// locks makes the directory of the locks. It lies in the cache, which is out of version
// control, and whose upkeep leaves unknown names alone.
func (f *Files) locks() (string, error) {
	cache, err := f.enter("cache", true)
	if err != nil {
		return "", err
	}
	defer cache.Close()
	if err := cas.Prepare(cache.path); err != nil {
		return "", Failed(err, "write", cache.path)
	}
	locks, err := cache.enter("locks", true)
	if err != nil {
		return "", err
	}
	locks.Close()
	return locks.path, nil
}

// lockPatience is how long the lock of a file is waited for (D-103).
const lockPatience = 5 * time.Second

func takeLock(ctx context.Context, path string, patience time.Duration, waiting func(string)) (unlock func() error, err error) {
	if patience == 0 {
		patience = lockPatience
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err = cas.Lock(limited, path, func() {
		if waiting != nil {
			waiting(path)
		}
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, &FileError{
			Message: fmt.Sprintf("lock %s: another process has held it for %v", Shown(path), patience),
			Hint:    "run the command again when that process has ended",
			Reason:  ErrBusy,
		}
	}
	return unlock, Failed(err, "lock", path)
}
