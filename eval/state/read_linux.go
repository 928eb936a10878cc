package state

import (
	"errors"
	"path/filepath"
	"syscall"

	"github.com/model-workspace-protocol/mwp/cas"
)

// read returns the content of a file in a subdirectory. Every map of a session reads
// one. These are eight system calls; through Files, which also sets up the runtime's
// poller, they are 23.
func (d Dir) read(sub, name string, limit int64) ([]byte, error) {
	state, err := openAt(atCwd, d.Path, syscall.O_DIRECTORY)
	if err != nil {
		return nil, unlessMissing(Failed(err, "open", d.Path))
	}
	defer syscall.Close(state)
	path := filepath.Join(d.Path, sub)
	dir, err := openAt(state, sub, syscall.O_DIRECTORY)
	if err != nil {
		return nil, unlessMissing(Failed(err, "open", path))
	}
	defer syscall.Close(dir)
	path = filepath.Join(path, name)
	fd, err := openAt(dir, name, syscall.O_NONBLOCK)
	if err != nil {
		return nil, unlessMissing(Failed(err, "read", path))
	}
	defer syscall.Close(fd)
	b, err := readRegular(fd, limit)
	if errors.Is(err, ErrTooLarge) {
		return nil, tooLarge(path, limit)
	}
	return b, Failed(err, "read", path)
}

// atCwd stands for the working directory, which an absolute path ignores.
const atCwd = -100

// openAt opens what has a name in a directory, to be read. A link, a socket, and
// something else than a directory where one is asked for are cas.ErrLink.
func openAt(dir int, name string, flags int) (int, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Openat(dir, name, flags|syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	})
	switch err {
	case syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO:
		err = cas.ErrLink
	}
	return fd, err
}

// readRegular returns the content of an open file.
func readRegular(fd int, limit int64) ([]byte, error) {
	var st syscall.Stat_t
	if _, err := retry(func() (int, error) { return 0, syscall.Fstat(fd, &st) }); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return nil, cas.ErrLink
	case st.Size > limit:
		return nil, ErrTooLarge
	}
	b := make([]byte, st.Size)
	n, err := readInto(fd, b)
	return b[:n], err
}
