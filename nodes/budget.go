package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Budget weighs the included candidates against the caps (D-38, D-40). It
// changes with their sizes in tokens, their headers, and the caps.
type Budget struct {
	Layers
	Overrides
}

// Overrides are the command line's values for one run; they beat every
// configuration.
type Overrides struct {
	Caps [ir.LayerCount]CapOverride
	// Counter is a token counter's name, "" for the configured one.
	Counter string
}

// CapOverride replaces one layer's cap when Set.
type CapOverride struct {
	Set bool
	Cap Cap
}

func (o *Overrides) code(c *cas.Coder) {
	for i := range o.Caps {
		c.Bool(&o.Caps[i].Set)
		if o.Caps[i].Set {
			o.Caps[i].Cap.code(c)
		}
	}
	c.String(&o.Counter)
}

// BudgetValue is the weighing's result, by candidate in the order of Layers.
type BudgetValue struct {
	Counter string
	Caps    [ir.LayerCount]Cap
	Policy  string
	// Tokens and Bodies are each candidate's size and its body's digest, zero for
	// those that were out before.
	Tokens []int
	Bodies []cas.Digest
	// Dropped is true for candidates left out under policy "drop".
	Dropped []bool
	Overrun []ir.Diagnostic
}

var budgetKind = graph.Define(graph.Definition[BudgetValue, Budget]{
	Name: "budget", Version: 2, Order: 60,
	Params: func(c *cas.Coder, n *Budget) {
		codeLayers(c, &n.Layers)
		n.Overrides.code(c)
	},
	Value: func(c *cas.Coder, v *BudgetValue) {
		c.String(&v.Counter)
		for i := range v.Caps {
			v.Caps[i].code(c)
		}
		c.String(&v.Policy)
		cas.Slice(c, &v.Tokens, (*cas.Coder).Int)
		cas.Slice(c, &v.Bodies, (*cas.Coder).Digest)
		cas.Slice(c, &v.Dropped, (*cas.Coder).Bool)
		cas.Slice(c, &v.Overrun, codeDiagnostic)
	},
})

// Kind returns the kind "budget".
func (Budget) Kind() *graph.Kind { return budgetKind }

