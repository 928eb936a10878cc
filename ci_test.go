package mwp_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// needCI leaves a test out where the recipes cannot run.
func needCI(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the recipes are played with a POSIX shell")
	}
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: there is no %s on PATH", program)
		}
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestActionSteps: the rules at the top of action.yml.
func TestActionSteps(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("action.yml: using %q, %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	for name, in := range a.Inputs {
		if in.Description == "" || in.Default == nil {
			t.Errorf("input %s: it has no description or no default", name)
		}
	}
	for _, s := range a.Runs.Steps {
		if s.Uses != "" {
			if !regexp.MustCompile(`^actions/[a-z/-]+@v[0-9]+$`).MatchString(s.Uses) {
				t.Errorf("step %s uses %s, want an action of GitHub's with a major version", s.Name, s.Uses)
			}
			continue
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: an expression in a script is code of whoever wrote its value:\n%s", s.Name, s.Run)
		}
		if s.Shell != "bash" || !strings.HasPrefix(s.Run, "set -euo pipefail\n") {
			t.Errorf("step %s: shell %q, and the script does not begin with set -euo pipefail:\n%s", s.Name, s.Shell, s.Run)
		}
		for name := range s.Env {
			if strings.HasPrefix(name, "MWP_") {
				t.Errorf("step %s: %s would be a flag of mwp", s.Name, name)
			}
		}
	}
	text := string(readFile(t, "action.yml"))
	for _, word := range []string{"secrets.", "github.token", "github.head_ref"} {
		if strings.Contains(text, word) {
			t.Errorf("action.yml has %s", word)
		}
	}
}

// ciScripts are the shell scripts that we give away, by name and shell.
func ciScripts(t *testing.T) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, s := range readAction(t).Runs.Steps {
		if s.Run != "" {
			out["action.yml: "+s.Name] = [2]string{"bash", s.Run}
		}
	}
	files, err := filepath.Glob("examples/ci/*.sh")
	if err != nil || len(files) != 3 {
		t.Fatalf("examples/ci has the scripts %v, %v", files, err)
	}
	for _, f := range files {
		out[f] = [2]string{"sh", string(readFile(t, f))}
	}
	var lab map[string]struct {
		Before []string `yaml:"before_script"`
		Script []string
	}
	if err := yaml.Unmarshal(readFile(t, "examples/ci/gitlab-ci.yml"), &lab); err != nil {
		t.Fatal(err)
	}
	if len(lab["context"].Script) == 0 {
		t.Fatal("examples/ci/gitlab-ci.yml has no script")
	}
	out["gitlab-ci.yml"] = [2]string{"sh", strings.Join(append(lab["context"].Before, lab["context"].Script...), "\n") + "\n"}
	return out
}

func TestCIScriptsParse(t *testing.T) {
	needCI(t)
	t.Parallel()
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Log("NOT TESTED: there is no shellcheck on PATH, so the scripts were only parsed")
	}
	for name, s := range ciScripts(t) {
		commands := [][]string{{s[0], "-n"}}
		if check != "" {
			commands = append(commands, []string{check, "--shell", s[0], "-"})
		}
		for _, args := range commands {
			c := exec.Command(args[0], args[1:]...)
			c.Stdin = strings.NewReader(s[1])
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %v\n%s", name, args, err, out)
			}
		}
	}
}

// TestWorkflowExample: the workflow gives the action what it has, asks for no right but
// to read, and has no script.
func TestWorkflowExample(t *testing.T) {
	t.Parallel()
	var w struct {
		On          map[string]any
		Permissions map[string]string
		Concurrency map[string]string
		Jobs        map[string]struct {
			Timeout int `yaml:"timeout-minutes"`
			Steps   []ciStep
		}
	}
	if err := yaml.Unmarshal(readFile(t, "examples/ci/github.yml"), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"contents": "read"}, w.Permissions); d != "" {
		t.Errorf("permissions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"pull_request", "push"}, slices.Sorted(maps.Keys(w.On))); d != "" {
		t.Errorf("on (-want +got):\n%s", d)
	}
	inputs := readAction(t).Inputs
	ours := 0
	for _, s := range w.Jobs["mwp"].Steps {
		if s.Run != "" {
			t.Errorf("a script: %s", s.Run)
		}
		if strings.HasPrefix(s.Uses, "actions/checkout@") {
			if s.With["fetch-depth"] != "0" || s.With["persist-credentials"] != "false" {
				t.Errorf("checkout with %v", s.With)
			}
		}
		if strings.HasPrefix(s.Uses, "model-workspace-protocol/mwp@v") {
			ours++
			for name := range s.With {
				if _, ok := inputs[name]; !ok {
					t.Errorf("action.yml has no input %s", name)
				}
			}
		}
	}
	if ours != 1 || w.Jobs["mwp"].Timeout == 0 || w.Concurrency["group"] == "" {
		t.Errorf("the action is used %d times, timeout %d, concurrency %v", ours, w.Jobs["mwp"].Timeout, w.Concurrency)
	}
}

// ciBlock returns the first block of docs/ci.md in a language.
func ciBlock(t *testing.T, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(readFile(t, "docs/ci.md")), "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatalf("docs/ci.md has no block of %s", language)
	}
	return block + "\n"
}

