package nodes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// Map is the workspace map: the IR with bodies, lists, totals, the account of
// every candidate, and the range of every body in the canonical Markdown
// . It changes with anything it shows.
type Map struct {
	Budget
	// From, for an orientation map, is the sub-project it was asked from, which
	// decides what the workspace root is (D-06); "." otherwise.
	From string
}

// ErrMoved is what Map returns when the workspace root turns out to be another
// directory than the evaluation began with: an anchor changed meanwhile.
var ErrMoved = errors.New("the workspace root changed while the map was computed")

// MapValue is a map, or the reason why there is none.
type MapValue struct {
	// Refusal holds every finding when one of them is an error; then IR is empty.
	Refusal []ir.Diagnostic
	IR      ir.Map
	// Missing are git references that a fetch could provide, as written (D-35).
	Missing []string
}

var mapKind = graph.Define(graph.Definition[MapValue, Map]{
	Name: "map", Version: 7, Order: 70,
	Params: codeMapParams,
	Value: func(c *cas.Coder, v *MapValue) {
		cas.Slice(c, &v.Refusal, codeDiagnostic)
		codeIR(c, &v.IR)
		c.Strings(&v.Missing)
	},
})

func codeMapParams(c *cas.Coder, n *Map) {
	codeLayers(c, &n.Layers)
	n.Overrides.code(c)
	c.String(&n.From)
}

// Kind returns the kind "map".
func (Map) Kind() *graph.Kind { return mapKind }

// Compute puts the map together.
func (n Map) Compute(r graph.Reader) (v MapValue, err error) {
	anchor, err := graph.Need(r, Anchor{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	from := anchor
	if n.Orientation && n.From != n.Target {
		if from, err = graph.Need(r, Anchor{Target: n.From, Explicit: n.Explicit}); err != nil {
			return v, err
		}
	}
	if from.Up != 0 || from.Root != "." || anchor.Up != 0 || anchor.Root != "." {
		return v, ErrMoved
	}
	layers, err := graph.Need(r, n.Layers)
	if err != nil {
		return v, err
	}
	if failed(layers.Problems) {
		v.Refusal = layers.Problems
		return v, nil
	}
	v.Missing = layers.Missing
	budget, err := graph.Need(r, n.Budget)
	if err != nil {
		return v, err
	}
	around, err := graph.Need(r, Surroundings{Target: n.Target, Explicit: n.Explicit, Orientation: n.Orientation})
	if err != nil {
		return v, err
	}
	m := &v.IR
	m.SchemaVersion, m.Kind = ir.SchemaVersion, ir.KindOrientation
	if !n.Orientation {
		target := n.Target
		m.Kind, m.Target = ir.KindFocused, &target
	}
	m.Anchors = ir.Anchors{Workspace: anchor.Workspace, Project: anchor.Project}
	m.Intents, m.Pipelines = around.Intents, slices.Concat(around.Pipelines, layers.Pipelines)
	m.Modules = layers.Modules
	m.Directories, m.SubApplications = around.Directories, around.SubApplications
	m.Notes, m.Signals = around.Notes, around.Signals
	m.TokenCounter = budget.Counter
	for i, c := range budget.Caps {
		if c.Limited {
			tokens := c.Tokens
			*m.Budgets.At(i) = &tokens
		}
	}
	checked, err := n.checked(r, layers.Guards)
	if err != nil {
		return v, err
	}
	m.Verifications, m.ReadOnly = checked.Verifications, checked.ReadOnly
	m.Warnings = slices.Concat(layers.Problems, layers.Findings, budget.Overrun, checked.Findings)
	ir.SortDiagnostics(m.Warnings)
	if !n.Orientation && !m.ReadOnly {
		m.Notes = nil
	}
	if err := n.fill(r, m, layers, budget); err != nil {
		return v, err
	}
	text := place(m)
	if m.Totals.RenderedTokens, err = graph.Need(r, countTokens(budget.Counter, text)); err != nil {
		return v, err
	}
	m.IRHash = cas.Sum(ir.AppendJSON(nil, m, ir.HashedForm)).Tagged()
	return v, nil
}

// checked joins what is known of the guards, which most maps have none of.
func (n Map) checked(r graph.Reader, guards []Guard) (v VerificationsValue, err error) {
	if len(guards) == 0 {
		return v, nil
	}
	return graph.Need(r, Verifications{n.Layers})
}

// fill adds entries, totals and the trace, one record for each candidate.
func (n Map) fill(r graph.Reader, m *ir.Map, l LayersValue, b BudgetValue) error {
	ks := l.Candidates
	var files []graph.File
	for i, k := range ks {
		if k.Status == ir.Included && !b.Dropped[i] && !k.Anchor {
			files = append(files, graph.File{Path: k.Real})
		}
	}
	states, err := graph.NeedAll(r, files)
	if err != nil {
		return err
	}
	for i, k := range ks {
		t := ir.TraceRecord{
			ID: k.ID, Source: k.Source, SourcePath: k.Source, Reason: k.Reason, Rule: k.Rule, Tokens: b.Tokens[i],
			ImportsChain: k.Chain,
			Status:       k.Status, DeduplicatedBy: k.Duplicates, Declared: k.Declared, Owners: k.Owners,
		}
		if k.Placed {
			layer, priority := k.Layer, k.Priority
			t.Layer, t.Priority = &layer, &priority
		}
		if !b.Bodies[i].IsZero() {
			t.Digest = b.Bodies[i].Tagged()
		}
		if b.Dropped[i] {
			t.Status, t.Rule = ir.DroppedByBudget, "budget"
			t.Reason += fmt.Sprintf("; left out by budget policy %q", b.Policy)
		}
		if t.Status == ir.Included {
			body := k.Text
			if !k.Anchor {
				body = string(sectionOf(DocumentBody(states[0].Bytes, k.Syntax), k.Section))
				states = states[1:]
			}
			list := m.Layers.At(k.Layer)
			*list = append(*list, ir.Entry{
				ID: k.ID, Source: k.Source, Name: k.Name, Layer: k.Layer, Priority: k.Priority, Tokens: b.Tokens[i],
				Scope: k.Scope, ImportsChain: k.Chain, Section: k.Section, BodyMarkdown: body, Owners: k.Owners, Origin: k.Origin,
			})
			if len(k.Guards) > 0 {
				showGuards(&(*list)[len(*list)-1], k.Guards, l.Guards, m.Verifications)
			}
			*m.Totals.At(k.Layer) += b.Tokens[i]
			m.Totals.All += b.Tokens[i]
		}
		m.Trace = append(m.Trace, t)
	}
	return nil
}

// showGuards gives an entry its guards and the worst of their statuses (D-47).
func showGuards(e *ir.Entry, at []int, guards []Guard, known []ir.Verification) {
	var statuses []string
	for _, i := range at {
		v := &known[i]
		e.Guards = append(e.Guards, ir.Guard{Key: v.Key, Name: guards[i].Label(), Cmd: v.Guard, Status: v.Status})
		statuses = append(statuses, v.Status)
	}
	status := worstStatus(statuses)
	e.GuardStatus = &status
}

// place renders the canonical Markdown and writes each body's range in it into
// the trace. Entries and included records come in the same order.
func place(m *ir.Map) []byte {
	text, ranges := render.Layout(m)
	for i := range m.Trace {
		if m.Trace[i].Status == ir.Included {
			at := ranges[0]
			m.Trace[i].ByteRange, ranges = &at, ranges[1:]
		}
	}
	return text
}
