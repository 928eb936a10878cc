package page

import (
	"cmp"
	"slices"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// sizes is where the tokens are: a picture that the script draws from the data, and
// the same as a table.
func (w *writer) sizes(r *Report) {
	w.section(3, "How much context each file adds. A text counts once, where its directory adds it, however many maps carry it.")
	all := sources(r)
	if len(all) == 0 {
		none := "There is no context to weigh."
		if r.unknown() {
			none = "What there is to weigh is not known: the findings say what is in the way."
		}
		w.raw("<p>").raw(none).raw("</p>\n</section>\n")
		return
	}
	w.raw("<div id=\"treemap\" hidden></div>\n")
	total := 0
	for _, s := range all {
		total += s.Tokens
	}
	w.raw("<details class=\"plain\" id=\"sizes-table\" open><summary>The largest files as a table</summary>\n")
	w.table("The largest files", "File", "Layer", "#Tokens", "#Share", "Owners")
	for _, s := range all[:min(len(all), maxSources)] {
		w.raw("<tr><th scope=\"row\"><code>").file(s.Path, s.Section, ".").raw("</code></th>")
		w.cell("Layer").chip(s.Layer).end().cell("#Tokens").number(s.Tokens).end()
		w.cell("#Share").percent(s.Tokens, total).end().cell("Owners").list(s.Owners).end().raw("</tr>\n")
	}
	w.endTable()
	if n := len(all) - maxSources; n > 0 {
		rest := 0
		for _, s := range all[maxSources:] {
			rest += s.Tokens
		}
		w.raw("<p class=\"cut\">").raw(counted(n, "smaller file")).raw(" with ").raw(counted(rest, "token")).raw(" in all; the tree above has them.</p>\n")
	}
	w.raw("</details>\n</section>\n")
}

func (w *writer) percent(n, of int) *writer {
	tenths := int64(n) * 1000 / int64(max(of, 1))
	return w.number(int(tenths / 10)).raw(".").int(int(tenths % 10)).raw("%")
}

// sources returns everything that the directories add to a map, largest first.
func sources(r *Report) []Source {
	var all []Source
	for i := range r.Dirs {
		for _, s := range r.Dirs[i].Own {
			if s.weight() > 0 {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), ir.ComparePaths(a.Path, b.Path))
	})
	return all
}

// data writes what the script draws from: one line for each directory, with its path,
// the place of the directory above it in the list, -1 for none, and for each text that
// it adds the name, the layer and the size. Two names that differ in bytes which are no
// UTF-8 are equal here, so the script tells nothing apart by its name.
func (w *writer) data(r *Report) {
	w.raw(`{"dirs":[`)
	for i := range r.Dirs {
		d := &r.Dirs[i]
		if i > 0 {
			w.raw(",")
		}
		w.raw("\n[").json(d.Row.Path).raw(",").int(d.Parent).raw(",[")
		first := true
		for j := range d.Own {
			s := &d.Own[j]
			if s.weight() == 0 {
				continue
			}
			if !first {
				w.raw(",")
			}
			first = false
			w.raw("[").json(w.named(s.Path, s.Section)).raw(",").int(s.Layer).raw(",").int(s.Tokens).raw("]")
		}
		w.raw("]]")
	}
	w.raw("\n]}")
}
