package vcs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// show writes changes as "K path".
func show(changes []Change) []string {
	var s []string
	for _, c := range changes {
		s = append(s, string(c.Kind)+" "+c.Path)
	}
	return s
}

func TestChanges(t *testing.T) {
	hermetic(t)
	base := map[string]string{"keep": "1", "edit": "1", "drop": "1", "staged": "1", "away": "long enough to be found again\n", "unlisted": "1", "type": "1", ".gitignore": "ignored\n"}
	for _, options := range [][]string{nil, {"--object-format=sha256"}} {
		dir := made(t, base, options...)
		configure(t, dir)
		r := open(t, dir)
		ctx := context.Background()
		head, err := r.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Status(ctx); err != nil || len(got) > 0 {
			t.Errorf("Status of a clean tree = %v, %v", got, err)
		}
		write(t, dir, "edit", "2")
		write(t, dir, "staged", "2")
		git(t, dir, "add", "staged")
		git(t, dir, "mv", "away", "moved")
		git(t, dir, "rm", "-q", "--cached", "unlisted")
		os.Remove(filepath.Join(dir, "drop"))
		os.Remove(filepath.Join(dir, "type"))
		if err := os.Symlink("keep", filepath.Join(dir, "type")); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "new dir/a\nb", "")
		write(t, dir, " \"quoted\" ", "")
		write(t, dir, "ignored", "")
		if got, err := r.Status(ctx); err != nil {
			t.Error(err)
		} else if diff := cmp.Diff([]string{"?  \"quoted\" ", "D away", "D drop", "M edit", "A moved", "? new dir/", "M staged", "T type", "M unlisted"}, show(got)); diff != "" {
			t.Errorf("Status (-want +got):\n%s", diff)
		}
		want := []string{"?  \"quoted\" ", "D away", "D drop", "M edit", "A moved", "? new dir/a\nb", "M staged", "T type", "M unlisted"}
		changed(t, dir, head, want...)
		changed(t, filepath.Join(dir, "new dir"), head, "? a\nb")
	}
}

func changed(t *testing.T, dir, base string, want ...string) {
	t.Helper()
	got, err := open(t, dir).ChangedPaths(context.Background(), base)
	if diff := cmp.Diff(want, show(got)); diff != "" || err != nil {
		t.Errorf("ChangedPaths of %s: %v (-want +got):\n%s", dir, err, diff)
	}
}

// TestChangedPathsInEveryState changes each file once, or twice, between a commit and
// the work tree.
func TestChangedPathsInEveryState(t *testing.T) {
	hermetic(t)
	names := []string{"kept", "committed", "staged", "unstaged", "reverted", "restored", "staged-reverted", "gone", "gone-staged", "unlisted", "back", "staged-gone", "subway"}
	files := map[string]string{".gitignore": "ignored\nlisted\n"}
	for _, n := range names {
		files[n], files["sub/"+n] = "1", "1"
	}
	dir := made(t, files)
	base := git(t, dir, "rev-parse", "HEAD")
	top := map[string]string{"subway": "2"}
	for _, at := range []string{"", "sub/"} {
		top[at+"committed"], top[at+"reverted"], top[at+"restored"], top[at+"new"] = "2", "2", "2", "1"
	}
	commit(t, dir, top)
	for _, at := range []string{"", "sub/"} {
		os.Remove(filepath.Join(dir, at, "gone"))
		git(t, dir, "rm", "-q", "--cached", at+"unlisted", at+"back")
		git(t, dir, "rm", "-q", at+"gone-staged")
		for _, n := range []string{"staged", "staged-reverted", "staged-gone", "added", "added-gone", "listed"} {
			write(t, dir, at+n, "2")
			git(t, dir, "add", "--force", at+n)
		}
		for _, n := range []string{"unstaged", "untracked/x", "promised", "ignored", "unlisted"} {
			write(t, dir, at+n, "2")
		}
		// Here the index differs from the commit, and there from the current commit alone.
		write(t, dir, at+"reverted", "1")
		write(t, dir, at+"restored", "1")
		git(t, dir, "add", at+"restored")
		write(t, dir, at+"staged-reverted", "1")
		git(t, dir, "add", "--intent-to-add", at+"promised")
		os.Remove(filepath.Join(dir, at, "staged-gone"))
		os.Remove(filepath.Join(dir, at, "added-gone"))
		// A repository inside of the work tree belongs to nobody's change.
		git(t, dir, "init", "-q", at+"inner")
		write(t, dir, at+"inner/x", "")
	}
	below := []string{"A added", "D added-gone", "M back", "M committed", "D gone", "D gone-staged", "A listed", "A new", "A promised", "M reverted", "M staged",
		"D staged-gone", "M staged-reverted", "M unlisted", "M unstaged", "? untracked/x"}
	changed(t, filepath.Join(dir, "sub"), base, below...)
	want := slices.Clone(below)
	for _, b := range below {
		want = append(want, b[:2]+"sub/"+b[2:])
	}
	want = append(want, "M subway")
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	changed(t, dir, base, want...)
	for _, bad := range []string{"", "HEAD", "--output=pwned", base[:12]} {
		if _, err := open(t, dir).ChangedPaths(context.Background(), bad); !errors.Is(err, ErrNotFound) {
			t.Errorf("ChangedPaths(%q) = %v, want ErrNotFound", bad, err)
		}
	}
}

