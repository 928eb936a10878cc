package nodes

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

var updateProblems = flag.Bool("update-problems", false, "rewrite the golden lists of problems")

// report prints findings as a command would, one or two lines each.
func report(file string, ds []ir.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		d.Source = file
		fmt.Fprintln(&b, d.String())
	}
	return b.String()
}

// TestProblems compares the findings about every file below testdata/problems with
// the list beside it, refused imports included: wording, order and positions are
// what users see.
func TestProblems(t *testing.T) {
	entries, err := os.ReadDir("testdata/problems")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		wanted[name+".golden"] = true
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata/problems", name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			switch filepath.Ext(name) {
			case ".md":
				d := ParseDocument(b, Markdown)
				for _, i := range d.Header.Imports {
					if i.Refused.Code != "" {
						d.Problems = append(d.Problems, i.Refused)
					}
				}
				ir.SortDiagnostics(d.Problems)
				got = report(name, d.Problems)
			case ".yaml":
				got = report(name, ParseDocument(b, YAML).Problems)
			case ".toml":
				_, ds := ParseConfig(b)
				got = report(name, ds)
			default:
				t.Fatalf("unknown kind of file %s", name)
			}
			golden := path + ".golden"
			if *updateProblems {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v (run the test with -update-problems)", err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("problems of %s (-want +got):\n%s", name, d)
			}
		})
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".golden") && !wanted[name] {
			t.Errorf("%s belongs to no file", name)
		}
	}
}

func TestDocumentBody(t *testing.T) {
	for _, tt := range []struct {
		in     string
		syntax Syntax
		want   string
	}{
		{"", Markdown, ""},
		{"\n\n", Markdown, ""},
		{" \t\n  ", Markdown, ""},
		{"text", Markdown, "text\n"},
		{"text\n\n\n", Markdown, "text\n"},
		{"text\n \n", Markdown, "text\n \n"},
		{"\n\ntext\n", Markdown, "\n\ntext\n"},
		{"  code\n", Markdown, "  code\n"},
		{"---\nlayer: 2\n---\ntext\n", Markdown, "text\n"},
		{"---\nlayer: 2\n---\n\n \t\n    code\n", Markdown, "    code\n"},
		{"---\nlayer: 2\n...\ntext\n", Markdown, "text\n"},
		{"---\nlayer: 2\n---", Markdown, ""},
		{"---\n---\n", Markdown, ""},
		{"---\n---\ntext", Markdown, "text\n"},
		{"--- \t\nlayer: 2\n--- \t\ntext\n", Markdown, "text\n"},
		{"\n \n---\nlayer: 2\n---\ntext\n", Markdown, "text\n"},
		{"\ufeff---\nlayer: 2\n---\ntext\n", Markdown, "text\n"},
		{"\ufefftext\n", Markdown, "text\n"},
		{"\ufeff\ufefftext\n", Markdown, "\ufefftext\n"},
		{"---\r\nlayer: 2\r\n---\r\n\r\none\r\ntwo\r\n\r\n", Markdown, "one\ntwo\n"},
		{"---\rlayer: 2\r---\rone\rtwo", Markdown, "one\ntwo\n"},
		{"a\r\r\nb\n\rc", Markdown, "a\n\nb\n\nc\n"},
		{"---\na: |\n  ---\n  x\n---\ntext\n", Markdown, "text\n"},
		{"---\nlayer: 2\n---\none\n\n---\n\ntwo\n\n...\n", Markdown, "one\n\n---\n\ntwo\n\n...\n"},
		{"text\n\n---\n\nmore\n", Markdown, "text\n\n---\n\nmore\n"},
		{"---\nno end\n", Markdown, "---\nno end\n"},
		{" ---\nlayer: 2\n---\n", Markdown, " ---\nlayer: 2\n---\n"},
		{"----\nlayer: 2\n----\n", Markdown, "----\nlayer: 2\n----\n"},
		{"---\n- not: a header\n---\ntext\n", Markdown, "text\n"},

		{"layer: 2\n", YAML, ""},
		{"", YAML, ""},
		{"description: One.\nlayer: 2\n", YAML, "One.\n"},
		{"description: |\n\n  # One\n\n  Two\n\n\n", YAML, "# One\n\nTwo\n"},
		{"description: |+\n  One\n\n\n", YAML, "One\n"},
		{"description: \"a\\r\\nb\\rc\"\n", YAML, "a\nb\nc\n"},
		{"description: ' '\n", YAML, ""},
		{"description: 3\n", YAML, ""},
		{"\ufeffdescription: One.\r\n", YAML, "One.\n"},
		{"description: [", YAML, ""},
	} {
		in := []byte(tt.in)
		if got := string(DocumentBody(in, tt.syntax)); got != tt.want {
			t.Errorf("DocumentBody(%q, %d) = %q, want %q", tt.in, tt.syntax, got, tt.want)
		}
		if string(in) != tt.in {
			t.Errorf("DocumentBody(%q, %d) changed its input to %q", tt.in, tt.syntax, in)
		}
	}
}

