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
	w.raw("<dl class=\"figures\">\n")
	w.figure("contexts", grouped(r.Contexts), "in "+counted(r.Directories, "directory"))
	w.figure("sizes", grouped(own), of)
	w.figure("guards", grouped(len(r.Guards)), guardWords(states, len(r.Guards)))
	w.figure("findings", grouped(errors+warnings+notes), findingWords(errors, warnings, notes))
	w.raw("</dl>\n</section>\n")
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
	errors, _, _ := severities(r)
	over := len(overruns(r.Rows))
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
	if len(parts) > 0 {
		return w.state("bad", "✕", "Needs attention").raw(": ").text(strings.Join(parts, ", ") + ".")
	}
	add(states[stateStale], "stale guard", "stale guards")
	add(states[stateUnverified], "guard not verified", "guards not verified")
	add(states[stateNotTrusted], "guard that nobody agreed to", "guards that nobody agreed to")
	if len(parts) > 0 {
		return w.state("warn", "⚠", "Nothing is wrong").raw(", as far as it was checked: ").text(strings.Join(parts, ", ") + ".")
	}
	if len(r.Unanswered) > 0 {
		return w.state("warn", "⚠", "Not everything could be looked at").raw(".")
	}
	return w.state("ok", "✓", "All is well").raw(": no errors, every budget is kept, every guard passed.")
}

func severities(r *Report) (errors, warnings, notes int) {
	report := ir.LintReport{Findings: r.Findings}
	return report.Count()
}
