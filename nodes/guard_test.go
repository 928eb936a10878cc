package nodes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// paperLedger is records on paper, whatever the file holds.
type paperLedger map[cas.Key]graph.RecordState

func (paperLedger) Signer() string                               { return "me" }
func (l paperLedger) Parse([]byte) map[cas.Key]graph.RecordState { return l }
func (l paperLedger) add(g *nodes.Guard, state graph.RecordState) bool {
	l[g.Key()] = state
	return true
}

// desk is a tree with records and a clock.
type desk struct {
	root    string
	ledger  paperLedger
	now     time.Time
	store   cas.Store
	observe func(eval.Event)
}

// eval computes a node; without a store, with no cache.
func (d *desk) eval(t *testing.T, n graph.Task) any {
	t.Helper()
	w := eval.NewWorld(d.root, time.Now)
	if w.Ledger = d.ledger; d.ledger == nil {
		w.Ledger = paperLedger{}
	}
	if !d.now.IsZero() {
		w.Now = func() time.Time { return d.now }
	}
	store := d.store
	if store == nil {
		store = cas.NewMemory()
	}
	e := eval.New(eval.Config{World: w, Kinds: nodes.Kinds(), Store: store, Observe: d.observe})
	v, err := e.Eval(context.Background(), n)
	must(t, err)
	return v
}

func (d *desk) mapOf(t *testing.T, target string) nodes.MapValue {
	t.Helper()
	return d.eval(t, mapNode(target)).(nodes.MapValue)
}

// guardsOf returns the guards of a target's map.
func (d *desk) guardsOf(t *testing.T, target string) []nodes.Guard {
	t.Helper()
	v := d.eval(t, mapNode(target).Layers).(nodes.LayersValue)
	if len(v.Problems) > 0 {
		t.Fatalf("no layers: %v", v.Problems)
	}
	return v.Guards
}

// attached is a map's guards in short: each entry that has some with their names,
// then each check with the directory it runs in.
func attached(v nodes.MapValue) string {
	var b strings.Builder
	for _, d := range v.Refusal {
		fmt.Fprintf(&b, "refused: %s %s\n", d.Code, d.Place())
	}
	for _, e := range v.IR.Layers.All() {
		if e.GuardStatus == nil && len(e.Guards) == 0 {
			continue
		}
		name := e.Source
		if e.Section != "" {
			name += "#" + e.Section
		}
		var names []string
		for _, g := range e.Guards {
			names = append(names, g.Name)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(names, ", "))
	}
	for _, x := range v.IR.Verifications {
		fmt.Fprintf(&b, "%s in %s (%s)\n", x.Guard, x.Cwd, x.DeclaredIn)
	}
	return short(b.String())
}

// guarded is one tree, one question and what attached says of the answer.
type guarded struct{ name, tree, target, want string }

func runGuarded(t *testing.T, cases []guarded) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := desk{root: tree(t, c.tree)}
			v := d.mapOf(t, c.target)
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), attached(v)); diff != "" {
				t.Errorf("guards of %q (-want +got):\n%s\n%s\n%s", c.target, diff, outline(v), messages(v))
			}
			conserved(t, v)
		})
	}
}

