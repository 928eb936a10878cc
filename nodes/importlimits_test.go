package nodes_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// chainOf is a tree in which a/.mwp-context.md imports f1, f1 imports f2 and so on.
func chainOf(n int, last string) string {
	var b strings.Builder
	b.WriteString("-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nimports:\n  - local: f1.md\n---\nA\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "-- a/f%d.md --\n---\nimports:\n  - local: f%d.md\n---\n%d\n", i, i+1, i)
	}
	fmt.Fprintf(&b, "-- a/f%d.md --\n%s", n, last)
	return b.String()
}

// moduleChain is a tree in which each of n modules lists the next one.
func moduleChain(n int) string {
	var b strings.Builder
	b.WriteString("-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nimports:\n  - local: m\n---\nA\n")
	dir := "a"
	for i := 1; i <= n; i++ {
		dir += "/m"
		fmt.Fprintf(&b, "-- %s/.mwp-module.md --\n---\nname: m%d\nimports:\n", dir, i)
		if i < n {
			b.WriteString("  - local: m\n")
		}
		b.WriteString("pipelines:\n  - local: ship.md\n---\n")
		fmt.Fprintf(&b, "-- %s/ship.md --\n", dir)
	}
	return b.String()
}

// gitChain is a tree in which each of n git modules depends on the next one.
func gitChain(n int) string {
	var b, pins strings.Builder
	b.WriteString("-- .mwp/config.toml --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nimports:\n  - git: https://example.org/m1.git@v1\n---\nA\n")
	for i := 1; i <= n; i++ {
		commit := fmt.Sprintf("%040x", i)
		fmt.Fprintf(&b, "-- .mwp/modules/%s/.mwp-module.md --\n---\nname: m%d\nimports:\n", commit, i)
		if i < n {
			fmt.Fprintf(&b, "  - git: https://example.org/m%d.git@v1\n", i+1)
		}
		b.WriteString("---\n")
		fmt.Fprintf(&pins, "https://example.org/m%d.git@v1 tag %s\n", i, commit)
	}
	return b.String() + "-- PINS --\n" + pins.String()
}

// many is a tree whose context file imports n files.
func many(n int) string {
	var list, files strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "  - local: n%d\n", i)
		fmt.Fprintf(&files, "-- a/n%d --\n%d\n", i, i)
	}
	return "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nimports:\n" + list.String() + "---\nA\n" + files.String()
}

// TestImportLimits is D-102: 32 files deep and 2,000 entries, of whatever sort.
func TestImportLimits(t *testing.T) {
	for name, c := range map[string]struct {
		tree, want string
		candidates int
	}{
		"32 files deep":               {chainOf(32, "end\n"), "", 34},
		"33 files deep":               {chainOf(33, "end\n"), "limit_exceeded a/f32.md", 0},
		"33 deep, into nothing":       {strings.TrimSuffix(chainOf(33, ""), "-- a/f33.md --\n"), "limit_exceeded a/f32.md", 0},
		"32 deep, then back":          {chainOf(32, "---\nimports:\n  - local: f1.md\n---\n"), "import_cycle a/f1.md", 0},
		"33 deep, then back":          {chainOf(33, "---\nimports:\n  - local: f1.md\n---\n"), "limit_exceeded a/f32.md", 0},
		"32 modules deep":             {moduleChain(32), "", 34},
		"33 modules deep":             {moduleChain(33), "limit_exceeded a" + strings.Repeat("/m", 32) + "/.mwp-module.md", 0},
		"32 git modules deep":         {gitChain(32), "", 34},
		"33 git modules deep":         {gitChain(33), fmt.Sprintf("limit_exceeded .mwp/modules/%040x/.mwp-module.md", 32), 0},
		"2000 candidates":             {many(1998), "", 2000},
		"2001 candidates":             {many(1999), "limit_exceeded a/x", 0},
		"2001 imports in one closure": {many(2001), "limit_exceeded a/.mwp-context.md", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := evaluate(t, tree(t, c.tree), mapNode("a/x"))
			got := ""
			if len(v.Refusal) > 0 {
				d := v.Refusal[0]
				got = string(d.Code) + " " + d.Source
				if d.Code == ir.LimitExceeded && !strings.Contains(d.Message, "32") && !strings.Contains(d.Message, "2000") {
					t.Errorf("%q does not name the limit", d.Message)
				}
			}
			if got != c.want || len(v.Refusal) > 1 || len(v.IR.Trace) != c.candidates {
				t.Errorf("refused with %q and %d candidates, want %q and %d\n%s", got, len(v.IR.Trace), c.want, c.candidates, messages(v))
			}
			conserved(t, v)
		})
	}
}

