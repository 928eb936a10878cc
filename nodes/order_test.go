package nodes

import (
	"slices"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestModulesKeepTheirPlace: an update of one module, which moves it to the directory of
// another commit, moves no other module's text.
func TestModulesKeepTheirPlace(t *testing.T) {
	file := func(url, commit, path string) Candidate {
		return Candidate{
			Source: ".mwp/modules/" + commit + "/" + path, Placed: true, Layer: 3, Dir: "web", ImportDepth: 2,
			Origin: &ir.Origin{URL: url, SHA: commit, Path: path},
		}
	}
	for _, commits := range [][2]string{{"11", "22"}, {"33", "22"}, {"22", "22"}} {
		ks := []Candidate{
			{Source: "rules/own.md", Placed: true, Layer: 3, Dir: "web", ImportDepth: 2},
			file("https://h/o/ts.git", commits[1], "rules.md"),
			file("https://h/o/http.git", commits[0], "rules.md"),
			file("https://h/o/http.git", commits[0], "codes.md"),
		}
		slices.SortFunc(ks, compareCandidates)
		var got []string
		for _, k := range ks {
			if k.Origin == nil {
				got = append(got, k.Source)
			} else {
				got = append(got, k.Origin.URL+" "+k.Origin.Path)
			}
		}
		want := []string{"https://h/o/http.git codes.md", "https://h/o/http.git rules.md", "https://h/o/ts.git rules.md", "rules/own.md"}
		if !slices.Equal(got, want) {
			t.Errorf("commits %v: %v, want %v", commits, got, want)
		}
	}
	older, newer := file("https://h/o/ts.git", "11", "rules.md"), file("https://h/o/ts.git", "22", "rules.md")
	if compareCandidates(older, newer) >= 0 || compareCandidates(newer, older) <= 0 {
		t.Error("two versions of one file have no order")
	}
}
