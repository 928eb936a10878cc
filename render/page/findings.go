package page

import "github.com/model-workspace-protocol/mwp/nodes/ir"

func (w *writer) findings(r *Report) {
	w.section(5, "What mwp lint has to say about the workspace.")
	if len(r.Findings) == 0 {
		w.raw("<p>Nothing.</p>\n</section>\n")
		return
	}
	w.findingTable("Findings of lint", r.Findings, maxFindings, "mwp lint", "")
	w.raw("</section>\n")
}

// findingTable writes findings, errors first.
func (w *writer) findingTable(caption string, ds []ir.Diagnostic, limit int, before, target string) {
	w.table(caption, "Severity", "Where", "What", "Code")
	shown := 0
	for _, severity := range [...]string{ir.SeverityError, ir.SeverityWarning, ir.SeverityNote} {
		for i := range ds {
			if ds[i].Severity == severity && shown < limit {
				shown++
				w.finding(&ds[i])
			}
		}
	}
	w.endTable()
	if n := len(ds) - shown; n > 0 {
		w.more(counted(n, "further finding")+" not shown.", before, target, "")
	}
}

func (w *writer) finding(d *ir.Diagnostic) {
	w.raw("<tr>").cell("Severity").severity(d.Severity).end()
	w.raw("<th scope=\"row\">")
	if place := d.Place(); place != "" {
		w.raw("<code>").place(place).raw("</code>")
	} else {
		w.raw("the workspace")
	}
	w.raw("</th>").cell("What").text(d.Message)
	if d.Hint != "" {
		w.raw("<br><span class=\"soft\">").text(d.Hint).raw("</span>")
	}
	w.end().cell("Code").raw("<code class=\"nobr\">").text(string(d.Code)).raw("</code>").end().raw("</tr>\n")
}

func (w *writer) severity(s string) *writer {
	switch s {
	case ir.SeverityError:
		return w.state("bad", "✕", "error")
	case ir.SeverityWarning:
		return w.state("warn", "⚠", "warning")
	}
	return w.state("note", "·", "note")
}
