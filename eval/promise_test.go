package eval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// held is a node whose text is no part of its identity, and whose computation can
// be held up or made to fail by the test.
type held struct {
	Name string
	Text string
	gate chan struct{}
	fail *error
}

var heldKind = graph.Define(graph.Definition[string, held]{Name: "held", Version: 1, Order: 1,
	Params: func(c *cas.Coder, n *held) { c.String(&n.Name) }, Value: (*cas.Coder).String})

func (held) Kind() *graph.Kind { return heldKind }

func (n held) Compute(graph.Reader) (string, error) {
	if n.gate != nil {
		<-n.gate
	}
	switch {
	case n.fail != nil && *n.fail != nil:
		return "", *n.fail
	case n.Text == "":
		return "", graph.ErrUnbuildable
	}
	return n.Text, nil
}

// TestWhoHasTheTextIsAskedAgain: somebody who knows a node by its key only must
// not spoil it for somebody who has what it takes to compute it.
func TestWhoHasTheTextIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := eval.New(eval.Config{World: eval.NewWorld("/", nil), Kinds: append(graph.Leaves(), heldKind), Store: cas.NewMemory()})
		gate := make(chan struct{})
		errs := make(chan error, 1)
		go func() {
			_, err := e.Eval(context.Background(), held{Name: "n", gate: gate})
			errs <- err
		}()
		synctest.Wait() // the one without a text computes
		values := make(chan any, 1)
		go func() {
			v, err := e.Eval(context.Background(), held{Name: "n", Text: "text"})
			if err != nil {
				v = err
			}
			values <- v
		}()
		synctest.Wait() // the one with a text waits for it
		close(gate)
		if err := <-errs; !errors.Is(err, graph.ErrUnbuildable) {
			t.Errorf("without a text: %v", err)
		}
		if v := <-values; v != "text" {
			t.Errorf("with a text: %v", v)
		}
	})
}

// TestFailureIsTriedAgain: what failed once leaves no promise behind.
func TestFailureIsTriedAgain(t *testing.T) {
	b := newBench(t)
	e := b.evaluator(func(c *eval.Config) { c.Kinds = append(c.Kinds[:len(c.Kinds):len(c.Kinds)], heldKind) })
	fail := errors.New("the world failed")
	n := held{Name: "n", Text: "text", fail: &fail}
	if _, err := e.Eval(context.Background(), n); !errors.Is(err, fail) || err == nil {
		t.Fatalf("first: %v", err)
	}
	fail = nil
	if v, err := e.Eval(context.Background(), n); err != nil || v != "text" {
		t.Errorf("second: %v, %v", v, err)
	}
}

// TestAbsoluteLinksAreLookedAtEachTime: where an absolute target lies relative to
// the root changes when the root is moved, and nothing about the link does.
func TestAbsoluteLinksAreLookedAtEachTime(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	for link, target := range map[string]string{"absolute": filepath.Join(b.dir, "a"), "relative": "a"} {
		if err := os.Symlink(target, filepath.Join(b.dir, link)); err != nil {
			t.Fatal(err)
		}
		e := b.evaluator()
		n := graph.SymLink{Path: link}
		v, err := e.Eval(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := e.NewSlot(n, nil, nil, b.now, true)
		if !ok || len(s.Leaves) != 1 || s.Leaves[0].Trusted != (link == "relative") {
			t.Errorf("%s link: leaves %+v", link, s.Leaves)
		}
		if inside := v.(graph.LinkState).Inside; (inside == "a") != (link == "absolute") {
			t.Errorf("%s link: inside %q", link, inside)
		}
	}
}
