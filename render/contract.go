package render

import "github.com/model-workspace-protocol/mwp/nodes/ir"

// The contract that every render states. Each sentence is one
// constant on one line, so that a test can ask every frame for each of them,
// once (D-61).
const (
	focusedPurpose = "Use it to find your bearings in this part of the project."
	focusedSource  = "The source code comes first: open and edit the real files, which nothing here replaces."
	focusedRules   = "Every rule below is a constraint on your work and not a suggestion."
	focusedPassed  = "A ✓ stands beside a guard that passed its check."
	focusedFlagged = "A ⚠️ stands before text whose check is failing or stale: weigh it with your own judgement before you rely on it."

	orientationOverview = "This is the overview of the whole project and not a focused map, so the rules for single files are not in it."
	orientationFind     = "Find out from the sections below where the work belongs."
	orientationCall     = "Call `map_workspace(target)` with the file or directory that matters most for the work (CLI: `mwp map <target>`)."
	orientationWork     = "Work from the map that this returns, and change nothing on the strength of the present one alone."
	orientationAsk      = "When you cannot tell which target is meant, ask the user."
)

// What a read-only map says beside its list of failing guards (D-60).
const (
	readOnlyTitle = "READ-ONLY MAP"
	readOnlyWhy   = "a check of this map fails:"
	readOnlyStop  = "Commits, deploys and code changes must not proceed until every failing guard passes again or a human explicitly overrides it."
)

// How a reader gets back what a delta left out (D-63).
const deltaRecovery = "If any of it is no longer visible to you, call `reset_session()` and then `map_workspace(target)` again (CLI: add `--full`)."

// How a reader without tools gets it back.
const deltaRecoveryShell = "If any of it is no longer visible to you, run `mwp map <target> --render markdown` in a shell, which prints everything."

// preamble returns the title and the lines before the layers.
func preamble(m *ir.Map) (title string, lines []string) {
	if m.Kind == ir.KindOrientation {
		return "Project overview.", []string{
			orientationOverview,
			"",
			"1. " + orientationFind,
			"2. " + orientationCall,
			"3. " + orientationWork,
			"",
			orientationAsk,
		}
	}
	return "About this map.", []string{focusedPurpose, focusedSource, focusedRules, focusedPassed, focusedFlagged}
}
