package cas

import (
	"io/fs"
	"syscall"
	"time"
)

// readFile returns a slot file and when it was modified, in four system calls.
// os.Open would first set up the runtime's poller, which is four more in a process
// that needs it for nothing else. NONBLOCK and NOFOLLOW keep a pipe or a link that
// somebody put in the slot's place from being waited for or followed.
func readFile(path string) ([]byte, time.Time, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	})
	if err != nil {
		return nil, time.Time{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if _, err := retry(func() (int, error) { return 0, syscall.Fstat(fd, &st) }); err != nil {
		return nil, time.Time{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, time.Time{}, errNotRegular
	}
	if err := checkSize(st.Size); err != nil {
		return nil, time.Time{}, err
	}
	b := make([]byte, st.Size)
	for n := 0; n < len(b); {
		m, err := retry(func() (int, error) { return syscall.Read(fd, b[n:]) })
		if err != nil {
			return nil, time.Time{}, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if m == 0 {
			return nil, time.Time{}, damaged("the file shrank while it was read")
		}
		n += m
	}
	return b, time.Unix(st.Mtim.Unix()), nil
}

// retry calls f until no signal interrupts it.
func retry(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != syscall.EINTR {
			return n, err
		}
	}
}
