package eval

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// lstat on Windows is never reliable: the cheap call has no change time, so a
// rewrite that keeps size and modification time would go unseen. Files are hashed.
func lstat(path string) (stat, error) {
	fi, err := os.Lstat(path)
	if absentError(err) {
		return stat{}, nil
	}
	if err != nil {
		return stat{}, err
	}
	return fromInfo(fi), nil
}

func fromInfo(fi fs.FileInfo) stat {
	s := stat{}
	s.Size, s.MTime = fi.Size(), fi.ModTime().UnixNano()
	switch m := fi.Mode(); {
	case m.IsRegular():
		s.Type = graph.Regular
	case m.IsDir():
		s.Type = graph.Directory
	case m&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		s.Type = graph.Link
	default:
		s.Type = graph.Other
	}
	return s
}

func absentError(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, windows.ERROR_INVALID_NAME) ||
		errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE))
}

// readRegular reads a regular file of at most limit bytes and returns what was
// said of it before and after.
func readRegular(path string, limit int64) (b []byte, before, after stat, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, stat{}, stat{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, stat{}, stat{}, err
	}
	if before = fromInfo(fi); before.Type != graph.Regular || before.Size > limit {
		return nil, before, before, nil
	}
	if b, err = io.ReadAll(io.LimitReader(f, limit+1)); err != nil {
		return nil, stat{}, stat{}, err
	}
	if fi, err = f.Stat(); err != nil {
		return nil, stat{}, stat{}, err
	}
	return b, before, fromInfo(fi), nil
}

// sumRegular returns the digest of a regular file, how many bytes it is over, and
// what was said of it before and after.
func sumRegular(path string) (d cas.Digest, n int64, before, after stat, err error) {
	f, err := os.Open(path)
	if err != nil {
		return d, 0, stat{}, stat{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return d, 0, stat{}, stat{}, err
	}
	if before = fromInfo(fi); before.Type != graph.Regular {
		return d, 0, before, before, nil
	}
	read := func(b []byte) (int, error) {
		n, err := f.Read(b)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
	if d, n, err = sumPieces(read, before.Size); err != nil {
		return d, 0, stat{}, stat{}, err
	}
	if fi, err = f.Stat(); err != nil {
		return d, 0, stat{}, stat{}, err
	}
	return d, n, before, fromInfo(fi), nil
}

func localFileSystem(string) bool { return false }

func linkError(error) bool { return false }

func notLinkError(err error) bool { return errors.Is(err, windows.ERROR_NOT_A_REPARSE_POINT) }
