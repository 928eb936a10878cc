package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

var update = flag.Bool("update", false, "rewrite the expected page and the hashes of style and script")

// hash is what a policy calls a text by. A browser reads CRLF as LF before it hashes,
// so a checkout with other line ends has the same hashes.
func hash(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// TestHashes holds that the policy names the style and the script of the page and no
// others.
func TestHashes(t *testing.T) {
	if *update {
		text := "package page\n\n// The hashes of page.css and page.js as a policy spells them: SHA-256 in base64.\n" +
			"// `go test ./render/page -run TestHashes -update` writes them.\nconst (\n" +
			fmt.Sprintf("\tstyleHash  = %q\n\tscriptHash = %q\n)\n", hash(style), hash(script))
		if err := os.WriteFile("hashes.go", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Skip("hashes.go is written; run the tests again")
	}
	if got := hash(style); got != styleHash {
		t.Errorf("page.css has the hash %s, hashes.go says %s: run this test with -update", got, styleHash)
	}
	if got := hash(script); got != scriptHash {
		t.Errorf("page.js has the hash %s, hashes.go says %s: run this test with -update", got, scriptHash)
	}
}

// TestStatic holds what the parts that are embedded must not contain.
func TestStatic(t *testing.T) {
	for _, c := range []struct{ name, text, never string }{
		{"page.js", script, "</script"},
		{"page.js", script, "<!--"},
		{"page.js", script, "innerHTML"},
		{"page.js", script, "outerHTML"},
		{"page.js", script, "insertAdjacentHTML"},
		{"page.js", script, "document.write"},
		{"page.js", script, "eval("},
		{"page.css", style, "</style"},
		{"page.css", style, "url("},
		{"page.css", style, "@import"},
	} {
		if strings.Contains(strings.ToLower(c.text), strings.ToLower(c.never)) {
			t.Errorf("%s contains %q", c.name, c.never)
		}
	}
}

func number(n int) *int { return &n }

// sample is a report with something in every part.
func sample() *Report {
	rows := []ir.TargetRow{
		{Path: ".", Source: ".mwp/config.toml", Tokens: [5]int{40}, Caps: [5]*int{number(800), number(100)}, All: 40, Largest: ".mwp/config.toml", LargestTokens: 40},
		{Path: "api", Source: "api/.mwp-context.md", Layer: 1, Tokens: [5]int{40, 120}, Caps: [5]*int{number(800), number(100)}, All: 160, Largest: "api/.mwp-context.md", LargestTokens: 90, Guards: 2},
		{Path: "api/src", Layer: 1, Tokens: [5]int{40, 120}, Caps: [5]*int{number(800), number(100)}, All: 160},
		{Path: "api/v2", Source: "api/v2/.mwp-context.md", Layer: 2, Tokens: [5]int{40, 120, 7}, Caps: [5]*int{number(800), number(100), number(500)}, All: 167},
		{Path: "broken", Source: "broken/.mwp-context.md"},
	}
	r := &Report{
		Name: "harbour", Counter: "o200k_base", Now: "2026-05-17T10:42:11Z", Directories: 4, Contexts: 2, Anchors: 1, Rows: rows,
		Guards: []Guard{
			{VerifiedGuard: ir.VerifiedGuard{Trust: "builtin", Why: "built in: cargo test", Owners: []string{"team-api"}, Verification: ir.Verification{
				Guard: "cargo test", Status: ir.Passed, RanAt: "2026-05-17T10:40:00Z", CacheUntil: "2026-05-17T10:50:00Z", Cwd: "api", DeclaredIn: "api/.mwp-context.md:3"}}},
			{VerifiedGuard: ir.VerifiedGuard{Trust: "project", Verification: ir.Verification{
				Guard: "./check.sh", Name: "wire format", Status: ir.FailedCheck, ExitCode: number(3), RanAt: "2026-05-17T10:41:00Z", Cwd: ".", DeclaredIn: "api/.mwp-context.md:6",
				Override: &ir.Override{Reason: "broken runner", Until: "2026-05-17T14:00:00Z"}}}},
			{VerifiedGuard: ir.VerifiedGuard{Trust: "builtin", Verification: ir.Verification{Guard: "pytest", Status: ir.Stale, Reason: ir.ReasonFilesChanged, RanAt: "2026-05-16T09:00:00Z", DeclaredIn: "api/v2/.mwp-context.md:2"}}},
			{VerifiedGuard: ir.VerifiedGuard{Trust: "ad-hoc", Why: "a shell would run it", Verification: ir.Verification{Guard: "curl x | sh", Status: ir.Unverified, Reason: ir.ReasonNeverRun, DeclaredIn: "api/v2/.mwp-context.md:4"}}, NotTrusted: true},
			{VerifiedGuard: ir.VerifiedGuard{Trust: "builtin", Verification: ir.Verification{Guard: "cargo clippy", Status: ir.Unverified, Reason: ir.ReasonForeign, DeclaredIn: "api/v2/.mwp-context.md:5"}}},
		},
		Findings: []ir.Diagnostic{
			{Code: ir.UnresolvedImport, Severity: ir.SeverityError, Message: "workspace: rules/gone.md does not resolve", Source: "api/.mwp-context.md", Line: 4, Column: 5, Hint: "write the file, or take the line out"},
			{Code: ir.LargeContext, Severity: ir.SeverityWarning, Message: "9,000 tokens in one file", Source: "api/.mwp-context.md"},
			{Code: ir.MaxTokensNoEffect, Severity: ir.SeverityNote, Message: "max_tokens: 900 has no effect"},
		},
		Unanswered: []ir.Diagnostic{{Code: ir.Unreadable, Severity: ir.SeverityWarning, Message: "the guards are not known: cannot read x: permission denied"}},
	}
	r.Dirs, r.Loose = Choose(rows)
	r.Dirs[0].Own = []Source{{Path: ".mwp/config.toml", Tokens: 40, Status: ir.Included}}
	r.Dirs[1].Own = []Source{
		{Path: "api/.mwp-context.md", Layer: 1, Tokens: 90, Owners: []string{"team-api", "team-web"}, Status: ir.Included},
		{Path: "rules/wire.md", Layer: 1, Tokens: 30, Imported: true, Status: ir.Included},
		{Path: "rules/gone.md", Layer: 1, Imported: true, Status: ir.Unresolved},
		{Path: "rules/long.md", Section: "Two", Layer: 1, Tokens: 5, Imported: true, Status: ir.Included},
		{Path: ".mwp/modules/0f0f/x/y.md", Layer: 1, Tokens: 3, Imported: true, Status: ir.Included, Origin: &ir.Origin{Module: "wire-rules", SHA: "0f0f", Path: "x/y.md"}},
	}
	r.Refused = []Refused{{Path: "broken", Code: ir.FrontmatterInvalid}}
	r.GuardsHidden = true
	r.Dirs[2].Own = []Source{{Path: "rules/wire.md", Layer: 2, Tokens: 30, Imported: true, Status: ir.Included, CountedIn: "api"}, {Path: "api/v2/.mwp-context.md", Layer: 2, Tokens: 7, Status: ir.Included}}
	target := "api"
	r.Targets = []Target{{
		Path: "api",
		Map: ir.Map{
			Target: &target, ReadOnly: true, TokenCounter: "o200k_base", Budgets: ir.Budgets{L0: number(800), L1: number(100)},
			Totals: ir.Totals{L0: 40, L1: 120, All: 160, RenderedTokens: 210}, Verifications: []ir.Verification{r.Guards[1].Verification},
			Trace: []ir.TraceRecord{
				{Source: ".mwp/config.toml", Layer: number(0), Tokens: 40, Status: ir.Included, Rule: "anchor", Reason: "the workspace's anchor"},
				{Source: "api/.mwp-context.md", Layer: number(1), Tokens: 90, Status: ir.Included, Rule: "cascade", Reason: "context file on the path", Owners: []string{"team-api"}},
				{Source: "rules/wire.md", Layer: number(1), Tokens: 30, Status: ir.Included, Rule: "import", Reason: "imported", ImportsChain: []string{"api/.mwp-context.md"}, Declared: "api/.mwp-context.md:5"},
				{Source: "rules/gone.md", Status: ir.Unresolved, Rule: "import", Reason: "there is no such file", Declared: "api/.mwp-context.md:4"},
				{Source: "rules/twice.md", Layer: number(1), Tokens: 3, Status: ir.Deduplicated, Rule: "dedup", Reason: "the same text", DeduplicatedBy: "rules/wire.md"},
				{Source: "docs/old.md", Layer: number(1), Tokens: 300, Status: ir.DroppedByBudget, Rule: "budget", Reason: "L1 is full"},
			},
			Warnings: []ir.Diagnostic{r.Findings[0]},
		},
		Text:   []byte("<!-- mwp workspace map | target: api | schema: 1 -->\n\n## L1 — Module: api\n\n\tkeep <b>tabs</b>\n"),
		Guards: []ir.GuardAccount{{Key: "", Whole: true, Inputs: []string{"api/.mwp-context.md", "check.sh"}}},
		Drawing: render.Draw(render.Graph{Target: "api", Nodes: []render.GraphNode{
			{Kind: "file", Name: "api/.mwp-context.md", Leaf: true}, {Kind: "file", Name: "rules/gone.md", Leaf: true, Absent: true},
			{Kind: "context", Name: "api/.mwp-context.md", Needs: []int{0}}, {Kind: "closure", Name: "api/.mwp-context.md", Needs: []int{1, 2}},
			{Kind: "layers", Name: "api", Needs: []int{2, 3}}, {Kind: "map", Name: "api", Needs: []int{4}},
		}}),
	}, {
		Path:    "broken",
		Refusal: []ir.Diagnostic{{Code: ir.FrontmatterInvalid, Severity: ir.SeverityError, Message: "layer: expected 0 to 4, found 9", Source: "broken/.mwp-context.md", Line: 2}},
	}}
	r.TargetsLeft = 1
	return r
}

// withoutStatic takes out of a page what is the same in all of them.
func withoutStatic(html []byte) []byte {
	s := strings.Replace(string(html), style, "", 1)
	s = strings.Replace(s, script, "", 1)
	return []byte(strings.Replace(s, policy, "", 1))
}

func TestGolden(t *testing.T) {
	got := withoutStatic(HTML(sample()))
	file := filepath.Join("testdata", "sample.html")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), string(got)); d != "" {
		t.Errorf("the page differs from %s (-want +got):\n%s", file, d)
	}
	if again := withoutStatic(HTML(sample())); string(again) != string(got) {
		t.Error("equal reports give different pages")
	}
}