// TestGuardsAttach is D-89: a guard stands for the entry that declares it, and for
// the files of the same project that it splices in by local imports.
func TestGuardsAttach(t *testing.T) {
	const anchor = "-- .mwp --\ndescription = \"d\"\n-- a/x --\n"
	runGuarded(t, []guarded{
		{"none", anchor + "-- a/.mwp-context.md --\nA\n", "a/x", ""},
		{"local imports, direct and transitive; not workspace:", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports:
  - local: one.md
  - workspace: a/two.md
---
A
-- a/one.md --
---
imports:
  - local: three.md
  - workspace: a/four.md
---
1
-- a/two.md --
---
imports:
  - local: five.md
---
2
-- a/three.md --
3
-- a/four.md --
4
-- a/five.md --
5
`, "a/x", `
a/.mwp-context.md: check.sh
a/one.md: check.sh
a/three.md: check.sh
./check.sh in a (a/.mwp-context.md:2)
`},
		{"not a module's text, in node_modules or from git", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports:
  - local: node_modules/m
  - git: https://example.org/o/rules.git@v1
---
A
-- a/node_modules/m/.mwp-module.md --
---
name: m
imports: [{local: r.md}]
---
-- a/node_modules/m/r.md --
R
-- .mwp.d/modules/$A/.mwp-module.md --
---
name: rules
imports: [{local: r.md}]
---
-- .mwp.d/modules/$A/r.md --
R
-- PINS --
https://example.org/o/rules.git@v1 tag $A
`, "a/x", `
a/.mwp-context.md: check.sh
./check.sh in a (a/.mwp-context.md:2)
`},
		{"an imported file's guards: for it and what it imports, not for its importer", anchor + `
-- a/.mwp-context.md --
---
imports:
  - local: one.md
  - local: beside.md
---
A
-- a/one.md --
---
guards: [{cmd: ./one.sh}]
imports: [{local: lib/two.md}]
---
1
-- a/lib/two.md --
---
guards: [{cmd: ./two.sh}]
---
2
-- a/beside.md --
B
`, "a/x", `
a/one.md: one.sh
a/lib/two.md: one.sh, two.sh
./one.sh in a (a/one.md:2)
./two.sh in a/lib (a/lib/two.md:2)
`},
		{"reached by workspace:, its own guards come along", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports: [{workspace: lib/one.md}]
---
A
-- lib/one.md --
---
guards: [{cmd: ./one.sh}]
imports: [{local: two.md}]
---
1
-- lib/two.md --
2
`, "a/x", `
a/.mwp-context.md: check.sh
lib/one.md: one.sh
lib/two.md: one.sh
./check.sh in a (a/.mwp-context.md:2)
./one.sh in lib (lib/one.md:2)
`},
		{"sections", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports:
  - local: s.md#One
  - local: s.md#Two
  - workspace: lib/t.md#One
---
A
-- a/s.md --
---
guards: [{cmd: ./s.sh}]
---
# One
1
# Two
2
-- lib/t.md --
---
guards: [{cmd: ./t.sh}]
---
# One
1
`, "a/x", `
a/.mwp-context.md: check.sh
a/s.md#One: check.sh, s.sh
a/s.md#Two: check.sh, s.sh
lib/t.md#One: t.sh
./check.sh in a (a/.mwp-context.md:2)
./s.sh in a (a/s.md:2)
./t.sh in lib (lib/t.md:2)
`},
		{"a section that is not there carries nothing", anchor + `
-- a/.mwp-context.md --
---
imports: [{local: s.md#Gone}]
---
A
-- a/s.md --
---
guards: [{cmd: ./s.sh}]
---
# One
1
`, "a/x", ""},
		{"a file that is reached twice, by local: and workspace:", anchor + `
-- a/.mwp-context.md --
---
imports:
  - local: one.md
  - local: two.md
---
A
-- a/one.md --
---
guards: [{cmd: ./one.sh}]
imports: [{workspace: a/r.md}]
---
1
-- a/two.md --
---
guards: [{cmd: ./two.sh}]
imports: [{local: r.md}]
---
2
-- a/r.md --
---
imports: [{local: s.md}]
---
R
-- a/s.md --
S
`, "a/x", `
a/one.md: one.sh
a/two.md: two.sh
a/r.md: two.sh
a/s.md: two.sh
./one.sh in a (a/one.md:2)
./two.sh in a (a/two.md:2)
`},
		{"a cycle is refused before", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports: [{local: one.md}]
---
A
-- a/one.md --
---
guards: [{cmd: ./one.sh}]
imports: [{local: .mwp-context.md}]
---
1
`, "a/x", `
refused: import_cycle a/.mwp-context.md:3
`},
		{"the one that stays of equal texts carries the checks of all that splice it in", anchor + `
-- .mwp-context.md --
---
guards: [{cmd: ./root.sh}]
imports: [{local: r.md}]
---
Root
-- a/.mwp-context.md --
---
guards: [{cmd: ./a.sh}]
imports:
  - local: one.md
  - workspace: r.md
---
A
-- a/one.md --
---
guards: [{cmd: ./one.sh}]
imports: [{local: link.md}]
---
1
-- a/link.md -> ../r.md --
-- r.md --
R
`, "a/x", `
.mwp-context.md: root.sh
r.md: root.sh, a.sh, one.sh
a/.mwp-context.md: a.sh
a/one.md: a.sh, one.sh
./root.sh in . (.mwp-context.md:2)
./a.sh in a (a/.mwp-context.md:2)
./one.sh in a (a/one.md:2)
`},
		{"a context file that another one imports", anchor + `
-- .mwp-context.md --
---
imports: [{workspace: a}]
---
Root
-- a/.mwp-context.md --
---
guards: [{cmd: ./a.sh}]
imports: [{local: r.md}]
---
A
-- a/r.md --
R
`, "a/x", `
a/.mwp-context.md: a.sh
a/r.md: a.sh
./a.sh in a (a/.mwp-context.md:2)
`},
		{"outside the window and the scope a declarer takes its guards along", anchor + `
-- .mwp-context.md --
---
layer: 1
guards: [{cmd: ./root.sh}]
imports: [{local: r.md}]
---
Root
-- b/.mwp-context.md --
---
scope: local
guards: [{cmd: ./b.sh}]
imports: [{local: r.md}]
---
B
-- b/r.md -> ../r.md --
-- b/c/.mwp-context.md --
---
window: 1
imports: [{workspace: r.md}]
---
C
-- b/c/x --
-- r.md --
R
`, "b/c/x", ""},
		{"a manifest's guards: for what it imports locally", anchor + `
-- a/.mwp-context.md --
---
imports: [{local: mod}]
---
A
-- a/mod/.mwp-module.md --
---
name: mod
guards: [{cmd: ./mod.sh}]
imports:
  - local: r.md
  - local: sub
---
-- a/mod/r.md --
---
guards: [{cmd: ./r.sh}]
---
R
-- a/mod/sub/.mwp-module.md --
---
name: sub
guards: [{cmd: ./sub.sh}]
imports: [{local: s.md}]
---
-- a/mod/sub/s.md --
S
`, "a/x", `
a/mod/r.md: mod.sh, r.sh
a/mod/sub/s.md: sub.sh
./mod.sh in a (a/mod/.mwp-module.md:3)
./r.sh in a (a/mod/r.md:2)
./sub.sh in a (a/mod/sub/.mwp-module.md:3)
`},
		{"D-99: guards and no body", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./check.sh}]
imports: [{local: one.md}, {local: two.md}]
---
-- a/one.md --
---
guards: [{cmd: ./one.sh}]
---
-- a/two.md --
`, "a/x", `
a/.mwp-context.md: check.sh
a/one.md: check.sh, one.sh
./check.sh in a (a/.mwp-context.md:2)
./one.sh in a (a/one.md:2)
`},
		{"an orientation map has the guards of L0", anchor + `
-- .mwp-context.md --
---
guards: [{cmd: ./root.sh}]
imports: [{local: low.md}, {local: top.md}]
---
Root
-- low.md --
---
layer: 3
guards: [{cmd: ./low.sh}]
imports: [{local: more.md}]
---
L
-- more.md --
---
layer: 0
---
M
-- top.md --
---
guards: [{cmd: ./top.sh}]
---
T
`, "", `
.mwp-context.md: root.sh
top.md: root.sh, top.sh
more.md: root.sh, low.sh
./root.sh in . (.mwp-context.md:2)
./top.sh in . (top.md:2)
./low.sh in . (low.md:3)
`},
		{"map order: by layer and priority, whatever the depth; each command and directory once", anchor + `
-- .mwp-context.md --
---
layer: 4
guards:
  - cmd: make check
  - cmd: make   check
  - {cmd: make check, name: again}
---
Root
-- a/.mwp-context.md --
---
layer: 2
guards:
  - cmd: make check
  - cmd: [make, check]
  - cmd: make lint
  - cmd: make lint && true
---
A
`, "a/x", `
a/.mwp-context.md: make check, make lint, make lint && true
.mwp-context.md: make check
make check in a (a/.mwp-context.md:4)
make lint in a (a/.mwp-context.md:6)
make lint && true in a (a/.mwp-context.md:7)
make check in . (.mwp-context.md:4)
`},
		{"labels", anchor + `
-- a/.mwp-context.md --
---
guards:
  - {cmd: ./scripts/size.sh --strict, name: bundle size}
  - cmd: ./scripts/size.sh --strict here
  - exists: src
  - {exists: lib, name: library}
  - contains: {path: README.md, text: "say \"hi\""}
  - script: make:build
---
A
`, "a/x", `
a/.mwp-context.md: bundle size, size.sh --strict here, exists src, library, contains README.md "say \"hi\"", script make:build
./scripts/size.sh --strict in a (a/.mwp-context.md:3)
./scripts/size.sh --strict here in a (a/.mwp-context.md:4)
exists src in a (a/.mwp-context.md:5)
exists lib in a (a/.mwp-context.md:6)
contains README.md "say \"hi\"" in a (a/.mwp-context.md:7)
script make:build in a (a/.mwp-context.md:8)
`},
	})
}

