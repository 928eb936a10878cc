package mwp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// publishing is a repository with a module and a bare remote on this machine.
type publishing struct {
	t         *testing.T
	dir, bare string
}

const manifest = "---\nname: rules\nversion: 1.2.0\nimports:\n  - local: ./go.md\n---\nRules for Go.\n"

// newPublishing makes a clean repository with one commit of the files. It takes
// the user and the machine away from git.
func newPublishing(t *testing.T, files map[string]string, options ...string) *publishing {
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
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(top, "home"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(top, "home", "config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	p := &publishing{t, filepath.Join(top, "work"), filepath.Join(top, "remote.git")}
	p.write("../home/.gitconfig", "[user]\n\tname = Tess Ter\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n")
	for _, dir := range []string{p.dir, p.bare} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	p.git(append([]string{"init", "-q"}, options...)...)
	p.git(append([]string{"init", "-q", "--bare", p.bare}, options...)...)
	p.git("remote", "add", "origin", "file://"+p.bare)
	p.commit(files)
	return p
}

func (p *publishing) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publishing) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *publishing) commit(files map[string]string) string {
	p.t.Helper()
	for name, text := range files {
		p.write(name, text)
	}
	p.git("add", "--all")
	p.git("commit", "-q", "--allow-empty", "-m", "work")
	return p.git("rev-parse", "HEAD")
}

func (p *publishing) publish(q mwp.PublishRequest) (*mwp.Publication, error) {
	p.t.Helper()
	w := mwp.Open(mwp.Options{Dir: p.dir})
	defer w.Close()
	return w.Publish(context.Background(), q)
}

// tags lists the tags here and there, each with what it points to.
func (p *publishing) tags() string {
	p.t.Helper()
	const format = "--format=%(refname:short) %(objecttype) %(objectname)"
	return "here: " + p.git("for-each-ref", format, "refs/tags") + "\nthere: " + p.git("--git-dir", p.bare, "for-each-ref", format)
}

func TestPublish(t *testing.T) {
	for _, c := range []struct {
		name, dir, tag string
		options        []string
	}{
		{"the top", "", "v1.2.0", nil},
		{"a directory", "rules/go", "rules/go/v1.2.0", nil},
		{"a scope", "@team/go", "@team/go/v1.2.0", nil},
		{"SHA-256", "", "v1.2.0", []string{"--object-format=sha256"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(name string) string { return strings.TrimPrefix(c.dir+"/"+name, "/") }
			files := map[string]string{at(".mwp-module.md"): manifest, at("go.md"): "Go.\n", at("na me/Ä.md"): ""}
			if c.dir != "" {
				// Nothing beside the module matters.
				files["other/na me\nx"], files["go/.mwp-module.md"] = "", "not a manifest"
			}
			p := newPublishing(t, files, c.options...)
			head := p.git("rev-parse", "HEAD")
			url := "file://" + p.bare
			want := mwp.Publication{Tag: c.tag, Commit: head, Remote: "origin", URL: url, Made: true, Pushed: true}
			if c.dir != "" {
				url += "//" + c.dir
			}
			want.Line, want.Pinned = "- git: "+url+"@"+c.tag, "- git: "+url+"@"+head
			q := mwp.PublishRequest{Dir: c.dir, DryRun: true}
			before := p.tags()
			for _, run := range []string{"dry", "real", "again", "from another clone"} {
				q.DryRun = run == "dry"
				if run == "again" || run == "from another clone" {
					want.Made, want.Pushed = false, false
				}
				if run == "from another clone" {
					p.git("tag", "-d", c.tag)
				}
				got, err := p.publish(q)
				if err != nil {
					t.Fatalf("%s: %v", run, err)
				}
				if len(got.Notices) != 1 || got.Notices[0].Code != "publish_local" {
					t.Errorf("%s: notices %v, want that the remote is a directory", run, got.Notices)
				}
				got.Notices = nil
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", run, diff)
				}
				if run == "dry" && p.tags() != before {
					t.Errorf("the dry run left %s", p.tags())
				}
			}
			if got := p.git("--git-dir", p.bare, "for-each-ref", "--format=%(refname) %(objecttype) %(*objectname) %(contents)"); got != "refs/tags/"+c.tag+" tag "+head+" rules 1.2.0" {
				t.Errorf("the remote has %q", got)
			}
			if s := p.git("status", "--porcelain"); s != "" {
				t.Errorf("the work tree has changed: %s", s)
			}
		})
	}
}

