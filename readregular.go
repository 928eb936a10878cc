package mwp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// maxInitBytes bounds what init reads of one file. It is the limit of a
// configuration; an ignore file is never as long.
const maxInitBytes = 256 << 10

// unfit is the error of a file that init does not read.
type unfit string

func (u unfit) Error() string { return string(u) }

// readRegular returns the content of a regular file. It follows no link and waits
// for no pipe: anybody's project may hold either.
func readRegular(path string) ([]byte, error) {
	// Another process may replace the file at any time, by rename.
	for range 100 {
		before, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !before.Mode().IsRegular() {
			return nil, unfit("expected a regular file, found " + noun(before.Mode()))
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := readAs(f, before)
		if err != errReplaced {
			return b, err
		}
	}
	return nil, errReplaced
}

const errReplaced = unfit("the file is replaced again and again")

// readAs reads and closes a file, if it is the one that was looked at.
func readAs(f *os.File, before fs.FileInfo) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, info) {
		return nil, errReplaced
	}
	b, err := io.ReadAll(io.LimitReader(f, maxInitBytes+1))
	if len(b) > maxInitBytes {
		return nil, unfit(fmt.Sprintf("the file has %d bytes, the limit is %d", max(info.Size(), int64(len(b))), maxInitBytes))
	}
	return b, err
}

// readFailed returns the error of reading a file that somebody wrote.
func readFailed(code ir.Code, err error, path string) error {
	var u unfit
	if errors.As(err, &u) {
		return refuse(code, path, "put a regular file of at most 256 KiB there", "%s", u)
	}
	return initFailed(err, "read", path)
}

// noun says what a file is.
func noun(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a socket, pipe or device"
}
