package mcp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// deliveryOf returns what a JSON answer says of how it was delivered.
func deliveryOf(t *testing.T, m *message) *ir.Delta {
	t.Helper()
	var x ir.Map
	if err := json.Unmarshal([]byte(m.text()), &x); err != nil || x.Delta == nil {
		t.Fatalf("no delivery in %s: %v", m.raw, err)
	}
	return x.Delta
}

func mapCall(target string) string {
	if target == "" {
		return eraTable[0].tool("1", "map_workspace", `{"render":"json"}`)
	}
	return eraTable[0].tool("1", "map_workspace", `{"render":"json","target":"`+target+`"}`)
}

const routes, orders = "backend/src/api/routes.ts", "backend/src/orders/"

// TestTheWalk is the proposal's: the project, a file, a directory beside it (section 8.1,
// D-62), and then what the rules of delivery add: repetition, change, a failing guard,
// withdrawal, and the two ways back.
func TestTheWalk(t *testing.T) {
	needsShell(t)
	p := shopAt(t).trust(t)
	c := start(t, p.serving(t))
	c.ask(hello)
	for _, step := range []struct {
		do                               func()
		call                             string
		mode, reason                     string
		sent, skipped, changed, withdraw []string
	}{
		{call: mapCall(""), mode: "full", reason: "first", sent: []string{"."}},
		{call: mapCall(routes), mode: "delta", sent: []string{"backend", "backend/src/api"}, skipped: []string{"."}},
		{call: mapCall(orders), mode: "delta", sent: []string{"backend/src/orders"}, skipped: []string{".", "backend"}},
		{call: mapCall("backend/src/orders/new.ts"), mode: "delta", skipped: []string{".", "backend", "backend/src/orders"}},
		{call: mapCall(routes), mode: "full", reason: "repeat", sent: []string{".", "backend", "backend/src/api"}},
		{call: mapCall(""), mode: "full", reason: "repeat", sent: []string{"."}},
		{
			do: func() {
				write(t, filepath.Join(p.dir, "backend/.mwp-context.md"), "---\nlayer: 1\n---\nOther rules.\n")
			},
			call: mapCall("backend/src/x.ts"), mode: "delta", sent: []string{"backend"}, skipped: []string{"."}, changed: []string{"backend"},
		},
		{call: mapCall("failing/x"), mode: "delta", sent: []string{"failing"}, skipped: []string{"."}},
		{
			do:   func() { c.ask(eraTable[0].verify("failing")) },
			call: mapCall("failing/y"), mode: "delta", sent: []string{"failing"}, skipped: []string{"."}, changed: []string{"failing"},
		},
		{
			do: func() {
				if err := os.Remove(filepath.Join(p.dir, "backend/.mwp-context.md")); err != nil {
					t.Fatal(err)
				}
			},
			call: mapCall("backend/y"), mode: "delta", skipped: []string{"."}, withdraw: []string{"backend"},
		},
		{
			call: eraTable[0].tool("1", "map_workspace", `{"render":"json","full":true,"target":"backend/z"}`),
			mode: "full", reason: "asked", sent: []string{"."},
		},
		{
			do: func() {
				m := c.ask(eraTable[0].tool("1", "reset_session", `{}`))
				if n := m.Result["structuredContent"].(map[string]any)["cleared"]; n != 4.0 || !strings.Contains(m.text(), "forgot 4 entries") {
					t.Errorf("reset_session = %s, want 4 entries", m.raw)
				}
			},
			call: mapCall(routes), mode: "full", reason: "first", sent: []string{".", "backend/src/api"},
		},
	} {
		if step.do != nil {
			step.do()
		}
		d := deliveryOf(t, c.ask(step.call))
		var withdrawn []string
		for _, w := range d.Withdrawn {
			// What was withdrawn once may be said again: a connection can have two readers.
			if step.withdraw != nil {
				withdrawn = append(withdrawn, w.Key)
			}
		}
		empty := func(s []string) []string { return append([]string{}, s...) }
		got := []any{d.Mode, d.Reason, empty(d.Sent), empty(d.Skipped), empty(d.Changed), empty(withdrawn)}
		want := []any{step.mode, step.reason, empty(step.sent), empty(step.skipped), empty(step.changed), empty(step.withdraw)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.call, diff)
		}
	}
	c.end()
}

