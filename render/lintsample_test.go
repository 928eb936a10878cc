package render

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// lintGoldenDir is apart from testdata, every file of which belongs to TestGolden.
const lintGoldenDir = "lintdata"

func sampleReport() *ir.LintReport {
	return &ir.LintReport{
		Findings: []ir.Diagnostic{
			{Code: ir.LockInvalid, Severity: ir.SeverityError, Message: "the lock and the configuration disagree", Hint: "mwp import --update"},
			{Code: ir.ConfigUnknownKey, Severity: ir.SeverityWarning, Source: ".mwp/config.toml", Line: 3, Column: 1, Message: `unknown key "membrs"`, Hint: "did you mean members?"},
			{Code: ir.UnresolvedImport, Severity: ir.SeverityError, Source: "backend/.mwp-context.md", Line: 4, Column: 12, Message: "docs/gone.md is not in this map: no such file", Hint: "correct the path, or delete the line"},
			{Code: ir.UnresolvedImport, Severity: ir.SeverityError, Source: "backend/.mwp-context.md", Line: 9, Column: 12, Message: "docs/gone.md is not in this map: no such file", Hint: "correct the path, or delete the line"},
			{Code: ir.BudgetOverrun, Severity: ir.SeverityError, Source: "backend/src/api/.mwp-context.md", Message: "L2 has 620 tokens, cap 500"},
			{Code: ir.HiddenText, Severity: ir.SeverityWarning, Source: "docs/a b, 100%: #1?.md", Line: 2, Column: 7, Message: "found a zero-width space (U+200B), which a reader does not see: ign\\u{200b}ore", Hint: "delete it, or write what it stands for"},
			{Code: ir.RootContext, Severity: ir.SeverityNote, Source: ".mwp-context.md", Message: "a context file at the project root speaks in every map"},
			{Code: "house_rule", Severity: ir.SeverityNote, Source: "日本/é.md", Line: 1, Message: "a code of a later version"},
		},
		Worst: []ir.TargetRow{
			sampleRows()[1],
			{Path: "engine", Source: "engine/.mwp", Layer: 1, Tokens: [ir.LayerCount]int{120, 170, 0, 40, 0}, All: 330, Caps: [ir.LayerCount]*int{ref(800), ref(300), nil, nil, nil}, Largest: "engine/.mwp", LargestTokens: 170, Bytes: 1490},
			{Path: "docs", Layer: 0, Tokens: [ir.LayerCount]int{120}, All: 120},
		},
		Directories: 1032, Contexts: 214, Anchors: 3,
	}
}

func sampleRows() []ir.TargetRow {
	return []ir.TargetRow{
		{Path: ".", Source: ".mwp/config.toml", Layer: 0, Tokens: [ir.LayerCount]int{120}, All: 120, Bytes: 900, Caps: [ir.LayerCount]*int{ref(800), ref(300), ref(500)}, Largest: ".mwp/config.toml", LargestTokens: 120},
		{Path: "backend/src/api", Source: "backend/src/api/.mwp-context.md", Layer: 2, Tokens: [ir.LayerCount]int{120, 130, 620, 40, 0}, All: 910, Bytes: 5210, Caps: [ir.LayerCount]*int{ref(800), ref(300), ref(500), nil, nil}, Largest: "backend/src/api/.mwp-context.md", LargestTokens: 400, Guards: 12},
		{Path: "日本/ドキュメント", Layer: 1, Tokens: [ir.LayerCount]int{120, 9}, All: 129, Largest: ".mwp/config.toml", LargestTokens: 120, Guards: 1},
		{Path: "a/very/deep/directory/that/does/not/fit/into/the/first/column", Source: "a/.mwp-context.md", Layer: 1, Tokens: [ir.LayerCount]int{120, 300}, All: 420, Caps: [ir.LayerCount]*int{nil, ref(300)}},
	}
}

