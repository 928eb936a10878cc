//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package cas

import (
	"os"
	"syscall"
)

// noFollow opens a lock file and not what a link in its place leads to, and does
// not wait at a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLockFile locks an open file or returns errHeld.
func tryLockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errHeld
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}
