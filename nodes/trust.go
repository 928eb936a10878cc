package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Trust is what the configurations say about running the guards of one directory: the
// workspace's allowed_guards, and those of the member that the directory lies in
// (D-08, D-41). It changes with these lists and limits.
type Trust struct {
	Dir      string
	Explicit bool
}

// TrustValue is the lists in effect.
type TrustValue struct {
	Allowed []string
	// Timeout and Jobs are [guards] timeout and jobs, in nanoseconds, 0 where nothing is
	// said; the nearest configuration decides.
	Timeout int64
	Jobs    int
}

var trustKind = graph.Define(graph.Definition[TrustValue, Trust]{
	Name: "trust", Version: 1, Order: 31,
	Params: func(c *cas.Coder, n *Trust) { c.String(&n.Dir); c.Bool(&n.Explicit) },
	Value: func(c *cas.Coder, v *TrustValue) {
		c.Strings(&v.Allowed)
		c.Int64(&v.Timeout)
		c.Int(&v.Jobs)
	},
})

// Kind returns the kind "trust".
func (Trust) Kind() *graph.Kind { return trustKind }

// Compute joins the lists.
func (n Trust) Compute(r graph.Reader) (v TrustValue, err error) {
	anchor, err := graph.Need(r, Anchor{Target: n.Dir, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	if anchor.Root != "." {
		// A project inside the workspace that the workspace does not list: its texts may be
		// imported, but it does not say what they may run here (D-07).
		if anchor, err = graph.Need(r, Anchor{Target: ".", Explicit: n.Explicit}); err != nil {
			return v, err
		}
	}
	ws, sub, err := configs(r, anchor)
	if err != nil {
		return v, err
	}
	for _, c := range []*ConfigFileValue{ws, sub} {
		if c == nil {
			continue
		}
		v.Allowed = append(v.Allowed, c.Config.AllowedGuards...)
		if t := c.Config.GuardTimeout; t != nil {
			v.Timeout = int64(*t)
		}
		if j := c.Config.GuardJobs; j != nil {
			v.Jobs = *j
		}
	}
	slices.Sort(v.Allowed)
	v.Allowed = slices.Compact(v.Allowed)
	return v, nil
}

// decide says what a guard that runs something may do by what the configurations
// say (D-41, D-42).
func (g *Guard) decide(t TrustValue) command.Decision {
	return command.Decide(g.Command(), command.Question{Allowed: t.Allowed, Declared: g.Trust, Foreign: g.Foreign})
}

// trustMismatch warns about a guard that declares more trust than it has: the
// declaration can lower it and nothing else (D-41).
func trustMismatch(g *Guard, d command.Decision) ir.Diagnostic {
	return ir.Diagnostic{
		Code: ir.TrustMismatch, Severity: ir.SeverityWarning, Source: g.Path, Line: g.Line,
		Message: fmt.Sprintf("trust: %s has no effect, because a header cannot raise trust: %s is %s, %s", g.Trust, g.Text(), d.Level, strings.TrimPrefix(d.Why, "declared "+g.Trust+", but ")),
		Hint:    command.AllowLine(g.Command()) + " under [trust] in the workspace's configuration lets it run without asking",
	}
}

// TrustTables is every [trust] table of the workspace as one digest, members
// included: whoever trusted the workspace once has to be asked again when one of them
// changes (D-109). It looks at the whole tree, and no map asks for it.
type TrustTables struct{ Explicit bool }

var trustTablesKind = graph.Define(graph.Definition[cas.Digest, TrustTables]{
	Name: "trust-tables", Version: 1, Order: 76,
	Params: func(c *cas.Coder, n *TrustTables) { c.Bool(&n.Explicit) },
	Value:  (*cas.Coder).Digest,
})

// Kind returns the kind "trust-tables".
func (TrustTables) Kind() *graph.Kind { return trustTablesKind }

// Compute digests the lists that each anchor of the workspace brings.
func (n TrustTables) Compute(r graph.Reader) (cas.Digest, error) {
	s, err := surveyed(r, n.Explicit)
	if err != nil {
		return cas.Digest{}, err
	}
	var ns []Trust
	for _, p := range s.places {
		if p.Dir == "." || marksOf(p.Found).anchor != graph.Absent {
			ns = append(ns, Trust{Dir: p.Dir, Explicit: n.Explicit})
		}
	}
	vs, err := graph.NeedAll(r, ns)
	var e cas.Encoder
	for i, t := range vs {
		e.String(ns[i].Dir)
		e.Count(len(t.Allowed))
		for _, a := range t.Allowed {
			e.String(a)
		}
	}
	return cas.Sum(e.Encoded()), err
}

// TrustTablesText is the digest as bytes: what a slot can hold.
type TrustTablesText struct {
	TrustTables
	// From is what it is for a LintText.
	From string
}

var trustTablesTextKind = graph.Define(graph.Definition[RenderedValue, TrustTablesText]{
	Name: "trust-tables-text", Version: 1, Order: 80,
	Params: func(c *cas.Coder, n *TrustTablesText) { c.Bool(&n.Explicit); c.String(&n.From) },
	Value:  codeText,
})

// Kind returns the kind "trust-tables-text".
func (TrustTablesText) Kind() *graph.Kind { return trustTablesTextKind }

// Compute takes the digest's bytes.
func (n TrustTablesText) Compute(r graph.Reader) (v RenderedValue, err error) {
	if err := askedFrom(r, n.From, n.Explicit); err != nil {
		return v, err
	}
	d, err := graph.Need(r, n.TrustTables)
	v.Text = d[:]
	return v, err
}
