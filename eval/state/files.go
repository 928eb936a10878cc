package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Files is an open directory. What is done in it stays in it, wherever links in it
// lead. Names are those of files directly in it.
type Files struct {
	root *os.Root
	path string
	perm fs.FileMode // of new files
	// step, when set, is asked before each change and may refuse it; tests end the
	// process there.
	step func(op, name string) error
}

// Close closes the directory.
func (f *Files) Close() { f.root.Close() }

// Path returns the path of a file, for messages.
func (f *Files) Path(name string) string { return filepath.Join(f.path, name) }

func (f *Files) ask(op, name string) error {
	if f.step == nil {
		return nil
	}
	return f.step(op, name)
}

// enter opens a directory below another one, which is made if asked for.
func (f *Files) enter(name string, create bool) (*Files, error) {
	path := f.Path(name)
	info, err := f.root.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = f.ask("mkdir", name); err == nil {
			err = f.root.Mkdir(name, 0o777)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, Failed(err, "make", path)
		}
		info, err = f.root.Lstat(name)
	}
	if err != nil {
		return nil, Failed(err, "open", path)
	}
	if !info.IsDir() {
		return nil, Failed(cas.ErrLink, "open", path)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, Failed(err, "open", path)
	}
	// It may have become a link between the two calls.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, Failed(cas.ErrLink, "open", path)
	}
	return &Files{root: root, path: path, perm: f.perm, step: f.step}, nil
}

// Missing reports whether nothing has a name, not even a link that leads nowhere. Where
// that cannot be seen it is false, and err is what the system said.
func (f *Files) Missing(name string) (missing bool, err error) {
	_, err = f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Read returns the content of a regular file, nil without one. With more than limit
// bytes, it returns limit+1 of them.
func (f *Files) Read(name string, limit int64) ([]byte, error) {
	b, err := f.read(name, limit)
	// Whoever reads without the lock may look at one file and open the next one.
	const tries = 100
	for range tries {
		if err != errReplaced {
			break
		}
		b, err = f.read(name, limit)
	}
	return b, Failed(err, "read", f.Path(name))
}

func (f *Files) read(name string, limit int64) ([]byte, error) {
	before, err := f.regular(name)
	if before == nil || err != nil {
		return nil, err
	}
	file, err := f.openSame(name, os.O_RDONLY, before)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// errReplaced is the error of a file that was looked at and is not the one that was
// opened: another one has its name now, or a link.
var errReplaced error = replaced{}

type replaced struct{}

func (replaced) Error() string { return "replaced meanwhile: " + cas.ErrLink.Error() }

func (replaced) Unwrap() error { return cas.ErrLink }

// regular looks at a file, nil when there is none. What is no regular file is
// cas.ErrLink.
func (f *Files) regular(name string) (fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, cas.ErrLink
	}
	return info, nil
}

// openSame opens the regular file that was looked at, without waiting should a pipe
// have taken its place.
func (f *Files) openSame(name string, flag int, before fs.FileInfo) (*os.File, error) {
	file, err := f.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errReplaced
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// What may be done with a new file.
const (
	sharedPerm  = 0o666
	privatePerm = 0o600
)

// Whether the bytes of a file are on the device before it has its name.
const (
	Quick   = false
	Durable = true
)

// Create makes a file that does not exist yet. Its bytes need not be on the device.
func (f *Files) Create(name string, content []byte) error {
	return Failed(f.write(name, content, Quick), "make", f.Path(name))
}

// write makes a file that does not exist yet.
func (f *Files) write(name string, content []byte, sync bool) error {
	if err := f.ask("write", name); err != nil {
		return err
	}
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.perm)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil && sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		f.root.Remove(name)
	}
	return err
}

// Replace gives a file another content, or makes it. Another process sees the old
// content or the new, never a part. The caller holds the lock of the name, so that one
// name serves for every new file, and a killed process leaves at most one behind; and
// has read the file, which refuses links. One that appears since is replaced, not
// followed. sync is Quick or Durable.
func (f *Files) Replace(name string, content []byte, sync bool) error {
	return f.replace(name+tempSuffix, name, content, sync)
}

// tempSuffix ends the name of a file that is being written.
const tempSuffix = ".tmp"

// replace writes a file that is called temp until it is whole.
func (f *Files) replace(temp, name string, content []byte, sync bool) error {
	path := f.Path(name)
	if err := f.root.RemoveAll(temp); err != nil {
		return Failed(err, "write", path)
	}
	if err := f.write(temp, content, sync); err != nil {
		return Failed(err, "write", path)
	}
	if old, err := f.root.Lstat(name); err == nil && old.Mode().IsRegular() && f.perm == sharedPerm {
		// The umask does not apply to what the old file was allowed.
		f.root.Chmod(temp, old.Mode().Perm())
	}
	err := f.ask("rename", name)
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		f.root.Remove(temp)
		return Failed(err, "write", path)
	}
	return nil
}

// brokenSuffix is what the name of a file gets that was set aside.
const brokenSuffix = ".broken"

// KeepBroken keeps a copy of a file that is about to be replaced under its name with
// ".broken" after it, unless something has that name.
func (f *Files) KeepBroken(name string, content []byte) error {
	if missing, _ := f.Missing(name + brokenSuffix); !missing {
		return nil
	}
	return f.Replace(name+brokenSuffix, content, Quick)
}

// Append adds to a file that has so many bytes. A write that fails half way, on a full
// disk, leaves nothing behind.
func (f *Files) Append(name string, text []byte, size int64) error {
	return Failed(f.append(name, text, size), "write", f.Path(name))
}

func (f *Files) append(name string, text []byte, size int64) error {
	before, err := f.root.Lstat(name)
	if err != nil {
		return err
	}
	if !before.Mode().IsRegular() {
		return cas.ErrLink
	}
	file, err := f.openSame(name, os.O_WRONLY|os.O_APPEND, before)
	if err != nil {
		return err
	}
	if err := f.ask("append", name); err != nil {
		return errors.Join(err, file.Close())
	}
	n, err := file.Write(text)
	if err != nil {
		// Not if somebody else has written meanwhile.
		if info, e := file.Stat(); e == nil && info.Size() == size+int64(n) {
			file.Truncate(size)
		}
	}
	return errors.Join(err, file.Close())
}
