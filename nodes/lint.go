package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Lint is what is wrong in a workspace, or in parts of it (D-79). It changes with
// its directories' names, their context files, anchors and manifests, and with
// what these lead to; the rest of the tree does not matter.
type Lint struct {
	Explicit      bool
	AllowFloating bool
	Profile       string
	// Under are the directories, each with a final slash, and the files to look at,
	// joined by NUL bytes; "" for all. What is gone may have been either.
	Under string
}

var lintKind = graph.Define(graph.Definition[ir.LintReport, Lint]{
	Name: "lint", Version: 2, Order: 76,
	Params: func(c *cas.Coder, n *Lint) {
		c.Bool(&n.Explicit)
		c.Bool(&n.AllowFloating)
		c.String(&n.Profile)
		c.String(&n.Under)
	},
	Value: func(c *cas.Coder, v *ir.LintReport) {
		cas.Slice(c, &v.Findings, codeDiagnostic)
		cas.Slice(c, &v.Worst, codeTargetRow)
		c.Strings(&v.Missing)
		c.Int(&v.Directories)
		c.Int(&v.Contexts)
		c.Int(&v.Anchors)
	},
})

// Kind returns the kind "lint".
func (Lint) Kind() *graph.Kind { return lintKind }

// survey is a workspace's tree with what is not its own taken out.
type survey struct {
	tree TreeValue
	// places are the directories with a find that belong to this workspace; foreign
	// are the roots of workspaces inside it.
	places  []Place
	foreign []string
	// findings are about the survey itself.
	findings []ir.Diagnostic
}

// surveyed walks the tree and finds which workspace each anchor belongs to.
func surveyed(r graph.Reader, explicit bool) (s survey, err error) {
	tree, err := wholeTree(r, explicit)
	if err != nil {
		return s, err
	}
	if s.tree, err = graph.Need(r, tree); err != nil {
		return s, err
	}
	if err := s.anchors(r, explicit); err != nil {
		return s, err
	}
	for _, p := range s.tree.Places {
		if s.isForeign(p.Dir) {
			continue
		}
		if p.Denied {
			s.findings = append(s.findings, ir.Diagnostic{
				Code: ir.Unreadable, Severity: ir.SeverityWarning, Source: p.Dir, Message: "the directory may not be read, so nothing in it was looked at",
			})
		}
		if p.Deep {
			s.findings = append(s.findings, ir.Diagnostic{
				Code: ir.LimitExceeded, Severity: ir.SeverityWarning, Source: p.Dir,
				Message: fmt.Sprintf("directories more than %d levels deep were not looked at", maxScanDepth),
			})
		}
		s.places = append(s.places, p)
	}
	return s, nil
}

func (s *survey) isForeign(dir string) bool {
	return slices.ContainsFunc(s.foreign, func(f string) bool { return within(dir, f) })
}

// anchors finds the anchors below the root that are workspaces of their own.
func (s *survey) anchors(r graph.Reader, explicit bool) error {
	var ns []Anchor
	for _, p := range s.tree.Places {
		if p.Dir != "." && marksOf(p.Found).anchor != graph.Absent {
			ns = append(ns, Anchor{Target: p.Dir, Explicit: explicit})
		}
	}
	vs, err := graph.NeedAll(r, ns)
	for i, a := range vs {
		if explicit || a.Root == "." || s.isForeign(ns[i].Target) {
			continue
		}
		s.foreign = append(s.foreign, ns[i].Target)
		listed := !slices.ContainsFunc(a.Problems, func(d ir.Diagnostic) bool { return d.Code == ir.NotAMember })
		for _, d := range a.Problems {
			if d.Code == ir.NotAMember {
				// The workspace says it of a project, which the message does not name.
				d.Source = ns[i].Target + "/.mwp"
			}
			s.findings = append(s.findings, d)
		}
		if listed && !failed(a.Problems) {
			s.findings = append(s.findings, ir.Diagnostic{
				Code: ir.NestedWorkspace, Severity: ir.SeverityWarning, Source: ns[i].Target + "/.mwp",
				Message: "a workspace inside the workspace: it has members of its own, so nothing from outside is loaded in it",
				Hint:    "list its members in the outer workspace, or leave it out of the outer one's members",
			})
		}
	}
	return err
}

