package nodes

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const richManifest = `---
name: mwp-rust-idiomatic
version: 2.10
description: |
  How we write Rust.
layer: 3
owners: [team-rust]
imports:
  - local: ./perspective.md
  - local: rules.md#Error handling
  - git: https://example.org/o/base.git@v1.0.0
pipelines:
  - local: workflows/feature-impl.md
  - local: workflows/c%23.md
guards:
  - cmd: cargo clippy
---
# What this is
`

// TestParseManifest is R-105 and D-25.
func TestParseManifest(t *testing.T) {
	m := ParseManifest([]byte(richManifest))
	want := ModuleManifest{
		Name: "mwp-rust-idiomatic", Version: "2.10", Description: "How we write Rust.\n",
		Imports: []ImportRef{
			{Kind: ImportLocal, Value: "./perspective.md", Line: 9, Column: 5},
			{Kind: ImportLocal, Value: "rules.md#Error handling", Line: 10, Column: 5},
			{Kind: ImportGit, Value: "https://example.org/o/base.git@v1.0.0", Line: 11, Column: 5},
		},
		Pipelines: []ImportRef{
			{Kind: ImportLocal, Value: "workflows/feature-impl.md", Line: 13, Column: 5},
			{Kind: ImportLocal, Value: "workflows/c%23.md", Line: 14, Column: 5},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := ParseDocument([]byte(richManifest), Manifest); len(d.Header.Guards) != 1 || *d.Header.Layer != 3 || len(d.Header.Owners) != 1 {
		t.Errorf("header %+v", d.Header)
	}
}

func TestManifestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"2.10": "2.10", "1": "1", "1.0.0": "1.0.0", `"1.20"`: "1.20", "'v1'": "v1", "v2.0.0-rc.1": "v2.0.0-rc.1", "1e3": "1e3", "0x10": "0x10", "2026-05-17": "", "true": "", "[1]": "", "~": "",
	} {
		m := ParseManifest([]byte("---\nname: m\nimports: [{local: ./a.md}]\nversion: " + text + "\n---\n"))
		if m.Version != want || (len(m.Problems) > 0) != (want == "") {
			t.Errorf("version: %s is read as %q with %v, want %q", text, m.Version, m.Problems, want)
		}
	}
}

// TestManifestProblems: what is missing or does not belong, and what is refused by
// itself.
func TestManifestProblems(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"name: m\nimports:\n- local: ./a.md", ""},
		{"name: m\nguards:\n- exists: a", ""},
		{"name: m\npipelines:\n- local: ./a.md", ""},
		{"name: m", "1 note module_empty"},
		{"version: 1", "1 error frontmatter_invalid"},
		{"name: ''", "2:7 error frontmatter_invalid"},
		{"name: m\nmax_tokens: 5\nwindow: 1\nscope: local\npriority: 1\nschema: 1", "1 note module_empty, 3:1 warning frontmatter_unknown_key, 4:1 warning frontmatter_unknown_key, 5:1 warning frontmatter_unknown_key, 6:1 warning frontmatter_unknown_key, 7:1 warning frontmatter_unknown_key"},
		{"name: m\nimports:\n- local: ../x\n- git: short", "4:10 error import_escapes, 5:8 error import_kind_invalid"},
		{"name: m\npipelines: x", "3:12 error import_kind_invalid"},
		{"name: m\npipelines:\n- workspace: x\n- local: /x\n- x", "4:3 error import_kind_invalid, 5:10 error import_absolute, 6:3 error import_kind_invalid"},
	} {
		m := ParseManifest([]byte("---\n" + tt.lines + "\n---\n"))
		got := strings.ReplaceAll(positions(m.Problems), ":0 ", " ")
		if got != tt.want {
			t.Errorf("manifest %q has %s, want %s\n%s", tt.lines, got, tt.want, report("f", m.Problems))
		}
	}
	for text, want := range map[string]string{
		"No header.\n":      "1:0 error frontmatter_invalid",
		"---\nname: m\n":    "1:1 error frontmatter_unterminated",
		"a\x00b":            "1:2 error encoding_invalid",
		"---\n---\nBody.\n": "1:0 error frontmatter_invalid",
	} {
		if got := positions(ParseManifest([]byte(text)).Problems); got != want {
			t.Errorf("manifest %q has %s, want %s", text, got, want)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	for _, s := range []string{
		richManifest, "", "---\n---\n", "---\nname: m\nversion: 1.10\n---\nBody.\n", "---\nname: [m]\n", "\ufeff---\r\nname: m\r\n---\r\n",
		"---\nname: m\npipelines:\n- local: ../x\n- git: https://h/r@v\nimports: [{local: '#'}, {workspace: x, git: y}]\n---\n",
		"---\nversion: &a 1\nname: *a\n---\n", "name: m\n", "---\nname: \"a\\0\"\n---\n", "---\ndescription: ''\nlayer: L4\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := ParseManifest(text)
		checkProblems(t, text, m.Problems)
		if len(m.Problems) == 0 && m.Name == "" {
			t.Error("no name and no finding")
		}
		for _, list := range [][]ImportRef{m.Imports, m.Pipelines} {
			for _, i := range list {
				if i.Line < 1 || i.Refused.Code != "" && !hasProblem(m.Problems, i.Refused) {
					t.Errorf("import %+v is refused without a finding in %+v", i, m.Problems)
				}
				if file, _ := i.Target(); i.Kind != ImportGit && i.Refused.Code == "" && (strings.HasPrefix(file, "/") || file == ".." || strings.HasPrefix(file, "../") || file == "") {
					t.Errorf("import %+v leads to %q and is not refused", i, file)
				}
			}
		}
		for _, p := range m.Pipelines {
			if p.Kind != ImportLocal {
				t.Errorf("a pipeline by %s", p.Kind)
			}
		}
		if !utf8.Valid(text) || strings.ContainsRune(string(text), 0) {
			// Where the first bad byte is depends on the line ends.
			return
		}
		crlf := []byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r", ""), "\n", "\r\n"))
		lf := []byte(strings.ReplaceAll(string(text), "\r", ""))
		if a, b := ParseManifest(crlf), ParseManifest(lf); !reflect.DeepEqual(a, b) {
			t.Errorf("line ends change the manifest %q:\n%+v\n%+v", lf, a, b)
		}
	})
}

func hasProblem(ds []ir.Diagnostic, want ir.Diagnostic) bool {
	for _, d := range ds {
		if d == want {
			return true
		}
	}
	return false
}