// TestChangedPathsWritesNothing has files with other times and the same content, for
// which git likes to write the index.
func TestChangedPathsWritesNothing(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1", "b": "1"})
	head := git(t, dir, "rev-parse", "HEAD")
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range []string{"a", "b"} {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	before, err := fingerprints(filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dir, head)
	after, err := fingerprints(filepath.Join(dir, ".git"))
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("ChangedPaths wrote (%v):\n%s", err, diff)
	}
}

// TestChangedPathsOfSubmodules has a submodule that would run a program when git
// looked at its files.
func TestChangedPathsOfSubmodules(t *testing.T) {
	hermetic(t)
	part := made(t, map[string]string{"x": "1\n", ".gitattributes": "* filter=evil\n"})
	dir := made(t, map[string]string{"a": "1", "sub/b": "1"})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part, "sub/part")
	base := commit(t, dir, nil)
	mark := filepath.Join(place(t), "pwned")
	git(t, filepath.Join(dir, "sub", "part"), "config", "filter.evil.clean", ": >'"+mark+"'; cat")
	git(t, dir, "config", "submodule.sub/part.ignore", "all")
	write(t, dir, "sub/part/x", "2\n")
	changed(t, dir, base)
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a filter of the submodule ran")
	}
	git(t, filepath.Join(dir, "sub", "part"), "commit", "-q", "--allow-empty", "-m", "two")
	changed(t, dir, base, "M sub/part")
	changed(t, filepath.Join(dir, "sub"), base, "M part")
	git(t, dir, "add", "--force", "sub/part")
	git(t, dir, "commit", "-q", "-m", "two")
	changed(t, dir, base, "M sub/part")
	os.RemoveAll(filepath.Join(dir, "sub", "part"))
	changed(t, dir, git(t, dir, "rev-parse", "HEAD"), "D sub/part")
}

// TestChangedPathsOfASparseCheckOut has files that are meant to be absent.
func TestChangedPathsOfASparseCheckOut(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"in/a": "1", "out/b": "1", "out/c": "1"})
	base := git(t, dir, "rev-parse", "HEAD")
	commit(t, dir, map[string]string{"out/c": "2"})
	for _, option := range []string{"--no-sparse-index", "--sparse-index"} {
		git(t, dir, "sparse-checkout", "set", option, "in")
		if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
			t.Fatal("nothing was left out")
		}
		changed(t, dir, base, "M out/c")
		write(t, dir, "in/a", "2")
		changed(t, dir, base, "M in/a", "M out/c")
		git(t, dir, "checkout", "-q", "in/a")
	}
}

// TestShallowClone has a clone that lacks the older commits and the other branches.
func TestShallowClone(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1"})
	first := git(t, dir, "rev-parse", "HEAD")
	commit(t, dir, map[string]string{"a": "2"})
	git(t, dir, "branch", "side", first)
	clone := filepath.Join(place(t), "clone")
	git(t, dir, "clone", "-q", "--depth=1", "file://"+filepath.ToSlash(dir), clone)
	write(t, clone, "b", "1")
	r := open(t, clone)
	ctx := context.Background()
	head, err := r.ResolveCommit(ctx, "origin/main")
	if err != nil {
		t.Fatal(err)
	}
	changed(t, clone, head, "? b")
	var e *Error
	for _, rev := range []string{"HEAD~1", "origin/side", first} {
		if _, err := r.ResolveCommit(ctx, rev); !errors.Is(err, ErrNotFound) || !errors.As(err, &e) || !strings.Contains(e.Reason, "shallow") {
			t.Fatalf("ResolveCommit(%s) = %v, want an error that says why", rev, err)
		}
	}
	if _, err := r.ChangedPaths(ctx, first); err == nil {
		t.Error("ChangedPaths compared with a commit that is not there")
	}
	// The hint is a command that helps.
	fetch := exec.Command("sh", "-c", e.Hint)
	fetch.Dir = clone
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", e.Hint, err, out)
	}
	for _, rev := range []string{"HEAD~1", "origin/side", first} {
		if got, err := r.ResolveCommit(ctx, rev); got != first || err != nil {
			t.Errorf("after the fetch, ResolveCommit(%s) = %s, %v, want %s", rev, got, err, first)
		}
	}
	changed(t, clone, first, "M a", "? b")
}

