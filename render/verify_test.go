package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func TestVerifyOutcomes(t *testing.T) {
	const ran = "2026-05-17T10:42:11.250Z"
	for _, c := range []struct {
		v       ir.Verification
		ran     bool
		want    string
		element string
	}{
		{ir.Verification{Status: ir.Passed, ExitCode: ref(0), DurationMS: 1204, RanAt: ran}, true, "✓ passed 1.2 s", ""},
		{ir.Verification{Status: ir.Passed, ExitCode: ref(0), DurationMS: 1204, RanAt: ran}, false, "✓ passed 2026-05-17T10:42Z", ""},
		{ir.Verification{Status: ir.Passed}, true, "✓ passed", ""},
		{ir.Verification{Status: ir.FailedCheck, ExitCode: ref(1), DurationMS: 12, RanAt: ran}, true, "✗ failed: exited 1, 12 ms", "failure"},
		{ir.Verification{Status: ir.FailedCheck, ExitCode: ref(1), DurationMS: 12, RanAt: ran}, false, "✗ failed: exited 1, 2026-05-17T10:42Z", "failure"},
		{ir.Verification{Status: ir.FailedCheck, Reason: ir.ReasonTimeout, DurationMS: 600_000, RanAt: ran}, true, "✗ failed: ran past its time limit, 10 min 0 s", "failure"},
		{ir.Verification{Status: ir.FailedCheck, Reason: ir.ReasonSignal, RanAt: ran}, true, "✗ failed: was ended by a signal, 0 ms", "failure"},
		{ir.Verification{Status: ir.FailedCheck, Reason: ir.ReasonScriptAbsent}, false, "✗ failed: does not exist", "failure"},
		{ir.Verification{Status: ir.Stale, Reason: ir.ReasonExpired, RanAt: ran}, false, "– not run: expired", "skipped"},
		{ir.Verification{Status: ir.Stale, Reason: ir.ReasonFilesChanged}, false, "– not run: files changed", "skipped"},
		{ir.Verification{Status: ir.Unverified, Reason: ir.ReasonNeverRun}, false, "– not run", "skipped"},
		{ir.Verification{Status: ir.Unverified, Reason: ir.ReasonForeign}, false, "– not run: its record was made with another key", "skipped"},
		{ir.Verification{Status: ir.Unverified, Reason: ir.ReasonNotTrusted}, false, "– not run: not trusted", "error"},
		{ir.Verification{Status: ir.Unverified, Reason: ir.ReasonNotFound}, true, "– not run: command not found", "error"},
		{ir.Verification{Status: ir.Unverified, Reason: ir.ReasonNotExecutable}, true, "– not run: not executable", "error"},
		{ir.Verification{Status: ir.Unverified, Reason: "added_later"}, false, "– not run: added later", "skipped"},
	} {
		v := c.v
		v.Guard, v.Cwd, v.DeclaredIn = "script npm:x", "web", "web/.mwp-context.md:7"
		r := &ir.VerifyReport{Guards: []ir.VerifiedGuard{{Verification: v, Ran: c.ran}}}
		line, _, _ := strings.Cut(string(Verify(r, VerifyOptions{})), "\n")
		if want := c.want + "  script npm:x  in web  web/.mwp-context.md:7"; line != want {
			t.Errorf("Verify(%+v) = %q, want %q", c.v, line, want)
		}
		if got := junitElement(&r.Guards[0]); got != c.element {
			t.Errorf("junitElement(%+v) = %q, want %q", c.v, got, c.element)
		}
	}
}

