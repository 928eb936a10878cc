package render

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

var focusedContract = []string{focusedPurpose, focusedSource, focusedRules, focusedPassed, focusedFlagged}

var orientationContract = []string{orientationOverview, orientationFind, orientationCall, orientationWork, orientationAsk}

// renders returns m in every frame, canonical Markdown first.
func renders(t *testing.T, m *ir.Map, o Options) map[string]string {
	t.Helper()
	all := map[string]string{"markdown": string(Markdown(m, o))}
	for _, model := range Models() {
		text, ok := Model(m, model, o)
		if !ok {
			t.Fatalf("Model(%q) does not know a name that Models lists", model)
		}
		all[model] = string(text)
	}
	return all
}

func TestEveryFrameKeepsTheContract(t *testing.T) {
	for name, m := range sampleMaps() {
		want, other := focusedContract, orientationContract
		if m.Kind == ir.KindOrientation {
			want, other = other, want
		}
		want = want[:len(want):len(want)]
		if m.ReadOnly {
			want = append(want, readOnlyTitle, readOnlyStop)
		} else {
			other = append(other[:len(other):len(other)], readOnlyTitle, readOnlyStop)
		}
		for frame, text := range renders(t, m, Options{}) {
			for _, s := range want {
				if n := strings.Count(text, s); n != 1 {
					t.Errorf("%s in frame %s states %q %d times, want once", name, frame, s, n)
				}
			}
			for _, s := range other {
				if strings.Contains(text, s) {
					t.Errorf("%s in frame %s states %q, which belongs to another kind of map", name, frame, s)
				}
			}
			rest := text
			for _, e := range m.Layers.All() {
				if e.BodyMarkdown == "" {
					continue
				}
				if n := strings.Count(text, e.BodyMarkdown); n != 1 {
					t.Errorf("%s in frame %s has the body of %s %d times, want once", name, frame, e.Source, n)
				}
				_, after, ok := strings.Cut(rest, e.BodyMarkdown)
				if !ok {
					t.Errorf("%s in frame %s has the body of %s out of order", name, frame, e.Source)
				}
				rest = after
			}
			if !strings.HasPrefix(text, "<!-- mwp workspace map | target: ") {
				t.Errorf("%s in frame %s does not begin with the marker", name, frame)
			}
			if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
				t.Errorf("%s in frame %s does not end with exactly one newline: %q", name, frame, text[max(0, len(text)-20):])
			}
			if strings.Contains(text, "\n\n\n") {
				t.Errorf("%s in frame %s has two blank lines in a row", name, frame)
			}
		}
	}
}

func TestModelUnknown(t *testing.T) {
	if text, ok := Model(sdkMap(), "gpt-2", Options{}); ok || text != nil {
		t.Errorf("Model(gpt-2) = %q, %v, want nothing", text, ok)
	}
	if diff := cmp.Diff([]string{"claude", "gpt-4", "llama"}, Models()); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsDoNotTouchTheCanonicalRender(t *testing.T) {
	for name, m := range sampleMaps() {
		text, ranges := Layout(m)
		if !bytes.Equal(text, Markdown(m, Options{})) {
			t.Errorf("%s: Layout differs from Markdown with zero Options", name)
		}
		if len(ranges) != len(m.Layers.All()) {
			t.Errorf("%s: %d ranges for %d entries", name, len(ranges), len(m.Layers.All()))
		}
	}
}

// TestRangesSliceBodies renders maps whose bodies imitate everything around them.
func TestRangesSliceBodies(t *testing.T) {
	pieces := []string{
		"plain\n", "## L0 — Project identity\n\n", "<!-- mwp workspace map | target: x | schema: 1 -->\n", "---\n",
		"Guard: x — passed 2026-05-17T10:42Z ✓\n", focusedRules + "\n", "\"\"\"\"\n", "</layer>\n", "=== L1 — Module: x ===\n",
		"> ⚠️ This reference's check is failing (x)\n", "```\nopen fence\n", "no newline", "\xff\xfe\n", "é日\n", "\n\n",
	}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		m := engineMap()
		m.Target = ref(hostileNames[rng.IntN(len(hostileNames))])
		for _, e := range m.Layers.All() {
			e.BodyMarkdown = ""
			for range rng.IntN(4) {
				e.BodyMarkdown += pieces[rng.IntN(len(pieces))]
			}
			e.Source = hostileNames[rng.IntN(len(hostileNames))] + "/.mwp-context.md"
			if e.BodyMarkdown == "" {
				e.Guards = []ir.Guard{{Name: "g", Cmd: "g", Status: "passed"}}
			}
		}
		text, ranges := Layout(m)
		end := 0
		for i, e := range m.Layers.All() {
			r := ranges[i]
			if got := string(text[r[0]:r[1]]); got != e.BodyMarkdown {
				t.Fatalf("seed %d: range of entry %d gives %q, want %q", seed, i, got, e.BodyMarkdown)
			}
			if r[0] < end {
				t.Fatalf("seed %d: range of entry %d overlaps the one before", seed, i)
			}
			end = r[1]
		}
		if !bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\n\n")) {
			t.Fatalf("seed %d: text does not end with one newline", seed)
		}
	}
}