// TestBodiesOfImports is D-27 and D-101: what of a file is in a map, byte for byte.
func TestBodiesOfImports(t *testing.T) {
	const rest = "# One\nfirst\n\n## Inner\n\n    code\n# Two\nsecond\n"
	for name, c := range map[string]struct{ file, section, text, want string }{
		"a header":              {"f.md", "", "---\nowners: [a]\n---\n\n" + rest, rest},
		"none":                  {"f.md", "", rest, rest},
		"Windows line ends":     {"f.md", "", strings.ReplaceAll("---\nowners: [a]\n---\n"+rest, "\n", "\r\n"), rest},
		"a byte order mark":     {"f.md", "", "\ufeff---\nowners: [a]\n---\n" + rest, rest},
		"old line ends":         {"f.md", "", strings.ReplaceAll(rest, "\n", "\r"), rest},
		"no newline at the end": {"f.md", "", "text", "text\n"},
		"a section":             {"f.md", "One", "---\nowners: [a]\n---\n" + rest, "# One\nfirst\n\n## Inner\n\n    code\n"},
		"the last section":      {"f.md", "Two", "---\nowners: [a]\n---\n" + rest, "# Two\nsecond\n"},
		"a section in CRLF":     {"f.md", "Inner", strings.ReplaceAll(rest, "\n", "\r\n"), "## Inner\n\n    code\n"},
		"upper-case extension":  {"F.MD", "", "---\nowners: [a]\n---\nx\n", "x\n"},
		"other Markdown":        {"f.mdx", "", "---\nowners: [a]\n---\nx\n", "x\n"},
		"text":                  {"f.txt", "", "---\nowners: [a]\n---\nx\n", "x\n"},
		"YAML is no Markdown":   {"f.yaml", "", "---\nlayer: 99\n---\nx: y\n", "---\nlayer: 99\n---\nx: y\n"},
		"and may be broken":     {"f.yml", "", "---\n\t{", "---\n\t{\n"},
		"no extension":          {"LICENSE", "", "---\nnot: closed\n", "---\nnot: closed\n"},
		"code":                  {"f.rs", "", "+++\nfn x() {}\n\n\n", "+++\nfn x() {}\n"},
		"a section of a text":   {"notes", "One", rest, "# One\nfirst\n\n## Inner\n\n    code\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := c.file
			if c.section != "" {
				ref += "#" + c.section
			}
			root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nlayer: 2\nimports:\n  - local: "+ref+"\n---\nA\n-- a/"+c.file+" --\n")
			write(t, root, "a/"+c.file, c.text)
			v := evaluate(t, root, mapNode("a/x"))
			if len(v.Refusal) > 0 || len(v.IR.Layers.L2) != 2 {
				t.Fatalf("no such entry:\n%s\n%s", outline(v), messages(v))
			}
			e := v.IR.Layers.L2[1]
			if e.BodyMarkdown != c.want || e.Section != c.section || e.Source != "a/"+c.file {
				t.Errorf("%s#%s has the body %q, want %q", e.Source, e.Section, e.BodyMarkdown, c.want)
			}
			id := e.Source
			if c.section != "" {
				id += "#" + c.section
			}
			if e.ID != id {
				t.Errorf("the entry's id is %q, want %q", e.ID, id)
			}
			if len(v.IR.Warnings) > 0 {
				t.Errorf("warnings: %s", messages(v))
			}
			text := place(t, root)
			for _, r := range v.IR.Trace {
				if r.Source == e.Source && !bytes.Equal(text[r.ByteRange[0]:r.ByteRange[1]], []byte(c.want)) {
					t.Errorf("the range %v of the Markdown holds %q", *r.ByteRange, text[r.ByteRange[0]:r.ByteRange[1]])
				}
			}
		})
	}
}

// TestMaxTokensCountsImports is D-40: the cap holds for a file with what it imports
// into its layer, and for nothing else.
func TestMaxTokensCountsImports(t *testing.T) {
	const words = "one two three four five\n" // 6 tokens
	archive := func(limit int, extra string) string {
		return fmt.Sprintf(`
-- .mwp --
description = "d"
%s
-- a/.mwp-context.md --
---
layer: 2
max_tokens: %d
imports:
  - local: one.md
  - local: other.md
---
`+words+`
-- a/one.md --
---
imports:
  - local: two.md
---
`+words+`
-- a/two.md --
`+words+`
-- a/other.md --
---
layer: 3
---
`+words+words+words+`
-- a/b/.mwp-context.md --
---
layer: 2
imports:
  - local: three.md
---
`+words+`
-- a/b/three.md --
`+words+`
-- a/b/x --
`, extra, limit)
	}
	runScenarios(t, []scenario{
		{"as much as allowed", archive(18, ""), "a/b/x", nil, `
included L0/50 .mwp
included L2/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
included L2/49 a/one.md
included L2/49 a/b/three.md
included L2/48 a/two.md
included L3/49 a/other.md
`},
		{"one more", archive(17, ""), "a/b/x", nil, `
included L0/50 .mwp
included L2/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
included L2/49 a/one.md
included L2/49 a/b/three.md
included L2/48 a/two.md
included L3/49 a/other.md
error max_tokens_overrun a/.mwp-context.md
`},
		{"one more, under policy drop", archive(17, "[budgets]\npolicy = \"drop\""), "a/b/x", nil, `
included L0/50 .mwp
dropped_by_budget L2/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
dropped_by_budget L2/49 a/one.md
included L2/49 a/b/three.md
dropped_by_budget L2/48 a/two.md
included L3/49 a/other.md
warning max_tokens_overrun a/.mwp-context.md
`},
		{"an index without text has a cap for what it imports", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
max_tokens: 6
imports:
  - local: one.md
  - local: two.md
---
-- a/one.md --
` + words + `
-- a/two.md --
` + words + `
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
empty L1/50 a/.mwp-context.md
included L1/49 a/one.md
included L1/49 a/two.md
error max_tokens_overrun a/.mwp-context.md
`},
		{"an imported file has one too", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md
---
` + words + `
-- a/one.md --
---
max_tokens: 11
imports:
  - local: two.md
---
` + words + `
-- a/two.md --
` + words + `
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
included L1/48 a/two.md
error max_tokens_overrun a/one.md
`},
		{"what is deduplicated is not counted again", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 2
imports:
  - local: one.md
---
A
-- a/b/.mwp-context.md --
---
layer: 2
max_tokens: 7
imports:
  - workspace: a/one.md
---
` + words + `
-- a/one.md --
` + words + words + `
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L2/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
included L2/49 a/one.md
deduplicated L2/49 a/one.md (by a/.mwp-context.md)
`},
	})
}
