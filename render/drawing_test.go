package render

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDraw holds that a drawing has the boxes of the picture that Mermaid gets, with
// edges between them, and no name that moves a line.
func TestDraw(t *testing.T) {
	g := Graph{Target: "a", Nodes: []GraphNode{
		{Kind: "file", Name: "a/\u202ex.md", Leaf: true}, {Kind: "probe", Name: "a", Leaf: true}, {Kind: "file", Name: "gone", Leaf: true, Absent: true},
		{Kind: "context", Name: "a/x.md", Needs: []int{0, 1}}, {Kind: "map", Name: "a", Needs: []int{2, 3, 0}},
	}}
	d := Draw(g)
	var got []string
	for i, b := range d.Boxes {
		got = append(got, fmt.Sprintf("%d %s %s %s ×%d %v %v", i, b.Kind, b.Short, b.Class, b.Count, b.Result, b.Needs))
	}
	want := []string{
		"0 map a result ×1 true [1 3]",
		"1 context a/x.md computed ×1 false [2]",
		"2 file a/\\u{202e}x.md file ×1 false []",
		"3 file gone absent ×1 false []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Draw (-want +got):\n%s", diff)
	}
	if len(d.Notes) < 2 || d.Notes[0] != "map of a" {
		t.Errorf("notes = %q", d.Notes)
	}
	if d := Draw(Graph{}); len(d.Boxes) != 0 {
		t.Errorf("nothing is drawn as %v", d.Boxes)
	}
	large := Graph{Target: "a"}
	for i := range 5 * MaxGraphNodes {
		large.Nodes = append(large.Nodes, GraphNode{Kind: "file", Name: fmt.Sprintf("d%d/f%d", i%7, i), Leaf: true})
	}
	last := GraphNode{Kind: "map", Name: "a"}
	for i := range large.Nodes {
		last.Needs = append(last.Needs, i)
	}
	large.Nodes = append(large.Nodes, last)
	total := 0
	for _, b := range Draw(large).Boxes {
		total += b.Count
	}
	if n := len(Draw(large).Boxes); n > MaxGraphNodes || total != len(large.Nodes) {
		t.Errorf("%d boxes stand for %d of %d nodes", n, total, len(large.Nodes))
	}
}
