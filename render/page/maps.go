package page

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// maps are the embedded maps with their explanations, below each other. The script
// shows one at a time.
func (w *writer) maps(r *Report) {
	w.section(6, "What a reader of one place gets, why, what did not load, and what the answer was computed from.")
	if len(r.Targets) == 0 {
		w.raw("<p>There is no map.</p>\n</section>\n")
		return
	}
	w.raw("<nav class=\"chooser\" aria-label=\"Maps in this page\"><ul>\n")
	for i := range r.Targets {
		w.raw(`<li><a href="#map-`).int(i).raw(`">`).path(r.Targets[i].name()).raw("</a></li>\n")
	}
	w.raw("</ul></nav>\n")
	if n := r.TargetsLeft; n > 0 {
		w.raw("<p class=\"cut\">The maps of ").raw(counted(n, "further directory")).raw(" are not in this page. <code>mwp report PATH</code> shows another one first, <code>mwp explain PATH</code> prints its account.</p>\n")
	}
	texts := 0
	for i := range r.Targets {
		texts += w.target(i, &r.Targets[i], min(maxText, maxTexts-texts))
	}
	w.raw("</section>\n")
}

func (t *Target) name() string {
	if t.Path == "" || t.Path == "." {
		return "The whole project"
	}
	return t.Path
}

// target writes one map and returns how much of its text is in the page.
func (w *writer) target(i int, t *Target, room int) (used int) {
	w.raw(`<article class="map" id="map-`).int(i).raw(`" aria-labelledby="mh-`).int(i).raw("\" tabindex=\"-1\">\n")
	w.raw(`<h3 id="mh-`).int(i).raw(`">`).path(t.name()).raw("</h3>\n")
	if len(t.Refusal) > 0 {
		w.raw("<p>").state("bad", "✕", "There is no map").raw(" until this is mended:</p>\n")
		w.findingTable("Why there is no map", t.Refusal, maxFindings, "mwp map", t.Path)
		w.raw("</article>\n")
		return 0
	}
	w.mapSummary(t)
	loaded, left := 0, 0
	for j := range t.Map.Trace {
		if t.Map.Trace[j].Status == ir.Included {
			loaded++
		} else {
			left++
		}
	}
	w.trace(t, "In the map", loaded, true)
	w.trace(t, "Did not load, and why", left, false)
	w.mapGuards(t)
	if len(t.Map.Warnings) > 0 {
		w.raw("<h4>Warnings in the map</h4>\n")
		w.findingTable("Warnings in the map", t.Map.Warnings, maxFindings, "mwp map", t.Path)
	}
	w.drawing(i, t)
	used = w.mapText(t, room)
	w.raw("</article>\n")
	return used
}

func (w *writer) mapSummary(t *Target) {
	m := &t.Map
	w.raw("<p class=\"summary\">")
	w.raw("<span>").number(m.Totals.All).raw(" tokens of context</span> ")
	w.raw("<span>").number(m.Totals.RenderedTokens).raw(" as rendered</span> ")
	w.raw("<span>").raw(counted(len(m.Layers.All()), "entry")).raw("</span>")
	if m.ReadOnly {
		w.raw(" ").state("bad", "✕", "read-only: a guard fails")
	}
	w.raw("</p>\n")
	if line, ok := command("mwp map", t.Path, " --render markdown"); ok {
		w.raw("<p class=\"soft\"><code>").text(line).raw("</code></p>\n")
	}
	w.raw("<ul class=\"layers\">\n")
	for layer := range ir.LayerCount {
		tokens, limit := *m.Totals.At(layer), *m.Budgets.At(layer)
		if tokens == 0 {
			continue
		}
		w.raw("<li>").chip(layer).raw(" ").number(tokens)
		if limit != nil {
			w.raw(" of ").number(*limit).raw(" ").meter(use{layer: layer, tokens: tokens, cap: *limit}).raw(" ").room(use{tokens: tokens, cap: *limit})
		}
		w.raw("</li>\n")
	}
	w.raw("</ul>\n")
}

// trace writes the records of a map, those that are in it or the others.
func (w *writer) trace(t *Target, heading string, n int, included bool) {
	if n == 0 {
		return
	}
	w.raw("<h4>").text(heading).raw("</h4>\n")
	heads := []string{"Layer", "File", "#Tokens", "Rule", "Why", "Owners"}
	if !included {
		heads = []string{"Outcome", "File", "Layer", "#Tokens", "Rule", "Why", "Declared"}
	}
	w.table(heading, heads...)
	shown := 0
	for i := range t.Map.Trace {
		rec := &t.Map.Trace[i]
		if (rec.Status == ir.Included) != included {
			continue
		}
		if shown++; shown > maxTrace {
			continue
		}
		if included {
			w.loaded(rec)
		} else {
			w.unloaded(rec)
		}
	}
	w.endTable()
	if shown > maxTrace {
		w.more(counted(shown-maxTrace, "further record")+" not shown.", "mwp explain", t.Path, "")
	}
}

