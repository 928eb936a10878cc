//go:build unix

package guard

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// readPrivate returns the content of a regular file that belongs to this user and
// that nobody else can read, at most limit bytes. It follows no link and waits for
// no pipe. These are four system calls; os.Open would first set up the runtime's
// poller, in a process that may need it for nothing else.
func readPrivate(path string, limit int) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	})
	switch err {
	case nil:
	case syscall.ELOOP, syscall.EMLINK:
		return nil, unfit("expected a file, found a link")
	default:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if _, err := retry(func() (int, error) { return 0, syscall.Fstat(fd, &st) }); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := checkPrivate(&st); err != nil {
		return nil, err
	}
	b := make([]byte, min(int64(limit), st.Size))
	for n := 0; n < len(b); {
		m, err := retry(func() (int, error) { return syscall.Read(fd, b[n:]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if m == 0 {
			return b[:n], nil
		}
		n += m
	}
	return b, nil
}

// retry calls f until no signal interrupts it.
func retry(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != syscall.EINTR {
			return n, err
		}
	}
}

func checkPrivate(st *syscall.Stat_t) error {
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return unfit("expected a file, found something else")
	}
	if err := checkOwner(st); err != nil {
		return err
	}
	if perm := st.Mode & 0o7777; perm&0o077 != 0 {
		return readable(fmt.Sprintf("expected a file for its owner only, found one with mode %04o", perm))
	}
	return nil
}

// checkOwner refuses what belongs to somebody else, who could change it at any time.
func checkOwner(st *syscall.Stat_t) error {
	if me := os.Geteuid(); int64(st.Uid) != int64(me) {
		return unfit(fmt.Sprintf("it belongs to user %d, and this is user %d", st.Uid, me))
	}
	return nil
}

// checkPersonal refuses a directory in which somebody else can replace files.
func checkPersonal(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := checkOwner(st); err != nil {
			return err
		}
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return unfit(fmt.Sprintf("expected a directory in which only its owner writes, found mode %04o", perm))
	}
	return nil
}

// random fills b from the system's generator. Package crypto/rand would add 0.1 ms
// to the start of every command for what one of them does once in a user's life.
func random(b []byte) error {
	f, err := os.OpenFile("/dev/urandom", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeCharDevice == 0 {
		return unfit("/dev/urandom is no device")
	}
	_, err = io.ReadFull(f, b)
	return err
}
