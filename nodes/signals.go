package nodes

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Signals is what lies beside a source file by its name: its tests, or for a test
// what it tests (D-83, R-243). It changes when a file of one of these names appears
// or vanishes, not with what is in it: nothing is opened, and no directory is listed.
type Signals struct {
	// Target is the path as typed. A directory, or what does not exist, has no signals.
	Target   string
	Explicit bool
}

// SignalsValue is the files that exist, in the order of the conventions that named
// them.
type SignalsValue struct{ Found []ir.Signal }

var signalsKind = graph.Define(graph.Definition[SignalsValue, Signals]{
	Name: "signals", Version: 1, Order: 54,
	Params: func(c *cas.Coder, n *Signals) { c.String(&n.Target); c.Bool(&n.Explicit) },
	Value:  func(c *cas.Coder, v *SignalsValue) { cas.Slice(c, &v.Found, codeSignal) },
})

// Kind returns the kind "signals".
func (Signals) Kind() *graph.Kind { return signalsKind }

// Compute asks for every path that a convention names. Links are followed inside the
// root; where one leads out, or to something that is no file, nothing is found.
func (n Signals) Compute(r graph.Reader) (v SignalsValue, err error) {
	cascade, err := graph.Need(r, Cascade(n))
	if err != nil || !cascade.ofFile(n.Target) {
		return v, err
	}
	named := adjacent(n.Target)
	dirs, rest := make([]string, len(named)), make([]string, len(named))
	for i, s := range named {
		dirs[i], rest[i] = cascade.nearest(s.Path)
	}
	found, err := resolveAll(r, dirs, rest)
	if err != nil {
		return v, err
	}
	for i, f := range found {
		if f.Type == graph.Regular {
			v.Found = append(v.Found, named[i])
		}
	}
	return v, nil
}

// ofFile reports whether a cascade ended beside its target: not at a directory, not
// above something that does not exist, and not in a state directory.
func (v *CascadeValue) ofFile(target string) bool {
	if len(v.Levels) == 0 || v.Levels[len(v.Levels)-1].Dir != parent(target) {
		return false
	}
	for i := range v.Problems {
		if v.Problems[i].Code == ir.TargetMissing {
			return false
		}
	}
	return true
}

// nearest returns where the deepest directory of the cascade above a path really
// lies, and the path from there: its links are those that the cascade followed.
func (v *CascadeValue) nearest(path string) (real, rest string) {
	for i := len(v.Levels) - 1; ; i-- {
		l := &v.Levels[i]
		if l.Dir == "." {
			return l.Real, path
		}
		if within(path, l.Dir) {
			return l.Real, strings.TrimPrefix(path, l.Dir+"/")
		}
	}
}
