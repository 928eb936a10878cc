package page

import (
	"cmp"
	"slices"

	"github.com/model-workspace-protocol/mwp/render"
)

// Sizes of a drawing, in units of its own.
const (
	boxWidth, boxHeight = 224, 40
	boxGap, columnGap   = 12, 64
	bendHeight          = 6
	margin              = 12
)

// spot is a box at its place, or a bend: where an edge crosses a column in which it
// has no end. All arithmetic is in integers: fractions are rounded differently by
// different processors, and the page must not differ.
type spot struct {
	box    int // -1 for a bend
	column int
	// left and right are neighbours in the columns beside it.
	left, right []int
	y, height   int // y is the middle
}

// layout is a drawing with everything at its place: the result in the first column, and
// right of each box what it was computed from.
type layout struct {
	spots         []spot
	columns       [][]int
	lines         [][]int // the spots that an edge runs through, user first
	width, height int
}

// arrange lays a drawing out.
func arrange(d *render.Drawing) *layout {
	l := &layout{}
	column := columnsOf(d)
	for i, c := range column {
		l.add(spot{box: i, column: c, height: boxHeight})
	}
	for i := range d.Boxes {
		for _, j := range d.Boxes[i].Needs {
			if column[j] > column[i] {
				l.connect(i, j)
			}
		}
	}
	for range 6 {
		l.order()
	}
	l.settle()
	return l
}

func (l *layout) add(s spot) int {
	i := len(l.spots)
	for len(l.columns) <= s.column {
		l.columns = append(l.columns, nil)
	}
	l.columns[s.column] = append(l.columns[s.column], i)
	l.spots = append(l.spots, s)
	return i
}

// connect adds an edge, with a bend in each column between its ends.
func (l *layout) connect(user, need int) {
	line := []int{user}
	for c := l.spots[user].column + 1; c < l.spots[need].column; c++ {
		line = append(line, l.add(spot{box: -1, column: c, height: bendHeight}))
	}
	line = append(line, need)
	for i := range line[1:] {
		a, b := line[i], line[i+1]
		l.spots[a].right = append(l.spots[a].right, b)
		l.spots[b].left = append(l.spots[b].left, a)
	}
	l.lines = append(l.lines, line)
}

// columnsOf returns for each box how many steps lie between it and the result on the
// longest way. An edge that closes a circle, which only folding makes, does not count.
func columnsOf(d *render.Drawing) []int {
	n := len(d.Boxes)
	column, state := make([]int, n), make([]uint8, n)
	var order []int
	var visit func(i int)
	visit = func(i int) {
		state[i] = 1
		for _, j := range d.Boxes[i].Needs {
			if state[j] == 0 {
				visit(j)
			}
		}
		state[i] = 2
		order = append(order, i)
	}
	for i := range d.Boxes {
		if state[i] == 0 {
			visit(i)
		}
	}
	slices.Reverse(order)
	place := make([]int, n)
	for p, i := range order {
		place[i] = p
	}
	for _, i := range order {
		for _, j := range d.Boxes[i].Needs {
			if place[j] > place[i] {
				column[j] = max(column[j], column[i]+1)
			}
		}
	}
	return column
}

// order sorts every column by the middle of its neighbours, on the way right by those
// to the left and back again by those to the right.
func (l *layout) order() {
	for c := 1; c < len(l.columns); c++ {
		l.sortColumn(c, func(s *spot) []int { return s.left })
	}
	for c := len(l.columns) - 2; c >= 0; c-- {
		l.sortColumn(c, func(s *spot) []int { return s.right })
	}
}

func (l *layout) sortColumn(c int, beside func(*spot) []int) {
	rank := make([]int, len(l.spots))
	for _, col := range l.columns {
		for i, s := range col {
			rank[s] = i * 1000
		}
	}
	at := map[int]int{}
	for i, s := range l.columns[c] {
		at[s] = i * 1000
		if ns := beside(&l.spots[s]); len(ns) > 0 {
			sum := 0
			for _, n := range ns {
				sum += rank[n]
			}
			at[s] = sum / len(ns)
		}
	}
	slices.SortStableFunc(l.columns[c], func(a, b int) int { return cmp.Compare(at[a], at[b]) })
}

// settle gives every spot its height: as near to its neighbours as those above and
// below it allow.
func (l *layout) settle() {
	for _, col := range l.columns {
		y := 0
		for _, s := range col {
			l.spots[s].y = y + l.spots[s].height/2
			y += l.spots[s].height + boxGap
		}
	}
	for range 8 {
		for c := range l.columns {
			l.pull(c, func(s *spot) []int { return s.left })
		}
		for c := len(l.columns) - 1; c >= 0; c-- {
			l.pull(c, func(s *spot) []int { return s.right })
		}
	}
	top, bottom := 0, 0
	for i := range l.spots {
		s := &l.spots[i]
		top, bottom = min(top, s.y-s.height/2), max(bottom, s.y+s.height/2)
	}
	for i := range l.spots {
		l.spots[i].y += margin - top
	}
	l.height = bottom - top + 2*margin
	l.width = len(l.columns)*(boxWidth+columnGap) - columnGap + 2*margin
}

// pull moves a column's spots towards their neighbours and keeps order and distance:
// what would overlap moves as one block to the mean of what its members want.
func (l *layout) pull(c int, beside func(*spot) []int) {
	type block struct{ sum, count, first int }
	var blocks []block
	offset := 0
	offsets := make([]int, len(l.columns[c]))
	for i, at := range l.columns[c] {
		s := &l.spots[at]
		if i > 0 {
			above := &l.spots[l.columns[c][i-1]]
			offset += (above.height+s.height)/2 + boxGap
		}
		offsets[i] = offset
		want := s.y
		if ns := beside(s); len(ns) > 0 {
			want = 0
			for _, n := range ns {
				want += l.spots[n].y
			}
			want /= len(ns)
		}
		blocks = append(blocks, block{want - offset, 1, i})
		for len(blocks) > 1 {
			a, b := &blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.sum*b.count <= b.sum*a.count {
				break
			}
			a.sum, a.count = a.sum+b.sum, a.count+b.count
			blocks = blocks[:len(blocks)-1]
		}
	}
	for k, b := range blocks {
		end := len(offsets)
		if k+1 < len(blocks) {
			end = blocks[k+1].first
		}
		for i := b.first; i < end; i++ {
			l.spots[l.columns[c][i]].y = b.sum/b.count + offsets[i]
		}
	}
}

// x returns the left edge of a column.
func x(column int) int { return margin + column*(boxWidth+columnGap) }
