package graph

import "github.com/model-workspace-protocol/mwp/cas"

// Content is the leaf for what a file holds, as a digest alone: of any size, and
// never in memory. Path is relative to the root, without links.
type Content struct{ Path string }

// ContentState is a file's digest with what else a program may see of it. Digest and
// Executable are set for Regular only.
type ContentState struct {
	Type       FileType
	Executable bool
	Size       int64
	Digest     cas.Digest
}

// ContentKind is the kind of Content.
var ContentKind = defineLeaf("content",
	func(c *cas.Coder, l *Content) { c.String(&l.Path) },
	func(c *cas.Coder, s *ContentState) {
		if s.Type.code(c); s.Type == Regular {
			c.Bool(&s.Executable)
			c.Int64(&s.Size)
			c.Digest(&s.Digest)
		}
	})

// Kind returns ContentKind.
func (Content) Kind() *Kind { return ContentKind }

// Compute panics: leaves are read by the evaluator.
func (Content) Compute(Reader) (ContentState, error) { panic("graph.Content.Compute: a leaf") }
