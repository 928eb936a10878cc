package mwp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// clinic is a project with something of everything that doctor looks at.
const clinic = `
-- .mwp/config.toml --
description = "a project"
members = ["api", "web", "packages"]
[directories]
"api" = { role = "service", stack = ["typescript"] }
"web" = { role = "pages", stack = ["typescript", "vitejs"] }
"packages" = { role = "shared", stack = ["typescript"], shared = true }
-- .mwp/intents/archive/cut-release-1.md --
-- .mwp/intents/archive/2026-05-cut-the-release.md --
-- .mwp/sessions/one.json --
-- .mwp/sessions/two.json --
-- .mwp/sessions/three.json --
-- .mwp/bootstrap.sh --
-- .mwp/discoveries.md --
-- scripts/changes.sh --
cat .mwp/topology.md
-- scripts/explore.sh --
somebody else's
-- .gitignore --
ignored/
-- ignored/CONTEXT.md --
-- docs/CONTEXT.md --
-- api/CONTEXT.md --
-- api/.mwp --
-- api/check.sh --
-- api/.mwp-context.md --
---
imports:
  - workspace: packages
guards:
  - exists: nothing/there
  - cmd: ./check.sh
---
The api.
-- web/.mwp --
-- web/.mwp-context.md --
The web.
-- packages/.mwp --
-- packages/.mwp-context.md --
The packages.
-- inner/.mwp --
members = ["x"]
-- inner/CONTEXT.md --
-- inner/x/.mwp --
-- inner/x/.mwp-context.md --
---
lair: 1
imports:
  - git: https://example.org/vitejs.git@v1
---
-- .mcp.json --
{
-- .zed/settings.json --
{"context_servers": {"mwp": {"command": "other"}}}
`

