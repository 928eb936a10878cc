package eval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// words is a node that reads a file and keeps its words; upper depends on it and
// sees no change of white space: the smallest graph with an early cutoff.
type words struct{ Path string }

type upper struct{ Path string }

// both needs two uppers as a parallel group, then a probe.
type both struct{ A, B string }

var (
	wordsKind = graph.Define(graph.Definition[string, words]{Name: "words", Version: 1, Order: 1,
		Params: func(c *cas.Coder, n *words) { c.String(&n.Path) }, Value: (*cas.Coder).String})
	upperKind = graph.Define(graph.Definition[string, upper]{Name: "upper", Version: 1, Order: 2,
		Params: func(c *cas.Coder, n *upper) { c.String(&n.Path) }, Value: (*cas.Coder).String})
	bothKind = graph.Define(graph.Definition[string, both]{Name: "both", Version: 1, Order: 3,
		Params: func(c *cas.Coder, n *both) { c.String(&n.A); c.String(&n.B) }, Value: (*cas.Coder).String})
	panicKind = graph.Define(graph.Definition[string, panics]{Name: "panics", Version: 1, Order: 1,
		Params: func(c *cas.Coder, n *panics) { c.String(&n.Why) }, Value: (*cas.Coder).String})
	wrongKind = graph.Define(graph.Definition[string, wrong]{Name: "wrong", Version: 1, Order: 1,
		Params: func(c *cas.Coder, n *wrong) {}, Value: (*cas.Coder).String})
)

func (words) Kind() *graph.Kind { return wordsKind }
func (upper) Kind() *graph.Kind { return upperKind }
func (both) Kind() *graph.Kind  { return bothKind }

func (n words) Compute(r graph.Reader) (string, error) {
	f, err := graph.Need(r, graph.File{Path: n.Path})
	return strings.Join(strings.Fields(string(f.Bytes)), " "), err
}

func (n upper) Compute(r graph.Reader) (string, error) {
	w, err := graph.Need(r, words(n))
	return strings.ToUpper(w), err
}

func (n both) Compute(r graph.Reader) (string, error) {
	ws, err := graph.NeedAll(r, []upper{{n.A}, {n.B}})
	if err != nil {
		return "", err
	}
	p, err := graph.Need(r, graph.NewProbe(".", "flag"))
	if err != nil {
		return "", err
	}
	return ws[0] + "+" + ws[1] + "+" + p.Types[0].String(), nil
}

type panics struct{ Why string }

func (panics) Kind() *graph.Kind                      { return panicKind }
func (n panics) Compute(graph.Reader) (string, error) { panic(n.Why) }

// wrong needs a kind of a higher order.
type wrong struct{}

func (wrong) Kind() *graph.Kind                      { return wrongKind }
func (wrong) Compute(r graph.Reader) (string, error) { return graph.Need(r, upper{"a"}) }

var testKinds = append(graph.Leaves(), wordsKind, upperKind, bothKind, panicKind, wrongKind, wideKind)

// bench is a directory, a store and a clock.
type bench struct {
	t     *testing.T
	dir   string
	store cas.Store
	now   time.Time
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, dir: t.TempDir(), store: cas.NewMemory(), now: time.Now().Add(time.Hour)}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) evaluator(edit ...func(*eval.Config)) *eval.Evaluator {
	c := eval.Config{World: eval.NewWorld(b.dir, func() time.Time { return b.now }), Kinds: testKinds, Store: b.store}
	for _, e := range edit {
		e(&c)
	}
	return eval.New(c)
}

func (b *bench) eval(n graph.Task, edit ...func(*eval.Config)) (string, eval.Stats) {
	b.t.Helper()
	e := b.evaluator(edit...)
	v, err := e.Eval(context.Background(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	return v.(string), e.Stats()
}

func TestEarlyCutoff(t *testing.T) {
	b := newBench(t)
	b.write("a", "x  y")
	b.write("b", "z")
	if got, s := b.eval(both{"a", "b"}); got != "X Y+Z+absent" || s.Computed != 5 {
		t.Fatalf("first evaluation = %q, %+v", got, s)
	}
	if got, s := b.eval(both{"a", "b"}); got != "X Y+Z+absent" || s.Computed != 0 {
		t.Fatalf("unchanged evaluation = %q, %+v; want nothing computed", got, s)
	}
	b.write("a", "x y\n")
	if got, s := b.eval(both{"a", "b"}); got != "X Y+Z+absent" || s.Computed != 1 {
		t.Fatalf("after a change of white space = %q, %+v; want words computed and everything above cut off", got, s)
	}
	b.write("flag", "")
	if got, s := b.eval(both{"a", "b"}); got != "X Y+Z+file" || s.Computed != 1 {
		t.Fatalf("after a new file = %q, %+v; want only the node that probed for it", got, s)
	}
	os.Remove(filepath.Join(b.dir, "flag"))
	if got, s := b.eval(both{"a", "b"}); got != "X Y+Z+absent" || s.Computed != 0 {
		t.Fatalf("back at an earlier state = %q, %+v; want an older trace to hold", got, s)
	}
}

// TestVerificationStopsAtTheFirstMismatch: the second group must not be asked for
// when the first one changed, because it may exist only under the old answer.
func TestVerificationStopsAtTheFirstMismatch(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "y")
	b.eval(both{"a", "b"})
	b.write("a", "changed")
	var mu sync.Mutex
	var order []string
	b.eval(both{"a", "b"}, func(c *eval.Config) {
		c.Observe = func(e eval.Event) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, e.Task.Kind().Name)
		}
	})
	probe, computed := slices.Index(order, "probe"), slices.Index(order, "both")
	if probe < 0 || computed < 0 || probe > computed {
		t.Fatalf("order = %v", order)
	}
	// The probe is the computation's, so it comes after both words were settled.
	if i := slices.Index(order, "upper"); probe < i {
		t.Errorf("order = %v: the probe was read before the first group was known", order)
	}
}

