package mwp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWriteFile: the file at the end of the links is replaced or made, with the
// permissions of the old one or those of any new file, and nothing is left beside
// it.
func TestWriteFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT CHECKED: permissions and links are those of POSIX")
	}
	for _, c := range []struct {
		name  string
		links [][2]string // name, destination
		old   string      // a file that exists, with mode 0640
		path  string
		final string // "" for an error
	}{
		{name: "new", path: "out.md", final: "out.md"},
		{name: "old", old: "out.md", path: "out.md", final: "out.md"},
		{name: "link", links: [][2]string{{"l", "d/out.md"}}, old: "d/out.md", path: "l", final: "d/out.md"},
		{name: "dangling link", links: [][2]string{{"l", "d/out.md"}}, path: "l", final: "d/out.md"},
		{name: "chain", links: [][2]string{{"l", "d/m"}, {"d/m", "../e/n"}, {"e/n", "out.md"}}, path: "l", final: "e/out.md"},
		{name: "up through a link", links: [][2]string{{"in", "d/deep"}, {"l", "in/../out.md"}}, path: "l", final: "d/out.md"},
		{name: "no directory", links: [][2]string{{"l", "missing/out.md"}}, path: "l"},
		{name: "loop", links: [][2]string{{"l", "m"}, {"m", "l"}}, path: "l"},
		{name: "to a directory", links: [][2]string{{"l", "d"}}, path: "l"},
		{name: "to a directory that is missing", links: [][2]string{{"l", "d/missing/"}}, path: "l"},
		{name: "directory", path: "d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, d := range []string{"d/deep", "e"} {
				if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range c.links {
				if err := os.Symlink(l[1], filepath.Join(dir, l[0])); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(dir, "usual"), "")
			usual, err := os.Stat(filepath.Join(dir, "usual"))
			if err != nil {
				t.Fatal(err)
			}
			perm := usual.Mode()
			var before fs.FileInfo
			if c.old != "" {
				write(t, filepath.Join(dir, c.old), "old")
				if err := os.Chmod(filepath.Join(dir, c.old), 0o640); err != nil {
					t.Fatal(err)
				}
				if before, err = os.Stat(filepath.Join(dir, c.old)); err != nil {
					t.Fatal(err)
				}
				perm = 0o640
			}
			files := count(t, dir)
			err = WriteFile(filepath.Join(dir, c.path), []byte("new"))
			if c.final == "" {
				if err == nil || count(t, dir) != files {
					t.Errorf("WriteFile = %v, %d files, want an error and %d", err, count(t, dir), files)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(filepath.Join(dir, c.final))
			if err != nil || info.Mode() != perm {
				t.Fatalf("WriteFile made %v, %v, want the mode %v", info, err, perm)
			}
			if b, err := os.ReadFile(filepath.Join(dir, c.final)); err != nil || string(b) != "new" {
				t.Errorf("WriteFile wrote %q, %v", b, err)
			}
			if before != nil && os.SameFile(before, info) {
				t.Error("WriteFile wrote into the old file, want a new one in its place")
			}
			if c.old == "" {
				files++
			}
			if n := count(t, dir); n != files {
				t.Errorf("WriteFile left %d files, want %d", n, files)
			}
		})
	}
}

// count returns how many files and links lie below a directory.
func count(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWriteFileToAnOpenFile: who opened a file goes on with the same one.
func TestWriteFileToAnOpenFile(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link := "/proc/self/fd/" + fmt.Sprint(f.Fd())
	if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
		t.Skip("NOT CHECKED: there is no /proc/self/fd")
	}
	f.WriteString("before ")
	if err := WriteFile(link, []byte("map ")); err != nil {
		t.Fatal(err)
	}
	f.WriteString("after")
	if b, err := os.ReadFile(f.Name()); err != nil || string(b) != "before map after" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}