// TestPublishRefuses has one thing wrong in each case.
func TestPublishRefuses(t *testing.T) {
	with := func(header string) string { return "---\n" + header + "\n---\n" }
	named := func(more string) string { return with("name: rules\nversion: 1.2.0\n" + more) }
	for _, c := range []struct {
		name   string
		files  map[string]string
		before func(*publishing)
		q      mwp.PublishRequest
		want   []string // codes and a part of each message
	}{
		{name: "no manifest", files: map[string]string{"x": ""}, want: []string{"publish_refused: found no .mwp-module.md"}},
		{name: "no directory", q: mwp.PublishRequest{Dir: "gone"}, want: []string{"publish_refused: found no .mwp-module.md"}},
		{name: "a NUL byte", q: mwp.PublishRequest{Dir: "a\x00"}, want: []string{"publish_refused: NUL"}},
		{name: "no name", files: map[string]string{".mwp-module.md": with("version: 1.2.0")}, want: []string{"frontmatter_invalid: name"}},
		{name: "no version", files: map[string]string{".mwp-module.md": with("name: rules")}, want: []string{"publish_refused: found none"}},
		{name: "a short version", files: map[string]string{".mwp-module.md": with("name: rules\nversion: 2.10")}, want: []string{`publish_refused: found "2.10"`}},
		{name: "a header that is none", files: map[string]string{".mwp-module.md": named("layer: 9")}, want: []string{"frontmatter_invalid: "}},
		{
			name: "everything at once", files: map[string]string{".mwp-module.md": with("name: rules\nimports:\n  - local: gone.md\n  - workspace: x\n  - git: https://h.example/r.git\n  - git: https://u:s3cr3t@h.example/r.git@v1\npipelines:\n  - local: Go.md\n  - local: sub"), "sub/x": "", "go.md": ""},
			before: func(p *publishing) { p.write("new", "") },
			want: []string{
				"publish_refused: found none", "unresolved_import: local: gone.md does not exist", "unresolved_import: workspace: x is out of reach",
				"floating_ref: git: https://h.example/r.git names no version", "import_secret: password", "unresolved_import: pipelines: Go.md is not in the current commit, which has go.md",
				"unresolved_import: pipelines: sub is a directory", "publish_refused: ? new",
			},
		},
		{name: "a file that git ignores", files: map[string]string{".mwp-module.md": named("imports:\n  - local: go.md"), ".gitignore": "go.md\n", "go.md": ""}, want: []string{"unresolved_import: go.md exists here, and is not in the current commit"}},
		{name: "a link", files: map[string]string{".mwp-module.md": named("imports:\n  - local: link.md"), "go.md": ""}, before: func(p *publishing) {
			if err := os.Symlink("go.md", filepath.Join(p.dir, "link.md")); err != nil {
				p.t.Fatal(err)
			}
			p.commit(nil)
		}, want: []string{"unresolved_import: symbolic link"}},
		{name: "outside of the module", files: map[string]string{".mwp-module.md": named("imports:\n  - local: ../go.md")}, want: []string{"import_escapes: "}},
		{name: "itself", files: map[string]string{".mwp-module.md": named("imports:\n  - local: .")}, want: []string{"unresolved_import: the module itself"}},
		{name: "a name for one system", files: map[string]string{".mwp-module.md": manifest, "go.md": "", "aux.md": "", "a\nb": ""}, want: []string{"publish_refused: control", "publish_refused: device"}},
		{name: "changes", before: func(p *publishing) {
			for _, name := range []string{"1", "2", "3", "4", "5", "6", "go.md"} {
				p.write(name, "changed\n")
			}
		}, want: []string{"publish_refused: ? 1, ? 2, ? 3, ? 4, ? 5, and 2 more"}},
		{name: "a manifest not committed", files: map[string]string{"x": ""}, before: func(p *publishing) { p.write(".mwp-module.md", named("")) }, want: []string{"publish_refused: manifest is not in the current commit", "publish_refused: ? .mwp-module.md"}},
		{name: "another user's change hides", before: func(p *publishing) {
			p.git("update-index", "--assume-unchanged", ".mwp-module.md")
			p.write(".mwp-module.md", named(""))
			p.git("update-index", "--no-assume-unchanged", ".mwp-module.md")
		}, want: []string{"publish_refused: M .mwp-module.md"}},
		{name: "no remote", before: func(p *publishing) { p.git("remote", "remove", "origin") }, want: []string{"publish_refused: no remote to push to"}},
		{name: "an unknown remote", q: mwp.PublishRequest{Remote: "--exec=x"}, want: []string{`publish_refused: no remote "--exec=x"`}},
		{name: "two remotes", before: func(p *publishing) {
			p.git("remote", "rename", "origin", "a")
			p.git("remote", "add", "b", "file:///b")
		}, want: []string{"publish_refused: 2 remotes"}},
		{name: "a URL that no import can name", before: func(p *publishing) { p.git("remote", "set-url", "origin", "https://u:s3cr3t@h.example/a@b/c") }, want: []string{"publish_refused: read as"}},
		{name: "a transport that no import can name", before: func(p *publishing) { p.git("remote", "set-url", "origin", "ext::sh -c x") }, want: []string{"publish_refused: "}},
		{name: "a directory that no tag can name", files: map[string]string{".hidden/.mwp-module.md": named("")}, q: mwp.PublishRequest{Dir: ".hidden"}, want: []string{"publish_refused: dot"}},
		{name: "a version that no import can name", files: map[string]string{".mwp-module.md": with("name: rules\nversion: 1.0.0-rc.x")}, want: []string{"publish_refused: range"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.files == nil {
				c.files = map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"}
			}
			p := newPublishing(t, c.files)
			if c.before != nil {
				c.before(p)
			}
			before := p.tags()
			_, err := p.publish(c.q)
			var r *mwp.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("Publish = %v, want a refusal", err)
			}
			// Most of these manifests list nothing, which is said and refuses nothing.
			r.Diagnostics = slices.DeleteFunc(r.Diagnostics, func(d ir.Diagnostic) bool { return d.Code == ir.ModuleEmpty })
			if len(r.Diagnostics) != len(c.want) {
				t.Fatalf("Publish has %d findings, want %d:\n%v", len(r.Diagnostics), len(c.want), err)
			}
			for i, want := range c.want {
				code, part, _ := strings.Cut(want, ": ")
				if d := r.Diagnostics[i]; string(d.Code) != code || !strings.Contains(d.Message, part) || d.Severity != ir.SeverityError {
					t.Errorf("finding %d is %s, want %s", i, d.String(), want)
				}
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the password is in the message: %v", err)
			}
			if after := p.tags(); after != before {
				t.Errorf("the refusal left %s", after)
			}
		})
	}
}

