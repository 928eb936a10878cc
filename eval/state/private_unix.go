//go:build unix

package state

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ReadPrivate returns the content of a regular file that belongs to this user and that
// nobody else can read, at most limit bytes. It follows no link and waits for no pipe.
// The error is Unfit for a file that is not so, and the system's otherwise. These are
// four system calls; os.Open would first set up the runtime's poller, in a process that
// may need it for nothing else.
func ReadPrivate(path string, limit int) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	})
	switch err {
	case nil:
	case syscall.ELOOP, syscall.EMLINK:
		return nil, Unfit{Problem: "expected a file, found a link"}
	default:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if _, err := retry(func() (int, error) { return 0, syscall.Fstat(fd, &st) }); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := checkPrivateFile(&st); err != nil {
		return nil, err
	}
	b := make([]byte, min(int64(limit), st.Size))
	n, err := readInto(fd, b)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return b[:n], nil
}

// readInto fills b from an open file, as far as that goes.
func readInto(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		m, err := retry(func() (int, error) { return syscall.Read(fd, b[n:]) })
		if m == 0 || err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

// retry calls f until no signal interrupts it.
func retry(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != syscall.EINTR {
			return n, err
		}
	}
}

func checkPrivateFile(st *syscall.Stat_t) error {
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return Unfit{Problem: "expected a file, found something else"}
	}
	if err := checkOwner(st); err != nil {
		return err
	}
	if perm := st.Mode & 0o7777; perm&0o077 != 0 {
		return Unfit{Problem: fmt.Sprintf("expected a file for its owner only, found one with mode %04o", perm), Exposed: true}
	}
	return nil
}

// checkOwner refuses what belongs to somebody else, who could change it at any time.
func checkOwner(st *syscall.Stat_t) error {
	if me := os.Geteuid(); int64(st.Uid) != int64(me) {
		return Unfit{Problem: fmt.Sprintf("it belongs to user %d, and this is user %d", st.Uid, me)}
	}
	return nil
}

// checkPrivateDir refuses a directory in which somebody else can replace files.
func checkPrivateDir(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := checkOwner(st); err != nil {
			return err
		}
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return Unfit{Problem: fmt.Sprintf("expected a directory in which only its owner writes, found mode %04o", perm)}
	}
	return nil
}
