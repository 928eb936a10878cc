package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// shop is a workspace with an identity, rules on three levels, a broken file, and guards.
var shop = map[string]string{
	".mwp/.gitignore":                    "cache/\nsessions/\n",
	".mwp/config.toml":                   "name = \"shop\"\ndescription = \"A shop.\"\n\n[trust]\nallowed_guards = [\"sh ./ok.sh\", \"sh ./bad.sh\", \"sh ./none.sh\"]\n",
	"backend/.mwp-context.md":            "---\nlayer: 1\n---\nRules of the backend.\n",
	"backend/src/api/.mwp-context.md":    "---\nlayer: 2\n---\nRules of the api.\n",
	"backend/src/api/routes.ts":          "",
	"backend/src/orders/.mwp-context.md": "---\nlayer: 2\n---\nRules of orders.\n",
	"broken/.mwp-context.md":             "---\nlayer: 9\n---\nText.\n",
	"warned/.mwp-context.md":             "---\nlair: 2\n---\nText.\n",
	"guarded/.mwp-context.md":            "---\nlayer: 2\nguards:\n  - cmd: sh ./ok.sh\n---\nGuarded.\n",
	"guarded/ok.sh":                      "echo NOISE; touch ../ran-ok\n",
	"failing/.mwp-context.md":            "---\nlayer: 2\nguards:\n  - cmd: sh ./bad.sh\n---\nFailing.\n",
	"failing/bad.sh":                     "echo NOISE >&2; exit 3\n",
	"absent/.mwp-context.md":             "---\nlayer: 2\nguards:\n  - cmd: sh ./none.sh\n---\nAbsent.\n",
	"absent/none.sh":                     "exit 127\n",
	"adhoc/.mwp-context.md":              "---\nlayer: 2\nguards:\n  - cmd: ./adhoc.sh\n  - cmd: sh ./ok.sh\n---\nAd-hoc.\n",
	"adhoc/adhoc.sh":                     "#!/bin/sh\ntouch ../ran-adhoc\n",
	"adhoc/ok.sh":                        "touch ../ran-beside\n",
	"nested/.mwp":                        "name = \"nested\"\n\n[trust]\nallowed_guards = [\"sh ./ok.sh\"]\n",
	"nested/.mwp-context.md":             "---\nguards:\n  - cmd: sh ./ok.sh\n---\nNested.\n",
	"nested/ok.sh":                       "touch ../ran-nested\n",
	"a b/ü#%.d/.mwp-context.md":          "Odd name.\n",
}

// tree makes a directory with files and returns its path, links resolved.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// place is a workspace on disk with a user of its own.
type place struct {
	dir  string
	user string
}

func shopAt(t *testing.T) *place {
	t.Helper()
	return &place{dir: tree(t, shop), user: t.TempDir()}
}

func (p *place) options() mwp.Options {
	return mwp.Options{
		Dir: p.dir, Offline: true,
		Guards: mwp.GuardOptions{UserDir: p.user, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.user}},
	}
}

