package cas

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestNothingIsWrittenThroughLinks: a repository can carry links where its cache
// belongs. What they lead to stays as it is, whatever is asked of the cache.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	for _, link := range []string{"state", "state/cache", "state/cache/v1", "state/cache/v1/slots", "state/cache/v1/packs"} {
		t.Run(link, func(t *testing.T) {
			root := t.TempDir()
			victim := filepath.Join(root, "victim")
			name := filepath.Join(victim, Key{1}.String())
			for _, d := range []string{victim, filepath.Join(root, filepath.Dir(link))} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(name, []byte("somebody's"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
			a := OpenArea(filepath.Join(root, "state", "cache"), nil)
			if err := a.Slots().Write(Key{1}, []byte("x")); !errors.Is(err, ErrLink) {
				t.Errorf("Write = %v, want ErrLink", err)
			}
			d := a.Store(DiskOptions{})
			defer d.Close()
			d.PutValue(Sum([]byte("v")), []byte("v"))
			if err := d.Flush(); !errors.Is(err, ErrLink) {
				t.Errorf("Flush = %v, want ErrLink", err)
			}
			if _, err := d.Value(Sum([]byte("v"))); err != nil {
				t.Errorf("the pending value is lost: %v", err)
			}
			if _, err := a.Trim(TrimOptions{MaxSize: 1}); !errors.Is(err, ErrLink) {
				t.Errorf("Trim = %v, want ErrLink", err)
			}
			if err := a.Clean(); !errors.Is(err, ErrLink) {
				t.Errorf("Clean = %v, want ErrLink", err)
			}
			files, err := os.ReadDir(victim)
			if b, _ := os.ReadFile(name); err != nil || len(files) != 1 || string(b) != "somebody's" {
				t.Errorf("the victim is now %v, %q, %v", files, b, err)
			}
		})
	}
}

func TestLockFileIsNoLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "made"), filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := TryLock(filepath.Join(dir, "lock")); ok || err == nil {
		t.Errorf("TryLock through a link = %v, %v", ok, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
		t.Error("a file was made where the link leads")
	}
}
