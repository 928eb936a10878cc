package vcs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withRemote makes a bare repository and names it origin.
func withRemote(t *testing.T, dir string, options ...string) string {
	t.Helper()
	bare := filepath.Join(place(t), "r e.git")
	git(t, dir, append([]string{"init", "-q", "--bare", bare}, options...)...)
	git(t, dir, "remote", "add", "origin", "file://"+bare)
	return bare
}

func TestTag(t *testing.T) {
	hermetic(t)
	for _, options := range [][]string{nil, {"--object-format=sha256"}} {
		dir := made(t, map[string]string{"x": "1"}, options...)
		first := git(t, dir, "rev-parse", "HEAD")
		commit(t, dir, map[string]string{"x": "2"})
		withRemote(t, dir, options...)
		git(t, dir, "tag", "light", first)
		git(t, dir, "tag", "-a", "-m", "m", "annotated", first)
		git(t, dir, "tag", "-a", "-m", "m", "nested", "annotated")
		git(t, dir, "tag", "-a", "-m", "m", "dir/v1", first)
		git(t, dir, "branch", "branch", first)
		git(t, dir, "update-ref", "refs/tags/refs/tags/deep", first)
		git(t, dir, "push", "-q", "origin", "--tags", "branch")
		git(t, dir, "tag", "blob", git(t, dir, "rev-parse", "HEAD:x"))
		r := open(t, dir)
		ctx := context.Background()
		for _, c := range []struct{ name, want string }{
			{"light", first}, {"annotated", first}, {"nested", first}, {"dir/v1", first},
			{"branch", ""}, {"deep", ""}, {"dir", ""}, {"v1", ""}, {"nothing", ""},
		} {
			if got, err := r.Tag(ctx, c.name); got != c.want || err != nil {
				t.Errorf("Tag(%q) = %q, %v, want %q", c.name, got, err, c.want)
			}
			if got, err := r.RemoteTag(ctx, "origin", c.name); got != c.want || err != nil {
				t.Errorf("RemoteTag(%q) = %q, %v, want %q", c.name, got, err, c.want)
			}
		}
		if got, err := r.Tag(ctx, "blob"); err == nil {
			t.Errorf("Tag of a blob = %q", got)
		}
		for _, bad := range []string{"", "-d", "*", "a b", "a\nb", "x^{}", "a:b"} {
			_, err := r.Tag(ctx, bad)
			_, errRemote := r.RemoteTag(ctx, "origin", bad)
			_, errCreate := r.CreateTag(ctx, bad, first, "m")
			if err == nil || errRemote == nil || errCreate == nil || r.DeleteTag(ctx, bad, first) == nil || r.PushTag(ctx, "origin", bad) == nil {
				t.Errorf("the tag %q is accepted: %v, %v, %v", bad, err, errRemote, errCreate)
			}
		}
	}
}

func TestCreatePushDelete(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"x": "1"})
	bare := withRemote(t, dir)
	git(t, dir, "config", "push.followTags", "true")
	git(t, dir, "tag", "-a", "-m", "m", "other")
	r := open(t, dir)
	ctx := context.Background()
	head, err := r.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	object, err := r.CreateTag(ctx, "v1", head, "# a name\n1.0")
	if err != nil || object == head {
		t.Fatalf("CreateTag = %q, %v", object, err)
	}
	if got := git(t, dir, "cat-file", "tag", "v1"); !strings.HasSuffix(got, "\n\n# a name\n1.0") {
		t.Errorf("the tag is %q", got)
	}
	if _, err := r.CreateTag(ctx, "v1", head, "again"); err == nil {
		t.Error("CreateTag moves a tag")
	}
	if err := r.PushTag(ctx, "origin", "v1"); err != nil {
		t.Fatal(err)
	}
	if got := git(t, bare, "for-each-ref", "--format=%(refname)"); got != "refs/tags/v1" {
		t.Errorf("the remote has %q, want the tag alone", got)
	}
	if err := r.DeleteTag(ctx, "v1", head); err == nil {
		t.Error("DeleteTag deletes a tag that is another object")
	}
	if err := r.DeleteTag(ctx, "v1", object); err != nil {
		t.Error(err)
	}
	if got, err := r.Tag(ctx, "v1"); got != "" || err != nil {
		t.Errorf("Tag after DeleteTag = %q, %v", got, err)
	}
	// The remote keeps what it has.
	if _, err := r.CreateTag(ctx, "v1", head, "another object"); err != nil {
		t.Fatal(err)
	}
	if err := r.PushTag(ctx, "origin", "v1"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("PushTag = %v, want a rejection", err)
	}
}

