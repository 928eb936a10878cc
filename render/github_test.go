package render

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// readCommand reads a line as the runner does: white space before it does not count,
// the first "::" after the leading one ends the properties, commas separate them, and
// escapes are undone after that, the percent sign last.
func readCommand(line string) (name string, properties map[string]string, data string, ok bool) {
	head, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
	if !ok {
		return "", nil, "", false
	}
	head, data, ok = strings.Cut(head, "::")
	if !ok {
		return "", nil, "", false
	}
	undo := func(s string, escapes ...string) string {
		for i := 0; i < len(escapes); i += 2 {
			s = strings.ReplaceAll(s, escapes[i], escapes[i+1])
		}
		return s
	}
	name, list, _ := strings.Cut(head, " ")
	properties = map[string]string{}
	for p := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(p, "=")
		properties[key] = undo(value, "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	}
	return name, properties, undo(data, "%0D", "\r", "%0A", "\n", "%25", "%"), true
}

// shown is a file name as it reaches GitHub: line ends as they are, other controls as
// text.
func shown(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '\r' || r == '\n' })
	for _, p := range parts {
		s = strings.ReplaceAll(s, p, ir.EscapeControls(p))
	}
	return s
}

func checkCommand(t *testing.T, line string, d *ir.Diagnostic) {
	t.Helper()
	name, properties, data, ok := readCommand(line)
	if !ok {
		t.Fatalf("%q is not a workflow command", line)
	}
	want := map[string]string{"title": shown(string(d.Code))}
	if d.Source != "" {
		want["file"] = shown(d.Source)
		if d.Line > 0 {
			want["line"] = strconv.Itoa(d.Line)
		}
		if d.Line > 0 && d.Column > 0 {
			want["col"] = strconv.Itoa(d.Column)
		}
	}
	if len(properties) != len(want) {
		t.Errorf("%q has properties %v, want %v", line, properties, want)
	}
	for key, value := range want {
		if properties[key] != value {
			t.Errorf("%q: %s = %q, want %q", line, key, properties[key], value)
		}
	}
	level := map[string]string{ir.SeverityError: "error", ir.SeverityWarning: "warning"}[d.Severity]
	if level == "" {
		level = "notice"
	}
	if name != level || data != withHint(d) {
		t.Errorf("%q says %s %q, want %s %q", line, name, data, level, withHint(d))
	}
}

func TestGitHubNames(t *testing.T) {
	for _, name := range lintNames {
		r, _, _ := named(name)
		text := string(GitHub(r))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(r.Findings) || !strings.HasSuffix(text, "\n") {
			t.Fatalf("GitHub of %q has %d lines for %d findings", name, len(lines), len(r.Findings))
		}
		for _, line := range lines {
			if ir.EscapeControls(line) != line {
				t.Errorf("GitHub of %q prints a control character: %q", name, line)
			}
		}
		ds := sortedFindings(r.Findings)
		slices.SortStableFunc(ds, func(a, b ir.Diagnostic) int { return severityRank(a.Severity) - severityRank(b.Severity) })
		for i := range ds {
			checkCommand(t, lines[i], &ds[i])
		}
	}
}

func TestGitHubEscapes(t *testing.T) {
	for _, c := range []struct {
		d    ir.Diagnostic
		want string
	}{
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Source: "a:b,c%\r\n.md", Line: 1, Column: 2, Message: "50% of a:b, c"}, "::error file=a%3Ab%2Cc%25%0D%0A.md,line=1,col=2,title=c::50%25 of a:b, c"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityWarning, Source: "a", Column: 2, Message: "m", Hint: "h"}, "::warning file=a,title=c::m%0Ahint: h"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityNote, Line: 3, Message: "x\n::error::y"}, `::notice title=c::x\x0a::error::y`},
		{ir.Diagnostic{Code: "c", Severity: "odd", Source: "a\x1bb", Line: 3, Message: "%0A"}, `::notice file=a\x1bb,line=3,title=c::%250A`},
	} {
		if got := workflowCommand(&c.d); got != c.want {
			t.Errorf("workflowCommand(%+v)\n got %s\nwant %s", c.d, got, c.want)
		}
	}
}

// TestGitHubErrorsFirst: GitHub drops what comes after ten annotations of a level.
func TestGitHubErrorsFirst(t *testing.T) {
	last := 0
	for line := range strings.Lines(string(GitHub(sampleReport()))) {
		rank := slices.Index([]string{"::error", "::warning", "::notice"}, line[:strings.IndexByte(line, ' ')])
		if rank < last {
			t.Errorf("%q comes after a lower level", line)
		}
		last = rank
	}
	if last != 2 {
		t.Errorf("the last level is %d, want 2", last)
	}
}

func FuzzWorkflowCommand(f *testing.F) {
	for _, s := range lintNames {
		f.Add(s, s, 1, 1)
	}
	f.Add("a,line=9", "x", 0, 3)
	f.Fuzz(func(t *testing.T, source, message string, line, column int) {
		d := ir.Diagnostic{Code: ir.HiddenText, Severity: ir.SeverityWarning, Source: source, Message: message, Line: line, Column: column, Hint: message}
		got := workflowCommand(&d)
		if ir.EscapeControls(got) != got {
			t.Fatalf("workflowCommand prints a control character: %q", got)
		}
		if name, properties, data, ok := readCommand(got); !ok || name != "warning" || properties["title"] != "hidden_text" || data != withHint(&d) {
			t.Fatalf("workflowCommand(%q, %q) = %q", source, message, got)
		}
	})
}
