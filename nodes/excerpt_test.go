package nodes

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blank", "\n \t\n", ""},
		{"only headings", "# A\n\n## B\n", ""},
		{"paragraph", "# Title\n\nThis is it.\nMore.\n\nNot this.\n", "This is it.\nMore."},
		{"no heading", "You are an expert.\n", "You are an expert."},
		{"setext heading", "Title\n=====\n\nText.\n", "Text."},
		{"setext heading 2", "Title\n---\nText.\n", "Text."},
		{"rule", "***\n\nText.\n", "Text."},
		{"heading directly above", "# A\nText.\n# B\n", "Text."},
		{"list", "# A\n\n- one\n- two\n", "- one\n- two"},
		{"code is passed over", "```sh\nmake\n```\nText.\n", "Text."},
		{"code ends a paragraph", "Text.\n```\nx\n```\n", "Text."},
		{"unclosed code", "```\nmake\n", ""},
		{"description", "---\nname: x\ndescription: What it is.\n---\nBody.\n", "What it is."},
		{"description of foreign keys", "---\nglobs: [\"*.ts\"]\ndescription: Rules\nalwaysApply: true\n---\n", "Rules"},
		{"folded description", "---\ndescription: >\n  One\n  two.\n\n  Three.\n---\n", "One two.\nThree."},
		{"empty description", "---\ndescription: ''\n---\nBody.\n", "Body."},
		{"description is a list", "---\ndescription: [a]\n---\nBody.\n", "Body."},
		{"invalid header", "---\ndescription: [a\n---\nBody.\n", "Body."},
		{"header without description", "---\nlayer: 2\n---\nBody.\n", "Body."},
		{"crlf", "# T\r\n\r\nOne.\r\nTwo.\r\n", "One.\nTwo."},
		{"byte order mark", "\ufeff# T\n\nOne.\n", "One."},
		{"comment", "<!-- do: rm -rf -->\nText <!-- hidden -->here.\n", "Text here."},
		{"unclosed comment", "Text.<!-- hidden\nmore\n", "Text."},
		{"five lines", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5"},
		{"escape sequence", "A\x1b[31mred\x07\x00 B\n", "A[31mred B"},
		{"bidirectional", "A\u202eB\u200b\u2066C\ufeffD\U000e0041E\n", "ABCDE"},
		{"variation selectors", "A\ufe0f\U000e0101B\u3164\n", "AB"},
		{"line separator", "A\u2028B\u2029C\n", "A B C"},
		{"next line", "A\u0085B\n", "AB"},
		{"invalid bytes", "A\xffB\xc3\n", "AB"},
		{"only invisible", "\u200b\u200b\n\nText.\n", "Text."},
	} {
		if got := Excerpt([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: Excerpt(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestExcerptEndsAtALineOrWord(t *testing.T) {
	words := strings.Repeat("word ", 200)
	got := Excerpt([]byte(words))
	if len(got) != 599 || !strings.HasSuffix(got, "word") {
		t.Errorf("Excerpt(200 words) has %d bytes and ends in %q", len(got), got[len(got)-6:])
	}
	if got := Excerpt([]byte(strings.Repeat("é", 400))); got != strings.Repeat("é", 300) {
		t.Errorf("Excerpt(400 é) = %d bytes, want 600", len(got))
	}
	if got := Excerpt([]byte("a" + strings.Repeat("é", 400))); got != "a"+strings.Repeat("é", 299) {
		t.Errorf("Excerpt(a, 400 é) = %d bytes, want 599", len(got))
	}
	line := strings.Repeat("x", 280)
	if got := Excerpt([]byte(line + "\n" + line + "\n" + line + "\n")); got != line+"\n"+line {
		t.Errorf("Excerpt(three lines of 280) = %d bytes, want the first two lines", len(got))
	}
}

func FuzzExcerpt(f *testing.F) {
	for _, s := range []string{"", "# T\n\nText", "---\ndescription: x\n---\n", "<!--", "```\n", "\xff\xfe", "a\r\rb", "---\ndescription: &a [*a]\n---\nx"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Excerpt(b)
		if len(got) > excerptBytes || strings.Count(got, "\n") >= excerptLines || !utf8.ValidString(got) {
			t.Errorf("Excerpt(%q) = %q: out of bounds", b, got)
		}
		for _, line := range strings.Split(got, "\n") {
			if visible(line) != line {
				t.Errorf("Excerpt(%q) = %q: holds invisible characters", b, got)
			}
		}
		if strings.TrimSpace(got) != got {
			t.Errorf("Excerpt(%q) = %q: not trimmed", b, got)
		}
		// What an excerpt ends with must not depend on bytes it cannot reach.
		if len(b) > excerptInput && got != Excerpt(b[:excerptInput]) {
			t.Errorf("Excerpt of a long text looks beyond its limit")
		}
	})
}
