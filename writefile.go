package mwp

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFile replaces a file by one with the given content, or makes it: another
// process sees the old content or the new, never a part. The new file lies at the
// end of a chain of links and keeps the permissions of the old one.
func WriteFile(path string, content []byte) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	perm := fs.FileMode(0o666)
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		perm = info.Mode().Perm()
	case err == nil && !info.IsDir():
		// /dev/stdout, a pipe: there is nothing to replace.
		return os.WriteFile(path, content, 0)
	case err == nil:
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	}
	f, err := createTemp(filepath.Dir(path), perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		f.Close()
		return err
	}
	if info != nil {
		// The umask does not apply to what the old file was allowed.
		if err = f.Chmod(perm); err != nil {
			f.Close()
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// createTemp makes a hidden file with a name of its own. os.CreateTemp would make
// it readable for its owner only, and what replaces a file must not be.
func createTemp(dir string, perm fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, ".mwp-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil || try == 100 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
