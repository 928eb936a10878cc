//go:build unix

package eval

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

func lstat(path string) (stat, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Lstat(path, &st)
		if err == syscall.EINTR {
			continue
		}
		if absentError(err) {
			return stat{reliable: true}, nil
		}
		if err != nil {
			return stat{}, err
		}
		return fromStat(&st), nil
	}
}

func fromStat(st *syscall.Stat_t) stat {
	s := stat{device: uint64(st.Dev), reliable: true}
	s.Size, s.Inode = st.Size, st.Ino
	s.MTime, s.CTime = statTimes(st)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		s.Type = graph.Regular
		s.Exec = st.Mode&0o111 != 0
	case syscall.S_IFDIR:
		s.Type = graph.Directory
	case syscall.S_IFLNK:
		s.Type = graph.Link
	default:
		s.Type = graph.Other
	}
	return s
}

// absentError reports the errors by which a system says that nothing has this
// name: no entry, a parent that is not a directory or a link to itself, a name
// longer than any name.
func absentError(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.ELOOP))
}

// openRegular opens a regular file and returns what fstat says of it; fd is -1 for
// anything else. It follows no link and waits for no writer, as opening a pipe would.
// Plain system calls, because os.File would register the descriptor with the poller
// first.
func openRegular(path string) (fd int, before stat, err error) {
	fd, err = retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, stat{}, err
	}
	if before, err = fstat(fd); err != nil || before.Type != graph.Regular {
		syscall.Close(fd)
		return -1, before, err
	}
	return fd, before, nil
}

func fstat(fd int) (stat, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return stat{}, err
	}
	return fromStat(&st), nil
}

// readRegular reads a regular file of at most limit bytes and returns what fstat
// said before and after.
func readRegular(path string, limit int64) (b []byte, before, after stat, err error) {
	fd, before, err := openRegular(path)
	if err != nil || fd < 0 {
		return nil, before, before, err
	}
	defer syscall.Close(fd)
	if before.Size > limit {
		return nil, before, before, nil
	}
	b = make([]byte, 0, before.Size+1)
	for int64(len(b)) <= limit {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := retry(func() (int, error) { return syscall.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, stat{}, stat{}, err
		}
		if n == 0 {
			break
		}
		b = b[:len(b)+n]
	}
	if after, err = fstat(fd); err != nil {
		return nil, stat{}, stat{}, err
	}
	return b, before, after, nil
}

// sumRegular returns the digest of a regular file, how many bytes it is over, and
// what fstat said before and after.
func sumRegular(path string) (d cas.Digest, n int64, before, after stat, err error) {
	fd, before, err := openRegular(path)
	if err != nil || fd < 0 {
		return d, 0, before, before, err
	}
	defer syscall.Close(fd)
	read := func(b []byte) (int, error) { return retry(func() (int, error) { return syscall.Read(fd, b) }) }
	if d, n, err = sumPieces(read, before.Size); err != nil {
		return d, 0, stat{}, stat{}, err
	}
	if after, err = fstat(fd); err != nil {
		return d, 0, stat{}, stat{}, err
	}
	return d, n, before, after, nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// linkError reports that a path turned out to be a link when it was opened.
func linkError(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK)
}

// notLinkError reports that a path was no link when its target was read.
func notLinkError(err error) bool { return errors.Is(err, syscall.EINVAL) }
