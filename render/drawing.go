package render

import "github.com/model-workspace-protocol/mwp/nodes/ir"

// Drawing is a graph as Mermaid draws it, as plain values: for a page that lays it
// out by itself.
type Drawing struct {
	// Boxes are sorted by stage, the result first.
	Boxes []DrawnBox
	// Notes say what the drawing is of and what it leaves out.
	Notes []string
}

// DrawnBox is one node of a Drawing, or several that were folded.
type DrawnBox struct {
	Kind string
	// Name is the path that the box stands for, of folded ones the directory that
	// they have in common, as it was recorded: whoever shows it escapes it. Short is
	// Name for people, cut to what a box has room for.
	Name, Short string
	// Class names the look and Legend says what it means, such as "looked for and
	// absent".
	Class, Legend string
	// Count is how many nodes the box stands for; Result marks the last one computed.
	Count  int
	Result bool
	// Needs are indexes of Boxes.
	Needs []int
}

// shortRunes is how much of a name a box has room for.
const shortRunes = 30

// Draw returns g as Mermaid draws it: at most MaxGraphNodes boxes, folded until that
// holds, plumbing left out, edges that follow from others left out.
func Draw(g Graph) Drawing {
	var d Drawing
	draw(&g, GraphOptions{}, rung{}, func(p *picture) bool {
		d = p.drawing()
		return p.edges() <= maxMermaidEdges
	})
	return d
}

func (p *picture) drawing() Drawing {
	d := Drawing{Notes: p.notes}
	for i := range p.boxes {
		b := &p.boxes[i]
		d.Boxes = append(d.Boxes, DrawnBox{
			Kind: b.kind, Name: b.name, Short: shorten(ir.EscapeControls(b.name), shortRunes),
			Class: styles[b.class].name, Legend: styles[b.class].legend,
			Count: b.count, Result: i == p.result, Needs: b.needs,
		})
	}
	return d
}
