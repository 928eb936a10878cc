package vcs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
		// Settings that would change the answers.
		for _, s := range []string{"status.showUntrackedFiles=no", "status.relativePaths=true", "status.branch=true", "status.showStash=true", "diff.renames=copies",
			"diff.noprefix=true", "color.ui=always", "diff.relative=true", "status.renames=true", "core.quotePath=true", "diff.orderFile=/nowhere", "diff.autoRefreshIndex=false"} {
			key, value, _ := strings.Cut(s, "=")
			git(t, dir, "config", key, value)
		}
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
		if got, err := open(t, filepath.Join(dir, "new dir")).ChangedPaths(ctx, head); err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(want, show(got)); diff != "" {
			t.Errorf("ChangedPaths (-want +got):\n%s", diff)
		}
	}
}

func TestChangedPathsOfAnotherBase(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a": "1", "b": "1"})
	base := git(t, dir, "rev-parse", "HEAD")
	commit(t, dir, map[string]string{"a": "2", "c": "1"})
	// A repository inside of the work tree belongs to nobody's change.
	git(t, dir, "init", "-q", "inner")
	write(t, dir, "inner/x", "")
	r := open(t, dir)
	got, err := r.ChangedPaths(context.Background(), base)
	if diff := cmp.Diff([]string{"M a", "A c"}, show(got)); diff != "" || err != nil {
		t.Errorf("ChangedPaths: %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "HEAD", "--output=pwned", base[:12]} {
		if _, err := r.ChangedPaths(context.Background(), bad); !errors.Is(err, ErrNotFound) {
			t.Errorf("ChangedPaths(%q) = %v, want ErrNotFound", bad, err)
		}
	}
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
	for _, s := range []string{"x", "1 M.\x00", "? \x00", "?\x00", "1 .M N... 1 2 3 4 5 name", "2 R. N... 1 2 3 4 5 R100 new\x00", "z a\x00"} {
		if c, ok := parseStatus([]byte(s)); ok {
			t.Errorf("parseStatus(%q) = %v", s, c)
		}
	}
	got, ok := parseStatus([]byte("# branch.oid 1\x00! ignored\x002 R. N... 1 2 3 4 5 R100 new name\x00old\x00? x y\n\x00"))
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
		changes, _ := parseStatus([]byte(s))
		more, _ := parseNameStatus([]byte(s))
		for i, c := range merged(append(changes, more...)) {
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
