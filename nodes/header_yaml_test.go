package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// header returns the header that these lines give between fences. Line 1 of the
// lines is line 2 of the file.
func header(lines string) Document {
	return ParseDocument([]byte("---\n"+lines+"\n---\ntext\n"), Markdown)
}

func ptr[T any](v T) *T { return &v }

func TestHeaderValues(t *testing.T) {
	for _, tt := range []struct {
		lines string
		want  Header
	}{
		{"layer: 0", Header{Layer: ptr(0), LayerLine: 2}},
		{"layer: 4", Header{Layer: ptr(4), LayerLine: 2}},
		{"layer: L3", Header{Layer: ptr(3), LayerLine: 2}},
		{"\n\nlayer: 'L3'", Header{Layer: ptr(3), LayerLine: 4}},
		{"scope: local", Header{Scope: ScopeLocal, ScopeLine: 2}},
		{"scope: \"recursive\"", Header{ScopeLine: 2}},
		{"max_tokens: 1", Header{MaxTokens: ptr(1), MaxTokensLine: 2}},
		{"window: 0", Header{Window: ptr(0), WindowLine: 2}},
		{"priority: -1000000", Header{Priority: ptr(-1000000), PriorityLine: 2}},
		{"priority: 80 # tie", Header{Priority: ptr(80), PriorityLine: 2}},
		{"owners: [a, \"@org/b\"]", Header{Owners: []string{"a", "@org/b"}}},
		{"owners:", Header{}},
		{"owners: []", Header{}},
		{"imports:", Header{}},
		{"guards:\n", Header{}},
		{"verified_paths:", Header{}},
		{"verified_paths: []", Header{HasVerifiedPaths: true}},
		{"verified_paths:\n- src/\n- ../shared/**/*.go", Header{HasVerifiedPaths: true, VerifiedPaths: []PathRef{{"src/", 3}, {"../shared/**/*.go", 4}}}},
		{"imports:\n- local: ./rules.md\n- local: a/../b c.md#Head \"x\"\n-  workspace: packages",
			Header{Imports: []ImportRef{
				{Kind: "local", Value: "./rules.md", Line: 3, Column: 3},
				{Kind: "local", Value: `a/../b c.md#Head "x"`, Line: 4, Column: 3},
				{Kind: "workspace", Value: "packages", Line: 5, Column: 4}}}},
		{"imports: [git: https://h/o/r.git@v1]", Header{Imports: []ImportRef{{Kind: "git", Value: "https://h/o/r.git@v1", Line: 2, Column: 11}}}},
		{"imports:\n- git: git@h:o/r.git@v1\n  workspace: x", Header{Imports: []ImportRef{{Kind: "workspace", Value: "x", Git: "git@h:o/r.git@v1", Line: 3, Column: 3}}}},
		{"imports:\n- local: ./node_modules/@org/x", Header{Imports: []ImportRef{{Kind: "local", Value: "./node_modules/@org/x", Line: 3, Column: 3}}}},
		{"guards:\n- cmd: cargo test\n  cache_for: 1d\n  timeout: 90s\n  trust: ad-hoc\n  name: n\n  verified_paths: [x]",
			Header{Guards: []GuardSpec{{Name: "n", Cmd: "cargo test", CacheFor: ptr(24 * time.Hour), Timeout: ptr(90 * time.Second), Trust: "ad-hoc", HasVerifiedPaths: true, VerifiedPaths: []PathRef{{"x", 8}}, Line: 3}}}},
		{"guards:\n- cmd: [sh, -c, \"\", \"42\"]\n  cache_for: 0\n  verified_paths: []", Header{Guards: []GuardSpec{{Argv: []string{"sh", "-c", "", "42"}, CacheFor: ptr(time.Duration(0)), HasVerifiedPaths: true, Line: 3}}}},
		{"guards:\n- cmd: |\n    a\n    b", Header{Guards: []GuardSpec{{Cmd: "a\nb\n", Line: 3}}}},
		{"guards:\n- exists: ../x/", Header{Guards: []GuardSpec{{Exists: "../x/", Line: 3}}}},
		{"guards:\n- contains: {path: a, text: \"b\"}", Header{Guards: []GuardSpec{{ContainsPath: "a", ContainsText: "b", Line: 3}}}},
		{"guards:\n- script: npm:test:unit\n  name: units", Header{Guards: []GuardSpec{{Name: "units", Script: "npm:test:unit", Line: 3}}}},
		{"{layer: 1, window: 2}", Header{Layer: ptr(1), LayerLine: 2, Window: ptr(2), WindowLine: 2}},
	} {
		want := tt.want
		want.Present = true
		if want.Scope == "" {
			want.Scope = ScopeRecursive
		}
		if d := cmp.Diff(Document{Header: want}, header(tt.lines)); d != "" {
			t.Errorf("header(%q) (-want +got):\n%s", tt.lines, d)
		}
	}
}

