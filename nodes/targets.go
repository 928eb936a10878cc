package nodes

import (
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Targets is every directory of a workspace that carries or inherits context, with
// what its map costs. It changes as Lint does, and when a directory appears or
// vanishes.
type Targets struct {
	Explicit      bool
	AllowFloating bool
	// Under is the directory to begin at, "." for the whole workspace.
	Under string
}

var targetsKind = graph.Define(graph.Definition[[]ir.TargetRow, Targets]{
	Name: "targets", Version: 1, Order: 76,
	Params: func(c *cas.Coder, n *Targets) { c.Bool(&n.Explicit); c.Bool(&n.AllowFloating); c.String(&n.Under) },
	Value:  func(c *cas.Coder, v *[]ir.TargetRow) { cas.Slice(c, v, codeTargetRow) },
})

// Kind returns the kind "targets".
func (Targets) Kind() *graph.Kind { return targetsKind }

// Compute weighs the directories with a context file or an anchor, and those below
// them only where they can differ.
func (n Targets) Compute(r graph.Reader) ([]ir.TargetRow, error) {
	s, err := surveyed(r, n.Explicit)
	if err != nil {
		return nil, err
	}
	carrying := map[string]bool{".": true}
	closed := map[string]bool{}
	for _, p := range s.places {
		m := marksOf(p.Found)
		carrying[p.Dir] = p.Dir == "." || m.anchor != graph.Absent || len(m.contexts) > 0
		closed[p.Dir] = len(m.instructions) > 0 && m.anchor == graph.Absent
	}
	chains := map[string]ChainValue{}
	var rows []ir.TargetRow
	// Parents come before their children, level by level, so that what a directory
	// inherits is known when it is looked at.
	for _, dirs := range byDepth(s.tree.Dirs) {
		var ask []Chain
		for _, d := range dirs {
			up, ok := chains[parent(d)]
			if !s.isForeign(d) && (carrying[d] || closed[d] || !ok || !up.Inherited) {
				ask = append(ask, n.chain(d))
			}
		}
		vs, err := graph.NeedAll(r, ask)
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			chains[ask[i].Target] = v
		}
		for _, d := range dirs {
			if _, ok := chains[d]; !ok && !s.isForeign(d) {
				v := chains[parent(d)]
				v.Row.Path, v.Row.Source = d, ""
				chains[d] = v
			}
		}
	}
	for d, v := range chains {
		if len(v.Refusal) == 0 && v.Row.All > 0 && within(d, n.Under) {
			rows = append(rows, v.Row)
		}
	}
	slices.SortFunc(rows, func(a, b ir.TargetRow) int { return ir.ComparePaths(a.Path, b.Path) })
	return rows, nil
}

func (n Targets) chain(dir string) Chain {
	return Chain{Target: dir, Explicit: n.Explicit, AllowFloating: n.AllowFloating}
}

// byDepth groups directories by their depth.
func byDepth(dirs []string) [][]string {
	var levels [][]string
	for _, d := range dirs {
		for len(levels) <= depth(d) {
			levels = append(levels, nil)
		}
		levels[depth(d)] = append(levels[depth(d)], d)
	}
	return levels
}
