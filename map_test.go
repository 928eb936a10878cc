package mwp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// unpack writes a txtar archive to a new directory. A file named "x -> y" makes a
// link x to y.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name, target, isLink := strings.Cut(f.Name, " -> ")
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(target, p)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// mapOf returns the decoded map of a target.
func mapOf(t *testing.T, o mwp.Options, q mwp.Request) (*ir.Map, error) {
	t.Helper()
	if q.Target != "" && !filepath.IsAbs(q.Target) {
		q.Target = filepath.Join(o.Dir, q.Target)
	}
	q.NoRoot = true
	r, err := mwp.Open(o).Map(context.Background(), q)
	if err != nil {
		return nil, err
	}
	var m ir.Map
	if err := json.Unmarshal(r.Text, &m); err != nil {
		t.Fatal(err)
	}
	return &m, nil
}

// summary is the trace in short: outcome, layer, priority, source; then what the
// map lists; then its warnings.
func summary(m *ir.Map, err error) string {
	var b strings.Builder
	var r *mwp.Refusal
	var env *mwp.EnvironmentError
	switch {
	case errors.As(err, &r):
		for _, d := range r.Diagnostics {
			fmt.Fprintf(&b, "%s %s %s\n", d.Severity, d.Code, d.Place())
		}
		return b.String()
	case errors.As(err, &env):
		return fmt.Sprintf("environment %s\n", env.Diagnostic.Code)
	case err != nil:
		return "error " + err.Error() + "\n"
	}
	for _, t := range m.Trace {
		layer := "-"
		if t.Layer != nil {
			layer = fmt.Sprintf("L%d/%d", *t.Layer, *t.Priority)
		}
		fmt.Fprintf(&b, "%s %s %s", t.Status, layer, t.Source)
		if t.DeduplicatedBy != "" {
			fmt.Fprintf(&b, " (by %s)", t.DeduplicatedBy)
		}
		b.WriteByte('\n')
	}
	for _, d := range m.Directories {
		fmt.Fprintf(&b, "directory %s %s %q %q\n", d.Path, d.Reason, d.Name, d.Role)
	}
	for _, a := range m.SubApplications {
		fmt.Fprintf(&b, "sub-application %s %s %q %q\n", a.Path, a.Reason, a.Role, a.Excerpt)
	}
	for name, l := range map[string][]ir.Listed{"intent": m.Intents} {
		for _, f := range l {
			fmt.Fprintf(&b, "%s %s\n", name, f.Path)
		}
	}
	for _, f := range m.Pipelines {
		fmt.Fprintf(&b, "pipeline %s\n", f.Path)
	}
	for _, f := range m.Notes {
		fmt.Fprintf(&b, "note %s\n", f.Path)
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(&b, "%s %s %s\n", w.Severity, w.Code, w.Place())
	}
	return b.String()
}

