package vcs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The hooks of these tests are this program, which these variables tell what to do.
const (
	hookName   = "VCS_TEST_HOOK"   // set in a hook, to its name
	hookRecord = "VCS_TEST_RECORD" // the file that a hook appends its record to
	hookDir    = "VCS_TEST_DIR"    // what to ask about, the hook's own place if empty
	hookWatch  = "VCS_TEST_WATCH"  // the directory where nothing may change
)

// record is what a hook found.
type record struct {
	Hook   string
	Staged []string
	// Touched says what the question changed below the directory that is watched.
	Touched string
}

func TestMain(m *testing.M) {
	if name := os.Getenv(hookName); name != "" {
		if err := runHook(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runHook(name string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if d := os.Getenv(hookDir); d != "" {
		dir = d
	}
	before, err := fingerprints(os.Getenv(hookWatch))
	if err != nil {
		return err
	}
	r, err := Open(context.Background(), Options{Dir: dir, Index: os.Getenv("GIT_INDEX_FILE")})
	if err != nil {
		return err
	}
	changes, err := r.Staged(context.Background())
	if err != nil {
		return err
	}
	after, err := fingerprints(os.Getenv(hookWatch))
	if err != nil {
		return err
	}
	line, err := json.Marshal(record{name, show(changes), cmp.Diff(before, after)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(hookRecord), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Close()
}

// fingerprints returns size, time and content of every file below a directory.
func fingerprints(dir string) (map[string]string, error) {
	out := map[string]string{}
	return out, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		out[p] = fmt.Sprintf("%d %s %x", info.Size(), info.ModTime(), sha256.Sum256(b))
		return err
	})
}

// hooks installs this program as hooks of a repository.
func hooks(t *testing.T, gitDir string, names ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		// The race detector would wait for a second when the hook ends.
		write(t, gitDir, "hooks/"+name, "#!/bin/sh\n"+hookName+"="+name+" GORACE=atexit_sleep_ms=0 exec '"+self+"'\n")
		if err := os.Chmod(filepath.Join(gitDir, "hooks", name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded returns what the hooks since the last call found, as "HOOK: K path, …".
func recorded(t *testing.T) []string {
	t.Helper()
	name := os.Getenv(hookRecord)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	os.Remove(name)
	var out []string
	for line := range strings.Lines(string(b)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Touched != "" {
			t.Errorf("%s: Staged changed files of the repository:\n%s", r.Hook, r.Touched)
		}
		out = append(out, r.Hook+": "+strings.Join(r.Staged, ", "))
	}
	return out
}

func TestStagedInHooks(t *testing.T) {
	for _, c := range []struct {
		name string
		// do works in a repository with the files a, b and sub/c.
		do   func(t *testing.T, dir string)
		want []string
		// left is what git status has to say afterwards.
		left string
	}{
		{"commit", func(t *testing.T, dir string) {
			write(t, dir, "a", "2")
			git(t, dir, "add", "a")
			write(t, dir, "b", "2")
			git(t, dir, "commit", "-q", "-m", "two")
		}, []string{"pre-commit: M a"}, " M b"},
		{"commit -a", func(t *testing.T, dir string) {
			write(t, dir, "a", "2")
			os.Remove(filepath.Join(dir, "b"))
			write(t, dir, "new", "1")
			git(t, dir, "commit", "-q", "-a", "-m", "two")
		}, []string{"pre-commit: M a, D b"}, "?? new"},
		{"commit -- path", func(t *testing.T, dir string) {
			write(t, dir, "a", "2")
			write(t, dir, "b", "2")
			write(t, dir, "sub/c", "2")
			git(t, dir, "add", "b")
			git(t, dir, "commit", "-q", "-m", "two", "--", "a")
		}, []string{"pre-commit: M a"}, "M  b\n M sub/c"},
		{"commit --include", func(t *testing.T, dir string) {
			write(t, dir, "a", "2")
			write(t, dir, "b", "2")
			git(t, dir, "add", "b")
			git(t, dir, "commit", "-q", "-m", "two", "--include", "--", "a")
		}, []string{"pre-commit: M a, M b"}, ""},
		{"commit in a directory", func(t *testing.T, dir string) {
			write(t, dir, "a", "2")
			write(t, dir, "sub/c", "2")
			git(t, filepath.Join(dir, "sub"), "commit", "-q", "-m", "two", "--", "c")
			t.Setenv(hookDir, filepath.Join(dir, "sub"))
			write(t, dir, "sub/d", "2")
			git(t, dir, "add", "sub/d")
			git(t, filepath.Join(dir, "sub"), "commit", "-q", "-a", "-m", "three")
		}, []string{"pre-commit: M sub/c", "pre-commit: A d"}, ""},
		{"commit --amend", func(t *testing.T, dir string) {
			git(t, dir, "commit", "-q", "--amend", "-m", "same")
			write(t, dir, "a", "2")
			git(t, dir, "commit", "-q", "--amend", "-a", "-m", "more")
		}, []string{"pre-commit: ", "pre-commit: M a"}, ""},
		{"a name for an index", func(t *testing.T, dir string) {
			t.Setenv("GIT_INDEX_FILE", filepath.Join(filepath.Dir(os.Getenv(hookRecord)), "chosen"))
			git(t, dir, "read-tree", "HEAD")
			write(t, dir, "a", "2")
			git(t, dir, "add", "a")
			git(t, dir, "commit", "-q", "-m", "two")
			write(t, dir, "a", "3")
			git(t, dir, "commit", "-q", "-a", "-m", "three")
			os.Unsetenv("GIT_INDEX_FILE")
			git(t, dir, "reset", "-q")
		}, []string{"pre-commit: M a", "pre-commit: M a"}, ""},
		{"merge", func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "-b", "side")
			write(t, dir, "new", "1")
			git(t, dir, "add", "new")
			git(t, dir, "commit", "-q", "--no-verify", "-m", "side")
			git(t, dir, "checkout", "-q", "main")
			git(t, dir, "merge", "-q", "--no-ff", "-m", "merged", "side")
		}, []string{"pre-merge-commit: A new"}, ""},
		{"rebase", func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "-b", "side")
			write(t, dir, "new", "1")
			git(t, dir, "add", "new")
			git(t, dir, "commit", "-q", "-m", "side")
			git(t, dir, "checkout", "-q", "main")
			write(t, dir, "a", "2")
			git(t, dir, "commit", "-q", "-a", "-m", "main")
			git(t, dir, "checkout", "-q", "side")
			hooks(t, filepath.Join(dir, ".git"), "prepare-commit-msg")
			git(t, dir, "rebase", "-q", "--exec", filepath.Join(dir, ".git", "hooks", "pre-commit"), "main")
		}, []string{"pre-commit: A new", "pre-commit: M a", "prepare-commit-msg: A new", "pre-commit: "}, ""},
		{"another repository's hook", func(t *testing.T, dir string) {
			other := made(t, map[string]string{"a": "1", "sub/o": "1"})
			t.Setenv(hookDir, filepath.Join(other, "sub"))
			write(t, other, "sub/own", "1")
			git(t, other, "add", "sub/own")
			write(t, dir, "a", "2")
			git(t, dir, "commit", "-q", "-a", "-m", "two")
			write(t, dir, "a", "3")
			git(t, dir, "commit", "-q", "-m", "three", "--", "a")
		}, []string{"pre-commit: A own", "pre-commit: A own"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := watched(t)
			hooks(t, filepath.Join(dir, ".git"), "pre-commit", "pre-merge-commit")
			c.do(t, dir)
			if diff := cmp.Diff(c.want, recorded(t)); diff != "" {
				t.Errorf("the hooks' records (-want +got):\n%s", diff)
			}
			sound(t, dir, c.left)
		})
	}
}

// watched makes a repository whose hooks record what they find.
func watched(t *testing.T) string {
	t.Helper()
	hermetic(t)
	dir := made(t, map[string]string{"a": "1", "b": "1", "sub/c": "1"})
	t.Setenv(hookRecord, filepath.Join(place(t), "record"))
	t.Setenv(hookWatch, filepath.Join(dir, ".git"))
	t.Setenv(hookDir, "")
	return dir
}

// sound checks a work tree after its hooks ran.
func sound(t *testing.T, dir, status string) {
	t.Helper()
	if got := git(t, dir, "status", "--porcelain"); got != status {
		t.Errorf("git status = %q, want %q", got, status)
	}
	if got := git(t, dir, "fsck", "--no-dangling"); got != "" {
		t.Errorf("git fsck = %q", got)
	}
}

// TestStagedInALinkedWorkTree commits in a second work tree, where hooks get the
// repository's place and its index in full.
func TestStagedInALinkedWorkTree(t *testing.T) {
	dir := watched(t)
	linked := filepath.Join(place(t), "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	hooks(t, filepath.Join(dir, ".git"), "pre-commit")
	write(t, linked, "a", "2")
	git(t, linked, "add", "a")
	git(t, linked, "commit", "-q", "-m", "two")
	write(t, linked, "a", "3")
	write(t, linked, "sub/c", "3")
	git(t, filepath.Join(linked, "sub"), "commit", "-q", "-m", "three", "--", "c")
	git(t, linked, "commit", "-q", "-a", "-m", "four")
	// The first work tree's hook asks about the second, and the reverse.
	write(t, dir, "b", "2")
	write(t, linked, "staged", "1")
	git(t, linked, "add", "staged")
	t.Setenv(hookDir, linked)
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	t.Setenv(hookDir, dir)
	git(t, linked, "commit", "-q", "-m", "five")
	want := []string{"pre-commit: M a", "pre-commit: M sub/c", "pre-commit: M a", "pre-commit: A staged", "pre-commit: "}
	if diff := cmp.Diff(want, recorded(t)); diff != "" {
		t.Errorf("the hooks' records (-want +got):\n%s", diff)
	}
	sound(t, dir, "")
	sound(t, linked, "")
}

// TestStagedInASubmodule commits in a submodule and asks about it and about what it
// is a part of.
func TestStagedInASubmodule(t *testing.T) {
	dir := watched(t)
	part := made(t, map[string]string{"x": "1"})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part, "part")
	hooks(t, filepath.Join(dir, ".git", "modules", "part"), "pre-commit")
	write(t, dir, "part/x", "2")
	git(t, filepath.Join(dir, "part"), "commit", "-q", "-a", "-m", "two")
	t.Setenv(hookDir, dir)
	write(t, dir, "part/x", "3")
	git(t, filepath.Join(dir, "part"), "commit", "-q", "-a", "-m", "three")
	want := []string{"pre-commit: M x", "pre-commit: A .gitmodules, A part"}
	if diff := cmp.Diff(want, recorded(t)); diff != "" {
		t.Errorf("the hooks' records (-want +got):\n%s", diff)
	}
	git(t, dir, "commit", "-q", "-a", "-m", "part")
	sound(t, dir, "")
}
