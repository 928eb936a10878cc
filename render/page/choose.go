package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Dir is a directory with context of its own, in the tree of those that are shown.
type Dir struct {
	Row ir.TargetRow
	// Parent is the index of the nearest such directory above it, -1 for none.
	Parent int
	// Own are the texts that it adds, in map order; Choose leaves them out.
	Own []Source
	// Heirs are the first of the directories that have this one's context and none of
	// their own, HeirCount is how many there are.
	Heirs     []string
	HeirCount int
	// Hidden counts the directories with context below this one that are not shown.
	Hidden int
}

// tokens returns the size of what the directory adds.
func (d *Dir) tokens() (n int) {
	for i := range d.Own {
		n += d.Own[i].weight()
	}
	return n
}

// Choose returns the directories of a workspace that a page shows: those with context
// of their own, at most MaxDirs of them, those nearest to the root first, in the order
// of rows, which is parents first. Every other row is counted at the nearest shown
// directory above it, or in loose where there is none.
func Choose(rows []ir.TargetRow) (dirs []Dir, loose int) {
	shown := nearest(rows)
	at := map[string]int{}
	for i := range rows {
		row := &rows[i]
		up := above(at, row.Path)
		switch {
		case shown[row.Path]:
			at[row.Path] = len(dirs)
			dirs = append(dirs, Dir{Row: *row, Parent: up})
		case up < 0:
			loose++
		case row.Source != "":
			dirs[up].Hidden++
		default:
			d := &dirs[up]
			if d.HeirCount++; len(d.Heirs) < maxHeirs {
				d.Heirs = append(d.Heirs, row.Path)
			}
		}
	}
	return dirs, loose
}

// nearest returns which rows are shown. Whatever is shown has all of its ancestors
// with context shown too, because these lie nearer to the root.
func nearest(rows []ir.TargetRow) map[string]bool {
	type place struct {
		path  string
		depth int
	}
	var all []place
	for i := range rows {
		if rows[i].Source != "" {
			all = append(all, place{rows[i].Path, depth(rows[i].Path)})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.depth, b.depth) })
	shown := map[string]bool{}
	for _, p := range all[:min(len(all), MaxDirs)] {
		shown[p.path] = true
	}
	return shown
}

func depth(dir string) int {
	if dir == "." {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

// above returns the index of the nearest directory above dir, -1 for none.
func above(at map[string]int, dir string) int {
	for dir != "." {
		if i := strings.LastIndexByte(dir, '/'); i > 0 {
			dir = dir[:i]
		} else {
			dir = "."
		}
		if i, ok := at[dir]; ok {
			return i
		}
	}
	return -1
}

// Largest returns the targets whose maps a page holds beside the orientation map:
// first, when it is not "", then the largest directories with context of their own,
// those beyond a cap before others, MaxTargets in all. left is how many such
// directories there are beyond these. A directory that only inherits has the same map
// as the one above it.
func Largest(rows []ir.TargetRow, first string) (targets []string, left int) {
	var all []*ir.TargetRow
	for i := range rows {
		// What weighs nothing was refused: why is in the findings.
		if rows[i].Source != "" && rows[i].All > 0 && rows[i].Path != "." && rows[i].Path != first {
			all = append(all, &rows[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *ir.TargetRow) int {
		return cmp.Or(cmp.Compare(beyond(b), beyond(a)), cmp.Compare(b.All, a.All))
	})
	room := MaxTargets - 1
	if first != "" {
		targets = append(targets, first)
		room--
	}
	for _, row := range all[:min(len(all), room)] {
		targets = append(targets, row.Path)
	}
	return targets, max(len(all)-room, 0)
}

// beyond is 1 for a map that exceeds a cap.
func beyond(row *ir.TargetRow) int {
	if _, room, ok := row.Headroom(); ok && room < 0 {
		return 1
	}
	return 0
}
