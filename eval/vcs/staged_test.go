package vcs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func staged(t *testing.T, o Options, want ...string) {
	t.Helper()
	r, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Staged(context.Background())
	if diff := cmp.Diff(want, show(got)); diff != "" || err != nil {
		t.Errorf("Staged of %s, index %q: %v (-want +got):\n%s", o.Dir, o.Index, err, diff)
	}
}

// configure makes settings that would change the answers.
func configure(t *testing.T, dir string) {
	t.Helper()
	for _, s := range []string{
		"status.showUntrackedFiles=no", "status.relativePaths=true", "status.branch=true", "status.showStash=true", "diff.renames=copies",
		"diff.noprefix=true", "color.ui=always", "diff.relative=true", "status.renames=true", "core.quotePath=true", "diff.orderFile=/nowhere",
		"diff.autoRefreshIndex=false", "diff.ignoreSubmodules=all", "diff.renameLimit=1", "status.submoduleSummary=true",
	} {
		key, value, _ := strings.Cut(s, "=")
		git(t, dir, "config", key, value)
	}
}

func TestStaged(t *testing.T) {
	hermetic(t)
	base := map[string]string{
		"keep": "1", "edit": "1", "unstaged": "1", "drop": "1", "type": "1", "unlisted": "1",
		"sub/away": "long enough to be found again\n", "sub/deep/x": "1", "subway": "1", ".gitignore": "ignored\n",
	}
	for _, options := range [][]string{nil, {"--object-format=sha256"}} {
		dir := made(t, base, options...)
		configure(t, dir)
		staged(t, Options{Dir: dir})
		for _, name := range []string{"edit", "subway", "sub/deep/x", "sub/a\nb", " \"quoted\" ", "-f", ":(top)", "sub/\xff\xfe", "sub/é", "ignored"} {
			write(t, dir, name, "2")
		}
		os.Remove(filepath.Join(dir, "drop"))
		os.Remove(filepath.Join(dir, "type"))
		if err := os.Symlink("keep", filepath.Join(dir, "type")); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", "--all")
		git(t, dir, "add", "--force", "ignored")
		git(t, dir, "mv", "sub/away", "sub/moved")
		git(t, dir, "rm", "-q", "--cached", "unlisted")
		// What is no part of the commit.
		write(t, dir, "unstaged", "2")
		write(t, dir, "untracked", "1")
		write(t, dir, "promised", "1")
		git(t, dir, "add", "--intent-to-add", "promised")
		os.Remove(filepath.Join(dir, "keep"))
		staged(t, Options{Dir: dir}, "A  \"quoted\" ", "A -f", "A :(top)", "D drop", "M edit", "A ignored", "A sub/a\nb", "D sub/away", "M sub/deep/x",
			"A sub/moved", "A sub/é", "A sub/\xff\xfe", "M subway", "T type", "D unlisted")
		staged(t, Options{Dir: filepath.Join(dir, "sub")}, "A a\nb", "D away", "M deep/x", "A moved", "A é", "A \xff\xfe")
		staged(t, Options{Dir: filepath.Join(dir, "sub", "deep")}, "M x")
	}
}

// TestStagedBeforeTheFirstCommit has branches without a commit.
func TestStagedBeforeTheFirstCommit(t *testing.T) {
	hermetic(t)
	for _, options := range [][]string{nil, {"--object-format=sha256"}} {
		dir := place(t)
		git(t, dir, append([]string{"init", "-q"}, options...)...)
		staged(t, Options{Dir: dir})
		staged(t, Options{Dir: dir, Index: filepath.Join(dir, ".git", "index")})
		write(t, dir, "a", "1")
		write(t, dir, "sub/b", "1")
		write(t, dir, "untracked", "1")
		write(t, dir, "promised", "1")
		git(t, dir, "add", "a", "sub")
		git(t, dir, "add", "--intent-to-add", "promised")
		staged(t, Options{Dir: dir}, "A a", "A sub/b")
		staged(t, Options{Dir: filepath.Join(dir, "sub")}, "A b")
		git(t, dir, "commit", "-q", "-m", "one")
		git(t, dir, "checkout", "-q", "--orphan", "fresh")
		staged(t, Options{Dir: dir}, "A a", "A sub/b")
	}
}

// TestStagedSubmodule has settings that hide a submodule from git's own answers, and
// a directory that was one.
func TestStagedSubmodule(t *testing.T) {
	hermetic(t)
	part := made(t, map[string]string{"x": "1"})
	dir := made(t, map[string]string{"a": "1"})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part, "part")
	git(t, dir, "config", "submodule.part.ignore", "all")
	git(t, dir, "config", "--file", ".gitmodules", "submodule.part.ignore", "all")
	staged(t, Options{Dir: dir}, "A .gitmodules", "A part")
	git(t, dir, "commit", "-q", "-m", "part")
	write(t, dir, "part/x", "2")
	staged(t, Options{Dir: dir})
	commit(t, filepath.Join(dir, "part"), nil)
	staged(t, Options{Dir: dir})
	git(t, dir, "add", "--force", "part")
	staged(t, Options{Dir: dir}, "M part")
	git(t, dir, "commit", "-q", "-m", "moved on")
	git(t, dir, "update-index", "--force-remove", "part")
	os.RemoveAll(filepath.Join(dir, "part"))
	write(t, dir, "part/y", "1")
	git(t, dir, "add", "part")
	staged(t, Options{Dir: dir}, "D part", "A part/y")
	staged(t, Options{Dir: filepath.Join(dir, "part")}, "A y")
}

