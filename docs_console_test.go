package mwp_test

import (
	"os/exec"
	"strings"
	"testing"
)

// recipe is a section of the cookbook.
type recipe struct {
	name  string
	steps []consoleStep
}

// recipes returns the sections, each behind the steps that make the project.
func recipes(text string) []recipe {
	var names []string
	parts := []string{""}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		// A map has headings too.
		if name, ok := strings.CutPrefix(line, "## "); ok && !fenced {
			names, parts = append(names, strings.TrimSpace(name)), append(parts, "")
		}
		parts[len(parts)-1] += line
	}
	begin := stepsIn(parts[0])
	var all []recipe
	for i, name := range names {
		all = append(all, recipe{name, append(begin[:len(begin):len(begin)], stepsIn(parts[i+1])...)})
	}
	return all
}

// TestGuidesConsole runs the quick start, and each recipe of the cookbook in a repository
// of its own, as TestReadmeConsole runs the README. Each recipe ends with `git status`,
// whose output the page shows like any other.
func TestGuidesConsole(t *testing.T) {
	env := readmeEnvironment(t)
	t.Run("quickstart", func(t *testing.T) {
		runConsole(t, "docs/quickstart.md", consoleSteps(t, "docs/quickstart.md"), env)
	})
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git program on PATH for the cookbook")
	}
	all := recipes(readDocument(t, "docs/cookbook.md"))
	if len(all) < 10 {
		t.Errorf("the cookbook has %d recipes, want ten", len(all))
	}
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			if last := r.steps[len(r.steps)-1].command; !strings.HasSuffix(last, "git status --short") {
				t.Errorf("the recipe ends with `%s`, want `git status --short`", last)
			}
			runConsole(t, "docs/cookbook.md", r.steps, env)
		})
	}
}
