package module

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/model-workspace-protocol/mwp/cas"
)

// area is an open directory. What is done in it stays in it, wherever links in it
// lead, and goes through these methods.
type area struct {
	root *os.Root
	path string
	// before, when set, is asked before each change and may refuse it; tests end
	// the process or fill the disk there.
	before func(op, name string) error
}

// enter opens a directory below another one, which is made if asked for. A link in
// its place is cas.ErrLink: a repository can carry one.
func (a *area) enter(name string, create bool) (*area, error) {
	full := filepath.Join(a.path, name)
	info, err := a.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err = a.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, failed(err, "make", full)
		}
		info, err = a.root.Lstat(name)
	}
	if err != nil {
		return nil, failed(err, "open", full)
	}
	if !info.IsDir() {
		return nil, failed(cas.ErrLink, "open", full)
	}
	root, err := a.root.OpenRoot(name)
	if err != nil {
		return nil, failed(err, "open", full)
	}
	// It may have become a link between the two calls.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, failed(cas.ErrLink, "open", full)
	}
	return &area{root: root, path: full, before: a.before}, nil
}

func (a *area) close() { a.root.Close() }

func (a *area) ask(op, name string) error {
	if a.before == nil {
		return nil
	}
	return a.before(op, name)
}

func (a *area) mkdir(name string) error {
	if err := a.ask("mkdir", name); err != nil {
		return err
	}
	return a.root.Mkdir(name, 0o777)
}

func (a *area) rename(from, to string) error {
	if err := a.ask("rename", to); err != nil {
		return err
	}
	return a.root.Rename(from, to)
}

// remove removes a file, a link or a directory with all that is in it. What is not
// there is removed.
func (a *area) remove(name string) error {
	if err := a.ask("remove", name); err != nil {
		return err
	}
	return a.root.RemoveAll(name)
}

// removeEmpty removes a directory if nothing is in it and no link leads to it.
func (a *area) removeEmpty(name string) {
	if a.realDir(name) && a.ask("rmdir", name) == nil {
		a.root.Remove(name)
	}
}

// write makes a file that does not exist yet.
func (a *area) write(name string, content []byte, perm fs.FileMode, durable bool) error {
	if err := a.ask("write", name); err != nil {
		return err
	}
	f, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		a.root.Remove(name)
	}
	return err
}

// flush makes the names in the directory durable where the system can.
func (a *area) flush() {
	if d, err := a.root.Open("."); err == nil {
		d.Sync()
		d.Close()
	}
}

// realDir reports whether a slash-separated path is a directory and no part of it
// a link.
func (a *area) realDir(name string) bool {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if info, err := a.root.Lstat(name[:i]); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// makeReal makes a directory and those around it. What else stands in the place of
// one is removed.
func (a *area) makeReal(name string) error {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := a.root.Lstat(name[:i])
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = a.remove(name[:i])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := a.mkdir(name[:i]); err != nil {
			return err
		}
	}
	return nil
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("larger than it may be")
)

// read returns the content of a regular file of at most limit bytes. The
// directories on the way are the caller's to check.
func (a *area) read(name string, limit int64) ([]byte, error) {
	before, err := a.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errNotRegular
	}
	// Without waiting, should it have become a pipe by now.
	f, err := a.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = errTooLarge
	}
	return b, err
}

// entry is something below a directory.
type entry struct {
	path string // relative to the directory, with slashes
	mode fs.FileMode
}

// walk returns what lies below a directory, directories before what is in them,
// without following links. It fails with errTooLarge on more than limit entries.
func (a *area) walk(dir string, limit int) ([]entry, error) {
	if !a.realDir(dir) {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	var out []entry
	err := fs.WalkDir(a.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && p != dir:
			return nil // somebody else cleans up
		case err != nil:
			return err
		case p == dir:
			return nil
		case len(out) == limit:
			return errTooLarge
		}
		out = append(out, entry{strings.TrimPrefix(p, dir+"/"), d.Type()})
		return nil
	})
	return out, err
}

// parents returns the directories around a slash-separated path, innermost first.
func parents(p string) []string {
	var out []string
	for p = path.Dir(p); p != "."; p = path.Dir(p) {
		out = append(out, p)
	}
	return out
}