// TestCIDocument: the page names the inputs that there are, with their defaults, and its
// workflow is one.
func TestCIDocument(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for name, in := range readAction(t).Inputs {
		want[name] = *in.Default
	}
	_, table, _ := strings.Cut(string(readFile(t, "docs/ci.md")), "\n| input | default | what |\n|---|---|---|\n")
	got := map[string]string{}
	for _, line := range lines(table) {
		cell := strings.Split(line, "|")
		if len(cell) < 5 {
			break
		}
		got[strings.Trim(cell[1], " `")] = strings.Trim(cell[2], " `")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("inputs of docs/ci.md (-action.yml +page):\n%s", d)
	}
	block := ciBlock(t, "yaml")
	if n := strings.Count(block, "\n"); n != 10 {
		t.Errorf("the workflow in ten lines has %d", n)
	}
	var w struct {
		Jobs map[string]struct{ Steps []ciStep }
	}
	if err := yaml.Unmarshal([]byte(block), &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["context"].Steps
	if len(steps) != 2 || !strings.HasPrefix(steps[1].Uses, "model-workspace-protocol/mwp@v") {
		t.Fatalf("steps of the workflow: %v", steps)
	}
	for name := range steps[1].With {
		if _, ok := want[name]; !ok {
			t.Errorf("action.yml has no input %s", name)
		}
	}
}

// A ciWorld has a project with a module, in repositories from which runs clone.
type ciWorld struct {
	t    *testing.T
	dir  string
	bin  string
	runs int
}

// TestCI builds the programs once, by the action's own step, for all that plays CI.
func TestCI(t *testing.T) {
	needCI(t)
	if testing.Short() {
		t.Skip("NOT TESTED: with -short, the CI recipes are not played")
	}
	t.Parallel()
	w := &ciWorld{t: t, dir: t.TempDir()}
	r := w.runner("")
	r.play(readAction(t), "install")
	if r.failed || len(r.path) != 1 {
		t.Fatalf("the step that installs mwp: %v, PATH %v\n%s", r.outcomes, r.path, r.log.String())
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, *ciWorld)
	}{
		{"action", testAction},
		{"directory", testActionInADirectory},
		{"bounds", testMapDiffBounds},
		{"two runs", testTwoRuns},
		{"gate", testGate},
		{"recipe", testRecipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newCIWorld(t, r.path[0]))
		})
	}
}

// newCIWorld makes the repositories. There are context files in directories whose names a
// workflow's log would take for commands.
func newCIWorld(t *testing.T, bin string) *ciWorld {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &ciWorld{t: t, dir: dir, bin: bin}
	for name, text := range map[string]string{
		"rules/.mwp-module.md": "---\nname: rules\nversion: 1.0.0\nimports:\n  - local: ./errors.md\n---\n",
		"rules/errors.md":      "An error answer carries a code.\n",

		"shop/.mwp/config.toml":                   "name = \"shop\"\n[trust]\nallowed_guards = [\"./check.sh\"]\n",
		"shop/.mwp/.gitignore":                    "/cache/\n/modules/\n/sessions/\n/guards.cache.json\n/trust.lock\n",
		"shop/.mwp-context.md":                    "A shop.\n",
		"shop/backend/.mwp-context.md":            "---\nimports:\n  - git: file://" + dir + "/rules@v1.0.0\nguards:\n  - cmd: ./check.sh\n---\nHTTP.\n",
		"shop/backend/api/.mwp-context.md":        "Handlers.\n",
		"shop/backend/api/orders.ts":              "",
		"shop/::error title=x::y/.mwp-context.md": "Odd.\n",
		"shop/a b/.mwp-context.md":                "Blank.\n",
		"shop/new\nline/.mwp-context.md":          "Two lines.\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	writeFile(t, filepath.Join(dir, "shop/backend/check.sh"), "#!/bin/sh\ntouch \"$CHECKED\"\n! grep -q console api/orders.ts\n")
	w.sh(dir, nil, `chmod +x shop/backend/check.sh
cd rules && git init --quiet --initial-branch=main && git add . && git commit --quiet -m 1 && git tag v1.0.0
cd ../shop && git init --quiet --initial-branch=main && mwp import --quiet && git add . && git commit --quiet -m 1`)
	return w
}

// runner returns a machine with a clone of the project at a revision, none for "".
func (w *ciWorld) runner(revision string) *ciRunner {
	w.t.Helper()
	w.runs++
	at := func(name string) string { return filepath.Join(w.dir, fmt.Sprint("run", w.runs), name) }
	r := &ciRunner{t: w.t, workspace: at(strings.Repeat("deep/", w.runs%3) + "work"), temp: at("temp"), home: at("home"), caches: filepath.Join(w.dir, "caches")}
	for _, d := range []string{r.workspace, r.temp, r.home, r.caches} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			w.t.Fatal(err)
		}
	}
	r.inputs = map[string]string{}
	for name, in := range readAction(w.t).Inputs {
		r.inputs[name] = *in.Default
	}
	r.env = []string{"CHECKED=" + filepath.Join(r.temp, "checked")}
	r.event = map[string]string{"github.event_name": "push", "github.repository": "ann/shop", "github.event.before": strings.Repeat("0", 40)}
	if revision != "" {
		r.path, r.inputs["version"] = []string{w.bin}, "path"
		w.sh(filepath.Dir(r.workspace), nil, fmt.Sprintf("git clone --quiet '%s/shop' work && cd work && git checkout --quiet --detach '%s'", w.dir, revision))
		r.event["github.sha"] = strings.TrimSpace(w.sh(r.workspace, nil, "git rev-parse HEAD"))
	}
	return r
}