func TestPublishMovesNoTag(t *testing.T) {
	for _, c := range []struct {
		name  string
		tag   func(p *publishing, old string)
		where string
	}{
		{"here", func(p *publishing, old string) { p.git("tag", "-a", "-m", "m", "v1.2.0", old) }, "in this repository"},
		{"there", func(p *publishing, old string) {
			p.git("push", "-q", "origin", old+":refs/tags/v1.2.0")
		}, "on origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
			old := p.git("rev-parse", "HEAD")
			c.tag(p, old)
			head := p.commit(map[string]string{"go.md": "More.\n"})
			before := p.tags()
			for _, dry := range []bool{true, false} {
				_, err := p.publish(mwp.PublishRequest{DryRun: dry})
				var r *mwp.Refusal
				if !errors.As(err, &r) || r.Diagnostics[0].Code != ir.TagMoved {
					t.Fatalf("Publish = %v, want tag_moved", err)
				}
				if m := r.Diagnostics[0].Message; !strings.Contains(m, old+" "+c.where) || !strings.Contains(m, head) {
					t.Errorf("the message does not name both commits: %s", m)
				}
			}
			if after := p.tags(); after != before {
				t.Errorf("the refusal left %s", after)
			}
		})
	}
}

// TestPublishPushesATagThatIsHere goes on where somebody has tagged by hand.
func TestPublishPushesATagThatIsHere(t *testing.T) {
	p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
	p.git("tag", "v1.2.0")
	got, err := p.publish(mwp.PublishRequest{})
	if err != nil || got.Made || !got.Pushed {
		t.Fatalf("Publish = %+v, %v, want the tag pushed and none made", got, err)
	}
	if there := p.git("--git-dir", p.bare, "rev-parse", "refs/tags/v1.2.0"); there != got.Commit {
		t.Errorf("the remote's tag is %s, want %s", there, got.Commit)
	}
}

