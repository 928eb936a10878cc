package mwp_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guardedMaps are the files below examples/expected with the map of guardedTarget as it
// is when its guard passed, fails, and is overridden.
var guardedMaps = []string{"guarded/passed.md", "guarded/failed.md", "guarded/overridden.md"}

const guardedTarget = "shop/core/price.py"

// breaksRule is added to guardedTarget to break the first rule of examples/guarded.
const breaksRule = "from store import orders\n"

// guarded is a copy of examples/guarded, with a clock that stands still and a user of
// its own.
type guarded struct {
	dir string
	now time.Time
	w   *mwp.Workspace
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the guard of examples/guarded is a script for a POSIX shell")
	}
	g := &guarded{dir: t.TempDir(), now: time.Date(2026, 5, 17, 10, 42, 0, 0, time.UTC)}
	copyGuarded(t, g.dir)
	clock := func() time.Time { return g.now }
	g.w = mwp.Open(mwp.Options{Dir: g.dir, Now: clock, Guards: mwp.GuardOptions{
		UserDir: filepath.Join(t.TempDir(), "user"), Env: []string{"PATH=" + os.Getenv("PATH")},
	}})
	t.Cleanup(func() { g.w.Close() })
	return g
}

// copyGuarded copies the example with what may be executed, and without what using it
// in place has left there.
func copyGuarded(t *testing.T, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join("examples", "guarded"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cache", "guards.cache.json", "trust.lock", "discoveries.md"} {
		if err := os.RemoveAll(filepath.Join(to, ".mwp", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// verify runs the guards of the target and returns the report.
func (g *guarded) verify(t *testing.T) *ir.VerifyReport {
	t.Helper()
	r, err := g.w.Verify(t.Context(), mwp.VerifyRequest{Targets: []string{filepath.Join(g.dir, guardedTarget)}})
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	if len(r.Notices) > 0 {
		t.Errorf("Verify has something to say: %v", r.Notices)
	}
	if err := r.Record(); err != nil {
		t.Fatalf("Record: %v", err)
	}
	return &r.Report
}

// show compares the target's map with a file, and returns it.
func (g *guarded) show(t *testing.T, name string) *ir.Map {
	t.Helper()
	r, err := g.w.Map(t.Context(), mwp.Request{Target: filepath.Join(g.dir, guardedTarget), Format: mwp.MarkdownText, NoRoot: true})
	if err != nil {
		t.Fatalf("Map: %v", err)
	}
	checkFile(t, filepath.Join(expectedMaps, "guarded", name), r.Text)
	m, err := mapOf(t, mwp.Options{Dir: g.dir, Now: func() time.Time { return g.now }}, mwp.Request{Target: filepath.Join(g.dir, guardedTarget)})
	if err != nil {
		t.Fatal(err)
	}
	if m.ReadOnly {
		t.Error("a user whose key did not sign the result believes it")
	}
	if r, err = g.w.Map(context.Background(), mwp.Request{Target: filepath.Join(g.dir, guardedTarget), Format: mwp.JSON}); err != nil {
		t.Fatal(err)
	}
	return decodeMap(t, r.Text)
}

func (g *guarded) edit(t *testing.T, edit func(text string) string) {
	t.Helper()
	editFile(t, filepath.Join(g.dir, guardedTarget), edit)
}

func editFile(t *testing.T, file string, edit func(text string) string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(edit(string(b))), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestGuardedExample walks through what the example's README shows: the rule holds,
// the code breaks it, a person goes on in spite of that, the code is mended. However
// often each step is checked, discoveries.md has one section for each change.
func TestGuardedExample(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	check := func(ok bool) {
		t.Helper()
		for range 5 {
			g.now = g.now.Add(time.Minute)
			r := g.verify(t)
			if len(r.Guards) != 4 || r.OK() != ok {
				t.Fatalf("verify says %v of %d guards, want %v of 4:\n%s", r.OK(), len(r.Guards), ok, mwp.VerifyText(r, false, true))
			}
		}
	}
	check(true)
	if m := g.show(t, "passed.md"); m.ReadOnly {
		t.Error("the map is read-only although every check passed")
	}
	whole := ""
	g.edit(t, func(text string) string { whole = text; return breaksRule + text })
	check(false)
	m := g.show(t, "failed.md")
	if !m.ReadOnly {
		t.Error("the map is not read-only although a check fails")
	}
	// A failure stays, whatever the clock says, and the same content as before has to be
	// shown to pass.
	g.now = g.now.Add(48 * time.Hour)
	g.edit(t, func(string) string { return whole })
	if m := decodeMap(t, g.text(t)); !m.ReadOnly || !m.Verifications[0].Expired || !m.Verifications[0].FilesChanged {
		t.Errorf("nobody has run the guard again, and the map has %+v, read-only %v", m.Verifications[0], m.ReadOnly)
	}
	check(true)
	if m := decodeMap(t, g.text(t)); m.ReadOnly {
		t.Error("the map is read-only although every check passed again")
	}
	if want, got := []string{"failed", "recovered"}, g.sections(t); !slices.Equal(got, want) {
		t.Errorf("discoveries.md has sections for %v, want %v", got, want)
	}
}

// TestGuardedExampleOverridden: a person's decision lifts the ban and not the failure.
func TestGuardedExampleOverridden(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.edit(t, func(text string) string { return breaksRule + text })
	g.verify(t)
	if _, err := g.w.Override(t.Context(), mwp.OverrideRequest{Guard: "./check-rules.sh", Reason: "the rule is about to change", For: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if m := g.show(t, "overridden.md"); m.ReadOnly || m.Verifications[0].Status != ir.FailedCheck {
		t.Errorf("overridden, the map is read-only %v with status %s, want false and failed", m.ReadOnly, m.Verifications[0].Status)
	}
	g.now = g.now.Add(time.Hour)
	if !decodeMap(t, g.text(t)).ReadOnly {
		t.Error("the override is over, and the map is not read-only")
	}
	if want, got := []string{"failed", "overridden"}, g.sections(t); !slices.Equal(got, want) {
		t.Errorf("discoveries.md has sections for %v, want %v", got, want)
	}
}

// text returns the target's map as JSON.
func (g *guarded) text(t *testing.T) []byte {
	t.Helper()
	r, err := g.w.Map(t.Context(), mwp.Request{Target: filepath.Join(g.dir, guardedTarget), Format: mwp.JSON})
	if err != nil {
		t.Fatal(err)
	}
	return r.Text
}

// sections returns what the headings of discoveries.md are about.
func (g *guarded) sections(t *testing.T) []string {
	t.Helper()
	return discoveries(t, g.dir)
}

func discoveries(t *testing.T, root string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, ".mwp", "discoveries.md"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`(?m)^## \S+ guard (\w+)$`).FindAllStringSubmatch(string(b), -1) {
		kinds = append(kinds, m[1])
	}
	if n := strings.Count(string(b), "\n## "); n != len(kinds) {
		t.Errorf("discoveries.md has %d sections, of which %d are about guards", n, len(kinds))
	}
	return kinds
}

// TestGuardedScript runs the script of the example in every shell that is there.
func TestGuardedScript(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the script is for a POSIX shell")
	}
	shells := [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh"}, {"zsh", "--emulate", "sh"}}
	for _, c := range []struct {
		name, file, text, want string
	}{
		{name: "as it is"},
		{"upwards", "shop/core/a.py", "    from api.orders import post\n", "rule 1 of RULES.md is broken:\ncore/a.py:1:    from api.orders import post\n"},
		{"a name that begins like a layer", "shop/core/a.py", "import apiary, stores\n", ""},
		{"the database", "shop/api/a b'c\".py", "import sqlite3\n", "rule 2 of RULES.md is broken:\napi/a b'c\".py:1:import sqlite3\nrule 3 of RULES.md is broken:\napi/a b'c\".py\n"},
		{"a name", "shop/store/Orders.py", "", "rule 3 of RULES.md is broken:\nstore/Orders.py\n"},
	} {
		dir := t.TempDir()
		copyGuarded(t, dir)
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, shell := range shells {
			if _, err := exec.LookPath(shell[0]); err != nil {
				continue
			}
			out, err := exec.Command(shell[0], append(slices.Clone(shell[1:]), filepath.Join(dir, "shop", "check-rules.sh"))...).CombinedOutput()
			if string(out) != c.want || (err != nil) != (c.want != "") {
				t.Errorf("%s, %v: the script says %q (%v), want %q", c.name, shell, out, err, c.want)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, "shop", "api")); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("sh", filepath.Join(dir, "shop", "check-rules.sh")).CombinedOutput(); err == nil {
			t.Errorf("%s: a layer is missing, and the script passes: %q", c.name, out)
		}
	}
}

// hookScene is a git repository made from the example, in which a commit runs
// examples/hooks/pre-commit with the mwp that was just built.
type hookScene struct {
	dir string
	env []string
	// seen is where the guard writes down its environment.
	seen string
}

// newHookScene makes the repository in a directory with a name and commits the example,
// through the hook.
func newHookScene(t *testing.T, bin, name string) *hookScene {
	t.Helper()
	s := &hookScene{dir: filepath.Join(t.TempDir(), name), seen: filepath.Join(t.TempDir(), "seen")}
	copyGuarded(t, s.dir)
	for _, e := range os.Environ() {
		if !slices.ContainsFunc([]string{"MWP_", "GIT_", "XDG_", "CI=", "PATH=", "HOME="}, func(p string) bool { return strings.HasPrefix(e, p) }) {
			s.env = append(s.env, e)
		}
	}
	s.env = append(s.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir(), "SEEN="+s.seen,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_OPTIONAL_LOCKS=0")
	editFile(t, filepath.Join(s.dir, "shop", "check-rules.sh"), func(text string) string {
		return strings.Replace(text, "set -eu\n", "set -eu\nenv >\"$SEEN\"\n", 1)
	})
	s.git(t, s.dir, "init", "--quiet")
	s.git(t, s.dir, "config", "user.name", "Ann")
	s.git(t, s.dir, "config", "user.email", "ann@example.com")
	hook, err := os.ReadFile(filepath.Join("examples", "hooks", "pre-commit"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, ".git", "hooks"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".git", "hooks", "pre-commit"), hook, 0o777); err != nil {
		t.Fatal(err)
	}
	s.git(t, s.dir, "add", ".")
	s.git(t, s.dir, "commit", "--quiet", "-m", "The shop")
	return s
}

// run runs git and returns what it prints, and whether it failed.
func (s *hookScene) run(t *testing.T, dir string, args ...string) (string, bool) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, s.env
	out, err := c.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), err != nil
}

func (s *hookScene) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, failed := s.run(t, dir, args...)
	if failed {
		t.Fatalf("git %q: %s", args, out)
	}
	return out
}

// TestPreCommitHook is phase 3 of the proposal: a commit with which the code and
// RULES.md part ways is refused, and accepted after the fix. The index stays as it is,
// byte for byte, and no variable by which git tells a hook what it is about reaches the
// guard.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skipf("NOT TESTED: the hook is a script for a POSIX shell with git: %v", err)
	}
	bin := buildMwp(t)
	for _, c := range []struct {
		name string
		// linked commits in a work tree that was added, all with git commit -a.
		linked, all bool
		// from is the directory in which git is started.
		from string
	}{
		{name: "plain"},
		{name: "commit -a", all: true},
		{name: "a work tree", linked: true},
		{name: "a work tree and commit -a", linked: true, all: true},
		{name: "started below", all: true, from: "shop/core"},
		{name: "it's \"odd\" $HOME & `co`", all: true},
		{name: "-o 'odd'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newHookScene(t, bin, c.name)
			dir, index := s.dir, filepath.Join(s.dir, ".git", "index")
			if c.linked {
				dir = filepath.Join(t.TempDir(), "linked to "+c.name)
				s.git(t, s.dir, "worktree", "add", "--quiet", "-b", "linked", dir)
				index = strings.TrimSpace(s.git(t, dir, "rev-parse", "--git-path", "index"))
			}
			from := filepath.Join(dir, filepath.FromSlash(c.from))
			target := filepath.Join(dir, guardedTarget)
			commit := func() (string, bool) {
				t.Helper()
				if c.all {
					return s.run(t, from, "commit", "--quiet", "-a", "-m", "Next")
				}
				s.git(t, dir, "add", guardedTarget)
				return s.run(t, from, "commit", "--quiet", "-m", "Next")
			}
			whole := ""
			editFile(t, target, func(text string) string { whole = text; return breaksRule + text })
			head := s.git(t, dir, "rev-parse", "HEAD")
			// git brings its own index up to date before it calls the hook, so the second
			// attempt is the one to compare.
			first, refused := commit()
			before, status := readFile(t, index), s.git(t, dir, "status", "--porcelain")
			again, refusedAgain := commit()
			if !refused || !refusedAgain {
				t.Fatalf("the commit was accepted:\n%s\n%s", first, again)
			}
			for _, out := range []string{first, again} {
				if !strings.Contains(out, "failed: exited 1") || !strings.Contains(out, "core/price.py:1:from store import orders") || !strings.Contains(out, "team-shop") {
					t.Errorf("a refusal does not say what is wrong and whom to ask:\n%s", out)
				}
			}
			if !bytes.Equal(before, readFile(t, index)) {
				t.Error("the refused commit changed the index")
			}
			if diff := cmp.Diff(status, s.git(t, dir, "status", "--porcelain")); diff != "" {
				t.Errorf("git status after a refused commit (-before +after):\n%s", diff)
			}
			if got := s.git(t, dir, "rev-parse", "HEAD"); got != head {
				t.Errorf("HEAD is %s, was %s", got, head)
			}
			s.checkEnvironment(t, index)

			editFile(t, target, func(string) string { return "# One more line.\n" + whole })
			if out, refused := commit(); refused {
				t.Fatalf("the fix was refused:\n%s", out)
			}
			if got := s.git(t, dir, "show", "--format=", "--name-status"); got != "M\t"+guardedTarget+"\n" {
				t.Errorf("the commit has %q", got)
			}
			if got := s.git(t, dir, "status", "--porcelain"); got != "" {
				t.Errorf("git status after the accepted commit: %q", got)
			}
			s.git(t, dir, "fsck", "--strict")
		})
	}
}

// checkEnvironment looks at what the guard was told: nothing of the commit under way,
// but the place of its index.
func (s *hookScene) checkEnvironment(t *testing.T, index string) {
	t.Helper()
	told := map[string]string{}
	for line := range strings.Lines(string(readFile(t, s.seen))) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			told[name] = value
		}
	}
	for name, value := range told {
		if strings.HasPrefix(name, "GIT_") && name != "GIT_CONFIG_NOSYSTEM" && name != "GIT_CONFIG_GLOBAL" {
			t.Errorf("the guard was told %s=%s", name, value)
		}
	}
	if told["MWP_GUARD"] != "1" {
		t.Errorf("the guard was told MWP_GUARD=%q", told["MWP_GUARD"])
	}
	// commit -a has an index of its own, beside the repository's.
	if got := told["MWP_GUARD_GIT_INDEX_FILE"]; !filepath.IsAbs(got) || !sameDir(filepath.Dir(got), filepath.Dir(index)) {
		t.Errorf("the guard was told MWP_GUARD_GIT_INDEX_FILE=%q, want a file beside %s", got, index)
	}
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// buildMwp builds the command and returns its directory.
func buildMwp(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/mwp").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// TestPreCommitHookWithoutMwp: a gate that cannot be asked stays shut.
func TestPreCommitHookWithoutMwp(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the hook is a script for a POSIX shell")
	}
	c := exec.Command("/bin/sh", filepath.Join("examples", "hooks", "pre-commit"))
	c.Env = []string{"PATH=" + t.TempDir()}
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "mwp is not on PATH") {
		t.Errorf("without mwp the hook ends with %v and says %q", err, out)
	}
}

