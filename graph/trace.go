package graph

import (
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Dependency is one task that a computation read and the digest of the value it
// got.
type Dependency struct {
	Task  Task
	Value cas.Digest
}

// Trace is the record of one computation: what it read, in order and in parallel
// groups, and what came out. Small values travel inside the trace, because a
// record of their own would be larger than they are.
type Trace struct {
	Groups [][]Dependency
	Value  cas.Digest
	// Inline is the encoded value when it is at most InlineBytes long.
	Inline    []byte
	HasInline bool
}

// InlineBytes is the size up to which a value is kept inside its trace.
const InlineBytes = 512

// EncodeTrace returns t in canonical encoding.
func EncodeTrace(t *Trace) []byte {
	var e cas.Encoder
	e.Count(len(t.Groups))
	for _, g := range t.Groups {
		e.Count(len(g))
		for _, d := range g {
			k := d.Task.Kind()
			e.String(k.Name)
			e.Uint(uint64(k.Version))
			e.Bytes(k.EncodeParams(d.Task))
			e.Digest(d.Value)
		}
	}
	e.Digest(t.Value)
	e.Bool(t.HasInline)
	if t.HasInline {
		e.Bytes(t.Inline)
	}
	return e.Encoded()
}

// DecodeTrace is the inverse of EncodeTrace. It fails when a kind is unknown, or
// of another version, or a task cannot be rebuilt: the caller then recomputes.
func DecodeTrace(b []byte, kind func(name string) *Kind) (*Trace, error) {
	d := cas.NewDecoder(b)
	t := &Trace{Groups: make([][]Dependency, d.Count(1))}
	for i := range t.Groups {
		t.Groups[i] = make([]Dependency, d.Count(2+len(cas.Digest{})))
		for j := range t.Groups[i] {
			name, version, params := d.String(), d.Uint(), d.Bytes()
			digest := d.Digest()
			if d.Err() != nil {
				return nil, d.Err()
			}
			k := kind(name)
			if k == nil || uint64(k.Version) != version {
				return nil, fmt.Errorf("kind %s version %d is not known", name, version)
			}
			task, err := k.DecodeParams(params)
			if err != nil {
				return nil, err
			}
			t.Groups[i][j] = Dependency{Task: task, Value: digest}
		}
	}
	t.Value = d.Digest()
	if t.HasInline = d.Bool(); t.HasInline {
		t.Inline = d.Bytes()
	}
	return t, d.Finish()
}

var traceKeys = cas.Derive("mwp trace v1")

// TraceKey identifies a trace by what was read: BLAKE3, derived for
// "mwp trace v1", over the node's identity and its dependencies' identities and
// digests (architecture section 4).
func TraceKey(node cas.Key, t *Trace) cas.Key {
	var e cas.Encoder
	e.Key(node)
	e.Count(len(t.Groups))
	for _, g := range t.Groups {
		e.Count(len(g))
		for _, d := range g {
			e.Key(ID(d.Task))
			e.Digest(d.Value)
		}
	}
	return traceKeys.Key(e.Encoded())
}

// Status says how a task's value came about in one evaluation.
type Status uint8

// The statuses.
const (
	Hit      Status = iota + 1 // a recorded trace still held
	Computed                   // the computation ran
	Read                       // a leaf was read from the world
	Failed                     // the world failed; nothing was recorded
)

// String returns the status as a word for logs.
func (s Status) String() string {
	switch s {
	case Hit:
		return "hit"
	case Computed:
		return "computed"
	case Read:
		return "read"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// Step is one task of a provenance graph. Needs holds indexes of earlier steps.
type Step struct {
	Task   Task
	Value  cas.Digest
	Status Status
	Needs  []int
}

// Provenance is the graph a result was computed from, dependencies first; the
// last step is the result itself. The key of a result and its explanation are
// both read from this one record, so they cannot disagree.
type Provenance []Step
