package eval

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
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
	// helping is how many goroutines work beside those that ask.
	helping atomic.Int64

	tables [tables]table
	seed   maphash.Seed
}

// tables is in how many parts the promises are kept, so that processors seldom wait
// for each other.
const tables = 32

// table is a part of the promises.
type table struct {
	mu       sync.Mutex
	promises map[cas.Key]*promise // guarded by mu
	// tasks leads from the hash of a task in memory to its promise without a key, which
	// takes ten times as long to make; guarded by mu. In a walk of a tree a task is asked
	// for three times on average. It holds only what succeeded, and of two tasks with one
	// hash the first.
	tasks map[uint64]*promise
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
	return &Evaluator{c: c, kinds: kinds, seed: maphash.MakeSeed()}
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
	// passing is set when the value rests on a failure that was answered instead of
	// passed on; it stands for this evaluation and is never recorded.
	passing bool
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
		if a.value, a.err = e.valueOf(e.resolve(t), t); errors.Is(a.err, errOutdated) {
			e.forget()
			a.value, a.err = e.valueOf(e.resolve(t), t)
		}
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

// forget lets everything be looked at anew: something that was remembered from a slot
// has changed since that was checked.
func (e *Evaluator) forget() {
	e.c.World.forget()
	for i := range e.tables {
		at := &e.tables[i]
		at.mu.Lock()
		at.promises, at.tasks = nil, nil
		at.mu.Unlock()
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
	hash := maphash.Comparable(e.seed, t)
	if p := e.settled(t, hash); p != nil {
		return p
	}
	id := graph.ID(t)
	p, mine := e.claim(id, t)
	if !mine {
		return p
	}
	defer func() {
		if v := recover(); v != nil {
			p.err = &panicError{v, debug.Stack()}
		}
		if p.err != nil {
			// Nothing is left behind: the next to ask tries again.
			p.status = graph.Failed
			at := e.table(id)
			at.mu.Lock()
			if at.promises[id] == p {
				delete(at.promises, id)
			}
			at.mu.Unlock()
		} else {
			e.settle(p, hash)
		}
		close(p.done)
		e.report(p, false)
	}()
	if t.Kind().Leaf {
		p.leaf, p.err = e.c.World.recall(t)
		if p.err == nil {
			p.digest, p.value, p.hasValue, p.status = p.leaf.digest, p.leaf.value, !p.leaf.remembered, graph.Read
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

// claim returns the promise of an ID, waiting for whoever else has it in hand. mine is
// true for a new one, which the caller has to keep.
func (e *Evaluator) claim(id cas.Key, t graph.Task) (p *promise, mine bool) {
	at := e.table(id)
	at.mu.Lock()
	for {
		p := at.promises[id]
		if p == nil {
			break
		}
		at.mu.Unlock()
		<-p.done
		if !errors.Is(p.err, graph.ErrUnbuildable) {
			return p, false
		}
		// Another asked with less in its hands, from a trace; this task may do better.
		at.mu.Lock()
	}
	p = &promise{task: t, id: id, done: make(chan struct{})}
	if at.promises == nil {
		at.promises = map[cas.Key]*promise{}
	}
	at.promises[id] = p
	at.mu.Unlock()
	return p, true
}

func (e *Evaluator) table(id cas.Key) *table { return &e.tables[id[0]%tables] }

// settled returns the promise of an equal task that was evaluated with success, nil
// when none is found that fast. A task that carries something beside its parameters is
// equal only to itself.
func (e *Evaluator) settled(t graph.Task, hash uint64) *promise {
	at := &e.tables[hash%tables]
	at.mu.Lock()
	p := at.tasks[hash]
	at.mu.Unlock()
	if p != nil && p.task == t {
		return p
	}
	return nil
}

func (e *Evaluator) settle(p *promise, hash uint64) {
	at := &e.tables[hash%tables]
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.tasks == nil {
		at.tasks = map[uint64]*promise{}
	}
	if at.tasks[hash] == nil {
		at.tasks[hash] = p
	}
}

// promised returns the promise of a task, finished or not, nil when there is none.
func (e *Evaluator) promised(t graph.Task) *promise {
	id := graph.ID(t)
	at := e.table(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.promises[id]
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

// resolveAll resolves a parallel group, in order. Others help while there are few who
// do: beyond that, a goroutine for each directory of a tree costs more than it saves.
func (e *Evaluator) resolveAll(tasks []graph.Task) []*promise {
	ps := make([]*promise, len(tasks))
	if len(tasks) == 1 {
		ps[0] = e.resolve(tasks[0])
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
	for range len(tasks) - 1 {
		if !e.help(&wg, work) {
			break
		}
	}
	work()
	wg.Wait()
	return ps
}

// help starts a goroutine unless enough are at work.
func (e *Evaluator) help(wg *sync.WaitGroup, work func()) bool {
	if e.helping.Add(1) > int64(2*runtime.GOMAXPROCS(0)) {
		e.helping.Add(-1)
		return false
	}
	wg.Go(func() {
		defer e.helping.Add(-1)
		work()
	})
	return true
}

// recorder is the Reader that a computation sees.
type recorder struct {
	e      *Evaluator
	task   graph.Task
	groups [][]graph.Dependency
	needs  []*promise
	// passing is the promise's.
	passing bool
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
		r.passing = r.passing || p.passing
	}
	r.groups = append(r.groups, deps)
	return values, nil
}

func (r *recorder) Try(group []graph.Task) ([]any, []error) {
	k := r.task.Kind()
	for _, t := range group {
		k.CheckOrder(r.task, t)
	}
	var deps []graph.Dependency
	var errs []error
	values := make([]any, len(group))
	for i, p := range r.e.resolveAll(group) {
		v, err := r.e.valueOf(p, group[i])
		if err != nil {
			if errs == nil {
				errs = make([]error, len(group))
			}
			errs[i], r.passing = err, true
			continue
		}
		deps = append(deps, graph.Dependency{Task: group[i], Value: p.digest})
		values[i] = v
		r.needs = append(r.needs, p)
		r.passing = r.passing || p.passing
	}
	r.groups = append(r.groups, deps)
	return values, errs
}

// compute runs a node's computation and records it.
func (e *Evaluator) compute(p *promise) {
	v, t, r, err := e.run(p.task)
	if err != nil {
		p.err = err
		return
	}
	p.status, p.trace, p.digest, p.needs, p.passing = graph.Computed, t, t.Value, r.needs, r.passing
	p.value, p.hasValue = v, true
	if !p.passing {
		e.c.Store.PutAction(p.id, graph.EncodeTrace(t))
	}
}

// run computes a task's value and its trace, hands the value to the store, and
// returns what the computation read.
func (e *Evaluator) run(task graph.Task) (any, *graph.Trace, *recorder, error) {
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
	return v, t, r, nil
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
	if p.leaf != nil {
		v, err := e.c.World.value(p.task, p.leaf)
		if err == nil {
			p.value, p.hasValue = v, true
		}
		return v, err
	}
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
	v, t, r, err := e.run(p.task)
	if err != nil {
		p.err = err
		return
	}
	if t.Value != p.digest {
		e.report(p, true)
		p.digest, p.trace, p.status, p.needs, p.passing = t.Value, t, graph.Computed, r.needs, r.passing
		if !p.passing {
			e.c.Store.PutAction(p.id, graph.EncodeTrace(t))
		}
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
	top := e.promised(t)
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
