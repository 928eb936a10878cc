package vcs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hermetic gives the test a git that knows neither the user nor the machine, and
// none of the variables that a hook around the tests may have set.
func hermetic(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git program on PATH")
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	write(t, home, ".gitconfig", "[user]\n\tname = Tess Ter\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n")
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// git runs git as a user would and returns its answer.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// place returns a new directory without links in its path.
func place(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// made makes a repository with one commit of the files.
func made(t *testing.T, files map[string]string, options ...string) string {
	t.Helper()
	dir := place(t)
	git(t, dir, append([]string{"init", "-q"}, options...)...)
	commit(t, dir, files)
	return dir
}

func commit(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		write(t, dir, name, text)
	}
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "work")
	return git(t, dir, "rev-parse", "HEAD")
}

func open(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOpen(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"a b/c\nd/x": "1", "y": "2"})
	linked := filepath.Join(place(t), "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	link := filepath.Join(place(t), "link")
	if err := os.Symlink(filepath.Join(dir, "a b"), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, top, prefix, gitDir string }{
		{dir, dir, "", ".git"},
		{filepath.Join(dir, "a b"), dir, "a b", ".git"},
		{filepath.Join(dir, "a b", "c\nd"), dir, "a b/c\nd", ".git"},
		{link, dir, "a b", ".git"},
		{linked, linked, "", filepath.Join(".git", "worktrees", "linked")},
	} {
		r := open(t, c.dir)
		if r.Top() != c.top || r.Prefix() != c.prefix || r.GitDir() != filepath.Join(dir, c.gitDir) {
			t.Errorf("Open(%q): top %q, prefix %q, git directory %q", c.dir, r.Top(), r.Prefix(), r.GitDir())
		}
	}
}

func TestOpenFails(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"x": "1"})
	none := place(t)
	// A bare repository inside of a tree, with a configuration of the tree's author.
	bare := filepath.Join(dir, "fixtures", "bare")
	git(t, dir, "init", "-q", "--bare", bare)
	git(t, bare, "config", "core.bare", "false")
	git(t, bare, "config", "core.worktree", bare)
	elsewhere := made(t, nil)
	git(t, elsewhere, "config", "core.worktree", none)
	for _, c := range []struct {
		name, dir string
		want      error
	}{
		{"no repository", none, ErrNoRepository},
		{"git's own directory", filepath.Join(dir, ".git"), ErrNoRepository},
		{"a bare repository in a tree", bare, ErrNoRepository},
		{"a work tree elsewhere", elsewhere, ErrNoRepository},
		{"a directory that is not there", filepath.Join(none, "gone"), os.ErrNotExist},
	} {
		_, err := Open(context.Background(), Options{Dir: c.dir})
		var e *Error
		if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Hint == "" && c.want == ErrNoRepository {
			t.Errorf("%s: Open = %v, want %v and what to do", c.name, err, c.want)
		}
	}
	t.Run("another user's", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("NOT TESTED: only root can give a directory away")
		}
		foreign := made(t, nil)
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		_, err := Open(context.Background(), Options{Dir: foreign})
		var e *Error
		if !errors.Is(err, ErrOwner) || !errors.As(err, &e) || !strings.HasSuffix(e.Hint, "safe.directory "+foreign) {
			t.Errorf("Open = %#v, want ErrOwner with git's hint", err)
		}
	})
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", none)
		_, err := Open(context.Background(), Options{Dir: dir})
		var e *Error
		if !errors.Is(err, ErrNoGit) || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("Open = %v, want ErrNoGit", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, context.Canceled) {
			t.Errorf("Open = %v, want the context's error", err)
		}
	})
}

// TestInsideAHook has the variables of a hook of one repository and asks about
// another.
func TestInsideAHook(t *testing.T) {
	hermetic(t)
	other := made(t, map[string]string{"other": "1"})
	dir := made(t, map[string]string{"x": "1"})
	head := git(t, dir, "rev-parse", "HEAD")
	write(t, dir, "new", "")
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other, ".git"), "GIT_WORK_TREE": other, "GIT_COMMON_DIR": filepath.Join(other, ".git"),
		"GIT_INDEX_FILE": filepath.Join(other, ".git", "index"), "GIT_OBJECT_DIRECTORY": filepath.Join(other, ".git", "objects"),
		"GIT_PREFIX": "sub/", "GIT_NAMESPACE": "elsewhere", "GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1",
		"GIT_QUARANTINE_PATH": other, "GIT_TRACE": "1", "GIT_EXTERNAL_DIFF": "false",
	} {
		t.Setenv(name, value)
	}
	ctx := context.Background()
	r := open(t, dir)
	if got, err := r.Head(ctx); got != head || r.Top() != dir {
		t.Errorf("Head = %s, %v at %s, want %s at %s", got, err, r.Top(), head, dir)
	}
	if got, err := r.Status(ctx); len(got) != 1 || got[0].Path != "new" {
		t.Errorf("Status = %v, %v", got, err)
	}
	if got, err := r.ChangedPaths(ctx, head); len(got) != 1 || got[0].Path != "new" {
		t.Errorf("ChangedPaths = %v, %v", got, err)
	}
	if got, err := r.Staged(ctx); len(got) != 0 || err != nil {
		t.Errorf("Staged = %v, %v", got, err)
	}
	object, err := r.CreateTag(ctx, "v1", head, "v1")
	if err != nil || object == "" {
		t.Fatalf("CreateTag = %s, %v", object, err)
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"} {
		os.Unsetenv(name)
	}
	if here, there := git(t, dir, "tag"), git(t, other, "tag"); here != "v1" || there != "" {
		t.Errorf("tags here %q, in the hook's repository %q", here, there)
	}
}

