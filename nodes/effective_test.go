package nodes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/graph"
)

// given is a Reader over fixed answers.
type given map[graph.Task]any

func (g given) Read(group []graph.Task) ([]any, error) {
	vs := make([]any, len(group))
	for i, t := range group {
		v, ok := g[t]
		if !ok {
			return nil, errors.New("asked for " + t.Kind().Name)
		}
		vs[i] = v
	}
	return vs, nil
}

func (g given) Try(group []graph.Task) ([]any, []error) {
	vs, _ := g.Read(group)
	return vs, nil
}

func TestEffective(t *testing.T) {
	read := func(text string) ConfigFileValue {
		c, problems := ParseConfig([]byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return ConfigFileValue{Present: true, Config: c}
	}
	r := given{
		Anchor{Target: "m/x"}:      AnchorValue{Sub: "m", WorkspaceConfig: ".mwp", ProjectConfig: "m/.mwp"},
		Settings{Target: "m/x"}:    SettingsValue{Caps: defaultCaps, Policy: PolicyReport, Counter: DefaultCounter, BoundaryMode: ModeOpaque, BoundaryFiles: []string{"A"}},
		ConfigFile{Path: ".mwp"}:   read("name = \"w\"\n[budgets]\nl0 = 1\nl1 = 2\n"),
		ConfigFile{Path: "m/.mwp"}: read("name = \"m\"\n[budgets]\nl1 = 3\n"),
	}
	v, err := Effective{Target: "m/x"}.Compute(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []EffectiveSetting{
		{"budgets.l0", "1", ".mwp:3"},
		{"budgets.l1", "3", "m/.mwp:3"},
		{"budgets.l2", "500", "default"},
		{"budgets.l3", "2000", "default"},
		{"budgets.l4", "none", "default"},
		{"budgets.policy", `"report"`, "default"},
		{"render.window", "0", "default"},
		{"tokens.counter", `"o200k_base"`, "default"},
		{"boundary.mode", `"opaque"`, "default"},
		{"boundary.files", `["A"]`, "default"},
		{"name", `"w"`, ".mwp:1"},
		{"member.name", `"m"`, "m/.mwp:1"},
	}
	if diff := cmp.Diff(want, v.Settings); diff != "" {
		t.Errorf("Effective (-want +got):\n%s", diff)
	}
}
