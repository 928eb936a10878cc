package render

import (
	"strconv"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TargetPage is one page of the directories that carry or inherit context.
type TargetPage struct {
	Rows []ir.TargetRow
	// Total counts all targets, those of other pages included.
	Total int
	// Truncated says that there are more targets after Rows.
	Truncated bool
	// NextCursor asks for the next page; it is opaque, and "" on the last one.
	NextCursor string
}

// TargetsOptions select what Targets prints.
type TargetsOptions struct {
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
}

// maxPathColumn bounds the first column: one deep path must not push the numbers of
// all others off the screen.
const maxPathColumn = 48

// Targets prints a page as a table for a terminal: path, layer, tokens of the whole
// chain, the layer nearest to its cap, guards, and the context file or "inherits"
// (D-111). Columns are aligned by display width; a path that is too long for its
// column moves its own row only.
func Targets(page *TargetPage, o TargetsOptions) []byte {
	p := printer{color: o.Color}
	if len(page.Rows) > 0 {
		p.table(page.Rows)
		p.line("")
	}
	p.line(pageSummary(page))
	return p.buf
}

// targetCells are the columns of Targets, in their order.
type targetCells [6]string

var targetHeads = targetCells{"PATH", "LAYER", "TOKENS", "NEAREST CAP", "GUARDS", "SOURCE"}

func cellsOf(t *ir.TargetRow) targetCells {
	nearest := "none"
	if layer, room, ok := t.Headroom(); ok {
		nearest = ir.LayerName(layer) + " " + strconv.Itoa(t.Tokens[layer]) + " of " + strconv.Itoa(*t.Caps[layer])
		if room < 0 {
			nearest += ", over by " + strconv.Itoa(-room)
		}
	}
	source := "inherits"
	if t.Source != "" {
		source = ir.EscapeControls(t.Source)
	}
	return targetCells{lineStart(ir.EscapeControls(t.Path)), ir.LayerName(t.Layer), strconv.Itoa(t.All), nearest, strconv.Itoa(t.Guards), source}
}

func (p *printer) table(rows []ir.TargetRow) {
	lines := []targetCells{targetHeads}
	for i := range rows {
		lines = append(lines, cellsOf(&rows[i]))
	}
	var widths [len(targetHeads)]int
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], displayWidth(c))
		}
	}
	widths[0] = min(widths[0], maxPathColumn)
	for n, cells := range lines {
		s := padRight(cells[0], widths[0])
		for i, c := range cells[1:] {
			switch i++; i {
			case 2, 4:
				c = pad(c, widths[i])
			case len(cells) - 1:
			default:
				c = padRight(c, widths[i])
			}
			s += "  " + c
		}
		switch {
		case n == 0:
			s = p.paint(bold, s)
		case overCap(&rows[n-1]):
			s = p.paint(red, s)
		}
		p.line(s)
	}
}

func overCap(t *ir.TargetRow) bool {
	_, room, ok := t.Headroom()
	return ok && room < 0
}

func pageSummary(page *TargetPage) string {
	if page.Total == 0 {
		return "0 targets: no directory here has a map to weigh; `mwp lint` says what is in the way, `mwp init` makes a first context file"
	}
	if !page.Truncated {
		return count(page.Total, "target")
	}
	s := grouped(len(page.Rows)) + " of " + count(page.Total, "target")
	if page.NextCursor != "" {
		s += "; the next ones: --cursor " + ir.EscapeControls(page.NextCursor)
	}
	return s
}

// TargetsJSON returns a page as one JSON object with a final newline:
//
//	{targets: […], total, truncated, next_cursor}
//
// A target has the shape that it has in LintJSON; next_cursor is null on the last
// page.
func TargetsJSON(page *TargetPage) []byte {
	var w jsonText
	w.open('{')
	w.field("targets").rows(page.Rows)
	w.field("total").int(page.Total)
	w.field("truncated").raw(strconv.FormatBool(page.Truncated))
	if w.field("next_cursor"); page.NextCursor == "" {
		w.raw("null")
	} else {
		w.str(page.NextCursor)
	}
	w.close('}')
	return w.indented()
}