var tag = regexp.MustCompile(`^<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*(/?)>`)
var entity = regexp.MustCompile(`^&(amp|lt|gt|#34|#39|#96);`)
var attribute = regexp.MustCompile(`([a-zA-Z-]+)(?:="([^"]*)")?`)

// element is an opening tag.
type element struct {
	name  string
	attrs map[string]string
}

// parse reads a page as strictly as the pages of this package are written: every
// element is closed, in order, attributes are quoted, and an angle bracket or an
// ampersand is nowhere but in tags and entities.
func parse(html string) ([]element, error) {
	rest, found := strings.CutPrefix(html, "<!DOCTYPE html>\n")
	if !found {
		return nil, fmt.Errorf("no doctype")
	}
	var open []string
	var all []element
	for rest != "" {
		i := strings.IndexAny(rest, "<&")
		if i < 0 {
			break
		}
		rest = rest[i:]
		if rest[0] == '&' {
			if !entity.MatchString(rest) {
				return nil, fmt.Errorf("no entity: %.40q", rest)
			}
			rest = rest[1:]
			continue
		}
		m := tag.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("no tag: %.60q", rest)
		}
		rest = rest[len(m[0]):]
		if m[1] == "/" {
			if len(open) == 0 || open[len(open)-1] != m[2] {
				return nil, fmt.Errorf("</%s> closes %v", m[2], open)
			}
			open = open[:len(open)-1]
			continue
		}
		e := element{m[2], map[string]string{}}
		for _, a := range attribute.FindAllStringSubmatch(m[3], -1) {
			e.attrs[a[1]] = a[2]
		}
		all = append(all, e)
		switch {
		case m[4] == "/", slices.Contains([]string{"meta", "br", "wbr", "input"}, m[2]):
		case m[2] == "script" || m[2] == "style":
			_, after, ended := strings.Cut(rest, "</"+m[2]+">")
			if !ended {
				return nil, fmt.Errorf("<%s> has no end", m[2])
			}
			rest = after
		default:
			open = append(open, m[2])
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("open at the end: %v", open)
	}
	return all, nil
}

