package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp"
)

// fewShape is a tree in the shape of T7's that a test can afford. Its slots have more
// leaves than are looked at in turn.
var fewShape = groveShape{seed: 1, files: 2400, dirs: 1200, contexts: 120}

// contents counts what is below a directory and hashes names and texts.
func contents(t *testing.T, root string) (files, dirs int, sum string) {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		fmt.Fprintf(h, "%q\n", filepath.ToSlash(rel))
		if d.IsDir() {
			dirs++
			return nil
		}
		files++
		b, err := os.ReadFile(p)
		fmt.Fprintf(h, "%q\n", b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, dirs, fmt.Sprintf("%x", h.Sum(nil))
}

// TestGrovesAreEqual holds that a shape describes a tree completely.
func TestGrovesAreEqual(t *testing.T) {
	s := groveShape{seed: 3, files: 500, dirs: 90, contexts: 9}
	var sums []string
	for _, name := range []string{"a", "b"} {
		w, err := newGrove(filepath.Join(t.TempDir(), name), s)
		if err != nil {
			t.Fatal(err)
		}
		files, dirs, sum := contents(t, w.root)
		// The state directory and its configuration come on top.
		if files != s.files+1 || dirs != s.dirs+1 || len(w.looked()) != s.dirs+s.contexts {
			t.Errorf("%d files, %d directories, %d paths to look at; want %d, %d, %d", files, dirs, len(w.looked()), s.files+1, s.dirs+1, s.dirs+s.contexts)
		}
		for _, p := range w.looked() {
			if _, err := os.Lstat(p); err != nil {
				t.Error(err)
			}
		}
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Error("two trees of one shape differ")
	}
}

func TestImportTree(t *testing.T) {
	for _, c := range []struct{ n, width int }{{50, 50}, {37, 5}} {
		tr, err := newTree(filepath.Join(t.TempDir(), "tree"), shape{seed: 1, depth: 2, imports: c.n, width: c.width})
		if err != nil {
			t.Fatal(err)
		}
		a, err := ask(tr)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(a.Text), `"rule": "import-local"`); got != c.n {
			t.Errorf("the map of %d imports, %d in each file, has %d of them", c.n, c.width, got)
		}
	}
}

// TestGateWalks holds T7 by counts: what a warm lint and a warm list of targets look
// at, and what a lint computes and reads after one edit.
func TestGateWalks(t *testing.T) {
	w, err := newGrove(filepath.Join(t.TempDir(), "tree"), fewShape)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := walkCounts(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%s: %v, limit %v; %s", r.What, r.Measured, *r.Limit, r.Detail)
		if r.Verdict != ok {
			t.Errorf("%s: %v, want at most %v: %s", r.What, r.Measured, *r.Limit, r.Detail)
		}
	}
}

// TestGateWalkAllocation bounds what a warm lint allocates for each path that it looks
// at: the slot with its leaves, the path, and what the system call takes. Measured:
// 1500 bytes.
func TestGateWalkAllocation(t *testing.T) {
	const limit = 2000
	w, err := newGrove(filepath.Join(t.TempDir(), "tree"), fewShape)
	if err != nil {
		t.Fatal(err)
	}
	warm := func(question func(*mwp.Workspace) (*mwp.Result, error)) bool {
		a, err := askFor(&w.tree, question)
		if err != nil {
			t.Fatal(err)
		}
		return a.Served
	}
	for name, question := range map[string]func(*mwp.Workspace) (*mwp.Result, error){"lint": lintOf, "targets": targetsOf} {
		for range 2 {
			warm(question)
		}
		const runs = 5
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if !warm(question) {
				t.Fatalf("%s is not served", name)
			}
		}
		runtime.ReadMemStats(&after)
		bytes := (after.TotalAlloc - before.TotalAlloc) / runs / uint64(len(w.looked()))
		t.Logf("%s: %d bytes for each path", name, bytes)
		if bytes > limit {
			t.Errorf("%s allocates %d bytes for each path, want at most %d", name, bytes, limit)
		}
	}
}