// Compute counts, compares and applies the policy.
func (n Budget) Compute(r graph.Reader) (v BudgetValue, err error) {
	s, err := graph.Need(r, Settings{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	l, err := graph.Need(r, n.Layers)
	if err != nil {
		return v, err
	}
	v.Counter, v.Caps, v.Policy = cmp.Or(n.Counter, s.Counter), s.Caps, s.Policy
	for i, o := range n.Caps {
		if o.Set {
			v.Caps[i] = o.Cap
		}
	}
	if err := v.measure(r, l.Candidates); err != nil {
		return v, err
	}
	v.Dropped = make([]bool, len(l.Candidates))
	v.large(l.Candidates)
	v.fileCaps(l.Candidates)
	for layer := range ir.LayerCount {
		v.layerCap(l.Candidates, layer)
	}
	ir.SortDiagnostics(v.Overrun)
	return v, nil
}

// measure takes the size of every included candidate, and what is hidden in it.
func (v *BudgetValue) measure(r graph.Reader, ks []Candidate) error {
	v.Tokens, v.Bodies = make([]int, len(ks)), make([]cas.Digest, len(ks))
	var group []graph.Task
	var at []int
	for i, k := range ks {
		if k.Status != ir.Included {
			continue
		}
		at = append(at, i)
		if k.Anchor {
			count := countTokens(v.Counter, []byte(k.Text))
			v.Bodies[i] = count.Digest
			group = append(group, count)
		} else {
			group = append(group, Measure{Real: k.Real, Syntax: k.Syntax, Section: k.Section, Counter: v.Counter, Foreign: k.foreign()})
		}
	}
	if len(group) == 0 {
		return nil
	}
	values, err := r.Read(group)
	if err != nil {
		return err
	}
	for j, x := range values {
		switch x := x.(type) {
		case int:
			v.Tokens[at[j]] = x
		case MeasureValue:
			v.Tokens[at[j]], v.Bodies[at[j]] = x.Tokens, x.Body
			v.Overrun = append(v.Overrun, hiddenFindings(&ks[at[j]], x.Hidden)...)
		}
	}
	return nil
}

// hiddenFindings marks an entry whose text holds what a reader does not see: an
// error in text from elsewhere, a warning in the project's own (D-112).
func hiddenFindings(k *Candidate, hidden []Hidden) []ir.Diagnostic {
	var ds []ir.Diagnostic
	for _, h := range hidden {
		d := ir.Diagnostic{
			Code: ir.HiddenText, Severity: ir.SeverityWarning, Source: k.Source, Line: h.Line, Column: h.Column,
			Message: fmt.Sprintf("found a %s, which a reader does not see: %s", h.What, h.Text),
			Hint:    "delete it, or write what it stands for",
		}
		if h.Rune != 0 {
			d.Message = fmt.Sprintf("found a %s (U+%04X), which a reader does not see: %s", h.What, h.Rune, h.Text)
		}
		if h.More > 0 {
			d.Message += fmt.Sprintf("; and %d more in this file", h.More)
		}
		if k.foreign() {
			d.Severity = ir.SeverityError
			d.Hint = "look at the module before an LLM does; its author can take it out"
		}
		ds = append(ds, d)
	}
	return ds
}

// largeContext is the size in tokens above which one file crowds out the others
// whatever the caps say; the proposal's upper end for a stage.
const largeContext = 8000

// large warns about single files that ought to be split.
func (v *BudgetValue) large(ks []Candidate) {
	for i, k := range ks {
		if v.Tokens[i] > largeContext {
			v.Overrun = append(v.Overrun, ir.Diagnostic{
				Code: ir.LargeContext, Severity: ir.SeverityWarning, Source: k.Source,
				Message: fmt.Sprintf("%d tokens in one file, more than %d%s", v.Tokens[i], largeContext, ownedBy(k)),
				Hint:    "split it by concern and import the parts where they apply",
			})
		}
	}
}

// fileCaps applies max_tokens, to a file with what it imports into its layer, and
// only where it is below the layer's cap (D-40).
func (v *BudgetValue) fileCaps(ks []Candidate) {
	for i, k := range ks {
		limit := k.MaxTokens
		if !limit.Set || k.Status != ir.Included && k.Status != ir.Empty {
			continue
		}
		if layer := v.Caps[k.Layer]; layer.Limited && limit.Value >= layer.Tokens {
			continue
		}
		in := splicedBy(ks, i)
		total := 0
		for _, j := range in {
			total += v.Tokens[j]
		}
		if total <= limit.Value {
			continue
		}
		d := ir.Diagnostic{
			Code: ir.MaxTokensOverrun, Severity: ir.SeverityError, Source: k.Source,
			Message: fmt.Sprintf("%d tokens, %d over the file's own max_tokens of %d%s", total, total-limit.Value, limit.Value, ownedBy(k)),
			Hint:    "shorten the file, split it, or raise max_tokens",
		}
		if len(in) > 1 {
			d.Message = fmt.Sprintf("%d tokens with what the file imports, %d over its max_tokens of %d: %s", total, total-limit.Value, limit.Value, v.bySize(ks, in))
		}
		if v.Policy == PolicyDrop && k.Layer != 0 {
			for _, j := range in {
				v.Dropped[j] = true
			}
			d.Severity = ir.SeverityWarning
			d.Message += "; left out"
		}
		v.Overrun = append(v.Overrun, d)
	}
}

// splicedBy returns the included candidates that a file brings into its layer:
// itself and what its imports lead to.
func splicedBy(ks []Candidate, i int) []int {
	k := &ks[i]
	var in []int
	for j := range ks {
		o := &ks[j]
		if o.Status != ir.Included || o.Layer != k.Layer {
			continue
		}
		if j == i || o.Dir == k.Dir && o.ImportDepth > k.ImportDepth && slices.Contains(o.Chain, k.Source) {
			in = append(in, j)
		}
	}
	return in
}

// layerCap compares one layer's sum with its cap and, under policy "drop",
// leaves out whole entries, lowest priority first and among equals the deepest,
// until the layer fits. L0 is never dropped.
func (v *BudgetValue) layerCap(ks []Candidate, layer int) {
	limit := v.Caps[layer]
	var in []int
	total := 0
	for i, k := range ks {
		if k.Status == ir.Included && k.Layer == layer && !v.Dropped[i] {
			in = append(in, i)
			total += v.Tokens[i]
		}
	}
	if !limit.Limited || total <= limit.Tokens {
		return
	}
	d := ir.Diagnostic{
		Code: ir.BudgetOverrun, Severity: ir.SeverityError,
		Message: fmt.Sprintf("%s holds %d tokens, %d over its cap of %d: %s", ir.LayerName(layer), total, total-limit.Tokens, limit.Tokens, v.bySize(ks, in)),
		Hint:    fmt.Sprintf("shorten the largest, or raise the cap: `--budget l%d=%d`, or l%d under [budgets]", layer, total, layer),
	}
	if v.Policy == PolicyDrop && layer != 0 {
		slices.SortStableFunc(in, func(a, b int) int {
			return cmp.Or(cmp.Compare(ks[a].Priority, ks[b].Priority), cmp.Compare(ks[b].Depth, ks[a].Depth), ir.ComparePaths(ks[b].Source, ks[a].Source))
		})
		var out []string
		for _, i := range in {
			if total <= limit.Tokens {
				break
			}
			v.Dropped[i] = true
			total -= v.Tokens[i]
			out = append(out, ks[i].Source)
		}
		d.Severity = ir.SeverityWarning
		d.Message += "; left out: " + strings.Join(out, ", ")
	}
	v.Overrun = append(v.Overrun, d)
}

// listedEntries bounds how many entries an overrun message names.
const listedEntries = 10

// bySize lists entries with their sizes and owners, largest first.
func (v *BudgetValue) bySize(ks []Candidate, in []int) string {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(a, b int) int {
		return cmp.Or(cmp.Compare(v.Tokens[b], v.Tokens[a]), ir.ComparePaths(ks[a].Source, ks[b].Source))
	})
	var parts []string
	for _, i := range in[:min(len(in), listedEntries)] {
		parts = append(parts, fmt.Sprintf("%s (%d%s)", ks[i].Source, v.Tokens[i], ownedBy(ks[i])))
	}
	if more := len(in) - listedEntries; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// ownedBy names who to ask about an entry (D-29).
func ownedBy(k Candidate) string {
	switch len(k.Owners) {
	case 0:
		return ""
	case 1:
		return ", owner: " + k.Owners[0]
	}
	return ", owners: " + strings.Join(k.Owners, ", ")
}
