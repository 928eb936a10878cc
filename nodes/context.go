package nodes

import (
	"bytes"
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Context is the header of one context file at its place. It changes when the
// header does, or when the body becomes empty or stops being so; any other edit
// of the body leaves its value equal, which is where an edit's way up is cut off.
type Context struct {
	// Path is where the cascade found the file, Real where it lies.
	Path, Real string
	Syntax     Syntax
}

// ContextValue is a header and what is wrong with it.
type ContextValue struct {
	Header   Header
	Empty    bool
	Problems []ir.Diagnostic
}

var contextKind = graph.Define(graph.Definition[ContextValue, Context]{
	Name: "context", Version: 2, Order: 45,
	Params: func(c *cas.Coder, n *Context) {
		c.String(&n.Path)
		codeReal(c, n.Path, &n.Real)
		n.Syntax.code(c)
	},
	Value: func(c *cas.Coder, v *ContextValue) {
		codeHeader(c, &v.Header)
		c.Bool(&v.Empty)
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// codeReal codes where a path's links lead; mostly that is the path itself,
// which is written as "".
func codeReal(c *cas.Coder, path string, real *string) {
	short := *real
	if short == path {
		short = ""
	}
	c.String(&short)
	if !c.Decoding() {
		return
	}
	if *real = short; short == path {
		c.Fail("%q is written twice", path)
	}
	if short == "" {
		*real = path
	}
}

// Kind returns the kind "context".
func (Context) Kind() *graph.Kind { return contextKind }

// Compute reads and parses the file.
func (n Context) Compute(r graph.Reader) (v ContextValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Real})
	if err != nil {
		return v, err
	}
	if f.Type != graph.Regular {
		d := ir.Diagnostic{Code: ir.ContextNotRegular, Severity: ir.SeverityError, Source: n.Path,
			Message: fmt.Sprintf("expected a regular file, found a %s", f.Type.Noun())}
		if f.Type == graph.TooLarge {
			d.Code = ir.LimitExceeded
			d.Message = fmt.Sprintf("the file has %d bytes, the limit for a context or imported file is %d", f.Size, graph.MaxFileBytes)
			d.Hint = "split it by concern, or move what is not context elsewhere"
		}
		v.Problems = []ir.Diagnostic{d}
		return v, nil
	}
	p, err := n.parsed(r, &f)
	if err != nil {
		return v, err
	}
	v.Header, v.Empty = p.Header, p.Empty
	for _, d := range p.Problems {
		d.Source = n.Path
		v.Problems = append(v.Problems, d)
	}
	if bytes.HasPrefix(f.Bytes, []byte("version https://git-lfs.github.com/spec/")) {
		v.Problems = append(v.Problems, ir.Diagnostic{
			Code: ir.LFSPointer, Severity: ir.SeverityWarning, Source: n.Path, Line: 1,
			Message: "the file is a pointer of Git LFS, and its text lies elsewhere",
			Hint:    "keep context files in git itself",
		})
	}
	return v, nil
}

// parsed reads the header, and shares the parse between equal files. Where there is
// no header, looking for a shared result costs more than finding that out again.
func (n Context) parsed(r graph.Reader, f *graph.FileState) (ParsedValue, error) {
	node := Parsed{Syntax: n.Syntax, Digest: f.Digest, Text: &f.Bytes}
	if n.Syntax == YAML || bytes.Contains(f.Bytes, []byte("---")) {
		return graph.Need(r, node)
	}
	return node.Compute(r)
}
