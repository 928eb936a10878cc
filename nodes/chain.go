package nodes

import (
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// Chain is what a directory's map costs: the context that it carries or inherits,
// weighed against the caps (D-111). It changes with sizes, headers and caps on the
// way to the directory, not with the rest of the tree.
type Chain struct {
	Target   string
	Explicit bool
	// AllowFloating accepts imports that are pinned to a branch (D-33).
	AllowFloating bool
	// Profile names a harness whose caps count too, "" for none.
	Profile string
}

// ChainValue is the weighing's result.
type ChainValue struct {
	// Refusal is why the directory has no map; then there is no row.
	Refusal []ir.Diagnostic
	Row     ir.TargetRow
	// Inherited is set when a directory right below, without context of its own, has
	// the same chain or is refused for the same reason: no window counts levels, and
	// nothing is for this one alone.
	Inherited bool
	// Findings are the budget's, and those about versions that meet in one map.
	Findings []ir.Diagnostic
}

var chainKind = graph.Define(graph.Definition[ChainValue, Chain]{
	Name: "chain", Version: 3, Order: 72,
	Params: func(c *cas.Coder, n *Chain) {
		c.String(&n.Target)
		c.Bool(&n.Explicit)
		c.Bool(&n.AllowFloating)
		c.String(&n.Profile)
	},
	Value: func(c *cas.Coder, v *ChainValue) {
		cas.Slice(c, &v.Refusal, codeDiagnostic)
		codeTargetRow(c, &v.Row)
		c.Bool(&v.Inherited)
		cas.Slice(c, &v.Findings, codeDiagnostic)
	},
})

func codeTargetRow(c *cas.Coder, t *ir.TargetRow) {
	c.String(&t.Path)
	c.String(&t.Source)
	c.Int(&t.Layer)
	for i := range t.Tokens {
		c.Int(&t.Tokens[i])
		cas.Optional(c, &t.Caps[i], (*cas.Coder).Int)
	}
	c.Int(&t.All)
	c.Int(&t.Bytes)
	c.String(&t.Largest)
	c.Int(&t.LargestTokens)
	c.Int(&t.Guards)
}

// Kind returns the kind "chain".
func (Chain) Kind() *graph.Kind { return chainKind }

// Compute sums.
func (n Chain) Compute(r graph.Reader) (v ChainValue, err error) {
	budget := Budget{Layers: Layers{Target: n.Target, Explicit: n.Explicit, AllowFloating: n.AllowFloating}}
	layers, err := graph.Need(r, budget.Layers)
	if err != nil {
		return v, err
	}
	if failed(layers.Problems) {
		v.Refusal, v.Inherited = layers.Problems, true
		return v, nil
	}
	b, err := graph.Need(r, budget)
	if err != nil {
		return v, err
	}
	v.Findings = append(v.Findings, b.Overrun...)
	for _, d := range layers.Findings {
		// What else the layers have to say is said where the file is looked at.
		if d.Code == ir.ModuleVersionConflict {
			v.Findings = append(v.Findings, d)
		}
	}
	v.Inherited = layers.Window == 0
	t := &v.Row
	t.Path = n.Target
	for i, limit := range b.Caps {
		if limit.Limited {
			tokens := limit.Tokens
			t.Caps[i] = &tokens
		}
	}
	for i := range layers.Candidates {
		k := &layers.Candidates[i]
		if k.ImportDepth == 0 && k.Dir == n.Target && (t.Source == "" || !k.Anchor) && k.Status != ir.Shadowed && k.Status != ir.Boundary {
			t.Source = k.Source
		}
		if k.Status != ir.Included || b.Dropped[i] {
			continue
		}
		v.Inherited = v.Inherited && k.Scope != ScopeLocal
		t.Tokens[k.Layer] += b.Tokens[i]
		t.All += b.Tokens[i]
		t.Layer = max(t.Layer, k.Layer)
		if b.Tokens[i] > t.LargestTokens {
			t.Largest, t.LargestTokens = k.Source, b.Tokens[i]
		}
	}
	t.Guards = len(layers.Guards)
	v.noEffect(layers.Candidates, &b)
	if n.Profile != "" {
		err = v.harness(r, n, budget)
	}
	return v, err
}

// noEffect notes a max_tokens that the layer's cap is below anyway (D-40).
func (v *ChainValue) noEffect(ks []Candidate, b *BudgetValue) {
	for _, k := range ks {
		if k.ImportDepth > 0 || k.Status != ir.Included || !k.MaxTokens.Set {
			continue
		}
		if limit := b.Caps[k.Layer]; limit.Limited && k.MaxTokens.Value >= limit.Tokens {
			v.Findings = append(v.Findings, ir.Diagnostic{
				Code: ir.MaxTokensNoEffect, Severity: ir.SeverityNote, Source: k.Source,
				Message: fmt.Sprintf("max_tokens: %d has no effect: the cap of %s is %d", k.MaxTokens.Value, ir.LayerName(k.Layer), limit.Tokens),
			})
		}
	}
}

// harnessCaps are the sizes above which the programs that carry a map to a model
// cut it (D-111): 0 bounds nothing.
var harnessCaps = map[string]struct{ bytes, tokens, characters int }{
	"codex":    {bytes: 32768},
	"claude":   {tokens: 25000},
	"windsurf": {characters: 12000},
}

// Profiles lists the harnesses whose caps lint knows.
func Profiles() []string { return []string{"codex", "claude", "windsurf", "none"} }

// harness compares the rendered map with what a harness carries.
func (v *ChainValue) harness(r graph.Reader, n Chain, b Budget) error {
	m, err := graph.Need(r, Map{Budget: b, From: n.Target})
	if err != nil || len(m.Refusal) > 0 {
		return err
	}
	text := render.Markdown(&m.IR, render.Options{})
	v.Row.Bytes = len(text)
	limit := harnessCaps[n.Profile]
	for _, c := range []struct {
		size, limit int
		unit        string
	}{{len(text), limit.bytes, "bytes"}, {m.IR.Totals.RenderedTokens, limit.tokens, "tokens"}, {len([]rune(string(text))), limit.characters, "characters"}} {
		if c.limit > 0 && c.size > c.limit {
			v.Findings = append(v.Findings, ir.Diagnostic{
				Code: ir.HarnessCap, Severity: ir.SeverityError, Source: v.Row.Largest,
				Message: fmt.Sprintf("the map of %s has %d %s, and %s carries %d; %s is the largest part with %d tokens", spoken(n.Target), c.size, c.unit, n.Profile, c.limit, v.Row.Largest, v.Row.LargestTokens),
				Hint:    "shorten the largest files on the way, or set a window",
			})
		}
	}
	return nil
}