func sampleDeltas() []ir.TargetDelta {
	return []ir.TargetDelta{
		{Path: "docs", Before: 200, After: 200, Layers: [ir.LayerCount]int{0, -20, 20, 0, 0}, Causes: []ir.TargetCause{{Source: "docs/.mwp-context.md", Tokens: 0}}},
		{Path: "legacy", Before: 120, After: -1, Layers: [ir.LayerCount]int{-120}, Causes: []ir.TargetCause{{Source: "legacy/.mwp-context.md", Tokens: -120}}},
		{Path: "backend/src/api", Before: 790, After: 910, Layers: [ir.LayerCount]int{0, 0, 120, 0, 0}, Causes: []ir.TargetCause{{Source: "backend/src/api/.mwp-context.md", Tokens: 120}}},
		{Path: "new", Before: -1, After: 1, Layers: [ir.LayerCount]int{0, 1, 0, 0, 0}, Causes: []ir.TargetCause{{Source: "new/.mwp-context.md", Tokens: 1}}},
		{Path: "engine", Before: 100, After: 1150, Layers: [ir.LayerCount]int{0, 50, 0, 1000, 0}, Causes: []ir.TargetCause{
			{Source: "docs/b.md", Tokens: 100}, {Source: "docs/a.md", Tokens: 100}, {Source: "docs/c.md", Tokens: -150}, {Source: "docs/d.md", Tokens: 900}, {Source: "docs/e.md", Tokens: 50}, {Source: "docs/f.md", Tokens: 40}, {Source: "docs/g.md", Tokens: 10},
		}},
	}
}

func samplePage() *TargetPage {
	return &TargetPage{Rows: sampleRows(), Total: 1032, Truncated: true, NextCursor: "YS92ZXJ5"}
}

func lintGoldens() map[string][]byte {
	r := sampleReport()
	return map[string][]byte{
		"lint.txt":          Lint(r, LintOptions{}),
		"lint.colour.txt":   Lint(r, LintOptions{Color: true}),
		"lint.quiet.txt":    Lint(r, LintOptions{Quiet: true}),
		"lint.empty.txt":    Lint(&ir.LintReport{Directories: 1, Contexts: 1}, LintOptions{}),
		"lint.json":         LintJSON(r),
		"lint.empty.json":   LintJSON(&ir.LintReport{}),
		"lint.sarif":        SARIF(r, SARIFOptions{Version: "1.2.3", Anchor: ".mwp/config.toml"}),
		"lint.empty.sarif":  SARIF(&ir.LintReport{}, SARIFOptions{}),
		"lint.github.txt":   GitHub(r),
		"targets.txt":       Targets(samplePage(), TargetsOptions{}),
		"targets.empty.txt": Targets(&TargetPage{}, TargetsOptions{}),
		"targets.json":      TargetsJSON(samplePage()),
		"diff.txt":          LintDiff(sampleDeltas(), LintDiffOptions{}),
		"diff.empty.txt":    LintDiff(nil, LintDiffOptions{}),
		"diff.json":         LintDiffJSON(sampleDeltas()),
	}
}

func TestLintGolden(t *testing.T) {
	want := lintGoldens()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		file := filepath.Join(lintGoldenDir, name)
		if *update {
			if err := os.WriteFile(file, want[name], 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v (run the test with -update)", err)
			continue
		}
		if !bytes.Equal(want[name], golden) {
			t.Errorf("%s differs (-golden +got):\n%s", file, cmp.Diff(string(golden), string(want[name])))
		}
	}
	files, err := os.ReadDir(lintGoldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("%s/%s belongs to no test", lintGoldenDir, f.Name())
		}
	}
}

// lintNames are names and messages that try to be more than one line of text.
var lintNames = append(slices.Clone(hostileNames),
	"::error::owned", " ::stop-commands::x", "\u3000::add-mask::x", "x\n::error::owned", "x\r::warning file=a::b", "%0A::error::x", "a,line=9", "a:b/c", "/etc/passwd", "//host/x", "?q#f",
	"[click](https://example.org)", `quote"back\slash`, "\u2067rtl\u2069", "\x00", "https://example.org/x", "*", "../up", "a//b", "a/./b", strings.Repeat("long ", 60), "\xff", "    hint: run me",
)