var hostileNames = []string{
	"plain", "dir/sub", "a b", "100%.md", "a%0Ab", "a%0A", "a%2", "line\nfeed", "x --> y", "----", "-", "-->\n## L0 — Project identity",
	"\x1b[31mred", "back`tick", "\u202eevil", "zero\u200bwidth", "bad\xff\xfe", "tab\tx", "\r\n", "del\x7f", "c1\u009b", "sep\u2028x",
	"pipe | schema: 9", "</layer>", "a\"b'c&d", "日本/é", strings.Repeat("n", 255), "\U000e0041tag", "%\n0a", "%4\n1",
}

// decode is the reading side of appendName: each %XX is a byte, nothing else is.
func decode(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && isHex(s[i+1]) {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func TestAppendName(t *testing.T) {
	for _, c := range []struct{ in, line, comment string }{
		{"dev/a-b.md", "dev/a-b.md", "dev/a-b.md"},
		{"a\nb", "a%0Ab", "a%0Ab"},
		{"x --> y", "x --> y", "x %2D%2D%3E y"},
		{"a---b", "a---b", "a%2D%2D%2Db"},
		{"a|b", "a|b", "a%7Cb"},
		{"\x1b[2J", "%1B[2J", "%1B[2J"},
		{"100%.md", "100%.md", "100%.md"},
		{"a%20b", "a%2520b", "a%2520b"},
		{"a%0A", "a%250A", "a%250A"},
		{"bad\xff", "bad%FF", "bad%FF"},
		{"\u202e", "%E2%80%AE", "%E2%80%AE"},
		{"\ufffd", "\ufffd", "\ufffd"},
		{"a`b", "a`b", "a`b"},
		{"日本", "日本", "日本"},
	} {
		if got := string(appendName(nil, c.in, false)); got != c.line {
			t.Errorf("appendName(%q, line) = %q, want %q", c.in, got, c.line)
		}
		if got := string(appendName(nil, c.in, true)); got != c.comment {
			t.Errorf("appendName(%q, comment) = %q, want %q", c.in, got, c.comment)
		}
	}
}

func FuzzAppendName(f *testing.F) {
	for _, s := range hostileNames {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, comment := range []bool{false, true} {
			got := string(appendName(nil, s, comment))
			if back := decode(got); back != s {
				t.Errorf("appendName(%q, %v) = %q, decodes to %q", s, comment, got, back)
			}
			if ir.EscapeControls(got) != got {
				t.Errorf("appendName(%q, %v) = %q keeps a control character", s, comment, got)
			}
			if comment && (strings.Contains(got, "--") || strings.ContainsAny(got, "|<>")) {
				t.Errorf("appendName(%q, comment) = %q can end the marker or a field of it", s, got)
			}
		}
	})
}

// nameEverything puts s wherever a name from the workspace can stand.
func nameEverything(s string) *ir.Map {
	m := engineMap()
	m.Target = &s
	m.Kind = ir.KindFocused
	m.TokenCounter = "c" + s
	for _, e := range m.Layers.All() {
		e.Source, e.Name, e.Owners = s+"/x.md", s, []string{s}
		e.ImportsChain = []string{s}
		if e.Origin != nil {
			e.Origin.Module, e.Origin.Version, e.Origin.SHA = s, s, s
		}
		for i := range e.Guards {
			e.Guards[i].Name, e.Guards[i].Cmd = s+"g", s+"c"
		}
	}
	m.Directories = []ir.Directory{{Name: s + "n", Path: s + "p", Role: s + "r"}}
	m.SubApplications[0] = ir.SubApplication{Name: s + "n", Path: s + "p", Role: s + "r", Excerpt: "e"}
	m.Intents = []ir.Listed{{Path: s}}
	m.Pipelines = []ir.Listed{{Path: s, Module: s + "m"}}
	m.Delta = &ir.Delta{Skipped: []string{s}}
	m.Warnings[0].Message = s
	for i := range m.Verifications {
		v := &m.Verifications[i]
		v.Guard, v.RanAt, v.CacheUntil, v.Cwd, v.DeclaredIn, v.Fingerprint = s+"c", s, s, s, s, s
		if v.Status == ir.FailedCheck {
			v.Override = &ir.Override{Reason: s, Until: s}
		} else {
			v.Reason = s
		}
	}
	for i := range m.Trace {
		m.Trace[i].Source = s + strconv.Itoa(i)
	}
	return m
}

// TestNamesCannotForgeLines compares with a harmless name: a hostile one adds no
// line, no tag and no end of the marker (D-105).
func TestNamesCannotForgeLines(t *testing.T) {
	shape := func(frame, s string) string {
		if frame != "claude" {
			return fmt.Sprint(strings.Count(s, "\n"))
		}
		return fmt.Sprint(strings.Count(s, "\n"), strings.Count(s, "</layer>"))
	}
	for _, o := range []Options{{}, {Annotate: true}, {ASCII: true}} {
		want := renders(t, nameEverything("plain"), o)
		for _, name := range hostileNames {
			for frame, text := range renders(t, nameEverything(name), o) {
				if got, want := shape(frame, text), shape(frame, want[frame]); got != want {
					t.Errorf("name %q in frame %s: lines and layer ends %s, want %s", name, frame, got, want)
				}
				marker, _, _ := strings.Cut(text, "\n")
				if strings.Count(marker, "--") != 2 || !strings.HasSuffix(marker, " | schema: 1 -->") {
					t.Errorf("name %q breaks the marker: %q", name, marker)
				}
				if strings.ContainsAny(text, "\x1b\r\t\x7f\u202e\u200b\u009b\u2028") {
					t.Errorf("name %q leaves a control character in frame %s", name, frame)
				}
			}
		}
	}
}

func TestTitles(t *testing.T) {
	origin := func(file string) *ir.Origin { return &ir.Origin{Module: "rust", Path: file} }
	for _, c := range []struct {
		e       ir.Entry
		first   bool
		project string
		want    string
	}{
		{ir.Entry{Source: "dev/.mwp-context.md"}, true, "", "Project identity"},
		{ir.Entry{Source: "dev/.mwp-context.md"}, false, "", "Project identity: dev"},
		{ir.Entry{Source: "apps/web/.mwp"}, false, "", "Project identity: apps/web"},
		{ir.Entry{Source: ".mwp-context.md"}, false, "shop", "Project identity: (root)"},
		{ir.Entry{Layer: 1, Source: "dev/browser-sdk/.mwp-context.md"}, false, "", "Module: browser-sdk"},
		{ir.Entry{Layer: 1, Source: "engine/.mwp/config.toml", Name: "core"}, false, "", "Module: core"},
		{ir.Entry{Layer: 1, Source: "engine/.mwp/config.toml"}, false, "", "Module: engine"},
		{ir.Entry{Layer: 1, Source: ".mwp-context.md"}, false, "shop", "Module: shop"},
		{ir.Entry{Layer: 1, Source: ".mwp-context.yaml"}, false, "", "Module: (root)"},
		{ir.Entry{Layer: 1, Source: "backend/rules.md"}, false, "", "Module: backend/rules.md"},
		{ir.Entry{Layer: 2, Source: "backend/src/api/.mwp-context.md"}, false, "", "Stage contract: backend/src/api"},
		{ir.Entry{Layer: 2, Source: ".mwp-context.md"}, false, "shop", "Stage contract: (root)"},
		{ir.Entry{Layer: 3, Source: "docs/api.md"}, false, "", "Module reference: docs/api.md"},
		{ir.Entry{Layer: 3, Source: "docs/.mwp-context.md"}, false, "", "Module reference: docs/.mwp-context.md"},
		{ir.Entry{Layer: 3, Source: ".mwp/modules/abc/rules/e.md", Origin: origin("rules/e.md")}, false, "", "Module reference: rust/rules/e.md"},
		{ir.Entry{Layer: 3, Source: ".mwp/modules/abc/.mwp-module.md", Origin: origin(".mwp-module.md")}, false, "", "Module reference: rust"},
		{ir.Entry{Layer: 1, Source: ".mwp/modules/abc/api/.mwp-context.md", Origin: origin("api/.mwp-context.md")}, false, "", "Module: rust/api"},
		{ir.Entry{Layer: 4, Source: ".mwp/modules/abc/plan.md", Origin: origin("plan.md")}, false, "", "Working artifact: .mwp/modules/abc/plan.md"},
		{ir.Entry{Layer: 3, Source: "vendor/rust/.mwp/config.toml", Origin: origin(".mwp/config.toml")}, false, "", "Module reference: rust"},
		{ir.Entry{Layer: 3, Source: "vendor/rust/r.md", Section: "Errors", Origin: origin("r.md")}, false, "", "Module reference: rust/r.md#Errors"},
		{ir.Entry{Layer: 1, Source: "vendor/x/r.md", Origin: &ir.Origin{Path: "r.md"}}, false, "", "Module: vendor/x/r.md"},
		{ir.Entry{Layer: 3, Source: "docs/api.md", Section: "C# notes"}, false, "", "Module reference: docs/api.md#C# notes"},
		{ir.Entry{Layer: 1, Source: "web/.mwp-context.md", Section: "Rules"}, false, "", "Module: web/.mwp-context.md#Rules"},
		{ir.Entry{Layer: 4, Source: "plan.md", Section: "Now"}, false, "", "Working artifact: plan.md#Now"},
		{ir.Entry{Source: "docs/who.md", Section: "We"}, false, "", "Project identity: docs/who.md#We"},
	} {
		if got := title(&c.e, c.first, c.project); got != c.want {
			t.Errorf("title(L%d %s, first %v, project %q) = %q, want %q", c.e.Layer, c.e.Source, c.first, c.project, got, c.want)
		}
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		ran  string
		now  time.Time
		want string
	}{
		{"2026-05-17T10:42:11Z", time.Time{}, "2026-05-17T10:42Z"},
		{"2026-05-17T10:42:11+02:00", time.Time{}, "2026-05-17T08:42Z"},
		{"2026-05-17T10:42:11Z", sampleClock, "8 min ago"},
		{"2026-05-17T10:50:00Z", sampleClock, "less than a minute ago"},
		{"2026-05-17T07:50:00Z", sampleClock, "3 h ago"},
		{"2026-05-10T07:50:00Z", sampleClock, "7 days ago"},
		{"2026-05-17T11:00:00Z", sampleClock, "2026-05-17T11:00Z"},
		{"yesterday", sampleClock, "yesterday"},
		{"", sampleClock, ""},
	} {
		w := writer{o: Options{Now: c.now}}
		if got := w.when(&ir.Verification{RanAt: c.ran}); got != c.want {
			t.Errorf("when(%q) at %v = %q, want %q", c.ran, c.now, got, c.want)
		}
	}
}

func TestEntryWithoutBody(t *testing.T) {
	for status, want := range map[string]string{
		"passed":     "Guard: g — passed ✓\n",
		"unverified": "Guard: g — not verified\n",
		"failed":     "> ⚠️ This reference's check is failing (g failed)\n",
	} {
		m := &ir.Map{Target: ref("x"), Layers: ir.Layers{L4: []ir.Entry{{Source: "a.md", Layer: 4, Guards: []ir.Guard{{Name: "g", Cmd: "g", Status: status}}}}}}
		text, ranges := Layout(m)
		if !bytes.HasSuffix(text, []byte("---\n\n## L4 — Working artifact: a.md\n\n"+want)) {
			t.Errorf("status %s: %q does not end with %q", status, text, want)
		}
		if ranges[0][0] != ranges[0][1] {
			t.Errorf("status %s: range %v of an empty body", status, ranges[0])
		}
	}
}

func TestVerifyCommand(t *testing.T) {
	for in, want := range map[string]string{
		"src/a.go":     "src/a.go",
		"-rf":          "./-rf",
		"a b":          "'a b'",
		"$(x)":         "'$(x)'",
		"-a b":         "'./-a b'",
		"日本":           "'日本'",
		"it's":         "",
		"a`b":          "",
		"a\nb":         "",
		"bad\xff":      "",
		"</read_only>": "",
		"":             "",
	} {
		if got, ok := shellWord(in); got != want || ok != (want != "") {
			t.Errorf("shellWord(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

func TestASCII(t *testing.T) {
	ascii := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e })
	}
	for name, m := range sampleMaps() {
		for _, e := range m.Layers.All() {
			e.BodyMarkdown = "body\n"
		}
		for frame, text := range renders(t, m, Options{ASCII: true, Annotate: true}) {
			for line := range strings.SplitSeq(text, "\n") {
				if !ascii(line) {
					t.Errorf("%s in frame %s: %q is not ASCII", name, frame, line)
				}
			}
		}
		for _, o := range []ExplainOptions{{}, {NotLoaded: true}, {Color: true}} {
			if text := string(Explain(m, o)); !ascii(text) {
				t.Errorf("%s: Explain(%+v) is not ASCII", name, o)
			}
		}
	}
	text := string(Markdown(engineMap(), Options{ASCII: true}))
	for _, s := range []string{"> [stop] **READ-ONLY MAP** - ", "> [warning] This reference's check is failing", "Guard: clippy - passed 2026-05-17T10:41Z [passed]"} {
		if !strings.Contains(text, s) {
			t.Errorf("ASCII render lacks %q", s)
		}
	}
}

func TestQuoteFence(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n":         `"""`,
		"a \"b\"\n":       `"""`,
		"\"\"\"doc\"\"\"": `""""`,
		"\"\"\"\"\"\n":    `""""""`,
	} {
		if got := quoteFence(in); got != want {
			t.Errorf("quoteFence(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		model      string
		in, tokens int
	}{
		{"claude", 1000, 1120}, {"claude", 268, 300}, {"claude", 0, 0}, {"claude", 1, 1}, {"claude", 5, 6},
		{"llama", 1000, 1010}, {"llama", 50, 51}, {"llama", 49, 49}, {"gpt-4", 777, 777}, {"other", 777, 777},
	} {
		if got := Estimate(c.model, c.in); got != c.tokens {
			t.Errorf("Estimate(%s, %d) = %d, want %d", c.model, c.in, got, c.tokens)
		}
	}
	for _, model := range Models() {
		found := false
		for _, f := range factors {
			found = found || f.model == model
		}
		if !found {
			t.Errorf("model %s has no factor", model)
		}
	}
}

func TestTokensLine(t *testing.T) {
	want := map[string]string{
		"claude": "Tokens in the layers: 38 by o200k_base, about 43 for claude.\n",
		"llama":  "Tokens in the layers: 38 by o200k_base, about 38 for llama.\n",
	}
	for frame, text := range renders(t, sdkMap(), Options{}) {
		if w := want[frame]; w == "" && strings.Contains(text, "Tokens in the layers") || !strings.Contains(text, w) {
			t.Errorf("frame %s: token line is not %q", frame, w)
		}
	}
}

func TestDisagreements(t *testing.T) {
	m := &ir.Map{TokenCounter: "o200k_base",
		Budgets: ir.Budgets{L0: ref(100), L1: ref(100), L2: ref(100), L3: ref(100)},
		Totals:  ir.Totals{L0: 89, L1: 90, L2: 101, L3: 100, L4: 5000}}
	layers := func(ds []ir.Diagnostic) (s string) {
		for _, d := range ds {
			if d.Code != ir.TokenizerDisagrees || d.Severity != ir.SeverityWarning {
				t.Errorf("unexpected diagnostic %v", d)
			}
			s += d.Message[:2]
		}
		return s
	}
	for model, want := range map[string]string{"claude": "L1L3", "llama": "L3", "gpt-4": ""} {
		if got := layers(Disagreements(m, model)); got != want {
			t.Errorf("Disagreements(%s) names %q, want %q", model, got, want)
		}
	}
	m.TokenCounter = "whitespace/1"
	if ds := Disagreements(m, "claude"); ds != nil {
		t.Errorf("Disagreements with white-space words = %v, want none", ds)
	}
}

func TestBudgetSection(t *testing.T) {
	m := sdkMap()
	if text := string(Markdown(m, Options{})); strings.Contains(text, "udget:") {
		t.Error("a map within its budget mentions the budget")
	}
	m.Warnings = []ir.Diagnostic{
		{Code: ir.BudgetOverrun, Severity: ir.SeverityError, Message: "L1 over."},
		{Code: ir.NotAMember, Severity: ir.SeverityWarning, Message: "elsewhere"},
		{Code: ir.MaxTokensOverrun, Severity: ir.SeverityError, Message: "file over"},
	}
	if text, want := string(Markdown(m, Options{})), "\n\n> ⚠️ Over budget: L1 over; file over. Nothing was left out because of it.\n\n**About"; !strings.Contains(text, want) {
		t.Errorf("budget line is not %q in %q", want, text)
	}
	m.Warnings = nil
	m.Trace = append(m.Trace, ir.TraceRecord{Source: "a.md", Layer: ref(3), Tokens: 9, Status: ir.DroppedByBudget}, ir.TraceRecord{Source: "b.md", Status: ir.DroppedByBudget})
	want := "\n\n> ⚠️ Left out to keep the budget: a.md (L3, 9 tokens)\n> ⚠️ Left out to keep the budget: b.md (0 tokens)\n\n**About"
	if text := string(Markdown(m, Options{})); !strings.Contains(text, want) {
		t.Errorf("dropped entries are not %q in %q", want, text)
	}
}

func TestDeltaNote(t *testing.T) {
	for frame, text := range renders(t, deltaMap(), Options{}) {
		if n := strings.Count(text, "Already delivered in this session: L0 (.), L1 (engine), docs/unknown.md. "+deltaRecovery+"\n"); n != 1 {
			t.Errorf("frame %s has the delta note %d times, want once", frame, n)
		}
	}
	m := deltaMap()
	m.Delta.Skipped = nil
	if text := string(Markdown(m, Options{})); strings.Contains(text, "Already delivered") {
		t.Error("a delta that skipped nothing has a note")
	}
}

func BenchmarkMarkdown(b *testing.B) {
	m := engineMap()
	b.ReportAllocs()
	for b.Loop() {
		if len(Markdown(m, Options{})) == 0 {
			b.Fatal("empty render")
		}
	}
}