func TestVerifySummary(t *testing.T) {
	with := func(statuses ...string) *ir.VerifyReport {
		r := &ir.VerifyReport{}
		for _, s := range statuses {
			r.Guards = append(r.Guards, ir.VerifiedGuard{Verification: ir.Verification{Guard: "g", Status: s}})
		}
		return r
	}
	troubled := func(r *ir.VerifyReport) *ir.VerifyReport {
		r.Problems = make([]ir.Diagnostic, 2)
		return r
	}
	// A person opens the gate and does not make a guard pass (D-84).
	overridden := func(r *ir.VerifyReport) *ir.VerifyReport {
		r.Guards[len(r.Guards)-1].Override = &ir.Override{Reason: "known", Until: "2026-05-17T14:41:00Z"}
		return r
	}
	for _, c := range []struct {
		r     *ir.VerifyReport
		want  string
		color string
		ok    bool
	}{
		{with(), "nothing to check", green, true},
		{with(ir.Passed, ir.Passed), "2 passed, 0 failed, 0 not run", green, true},
		{with(ir.Passed, ir.FailedCheck, ir.Stale, ir.Unverified), "1 passed, 1 failed, 2 not run", red, false},
		{with(ir.Passed, ir.Stale), "1 passed, 0 failed, 1 not run", yellow, false},
		{with(ir.Unverified), "0 passed, 0 failed, 1 not run", yellow, false},
		{troubled(with()), "nothing to check; errors that may hide guards: 2", red, false},
		{troubled(with(ir.Passed)), "1 passed, 0 failed, 0 not run; errors that may hide guards: 2", red, false},
		{overridden(with(ir.Passed, ir.FailedCheck)), "1 passed, 1 failed, 0 not run", red, true},
		{troubled(overridden(with(ir.FailedCheck))), "0 passed, 1 failed, 0 not run; errors that may hide guards: 2", red, false},
	} {
		last := func(o VerifyOptions) string {
			lines := strings.Split(strings.TrimSuffix(string(Verify(c.r, o)), "\n"), "\n")
			return lines[len(lines)-1]
		}
		if got := last(VerifyOptions{}); got != c.want || c.r.OK() != c.ok {
			t.Errorf("last line %q, OK %v; want %q, %v", got, c.r.OK(), c.want, c.ok)
		}
		if got, want := last(VerifyOptions{Color: true}), "\x1b["+c.color+"m"+c.want+"\x1b[0m"; got != want {
			t.Errorf("last line in colour %q, want %q", got, want)
		}
	}
}

// TestVerifyAligns: columns stand below one another, except behind what is too wide.
func TestVerifyAligns(t *testing.T) {
	r := sampleVerifyReport()
	r.Guards[4].Guard = "日本語のテスト"
	column := -1
	for line := range strings.SplitSeq(string(Verify(r, VerifyOptions{})), "\n") {
		before, _, ok := strings.Cut(line, "  in ")
		if !ok || strings.HasPrefix(line, " ") {
			continue
		}
		if n := displayWidth(before); column < 0 {
			column = n
		} else if n != column {
			t.Errorf("the directory begins in column %d, want %d: %q", n, column, line)
		}
	}
	if column < 0 {
		t.Error("no line has a directory")
	}
	wide := &ir.VerifyReport{Guards: []ir.VerifiedGuard{{Verification: ir.Verification{Guard: "日本", Status: ir.Passed}}}}
	if text := string(Verify(wide, VerifyOptions{})); !strings.HasPrefix(text, "✓ passed  日本  in (root)\n") {
		t.Errorf("a column is as wide as what it shows: %q", text)
	}
	r.Guards[2].Guard = strings.Repeat("w", 500)
	for line := range strings.SplitSeq(string(Verify(r, VerifyOptions{})), "\n") {
		if strings.Contains(line, "cargo fmt") && len(line) > 140 {
			t.Errorf("a long command widens the others: %q", line)
		}
	}
}

func TestVerifyDetails(t *testing.T) {
	text := string(Verify(sampleVerifyReport(), VerifyOptions{}))
	for _, s := range []string{
		"\n    for: engine/.mwp-context.md, engine/rules.md\n    owner: team-engine, ann\n    log: /home/ann/.local/state/mwp/logs/3f2a.log\n    hint: mend",
		"\n    why: it is no builtin and not in [trust] allowed_guards\n    hint: allowed_guards = [\"./deploy-check.sh --all\"]\n",
		"\n    overridden: until 2026-05-17T14:41Z: the runner is down\n",
		"\n\nnote: 2 guards were left alone: they are current\n\n3 passed, 4 failed, 4 not run; errors that may hide guards: 1\n",
		"  unit tests               in engine  engine/.mwp-context.md:4\n    command: pytest\n    hint: install pytest\n",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("Verify lacks %q:\n%s", s, text)
		}
	}
	if strings.Contains(text, "why: cargo test is one of mwp's own") || strings.Count(text, "log:") != 1 {
		t.Error("Verify says more than is needed of guards that passed, or why one that ran was trusted")
	}
}

// hostileReport puts s wherever a text from the workspace can stand.
func hostileReport(s string) *ir.VerifyReport {
	r := &ir.VerifyReport{Targets: []string{s}, Notes: []string{s}, Problems: []ir.Diagnostic{{Code: ir.FrontmatterInvalid, Source: s, Line: 1, Message: s, Hint: s}}}
	for i, status := range []string{ir.Passed, ir.FailedCheck, ir.Stale, ir.Unverified} {
		r.Guards = append(r.Guards, ir.VerifiedGuard{
			Verification: ir.Verification{
				Guard: s, Name: s, Status: status, RanAt: s, CacheUntil: s, Fingerprint: s, Key: s, Cwd: s, DeclaredIn: s, Reason: s,
				Override: &ir.Override{Reason: s, Until: s},
			},
			Ran: i%2 == 0, Trust: s, Why: s, Sources: []string{s, s + "2"}, Owners: []string{s}, Log: s, Detail: s, Hint: s,
		})
	}
	return r
}

