package nodes

import (
	"fmt"
	"slices"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// GuardPlan is the guards of one map, or of the whole workspace, with everything that
// decides whether they run: what `mwp verify` works from (D-43, D-72). It changes with
// the guards, their trust, their records and the files behind them.
type GuardPlan struct {
	Layers
	// Everything takes every guard that the workspace declares, whatever the target.
	Everything bool
	// Whole looks at the source files behind guards without verified paths too, which
	// may be all of the repository (D-46).
	Whole bool
}

// PlannedGuard is one guard with what is known of it.
type PlannedGuard struct {
	Guard
	Check CheckValue
	// Level and Why are the trust by configuration, "" for a static guard; Allow is the
	// configuration line that would raise it.
	Level, Why, Allow string
	// Declared is the fingerprint that a map compares, Fingerprint that over all; the
	// second is set only in a plan that looks at everything.
	Declared, Fingerprint cas.Digest
	// Unreadable is set where nobody knows whether a file changed.
	Unreadable bool
	// Timeout is how long it may run.
	Timeout time.Duration
	// Sources are the entries that it stands for, in map order; nil in a plan for
	// everything.
	Sources []string
}

// Current reports a result that still counts, so that nothing has to run (D-46). It
// is for plans that look at everything.
func (p *PlannedGuard) Current() bool {
	return p.Check.Status == ir.Passed && !p.Unreadable && (p.Static() || p.Check.Run.Fingerprint == p.Fingerprint)
}

// Verification returns what is known of the guard as the IR has it.
func (p *PlannedGuard) Verification() ir.Verification { return verification(&p.Guard, &p.Check) }

// GuardPlanValue is the plan in map order.
type GuardPlanValue struct {
	Guards []PlannedGuard
	// Problems are errors behind which there may be guards that nobody knows of: headers
	// that do not parse, imports that lead nowhere. A gate must not open over them.
	Problems []ir.Diagnostic
	// Findings are what a person should know beside that, such as a misspelt key.
	Findings []ir.Diagnostic
	// Config is the workspace's configuration file, "" for none. Jobs is [guards] jobs, 0
	// where nothing is said; Records is where results are kept,
	// relative to the root, "" for a workspace that keeps none.
	Config  string
	Jobs    int
	Records string
	// Missing are git references that a fetch could provide, as written.
	Missing []string
}

var guardPlanKind = graph.Define(graph.Definition[GuardPlanValue, GuardPlan]{
	Name: "guard-plan", Version: 6, Order: 77,
	Params: func(c *cas.Coder, n *GuardPlan) {
		codeLayers(c, &n.Layers)
		c.Bool(&n.Everything)
		c.Bool(&n.Whole)
	},
	Value: CodeGuardPlan,
})

// CodeGuardPlan codes a plan, for what hands it on as bytes.
func CodeGuardPlan(c *cas.Coder, v *GuardPlanValue) {
	cas.Slice(c, &v.Guards, func(c *cas.Coder, p *PlannedGuard) {
		codeGuard(c, &p.Guard)
		codeCheckValue(c, &p.Check)
		c.String(&p.Level)
		c.String(&p.Why)
		c.String(&p.Allow)
		c.Digest(&p.Declared)
		c.Digest(&p.Fingerprint)
		c.Bool(&p.Unreadable)
		codeDuration(c, &p.Timeout)
		c.Strings(&p.Sources)
	})
	cas.Slice(c, &v.Problems, codeDiagnostic)
	cas.Slice(c, &v.Findings, codeDiagnostic)
	c.Int(&v.Jobs)
	c.String(&v.Config)
	c.String(&v.Records)
	c.Strings(&v.Missing)
}

// Kind returns the kind "guard-plan".
func (GuardPlan) Kind() *graph.Kind { return guardPlanKind }

// Compute collects and asks.
func (n GuardPlan) Compute(r graph.Reader) (v GuardPlanValue, err error) {
	anchor, err := graph.Need(r, Anchor{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	if anchor.Up != 0 || anchor.Root != "." {
		return v, ErrMoved
	}
	var guards []Guard
	if n.Everything {
		guards, err = n.everything(r, &v)
	} else {
		guards, err = n.ofMap(r, &v)
	}
	if err != nil {
		return v, err
	}
	paths := 0
	for i := range guards {
		paths += len(guards[i].VerifiedPaths)
	}
	if paths > maxPlanPaths {
		v.Problems = append(v.Problems, ir.Diagnostic{
			Code: ir.LimitExceeded, Severity: ir.SeverityError,
			Message: fmt.Sprintf("the guards have %d verified paths, counted for each guard; the limit is %d", paths, maxPlanPaths),
			Hint:    "name directories instead of files, or verify parts of the workspace",
		})
		guards, v.Guards = nil, nil
	}
	v.Problems, v.Findings = sortedOnce(v.Problems), sortedOnce(v.Findings)
	v.Config = anchor.WorkspaceConfig
	if anchor.WorkspaceState != "" {
		v.Records = join(anchor.WorkspaceState, RecordsName)
	}
	checks, err := checksOf(r, guards, n.Target, n.Explicit)
	if err != nil {
		return v, err
	}
	trusts := make([]Trust, 0, len(guards)+1)
	// A static guard rests on nothing but what it names.
	var running []int
	var inputs []GuardInputs
	for i := range guards {
		trusts = append(trusts, Trust{Dir: guards[i].Dir, Explicit: n.Explicit})
		if !guards[i].Static() {
			running, inputs = append(running, i), append(inputs, GuardInputs{Guard: encodeGuard(guards[i])})
		}
	}
	if n.Whole {
		for _, in := range inputs[:len(running)] {
			inputs = append(inputs, GuardInputs{Guard: in.Guard, Whole: true})
		}
	}
	levels, err := graph.NeedAll(r, append(trusts, Trust{Dir: ".", Explicit: n.Explicit}))
	if err != nil {
		return v, err
	}
	prints, err := graph.NeedAll(r, inputs)
	if err != nil {
		return v, err
	}
	v.Jobs = levels[len(guards)].Jobs
	for i := range guards {
		p := &v.Guards[i]
		p.Check = checks[i]
		p.limits(levels[i])
	}
	for j, i := range running {
		p := &v.Guards[i]
		p.Declared = prints[j].Fingerprint
		if n.Whole {
			whole := prints[len(running)+j]
			p.Fingerprint, p.Unreadable = whole.Fingerprint, whole.Unreadable != ""
		}
	}
	return v, nil
}

// limits fills in trust and time.
func (p *PlannedGuard) limits(t TrustValue) {
	if p.Static() {
		return
	}
	d := p.decide(t)
	p.Level, p.Why = string(d.Level), d.Why
	if p.Level == TrustAdHoc {
		p.Allow = command.AllowLine(p.Command())
	}
	p.Timeout = DefaultTimeout
	switch {
	case p.Guard.Timeout != nil:
		p.Timeout = *p.Guard.Timeout
	case t.Timeout > 0:
		p.Timeout = time.Duration(t.Timeout)
	}
}

// ofMap returns the guards of a map's entries.
func (n GuardPlan) ofMap(r graph.Reader, v *GuardPlanValue) ([]Guard, error) {
	layers, err := graph.Need(r, n.Layers)
	if err != nil {
		return nil, err
	}
	v.say(layers.Problems)
	v.say(layers.Findings)
	v.Missing = layers.Missing
	for _, g := range layers.Guards {
		v.Guards = append(v.Guards, PlannedGuard{Guard: g})
	}
	for _, k := range layers.Candidates {
		for _, i := range k.Guards {
			v.Guards[i].Sources = append(v.Guards[i].Sources, k.Source)
		}
	}
	return layers.Guards, nil
}

// maxPlanPaths bounds the verified paths of a plan, over all of its guards (D-102).
const maxPlanPaths = 200_000

// say sorts findings into those that hide guards and others.
func (v *GuardPlanValue) say(ds []ir.Diagnostic) {
	for _, d := range ds {
		switch d.Severity {
		case ir.SeverityError:
			v.Problems = append(v.Problems, d)
		case ir.SeverityWarning:
			v.Findings = append(v.Findings, d)
		}
	}
}

// everything returns the guards that the workspace's context files declare, and those
// of what they import, in the order of the tree (D-72).
func (n GuardPlan) everything(r graph.Reader, v *GuardPlanValue) ([]Guard, error) {
	s, err := surveyed(r, n.Explicit)
	if err != nil {
		return nil, err
	}
	for _, d := range s.findings {
		if d.Code == ir.Unreadable || d.Code == ir.LimitExceeded {
			// Nobody knows what guards there are.
			d.Severity = ir.SeverityError
		}
		v.say([]ir.Diagnostic{d})
	}
	var ns []PlaceGuards
	for _, p := range s.places {
		if m := marksOf(p.Found); len(m.contexts) > 0 || m.anchor != graph.Absent || p.Dir == "." {
			ns = append(ns, PlaceGuards{Dir: p.Dir, Explicit: n.Explicit, AllowFloating: n.AllowFloating})
		}
	}
	vs, errs := graph.TryAll(r, ns)
	var list guardList
	for i := range vs {
		if errs == nil || errs[i] == nil {
			list.add(vs[i].Guards)
			v.say(vs[i].Findings)
			v.Missing = append(v.Missing, vs[i].Missing...)
			continue
		}
		d, ok := unreadable(ns[i].Dir, errs[i])
		if !ok {
			return nil, errs[i]
		}
		v.Problems = append(v.Problems, d)
	}
	slices.Sort(v.Missing)
	v.Missing = slices.Compact(v.Missing)
	for _, g := range list.all {
		v.Guards = append(v.Guards, PlannedGuard{Guard: g})
	}
	return list.all, nil
}

// PlaceGuards is the guards that one directory's context files declare or import,
// whatever map they end up in. It changes with headers, paths and pins.
type PlaceGuards struct {
	Dir                     string
	Explicit, AllowFloating bool
}

// PlaceGuardsValue is the list, with what there is to say about the files and the
// configuration behind it.
type PlaceGuardsValue struct {
	Findings []ir.Diagnostic
	Guards   []Guard
	Missing  []string
}

var placeGuardsKind = graph.Define(graph.Definition[PlaceGuardsValue, PlaceGuards]{
	Name: "place-guards", Version: 2, Order: 73,
	Params: func(c *cas.Coder, n *PlaceGuards) { c.String(&n.Dir); c.Bool(&n.Explicit); c.Bool(&n.AllowFloating) },
	Value: func(c *cas.Coder, v *PlaceGuardsValue) {
		cas.Slice(c, &v.Findings, codeDiagnostic)
		cas.Slice(c, &v.Guards, codeGuard)
		c.Strings(&v.Missing)
	},
})

// Kind returns the kind "place-guards".
func (PlaceGuards) Kind() *graph.Kind { return placeGuardsKind }

// Compute reads the directory's own context files out of its cascade: those above have
// directories of their own.
func (n PlaceGuards) Compute(r graph.Reader) (v PlaceGuardsValue, err error) {
	cascade, err := graph.Need(r, Cascade{Target: n.Dir, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	settings, err := graph.Need(r, Settings{Target: n.Dir, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	v.Findings = mapped(slices.Concat(settings.Problems, cascade.Problems))
	if failed(cascade.Problems) || len(cascade.Levels) == 0 {
		return v, nil
	}
	cascade.Levels = cascade.Levels[len(cascade.Levels)-1:]
	contexts, err := readContexts(r, cascade)
	if err != nil {
		return v, err
	}
	if err := readClosures(r, contexts, n.AllowFloating); err != nil {
		return v, err
	}
	for i := range contexts {
		c := &contexts[i]
		v.Findings = slices.Concat(v.Findings, c.Problems, c.closure.Refusal, c.closure.Cycles, c.closure.Warnings)
		if failed(c.Problems) {
			// No map would show guards of a header with mistakes.
			continue
		}
		at := Source{Path: c.Path, Real: c.Real}
		attached, ok := c.closure.attach(at, guardsOf(&c.Header, at, ""))
		if !ok {
			v.Findings = append(v.Findings, tooManyGuards(c.Path))
		}
		for _, gs := range attached {
			v.Guards = append(v.Guards, gs...)
		}
		for _, ref := range c.closure.References {
			if ref.Missing != "" {
				v.Missing = append(v.Missing, ref.Missing)
			}
			if ref.Problem.Code != "" {
				v.Findings = append(v.Findings, ref.Problem)
			}
		}
	}
	return v, nil
}

// mapped takes out that another tool's file closes a directory: it has no maps, so its
// guards are nobody's, and lint reports its context files.
func mapped(ds []ir.Diagnostic) []ir.Diagnostic {
	return slices.DeleteFunc(ds, func(d ir.Diagnostic) bool { return d.Code == ir.BoundaryUninitialised })
}

// GuardPlanText is a plan as bytes: what a slot can hold.
type GuardPlanText struct {
	GuardPlan
	// From is what it is for a LintText.
	From string
}

var guardPlanTextKind = graph.Define(graph.Definition[RenderedValue, GuardPlanText]{
	Name: "guard-plan-text", Version: 6, Order: 80,
	Params: func(c *cas.Coder, n *GuardPlanText) {
		codeLayers(c, &n.Layers)
		c.Bool(&n.Everything)
		c.Bool(&n.Whole)
		c.String(&n.From)
	},
	Value: codeText,
})

// Kind returns the kind "guard-plan-text".
func (GuardPlanText) Kind() *graph.Kind { return guardPlanTextKind }

// Compute encodes.
func (n GuardPlanText) Compute(r graph.Reader) (v RenderedValue, err error) {
	if err := askedFrom(r, n.From, n.Explicit); err != nil {
		return v, err
	}
	p, err := graph.Need(r, n.GuardPlan)
	if err != nil {
		return v, err
	}
	v.Missing, v.Notices = p.Missing, p.Findings
	v.Text = cas.EncodeValue(&p, CodeGuardPlan)
	return v, nil
}