// checkPage reports what is wrong with a page as a document.
func checkPage(t *testing.T, html []byte) []element {
	t.Helper()
	if !utf8.Valid(html) {
		t.Error("the page is not UTF-8")
	}
	all, err := parse(string(html))
	if err != nil {
		t.Fatalf("the page does not parse: %v", err)
	}
	ids := map[string]bool{}
	for _, e := range all {
		if id, ok := e.attrs["id"]; ok {
			if ids[id] {
				t.Errorf("two elements have the id %q", id)
			}
			ids[id] = true
		}
	}
	scripts := 0
	for _, e := range all {
		for name, value := range e.attrs {
			switch {
			case strings.HasPrefix(name, "on"), name == "style", name == "src", name == "srcset", name == "action":
				t.Errorf("<%s> has the attribute %s", e.name, name)
			case name == "href" && (!strings.HasPrefix(value, "#") || !ids[value[1:]]):
				t.Errorf("<%s href=%q> leads nowhere", e.name, value)
			case name == "aria-labelledby" && !ids[value]:
				t.Errorf("<%s> is labelled by %q, which is not there", e.name, value)
			}
		}
		if e.name == "script" {
			scripts++
		}
	}
	if scripts != 2 {
		t.Errorf("%d script elements, want the data and the script", scripts)
	}
	return all
}