// consult returns doctor's report about a directory, with the user's directory beside it.
func consult(t *testing.T, dir, user string) *mwp.DoctorReport {
	t.Helper()
	ws := mwp.Open(mwp.Options{Dir: dir, Guards: mwp.GuardOptions{UserDir: user}})
	defer ws.Close()
	r, err := ws.Doctor(context.Background(), mwp.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found returns a finding's items with how many more there are, "absent" without one.
func found(r *mwp.DoctorReport, code string) string {
	for _, f := range r.Findings {
		if f.Code == code {
			return fmt.Sprintf("%s +%d", strings.Join(f.Items, "; "), f.More)
		}
	}
	return "absent"
}

func TestDoctorCollects(t *testing.T) {
	root := unpack(t, clinic)
	user := t.TempDir()
	r := consult(t, root, user)
	for code, want := range map[string]string{
		"context_md":           "docs/CONTEXT.md +0",
		"intent_recurs":        "cut release: 2026-05-cut-the-release.md, cut-release-1.md +0",
		"work_dirs_absent":     " +0",
		"manual_scripts":       ".mwp/bootstrap.sh: mwp init, and mwp map for the overview; scripts/changes.sh: mwp map TARGET --session NAME for what is new, mwp lint --diff REVISION for what it costs +0",
		"shared_not_imported":  "web has the stack typescript in common with packages: - workspace: packages +0",
		"stack_module":         "mwp-stack-typescript for api and 2 more; mwp-stack-vitejs for web +0",
		"guards_failed":        "exists nothing/there in api +0",
		"guards_not_run":       " +0",
		"clients":              "zed (set up in another way) +0",
		"gitignore_incomplete": "absent", // without git nothing is committed
		"anchor_uncommitted":   "absent",
		"description_absent":   "absent",
		"lint_errors":          "absent",
		"not_anchored":         "absent",
		"trust_outdated":       "absent",
		"anchor_is_file":       "absent",
		"client_absent":        "absent",
	} {
		if got := found(r, code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
	if got := found(r, "client_file_unusable"); !strings.HasPrefix(got, "claude: ") || !strings.Contains(got, ".mcp.json") {
		t.Errorf("client_file_unusable: %q", got)
	}
	if !r.Broken() || r.Next != "mwp verify" || r.Root != root {
		t.Errorf("broken %v, next %q, root %q", r.Broken(), r.Next, r.Root)
	}
	// From a member the same, with commands that work there.
	r = consult(t, filepath.Join(root, "api"), user)
	for _, f := range r.Findings {
		if f.Code == "context_md" && f.Commands[0] != "cd "+ir.ShellWord(root)+" && mv docs/CONTEXT.md docs/.mwp-context.md" {
			t.Errorf("from a member: %q", f.Commands)
		}
	}
	if r.Root != root {
		t.Errorf("from a member the root is %s", r.Root)
	}
	// The project inside is a workspace of its own, with findings of its own.
	if got := found(consult(t, filepath.Join(root, "inner"), user), "context_md"); got != "CONTEXT.md +0" {
		t.Errorf("of the inner workspace: %q", got)
	}
}

func TestDoctorWithoutRoot(t *testing.T) {
	ws := mwp.Open(mwp.Options{Dir: t.TempDir()})
	var e *mwp.EnvironmentError
	if r, err := ws.Doctor(context.Background(), mwp.DoctorRequest{}); !errors.As(err, &e) {
		t.Errorf("Doctor outside of a project = %v, %v", r, err)
	}
	if s, err := ws.Status(context.Background(), "", mwp.DoctorRequest{}); !errors.As(err, &e) {
		t.Errorf("Status outside of a project = %v, %v", s, err)
	}
}

// committed makes a repository of a directory and commits everything.
func committed(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}, {"commit", "-q", "-m", "all"}} {
		gitIn(t, dir, args...)
	}
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false"}, args...)...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorGit is D-104: what the current commit has not seen of the anchors.
func TestDoctorGit(t *testing.T) {
	top := unpack(t, `
-- p/.mwp/config.toml --
description = "d"
members = ["*"]
[trust]
allowed_guards = ["./a.sh"]
-- p/.mwp/.gitignore --
cache/
-- p/a/.mwp --
[trust]
allowed_guards = ["./a.sh", "./b.sh"]
-- p/b/.mwp --
name = "b"
-- p/c/.mwp --
name = "c"
`)
	root := filepath.Join(top, "p")
	at := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	check := func(what, trust, other string) {
		t.Helper()
		r := consult(t, root, "")
		if got := found(r, "trust_uncommitted"); got != trust {
			t.Errorf("%s: [trust] %q, want %q", what, got, trust)
		}
		if got := found(r, "anchor_uncommitted"); got != other {
			t.Errorf("%s: others %q, want %q", what, got, other)
		}
	}
	committed(t, top)
	check("nothing changed", "absent", "absent")
	if got := found(consult(t, root, ""), "gitignore_incomplete"); !strings.HasPrefix(got, "modules/; guards.cache.json; sessions/;") {
		t.Errorf("gitignore_incomplete: %q", got)
	}
	put(t, at("b", ".mwp"), "name = \"b\"\r\n")
	check("other line ends", "absent", "absent")
	put(t, at("a", ".mwp"), "[trust]\nallowed_guards = [\"./b.sh\", \"./a.sh\"]\n")
	check("another order", "absent", "a/.mwp (changed) +0")
	put(t, at("a", ".mwp"), "[trust]\nallowed_guards = [\"./b.sh\"]\n")
	check("another list", "a/.mwp +0", "absent")
	put(t, at(".mwp", "modules.lock"), "")
	if err := os.MkdirAll(at("d", ".mwp"), 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, at("d", ".mwp", "config.toml"), "")
	if err := os.Remove(at("c", ".mwp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("c", ".mwp"), 0o777); err != nil {
		t.Fatal(err)
	}
	check("more", "a/.mwp +0", ".mwp/modules.lock (not committed); c/.mwp (deleted); d/.mwp/config.toml (not committed) +0")
	// Before the first commit everything is new.
	other := unpack(t, "-- .mwp/config.toml --\ndescription = \"d\"\n")
	if err := os.Rename(filepath.Join(top, ".git"), filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	check("no repository", "absent", "absent")
	if out, err := exec.Command("git", "-C", other, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	put(t, filepath.Join(other, ".mwp", "config.toml"), "[trust]\nallowed_guards = [\"./a.sh\"]\n")
	r := consult(t, other, "")
	if got := found(r, "anchor_uncommitted"); got != ".mwp/config.toml (not committed) +0" {
		t.Errorf("before the first commit: %q", got)
	}
	if got := said(r, "git"); found(r, "trust_uncommitted") != "absent" || !strings.Contains(got, "[trust]") || !strings.Contains(got, "no commit yet") {
		t.Errorf("before the first commit: %q, %v", got, r.Findings)
	}
	// A .git that leads nowhere.
	if err := os.RemoveAll(filepath.Join(other, ".git")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(other, ".git"), "gitdir: /nowhere/at/all\n")
	if got := said(consult(t, other, ""), "git"); !strings.Contains(got, "[trust]") {
		t.Errorf("of a .git that leads nowhere: %q", got)
	}
}

// said returns a finding's message, "" without one.
func said(r *mwp.DoctorReport, code string) string {
	for _, f := range r.Findings {
		if f.Code == code {
			return f.Message
		}
	}
	return ""
}

// TestDoctorTrust is D-104 for everybody who would rather not have the difference seen: a
// list of what guards may run that git has another one of, or none, is a warning, in
// whatever way it came there.
func TestDoctorTrust(t *testing.T) {
	const wide = "[trust]\nallowed_guards = [\"./any.sh\"]\n"
	const narrow = "[trust]\nallowed_guards = [\"./a.sh\"]\n"
	for _, c := range []struct {
		name   string
		change func(t *testing.T, at func(string) string)
		want   string
		other  string
		next   string
	}{
		{"a link to a wider list", func(t *testing.T, at func(string) string) {
			put(t, at("wide.toml"), wide)
			link(t, "../wide.toml", at(".mwp/config.toml"))
		}, ".mwp/config.toml +0", "absent", "git diff HEAD -- .mwp/config.toml"},
		{"a link to the same list", func(t *testing.T, at func(string) string) {
			put(t, at("same.toml"), "members = [\"*\"]\n"+narrow)
			link(t, "../same.toml", at(".mwp/config.toml"))
		}, "absent", ".mwp/config.toml (changed) +0", "git diff HEAD -- .mwp/config.toml"},
		{"a link in a new directory", func(t *testing.T, at func(string) string) {
			put(t, at("wide.toml"), wide)
			mkdir(t, at("new/.mwp"))
			link(t, "../../wide.toml", at("new/.mwp/config.toml"))
		}, "new/.mwp/config.toml +0", "absent", "git diff --no-index -- /dev/null new/.mwp/config.toml"},
		{"a link for a member's anchor", func(t *testing.T, at func(string) string) {
			link(t, "../wide.toml", at("a/.mwp"))
		}, "a/.mwp +0", "absent", "git diff HEAD -- a/.mwp"},
		{"behind a link that git has", func(t *testing.T, at func(string) string) {
			put(t, at("linked.toml"), wide)
		}, "linked.toml +0", "absent", "git diff HEAD -- linked.toml"},
		{"a file in a new directory", func(t *testing.T, at func(string) string) {
			mkdir(t, at("new"))
			put(t, at("new/.mwp"), wide)
		}, "new/.mwp +0", "absent", "git diff --no-index -- /dev/null new/.mwp"},
		{"a directory for a file", func(t *testing.T, at func(string) string) {
			remove(t, at("a/.mwp"))
			mkdir(t, at("a/.mwp"))
			put(t, at("a/.mwp/config.toml"), wide)
		}, "a/.mwp; a/.mwp/config.toml +0", "absent", "git diff --no-index -- /dev/null a/.mwp/config.toml"},
		{"a directory for a file, with the same list", func(t *testing.T, at func(string) string) {
			remove(t, at("a/.mwp"))
			mkdir(t, at("a/.mwp"))
			put(t, at("a/.mwp/config.toml"), narrow)
		}, "absent", "a/.mwp (deleted); a/.mwp/config.toml (not committed) +0", `git add -- a/.mwp && git commit -m "Set up mwp" -- a/.mwp`},
		{"told to overlook the file", func(t *testing.T, at func(string) string) {
			put(t, at("a/.mwp"), wide)
			gitIn(t, at("."), "update-index", "--assume-unchanged", "a/.mwp")
			put(t, at(".git/info/exclude"), "new\n")
		}, "a/.mwp +0", "absent", "git diff HEAD -- a/.mwp"},
		{"a name that git takes for a pattern", func(t *testing.T, at func(string) string) {
			put(t, at("x[y]/.mwp"), wide)
		}, "x[y]/.mwp +0", "absent", "git --literal-pathspecs diff HEAD -- 'x[y]/.mwp'"},
		{"behind sixty new ones", func(t *testing.T, at func(string) string) {
			for i := range 60 {
				mkdir(t, at(fmt.Sprintf("0%02d", i)))
				put(t, at(fmt.Sprintf("0%02d/.mwp", i)), "")
			}
			put(t, at("a/.mwp"), wide)
		}, "a/.mwp +0", "000/.mwp (not committed); 001/.mwp (not committed); 002/.mwp (not committed); 003/.mwp (not committed); 004/.mwp (not committed); 005/.mwp (not committed); 006/.mwp (not committed); 007/.mwp (not committed); 008/.mwp (not committed); 009/.mwp (not committed) +50", "git diff HEAD -- a/.mwp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := unpack(t, `
-- .mwp/config.toml --
members = ["*"]
[trust]
allowed_guards = ["./a.sh"]
-- .mwp/.gitignore --
cache/
-- linked.toml --
name = "linked"
-- l/.mwp/x --
-- x[y]/.mwp --
-- a/.mwp --
[trust]
allowed_guards = ["./a.sh"]
`)
			at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
			link(t, "../../linked.toml", at("l/.mwp/config.toml"))
			committed(t, root)
			if r := consult(t, root, ""); found(r, "trust_uncommitted") != "absent" || found(r, "anchor_uncommitted") != "absent" {
				t.Errorf("before: %v", r.Findings)
			}
			c.change(t, at)
			r := consult(t, root, "")
			if got := found(r, "trust_uncommitted"); got != c.want {
				t.Errorf("trust_uncommitted: %q, want %q", got, c.want)
			}
			if got := found(r, "anchor_uncommitted"); got != c.other {
				t.Errorf("anchor_uncommitted: %q, want %q", got, c.other)
			}
			for _, f := range r.Findings {
				if strings.HasSuffix(f.Code, "_uncommitted") && f.Commands[0] != c.next {
					if f.Code == "trust_uncommitted" || c.want == "absent" {
						t.Errorf("%s: %q, want %q", f.Code, f.Commands[0], c.next)
					}
				}
			}
			if c.want != "absent" && r.Next != c.next {
				t.Errorf("next is %q", r.Next)
			}
		})
	}
}

// TestDoctorUnreadableTrust: what cannot be read is not what the commit has.
func TestDoctorUnreadableTrust(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("SKIPPED: modes of files do not bind here")
	}
	root := unpack(t, "-- .mwp/config.toml --\nmembers = [\"*\"]\n-- a/.mwp/config.toml --\nname = \"a\"\n-- b/.mwp/modules.lock --\n")
	committed(t, root)
	lock := filepath.Join(root, "b", ".mwp", "modules.lock")
	if err := os.Chmod(lock, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(lock, 0o600)
	put(t, filepath.Join(root, "a", ".mwp", "config.toml"), strings.Repeat("# long\n", 50_000))
	if got := found(consult(t, root, ""), "anchor_uncommitted"); got != "a/.mwp/config.toml (changed); b/.mwp/modules.lock (changed) +0" {
		t.Errorf("anchor_uncommitted: %q", got)
	}
}

// TestDoctorSubmodule: what a submodule's own commit has is not new here.
func TestDoctorSubmodule(t *testing.T) {
	root := unpack(t, "-- .mwp/config.toml --\nmembers = [\"*\"]\n-- sub/.mwp --\n[trust]\nallowed_guards = [\"./a.sh\"]\n")
	committed(t, filepath.Join(root, "sub"))
	committed(t, root)
	r := consult(t, root, "")
	if got := said(r, "git"); found(r, "trust_uncommitted") != "absent" || found(r, "anchor_uncommitted") != "absent" || !strings.Contains(got, "1 anchor lies in a submodule") {
		t.Errorf("%q, %v", got, r.Findings)
	}
}

func mkdir(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o777); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// link puts a link in a file's place.
func link(t *testing.T, to, name string) {
	t.Helper()
	remove(t, name)
	if err := os.Symlink(to, name); err != nil {
		t.Skip("SKIPPED: there are no links")
	}
}

// TestDoctorOnce: one cause has one finding, and one command that helps.
func TestDoctorOnce(t *testing.T) {
	root := unpack(t, "-- .mwp/config.toml --\ndescription = \"d\"\n-- .mwp/modules.lock --\nno lock file\n")
	r := consult(t, root, "")
	if found(r, "lock_unusable") == "absent" || found(r, "lint_errors") != "absent" {
		t.Errorf("a broken lock file: %v", r.Findings)
	}
	// Anything by the name keeps a directory from being made.
	root = unpack(t, "-- .mwp/config.toml --\ndescription = \"d\"\n-- .mwp/intents --\n-- .mwp/pipelines/x --\n"+
		"-- .mwp/sessions/one.json --\n-- .mwp/sessions/two.json --\n-- .mwp/sessions/three.json --\n")
	if got := found(consult(t, root, ""), "work_dirs_absent"); got != "absent" {
		t.Errorf("a file .mwp/intents: %q", got)
	}
	// What the move of an anchor would overwrite.
	for _, name := range []string{".mwp.file", ".mwp.d/config.toml"} {
		root = unpack(t, "-- .mwp --\ndescription = \"d\"\n-- "+name+" --\n")
		r = consult(t, root, "")
		if got := said(r, "anchor_is_file"); !strings.Contains(got, name) || strings.HasPrefix(r.Next, "mv ") {
			t.Errorf("%s in the way: %q, next %q", name, got, r.Next)
		}
	}
}

// TestDoctorMovesAway: where `mwp verify` has nothing to do, it would mend nothing.
func TestDoctorMovesAway(t *testing.T) {
	user := t.TempDir()
	root := unpack(t, "-- .mwp/config.toml --\ndescription = \"d\"\n-- .mwp/guards.cache.json --\n{\n-- .mwp/guards.cache.json.broken --\n"+
		"-- .mwp-context.md --\n---\nguards:\n  - exists: .mwp\n---\nOf the project.\n")
	put(t, filepath.Join(user, "workspaces.json"), "{")
	if err := os.Chmod(user, 0o700); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for _, f := range consult(t, root, user).Findings {
		commands[f.Code] = strings.Join(f.Commands, "; ")
	}
	if got := commands["records_damaged"]; got != "mv .mwp/guards.cache.json .mwp/guards.cache.json.broken2" {
		t.Errorf("records_damaged: %q", got)
	}
	if got := commands["trust_unreadable"]; !strings.HasPrefix(got, "mv ") || !strings.Contains(got, "workspaces.json.broken") {
		t.Errorf("trust_unreadable: %q", got)
	}
	for from, to := range map[string]string{
		filepath.Join(user, "workspaces.json"): "workspaces.json.broken", filepath.Join(root, ".mwp", "guards.cache.json"): "guards.cache.json.broken2",
	} {
		if err := os.Rename(from, filepath.Join(filepath.Dir(from), to)); err != nil {
			t.Fatal(err)
		}
	}
	if r := consult(t, root, user); found(r, "records_damaged") != "absent" || found(r, "trust_unreadable") != "absent" {
		t.Errorf("after that: %v", r.Findings)
	}
}

// picture is everything about a tree that a program could have changed.
func picture(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			s := fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				s += " " + cas.Sum(b).String()
			}
			all[p] = s
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestDoctorChangesNothing is D-77: no byte and no time of any file, in the project, in its
// repository and in the user's directory; not even that a part of the cache was used.
func TestDoctorChangesNothing(t *testing.T) {
	root := unpack(t, clinic)
	around := t.TempDir()
	committed(t, root)
	ctx := context.Background()
	user := filepath.Join(around, "user")
	o := mwp.Options{Dir: root, Guards: mwp.GuardOptions{UserDir: user}}
	ws := mwp.Open(o)
	defer ws.Close()
	for _, ask := range []func() (*mwp.Result, error){
		func() (*mwp.Result, error) { return ws.Lint(ctx, mwp.LintRequest{}) },
		func() (*mwp.Result, error) { return ws.Map(ctx, mwp.Request{Target: "api"}) },
	} {
		r, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	if err := ws.TrustWorkspace(ctx, true); err != nil {
		t.Fatal(err)
	}
	// A cache that was last used long ago is one whose times would be set.
	old := time.Now().Add(-100 * 24 * time.Hour)
	segments := 0
	err := filepath.WalkDir(filepath.Join(root, ".mwp", "cache"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			segments++
			err = os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil || segments < 3 {
		t.Fatalf("%d files in the cache, %v", segments, err)
	}
	put(t, filepath.Join(root, "api", ".mwp-context.md"), "Changed, so that something has to be computed.\n")
	put(t, filepath.Join(root, "web", ".mwp"), "[trust]\nallowed_guards = [\"./x\"]\n")
	before := picture(t, root, around)
	for _, dir := range []string{"", "api"} {
		r := consult(t, filepath.Join(root, dir), user)
		if found(r, "trust_uncommitted") != "web/.mwp +0" || found(r, "cache") == "absent" {
			t.Errorf("not everything was looked at: %v", r.Findings)
		}
		ws := mwp.Open(mwp.Options{Dir: root, Guards: o.Guards})
		if _, err := ws.Status(ctx, "api", mwp.DoctorRequest{}); err != nil {
			t.Error(err)
		}
		ws.Close()
		// Where the user has nothing yet, nothing is made.
		consult(t, root, filepath.Join(around, "nobody"))
	}
	if d := cmp.Diff(before, picture(t, root, around)); d != "" {
		t.Errorf("doctor or status changed something (-before +after):\n%s", d)
	}
}

// TestDoctorReadOnly: a tree that cannot be written is looked at like any other, and that
// is said.
func TestDoctorReadOnly(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("SKIPPED: modes of directories do not bind here")
	}
	root := unpack(t, clinic)
	set := func(mode fs.FileMode) {
		t.Helper()
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(p, mode)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := found(consult(t, root, ""), "context_md")
	set(0o555)
	defer set(0o755)
	r := consult(t, root, "")
	if got := found(r, "context_md"); got != want || found(r, "cache_unwritable") == "absent" {
		t.Errorf("of a read-only tree: %q and %v", got, r.Findings)
	}
}

// TestDoctorJSON holds the report to its schema.
func TestDoctorJSON(t *testing.T) {
	schema := compileSchema(t, "doctor.schema.json", nil)
	for _, archive := range []string{clinic, "-- .mwp/ --\n", "-- .git/x --\n", "-- .mwp --\nname = 5\n"} {
		root := unpack(t, archive)
		r := consult(t, root, "")
		text := mwp.DoctorJSON(r)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestStatus compares a status with what its parts say elsewhere.
func TestStatus(t *testing.T) {
	root := unpack(t, clinic)
	ws := mwp.Open(mwp.Options{Dir: root})
	defer ws.Close()
	ctx := context.Background()
	s, err := ws.Status(ctx, "", mwp.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"api", "packages", "web"}; !slices.Equal(s.Members, want) || s.Contexts != 3 || s.Sessions != 3 || s.Asked {
		t.Errorf("%+v", s)
	}
	if s.Guards.Failed != 1 || s.Guards.NotRun != 1 || s.Guards.Total() != 2 {
		t.Errorf("guards %+v", s.Guards)
	}
	if s.Target != "." || s.Tokens[0] == 0 || s.Caps[0] == nil {
		t.Errorf("the fullest map is said to be that of %q, with %v of %v", s.Target, s.Tokens, s.Caps)
	}
	if s, err = ws.Status(ctx, "web", mwp.DoctorRequest{}); err != nil {
		t.Fatal(err)
	}
	r, err := ws.Map(ctx, mwp.Request{Target: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Totals map[string]int }
	if err := json.Unmarshal(r.Text, &m); err != nil {
		t.Fatal(err)
	}
	if s.Target != "web" || !s.Asked || s.Tokens[0] != m.Totals["l0"] || s.Tokens[1] != m.Totals["l1"] || s.Tokens[1] == 0 || *s.Caps[1] != 300 || s.Caps[4] != nil {
		t.Errorf("status of web: %q, %v, %v; the map has %v", s.Target, s.Tokens, s.Caps, m.Totals)
	}
	var refused *mwp.Refusal
	put(t, filepath.Join(root, "web", ".mwp-context.md"), "---\nlayer: 9\n---\n")
	if s, err := ws.Status(ctx, "web", mwp.DoctorRequest{}); !errors.As(err, &refused) {
		t.Errorf("of a target without a map: %v, %v", s, err)
	}
	if s, err = ws.Status(ctx, "", mwp.DoctorRequest{}); err != nil || !s.Doctor.Broken() {
		t.Errorf("of a workspace with a mistake: %+v, %v", s, err)
	}
}