func (w *writer) loaded(rec *ir.TraceRecord) {
	w.raw("<tr>").cell("Layer").optionalChip(rec.Layer).end().source(rec)
	w.cell("#Tokens").number(rec.Tokens).end().cell("Rule").text(rec.Rule).end()
	w.cell("Why").reason(rec).end().cell("Owners").list(rec.Owners).end().raw("</tr>\n")
}

func (w *writer) unloaded(rec *ir.TraceRecord) {
	w.raw("<tr>").cell("Outcome").outcome(rec.Status).end().source(rec)
	w.cell("Layer").optionalChip(rec.Layer).end().cell("#Tokens").number(rec.Tokens).end()
	w.cell("Rule").text(rec.Rule).end().cell("Why").reason(rec).end()
	w.cell("Declared").raw("<code>").place(rec.Declared).raw("</code>").end().raw("</tr>\n")
}

func (w *writer) optionalChip(layer *int) *writer {
	if layer == nil || *layer < 0 || *layer >= ir.LayerCount {
		return w.raw("–")
	}
	return w.chip(*layer)
}

func (w *writer) source(rec *ir.TraceRecord) *writer {
	w.raw("<th scope=\"row\"><code>").place(rec.Source).raw("</code>")
	if len(rec.ImportsChain) > 0 {
		chain := make([]string, len(rec.ImportsChain))
		for i, s := range rec.ImportsChain {
			chain[i] = w.named(s, "")
		}
		w.raw("<br><span class=\"soft\">by way of ").text(strings.Join(chain, " → ")).raw("</span>")
	}
	return w.raw("</th>")
}

func (w *writer) reason(rec *ir.TraceRecord) *writer {
	w.text(rec.Reason)
	if rec.DeduplicatedBy != "" {
		w.raw("; the text is that of <code>").place(rec.DeduplicatedBy).raw("</code>")
	}
	return w
}

func (w *writer) outcome(status string) *writer {
	switch status {
	case ir.Failed, ir.Unresolved:
		return w.state("bad", "✕", outcomeWords(status))
	case ir.DroppedByBudget:
		return w.state("warn", "⚠", outcomeWords(status))
	}
	return w.state("note", "∅", outcomeWords(status))
}

func (w *writer) mapGuards(t *Target) {
	if len(t.Map.Verifications) == 0 {
		return
	}
	accounts := map[string]*ir.GuardAccount{}
	for i := range t.Guards {
		accounts[t.Guards[i].Key] = &t.Guards[i]
	}
	w.raw("<h4>Guards of the map</h4>\n")
	w.table("Guards of the map", "State", "Guard", "When", "Why", "Rests on")
	for i := range t.Map.Verifications[:min(len(t.Map.Verifications), maxGuards)] {
		v := &t.Map.Verifications[i]
		g := Guard{VerifiedGuard: ir.VerifiedGuard{Verification: *v}}
		w.raw("<tr>").cell("State").guardState(g.state()).end()
		w.raw("<th scope=\"row\">").text(v.Guard).raw("</th>")
		w.cell("When").when(v).end().cell("Why").why(&g).end().cell("Rests on")
		if a := accounts[v.Key]; a != nil {
			w.restsOn(a, v)
		}
		w.end().raw("</tr>\n")
	}
	w.endTable()
	if n := len(t.Map.Verifications) - maxGuards; n > 0 {
		w.more(counted(n, "further guard")+" not shown.", "mwp explain", t.Path, "")
	}
}

func (w *writer) restsOn(a *ir.GuardAccount, v *ir.Verification) {
	if a.Whole {
		w.raw("all files below ").path(directory(v.Cwd)).raw("<br>")
	}
	w.raw("<span class=\"soft\">").list(a.Inputs).raw("</span>")
}

// mapText writes the map as a model reads it, as far as there is room.
func (w *writer) mapText(t *Target, room int) int {
	text := string(t.Text)
	cut := len(text) > room
	if cut {
		text = strings.ToValidUTF8(text[:max(room, 0)], "")
	}
	w.raw("<details class=\"plain\"><summary>The map as a model reads it</summary>\n")
	if text != "" {
		w.raw("<pre tabindex=\"0\">").verbatim(text).raw("</pre>\n")
	}
	if cut {
		w.more(counted(len(t.Text)-len(text), "further byte")+" not shown.", "mwp map", t.Path, " --render markdown")
	}
	w.raw("</details>\n")
	return len(text)
}