// TestDeltaAsText: what is left out is not there, and is named with the way back; what is
// sent is byte for byte the text of a whole map where nothing was left out.
func TestDeltaAsText(t *testing.T) {
	p := shopAt(t)
	c := start(t, p.serving(t))
	c.ask(hello)
	call := func(arguments string) string { return c.ask(eraTable[0].tool("1", "map_workspace", arguments)).text() }
	call(`{"target":"backend/src/orders"}`)
	text := call(`{"target":"` + routes + `"}`)
	for _, absent := range []string{"A shop.", "Rules of the backend."} {
		if strings.Contains(text, absent) {
			t.Errorf("the delta repeats %q:\n%s", absent, text)
		}
	}
	for _, present := range []string{"Rules of the api.", "L0 (.)", "L1 (backend)", "reset_session"} {
		if !strings.Contains(text, present) {
			t.Errorf("the delta lacks %q:\n%s", present, text)
		}
	}
	whole, err := p.bound(t).Map(t.Context(), mwp.Request{Target: routes, Format: mwp.MarkdownText})
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`{"target":"` + routes + `"}`, `{"target":"./` + routes + `"}`, `{"target":"` + p.dir + "/" + routes + `"}`, `{"full":true,"target":"` + routes + `"}`} {
		if diff := cmp.Diff(string(whole.Text), call(arguments)); diff != "" {
			t.Errorf("%s again (-want +got):\n%s", arguments, diff)
		}
	}
	c.end()
}

// TestOnlyTheHandshakeHasADelta: requests of the other revision are answered in full each
// time, leave no trace in what the reader behind the handshake has, and cannot make it
// forget (rule 1).
func TestOnlyTheHandshakeHasADelta(t *testing.T) {
	p := shopAt(t)
	c := start(t, p.serving(t))
	modern := eraTable[1]
	call := modern.tool("1", "map_workspace", `{"target":"`+routes+`"}`)
	first := c.ask(call)
	c.ask(hello)
	if d := deliveryOf(t, c.ask(mapCall(""))); d.Reason != "first" {
		t.Errorf("after a modern request: %+v", d)
	}
	for range 2 {
		if m := c.ask(call); m.raw != first.raw {
			t.Errorf("a modern request again: %s, want %s", m.raw, first.raw)
		}
	}
	if m := c.ask(modern.tool("1", "reset_session", `{}`)); m.Result["structuredContent"].(map[string]any)["cleared"] != 0.0 {
		t.Errorf("a modern reset: %s", m.raw)
	}
	c.ask(eraTable[0].request("1", "resources/read", `"uri":"mwp://context/`+routes+`"`))
	c.ask(eraTable[0].tool("1", "explain_context", `{"target":"`+routes+`"}`))
	if d := deliveryOf(t, c.ask(mapCall(routes))); d.Mode != "delta" || len(d.Skipped) != 1 {
		t.Errorf("the reader behind the handshake: %+v", d)
	}
	// A new handshake is a new reader.
	c.ask(hello)
	if d := deliveryOf(t, c.ask(mapCall(orders))); d.Reason != "first" {
		t.Errorf("after a second handshake: %+v", d)
	}
	c.end()
}

// TestWhatWasNotDeliveredIsNotKnown: a refusal and a cancelled call deliver nothing.
func TestWhatWasNotDeliveredIsNotKnown(t *testing.T) {
	p := shopAt(t)
	c := start(t, p.serving(t))
	c.ask(hello)
	c.ask(mapCall("broken"))
	c.ask(mapCall("../x"))
	if d := deliveryOf(t, c.ask(mapCall(routes))); d.Reason != "first" {
		t.Errorf("after refusals: %+v", d)
	}
	c.end()

	// The answer to a call that is cancelled while it waits behind another is never
	// written.
	o := p.serving(t)
	inside, goOn := make(chan bool), make(chan bool)
	bind := o.Bind
	o.Bind = func(ctx context.Context) (*mwp.Workspace, error) {
		inside <- true
		<-goOn
		return bind(ctx)
	}
	c = start(t, o)
	c.ask(hello)
	c.send(mapCall(""))
	<-inside
	c.send(strings.Replace(mapCall(routes), `"id":1`, `"id":2`, 1))
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	// A ping is answered in the order of reading, so the cancel was read.
	if m := c.ask(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); string(m.ID) != `"p"` {
		t.Errorf("a ping during a call: %s", m.raw)
	}
	goOn <- true
	if m := c.receive(); string(m.ID) != "1" {
		t.Errorf("the first call: %s", m.raw)
	}
	if d := deliveryOf(t, c.ask(mapCall(orders))); len(d.Sent) != 2 {
		t.Errorf("after a cancelled call: %+v, want backend to be sent", d)
	}
	c.end()
}

