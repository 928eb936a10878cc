package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Config says what an Evaluator works on.
type Config struct {
	World *World
	// Kinds are all kinds that may occur, leaves included: what lets a recorded
	// trace be read back.
	Kinds []*graph.Kind
	Store cas.Store
	// Fresh ignores what the store holds and still writes to it.
	Fresh bool
	// VerifyHits recomputes every hit and compares; differences are counted and
	// the recomputed value wins.
	VerifyHits bool
	// Observe, when set, is called once for every task, from any goroutine.
	Observe func(Event)
}

// Event reports one evaluated task.
type Event struct {
	Task   graph.Task
	ID     cas.Key
	Status graph.Status
	Value  cas.Digest
	// Trace is what the value was computed from; nil for a leaf.
	Trace *graph.Trace
	// Mismatch is set when VerifyHits found that a recorded value was wrong.
	Mismatch bool
}

// Stats counts an evaluation's tasks by status.
type Stats struct {
	Hits, Computed, Leaves, Mismatches int64
}

// Evaluator computes tasks. Each task is evaluated at most once in an
// evaluator's life, whoever asks and however many at a time. An evaluator sees
// one state of the world: make a new one to look again.
type Evaluator struct {
	c     Config
	kinds map[string]*graph.Kind

	hits, computed, leaves, mismatches atomic.Int64

	mu       sync.Mutex
	promises map[cas.Key]*promise // guarded by mu
}

// New returns an evaluator.
func New(c Config) *Evaluator {
	kinds := make(map[string]*graph.Kind, len(c.Kinds))
	for _, k := range c.Kinds {
		if kinds[k.Name] != nil {
			panic("eval.New: two kinds are named " + k.Name)
		}
		kinds[k.Name] = k
	}
	return &Evaluator{c: c, kinds: kinds, promises: map[cas.Key]*promise{}}
}

// Stats returns what was counted so far.
func (e *Evaluator) Stats() Stats {
	return Stats{e.hits.Load(), e.computed.Load(), e.leaves.Load(), e.mismatches.Load()}
}

// promise is one task's place in the table. done is closed when digest, trace,
// status and err are final; the value of a hit is loaded later, if anybody asks.
type promise struct {
	task graph.Task
	id   cas.Key
	done chan struct{}

	digest cas.Digest
	trace  *graph.Trace // nil for a leaf
	// needs are the promises of what the trace read, in its order.
	needs  []*promise
	leaf   *reading // nil for a node
	status graph.Status
	err    error

	valueMu  sync.Mutex
	value    any  // guarded by valueMu
	hasValue bool // guarded by valueMu
}

