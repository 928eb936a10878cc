package mwp_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// TestValuesAreNotChanged: values are shared between everybody who asks, so no
// kind may change what it was given. After an evaluation each value still encodes
// to the digest that was recorded for it.
func TestValuesAreNotChanged(t *testing.T) {
	broken := unpack(t, `
-- .mwp --
description = "d"
members = ["m"]
nmae = "typo"
[boundary]
mode = "soft"
-- .git/x --
-- a/AGENTS.md --
-- m/.mwp --
nmae = "typo"
-- m/.mwp-context.md --
---
lair: 2
imports:
  - local: x.md
---
M
-- m/sub/.mwp-context.md --
old
-- m/sub/.mwp-context.yaml --
description: new
-- m/sub/x --
`)
	for _, c := range []struct{ root, target string }{
		{broken, "."}, {broken, "m/sub/x"}, {broken, "m"}, {broken, "a"},
		{"examples/polyglot", "."}, {"examples/polyglot", "backend/src/api/routes.ts"},
	} {
		root, err := filepath.Abs(c.root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(root); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var events []eval.Event
		e := eval.New(eval.Config{
			World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory(),
			Observe: func(ev eval.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, ev)
			},
		})
		var n nodes.Rendered
		n.Format = nodes.ExplainText
		n.Layers = nodes.Layers{Target: c.target, Explicit: true, Orientation: c.target == "."}
		n.From = c.target
		if _, err := e.Eval(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			v, err := e.Eval(context.Background(), ev.Task)
			if err != nil {
				t.Fatal(err)
			}
			if got := cas.Sum(ev.Task.Kind().EncodeValue(v)); got != ev.Value {
				t.Errorf("%s: the value of %s %v was changed after it was computed", c.target, ev.Task.Kind().Name, graph.ID(ev.Task))
			}
		}
		if len(events) < 10 {
			t.Errorf("%s: only %d events", c.target, len(events))
		}
	}
}
