package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

var shownKeys = cas.Derive("mwp shown v1")

// ShownHash returns "blake3:" and the digest of what a reader of the map sees of an entry:
// its text, place, origin, owners, and the statuses of its guards, but no times (D-62).
func ShownHash(e *ir.Entry) string {
	var c cas.Encoder
	for _, s := range []string{e.Source, e.Name, e.Section, e.Scope, e.BodyMarkdown} {
		c.String(s)
	}
	c.Uint(uint64(e.Layer))
	c.Int(int64(e.Priority))
	c.Uint(uint64(len(e.Owners)))
	for _, o := range e.Owners {
		c.String(o)
	}
	if o := e.Origin; o == nil {
		c.Uint(0)
	} else {
		c.Uint(1)
		for _, s := range []string{o.Module, o.Version, o.URL, o.Ref, o.SHA, o.Path} {
			c.String(s)
		}
	}
	c.Uint(uint64(len(e.Guards)))
	for i := range e.Guards {
		g := &e.Guards[i]
		c.String(g.Name)
		c.String(g.Cmd)
		c.String(g.Status)
	}
	return "blake3:" + shownKeys.Key(c.Encoded()).String()
}

// DecodeIR is the inverse of the text of the format EncodedIR. It fails on anything else.
func DecodeIR(text []byte) (*ir.Map, error) {
	m, err := cas.DecodeValue(text, codeIR)
	return &m, err
}