// Eval returns the value of a task. The work runs under the evaluator, so a
// caller whose context ends only stops waiting; what others wait for goes on. A
// panic of a computation is raised again here.
func (e *Evaluator) Eval(ctx context.Context, t graph.Task) (any, error) {
	type answer struct {
		value any
		err   error
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.err = &panicError{v, debug.Stack()}
			}
			out <- a
		}()
		a.value, a.err = e.valueOf(e.resolve(t), t)
	}()
	select {
	case a := <-out:
		var p *panicError
		if errors.As(a.err, &p) {
			panic(p.String())
		}
		return a.value, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// panicError carries a panic from the goroutine where it happened to the caller.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprint("panic: ", p.value) }

func (p *panicError) String() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// resolve evaluates a task, or waits for whoever is doing so, up to its digest.
// Waiting cannot deadlock: a task waits only for kinds before its own.
func (e *Evaluator) resolve(t graph.Task) (p *promise) {
	id := graph.ID(t)
	e.mu.Lock()
	for {
		var ok bool
		if p, ok = e.promises[id]; !ok {
			break
		}
		e.mu.Unlock()
		<-p.done
		if !errors.Is(p.err, graph.ErrUnbuildable) {
			return p
		}
		// Another asked with less in its hands, from a trace; this task may do better.
		e.mu.Lock()
	}
	p = &promise{task: t, id: id, done: make(chan struct{})}
	e.promises[id] = p
	e.mu.Unlock()

	defer func() {
		if v := recover(); v != nil {
			p.err = &panicError{v, debug.Stack()}
		}
		if p.err != nil {
			// Nothing is left behind: the next to ask tries again.
			p.status = graph.Failed
			e.mu.Lock()
			delete(e.promises, id)
			e.mu.Unlock()
		}
		close(p.done)
		e.report(p, false)
	}()
	if t.Kind().Leaf {
		p.leaf, p.err = e.c.World.read(t)
		if p.err == nil {
			p.digest, p.value, p.hasValue, p.status = p.leaf.digest, p.leaf.value, true, graph.Read
		}
		return p
	}
	if !e.c.Fresh && e.recall(p) {
		p.status = graph.Hit
		if e.c.VerifyHits {
			e.verifyHit(p)
		}
		return p
	}
	e.compute(p)
	return p
}

func (e *Evaluator) report(p *promise, mismatch bool) {
	switch {
	case mismatch:
		e.mismatches.Add(1)
	case p.status == graph.Hit:
		e.hits.Add(1)
	case p.status == graph.Computed:
		e.computed.Add(1)
	case p.status == graph.Read:
		e.leaves.Add(1)
	}
	if e.c.Observe != nil {
		e.c.Observe(Event{Task: p.task, ID: p.id, Status: p.status, Value: p.digest, Trace: p.trace, Mismatch: mismatch})
	}
}

// recall looks for a recorded trace that still holds, newest first.
func (e *Evaluator) recall(p *promise) bool {
	for _, b := range e.c.Store.Actions(p.id) {
		t, err := graph.DecodeTrace(b, func(name string) *graph.Kind { return e.kinds[name] })
		if err != nil {
			continue
		}
		if needs, ok := e.holds(p.task, t); ok {
			p.trace, p.digest, p.needs = t, t.Value, needs
			return true
		}
	}
	return false
}

// holds reports whether everything a trace read still has the same digest. The
// groups are tried in recorded order, and nothing after the first mismatch is
// asked for: what a computation would not have read may no longer exist. An
// equal digest of a recomputed dependency is the early cutoff.
func (e *Evaluator) holds(t graph.Task, tr *graph.Trace) (needs []*promise, ok bool) {
	for _, g := range tr.Groups {
		tasks := make([]graph.Task, len(g))
		for i, d := range g {
			if !t.Kind().MayNeed(t, d.Task) {
				// Another version of the program recorded this, with other orders.
				return nil, false
			}
			tasks[i] = d.Task
		}
		for i, p := range e.resolveAll(tasks) {
			// A dependency that fails or cannot be rebuilt only means that the node is
			// computed; if it is still needed, that finds the failure again.
			if p.err != nil || p.digest != g[i].Value {
				return nil, false
			}
			needs = append(needs, p)
		}
	}
	return needs, true
}

// resolveAll resolves a parallel group, in order.
func (e *Evaluator) resolveAll(tasks []graph.Task) []*promise {
	ps := make([]*promise, len(tasks))
	workers := min(len(tasks), 2*runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i, t := range tasks {
			ps[i] = e.resolve(t)
		}
		return ps
	}
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(tasks) {
				return
			}
			ps[i] = e.resolve(tasks[i])
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return ps
}

// recorder is the Reader that a computation sees.
type recorder struct {
	e      *Evaluator
	task   graph.Task
	groups [][]graph.Dependency
	needs  []*promise
}

func (r *recorder) Read(group []graph.Task) ([]any, error) {
	k := r.task.Kind()
	for _, t := range group {
		k.CheckOrder(r.task, t)
	}
	deps := make([]graph.Dependency, len(group))
	values := make([]any, len(group))
	for i, p := range r.e.resolveAll(group) {
		v, err := r.e.valueOf(p, group[i])
		if err != nil {
			return nil, err
		}
		deps[i] = graph.Dependency{Task: group[i], Value: p.digest}
		values[i] = v
		r.needs = append(r.needs, p)
	}
	r.groups = append(r.groups, deps)
	return values, nil
}

// compute runs a node's computation and records it.
func (e *Evaluator) compute(p *promise) {
	v, t, needs, err := e.run(p.task)
	if err != nil {
		p.err = err
		return
	}
	p.status, p.trace, p.digest, p.needs = graph.Computed, t, t.Value, needs
	p.value, p.hasValue = v, true
	e.c.Store.PutAction(p.id, graph.EncodeTrace(t))
}

// run computes a task's value, its trace and what it needed, and hands the value to
// the store.
func (e *Evaluator) run(task graph.Task) (any, *graph.Trace, []*promise, error) {
	r := &recorder{e: e, task: task}
	k := task.Kind()
	v, err := k.Compute(task, r)
	if err != nil {
		return nil, nil, nil, err
	}
	b := k.EncodeValue(v)
	t := &graph.Trace{Groups: r.groups, Value: cas.Sum(b)}
	if len(b) <= graph.InlineBytes {
		t.Inline, t.HasInline = b, true
	} else {
		e.c.Store.PutValue(t.Value, b)
	}
	return v, t, r.needs, nil
}

// errNotAFunction is raised when a node computed twice from equal inputs gives
// two values: its kind reads something it did not ask for.
var errNotAFunction = errors.New("computed twice from equal inputs and got two values")

// valueOf returns a resolved task's value. The value of a hit may have been
// evicted or damaged; then it is computed after all, and must come out the same.
// The computation starts from the asker's t, which may carry what p's task,
// rebuilt from a trace, does not.
func (e *Evaluator) valueOf(p *promise, t graph.Task) (any, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.valueMu.Lock()
	defer p.valueMu.Unlock()
	if p.hasValue {
		return p.value, nil
	}
	k := p.task.Kind()
	b := p.trace.Inline
	ok := p.trace.HasInline && cas.Sum(b) == p.trace.Value
	if !ok {
		var err error
		b, err = e.c.Store.Value(p.trace.Value)
		ok = err == nil
	}
	if ok {
		if v, err := k.DecodeValue(b); err == nil {
			p.value, p.hasValue = v, true
			return v, nil
		}
	}
	v, tr, _, err := e.run(t)
	if err != nil {
		return nil, err
	}
	e.computed.Add(1)
	if tr.Value != p.trace.Value {
		return nil, fmt.Errorf("%s: %w", k.Name, errNotAFunction)
	}
	p.value, p.hasValue = v, true
	return v, nil
}

// verifyHit recomputes a hit and compares (--verify-cache).
func (e *Evaluator) verifyHit(p *promise) {
	v, t, needs, err := e.run(p.task)
	if err != nil {
		p.err = err
		return
	}
	if t.Value != p.digest {
		e.report(p, true)
		p.digest, p.trace, p.status, p.needs = t.Value, t, graph.Computed, needs
		e.c.Store.PutAction(p.id, graph.EncodeTrace(t))
	}
	p.value, p.hasValue = v, true
}

// Provenance returns the graph that an evaluated task rests on, dependencies
// first, the task last. It is nil for a task that was not evaluated.
func (e *Evaluator) Provenance(t graph.Task) graph.Provenance {
	ps := e.beneath(t)
	if ps == nil {
		return nil
	}
	prov := make(graph.Provenance, len(ps))
	index := make(map[*promise]int, len(ps))
	for i, p := range ps {
		index[p] = i
		prov[i] = graph.Step{Task: p.task, Value: p.digest, Status: p.status}
		for _, n := range p.needs {
			prov[i].Needs = append(prov[i].Needs, index[n])
		}
	}
	return prov
}

// beneath returns the promises that an evaluated task rests on, dependencies first,
// its own last; nil for a task that was not evaluated.
func (e *Evaluator) beneath(t graph.Task) []*promise {
	e.mu.Lock()
	top := e.promises[graph.ID(t)]
	e.mu.Unlock()
	if top == nil {
		return nil
	}
	<-top.done
	var ps []*promise
	seen := map[*promise]bool{}
	var visit func(p *promise)
	visit = func(p *promise) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, n := range p.needs {
			visit(n)
		}
		ps = append(ps, p)
	}
	visit(top)
	return ps
}