func TestUnmerged(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1\n"})
	git(t, dir, "checkout", "-q", "-b", "side")
	commit(t, dir, map[string]string{"a": "2\n"})
	git(t, dir, "checkout", "-q", "main")
	head := commit(t, dir, map[string]string{"a": "3\n"})
	r := open(t, dir)
	if _, err := r.git.output(context.Background(), call{acts: true, args: []string{"merge", "-q", "side"}}); err == nil {
		t.Fatal("the merge has no conflict")
	}
	if got, err := r.Status(context.Background()); err != nil || cmp.Diff([]string{"U a"}, show(got)) != "" {
		t.Errorf("Status = %v, %v", show(got), err)
	}
	if got, err := r.ChangedPaths(context.Background(), head); err != nil || len(got) != 1 || got[0].Path != "a" {
		t.Errorf("ChangedPaths = %v, %v", show(got), err)
	}
}

// hostile makes a repository that runs a program on every occasion there is, which
// leaves the file returned.
func hostile(t *testing.T) (dir, mark string) {
	t.Helper()
	dir = made(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n", ".gitattributes": "* filter=evil diff=evil\n"})
	mark = filepath.Join(place(t), "pwned")
	program := filepath.Join(dir, ".git", "evil")
	write(t, dir, ".git/evil", "#!/bin/sh\n: >'"+mark+"'\ncat\n")
	if err := os.Chmod(program, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit", "post-checkout", "fsmonitor-watchman", "pre-push"} {
		if err := os.Symlink(program, filepath.Join(dir, ".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, ".git/info/attributes", "* filter=evil diff=evil\n")
	write(t, dir, ".git/more", "[filter \"evil\"]\n\tprocess = "+program+"\n\trequired = true\n")
	for _, s := range []string{
		"filter.evil.clean", "filter.evil.smudge", "diff.evil.command", "diff.evil.textconv", "diff.external",
		"core.fsmonitor", "core.pager", "pager.status", "pager.diff", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass", "gpg.program",
		"core.alternateRefsCommand", "remote.origin.uploadpack", "remote.origin.receivepack", "credential.helper", "diff.evil.xfuncname",
	} {
		git(t, dir, "config", s, program)
	}
	git(t, dir, "config", "include.path", "more")
	git(t, dir, "config", "protocol.ext.allow", "always")
	git(t, dir, "config", "remote.origin.url", "ext::"+program)
	git(t, dir, "config", "remote.origin.promisor", "true")
	git(t, dir, "config", "extensions.partialClone", "origin")
	git(t, dir, "config", "core.repositoryFormatVersion", "1")
	os.Remove(mark)
	// Same size and another time: git has to look at the content.
	for _, name := range []string{"a.txt", "b.txt"} {
		write(t, dir, name, "2\n")
	}
	return dir, mark
}

// TestQuestionsRunNothing asks everything of a repository that wants to run a
// program.
func TestQuestionsRunNothing(t *testing.T) {
	hermetic(t)
	dir, mark := hostile(t)
	ctx := context.Background()
	r := open(t, dir)
	head, err := r.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"Status": func() error {
			c, err := r.Status(ctx)
			if err == nil && len(c) != 2 {
				t.Errorf("Status = %v, want both files", c)
			}
			return err
		},
		"ChangedPaths":  func() error { _, err := r.ChangedPaths(ctx, head); return err },
		"Staged":        func() error { _, err := r.Staged(ctx); return err },
		"ResolveCommit": func() error { _, err := r.ResolveCommit(ctx, "main"); return err },
		"ListTree":      func() error { return r.ListTree(ctx, head, "", func(Entry) error { return nil }) },
		"ReadBlobs":     func() error { return r.ReadBlobs(ctx, head, []string{"a.txt"}, func(Blob) error { return nil }) },
		"Tag":           func() error { _, err := r.Tag(ctx, "v1"); return err },
		"Remotes":       func() error { _, err := r.Remotes(ctx); return err },
		"RemoteURL":     func() error { _, _, err := r.RemoteURL(ctx, "origin"); return err },
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(mark); err == nil {
			t.Fatalf("%s ran a program of the repository", name)
		}
	}
	// What is missing is not fetched through a program either.
	blob := git(t, dir, "rev-parse", "HEAD:b.txt")
	os.Remove(mark)
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if err := r.ReadBlobs(ctx, head, []string{"b.txt"}, func(Blob) error { return nil }); err == nil {
		t.Error("ReadBlobs read a blob that is not there")
	}
	// Whatever it says about the size, it comes back.
	_ = r.ListTree(ctx, head, "", func(Entry) error { return nil })
	if _, err := r.RemoteTag(ctx, "origin", "v1"); err == nil {
		t.Error("RemoteTag spoke through a program that a URL names")
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Fatal("a program of the repository ran to fetch")
	}
	if after, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || string(after) != string(index) {
		t.Errorf("the index was written (%v)", err)
	}
	// The trap does work for somebody who asks git without care.
	git(t, dir, "config", "--unset", "extensions.partialClone")
	careless := exec.Command("git", "status")
	careless.Dir = dir
	_ = careless.Run() // the program is no good as a filter
	if _, err := os.Lstat(mark); err != nil {
		t.Errorf("git status ran nothing, so this test shows nothing: %v", err)
	}
}

// TestFilterThatNoOptionCanName asks a repository whose filter would slip through.
func TestFilterThatNoOptionCanName(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1\n", ".gitattributes": "a filter=x=y\n"})
	mark := filepath.Join(place(t), "pwned")
	git(t, dir, "config", "filter.x=y.clean", ": >'"+mark+"'; cat")
	write(t, dir, "a", "2\n")
	if _, err := open(t, dir).Status(context.Background()); err == nil || !strings.Contains(err.Error(), "x=y") {
		t.Errorf("Status = %v, want an error that names the filter", err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("the filter ran")
	}
}

// TestUsersFilter has a filter in the user's own configuration, as git-lfs has.
func TestUsersFilter(t *testing.T) {
	hermetic(t)
	git(t, place(t), "config", "--global", "filter.upper.clean", "tr a-z A-Z")
	dir := made(t, map[string]string{".gitattributes": "*.txt filter=upper\n", "a.txt": "text\n"})
	write(t, dir, "a.txt", "TEXT\n")
	if got, err := open(t, dir).Status(context.Background()); err != nil || len(got) > 0 {
		t.Errorf("Status = %v, %v, want nothing: the content is the same behind the filter", got, err)
	}
}

func TestParseStatusFails(t *testing.T) {
	for _, s := range []string{"x", "1 M.\x00", "? \x00", "?\x00", "1 .M N... 1 2 3 4 5 name", "1 M N... 1 2 3 4 5 name\x00", "2 R. N... 1 2 3 4 5 R100 new\x00", "z a\x00"} {
		if c, ok := parseStatus([]byte(s), anyKind); ok {
			t.Errorf("parseStatus(%q) = %v", s, c)
		}
	}
	got, ok := parseStatus([]byte("# branch.oid 1\x00! ignored\x002 R. N... 1 2 3 4 5 R100 new name\x00old\x00? x y\n\x00"), anyKind)
	if diff := cmp.Diff([]string{"M new name", "? x y\n"}, show(got)); diff != "" || !ok {
		t.Errorf("parseStatus: %t (-want +got):\n%s", ok, diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "1 .M N... 100644 100644 100644 a a name\x00", "u UU N... 1 2 3 4 a b c name\x00", "? a b\x00", "2 R. N... 1 2 3 a b R100 new\x00old\x00",
		"M\x00a\x00D\x00b\x00", "local\x00filter.a.b.clean\x00global\x00filter.lfs.clean\x00",
		"100644 blob 0123456789012345678901234567890123456789       2\tname", "160000 commit 0123456789012345678901234567890123456789       -\tsub",
		"fatal: detected dubious ownership in repository at '/x'\n\tgit config --global --add safe.directory /x\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		changes, _ := parseStatus([]byte(s), anyKind)
		more, _ := parseNameStatus([]byte(s))
		unstaged, _ := parseStatus([]byte(s), unstagedKind)
		for i, c := range merged(slices.Concat(changes, more, unstaged)) {
			if c.Path == "" {
				t.Errorf("change %d of %q has no path", i, s)
			}
		}
		if e, ok := parseEntry(s); ok && (e.Path == "" || e.Size < -1) {
			t.Errorf("parseEntry(%q) = %v", s, e)
		}
		drivers, err := ownFilters("test", []byte(s))
		for _, d := range drivers {
			if err != nil || strings.Contains(d, "=") {
				t.Errorf("ownFilters(%q) = %q, %v", s, d, err)
			}
		}
		said := refusal("test", []byte(s), 128)
		if n := len([]rune(said.Error())); n > maxSentence+50 || strings.ContainsAny(said.Error()+said.Hint, "\n\x00\x1b") {
			t.Errorf("refusal(%q) = %q", s, said.Error())
		}
	})
}
