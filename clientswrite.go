package mwp

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Write does what the plan says, to all files or to none. The new contents are written
// beside the files before the first is replaced; when a later step fails, the earlier ones
// are taken back. A file that was changed since the plan was made is left alone. The
// root must exist. show is called when all is prepared and nothing replaced; its error
// is Write's, and then nothing is.
func (p *ClientsPlan) Write(ctx context.Context, show func() error) (err error) {
	if !slices.ContainsFunc(p.Files, func(f ClientFile) bool { return f.Changed() }) {
		return show()
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return initFailed(err, "open", p.Root)
	}
	defer root.Close()
	w := clientWriter{plan: p, root: root}
	defer func() { w.end(err != nil) }()
	for i := range p.Files {
		if f := &p.Files[i]; f.Changed() {
			if err := errors.Join(ctx.Err(), p.unchanged(f)); err != nil {
				return err
			}
			if err := w.stage(f); err != nil {
				return err
			}
		}
	}
	if err := show(); err != nil {
		return err
	}
	for _, step := range w.steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// unchanged refuses a file that is not as it was when the plan was made.
func (p *ClientsPlan) unchanged(f *ClientFile) error {
	now := ClientFile{Path: f.Path}
	if err := p.read(&now); err != nil {
		return err
	}
	if now.Existed != f.Existed || !bytes.Equal(now.Before, f.Before) {
		return environment(ir.Unreadable, nil, "run the command again", "%s has changed meanwhile", p.abs(f.Path))
	}
	return nil
}

// clientWriter writes through the root, so that no link that is put in the way
// meanwhile leads out of it.
type clientWriter struct {
	plan *ClientsPlan
	root *os.Root
	// steps replace the files; undo takes back what was done, last first, and tidy what is
	// only needed in between.
	steps      []func() error
	undo, tidy []func()
}

// stage prepares everything for a file but the last step.
func (w *clientWriter) stage(f *ClientFile) error {
	name := filepath.FromSlash(f.Path)
	if !f.Exists {
		w.steps = append(w.steps, func() error { return w.remove(f, name) })
		return nil
	}
	if err := w.mkdirs(path.Dir(f.Path)); err != nil {
		return err
	}
	temp, err := w.temp(name, f.After, f.perm, f.Existed)
	if err != nil {
		return err
	}
	w.steps = append(w.steps, func() error { return w.replace(f, name, temp) })
	return nil
}

func (w *clientWriter) mkdirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := w.mkdirs(path.Dir(dir)); err != nil {
		return err
	}
	name := filepath.FromSlash(dir)
	switch err := w.root.Mkdir(name, 0o777); {
	case err == nil:
		w.undo = append(w.undo, func() { w.root.Remove(name) })
	case !errors.Is(err, fs.ErrExist):
		return initFailed(err, "make", w.plan.abs(dir))
	}
	return nil
}

// temp writes a file beside the one it is to replace, with its permissions.
func (w *clientWriter) temp(name string, content []byte, perm fs.FileMode, exact bool) (string, error) {
	temp := filepath.Join(filepath.Dir(name), ".mwp-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	out, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", initFailed(err, "make", filepath.Join(w.plan.Root, temp))
	}
	w.tidy = append(w.tidy, func() { w.root.Remove(temp) })
	_, err = out.Write(content)
	if exact {
		// The umask does not apply to what the old file was allowed.
		err = errors.Join(err, out.Chmod(perm))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", initFailed(err, "write", filepath.Join(w.plan.Root, temp))
	}
	return temp, nil
}

// replace puts a prepared file in its place.
func (w *clientWriter) replace(f *ClientFile, name, temp string) error {
	if err := w.root.Rename(temp, name); err != nil {
		return initFailed(err, "write", w.plan.abs(f.Path))
	}
	w.undo = append(w.undo, func() { w.restore(f, name) })
	return nil
}

// remove takes away a file that has nothing but ours in it, and the directories that
// have nothing in them without it.
func (w *clientWriter) remove(f *ClientFile, name string) error {
	if err := w.root.Remove(name); err != nil {
		return initFailed(err, "remove", w.plan.abs(f.Path))
	}
	w.undo = append(w.undo, func() { w.restore(f, name) })
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		// Not an empty directory's last file: then there is nothing to do.
		if w.root.Remove(filepath.FromSlash(dir)) != nil {
			break
		}
	}
	return nil
}

// restore puts a file back as it was.
func (w *clientWriter) restore(f *ClientFile, name string) {
	if !f.Existed {
		w.root.Remove(name)
		return
	}
	if w.root.MkdirAll(filepath.Dir(name), 0o777) != nil {
		return
	}
	if temp, err := w.temp(name, f.Before, f.perm, true); err == nil {
		w.root.Rename(temp, name)
	}
}

func (w *clientWriter) end(failed bool) {
	if failed {
		for _, undo := range slices.Backward(w.undo) {
			// Directories are removed behind the files in them.
			w.tidyUp()
			undo()
		}
	}
	w.tidyUp()
}

func (w *clientWriter) tidyUp() {
	for _, tidy := range w.tidy {
		tidy()
	}
	w.tidy = nil
}
