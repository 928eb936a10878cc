package page

import (
	"github.com/model-workspace-protocol/mwp/render"
)

// drawing writes what a map was computed from: a picture, and the same as a list.
func (w *writer) drawing(i int, t *Target) {
	d := &t.Drawing
	if len(d.Boxes) == 0 {
		return
	}
	w.raw("<details class=\"plain computed\"><summary id=\"gh-").int(i).raw("\">What it was computed from</summary>\n")
	w.raw("<p class=\"soft\">The map stands at the left; right of each box is what it needed. ")
	for j, note := range d.Notes {
		if j > 0 {
			w.raw("; ")
		}
		w.text(note)
	}
	w.raw(".</p>\n")
	w.legend(d)
	l := arrange(d)
	w.raw("<div class=\"graph\" tabindex=\"0\" role=\"region\" aria-labelledby=\"gh-").int(i).raw("\">\n")
	w.raw(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Provenance of the map; the list below says the same" width="`).int(l.width).raw(`" height="`).int(l.height)
	w.raw(`" viewBox="0 0 `).int(l.width).raw(" ").int(l.height).raw("\">\n")
	for _, line := range l.lines {
		w.line(l, line)
	}
	for j := range d.Boxes {
		w.box(&d.Boxes[j], j, &l.spots[j])
	}
	w.raw("</svg>\n</div>\n")
	w.boxList(d)
	if line, ok := command("mwp explain", t.Path, " --graph mermaid --all"); ok {
		w.raw("<p class=\"soft\">With every node: <code>").text(line).raw("</code></p>\n")
	}
	w.raw("</details>\n")
}

func (w *writer) legend(d *render.Drawing) {
	w.raw("<ul class=\"legend\">")
	seen := map[string]bool{}
	for i := range d.Boxes {
		if b := &d.Boxes[i]; !seen[b.Class] {
			seen[b.Class] = true
			w.raw(`<li><span class="key n-`).raw(b.Class).raw(`" aria-hidden="true"></span>`).text(b.Legend).raw("</li>")
		}
	}
	w.raw("</ul>\n")
}

// line writes an edge as a curve through its bends.
func (w *writer) line(l *layout, line []int) {
	s := &l.spots[line[0]]
	w.raw(`<path data-a="`).int(line[0]).raw(`" data-b="`).int(line[len(line)-1]).raw(`" d="M`).int(x(s.column) + boxWidth).raw(" ").int(s.y)
	for k, i := range line[1:] {
		next := &l.spots[i]
		from, to := x(s.column)+boxWidth, x(next.column)
		middle := (from + to) / 2
		w.raw("C").int(middle).raw(" ").int(s.y).raw(" ").int(middle).raw(" ").int(next.y).raw(" ").int(to).raw(" ").int(next.y)
		if k < len(line)-2 {
			w.raw("H").int(to + boxWidth)
		}
		s = next
	}
	w.raw("\"/>\n")
}

// box writes one node. The inner svg cuts off a name that is wider than its letters
// are counted.
func (w *writer) box(b *render.DrawnBox, i int, s *spot) {
	w.raw(`<svg class="node n-`).raw(b.Class).raw(`" data-i="`).int(i).raw(`" x="`).int(x(s.column)).raw(`" y="`).int(s.y - boxHeight/2).raw(`" width="`).int(boxWidth).raw(`" height="`).int(boxHeight).raw(`">`)
	w.raw("<title>").text(boxName(b)).raw("</title>")
	w.raw(`<rect x="1" y="1" width="`).int(boxWidth - 2).raw(`" height="`).int(boxHeight - 2).raw(`" rx="`).int(corner(b)).raw(`"/>`)
	kind := b.Kind
	if b.Count > 1 {
		kind = grouped(b.Count) + " × " + kind
	}
	name := b.Short
	if b.Count > 1 && name != "" {
		name += "/"
	}
	if name == "" || name == "." {
		w.raw(`<text class="kind" x="12" y="24">`).text(kind).raw("</text></svg>\n")
		return
	}
	w.raw(`<text class="kind" x="12" y="16">`).text(kind).raw(`</text><text x="12" y="31">`).text(name).raw("</text></svg>\n")
}

// corner is round for what was computed and square for what was found.
func corner(b *render.DrawnBox) int {
	switch b.Class {
	case "file", "moduleFile", "absent", "look":
		return 2
	}
	return 12
}

func boxName(b *render.DrawnBox) string {
	s := b.Kind
	if b.Count > 1 {
		s = grouped(b.Count) + " × " + s
	}
	if b.Name != "" {
		s += " " + b.Name
	}
	return s + " (" + b.Legend + ")"
}

// boxList writes the drawing for those who do not see it.
func (w *writer) boxList(d *render.Drawing) {
	w.raw("<details class=\"plain\"><summary>The same as a list</summary>\n<ol class=\"boxes\">\n")
	for i := range d.Boxes {
		b := &d.Boxes[i]
		w.raw("<li>").text(boxName(b))
		for k, j := range b.Needs {
			if k == 0 {
				w.raw(", from ")
			} else {
				w.raw(", ")
			}
			w.int(j + 1)
		}
		w.raw("</li>\n")
	}
	w.raw("</ol></details>\n")
}