var hostileTexts = append([]string{"]]>", "<!--", "&lt;", "a\x00b", "\ufffe\uffff", "\U0001fffe", "\xed\xa0\x80", "::error::x", "\n\n3 passed, 0 failed, 0 not run"}, hostileNames...)

func TestVerifyIsTame(t *testing.T) {
	for _, s := range hostileTexts {
		for _, o := range []VerifyOptions{{}, {ASCII: true}, {Keys: true}} {
			text := string(Verify(hostileReport(s), o))
			lines := strings.Count(string(Verify(hostileReport("plain"), o)), "\n")
			if n := strings.Count(text, "\n"); n != lines {
				t.Errorf("Verify of %q has %d lines, want %d", s, n, lines)
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				if ir.EscapeControls(line) != line || strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("Verify of %q prints %q", s, line)
				}
			}
			o.Color = true
			coloured := string(Verify(hostileReport(s), o))
			if got := uncoloured(coloured); got != text || coloured == text {
				t.Errorf("colour says something else for %q:\n%s", s, cmp.Diff(text, got))
			}
		}
	}
	for _, s := range string(Verify(sampleVerifyReport(), VerifyOptions{ASCII: true})) {
		if s > 0x7e {
			t.Errorf("Verify in ASCII prints %q", s)
		}
	}
}

