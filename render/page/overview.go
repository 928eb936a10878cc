package page

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// overview says first whether anything needs somebody, then how much there is.
func (w *writer) overview(r *Report) {
	w.section(0, "")
	w.raw("<p class=\"verdict\">").verdict(r).raw("</p>\n")
	for _, d := range r.Unanswered {
		w.raw("<p class=\"cut\">").state("warn", "⚠", "not known").raw(" ").text(d.Message).raw("</p>\n")
	}
	states := guardStates(r)
	errors, warnings, notes := severities(r)
	own, hidden := 0, 0
	for i := range r.Dirs {
		own += r.Dirs[i].tokens()
		hidden += r.Dirs[i].Hidden
	}
	of := "tokens of context"
	if hidden+r.Loose > 0 {
		of = "tokens in the " + counted(len(r.Dirs), "directory") + " shown below"
	}
	if len(r.Refused) > 0 {
		of = "tokens in the directories that have a map"
	}
	weight := grouped(own)
	if own == 0 && r.unknown() {
		weight, of = "–", "not known"
	}
	w.raw("<dl class=\"figures\">\n")
	w.figure("contexts", grouped(r.Contexts), "in "+counted(r.Directories, "directory"))
	w.figure("sizes", weight, of)
	w.figure("guards", grouped(len(r.Guards)), guardWords(states, r.GuardsHidden))
	w.figure("findings", grouped(errors+warnings+notes), findingWords(errors, warnings, notes))
	w.raw("</dl>\n")
	w.words()
	w.raw("</section>\n")
}

// words says what the page means by its words.
func (w *writer) words() {
	w.raw("<dl class=\"words\">\n<div><dt>Context</dt><dd>A file beside the code, such as <code>.mwp-context.md</code>, that says what a model should know about its directory.</dd></div>\n")
	w.raw("<div><dt>Map</dt><dd>What a model gets to read for one place: the context of the directories on the way to it and what these import.</dd></div>\n<div><dt>Layers</dt><dd>Parts of a map, each with a budget of its own. ")
	for layer, says := range layerSays {
		w.chip(layer).raw(" ").raw(says).raw(". ")
	}
	w.raw("</dd></div>\n</dl>\n")
}

var layerSays = [ir.LayerCount]string{
	"says what the project is", "holds the rules of a part of it", "holds the rules of one place in that part",
	"is what one looks up", "is what is being worked on",
}

func (w *writer) figure(id, n, words string) {
	w.raw("<div><dt><a href=\"#").raw(id).raw("\">").raw(name(id)).raw("</a></dt><dd><b>").raw(n).raw("</b> <span>").text(words).raw("</span></dd></div>\n")
}

// findingWords counts the severities that occur.
func findingWords(errors, warnings, notes int) string {
	var parts []string
	for _, c := range [...]struct {
		n    int
		noun string
	}{{errors, "error"}, {warnings, "warning"}, {notes, "note"}} {
		if c.n > 0 {
			parts = append(parts, counted(c.n, c.noun))
		}
	}
	if len(parts) == 0 {
		return "nothing to mend"
	}
	return strings.Join(parts, ", ")
}

func name(id string) string {
	for _, s := range sections {
		if s[0] == id {
			return s[1]
		}
	}
	panic("page.name: no section " + id)
}

// verdict writes one sentence, worst first.
func (w *writer) verdict(r *Report) *writer {
	states := guardStates(r)
	over := len(overruns(r.Rows))
	errors, warnings := beside(r, states[stateFailed] > 0, over > 0)
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, grouped(n)+" "+many)
		}
	}
	add(errors, "error", "errors")
	add(states[stateFailed], "failing guard", "failing guards")
	add(over, "budget exceeded", "budgets exceeded")
	bad := len(parts) > 0
	add(warnings, "warning", "warnings")
	if bad {
		return w.state("bad", "✕", "Needs attention").raw(": ").text(strings.Join(parts, ", ") + ".")
	}
	add(states[stateStale], "stale guard", "stale guards")
	add(states[stateUnverified], "guard not verified", "guards not verified")
	add(states[stateNotTrusted], "guard that nobody agreed to", "guards that nobody agreed to")
	said := strings.Join(parts, ", ") + "."
	switch {
	case r.unknown() && len(parts) > 0:
		return w.state("warn", "⚠", "Not everything could be looked at").raw(": ").text(said)
	case r.unknown():
		return w.state("warn", "⚠", "Not everything could be looked at").raw(".")
	case len(parts) > 0:
		return w.state("warn", "⚠", "Nothing is broken").raw(", ").text(said)
	}
	return w.state("ok", "✓", "All is well").raw(": no errors, every budget is kept, every guard passed.")
}

// beside counts lint's errors and warnings without those that say again what the
// guards and the budgets of the page say.
func beside(r *Report, guards, budgets bool) (errors, warnings int) {
	var rest ir.LintReport
	for _, d := range r.Findings {
		if !(guards && d.Code == ir.GuardFailed || budgets && d.Code == ir.BudgetOverrun) {
			rest.Findings = append(rest.Findings, d)
		}
	}
	errors, warnings, _ = rest.Count()
	return errors, warnings
}

// unknown reports that something about the workspace could not be found out.
func (r *Report) unknown() bool {
	return len(r.Unanswered) > 0 || len(r.Refused) > 0 || r.GuardsHidden
}

func severities(r *Report) (errors, warnings, notes int) {
	report := ir.LintReport{Findings: r.Findings}
	return report.Count()
}