func TestDocumentBodyDoesNotWriteIntoItsInput(t *testing.T) {
	for _, end := range []string{"", "\n\n\n"} {
		text := "---\nlayer: 1\n---\ntext" + end
		whole := []byte(text + "REST")
		body := DocumentBody(whole[:len(text)], Markdown)
		_ = append(body, "xxxx"...)
		if got := string(whole); got != text+"REST" {
			t.Errorf("after DocumentBody and append, the memory of the input is %q, want %q", got, text+"REST")
		}
	}
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	d := ParseDocument([]byte("\n \r\n---\r\nwindow: 1\nlayer: 9\n---\n"), Markdown)
	if got := positions(d.Problems); got != "5:8 error frontmatter_invalid" || d.Header.WindowLine != 4 {
		t.Errorf("problems = %s, WindowLine = %d, want 5:8 and 4", got, d.Header.WindowLine)
	}
}

func TestHeaderIsFound(t *testing.T) {
	for _, in := range []string{
		"---\nlayer: 2\n---\nx", "\ufeff---\nlayer: 2\n---\n", "---\r\nlayer: 2\r\n---\r\n", "---\rlayer: 2\r---",
		"\n\n  \n---\nlayer: 2\n---", "---  \nlayer: 2\n---\t\n", "---\nlayer: 2\n...\n", "---\n# c\nlayer: L2 # c\n---\n",
		"---\n{layer: 2}\n---\n", "---\n\"layer\": 'L2'\n---\n", "---\nunknown: |\n  ---\n  layer: 1\nlayer: 2\n---\n",
		"---\nunknown: |\n  =\n  ===\nlayer: 2\n---\n",
	} {
		d := ParseDocument([]byte(in), Markdown)
		if h := d.Header; !h.Present || h.Layer == nil || *h.Layer != 2 || h.Scope != ScopeRecursive {
			t.Errorf("ParseDocument(%q) = %+v %v, want layer 2", in, h, d.Problems)
		}
	}
	for _, in := range []string{"", "text", "---\n---\n", "---\n\n---\n", "---\n# comment\n---\n", "---\n{}\n---\n"} {
		d := ParseDocument([]byte(in), Markdown)
		want := Document{Header: Header{Scope: ScopeRecursive, Present: strings.HasPrefix(in, "---")}}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("ParseDocument(%q) (-want +got):\n%s", in, diff)
		}
	}
}

