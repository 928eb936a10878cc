package nodes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeadings gives each heading as line:level:text.
func TestHeadings(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"none", "text\n", ""},
		{"empty body", "", ""},
		{"levels", "# a\n## b\n### c\n#### d\n##### e\n###### f\n####### g\n", "1:1:a 2:2:b 3:3:c 4:4:d 5:5:e 6:6:f"},
		{"blanks around", "#  \t a b \t \n", "1:1:a b"},
		{"tab after the marker", "##\ta\n", "1:2:a"},
		{"no blank", "#a\n#5 bolt\n", ""},
		{"escaped", "\\# a\n", ""},
		{"no newline at the end", "# a", "1:1:a"},
		{"empty", "#\n## \n### ###\n", "1:1: 2:2: 3:3:"},
		{"closing", "# a #\n## b ####   \n# c#\n# d \\#\n# e ## f\n# g # #\n", "1:1:a 2:2:b 3:1:c# 4:1:d \\# 5:1:e ## f 6:1:g #"},
		{"inline markup", "# `a` *b* [c](d)\n", "1:1:`a` *b* [c](d)"},
		{"indented", " # a\n  # b\n   # c\n    # d\n\t# e\n", "1:1:a 2:1:b 3:1:c"},
		{"in a paragraph", "text\n# a\ntext\n    # b\n", "2:1:a"},
		{"underlined", "a\n===\nb\n---\n# c\n", "5:1:c"},
		{"rule", "---\n# a\n***\n", "2:1:a"},

		{"backticks", "```\n# a\n```\n# b\n", "4:1:b"},
		{"tildes", "~~~\n# a\n~~~\n# b\n", "4:1:b"},
		{"info string", "```sh -x\n# a\n```\n~~~ a`b\n# c\n~~~\n# d\n", "7:1:d"},
		{"backtick in an info string", "``` a`b\n# a\n", "2:1:a"},
		{"two backticks", "``\n# a\n``\n", "2:1:a"},
		{"longer closing fence", "```\n# a\n`````  \n# b\n", "4:1:b"},
		{"shorter closing fence", "````\n# a\n```\n# b\n````\n# c\n", "6:1:c"},
		{"other closing fence", "```\n~~~\n# a\n```\n# b\n", "5:1:b"},
		{"closing fence with text", "```\n# a\n``` x\n# b\n```\n# c\n", "6:1:c"},
		{"indented fences", "   ```\n# a\n  ```\n# b\n", "4:1:b"},
		{"fence indented too far", "    ```\n# a\n", "2:1:a"},
		{"closing fence indented too far", "```\n    ```\n# a\n", ""},
		{"unclosed fence", "# a\n```\n# b\n", "1:1:a"},
		{"fence in a paragraph", "text\n```\n# a\n```\n# b\n", "5:1:b"},

		{"comment", "<!-- # x\n# a\n\n# b\n--> # y\n# c\n", "6:1:c"},
		{"comment on one line", "<!-- x -->\n# a\n", "2:1:a"},
		{"unclosed comment", "# a\n<!--\n# b\n", "1:1:a"},
		{"comment in a line", "text <!--\n# a\n-->\n", "2:1:a"},
		{"comment in code", "    <!--\n# a\n", "2:1:a"},
		{"fence in a comment", "<!--\n```\n-->\n# a\n", "4:1:a"},
		{"comment in a fence", "```\n<!--\n```\n# a\n", "4:1:a"},
		{"element", "<div>\n# a\n\n# b\n</div>\n", "4:1:b"},
		{"raw text", "<pre>\n# a\n\n# b\n</pre>\n# c\n", "6:1:c"},
		{"script", "<SCRIPT>\n# a\n\n</Script> x\n# b\n", "5:1:b"},
		{"instruction, declaration, CDATA", "<?\n# a\n?>\n# b\n<!A\n# c\n>\n# d\n<![CDATA[\n# e\n]]>\n# f\n", "4:1:b 8:1:d 12:1:f"},
		{"lone tag", "<kbd class=\"a\">\n# a\n\n# b\n", "4:1:b"},
		{"tag with text", "<kbd>x\n# a\n", "2:1:a"},
		{"address", "<https://a.b>\n# a\n", "2:1:a"},

		{"list item", "- # a\n\n  # b\n# c\n", "4:1:c"},
		{"quote", "> # a\n# b\n", "2:1:b"},
		{"fence in a list item", "1. ```\n   # a\n   ```\n# b\n", "4:1:b"},
		{"unclosed fence in a list item", "- ```\n# a\n", "2:1:a"},
		{"unclosed fence in a quote", "> ```\n# a\n", "2:1:a"},
		{"unclosed comment in a list item", "* <!--\n# a\n", "2:1:a"},
		{"code in a list item", "1. x\n\n       # a\n", ""},
		{"tabs in a list", "-\ta\n\n\t# b\n# c\n", "4:1:c"},
		{"nested deeply", strings.Repeat("> ", 500) + "# a\n# b\n", "2:1:b"},
	} {
		var got []string
		for _, h := range Headings([]byte(tt.in)) {
			got = append(got, fmt.Sprintf("%d:%d:%s", h.Line, h.Level, h.Text))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: Headings(%q) = %q, want %q", tt.name, tt.in, s, tt.want)
		}
	}
}

