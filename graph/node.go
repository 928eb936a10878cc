// Package graph defines what a computation is made of: kinds, nodes, leaves,
// values, traces and provenance. It says how a node is identified and how a
// node may ask for others, and nothing about when or in which order that
// happens: that is the evaluator's work.
//
// It does no I/O and starts no goroutine, so a node that only holds this
// package in its hands cannot reach the world except through its Reader.
package graph

import (
	"errors"
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Task is a node or leaf of any value type: what traces hold and schedulers move.
type Task interface {
	// Kind returns the kind whose definition covers this task's dynamic type.
	Kind() *Kind
}

// Node is a computation with a value of type V. A node is a small value struct
// whose fields are its parameters; two nodes with equal parameters are the same
// node.
type Node[V any] interface {
	Task
	// Compute returns the node's value as a function of its parameters and of what
	// it reads. It may keep nothing, read nothing else, and must not change what it
	// is given: values are shared. An error means that the outside world failed
	// (unreadable file, cancelled); whatever is wrong with the inputs themselves is
	// part of the value.
	Compute(Reader) (V, error)
}

// ErrUnbuildable is what Compute returns for a node that was rebuilt from a
// trace without something its parameters only name by digest. It means that
// whoever recorded it has to be computed again.
var ErrUnbuildable = errors.New("the node cannot be rebuilt from its key alone")

// Reader is a node's only access to other nodes and leaves.
type Reader interface {
	// Read returns the values of a group of tasks, in the group's order. The
	// members are independent and may be evaluated at the same time; successive
	// calls are a series, of which a later one may depend on an earlier answer.
	Read(group []Task) ([]any, error)
	// Try is Read for a group whose members may fail one by one. An error is a failure
	// of the world (a file that may not be read), which no record can hold: whatever
	// rests on an answer with one is computed again each time.
	Try(group []Task) ([]any, []error)
}

// Need returns the value of one dependency.
func Need[V any](r Reader, n Node[V]) (V, error) {
	vs, err := r.Read([]Task{n})
	if err != nil {
		var zero V
		return zero, err
	}
	return vs[0].(V), nil
}

// NeedAll returns the values of a parallel group in the order of ns.
func NeedAll[V any, N Node[V]](r Reader, ns []N) ([]V, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	group := make([]Task, len(ns))
	for i, n := range ns {
		group[i] = n
	}
	vs, err := r.Read(group)
	if err != nil {
		return nil, err
	}
	out := make([]V, len(vs))
	for i, v := range vs {
		out[i] = v.(V)
	}
	return out, nil
}

// TryAll returns what NeedAll does, and for each node that failed its error in place
// of a value. The errors are nil when none did.
func TryAll[V any, N Node[V]](r Reader, ns []N) ([]V, []error) {
	if len(ns) == 0 {
		return nil, nil
	}
	group := make([]Task, len(ns))
	for i, n := range ns {
		group[i] = n
	}
	vs, errs := r.Try(group)
	out := make([]V, len(vs))
	for i, v := range vs {
		if errs == nil || errs[i] == nil {
			out[i] = v.(V)
		}
	}
	return out, errs
}

// Kind is the definition of one sort of node: its name, its version and how its
// parameters and values are written. Make one with Define or DefineLeaf.
type Kind struct {
	// Name identifies the kind in keys, traces and explanations.
	Name string
	// Version is part of every key of this kind. Raise it when the same inputs give
	// another result.
	Version int
	// Order rules out cycles: a node may need only kinds of a smaller order, or its
	// own kind at a greater Depth. Leaves have order 0.
	Order int
	// Leaf is true for facts about the world, which only the evaluator reads.
	Leaf bool

	ops operations
}

// operations are what a kind does with tasks and values of its own types.
type operations interface {
	encodeParams(Task) []byte
	decodeParams([]byte) (Task, error)
	encodeValue(any) []byte
	decodeValue([]byte) (any, error)
	compute(Task, Reader) (any, error)
	depth(Task) (int, bool)
}

// Definition describes a kind of node N with values V.
type Definition[V any, N Node[V]] struct {
	Name    string
	Version int
	Order   int
	// Params writes and reads the node's parameters: its identity.
	Params func(*cas.Coder, *N)
	// Value writes and reads a value canonically.
	Value func(*cas.Coder, *V)
	// Depth, for kinds that need their own kind, grows strictly from a node to the
	// nodes of its kind that it needs (a path's number of segments, say).
	Depth func(N) int
}

// Define returns the kind that d describes. It panics on an order below 1,
// which is the leaves'. It runs at every start, so it does next to nothing.
func Define[V any, N Node[V]](d Definition[V, N]) *Kind {
	if d.Order < 1 {
		panic("graph.Define: kind " + d.Name + " has no order")
	}
	return &Kind{Name: d.Name, Version: d.Version, Order: d.Order, ops: &d}
}

func (d *Definition[V, N]) encodeParams(t Task) []byte {
	n := t.(N)
	return cas.EncodeValue(&n, d.Params)
}

func (d *Definition[V, N]) decodeParams(b []byte) (Task, error) {
	n, err := cas.DecodeValue(b, d.Params)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (d *Definition[V, N]) encodeValue(v any) []byte {
	x := v.(V)
	return cas.EncodeValue(&x, d.Value)
}

func (d *Definition[V, N]) decodeValue(b []byte) (any, error) {
	x, err := cas.DecodeValue(b, d.Value)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (d *Definition[V, N]) compute(t Task, r Reader) (any, error) { return t.(N).Compute(r) }

func (d *Definition[V, N]) depth(t Task) (int, bool) {
	if d.Depth == nil {
		return 0, false
	}
	return d.Depth(t.(N)), true
}

// EncodeParams returns a task's parameters in canonical encoding.
func (k *Kind) EncodeParams(t Task) []byte { return k.ops.encodeParams(t) }

// DecodeParams rebuilds a task from what EncodeParams returned. It fails on
// anything else.
func (k *Kind) DecodeParams(b []byte) (Task, error) { return k.ops.decodeParams(b) }

// EncodeValue returns a value of this kind in canonical encoding; its digest is
// the value's identity.
func (k *Kind) EncodeValue(v any) []byte { return k.ops.encodeValue(v) }

// DecodeValue is the inverse of EncodeValue. It fails on anything else.
func (k *Kind) DecodeValue(b []byte) (any, error) { return k.ops.decodeValue(b) }

// Compute runs the task's computation. It panics for a leaf: leaves are read,
// not computed.
func (k *Kind) Compute(t Task, r Reader) (any, error) {
	if k.Leaf {
		panic("graph.Kind.Compute: " + k.Name + " is a leaf")
	}
	return k.ops.compute(t, r)
}

// MayNeed reports whether a node of kind k may need dep: whether the two kinds'
// orders rule out a cycle. t is the node that asks.
func (k *Kind) MayNeed(t, dep Task) bool {
	d := dep.Kind()
	return d.Order < k.Order || d == k && k.deeper(t, dep)
}

// CheckOrder panics when a node of kind k may not need dep.
func (k *Kind) CheckOrder(t, dep Task) {
	if !k.MayNeed(t, dep) {
		d := dep.Kind()
		panic(fmt.Sprintf("graph: a %s (order %d) may not need a %s (order %d)", k.Name, k.Order, d.Name, d.Order))
	}
}

// deeper reports whether a node of kind k lies below another.
func (k *Kind) deeper(t, dep Task) bool {
	here, ok := k.ops.depth(t)
	there, _ := k.ops.depth(dep)
	return ok && there > here
}

var nodeIDs = cas.Derive("mwp node v1")

// ID returns the identity of a task: BLAKE3, derived for "mwp node v1", over its
// kind's name and version and its parameters (architecture section 4).
func ID(t Task) cas.Key {
	k := t.Kind()
	var e cas.Encoder
	e.String(k.Name)
	e.Uint(uint64(k.Version))
	e.Bytes(k.EncodeParams(t))
	return nodeIDs.Key(e.Encoded())
}