// TestGuardsOfDroppedEntries: what a budget drops is still part of the map's question
// (D-43), so its guards are known and can make the map read-only.
func TestGuardsOfDroppedEntries(t *testing.T) {
	d := desk{root: tree(t, `
-- .mwp --
description = "d"
[budgets]
policy = "drop"
l1 = 5
-- a/.mwp-context.md --
---
guards: [{exists: gone}]
---
Far more than five tokens of text, which the budget has no room for at all.
-- a/x --
`)}
	v := d.mapOf(t, "a/x")
	if got := outline(v); !strings.Contains(got, "dropped_by_budget L1/50 a/.mwp-context.md") {
		t.Fatalf("nothing is dropped:\n%s", got)
	}
	if !v.IR.ReadOnly || len(v.IR.Verifications) != 1 {
		t.Errorf("read-only %v with %v", v.IR.ReadOnly, v.IR.Verifications)
	}
}

// TestManyGuards: as many as a header holds, each once and in order.
func TestManyGuards(t *testing.T) {
	var header, want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&header, "  - cmd: ./check%03d.sh\n", 199-i)
		fmt.Fprintf(&want, "./check%03d.sh in a (a/.mwp-context.md:%d)\n", 199-i, 3+i)
	}
	d := desk{root: tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/r.md --\nR\n-- a/.mwp-context.md --\n---\nguards:\n"+header.String()+"imports: [{local: r.md}]\n---\nA\n")}
	v := d.mapOf(t, "a/x")
	if _, got, _ := strings.Cut(attached(v), "./check199.sh in"); "./check199.sh in"+got != want.String() {
		t.Errorf("guards (-want +got):\n%s", cmp.Diff(want.String(), "./check199.sh in"+got))
	}
	for _, e := range v.IR.Layers.All() {
		if e.Source != ".mwp" && (len(e.Guards) != 200 || *e.GuardStatus != ir.Unverified) {
			t.Errorf("%s has %d guards", e.Source, len(e.Guards))
		}
	}
	var found []ir.Diagnostic
	for _, w := range v.IR.Warnings {
		if w.Code == ir.GuardUnverified {
			found = append(found, w)
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0].Message, "200 guards ") || len(found[0].Message) > 600 {
		t.Errorf("the map says of 200 guards: %v", found)
	}
}

