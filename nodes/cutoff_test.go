package nodes_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// recomputed evaluates a rendered map over a store and returns the kinds of the
// nodes that were computed, sorted.
func recomputed(t *testing.T, root string, store cas.Store) []string {
	t.Helper()
	var mu sync.Mutex
	var kinds []string
	e := eval.New(eval.Config{
		World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: store,
		Observe: func(ev eval.Event) {
			if ev.Status != graph.Computed || ev.Task.Kind().Leaf {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			kinds = append(kinds, ev.Task.Kind().Name)
		},
	})
	if _, err := e.Eval(context.Background(), nodes.Rendered{Map: mapNode("a/b/x"), Format: nodes.MarkdownText}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(kinds)
	return kinds
}

// TestEarlyCutoffOfImports counts what an edit makes necessary. Resolution sees
// headers, paths and pins: an edit of a body stops below it.
func TestEarlyCutoffOfImports(t *testing.T) {
	const archive = `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md
  - local: two.md#Part
  - git: https://example.org/o/rules.git@v1
---
A
-- a/one.md --
---
imports:
  - local: three.md
---
1
-- a/two.md --
# Part
2
# Other
3
-- a/three.md --
3
-- a/b/.mwp-context.md --
---
imports:
  - local: four.md
---
B
-- a/b/four.md --
4
-- a/unrelated.md --
-- a/b/x --
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/r.md --
R
-- PINS --
https://example.org/o/rules.git@v1 tag $A
https://example.org/o/other.git@v1 tag $B
`
	above := []string{"budget", "map", "measure", "rendered", "tokens", "tokens"}
	// A file without a header is not worth a parse that others could share.
	bare := slices.Sorted(slices.Values(append([]string{"context"}, above...)))
	body := slices.Sorted(slices.Values(append([]string{"context", "parsed"}, above...)))
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"nothing", "", "", nil},
		{"a file that is not imported", "a/unrelated.md", "x\n", nil},
		{"the body of an imported file", "a/one.md", "---\nimports:\n  - local: three.md\n---\none\n", body},
		{"the body of one without a header", "a/three.md", "three\n", bare},
		{"the body of a context file that imports", "a/b/.mwp-context.md", "---\nimports:\n  - local: four.md\n---\nbody\n", body},
		{"a section that is imported", "a/two.md", "# Part\ntwo\n# Other\n3\n", slices.Sorted(slices.Values(append([]string{"sections"}, bare...)))},
		// The section's text is what it was, so the map is, and nothing is rendered.
		{"a section that is not", "a/two.md", "# Part\n2\n# Other\nthree\n", []string{"context", "map", "measure", "sections"}},
		{"a file that a section is imported from grows a line above", "a/two.md", "Before.\n\n# Part\n2\n# Other\n3\n", []string{"context", "map", "measure", "sections"}},
		// Another context file's header: its own closure and what is above both.
		{"the priority of an importer", "a/b/.mwp-context.md", "---\npriority: 60\nimports:\n  - local: four.md\n---\nB\n",
			[]string{"budget", "closure", "context", "imports", "layers", "map", "measure", "parsed", "rendered"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, archive)
			store := cas.NewMemory()
			if first := recomputed(t, root, store); !slices.Contains(first, "closure") || !slices.Contains(first, "sections") || !slices.Contains(first, "pin") {
				t.Fatalf("the first run computes %v", first)
			}
			if c.file != "" {
				write(t, root, c.file, c.text)
			}
			got := recomputed(t, root, store)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("recomputed (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("another module's pin", func(t *testing.T) {
		root := tree(t, archive)
		store := cas.NewMemory()
		recomputed(t, root, store)
		pinModules(t, root, []string{"https://example.org/o/rules.git@v1 tag " + commits["$A"], "https://example.org/o/other.git@v1 tag " + commits["$C"]})
		if diff := cmp.Diff([]string{"lock-file", "pin"}, recomputed(t, root, store)); diff != "" {
			t.Errorf("recomputed (-want +got):\n%s", diff)
		}
	})
	t.Run("a path that appears", func(t *testing.T) {
		root := tree(t, strings.Replace(archive, "-- a/b/four.md --\n4\n", "", 1))
		store := cas.NewMemory()
		recomputed(t, root, store)
		write(t, root, "a/b/four.md", "4\n")
		got := recomputed(t, root, store)
		if n := len(slices.DeleteFunc(slices.Clone(got), func(k string) bool { return k != "closure" })); n != 1 {
			t.Errorf("%d closures were computed for one path: %v", n, got)
		}
	})
}
