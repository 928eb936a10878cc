package mwp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writer makes files below the directory and follows no link out of it. It
// remembers what it made.
type writer struct {
	s    *scaffold
	root *os.Root // nil in a dry run in a directory that does not exist
	// dirs are the directories it made down to s.dir, outermost first; undo takes back
	// what it did below s.dir, in the order in which it was done.
	dirs []string
	undo []func()
}

// open makes the directory and opens it, from a directory that exists: the project
// around it, so that no link that is put in the way meanwhile leads out of that.
func (w *writer) open() error {
	s := w.s
	if !s.exists && s.o.DryRun {
		return nil
	}
	base := s.dir
	if ws := s.workspace(); ws != nil {
		base = ws.dir
	} else {
		for !isDir(base) && base != filepath.Dir(base) {
			base = filepath.Dir(base)
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return initFailed(err, "open", base)
	}
	rel, err := filepath.Rel(base, s.dir)
	if err != nil || rel == "." {
		w.root = root
		return nil
	}
	defer root.Close()
	if !s.exists {
		if err := w.mkdirs(root, base, rel); err != nil {
			return err
		}
	}
	if w.root, err = root.OpenRoot(rel); err != nil {
		return initFailed(err, "open", s.dir)
	}
	return nil
}

func (w *writer) mkdirs(root *os.Root, base, rel string) error {
	name := ""
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		name = filepath.Join(name, part)
		if _, err := root.Lstat(name); err == nil {
			continue
		}
		switch err := root.Mkdir(name, 0o777); {
		case err == nil:
			w.dirs = append(w.dirs, filepath.Join(base, name))
		case !errors.Is(err, fs.ErrExist):
			return initFailed(err, "make", filepath.Join(base, name))
		}
	}
	return nil
}

// close ends the work. When it failed, an anchor that was only begun must not
// stay: it would be one, and change every map below it.
func (w *writer) close(failed bool) {
	if failed {
		for _, undo := range slices.Backward(w.undo) {
			undo()
		}
	}
	if w.root != nil {
		w.root.Close()
	}
	if failed {
		for _, dir := range slices.Backward(w.dirs) {
			os.Remove(dir)
		}
	}
}

// made notes what undoing has to remove; of a directory, only an empty one.
func (w *writer) made(name string) {
	w.undo = append(w.undo, func() { w.root.Remove(name) })
}

// at returns the mode of what has a name; there is false when nothing has.
func (w *writer) at(name string) (mode fs.FileMode, there bool, err error) {
	if w.root == nil {
		return 0, false, nil
	}
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, initFailed(err, "look at", w.path(name))
	}
	return info.Mode(), true, nil
}

// check refuses an anchor with something else in the place of one of its parts,
// before anything is made.
func (w *writer) check() error {
	for _, part := range []struct {
		name string
		dir  bool
	}{
		{".mwp.d", true}, {".mwp/intents", true}, {".mwp/pipelines", true},
		{".mwp/.gitignore", false}, {".mwp/config.toml", false},
	} {
		name := filepath.FromSlash(part.name)
		mode, there, err := w.at(name)
		switch {
		case err != nil:
			return err
		case !there, part.dir && mode.IsDir(), !part.dir && mode.IsRegular():
		case part.dir:
			return refuse(initRefused, w.path(name), moveAway, "expected a directory or nothing, found %s", noun(mode))
		default:
			return refuse(initRefused, w.path(name), moveAway, "expected a regular file or nothing, found %s", noun(mode))
		}
	}
	return nil
}

func (w *writer) path(name string) string { return filepath.Join(w.s.dir, name) }

func (w *writer) mkdir(name string) error {
	_, there, err := w.at(name)
	if err != nil || there || w.s.o.DryRun {
		return err
	}
	switch err := w.root.Mkdir(name, 0o777); {
	case err == nil:
		w.made(name)
	case !errors.Is(err, fs.ErrExist):
		return initFailed(err, "make", w.path(name))
	}
	return nil
}

// create makes a file unless something has its name.
func (w *writer) create(name, content string) error {
	_, there, err := w.at(name)
	if err != nil || there {
		return err
	}
	if !w.s.o.DryRun {
		f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return initFailed(err, "make", w.path(name))
		}
		w.made(name)
		_, err = f.WriteString(content)
		if err = errors.Join(err, f.Close()); err != nil {
			return initFailed(err, "write", w.path(name))
		}
	}
	w.s.r.Made = append(w.s.r.Made, w.path(name))
	return nil
}

// keep makes an empty directory that git keeps.
func (w *writer) keep(name, comment string) error {
	dir := filepath.Join(".mwp", name)
	if _, there, err := w.at(dir); err != nil || there {
		return err
	}
	if err := w.mkdir(dir); err != nil {
		return err
	}
	return w.create(filepath.Join(dir, ".gitkeep"), comment)
}