// sh runs a script that has to succeed, and returns its stdout.
func (w *ciWorld) sh(dir string, env []string, script string) string {
	w.t.Helper()
	c := exec.Command("sh", "-ec", script)
	var out, err bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &err
	c.Env = append(ciEnvironment(filepath.Join(w.dir, "home"), []string{w.bin}), env...)
	if e := c.Run(); e != nil {
		w.t.Fatalf("%s: %v\n%s%s", script, e, out.String(), err.String())
	}
	return out.String()
}

// change commits a change of the project on a branch, and returns the commit.
func (w *ciWorld) change(branch, script string) string {
	w.t.Helper()
	return strings.TrimSpace(w.sh(filepath.Join(w.dir, "shop"), nil, "git checkout --quiet -B '"+branch+"' main\n"+script+"\ngit add -A && git commit --quiet -m change\ngit rev-parse HEAD\ngit checkout --quiet main"))
}

// pull makes the event of a pull request from a repository.
func (w *ciWorld) pull(r *ciRunner, from string) {
	r.event["github.event_name"] = "pull_request"
	r.event["github.event.pull_request.head.repo.full_name"] = from
	r.event["github.event.pull_request.base.sha"] = strings.TrimSpace(w.sh(filepath.Join(w.dir, "shop"), nil, "git rev-parse main"))
}

