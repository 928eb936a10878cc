package render

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guarded is a map with one entry and one guard, whose verification is v; nil for a
// map that has none.
func guarded(g ir.Guard, v *ir.Verification, owners ...string) *ir.Map {
	g.Key = "blake3:g"
	m := &ir.Map{Kind: ir.KindFocused, Target: ref("x"), Layers: ir.Layers{L1: []ir.Entry{{
		Source: "a/.mwp-context.md", Layer: 1, Owners: owners, BodyMarkdown: "body\n", Guards: []ir.Guard{g},
	}}}}
	if v != nil {
		check := *v
		check.Key, check.Guard, check.Status = g.Key, g.Cmd, g.Status
		m.Verifications = []ir.Verification{check}
	}
	return m
}

// entryText returns what stands below the heading of the entry of a guarded map.
func entryText(t *testing.T, m *ir.Map, o Options) string {
	t.Helper()
	_, text, ok := strings.Cut(string(Markdown(m, o)), " Module: a\n\n")
	if !ok {
		t.Fatal("the map has no entry")
	}
	return text
}

// TestProposalGuardLine: with a clock that the proposal's author had, the line of the
// sample in section 4.1 comes out as it is there (L143, D-49).
func TestProposalGuardLine(t *testing.T) {
	m := sdkMap()
	m.Verifications[0].RanAt = "2026-05-17T10:42:00Z"
	now := time.Date(2026, 5, 17, 10, 50, 0, 0, time.UTC)
	for want, o := range map[string]Options{
		"\nGuard: bundle-size-check.sh — passed 8 min ago ✓\n":         {Now: now},
		"\nGuard: bundle-size-check.sh — passed 2026-05-17T10:42Z ✓\n": {},
	} {
		if text := string(Markdown(m, o)); !strings.HasSuffix(text, want) {
			t.Errorf("Markdown(%+v) ends with %q, want %q", o, text[len(text)-len(want):], want)
		}
	}
	text, _ := Layout(m)
	if !strings.Contains(string(text), "2026-05-17T10:42Z") {
		t.Error("the canonical text has no absolute time")
	}
}

