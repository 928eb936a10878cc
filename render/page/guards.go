package page

import (
	"cmp"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// States of a guard in a page: a map's, and one that only this user's decisions make.
const (
	stateFailed = iota
	stateStale
	stateUnverified
	stateNotTrusted
	statePassed
	stateCount
)

var stateWords = [stateCount]string{"failed", "stale", "not verified", "not trusted", "passed"}

func (g *Guard) state() int {
	switch {
	case g.Status == ir.Passed:
		return statePassed
	case g.Status == ir.FailedCheck:
		return stateFailed
	case g.Status == ir.Stale:
		return stateStale
	case g.NotTrusted:
		return stateNotTrusted
	}
	return stateUnverified
}

func guardStates(r *Report) (n [stateCount]int) {
	for i := range r.Guards {
		n[r.Guards[i].state()]++
	}
	return n
}

// guardWords counts the states that occur: "2 failed, 1 passed".
func guardWords(n [stateCount]int, hidden bool) string {
	var parts []string
	for state, count := range n {
		if count > 0 {
			parts = append(parts, grouped(count)+" "+stateWords[state])
		}
	}
	switch {
	case hidden && len(parts) == 0:
		return "not known"
	case hidden:
		parts = append(parts, "others may be hidden by errors")
	case len(parts) == 0:
		return "none is declared"
	}
	return strings.Join(parts, ", ")
}

func (w *writer) guardState(state int) *writer {
	switch state {
	case statePassed:
		return w.state("ok", "✓", stateWords[state])
	case stateFailed:
		return w.state("bad", "✕", stateWords[state])
	case stateStale:
		return w.state("warn", "⚠", stateWords[state])
	}
	return w.state("note", "?", stateWords[state])
}

func (w *writer) guards(r *Report) {
	w.section(4, "The checks by which context proves what it says. This report ran none of them; mwp verify does.")
	if len(r.Guards) == 0 {
		none := "No context file declares a guard."
		if r.GuardsHidden {
			none = "No guard is known. Files that could not be taken in may declare some."
		}
		w.raw("<p>").raw(none).raw("</p>\n</section>\n")
		return
	}
	w.table("Guards of the workspace", "State", "Guard", "When", "Why", "May it run", "Declared", "Owners")
	shown := 0
	for state := range stateCount {
		for i := range r.Guards {
			if g := &r.Guards[i]; g.state() == state && shown < maxGuards {
				shown++
				w.guard(g)
			}
		}
	}
	w.endTable()
	if n := len(r.Guards) - shown; n > 0 {
		w.more(counted(n, "further guard")+" not shown.", "mwp verify --list", "", "")
	}
	w.raw("</section>\n")
}

func (w *writer) guard(g *Guard) {
	w.raw("<tr>").cell("State").guardState(g.state()).end()
	w.raw("<th scope=\"row\">").text(cmp.Or(g.Name, g.Guard))
	if g.Name != "" && g.Name != g.Guard {
		w.raw("<br><code>").text(g.Guard).raw("</code>")
	}
	w.raw("<br><span class=\"soft\">in ").path(directory(g.Cwd)).raw("</span></th>")
	w.cell("When").when(&g.Verification).end()
	w.cell("Why").why(g).end()
	w.cell("May it run").text(g.Trust)
	if g.Trust == "static" {
		w.raw("<br><span class=\"soft\">it runs nothing</span>")
	} else if g.Why != "" {
		w.raw("<br><span class=\"soft\">").text(g.Why).raw("</span>")
	}
	w.end().cell("Declared").raw("<code>").place(g.DeclaredIn).raw("</code>").end()
	w.cell("Owners").list(g.Owners).end().raw("</tr>\n")
}

func directory(dir string) string {
	if dir == "." || dir == "" {
		return "the project root"
	}
	return dir
}

func (w *writer) when(v *ir.Verification) *writer {
	switch {
	case v.RanAt != "":
		w.moment(v.RanAt)
	case v.Status == ir.Passed || v.Status == ir.FailedCheck:
		return w.raw("looked at now")
	default:
		return w.raw("never")
	}
	if v.Status == ir.Passed && v.CacheUntil != "" {
		w.raw("<br><span class=\"soft\">counts until ").moment(v.CacheUntil).raw("</span>")
	}
	return w
}

// moment writes a time of the IR: 2026-05-17 10:42 UTC.
func (w *writer) moment(s string) *writer {
	if _, err := time.Parse(time.RFC3339, s); err == nil && s[len(s)-1] == 'Z' {
		return w.raw("<time datetime=\"").text(s).raw("\">").text(s[:10] + " " + s[11:16]).raw(" UTC</time>")
	}
	return w.text(s)
}

func (w *writer) why(g *Guard) *writer {
	switch {
	case g.Status == ir.FailedCheck:
		w.text(ir.Outcome(&g.Verification))
		if g.Expired || g.FilesChanged {
			w.raw("; what it rests on changed since, or time passed")
		}
	case g.Status == ir.Passed:
		w.raw("it held")
	case g.NotTrusted:
		w.raw("nobody agreed to run it")
	default:
		w.text(reasonWords(g.Reason))
	}
	if o := g.Override; o != nil {
		w.raw("<br>").state("warn", "⚠", "overridden").raw(" until ").moment(o.Until).raw(": ").text(o.Reason)
	}
	return w
}

// reasonWords says why a result does not count.
func reasonWords(reason string) string {
	switch reason {
	case ir.ReasonNeverRun, "":
		return "it was never run here"
	case ir.ReasonExpired:
		return "its result expired"
	case ir.ReasonFilesChanged:
		return "files that it rests on changed"
	case ir.ReasonEarly:
		return "its result is dated ahead"
	case ir.ReasonForeign:
		return "its result was recorded with another key"
	case ir.ReasonUnreadable:
		return "a file that it rests on cannot be read"
	}
	return outcomeWords(reason)
}