func TestPushFails(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"x": "1"})
	bare := withRemote(t, dir)
	write(t, bare, "hooks/pre-receive", "#!/bin/sh\necho 'no: https://user:secret@example.org/x' >&2\nprintf '\\033[31mred\\n' >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(bare, "hooks", "pre-receive"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "tag", "v1")
	git(t, dir, "remote", "add", "gone", "file:///nowhere/at/all.git")
	r := open(t, dir)
	ctx := context.Background()
	err := r.PushTag(ctx, "origin", "v1")
	if err == nil || !strings.Contains(err.Error(), "no: https://***@example.org/x") || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("PushTag = %q, want what the remote said on one line, masked", err)
	}
	for _, remote := range []string{"gone", "nothing", "--receive-pack=false"} {
		var e *Error
		if err := r.PushTag(ctx, remote, "v1"); !errors.As(err, &e) {
			t.Errorf("PushTag to %s = %v", remote, err)
		}
	}
}

func TestRemotes(t *testing.T) {
	hermetic(t)
	dir := made(t, nil)
	r := open(t, dir)
	ctx := context.Background()
	if got, err := r.Remotes(ctx); len(got) > 0 || err != nil {
		t.Errorf("Remotes = %q, %v", got, err)
	}
	git(t, dir, "remote", "add", "up.stream", "short:o/r.git")
	git(t, dir, "remote", "add", "backup", "/srv/r.git")
	git(t, dir, "config", "url.https://token@example.org/.insteadOf", "short:")
	got, err := r.Remotes(ctx)
	if diff := cmp.Diff([]string{"backup", "up.stream"}, got); diff != "" || err != nil {
		t.Errorf("Remotes: %v (-want +got):\n%s", err, diff)
	}
	configured, effective, err := r.RemoteURL(ctx, "up.stream")
	if configured != "short:o/r.git" || effective != "https://token@example.org/o/r.git" || err != nil {
		t.Errorf("RemoteURL = %q, %q, %v", configured, effective, err)
	}
	for _, name := range []string{"origin", "", "--all"} {
		if _, _, err := r.RemoteURL(ctx, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("RemoteURL(%q) = %v, want ErrNotFound", name, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		said, want string
		is         error
	}{
		{"hint: do this\nfatal: it broke\nfatal: again\n", "cannot test: it broke", nil},
		{"warning: old\nerror: part\n", "cannot test: part", nil},
		{"just this\n", "cannot test: just this", nil},
		{"", "cannot test: git ended with exit status 128", nil},
		{"fatal: unable to access 'https://u:p@h/x.git': \x1b[31mno\r\n", "cannot test: unable to access 'https://***@h/x.git': \ufffd[31mno", nil},
		{"fatal: not a git repository (or any of the parent directories): .git\n", "cannot test: " + ErrNoRepository.Error(), ErrNoRepository},
		{"fatal: detected dubious ownership in repository at '/a b'\nTo add an exception\n\n\tgit config --global --add safe.directory '/a b'\n", "cannot test: the repository belongs to another user, and git does not read it", ErrOwner},
	} {
		e := refusal("test", []byte(c.said), 128)
		if e.Error() != c.want || e.Err != c.is {
			t.Errorf("refusal(%q) = %q (%v), want %q (%v)", c.said, e.Error(), e.Err, c.want, c.is)
		}
	}
	if got := refusal("test", []byte("fatal: detected dubious ownership\n\tgit config --global --add safe.directory '/a b'\n"), 128).Hint; got != "if you trust its owner: git config --global --add safe.directory '/a b'" {
		t.Errorf("the hint is %q", got)
	}
}
