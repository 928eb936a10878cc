package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/tokens"
)

// DefaultCounter is the token counter when nothing selects another (D-39).
const DefaultCounter = tokens.Default

// TokenCount is the number of tokens of a text as a function of counter and
// text, so that a text is counted once and never on a warm map (D-39). It
// depends on nothing but its parameters.
type TokenCount struct {
	Counter string
	// Digest identifies the text. Text holds it, see Parsed.
	Digest cas.Digest
	Text   *[]byte
}

var tokenCountKind = graph.Define(graph.Definition[int, TokenCount]{
	Name: "tokens", Version: 1, Order: 5,
	Params: func(c *cas.Coder, n *TokenCount) { c.String(&n.Counter); c.Digest(&n.Digest) },
	Value:  func(c *cas.Coder, v *int) { c.Int(v) },
})

// countTokens returns the node for a text.
func countTokens(counter string, text []byte) TokenCount {
	return TokenCount{Counter: counter, Digest: cas.Sum(text), Text: &text}
}

// Kind returns the kind "tokens".
func (TokenCount) Kind() *graph.Kind { return tokenCountKind }

// Compute counts.
func (n TokenCount) Compute(graph.Reader) (int, error) {
	counter, ok := tokens.ByName(n.Counter)
	if n.Text == nil || !ok {
		return 0, graph.ErrUnbuildable
	}
	return counter.Count(*n.Text), nil
}
