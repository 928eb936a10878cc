package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Sections is the list of headings in one file's body, for imports of a section
// (D-116). It changes when a heading does; other edits of the body leave it equal.
type Sections struct {
	Real   string
	Syntax Syntax
}

var sectionsKind = graph.Define(graph.Definition[[]Heading, Sections]{
	Name: "sections", Version: 1, Order: 46,
	Params: func(c *cas.Coder, n *Sections) { c.String(&n.Real); n.Syntax.code(c) },
	Value: func(c *cas.Coder, v *[]Heading) {
		cas.Slice(c, v, func(c *cas.Coder, h *Heading) { c.Int(&h.Level); c.String(&h.Text); c.Int(&h.Line) })
	},
})

// Kind returns the kind "sections".
func (Sections) Kind() *graph.Kind { return sectionsKind }

// Compute reads the headings. Their lines are left out: a line more in a
// paragraph changes no section.
func (n Sections) Compute(r graph.Reader) ([]Heading, error) {
	f, err := graph.Need(r, graph.File{Path: n.Real})
	if err != nil || f.Type != graph.Regular {
		return nil, err
	}
	hs := Headings(DocumentBody(f.Bytes, n.Syntax))
	for i := range hs {
		hs[i].Line = 0
	}
	return hs, nil
}
