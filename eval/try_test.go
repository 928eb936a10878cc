package eval_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// tolerant asks for two uppers and answers with what it gets; outer rests on it.
type (
	tolerant struct{ A, B string }
	outer    struct{ A, B string }
)

var (
	tolerantKind = graph.Define(graph.Definition[string, tolerant]{Name: "tolerant", Version: 1, Order: 3,
		Params: func(c *cas.Coder, n *tolerant) { c.String(&n.A); c.String(&n.B) }, Value: (*cas.Coder).String})
	outerKind = graph.Define(graph.Definition[string, outer]{Name: "outer", Version: 1, Order: 4,
		Params: func(c *cas.Coder, n *outer) { c.String(&n.A); c.String(&n.B) }, Value: (*cas.Coder).String})
)

func (tolerant) Kind() *graph.Kind { return tolerantKind }
func (outer) Kind() *graph.Kind    { return outerKind }

func (n tolerant) Compute(r graph.Reader) (string, error) {
	vs, errs := graph.TryAll(r, []upper{{n.A}, {n.B}})
	for i, err := range errs {
		if err != nil {
			vs[i] = "?"
		}
	}
	return vs[0] + vs[1], nil
}

func (n outer) Compute(r graph.Reader) (string, error) { return graph.Need(r, tolerant(n)) }

// TestToleratedFailuresAreNotRecorded: what rests on a failure that was answered is
// an answer for once: neither a record nor a slot may hold it, and what it read
// without a failure is recorded all the same.
func TestToleratedFailuresAreNotRecorded(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("SKIP: no /proc/self/mem, the one regular file that fails to be read even for root")
	}
	b := newBench(t)
	e := b.evaluator(func(c *eval.Config) {
		c.World = eval.NewWorld("/proc/self", time.Now)
		c.Kinds = append(c.Kinds, tolerantKind, outerKind)
	})
	n := outer{"gone", "mem"}
	v, err := e.Eval(context.Background(), n)
	if err != nil || v != "?" {
		t.Fatalf("Eval = %v, %v, want a question mark for the file that fails", v, err)
	}
	for _, n := range []graph.Task{n, tolerant(n), upper{"mem"}} {
		if got := b.store.Actions(graph.ID(n)); len(got) != 0 {
			t.Errorf("%s was recorded although it rests on a failure", n.Kind().Name)
		}
	}
	if got := b.store.Actions(graph.ID(upper{"gone"})); len(got) != 1 {
		t.Errorf("what did not fail has %d records, want 1", len(got))
	}
	if _, ok := e.NewSlot(n, nil, nil, time.Now(), true); ok {
		t.Error("a slot was made of it")
	}
	whole := outer{"gone", "nothing"}
	if _, err := e.Eval(context.Background(), whole); err != nil {
		t.Fatal(err)
	}
	if got := b.store.Actions(graph.ID(whole)); len(got) != 1 {
		t.Errorf("without a failure there are %d records, want 1", len(got))
	}
}
