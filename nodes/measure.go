package nodes

import (
	"bytes"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Measure is the size of one file's body in tokens, with the body's digest and the
// hidden text in it. It changes with the body; line ends and the header do not
// matter.
type Measure struct {
	Real   string
	Syntax Syntax
	// Section is the part that counts, "" for all (D-116).
	Section string
	Counter string
	// Foreign is set for text from a module, in which comments are hidden text too
	// (D-112).
	Foreign bool
}

// MeasureValue is a body's size and the digest of its text as the map carries
// it, so that a checkout with other line ends has the same map.
type MeasureValue struct {
	Tokens int
	Body   cas.Digest
	// Hidden has lines of the file.
	Hidden []Hidden
}

var measureKind = graph.Define(graph.Definition[MeasureValue, Measure]{
	Name: "measure", Version: 2, Order: 46,
	Params: func(c *cas.Coder, n *Measure) {
		c.String(&n.Real)
		n.Syntax.code(c)
		c.String(&n.Section)
		c.String(&n.Counter)
		c.Bool(&n.Foreign)
	},
	Value: func(c *cas.Coder, v *MeasureValue) {
		c.Int(&v.Tokens)
		c.Digest(&v.Body)
		cas.Slice(c, &v.Hidden, func(c *cas.Coder, h *Hidden) {
			c.Int(&h.Line)
			c.Int(&h.Column)
			r := int(h.Rune)
			c.Int(&r)
			h.Rune = rune(r)
			c.String(&h.What)
			c.String(&h.Text)
			c.Int(&h.More)
		})
	},
})

// Kind returns the kind "measure".
func (Measure) Kind() *graph.Kind { return measureKind }

// Compute takes the body out of the file and counts it.
func (n Measure) Compute(r graph.Reader) (v MeasureValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Real})
	if err != nil || f.Type != graph.Regular {
		return v, err
	}
	whole := DocumentBody(f.Bytes, n.Syntax)
	body := sectionOf(whole, n.Section)
	if v.Hidden = HiddenText(body, n.Foreign); len(v.Hidden) > 0 {
		above := linesAbove(f.Bytes, n.Syntax) + bytes.Count(whole[:max(bytes.Index(whole, body), 0)], []byte{'\n'})
		for i := range v.Hidden {
			v.Hidden[i].Line += above
		}
	}
	count := countTokens(n.Counter, body)
	v.Body = count.Digest
	v.Tokens, err = graph.Need(r, count)
	return v, err
}

// sectionOf returns one section of a body, all of it for "".
func sectionOf(body []byte, section string) []byte {
	if section == "" {
		return body
	}
	part, _ := Section(body, section)
	return part
}

// linesAbove counts the lines of a file before its body. The body of a YAML file
// is a value somewhere in it, which has no line of its own here.
func linesAbove(b []byte, s Syntax) int {
	if s == YAML || s == Text {
		return 0
	}
	text := normaliseText(b)
	body := splitDocument(text).body
	return bytes.Count(text[:len(text)-len(body)], []byte{'\n'})
}
