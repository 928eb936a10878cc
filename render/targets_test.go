package render

import (
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestTargetsAlign: each column begins at one place, whatever the width of the
// characters before it; only a path too long for its column moves its own row.
func TestTargetsAlign(t *testing.T) {
	alignedAt(t, sampleRows(), maxPathColumn)
	alignedAt(t, sampleRows()[2:3], displayWidth(sampleRows()[2].Path))
}

// alignedAt checks a table whose first column has the given width.
func alignedAt(t *testing.T, rows []ir.TargetRow, first int) {
	t.Helper()
	lines := strings.Split(string(Targets(&TargetPage{Rows: rows, Total: len(rows)}, TargetsOptions{})), "\n")
	column := displayWidth(lines[0][:strings.Index(lines[0], "SOURCE")])
	if got := strings.Index(lines[0], "LAYER"); got != first+2 {
		t.Errorf("the second column begins at %d, want %d", got, first+2)
	}
	for i, row := range rows {
		want := row.Source
		if want == "" {
			want = "inherits"
		}
		line := lines[1+i]
		cut, ok := strings.CutSuffix(line, "  "+want)
		if !ok {
			t.Fatalf("row %q does not end with its source %q", line, want)
		}
		moved := max(0, displayWidth(row.Path)-maxPathColumn)
		if got := displayWidth(cut) + 2 - moved; got != column {
			t.Errorf("source of %q begins at column %d, want %d", line, got, column)
		}
	}
}

func TestTargetsSummary(t *testing.T) {
	rows := sampleRows()[:1]
	for _, c := range []struct {
		page TargetPage
		want string
	}{
		{TargetPage{Rows: rows, Total: 1}, "1 target"},
		{TargetPage{Rows: rows, Total: 1001, Truncated: true}, "1 of 1,001 targets"},
		{TargetPage{Rows: rows, Total: 2, Truncated: true, NextCursor: "c\n"}, `1 of 2 targets; the next ones: --cursor c\x0a`},
	} {
		if got := pageSummary(&c.page); got != c.want {
			t.Errorf("pageSummary(%d rows of %d) = %q, want %q", len(c.page.Rows), c.page.Total, got, c.want)
		}
	}
}

func TestDisplayWidth(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"", 0}, {"abc", 3}, {"é", 1}, {"e\u0301", 1}, {"日本", 4}, {"ドキュ", 6}, {"ﾄﾞ", 2}, {"한글", 4}, {"\u1112\u1161\u11ab", 2},
		{"🚀", 2}, {"✅", 2}, {"→", 1}, {"привет", 6}, {"שלום", 4}, {"𝔘", 1}, {"𠀋", 2}, {"❤\ufe0f", 1},
	} {
		if got := displayWidth(c.in); got != c.want {
			t.Errorf("displayWidth(%q) = %d, want %d", c.in, got, c.want)
		}
		if got := padRight(c.in, 8); displayWidth(got) != 8 || !strings.HasPrefix(got, c.in) {
			t.Errorf("padRight(%q, 8) = %q", c.in, got)
		}
	}
	if got := padRight("long", 2); got != "long" {
		t.Errorf("padRight cuts: %q", got)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestLintDiffText(t *testing.T) {
	for _, c := range []struct {
		d    ir.TargetDelta
		want string
	}{
		{ir.TargetDelta{Path: "a", Before: 790, After: 910, Layers: [ir.LayerCount]int{2: 120}, Causes: []ir.TargetCause{{Source: "a/x.md", Tokens: 120}}}, "+120 tokens  a  (L2 +120: a/x.md +120)"},
		{ir.TargetDelta{Path: "a", Before: 2, After: 1}, "-1 token  a"},
		{ir.TargetDelta{Path: "a", Before: -1, After: 5}, "+5 tokens  a  (new)"},
		{ir.TargetDelta{Path: "a", Before: 5, After: -1}, "-5 tokens  a  (gone)"},
		{ir.TargetDelta{Path: "a", Before: -1, After: -1}, "0 tokens  a"},
		{ir.TargetDelta{Path: "a", Before: -1, After: 0, Causes: []ir.TargetCause{{Source: "z", Tokens: 0}}}, "0 tokens  a  (new; z 0)"},
	} {
		got, _, _ := strings.Cut(string(LintDiff([]ir.TargetDelta{c.d}, LintDiffOptions{})), "\n")
		if got != c.want {
			t.Errorf("LintDiff(%+v) = %q, want %q", c.d, got, c.want)
		}
	}
}

// TestLintDiffOrder: the size of a change counts, not its sign; then the path, by
// segments.
func TestLintDiffOrder(t *testing.T) {
	ds := []ir.TargetDelta{
		{Path: "dev-x/a", After: 5}, {Path: "dev/a", After: 5}, {Path: "b", Before: 5}, {Path: "c", Before: 9}, {Path: "d", After: 1}, {Path: "a", After: 5},
	}
	var got []string
	for _, d := range sortedDeltas(ds) {
		got = append(got, d.Path)
	}
	if s, want := strings.Join(got, " "), "c a dev/a dev-x/a b d"; s != want {
		t.Errorf("order %s, want %s", s, want)
	}
	ds[0].Causes = []ir.TargetCause{{Source: "a", Tokens: 1}, {Source: "b", Tokens: -2}}
	sorted := sortedDeltas(ds)
	if ds[0].Path != "dev-x/a" || ds[0].Causes[0].Source != "a" {
		t.Error("sortedDeltas changed its argument")
	}
	if got := sorted[3].Causes[0].Source; got != "b" {
		t.Errorf("the first cause is %s, want b", got)
	}
}
