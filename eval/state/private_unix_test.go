//go:build unix

package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := ReadPrivate(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	put(t, path, "12345")
	for _, c := range []struct {
		perm fs.FileMode
		want Unfit
	}{
		{0o600, Unfit{}},
		{0o400, Unfit{}},
		{0o640, Unfit{"expected a file for its owner only, found one with mode 0640", true}},
		{0o602, Unfit{"expected a file for its owner only, found one with mode 0602", true}},
	} {
		if err := os.Chmod(path, c.perm); err != nil {
			t.Fatal(err)
		}
		b, err := ReadPrivate(path, 4)
		if u, _ := errors.AsType[Unfit](err); u != c.want || (string(b) == "1234") != (err == nil) {
			t.Errorf("with mode %04o: %q, %v", c.perm, b, err)
		}
	}
	if err := os.Symlink("f", path+"2"); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]Unfit{
		path + "2":         {Problem: "expected a file, found a link"},
		filepath.Dir(path): {Problem: "expected a file, found something else"},
	} {
		if b, err := ReadPrivate(p, 4); err != want {
			t.Errorf("%s: %q, %v, want %v", p, b, err, want)
		}
	}
}

// TestPrivate: what is made is its owner's only, and a directory in which others write
// is refused.
func TestPrivate(t *testing.T) {
	p := Private{Path: filepath.Join(t.TempDir(), "a", "mwp")}
	replace := func(p Private) error {
		return p.Locked(context.Background(), func(f *Files) error { return f.Replace("f", []byte("x"), Durable) })
	}
	if err := replace(p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{filepath.Dir(p.Path): 0o700, p.Path: 0o700, filepath.Join(p.Path, "f"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %04o", name, info.Mode(), err, want)
		}
	}
	// What it was allowed before does not matter: others may have been.
	if err := os.Chmod(filepath.Join(p.Path, "f"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := replace(p); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(p.Path, "f")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("replaced: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(p.Path, 0o720); err != nil {
		t.Fatal(err)
	}
	err := replace(p)
	var f *FileError
	if !errors.As(err, &f) || !strings.HasSuffix(f.Message, ": expected a directory in which only its owner writes, found mode 0720") || f.Hint == "" {
		t.Errorf("where the group writes: %v", err)
	}
}
