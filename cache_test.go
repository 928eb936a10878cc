package mwp

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
)

func TestCacheFormatIsTheDirectory(t *testing.T) {
	if got := filepath.Base(cas.OpenArea("x", nil).Dir()); got != CacheFormat {
		t.Errorf("the cache's directory is %q, CacheFormat %q", got, CacheFormat)
	}
}

func TestLastRunRoundTrip(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1700000000, 0).UTC()
	for _, target := range []string{".", "dev/x.ts", "a b\n\"c\" d", "\xff"} {
		if err := writeLast(dir, target, eval.Stats{Hits: 3, Computed: 4, Leaves: 5}, at); err != nil {
			t.Fatal(err)
		}
		want := &LastRun{Target: target, Hits: 3, Computed: 4, Leaves: 5, At: at}
		if diff := cmp.Diff(want, readLast(dir)); diff != "" {
			t.Errorf("readLast of %q (-want +got):\n%s", target, diff)
		}
	}
	for _, junk := range []string{"", "\n", "1 2 3 4", "a b c d \"x\"", "1 2 3 4 x", "99999999999999999999 2 3 4 \"x\""} {
		write(t, filepath.Join(dir, lastFile), junk)
		if got := readLast(dir); got != nil {
			t.Errorf("readLast of %q = %+v, want nil", junk, got)
		}
	}
}

// TestOnlyComputingRunsAreCounted: a map that is served from its slot writes
// nothing.
func TestOnlyComputingRunsAreCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mwp", "config.toml"), "description = \"d\"\n")
	now := time.Now().Add(time.Hour)
	ws := Open(Options{Dir: dir, Now: func() time.Time { return now }})
	ask := func() *Result {
		t.Helper()
		r, err := ws.Map(context.Background(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask()
	last := filepath.Join(dir, ".mwp", "cache", CacheFormat, lastFile)
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if r := ask(); !r.Served {
		t.Fatal("the second map is not served")
	}
	if _, err := os.Stat(last); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a served map left %s: %v", last, err)
	}
}

func TestCacheEntryIsJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mwp", "config.toml"), "description = \"d\"\n")
	write(t, filepath.Join(dir, "dev", ".mwp-context.md"), "Line one.\n\nLine \"two\".\n")
	ws := Open(Options{Dir: dir})
	for _, target := range []string{"dev/x", ""} {
		r, err := ws.Map(context.Background(), Request{Target: target, NoRoot: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
		b, err := ws.CacheEntry(context.Background(), target)
		if err != nil {
			t.Fatal(err)
		}
		var entry struct {
			SchemaVersion     string          `json:"schema_version"`
			Target            *string         `json:"target"`
			InputsHash        string          `json:"inputs_hash"`
			ContributingFiles []string        `json:"contributing_files"`
			CreatedAt         time.Time       `json:"created_at"`
			IR                json.RawMessage `json:"ir"`
		}
		if err := json.Unmarshal(b, &entry); err != nil {
			t.Fatalf("CacheEntry(%q): %v\n%s", target, err, b)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(entry.IR, &got), json.Unmarshal(r.Text, &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CacheEntry(%q).ir (-map +entry):\n%s", target, diff)
		}
		files := []string{".mwp/config.toml", "dev/.mwp-context.md"}
		if target == "" {
			files = files[:1]
		}
		if diff := cmp.Diff(files, entry.ContributingFiles); diff != "" {
			t.Errorf("CacheEntry(%q).contributing_files (-want +got):\n%s", target, diff)
		}
		if (entry.Target == nil) != (target == "") || entry.CreatedAt.IsZero() || len(entry.InputsHash) != len("blake3:")+64 {
			t.Errorf("CacheEntry(%q) = %+v", target, entry)
		}
	}
}

func TestWriteFileReplacesAtOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write(t, file, "old")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Skipf("NOT CHECKED: no links here: %v", err)
	}
	if err := os.Link(file, filepath.Join(dir, "old")); err != nil {
		t.Skipf("NOT CHECKED: no hard links here: %v", err)
	}
	if err := WriteFile(filepath.Join(dir, "link"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"f": "new", "link": "new", "old": "old"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
			t.Errorf("%s = %q, %v, want %q", name, b, err, want)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the new file has mode %v, %v, want that of the old one", info.Mode(), err)
	}
	if err := WriteFile(dir, nil); err == nil {
		t.Error("WriteFile replaced a directory")
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".mwp-*")); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}