// Each line breaks one rule and gives one error, at the value or key that breaks it.
func TestHeaderErrors(t *testing.T) {
	for _, tt := range []struct{ lines, at, message string }{
		{"layer: 5", "2:8", "layer: expected 0 to 4 or L0 to L4, found 5"},
		{"layer: -1", "2:8", "found -1"},
		{"layer: l2", "2:8", `found "l2"`},
		{"layer: '2'", "2:8", `found the text "2"`},
		{"layer: 2.0", "2:8", "found 2.0"},
		{"layer: 02", "2:8", "found 02"},
		{"layer: 0x2", "2:8", "found 0x2"},
		{"layer:", "2:7", "found nothing"},
		{"layer: [2]", "2:8", "found a list"},
		{"layer: {a: 2}", "2:8", "found keys and values"},
		{"layer: true", "2:8", "found true"},
		{"layer: null", "2:8", "found null"},
		{"layer: |\n  2", "2:8", `found the text "2\n"`},
		{"scope: locale", "2:8", `scope: expected recursive or local, found "locale"`},
		{"scope: Local", "2:8", `found "Local"`},
		{"scope: 1", "2:8", "found 1"},
		{"max_tokens: 0", "2:13", "max_tokens: expected a whole number above 0, found 0"},
		{"max_tokens: 1_000", "2:13", "found 1_000"},
		{"max_tokens: 1e3", "2:13", "found 1e3"},
		{"max_tokens: 0x10", "2:13", "found 0x10"},
		{"max_tokens: 010", "2:13", "found 010"},
		{"max_tokens: +5", "2:13", "found +5"},
		{"max_tokens: 5k", "2:13", `found "5k"`},
		{"max_tokens: '5'", "2:13", `found the text "5"`},
		{"max_tokens: 99999999999999999999", "2:13", "found 99999999999999999999"},
		{"max_tokens: 1000000001", "2:13", "found 1000000001"},
		{"window: -1", "2:9", "window: expected a whole number, 0 or more, found -1"},
		{"window: -0", "2:9", "found -0"},
		{"window: 1.5", "2:9", "found 1.5"},
		{"priority: 1000001", "2:11", "priority: expected a whole number from -1000000 to 1000000"},
		{"priority: high", "2:11", `found "high"`},
		{"owners: team", "2:9", `owners: expected a list, found "team"`},
		{"owners: [a, 42]", "2:13", "owners: expected text, found 42"},
		{"owners: ['']", "2:10", "owners: expected text, found nothing but blanks"},
		{"owners: [[a]]", "2:10", "owners: expected text, found a list"},
		{"owners: [\"a\\u0007\"]", "2:10", "control characters"},
		{"owners: {a: b}", "2:9", "owners: expected a list, found keys and values"},
		{"verified_paths: src", "2:17", `verified_paths: expected a list, found "src"`},
		{"verified_paths: [/etc]", "2:18", `expected a path relative to this file's directory, found "/etc"`},
		{"verified_paths: [\"C:\\\\x\"]", "2:18", "relative to this file's directory"},
		{"verified_paths: [~/x]", "2:18", "relative to this file's directory"},
		{"verified_paths: ['a\\b']", "2:18", `expected a path with /`},
		{"verified_paths: [\"a\\nb\"]", "2:18", "control characters"},
		{"verified_paths: [\"a\\0b\"]", "2:18", "NUL"},

		{"imports: ./rules.md", "2:10", "imports: expected a list"},
		{"imports: {local: x}", "2:10", "imports: expected a list"},
		{"imports: [./rules.md]", "2:11", "imports: expected an entry such as local: PATH"},
		{"imports: [[x]]", "2:11", "found a list"},
		{"imports: [~]", "2:11", "found ~"},
		{"imports: [{}]", "2:11", "found an empty entry"},
		{"imports: [{npm: x}]", "2:12", `expected local, workspace or git, found "npm"`},
		{"imports: [{Local: x}]", "2:12", `found "Local"`},
		{"imports: [{local: x, git: \"https://h/r@v\"}]", "2:11", "found local and git"},
		{"imports: [{local: x, workspace: y}]", "2:11", "found local and workspace"},
		{"imports: [{local: x, workspace: y, git: \"a:b\"}]", "2:11", "expected one kind"},
		{"imports: [{local: 3}]", "2:19", "local: expected text, found 3"},
		{"imports: [{local: }]", "2:19", "local: expected text, found nothing"},
		{"imports: [{local: \"a\\0\"}]", "2:19", "NUL"},
		{"imports: [{local: \"a\\tb\"}]", "2:19", "control characters"},

		{"guards: cargo test", "2:9", "guards: expected a list"},
		{"guards: {cmd: x}", "2:9", "guards: expected a list"},
		{"guards: [cargo test]", "2:10", "guards: expected an entry such as cmd: COMMAND"},
		{"guards: [{}]", "2:10", "expected one of cmd, exists, contains or script"},
		{"guards: [{name: x}]", "2:10", "expected one of cmd, exists, contains or script"},
		{"guards: [{cmd: x, exists: y}]", "2:19", "expected one check in an entry, found cmd and exists"},
		{"guards: [{cmd: }]", "2:16", "cmd: expected text, found nothing"},
		{"guards: [{cmd: ' '}]", "2:16", "found nothing but blanks"},
		{"guards: [{cmd: true}]", "2:16", "cmd: expected text, found true"},
		{"guards: [{cmd: []}]", "2:16", "cmd: expected a command, found an empty list"},
		{"guards: [{cmd: ['', a]}]", "2:17", "cmd: expected text"},
		{"guards: [{cmd: [a, 1]}]", "2:20", "cmd: expected text, found 1"},
		{"guards: [{cmd: \"a\\0\"}]", "2:16", "NUL"},
		{"guards: [{cmd: {a: b}}]", "2:16", "cmd: expected text, found keys and values"},
		{"guards: [{cmd: x, cache_for: 10}]", "2:30", "cache_for: expected a duration such as 10m, 2h or 1d, found 10 without a unit"},
		{"guards: [{cmd: x, cache_for: -1m}]", "2:30", `found "-1m"`},
		{"guards: [{cmd: x, cache_for: soon}]", "2:30", `found "soon"`},
		{"guards: [{cmd: x, cache_for: [1m]}]", "2:30", "found a list"},
		{"guards: [{cmd: x, cache_for: 99999w}]", "2:30", "longer than 15250w"},
		{"guards: [{cmd: x, timeout: 0}]", "2:28", "timeout: expected a duration above 0"},
		{"guards: [{cmd: x, trust: root}]", "2:26", "trust: expected builtin, project or ad-hoc"},
		{"guards: [{cmd: x, name: \"a\\nb\"}]", "2:25", "name: expected one line"},
		{"guards: [{cmd: x, verified_paths: y}]", "2:35", "verified_paths: expected a list"},
		{"guards: [{exists: /x}]", "2:19", "exists: expected a path relative"},
		{"guards: [{exists: [x]}]", "2:19", "exists: expected text, found a list"},
		{"guards: [{contains: x}]", "2:21", "contains: expected path and text"},
		{"guards: [{contains: {path: x}}]", "2:21", "found no text"},
		{"guards: [{contains: {text: x}}]", "2:21", "found no path"},
		{"guards: [{contains: {path: x, text: ''}}]", "2:37", "text: expected text"},
		{"guards: [{script: test}]", "2:19", "script: expected npm:NAME or make:NAME"},
		{"guards: [{script: 'npm:'}]", "2:19", "script: expected npm:NAME or make:NAME"},
		{"guards: [{script: 'yarn:x'}]", "2:19", "script: expected npm:NAME or make:NAME"},

		{"layer: 1\npriority: 2\nlayer: 3", "4:1", `duplicate key "layer": line 2 sets it first`},
		{"guards: [{cmd: a, cmd: b}]", "2:19", `duplicate key "cmd"`},
		{"layer: &x 1", "2:8", "found the anchor &x"},
		{"layer: !!int 1", "2:8", "found the tag !!int"},
		{"layer: !mine 1", "2:8", "found the tag !mine"},
		{"<<: {layer: 1}", "2:1", "found the merge key"},
		{"1: x", "2:1", "expected a key that is a word, found 1"},
		{"true: x", "2:1", "expected a key that is a word, found true"},
		{"? [a]\n: x", "2:3", "expected a key that is a word, found a list"},
		{"&a layer: 1", "2:1", "expected a key that is a word"},
		{"just text", "2:1", `expected keys and values, found "just text"`},
		{"- layer: 1", "2:1", "expected keys and values, found a list"},
		{"~", "2:1", "expected keys and values, found ~"},
		{"layer: 1\n--- x", "3:1", "found a second one"},
		{"\tlayer: 1", "2:1", "tabs are not allowed here"},
		{"guards:\n\t- cmd: x", "3:1", "tabs are not allowed here"},
		{"guards:\n  - cmd: x\n  \tname: y", "4:3", "tabs are not allowed here"},
		{"layer: 1 # \u2028guards: []", "2:12", "control character U+2028"},
		{"layer: 1\nscope: local\u0085", "3:13", "control character U+0085"},
		{"layer: \x01", "2:8", "control character U+0001"},
		{"layer: 1: 2", "2:0", "mapping values are not allowed"},
		{"owners:\n  - @team", "3:0", "cannot start any token"},
		{"layer: *x", "2:0", "unknown anchor"},
		{"owners: [a\nlayer: 1", "3:0", "did not find expected"},
		{"layer: 1\n  scope: local", "3:0", "mapping values are not allowed"},
		{"owners: [\"a]", "2:0", "unexpected end of stream"},
	} {
		ds := header(tt.lines).Problems
		got, text := "", ""
		if len(ds) > 0 {
			got, _, _ = strings.Cut(positions(ds[:1]), " ")
			text = ds[0].Message
		}
		if len(ds) != 1 || ds[0].Severity != ir.SeverityError || got != tt.at || !strings.Contains(text, tt.message) {
			t.Errorf("header(%q) = %s, want one error at %s: %s", tt.lines, report("f", ds), tt.at, tt.message)
		}
	}
}

