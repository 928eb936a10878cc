package nodes

import (
	"errors"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// ModuleTree is the list of a fetched module's files. The list is written last, so
// a module without one was never there, and its digest is what the lock file
// vouches for (D-34, D-53): no other file of the module has to be read to know
// which files it has and what is in them.
type ModuleTree struct {
	// State is the workspace's state directory; Commit and Dir name the module.
	State, Commit, Dir string
}

// ModuleTreeValue is the list, sorted by path.
type ModuleTreeValue struct {
	Present bool
	// Digest is the digest of the list's bytes, in hex.
	Digest string
	Files  []pin.Sum
	// Problem is set for a list that no fetch has written.
	Problem ir.Diagnostic
}

var moduleTreeKind = graph.Define(graph.Definition[ModuleTreeValue, ModuleTree]{
	Name: "module-tree", Version: 1, Order: 16,
	Params: func(c *cas.Coder, n *ModuleTree) { c.String(&n.State); c.String(&n.Commit); c.String(&n.Dir) },
	Value: func(c *cas.Coder, v *ModuleTreeValue) {
		c.Bool(&v.Present)
		c.String(&v.Digest)
		cas.Slice(c, &v.Files, func(c *cas.Coder, s *pin.Sum) { c.String(&s.Digest); c.String(&s.Path) })
		codeDiagnostic(c, &v.Problem)
	},
})

// Kind returns the kind "module-tree".
func (ModuleTree) Kind() *graph.Kind { return moduleTreeKind }

// files returns the directory of the module's files, root-relative, and list the
// path of their list.
func (n ModuleTree) files() string {
	files, _ := pin.Store(n.Commit, n.Dir)
	return n.State + "/modules/" + files
}

func (n ModuleTree) list() string {
	_, list := pin.Store(n.Commit, n.Dir)
	return n.State + "/modules/" + list
}

// Compute reads the list.
func (n ModuleTree) Compute(r graph.Reader) (v ModuleTreeValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.list()})
	if err != nil || f.Type == graph.Absent {
		return v, err
	}
	v.Present = true
	if f.Type != graph.Regular {
		v.Problem = n.modified("expected a regular file, found a " + f.Type.Noun())
		return v, nil
	}
	v.Digest = f.Digest.String()
	v.Files, err = pin.ParseSums(f.Bytes)
	var bad *pin.LineError
	if errors.As(err, &bad) {
		v.Problem = n.modified(bad.Message)
		v.Problem.Line = bad.Line
	}
	return v, nil
}

// modified is the finding about a module directory that holds something else than
// what was pinned.
func (n ModuleTree) modified(message string) ir.Diagnostic {
	return ir.Diagnostic{
		Code: ir.ModuleModified, Severity: ir.SeverityError, Source: n.list(), Message: message,
		Hint: "delete " + n.files() + " and run `mwp import`",
	}
}
