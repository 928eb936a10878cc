package graph_test

import (
	"reflect"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// pair is a node with two texts, of kinds that differ in name or version only.
type pair struct {
	kind *graph.Kind
	A, B string
}

func (p pair) Kind() *graph.Kind                    { return p.kind }
func (p pair) Compute(graph.Reader) (string, error) { return p.A + p.B, nil }

func pairKind(name string, version int) *graph.Kind {
	return graph.Define(graph.Definition[string, pair]{Name: name, Version: version, Order: 1,
		Params: func(c *cas.Coder, p *pair) { c.String(&p.A); c.String(&p.B) }, Value: (*cas.Coder).String})
}

// TestIDsDoNotCollide: each of these would equal another if lengths, the kind's
// name or its version were left out of the key.
func TestIDsDoNotCollide(t *testing.T) {
	one, two, other := pairKind("pair", 1), pairKind("pair", 2), pairKind("pai", 1)
	tasks := []graph.Task{
		pair{one, "ab", "c"}, pair{one, "a", "bc"}, pair{one, "", "abc"}, pair{one, "abc", ""},
		pair{two, "ab", "c"}, pair{other, "ab", "c"}, pair{other, "rab", "c"},
		graph.File{Path: "a"}, graph.SymLink{Path: "a"}, graph.Above{Dir: "a"},
		graph.NewProbe("a", "b", "c"), graph.NewProbe("a", "bc"), graph.NewProbe("a/b", "c"),
		graph.List{Dir: "a"}, graph.List{Dir: "a", Filter: graph.Directories},
	}
	seen := map[cas.Key]graph.Task{}
	for _, task := range tasks {
		id := graph.ID(task)
		if first, ok := seen[id]; ok {
			t.Errorf("%v and %v have one key", first, task)
		}
		seen[id] = task
		if graph.ID(task) != id {
			t.Errorf("%v has two keys", task)
		}
	}
}

// TestIDGolden pins keys: a change of the encoding makes every cache a miss.
func TestIDGolden(t *testing.T) {
	for _, c := range []struct {
		task graph.Task
		want string
	}{
		{graph.File{Path: "dev/.mwp-context.md"}, "463cd33154c714c26b11ce0ea1db77d351b740881817ed2845f9198512e927af"},
		{graph.NewProbe(".", ".mwp", "dev"), "83c51c794d2806558b9088105186df37d3f6c2b5b323bd95bedb15ce28df68bb"},
		{graph.Above{Dir: "dev"}, "7fea0341243d1d0b3af2544cd1edd207884cb85c9b445b9e4b5ecbf1e6b263fc"},
	} {
		if got := graph.ID(c.task).String(); got != c.want {
			t.Errorf("ID(%s %v) = %s, want %s", c.task.Kind().Name, c.task, got, c.want)
		}
	}
}

func TestLeavesRoundTrip(t *testing.T) {
	for _, c := range []struct {
		task  graph.Task
		value any
	}{
		{graph.File{Path: "../x"}, graph.FileState{Type: graph.Regular, Size: 3, Digest: cas.Sum([]byte("abc"))}},
		{graph.File{Path: "x"}, graph.FileState{Type: graph.TooLarge, Size: 1 << 40}},
		{graph.NewProbe("a", "b", "\xff\n"), graph.ProbeState{Dir: graph.Directory, Types: []graph.FileType{graph.Absent, graph.Link}}},
		{graph.List{Dir: ".", Filter: graph.Directories}, graph.ListState{Type: graph.Directory, Names: []string{"a", "b"}}},
		{graph.SymLink{Path: "l"}, graph.LinkState{Type: graph.Link, Target: "../x"}},
		{graph.Above{Dir: "a"}, graph.AboveState{Sightings: []graph.Sighting{{Up: 3, Name: ".mwp", Type: graph.Regular, Below: "b/c"}}}},
	} {
		k := c.task.Kind()
		task, err := k.DecodeParams(k.EncodeParams(c.task))
		if err != nil || task != c.task {
			t.Errorf("%s parameters: %v, %v, want %v", k.Name, task, err, c.task)
		}
		value, err := k.DecodeValue(k.EncodeValue(c.value))
		if err != nil || !reflect.DeepEqual(value, c.value) {
			t.Errorf("%s value: %+v, %v, want %+v", k.Name, value, err, c.value)
		}
	}
}

// TestAbsoluteLinkTargetsAreNoValue: where an absolute link leads depends on the
// machine; only where it lies inside the root is part of the value.
func TestAbsoluteLinkTargetsAreNoValue(t *testing.T) {
	a := graph.LinkKind.EncodeValue(graph.LinkState{Type: graph.Link, Target: "/home/ann/x", Inside: "x"})
	b := graph.LinkKind.EncodeValue(graph.LinkState{Type: graph.Link, Target: "/srv/x", Inside: "x"})
	if string(a) != string(b) {
		t.Error("two machines' absolute targets give two values")
	}
}

func leafNamed(name string) *graph.Kind {
	for _, k := range graph.Leaves() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

func FuzzDecodeTrace(f *testing.F) {
	f.Add([]byte{})
	f.Add(graph.EncodeTrace(&graph.Trace{
		Groups: [][]graph.Dependency{{{Task: graph.File{Path: "a"}}, {Task: graph.NewProbe(".", "x", "y")}}, {{Task: graph.Above{Dir: "."}}}},
		Value:  cas.Sum(nil), Inline: []byte("v"), HasInline: true,
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := graph.DecodeTrace(b, leafNamed)
		if err != nil {
			return
		}
		if got := graph.EncodeTrace(tr); string(got) != string(b) {
			t.Fatalf("DecodeTrace accepted %x, which encodes to %x", b, got)
		}
	})
}
