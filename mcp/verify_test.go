package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT CHECKED: the guards of this test are shell scripts")
	}
}

func (e era) verify(target string) string {
	return e.tool("1", "verify_context", `{"target":"`+target+`"}`)
}

// TestUntrustedWorkspaceRunsNothing: until this user says so, no guard starts, and the
// refusal names what to type (D-109).
func TestUntrustedWorkspaceRunsNothing(t *testing.T) {
	needsShell(t)
	p := shopAt(t)
	refused := func(why string) {
		t.Helper()
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.verify("guarded"))
			if text := m.text(); !m.refused() || !strings.HasPrefix(text, "error[guard_not_trusted]: "+why) || !strings.Contains(text, "mwp verify") || !strings.Contains(text, "--trust-workspace") || !strings.Contains(text, p.dir) {
				t.Errorf("%s: %s, want %q", e.name, m.raw, why)
			}
			if p.ran("ran-ok") {
				t.Fatalf("%s: the guard ran", e.name)
			}
		}
	}
	refused("nobody has let other programs run")
	if err := p.bound(t).TrustWorkspace(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	refused("this user does not let other programs run")
	p.trust(t)
	config := filepath.Join(p.dir, ".mwp/config.toml")
	write(t, config, strings.Replace(shop[".mwp/config.toml"], `"sh ./bad.sh"`, `"sh ./bad.sh", "sh ./more.sh"`, 1))
	refused("the [trust] tables of")
	write(t, config, shop[".mwp/config.toml"])
	if m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify("guarded")); m.refused() || !p.ran("ran-ok") {
		t.Errorf("the trusted tables again: %s", m.raw)
	}
}

// TestTrustIsSeenWhileServing: no restart is needed (D-109).
func TestTrustIsSeenWhileServing(t *testing.T) {
	needsShell(t)
	p := shopAt(t)
	c := start(t, p.serving(t))
	c.ask(hello)
	if m := c.ask(eraTable[0].verify("guarded")); !m.refused() {
		t.Errorf("without trust: %s", m.raw)
	}
	p.trust(t)
	if m := c.ask(eraTable[0].verify("guarded")); m.refused() || !p.ran("ran-ok") {
		t.Errorf("with trust: %s", m.raw)
	}
	c.end()
}

// TestAdHocGuardRunsNothing: nobody is asked and nothing starts; the text is the command
// line's (D-42). What is allowed beside it runs.
func TestAdHocGuardRunsNothing(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	for _, e := range eraTable {
		m := e.ask(t, p.serving(t), e.verify("adhoc"))
		r, err := p.bound(t).Verify(t.Context(), mwp.VerifyRequest{Targets: []string{"adhoc"}, List: true})
		if err != nil {
			t.Fatal(err)
		}
		hint := r.Report.Guards[0].Why
		if text := m.text(); !m.refused() || !strings.Contains(text, "not trusted  ./adhoc.sh") || !strings.Contains(text, "why: "+hint) || !strings.Contains(text, "allowed_guards") {
			t.Errorf("%s: %s, want the reason %q", e.name, m.raw, hint)
		}
		if m.Result["structuredContent"] != nil {
			t.Errorf("%s: a refusal has a structured half", e.name)
		}
		if p.ran("ran-adhoc") {
			t.Fatalf("%s: the ad-hoc guard ran", e.name)
		}
	}
	if !p.ran("ran-beside") {
		t.Error("the guard beside it did not run")
	}
}

// TestNestedWorkspaceRunsNothing: a project inside that is no member has an allow-list of
// its own, which nobody spoke of.
func TestNestedWorkspaceRunsNothing(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify("nested"))
	if !m.refused() || !strings.Contains(m.text(), "lies in another workspace, "+filepath.Join(p.dir, "nested")) || p.ran("ran-nested") {
		t.Errorf("a nested workspace: %s, ran: %v", m.raw, p.ran("ran-nested"))
	}
}

// steady takes out of a report what differs from run to run.
func steady(t *testing.T, report []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(report, &m); err != nil {
		t.Fatal(err)
	}
	for _, g := range m["guards"].([]any) {
		for _, field := range []string{"ran_at", "cache_until", "duration_ms"} {
			delete(g.(map[string]any), field)
		}
	}
	return m
}