// A value that can be no import leaves the header as good as it was: the map
// without it is complete but for one entry, and says so (D-32).
func TestRefusedImports(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for _, tt := range []struct {
		item, at string
		code     ir.Code
		message  string
		hint     string
	}{
		{"local: ''", "2:19", ir.UnresolvedImport, `local: expected a path, found ""`, "- local: ./rules.md"},
		{"local: '  '", "2:19", ir.UnresolvedImport, `local: expected a path, found "  "`, "- local: ./rules.md"},
		{"local: /etc/passwd", "2:19", ir.ImportAbsolute, `local: expected a relative path, found "/etc/passwd"`, "a local path starts at this file's directory: - local: ./etc/passwd"},
		{"local: 'C:\\x'", "2:19", ir.ImportAbsolute, "expected a relative path", ""},
		{"local: c:x", "2:19", ir.ImportAbsolute, "expected a relative path", ""},
		{"local: ~/x", "2:19", ir.ImportAbsolute, "expected a relative path", ""},
		{"local: '\\\\h\\x'", "2:19", ir.ImportAbsolute, "expected a relative path", ""},
		{"local: '/#a'", "2:19", ir.ImportAbsolute, "expected a relative path", "a local path starts at this file's directory: - local: ./"},
		{"local: 'a\\b.md'", "2:19", ir.UnresolvedImport, `expected a path with /, found \ in "a\\b.md"`, "- local: a/b.md"},
		{"local: ../x", "2:19", ir.ImportEscapes, "expected a path below this file's directory", "use workspace: with the path from the workspace root"},
		{"local: ..", "2:19", ir.ImportEscapes, "expected a path below this file's directory", "use workspace: with the path from the workspace root"},
		{"local: a/../../b", "2:19", ir.ImportEscapes, `found "a/../../b"`, "use workspace: with the path from the workspace root"},
		{"local: ../x#a", "2:19", ir.ImportEscapes, "expected a path below this file's directory", "use workspace: with the path from the workspace root"},
		{"local: x#", "2:19", ir.UnresolvedImport, "expected a heading after the #", "a # in a file's name is written %23"},
		{"local: 'x# '", "2:19", ir.UnresolvedImport, "expected a heading after the #", "a # in a file's name is written %23"},
		{"local: '#a'", "2:19", ir.UnresolvedImport, "expected a path before the #", ""},
		{"local: 'https://h/x'", "2:19", ir.ImportKindInvalid, `found the URL "https://h/x"`, "- git: https://h/x"},
		{"local: 'https://u:secret@h/x'", "2:19", ir.ImportKindInvalid, `found the URL "https://***@h/x"`, "- git: https://***@h/x"},
		{"workspace: /x", "2:23", ir.ImportAbsolute, `workspace: expected a relative path, found "/x"`, "a workspace path starts at the workspace root: - workspace: x"},
		{"workspace: ~x", "2:23", ir.ImportAbsolute, "expected a relative path", ""},
		{"workspace: ../x", "2:23", ir.ImportEscapesRoot, "expected a path inside the workspace root", ""},
		{"workspace: a/../..", "2:23", ir.ImportEscapesRoot, "expected a path inside the workspace root", ""},
		{"git: x", "2:17", ir.ImportKindInvalid, "there is no registry of names", "- git: https://HOST/OWNER/x.git@TAG"},
		{"git: mwp-rust@v2", "2:17", ir.ImportKindInvalid, "there is no registry of names", "- git: https://HOST/OWNER/mwp-rust.git@v2"},
		{"git: '-oProxy=x:y'", "2:17", ir.ImportKindInvalid, "git: expected a git URL, found the option", "- git: https://HOST/OWNER/REPOSITORY.git@TAG"},
		{"git: ''", "2:17", ir.ImportKindInvalid, "git: expected a git URL, found nothing", "- git: https://HOST/OWNER/REPOSITORY.git@TAG"},
		{"git: 'ext::sh -c x@v1'", "2:17", ir.ImportKindInvalid, "without blanks", "- git: https://HOST/OWNER/REPOSITORY.git@TAG"},
		{"git: 'https://h/r.git@0a0a0a0a'", "2:17", ir.ImportKindInvalid, "an abbreviated commit is ambiguous", ""},
		{"git: 'https://h/r.git@^1.2'", "2:17", ir.ImportKindInvalid, "", "- git: https://HOST/OWNER/REPOSITORY.git@TAG"},
		{"workspace: x, git: short", "2:31", ir.ImportKindInvalid, "there is no registry of names", "- git: https://HOST/OWNER/short.git@TAG"},
		{"workspace: ../x, git: short", "2:23", ir.ImportEscapesRoot, "expected a path inside the workspace root", ""},

		{"local: x.md", "", "", "", ""},
		{"local: a/../b.md", "", "", "", ""},
		{"local: '..x/y'", "", "", "", ""},
		{"local: 'a%23b.md'", "", "", "", ""},
		{"workspace: .", "", "", "", ""},
		{"git: 'https://h/r.git@" + commit + "'", "", "", "", ""},
		{"workspace: x, git: 'git@h:o/r.git//sub@v1'", "", "", "", ""},
	} {
		d := header("imports: [{" + tt.item + "}]\npriority: 7")
		if len(d.Problems) > 0 || len(d.Header.Imports) != 1 || d.Header.Priority == nil || *d.Header.Priority != 7 {
			t.Errorf("header(%s) = %+v with %s, want the import and the priority after it", tt.item, d.Header, report("f", d.Problems))
			continue
		}
		got := d.Header.Imports[0].Refused
		at, _, _ := strings.Cut(positions([]ir.Diagnostic{got}), " ")
		if got.Code == "" {
			at = ""
		}
		if got.Code != tt.code || at != tt.at || !strings.Contains(got.Message, tt.message) || got.Hint != tt.hint {
			t.Errorf("header(%s) refuses with %+v at %s, want %s at %s: %s; hint %q", tt.item, got, at, tt.code, tt.at, tt.message, tt.hint)
		}
		if got.Code != "" && got.Severity != ir.SeverityError {
			t.Errorf("header(%s) refuses with severity %q, want an error (D-32)", tt.item, got.Severity)
		}
	}
}

