package mwp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// overview asks for the overview from a directory and records it.
func overview(t *testing.T, dir string) *mwp.Result {
	t.Helper()
	o := mwp.Options{Dir: dir, Now: func() time.Time { return time.Now().Add(time.Hour) }}
	r, err := mwp.Open(o).Map(context.Background(), mwp.Request{Format: nodes.MarkdownText})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Record(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOrientationDependsOnWhereItIsAsked is D-06 with a warm cache: a slot of the
// workspace is no answer for a project that the workspace does not list, nor for
// one that has got a nearer workspace since.
func TestOrientationDependsOnWhereItIsAsked(t *testing.T) {
	root := unpack(t, `
-- .mwp/config.toml --
description = "outer"
members = ["x/mid/in"]
-- out/.mwp/config.toml --
description = "alone"
-- x/mid/in/.mwp/config.toml --
description = "member"
`)
	says := func(dir, want string) {
		t.Helper()
		if r := overview(t, filepath.Join(root, dir)); !strings.Contains(string(r.Text), "\n"+want+"\n") {
			t.Errorf("the overview from %s (served %v) lacks %q:\n%s", dir, r.Served, want, r.Text)
		}
	}
	says(".", "outer")
	says("out", "alone")
	says("x/mid/in", "outer")
	if r := overview(t, filepath.Join(root, "x/mid/in")); !r.Served {
		t.Error("the overview from a member is not served the second time")
	}
	if err := os.WriteFile(filepath.Join(root, "x/mid/.mwp"), []byte("description = \"nearer\"\nmembers = [\"in\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	says("x/mid/in", "nearer")
}

// TestDropOrder is D-38: lowest priority first, among equals the deepest, L0 never.
func TestDropOrder(t *testing.T) {
	root := unpack(t, `
-- .mwp --
description = "a description that has more tokens than the cap allows"
[budgets]
l0 = 2
l2 = 9
policy = "drop"
-- a/.mwp-context.md --
---
layer: 2
---
one two three four
-- a/b/.mwp-context.md --
---
layer: 2
---
one two three four
-- a/b/c/.mwp-context.md --
---
layer: 2
priority: 60
---
one two three four
-- a/b/c/x --
`)
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/b/c/x"})
	// Each body has five tokens: only one fits under nine.
	want := strings.TrimLeft(`
included L0/50 .mwp
included L2/60 a/b/c/.mwp-context.md
dropped_by_budget L2/50 a/.mwp-context.md
dropped_by_budget L2/50 a/b/.mwp-context.md
error budget_overrun 
warning budget_overrun 
`, "\n")
	if diff := cmp.Diff(want, summary(m, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	q := mwp.Request{Target: "a/b/c/x"}
	q.Overrides.Caps[2] = nodes.CapOverride{Set: true, Cap: nodes.Cap{Limited: true, Tokens: 10}}
	m, err = mapOf(t, mwp.Options{Dir: root}, q)
	if got := summary(m, err); !strings.Contains(got, "included L2/50 a/.mwp-context.md\ndropped_by_budget L2/50 a/b/.mwp-context.md") {
		t.Errorf("with room for two of three the deepest of equal priority has to go:\n%s", got)
	}
}

// TestMaxTokensAboveTheLayerCap is D-40: it has no effect.
func TestMaxTokensAboveTheLayerCap(t *testing.T) {
	root := unpack(t, "-- .mwp --\ndescription = \"d\"\n[budgets]\nl1 = 3\n-- a/.mwp-context.md --\n---\nmax_tokens: 4\n---\none two three four five six\n-- a/x --\n")
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: "a/x"})
	if got := summary(m, err); strings.Contains(got, "max_tokens_overrun") || !strings.Contains(got, "budget_overrun") {
		t.Errorf("a cap of 3 and max_tokens of 4:\n%s", got)
	}
}

// TestMemberConfiguration is D-08: key by key, nearest wins, and policy "error" is
// what --strict is.
func TestMemberConfiguration(t *testing.T) {
	root := unpack(t, `
-- .mwp --
members = ["m"]
[budgets]
l1 = 100
l2 = 200
[tokens]
counter = "approx/1"
-- m/.mwp --
[budgets]
l1 = 7
policy = "error"
-- m/x --
-- y --
`)
	ask := func(target string) (l1, l2 int, counter string, strict bool) {
		t.Helper()
		m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		r, err := mwp.Open(mwp.Options{Dir: root}).Map(context.Background(), mwp.Request{Target: filepath.Join(root, target)})
		if err != nil {
			t.Fatal(err)
		}
		return *m.Budgets.L1, *m.Budgets.L2, m.TokenCounter, r.Strict
	}
	if l1, l2, c, strict := ask("m/x"); l1 != 7 || l2 != 200 || c != "approx/1" || !strict {
		t.Errorf("in the member: l1 %d, l2 %d, %s, strict %v", l1, l2, c, strict)
	}
	if l1, l2, c, strict := ask("y"); l1 != 100 || l2 != 200 || c != "approx/1" || strict {
		t.Errorf("beside it: l1 %d, l2 %d, %s, strict %v", l1, l2, c, strict)
	}
}

// TestNotesBelongToTheOverview is D-94: a focused map names no project notes.
func TestNotesBelongToTheOverview(t *testing.T) {
	root := unpack(t, "-- .mwp/config.toml --\ndescription = \"d\"\n-- .mwp/topology.md --\n-- a/x --\n")
	for target, want := range map[string]int{"": 1, "a/x": 0} {
		m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: target})
		if err != nil || len(m.Notes) != want {
			t.Errorf("map of %q: notes %v, %v, want %d", target, m.Notes, err, want)
		}
	}
}

// TestNewKindVersionIsAMiss: after a kind's version was raised, neither a slot nor
// a trace of the old code answers.
func TestNewKindVersionIsAMiss(t *testing.T) {
	root := unpack(t, "-- .mwp --\ndescription = \"d\"\n-- a/.mwp-context.md --\nA\n")
	// The first run makes .mwp.d, which the listing of the root shows to the second.
	overview(t, root)
	overview(t, root)
	if r := overview(t, root); !r.Served {
		t.Fatal("not served without a change")
	}
	for _, k := range nodes.Kinds() {
		if k.Name == "layers" {
			k.Version++
			defer func() { k.Version-- }()
		}
	}
	if r := overview(t, root); r.Served || r.Stats.Computed < 3 {
		t.Errorf("after a new version of one kind: served %v, %+v", r.Served, r.Stats)
	}
}
