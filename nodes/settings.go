package nodes

import (
	"fmt"
	"strconv"
	"strings"

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
	Name: "settings", Version: 1, Order: 30,
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
		BoundaryFiles: DefaultBoundaryFiles(), BoundaryMode: ModeOpaque, Problems: a.Problems,
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

// EffectiveSetting is one configuration value as it applies to a path, with the
// place it comes from.
type EffectiveSetting struct {
	Key, Value string
	// Source is "path:line", or "default".
	Source string
}

// Effective lists the configuration in effect, defaults included, in a fixed
// order, for people: `mwp config` (U-27).
func Effective(r graph.Reader, target string, explicit bool) ([]EffectiveSetting, error) {
	a, err := graph.Need(r, Anchor{Target: target, Explicit: explicit})
	if err != nil {
		return nil, err
	}
	s, err := graph.Need(r, Settings{Target: target, Explicit: explicit})
	if err != nil {
		return nil, err
	}
	ws, sub, err := configs(r, a)
	if err != nil {
		return nil, err
	}
	var rows []EffectiveSetting
	index := map[string]int{}
	add := func(key, value, source string) {
		if i, ok := index[key]; ok {
			rows[i] = EffectiveSetting{key, value, source}
			return
		}
		index[key] = len(rows)
		rows = append(rows, EffectiveSetting{key, value, source})
	}
	for i, c := range s.Caps {
		value := "none"
		if c.Limited {
			value = fmt.Sprint(c.Tokens)
		}
		add(fmt.Sprintf("budgets.l%d", i), value, "default")
	}
	add("budgets.policy", strconv.Quote(s.Policy), "default")
	add("render.window", fmt.Sprint(s.Window), "default")
	add("tokens.counter", strconv.Quote(s.Counter), "default")
	add("boundary.mode", strconv.Quote(s.BoundaryMode), "default")
	add("boundary.files", quoteList(s.BoundaryFiles), "default")
	for _, set := range settingsOf(ws) {
		add(set.Key, set.Value, fmt.Sprintf("%s:%d", a.WorkspaceConfig, set.Line))
	}
	for _, set := range settingsOf(sub) {
		if mergesInMember(set.Key) {
			add(set.Key, set.Value, fmt.Sprintf("%s:%d", a.ProjectConfig, set.Line))
		} else {
			add("member."+set.Key, set.Value, fmt.Sprintf("%s:%d", a.ProjectConfig, set.Line))
		}
	}
	return rows, nil
}

func settingsOf(c *ConfigFileValue) []Setting {
	if c == nil {
		return nil
	}
	return c.Config.Settings
}

// mergesInMember reports whether a member's value of a key overrides the
// workspace's (D-08).
func mergesInMember(key string) bool {
	table, _, _ := strings.Cut(key, ".")
	return table == "budgets" || table == "render" || table == "tokens"
}

func quoteList(ss []string) string {
	quoted := make([]string, len(ss))
	for i, s := range ss {
		quoted[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
