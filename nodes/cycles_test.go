package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// graphOf reads edges from words such as "a>b".
func graphOf(words string) []importEdge {
	var es []importEdge
	for i, w := range strings.Fields(words) {
		from, to, _ := strings.Cut(w, ">")
		es = append(es, importEdge{from: from, to: to, fromPath: from, toPath: to, line: i + 1})
	}
	return es
}

// rings returns the documents of each finding's chain, and the last finding apart
// when it says that there are more.
func rings(ds []ir.Diagnostic) (chains []string, more bool) {
	for _, d := range ds {
		chain, ok := strings.CutPrefix(d.Message, "imports go round: ")
		if !ok {
			more = true
			continue
		}
		chain, _, _ = strings.Cut(chain, " (")
		chains = append(chains, chain)
	}
	return chains, more
}

// TestCycles is D-26: each elementary cycle once, from its smallest path.
func TestCycles(t *testing.T) {
	for _, tt := range []struct {
		edges string
		want  []string
	}{
		{"", nil},
		{"a>b b>c a>c", nil},
		{"a>b a>c b>d c>d d>e", nil},
		{"a>a", []string{"a → a"}},
		{"a>a a>a", []string{"a → a"}},
		{"x>b b>a a>b", []string{"a → b → a"}},
		{"c>a a>b b>c", []string{"a → b → c → a"}},
		{"a>b b>a a>c c>a", []string{"a → b → a", "a → c → a"}},
		{"a>b b>a b>c c>b", []string{"a → b → a", "b → c → b"}},
		{"a>b b>c c>a a>c", []string{"a → b → c → a", "a → c → a"}},
		{"a>b b>a b>b", []string{"a → b → a", "b → b"}},
		{"d/z>d-x/a d-x/a>d/z", []string{"d/z → d-x/a → d/z"}},
		{"a>b b>c c>b d>e e>d", []string{"b → c → b", "d → e → d"}},
		{"a>b a>c a>d b>a b>c b>d c>a c>b c>d d>a d>b d>c", []string{
			"a → b → a", "a → b → c → a", "a → b → c → d → a", "a → b → d → a", "a → b → d → c → a",
			"a → c → a", "a → c → b → a", "a → c → b → d → a", "a → c → d → a", "a → c → d → b → a",
			"a → d → a", "a → d → b → a", "a → d → b → c → a", "a → d → c → a", "a → d → c → b → a",
			"b → c → b", "b → c → d → b", "b → d → b", "b → d → c → b", "c → d → c",
		}},
	} {
		got, more := rings(cycles(graphOf(tt.edges)))
		slices.Sort(got)
		want := slices.Sorted(slices.Values(tt.want))
		if diff := cmp.Diff(want, got); diff != "" || more {
			t.Errorf("cycles of %s, more %v (-want +got):\n%s", tt.edges, more, diff)
		}
	}
}

