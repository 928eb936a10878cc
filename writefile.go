package mwp

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteFile replaces a file by one with the given content, or makes it: another
// process sees the old content or the new, never a part. The new file lies at the
// end of a chain of links, whether or not there was one, and keeps the permissions
// of the old one. What is no file, such as a pipe or a terminal, is written to.
func WriteFile(path string, content []byte) error {
	final, replace, err := finalPath(path)
	if err != nil {
		return err
	}
	if !replace {
		return writeTo(path, content)
	}
	return replaceFile(final, content)
}

// maxLinks is how many links Linux follows for one path.
const maxLinks = 40

// finalPath follows the links of a path to a file that exists or could be made.
// replace is false for what can only be written to.
func finalPath(path string) (final string, replace bool, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return "", false, isDirectory(path)
		}
		return path, false, nil
	}
	for range maxLinks {
		// Not Dir and Join, which take "link/.." for nothing.
		dir, name := filepath.Split(path)
		if name == "" {
			return "", false, isDirectory(path)
		}
		if dir == "" {
			dir = "."
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", false, err
		}
		if dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd" {
			// An open file, whatever its name leads to: whoever opened it goes on with it.
			return path, false, nil
		}
		final = filepath.Join(dir, name)
		info, err := os.Lstat(final)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return final, true, nil
		}
		if path, err = os.Readlink(final); err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(path) {
			path = dir + string(filepath.Separator) + path
		}
	}
	return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many links")}
}

func isDirectory(path string) error {
	return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
}

// writeTo writes to something that exists. Appending is what a redirection with
// >> needs, and makes no difference to anything else.
func writeTo(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// replaceFile puts a regular file in a place where there is one or nothing. It
// follows no link there.
func replaceFile(path string, content []byte) (err error) {
	perm := fs.FileMode(0o666)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return isDirectory(path)
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("not a regular file")}
	default:
		perm = info.Mode().Perm()
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