// TestGuardDirectories is D-85: where a guard runs, and whose it is.
func TestGuardDirectories(t *testing.T) {
	const anchor = "-- .mwp --\ndescription = \"d\"\n-- a/b/x --\n"
	for _, c := range []struct{ name, tree, want string }{
		{"the declaring file's directory", anchor + `
-- a/.mwp-context.md --
---
guards: [{cmd: ./a.sh}]
imports: [{workspace: lib/r.md}, {local: link.md}]
---
A
-- lib/r.md --
---
guards: [{cmd: ./r.sh}]
---
R
-- a/link.md -> ../docs/real.md --
-- docs/real.md --
---
guards: [{cmd: ./real.sh}]
---
X
`, `
./a.sh in a, own
./real.sh in docs, own
./r.sh in lib, own
`},
		{"a git module's: where the project's file lies that leads to it", anchor + `
-- a/.mwp-context.md --
---
imports: [{workspace: lib/index.md}]
---
A
-- lib/index.md --
---
imports: [{git: https://example.org/o/rules.git@v1}]
---
I
-- .mwp.d/modules/$A/.mwp-module.md --
---
name: rules
guards: [{cmd: ./rules.sh}]
imports: [{local: r.md}, {git: https://example.org/o/more.git@v1}]
---
-- .mwp.d/modules/$A/r.md --
---
guards: [{cmd: ./r.sh}]
---
R
-- .mwp.d/modules/$B/.mwp-module.md --
---
name: more
guards: [{cmd: ./more.sh}]
imports: [{local: m.md}]
---
-- .mwp.d/modules/$B/m.md --
M
-- PINS --
https://example.org/o/rules.git@v1 tag $A
https://example.org/o/more.git@v1 tag $B
`, `
./rules.sh in lib, foreign at $A
./r.sh in lib, foreign at $A
./more.sh in lib, foreign at $B
`},
		{"modules in the tree: node_modules, vendor, one in another", anchor + `
-- a/.mwp-context.md --
---
imports: [{local: node_modules/m}, {local: b/vendor/v}]
---
A
-- a/node_modules/m/.mwp-module.md --
---
name: m
guards: [{cmd: ./m.sh}]
imports: [{local: deep/r.md}, {local: sub}]
---
-- a/node_modules/m/deep/r.md --
---
guards: [{cmd: ./r.sh}]
---
R
-- a/node_modules/m/sub/.mwp-module.md --
---
name: sub
guards: [{cmd: ./sub.sh}]
imports: [{local: s.md}]
---
-- a/node_modules/m/sub/s.md --
S
-- a/b/vendor/v/.mwp-module.md --
---
name: v
guards: [{cmd: ./v.sh}]
imports: [{local: w.md}]
---
-- a/b/vendor/v/w.md --
W
`, `
./v.sh in a, foreign
./m.sh in a, foreign
./r.sh in a, foreign
./sub.sh in a, foreign
`},
		{"files below node_modules and vendor, however they are reached", anchor + `
-- a/.mwp-context.md --
---
imports: [{local: node_modules/m/r.md}, {workspace: a/b/vendor/v/r.md}, {workspace: link.md}, {local: vendors/r.md}]
---
A
-- a/node_modules/m/r.md --
---
guards: [{cmd: ./m.sh}]
imports: [{local: own/r.md}]
---
R
-- a/node_modules/m/own/r.md --
---
guards: [{cmd: ./own.sh}]
imports: [{workspace: lib.md}]
---
O
-- lib.md --
---
guards: [{cmd: ./lib.sh}]
---
L
-- a/b/vendor/v/r.md --
---
guards: [{cmd: ./v.sh}]
---
R
-- link.md -> a/b/vendor/linked.md --
-- a/b/vendor/linked.md --
---
guards: [{cmd: ./linked.sh}]
---
L
-- a/vendors/r.md --
---
guards: [{cmd: ./vendors.sh}]
---
V
`, `
./v.sh in a, foreign
./m.sh in a, foreign
./vendors.sh in a/vendors, own
./linked.sh in a, foreign
./own.sh in a, foreign
./lib.sh in ., own
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := desk{root: tree(t, c.tree)}
			var b strings.Builder
			for _, g := range d.guardsOf(t, "a/b/x") {
				fmt.Fprintf(&b, "%s in %s, %s\n", g.Text(), g.Dir, origin(&g))
			}
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), short(b.String())); diff != "" {
				t.Errorf("guards (-want +got):\n%s", diff)
			}
		})
	}
}

func origin(g *nodes.Guard) string {
	switch {
	case g.Commit != "":
		return fmt.Sprintf("foreign at %s", g.Commit)
	case g.Foreign:
		return "foreign"
	}
	return "own"
}

// TestGuardKeys is D-44: what runs, where, from which module, whether a shell runs it,
// and for a record also which file declares it; nothing else.
func TestGuardKeys(t *testing.T) {
	cmd := func(s string) nodes.Guard { return nodes.Guard{GuardSpec: nodes.GuardSpec{Cmd: s}, Dir: "a"} }
	argv := func(s ...string) nodes.Guard { return nodes.Guard{GuardSpec: nodes.GuardSpec{Argv: s}, Dir: "a"} }
	text := func(g nodes.Guard) string { return g.Text() }
	with := func(g nodes.Guard, edit func(*nodes.Guard)) nodes.Guard { edit(&g); return g }
	base := cmd("go vet ./x")
	minute := time.Minute
	same := []nodes.Guard{
		base, cmd("  go \t vet  ./x "), argv("go", "vet", "./x"),
		with(base, func(g *nodes.Guard) {
			g.Name, g.Trust, g.CacheFor, g.Timeout, g.Line, g.Owners = "n", "ad-hoc", &minute, &minute, 7, []string{"o"}
		}),
		with(base, func(g *nodes.Guard) { g.Path, g.Real, g.Texts = "p", "r", []string{"t"} }),
		with(base, func(g *nodes.Guard) { g.HasVerifiedPaths, g.VerifiedPaths = true, []nodes.PathRef{{Path: "v"}} }),
		with(base, func(g *nodes.Guard) { g.Foreign = true }),
	}
	for i := range same {
		if same[i].RunKey() != base.RunKey() {
			t.Errorf("%d: %q would not start the same as %q", i, same[i].Text(), base.Text())
		}
		if declared := same[i].Real == base.Real; (same[i].Key() == base.Key()) != declared {
			t.Errorf("%d: %q of %q has the key of %q: %v, want %v", i, same[i].Text(), same[i].Real, base.Text(), !declared, declared)
		}
	}
	other := []nodes.Guard{
		base,
		cmd("go vet './x'"), cmd("go vet ./X"), cmd("go vet ./x;"), cmd("go 'vet ./x'"), argv("go", "vet ./x "),
		argv("go", "vet", "./x", ""), cmd("go vet ./x && go vet ./y"), cmd("go vet  ./x  &&\ngo vet ./y"),
		argv("echo", "a\nb"), cmd(text(argv("echo", "a\nb"))), argv("go", "vet", "./*"), cmd("go vet ./*"), cmd("exists a"), cmd("echo 'a  b'"), cmd("echo 'a b'"),
		with(base, func(g *nodes.Guard) { g.Dir = "." }),
		with(base, func(g *nodes.Guard) { g.Dir = "a/b" }),
		with(base, func(g *nodes.Guard) { g.Commit = strings.Repeat("a", 40) }),
		with(base, func(g *nodes.Guard) { g.Commit = strings.Repeat("b", 40) }),
		{GuardSpec: nodes.GuardSpec{Exists: "a"}, Dir: "a"},
		{GuardSpec: nodes.GuardSpec{Exists: "a/"}, Dir: "a"},
		{GuardSpec: nodes.GuardSpec{ContainsPath: "a", ContainsText: "b"}, Dir: "a"},
		{GuardSpec: nodes.GuardSpec{ContainsPath: `a "b"`, ContainsText: ""}, Dir: "a"},
		{GuardSpec: nodes.GuardSpec{Script: "npm:a"}, Dir: "a"},
		{GuardSpec: nodes.GuardSpec{Script: "make:a"}, Dir: "a"},
	}
	seen := map[cas.Key]string{}
	for i := range other {
		g := &other[i]
		name := fmt.Sprintf("%d: %q in %s at %q", i, g.Text(), g.Dir, g.Commit)
		if before, ok := seen[g.Key()]; ok {
			t.Errorf("one key for %s and %s", before, name)
		}
		seen[g.Key()] = name
	}
}

// TestGuardsKeepTheMapsText: a guard is no text, so what the map says besides is the
// same as without one, and a new result changes no Layers.
func TestGuardsKeepTheMapsText(t *testing.T) {
	const with = "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nguards: [{cmd: ./check.sh}]\n---\nA\n"
	d := desk{root: tree(t, with), ledger: paperLedger{}, now: time.Unix(1_700_000_000, 0), store: cas.NewMemory()}
	write(t, d.root, ".mwp.d/guards.cache.json", "1")
	d.mapOf(t, "a/x")
	g := d.guardsOf(t, "a/x")[0]
	d.ledger.add(&g, graph.RecordState{Signer: "me", Run: &graph.Run{Passed: true, RanAt: d.now.UnixNano(), CacheUntil: d.now.Add(time.Hour).UnixNano()}})
	write(t, d.root, ".mwp.d/guards.cache.json", "22")
	kinds := d.recomputed(t, mapNode("a/x"))
	if want := []string{"check", "guard-inputs", "map", "tokens", "verifications"}; !slices.Equal(kinds, want) {
		t.Errorf("a new record recomputes %v, want %v", kinds, want)
	}
}

// recomputed returns the kinds of the nodes that are computed, sorted.
func (d *desk) recomputed(t *testing.T, n graph.Task) []string {
	t.Helper()
	var kinds []string
	for _, ev := range d.events(t, n) {
		if ev.Status == graph.Computed && !ev.Task.Kind().Leaf {
			kinds = append(kinds, ev.Task.Kind().Name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// events evaluates and returns what the evaluator reports.
func (d *desk) events(t *testing.T, n graph.Task) []eval.Event {
	t.Helper()
	seen := make(chan eval.Event, 1<<16)
	d.observe = func(ev eval.Event) { seen <- ev }
	d.eval(t, n)
	d.observe = nil
	close(seen)
	var all []eval.Event
	for ev := range seen {
		all = append(all, ev)
	}
	return all
}

// TestGuardsOfSections: a file's guards come once, however many of its sections are
// imported.
func TestGuardsOfSections(t *testing.T) {
	var imports, text strings.Builder
	text.WriteString("---\nguards: [{cmd: one}, {cmd: two}, {cmd: three}]\n---\n")
	for i := range 200 {
		fmt.Fprintf(&imports, "  - local: s.md#H%d\n", i)
		fmt.Fprintf(&text, "# H%d\ntext\n", i)
	}
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nimports:\n"+imports.String()+"---\nA\n")
	write(t, root, "a/s.md", text.String())
	d := desk{root: root}
	v := d.mapOf(t, "a/x")
	if len(v.Refusal) > 0 || len(v.IR.Verifications) != 3 {
		t.Fatalf("%d verifications\n%s", len(v.IR.Verifications), messages(v))
	}
	for _, e := range v.IR.Layers.All() {
		if e.Section != "" && len(e.Guards) != 3 {
			t.Errorf("%s has %d guards", e.ID, len(e.Guards))
		}
	}
}

// TestGuardLinesAreBounded: guards times imports is more than a map can show, and is
// refused before it is made (D-102).
func TestGuardLinesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the bound of guards times texts, with -short")
	}
	var guards, files, sections strings.Builder
	for i := range 250 {
		fmt.Fprintf(&guards, "- cmd: g%d\n", i)
		fmt.Fprintf(&files, "- local: r%d\n", i)
		fmt.Fprintf(&sections, "- local: s.md#H%d\n", i)
	}
	for _, imports := range []string{files.String(), sections.String()} {
		root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n")
		for i := range 250 {
			write(t, root, fmt.Sprintf("a/r%d", i), "x")
		}
		var s strings.Builder
		for i := range 250 {
			fmt.Fprintf(&s, "# H%d\ntext\n", i)
		}
		write(t, root, "a/s.md", s.String())
		for _, n := range []int{199, 201} {
			lines := strings.SplitAfter(guards.String(), "\n")[:n]
			write(t, root, "a/.mwp-context.md", "---\nguards:\n"+strings.Join(lines, "")+"imports:\n"+imports+"---\nA\n")
			d := desk{root: root}
			v := d.eval(t, mapNode("a/x").Layers).(nodes.LayersValue)
			plan := d.eval(t, everything()).(nodes.GuardPlanValue)
			refused := n > 200
			for _, ds := range [][]ir.Diagnostic{v.Problems, plan.Problems} {
				if (len(ds) == 1 && ds[0].Code == ir.LimitExceeded && ds[0].Source == "a/.mwp-context.md") != refused || len(ds) > 1 {
					t.Errorf("%d guards for 251 texts: %v", n, ds)
				}
			}
			if !refused && len(v.Guards) != n {
				t.Errorf("%d guards, want %d", len(v.Guards), n)
			}
		}
	}
}
