package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Measure is the size of one file's body in tokens, with the body's digest. It
// changes with the body; line ends and the header do not matter.
type Measure struct {
	Real    string
	Syntax  Syntax
	Counter string
}

// MeasureValue is a body's size and the digest of its text as the map carries
// it, so that a checkout with other line ends has the same map.
type MeasureValue struct {
	Tokens int
	Body   cas.Digest
}

var measureKind = graph.Define(graph.Definition[MeasureValue, Measure]{
	Name: "measure", Version: 1, Order: 46,
	Params: func(c *cas.Coder, n *Measure) {
		c.String(&n.Real)
		c.Uint8((*uint8)(&n.Syntax))
		c.String(&n.Counter)
	},
	Value: func(c *cas.Coder, v *MeasureValue) { c.Int(&v.Tokens); c.Digest(&v.Body) },
})

// Kind returns the kind "measure".
func (Measure) Kind() *graph.Kind { return measureKind }

// Compute takes the body out of the file and counts it.
func (n Measure) Compute(r graph.Reader) (v MeasureValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Real})
	if err != nil || f.Type != graph.Regular {
		return v, err
	}
	count := countTokens(n.Counter, DocumentBody(f.Bytes, n.Syntax))
	v.Body = count.Digest
	v.Tokens, err = graph.Need(r, count)
	return v, err
}
