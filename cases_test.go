package mwp_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// caseTests are the faults that users of other tools met and that users of this one must
// not, by number. Each is played from the outside by the scripts that have its number,
// cmd/mwp/testdata/script/case_NN_*.txtar; tests lists what plays it from the inside too.
var caseTests = [...]struct {
	title string
	tests []string
}{
	1:  {"a context file with Windows line ends", []string{".TestLineEndsDoNotMatter"}},
	2:  {"rules and fenced YAML in the body are body", []string{"nodes.TestHeaderIsFound", "nodes.TestWhatIsNotAHeader"}},
	3:  {"a key that stands twice", []string{"nodes.TestHeaderErrors", "nodes.TestConfigErrors"}},
	4:  {"a misspelt key passes seen", []string{"nodes.TestUnknownKeysAreWarnings", "nodes.TestSuggest"}},
	5:  {"an import that cannot be found is told", []string{"nodes.TestPathImports"}},
	6:  {"imports in an ancestor resolve against the ancestor", []string{"nodes.TestPathImports"}},
	7:  {"files that import each other", []string{"nodes.TestCycles", "nodes.TestCyclesAreBounded"}},
	8:  {"a link that leads out of the project", []string{"nodes.TestResolveBounds", "nodes.TestAbsoluteLinks"}},
	9:  {"targets outside of the root", []string{"mcp.TestAbsentResources"}},
	10: {"links that form a loop", []string{"nodes.TestResolveBounds"}},
	11: {"a pipe where a context file should be", []string{"eval.TestLeavesDoNotWaitForAPipe"}},
	12: {".git is a file", []string{".TestRootsWithoutAnAnchor"}},
	13: {"an anchor high above adopts nobody", []string{".TestExplicitRootBeatsAnchors"}},
	14: {"one file by many spellings", []string{"nodes.TestDeduplication", "mcp.TestSpellings"}},
	15: {"over the budget, and nothing is cut", []string{".TestBudgetPolicies"}},
	16: {"the same input gives the same bytes", []string{".TestSameBytesEveryTime"}},
	17: {"a warm cache sees what was not there before", []string{".TestFromScratchConsistency"}},
	18: {"one command in two directories is two guards", []string{"nodes.TestGuardKeys"}},
	19: {"a result from the future", []string{"eval.TestFutureTimesAreNotBelieved", "eval.TestPhase"}},
	20: {"a guard past its limit whose child runs on", []string{"eval/guard.TestTimeout", "eval/guard.TestCancel"}},
	21: {"something chained behind a builtin command", []string{"cmd/mwp.TestNothingRefusedEverRuns", "nodes/command.TestBehindABuiltin"}},
	22: {"an approval that came with a clone", []string{"eval/guard.TestTrustOfOthers"}},
	23: {"inside a git hook", []string{"eval/module.TestEnvironment", "eval/guard.TestStagedContent", ".TestPreCommitHook"}},
	24: {"stdout of the server is the protocol", nil},
	25: {"notifications, unknown methods, the end of the input", []string{"mcp.TestNotificationsGetNoAnswer", "mcp.TestUnknownTool"}},
	26: {"a tag that does not exist", []string{"eval/module.TestFailedFetchLeavesNothing"}},
	27: {"URLs that are options or commands", []string{"cmd/mwp-git.TestHostileURLs"}},
	28: {"a failing guard that prints a credential", nil},
	29: {"a guard that keeps failing does not fill the notes", []string{"eval/guard.TestAppendDiscovery"}},
	30: {"cut-off, empty and foreign cache files", []string{"cas.TestDamagedSegment", "cas.TestDamagedSlot"}},
}

// TestEveryCaseHasATest: each case has a script with its number, each such script a case,
// and what the table names exists.
func TestEveryCaseHasATest(t *testing.T) {
	scripts, err := filepath.Glob("cmd/mwp/testdata/script/case_*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]int{}
	for _, s := range scripts {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(s), "case_"), "_")
		played[number]++
	}
	for n := 1; n < len(caseTests); n++ {
		c, number := caseTests[n], fmt.Sprintf("%02d", n)
		if played[number] == 0 {
			t.Errorf("case %s (%s): there is no cmd/mwp/testdata/script/case_%s_*.txtar", number, c.title, number)
		}
		delete(played, number)
		if c.title == "" {
			t.Errorf("case %s is not in the table", number)
		}
		for _, test := range c.tests {
			if !hasTest(t, test) {
				t.Errorf("case %s (%s): there is no test %s", number, c.title, test)
			}
		}
	}
	for number := range played {
		t.Errorf("cmd/mwp/testdata/script/case_%s_*.txtar plays a case that is not in the table", number)
	}
	if len(caseTests) != 31 {
		t.Errorf("the table has %d cases, want 30", len(caseTests)-1)
	}
}

// hasTest looks for a test by its directory and name; "." alone is the root.
func hasTest(t *testing.T, test string) bool {
	t.Helper()
	dir, name, _ := strings.Cut(test, ".")
	files, err := filepath.Glob(filepath.Join(".", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("\nfunc "+name+"(t *testing.T)")) {
			return true
		}
	}
	return false
}