func TestWellFormed(t *testing.T) {
	checkPage(t, HTML(sample()))
	checkPage(t, HTML(&Report{}))
}

// TestConservation holds that every record of a map is in its page, and every
// directory of the workspace is in it or counted.
func TestConservation(t *testing.T) {
	r := sample()
	_, maps, _ := strings.Cut(string(HTML(r)), `<section id="maps"`)
	maps = html.UnescapeString(strings.ReplaceAll(maps, "<wbr>", ""))
	for _, rec := range r.Targets[0].Map.Trace {
		row := regexp.MustCompile(`<th scope="row"><code>` + regexp.QuoteMeta(rec.Source) + `</code>.*` + regexp.QuoteMeta(rec.Reason))
		if !row.MatchString(maps) {
			t.Errorf("the record of %s is not in the page", rec.Source)
		}
		if rec.Status != ir.Included && !strings.Contains(maps, outcomeWords(rec.Status)) {
			t.Errorf("the outcome %s is not in the page", rec.Status)
		}
	}
	many := &r.Targets[0].Map
	for i := range maxTrace + 20 {
		many.Trace = append(many.Trace, ir.TraceRecord{Source: fmt.Sprintf("many/%d.md", i), Status: ir.Empty})
	}
	page := strings.ReplaceAll(string(HTML(r)), "<wbr>", "")
	if n := strings.Count(page, "<code>many/"); n != maxTrace-3 {
		t.Errorf("%d of the records are shown, want %d", n, maxTrace-3)
	}
	if !strings.Contains(page, "23 further records not shown. For all of it: <code>mwp explain api</code>") {
		t.Error("what is cut of a trace is not counted")
	}
}