// evicting is a store that has lost its values.
type evicting struct{ cas.Store }

func (evicting) Value(cas.Digest) ([]byte, error) { return nil, cas.ErrAbsent }

func TestEvictedValueIsComputedAgain(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("word ", graph.InlineBytes)
	b.write("a", long)
	want, _ := b.eval(upper{"a"})
	b.store = evicting{b.store}
	got, s := b.eval(upper{"a"})
	if got != want || s.Hits == 0 || s.Computed == 0 {
		t.Errorf("with values evicted: equal %v, %+v", got == want, s)
	}
}

func TestFreshIgnoresTheStoreAndWritesIt(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	if _, s := b.eval(upper{"a"}, func(c *eval.Config) { c.Fresh = true }); s.Computed != 2 {
		t.Errorf("first: %+v", s)
	}
	if _, s := b.eval(upper{"a"}, func(c *eval.Config) { c.Fresh = true }); s.Computed != 2 || s.Hits != 0 {
		t.Errorf("fresh over a full store: %+v, want 2 computed", s)
	}
	if _, s := b.eval(upper{"a"}); s.Computed != 0 {
		t.Errorf("after fresh: %+v, want hits", s)
	}
}

// lying is a store whose traces say something else than was recorded.
type lying struct{ cas.Store }

func (l lying) Actions(k cas.Key) [][]byte {
	var out [][]byte
	for _, b := range l.Store.Actions(k) {
		tr, err := graph.DecodeTrace(b, func(n string) *graph.Kind {
			i := slices.IndexFunc(testKinds, func(k *graph.Kind) bool { return k.Name == n })
			return testKinds[i]
		})
		if err != nil {
			panic(err)
		}
		v := "LIE"
		tr.Inline = upperKind.EncodeValue(v)
		tr.Value = cas.Sum(tr.Inline)
		out = append(out, graph.EncodeTrace(tr))
	}
	return out
}

func TestVerifyHitsFindsAWrongTrace(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.eval(upper{"a"})
	b.store = lying{b.store}
	got, s := b.eval(upper{"a"}, func(c *eval.Config) { c.VerifyHits = true })
	if got != "X" || s.Mismatches == 0 {
		t.Errorf("eval with a lying store = %q, %+v; want X and mismatches", got, s)
	}
}

// TestTraceOfAnotherOrderIsAMiss: what is recorded may come from a version of the
// program whose kinds had other orders. Only code that asks may panic about it.
func TestTraceOfAnotherOrderIsAMiss(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	foreign := graph.Trace{Groups: [][]graph.Dependency{{{Task: both{"a", "a"}}}}, HasInline: true}
	b.store.PutAction(graph.ID(upper{"a"}), graph.EncodeTrace(&foreign))
	if got, s := b.eval(upper{"a"}); got != "X" || s.Computed != 2 {
		t.Errorf("eval over a trace of another order = %q, %+v", got, s)
	}
}

func TestPanicReachesTheCallerAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	e := b.evaluator()
	for range 2 {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(v.(string), "boom") {
					t.Errorf("recovered %v, want the panic's value", v)
				}
			}()
			e.Eval(context.Background(), panics{"boom"})
			t.Error("Eval returned")
		}()
	}
}

func TestKindsInTheWrongOrderPanic(t *testing.T) {
	b := newBench(t)
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "wrong") || !strings.Contains(v.(string), "upper") {
			t.Errorf("recovered %v, want both kinds' names", v)
		}
	}()
	b.eval(wrong{})
}

func TestCancelledCallerOnlyStopsWaiting(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := b.evaluator()
	if _, err := e.Eval(ctx, upper{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Eval with a cancelled context = %v", err)
	}
	if v, err := e.Eval(context.Background(), upper{"a"}); err != nil || v != "X" {
		t.Errorf("the next caller got %v, %v", v, err)
	}
}

func TestDuplicateWorkIsJoined(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	e := b.evaluator()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if v, err := e.Eval(context.Background(), upper{"a"}); err != nil || v != "X" {
				t.Errorf("Eval = %v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if s := e.Stats(); s.Computed != 2 || s.Leaves != 1 {
		t.Errorf("50 callers: %+v, want 2 computed and 1 leaf", s)
	}
}

func TestTransientErrorsAreNotRecorded(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("SKIP: no /proc/self/mem, the one regular file that fails to be read even for root")
	}
	b := newBench(t)
	e := b.evaluator(func(c *eval.Config) { c.World = eval.NewWorld("/proc/self", time.Now) })
	_, err := e.Eval(context.Background(), upper{"mem"})
	var w *eval.WorldError
	if !errors.As(err, &w) || w.Path != "mem" {
		t.Fatalf("Eval of an unreadable file = %v, want a *WorldError that names it", err)
	}
	for _, n := range []graph.Task{upper{"mem"}, words{"mem"}} {
		if got := b.store.Actions(graph.ID(n)); len(got) != 0 {
			t.Errorf("%s was recorded after a failure", n.Kind().Name)
		}
	}
}