// TestVerifyParity: the report is that of `mwp verify`, in both halves, and a guard that
// fails is an answer and no refusal. What guards print is nowhere in it.
func TestVerifyParity(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	w := p.bound(t)
	for _, target := range []string{"guarded", "failing", "backend", "."} {
		want, err := w.Verify(t.Context(), mwp.VerifyRequest{Targets: []string{target}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.verify(target))
			got, err := json.Marshal(m.Result["structuredContent"])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(steady(t, mwp.VerifyJSON(&want.Report)), steady(t, got)); diff != "" || m.refused() {
				t.Errorf("%s: verify_context(%q) (-want +got):\n%s", e.name, target, diff)
			}
			var report ir.VerifyReport
			if err := json.Unmarshal(got, &report); err != nil {
				t.Fatal(err)
			}
			last := func(s string) string { return s[strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")+1:] }
			if text := m.text(); last(text) != last(string(mwp.VerifyText(&want.Report, false, false))) || text == "" {
				t.Errorf("%s: verify_context(%q) says %q", e.name, target, text)
			}
			if strings.Contains(m.raw, "NOISE") {
				t.Errorf("%s: what a guard wrote is in the answer: %s", e.name, m.raw)
			}
		}
	}
	// A record is one: the map shows what the run found.
	m := eraTable[1].ask(t, p.serving(t), eraTable[1].tool("1", "map_workspace", `{"target":"failing"}`))
	if !strings.Contains(m.text(), "READ-ONLY") {
		t.Errorf("the map after a failing guard: %s", m.text())
	}
}

// TestVerifyRefusals: what map refuses, verify reports in the same words, as the command
// line does; what names no place at all it refuses.
func TestVerifyRefusals(t *testing.T) {
	p := shopAt(t).trust(t)
	w := p.bound(t)
	for _, target := range []string{"broken", ".mwp/cache", "-"} {
		_, refusal := w.Map(t.Context(), mwp.Request{Target: target})
		want := said(findings(refusal))
		r, err := w.Verify(t.Context(), mwp.VerifyRequest{Targets: []string{target}, ForOthers: true})
		if err == nil {
			if r.Report.OK() {
				t.Errorf("mwp verify %s is content", target)
			}
			want += "\n" + string(mwp.VerifyText(&r.Report, false, false))
		}
		m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify(target))
		structured, _ := m.Result["structuredContent"].(map[string]any)
		if refusal == nil || m.text() != want || m.refused() != (err != nil) || err == nil && structured["ok"] != false {
			t.Errorf("verify_context(%q) = %s, want %s", target, m.raw, want)
		}
	}
	if m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify("../x")); !m.refused() || !strings.Contains(m.text(), "target_outside_root") {
		t.Errorf("verify_context outside: %s", m.raw)
	}
}

// TestMissingProgramNamesThePath: clients start servers with another PATH than shells do.
func TestMissingProgramNamesThePath(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify("absent"))
	structured, _ := json.Marshal(m.Result["structuredContent"])
	const note = "the client started this server with PATH=/search/path"
	if !strings.Contains(m.text(), note) || !strings.Contains(string(structured), note) {
		t.Errorf("exit 127: %s, want %q in both halves", m.raw, note)
	}
	if m := eraTable[0].ask(t, p.serving(t), eraTable[0].verify("failing")); strings.Contains(m.raw, "PATH=") {
		t.Errorf("another failure names the PATH: %s", m.raw)
	}
}

// fifos are pipes by which a guard and a test wait for each other.
const waitingGuard = "echo started > ../started\ncat ../go > /dev/null\n"

func waitingShop(t *testing.T) *place {
	t.Helper()
	needsShell(t)
	p := shopAt(t)
	write(t, filepath.Join(p.dir, "guarded/ok.sh"), waitingGuard)
	fifo(t, filepath.Join(p.dir, "started"))
	fifo(t, filepath.Join(p.dir, "go"))
	return p.trust(t)
}

func (p *place) started(t *testing.T) {
	t.Helper()
	if _, err := os.ReadFile(filepath.Join(p.dir, "started")); err != nil {
		t.Fatal(err)
	}
}

func (p *place) letGo(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "go"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
}

// TestProgress: with a token each guard and each pause is told, the number grows, it never
// reaches the total, and none comes behind the answer.
func TestProgress(t *testing.T) {
	p := waitingShop(t)
	clock := newClock()
	o := p.serving(t)
	o.Every = clock.every
	for _, e := range eraTable {
		c := start(t, o)
		if len(e.opening) > 0 {
			c.ask(e.opening[0])
		}
		request := e.verify("guarded")
		if e.meta == "" {
			request = strings.Replace(request, `"params":{`, `"params":{"_meta":{"progressToken":"tok\u00e9n"},`, 1)
		} else {
			request = strings.Replace(request, `"_meta":{`, `"_meta":{"progressToken":"tok\u00e9n",`, 1)
		}
		c.send(request)
		if d := <-clock.began; d != progressEvery {
			t.Errorf("%s: a pause of %v, want %v", e.name, d, progressEvery)
		}
		first := c.receive()
		p.started(t)
		before := first.Params["progress"].(float64)
		if first.Method != "notifications/progress" || first.Params["progressToken"] != "tokén" || !strings.Contains(first.Params["message"].(string), `running "sh ./ok.sh" (1 of 1)`) {
			t.Errorf("%s: the first note %s", e.name, first.raw)
		}
		for range 3 {
			clock.ticks <- clockTime
			m := c.receive()
			now := m.Params["progress"].(float64)
			if now <= before || now >= m.Params["total"].(float64) || m.Params["message"] != first.Params["message"] {
				t.Errorf("%s: a note %s after %v", e.name, m.raw, before)
			}
			before = now
		}
		p.letGo(t)
		if m := c.receive(); string(m.ID) != "1" || m.refused() {
			t.Errorf("%s: after the guard ended: %s", e.name, m.raw)
		}
		if m := c.ask(e.request("2", "tools/list", "")); len(c.notes) > 0 || string(m.ID) != "2" {
			t.Errorf("%s: notes behind the answer: %v", e.name, c.notes)
		}
		c.end()
	}
}