// TestVerdict holds that nothing is counted twice, and that all is well only where
// nothing is left to say.
func TestVerdict(t *testing.T) {
	guard := func(status string) []Guard {
		return []Guard{{VerifiedGuard: ir.VerifiedGuard{Verification: ir.Verification{Status: status}}}}
	}
	finding := func(code ir.Code, severity string) []ir.Diagnostic {
		return []ir.Diagnostic{{Code: code, Severity: severity}}
	}
	over := []ir.TargetRow{{Path: "a", Source: "s", All: 5, Tokens: [5]int{5}, Caps: [5]*int{number(1)}}}
	for _, c := range []struct {
		r    Report
		want string
	}{
		{Report{}, "✓ All is well: no errors, every budget is kept, every guard passed."},
		{Report{Findings: finding(ir.LargeContext, ir.SeverityNote), Guards: guard(ir.Passed)}, "✓ All is well: no errors, every budget is kept, every guard passed."},
		{Report{Findings: finding(ir.LargeContext, ir.SeverityWarning)}, "⚠ Nothing is broken, 1 warning."},
		{Report{Guards: guard(ir.Unverified)}, "⚠ Nothing is broken, 1 guard not verified."},
		{Report{GuardsHidden: true}, "⚠ Not everything could be looked at."},
		{Report{Unanswered: finding(ir.Unreadable, ""), Findings: finding(ir.LargeContext, ir.SeverityWarning)}, "⚠ Not everything could be looked at: 1 warning."},
		{Report{Guards: guard(ir.FailedCheck), Findings: finding(ir.GuardFailed, ir.SeverityError)}, "✕ Needs attention: 1 failing guard."},
		{Report{Findings: finding(ir.GuardFailed, ir.SeverityError)}, "✕ Needs attention: 1 error."},
		{Report{Rows: over, Findings: append(finding(ir.BudgetOverrun, ir.SeverityError), finding(ir.LargeContext, ir.SeverityWarning)...)}, "✕ Needs attention: 1 budget exceeded, 1 warning."},
	} {
		w := &writer{}
		w.verdict(&c.r)
		if got := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(w.b), ""); got != c.want {
			t.Errorf("the verdict of %+v is %q, want %q", c.r, got, c.want)
		}
	}
}

// TestUnknown holds that a page without answers denies nothing.
func TestUnknown(t *testing.T) {
	page := string(HTML(&Report{GuardsHidden: true}))
	for _, never := range []string{"No directory has context", "There is no context", "No context file declares", "Budgets by layer", "none is declared"} {
		if strings.Contains(page, never) {
			t.Errorf("the page says %q, which nobody knows", never)
		}
	}
}

// TestPlace holds that a file of a module is called by what people know it by.
func TestPlace(t *testing.T) {
	w := &writer{origins: map[string]string{"m/0f/a.md": "rules: a.md", "m/0f/b:3": "rules: b:3"}}
	for _, c := range []struct{ in, want string }{
		{"api/a.md:3", "api/a.md:3"},
		{"m/0f/a.md", `<span title="m/0f/a.md">rules: a.md</span>`},
		{"m/0f/a.md:3", `<span title="m/0f/a.md:3">rules: a.md:3</span>`},
		{"m/0f/a.md:3:5", `<span title="m/0f/a.md:3:5">rules: a.md:3:5</span>`},
		{"m/0f/b:3", `<span title="m/0f/b:3">rules: b:3</span>`},
	} {
		w.b = nil
		if w.place(c.in); string(w.b) != c.want {
			t.Errorf("place(%s) = %s, want %s", c.in, w.b, c.want)
		}
	}
}

