package nodes

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render/page"
)

// Overview is a whole workspace for a page: the targets, what each of them that is
// shown adds, the findings of lint and the guards. It changes as these do, and says
// nothing that depends on whose machine this is but for the results of guards.
type Overview struct {
	Explicit      bool
	AllowFloating bool
	// From is what it is for a LintText.
	From string
}

// OverviewValue is the workspace, each part as its own kind has it.
type OverviewValue struct {
	// Name is what the configuration calls the project, "" for nothing.
	Name string
	Lint ir.LintReport
	// Rows are the targets and, with nothing but path and source, the directories of
	// Refused, which have context and no map.
	Rows    []ir.TargetRow
	Refused []page.Refused
	// Own is what the directories add that page.Choose takes from Rows, in that order.
	Own  [][]page.Source
	Plan GuardPlanValue
	// Unread says which parts are missing because a file may not be read.
	Unread []ir.Diagnostic
}

var overviewKind = graph.Define(graph.Definition[RenderedValue, Overview]{
	Name: "overview", Version: 2, Order: 80,
	Params: func(c *cas.Coder, n *Overview) { c.Bool(&n.Explicit); c.Bool(&n.AllowFloating); c.String(&n.From) },
	Value:  codeText,
})

// CodeOverview codes a workspace, for what hands it on as bytes.
func CodeOverview(c *cas.Coder, v *OverviewValue) {
	c.String(&v.Name)
	codeLintReport(c, &v.Lint)
	cas.Slice(c, &v.Rows, codeTargetRow)
	cas.Slice(c, &v.Refused, func(c *cas.Coder, d *page.Refused) {
		c.String(&d.Path)
		c.String((*string)(&d.Code))
	})
	cas.Slice(c, &v.Own, func(c *cas.Coder, own *[]page.Source) {
		cas.Slice(c, own, func(c *cas.Coder, s *page.Source) {
			c.String(&s.Path)
			c.String(&s.Section)
			cas.Optional(c, &s.Origin, codeOrigin)
			c.Int(&s.Layer)
			c.Int(&s.Tokens)
			c.Strings(&s.Owners)
			c.Bool(&s.Imported)
			c.String(&s.Status)
			c.String(&s.CountedIn)
		})
	})
	CodeGuardPlan(c, &v.Plan)
	cas.Slice(c, &v.Unread, codeDiagnostic)
}

// codeLintReport codes what a page shows of a report.
func codeLintReport(c *cas.Coder, v *ir.LintReport) {
	cas.Slice(c, &v.Findings, codeDiagnostic)
	c.Int(&v.Directories)
	c.Int(&v.Contexts)
	c.Int(&v.Anchors)
}

// Kind returns the kind "overview".
func (Overview) Kind() *graph.Kind { return overviewKind }

// Compute collects and encodes.
func (n Overview) Compute(r graph.Reader) (out RenderedValue, err error) {
	if err := askedFrom(r, n.From, n.Explicit); err != nil {
		return out, err
	}
	var v OverviewValue
	if v.Lint, err = graph.Need(r, Lint{Explicit: n.Explicit, AllowFloating: n.AllowFloating}); err != nil {
		return out, err
	}
	if err := n.name(r, &v); err != nil {
		return out, err
	}
	if err := n.rows(r, &v); err != nil {
		return out, err
	}
	if err := n.own(r, &v); err != nil {
		return out, err
	}
	plan := GuardPlan{Layers: Layers{Target: ".", Explicit: n.Explicit, AllowFloating: n.AllowFloating}, Everything: true}
	plans, errs := graph.TryAll(r, []GuardPlan{plan})
	if errs == nil {
		v.Plan = plans[0]
	} else if err := v.unread("the guards", errs[0]); err != nil {
		return out, err
	}
	out.Text = cas.EncodeValue(&v, CodeOverview)
	return out, nil
}

// unread notes that a part is missing. Other failures than a file that may not be read
// are returned.
func (v *OverviewValue) unread(what string, err error) error {
	var world interface{ Where() string }
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &world) {
		return err
	}
	v.Unread = append(v.Unread, ir.Diagnostic{
		Code: ir.Unreadable, Severity: ir.SeverityWarning,
		Message: what + " are not known: cannot " + world.Where() + ": permission denied",
	})
	return nil
}

// name takes the project's name out of its configuration: the map carries it only
// where there is more to say of the project.
func (n Overview) name(r graph.Reader, v *OverviewValue) error {
	anchor, err := graph.Need(r, Anchor{Target: ".", Explicit: n.Explicit})
	if err != nil || anchor.WorkspaceConfig == "" {
		return err
	}
	files, errs := graph.TryAll(r, []ConfigFile{{Path: anchor.WorkspaceConfig}})
	if errs != nil {
		return v.unread("the name and the settings of the project", errs[0])
	}
	v.Name = files[0].Config.Name
	return nil
}

