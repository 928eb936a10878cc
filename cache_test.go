package mwp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
)

func TestCacheFormatIsTheDirectory(t *testing.T) {
	if got := filepath.Base(cas.OpenArea("x", nil).Dir()); got != CacheFormat {
		t.Errorf("the cache's directory is %q, CacheFormat %q", got, CacheFormat)
	}
}

// TestOnlyComputingRunsAreCounted: the counts are those of the last run that
// computed something; a map that is served from its slot writes nothing.
func TestOnlyComputingRunsAreCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mwp", "config.toml"), "description = \"d\"\n")
	now := time.Now().Add(time.Hour)
	ws := Open(Options{Dir: dir, Now: func() time.Time { return now }})
	ask := func(target string) *Result {
		t.Helper()
		r, err := ws.Map(context.Background(), Request{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	last := func() *LastRun {
		t.Helper()
		c, err := ws.Cache(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Status()
		if err != nil {
			t.Fatal(err)
		}
		return s.Last
	}
	if got := last(); got != nil {
		t.Errorf("before any run: %+v", got)
	}
	stats := ask("").Stats
	want := &LastRun{Target: ".", Hits: stats.Hits, Computed: stats.Computed, Leaves: stats.Leaves, At: now.UTC()}
	if diff := cmp.Diff(want, last()); diff != "" || stats.Computed == 0 {
		t.Errorf("after a computing run (-want +got):\n%s", diff)
	}
	now = now.Add(time.Minute)
	for range 2 {
		ask("")
	}
	if r := ask(""); !r.Served {
		t.Fatal("the map is not served")
	}
	if diff := cmp.Diff(want, last()); diff != "" {
		t.Errorf("after served maps (-want +got):\n%s", diff)
	}
	stats = ask("a b\n\"c\"").Stats
	want = &LastRun{Target: "a b\n\"c\"", Hits: stats.Hits, Computed: stats.Computed, Leaves: stats.Leaves, At: now.UTC()}
	if diff := cmp.Diff(want, last()); diff != "" {
		t.Errorf("after another target (-want +got):\n%s", diff)
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
