package nodes

import (
	"fmt"
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Layers is every candidate for a map with its layer, order and outcome, before
// budgets: what the anchors declare, what the context files on the cascade say in
// their headers, and which of them scope and window leave out. It changes with
// headers and configuration, not with bodies.
type Layers struct {
	Target   string
	Explicit bool
	// Orientation is set for the map of the whole project (D-11).
	Orientation bool
	// Window replaces every declared window for this run; nil leaves them (D-15).
	Window OptionalInt
	// AllowFloating accepts imports that are pinned to a branch (D-33).
	AllowFloating bool
}

// OptionalInt is an int that may be absent, as a comparable value.
type OptionalInt struct {
	Set   bool
	Value int
}

func (o *OptionalInt) code(c *cas.Coder) {
	c.Bool(&o.Set)
	if o.Set {
		c.Int(&o.Value)
	}
}

// LayersValue is the list of candidates in map order and all findings.
type LayersValue struct {
	Candidates []Candidate
	// Problems of severity error mean that there is no map.
	Problems []ir.Diagnostic
	// Findings travel in the map whatever their severity: imports that did not
	// resolve (D-32).
	Findings []ir.Diagnostic
	// Missing are git references that a fetch could provide, as written.
	Missing []string
	// Window is the effective window in levels, 0 for none.
	Window int
	// Modules and Pipelines are what the imports in the map bring beside text.
	Modules   []ir.Module
	Pipelines []ir.Listed
	// Guards are the checks of the included candidates in map order, each once.
	Guards []Guard
}

var layersKind = graph.Define(graph.Definition[LayersValue, Layers]{
	Name: "layers", Version: 5, Order: 50,
	Params: codeLayers,
	Value: func(c *cas.Coder, v *LayersValue) {
		cas.Slice(c, &v.Candidates, codeCandidate)
		cas.Slice(c, &v.Problems, codeDiagnostic)
		cas.Slice(c, &v.Findings, codeDiagnostic)
		c.Strings(&v.Missing)
		c.Int(&v.Window)
		cas.Slice(c, &v.Modules, codeModule)
		cas.Slice(c, &v.Pipelines, codeListed)
		cas.Slice(c, &v.Guards, codeGuard)
	},
})

func codeLayers(c *cas.Coder, n *Layers) {
	c.String(&n.Target)
	c.Bool(&n.Explicit)
	c.Bool(&n.Orientation)
	n.Window.code(c)
	c.Bool(&n.AllowFloating)
}

// Kind returns the kind "layers".
func (Layers) Kind() *graph.Kind { return layersKind }

// defaultPriority is what an entry has that declares none.
const defaultPriority = 50

// maxCandidates bounds a map (D-102).
const maxCandidates = 2000

// located is a context file with its header and its place on the cascade.
type located struct {
	ContextFile
	ContextValue
	dir   string
	depth int
	// closure is what the file imports, zero without imports.
	closure ClosureValue
}

// layering is what layers are assigned from.
type layering struct {
	anchor   AnchorValue
	settings SettingsValue
	cascade  CascadeValue
	contexts []located
	// ws and sub are the configurations of workspace and member, nil without one.
	ws, sub *ConfigFileValue
}

func (n Layers) read(r graph.Reader) (in layering, err error) {
	at := Settings{Target: n.Target, Explicit: n.Explicit}
	if in.anchor, err = graph.Need(r, Anchor(at)); err != nil {
		return in, err
	}
	if in.settings, err = graph.Need(r, at); err != nil {
		return in, err
	}
	if in.cascade, err = graph.Need(r, Cascade(at)); err != nil {
		return in, err
	}
	if in.contexts, err = readContexts(r, in.cascade); err != nil {
		return in, err
	}
	if err := readClosures(r, in.contexts, n.AllowFloating); err != nil {
		return in, err
	}
	in.ws, in.sub, err = configs(r, in.anchor)
	return in, err
}

// problems returns the findings of everything read, as a list of its own.
func (in *layering) problems() []ir.Diagnostic {
	ds := slices.Concat(in.settings.Problems, in.cascade.Problems)
	for _, c := range in.contexts {
		ds = slices.Concat(ds, c.Problems, c.closure.Refusal, c.closure.Cycles)
	}
	return ds
}

// identity reports whether the root anchor says what the project is; then depths
// count from the root (D-10, D-17).
func (in *layering) identity() bool { return in.ws != nil && in.ws.Config.SuppliesIdentity() }

// base is the depth at which L0 lies when layers are inferred (D-17).
func (in *layering) base() int {
	if !in.identity() {
		for _, c := range in.contexts {
			if c.Skipped == "" {
				return c.depth
			}
		}
	}
	return 0
}

// Compute assigns layers (D-17), applies scope (D-16), window (D-14, D-15) and
// deduplication (D-37), and sorts (D-22).
func (n Layers) Compute(r graph.Reader) (v LayersValue, err error) {
	in, err := n.read(r)
	if err != nil {
		return v, err
	}
	if v.Problems = in.problems(); !failed(v.Problems) {
		if err := n.candidates(r, &in, &v); err != nil {
			return v, err
		}
		if len(v.Candidates) > maxCandidates {
			v.Problems = append(v.Problems, ir.Diagnostic{
				Code: ir.LimitExceeded, Severity: ir.SeverityError, Source: n.Target,
				Message: fmt.Sprintf("%d entries and imports on the path to the target, the limit is %d", len(v.Candidates), maxCandidates),
			})
		}
	}
	v.Problems, v.Findings = sortedOnce(v.Problems), sortedOnce(v.Findings)
	return v, nil
}

// candidates lists everything that was looked at, each with its outcome, in map
// order.
func (n Layers) candidates(r graph.Reader, in *layering, v *LayersValue) error {
	last := in.cascade.Levels[len(in.cascade.Levels)-1]
	base := in.base()
	w := window{size: n.window(in.settings, in.contexts, last.Dir), target: depth(last.Dir)}
	v.Window = w.size
	var ks []Candidate
	for i := range in.contexts {
		c := &in.contexts[i]
		k := c.candidate(base, in.cascade.Project)
		if k.outside() == "" && c.Header.Scope == ScopeLocal && c.dir != last.Dir {
			k.leaveOut(ir.ExcludedByScope, "scope", fmt.Sprintf("scope: local, and the target is not directly in %s", c.dir))
		}
		w.apply(&k)
		imported := c.imported(&k, w, v)
		ks = append(append(ks, k), imported...)
	}
	if in.anchor.Workspace != "" {
		root, err := rootCandidate(r, in.anchor, in.ws)
		if err != nil {
			return err
		}
		ks = append(ks, root)
	}
	if in.sub != nil {
		k := memberCandidate(in.anchor, &in.sub.Config)
		if realDir(in.cascade, in.anchor.Sub) == "." {
			// Reached through a link, the member is the workspace root once more.
			k.Duplicates = in.anchor.Workspace
			k.leaveOut(ir.Deduplicated, "dedup", fmt.Sprintf("the same anchor as %s, reached through a link", in.anchor.Workspace))
		}
		w.apply(&k)
		ks = append(ks, k)
	}
	for i := range ks {
		if k := &ks[i]; n.Orientation && k.Status == "" && k.Layer != 0 {
			k.leaveOut(ir.ExcludedByKind, "orientation", "an orientation map carries L0 only; map a target to see it")
		}
	}
	deduplicate(ks)
	settleNameOnly(ks, in.identity())
	for i := range ks {
		if ks[i].Status == "" {
			ks[i].Status = ir.Included
		}
	}
	slices.SortStableFunc(ks, compareCandidates)
	var guards guardList
	for i := range ks {
		k := &ks[i]
		if k.Status == ir.Included && len(k.declared) > 0 {
			k.Guards = guards.add(k.declared)
		}
		k.declared = nil
	}
	v.Candidates, v.Guards = ks, guards.all
	return nil
}

// leaveOut gives a candidate its outcome and the reason.
func (k *Candidate) leaveOut(status, rule, reason string) {
	k.Status, k.Rule, k.Reason = status, rule, reason
}

// outside returns the outcome of a candidate that takes its imports with it: it
// has no part in this map, "" for any other. An empty file is in the map as far as
// its imports go.
func (k *Candidate) outside() string {
	switch k.Status {
	case ir.ExcludedByScope, ir.ExcludedByWindow, ir.Boundary, ir.Shadowed:
		return k.Status
	}
	return ""
}

// window is how many levels above the target's directory a map looks, 0 for all.
type window struct{ size, target int }

// apply leaves out what lies further up. L0 stays, from any level (D-14).
func (w window) apply(k *Candidate) {
	above := w.target - k.Depth
	if k.outside() == "" && k.Status != ir.Deduplicated && k.Placed && k.Layer != 0 && w.size > 0 && above > w.size {
		k.leaveOut(ir.ExcludedByWindow, "window", fmt.Sprintf("%d levels above the target's directory, the window is %d", above, w.size))
	}
}

// realDir returns where a directory of the cascade lies, "" for any other.
func realDir(cascade CascadeValue, dir string) string {
	for _, l := range cascade.Levels {
		if l.Dir == dir {
			return l.Real
		}
	}
	return ""
}

// readContexts returns the cascade's context files, root first, with headers.
func readContexts(r graph.Reader, cascade CascadeValue) ([]located, error) {
	var cs []located
	var ns []Context
	for _, l := range cascade.Levels {
		for _, f := range l.Contexts {
			cs = append(cs, located{ContextFile: f, dir: l.Dir, depth: depth(l.Dir)})
			if f.Skipped == "" && !f.Shadowed {
				ns = append(ns, Context{Path: f.Path, Real: f.Real, Syntax: f.Syntax})
			}
		}
	}
	vs, err := graph.NeedAll(r, ns)
	if err != nil {
		return nil, err
	}
	for i := range cs {
		if cs[i].Skipped == "" && !cs[i].Shadowed {
			cs[i].ContextValue, vs = vs[0], vs[1:]
		}
	}
	return cs, nil
}

// readClosures reads what the context files import.
func readClosures(r graph.Reader, cs []located, floating bool) error {
	var of []int
	var ns []Closure
	for i, c := range cs {
		if len(c.Header.Imports) > 0 && !failed(c.Problems) {
			s := Source{Path: c.Path, Real: c.Real, Syntax: c.Syntax}
			of, ns = append(of, i), append(ns, Closure{Imports{Source: s, AllowFloating: floating}})
		}
	}
	vs, err := graph.NeedAll(r, ns)
	for j, v := range vs {
		cs[of[j]].closure = v
	}
	return err
}

// window returns the effective window: the smallest positive opinion (D-15).
func (n Layers) window(s SettingsValue, contexts []located, targetDir string) int {
	if n.Window.Set {
		return n.Window.Value
	}
	w := s.Window
	for _, c := range contexts {
		own := c.Header.Window
		if own == nil || *own == 0 || c.Header.Scope == "local" && c.dir != targetDir {
			continue
		}
		if w == 0 || *own < w {
			w = *own
		}
	}
	return w
}
