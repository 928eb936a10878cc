package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// GitHub prints findings as workflow commands, which GitHub shows beside the lines
// of a change (D-79, U-30):
//
//	::error file=…,line=…,col=…,title=code::message
//
// GitHub shows ten annotations of each level per step and drops the rest, so errors
// come first, then warnings, then notices. The hint is the message's second line. A
// finding that belongs to no file has no file property.
//
// Files are relative to the workspace root; GitHub looks for them from the
// repository's.
func GitHub(r *ir.LintReport) []byte {
	ds := sortedFindings(r.Findings)
	slices.SortStableFunc(ds, func(a, b ir.Diagnostic) int {
		return severityRank(a.Severity) - severityRank(b.Severity)
	})
	var buf []byte
	for i := range ds {
		buf = append(buf, workflowCommand(&ds[i])...)
		buf = append(buf, '\n')
	}
	return buf
}

func workflowCommand(d *ir.Diagnostic) string {
	var b strings.Builder
	b.WriteString("::" + []string{"error", "warning", "notice"}[severityRank(d.Severity)] + " ")
	if d.Source != "" {
		b.WriteString("file=" + workflowProperty(d.Source) + ",")
		if d.Line > 0 {
			b.WriteString("line=" + strconv.Itoa(d.Line) + ",")
			if d.Column > 0 {
				b.WriteString("col=" + strconv.Itoa(d.Column) + ",")
			}
		}
	}
	b.WriteString("title=" + workflowProperty(string(d.Code)) + "::")
	b.WriteString(workflowData.Replace(withHint(d)))
	return b.String()
}

// withHint returns the message and, on a second line, the hint; neither has a line
// end of its own.
func withHint(d *ir.Diagnostic) string {
	s := ir.EscapeControls(d.Message)
	if d.Hint != "" {
		s += "\nhint: " + ir.EscapeControls(d.Hint)
	}
	return s
}

// The runner undoes these escapes and no others.
var (
	workflowData   = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	workflowValues = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// workflowProperty returns s as a property's value. Line ends keep their meaning;
// other control characters, for which the runner has no escape, become text.
func workflowProperty(s string) string {
	return ir.EscapeControls(workflowValues.Replace(s))
}