func (r *ciRunner) read(name string) string {
	b, err := os.ReadFile(filepath.Join(r.temp, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// report reads a file of the reports.
func (r *ciRunner) report(name string) string {
	b, err := os.ReadFile(filepath.Join(r.outputs["gate"]["report"], name))
	if err != nil {
		return ""
	}
	return string(b)
}

// checked says whether the guard ran.
func (r *ciRunner) checked() bool { return exists(filepath.Join(r.temp, "checked")) }

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// testAction plays the action as GitHub does: two pushes, pull requests from the
// repository and from a fork, and what has to fail.
func testAction(t *testing.T, w *ciWorld) {
	a := readAction(t)

	first := w.runner("main")
	first.play(a)
	if first.failed || !first.checked() || first.saved == "" || first.uploaded != first.outputs["gate"]["report"] {
		t.Fatalf("a push: outcomes %v, guard run %v, saved %q, uploaded %q\n%s", first.outcomes, first.checked(), first.saved, first.uploaded, first.log.String())
	}
	if s := first.read("summary"); !strings.Contains(s, "| success | success | skipped | success |") {
		t.Errorf("the summary of a push: %s", s)
	}
	if !strings.Contains(first.report("verify.xml"), "<testsuite") {
		t.Errorf("verify.xml: %s", first.report("verify.xml"))
	}
	if got := w.sh(first.workspace, nil, "git status --porcelain && git worktree list"); strings.Count(got, "\n") != 1 {
		t.Errorf("the checkout is not as it was: %s", got)
	}

	t.Run("again", func(t *testing.T) {
		r := w.runner("main")
		r.t, r.env = t, append(r.env, "MWP_VERBOSE=1")
		r.play(a)
		if r.failed || r.restored != first.saved || r.saved != "" {
			t.Fatalf("the same commit again: outcomes %v, restored %q, saved %q\n%s", r.outcomes, r.restored, r.saved, r.log.String())
		}
		if n := computedNodes(r.log.String()); len(n) == 0 || slices.Max(n) > 0 {
			t.Errorf("lint computed %v nodes, want none\n%s", n, r.log.String())
		}
		if got, want := r.report("annotations.txt"), first.report("annotations.txt"); got != want {
			t.Errorf("annotations: %s, want %s", got, want)
		}
	})

	change := w.change("pr", `echo 'Every handler has a deadline.' >>backend/.mwp-context.md
mkdir 'c d' && echo 'New.' >'c d/.mwp-context.md' && echo 'touch "$CHECKED.fork"' >>backend/check.sh`)
	// Where main went meanwhile is no part of a change.
	ahead := w.change("ahead", "echo Else. >>'a b/.mwp-context.md'")
	// The fork first: what it saves would be there for the same commit.
	t.Run("fork", func(t *testing.T) {
		r := w.runner(change)
		r.t = t
		w.pull(r, "eve/shop")
		r.play(a)
		if r.failed || r.checked() || r.saved != "" || r.outputs["gate"]["trusted"] != "false" || r.outcomes["verify"] != "skipped" {
			t.Fatalf("outcomes %v, outputs %v, guard run %v, saved %q\n%s", r.outcomes, r.outputs["gate"], r.checked(), r.saved, r.log.String())
		}
		if r.outputs["maps"]["maps"] != "4 of 6 maps differ" {
			t.Errorf("maps = %q", r.outputs["maps"]["maps"])
		}
	})

	t.Run("pull request", func(t *testing.T) {
		r := w.runner(change)
		r.t = t
		w.pull(r, "ann/shop")
		r.inputs["base"] = ahead
		r.play(a)
		if r.failed || !r.checked() || r.restored != first.saved || r.saved == "" {
			t.Fatalf("outcomes %v, guard run %v, restored %q, saved %q\n%s", r.outcomes, r.checked(), r.restored, r.saved, r.log.String())
		}
		if got := r.outputs["maps"]["maps"]; got != "4 of 6 maps differ" {
			t.Errorf("maps = %q", got)
		}
		diff := r.report("maps/maps.diff")
		for _, want := range []string{"--- base: backend/api\n+++ head: backend/api\n", "\n+Every handler has a deadline.\n", "+++ head: c d\n"} {
			if !strings.Contains(diff, want) {
				t.Errorf("maps.diff lacks %q:\n%s", want, diff)
			}
		}
		if s := r.read("summary"); !strings.Contains(s, "    +Every handler has a deadline.\n") || !strings.Contains(s, "Maps that were not compared: 1.") {
			t.Errorf("summary: %s", s)
		}
	})

	for _, event := range []string{"pull_request_target", "issue_comment", "workflow_run"} {
		t.Run(event, func(t *testing.T) {
			r := w.runner(change)
			r.t, r.event["github.event_name"] = t, event
			r.play(a, "gate")
			if r.failed || r.outputs["gate"]["trusted"] != "false" || r.outputs["gate"]["guards"] != "false" {
				t.Errorf("outputs %v\n%s", r.outputs["gate"], r.log.String())
			}
		})
	}

	for name, c := range map[string]struct {
		script string
		set    map[string]string
		// fails are the ids of the steps that fail; log is in what they print.
		fails []string
		log   string
	}{
		"lint":        {script: "printf -- '---\\nlayer: 9\\n---\\n' >'a b/.mwp-context.md'", fails: []string{"lint", "verify"}, log: "\n::error file=a b/.mwp-context.md,line=2"},
		"warnings":    {script: "printf -- '---\\nlair: 1\\n---\\n' >'a b/.mwp-context.md'", set: map[string]string{"max-warnings": "0"}, fails: []string{"lint"}, log: "\n::warning file=a b/.mwp-context.md,line=2"},
		"guard":       {script: "echo console >backend/api/orders.ts", fails: []string{"verify"}},
		"lock":        {script: "rm .mwp/modules.lock", fails: []string{"import", "lint", "verify"}, log: "error["},
		"profile":     {script: "touch x", set: map[string]string{"profile": "nobody"}, fails: []string{"lint"}},
		"cache":       {script: "mkdir -p .mwp/cache && echo x >.mwp/cache/x && git add -f .mwp/cache/x", fails: []string{"gate"}, log: "::error title=mwp::gate.sh: .mwp has a cache, "},
		"other case":  {script: "mkdir -p .mwp/Cache && echo x >.mwp/Cache/x && git add -f .mwp/Cache/x", fails: []string{"gate"}},
		"results":     {script: "echo '{}' >.mwp/guards.cache.json && git add -f .mwp/guards.cache.json", fails: []string{"gate"}},
		"link":        {script: "mv .mwp state && ln -s state .mwp", fails: []string{"gate"}},
		"verify":      {script: "touch x", set: map[string]string{"verify": "yes"}, fails: []string{"gate"}, log: "verify is auto, always or never"},
		"version":     {script: "touch x", set: map[string]string{"version": "v1; touch pwned"}, fails: []string{"install"}, log: "version is empty, path or"},
		"no base":     {script: "touch x", set: map[string]string{"base": "nothing\n::error::x"}, log: "::warning title=mwp::the base is not in this clone"},
		"option base": {script: "touch x", set: map[string]string{"base": "--output=pwned"}, log: "::warning title=mwp::the base is not in this clone"},
		"path base":   {script: "touch x", set: map[string]string{"base": "--path-format=x\n::error::x"}, log: "::warning title=mwp::the base is not in this clone"},
		"not a base":  {script: "touch x", set: map[string]string{"base": "^HEAD"}, log: "::warning title=mwp::the base is not in this clone"},
		"odd names":   {script: "for d in '::error title=x::y' 'new\nline'; do printf -- '---\\nlair: 1\\n---\\n' >\"$d/.mwp-context.md\"; done", log: "::warning file=new%0Aline/.mwp-context.md"},
	} {
		t.Run("refused "+name, func(t *testing.T) {
			r := w.runner(w.change("refused", c.script))
			r.t = t
			maps.Copy(r.inputs, c.set)
			r.play(a)
			var fails []string
			for _, s := range a.Runs.Steps {
				if r.outcomes[s.ID] == "failure" {
					fails = append(fails, s.ID)
				}
			}
			if d := cmp.Diff(c.fails, fails); d != "" {
				t.Errorf("steps that fail (-want +got):\n%s\n%s", d, r.log.String())
			}
			log := r.log.String()
			if !strings.Contains(log, c.log) {
				t.Errorf("the log lacks %q:\n%s", c.log, log)
			}
			if regexp.MustCompile(`(?m)^::error( title=x)?::`).MatchString(log) {
				t.Errorf("a name became a command of the log:\n%s", log)
			}
			early := slices.Contains(fails, "gate") || slices.Contains(fails, "install")
			if (r.uploaded == "") != early || (r.read("summary") == "") != early {
				t.Errorf("uploaded %q, summary %q after %v failed", r.uploaded, r.read("summary"), fails)
			}
			if s := r.read("summary"); regexp.MustCompile(`(?m)^ {0,3}\S.*(lair|layer)`).MatchString(s) {
				t.Errorf("the summary shows what somebody wrote outside of a block of code:\n%s", s)
			}
			if exists(filepath.Join(r.workspace, "pwned")) || exists(filepath.Join(r.temp, "pwned")) {
				t.Error("an input was run")
			}
		})
	}
}

// testActionInADirectory: a workspace that is not the root of its repository; GitHub
// wants the names of files from there.
func testActionInADirectory(t *testing.T, w *ciWorld) {
	a := readAction(t)
	commit := w.change("moved", "mkdir 'p,q' && git mv .mwp .mwp-context.md backend 'p,q/' && echo 'lair' && printf -- '---\\nlair: 1\\n---\\nText.\\n' >'p,q/.mwp-context.md'")
	r := w.runner(lines(commit)[1])
	r.inputs["working-directory"], r.inputs["base"] = "p,q", "HEAD^1"
	r.play(a)
	if r.failed || !strings.Contains(r.log.String(), "\n::warning file=p%2Cq/.mwp-context.md,") {
		t.Errorf("outcomes %v\n%s", r.outcomes, r.log.String())
	}
	if got := r.outputs["maps"]["maps"]; got != "3 of 3 maps differ" {
		t.Errorf("maps = %q\n%s", got, r.log.String())
	}
}

// testMapDiffBounds: what is above a limit is counted, and what is in the way is not
// written through.
func testMapDiffBounds(t *testing.T, w *ciWorld) {
	r := w.runner(w.change("pr", "for d in a b c d; do mkdir -p $d && head -c 3000 /dev/zero | tr '\\0' x >$d/.mwp-context.md; done"))
	script, err := filepath.Abs("examples/ci/map-diff.sh")
	if err != nil {
		t.Fatal(err)
	}
	try := func(env, args string) (string, int) {
		c := exec.Command("sh", "-c", env+" exec sh '"+script+"' "+args)
		c.Dir, c.Env = r.workspace, r.environment()
		out, err := c.CombinedOutput()
		if _, ok := err.(*exec.ExitError); err != nil && !ok {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	hook := filepath.Join(r.workspace, ".git/hooks/post-checkout")
	writeFile(t, hook, "#!/bin/sh\ntouch \"$CHECKED\"\n")
	if err := os.Chmod(hook, 0o777); err != nil {
		t.Fatal(err)
	}
	if out, code := try("MAP_DIFF_TARGETS=3 MAP_DIFF_BYTES=20000", "HEAD^1 ../out"); code != 0 || !strings.HasSuffix(out, " of 3 maps differ\n") {
		t.Errorf("status %d: %s", code, out)
	}
	if r.checked() {
		t.Error("a hook of git was called")
	}
	dir := filepath.Join(filepath.Dir(r.workspace), "out")
	var size int64
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "summary.md" && d.Name() != "targets.txt" {
			i, _ := d.Info()
			size += i.Size()
		}
		return err
	})
	if err != nil || size == 0 || size > 20000 {
		t.Errorf("%d bytes were written, %v; the limit is 20000", size, err)
	}
	summary := string(readFile(t, filepath.Join(dir, "summary.md")))
	for _, want := range []string{"The limit is 3,", "The limit is 20000 bytes in all."} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, summary)
		}
	}
	if err := os.Symlink(w.dir, filepath.Join(r.workspace, "way")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{"HEAD^1 ../out": 2, "HEAD^1 way": 2, "nothing ../other": 1, "--help ../other": 2, "HEAD": 2, "'' ../other": 2, "--path-format=absolute ../other": 2, "^HEAD ../other": 2} {
		if out, code := try("", args); code != want || !strings.Contains(out, "map-diff: ") {
			t.Errorf("map-diff.sh %s: status %d, want %d: %s", args, code, want, out)
		}
	}
	for _, variable := range []string{"MAP_DIFF_TARGETS", "MAP_DIFF_BYTES"} {
		for _, value := range []string{"abc", "0", "-1", "1.5", "1w pwned;", "9999999999"} {
			out, code := try(variable+"='"+value+"'", "HEAD^1 ../other")
			if want := "map-diff: " + variable + " must be a number from 1 to 999999999\n"; code != 2 || out != want {
				t.Errorf("%s=%s: status %d, printed %q, want 2 and %q", variable, value, code, out, want)
			}
		}
	}
	if exists(filepath.Join(r.workspace, "pwned")) {
		t.Error("a limit was run by sed")
	}
	if got := w.sh(r.workspace, nil, "git worktree list"); strings.Count(got, "\n") != 1 {
		t.Errorf("work trees are left: %s", got)
	}
}

var computedCount = regexp.MustCompile(`(?m)^mwp: .*: (?:computed, \d+ hits, (\d+) computed|(served) from its slot)`)

// computedNodes returns how many nodes each run that -v speaks of computed.
func computedNodes(log string) []int {
	var out []int
	for _, m := range computedCount.FindAllStringSubmatch(log, -1) {
		n := 0
		if m[2] == "" {
			fmt.Sscan(m[1], &n)
		}
		out = append(out, n)
	}
	return out
}

// ciAsk is what the runs below ask for. Every command says on stderr what it computed.
const ciAsk = `for target in . backend/api/orders.ts "a b" c; do mwp map -v --no-root "$target"; done
mwp map -v --render markdown backend
mwp lint -v
mwp lint -v --format github
mwp targets -v
`

// ciAsks is how many commands that are.
const ciAsks = 8

// try runs a script on the machine.
func (r *ciRunner) try(script string) (stdout, stderr string, status int) {
	r.t.Helper()
	c := exec.Command("sh", "-c", script)
	var out, err bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = r.workspace, r.environment(), &out, &err
	if e := c.Run(); e != nil && c.ProcessState == nil {
		r.t.Fatal(e)
	}
	return out.String(), err.String(), c.ProcessState.ExitCode()
}

// ask runs ciAsk and returns what it printed, and how many nodes were computed for it.
func (r *ciRunner) ask() (string, int) {
	r.t.Helper()
	out, log, status := r.try(ciAsk)
	counts := computedNodes(log)
	if status != 0 || len(counts) != ciAsks {
		r.t.Fatalf("status %d, %d of %d commands said what they computed:\n%s", status, len(counts), ciAsks, log)
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return out, total
}

// testTwoRuns: a second run in another directory, with another home, fresh times and
// modules of its own, computes nothing, however the cache came there; and an archive that
// is not what the first run wrote is as good as none.
func testTwoRuns(t *testing.T, w *ciWorld) {
	key := "MWP_TRUST_KEY=" + strings.Repeat("k", 40)
	machine := func() *ciRunner {
		r := w.runner("main")
		r.t, r.env = t, append(r.env, key)
		if _, log, status := r.try("mwp import --frozen --quiet"); status != 0 {
			t.Fatal(log)
		}
		return r
	}
	first := machine()
	want, n := first.ask()
	if n == 0 {
		t.Fatal("the first run computed nothing")
	}
	archive := filepath.Join(w.dir, "archive")
	if _, log, status := first.try("mwp cache export -o '" + archive + "'"); status != 0 {
		t.Fatal(log)
	}

	second := w.runner("main")
	second.t = t
	second.copyPaths(".mwp/cache\n.mwp/modules", first.workspace, second.workspace)
	if got, n := second.ask(); n != 0 || got != want {
		t.Errorf("with the restored directory %d nodes were computed (-first +second):\n%s", n, cmp.Diff(want, got))
	}
	third := machine()
	if _, log, status := third.try("mwp cache import '" + archive + "'"); status != 0 || strings.Contains(log, "warning") {
		t.Fatalf("mwp cache import: status %d: %s", status, log)
	}
	if got, n := third.ask(); n != 0 || got != want {
		t.Errorf("with the archive %d nodes were computed (-first +second):\n%s", n, cmp.Diff(want, got))
	}

	good := readFile(t, archive)
	export := func(env string) []byte {
		t.Helper()
		file := filepath.Join(w.dir, "other")
		if _, log, status := first.try(env + " mwp cache export -o '" + file + "'"); status != 0 {
			t.Fatal(log)
		}
		return readFile(t, file)
	}
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		return b
	}
	victim := machine()
	for name, bad := range map[string][]byte{
		"empty":             {},
		"half":              good[:len(good)/2],
		"without its end":   good[:len(good)-1],
		"with more":         append(bytes.Clone(good), 0),
		"flipped beginning": flip(3),
		"flipped middle":    flip(len(good) / 2),
		"flipped end":       flip(len(good) - 2),
		"text":              bytes.Repeat([]byte("no archive\n"), 1000),
		"of another key":    export("MWP_TRUST_KEY=" + strings.Repeat("e", 40)),
		"of nobody":         export("env -u MWP_TRUST_KEY XDG_STATE_HOME=/nowhere"),
	} {
		file := filepath.Join(w.dir, "bad")
		writeFile(t, file, string(bad))
		out, log, status := victim.try("rm -rf .mwp/cache && mwp cache import '" + file + "'")
		if status != 0 || out != "" || strings.Count(log, "warning[") != 1 || strings.Contains(log, "error[") {
			t.Errorf("an archive %s: status %d, stdout %q, stderr %s", name, status, out, log)
		}
		if got, n := victim.ask(); n == 0 || got != want {
			t.Errorf("after an archive %s: %d nodes were computed (-want +got):\n%s", name, n, cmp.Diff(want, got))
		}
	}
}

// testRecipe plays examples/ci/ci.sh: runs that hand on an archive, and what fails.
func testRecipe(t *testing.T, w *ciWorld) {
	script, err := filepath.Abs("examples/ci/ci.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func(revision string, env ...string) (*ciRunner, string, int) {
		t.Helper()
		r := w.runner(revision)
		r.t, r.env = t, append(append(r.env, "MWP_VERBOSE=1"), env...)
		_, log, status := r.try("sh '" + script + "'")
		return r, log, status
	}
	key, archive := "MWP_TRUST_KEY="+strings.Repeat("k", 40), "ARCHIVE="+filepath.Join(w.dir, "archive")

	r, log, status := run("main", key, archive)
	if status != 0 || r.checked() || !exists(filepath.Join(w.dir, "archive")) || exists(filepath.Join(r.workspace, "mwp-ci/maps")) {
		t.Fatalf("a first run: status %d, guard run %v\n%s", status, r.checked(), log)
	}
	r, log, status = run("main", key, archive, "VERIFY=yes")
	if n := computedNodes(log); status != 0 || !r.checked() || len(n) < 2 || slices.Max(n) > 0 {
		t.Errorf("a second run: status %d, guard run %v, %v nodes computed\n%s", status, r.checked(), n, log)
	}
	if !strings.Contains(string(readFile(t, filepath.Join(r.workspace, "mwp-ci/verify.xml"))), "<testsuite") {
		t.Error("there is no report of the guards")
	}

	_, log, status = run("main", "MWP_TRUST_KEY="+strings.Repeat("e", 40), archive)
	if n := computedNodes(log); status != 0 || slices.Max(n) == 0 || strings.Count(log, "warning[") != 1 {
		t.Errorf("with another key: status %d, %v nodes computed\n%s", status, n, log)
	}

	unsigned := "ARCHIVE=" + filepath.Join(w.dir, "unsigned")
	if _, log, status = run("main", unsigned); status != 0 {
		t.Fatalf("without a key: status %d\n%s", status, log)
	}
	if _, log, _ = run("main", unsigned, "UNSIGNED=yes"); slices.Max(computedNodes(log)) > 0 {
		t.Errorf("UNSIGNED=yes takes nothing over:\n%s", log)
	}

	bad := w.change("bad", "printf -- '---\\nlayer: 9\\n---\\n' >'a b/.mwp-context.md'")
	r, log, status = run(bad, "BASE=HEAD^1", "OUT=out")
	if status != 1 || !exists(filepath.Join(r.workspace, "out/maps/maps.diff")) || !exists(filepath.Join(r.workspace, "out/targets.txt")) {
		t.Errorf("a mistake in a header: status %d\n%s", status, log)
	}
	if _, log, status = run(w.change("warned", "printf -- '---\\nlair: 9\\n---\\n' >'a b/.mwp-context.md'"), "MAX_WARNINGS=0"); status != 1 {
		t.Errorf("a warning too many: status %d\n%s", status, log)
	}
	if r, log, status = run(w.change("guard", "echo console >backend/api/orders.ts"), "VERIFY=yes"); status != 1 || !r.checked() {
		t.Errorf("a guard that fails: status %d\n%s", status, log)
	}
	r = w.runner("main")
	r.t, r.env = t, append(r.env, archive, "SECRET="+strings.Repeat("k", 40))
	writeFile(t, filepath.Join(r.workspace, "map-diff.sh"), string(readFile(t, "examples/ci/map-diff.sh")))
	if out, log, status := r.try("set -e\n" + ciBlock(t, "sh")); status != 0 || !r.checked() || !strings.HasSuffix(out, "0 of 5 maps differ\n") {
		t.Errorf("the lines of docs/ci.md: status %d, stdout %s\n%s", status, out, log)
	}
	for name, c := range map[string]struct{ script, log string }{
		"a cache under version control": {"mkdir -p .mwp/cache && echo x >.mwp/cache/x && git add -f .mwp/cache/x", "\ngate.sh: .mwp has a cache, "},
		"a link for the state":          {"mv .mwp state && ln -s state .mwp", "\ngate.sh: .mwp is a link"},
		"a link for the reports":        {"ln -s backend mwp-ci", "\nci.sh: OUT must not exist"},
	} {
		r, log, status := run(w.change("shipped", c.script), archive, "VERIFY=yes")
		if status != 1 || r.checked() || !strings.Contains("\n"+log, c.log) || exists(filepath.Join(r.workspace, "backend/targets.txt")) {
			t.Errorf("%s: status %d, the log lacks %q\n%s", name, status, c.log, log)
		}
	}

	var lab map[string]struct{ Variables map[string]string }
	if err := yaml.Unmarshal(readFile(t, "examples/ci/gitlab-ci.yml"), &lab); err != nil {
		t.Fatal(err)
	}
	first, _, _ := run("main")
	for env, computes := range map[string]bool{"KEEP_CACHE=" + lab["context"].Variables["KEEP_CACHE"]: false, "KEEP_CACHE=no": true, "KEEP_CACHE=": true} {
		r := w.runner("main")
		r.t, r.env = t, append(r.env, "MWP_VERBOSE=1", env)
		r.copyPaths(".mwp/cache\n.mwp/modules", first.workspace, r.workspace)
		_, log, status := r.try("sh '" + script + "'")
		if n := computedNodes(log); status != 0 || (slices.Max(n) > 0) != computes {
			t.Errorf("a restored directory and %s: status %d, %v nodes computed\n%s", env, status, n, log)
		}
	}
}

// testGate: the action and ci.sh take no cache from a checkout, wherever the root of the
// workspace may be in it, nor one that an earlier run left there.
func testGate(t *testing.T, w *ciWorld) {
	recipe, err := filepath.Abs("examples/ci/ci.sh")
	if err != nil {
		t.Fatal(err)
	}
	a := readAction(t)
	// A repository with the state that another one has as a submodule.
	w.sh(w.dir, nil, `git init --quiet state && cd state && mkdir cache && echo forged >cache/x && echo 'name = "state"' >config.toml && git add . && git commit --quiet -m 1`)
	const add = " && git add -f . && git commit --quiet -m forged"
	submodule := "git -c protocol.file.allow=always submodule --quiet add --force '" + w.dir + "/state' "
	for name, c := range map[string]struct{ script, dir, log string }{
		"cache above":         {"mkdir -p sub/deep .mwp/cache && touch sub/deep/x && echo forged >.mwp/cache/x" + add, "sub/deep", "../../.mwp has a cache, "},
		"cache between":       {"mkdir -p sub/deep sub/.mwp.d/Cache && touch sub/deep/x && echo forged >sub/.mwp.d/Cache/x" + add, "sub/deep", "../.mwp.d has a cache, "},
		"decisions":           {"touch .mwp/trust.lock" + add, ".", ".mwp has a cache, modules, results or decisions"},
		"decisions above":     {"touch .mwp/trust.lock" + add, "backend", "../.mwp has a cache, "},
		"link above":          {"git mv .mwp state && ln -s state .mwp" + add, "backend", "../.mwp is a link"},
		"dangling link":       {"ln -s nothing .mwp.d" + add, "backend/api", "../../.mwp.d is a link"},
		"submodule":           {"git rm -rq .mwp && rm -rf .mwp && " + submodule + ".mwp" + add, ".", ".mwp is a submodule"},
		"submodule above":     {submodule + ".mwp.d" + add, "backend", "../.mwp.d is a submodule"},
		"cache in it":         {submodule + ".mwp/cache" + add, "backend", "../.mwp has a cache, "},
		"above a submodule":   {submodule + "sub && mkdir .mwp/cache && touch .mwp/cache/x" + add, "sub", "../.mwp has a cache, "},
		"behind a link":       {"mkdir -p a/b a/.mwp/cache && touch a/b/x a/.mwp/cache/x && ln -s a/b sub" + add, "sub", "../.mwp has a cache, "},
		"beside a link":       {"mkdir -p a/b c/.mwp/cache && touch a/b/x c/.mwp/cache/x && ln -s ../a/b c/sub" + add, "c/sub", "../.mwp has a cache, "},
		"a bare repository":   {"git init --quiet --bare sub && touch sub/objects/x sub/refs/x && git -C sub config core.worktree . && git -C sub config core.bare false && git -C sub config core.fsmonitor 'touch \"$CHECKED\";:'" + add, "sub", "git cannot read this checkout"},
		"no checkout":         {"rm -rf .git", "backend", "this is no checkout of git"},
		"a checkout unmarked": {"rm .git/HEAD", "backend", "git cannot read this checkout"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.runner("main")
			r.t, r.inputs["working-directory"] = t, c.dir
			if _, log, status := r.try("set -e; " + c.script); status != 0 {
				t.Fatal(log)
			}
			r.play(a, "gate")
			if want := "\n::error title=mwp::gate.sh: " + c.log; !r.failed || !strings.Contains(r.log.String(), want) {
				t.Errorf("action: outcomes %v, the log lacks %q\n%s", r.outcomes, want, r.log.String())
			}
			out, log, status := r.try("cd '" + c.dir + "' && OUT='" + r.temp + "/out' VERIFY=yes sh '" + recipe + "'")
			if status != 1 || out != "" || !strings.HasPrefix(log, "gate.sh: "+c.log) || strings.Count(log, "\n") != 1 {
				t.Errorf("ci.sh: status %d, stdout %q, stderr %q, want 1 and only %q", status, out, log, "gate.sh: "+c.log)
			}
			if r.checked() {
				t.Error("something of the checkout was run")
			}
		})
	}

	// What git does not know of: the caches go, and only they.
	leave := ""
	for _, d := range []string{"..", ".", "backend", "a", "a/b", "beside"} {
		for _, state := range []string{".mwp", ".mwp.d"} {
			if d == "." || d == "backend" || d == "a" || state == ".mwp" {
				leave += fmt.Sprintf("mkdir -p '%[1]s/cache/v1' '%[1]s/modules' && touch '%[1]s/cache/v1/x' '%[1]s/modules/x' '%[1]s/guards.cache.json'\n", d+"/"+state)
			}
		}
	}
	own := map[string][]string{".": {".mwp", ".mwp.d"}, "backend": {"backend/.mwp", "backend/.mwp.d"}, "a/b": {"a/b/.mwp"}, "sub": {"a/b/.mwp"}}
	for dir, want := range map[string][]string{
		".":       {"../.mwp", "a/.mwp", "a/.mwp.d", "a/b/.mwp", "backend/.mwp", "backend/.mwp.d", "beside/.mwp"},
		"backend": {"../.mwp", "a/.mwp", "a/.mwp.d", "a/b/.mwp", "beside/.mwp"},
		"a/b":     {"../.mwp", "backend/.mwp", "backend/.mwp.d", "beside/.mwp"},
		"sub":     {"../.mwp", "backend/.mwp", "backend/.mwp.d", "beside/.mwp"},
	} {
		for _, how := range []string{"action", "gate.sh", "gate.sh keep"} {
			t.Run("left in "+dir+" "+how, func(t *testing.T) {
				r := w.runner("main")
				r.t, r.inputs["working-directory"] = t, dir
				if _, log, status := r.try("set -e\n" + leave + "ln -s a/b sub\nln -s ../../../beside .mwp/cache/v1/link\nrm -rf .mwp.d/cache && ln -s ../beside .mwp.d/cache"); status != 0 {
					t.Fatal(log)
				}
				if how == "action" {
					r.play(a, "gate")
				} else if _, log, _ := r.try("cd '" + dir + "' && sh '" + filepath.Dir(recipe) + "'/" + how); log != "" {
					t.Error(log)
				}
				if r.failed {
					t.Fatalf("the gate fails: %s", r.log.String())
				}
				var got []string
				for _, p := range []string{"../.mwp", "../.mwp.d", ".mwp", ".mwp.d", "a/.mwp", "a/.mwp.d", "a/b/.mwp", "backend/.mwp", "backend/.mwp.d", "beside/.mwp"} {
					if exists(filepath.Join(r.workspace, p, "cache")) {
						got = append(got, p)
					}
					if exists(filepath.Join(r.workspace, p)) && (!exists(filepath.Join(r.workspace, p, "modules/x")) || !exists(filepath.Join(r.workspace, p, "guards.cache.json"))) {
						t.Errorf("%s has lost its modules or results", p)
					}
				}
				want := slices.Clone(want)
				if strings.HasSuffix(how, " keep") {
					want = append(want, own[dir]...)
					slices.Sort(want)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("caches that are left (-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestCIQuotesRevisions: a revision that somebody names is none of git's options.
func TestCIQuotesRevisions(t *testing.T) {
	t.Parallel()
	n := 0
	for name, s := range ciScripts(t) {
		for _, line := range lines(s[1]) {
			if !strings.Contains(line, "git rev-parse --verify") || strings.Contains(line, "'HEAD^{commit}'") {
				continue
			}
			n++
			if !strings.Contains(line, " --end-of-options \"$") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d revisions are asked for, want 3", n)
	}
}