func TestSection(t *testing.T) {
	const body = "intro\n\n# Rules ##\n\nr\n\n## Error handling\n\ne\n\n```\n# no heading\n```\n\n### Deep\n\nd\n\n\n## Tests\nt\n# Last\nUnder\n=====\nl\n"
	for _, tt := range []struct {
		name, body, heading, want string
		ok                        bool
	}{
		{"to a sibling", body, "Error handling", "## Error handling\n\ne\n\n```\n# no heading\n```\n\n### Deep\n\nd\n", true},
		{"to a parent", body, "Tests", "## Tests\nt\n", true},
		{"nested to a parent's sibling", body, "Deep", "### Deep\n\nd\n", true},
		{"with all below", body, "Rules", "# Rules ##\n\nr\n\n## Error handling\n\ne\n\n```\n# no heading\n```\n\n### Deep\n\nd\n\n\n## Tests\nt\n", true},
		{"to the end, past an underlined heading", body, "Last", "# Last\nUnder\n=====\nl\n", true},
		{"trimmed", body, " \tTests \u00a0", "## Tests\nt\n", true},
		{"other case", body, "tests", "", false},
		{"part of a text", body, "Error", "", false},
		{"in a fence", body, "no heading", "", false},
		{"underlined", body, "Under", "", false},
		{"unknown", body, "x", "", false},
		{"nothing", body, "", "", false},
		{"with its marks", body, "## Tests", "", false},
		{"skipped level", "### a\nx\n# b\n", "a", "### a\nx\n", true},
		{"only a heading", "# a\n# b\n", "a", "# a\n", true},
		{"no newline at the end", "# a\n## b", "b", "## b\n", true},
		{"blanks at the end", "# a\nx\n  \n\n\n# b\n", "a", "# a\nx\n  \n", true},
		{"indented", "x\n  # a\ny\n", "a", "  # a\ny\n", true},
		{"twice", "# a\n## a\n", "a", "", false},
		{"once outside code", "# a\n```\n# a\n```\n", "a", "# a\n```\n# a\n```\n", true},
		{"empty heading", "#\nx\n", "", "#\nx\n", true},
		{"hash in the text", "# C# rules\n", "C# rules", "# C# rules\n", true},
	} {
		b := append(make([]byte, 0, len(tt.body)+8), tt.body...)
		got, ok := Section(b, tt.heading)
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: Section(%q) = %q, %v, want %q, %v", tt.name, tt.heading, got, ok, tt.want, tt.ok)
		}
		if _ = append(got, 'X'); string(b) != tt.body || b[:len(b)+1][len(b)] != 0 {
			t.Errorf("%s: Section, or appending to it, writes to the body's memory", tt.name)
		}
	}
}

func TestSectionProblem(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ name, body, heading, message, hint string }{
		{"misspelt", "# Rules\n## Error handling\n", "Error handlin", `expected one heading "Error handlin", found "Rules", "Error handling"`, `did you mean "Error handling"?`},
		{"other case", "# Rules\n", "rules", `expected one heading "rules", found "Rules"`, `did you mean "Rules"?`},
		{"as an anchor", "# Error handling\n", "error-handling", `expected one heading "error-handling", found "Error handling"`, `did you mean "Error handling"?`},
		{"with its marks", "# A\n# B\n", "## B", `expected one heading "## B", found "A", "B"`, `did you mean "B"?`},
		{"nothing near", "# Rules\n", " Tests ", `expected one heading "Tests", found "Rules"`, ""},
		{"ambiguous", "# a\n\n## a\n# b\n", "a", `expected one heading "a", found it on lines 1, 3`, "give each of these headings a text of its own"},
		{"each text once", "# b\n# c\n# b\n#\n", "abc", `expected one heading "abc", found "b", "c"`, ""},
		{"no headings", "text\n", "a", `expected one heading "a", found no heading with a text`, "write headings as # to ###### and a space, outside code, lists and quotes"},
		{"hostile", "# a\u202e\x1b\n# " + long + "\n", "\u200b" + long, `expected one heading "\u200b` + long[:59] + `…", found "a\u202e\x1b", "` + long[:60] + `…"`, ""},
	} {
		message, hint := SectionProblem(tt.heading, Headings([]byte(tt.body)))
		if message != tt.message || hint != tt.hint {
			t.Errorf("%s: SectionProblem(%q) = %s, %s, want %s, %s", tt.name, tt.heading, message, hint, tt.message, tt.hint)
		}
	}
}

func TestSectionProblemWithoutLines(t *testing.T) {
	message, _ := SectionProblem("a", []Heading{{Level: 1, Text: "a"}, {Level: 2, Text: "a"}})
	if want := `expected one heading "a", found 2`; message != want {
		t.Errorf("SectionProblem = %s, want %s", message, want)
	}
}