// named returns a report, a page and a change with s in the place of every string.
func named(s string) (*ir.LintReport, *TargetPage, []ir.TargetDelta) {
	r := sampleReport()
	for i := range r.Findings {
		d := &r.Findings[i]
		d.Message, d.Hint = s, s
		if d.Source != "" {
			d.Source = s
		}
	}
	r.Findings[0].Code, r.Findings[0].Severity = ir.Code(s), s
	page := samplePage()
	page.NextCursor = s
	for _, rows := range [][]ir.TargetRow{r.Worst, page.Rows} {
		for i := range rows {
			rows[i].Path, rows[i].Source, rows[i].Largest = s, s, s
		}
	}
	ds := sampleDeltas()
	for i := range ds {
		ds[i].Path = s
		for j := range ds[i].Causes {
			ds[i].Causes[j].Source = s
		}
	}
	return r, page, ds
}

// TestLintTextIsTame: no name adds a line, moves a cursor or speaks to the runner of
// a workflow that prints the text.
func TestLintTextIsTame(t *testing.T) {
	texts := func(s string, color bool) map[string]string {
		r, page, ds := named(s)
		return map[string]string{
			"Lint":     string(Lint(r, LintOptions{Color: color})),
			"Quiet":    string(Lint(r, LintOptions{Color: color, Quiet: true})),
			"Targets":  string(Targets(page, TargetsOptions{Color: color})),
			"LintDiff": string(LintDiff(ds, LintDiffOptions{Color: color})),
		}
	}
	plain := texts("plain", false)
	for _, name := range lintNames {
		coloured := texts(name, true)
		for what, text := range texts(name, false) {
			if got, want := strings.Count(text, "\n"), strings.Count(plain[what], "\n"); got != want {
				t.Errorf("%s of %q has %d lines, want %d:\n%s", what, name, got, want, text)
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				if ir.EscapeControls(line) != line || !utf8.ValidString(line) {
					t.Errorf("%s of %q prints a control character: %q", what, name, line)
				}
				if strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("%s of %q prints a workflow command: %q", what, name, line)
				}
			}
			if got := uncoloured(coloured[what]); got != text {
				t.Errorf("%s of %q says something else in colour:\n%s", what, name, cmp.Diff(text, got))
			}
			if !strings.Contains(coloured[what], "\x1b[") {
				t.Errorf("%s of %q has no colour", what, name)
			}
		}
	}
}

func uncoloured(s string) string {
	for _, code := range []string{bold, red, green, yellow, "0"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}

// TestLintOrder: the order in which findings and changes were made shows nowhere.
func TestLintOrder(t *testing.T) {
	want := lintGoldens()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r, ds := sampleReport(), sampleDeltas()
		rng.Shuffle(len(r.Findings), func(i, j int) { r.Findings[i], r.Findings[j] = r.Findings[j], r.Findings[i] })
		rng.Shuffle(len(ds), func(i, j int) { ds[i], ds[j] = ds[j], ds[i] })
		for k := range ds {
			cs := ds[k].Causes
			rng.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
		}
		before := slices.Clone(r.Findings)
		got := map[string][]byte{
			"lint.txt":        Lint(r, LintOptions{}),
			"lint.json":       LintJSON(r),
			"lint.sarif":      SARIF(r, SARIFOptions{Version: "1.2.3", Anchor: ".mwp/config.toml"}),
			"lint.github.txt": GitHub(r),
			"diff.txt":        LintDiff(ds, LintDiffOptions{}),
			"diff.json":       LintDiffJSON(ds),
		}
		for name, text := range got {
			if !bytes.Equal(text, want[name]) {
				t.Fatalf("seed %d: %s depends on the order of its input:\n%s", seed, name, cmp.Diff(string(want[name]), string(text)))
			}
		}
		if d := cmp.Diff(before, r.Findings); d != "" {
			t.Fatalf("seed %d: a renderer changed the report:\n%s", seed, d)
		}
	}
}