// hostile are names and texts that want to be more than that.
var hostile = []string{
	`</script><script>alert(1)</script>`, `<!--`, `-->`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onmouseover='x`, "`x`",
	`&lt;b&gt;`, `&#x3c;`, "\u202eevil\u202c", "a\u2028b\u2029c", "\x1b[31mred\x07", "\x00\x7f\u009b", "\xff\xfe\xc3", "]]>", "<![CDATA[", `\u003c/script>`,
	"javascript:alert(1)", "#map-0", "../../etc/passwd", "-rf", "$(id)", strings.Repeat("ä", 4000), "\U000e0041\U000e0042", "\ufeff", "a\nb\r\nc\td",
}

// poison puts a text wherever a report has one.
func poison(s string) *Report {
	r := sample()
	r.Name, r.Counter = s, s
	for i := range r.Rows {
		r.Rows[i].Largest = s
	}
	d := ir.Diagnostic{Code: ir.Code(s), Severity: s, Message: s, Source: s, Line: 1, Hint: s}
	r.Findings, r.Unanswered = []ir.Diagnostic{d, d}, []ir.Diagnostic{d}
	r.Findings[0].Severity = ir.SeverityError
	r.Refused[0].Code = ir.Code(s)
	for i := range r.Dirs {
		if r.Dirs[i].Row.Path != "broken" {
			r.Dirs[i].Row.Path, r.Dirs[i].Heirs = s, []string{s}
		}
		for j := range r.Dirs[i].Own {
			o := &r.Dirs[i].Own[j]
			if o.Origin != nil {
				o.Origin = &ir.Origin{Module: s, SHA: s, Path: s}
			} else if o.Path = s; o.CountedIn != "" {
				o.CountedIn = s
			}
			o.Owners, o.Section = []string{s}, s
		}
	}
	for i := range r.Guards {
		g := &r.Guards[i]
		g.Guard, g.Name, g.Cwd, g.DeclaredIn, g.Why, g.Trust, g.Owners, g.RanAt = s, s+s, s, s, s, s, []string{s}, s
	}
	r.Guards[1].Override.Reason, r.Guards[1].Override.Until = s, s
	t := &r.Targets[0]
	t.Path, t.Text, t.Refusal = s, []byte(s), nil
	for i := range t.Map.Trace {
		rec := &t.Map.Trace[i]
		rec.Source, rec.Reason, rec.Rule, rec.Declared, rec.ImportsChain, rec.Owners = s, s, s, s, []string{s}, []string{s}
	}
	t.Map.Warnings = []ir.Diagnostic{d}
	t.Guards[0].Inputs = []string{s}
	for i := range t.Drawing.Boxes {
		b := &t.Drawing.Boxes[i]
		b.Kind, b.Name, b.Short, b.Legend = s, s, s, s
	}
	r.Targets[1].Refusal = []ir.Diagnostic{d}
	return r
}

// shapes returns the tags of a page with the names of their attributes.
func shapes(all []element) map[string]bool {
	set := map[string]bool{}
	for _, e := range all {
		set[e.name+" "+strings.Join(slices.Sorted(maps.Keys(e.attrs)), " ")] = true
	}
	return set
}

// ordinary is the shapes of pages whose names are nothing but names.
var ordinary = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, r := range []*Report{sample(), poison("x/y/z")} {
		all, err := parse(string(HTML(r)))
		if err != nil {
			panic(err)
		}
		maps.Copy(known, shapes(all))
	}
	return known
})

