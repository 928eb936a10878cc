package nodes

import (
	"errors"
	"io/fs"

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
	Lint ir.LintReport
	Rows []ir.TargetRow
	// Own is what the directories add that page.Choose takes from Rows, in that order.
	Own  [][]page.Source
	Plan GuardPlanValue
	// Unread says which parts are missing because a file may not be read.
	Unread []ir.Diagnostic
}

var overviewKind = graph.Define(graph.Definition[RenderedValue, Overview]{
	Name: "overview", Version: 1, Order: 80,
	Params: func(c *cas.Coder, n *Overview) { c.Bool(&n.Explicit); c.Bool(&n.AllowFloating); c.String(&n.From) },
	Value:  codeText,
})

// CodeOverview codes a workspace, for what hands it on as bytes.
func CodeOverview(c *cas.Coder, v *OverviewValue) {
	codeLintReport(c, &v.Lint)
	cas.Slice(c, &v.Rows, codeTargetRow)
	cas.Slice(c, &v.Own, func(c *cas.Coder, own *[]page.Source) {
		cas.Slice(c, own, func(c *cas.Coder, s *page.Source) {
			c.String(&s.Path)
			c.Int(&s.Layer)
			c.Int(&s.Tokens)
			c.Strings(&s.Owners)
			c.Bool(&s.Imported)
			c.String(&s.Status)
			c.Bool(&s.Again)
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
	rows, errs := graph.TryAll(r, []Targets{{Explicit: n.Explicit, AllowFloating: n.AllowFloating, Under: "."}})
	if errs == nil {
		v.Rows = rows[0]
	} else if err := v.unread("the directories with context", errs[0]); err != nil {
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

// own asks what each directory of the page adds to the maps below it.
func (n Overview) own(r graph.Reader, v *OverviewValue) error {
	dirs, _ := page.Choose(v.Rows)
	layers, budgets := make([]Layers, len(dirs)), make([]Budget, len(dirs))
	for i := range dirs {
		layers[i] = Layers{Target: dirs[i].Row.Path, Explicit: n.Explicit, AllowFloating: n.AllowFloating}
		budgets[i] = Budget{Layers: layers[i]}
	}
	bs, err := graph.NeedAll(r, budgets)
	if err != nil {
		return err
	}
	ls, err := graph.NeedAll(r, layers)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	v.Own = make([][]page.Source, len(dirs))
	for i := range dirs {
		v.Own[i] = ownSources(dirs[i].Row.Path, &ls[i], &bs[i], seen)
	}
	return nil
}

// ownSources returns what a directory itself adds to its map. seen holds what earlier
// directories added.
func ownSources(dir string, l *LayersValue, b *BudgetValue, seen map[string]bool) []page.Source {
	var own []page.Source
	for i := range l.Candidates {
		k := &l.Candidates[i]
		if k.Dir != dir || !k.Placed {
			continue
		}
		s := page.Source{
			Path: k.Source, Layer: k.Layer, Tokens: b.Tokens[i], Owners: k.Owners, Imported: k.ImportDepth > 0, Status: k.Status,
		}
		if b.Dropped[i] {
			s.Status = ir.DroppedByBudget
		}
		if key := k.key(); s.Status == ir.Included && key != "" {
			s.Again, seen[key] = seen[key], true
		}
		own = append(own, s)
	}
	return own
}