// TestProgressGrows: whatever order guards begin and end in, each number is above the one
// before and below the total.
func TestProgressGrows(t *testing.T) {
	var sent []float64
	p := &progress{token: json.RawMessage("7"), send: func(params json.RawMessage) {
		var m struct {
			ProgressToken int
			Progress      float64
			Total         *float64
		}
		if err := json.Unmarshal(params, &m); err != nil || m.ProgressToken != 7 {
			t.Fatalf("%s: %v", params, err)
		}
		if last := len(sent) - 1; last >= 0 && m.Progress <= sent[last] || m.Total != nil && m.Progress >= *m.Total {
			t.Errorf("%s after %v", params, sent)
		}
		sent = append(sent, m.Progress)
	}}
	ended := &ir.VerifiedGuard{}
	for _, e := range []mwp.GuardEvent{
		{Of: 3}, {Guard: "a", Number: 1, Of: 3}, {Guard: "b", Number: 2, Of: 3}, {Guard: "a", Number: 1, Of: 3, Line: []byte("NOISE")},
		{Guard: "b", Number: 2, Of: 3, Ended: ended}, {Guard: "c", Number: 3, Of: 3}, {Guard: "a", Number: 1, Of: 3, Ended: ended}, {Guard: "c", Number: 3, Of: 3, Ended: ended},
	} {
		p.event(e)
		for range 10 {
			p.tell("")
		}
	}
	// Ten at each of seven moments, three of beginning guards, and none at the end.
	if len(sent) != 73 {
		t.Errorf("%d messages: %v", len(sent), sent)
	}
}

// TestNoProgressWithoutToken: nor with one that is none.
func TestNoProgressWithoutToken(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	for _, meta := range []string{`{}`, `{"progressToken":null}`, `{"progressToken":{}}`, `{"progressToken":true}`} {
		c := start(t, p.serving(t))
		c.ask(hello)
		m := c.ask(strings.Replace(eraTable[0].verify("guarded"), `"params":{`, `"params":{"_meta":`+meta+`,`, 1))
		if len(c.notes) > 0 || m.refused() {
			t.Errorf("_meta %s: notes %v", meta, c.notes)
		}
		c.end()
	}
}

// TestCancelEndsAGuard: at once, without an answer, and without a record; the next call is
// served (D-86).
func TestCancelEndsAGuard(t *testing.T) {
	p := waitingShop(t)
	c := start(t, p.serving(t))
	c.ask(hello)
	c.send(eraTable[0].verify("guarded"))
	p.started(t)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if m := c.ask(eraTable[0].tool("2", "explain_context", `{"target":"guarded"}`)); string(m.ID) != "2" || !strings.Contains(m.text(), "guarded") {
		t.Errorf("after a cancel: %s", m.raw)
	}
	if p.ran(".mwp/guards.cache.json") {
		t.Error("the cancelled guard has a record")
	}
	// The same call again is another call.
	c.send(eraTable[0].verify("guarded"))
	p.started(t)
	p.letGo(t)
	if m := c.receive(); m.refused() || !strings.Contains(m.text(), "1 passed") {
		t.Errorf("the same call again: %s", m.raw)
	}
	c.end()
}

// TestEndOfContextEndsAGuard: what a signal does.
func TestEndOfContextEndsAGuard(t *testing.T) {
	p := waitingShop(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := p.serving(t)
	c := startIn(ctx, t, o)
	c.ask(hello)
	c.send(eraTable[0].verify("guarded"))
	p.started(t)
	cancel(os.ErrDeadlineExceeded)
	if err := <-c.ended; err != os.ErrDeadlineExceeded {
		t.Errorf("Serve = %v, want the cause", err)
	}
	if p.ran(".mwp/guards.cache.json") {
		t.Error("the guard has a record")
	}
}
