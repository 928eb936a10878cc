package render

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// VerifyOptions select how Verify prints.
type VerifyOptions struct {
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
	// ASCII writes "+", "x" and "-" for the signs before a guard.
	ASCII bool
	// Keys adds the keys by which guards can be named.
	Keys bool
}

// Verify prints the outcome of verify for people (R-130, D-43): a line per guard with
// its outcome, command, directory and declaration, below it what helps with one that
// did not pass, then notes, and a summary in the last line. The order is the report's.
func Verify(r *ir.VerifyReport, o VerifyOptions) []byte {
	p := printer{color: o.Color}
	rows := make([]verifyRow, len(r.Guards))
	for i := range r.Guards {
		rows[i] = newVerifyRow(&r.Guards[i])
	}
	widths := columnWidths(rows)
	for i := range r.Guards {
		p.verified(&r.Guards[i], rows[i], widths, o)
	}
	if len(r.Notes) > 0 && len(p.buf) > 0 {
		p.line("")
	}
	for _, note := range r.Notes {
		p.line("note: " + ir.EscapeControls(note))
	}
	if len(p.buf) > 0 {
		p.line("")
	}
	p.line(p.verifySummary(r))
	return p.buf
}

// verifyRow is the columns of one guard: outcome, command, directory, declaration.
type verifyRow [4]string

// widestColumn bounds what alignment costs in spaces: what is wider stands out.
const widestColumn = 44

func newVerifyRow(g *ir.VerifiedGuard) verifyRow {
	where := g.DeclaredIn
	if where == "" && len(g.Sources) > 0 {
		where = g.Sources[0]
	}
	return verifyRow{outcome(g), brief(cmp.Or(g.Name, g.Guard)), "in " + directory(g.Cwd), ir.EscapeControls(where)}
}

func columnWidths(rows []verifyRow) (widths [len(verifyRow{})]int) {
	for _, row := range rows {
		for i, s := range row {
			if n := displayWidth(s); n <= widestColumn {
				widths[i] = max(widths[i], n)
			}
		}
	}
	return widths
}

// outcome is the first column: what came of a guard and how long it took, or when for
// a result of an earlier run.
func outcome(g *ir.VerifiedGuard) string {
	took := ""
	switch {
	case g.RanAt == "":
	case g.Ran:
		took = duration(g.DurationMS)
	default:
		took = minute(ir.EscapeControls(g.RanAt))
	}
	switch g.Status {
	case ir.Passed:
		return joined(" ", "passed", took)
	case ir.FailedCheck:
		return joined(", ", "failed: "+notPassed(g), took)
	}
	return joined(": ", "not run", notPassed(g))
}

// notPassed says in a few words why a guard has not passed, "" when there is nothing
// to say but that it did not run.
func notPassed(g *ir.VerifiedGuard) string {
	switch {
	case g.Status == ir.FailedCheck:
		_, words := failure(g.Guard, &g.Verification)
		return brief(words)
	case g.Reason == ir.ReasonNeverRun:
		return ""
	case g.Reason == ir.ReasonNotTrusted:
		return "not trusted"
	}
	if s := doubt(g.Reason); s != "" {
		return s
	}
	return ir.EscapeControls(strings.ReplaceAll(g.Reason, "_", " "))
}

// duration returns milliseconds as people read them: "84 ms", "3.4 s", "2 min 5 s".
func duration(ms int64) string {
	switch {
	case ms < 1000:
		return strconv.FormatInt(max(ms, 0), 10) + " ms"
	case ms < 60_000:
		return strconv.FormatInt(ms/1000, 10) + "." + strconv.FormatInt(ms/100%10, 10) + " s"
	}
	return strconv.FormatInt(ms/60_000, 10) + " min " + strconv.FormatInt(ms/1000%60, 10) + " s"
}

// verified prints one guard. What may be long or many stands below its line.
func (p *printer) verified(g *ir.VerifiedGuard, row verifyRow, widths [len(verifyRow{})]int, o VerifyOptions) {
	sign := verifySign(g.Status, o.ASCII)
	line := p.paint(statusColor(g.Status), sign+" "+row[0]) + strings.Repeat(" ", max(0, widths[0]-displayWidth(row[0])))
	for i := 1; i < len(row); i++ {
		line += "  " + padRight(row[i], widths[i])
	}
	p.line(strings.TrimRight(line, " "))
	if o.Keys {
		key := strings.TrimPrefix(g.Key, "blake3:")
		p.below("key", ir.EscapeControls(key[:min(len(key), 12)]))
		p.below("trust", joined(": ", ir.EscapeControls(g.Trust), ir.EscapeControls(g.Why)))
	}
	if g.Status == ir.Passed {
		return
	}
	if g.Name != "" {
		p.below("command", brief(g.Guard))
	}
	if len(g.Sources) > 1 {
		p.below("for", some(g.Sources))
	}
	p.below("owner", some(g.Owners))
	if o := g.Override; o != nil {
		p.below("overridden", joined(": ", "until "+minute(ir.EscapeControls(o.Until)), brief(o.Reason)))
	}
	switch {
	case g.Detail != "":
		p.below("why", ir.EscapeControls(g.Detail))
	case g.Status != ir.FailedCheck && !o.Keys:
		p.below("why", ir.EscapeControls(g.Why))
	}
	p.below("log", ir.EscapeControls(g.Log))
	p.below("hint", ir.EscapeControls(g.Hint))
}

func (p *printer) below(name, value string) {
	if value != "" {
		p.line("    " + name + ": " + value)
	}
}

func verifySign(status string, ascii bool) string {
	signs := [...]string{"✓", "✗", "–"}
	if ascii {
		signs = [...]string{"+", "x", "-"}
	}
	switch status {
	case ir.Passed:
		return signs[0]
	case ir.FailedCheck:
		return signs[1]
	}
	return signs[2]
}

func (p *printer) verifySummary(r *ir.VerifyReport) string {
	passed, failed, notRun := r.Count()
	code := green
	switch {
	case failed > 0:
		code = red
	case notRun > 0:
		code = yellow
	}
	s := "nothing to check"
	if len(r.Guards) > 0 {
		s = grouped(passed) + " passed, " + grouped(failed) + " failed, " + grouped(notRun) + " not run"
	}
	if n := len(r.Problems); n > 0 {
		code = red
		s += "; errors that may hide guards: " + grouped(n)
	}
	return p.paint(code, s)
}
