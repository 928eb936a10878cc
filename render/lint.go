package render

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// LintOptions select what Lint prints.
type LintOptions struct {
	// Quiet leaves the errors alone: no warnings, no notes, no targets and no
	// summary, so that a workspace without errors prints nothing (U-08).
	Quiet bool
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
}

// Lint prints a lint report for people: a line per finding in the form
// `path:line:col: severity[code] message` with its hint below, findings that
// belong to no file first, then the targets with the least room below a cap, then
// a summary (R-202, R-232 to R-236, D-79, D-111). Notes are shown unless Quiet.
//
// Lines are not wrapped: editors and scripts read findings by line, and a name that
// came to stand at the start of a line could pass for something else.
func Lint(r *ir.LintReport, o LintOptions) []byte {
	p := printer{color: o.Color}
	for _, d := range sortedFindings(r.Findings) {
		if !o.Quiet || d.Severity == ir.SeverityError {
			p.finding(&d)
		}
	}
	if o.Quiet {
		return p.buf
	}
	if len(r.Worst) > 0 {
		p.heading("Targets with the least room: " + strconv.Itoa(len(r.Worst)))
		for i := range r.Worst {
			p.worst(&r.Worst[i])
		}
	}
	if len(p.buf) > 0 {
		p.line("")
	}
	p.line(p.summary(r))
	return p.buf
}

// sortedFindings returns a sorted copy, so that no output depends on the order in
// which findings were made.
func sortedFindings(ds []ir.Diagnostic) []ir.Diagnostic {
	ds = slices.Clone(ds)
	ir.SortDiagnostics(ds)
	return ds
}

func (p *printer) finding(d *ir.Diagnostic) {
	rank := severityRank(d.Severity)
	s := p.paint(severityColors[rank], severityNames[rank]+"["+ir.EscapeControls(string(d.Code))+"]") +
		" " + ir.EscapeControls(d.Message)
	if place := d.Place(); place != "" {
		s = lineStart(ir.EscapeControls(place)) + ": " + s
	}
	p.line(s)
	if d.Hint != "" {
		p.line("    hint: " + ir.EscapeControls(d.Hint))
	}
}

// lineStart returns a path as it may begin a line. A name that begins with a space
// would look like a hint, and one that begins with "::" would be a command to the
// runner of a GitHub workflow that prints the text.
func lineStart(path string) string {
	if r, _ := utf8.DecodeRuneInString(path); r == ':' || unicode.IsSpace(r) {
		return "./" + path
	}
	return path
}

// severityRank returns 0 for an error, 1 for a warning and 2 for anything else,
// which LintReport.Count takes for a note.
func severityRank(severity string) int {
	switch severity {
	case ir.SeverityError:
		return 0
	case ir.SeverityWarning:
		return 1
	}
	return 2
}

// By severityRank.
var (
	severityNames  = [...]string{ir.SeverityError, ir.SeverityWarning, ir.SeverityNote}
	severityColors = [...]string{red, yellow, bold}
)

// worst prints one target: its tightest layer as a bar with the room that is left,
// what spends most of it, and every layer in numbers.
func (p *printer) worst(t *ir.TargetRow) {
	const indent = "    "
	p.line("  " + lineStart(ir.EscapeControls(t.Path)))
	if layer, room, ok := t.Headroom(); ok {
		used := t.Tokens[layer]
		p.line(indent + ir.LayerName(layer) + "  " + bar(max(used, 0), t.Caps[layer]) + "  " +
			pad(strconv.Itoa(used), 6) + " of " + strconv.Itoa(*t.Caps[layer]) + ", " + p.room(room))
	}
	if t.Largest != "" {
		p.line(indent + "largest   " + ir.EscapeControls(t.Largest) + ", " + strconv.Itoa(t.LargestTokens) + " of " + count(t.All, "token"))
	}
	if layers := layerTokens(t); layers != "" {
		p.line(indent + "layers    " + layers)
	}
	if t.Bytes > 0 {
		p.line(indent + "rendered  " + count(t.Bytes, "byte"))
	}
}

// room says how far a layer is from its cap.
func (p *printer) room(tokens int) string {
	if tokens < 0 {
		return p.paint(red, "over by "+strconv.Itoa(-tokens))
	}
	return strconv.Itoa(tokens) + " left"
}

// layerTokens lists the layers that have tokens or a cap.
func layerTokens(t *ir.TargetRow) string {
	var parts []string
	for i, n := range t.Tokens {
		switch limit := t.Caps[i]; {
		case limit != nil:
			parts = append(parts, ir.LayerName(i)+" "+strconv.Itoa(n)+" of "+strconv.Itoa(*limit))
		case n != 0:
			parts = append(parts, ir.LayerName(i)+" "+strconv.Itoa(n))
		}
	}
	return strings.Join(parts, ", ")
}

func (p *printer) summary(r *ir.LintReport) string {
	errors, warnings, notes := r.Count()
	code := green
	switch {
	case errors > 0:
		code = red
	case warnings > 0:
		code = yellow
	}
	found := count(errors, "error") + ", " + count(warnings, "warning") + ", " + count(notes, "note")
	where := count(r.Contexts, "context file") + ", "
	if r.Directories == 1 {
		where += "1 directory"
	} else {
		where += grouped(r.Directories) + " directories"
	}
	if r.Contexts == 0 {
		where += "; `mwp init` makes a first context file"
	}
	return p.paint(code, found) + " in " + where
}

// count returns "1 error" or "1,032 errors".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped returns n with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