// inert reports what a text does to a page beyond being shown.
func inert(t *testing.T, s string) {
	t.Helper()
	page := HTML(poison(s))
	known := ordinary()
	for shape := range shapes(checkPage(t, page)) {
		if !known[shape] {
			t.Errorf("%q makes an element %q", s, shape)
		}
	}
	for _, r := range string(withoutStatic(page)) {
		if r != '\n' && r != '\t' && (r < 0x20 || r == 0x7f || ir.Hidden(r)) {
			t.Fatalf("%q leaves the character %U in the page", s, r)
		}
	}
	_, data, _ := strings.Cut(string(page), `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var read struct{ Dirs [][]any }
	if err := json.Unmarshal([]byte(data), &read); err != nil {
		t.Fatalf("%q: the data does not parse: %v", s, err)
	}
	if got := read.Dirs[0][0]; got != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
		t.Errorf("the data holds %q, want %q", got, s)
	}
	if strings.ContainsAny(data, "<>&") {
		t.Errorf("%q: the data holds markup", s)
	}
}

func TestHostile(t *testing.T) {
	for _, s := range hostile {
		inert(t, s)
	}
}

func FuzzInert(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(inert)
}

// TestBounded holds the size of the page of a large workspace, and that it says what it
// leaves out.
func TestBounded(t *testing.T) {
	var rows []ir.TargetRow
	for i := range 100 {
		for j := range 100 {
			dir := fmt.Sprintf("area%02d", i)
			if j > 0 {
				dir = fmt.Sprintf("area%02d/some/part/of/it/number%02d", i, j)
			}
			rows = append(rows, ir.TargetRow{Path: dir, Source: dir + "/.mwp-context.md", Layer: 2, Tokens: [5]int{10, 20, i + j}, Caps: [5]*int{number(10), number(10), number(10)}, All: 30 + i + j, Guards: 1})
		}
	}
	r := &Report{Rows: rows}
	r.Dirs, r.Loose = Choose(rows)
	for i := range r.Dirs {
		for range 3 {
			r.Dirs[i].Own = append(r.Dirs[i].Own, Source{Path: r.Dirs[i].Row.Source, Layer: 2, Tokens: 100, Owners: []string{"team-a", "team-b"}, Status: ir.Included})
		}
	}
	for i := range 5000 {
		r.Findings = append(r.Findings, ir.Diagnostic{Code: ir.HiddenText, Severity: ir.SeverityError, Source: rows[i].Source, Message: strings.Repeat("long ", 1000)})
		r.Guards = append(r.Guards, Guard{VerifiedGuard: ir.VerifiedGuard{Verification: ir.Verification{Guard: strings.Repeat("x", 5000), Status: ir.Passed}}})
	}
	text := []byte(strings.Repeat("text <of> a map\n", 1<<16))
	for range MaxTargets {
		r.Targets = append(r.Targets, Target{Path: "area01", Text: text})
	}
	page := string(HTML(r))
	if len(page) > 6<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, want := range []string{
		"8,000 directories with context further down not shown. For all of it: <code>mwp targets</code>",
		"4,600 further findings not shown. For all of it: <code>mwp lint</code>",
		"4,600 further guards not shown. For all of it: <code>mwp verify --list</code>",
		"further overruns not shown. For all of it: <code>mwp targets</code>",
		"further bytes not shown. For all of it: <code>mwp map area01 --render markdown</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
}

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		target, want string
		ok           bool
	}{
		{"", "mwp map --x", true},
		{"a/b.ts", "mwp map a/b.ts --x", true},
		{"-rf", "mwp map ./-rf --x", true},
		{"a b'c", `mwp map 'a b'\''c' --x`, true},
		{"a\u202eb", "", false},
		{"a\xffb", "", false},
	} {
		if got, ok := command("mwp map", c.target, " --x"); got != c.want || ok != c.ok {
			t.Errorf("command(%q) = %q, %v, want %q, %v", c.target, got, ok, c.want, c.ok)
		}
	}
}

func TestCounted(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{{0, "guard", "0 guards"}, {1, "entry", "1 entry"}, {2, "entry", "2 entries"}, {1234567, "token", "1,234,567 tokens"}} {
		if got := counted(c.n, c.noun); got != c.want {
			t.Errorf("counted(%d, %s) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestAppendEscaped(t *testing.T) {
	const in, want = `a<b>&"c"'d'` + "`e`", "a&lt;b&gt;&amp;&#34;c&#34;&#39;d&#39;&#96;e&#96;"
	if got := string(appendEscaped(nil, in)); got != want {
		t.Errorf("appendEscaped(%q) = %q, want %q", in, got, want)
	}
}
