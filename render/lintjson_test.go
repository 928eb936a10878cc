package render

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

type jsonRow struct {
	Path     string          `json:"path"`
	Source   string          `json:"source"`
	Layer    int             `json:"layer"`
	Totals   map[string]int  `json:"totals"`
	Budgets  map[string]*int `json:"budgets"`
	Headroom *struct {
		Layer  int `json:"layer"`
		Tokens int `json:"tokens"`
	} `json:"headroom"`
	Largest *struct {
		Source string `json:"source"`
		Tokens int    `json:"tokens"`
	} `json:"largest"`
	Guards int `json:"guards"`
}

// row returns what r was printed from.
func (r *jsonRow) row() ir.TargetRow {
	t := ir.TargetRow{Path: r.Path, Source: r.Source, Layer: r.Layer, All: r.Totals["all"], Bytes: r.Totals["rendered_bytes"], Guards: r.Guards}
	for i := range ir.LayerCount {
		t.Tokens[i], t.Caps[i] = r.Totals[layerField(i)], r.Budgets[layerField(i)]
	}
	if r.Largest != nil {
		t.Largest, t.LargestTokens = r.Largest.Source, r.Largest.Tokens
	}
	return t
}

func rowsOf(rs []jsonRow) []ir.TargetRow {
	var rows []ir.TargetRow
	for i := range rs {
		rows = append(rows, rs[i].row())
	}
	return rows
}

type jsonReport struct {
	Findings []ir.Diagnostic `json:"findings"`
	Worst    []jsonRow       `json:"worst"`
	Counts   struct {
		Directories int `json:"directories"`
		Contexts    int `json:"contexts"`
		Anchors     int `json:"anchors"`
	} `json:"counts"`
	Summary map[string]int `json:"summary"`
}

// parse reads text strictly, so that a field that is not in v fails the test.
func parse(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !bytes.HasSuffix(text, []byte("}\n")) || bytes.HasSuffix(text, []byte("\n\n")) {
		t.Errorf("the text does not end with one newline: %q", text[max(0, len(text)-10):])
	}
	for i, c := range string(text) {
		if ir.Hidden(c) || c < 0x20 && c != '\n' {
			t.Errorf("character %#x at %d is not escaped", c, i)
		}
	}
}

// valid returns s as JSON carries it: U+FFFD for each byte that is not UTF-8.
func valid(s string) string { return string([]rune(s)) }

func TestLintJSONRoundTrip(t *testing.T) {
	for _, name := range append(slices.Clone(lintNames), "plain") {
		r, _, _ := named(name)
		var got jsonReport
		parse(t, LintJSON(r), &got)
		back := ir.LintReport{
			Findings: got.Findings, Worst: rowsOf(got.Worst),
			Directories: got.Counts.Directories, Contexts: got.Counts.Contexts, Anchors: got.Counts.Anchors,
		}
		want, _, _ := named(valid(name))
		ir.SortDiagnostics(want.Findings)
		ir.SortDiagnostics(back.Findings)
		if d := cmp.Diff(*want, back, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("LintJSON of %q (-want +got):\n%s", name, d)
		}
		errors, warnings, notes := r.Count()
		if d := cmp.Diff(map[string]int{"errors": errors, "warnings": warnings, "notes": notes}, got.Summary); d != "" {
			t.Errorf("summary (-want +got):\n%s", d)
		}
		for i := range r.Worst {
			layer, room, ok := r.Worst[i].Headroom()
			if h := got.Worst[i].Headroom; ok != (h != nil) || ok && (h.Layer != layer || h.Tokens != room) {
				t.Errorf("headroom of target %d = %v, want %d, %d, %v", i, h, layer, room, ok)
			}
		}
	}
}

// TestLintJSONIsCanonical: the text is what encoding/json would indent, and an empty
// report has no nulls.
func TestLintJSONIsCanonical(t *testing.T) {
	for name, text := range lintGoldens() {
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".sarif") {
			continue
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(b.Bytes(), text) {
			t.Errorf("%s is not indented by two spaces:\n%s", name, cmp.Diff(b.String(), string(text)))
		}
	}
	for what, text := range map[string][]byte{"LintJSON": LintJSON(&ir.LintReport{}), "SARIF": SARIF(&ir.LintReport{}, SARIFOptions{}), "LintDiffJSON": LintDiffJSON(nil)} {
		if bytes.Contains(text, []byte("null")) {
			t.Errorf("%s of nothing has a null:\n%s", what, text)
		}
	}
	if text := TargetsJSON(&TargetPage{}); !bytes.Contains(text, []byte(`"targets": []`)) || !bytes.Contains(text, []byte(`"next_cursor": null`)) {
		t.Errorf("TargetsJSON of nothing:\n%s", text)
	}
}

func TestTargetsJSONRoundTrip(t *testing.T) {
	for _, name := range lintNames {
		_, page, _ := named(name)
		var got struct {
			Targets    []jsonRow `json:"targets"`
			Total      int       `json:"total"`
			Truncated  bool      `json:"truncated"`
			NextCursor *string   `json:"next_cursor"`
		}
		parse(t, TargetsJSON(page), &got)
		_, want, _ := named(valid(name))
		back := &TargetPage{Rows: rowsOf(got.Targets), Total: got.Total, Truncated: got.Truncated, NextCursor: *got.NextCursor}
		if d := cmp.Diff(want, back); d != "" {
			t.Errorf("TargetsJSON of %q (-want +got):\n%s", name, d)
		}
	}
}

func TestLintDiffJSONRoundTrip(t *testing.T) {
	type cause struct {
		Source string `json:"source"`
		Tokens int    `json:"tokens"`
	}
	for _, name := range lintNames {
		_, _, ds := named(name)
		var got struct {
			Targets []struct {
				Path   string         `json:"path"`
				Before *int           `json:"before"`
				After  *int           `json:"after"`
				Change int            `json:"change"`
				Layers map[string]int `json:"layers"`
				Causes []cause        `json:"causes"`
			} `json:"targets"`
			Total map[string]int `json:"total"`
		}
		parse(t, LintDiffJSON(ds), &got)
		var back []ir.TargetDelta
		for _, g := range got.Targets {
			d := ir.TargetDelta{Path: g.Path, Before: -1, After: -1}
			if g.Before != nil {
				d.Before = *g.Before
			}
			if g.After != nil {
				d.After = *g.After
			}
			if g.Change != change(&d) || len(g.Layers) != ir.LayerCount {
				t.Errorf("target %+v: change or layers do not fit", g)
			}
			for i := range ir.LayerCount {
				d.Layers[i] = g.Layers[layerField(i)]
			}
			for _, c := range g.Causes {
				d.Causes = append(d.Causes, ir.TargetCause(c))
			}
			back = append(back, d)
		}
		_, _, want := named(valid(name))
		if d := cmp.Diff(sortedDeltas(want), back); d != "" {
			t.Errorf("LintDiffJSON of %q (-want +got):\n%s", name, d)
		}
		total := map[string]int{"targets": 5, "grew": 3, "shrank": 1, "tokens": 1051}
		if !maps.Equal(got.Total, total) {
			t.Errorf("total = %v, want %v", got.Total, total)
		}
	}
}