func TestImportErrorCodes(t *testing.T) {
	for _, tt := range []struct {
		lines string
		want  ir.Code
	}{
		{"imports: [x]", ir.ImportKindInvalid},
		{"imports: x", ir.ImportKindInvalid},
		{"imports: [{npm: x}]", ir.ImportKindInvalid},
		{"imports: [{local: x, git: \"a:b\"}]", ir.ImportKindInvalid},
		{"imports: [{local: 3}]", ir.FrontmatterInvalid},
	} {
		if ds := header(tt.lines).Problems; len(ds) != 1 || ds[0].Code != tt.want {
			t.Errorf("header(%q) = %s, want %s", tt.lines, report("f", ds), tt.want)
		}
	}
}

// A hint gives the line as it should be; a reader copies it.
func TestHints(t *testing.T) {
	for _, tt := range []struct{ lines, hint string }{
		{"owners: team-backend", "owners: [team-backend]"},
		{"owners: '@org/team'", `owners: ["@org/team"]`},
		{"owners: [42]", `- "42"`},
		{"owners:\n  - @team", `- "@team"`},
		{"imports: [./rules.md]", "- local: ./rules.md"},
		{"imports: ['https://h/o/r.git@v1']", "- git: https://h/o/r.git@v1"},
		{"imports: {local: ./x}", "- local: ./x"},
		{"imports: [{wrokspace: x}]", "did you mean workspace?"},
		{"guards: [cargo test]", "- cmd: cargo test"},
		{"guards: [{cmd: x, cache_for: 10}]", "cache_for: 10s"},
		{"guards: [{cmd: x, trust: adhoc}]", "trust: ad-hoc"},
		{"guards: [{script: test}]", "script: npm:test"},
		{"guards: [{cmd: true}]", `cmd: "true"`},
		{"layer: '3'", "layer: 3"},
		{"max_tokens: '5'", "max_tokens: 5"},
		{"scope: recursiv", "scope: recursive"},
		{"gaurds: []", "did you mean guards?"},
		{"cache_for: 10m", "indent it to the column of the entry's cmd"},
		{"local: ./x", "write it as - local: … below imports:"},
		{"guards: [{cmd: x, cache_fro: 1m}]", "did you mean cache_for?"},
		{"guards: [{contains: {path: a, text: b, txt: c}}]", "did you mean text?"},
		{"imports: [{local: a, lokal: b}]", "did you mean local?"},
		{"Some text\nof a body", "if the first --- is a horizontal rule, put text or a blank header before it"},
	} {
		if ds := header(tt.lines).Problems; len(ds) != 1 || ds[0].Hint != tt.hint {
			t.Errorf("header(%q) = %s, want hint %q", tt.lines, report("f", ds), tt.hint)
		}
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	d := header("layer: 2\nfuture: {a: [b, {c: 1}]}\nguards:\n- cmd: x\n  include_output_on_fail: true\nimports:\n- local: a\n  optional: true\ndescription: x\nschema: 1\ninterpolate: true")
	if got, want := positions(d.Problems), "3:1 warning frontmatter_unknown_key, 6:3 warning frontmatter_unknown_key, 9:3 warning frontmatter_unknown_key, 10:1 warning frontmatter_unknown_key, 11:1 warning frontmatter_unknown_key, 12:1 warning frontmatter_unknown_key"; got != want {
		t.Errorf("problems = %s, want %s", got, want)
	}
	if h := d.Header; h.Layer == nil || len(h.Guards) != 1 || len(h.Imports) != 1 {
		t.Errorf("header = %+v, want the known keys", h)
	}
	if got := header("guards: [{exists: x, cache_for: 1m}]").Problems; positions(got) != "2:22 warning frontmatter_invalid" {
		t.Errorf("cache_for beside exists = %s, want one warning", report("f", got))
	}
}

// However many mistakes a file has, its report stays readable, and an error among
// those that are left out still counts.
func TestFindingsAreBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 2 * maxProblems {
		lines.WriteString("k" + strings.Repeat("x", i) + ": 1\n")
	}
	ds := header(lines.String()).Problems
	if len(ds) != maxProblems+1 || anyError(ds) || ds[maxProblems].Message != "100 more findings are not listed" {
		t.Errorf("%d findings, the last %+v; want %d and a count", len(ds), ds[len(ds)-1], maxProblems+1)
	}
	ds = header(lines.String() + "layer: 9\n").Problems
	if !anyError(ds) {
		t.Error("an error beyond the bound is lost")
	}
}

