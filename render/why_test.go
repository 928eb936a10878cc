package render

import (
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func TestWhyNotACandidate(t *testing.T) {
	target := "a/b/x.go"
	m := &ir.Map{Target: &target}
	for file, want := range map[string]string{
		"a/.mwp-context.md":    "there is none",
		".mwp-context.yaml":    "there is none",
		"z/.mwp-context.md":    "not on the way",
		"a/b2/.mwp-context.md": "not on the way",
		"a/AGENTS.md":          "does not read",
		"a/CLAUDE.md":          "this is none of them", // the project says which files count
		"a/b/y.go":             "this is none of them",
		"a/b/x.go":             "the target itself",
	} {
		text, found := Why(m, file, ExplainOptions{Instructions: []string{"AGENTS.md"}})
		if flat := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(flat, want) || found != (file == target) {
			t.Errorf("Why(%q) = %q, %v; want %q", file, flat, found, want)
		}
	}
}
