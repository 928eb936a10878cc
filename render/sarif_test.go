package render

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

type sarifText struct {
	Text string `json:"text"`
}

// sarifLog is the part of SARIF 2.1.0 that mwp writes; a property outside of it fails
// the strict parse.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Rules   []struct {
				ID    string    `json:"id"`
				Short sarifText `json:"shortDescription"`
				Full  sarifText `json:"fullDescription"`
				Help  sarifText `json:"help"`
			} `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Bases map[string]struct {
		URI         *string   `json:"uri"`
		Description sarifText `json:"description"`
	} `json:"originalUriBaseIds"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifResult struct {
	RuleID    string    `json:"ruleId"`
	RuleIndex *int      `json:"ruleIndex"`
	Level     string    `json:"level"`
	Message   sarifText `json:"message"`
	Locations []struct {
		Physical struct {
			Artifact struct {
				URI  string `json:"uri"`
				Base string `json:"uriBaseId"`
			} `json:"artifactLocation"`
			Region *struct {
				Line   int  `json:"startLine"`
				Column *int `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
	} `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

// readSARIF parses a log and checks what the standard and GitHub ask of it.
func readSARIF(t *testing.T, text []byte) *sarifRun {
	t.Helper()
	var log sarifLog
	parse(t, text, &log)
	if log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "/sarif-schema-2.1.0.json") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := &log.Runs[0]
	if run.Tool.Driver.Name != "mwp" || run.ColumnKind != "unicodeCodePoints" {
		t.Errorf("driver %q, columnKind %q", run.Tool.Driver.Name, run.ColumnKind)
	}
	if base, ok := run.Bases["%SRCROOT%"]; !ok || len(run.Bases) != 1 || base.URI != nil || base.Description.Text == "" {
		t.Errorf("originalUriBaseIds = %v, want %%SRCROOT%% without a place", run.Bases)
	}
	seen := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		if r.Short.Text == "" || r.Full.Text == "" || r.Help.Text == "" || seen[r.ID] {
			t.Errorf("rule %+v lacks a text or is there twice", r)
		}
		seen[r.ID] = true
	}
	prints := map[string]bool{}
	for i := range run.Results {
		checkResult(t, run, &run.Results[i])
		p := run.Results[i].Fingerprints["primaryLocationLineHash"]
		if p == "" || prints[p] || p != run.Results[i].Fingerprints["mwp/v1"] {
			t.Errorf("result %d: fingerprint %q is empty or there twice", i, p)
		}
		prints[p] = true
		delete(seen, run.Results[i].RuleID)
	}
	if len(seen) > 0 {
		t.Errorf("rules without a result: %v", seen)
	}
	return run
}

func checkResult(t *testing.T, run *sarifRun, r *sarifResult) {
	t.Helper()
	rules := run.Tool.Driver.Rules
	if r.RuleIndex == nil || *r.RuleIndex < 0 || *r.RuleIndex >= len(rules) || rules[*r.RuleIndex].ID != r.RuleID {
		t.Errorf("ruleIndex of %q does not lead to its rule", r.RuleID)
	}
	if !slices.Contains([]string{"error", "warning", "note"}, r.Level) {
		t.Errorf("level %q", r.Level)
	}
	if r.Message.Text == "" || strings.Contains(r.Message.Text, "](") {
		t.Errorf("message %q is empty or has a link", r.Message.Text)
	}
	if len(r.Locations) != 1 {
		t.Fatalf("%q has %d locations", r.RuleID, len(r.Locations))
	}
	place := r.Locations[0].Physical
	if place.Artifact.Base != "%SRCROOT%" {
		t.Errorf("uriBaseId %q", place.Artifact.Base)
	}
	checkRelative(t, place.Artifact.URI)
	if g := place.Region; g != nil && (g.Line < 1 || g.Column != nil && *g.Column < 1) {
		t.Errorf("region %+v", g)
	}
}

// checkRelative checks the grammar of a relative reference without a host: RFC 3986,
// section 4.2.
func checkRelative(t *testing.T, uri string) {
	t.Helper()
	const marks = "-._~!$&'()*+,;=:@/"
	for i := 0; i < len(uri); i++ {
		switch c := uri[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(marks, c) >= 0:
		case c == '%' && i+2 < len(uri) && isHex(uri[i+1]) && isHex(uri[i+2]):
		default:
			t.Errorf("%q is no URI: byte %#x at %d", uri, c, i)
		}
	}
	first, _, _ := strings.Cut(uri, "/")
	if uri == "" || uri[0] == '/' || strings.Contains(first, ":") {
		t.Errorf("%q is no relative path", uri)
	}
}

func TestSARIF(t *testing.T) {
	r := sampleReport()
	run := readSARIF(t, SARIF(r, SARIFOptions{Version: "1.2.3", Anchor: ".mwp/config.toml"}))
	if run.Tool.Driver.Version != "1.2.3" || len(run.Results) != len(r.Findings) {
		t.Errorf("version %q, %d results", run.Tool.Driver.Version, len(run.Results))
	}
	ds := sortedFindings(r.Findings)
	for i, got := range run.Results {
		d := ds[i]
		place := got.Locations[0].Physical
		line, column := 0, 0
		if g := place.Region; g != nil {
			if line = g.Line; g.Column != nil {
				column = *g.Column
			}
		}
		source, err := url.PathUnescape(place.Artifact.URI)
		if d.Source == "" {
			d.Source = ".mwp/config.toml"
		}
		if err != nil || got.RuleID != string(d.Code) || got.Level != d.Severity || source != d.Source || line != d.Line || column != d.Column {
			t.Errorf("result %d = %+v, want %+v", i, got, d)
		}
		if want := strings.TrimSuffix(d.Message+"\nhint: "+d.Hint, "\nhint: "); got.Message.Text != want {
			t.Errorf("message %d = %q, want %q", i, got.Message.Text, want)
		}
	}
}

func TestSARIFNames(t *testing.T) {
	for _, name := range lintNames {
		r, _, _ := named(name)
		run := readSARIF(t, SARIF(r, SARIFOptions{Version: name, Anchor: name}))
		for _, got := range run.Results {
			checkDecodes(t, got.Locations[0].Physical.Artifact.URI, name)
			if strings.Contains(got.Message.Text, "\x1b") || strings.Count(got.Message.Text, "\n") > 1 {
				t.Errorf("message %q of %q is not tame", got.Message.Text, name)
			}
		}
	}
	for _, c := range []struct{ path, want string }{
		{"a/b.md", "a/b.md"}, {"a b%20", "a%20b%2520"}, {"a:b/c", "./a:b/c"}, {"/etc/passwd", "./%2Fetc/passwd"}, {"//h/x", "./%2F%2Fh/x"},
		{"é", "%C3%A9"}, {"\xff\n", "%FF%0A"}, {"?q#f", "%3Fq%23f"}, {"/a:b", "./%2Fa:b"}, {"https://x", "./https://x"},
	} {
		if got := relativeURI(c.path); got != c.want {
			t.Errorf("relativeURI(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}

// checkDecodes checks that a reader who undoes the encoding has the name, byte by byte.
func checkDecodes(t *testing.T, uri, name string) {
	t.Helper()
	checkRelative(t, uri)
	got, err := url.PathUnescape(uri)
	if err != nil || got != name && got != "./"+name {
		t.Errorf("%q decodes to %q, %v, want %q", uri, got, err, name)
	}
}

func FuzzRelativeURI(f *testing.F) {
	for _, s := range lintNames {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s != "" {
			checkDecodes(t, relativeURI(s), s)
		}
	})
}

// TestSARIFWithoutAnchor: GitHub refuses a log with one result that is nowhere.
func TestSARIFWithoutAnchor(t *testing.T) {
	r := sampleReport()
	r.Findings[0].Line, r.Findings[0].Column = 7, 7
	place := readSARIF(t, SARIF(r, SARIFOptions{})).Results[0].Locations[0].Physical
	if place.Artifact.URI != ".mwp" || place.Region != nil {
		t.Errorf("a finding without a source is at %q, region %v, want .mwp alone", place.Artifact.URI, place.Region)
	}
	if strings.Contains(string(SARIF(sampleReport(), SARIFOptions{})), `"version": ""`) {
		t.Error("an unknown version is printed")
	}
}

func TestFingerprints(t *testing.T) {
	prints := func(ds ...ir.Diagnostic) []string {
		var out []string
		for _, r := range readSARIF(t, SARIF(&ir.LintReport{Findings: ds}, SARIFOptions{})).Results {
			out = append(out, r.Fingerprints["mwp/v1"])
		}
		return out
	}
	d := ir.Diagnostic{Code: ir.HiddenText, Severity: ir.SeverityError, Source: "a.md", Line: 3, Column: 4, Message: "m", Hint: "h"}
	first := prints(d)[0]
	moved := d
	moved.Line, moved.Column, moved.Hint, moved.Severity = 90, 1, "other", ir.SeverityWarning
	if got := prints(moved)[0]; got != first {
		t.Errorf("a finding that moved has fingerprint %s, want %s", got, first)
	}
	if got := prints(d, moved); got[0] != first || got[1] == first {
		t.Errorf("two equal findings have fingerprints %v, want %s and another", got, first)
	}
	for what, change := range map[string]func(*ir.Diagnostic){
		"code":     func(d *ir.Diagnostic) { d.Code = ir.LinkLoop },
		"source":   func(d *ir.Diagnostic) { d.Source = "b.md" },
		"message":  func(d *ir.Diagnostic) { d.Message = "n" },
		"boundary": func(d *ir.Diagnostic) { d.Source, d.Message = "a.mdm", "" },
	} {
		other := d
		change(&other)
		sums := map[string]int{}
		if fingerprint(&other, sums) == fingerprint(&d, sums) || len(sums) != 2 {
			t.Errorf("another %s gives the same fingerprint", what)
		}
	}
}
