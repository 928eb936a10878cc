package cas

import (
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is nothing on Windows, where making a link takes a privilege.
const noFollow = 0

// tryLockFile locks an open file or returns errHeld. The range is one byte far
// beyond the end: a lock on Windows is mandatory, and nobody is to be kept from
// reading the file.
func tryLockFile(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	switch err {
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return errHeld
	}
	return os.NewSyscallError("LockFileEx", err)
}
