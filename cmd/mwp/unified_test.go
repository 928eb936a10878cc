package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	numbers := strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "\n") + "\n"
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", "a\n", "a\n", ""},
		{"new", "", "a\n", "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n"},
		{"gone", "a\nb", "", "--- x\n+++ y\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n"},
		{"the last line end", "a", "a\n", "--- x\n+++ y\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"in the middle", numbers, strings.Replace(numbers, "m\n", "m\nM\n", 1), "--- x\n+++ y\n@@ -11,6 +11,7 @@\n k\n l\n m\n+M\n n\n o\n p\n"},
		{"two places", numbers, strings.NewReplacer("c\n", "C\n", "w\n", "").Replace(numbers),
			"--- x\n+++ y\n@@ -1,6 +1,6 @@\n a\n b\n-c\n+C\n d\n e\n f\n@@ -20,7 +20,6 @@\n t\n u\n v\n-w\n x\n y\n z\n"},
		{"two places near each other", numbers, strings.NewReplacer("c\n", "", "j\n", "").Replace(numbers),
			"--- x\n+++ y\n@@ -1,13 +1,11 @@\n a\n b\n-c\n d\n e\n f\n g\n h\n i\n-j\n k\n l\n m\n"},
		{"what would act on a terminal", "\ta\x1b[2J\u202e\r\n", "\r\n", "--- x\n+++ y\n@@ -1,1 +1,1 @@\n-\ta\\x1b[2J\\u{202e}\r\n+\r\n"},
	} {
		if diff := cmp.Diff(tt.want, unified("x", "y", []byte(tt.before), []byte(tt.after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// Beyond the bound the whole middle is one change, and still right.
	before, after := strings.Repeat("a\nb\n", 2000), strings.Repeat("b\na\n", 2000)
	if got := unified("x", "y", []byte(before), []byte(after)); strings.Count(got, "\n-") != 4000 || strings.Count(got, "\n+") != 4001 {
		t.Errorf("a large difference has %d and %d lines", strings.Count(got, "\n-"), strings.Count(got, "\n+"))
	}
}

// TestUnifiedApplies lets git judge differences of random texts.
func TestUnifiedApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range 1 + r.IntN(30) {
			b.WriteString([]string{"a\n", "b\n", "c\n", "\n"}[r.IntN(4)])
		}
		return strings.TrimSuffix(b.String(), []string{"\n", ""}[r.IntN(2)]) + "z"
	}
	for range 30 {
		before, after := text(), text()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o666); err != nil {
			t.Fatal(err)
		}
		git := exec.Command("git", "apply", "--unidiff-zero", "-")
		git.Dir, git.Stdin = dir, strings.NewReader(unified("a/f", "b/f", []byte(before), []byte(after)))
		out, err := git.CombinedOutput()
		got, _ := os.ReadFile(filepath.Join(dir, "f"))
		if before != after && (err != nil || string(got) != after) {
			t.Fatalf("%q to %q: git made %q of it: %v\n%s", before, after, got, err, out)
		}
	}
}