// TestPipelinedCalls are answered in order, each with what those before it left.
func TestPipelinedCalls(t *testing.T) {
	p := shopAt(t)
	one, two := mapCall(""), strings.Replace(mapCall(routes), `"id":1`, `"id":2`, 1)
	three := strings.Replace(mapCall(orders), `"id":1`, `"id":3`, 1)
	ms := talk(t, p.serving(t), hello, one, two, three)
	var got [][]string
	for _, m := range ms[1:] {
		got = append(got, deliveryOf(t, m).Sent)
	}
	if diff := cmp.Diff([][]string{{"."}, {"backend", "backend/src/api"}, {"backend/src/orders"}}, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestMirror: while a client is there its session lies on disk, written at once and then
// once a while, and at the end it is gone (D-64).
func TestMirror(t *testing.T) {
	p := shopAt(t)
	clock := newClock()
	o := p.serving(t)
	o.Every, o.Client = clock.every, "conversation-7"
	c := start(t, o)
	c.ask(hello)
	sessions := func() []ir.SessionRecord {
		t.Helper()
		rs, findings, err := p.bound(t).Sessions(t.Context())
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		return rs
	}
	if rs := sessions(); len(rs) != 0 {
		t.Errorf("before the first map: %v", rs)
	}
	c.ask(mapCall(""))
	if d := <-clock.began; d != time.Second {
		t.Errorf("a pause of %v", d)
	}
	rs := sessions()
	if len(rs) != 1 || rs[0].CallCount != 1 || rs[0].Client != "conversation-7" || len(rs[0].ID) != 36 {
		t.Fatalf("after the first map: %+v", rs)
	}
	c.ask(mapCall(routes))
	c.ask(mapCall(orders))
	c.ask(eraTable[0].request("1", "prompts/list", ""))
	if rs := sessions(); rs[0].CallCount != 1 {
		t.Errorf("within the pause: %d calls", rs[0].CallCount)
	}
	clock.ticks <- clockTime
	<-clock.began
	if rs := sessions(); rs[0].CallCount != 3 || len(rs[0].Seen) != 4 {
		t.Errorf("after the pause: %+v", rs[0])
	}
	c.end()
	if rs := sessions(); len(rs) != 0 {
		t.Errorf("after the end: %v", rs)
	}
	p.noSessions(t)
}

// TestTwoServersOnOneTree have sessions of their own.
func TestTwoServersOnOneTree(t *testing.T) {
	p := shopAt(t)
	a, b := start(t, p.serving(t)), start(t, p.serving(t))
	for _, c := range []*client{a, b} {
		c.ask(hello)
		if d := deliveryOf(t, c.ask(mapCall(""))); d.Reason != "first" {
			t.Errorf("the first map: %+v", d)
		}
	}
	for range 20 {
		a.send(mapCall(routes))
		b.send(mapCall(routes))
		if x, y := a.receive(), b.receive(); x.text() != y.text() {
			t.Errorf("two servers differ:\n%s", cmp.Diff(x.text(), y.text()))
		}
	}
	a.end()
	b.end()
}

// TestReadOnlyState: a workspace in which nothing can be written is served all the same.
func TestReadOnlyState(t *testing.T) {
	p := shopAt(t)
	for _, name := range []string{"cache", "sessions"} {
		// A file where a directory has to be is in the way of every user, also of root.
		write(t, filepath.Join(p.dir, ".mwp", name), "")
	}
	var said []ir.Diagnostic
	o := p.serving(t)
	o.Report = func(d ir.Diagnostic) { said = append(said, d) }
	c := start(t, o)
	c.ask(hello)
	if m := c.ask(mapCall("")); m.refused() {
		t.Errorf("nothing can be written: %s", m.raw)
	}
	if d := deliveryOf(t, c.ask(mapCall(routes))); d.Mode != "delta" {
		t.Errorf("the second map: %+v", d)
	}
	c.end()
	for _, d := range said {
		if d.Severity == ir.SeverityError {
			t.Errorf("said %v", d)
		}
	}
}

// TestGoneReader: when nobody reads any more, a call that runs is ended.
func TestGoneReader(t *testing.T) {
	p := waitingShop(t)
	in, client := io.Pipe()
	out, server := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), in, server, p.serving(t)) }()
	if _, err := io.WriteString(client, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if _, err := io.WriteString(client, eraTable[0].request("1", "tools/list", "")+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !ReaderGone(err) {
		t.Errorf("Serve = %v, want one of which ReaderGone is true", err)
	}
	if ReaderGone(io.EOF) || ReaderGone(nil) {
		t.Error("ReaderGone of another error")
	}
}