// TestPublishUndoes has a remote that refuses.
func TestPublishUndoes(t *testing.T) {
	p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
	hook := filepath.Join(p.bare, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho 'tags are closed' >&2\nexit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := p.publish(mwp.PublishRequest{})
	var e *mwp.EnvironmentError
	if !errors.As(err, &e) || !strings.Contains(e.Error(), "tags are closed") {
		t.Fatalf("Publish = %v, want what the remote said", err)
	}
	if got := p.tags(); got != "here: \nthere: " {
		t.Errorf("the failure left %s", got)
	}
	// A tag that was there before stays.
	p.git("tag", "v1.2.0")
	if _, err := p.publish(mwp.PublishRequest{}); err == nil || p.git("tag") != "v1.2.0" {
		t.Errorf("Publish = %v, and the user's tag is gone", err)
	}
}

// TestPublishInterrupted cancels while the remote is busy.
func TestPublishInterrupted(t *testing.T) {
	p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
	started := filepath.Join(p.bare, "started")
	if out, err := exec.Command("mkfifo", started).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: mkfifo: %v: %s", err, out)
	}
	hook := filepath.Join(p.bare, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho >'"+started+"'\nexec sleep 1000\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := mwp.Open(mwp.Options{Dir: p.dir}).Publish(ctx, mwp.PublishRequest{})
		done <- err
	}()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Publish = %v, want the context's error", err)
	}
	if got := p.tags(); got != "here: \nthere: " {
		t.Errorf("the interruption left %s", got)
	}
}

func TestPublishWithoutGit(t *testing.T) {
	p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, ".mwp-module.md"), []byte(manifest), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := p.publish(mwp.PublishRequest{Dir: outside})
	var e *mwp.EnvironmentError
	if !errors.As(err, &e) || !errors.Is(err, vcs.ErrNoRepository) || e.Diagnostic.Code != "git_failed" {
		t.Errorf("Publish outside of a repository = %v", err)
	}
	p.git("remote", "set-url", "origin", "file:///nowhere/at/all.git")
	if _, err = p.publish(mwp.PublishRequest{DryRun: true}); !errors.As(err, &e) || e.Diagnostic.Code != "git_failed" {
		t.Errorf("Publish to nowhere = %v", err)
	}
	t.Setenv("PATH", outside)
	if _, err = p.publish(mwp.PublishRequest{}); !errors.As(err, &e) || e.Diagnostic.Code != "git_missing" {
		t.Errorf("Publish without git = %v", err)
	}
}

// TestPublishInAHook runs inside of another repository's hook, whose variables
// point there.
func TestPublishInAHook(t *testing.T) {
	p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
	other := filepath.Join(filepath.Dir(p.dir), "other")
	p.git("init", "-q", other)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	t.Setenv("GIT_WORK_TREE", other)
	got, err := p.publish(mwp.PublishRequest{})
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"} {
		os.Unsetenv(name)
	}
	if err != nil || got.Commit != p.git("rev-parse", "HEAD") {
		t.Fatalf("Publish = %+v, %v", got, err)
	}
	if tags := p.git("-C", other, "tag"); tags != "" {
		t.Errorf("the hook's repository has the tags %s", tags)
	}
}

// TestPublishAddress is how the remote's URL becomes an import.
func TestPublishAddress(t *testing.T) {
	for i, c := range []struct{ url, want string }{
		{"https://h.example/o/r.git", "https://h.example/o/r.git"},
		{"https://user:s3cr3t@h.example/o/r.git", "https://h.example/o/r.git"},
		{"https://s3cr3t@h.example/o/r/", "https://h.example/o/r"},
		{"git@h.example:o/r.git", "git@h.example:o/r.git"},
		{"ssh://git@h.example:22/o/r.git", "ssh://git@h.example:22/o/r.git"},
		{"abbreviated:r", "file://BARE"},
		{"../remote.git", "file://BARE"},
		{"BARE", "file://BARE"},
		{"BARE/../sp ace#%.git", "file://UP/sp%20ace%23%25.git"},
	} {
		// Not named for the URL, which would be part of the directory's name.
		t.Run(fmt.Sprint("case", i), func(t *testing.T) {
			p := newPublishing(t, map[string]string{".mwp-module.md": manifest, "go.md": "Go.\n"})
			names := strings.NewReplacer("BARE", p.bare, "UP", filepath.Dir(p.bare))
			url, want := names.Replace(c.url), names.Replace(c.want)
			p.git("init", "-q", "--bare", filepath.Join(filepath.Dir(p.bare), "sp ace#%.git"))
			p.git("remote", "set-url", "origin", url)
			if strings.Contains(url, ":") {
				// The question stays on this machine.
				p.git("config", "url.file://"+p.bare+".insteadOf", url)
			}
			got, err := p.publish(mwp.PublishRequest{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			if got.URL != want || got.Line != "- git: "+want+"@v1.2.0" || got.Pinned != "- git: "+want+"@"+got.Commit {
				t.Errorf("%s: Publish = %+v, want the URL %s", c.url, got, want)
			}
			if s := fmt.Sprint(got); strings.Contains(s, "s3cr3t") {
				t.Errorf("the password is in %s", s)
			}
		})
	}
}
