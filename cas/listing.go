package cas

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// keptFile is a file of ours in a cache.
type keptFile struct {
	path  string
	size  int64
	mtime time.Time
	kind  keptKind
}

type keptKind int

const (
	slotFile keptKind = iota
	packFile
	tempFile
)

// listKept returns the slots, segments and temporary files below dir, which is
// ".../cache/v1". Whatever else lies there is nobody's business here. A missing
// directory is empty, and a file that goes away meanwhile was never there.
func listKept(dir string) ([]keptFile, error) {
	var out []keptFile
	for _, sub := range []string{slotsDir, packsDir} {
		files, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(filepath.Join(dir, sub)) {
			return nil, err
		}
		for _, f := range files {
			kind, ok := kindOf(sub, f.Name())
			if !ok || !f.Type().IsRegular() {
				continue
			}
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, keptFile{
				path: filepath.Join(dir, sub, f.Name()), size: info.Size(), mtime: info.ModTime(), kind: kind,
			})
		}
	}
	return out, nil
}

// isFile reports that something else stands where a directory of ours belongs.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.IsDir()
}

// misplaced returns what stands where a directory or file of ours belongs and is
// none: it keeps the cache from being read or written there.
func misplaced(dir string) []string {
	var out []string
	for _, lock := range []string{trimLock, filepath.Join(packsDir, mergeLock)} {
		if info, err := os.Lstat(filepath.Join(dir, lock)); err == nil && !info.Mode().IsRegular() {
			out = append(out, filepath.Join(dir, lock))
		}
	}
	for _, sub := range []string{slotsDir, packsDir} {
		if p := filepath.Join(dir, sub); isFile(p) {
			out = append(out, p)
			continue
		}
		entries, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, e := range entries {
			if _, ours := kindOf(sub, e.Name()); ours && !e.Type().IsRegular() {
				out = append(out, filepath.Join(dir, sub, e.Name()))
			}
		}
	}
	return out
}

// kindOf tells by the name what a file is.
func kindOf(sub, name string) (keptKind, bool) {
	if isTemp(name) {
		return tempFile, true
	}
	if sub == slotsDir {
		_, ok := parseHex(name)
		return slotFile, ok
	}
	_, ok := parseSegmentName(name)
	return packFile, ok
}

// removeGone removes a file; that another process was faster is no error.
func removeGone(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