// A document that is reached by several paths has the smallest of them as its name.
func TestCycleMessage(t *testing.T) {
	es := []importEdge{
		{from: "one.md", to: "two.md", fromPath: "one.md", toPath: "alias.md", line: 3},
		{from: "two.md", to: "one.md", fromPath: "two.md", toPath: "one.md", line: 7},
	}
	want := ir.Diagnostic{
		Code: ir.ImportCycle, Severity: ir.SeverityError, Source: "alias.md", Line: 7,
		Message: "imports go round: alias.md → one.md → alias.md (alias.md:7, one.md:3)",
		Hint:    "take one of these imports out, or move what both sides need into a file of its own",
	}
	if diff := cmp.Diff([]ir.Diagnostic{want}, cycles(es)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A tangle is cut off after a bound on cycles and on steps, and says so.
func TestCyclesAreBounded(t *testing.T) {
	complete := func(n int) []importEdge {
		var words []string
		for i := range n {
			for j := range n {
				if i != j {
					words = append(words, fmt.Sprintf("%03d>%03d", i, j))
				}
			}
		}
		return graphOf(strings.Join(words, " "))
	}
	pairs := func(n int) []importEdge {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("a>%03d %03d>a", i, i))
		}
		return graphOf(strings.Join(words, " "))
	}
	// From the first document the search gets lost among the others, which lead
	// back to it by one edge at the end of a long row only.
	maze := complete(12)
	for i := range maze {
		if maze[i].to == "000" && maze[i].from != "011" {
			maze[i].to = maze[i].from
		}
	}
	for name, c := range map[string]struct {
		edges []importEdge
		cut   bool
		least int
	}{
		"as many as are listed": {pairs(maxCycles), false, maxCycles},
		"one more":              {pairs(maxCycles + 1), true, maxCycles},
		"many":                  {pairs(900), true, 10},
		"a tangle":              {complete(40), true, maxCycles},
		"a maze":                {maze, true, 1},
	} {
		got, more := rings(cycles(c.edges))
		if more != c.cut || len(got) < c.least || len(got) > maxCycles {
			t.Errorf("%s: %d cycles, and more %v; want at least %d, and more %v", name, len(got), more, c.least, c.cut)
		}
	}
	long := ""
	for i := range 2000 {
		long += fmt.Sprintf("%04d>%04d ", i, (i+1)%2000)
	}
	if got, more := rings(cycles(graphOf(long))); len(got) != 1 || more {
		t.Errorf("one long cycle: found %d, more %v", len(got), more)
	}
}

// ringsByForce finds elementary cycles by trying every path.
func ringsByForce(n int, edge func(i, j int) bool) []string {
	var found []string
	name := func(i int) string { return string(rune('a' + i)) }
	var walk func(path []int)
	walk = func(path []int) {
		start, at := path[0], path[len(path)-1]
		for next := start; next < n; next++ {
			switch {
			case !edge(at, next):
			case next == start:
				var names []string
				for _, i := range append(slices.Clone(path), start) {
					names = append(names, name(i))
				}
				found = append(found, strings.Join(names, " → "))
			case !slices.Contains(path, next):
				walk(append(slices.Clone(path), next))
			}
		}
	}
	for i := range n {
		walk([]int{i})
	}
	slices.Sort(found)
	return found
}

// FuzzCycles compares with the search by force on graphs of up to six documents.
// The order in which imports are met must not matter but for where a bound cuts.
func FuzzCycles(f *testing.F) {
	f.Add(uint64(0b10), uint8(2), uint64(1))
	f.Add(uint64(0b111011101), uint8(3), uint64(2))
	f.Add(uint64(0x0123456789abcdef), uint8(5), uint64(3))
	f.Add(^uint64(0), uint8(6), uint64(4))
	f.Fuzz(func(t *testing.T, bits uint64, size uint8, seed uint64) {
		n := int(size)%6 + 1
		edge := func(i, j int) bool { return bits>>(i*n+j)&1 == 1 }
		var es []importEdge
		for i := range n {
			for j := range n {
				if a, b := string(rune('a'+i)), string(rune('a'+j)); edge(i, j) {
					es = append(es, importEdge{from: a, to: b, fromPath: a, toPath: b, line: 1})
				}
			}
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(es), func(i, j int) { es[i], es[j] = es[j], es[i] })
		want := ringsByForce(n, edge)
		got, more := rings(cycles(es))
		slices.Sort(got)
		if len(want) <= maxCycles {
			if diff := cmp.Diff(want, got); diff != "" || more {
				t.Fatalf("%d documents, edges %b, more %v (-want +got):\n%s", n, bits, more, diff)
			}
			return
		}
		if !more || len(got) != maxCycles || len(slices.Compact(got)) != maxCycles {
			t.Fatalf("%d documents, edges %b: %d of %d cycles, more %v", n, bits, len(got), len(want), more)
		}
		for _, ring := range got {
			if !slices.Contains(want, ring) {
				t.Errorf("%q is no cycle of %b", ring, bits)
			}
		}
	})
}
