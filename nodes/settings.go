package nodes

import (
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Settings is the configuration in effect for a path: the workspace's, with the
// member's [budgets], [render] and [tokens] over it key by key (D-08). It
// changes when one of these values changes, not when the files do.
type Settings struct {
	Target   string
	Explicit bool
}

// SettingsValue holds effective values with the proposal's defaults filled in.
type SettingsValue struct {
	Caps          [ir.LayerCount]Cap
	Policy        string
	Window        int
	Counter       string
	BoundaryFiles []string
	BoundaryMode  string
	// TestSignals is the workspace's, as are the boundaries.
	TestSignals bool
	// Problems are the findings in both configurations.
	Problems []ir.Diagnostic
}

// Cap is the token budget of one layer.
type Cap struct {
	Limited bool
	Tokens  int
}

func (b *Cap) code(c *cas.Coder) {
	c.Bool(&b.Limited)
	if b.Limited {
		c.Int(&b.Tokens)
	}
}

// defaultCaps are the proposal's; L4 has none.
var defaultCaps = [ir.LayerCount]Cap{{true, 800}, {true, 300}, {true, 500}, {true, 2000}, {}}

// DefaultBoundaryFiles are the instruction files of other tools that close a
// directory, when [boundary] files does not say otherwise (D-19).
func DefaultBoundaryFiles() []string {
	return []string{
		"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md",
		"GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules",
	}
}

// Boundary modes (D-20) and budget policies (D-38).
const (
	ModeOpaque      = "opaque"
	ModeSoft        = "soft"
	ModeTransparent = "transparent"

	PolicyReport = "report"
	PolicyError  = "error"
	PolicyDrop   = "drop"
)

var settingsKind = graph.Define(graph.Definition[SettingsValue, Settings]{
	Name: "settings", Version: 2, Order: 30,
	Params: func(c *cas.Coder, n *Settings) { c.String(&n.Target); c.Bool(&n.Explicit) },
	Value: func(c *cas.Coder, v *SettingsValue) {
		for i := range v.Caps {
			v.Caps[i].code(c)
		}
		c.String(&v.Policy)
		c.Int(&v.Window)
		c.String(&v.Counter)
		c.Strings(&v.BoundaryFiles)
		c.String(&v.BoundaryMode)
		c.Bool(&v.TestSignals)
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "settings".
func (Settings) Kind() *graph.Kind { return settingsKind }

// Compute merges, nearest wins.
func (n Settings) Compute(r graph.Reader) (v SettingsValue, err error) {
	a, err := graph.Need(r, Anchor(n))
	if err != nil {
		return v, err
	}
	v = SettingsValue{
		Caps: defaultCaps, Policy: PolicyReport, Counter: DefaultCounter,
		BoundaryFiles: DefaultBoundaryFiles(), BoundaryMode: ModeOpaque, Problems: slices.Clone(a.Problems),
	}
	ws, sub, err := configs(r, a)
	if err != nil {
		return v, err
	}
	if ws != nil {
		v.apply(&ws.Config)
		if ws.Config.HasBoundaryFiles {
			v.BoundaryFiles = ws.Config.BoundaryFiles
		}
		if ws.Config.BoundaryMode != "" {
			v.BoundaryMode = ws.Config.BoundaryMode
		}
		v.TestSignals = ws.Config.TestSignals
		v.Problems = append(v.Problems, ws.Problems...)
	}
	if sub != nil {
		v.apply(&sub.Config)
		v.Problems = append(v.Problems, sub.Problems...)
	}
	ir.SortDiagnostics(v.Problems)
	v.Problems = dropRepeated(v.Problems)
	return v, nil
}

func (v *SettingsValue) apply(c *Config) {
	for i, b := range c.Budgets {
		if b.Set {
			v.Caps[i] = Cap{Limited: !b.None, Tokens: b.Cap}
		}
	}
	if c.Policy != "" {
		v.Policy = c.Policy
	}
	if c.Window != nil {
		v.Window = *c.Window
	}
	if c.Counter != "" {
		v.Counter = c.Counter
	}
}

// configs returns the workspace's configuration and the member's, nil where
// there is none or it is the same.
func configs(r graph.Reader, a AnchorValue) (ws, sub *ConfigFileValue, err error) {
	if a.WorkspaceConfig != "" {
		c, err := graph.Need(r, ConfigFile{Path: a.WorkspaceConfig})
		if err != nil {
			return nil, nil, err
		}
		ws = &c
	}
	if a.ProjectConfig != "" && a.ProjectConfig != a.WorkspaceConfig {
		c, err := graph.Need(r, ConfigFile{Path: a.ProjectConfig})
		if err != nil {
			return nil, nil, err
		}
		sub = &c
	}
	return ws, sub, nil
}

// dropRepeated removes equal neighbours from a sorted list.
func dropRepeated(ds []ir.Diagnostic) []ir.Diagnostic {
	out := ds[:0]
	for i, d := range ds {
		if i == 0 || d != ds[i-1] {
			out = append(out, d)
		}
	}
	return out
}