// rows asks for the targets, and for the directories with context of their own that
// are none. One file that may not be read makes all targets unknown at once; then each
// of these directories answers for itself.
func (n Overview) rows(r graph.Reader, v *OverviewValue) error {
	all, errs := graph.TryAll(r, []Targets{{Explicit: n.Explicit, AllowFloating: n.AllowFloating, Under: "."}})
	if errs == nil {
		v.Rows = all[0]
	} else if err := v.unread("the directories without context of their own", errs[0]); err != nil {
		return err
	}
	s, err := surveyed(r, n.Explicit)
	if err != nil {
		return err
	}
	var ask []Chain
	var sources []string
	for _, p := range s.places {
		if m := marksOf(p.Found); len(m.contexts) > 0 || m.anchor != graph.Absent {
			ask = append(ask, Chain{Target: p.Dir, Explicit: n.Explicit, AllowFloating: n.AllowFloating})
			sources = append(sources, join(p.Dir, append(m.contexts, ".mwp")[0]))
		}
	}
	chains, failures := graph.TryAll(r, ask)
	for i, c := range chains {
		code := refusedBy(c.Refusal)
		if failures != nil && failures[i] != nil {
			if _, ok := unreadable(ask[i].Target, failures[i]); !ok {
				return failures[i]
			}
			code = ir.Unreadable
		}
		switch {
		case code != "":
			v.Refused = append(v.Refused, page.Refused{Path: ask[i].Target, Code: code})
			v.Rows = append(v.Rows, ir.TargetRow{Path: ask[i].Target, Source: sources[i]})
		case errs != nil && c.Row.All > 0:
			v.Rows = append(v.Rows, c.Row)
		}
	}
	slices.SortFunc(v.Rows, func(a, b ir.TargetRow) int { return ir.ComparePaths(a.Path, b.Path) })
	return nil
}

// refusedBy returns the first error's code, "" for none.
func refusedBy(ds []ir.Diagnostic) ir.Code {
	for _, d := range ds {
		if d.Severity == ir.SeverityError {
			return d.Code
		}
	}
	return ""
}

// own asks what each directory of the page adds to the maps below it.
func (n Overview) own(r graph.Reader, v *OverviewValue) error {
	dirs, _ := page.Choose(v.Rows)
	v.Own = make([][]page.Source, len(dirs))
	refused := map[string]bool{}
	for _, d := range v.Refused {
		refused[d.Path] = true
	}
	var at []int
	var layers []Layers
	var budgets []Budget
	for i := range dirs {
		if refused[dirs[i].Row.Path] {
			continue
		}
		l := Layers{Target: dirs[i].Row.Path, Explicit: n.Explicit, AllowFloating: n.AllowFloating}
		at, layers, budgets = append(at, i), append(layers, l), append(budgets, Budget{Layers: l})
	}
	bs, err := graph.NeedAll(r, budgets)
	if err != nil {
		return err
	}
	ls, err := graph.NeedAll(r, layers)
	if err != nil {
		return err
	}
	claims := map[string]claim{}
	for j := range layers {
		claimAll(claims, layers[j].Target, &ls[j], &bs[j])
	}
	for j, i := range at {
		v.Own[i] = ownSources(layers[j].Target, &ls[j], &bs[j], claims)
	}
	return nil
}

// claim says which directory a text counts for.
type claim struct {
	dir  string
	rank int
}

// claimAll enters what a directory adds. Its own files are its own; what several
// import counts where it lies, else for the first of them.
func claimAll(claims map[string]claim, dir string, l *LayersValue, b *BudgetValue) {
	for i := range l.Candidates {
		k := &l.Candidates[i]
		key := k.key()
		if k.Dir != dir || !k.Placed || k.Status != ir.Included || b.Dropped[i] || key == "" {
			continue
		}
		c := claim{dir: dir, rank: 1}
		if k.ImportDepth == 0 {
			c.rank = 3 + maxScanDepth
		} else if within(k.Source, dir) {
			c.rank = 2 + depth(dir)
		}
		if c.rank > claims[key].rank {
			claims[key] = c
		}
	}
}

// ownSources returns what a directory itself adds to its map.
func ownSources(dir string, l *LayersValue, b *BudgetValue, claims map[string]claim) []page.Source {
	var own []page.Source
	for i := range l.Candidates {
		k := &l.Candidates[i]
		if k.Dir != dir || !k.Placed {
			continue
		}
		s := page.Source{
			Path: k.Source, Section: k.Section, Origin: k.Origin, Layer: k.Layer, Tokens: b.Tokens[i], Owners: k.Owners,
			Imported: k.ImportDepth > 0, Status: k.Status,
		}
		if b.Dropped[i] {
			s.Status = ir.DroppedByBudget
		}
		if c := claims[k.key()]; s.Status == ir.Included && c.dir != dir {
			s.CountedIn = c.dir
		}
		own = append(own, s)
	}
	return own
}
