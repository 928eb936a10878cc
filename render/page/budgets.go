package page

import (
	"slices"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// use is one directory's use of one layer's cap.
type use struct {
	row         *ir.TargetRow
	layer       int
	tokens, cap int
}

func (u *use) left() int { return u.cap - u.tokens }

// fuller orders uses by the part of the cap that is spent, most first. Compared
// crosswise, as a cap may be 0.
func fuller(a, b use) int {
	x, y := int64(a.tokens)*int64(b.cap), int64(b.tokens)*int64(a.cap)
	switch {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return ir.ComparePaths(a.row.Path, b.row.Path)
}

// fullest returns for each layer the use that comes nearest to its cap, or goes
// furthest beyond it; row is nil for a layer that nobody capped.
func fullest(rows []ir.TargetRow) (best [ir.LayerCount]use) {
	for i := range rows {
		for layer, limit := range rows[i].Caps {
			if limit == nil {
				continue
			}
			u := use{&rows[i], layer, rows[i].Tokens[layer], *limit}
			if best[layer].row == nil || fuller(u, best[layer]) < 0 {
				best[layer] = u
			}
		}
	}
	return best
}

// overruns returns every use beyond its cap, the fullest first. A directory that only
// inherits repeats another's, so those without context of their own do not count.
func overruns(rows []ir.TargetRow) []use {
	var all []use
	for i := range rows {
		for layer, limit := range rows[i].Caps {
			if limit != nil && rows[i].Tokens[layer] > *limit && rows[i].Source != "" {
				all = append(all, use{&rows[i], layer, rows[i].Tokens[layer], *limit})
			}
		}
	}
	slices.SortStableFunc(all, fuller)
	return all
}

func (w *writer) budgets(r *Report) {
	w.section(1, "For each layer, the directory whose map comes nearest to the cap.")
	if len(r.Rows) == len(r.Refused) && r.unknown() {
		w.raw("<p>The budgets are not known: the findings say what is in the way.</p>\n</section>\n")
		return
	}
	w.table("Budgets by layer", "Layer", "#Tokens", "#Cap", "Use", "Room", "Fullest map")
	for layer, u := range fullest(r.Rows) {
		w.raw("<tr><th scope=\"row\">").chip(layer).raw(" <span class=\"soft\">").raw(layerNames[layer]).raw("</span></th>")
		if u.row == nil {
			w.cell("#Tokens").raw("–").end().cell("#Cap").raw("none").end().cell("Use").end().cell("Room").end().cell("Fullest map").end().raw("</tr>\n")
			continue
		}
		w.cell("#Tokens").number(u.tokens).end().cell("#Cap").number(u.cap).end()
		w.cell("Use").meter(u).end().cell("Room").room(u).end()
		w.cell("Fullest map").raw("<code>").path(shortened(u.row.Path, "")).raw("</code>").end().raw("</tr>\n")
	}
	w.endTable()
	w.overrunTable(r)
	w.raw("</section>\n")
}

func (w *writer) overrunTable(r *Report) {
	all := overruns(r.Rows)
	if len(all) == 0 {
		return
	}
	w.raw("<h3>Beyond the cap</h3>\n")
	w.table("Maps that exceed a cap", "Directory", "Layer", "#Tokens", "#Cap", "Use", "Room", "Largest part")
	for _, u := range all[:min(len(all), maxOverruns)] {
		w.raw("<tr><th scope=\"row\"><code>").path(shortened(u.row.Path, "")).raw("</code></th>")
		w.cell("Layer").chip(u.layer).end().cell("#Tokens").number(u.tokens).end().cell("#Cap").number(u.cap).end()
		w.cell("Use").meter(u).end().cell("Room").room(u).end()
		w.cell("Largest part").raw("<code>").place(u.row.Largest).raw("</code> ").number(u.row.LargestTokens).end().raw("</tr>\n")
	}
	w.endTable()
	if n := len(all) - maxOverruns; n > 0 {
		w.more(counted(n, "further overrun")+" not shown.", "mwp targets", "", "")
	}
}

func (w *writer) room(u use) *writer {
	if left := u.left(); left < 0 {
		return w.state("bad", "✕", grouped(-left)+" over")
	}
	if u.left()*10 < u.cap {
		return w.state("warn", "⚠", grouped(u.left())+" left")
	}
	return w.state("ok", "✓", grouped(u.left())+" left")
}

// meter draws how much of a cap is spent. The bar is as long as the cap; what is
// beyond it is drawn in another pattern behind a line.
func (w *writer) meter(u use) *writer {
	const long = 100
	scale := max(u.cap, u.tokens, 1)
	spent, limit := min(u.tokens, u.cap)*long/scale, u.cap*long/scale
	w.raw(`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">`)
	w.raw(`<rect class="rail" width="`).int(limit).raw(`" height="8"/>`)
	w.raw(`<rect class="b`).int(u.layer).raw(`" width="`).int(spent).raw(`" height="8"/>`)
	if u.tokens > u.cap {
		w.raw(`<rect class="beyond" x="`).int(limit).raw(`" width="`).int(long - limit).raw(`" height="8"/>`)
		w.raw(`<rect class="limit" x="`).int(limit).raw(`" width="1" height="8"/>`)
	}
	w.raw("</svg> ")
	if u.cap > 0 {
		w.raw(`<span class="soft">`).number(int(int64(u.tokens) * 100 / int64(u.cap))).raw("%</span>")
	}
	return w
}
