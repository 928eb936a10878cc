package eval

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/graph"
)

// TestListDir holds the plain system calls to what the standard library says.
func TestListDir(t *testing.T) {
	dir := t.TempDir()
	for i := range 700 {
		// Long names, so that one read of the kernel's buffer is not enough.
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d-%0180d", i, i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("directory", filepath.Join(dir, "link")); err != nil {
		t.Skip("NOT TESTED: no links here")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]graph.FileType{}
	for _, e := range entries {
		s, err := lstat(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[e.Name()] = s.Type
	}
	w := NewWorld(dir, time.Now)
	got := map[string]graph.FileType{}
	before, read, err := w.listDir(dir, func(name []byte, t graph.FileType) { got[string(name)] = t })
	if err != nil || !read {
		t.Fatalf("listDir: read %v, %v", read, err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("listDir found %d entries, want %d with the same types", len(got), len(want))
	}
	if s, err := lstat(dir); err != nil || before.Fingerprint != s.Fingerprint {
		t.Errorf("before = %+v, want %+v, %v", before.Fingerprint, s.Fingerprint, err)
	}
	for path, want := range map[string]graph.FileType{
		"link": graph.Link, "absent": graph.Absent, entries[len(entries)-3].Name(): graph.Regular, "absent/below": graph.Absent,
	} {
		before, read, err := w.listDir(filepath.Join(dir, path), func(name []byte, _ graph.FileType) { t.Errorf("%s has the entry %s", path, name) })
		if err != nil || read || before.Type != want {
			t.Errorf("listDir(%s) = %v, read %v, %v; want %v, not read", path, before.Type, read, err, want)
		}
	}
}