func TestMapScenarios(t *testing.T) {
	window := func(n int) func(*mwp.Request) {
		return func(q *mwp.Request) { q.Window = nodes.OptionalInt{Set: true, Value: n} }
	}
	const deep = `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
A
-- a/b/.mwp-context.md --
---
layer: 0
---
B
-- a/b/c/.mwp-context.md --
C
-- a/b/c/d/x.go --
`
	for _, c := range []struct {
		name, tree, target string
		edit               func(*mwp.Request)
		want               string
	}{
		{"§4.1: an anchor with only a name lets the first context identify", `
-- .mwp --
name = "p"
-- dev/.mwp-context.md --
x
-- dev/browser-sdk/.mwp-context.md --
y
-- dev/browser-sdk/src/client.ts --
`, "dev/browser-sdk/src/client.ts", nil, `
empty L0/50 .mwp
included L0/50 dev/.mwp-context.md
included L1/50 dev/browser-sdk/.mwp-context.md
`},
		{"§5.3: an anchor that identifies makes depth count from the root", `
-- .mwp --
description = "polyglot"
-- backend/.mwp-context.md --
x
-- backend/src/api/.mwp-context.md --
y
-- backend/src/api/routes.ts --
-- engine/.mwp-context.md --
not here
`, "backend/src/api/routes.ts", nil, `
included L0/50 .mwp
included L1/50 backend/.mwp-context.md
included L2/50 backend/src/api/.mwp-context.md
`},
		{"a member's root is L1 however deep it lies, with its anchor's own entry", `
-- .mwp --
members = ["apps/*"]
-- apps/web/.mwp --
name = "web"
description = "the site"
-- apps/web/.mwp-context.md --
x
-- apps/web/src/x.ts --
-- apps/web/src/.mwp-context.md --
y
`, "apps/web/src/x.ts", nil, `
included L0/50 .mwp
included L1/50 apps/web/.mwp
included L1/50 apps/web/.mwp-context.md
included L2/50 apps/web/src/.mwp-context.md
`},
		{"D-07: a project that no members list names stands alone", `
-- .mwp --
description = "w"
members = ["other"]
-- .mwp-context.md --
STRAY
-- app/.mwp/config.toml --
description = "a"
-- app/x.go --
`, "app/x.go", nil, `
included L0/50 .mwp/config.toml
warning not_a_member ../.mwp
`},
		{"D-05: an excluded member is not listed", `
-- .mwp --
description = "w"
members = ["packages/*", "!packages/old"]
-- packages/old/.mwp --
name = "old"
-- packages/old/x --
`, "packages/old/x", nil, `
included L0/50 .mwp
warning not_a_member ../../.mwp
`},
		{"D-22, D-23: priority, then path by segments, parents first", `
-- .mwp --
description = "d"
-- dev/.mwp-context.md --
---
layer: 3
---
x
-- dev/low/.mwp-context.md --
---
layer: 3
priority: 90
---
y
-- dev/low/x --
`, "dev/low/x", nil, `
included L0/50 .mwp
included L3/90 dev/low/.mwp-context.md
included L3/50 dev/.mwp-context.md
`},
		{"D-16: scope local applies in its own directory only", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
scope: local
---
A
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
excluded_by_scope L1/50 a/.mwp-context.md
`},
		{"D-16: a file directly in it counts", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
scope: local
---
A
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
`},
		{"D-14: the window counts directories and keeps L0", deep, "a/b/c/d/x.go", window(1), `
included L0/50 .mwp/config.toml
included L0/50 a/b/.mwp-context.md
excluded_by_window L1/50 a/.mwp-context.md
included L2/50 a/b/c/.mwp-context.md
`},
		{"D-14: a directory target is its own level 0", deep, "a/b/c/d", window(2), `
included L0/50 .mwp/config.toml
included L0/50 a/b/.mwp-context.md
excluded_by_window L1/50 a/.mwp-context.md
included L2/50 a/b/c/.mwp-context.md
`},
		{"D-15: the smallest positive window wins, even of a level it removes", `
-- .mwp --
description = "d"
[render]
window = 3
-- a/.mwp-context.md --
---
window: 1
---
A
-- a/b/.mwp-context.md --
---
window: 2
---
B
-- a/b/c/x --
`, "a/b/c/x", nil, `
included L0/50 .mwp
excluded_by_window L1/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
`},
		{"D-15: a local file's window counts in its own directory only", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
A
-- a/b/.mwp-context.md --
---
window: 1
scope: local
---
B
-- a/b/c/d/x --
`, "a/b/c/d/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
excluded_by_scope L2/50 a/b/.mwp-context.md
`},
		{"D-20: nothing is mapped inside an opaque boundary", `
-- .mwp --
description = "d"
-- backend/AGENTS.md --
-- backend/src/x --
`, "backend/src/x", nil, `
error boundary_uninitialised backend/AGENTS.md
`},
		{"D-20: the boundary directory itself counts as inside", `
-- .mwp --
description = "d"
-- backend/CLAUDE.md --
`, "backend", nil, `
error boundary_uninitialised backend/CLAUDE.md
`},
		{"R-056: with an anchor beside it, it is no boundary", `
-- .mwp --
description = "d"
members = ["backend"]
-- backend/AGENTS.md --
-- backend/.mwp/config.toml --
description = "b"
-- backend/src/x --
`, "backend/src/x", nil, `
included L0/50 .mwp
included L1/50 backend/.mwp/config.toml
`},
		{"D-19: a boundary above a listed member contributes nothing and does not block it", `
-- .mwp --
description = "d"
members = ["apps/web"]
-- apps/AGENTS.md --
-- apps/.mwp-context.md --
SKIPPED
-- apps/web/.mwp --
-- apps/web/.mwp-context.md --
WEB
-- apps/web/x --
`, "apps/web/x", nil, `
included L0/50 .mwp
empty L1/50 apps/web/.mwp
included L1/50 apps/web/.mwp-context.md
boundary - apps/.mwp-context.md
`},
		{"D-20: soft makes it a member", `
-- .mwp --
description = "d"
[boundary]
mode = "soft"
-- apps/web/AGENTS.md --
-- apps/web/.mwp-context.md --
WEB
-- apps/web/src/x --
`, "apps/web/src/x", nil, `
included L0/50 .mwp
included L1/50 apps/web/.mwp-context.md
`},
		{"D-20: transparent keeps cascading", `
-- .mwp --
description = "d"
[boundary]
mode = "transparent"
-- apps/web/AGENTS.md --
-- apps/web/.mwp-context.md --
WEB
-- apps/web/src/x --
`, "apps/web/src/x", nil, `
included L0/50 .mwp
included L2/50 apps/web/.mwp-context.md
`},
		{"D-19: the set of boundary files can be replaced", `
-- .mwp --
description = "d"
[boundary]
files = ["llms.txt"]
-- a/AGENTS.md --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
`},
		{"R-044: instruction files at the root are no boundary and are not read", `
-- .mwp --
description = "d"
-- CLAUDE.md --
-- x --
`, "x", nil, `
included L0/50 .mwp
`},
		{"N-02: YAML wins over Markdown, and says so", `
-- .mwp --
description = "d"
-- a/.mwp-context.yaml --
schema: 1
layer: 2
description: from yaml
-- a/.mwp-context.md --
old
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L2/50 a/.mwp-context.yaml
shadowed - a/.mwp-context.md
warning stale_context_md a/.mwp-context.md
`},
		{"N-02: two YAML files are an error", `
-- .mwp --
-- a/.mwp-context.yaml --
description: a
-- a/.mwp-context.yml --
description: b
-- a/x --
`, "a/x", nil, `
error two_context_files a/.mwp-context.yml
`},
		{"D-99: an empty body is traced", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 1
---

-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
empty L1/50 a/.mwp-context.md
`},
		{"guards are reported as not run; an empty import is accounted for", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: ./rules.md
guards:
  - cmd: make test
---
A
-- a/rules.md --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
empty L1/49 a/rules.md
warning guard_unverified 
`},
		{"R-070: every mistake of every header is reported at once", `
-- .mwp --
description = "d"
nmae = "x"
-- a/.mwp-context.md --
---
layer: 9
priority: high
---
A
-- a/b/.mwp-context.md --
---
scope: everywhere
---
-- a/b/x --
`, "a/b/x", nil, `
warning config_unknown_key .mwp:2:1
error frontmatter_invalid a/.mwp-context.md:2:8
error frontmatter_invalid a/.mwp-context.md:3:11
error frontmatter_invalid a/b/.mwp-context.md:2:8
`},
		{"D-02: a configuration of the wrong type is an error", `
-- .mwp --
description = "d"
[budgets]
l0 = "many"
-- x --
`, "x", nil, `
error config_invalid .mwp:3:1
`},
		{"D-12: a target that does not exist yet", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
A
`, "a/new/deep/x.go", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
warning target_missing a/new/deep/x.go
`},
		{"D-106: authored files of the state directory map like files beside it", `
-- .mwp/config.toml --
description = "d"
-- .mwp/intents/plan.md --
-- .mwp-context.md --
ROOT
`, ".mwp/intents/plan.md", nil, `
included L0/50 .mwp/config.toml
included L0/50 .mwp-context.md
intent .mwp/intents/plan.md
`},
		{"D-106: generated ones do not", `
-- .mwp/config.toml --
description = "d"
-- .mwp/modules/x/y.md --
`, ".mwp/modules/x/y.md", nil, `
error target_in_state .mwp/modules/x/y.md
`},
		{"D-74: a link inside the root is followed, and one file is included once", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
A
-- a/loop -> . --
-- a/x --
`, "a/loop/loop/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
deduplicated L2/50 a/loop/.mwp-context.md (by a/.mwp-context.md)
deduplicated L2/50 a/loop/loop/.mwp-context.md (by a/.mwp-context.md)
`},
		{"a root whose enclosing anchor cannot be read", `
-- .mwp --
not toml
-- in/.mwp --
description = "in"
-- in/x --
`, "in/x", nil, `
error config_invalid ../.mwp
error config_invalid ../.mwp:1:5
`},
		{"D-74: a context file that leads out is refused", `
-- .mwp --
description = "d"
-- a/.mwp-context.md -> ../../secret.md --
-- a/x --
`, "a/x", nil, `
error import_escapes_root a/.mwp-context.md
`},
		{"D-74: so is a directory", `
-- .mwp --
description = "d"
-- a -> /usr --
`, "a/lib/x", nil, `
error target_outside_root a
`},
		{"links that go round end", `
-- .mwp --
description = "d"
-- a -> b --
-- b -> a --
`, "a/x", nil, `
error link_loop a
`},
		{"a directory named like a context file", `
-- .mwp --
description = "d"
-- a/.mwp-context.md/ --
-- a/x --
`, "a/x", nil, `
error context_not_regular a/.mwp-context.md
`},
		{"D-11: an orientation map", `
-- .mwp/config.toml --
name = "w"
description = "d"
members = ["apps/*", "tools"]
[directories]
"docs" = { role = "papers" }
"services/api" = { role = "the api" }
-- .mwp-context.md --
ROOT
-- .mwp/intents/plan.md --
-- .mwp/intents/.gitkeep --
-- .mwp/intents/archive/old.md --
-- .mwp/pipelines/ship.md --
-- .mwp/topology.md --
-- apps/web/.mwp --
name = "web"
description = "the site"
-- apps/other/readme --
-- tools/.mwp/ --
-- plain/x --
-- ctx/.mwp-context.md --
-- docs/AGENTS.md --
secret words
-- services/api/.mwp-context.md --
`, "", nil, `
included L0/50 .mwp/config.toml
included L0/50 .mwp-context.md
directory apps/web member "web" "the site"
directory ctx context "ctx" ""
directory services/api context "api" "the api"
directory tools member "tools" ""
sub-application docs AGENTS.md "papers" ""
intent .mwp/intents/plan.md
pipeline .mwp/pipelines/ship.md
note .mwp/topology.md
`},
		{"D-11: an orientation map leaves other layers to focused ones", `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
layer: 2
---
ROOT
`, ".", nil, `
included L0/50 .mwp
excluded_by_kind L2/50 .mwp-context.md
`},
		{"D-21: a directory target lists sub-applications one level down, with excerpts under soft", `
-- .mwp --
description = "d"
[boundary]
mode = "soft"
[directories]
"a/one" = { role = "first" }
-- a/one/AGENTS.md --
# One

It does one thing.
-- a/two/deeper/AGENTS.md --
`, "a", nil, `
included L0/50 .mwp
sub-application a/one AGENTS.md "first" "It does one thing."
`},
		{"D-55: intents of workspace and member", `
-- .mwp --
description = "d"
members = ["m"]
-- .mwp.d/intents/w.md --
-- m/.mwp/intents/m.md --
-- m/x --
`, "m/x", nil, `
included L0/50 .mwp
empty L1/50 m/.mwp
intent .mwp.d/intents/w.md
intent m/.mwp/intents/m.md
`},
		{"D-03: the nearest .mwp decides even when it is no anchor", `
-- .mwp --
description = "outer"
-- in/.mwp -> ../.mwp --
-- in/x --
`, "in/x", nil, `
error config_invalid .mwp
`},
		{"R-017: nothing is guessed", `
-- readme --
`, "readme", nil, `
environment no_root
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := unpack(t, c.tree)
			q := mwp.Request{Target: c.target}
			if c.edit != nil {
				c.edit(&q)
			}
			got := summary(mapOf(t, mwp.Options{Dir: root}, q))
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), got); diff != "" {
				t.Errorf("map of %q (-want +got):\n%s", c.target, diff)
			}
		})
	}
}

// TestConservation is D-110: as many candidates come out as went in, each with
// one outcome, and what is included is in the layers exactly once.
func TestConservation(t *testing.T) {
	root := unpack(t, `
-- .mwp --
description = "d"
[budgets]
policy = "drop"
l2 = 1
-- a/.mwp-context.md --
---
scope: local
imports:
  - local: ./r.md
---
A
-- a/b/.mwp-context.md --
some words that cost more than one token
-- a/b/c/.mwp-context.md --
-- a/b/c/d/.mwp-context.yaml --
layer: 1
description: x
-- a/b/c/d/.mwp-context.md --
old
-- a/b/c/d/x --
`)
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/b/c/d/x"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
included L0/50 .mwp
excluded_by_scope L1/50 a/.mwp-context.md
included L1/50 a/b/c/d/.mwp-context.yaml
dropped_by_budget L2/50 a/b/.mwp-context.md
empty L2/50 a/b/c/.mwp-context.md
shadowed - a/b/c/d/.mwp-context.md
excluded_by_scope - a/r.md
warning budget_overrun 
warning stale_context_md a/b/c/d/.mwp-context.md
`, "\n")
	if diff := cmp.Diff(want, summary(m, nil)); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	included := map[string]int{}
	for _, r := range m.Trace {
		if r.Status == ir.Included {
			included[r.Source]++
			if r.ByteRange == nil {
				t.Errorf("%s is included and has no byte range", r.Source)
			}
		}
	}
	for _, e := range m.Layers.All() {
		included[e.Source]--
	}
	for s, n := range included {
		if n != 0 {
			t.Errorf("%s: trace and layers differ by %d", s, n)
		}
	}
}

// TestByteRanges is D-56: each range cuts exactly the body out of the Markdown.
func TestByteRanges(t *testing.T) {
	root := unpack(t, `
-- .mwp --
name = "n"
description = "d"
-- a/.mwp-context.md --
## L0 — Project identity

looks like a heading of the map
-- a/x --
`)
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/x"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := mwp.Open(mwp.Options{Dir: root}).Map(context.Background(), mwp.Request{Target: filepath.Join(root, "a/x"), Format: nodes.MarkdownText})
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, e := range m.Layers.All() {
		bodies[e.Source] = e.BodyMarkdown
	}
	for _, rec := range m.Trace {
		if rec.ByteRange == nil {
			continue
		}
		if got := string(r.Text[rec.ByteRange[0]:rec.ByteRange[1]]); got != bodies[rec.Source] {
			t.Errorf("%s: range %v holds %q, want %q", rec.Source, *rec.ByteRange, got, bodies[rec.Source])
		}
	}
}

func TestBudgetPolicies(t *testing.T) {
	const tree = `
-- .mwp --
description = "d"
[budgets]
l3 = 10
policy = "POLICY"
-- a/.mwp-context.md --
---
layer: 3
owners: [team-a]
priority: 10
---
one two three four five six seven eight
-- a/b/.mwp-context.md --
---
layer: 3
max_tokens: 2
---
one two three four five
-- a/b/x --
`
	for policy, want := range map[string]string{
		"report": "included L0/50 .mwp\nincluded L3/50 a/b/.mwp-context.md\nincluded L3/10 a/.mwp-context.md\nerror budget_overrun \nerror max_tokens_overrun a/b/.mwp-context.md\n",
		"error":  "included L0/50 .mwp\nincluded L3/50 a/b/.mwp-context.md\nincluded L3/10 a/.mwp-context.md\nerror budget_overrun \nerror max_tokens_overrun a/b/.mwp-context.md\n",
		"drop":   "included L0/50 .mwp\ndropped_by_budget L3/50 a/b/.mwp-context.md\nincluded L3/10 a/.mwp-context.md\nwarning max_tokens_overrun a/b/.mwp-context.md\n",
	} {
		root := unpack(t, strings.Replace(tree, "POLICY", policy, 1))
		m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/b/x"})
		if diff := cmp.Diff(want, summary(m, err)); diff != "" {
			t.Errorf("policy %s (-want +got):\n%s", policy, diff)
		}
		if policy == "report" {
			if msg := m.Warnings[0].Message; !strings.Contains(msg, "L3") || !strings.Contains(msg, "cap of 10") || !strings.Contains(msg, "owner: team-a") {
				t.Errorf("the overrun says %q; want layer, cap and owner", msg)
			}
		}
		q := mwp.Request{Target: "a/b/x"}
		q.Overrides.Caps[3] = nodes.CapOverride{Set: true}
		m, err = mapOf(t, mwp.Options{Dir: root}, q)
		if s := summary(m, err); strings.Contains(s, "budget_overrun") {
			t.Errorf("policy %s with --budget l3=none: %s", policy, s)
		}
	}
}

func TestLimits(t *testing.T) {
	imports := "---\nimports:\n" + strings.Repeat("  - local: x.md\n", 2001) + "---\nA\n"
	for name, c := range map[string]struct{ text, want string }{
		"a large file":     {strings.Repeat("word ", 9000), "included L0/50 .mwp\nincluded L1/50 a/.mwp-context.md\nerror budget_overrun \nwarning large_context a/.mwp-context.md\n"},
		"a too large file": {strings.Repeat("x", 1<<20+1), "error limit_exceeded a/.mwp-context.md\n"},
		"a long header":    {"---\n" + strings.Repeat("# x\n", 1<<14) + "layer: 1\n---\nA\n", "error limit_exceeded a/.mwp-context.md:1\n"},
		"many imports":     {imports, "error limit_exceeded a/.mwp-context.md\n"},
	} {
		root := unpack(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n")
		if err := os.WriteFile(filepath.Join(root, "a/.mwp-context.md"), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := summary(mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/x"}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLineEndsDoNotMatter is case 01 and fixture 5: the same text has the same
// hash with Windows line ends and a byte order mark.
func TestLineEndsDoNotMatter(t *testing.T) {
	text := "---\nlayer: 2\npriority: 70\n---\n# Rules\n\nkeep handlers small\n"
	hash := func(text string) string {
		root := unpack(t, "-- .mwp --\ndescription = \"d\"\n-- svc/x --\n")
		if err := os.WriteFile(filepath.Join(root, "svc/.mwp-context.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "svc/x"})
		if err != nil {
			t.Fatal(err)
		}
		return m.IRHash
	}
	want := hash(text)
	for name, other := range map[string]string{
		"CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "BOM": "\ufeff" + text, "mixed": strings.Replace(text, "# Rules\n\n", "# Rules\r\n\r\n", 1),
	} {
		if got := hash(other); got != want {
			t.Errorf("%s: ir_hash %s, want %s", name, got, want)
		}
	}
}

// TestRootsWithoutAnAnchor is D-04: a .git root and --root write nothing.
func TestRootsWithoutAnAnchor(t *testing.T) {
	root := unpack(t, `
-- main/.git --
gitdir: elsewhere
-- main/dev/.mwp-context.md --
---
layer: 1
---
M
-- main/dev/x --
`)
	main := filepath.Join(root, "main")
	for _, o := range []mwp.Options{{Dir: main}, {Dir: root, Root: "main"}} {
		r, err := mwp.Open(o).Map(context.Background(), mwp.Request{Target: filepath.Join(main, "dev/x")})
		if err != nil {
			t.Fatal(err)
		}
		if r.Root != main || r.Target != "dev/x" {
			t.Errorf("root %s, target %s", r.Root, r.Target)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	entries, _ := os.ReadDir(main)
	if len(entries) != 2 {
		t.Errorf("a map of a root without an anchor left %v", entries)
	}
	_, err := mwp.Open(mwp.Options{Dir: root, Root: "main/dev"}).Map(context.Background(), mwp.Request{Target: filepath.Join(main, "other")})
	if got := summary(nil, err); got != "environment target_outside_root\n" {
		t.Errorf("a target outside --root: %s", got)
	}
}

// TestExplicitRootBeatsAnchors is R-016: --root wins over a nearer anchor, which
// then is a sub-project.
func TestExplicitRootBeatsAnchors(t *testing.T) {
	root := unpack(t, `
-- top/.mwp-context.md --
TOP
-- top/in/.mwp --
description = "inner"
-- top/in/x --
`)
	m, err := mapOf(t, mwp.Options{Dir: root, Root: "top"}, mwp.Request{Target: "top/in/x"})
	want := "included L0/50 .mwp-context.md\nincluded L1/50 in/.mwp\n"
	if diff := cmp.Diff(want, summary(m, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnchorThroughALink is D-37 for anchors: one file is one entry.
func TestAnchorThroughALink(t *testing.T) {
	root := unpack(t, "-- .mwp --\ndescription = \"d\"\n-- a/up -> .. --\n-- a/x --\n")
	m, err := mapOf(t, mwp.Options{Dir: root, Root: root}, mwp.Request{Target: "a/up/a/x"})
	want := "included L0/50 .mwp\ndeduplicated L1/50 a/up/.mwp (by .mwp)\n"
	if diff := cmp.Diff(want, summary(m, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOrientationFromAMember is D-06: where one stands inside a workspace does
// not matter, unless one stands in a project that the workspace does not list.
func TestOrientationFromAMember(t *testing.T) {
	root := unpack(t, `
-- .mwp/config.toml --
description = "workspace"
members = ["in"]
-- in/.mwp/config.toml --
description = "listed"
-- in/deep/x --
-- out/.mwp/config.toml --
description = "alone"
`)
	for dir, want := range map[string]string{".": "workspace", "in": "workspace", "in/deep": "workspace", "out": "alone"} {
		for range 2 { // the second time from the slot
			r, err := mwp.Open(mwp.Options{Dir: filepath.Join(root, dir)}).Map(context.Background(), mwp.Request{Format: nodes.MarkdownText})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(r.Text), want+"\n") {
				t.Errorf("orientation from %s lacks %q:\n%s", dir, want, r.Text)
			}
			r.Record()
		}
	}
}
