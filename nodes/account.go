package nodes

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// GuardAccounts is what explain says of a map's guards. It changes with the guards and
// with what the configurations decide about them, and says nothing that depends on
// whose machine this is.
type GuardAccounts struct{ Layers }

var guardAccountsKind = graph.Define(graph.Definition[[]ir.GuardAccount, GuardAccounts]{
	Name: "guard-accounts", Version: 4, Order: 66,
	Params: func(c *cas.Coder, n *GuardAccounts) { codeLayers(c, &n.Layers) },
	Value: func(c *cas.Coder, v *[]ir.GuardAccount) {
		cas.Slice(c, v, func(c *cas.Coder, a *ir.GuardAccount) {
			for _, s := range []*string{&a.Key, &a.Trust, &a.Why, &a.Runs, &a.CacheFor, &a.Timeout, &a.Log} {
				c.String(s)
			}
			for _, l := range []*[]string{&a.Declared, &a.Inputs, &a.Owners} {
				c.Strings(l)
			}
			c.Bool(&a.Whole)
		})
	},
})

// Kind returns the kind "guard-accounts".
func (GuardAccounts) Kind() *graph.Kind { return guardAccountsKind }

// Compute asks the configurations about each guard.
func (n GuardAccounts) Compute(r graph.Reader) ([]ir.GuardAccount, error) {
	layers, err := graph.Need(r, n.Layers)
	if err != nil {
		return nil, err
	}
	trusts := make([]Trust, len(layers.Guards))
	for i, g := range layers.Guards {
		trusts[i] = Trust{Dir: g.Dir, Explicit: n.Explicit}
	}
	levels, err := graph.NeedAll(r, trusts)
	if err != nil {
		return nil, err
	}
	var accounts []ir.GuardAccount
	for i := range layers.Guards {
		accounts = append(accounts, layers.Guards[i].account(levels[i]))
	}
	return accounts, nil
}

func (g *Guard) account(t TrustValue) ir.GuardAccount {
	a := ir.GuardAccount{
		Key: tagged(g.Key()), Trust: "static", Why: "it runs nothing",
		Declared: append([]string{g.DeclaredAt()}, g.Also...), Owners: g.Owners, Inputs: g.inputs(),
	}
	if g.Static() {
		return a
	}
	p := PlannedGuard{Guard: *g}
	p.limits(t)
	a.Trust, a.Why = p.Level, p.Why
	if p.Allow != "" {
		a.Why += "; it runs only after a yes at a terminal, or with " + p.Allow
	}
	if invalid := g.Command().Invalid; invalid != "" {
		a.Why = "it can never run: " + invalid
	}
	if a.Runs = g.Text(); g.Command().Shell {
		a.Runs = "sh -c " + ir.ShellWord(g.Text())
	}
	a.Whole = !g.HasVerifiedPaths
	a.Timeout, a.CacheFor = inWords(p.Timeout), inWords(DefaultCacheFor)
	if g.CacheFor != nil {
		a.CacheFor = inWords(*g.CacheFor)
	}
	return a
}

// inWords writes a duration without the units that add nothing: 10m, not 10m0s.
func inWords(d time.Duration) string {
	s := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, nothing) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// inputs lists what the guard's result rests on, as far as the declaration says.
func (g *Guard) inputs() []string {
	switch {
	case g.Exists != "":
		return []string{path.Join(g.Dir, g.Exists)}
	case g.ContainsPath != "":
		return []string{path.Join(g.Dir, g.ContainsPath)}
	case g.Static():
		return nil
	}
	all := append([]string{g.Path}, g.Texts...)
	if script := command.Script(g.Command()); script != "" && !path.IsAbs(script) {
		all = append(all, path.Join(g.Dir, script))
	}
	for _, p := range g.VerifiedPaths {
		all = append(all, path.Join(g.Dir, p.Path))
	}
	slices.Sort(all[1:])
	return slices.Compact(all)
}
