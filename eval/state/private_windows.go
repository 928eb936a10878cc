package state

import (
	"io"
	"io/fs"
	"os"
)

// ReadPrivate returns the content of a regular file, at most limit bytes. The error is
// Unfit for anything else, and the system's otherwise. Who can read the file is settled
// by the profile's directory, where only its owner can.
func ReadPrivate(path string, limit int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, Unfit{Problem: "expected a file, found something else"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// checkPrivateDir accepts every directory, see ReadPrivate.
func checkPrivateDir(fs.FileInfo) error { return nil }
