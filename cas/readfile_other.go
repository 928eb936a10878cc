//go:build !linux

package cas

import (
	"io"
	"os"
	"time"
)

// readFile returns a slot file and when it was modified.
func readFile(path string) ([]byte, time.Time, error) {
	// Opening a pipe would wait for its writer.
	info, err := os.Lstat(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, time.Time{}, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, time.Time{}, err
	}
	if err := checkSize(info.Size()); err != nil {
		return nil, time.Time{}, err
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, time.Time{}, err
	}
	return b, info.ModTime(), nil
}
