package eval

import (
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// TestStatPath holds the reading in place to the kinds' own encodings.
func TestStatPath(t *testing.T) {
	for _, c := range []struct {
		task graph.Task
		want string
	}{
		{graph.File{Path: "a/b.md"}, "a/b.md"},
		{graph.File{Path: "../.mwp"}, "../.mwp"},
		{graph.SymLink{Path: "a/link"}, "a/link"},
		{graph.List{Dir: "a", Filter: graph.Directories}, "a"},
		{graph.NewProbe("a/b", ".mwp", "x", "a long name that takes some room"), "a/b"},
		{graph.NewProbe(".", "x"), "."},
		{graph.Scan{Dir: "a/b", Names: "x/y"}, "a/b"},
		{graph.Scan{Dir: "."}, "."},
		{graph.Content{Path: "a/b.bin"}, "a/b.bin"},
		{graph.Record{File: ".mwp/guards.cache.json", Guard: cas.Key{1}}, ".mwp/guards.cache.json"},
		{graph.List{Dir: "a/b", Filter: graph.Everything}, "a/b"},
		{graph.Above{Dir: "a"}, ""},
		{graph.Repository{}, ""},
	} {
		k := c.task.Kind()
		l := SlotLeaf{Kind: k.Name, Params: k.EncodeParams(c.task)}
		if got := string(l.statPath()); got != c.want {
			t.Errorf("statPath of %s %v = %q, want %q", k.Name, c.task, got, c.want)
		}
	}
	for _, bad := range [][]byte{nil, {0xff}, {200, 1}} {
		l := SlotLeaf{Kind: graph.ProbeKind.Name, Params: bad}
		l.statPath()
	}
	if len(graph.Leaves()) != 9 {
		t.Error("a new leaf kind needs a line here and in statPath")
	}
}