// junitSuites is what a CI service reads.
type junitSuites struct {
	Name   string `xml:"name,attr"`
	Tests  int    `xml:"tests,attr"`
	Suites []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
		Cases    []struct {
			Class   string        `xml:"classname,attr"`
			Name    string        `xml:"name,attr"`
			Time    string        `xml:"time,attr"`
			Failure *junitDetails `xml:"failure"`
			Error   *junitDetails `xml:"error"`
			Skipped *junitDetails `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type junitDetails struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func parseJUnit(t testing.TB, text []byte) (s junitSuites) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return s
}

// called is what a report shows for a guard.
func called(g *ir.VerifiedGuard) string {
	if g.Name != "" {
		return g.Name
	}
	return g.Guard
}

func TestJUnit(t *testing.T) {
	r := sampleVerifyReport()
	s := parseJUnit(t, JUnit(r))
	suite := s.Suites[0]
	if s.Name != "mwp" || s.Tests != 12 || suite.Name != "mwp" || suite.Tests != 12 || suite.Failures != 4 || suite.Errors != 3 || suite.Skipped != 2 || suite.Time != "604.625" {
		t.Errorf("suite %+v", suite)
	}
	failures, errors, skipped := 0, 0, 0
	for i, c := range suite.Cases {
		if i == len(r.Guards) {
			problem := &junitDetails{Message: `layer: expected 0 to 4, found "x"`, Type: "frontmatter_invalid"}
			if diff := cmp.Diff(problem, c.Error); diff != "" || c.Name != "frontmatter_invalid engine/src/.mwp-context.md:2:8" || c.Class != "engine/src/.mwp-context.md" {
				t.Errorf("the problem is the case %q of %q (-want +got):\n%s", c.Name, c.Class, diff)
			}
		} else if c.Name != called(&r.Guards[i]) || c.Class != "engine/.mwp-context.md" {
			t.Errorf("case %d is %q of %q", i, c.Name, c.Class)
		}
		for n, d := range map[*int]*junitDetails{&failures: c.Failure, &errors: c.Error, &skipped: c.Skipped} {
			if d != nil {
				*n++
			}
		}
	}
	if failures != 4 || errors != 3 || skipped != 2 {
		t.Errorf("%d failures, %d errors, %d skipped; want 4, 3, 2 as the suite says", failures, errors, skipped)
	}
	want := &junitDetails{
		Message: "failed: exited 101", Type: "exit_status",
		Text: "cargo test in engine\ndeclared: engine/.mwp-context.md:4\nfor: engine/.mwp-context.md, engine/rules.md\nowner: team-engine, ann\n" +
			"log: /home/ann/.local/state/mwp/logs/3f2a.log\nhint: mend what it checks, then run `mwp verify engine/src`",
	}
	if text := suite.Cases[9].Error.Text; !strings.HasPrefix(text, "pytest in engine\n") {
		t.Errorf("a case with a name begins with %q, want its command", text)
	}
	if d := cmp.Diff(want, suite.Cases[1].Failure); d != "" || suite.Cases[1].Time != "3.421" {
		t.Errorf("time %s, failure (-want +got):\n%s", suite.Cases[1].Time, d)
	}
}

// TestVerifyJSONHasTheFieldsOfMaps: a guard of a report begins as a verification of a
// map reads, field by field.
func TestVerifyJSONHasTheFieldsOfMaps(t *testing.T) {
	next := 700_000
	var v ir.Verification
	mark(reflect.ValueOf(&v).Elem(), &next)
	var inMap struct {
		Verifications []json.RawMessage `json:"verifications"`
	}
	var inReport struct {
		Guards []json.RawMessage `json:"guards"`
	}
	for text, into := range map[string]any{
		string(ir.AppendJSON(nil, &ir.Map{Verifications: []ir.Verification{v, {}}}, ir.FullForm)):                        &inMap,
		string(ir.AppendVerifyJSON(nil, &ir.VerifyReport{Guards: []ir.VerifiedGuard{{Verification: v, Ran: true}, {}}})): &inReport,
	} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for i := range inMap.Verifications {
		one, other := new(bytes.Buffer), new(bytes.Buffer)
		if json.Compact(one, inMap.Verifications[i]) != nil || json.Compact(other, inReport.Guards[i]) != nil {
			t.Fatal("no JSON")
		}
		if fields := strings.TrimSuffix(one.String(), "}") + ","; !strings.HasPrefix(other.String(), fields) {
			t.Errorf("a guard of a report is\n%s\nand does not begin with\n%s", other, fields)
		}
	}
}

func TestDeclaringFile(t *testing.T) {
	for in, want := range map[string]string{
		"dev/.mwp-context.md:12": "dev/.mwp-context.md", "a:b/c.md:1": "a:b/c.md", "a:b": "a:b", "x": "x", ":1": ":1", "": "entry.md",
	} {
		g := &ir.VerifiedGuard{Verification: ir.Verification{DeclaredIn: in}, Sources: []string{"entry.md"}}
		if got := declaringFile(g); got != want {
			t.Errorf("declaringFile(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[int64]string{0: "0.000", 7: "0.007", 84: "0.084", 3421: "3.421", 600_000: "600.000"} {
		if got := seconds(in); got != want {
			t.Errorf("seconds(%d) = %s, want %s", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[int64]string{-5: "0 ms", 0: "0 ms", 999: "999 ms", 1000: "1.0 s", 59_999: "59.9 s", 60_000: "1 min 0 s", 605_400: "10 min 5 s"} {
		if got := duration(in); got != want {
			t.Errorf("duration(%d) = %s, want %s", in, got, want)
		}
	}
}

// FuzzVerify: whatever a guard is called, the XML parses and gives the name back as a
// terminal shows it, the JSON parses, and the text has the same lines.
func FuzzVerify(f *testing.F) {
	for _, s := range hostileTexts {
		f.Add(s)
	}
	lines := strings.Count(string(Verify(hostileReport("plain"), VerifyOptions{})), "\n")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || len(s) > briefBytes {
			return
		}
		r := hostileReport(s)
		text := JUnit(r)
		if !utf8.Valid(text) {
			t.Fatal("JUnit is not UTF-8")
		}
		suites := parseJUnit(t, text)
		shown := func(s string) string {
			return strings.NewReplacer("\ufffe", `\u{fffe}`, "\uffff", `\u{ffff}`).Replace(ir.EscapeControls(s))
		}
		for i, c := range suites.Suites[0].Cases {
			want, message := shown(s), ""
			if i == len(r.Guards) {
				want, message = shown("frontmatter_invalid "+r.Problems[0].Place()), shown(s)
			}
			if c.Name != want || message != "" && (c.Error == nil || c.Error.Message != message) {
				t.Errorf("JUnit names %q, want %q", c.Name, want)
			}
		}
		if n := len(suites.Suites[0].Cases); n != len(r.Guards)+len(r.Problems) {
			t.Errorf("JUnit has %d cases", n)
		}
		if report := ir.AppendVerifyJSON(nil, r); !json.Valid(report) {
			t.Errorf("no JSON: %s", report)
		}
		if n := strings.Count(string(Verify(r, VerifyOptions{})), "\n"); n != lines {
			t.Errorf("Verify has %d lines, want %s", n, strconv.Itoa(lines))
		}
	})
}