// Each of these is cheap to write, and expensive for a reader that recurses without
// a bound, compares every pair or reports every mistake. A quarter of the limit is
// enough to show it, and the race detector makes the parser ten times slower.
func TestHostileHeaders(t *testing.T) {
	const size = MaxHeaderBytes / 4
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	keys := func() string {
		var b strings.Builder
		for i := 0; b.Len() < size-20; i++ {
			b.WriteString("k")
			for n := i; n > 0; n /= 26 {
				b.WriteByte(byte('a' + n%26))
			}
			b.WriteString(": 1\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"brackets":   fill("["),
		"balanced":   "a: " + strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"braces":     fill("{a: "),
		"dashes":     fill("- "),
		"questions":  fill("? "),
		"keys":       keys(),
		"same key":   fill("a: 1\n"),
		"flow keys":  "{" + fill("a,") + "}",
		"items":      "owners: [" + fill("1,") + "]",
		"imports":    "imports: [" + fill("x,") + "]",
		"guards":     "guards: [" + fill("{a: 1},") + "]",
		"comments":   fill("#\n"),
		"tokens":     "a: " + fill("="),
		"long key":   fill("k") + ": 1",
		"anchors":    fill("- &a\n"),
		"aliases":    "a: &a [1]\nb: [" + fill("*a,") + "]",
		"long error": "layer: " + fill("x"),
		"quotes":     fill("'"),
		"colons":     fill(": "),
	} {
		d := header(text)
		checkProblems(t, []byte("---\n"+text+"\n---\n"), d.Problems)
		if name != "comments" && name != "tokens" && !anyError(d.Problems) && name != "keys" && name != "long key" {
			t.Errorf("%s: no error", name)
		}
	}
}
