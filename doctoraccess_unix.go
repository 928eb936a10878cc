//go:build unix

package mwp

import (
	"io/fs"
	"syscall"
)

// writable reports why this user can make nothing in a directory, nil when they can. A file
// system that is mounted for reading answers for itself.
func writable(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}
