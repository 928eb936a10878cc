package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Parsed is the header of a context file as a function of the file's bytes, so
// that equal files share one parse wherever they lie and whatever branch is
// checked out. It depends on nothing but its parameters and never changes.
type Parsed struct {
	Syntax Syntax
	// Digest identifies the bytes. Text holds them when the node was made from a
	// file, and is no part of the identity; a node rebuilt from a trace has none and
	// can only be looked up.
	Digest cas.Digest
	Text   *[]byte
}

// ParsedValue is a document's header with its findings, and whether it has a
// body. Findings carry no path: the same bytes may lie at several.
type ParsedValue struct {
	Document
	Empty bool
}

var parsedKind = graph.Define(graph.Definition[ParsedValue, Parsed]{
	Name: "parsed", Version: 4, Order: 5,
	Params: func(c *cas.Coder, n *Parsed) { n.Syntax.code(c); c.Digest(&n.Digest) },
	Value: func(c *cas.Coder, v *ParsedValue) {
		codeDocument(c, &v.Document)
		c.Bool(&v.Empty)
	},
})

// Kind returns the kind "parsed".
func (Parsed) Kind() *graph.Kind { return parsedKind }

// Compute parses the bytes (D-27, D-28).
func (n Parsed) Compute(graph.Reader) (v ParsedValue, err error) {
	if n.Text == nil {
		return v, graph.ErrUnbuildable
	}
	v.Document = ParseDocument(*n.Text, n.Syntax)
	v.Empty = len(DocumentBody(*n.Text, n.Syntax)) == 0
	return v, nil
}
