package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTreesAreEqual holds that a shape describes a tree completely, and that the
// number of files does not change what a target's map rests on.
func TestTreesAreEqual(t *testing.T) {
	read := func(s shape) (*tree, map[string]string) {
		tr, err := newTree(filepath.Join(t.TempDir(), "tree"), s)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		err = filepath.WalkDir(tr.root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			rel, _ := filepath.Rel(tr.root, p)
			files[rel] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return tr, files
	}
	s := shape{seed: 7, files: 120, depth: 5, contexts: 3, contextSize: 300}
	one, a := read(s)
	_, b := read(s)
	if len(a) != len(b) || len(a) < s.files+s.depth {
		t.Fatalf("%d files and %d, want the same number, at least %d", len(a), len(b), s.files+s.depth)
	}
	for p, text := range a {
		if b[p] != text {
			t.Errorf("%s differs", p)
		}
	}
	contexts := 0
	for p := range a {
		if filepath.Base(p) == ".mwp-context.md" {
			contexts++
		}
	}
	if contexts != s.depth+s.contexts {
		t.Errorf("%d context files, want %d", contexts, s.depth+s.contexts)
	}
	s.files *= 3
	large, c := read(s)
	if large.target != one.target {
		t.Errorf("the target of the larger tree is %s, want %s", large.target, one.target)
	}
	for _, dir := range one.dirs {
		if p := filepath.Join(dir, ".mwp-context.md"); c[p] != a[p] {
			t.Errorf("%s differs in the larger tree", p)
		}
	}
}

func TestWithin(t *testing.T) {
	tr := &tree{root: filepath.FromSlash("/w/tree"), target: filepath.FromSlash("a/b/main.go")}
	for path, want := range map[string]bool{
		"/": true, "/w": true, "/w/tree": true, "/w/tree/.mwp": true, "/w/tree/.mwp/cache/v1": true, "/w/tree/a": true, "/w/tree/a/b": true,
		"/w/other": false, "/w/tree/c": false, "/w/tree/a/c": false, "/w/tree/a/b/c": false, "/w/tree/ab": false, "/w/tree/.mwpx": false,
	} {
		if got := tr.within(filepath.FromSlash(path)); got != want {
			t.Errorf("within(%s) = %v, want %v", path, got, want)
		}
	}
}

func TestParseTrace(t *testing.T) {
	c := parseTrace([]byte(strings.Join([]string{
		`100 execve("/bin/mwp", ["mwp"], 0x7ffe /* 35 vars */) = 0`,
		`100 futex(0xd48bd8, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>`,
		`101 nanosleep({tv_sec=0, tv_nsec=20000},  <unfinished ...>`,
		`100 <... futex resumed>)              = 0`,
		`100 newfstatat(AT_FDCWD, "/w/(odd) <name>", {st_mode=S_IFREG}, AT_SYMLINK_NOFOLLOW) = 0`,
		`100 getdents64(5</w/.mwp/intents>, 0x1 /* 3 entries */, 8192) = 80`,
		`100 getdents64(5</w/.mwp/intents>, 0x1 /* 0 entries */, 8192) = 0`,
		`100 --- SIGURG {si_signo=SIGURG} ---`,
		`100 exit_group(0)                     = ?`,
		`100 +++ exited with 0 +++`,
	}, "\n")))
	if got, want := c.own(), 5; got != want {
		t.Errorf("own = %d, want %d: %v", got, want, c.all)
	}
	if got, want := c.total(), 7; got != want {
		t.Errorf("total = %d, want %d: %v", got, want, c.all)
	}
	if len(c.listed) != 1 || c.listed[0] != "/w/.mwp/intents" {
		t.Errorf("listed = %q", c.listed)
	}
	base := &calls{all: map[string]int{"execve": 1, "exit_group": 1}}
	if got, want := c.beyond(base), "2 getdents64, 1 newfstatat"; got != want {
		t.Errorf("beyond = %q, want %q", got, want)
	}
}

func TestCompare(t *testing.T) {
	ms := func(ns ...int) (out []time.Duration) {
		for _, n := range ns {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	c := compare(ms(4, 6, 30), ms(2, 2, 10))
	if c.ratio != 3 || c.least != 2 || c.median != 6*time.Millisecond || c.against != 2*time.Millisecond {
		t.Errorf("compare = %+v", c)
	}
	if got := median([]int{4, 1, 3, 2}); got != 2 {
		t.Errorf("median of four = %d, want the lower middle, 2", got)
	}
}

func TestPeakMemory(t *testing.T) {
	if got, ok := peakMemory("&{Utime:{Sec:0 Usec:1} Maxrss:8192 Ixrss:0}"); !ok || got != 8 && got != 8192.0/(1<<20) {
		t.Errorf("peakMemory = %v, %v", got, ok)
	}
	if _, ok := peakMemory("&{CreationTime:{}}"); ok {
		t.Error("a usage without memory has some")
	}
}

func TestVerdicts(t *testing.T) {
	if r := limited("x", 2, 2, "", ""); r.Verdict != ok {
		t.Errorf("at the limit: %q, want ok", r.Verdict)
	}
	if r := limited("x", 2.01, 2, "", ""); r.Verdict != short {
		t.Errorf("above the limit: %q, want short", r.Verdict)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--runs", "0"}, {"--files", "10"}, {"word"}, {"--nonsense"}} {
		var said strings.Builder
		if err := run(args, &said, &said); err != errUsage || said.Len() == 0 {
			t.Errorf("run(%q) = %v and said %q, want a usage error with a reason", args, err, said.String())
		}
	}
	var said strings.Builder
	if err := run([]string{"--only", "T99"}, &said, &said); err == nil || !strings.Contains(err.Error(), "T99") {
		t.Errorf("an unknown name gives %v", err)
	}
}
