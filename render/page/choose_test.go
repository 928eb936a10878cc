package page

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// randomRows is a tree of directories, some with context of their own.
func randomRows(rng *rand.Rand, n int) []ir.TargetRow {
	paths := []string{"."}
	if rng.IntN(4) == 0 {
		paths = nil
	}
	for len(paths) < n {
		up := "."
		if len(paths) > 0 && rng.IntN(4) > 0 {
			up = paths[rng.IntN(len(paths))]
		}
		p := fmt.Sprintf("d%d", len(paths))
		if up != "." {
			p = up + "/" + p
		}
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int {
		if a == "." || b == "." {
			return len(a) - len(b)
		}
		return ir.ComparePaths(a, b)
	})
	rows := make([]ir.TargetRow, len(paths))
	for i, p := range paths {
		rows[i] = ir.TargetRow{Path: p, All: rng.IntN(500)}
		if rng.IntN(3) > 0 {
			rows[i].Source = p + "/.mwp-context.md"
		}
	}
	return rows
}

// TestChoose holds that every directory is shown or counted once, below one that is
// above it.
func TestChoose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		n := 1 + rng.IntN(60)
		if i == 0 {
			n = 4 * MaxDirs
		}
		rows := randomRows(rng, n)
		dirs, loose := Choose(rows)
		sum := loose
		for j, d := range dirs {
			sum += 1 + d.HeirCount + d.Hidden
			if d.Row.Source == "" || d.Parent >= j {
				t.Fatalf("%s has no context, or its parent %d is not before it", d.Row.Path, d.Parent)
			}
			if len(d.Heirs) > maxHeirs || len(d.Heirs) > d.HeirCount {
				t.Fatalf("%s names %d of %d heirs", d.Row.Path, len(d.Heirs), d.HeirCount)
			}
		}
		if sum != len(rows) {
			t.Fatalf("%d of %d directories are shown or counted", sum, len(rows))
		}
		if len(dirs) > MaxDirs {
			t.Fatalf("%d directories are shown", len(dirs))
		}
	}
}

func TestLargest(t *testing.T) {
	over := ir.TargetRow{Path: "over", Source: "s", All: 5, Tokens: [5]int{5}, Caps: [5]*int{number(1)}}
	rows := []ir.TargetRow{
		{Path: ".", Source: "s", All: 900}, {Path: "small", Source: "s", All: 1}, {Path: "large", Source: "s", All: 50}, over, {Path: "heir", All: 800},
	}
	for _, c := range []struct {
		first string
		want  []string
	}{
		{"", []string{"over", "large", "small"}},
		{"small", []string{"small", "over", "large"}},
		{"small/x.go", []string{"small/x.go", "over", "large", "small"}},
	} {
		got, left := Largest(rows, c.first)
		if d := cmp.Diff(c.want, got); d != "" || left != 0 {
			t.Errorf("Largest(%q) = %q, %d left, want %q", c.first, got, left, c.want)
		}
	}
	for i := range 100 {
		rows = append(rows, ir.TargetRow{Path: fmt.Sprintf("d%d", i), Source: "s", All: 2})
	}
	got, left := Largest(rows, "small/x.go")
	if len(got) != MaxTargets-1 || len(got)-1+left != 103 {
		t.Errorf("%d targets and %d left of 103 directories", len(got), left)
	}
}

func TestBudgets(t *testing.T) {
	rows := []ir.TargetRow{
		{Path: "a", Source: "s", Tokens: [5]int{50, 10, 0}, Caps: [5]*int{number(100), nil, number(0)}},
		{Path: "b", Source: "s", Tokens: [5]int{10, 10, 1}, Caps: [5]*int{number(20), nil, number(0)}},
		{Path: "b/c", Tokens: [5]int{90, 10, 1}, Caps: [5]*int{number(20), nil, number(0)}},
	}
	best := fullest(rows)
	if best[0].row == nil || best[0].row.Path != "b/c" || best[0].left() != -70 {
		t.Errorf("the fullest of L0 is %+v", best[0])
	}
	if best[1].row != nil {
		t.Errorf("L1 has no cap, and the fullest is %+v", best[1])
	}
	all := overruns(rows)
	if len(all) != 1 || all[0].row.Path != "b" || all[0].layer != 2 {
		t.Errorf("overruns = %+v, want L2 of b: b/c only inherits", all)
	}
}
