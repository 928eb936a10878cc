package render

import (
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func TestLintLines(t *testing.T) {
	for _, c := range []struct {
		d    ir.Diagnostic
		want string
	}{
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Source: "a/b.md", Line: 4, Column: 8, Message: "m", Hint: "h"}, "a/b.md:4:8: error[c] m\n    hint: h\n"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityWarning, Source: "a b.md", Line: 4, Message: "m"}, "a b.md:4: warning[c] m\n"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityNote, Source: "a.md", Message: "m"}, "a.md: note[c] m\n"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Line: 4, Message: "m"}, "error[c] m\n"},
		{ir.Diagnostic{Code: "c", Severity: "odd", Message: "m"}, "note[c] m\n"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Source: "::error::x", Message: "m"}, "./::error::x: error[c] m\n"},
		{ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Source: " hint: x", Message: "m\n2"}, "./ hint: x: error[c] m\\x0a2\n"},
	} {
		got, _, _ := strings.Cut(string(Lint(&ir.LintReport{Findings: []ir.Diagnostic{c.d}}, LintOptions{})), "\n\n")
		if got+"\n" != c.want {
			t.Errorf("Lint(%+v) = %q, want %q", c.d, got+"\n", c.want)
		}
	}
}

// TestLintQuiet: errors and their hints, and nothing at all where there are none.
func TestLintQuiet(t *testing.T) {
	r := sampleReport()
	want, hints := 0, 0
	for _, d := range r.Findings {
		if d.Severity == ir.SeverityError {
			want++
			if d.Hint != "" {
				hints++
			}
		}
	}
	text := string(Lint(r, LintOptions{Quiet: true}))
	if strings.Count(text, "error[") != want || strings.Count(text, "\n") != want+hints {
		t.Errorf("Lint quiet prints other than %d errors with %d hints:\n%s", want, hints, text)
	}
	for i := range r.Findings {
		r.Findings[i].Severity = ir.SeverityWarning
	}
	if text := Lint(r, LintOptions{Quiet: true}); len(text) > 0 {
		t.Errorf("Lint quiet without errors prints %q", text)
	}
}

func TestLintWorst(t *testing.T) {
	for _, c := range []struct {
		row  ir.TargetRow
		want string
	}{
		{ir.TargetRow{Path: "a", Tokens: [ir.LayerCount]int{5, 9}, All: 14, Caps: [ir.LayerCount]*int{ref(10), ref(9)}, Largest: "x", LargestTokens: 9},
			"  a\n    L1  [" + strings.Repeat("#", barWidth) + "]       9 of 9, 0 left\n    largest   x, 9 of 14 tokens\n    layers    L0 5 of 10, L1 9 of 9\n"},
		{ir.TargetRow{Path: "a", Tokens: [ir.LayerCount]int{5}, All: 5, Bytes: 1}, "  a\n    layers    L0 5\n    rendered  1 byte\n"},
		{ir.TargetRow{Path: "a", Tokens: [ir.LayerCount]int{1}, All: 1, Caps: [ir.LayerCount]*int{ref(0)}, Largest: "y", LargestTokens: 1},
			"  a\n    L0  [" + strings.Repeat("#", barWidth) + "]       1 of 0, over by 1\n    largest   y, 1 of 1 token\n    layers    L0 1 of 0\n"},
		{ir.TargetRow{Path: "a"}, "  a\n"},
		{ir.TargetRow{Path: "a", Tokens: [ir.LayerCount]int{-1}, Caps: [ir.LayerCount]*int{ref(0)}},
			"  a\n    L0  [" + strings.Repeat(".", barWidth) + "]      -1 of 0, 1 left\n    layers    L0 -1 of 0\n"},
	} {
		p := printer{}
		p.worst(&c.row)
		if got := string(p.buf); got != c.want {
			t.Errorf("worst(%+v) =\n%s\nwant\n%s", c.row, got, c.want)
		}
	}
}