// TestPreCommitHooksFile holds .pre-commit-hooks.yaml to the form that pre-commit
// reads, and runs each entry.
func TestPreCommitHooksFile(t *testing.T) {
	t.Parallel()
	var hooks []struct {
		ID          string `yaml:"id"`
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Entry       string `yaml:"entry"`
		Language    string `yaml:"language"`
		// Without names of files there is one process, whatever is staged; it has to run
		// for a commit that only deletes as well.
		PassFilenames *bool    `yaml:"pass_filenames"`
		AlwaysRun     bool     `yaml:"always_run"`
		Stages        []string `yaml:"stages"`
		Minimum       string   `yaml:"minimum_pre_commit_version"`
	}
	d := yaml.NewDecoder(bytes.NewReader(readFile(t, ".pre-commit-hooks.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&hooks); err != nil {
		t.Fatal(err)
	}
	stages := []string{"commit-msg", "manual", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg"}
	var ids []string
	for _, h := range hooks {
		ids = append(ids, h.ID)
		if h.Name == "" || h.Description == "" || h.Language != "golang" || h.Minimum != "3.2.0" {
			t.Errorf("hook %s lacks something: %+v", h.ID, h)
		}
		if h.PassFilenames == nil || *h.PassFilenames || !h.AlwaysRun {
			t.Errorf("hook %s has pass_filenames %v and always_run %v, want false and true", h.ID, h.PassFilenames, h.AlwaysRun)
		}
		for _, s := range h.Stages {
			if !slices.Contains(stages, s) {
				t.Errorf("hook %s names a stage that pre-commit does not have: %s", h.ID, s)
			}
		}
	}
	if want := []string{"mwp-verify", "mwp-lint"}; !slices.Equal(ids, want) {
		t.Fatalf("the hooks are %v, want %v", ids, want)
	}
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skipf("NOT TESTED: the entries need git and a POSIX shell: %v", err)
	}
	bin := buildMwp(t)
	s := newHookScene(t, bin, "entries")
	editFile(t, filepath.Join(s.dir, guardedTarget), func(text string) string { return breaksRule + text })
	editFile(t, filepath.Join(s.dir, "shop", ".mwp-context.md"), func(text string) string {
		return strings.Replace(text, "exists: store/schema.sql", "exists: store/gone.sql", 1)
	})
	status := func(entry string) int {
		t.Helper()
		words := strings.Fields(entry)
		c := exec.Command(filepath.Join(bin, words[0]), words[1:]...)
		c.Dir, c.Env = s.dir, s.env
		out, err := c.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); ok {
			return exit.ExitCode()
		} else if err != nil {
			t.Fatalf("%s: %v\n%s", entry, err, out)
		}
		return 0
	}
	clean := func(want string) {
		t.Helper()
		if got := s.git(t, s.dir, "status", "--porcelain"); got != want {
			t.Errorf("git status after the hooks is %q, want %q: pre-commit takes a change for a failure", got, want)
		}
	}
	// Nothing is staged; lint looks at the files as they are.
	for i, want := range []int{0, 1} {
		if got := status(hooks[i].Entry); got != want {
			t.Errorf("%s ends with %d before anything is staged, want %d", hooks[i].Entry, got, want)
		}
	}
	s.git(t, s.dir, "add", "shop")
	for i, want := range []int{1, 1} {
		if got := status(hooks[i].Entry); got != want {
			t.Errorf("%s ends with %d for what breaks a rule, want %d", hooks[i].Entry, got, want)
		}
	}
	clean("M  shop/.mwp-context.md\nM  " + guardedTarget + "\n")
	s.git(t, s.dir, "reset", "--quiet", "--hard")
	s.git(t, s.dir, "rm", "--quiet", "shop/core/price.py")
	for i, want := range []int{1, 0} { // a layer without a module is a directory that git has not
		if got := status(hooks[i].Entry); got != want {
			t.Errorf("%s ends with %d after the last module of a layer was deleted, want %d", hooks[i].Entry, got, want)
		}
	}
}

// TestCodesAsDocumented computes the codes in the side files as docs/format.md says,
// from the key file and the files' JSON alone.
func TestCodesAsDocumented(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	user := filepath.Join(t.TempDir(), "user")
	const secretText = " a long text that stands for a key\n"
	for name, secret := range map[string]string{"key file": "", "MWP_TRUST_KEY": secretText} {
		w := mwp.Open(mwp.Options{Dir: g.dir, Guards: mwp.GuardOptions{UserDir: user, TrustKey: secret, Env: []string{"PATH=" + os.Getenv("PATH")}}})
		defer w.Close()
		editFile(t, filepath.Join(g.dir, ".mwp", "config.toml"), func(s string) string { return strings.Replace(s, `["./check-rules.sh"]`, "[]", 1) })
		editFile(t, filepath.Join(g.dir, guardedTarget), func(s string) string { return breaksRule + s })
		yes := func(context.Context, mwp.GuardQuestion) (mwp.GuardAnswer, error) { return mwp.AnswerYes, nil }
		if _, err := w.Verify(t.Context(), mwp.VerifyRequest{Ask: yes}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Override(t.Context(), mwp.OverrideRequest{Guard: "./check-rules.sh", Reason: "a reason", For: time.Hour}); err != nil {
			t.Fatal(err)
		}
		var s []byte
		if secret == "" {
			s = readFile(t, filepath.Join(user, "key"))
		} else {
			k := cas.Derive("mwp trust key from text v1").Key([]byte(strings.TrimSpace(secret)))
			s = k[:]
		}
		signer := cas.Derive("mwp signer v1").Key(s).String()[:16]
		if n := checkRecordCodes(t, g.dir, signer, cas.NewMAC(cas.Derive("mwp guard record v1").Key(s))); n != 1 {
			t.Errorf("%s: %d records are signed with %s, want 1", name, n, signer)
		}
		if n := checkDecisionCodes(t, g.dir, signer, cas.NewMAC(cas.Derive("mwp trust decision v1").Key(s))); n != 1 {
			t.Errorf("%s: %d decisions are signed with %s, want 1", name, n, signer)
		}
	}
}

// nanoseconds reads a time of a side file.
func nanoseconds(t *testing.T, s string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000Z", s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

// digest reads 64 digits, with the tag of a digest or without.
func digest(t *testing.T, s string) cas.Digest {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "blake3:"))
	if err != nil || len(b) != 32 {
		t.Fatalf("%q is no digest", s)
	}
	return cas.Digest(b)
}

func checkRecordCodes(t *testing.T, root, signer string, mac *cas.MAC) (n int) {
	t.Helper()
	var file struct {
		Guards []struct {
			Guard, Status, Fingerprint, Declared, Key, Cwd, Reason, Log, Signer, MAC string

			Exit       *int64 `json:"exit_code"`
			Duration   int64  `json:"duration_ms"`
			RanAt      string `json:"ran_at"`
			CacheUntil string `json:"cache_until"`
			DeclaredIn string `json:"declared_in"`
			Override   *struct{ Reason, Until, Declared string }
		}
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(root, ".mwp", "guards.cache.json")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Guards {
		if g.Signer != signer {
			continue
		}
		n++
		var e cas.Encoder
		e.Digest(digest(t, g.Key))
		for _, s := range []string{g.Guard, g.Cwd, g.DeclaredIn, g.Log, g.Signer, g.Reason} {
			e.String(s)
		}
		e.Bool(g.Status == "passed")
		if e.Bool(g.Exit != nil); g.Exit != nil {
			e.Int(*g.Exit)
		}
		e.Int(g.Duration)
		e.Int(nanoseconds(t, g.RanAt))
		e.Int(nanoseconds(t, g.CacheUntil))
		e.Digest(digest(t, g.Fingerprint))
		e.Digest(digest(t, g.Declared))
		if e.Bool(g.Override != nil); g.Override == nil {
			t.Error("the record has no override")
		} else {
			e.String(g.Override.Reason)
			e.Int(nanoseconds(t, g.Override.Until))
			e.Digest(digest(t, g.Override.Declared))
		}
		if got := mac.Sum(e.Encoded()).String(); got != g.MAC {
			t.Errorf("the code of the record is %s, by docs/format.md it is %s", g.MAC, got)
		}
		// The guard is one of the project itself, runs without a shell, and is not static.
		var k cas.Encoder
		k.String(g.Guard)
		k.String(g.Cwd)
		k.String("")
		k.Bool(false)
		k.Bool(false)
		k.String(g.DeclaredIn)
		if got := cas.Derive("mwp guard v1").Key(k.Encoded()).String(); got != g.Key {
			t.Errorf("the key of the guard is %s, by docs/format.md it is %s", g.Key, got)
		}
	}
	return n
}

func checkDecisionCodes(t *testing.T, root, signer string, mac *cas.MAC) (n int) {
	t.Helper()
	var file struct {
		Decisions []struct {
			Command, Decision, Cwd, Script, Binding, Signer, MAC string

			At         string `json:"decided_at"`
			DeclaredIn string `json:"declared_in"`
			Commit     string `json:"module_commit"`
		}
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(root, ".mwp", "trust.lock")), &file); err != nil {
		t.Fatal(err)
	}
	place, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decisions {
		if d.Signer != signer {
			continue
		}
		n++
		// The command is one word, and a file of the project.
		text := readFile(t, filepath.Join(root, filepath.FromSlash(d.Cwd), filepath.FromSlash(d.Command)))
		var state, e cas.Encoder
		state.Bool(runtime.GOOS != "windows")
		state.Digest(cas.Sum(text))
		e.String(d.Command)
		e.Bytes(state.Encoded())
		if got := cas.Sum(e.Encoded()).Tagged(); got != d.Script {
			t.Errorf("the digest of the files that the decision is bound to is %s, by docs/format.md it is %s", d.Script, got)
		}
		e.Reset()
		for _, s := range []string{"binding", place, d.Command, d.DeclaredIn, d.Cwd, d.Commit} {
			e.String(s)
		}
		e.Digest(digest(t, d.Script))
		if got := mac.Sum(e.Encoded()).String(); got != d.Binding {
			t.Errorf("the binding of the decision is %s, by docs/format.md it is %s", d.Binding, got)
		}
		e.Reset()
		for _, s := range []string{"decision", d.Command, d.DeclaredIn, d.Cwd, d.Commit, d.Signer} {
			e.String(s)
		}
		e.Digest(digest(t, d.Script))
		e.Uint(map[string]uint64{"yes": 1, "never": 2}[d.Decision])
		e.Int(nanoseconds(t, d.At))
		e.Digest(digest(t, d.Binding))
		if got := mac.Sum(e.Encoded()).String(); got != d.MAC {
			t.Errorf("the code of the decision is %s, by docs/format.md it is %s", d.MAC, got)
		}
	}
	return n
}

// TestGuardsDocument holds docs/guards.md to the code where a reader would copy from it:
// what is built in, what an entry of allowed_guards covers, and the header.
func TestGuardsDocument(t *testing.T) {
	t.Parallel()
	text := string(bytes.ReplaceAll(readFile(t, "docs/guards.md"), []byte("\r\n"), []byte("\n")))
	block := func(begin string) string {
		t.Helper()
		_, rest, ok := strings.Cut(text, begin)
		b, _, closed := strings.Cut(rest, "```\n")
		if !ok || !closed {
			t.Fatalf("docs/guards.md has no block after %q", begin)
		}
		return b
	}
	_, row, _ := strings.Cut(text, "| `builtin` | ")
	row, _, _ = strings.Cut(row, "\n")
	builtin := 0
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
		builtin++
		if d := command.Decide(command.Parse(strings.Replace(m[1], "SCRIPT", "check", 1)+" more"), command.Question{}); d.Level != command.Builtin {
			t.Errorf("docs/guards.md says that %s is built in, the code that it is %s: %s", m[1], d.Level, d.Why)
		}
	}
	if builtin != 6 {
		t.Errorf("docs/guards.md lists %d built-in commands, want 6", builtin)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".mwp/config.toml":     "[trust]\n" + block("```toml\n[trust]\n"),
		"shop/.mwp-context.md": "---\n" + block("```yaml\n") + "---\nA shop.\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m, err := mapOf(t, mwp.Options{Dir: dir}, mwp.Request{Target: filepath.Join(dir, "shop")})
	if err != nil {
		t.Fatal(err)
	}
	var guards []string
	for _, v := range m.Verifications {
		guards = append(guards, v.Guard)
	}
	if want := []string{"./check-rules.sh", "exists store/schema.sql"}; !slices.Equal(guards, want) {
		t.Errorf("the header of docs/guards.md declares %q, want %q", guards, want)
	}
	var allowed []string
	_, entries, _ := strings.Cut(block("```toml\n[trust]\n"), "allowed_guards = ")
	if err := json.Unmarshal([]byte(entries), &allowed); err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]command.Level{
		"./check-rules.sh": command.Project, "./check-rules.sh  -v": command.Project, "go test ./...": command.Project,
		"go tester": command.AdHoc, "gotest": command.AdHoc, "sh ./check-rules.sh": command.AdHoc,
		"grep -q x  src/* && true": command.Project, "grep -q x src/*": command.AdHoc, "cargo test && make": command.AdHoc,
	} {
		if d := command.Decide(command.Parse(cmd), command.Question{Allowed: allowed}); d.Level != want {
			t.Errorf("with the entries of docs/guards.md %s is %s, want %s: %s", cmd, d.Level, want, d.Why)
		}
	}
}