// Compute looks at every directory with a find, and at the lock file.
func (n Lint) Compute(r graph.Reader) (v ir.LintReport, err error) {
	s, err := surveyed(r, n.Explicit)
	if err != nil {
		return v, err
	}
	v.Findings = s.findings
	for _, d := range s.tree.Dirs {
		if n.Covers(d) && !s.isForeign(d) {
			v.Directories++
		}
	}
	var ns []LintPlace
	for _, p := range s.places {
		m := marksOf(p.Found)
		if m.anchor != graph.Absent && n.Covers(p.Dir) {
			v.Anchors++
		}
		if n.Covers(p.Dir) && (m.anchor != graph.Absent || m.manifest || len(m.contexts)+len(m.strays) > 0) {
			chain := Chain{Target: p.Dir, Explicit: n.Explicit, AllowFloating: n.AllowFloating, Profile: n.Profile}
			ns = append(ns, LintPlace{Chain: chain, Found: encodeFound(p.Found)})
		}
	}
	vs, errs := graph.TryAll(r, ns)
	for i, err := range errs {
		if err == nil {
			continue
		}
		d, ok := unreadable(ns[i].Target, err)
		if !ok {
			return v, err
		}
		v.Findings = append(v.Findings, d)
	}
	var used []string
	var rows []ir.TargetRow
	overruns := map[string]*overrun{}
	for _, p := range vs {
		v.Contexts += p.Contexts
		used = append(used, p.Used...)
		v.Missing = append(v.Missing, p.Missing...)
		if p.HasRow {
			rows = append(rows, p.Row)
		}
		for _, d := range p.Findings {
			if d.Code == ir.BudgetOverrun && p.HasRow {
				gather(overruns, d, p.Row)
			} else {
				v.Findings = append(v.Findings, d)
			}
		}
	}
	for _, o := range overruns {
		v.Findings = append(v.Findings, o.finding())
	}
	if n.Under == "" {
		// While an import is unresolved or a header unread, nobody knows what they would
		// have imported in turn.
		known := !slices.ContainsFunc(s.places, func(p Place) bool { return p.Deep || p.Denied }) && !slices.ContainsFunc(v.Findings, func(d ir.Diagnostic) bool {
			return d.Severity == ir.SeverityError && d.Code != ir.MaxTokensOverrun && d.Code != ir.HiddenText && d.Code != ir.HarnessCap
		})
		if err := lintLock(r, &v, used, known); err != nil {
			return v, err
		}
	}
	v.Worst = worst(rows)
	slices.Sort(v.Missing)
	v.Missing = slices.Compact(v.Missing)
	v.Findings = sortedOnce(v.Findings)
	return v, nil
}

// unreadable is the finding about a directory whose files, or what they import, may
// not be read: it must not hide what is wrong in all the others. It is false for any
// other failure.
func unreadable(dir string, err error) (ir.Diagnostic, bool) {
	var world interface{ Where() string }
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &world) {
		return ir.Diagnostic{}, false
	}
	return ir.Diagnostic{
		Code: ir.Unreadable, Severity: ir.SeverityError, Source: dir,
		Message: "the directory was not looked at: cannot " + world.Where() + ": permission denied",
	}, true
}

// Covers reports whether a directory was asked for: it lies in one of the paths, or
// a path names a file in it.
func (n Lint) Covers(dir string) bool {
	if n.Under == "" {
		return true
	}
	for path := range strings.SplitSeq(n.Under, "\x00") {
		if d, known := strings.CutSuffix(path, "/"); within(dir, d) || !known && parent(path) == dir {
			return true
		}
	}
	return false
}

// overrun is one layer that is too large for the same reason in some targets.
type overrun struct {
	ir.Diagnostic
	first string
	more  int
}

// gather joins overruns that say the same of several targets.
func gather(all map[string]*overrun, d ir.Diagnostic, row ir.TargetRow) {
	o := all[d.Message]
	if o == nil {
		d.Source = row.Largest
		all[d.Message] = &overrun{Diagnostic: d, first: row.Path}
		return
	}
	o.more++
	if ir.ComparePaths(row.Path, o.first) < 0 {
		o.first = row.Path
	}
}

func (o *overrun) finding() ir.Diagnostic {
	d := o.Diagnostic
	d.Message = "in the map of " + spoken(o.first)
	if o.more > 0 {
		d.Message += fmt.Sprintf(" and %d more", o.more)
	}
	d.Message += ": " + o.Message
	// The command line of a map has a flag for a cap, that of lint has none.
	d.Hint = "shorten the largest, or raise the cap under [budgets]"
	return d
}

// lintLock reports mistakes in the lock file, and, when all that is used is known,
// records that nothing imports.
func lintLock(r graph.Reader, v *ir.LintReport, used []string, known bool) error {
	im := importing{r: r}
	if err := im.workspace(); err != nil || im.state == "" {
		return err
	}
	file := im.state + "/" + LockName
	lock, err := graph.Need(r, LockFile{Path: file})
	if err != nil {
		return err
	}
	v.Findings = append(v.Findings, lock.Problems...)
	for _, rec := range lock.Records {
		if known && !slices.Contains(used, rec.Key) {
			v.Findings = append(v.Findings, ir.Diagnostic{
				Code: ir.LockUnused, Severity: ir.SeverityWarning, Source: file,
				Message: "nothing imports " + rec.Key, Hint: "delete its line, unless a context file that git ignores needs it",
			})
		}
	}
	return nil
}

// worstListed bounds the list of targets in a report.
const worstListed = 5

// worst returns the rows that come nearest to a cap, the nearest first: what a
// layer spends of its cap, in thousandths.
func worst(rows []ir.TargetRow) []ir.TargetRow {
	spent := func(t *ir.TargetRow) int {
		most := 0
		for i, limit := range t.Caps {
			if limit != nil && *limit > 0 {
				most = max(most, t.Tokens[i]*1000 / *limit)
			}
		}
		return most
	}
	rows = slices.DeleteFunc(rows, func(t ir.TargetRow) bool { return spent(&t) == 0 })
	slices.SortStableFunc(rows, func(a, b ir.TargetRow) int {
		return cmp.Or(cmp.Compare(spent(&b), spent(&a)), ir.ComparePaths(a.Path, b.Path))
	})
	return rows[:min(len(rows), worstListed)]
}
