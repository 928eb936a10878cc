package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShapes holds that each shape is what its description says, that equal seeds give
// equal trees and others others, and that its target has a whole map.
func TestShapes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.shape.crowd = min(s.shape.crowd, 2000) // the number itself: TestShapeSizes
			made := s.shape.sized(5, 60)
			tr, err := newTree(filepath.Join(t.TempDir(), "tree"), made)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(filepath.ToSlash(tr.target), "/") + 1; got != made.depth || len(tr.dirs) != made.depth {
				t.Errorf("the target %s is %d levels deep and has %d directories above it, want %d", tr.target, got, len(tr.dirs), made.depth)
			}
			files, _, sum := contents(t, tr.root)
			if want := made.files + made.crowd + made.imports + 2*made.guards + 3*made.modules + made.depth + 3; files < want {
				t.Errorf("%d files, want at least %d", files, want)
			}
			if len(tr.others) == 0 {
				t.Error("no other target is named")
			}
			for _, other := range tr.others {
				if _, err := os.Lstat(filepath.Join(tr.root, other)); err != nil {
					t.Error(err)
				}
			}
			for seed, equal := range map[uint64]bool{5: true, 6: false} {
				again, err := newTree(filepath.Join(t.TempDir(), "tree"), s.shape.sized(seed, 60))
				if err != nil {
					t.Fatal(err)
				}
				if _, _, other := contents(t, again.root); (other == sum) != equal {
					t.Errorf("a tree of seed %d equals one of seed 5: %v, want %v", seed, other == sum, equal)
				}
			}
			a, err := ask(tr)
			if err != nil {
				t.Fatal(err)
			}
			text := string(a.Text)
			for what, want := range map[string]int{
				`"rule": "import-local"`: made.imports + made.modules, `"rule": "import-git"`: made.modules, `"cmd": "./check-`: made.guards, `"severity": "error"`: 0,
			} {
				if got := strings.Count(text, what); got != want {
					t.Errorf("the map has %s %d times, want %d", what, got, want)
				}
			}
		})
	}
}

// TestShapeSizes holds what docs/benchmarks.md says of each shape.
func TestShapeSizes(t *testing.T) {
	want := map[string]shape{
		"balanced": {depth: 8}, "deep": {depth: 40}, "wide": {depth: 8, crowd: 20_000}, "imports": {depth: 3, imports: 500, width: 5},
		"modules": {depth: 8, modules: 50}, "guards": {depth: 8, guards: 50},
	}
	for _, s := range shapes {
		if diff := cmp.Diff(want[s.name], s.shape, cmp.AllowUnexported(shape{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
		delete(want, s.name)
	}
	if len(want) > 0 {
		t.Errorf("there are no shapes %v", want)
	}
}

// TestCrowd counts the entries of the directory that the wide shape is named for.
func TestCrowd(t *testing.T) {
	s := shape{seed: 1, depth: 5, crowd: 1200, files: 40}
	tr, err := newTree(filepath.Join(t.TempDir(), "tree"), s)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(tr.root, tr.dirs[2]))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < s.crowd || !strings.HasPrefix(tr.target, tr.dirs[2]+string(filepath.Separator)) {
		t.Errorf("%s has %d entries, want at least %d on the way to %s", tr.dirs[2], len(entries), s.crowd, tr.target)
	}
}

func TestTogether(t *testing.T) {
	boom := errors.New("boom")
	begun := 0
	err := together(func(yield func(func() error) bool) {
		for begun < 1_000_000 {
			begun++
			if !yield(func() error { return boom }) {
				return
			}
		}
	})
	if err != boom || begun == 1_000_000 {
		t.Errorf("together = %v after %d jobs, want the first error, and no end of jobs that were not begun", err, begun)
	}
}

func TestRoom(t *testing.T) {
	const each = 4096 + 320
	for _, c := range []struct {
		bytes, inodes int64
		fits          bool
	}{
		{-1, -1, true}, {11 * each, 11, true}, {11*each - 1, 11, false}, {11 * each, 10, false}, {-1, 10, false}, {0, -1, false}, {1 << 40, -1, true},
	} {
		if need, fits := room(10, 1, c.bytes, c.inodes); fits != c.fits || need != 11*each {
			t.Errorf("room with %d bytes and %d inodes free = %d, %v, want %d, %v", c.bytes, c.inodes, need, fits, 11*each, c.fits)
		}
	}
}

func TestEnough(t *testing.T) {
	dir := t.TempDir()
	if err := enough(dir, 1, 1); err != nil {
		t.Errorf("no room for two files: %v", err)
	}
	if bytes, _ := free(dir); bytes < 0 {
		t.Skip("SKIPPED: this system does not say how much room there is")
	}
	err := enough(dir, math.MaxInt32, 10)
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") || !strings.Contains(err.Error(), dir) {
		t.Errorf("2,147,483,647 files: %v, want a refusal that says what to do", err)
	}
	if _, err := newTree(filepath.Join(dir, "tree"), shape{depth: 1, files: math.MaxInt32}); err == nil {
		t.Error("a tree without room is begun")
	}
}
