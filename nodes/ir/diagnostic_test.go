package ir

import "testing"

func TestComparePaths(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"dev/a", "dev-x/a", -1}, // '-' < '/' in whole-string order
		{"dev", "dev/a", -1},
		{"dev/a", "dev/a", 0},
		{"b", "a/z", 1},
		{"", "a", -1},
		{"Z", "a", -1},
	} {
		if got := ComparePaths(c.a, c.b); got != c.want {
			t.Errorf("ComparePaths(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := ComparePaths(c.b, c.a); got != -c.want {
			t.Errorf("ComparePaths(%q, %q) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestEscapeControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 日":        "plain é 日",
		"a\nb\x1b[31m":     `a\x0ab\x1b[31m`,
		"\u202eevil\u200b": `\u{202e}evil\u{200b}`,
		"bad\xff":          `bad\xff`,
		"\u009b31m":        `\u{9b}31m`,
	} {
		if got := EscapeControls(in); got != want {
			t.Errorf("EscapeControls(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDiagnosticString(t *testing.T) {
	d := Diagnostic{Code: FrontmatterInvalid, Severity: SeverityError, Source: "dev/.mwp-context.md", Line: 4, Column: 8, Message: "layer must be 0-4", Hint: "write layer: 2"}
	want := "error[frontmatter_invalid]: dev/.mwp-context.md:4:8: layer must be 0-4\nhint: write layer: 2"
	if got := d.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