func TestEnvironment(t *testing.T) {
	in := []string{
		"PATH=/bin", "HOME=/h", "GIT_DIR=x", "GIT_INDEX_FILE=x", "GIT_WORK_TREE=x", "GIT_TRACE=1", "git_dir=lower",
		"GIT_CONFIG=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_PARAMETERS='a.b=c'",
		"GIT_SSH_COMMAND=ssh -i key", "GIT_ASKPASS=ask", "GIT_COMMITTER_NAME=n", "GIT_AUTHOR_NAME=n", "GIT_CEILING_DIRECTORIES=/",
	}
	has := func(env []string, v string) bool {
		for _, e := range env {
			if e == v {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		variable         string
		question, action bool
	}{
		{"PATH=/bin", true, true},
		{"GIT_DIR=x", false, false},
		{"git_dir=lower", false, false},
		{"GIT_INDEX_FILE=x", false, false},
		{"GIT_WORK_TREE=x", false, false},
		{"GIT_CONFIG=x", false, false},
		{"GIT_TRACE=1", false, false},
		{"GIT_AUTHOR_NAME=n", false, false},
		{"GIT_CONFIG_COUNT=1", true, true},
		{"GIT_CONFIG_KEY_0=safe.directory", true, true},
		{"GIT_CONFIG_VALUE_0=*", true, true},
		{"GIT_CONFIG_PARAMETERS='a.b=c'", true, true},
		{"GIT_CEILING_DIRECTORIES=/", true, true},
		{"GIT_SSH_COMMAND=ssh -i key", false, true},
		{"GIT_ASKPASS=ask", false, true},
		{"GIT_COMMITTER_NAME=n", false, true},
		{"LC_ALL=C", true, true},
		{"GIT_OPTIONAL_LOCKS=0", true, false},
		{"GIT_ALLOW_PROTOCOL=none", true, false},
		{"GIT_TERMINAL_PROMPT=0", true, true},
	} {
		question, action := has(environment(in, false, true), c.variable), has(environment(in, true, false), c.variable)
		if question != c.question || action != c.action {
			t.Errorf("%s: in a question %t, in an action %t, want %t and %t", c.variable, question, action, c.question, c.action)
		}
	}
	if has(environment(in, true, true), "GIT_TERMINAL_PROMPT=0") {
		t.Error("an action on a terminal may not ask there")
	}
	for _, v := range environment([]string{"GIT_ALLOW_PROTOCOL=https"}, true, false) {
		if strings.HasPrefix(v, "GIT_ALLOW_PROTOCOL=") && v != "GIT_ALLOW_PROTOCOL=https" {
			t.Errorf("the user's transports became %s", v)
		}
	}
}

func TestResolveCommit(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"x": "1"})
	first := git(t, dir, "rev-parse", "HEAD")
	second := commit(t, dir, map[string]string{"x": "2"})
	git(t, dir, "tag", "-a", "-m", "one", "one", first)
	git(t, dir, "tag", "-a", "-m", "nested", "nested", "one")
	git(t, dir, "tag", "blob", git(t, dir, "rev-parse", "HEAD:x"))
	git(t, dir, "update-ref", "refs/heads/-f", first)
	r := open(t, dir)
	for _, c := range []struct{ rev, want string }{
		{"HEAD", second}, {"main", second}, {"HEAD~1", first}, {"one", first}, {"nested", first},
		{first, first}, {first[:10], first}, {"HEAD^{/work}", second},
		{"", ""}, {"-f", ""}, {"--all", ""}, {"--help", ""}, {"--output=pwned", ""}, {"nothing", ""}, {"HEAD~9", ""}, {"HEAD..one", ""}, {"^one", ""},
		{"blob", ""}, {"HEAD:x", ""}, {"HEAD\none", ""}, {"a\x00b", ""}, {strings.Repeat("a", 2000), ""}, {strings.Repeat("0", 40), ""},
	} {
		got, err := r.ResolveCommit(context.Background(), c.rev)
		if got != c.want && c.want != "" || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("ResolveCommit(%q) = %q, %v, want %q", c.rev, got, err, c.want)
		}
	}
}

func TestHeadBeforeTheFirstCommit(t *testing.T) {
	hermetic(t)
	dir := place(t)
	git(t, dir, "init", "-q")
	if _, err := open(t, dir).Head(context.Background()); !errors.Is(err, ErrNotFound) {
		t.Errorf("Head = %v, want ErrNotFound", err)
	}
}