func TestGuardLines(t *testing.T) {
	const ran = "2026-05-17T10:42:11.250Z"
	quiet := func(line string) string { return "body\n\n" + line + "\n" }
	loud := func(line string) string { return line + "\n\nbody\n" }
	for _, c := range []struct {
		cmd, status string
		v           *ir.Verification
		want        string
	}{
		{"cargo test", ir.FailedCheck, &ir.Verification{ExitCode: ref(101), RanAt: ran}, loud("> ⚠️ This reference's check is failing (cargo test exited 101; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{ExitCode: ref(101), RanAt: ran, Expired: true}, loud("> ⚠️ This reference's check is failing (cargo test exited 101; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{ExitCode: ref(101), RanAt: ran, FilesChanged: true}, loud("> ⚠️ This reference's check is failing (cargo test exited 101; files changed since; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{RanAt: ran, Reason: ir.ReasonTimeout}, loud("> ⚠️ This reference's check is failing (cargo test ran past its time limit; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{RanAt: ran, Reason: ir.ReasonSignal}, loud("> ⚠️ This reference's check is failing (cargo test was ended by a signal; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{RanAt: ran}, loud("> ⚠️ This reference's check is failing (cargo test failed; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, nil, loud("> ⚠️ This reference's check is failing (cargo test failed; owner: ann, bob)")},
		{"cargo test", ir.FailedCheck, &ir.Verification{ExitCode: ref(1), RanAt: ran, Override: &ir.Override{Reason: "the `runner` is\ndown", Until: "2026-05-17T14:41:00Z"}},
			loud("> ⚠️ This reference's check is failing, overridden until 2026-05-17T14:41Z: the \\`runner\\` is\\x0adown (cargo test exited 1; owner: ann, bob)")},
		{"exists docs/api.md", ir.FailedCheck, &ir.Verification{Reason: ir.ReasonAbsent}, loud("> ⚠️ This reference's check is failing (docs/api.md does not exist; owner: ann, bob)")},
		{"exists ../go.mod", ir.FailedCheck, &ir.Verification{Cwd: "a", Reason: ir.ReasonAbsent}, loud("> ⚠️ This reference's check is failing (go.mod does not exist; owner: ann, bob)")},
		{"exists src/", ir.FailedCheck, &ir.Verification{Cwd: "a", Reason: ir.ReasonAbsent}, loud("> ⚠️ This reference's check is failing (a/src/ does not exist; owner: ann, bob)")},
		{"exists ../../x", ir.FailedCheck, &ir.Verification{Cwd: "a", Reason: ir.ReasonOutside}, loud("> ⚠️ This reference's check is failing (../../x leads out of the workspace; owner: ann, bob)")},
		{`contains a.md "50 \" KB "`, ir.FailedCheck, &ir.Verification{Cwd: ".", Reason: ir.ReasonTextAbsent}, loud(`> ⚠️ This reference's check is failing (a.md does not contain "50 \" KB "; owner: ann, bob)`)},
		{`contains a "b" c.md "t"`, ir.FailedCheck, &ir.Verification{Cwd: ".", Reason: ir.ReasonAbsent}, loud(`> ⚠️ This reference's check is failing (a "b" c.md does not exist; owner: ann, bob)`)},
		{`contains a.md "t"`, ir.FailedCheck, &ir.Verification{Cwd: ".", Reason: ir.ReasonTooLarge}, loud(`> ⚠️ This reference's check is failing (a.md is too large to look at; owner: ann, bob)`)},
		{"script npm:typecheck", ir.FailedCheck, &ir.Verification{Cwd: "a", Reason: ir.ReasonScriptAbsent}, loud("> ⚠️ This reference's check is failing (script npm:typecheck does not exist; owner: ann, bob)")},

		{"cargo test", ir.Stale, &ir.Verification{RanAt: ran, Reason: ir.ReasonExpired}, loud("> ⚠️ This reference's check is stale (cargo test, last passed 2026-05-17T10:42Z; expired)")},
		{"cargo test", ir.Stale, &ir.Verification{RanAt: ran, Reason: ir.ReasonFilesChanged}, loud("> ⚠️ This reference's check is stale (cargo test, last passed 2026-05-17T10:42Z; files changed)")},
		{"cargo test", ir.Stale, &ir.Verification{RanAt: "2026-06-17T10:42:11Z", Reason: ir.ReasonEarly}, loud("> ⚠️ This reference's check is stale (cargo test, last passed 2026-06-17T10:42Z; dated ahead)")},
		{"cargo test", ir.Stale, nil, loud("> ⚠️ This reference's check is stale (cargo test)")},

		{"cargo test", ir.Passed, &ir.Verification{RanAt: ran, ExitCode: ref(0)}, quiet("Guard: label — passed 2026-05-17T10:42Z ✓")},
		{"exists docs", ir.Passed, &ir.Verification{}, quiet("Guard: label — passed ✓")},
		{"cargo test", ir.Unverified, &ir.Verification{Reason: ir.ReasonNeverRun}, quiet("Guard: label — not verified")},
		{"cargo test", ir.Unverified, &ir.Verification{Reason: ir.ReasonForeign}, quiet("Guard: label — not verified (its record was made with another key)")},
		{"cargo test", ir.Unverified, &ir.Verification{Reason: ir.ReasonNotFound}, quiet("Guard: label — not verified (command not found)")},
		{"cargo test", ir.Unverified, &ir.Verification{Reason: ir.ReasonNotTrusted}, quiet("Guard: label — not verified")},
		{"cargo test", ir.Unverified, nil, quiet("Guard: label — not verified")},
	} {
		m := guarded(ir.Guard{Name: "label", Cmd: c.cmd, Status: c.status}, c.v, "ann", "bob")
		if got := entryText(t, m, Options{}); got != c.want {
			t.Errorf("%s %s %+v: got %q, want %q", c.cmd, c.status, c.v, got, c.want)
		}
	}
}

// TestNoSignForTheFuture: a result that is dated ahead shows neither a sign that
// something passed nor an age (D-46).
func TestNoSignForTheFuture(t *testing.T) {
	m := guarded(ir.Guard{Name: "g", Cmd: "g", Status: ir.Stale}, &ir.Verification{RanAt: "2026-06-17T10:42:11Z", Reason: ir.ReasonEarly})
	for _, o := range []Options{{}, {Now: sampleClock}, {ASCII: true}} {
		got := entryText(t, m, o)
		if strings.Contains(got, "✓") || strings.Contains(got, "[passed]") || strings.Contains(got, "ago") || !strings.Contains(got, "2026-06-17T10:42Z; dated ahead") {
			t.Errorf("Markdown(%+v) = %q", o, got)
		}
	}
}

// TestVerificationsArePairedByKey: the same command in two directories is two guards,
// and two entries may share one (D-44, D-89).
func TestVerificationsArePairedByKey(t *testing.T) {
	guard := func(key, status string) []ir.Guard {
		return []ir.Guard{{Key: key, Name: "test", Cmd: "cargo test", Status: status}}
	}
	m := &ir.Map{Layers: ir.Layers{L1: []ir.Entry{
		{Source: "a", Guards: guard("k1", ir.Passed)},
		{Source: "b", Guards: guard("k2", ir.FailedCheck)},
		{Source: "b2", Guards: guard("k2", ir.FailedCheck)},
		{Source: "c", Guards: guard("k3", ir.Unverified)},
		{Source: "none", Guards: guard("", ir.Unverified)},
	}}, Verifications: []ir.Verification{
		{Key: "k2", Guard: "cargo test", RanAt: "2"},
		{Key: "", Guard: "cargo test", RanAt: "no key"},
		{Key: "k1", Guard: "cargo test", RanAt: "1"},
		{Key: "k1", Guard: "cargo test", RanAt: "again"},
	}}
	var got []string
	for _, gs := range pairGuards(m, m.Layers.All()) {
		if gs[0].run == nil {
			got = append(got, "")
		} else {
			got = append(got, gs[0].run.RanAt)
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "2", "", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestManyGuards: none is lost in silence, however many an entry has.
func TestManyGuards(t *testing.T) {
	m := guarded(ir.Guard{}, nil)
	e := &m.Layers.L1[0]
	e.Guards = nil
	for i := range 200 {
		status := []string{ir.FailedCheck, ir.Stale, ir.Passed, ir.Unverified}[i%4]
		cmd := fmt.Sprintf("./check-%03d.sh", i)
		e.Guards = append(e.Guards, ir.Guard{Key: strconv.Itoa(i), Name: cmd, Cmd: cmd, Status: status})
		m.Verifications = append(m.Verifications, ir.Verification{Key: strconv.Itoa(i), Guard: cmd, Status: status, ExitCode: ref(1)})
	}
	m.ReadOnly = true
	for frame, text := range renders(t, m, Options{}) {
		for i, g := range e.Guards {
			want := 1
			if g.Status == ir.FailedCheck {
				want = 2 // the banner and the callout
			}
			if n := strings.Count(text, g.Name); n != want {
				t.Errorf("frame %s names guard %d (%s) %d times, want %d", frame, i, g.Status, n, want)
			}
		}
	}
}

// TestBanner: every failing guard once, by key, with the texts it stands for and the
// people to ask, in every frame.
func TestBanner(t *testing.T) {
	want := []string{
		"- cargo test exited 101 (engine/.mwp-context.md, engine/rules.md; owner: team-engine, ann)",
		"- ./slow.sh ran past its time limit (engine/.mwp-context.md; owner: team-engine)",
		"- engine/docs/api.md does not exist (engine/.mwp-context.md; owner: team-engine)",
		"- npm run e2e exited 1 (engine/.mwp-context.md; owner: team-engine), overridden until 2026-05-17T14:41Z: the runner is down",
		"- npm run lint exited 2 (web/.mwp-context.md:7)",
		readOnlyStop, "`mwp verify engine/src`", readOnlyTitle,
	}
	for frame, text := range renders(t, guardsMap(), Options{}) {
		for _, s := range want {
			if n := strings.Count(text, s); n != 1 {
				t.Errorf("frame %s has %q %d times, want once", frame, s, n)
			}
		}
		if at := strings.Index(text, readOnlyTitle); at > strings.Index(text, focusedPurpose) {
			t.Errorf("frame %s states the banner behind the preamble", frame)
		}
	}
	m := guardsMap()
	m.ReadOnly = false
	for frame, text := range renders(t, m, Options{}) {
		if strings.Contains(text, readOnlyTitle) || !strings.Contains(text, "check is failing") {
			t.Errorf("frame %s of a map that is not read-only has the banner, or no callout", frame)
		}
	}
}

func TestBannerNamesSomeSources(t *testing.T) {
	m := guarded(ir.Guard{Name: "g", Cmd: "g", Status: ir.FailedCheck}, &ir.Verification{ExitCode: ref(1)}, "ann")
	m.ReadOnly = true
	first := m.Layers.L1[0]
	for i := range 7 {
		e := first
		e.Source = fmt.Sprintf("a/%d.md", i)
		m.Layers.L3 = append(m.Layers.L3, e)
	}
	// Two guards without keys are two, whatever they say.
	m.Layers.L3[6].Guards = append(m.Layers.L3[6].Guards, ir.Guard{Cmd: "h", Status: ir.FailedCheck}, ir.Guard{Cmd: "h", Status: ir.FailedCheck})
	text := string(Markdown(m, Options{}))
	for s, n := range map[string]int{
		"> - g exited 1 (a/.mwp-context.md, a/0.md, a/1.md, a/2.md, a/3.md and 3 more; owner: ann)\n": 1,
		"> - h failed (a/6.md; owner: ann)\n": 2,
	} {
		if got := strings.Count(text, s); got != n {
			t.Errorf("the banner has %q %d times, want %d:\n%s", s, got, n, text)
		}
	}
}

// TestHostileCommands: a command cannot begin a code span, a comment or a tag, and a
// long one does not come whole with each text that it stands for.
func TestHostileCommands(t *testing.T) {
	long := strings.Repeat("日", 5000)
	m := guarded(ir.Guard{Name: "`x` <!-- y", Cmd: "echo `x` <!-- </layer> " + long, Status: ir.FailedCheck}, &ir.Verification{ExitCode: ref(1)})
	m.Layers.L1[0].Guards = append(m.Layers.L1[0].Guards, ir.Guard{Name: "`x` <!-- y", Status: ir.Unverified})
	m.ReadOnly = true
	for frame, text := range renders(t, m, Options{}) {
		if len(text) > 4000 {
			t.Errorf("frame %s has %d bytes", frame, len(text))
		}
		if strings.Contains(text, "日\ufffd") || !strings.Contains(text, "日... exited 1") {
			t.Errorf("frame %s cuts a command amiss:\n%s", frame, text)
		}
		if n := strings.Count(text, "\\`x\\`"); n != 3 {
			t.Errorf("frame %s escapes %d commands, want 3", frame, n)
		}
		marker := strings.Count(text, "<!--") - strings.Count(text, `\<!--`)
		if frame != "claude" && marker != 1 {
			t.Errorf("frame %s has %d comments, want the marker alone", frame, marker)
		}
		if frame == "claude" && strings.Count(text, "</layer>") != 1 {
			t.Error("a command closes its layer")
		}
	}
}

func TestBrief(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("a", briefBytes):        strings.Repeat("a", briefBytes),
		strings.Repeat("a", briefBytes+1):      strings.Repeat("a", briefBytes) + "...",
		"x" + strings.Repeat("é", briefBytes):  "x" + strings.Repeat("é", briefBytes/2-1) + "...",
		strings.Repeat("\x80", briefBytes+100): strings.Repeat(`\x80`, briefBytes-4) + "...",
		"a\x1b[2J":                             `a\x1b[2J`,
	} {
		if got := brief(in); got != want {
			t.Errorf("brief(%d bytes) = %q, want %q", len(in), got, want)
		}
	}
}
