//go:build !unix

package mwp

import (
	"io/fs"
	"os"
)

// writable reports why nothing can be made in a directory, as far as its mode says so. What
// access lists say, only a write finds out.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = &fs.PathError{Op: "write", Path: dir, Err: fs.ErrPermission}
	}
	return err
}