// bound returns the workspace as a server binds it.
func (p *place) bound(t *testing.T) *mwp.Workspace {
	t.Helper()
	w, err := mwp.Bind(t.Context(), p.options(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func (p *place) trust(t *testing.T) *place {
	t.Helper()
	if err := p.bound(t).TrustWorkspace(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) ran(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

func (p *place) serving(t *testing.T) Options {
	t.Helper()
	return Options{
		Version: "v0.0.0-test", SearchPath: "/search/path",
		Bind: func(ctx context.Context) (*mwp.Workspace, error) { return mwp.Bind(ctx, p.options(), p.dir) },
	}
}

// message is one line of the server's.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  map[string]any  `json:"params"`
	Result  map[string]any  `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
	raw string
}

func (m *message) code() int {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// text is what a tool said.
func (m *message) text() string {
	content, _ := m.Result["content"].([]any)
	if len(content) != 1 {
		return ""
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	return s
}

func (m *message) refused() bool { b, _ := m.Result["isError"].(bool); return b }

func parseLines(t *testing.T, out string) []*message {
	t.Helper()
	var ms []*message
	for line := range strings.Lines(out) {
		m := &message{raw: line}
		if err := json.Unmarshal([]byte(line), m); err != nil || m.JSONRPC != "2.0" || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("no message on a line: %q, %v", line, err)
		}
		ms = append(ms, m)
	}
	return ms
}

// talk runs a whole conversation and returns what the server wrote.
func talk(t *testing.T, o Options, lines ...string) []*message {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, o); err != nil {
		t.Fatalf("Serve = %v", err)
	}
	return parseLines(t, out.String())
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`

// era writes requests in the form of one era.
type era struct {
	name string
	// opening are the lines before the first request.
	opening []string
	meta    string
}

var eraTable = []era{
	{name: "legacy", opening: []string{hello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}},
	{name: "modern", meta: `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`},
}

// request writes one; params is the inside of an object.
func (e era) request(id, method, params string) string {
	if e.meta != "" {
		if params != "" {
			params = "," + params
		}
		params = e.meta + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
}

func (e era) tool(id, name, arguments string) string {
	return e.request(id, "tools/call", `"name":"`+name+`","arguments":`+arguments)
}

// ask runs the opening and one request, and returns the answer to it.
func (e era) ask(t *testing.T, o Options, request string) *message {
	t.Helper()
	ms := talk(t, o, append(append([]string{}, e.opening...), request)...)
	if len(ms) == 0 {
		t.Fatalf("%s: no answer to %s", e.name, request)
	}
	return ms[len(ms)-1]
}

// TestInitializeAgreesOnARevision is R-216.
func TestInitializeAgreesOnARevision(t *testing.T) {
	for _, c := range []struct{ asked, want string }{
		{`"2024-11-05"`, "2024-11-05"}, {`"2025-03-26"`, "2025-03-26"}, {`"2025-06-18"`, "2025-06-18"}, {`"2025-11-25"`, "2025-11-25"},
		{`"2026-07-28"`, "2025-11-25"}, {`"2099-01-01"`, "2025-11-25"}, {`""`, "2025-11-25"}, {`7`, "2025-11-25"}, {`null`, "2025-11-25"},
	} {
		m := talk(t, Options{Version: "v1"}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+c.asked+`}}`)[0]
		if m.Result["protocolVersion"] != c.want {
			t.Errorf("initialize with %s = %s, want %s", c.asked, m.raw, c.want)
		}
	}
	m := talk(t, Options{Version: "v1"}, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)[0]
	want := map[string]any{
		"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "mwp", "version": "v1"}, "instructions": Instructions(),
		"capabilities": map[string]any{"tools": map[string]any{}, "resources": map[string]any{}, "prompts": map[string]any{}, "completions": map[string]any{}},
	}
	if diff := cmp.Diff(want, m.Result); diff != "" {
		t.Errorf("initialize without params (-want +got):\n%s", diff)
	}
}

// TestDiscover is what the revision without a handshake demands of server/discover.
func TestDiscover(t *testing.T) {
	m := eraTable[1].ask(t, Options{Version: "v1"}, eraTable[1].request("1", "server/discover", ""))
	want := map[string]any{
		"resultType": "complete", "supportedVersions": []any{"2026-07-28"}, "instructions": Instructions(), "ttlMs": 300000.0, "cacheScope": "public",
		"capabilities": map[string]any{"tools": map[string]any{}, "resources": map[string]any{}, "prompts": map[string]any{}, "completions": map[string]any{}},
		"_meta":        map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "mwp", "version": "v1"}},
	}
	if diff := cmp.Diff(want, m.Result); diff != "" {
		t.Errorf("server/discover (-want +got):\n%s", diff)
	}
}

// TestErasOfRequests: which requests are served, by what they carry and by what came
// before on the connection.
func TestErasOfRequests(t *testing.T) {
	const (
		version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		can     = `"io.modelcontextprotocol/clientCapabilities":{}`
	)
	request := func(method, meta string) string {
		if meta == "none" {
			return `{"jsonrpc":"2.0","id":9,"method":"` + method + `"}`
		}
		return `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{"_meta":` + meta + `}}`
	}
	for _, c := range []struct {
		before       []string
		method, meta string
		want         int
	}{
		{nil, "tools/list", "none", -32602},
		{nil, "tools/list", `{}`, -32602},
		{nil, "server/discover", "none", -32602},
		{nil, "server/discover", `{` + can + `}`, -32602},
		{nil, "server/discover", `{` + version + `}`, -32602},
		{nil, "server/discover", `{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}`, -32602},
		{nil, "server/discover", `{"io.modelcontextprotocol/protocolVersion":7,` + can + `}`, -32602},
		{nil, "server/discover", `{"io.modelcontextprotocol/protocolVersion":null,` + can + `}`, -32602},
		{nil, "server/discover", `7`, -32602},
		{nil, "server/discover", `{` + version + `,` + can + `}`, 0},
		{nil, "server/discover", `{"io.modelcontextprotocol/protocolVersion":"2025-11-25",` + can + `}`, -32022},
		{nil, "tools/list", `{"io.modelcontextprotocol/protocolVersion":"v999.0.0"}`, -32022},
		{nil, "initialize", `{` + version + `,` + can + `}`, -32601},
		{nil, "logging/setLevel", `{` + version + `,` + can + `}`, -32601},
		{nil, "resources/subscribe", `{` + version + `,` + can + `}`, -32601},
		{nil, "subscriptions/listen", `{` + version + `,` + can + `}`, -32601},
		{nil, "unknown/method", `{` + version + `,` + can + `}`, -32601},
		{nil, "unknown/method", "none", -32601},
		{nil, "Tools/list", `{` + version + `,` + can + `}`, -32601},
		{[]string{hello}, "tools/list", "none", 0},
		{[]string{hello}, "tools/list", `{"progressToken":1}`, 0},
		{[]string{hello}, "tools/list", `{` + version + `,` + can + `}`, 0},
		{[]string{hello}, "server/discover", "none", -32601},
		{[]string{hello}, "server/discover", `{}`, -32601},
		{[]string{hello}, "server/discover", `{` + version + `,` + can + `}`, 0},
		{[]string{hello}, "tools/list", `{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}`, -32022},
		{[]string{hello}, "logging/setLevel", "none", -32601},
		{[]string{hello}, "initialize", "none", 0},
		{[]string{strings.Replace(request("server/discover", `{`+version+`,`+can+`}`), `"id":9`, `"id":8`, 1), hello}, "tools/list", "none", 0},
		{[]string{strings.Replace(request("tools/list", `{`+version+`,`+can+`}`), `"id":9`, `"id":8`, 1)}, "tools/list", "none", -32602},
	} {
		ms := talk(t, Options{}, append(append([]string{}, c.before...), request(c.method, c.meta))...)
		m := ms[len(ms)-1]
		if m.code() != c.want || string(m.ID) != "9" {
			t.Errorf("after %d messages, %s with _meta %s = %s, want the code %d", len(c.before), c.method, c.meta, m.raw, c.want)
		}
	}
}

// TestUnknownRevision: the error lists what is served, which is what discover says.
func TestUnknownRevision(t *testing.T) {
	m := talk(t, Options{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999.0.0"}}}`)[0]
	want := map[string]any{"supported": []any{"2026-07-28"}, "requested": "v999.0.0"}
	if diff := cmp.Diff(want, m.Error.Data); m.Error.Code != -32022 || diff != "" {
		t.Errorf("an unknown revision: %s\n%s", m.raw, diff)
	}
}

// TestParamsThatAreNone: an array is valid JSON-RPC and means nothing here.
func TestParamsThatAreNone(t *testing.T) {
	for _, params := range []string{`[]`, `[1]`, `{"_meta":7}`} {
		ms := talk(t, Options{}, hello, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`)
		if m := ms[1]; m.code() != -32602 {
			t.Errorf("params %s: %s, want -32602", params, m.raw)
		}
	}
}

// TestNotificationsGetNoAnswer: whatever they are called (case 25).
func TestNotificationsGetNoAnswer(t *testing.T) {
	ms := talk(t, Options{}, hello,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`{"jsonrpc":"2.0","method":"tools/list"}`, `{"jsonrpc":"2.0","method":"never/heard"}`, `{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2024-11-05"}}`)
	if len(ms) != 1 {
		t.Errorf("%d messages, want one: %s", len(ms), ms[len(ms)-1].raw)
	}
}

// TestOutsideAProject: everything that needs no workspace is answered, each tool refuses,
// and the next call finds what was made meanwhile.
func TestOutsideAProject(t *testing.T) {
	dir := tree(t, nil)
	p := &place{dir: dir, user: t.TempDir()}
	for _, e := range eraTable {
		o := p.serving(t)
		for method, params := range map[string]string{
			"tools/list": "", "prompts/list": "", "prompts/get": `"name":"orient"`, "resources/list": "", "resources/templates/list": "",
			"completion/complete": `"ref":{"type":"ref/prompt","name":"focus"},"argument":{"name":"target","value":""}`,
		} {
			if m := e.ask(t, o, e.request("1", method, params)); m.Error != nil {
				t.Errorf("%s, outside of a project, %s: %s", e.name, method, m.raw)
			}
		}
		for _, tool := range tools() {
			args := `{}`
			if len(tool.in) == 1 {
				args = `{"target":"x"}`
			}
			m := e.ask(t, o, e.tool("1", tool.name, args))
			if text := m.text(); !m.refused() || !strings.Contains(text, "mwp init") || !strings.Contains(text, "--root") || !strings.Contains(text, dir) {
				t.Errorf("%s, outside of a project, %s: %s", e.name, tool.name, m.raw)
			}
		}
		if m := e.ask(t, o, e.request("1", "resources/read", `"uri":"mwp://context/"`)); m.Error == nil || !strings.Contains(m.Error.Message, "mwp init") {
			t.Errorf("%s, outside of a project, resources/read: %s", e.name, m.raw)
		}
	}
}

// TestTheWorkspaceIsFoundAndKept: looked for again until it is there, then kept, also
// when it is gone (D-65).
func TestTheWorkspaceIsFoundAndKept(t *testing.T) {
	p := &place{dir: tree(t, nil), user: t.TempDir()}
	o := p.serving(t)
	bind, binds := o.Bind, 0
	o.Bind = func(ctx context.Context) (*mwp.Workspace, error) { binds++; return bind(ctx) }
	clock := newClock()
	o.Every = clock.every
	c := start(t, o)
	c.ask(hello)
	call := eraTable[0].tool("1", "map_workspace", `{}`)
	if m := c.ask(call); !m.refused() {
		t.Errorf("before init: %s", m.raw)
	}
	write(t, filepath.Join(p.dir, ".mwp/config.toml"), "name = \"late\"\ndescription = \"Late.\"\n")
	if m := c.ask(call); m.refused() || !strings.Contains(m.text(), "Late.") {
		t.Errorf("after init: %s", m.raw)
	}
	// The session's file is written once, and not again while no time passes.
	<-clock.began
	write(t, filepath.Join(p.dir, ".mwp/config.toml"), "name = \"late\"\ndescription = \"Changed.\"\n")
	if m := c.ask(call); !strings.Contains(m.text(), "Changed.") {
		t.Errorf("after a change of the anchor: %s", m.raw)
	}
	// What an answer leaves behind is written when the next one comes.
	c.ask(eraTable[0].request("1", "prompts/list", ""))
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if m := c.ask(call); !m.refused() || m.text() == "" {
		t.Errorf("without its tree: %s", m.raw)
	}
	write(t, filepath.Join(p.dir, ".mwp/config.toml"), "name = \"again\"\ndescription = \"Again.\"\n")
	if m := c.ask(call); !strings.Contains(m.text(), "Again.") {
		t.Errorf("with a new tree: %s", m.raw)
	}
	if binds != 2 {
		t.Errorf("bound %d times, want one failure and one success", binds)
	}
	c.end()
}

// TestFindingsAreToldOnce, however often they are found, and again when they change.
func TestFindingsAreToldOnce(t *testing.T) {
	p := shopAt(t)
	o := p.serving(t)
	var told []string
	o.Report = func(d ir.Diagnostic) { told = append(told, d.Place()+" "+d.Message) }
	c := start(t, o)
	c.ask(hello)
	for _, target := range []string{"warned", "warned/x", "warned", "backend"} {
		c.ask(eraTable[0].tool("1", "map_workspace", `{"target":"`+target+`"}`))
	}
	write(t, filepath.Join(p.dir, "warned/.mwp-context.md"), "---\nlayer: 2\nlair: 2\n---\nText.\n")
	c.ask(eraTable[0].tool("1", "map_workspace", `{"target":"warned/y"}`))
	c.end()
	var got []string
	for _, s := range told {
		if strings.Contains(s, "lair") {
			got = append(got, s)
		}
	}
	want := []string{"warned/.mwp-context.md:2:1 unknown key \"lair\"", "warned/.mwp-context.md:3:1 unknown key \"lair\""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestAnswersAreKept for the next process: what was computed for a client is served to
// anybody.
func TestAnswersAreKept(t *testing.T) {
	p := shopAt(t)
	for _, e := range eraTable {
		e.ask(t, p.serving(t), e.tool("1", "explain_context", `{"target":"`+e.name+`"}`))
		for _, format := range []mwp.Format{mwp.ExplainText, mwp.ExplainJSON} {
			if r, err := p.bound(t).Map(t.Context(), mwp.Request{Target: e.name, Format: format}); err != nil || !r.Served {
				t.Errorf("%s: explain is computed again: %v", e.name, err)
			}
		}
	}
	modern := eraTable[1]
	modern.ask(t, p.serving(t), modern.tool("1", "map_workspace", `{"target":"kept"}`))
	if r, err := p.bound(t).Map(t.Context(), mwp.Request{Target: "kept", Format: mwp.MarkdownText}); err != nil || !r.Served {
		t.Errorf("a map is computed again: %v", err)
	}
}

// TestFindings: every error of the root package's is text, and no other is.
func TestFindings(t *testing.T) {
	d := ir.Diagnostic{Code: ir.NoRoot, Severity: ir.SeverityError, Message: "m"}
	for _, err := range []error{&mwp.Refusal{Diagnostics: []ir.Diagnostic{d}}, &mwp.EnvironmentError{Diagnostic: d}, &mwp.UsageError{Diagnostic: d}} {
		if ds := findings(err); len(ds) != 1 || said(ds) != err.Error() {
			t.Errorf("findings(%T) = %v", err, ds)
		}
	}
	if ds := findings(context.Canceled); ds != nil {
		t.Errorf("findings(a cancelled call) = %v, want none", ds)
	}
}