// TestStagedSparse has a check-out of one directory.
func TestStagedSparse(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"in/a": "1", "out/b": "1"})
	git(t, dir, "sparse-checkout", "set", "--sparse-index", "in")
	write(t, dir, "in/a", "2")
	git(t, dir, "add", "in/a")
	staged(t, Options{Dir: dir}, "M in/a")
	git(t, dir, "rm", "-q", "--cached", "--sparse", "out/b")
	staged(t, Options{Dir: dir}, "M in/a", "D out/b")
}

func TestStagedFails(t *testing.T) {
	hermetic(t)
	for _, c := range []struct {
		name, file, text string
		want             error
	}{
		{"no index at all", "index", "no index, but more than twelve bytes of something else", ErrIndex},
		{"an empty index", "index", "", ErrIndex},
		{"an index of the future", "index", "DIRC\x00\x00\x00\x63\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ErrIndex},
		{"a current commit that is not there", "refs/heads/main", strings.Repeat("1", 40) + "\n", nil},
	} {
		dir := made(t, map[string]string{"a": "1"})
		write(t, dir, ".git/"+c.file, c.text)
		got, err := open(t, dir).Staged(context.Background())
		var e *Error
		if !errors.As(err, &e) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(e.Hint, "git ") || got != nil {
			t.Errorf("%s: Staged = %v, %#v, want %v with a hint", c.name, got, err, c.want)
		}
	}
}

// TestIndexOfAHook has values of GIT_INDEX_FILE as git sets them, as people do, and
// as hooks of other repositories hand them down.
func TestIndexOfAHook(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1", "sub/b": "1"})
	linked := filepath.Join(place(t), "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	other := made(t, map[string]string{"o": "1"})
	for _, d := range []string{dir, linked, other} {
		write(t, d, "own", "1")
		git(t, d, "add", "own")
	}
	private := filepath.Join(dir, ".git", "worktrees", "linked")
	temporary := func(dir, index string) string {
		t.Helper()
		r := open(t, dir)
		write(t, dir, "sub/temporary", "1")
		if _, err := r.git.output(context.Background(), call{index: index, acts: true, args: []string{"add", "--all"}}); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "sub", "temporary"))
		return index
	}
	chosen := temporary(dir, filepath.Join(place(t), "chosen"))
	temporary(dir, filepath.Join(dir, ".git", "index.other"))
	temporary(linked, filepath.Join(private, "next"))
	if err := os.Mkdir(filepath.Join(dir, ".git", "tool"), 0o777); err != nil {
		t.Fatal(err)
	}
	temporary(dir, filepath.Join(dir, ".git", "tool", "index"))
	own, with := []string{"A own"}, []string{"A own", "A sub/temporary"}
	for _, c := range []struct {
		dir, index string
		want       []string
	}{
		{dir, "", own},
		{dir, ".git/index", own},
		{dir, filepath.Join(dir, ".git", "index"), own},
		{dir, ".git/index.other", with},
		{dir, filepath.Join(dir, ".git", "index.other"), with},
		{dir, ".git/tool/index", with},
		{dir, chosen, with},
		{filepath.Join(dir, "sub"), ".git/index.other", []string{"A temporary"}},
		{filepath.Join(dir, "sub"), chosen, []string{"A temporary"}},
		{linked, filepath.Join(private, "index"), own},
		{linked, filepath.Join(private, "next"), with},
		// Of another work tree, and of another repository.
		{dir, filepath.Join(private, "next"), own},
		{linked, ".git/index", own},
		{linked, filepath.Join(dir, ".git", "index.other"), own},
		{dir, filepath.Join(other, ".git", "index"), own},
		{dir, filepath.Join(other, ".git", "index.lock"), own},
		{other, filepath.Join(dir, ".git", "index.other"), own},
	} {
		staged(t, Options{Dir: c.dir, Index: c.index}, c.want...)
	}
	for _, gone := range []string{".git/gone", filepath.Join(dir, ".git", "index.lock"), filepath.Join(other, "gone"), "a/index", strings.Repeat("x", 5000)} {
		r, err := Open(context.Background(), Options{Dir: dir, Index: gone})
		if err != nil {
			t.Fatal(err)
		}
		var e *Error
		if got, err := r.Staged(context.Background()); !errors.Is(err, ErrNotFound) || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("Staged with the index %.20s = %v, %v, want ErrNotFound with a hint", gone, got, err)
		}
	}
	// No other question is asked of a hook's index.
	r, err := Open(context.Background(), Options{Dir: dir, Index: chosen})
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.ChangedPaths(context.Background(), head); err != nil || !slices.Equal(show(got), own) {
		t.Errorf("ChangedPaths = %v, %v, want %v", show(got), err, own)
	}
}
