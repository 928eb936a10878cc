package nodes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Effective is the configuration in effect for a path as a list for people:
// every value, defaults included, with the line it comes from (U-27). It changes
// when a value does or when its line moves; nothing of a map depends on it.
type Effective struct {
	// Target is the path, as typed.
	Target string
	// Explicit is set when the root was given by --root.
	Explicit bool
}

// EffectiveSetting is one configuration value as it applies to a path, with the
// place it comes from.
type EffectiveSetting struct {
	Key, Value string
	// Source is "path:line", or "default".
	Source string
}

// EffectiveValue is the list in a fixed order, and the findings about the files
// behind it.
type EffectiveValue struct {
	Settings []EffectiveSetting
	Problems []ir.Diagnostic
}

var effectiveKind = graph.Define(graph.Definition[EffectiveValue, Effective]{
	Name: "effective", Version: 1, Order: 35,
	Params: func(c *cas.Coder, n *Effective) { c.String(&n.Target); c.Bool(&n.Explicit) },
	Value: func(c *cas.Coder, v *EffectiveValue) {
		cas.Slice(c, &v.Settings, func(c *cas.Coder, s *EffectiveSetting) {
			c.String(&s.Key)
			c.String(&s.Value)
			c.String(&s.Source)
		})
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "effective".
func (Effective) Kind() *graph.Kind { return effectiveKind }

// Compute lists the defaults and lets both configurations overwrite them.
func (n Effective) Compute(r graph.Reader) (v EffectiveValue, err error) {
	a, err := graph.Need(r, Anchor(n))
	if err != nil {
		return v, err
	}
	s, err := graph.Need(r, Settings(n))
	if err != nil {
		return v, err
	}
	ws, sub, err := configs(r, a)
	if err != nil {
		return v, err
	}
	v.Problems = s.Problems
	index := map[string]int{}
	add := func(key, value, source string) {
		if i, ok := index[key]; ok {
			v.Settings[i] = EffectiveSetting{key, value, source}
			return
		}
		index[key] = len(v.Settings)
		v.Settings = append(v.Settings, EffectiveSetting{key, value, source})
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
	return v, nil
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
