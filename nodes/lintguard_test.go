package nodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guardCodes are what lint says of guards.
var guardCodes = map[ir.Code]bool{
	ir.GuardFailed: true, ir.GuardInvalid: true, ir.TrustMismatch: true, ir.GuardScriptMissing: true, ir.GuardScriptIgnored: true, ir.VerifiedPathMissing: true,
}

func lintedGuards(t *testing.T, root string, codes map[ir.Code]bool) string {
	t.Helper()
	d := desk{root: root}
	var b strings.Builder
	for _, f := range d.eval(t, nodes.Lint{}).(ir.LintReport).Findings {
		if codes[f.Code] {
			fmt.Fprintf(&b, "%s %s %s: %s\n", f.Severity, f.Code, f.Place(), f.Message)
		}
	}
	return b.String()
}

// TestLintGuards is D-09, D-41, D-79 and D-113: what guards name and is not there,
// what they claim and do not have, and static ones that fail.
func TestLintGuards(t *testing.T) {
	const anchor = "-- .mwp --\ndescription = \"d\"\n-- .git/HEAD --\nref: refs/heads/main\n-- a/here.sh --\n-- a/src/f.go --\n"
	for _, c := range []struct{ name, tree, want string }{
		{"nothing to say", anchor + `
-- a/.mwp-context.md --
---
verified_paths: [src, src/f.go, 'src/*.go', '*.sh', ../a/here.sh]
guards:
  - cmd: ./here.sh
  - cmd: sh here.sh
  - cmd: npm run test
  - cmd: /usr/bin/true
  - {exists: src}
  - {cmd: npm run own, trust: project}
  - {cmd: ./here.sh x, trust: ad-hoc}
---
A
`, ""},
		{"scripts that are not there", anchor + `
-- a/.mwp-context.md --
---
guards:
  - cmd: ./gone.sh
  - cmd: sh check.sh
  - cmd: [bash, -e, sub/check.sh]
  - cmd: ../../out.sh
  - cmd: ./gone.sh && ./here.sh
---
A
`, `
error guard_script_missing a/.mwp-context.md:3: the guard runs ./gone.sh in a, which does not exist
error guard_script_missing a/.mwp-context.md:4: the guard runs check.sh in a, which does not exist
error guard_script_missing a/.mwp-context.md:5: the guard runs sub/check.sh in a, which does not exist
error guard_script_missing a/.mwp-context.md:6: the guard runs ../../out.sh in a, which does not exist
error guard_script_missing a/.mwp-context.md:7: the guard runs ./gone.sh in a, which does not exist
`},
		{"a script that git ignores", anchor + `
-- .gitignore --
*.local.sh
-- a/my.local.sh --
-- a/.mwp-context.md --
---
guards: [{cmd: ./my.local.sh}]
---
A
`, `
warning guard_script_ignored a/.mwp-context.md:2: the guard runs ./my.local.sh, which git ignores (.gitignore:1), so other clones do not have it
`},
		{"verified paths, the file's and a guard's", anchor + `
-- a/.mwp-context.md --
---
verified_paths:
  - gone
  - ../../out
  - src
guards:
  - cmd: ./here.sh
  - cmd: make check
    verified_paths:
      - src
      - lib/gone.go
---
A
`, `
warning verified_path_missing a/.mwp-context.md:3: verified_paths names a/gone, which does not exist
error verified_path_missing a/.mwp-context.md:4: verified_paths names ../../out, which leads out of the workspace
warning verified_path_missing a/.mwp-context.md:11: verified_paths names a/lib/gone.go, which does not exist
`},
		{"verified paths without a guard", anchor + `
-- a/.mwp-context.md --
---
verified_paths: [gone]
---
A
`, `
warning verified_path_missing a/.mwp-context.md:2: verified_paths names a/gone, which does not exist
`},
		{"an imported file's guards, once however often it is imported", anchor + `
-- a/.mwp-context.md --
---
imports: [{workspace: lib/r.md}, {local: r.md}]
---
A
-- a/r.md --
---
imports: [{workspace: lib/r.md}]
---
R
-- lib/r.md --
---
verified_paths: [gone]
guards:
  - {cmd: ./gone.sh, trust: project}
  - {exists: gone}
---
R
`, `
warning verified_path_missing lib/r.md:2: verified_paths names lib/gone, which does not exist
error guard_script_missing lib/r.md:4: the guard runs ./gone.sh in lib, which does not exist
warning trust_mismatch lib/r.md:4: trust: project has no effect, because a header cannot raise trust: ./gone.sh is ad-hoc, no entry of allowed_guards covers it
error guard_failed lib/r.md:5: the check fails: exists gone finds no such path
`},
		{"static guards", anchor + `
-- package.json --
{"scripts": {"test": "x"}}
-- a/.mwp-context.md --
---
owners: [team]
guards:
  - exists: gone
  - contains: {path: here.sh, text: absent}
  - script: npm:gone
  - script: npm:test
  - exists: ../..
---
A
`, `
error guard_failed a/.mwp-context.md:4: the check fails: exists gone finds no such path, owner: team
error guard_failed a/.mwp-context.md:5: the check fails: contains here.sh "absent" finds no such text, owner: team
error guard_failed a/.mwp-context.md:6: the check fails: script npm:gone finds no such script, owner: team
error guard_failed a/.mwp-context.md:8: the check fails: exists ../.. leads out of the workspace, owner: team
`},
		{"trust that is not there", anchor + `
-- m/.mwp --
-- a/.mwp-context.md --
---
guards:
  - {cmd: ./here.sh, trust: builtin}
  - {cmd: npm run x, trust: builtin}
  - {cmd: npm run x | tee y, trust: project}
---
A
`, `
warning trust_mismatch a/.mwp-context.md:3: trust: builtin has no effect, because a header cannot raise trust: ./here.sh is ad-hoc, no entry of allowed_guards covers it
warning trust_mismatch a/.mwp-context.md:5: trust: project has no effect, because a header cannot raise trust: npm run x | tee y is ad-hoc, no entry of allowed_guards covers it
`},
		{"a guard that nothing can run", anchor + `
-- a/.mwp-context.md --
---
guards:
  - {cmd: "./here\u200b.sh", trust: project}
  - cmd: "''"
---
A
`, `
error guard_invalid a/.mwp-context.md:3: the guard can never run: the command holds U+200B, which does not show
error guard_invalid a/.mwp-context.md:4: the guard can never run: the command names no program
`},
		{"a module's guards name paths of whoever imports it", anchor + `
-- mod/.mwp-module.md --
---
name: mod
verified_paths: [gone]
guards:
  - cmd: ./gone.sh
  - {exists: gone}
  - {cmd: cargo test, trust: builtin}
  - cmd: "./he\u200bre.sh"
imports: [{local: r.md}]
---
-- mod/r.md --
---
guards: [{cmd: ./gone.sh}, {exists: gone}]
---
R
-- a/.mwp-context.md --
---
imports: [{workspace: mod}]
---
A
`, `
warning verified_path_missing mod/.mwp-module.md:3: verified_paths names a/gone, which does not exist
error guard_script_missing mod/.mwp-module.md:5: the guard runs ./gone.sh in a, which does not exist
error guard_failed mod/.mwp-module.md:6: the check fails: exists gone finds no such path
warning trust_mismatch mod/.mwp-module.md:7: trust: builtin has no effect, because a header cannot raise trust: cargo test is ad-hoc, no entry of allowed_guards covers it
error guard_invalid mod/.mwp-module.md:8: the guard can never run: the command holds U+200B, which does not show
error guard_failed mod/r.md:2: the check fails: exists gone finds no such path
error guard_script_missing mod/r.md:2: the guard runs ./gone.sh in a, which does not exist
`},
		{"a module that nobody imports has no place for its guards' paths", anchor + `
-- mod/.mwp-module.md --
---
name: mod
verified_paths: [gone, '*.none']
guards: [{cmd: ./gone.sh}, {exists: gone}]
---
`, ""},
		{"patterns and lists that lead to nothing", anchor + `
-- a/.mwp-context.md --
---
guards:
  - cmd: ./here.sh
    verified_paths: ['*.go', 'src/*.go', '../*/src', '**/gone', '../../*.go']
  - cmd: make nothing
    verified_paths: []
  - cmd: make out
    verified_paths: [../../../out/f.go]
  - cmd: make all
---
A
`, `
warning verified_path_missing a/.mwp-context.md:4: verified_paths has the pattern **/gone, which nothing in a matches
warning verified_path_missing a/.mwp-context.md:4: verified_paths has the pattern *.go, which nothing in a matches
warning verified_path_missing a/.mwp-context.md:4: verified_paths has the pattern ../../*.go, which nothing in a matches
warning verified_path_missing a/.mwp-context.md:5: verified_paths is empty: no edit but that of the context file makes a result old
error verified_path_missing a/.mwp-context.md:8: verified_paths names ../../../out/f.go, which leads out of the workspace
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), lintedGuards(t, tree(t, c.tree), guardCodes)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLintOfWhatMayNotRun: what somebody has to agree to, which CI cannot, and scripts
// that cannot be started are said where they are declared (D-41, D-87).
func TestLintOfWhatMayNotRun(t *testing.T) {
	root := tree(t, `
-- .mwp --
description = "d"
[trust]
allowed_guards = ["./plain.sh", "sh"]
-- a/.mwp-context.md --
---
imports: [{local: node_modules/m/r.md}, {workspace: linked.md}]
guards:
  - cmd: ./plain.sh
  - cmd: sh plain.sh
  - cmd: ./runs.sh --fast
  - cmd: npm run own
  - {cmd: npm run asked, trust: ad-hoc}
  - {cmd: ./runs.sh, trust: project}
  - cmd: ./runs.sh | tee log
  - cmd: ./gone.sh
  - cmd: "./he\u200bre.sh"
  - exists: plain.sh
---
A
-- a/plain.sh --
-- a/runs.sh --
-- a/node_modules/m/r.md --
---
guards: [{cmd: cargo test}]
---
R
-- linked.md -> a/vendor/m/r.md --
-- a/vendor/m/r.md --
---
guards: [{cmd: pytest}]
---
R
`)
	must(t, os.Chmod(filepath.Join(root, "a", "runs.sh"), 0o755))
	want := map[string]bool{}
	for line := range strings.Lines(`note guard_not_trusted a/.mwp-context.md:6: ./runs.sh --fast runs only after a yes at a terminal, so not in CI: not in allowed_guards
note guard_not_trusted a/.mwp-context.md:8: npm run asked runs only after a yes at a terminal, so not in CI: declared ad-hoc
note guard_not_trusted a/.mwp-context.md:10: ./runs.sh | tee log runs only after a yes at a terminal, so not in CI: not in allowed_guards, which has to list a command with shell syntax word for word
note guard_not_trusted a/.mwp-context.md:11: ./gone.sh runs only after a yes at a terminal, so not in CI: not in allowed_guards
note guard_not_trusted a/node_modules/m/r.md:2: cargo test runs only after a yes at a terminal, so not in CI: not in allowed_guards, and no command of a module is built in
note guard_not_trusted linked.md:2: pytest runs only after a yes at a terminal, so not in CI: not in allowed_guards, and no command of a module is built in
`) {
		want[line] = true
	}
	if runtime.GOOS != "windows" {
		want["warning guard_script_mode a/.mwp-context.md:4: the guard runs ./plain.sh, which is not executable\n"] = true
	}
	got := map[string]bool{}
	for line := range strings.Lines(lintedGuards(t, root, map[ir.Code]bool{ir.GuardNotTrusted: true, ir.GuardScriptMode: true})) {
		got[line] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// planned is a plan in short.
func planned(v nodes.GuardPlanValue) string {
	var b strings.Builder
	for _, d := range v.Problems {
		fmt.Fprintf(&b, "problem: %s %s\n", d.Code, d.Place())
	}
	for _, g := range v.Guards {
		fmt.Fprintf(&b, "%s in %s", g.Text(), g.Dir)
		if g.Sources != nil {
			fmt.Fprintf(&b, " for %s", strings.Join(g.Sources, ", "))
		}
		b.WriteByte('\n')
	}
	for _, d := range v.Findings {
		fmt.Fprintf(&b, "%s %s\n", d.Code, d.Place())
	}
	for _, s := range v.Missing {
		fmt.Fprintf(&b, "missing %s\n", s)
	}
	return b.String()
}

// everything is a plan for the whole workspace.
func everything() (n nodes.GuardPlan) {
	n.Target, n.Everything = ".", true
	return n
}

// TestGuardPlans: the guards of a map, and those of the whole workspace in the order
// of the tree (D-43, D-72).
func TestGuardPlans(t *testing.T) {
	const archive = `
-- .mwp --
description = "d"
members = ["m"]
-- .gitignore --
/ignored/
-- .git/HEAD --
-- .mwp-context.md --
---
guards: [{cmd: make root}]
---
Root
-- a/.mwp-context.md --
---
scope: local
guards: [{cmd: make a}, {exists: b}]
imports: [{local: r.md}, {local: node_modules/mod}]
---
A
-- a/r.md --
---
guards: [{cmd: make r}, {cmd: make a}]
---
R
-- a/node_modules/mod/.mwp-module.md --
---
name: mod
guards: [{cmd: make mod}]
imports: [{local: s.md}]
---
-- a/node_modules/mod/s.md --
S
-- a/node_modules/mod/.mwp-context.md --
---
guards: [{cmd: make never}]
---
-- a/b/.mwp-context.md --
---
window: 1
guards: [{cmd: make b}]
---
B
-- a/b/.mwp-context.yaml --
schema: 1
guards: [{cmd: make yaml}]
-- m/.mwp --
name = "m"
-- m/.mwp-context.md --
---
guards: [{cmd: make m}]
---
M
-- other/.mwp --
name = "other"
-- other/.mwp-context.md --
---
guards: [{cmd: make other}]
---
-- other/sub/.mwp-context.md --
---
guards: [{cmd: make other}]
---
-- ignored/.mwp-context.md --
---
guards: [{cmd: make ignored}]
---
-- target/.mwp-context.md --
---
guards: [{cmd: make target}]
---
`
	d := desk{root: tree(t, archive)}
	of := func(target string) nodes.GuardPlan { return nodes.GuardPlan{Layers: mapNode(target).Layers} }
	for _, c := range []struct {
		name string
		n    nodes.GuardPlan
		want string
	}{
		{"of the project", of(""), `
make root in . for .mwp-context.md
`},
		{"of a", of("a"), `
make root in . for .mwp-context.md
make a in a for a/.mwp-context.md, a/r.md
exists b in a for a/.mwp-context.md, a/r.md
make r in a for a/r.md
make a in a for a/r.md
make mod in a for a/node_modules/mod/s.md
`},
		{"of a/b: the scope leaves out a's", of("a/b"), `
make root in . for .mwp-context.md
make yaml in a/b for a/b/.mwp-context.yaml
stale_context_md a/b/.mwp-context.md
`},
		{"of a member", of("m"), `
make root in . for .mwp-context.md
make m in m for m/.mwp-context.md
`},
		{"of everything", everything(), `
make root in .
make a in a
exists b in a
make r in a
make a in a
make mod in a
make yaml in a/b
make m in m
stale_context_md a/b/.mwp-context.md
not_a_member other/.mwp
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := planned(d.eval(t, c.n).(nodes.GuardPlanValue))
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlansWithProblems: a context that cannot be read does not hide the guards of
// others, and the plan has all there is to say of it, as errors apart from warnings.
func TestPlansWithProblems(t *testing.T) {
	d := desk{root: tree(t, `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: x
guards: [{cmd: make a}]
---
-- b/.mwp-context.md --
---
gaurds: [{cmd: make misspelt}]
guards: [{cmd: make b}]
---
-- c/.mwp-context.md --
---
imports: [{local: r.md}]
---
-- g/.mwp-context.md --
---
imports: [{local: nowhere.md}, {workspace: gone}]
guards: [{cmd: make gone}]
---
-- c/r.md --
---
guards: make
---
-- c/d/.mwp-context.md --
---
imports: [{local: one.md}]
---
-- c/d/one.md --
---
imports: [{local: .mwp-context.md}]
---
`)}
	const problems = `problem: frontmatter_invalid a/.mwp-context.md:2:8
problem: import_cycle c/d/.mwp-context.md:2
problem: frontmatter_invalid c/r.md:2:9
problem: unresolved_import g/.mwp-context.md:2:11
problem: unresolved_import g/.mwp-context.md:2:32
`
	v := d.eval(t, everything()).(nodes.GuardPlanValue)
	got := planned(v)
	if !strings.HasPrefix(got, problems) || strings.Count(got, "problem") != strings.Count(problems, "problem") {
		t.Errorf("plan:\n%s\nwant these problems first:\n%s", got, problems)
	}
	for _, line := range []string{"make b in b\n", "make gone in g\n", "frontmatter_unknown_key b/.mwp-context.md:2:1\n"} {
		if strings.Count(got, line) != 1 {
			t.Errorf("the plan lacks %q or has it twice:\n%s", line, got)
		}
	}
	for target, want := range map[string]string{
		"a": "problem: frontmatter_invalid a/.mwp-context.md:2:8\n",
		"b": "make b in b for b/.mwp-context.md\nfrontmatter_unknown_key b/.mwp-context.md:2:1\n",
		"g": "problem: unresolved_import g/.mwp-context.md:2:11\nproblem: unresolved_import g/.mwp-context.md:2:32\nmake gone in g for g/.mwp-context.md\n",
	} {
		if got := planned(d.eval(t, nodes.GuardPlan{Layers: mapNode(target).Layers}).(nodes.GuardPlanValue)); got != want {
			t.Errorf("plan of %s: %s", target, got)
		}
	}
	text := d.eval(t, nodes.GuardPlanText{GuardPlan: everything(), From: "."}).(nodes.RenderedValue)
	if text.Refused || len(text.Notices) != 1 || text.Notices[0].Code != ir.FrontmatterUnknownKey {
		t.Errorf("as text: refused %v, notices %v", text.Refused, text.Notices)
	}
	decoded, err := cas.DecodeValue(text.Text, nodes.CodeGuardPlan)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, planned(decoded)); diff != "" {
		t.Errorf("the text holds another plan (-want +got):\n%s", diff)
	}
}

// TestPlanOfABadConfiguration: what no configuration allows may still be declared, so
// the guards are listed, and that the file is wrong is a problem.
func TestPlanOfABadConfiguration(t *testing.T) {
	const archive = `
-- .mwp --
description = "d"
CONFIG
-- .mwp-context.md --
---
guards: [{cmd: ./check.sh}]
---
Root
`
	const trust = "[trust]\nallowed_guards = [\"./check.sh\"]\n"
	for _, c := range []struct{ config, problem, finding, level string }{
		{trust, "", "", "project"},
		{trust + "salowed = []", "", "config_unknown_key .mwp:4:1\n", "project"},
		{trust + "[guards", "problem: config_invalid .mwp:4:8\n", "", "ad-hoc"},
		{trust + "broken = [1,", "problem: config_invalid .mwp:4:13\n", "", "ad-hoc"},
		// One wrong value takes nothing from the others.
		{"members = 3\n" + trust, "problem: config_invalid .mwp:2:1\n", "", "project"},
	} {
		d := desk{root: tree(t, strings.Replace(archive, "CONFIG", c.config, 1))}
		v := d.eval(t, everything()).(nodes.GuardPlanValue)
		if got, want := planned(v), c.problem+"./check.sh in .\n"+c.finding; got != want || v.Guards[0].Level != c.level || v.Config != ".mwp" {
			t.Errorf("with %q in %q, %s:\n%s\nwant %s\n%s", c.config, v.Config, v.Guards[0].Level, got, c.level, want)
		}
		v = d.eval(t, nodes.GuardPlan{Layers: mapNode(".").Layers}).(nodes.GuardPlanValue)
		if got := planned(v); !strings.HasPrefix(got, c.problem) || !strings.HasSuffix(got, c.finding) {
			t.Errorf("of a map with %q:\n%s", c.config, got)
		}
	}
}

// TestPlanOfClosedDirectories: what no map loads has no guards to run (D-19).
func TestPlanOfClosedDirectories(t *testing.T) {
	const archive = `
-- .mwp --
description = "d"
MODE
-- a/.mwp-context.md --
---
guards: [{cmd: make a}]
---
A
-- b/CLAUDE.md --
-- b/.mwp-context.md --
---
guards: [{cmd: make b}]
---
B
-- b/c/.mwp-context.md --
---
guards: [{cmd: make c}]
layer: x
---
C
`
	d := desk{root: tree(t, strings.Replace(archive, "MODE", "", 1))}
	if got, want := planned(d.eval(t, everything()).(nodes.GuardPlanValue)), "make a in a\n"; got != want {
		t.Errorf("plan: %s, want %s", got, want)
	}
	d = desk{root: tree(t, strings.NewReplacer("MODE", "[boundary]\nmode = \"transparent\"", "layer: x\n", "").Replace(archive))}
	if got, want := planned(d.eval(t, everything()).(nodes.GuardPlanValue)), "make a in a\nmake b in b\nmake c in b/c\n"; got != want {
		t.Errorf("plan: %s, want %s", got, want)
	}
}

// TestPlanOfUnreadableFiles: a context file that may not be read is no reason to think
// that it has no guards.
func TestPlanOfUnreadableFiles(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	d := desk{root: tree(t, "-- .mwp --\n-- a/.mwp-context.md --\n---\nguards: [{cmd: make a}]\n---\n-- b/.mwp-context.md --\nB\n")}
	must(t, os.Chmod(filepath.Join(d.root, "b", ".mwp-context.md"), 0))
	got := planned(d.eval(t, everything()).(nodes.GuardPlanValue))
	if got != "problem: unreadable b\nmake a in a\n" {
		t.Errorf("plan: %s", got)
	}
}

// TestCurrent: what need not run again is what passed with the same files, all of them
// (D-46).
func TestCurrent(t *testing.T) {
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/f.go --\n-- a/.mwp-context.md --\n---\nguards: [{cmd: make check}, {exists: x}, {exists: gone}]\n---\nA\n")
	write(t, root, recordsFile, "x")
	whole := nodes.GuardPlan{Layers: mapNode("a/x").Layers, Whole: true}
	for _, c := range []struct {
		name   string
		edit   func(*graph.Run)
		file   string
		status string
		want   bool
	}{
		{"passed", func(*graph.Run) {}, "", ir.Passed, true},
		{"passed with other source files", func(*graph.Run) {}, "a/f.go", ir.Passed, false},
		{"passed with other texts", func(*graph.Run) {}, "a/.mwp-context.md", ir.Stale, false},
		{"expired", func(r *graph.Run) { r.CacheUntil = noon.UnixNano() }, "", ir.Stale, false},
		{"failed", func(r *graph.Run) { r.Passed = false }, "", ir.FailedCheck, false},
	} {
		d := desk{root: root, ledger: paperLedger{}, now: noon}
		p := d.eval(t, whole).(nodes.GuardPlanValue).Guards[0]
		if p.Check.Status != ir.Unverified || p.Current() {
			t.Fatalf("%s: %+v before the run", c.name, p.Check)
		}
		run := &graph.Run{Passed: true, RanAt: noon.UnixNano(), CacheUntil: noon.Add(1).UnixNano(), Declared: p.Declared, Fingerprint: p.Fingerprint}
		c.edit(run)
		d.ledger.add(&p.Guard, graph.RecordState{Signer: "me", Run: run})
		before := ""
		if c.file != "" {
			b, err := os.ReadFile(filepath.Join(root, c.file))
			must(t, err)
			before = string(b)
			write(t, root, c.file, before+"more\n")
		}
		v := d.eval(t, whole).(nodes.GuardPlanValue)
		if got := v.Guards[0]; got.Check.Status != c.status || got.Current() != c.want {
			t.Errorf("%s: %s, current %v, want %s, %v", c.name, got.Check.Status, got.Current(), c.status, c.want)
		}
		if !v.Guards[1].Current() || v.Guards[2].Current() {
			t.Errorf("%s: static guards are current: %v, %v", c.name, v.Guards[1].Current(), v.Guards[2].Current())
		}
		if c.file != "" {
			write(t, root, c.file, before)
		}
	}
}

// TestPlanLooks: a plan that looks at everything reads the source files behind guards
// that run something, and of static ones nothing but what they name.
func TestPlanLooks(t *testing.T) {
	const archive = "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/src/f.go --\n-- a/.mwp-context.md --\n---\nguards: [{GUARD}]\n---\nA\n"
	for _, c := range []struct {
		guard          string
		whole          bool
		lists, content int
	}{
		{"exists: x", true, 0, 0},
		{"cmd: make check", false, 0, 0},
		{"cmd: make check", true, 2, 3},
		{"cmd: make check, verified_paths: [src]", false, 1, 1},
		{"cmd: make check, verified_paths: [src]", true, 1, 1},
	} {
		d := desk{root: tree(t, strings.Replace(archive, "GUARD", c.guard, 1))}
		n := nodes.GuardPlan{Layers: mapNode("a/x").Layers, Whole: c.whole}
		if got := counts(d.events(t, n)); got["list"] != c.lists || got["content"] != c.content {
			t.Errorf("%s, whole %v: %d lists and %d contents, want %d and %d", c.guard, c.whole, got["list"], got["content"], c.lists, c.content)
		}
	}
}