// Each of these must be heard of: the text around a header decides whether guards
// exist at all (trap 2).
func TestWhatIsNotAHeader(t *testing.T) {
	const keys = "layer: 2\nguards:\n- cmd: x\n"
	long := strings.Repeat("x", MaxHeaderBytes)
	for _, tt := range []struct{ in, want string }{
		{"---\n" + keys, "1:1 error frontmatter_unterminated"},
		{"\n\n---\n" + keys, "3:1 error frontmatter_unterminated"},
		{"---", "1:1 error frontmatter_unterminated"},
		{"---\n" + keys + "----\ntext\n", "1:1 error frontmatter_unterminated"},
		{"---\n" + keys + " ---\ntext\n", "1:1 error frontmatter_unterminated"},
		{"---\n# " + long + "\n---\n", "1:0 error limit_exceeded"},
		{"+++\nlayer = 2\n+++\n", "1:1 error frontmatter_invalid"},
		{"\n+++ \nlayer = 2\n", "2:1 error frontmatter_invalid"},
		{";;;\n{}\n;;;\n", "1:1 error frontmatter_invalid"},
		{"{\n  \"layer\": 2\n}\n\ntext\n", "1:1 error frontmatter_invalid"},
		{"{\"x\": \"}\", \"guards\" : []}", "1:1 error frontmatter_invalid"},
		{"----\n" + keys + "----\n", "1:1 warning frontmatter_invalid"},
		{"  ---\n" + keys + "---\n", "1:3 warning frontmatter_invalid"},
		{"--- yaml\n" + keys + "---\n", "1:1 warning frontmatter_invalid"},
		{"---yaml\n" + keys + "---\n", "1:1 warning frontmatter_invalid"},
		{"--- # header\n" + keys + "...\n", "1:1 warning frontmatter_invalid"},
		{"—\n" + keys + "—\n", "1:1 warning frontmatter_invalid"},
		{"–––\n" + keys + "–––\n", "1:1 warning frontmatter_invalid"},
		{"\u200b---\n" + keys + "---\n", "1:1 warning frontmatter_invalid"},
		{"\u00a0---\n" + keys + "---\n", "1:1 warning frontmatter_invalid"},
		{"<!-- licence -->\n\n---\n" + keys + "---\n", "3:1 warning frontmatter_invalid"},
		{"<!--\na -->\n<!-- b -->\n---\n" + keys + "---\n", "4:1 warning frontmatter_invalid"},

		{"+++ text\n", ""},
		{" +++\n", ""},
		{"{% include x %}\n", ""},
		{"{ \"name\": 1 }\n", ""},
		{"{ \"a\": {\"layer\": 2} }\n", ""},
		{"{ \"layer\": 2\n", ""},
		{"{layer: 2}\n", ""},
		{"----\ntext\n----\n", ""},
		{"----\n" + keys + "no end\n", ""},
		{"-- layer: 2\n", ""},
		{"- layer: 2\n---\n", ""},
		{"Text\n---\n" + keys + "---\n", ""},
		{"# T\n\n```yaml\n---\n" + keys + "---\n```\n", ""},
		{"<!-- " + keys + "---\n", ""},
		{"---\n---\n---\nlayer: 2\n---\n", ""},
	} {
		got := positions(ParseDocument([]byte(tt.in), Markdown).Problems)
		if got != tt.want {
			t.Errorf("ParseDocument(%.60q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// positions is the short form of findings.
func positions(ds []ir.Diagnostic) string {
	var parts []string
	for _, d := range ds {
		parts = append(parts, fmt.Sprintf("%d:%d %s %s", d.Line, d.Column, d.Severity, d.Code))
	}
	return strings.Join(parts, ", ")
}

func TestEncoding(t *testing.T) {
	utf16 := func(s string, swap bool) []byte {
		var b []byte
		for _, c := range []byte(s) {
			if swap {
				b = append(b, 0, c)
			} else {
				b = append(b, c, 0)
			}
		}
		return b
	}
	for _, tt := range []struct {
		in      string
		at      string
		message string
	}{
		{"\xff\xfe" + string(utf16("---\n", false)), "1:1", "byte order mark of UTF-16"},
		{"\xfe\xff" + string(utf16("---\n", true)), "1:1", "byte order mark of UTF-16"},
		{string(utf16("---\nlayer", false)), "1:1", "looks like UTF-16"},
		{string(utf16("---\nlayer", true)), "1:1", "looks like UTF-16"},
		{"a\x00b", "1:2", "a NUL byte at offset 1"},
		{"---\nlayer: 2\n---\nab\x00", "4:3", "a NUL byte at offset 19"},
		{"---\nlayer: 2\n---\na\xffb", "4:2", "the byte 0xff at offset 18"},
		{"a\r\nb\rc\né\xc3", "4:2", "the byte 0xc3 at offset 9"},
		{"\ufeffa\xed\xa0\x80", "1:2", "the byte 0xed at offset 4"},
		{"a\xffb\x00", "1:2", "the byte 0xff"},
		{"a\x00b\xff", "1:2", "a NUL byte"},
	} {
		for _, syntax := range []Syntax{Markdown, YAML} {
			ds := ParseDocument([]byte(tt.in), syntax).Problems
			if len(ds) != 1 || positions(ds) != tt.at+" error encoding_invalid" || !strings.Contains(ds[0].Message, tt.message) {
				t.Errorf("ParseDocument(%q, %d) = %+v, want %s: %s", tt.in, syntax, ds, tt.at, tt.message)
			}
		}
		if _, ds := ParseConfig([]byte(tt.in)); len(ds) != 1 || positions(ds) != tt.at+" error encoding_invalid" {
			t.Errorf("ParseConfig(%q) = %+v, want %s", tt.in, ds, tt.at)
		}
		DocumentBody([]byte(tt.in), Markdown)
	}
}

func TestYAMLDocument(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"schema: 1\nlayer: 2\n", ""},
		{"layer: 2\ndescription: |\n  Text\n", ""},
		{"---\nlayer: 2\n...\n", ""},
		{"---\nlayer: 2\n", ""},
		{"", ""},
		{"# nothing\n", ""},
		{"schema: 2\n", "1:9 error frontmatter_invalid"},
		{"schema: \"1\"\n", "1:9 error frontmatter_invalid"},
		{"description: [a]\n", "1:14 error frontmatter_invalid"},
		{"description: \"a\\0b\"\n", "1:14 error frontmatter_invalid"},
		{"layer: 2\n---\nlayer: 3\n", "2:1 error frontmatter_invalid"},
		{"layer: 2\n---\n- [\n", "3:0 error frontmatter_invalid"},
		{"text\n", "1:1 error frontmatter_invalid"},
		{"a: " + strings.Repeat("x", MaxHeaderBytes), "1:0 error limit_exceeded"},
	} {
		d := ParseDocument([]byte(tt.in), YAML)
		if got := positions(d.Problems); got != tt.want {
			t.Errorf("ParseDocument(%.40q, YAML) = %s, want %s", tt.in, got, tt.want)
		}
		if !d.Header.Present {
			t.Errorf("ParseDocument(%.40q, YAML).Header.Present = false, want true", tt.in)
		}
	}
}

// A checkout on Windows must give the same map.
func checkLineEnds(t *testing.T, text string) {
	t.Helper()
	for _, syntax := range []Syntax{Markdown, YAML} {
		want, wantBody := ParseDocument([]byte(text), syntax), DocumentBody([]byte(text), syntax)
		for _, end := range []string{"\r\n", "\r"} {
			other := []byte(strings.ReplaceAll(text, "\n", end))
			got := ParseDocument(other, syntax)
			for i := range got.Problems {
				// An offset in bytes is the one thing that may differ.
				if i < len(want.Problems) && got.Problems[i].Code == ir.EncodingInvalid {
					got.Problems[i].Message = want.Problems[i].Message
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("ParseDocument of %q with %q (-want +got):\n%s", text, end, d)
			}
			if body := DocumentBody(other, syntax); !bytes.Equal(body, wantBody) {
				t.Errorf("DocumentBody of %q with %q = %q, want %q", text, end, body, wantBody)
			}
		}
	}
}

// checkNothingLost demands that without an error every byte of the text is in the
// header, in the body, or one of the blanks that D-27 gives up.
func checkNothingLost(t *testing.T, b []byte) {
	t.Helper()
	d := ParseDocument(b, Markdown)
	if anyError(d.Problems) {
		return
	}
	text := normaliseText(b)
	body := DocumentBody(b, Markdown)
	parts := splitDocument(text)
	var rest []byte
	switch {
	case !d.Header.Present:
		rest = text
	default:
		fenced := string(text[:len(text)-len(parts.body)])
		lines := strings.Split(strings.Trim(fenced, "\n \t"), "\n")
		if first, last := strings.TrimRight(lines[0], " \t"), strings.TrimRight(lines[len(lines)-1], " \t"); first != "---" || last != "---" && last != "..." {
			t.Fatalf("ParseDocument(%q): the header is %q", b, fenced)
		}
		if len(lines) > 2 && strings.Join(lines[1:len(lines)-1], "\n")+"\n" != string(parts.header) {
			t.Fatalf("ParseDocument(%q): header %q is not what lies between the fences %q", b, parts.header, fenced)
		}
		rest = parts.body
	}
	if got, want := strings.TrimRight(string(body), "\n"), strings.TrimRight(string(rest), "\n"); got != want && strings.Trim(want, " \t\n") != "" {
		t.Fatalf("DocumentBody(%q) = %q, want all of %q", b, got, want)
	}
}

func fuzzSeeds(f *testing.F, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", pattern, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

func FuzzParseDocument(f *testing.F) {
	fuzzSeeds(f, "testdata/problems/*.md")
	fuzzSeeds(f, "testdata/problems/*.yaml")
	for _, s := range []string{
		richHeader, "---\n\t- a\n---\n", "---\n? [a]\n: b\n---\n", "---\na: &x [*x]\n---\n", "---\n<<: {a: 1}\n---\n",
		"---\n!!map {a: 1}\n---\n", "%YAML 1.1\n---\na: 1\n", "---\n#\n - #\n---\n", "--- yaml\nlayer: 1\n---\n", "{\"layer\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, syntax := range []Syntax{Markdown, YAML} {
			d := ParseDocument(b, syntax)
			checkProblems(t, b, d.Problems)
			if again := ParseDocument(b, syntax); !reflect.DeepEqual(again, d) {
				t.Fatalf("ParseDocument(%q) differs from one call to the next", b)
			}
			body := DocumentBody(b, syntax)
			if utf8.Valid(b) && !bytes.ContainsRune(b, 0) {
				if twice := DocumentBody(append([]byte("---\n---\n"), body...), Markdown); len(body) > 0 && !bytes.HasSuffix(body, twice) {
					t.Fatalf("DocumentBody(%q) = %q and then %q", b, body, twice)
				}
			}
			checkRoundTrip(t, d, codeDocument)
		}
		checkNothingLost(t, b)
		if !bytes.ContainsAny(b, "\r\x00") {
			checkLineEnds(t, string(b))
		}
	})
}

// checkProblems demands what every list of findings must be.
func checkProblems(t *testing.T, b []byte, ds []ir.Diagnostic) {
	t.Helper()
	lines := 1 + bytes.Count(b, []byte{'\n'}) + bytes.Count(b, []byte{'\r'})
	for i, d := range ds {
		switch {
		case d.Line < 1 || d.Line > lines || d.Column < 0:
			t.Fatalf("problem %d of %q is at %d:%d", i, b, d.Line, d.Column)
		case d.Source != "" || d.Code == "" || d.Message == "" || d.Severity != ir.SeverityError && d.Severity != ir.SeverityWarning && d.Code != ir.ModuleEmpty:
			t.Fatalf("problem %d of %q is %+v", i, b, d)
		case i > 0 && (ds[i-1].Line > d.Line || ds[i-1] == d):
			t.Fatalf("problems of %q are out of order or repeated: %+v", b, ds)
		case len(d.Message) > 2000 || len(d.Hint) > 2000:
			t.Fatalf("problem %d of %q is %d bytes long", i, b, len(d.Message))
		}
	}
	if len(ds) > maxProblems+1 {
		t.Fatalf("%d problems of %q", len(ds), b)
	}
}

const richHeader = `---
# who looks after this
layer: 2
scope: recursive
max_tokens: 400
window: 3
priority: 80
imports:
  - local: ./rules.md
  - local: ./skills/rust.md#Error handling
  - workspace: packages/shared-types
  - git: https://github.com/some-org/mwp-rust-conventions.git@v1.2.0
guards:
  - cmd: cargo test --lib
    cache_for: 10m
    trust: project
    timeout: 2m
    verified_paths:
      - src/api/
      - tests/smoke/
  - exists: src/api/routes.rs
  - contains: {path: Cargo.toml, text: "edition"}
verified_paths:
  - src/api/
  - tests/smoke/
  - .mwp-context.md
owners:
  - team-backend
---
# Routing

Handlers live in src/api.
`

func TestRichHeaderHasNoProblems(t *testing.T) {
	d := ParseDocument([]byte(richHeader), Markdown)
	if got := report("f", d.Problems); got != "" {
		t.Errorf("ParseDocument(richHeader): %s", got)
	}
	checkLineEnds(t, richHeader)
}

func BenchmarkParseDocument(b *testing.B) {
	for _, bm := range []struct{ name, text string }{{"header=rich", richHeader}, {"header=small", "---\nlayer: 2\n---\n# T\n\nText.\n"}, {"header=none", "# T\n\nText.\n"}} {
		b.Run(bm.name, func(b *testing.B) {
			text := []byte(bm.text)
			b.ReportAllocs()
			for b.Loop() {
				if d := ParseDocument(text, Markdown); len(d.Problems) != 0 {
					b.Fatal(d.Problems)
				}
			}
		})
	}
}

func BenchmarkDocumentBody(b *testing.B) {
	text := []byte(richHeader + strings.Repeat("Text that goes on.\n", 1000))
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if len(DocumentBody(text, Markdown)) == 0 {
			b.Fatal("empty body")
		}
	}
}

func anyError(ds []ir.Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == ir.SeverityError {
			return true
		}
	}
	return false
}