func TestSectionProblemIsBounded(t *testing.T) {
	var distinct, same strings.Builder
	for i := range 23 {
		fmt.Fprintf(&distinct, "# h%d\n", i)
		same.WriteString("# h\n")
	}
	for body, want := range map[string]string{
		distinct.String(): `"h18", "h19" and 3 more`,
		same.String():     `found it on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and 3 more`,
	} {
		if message, _ := SectionProblem("h", Headings([]byte(body))); !strings.HasSuffix(message, want) {
			t.Errorf("SectionProblem = %s, want it to end in %s", message, want)
		}
	}
}

// TestMarkdownLines gives one letter per line: a blank, t text, h heading, f
// fenced, x HTML; capitals for lines in lists and quotes.
func TestMarkdownLines(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a\n\n# b\n```\n\nc\n```\n<p>\nd\n\ne\n", "t hffffxx t"},
		{"> a\nb\n\nc\n", "TT t"},
		{"> a\n---\nb\n", "Ttt"},
		{"> a\n===\n", "TT"},
		{"- a\n\n  b\n\nc\n", "T\x00T\x00t"},
		{"-\n\n  a\n", "\x00 t"},
		{"-\n  a\n\n  b\n", "\x00T\x00T"},
		{"a\n2. b\n1. c\n", "ttT"},
		{"a\n-\nb\n- c\n", "tttT"},
		{"- a\n- - ```\n    # b\n  # c\n", "TFFH"},
		{"1234567890. a\n\n   ```\n", "t f"},
		{">     a\n>\tb\n", "TT"},
		{" -    a\n\n      ```\n     b\n", "T\x00Ft"},
		{"-\t\t# a\n", "T"},
		{"- a\n\n \t # b\n", "T\x00H"},
		{"-     # a\n", "T"},
		{"-    # a\n", "H"},
		{"- a\n2. ```\n   # b\n", "TFF"},
		{"<!-- a\n\nb --> c\nd\n", "xxxt"},
		{"> <!-- a\nb\n", "Xt"},
		{"a\n<span>\n# b\n", "tth"},
		{"<b\n", "t"},
		{"<", "t"},
		{"a\r\n```\r\n# b\r\n```\r\n# c\r\n", "tfffh"},
	} {
		var got []byte
		for l := range markdownLines([]byte(tt.in)) {
			c := " thfx"[l.kind]
			if l.nested {
				c &^= 0x20
			}
			got = append(got, c)
		}
		if string(got) != tt.want {
			t.Errorf("markdownLines(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzSection(f *testing.F) {
	fuzzSeeds(f, "testdata/problems/*.md")
	for _, s := range []string{
		"# a\n## b\n# c\n", "#", "# a\n# a\n", "```\n# a\n`````\n# b", "<!-- \n# a\n--> # b\n# c\n\n\n", "- ```\n\t# a\n> # b\n", "-\n\n  # a",
		"<a b='c'>\n# d", "\t\t>\t- 1. # a\n", "# \u00a0a\n", "~~~\r\n# a\r\n", "#\n\n\n#",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		headings := Headings(b)
		texts := map[string]int{}
		for _, h := range headings {
			texts[strings.TrimSpace(h.Text)]++
		}
		for i, h := range headings {
			if i == 50 {
				break
			}
			got, ok := Section(b, h.Text)
			if want := texts[strings.TrimSpace(h.Text)] == 1; ok != want {
				t.Fatalf("Section(%q, %q) is found: %v, want %v", b, h.Text, ok, want)
			}
			if ok {
				checkSection(t, b, headings[i:], got)
			}
		}
		message, hint := SectionProblem("a", headings)
		if len(message)+len(hint) > 16<<10 || strings.Contains(message+hint, "\n") {
			t.Errorf("SectionProblem = %q, %q", message, hint)
		}
	})
}

// checkSection checks the section that the first of headings begins.
func checkSection(t *testing.T, body []byte, headings []Heading, section []byte) {
	text, ended := bytes.CutSuffix(section, []byte("\n"))
	if !ended || bytes.HasSuffix(text, []byte("\n")) || !bytes.Contains(body, text) {
		t.Fatalf("Section(%q, %q) = %q: not a part of the body and one newline", body, headings[0].Text, section)
	}
	rest := headings[1:]
	for i, h := range rest {
		if h.Level <= headings[0].Level {
			rest = rest[:i]
			break
		}
	}
	want := append([]Heading{headings[0]}, rest...)
	got := Headings(section)
	for i := range want {
		want[i].Line -= headings[0].Line - 1
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("headings of Section(%q, %q) (-want +got):\n%s", body, headings[0].Text, d)
	}
}

func BenchmarkHeadings(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"prose", "## Heading\n\nA paragraph of text\nover two lines.\n\n- an item\n- another\n\n```sh\nmake # all\n```\n\n"},
		{"nested", strings.Repeat("> - ", 40) + "# a\n\n"},
	} {
		body := []byte(strings.Repeat(bb.text, 64<<10/len(bb.text)))
		b.Run("text="+bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				Headings(body)
			}
		})
	}
}
