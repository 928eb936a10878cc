package mcp

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// listed is the real answer to tools/list in an era.
func listed(t *testing.T, e era) (*message, []map[string]any) {
	t.Helper()
	m := e.ask(t, Options{Version: "v0.0.0-20260101000000-0123456789ab+dirty"}, e.request("1", "tools/list", ""))
	var list []map[string]any
	for _, x := range m.Result["tools"].([]any) {
		list = append(list, x.(map[string]any))
	}
	return m, list
}

var forbiddenWords = regexp.MustCompile(`(?i)\b(trust|allow|approv|import|fetch|init|write|commit|publish|clean|delet|remov|overrid|cert)`)

// TestExclusions holds what clients are shown to what the server must never offer, in
// both eras.
func TestExclusions(t *testing.T) {
	names := []string{"map_workspace", "reset_session", "explain_context", "verify_context", "list_targets"}
	forbidden := regexp.MustCompile(`(?i)cmd|argv|env|command|trust|allow|floating|root|budget|write|path|uri|url`)
	var lists [2]string
	for i, e := range eraTable {
		m, list := listed(t, e)
		if n := len(m.raw); n >= 3000 {
			t.Errorf("%s: tools/list has %d bytes, want less than 3000", e.name, n)
		}
		var got []string
		for _, tool := range list {
			name := tool["name"].(string)
			got = append(got, name)
			shown, err := json.Marshal([]any{tool["title"], tool["description"], name})
			if err != nil {
				t.Fatal(err)
			}
			if w := forbiddenWords.Find(shown); w != nil {
				t.Errorf("%s: %s offers %q", e.name, name, w)
			}
			in := tool["inputSchema"].(map[string]any)
			if in["type"] != "object" || in["additionalProperties"] != false {
				t.Errorf("%s: the input of %s is not closed: %v", e.name, name, in)
			}
			properties, _ := in["properties"].(map[string]any)
			for p, schema := range properties {
				if forbidden.MatchString(p) || forbiddenWords.MatchString(p) {
					t.Errorf("%s: %s takes %s", e.name, name, p)
				}
				about, _ := schema.(map[string]any)["description"].(string)
				if forbiddenWords.MatchString(about) {
					t.Errorf("%s: %s says of %s: %s", e.name, name, p, about)
				}
				if schema.(map[string]any)["type"] == nil {
					t.Errorf("%s: %s: %s has no type", e.name, name, p)
				}
			}
			text, _ := json.Marshal(tool)
			for _, word := range []string{`"$ref"`, `"anyOf"`, `"oneOf"`, `"allOf"`, `"format"`, `"type":[`, `"$schema"`, `"icons"`} {
				if bytes.Contains(text, []byte(word)) {
					t.Errorf("%s: %s has %s, for which some clients drop it", e.name, name, word)
				}
			}
			if about := tool["description"].(string); len(about) > 2000 {
				t.Errorf("%s: the description of %s has %d bytes", e.name, name, len(about))
			}
			// "mcp__" and the server's name stand before it, and some clients cut at 60.
			if len("mcp__mwp__"+name) > 60 {
				t.Errorf("%s: the name %s is too long", e.name, name)
			}
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", e.name, diff)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		lists[i] = string(text)
	}
	if lists[0] != lists[1] {
		t.Error("the eras list different tools")
	}
}

// TestHints holds each tool to what clients decide by.
func TestHints(t *testing.T) {
	_, list := listed(t, eraTable[0])
	for _, tool := range list {
		hints := tool["annotations"].(map[string]any)
		writes := tool["name"] == "verify_context"
		if hints["readOnlyHint"] != !writes || hints["openWorldHint"] != false || writes && hints["destructiveHint"] != false {
			t.Errorf("%s: hints %v", tool["name"], hints)
		}
		meta, _ := tool["_meta"].(map[string]any)
		if (meta["anthropic/alwaysLoad"] == true) != (tool["name"] == "map_workspace") {
			t.Errorf("%s: _meta %v", tool["name"], meta)
		}
		out, given := tool["outputSchema"].(map[string]any)
		if given == (tool["name"] == "map_workspace") || given && (out["type"] != "object" || out["additionalProperties"] != nil) {
			t.Errorf("%s: outputSchema %v", tool["name"], out)
		}
	}
}

// TestInstructions: what clients put before a model, within where they cut.
func TestInstructions(t *testing.T) {
	s := Instructions()
	if len(s) >= 2048 {
		t.Errorf("%d bytes, want less than 2048", len(s))
	}
	for _, want := range []string{"At the start of every session call map_workspace", "follow its instructions to narrow to a focused target", "lost the workspace map", "reset_session", "READ-ONLY"} {
		if !strings.Contains(s, want) {
			t.Errorf("the instructions do not say %q", want)
		}
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if strings.Contains(word, "_") && !slices.ContainsFunc(tools(), func(t tool) bool { return t.name == word }) {
			t.Errorf("the instructions name %s, which is no tool", word)
		}
	}
}

// TestArguments: what is malformed is an error that names the argument, and the same in
// each era; what is left out may be null.
func TestArguments(t *testing.T) {
	p := shopAt(t)
	for _, c := range []struct {
		tool, arguments string
		want            string // in the error; "" for no error
	}{
		{"map_workspace", `null`, ""},
		{"map_workspace", `{}`, ""},
		{"map_workspace", `{"target":null,"full":null,"render":null}`, ""},
		{"map_workspace", `[]`, "expected an object as arguments, found an array"},
		{"map_workspace", `"x"`, "expected an object as arguments"},
		{"map_workspace", `{"target":42}`, "map_workspace: expected a string as target, found the number 42; map_workspace takes target, render, full"},
		{"map_workspace", `{"target":["a"]}`, "expected a string as target, found an array"},
		{"map_workspace", `{"target":{"a":1}}`, "expected a string as target, found an object"},
		{"map_workspace", `{"target":true}`, "expected a string as target, found true"},
		{"map_workspace", `{"Target":"backend"}`, `there is no argument "Target"; did you mean target? map_workspace takes target, render, full`},
		{"map_workspace", `{"tarqet":"backend"}`, `did you mean target?`},
		{"map_workspace", `{"root":"/"}`, `there is no argument "root"; map_workspace takes`},
		{"map_workspace", `{"budget":1}`, `there is no argument "budget"`},
		{"map_workspace", `{"":1}`, `there is no argument ""`},
		{"map_workspace", `{"render":"html"}`, `expected markdown or json as render, found "html"`},
		{"map_workspace", `{"render":"JSON"}`, `expected markdown or json as render`},
		{"map_workspace", `{"full":"true"}`, `expected true or false as full, found "true"`},
		{"map_workspace", `{"full":1}`, `expected true or false as full, found the number 1`},
		{"reset_session", `{}`, ""},
		{"reset_session", `{"session":"x"}`, `there is no argument "session"; reset_session takes no arguments`},
		{"explain_context", `{}`, "explain_context: the argument target is missing"},
		{"explain_context", `{"target":null}`, "the argument target is missing"},
		{"verify_context", `null`, "verify_context: the argument target is missing"},
		{"verify_context", `{"target":"guarded","trust":true}`, `there is no argument "trust"`},
		{"list_targets", `{"limit":2}`, ""},
		{"list_targets", `{"limit":2.0}`, ""},
		{"list_targets", `{"limit":0}`, "expected a whole number from 1 to 1000 as limit, found the number 0"},
		{"list_targets", `{"limit":1.5}`, "a whole number from 1 to 1000"},
		{"list_targets", `{"limit":1e99}`, "a whole number from 1 to 1000"},
		{"list_targets", `{"limit":"2"}`, `as limit, found "2"`},
		{"list_targets", `{"limit":1001}`, "a whole number from 1 to 1000"},
	} {
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.tool("1", c.tool, c.arguments))
			switch {
			case c.want == "" && (m.Error != nil || m.refused()):
				t.Errorf("%s: %s(%s) = %s, want an answer", e.name, c.tool, c.arguments, m.raw)
			case c.want != "" && (m.code() != -32602 || !strings.Contains(m.Error.Message, c.want)):
				t.Errorf("%s: %s(%s) = %s, want -32602 with %q", e.name, c.tool, c.arguments, m.raw, c.want)
			}
		}
	}
	for _, params := range []string{``, `"name":7`, `"name":null`, `"Name":"map_workspace"`} {
		if m := eraTable[0].ask(t, p.serving(t), eraTable[0].request("1", "tools/call", params)); m.code() != -32602 {
			t.Errorf("tools/call with %s = %s, want -32602", params, m.raw)
		}
	}
	// Long and odd text of a client is not given back as it came.
	m := eraTable[0].ask(t, p.serving(t), eraTable[0].tool("1", "map_workspace", `{"x\u001b[2J`+strings.Repeat("y", 10_000)+`":1}`))
	if m.code() != -32602 || len(m.Error.Message) > 400 || strings.Contains(m.Error.Message, "\x1b") {
		t.Errorf("a long name: %.500s", m.raw)
	}
}

// TestUnknownTool is an answer that a model can read (case 25).
func TestUnknownTool(t *testing.T) {
	for _, e := range eraTable {
		for name, want := range map[string]string{
			"trust_guard":   `there is no tool "trust_guard"` + "\nhint: the tools are map_workspace, reset_session",
			"Map_Workspace": `did you mean map_workspace?`,
			"map_workspac":  `did you mean map_workspace?`,
			"":              `there is no tool ""`,
		} {
			m := e.ask(t, Options{}, e.tool("1", name, `{"cmd":"x"}`))
			if !m.refused() || !strings.Contains(m.text(), want) {
				t.Errorf("%s: the tool %q: %s, want %q", e.name, name, m.raw, want)
			}
		}
	}
}

// TestParity: each tool says byte for byte what the root package, and so the command line,
// says on the same state.
func TestParity(t *testing.T) {
	p := shopAt(t)
	w := p.bound(t)
	ask := func(q mwp.Request) []byte {
		r, err := w.Map(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return r.Text
	}
	targets := func(q mwp.TargetsRequest) []byte {
		r, err := w.Targets(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return r.Text
	}
	const routes = "backend/src/api/routes.ts"
	for _, c := range []struct {
		tool, arguments string
		text, json      []byte
	}{
		{"map_workspace", `{}`, ask(mwp.Request{Format: mwp.MarkdownText}), nil},
		{"map_workspace", `{"target":"."}`, ask(mwp.Request{Target: ".", Format: mwp.MarkdownText}), nil},
		{"map_workspace", `{"target":"` + routes + `"}`, ask(mwp.Request{Target: routes, Format: mwp.MarkdownText}), nil},
		{"map_workspace", `{"target":"warned","render":"markdown"}`, ask(mwp.Request{Target: "warned", Format: mwp.MarkdownText}), nil},
		// A new file in its directory is nothing to talk of.
		{"map_workspace", `{"target":"backend/src/new.ts"}`, ask(mwp.Request{Target: "backend/src/new.ts", Format: mwp.MarkdownText}), nil},
		{"map_workspace", `{"target":"not/there/yet.ts"}`, append(ask(mwp.Request{Target: "not/there/yet.ts", Format: mwp.MarkdownText}),
			// What the command line says on stderr.
			"\nwarning[target_missing]: not/there/yet.ts: the target does not exist; this is the map of the root\n"...), nil},
		{"map_workspace", `{"target":"nested"}`, ask(mwp.Request{Target: "nested", Format: mwp.MarkdownText}), nil},
		{"explain_context", `{"target":"` + routes + `"}`, ask(mwp.Request{Target: routes, Format: mwp.ExplainText}), ask(mwp.Request{Target: routes, Format: mwp.ExplainJSON})},
		{"explain_context", `{"target":"."}`, ask(mwp.Request{Target: ".", Format: mwp.ExplainText}), ask(mwp.Request{Target: ".", Format: mwp.ExplainJSON})},
		{"list_targets", `{}`, targets(mwp.TargetsRequest{Limit: 100}), targets(mwp.TargetsRequest{Limit: 100, JSON: true})},
		{"list_targets", `{"under":"backend","limit":2}`, targets(mwp.TargetsRequest{Under: "backend", Limit: 2}), targets(mwp.TargetsRequest{Under: "backend", Limit: 2, JSON: true})},
		{"list_targets", `{"limit":2,"cursor":"backend/src/api"}`, targets(mwp.TargetsRequest{Cursor: "backend/src/api", Limit: 2}), targets(mwp.TargetsRequest{Cursor: "backend/src/api", Limit: 2, JSON: true})},
	} {
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.tool("1", c.tool, c.arguments))
			text := m.text()
			if behind := e.name == "legacy"; strings.Contains(c.arguments, "nested") {
				// Behind a handshake the reader is told that the map is of another workspace.
				before, notice, found := strings.Cut(text, "This target lies in another workspace, "+"nested.")
				if found != behind {
					t.Errorf("%s: %s says %q", e.name, c.arguments, text)
				}
				if found {
					_, after, _ := strings.Cut(notice, "\n\n")
					text = before + after
				}
			}
			if diff := cmp.Diff(string(c.text), text); diff != "" {
				t.Errorf("%s: %s(%s) (-want +got):\n%s", e.name, c.tool, c.arguments, diff)
			}
			sameJSON(t, e.name+": "+c.tool+c.arguments, c.json, m.Result["structuredContent"])
		}
	}
}

// sameJSON wants a structured half to be what a JSON text says, nil being none.
func sameJSON(t *testing.T, what string, want []byte, got any) {
	t.Helper()
	var w any
	if want != nil {
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("%s, structured (-want +got):\n%s", what, diff)
	}
}

// TestBothHalvesAreOfOneState: while the tree changes between the two, they are asked for
// again, and not for ever.
func TestBothHalvesAreOfOneState(t *testing.T) {
	for _, c := range []struct {
		// states are what the tree is at each question.
		states     string
		text, json string
		asked      int
	}{
		{"aaa", "a", `{"state":"a"}`, 3},
		{"aabbb", "b", `{"state":"b"}`, 5},
		{"abbbb", "b", `{"state":"b"}`, 5},
		{"abcdefghi", "f", `{"state":"g"}`, 7},
	} {
		asked := 0
		a, err := (&server{o: Options{Report: func(ir.Diagnostic) {}}}).bothHalves(func(json bool) (*mwp.Result, error) {
			state := c.states[asked : asked+1]
			asked++
			if json {
				state = "{\n  \"state\": \"" + state + "\"\n}\n"
			}
			return &mwp.Result{Text: []byte(state)}, nil
		})
		if err != nil || a.text != c.text || string(a.structured) != c.json || asked != c.asked {
			t.Errorf("states %s: %q and %s after %d questions, %v; want %q and %s after %d", c.states, a.text, a.structured, asked, err, c.text, c.json, c.asked)
		}
	}
}

// TestMapAsJSON is in both halves, and behind a handshake says how it was delivered.
func TestMapAsJSON(t *testing.T) {
	p := shopAt(t)
	r, err := p.bound(t).Map(t.Context(), mwp.Request{Target: "backend", Format: mwp.JSON})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range eraTable {
		m := e.ask(t, p.serving(t), e.tool("1", "map_workspace", `{"target":"backend","render":"json"}`))
		sameJSON(t, e.name, []byte(m.text()), m.Result["structuredContent"])
		if e.name == "modern" {
			if m.text() != string(r.Text) {
				t.Errorf("modern: the JSON is not the one of mwp map:\n%s", cmp.Diff(string(r.Text), m.text()))
			}
			continue
		}
		var got, want ir.Map
		if err := json.Unmarshal([]byte(m.text()), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Text, &want); err != nil {
			t.Fatal(err)
		}
		if got.Delta == nil || got.Delta.Reason != ir.DeliverFirst || got.Delta.Session != "" {
			t.Errorf("legacy: delta %+v", got.Delta)
		}
		got.Delta = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("legacy (-want +got):\n%s", diff)
		}
	}
}

// TestRefusals are the command line's text, whole, in the one place that every client
// shows.
func TestRefusals(t *testing.T) {
	p := shopAt(t)
	outside := filepath.Dir(p.dir)
	w := p.bound(t)
	for _, c := range []struct{ target, want string }{
		{"broken", ""},
		{".mwp/cache", ""},
		{"-", ""},
		{"a\x00b", ""},
		{"", "error[usage]: the target is empty\nhint: name a file or directory, or leave the target out for the whole project"},
		{"..", "error[target_outside_root]: the target " + outside + " is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"../x", "error[target_outside_root]: the target " + outside + "/x is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"backend/../../x", "error[target_outside_root]: the target " + outside + "/x is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"/etc", "error[target_outside_root]: the target /etc is outside the root " + p.dir + "\nhint: name a target below the root"},
		{p.dir + "-other/x", "error[target_outside_root]: the target " + p.dir + "-other/x is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"file:///etc/passwd", "error[target_outside_root]: the target /etc/passwd is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"file://" + p.dir + "/%2e%2e/x", "error[target_outside_root]: the target " + outside + "/x is outside the root " + p.dir + "\nhint: name a target below the root"},
		{"file://elsewhere/x", "error[target_invalid]: file://elsewhere/x is no file URI of this machine: it names the host elsewhere\nhint: name a target below the root"},
		{"file:x", "error[target_invalid]: file:x is no file URI of this machine: its path is not absolute\nhint: name a target below the root"},
		{"file:///%zz", "error[target_invalid]: file:///%zz is no file URI of this machine: a % begins no escape in it\nhint: name a target below the root"},
	} {
		want := c.want
		if want == "" {
			_, err := w.Map(t.Context(), mwp.Request{Target: c.target, Format: mwp.MarkdownText})
			if want = said(findings(err)); want == "" {
				t.Fatalf("mwp map %q is not refused: %v", c.target, err)
			}
		}
		target, err := json.Marshal(c.target)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range eraTable {
			for _, tool := range []string{"map_workspace", "explain_context"} {
				m := e.ask(t, p.serving(t), e.tool("1", tool, `{"target":`+string(target)+`}`))
				if !m.refused() || m.text() != want || m.Result["structuredContent"] != nil {
					t.Errorf("%s: %s(%q) = %s, want %q", e.name, tool, c.target, m.raw, want)
				}
			}
		}
	}
}

// TestReadToolsChangeNothing: below the root nothing is made or changed but the cache and
// the sessions.
func TestReadToolsChangeNothing(t *testing.T) {
	p := shopAt(t)
	// What a person's first command leaves behind.
	if r, err := p.bound(t).Map(t.Context(), mwp.Request{}); err != nil || r.Record() != nil {
		t.Fatal(err)
	}
	before := contents(t, p.dir)
	for _, e := range eraTable {
		var lines []string
		id := 0
		add := func(line string) { lines = append(lines, line) }
		for _, arguments := range []string{`{}`, `{"target":"backend"}`, `{"target":"guarded"}`, `{"target":"broken"}`, `{"target":"../x"}`} {
			id++
			add(e.tool(strings.Repeat("1", id), "map_workspace", arguments))
		}
		add(e.tool(`"r"`, "reset_session", `{}`))
		add(e.tool(`"e"`, "explain_context", `{"target":"guarded"}`))
		add(e.tool(`"t"`, "list_targets", `{}`))
		add(e.tool(`"v"`, "verify_context", `{"target":"guarded"}`))
		add(e.request(`"l"`, "resources/list", ""))
		add(e.request(`"x"`, "resources/read", `"uri":"mwp://context/backend"`))
		ms := talk(t, p.serving(t), append(append([]string{}, e.opening...), lines...)...)
		if len(ms) < len(lines) {
			t.Fatalf("%s: %d answers to %d requests", e.name, len(ms), len(lines))
		}
		if diff := cmp.Diff(before, contents(t, p.dir)); diff != "" {
			t.Errorf("%s: the tree changed (-before +after):\n%s", e.name, diff)
		}
	}
	p.noSessions(t)
}

// noSessions checks that the servers took their sessions with them, and left the file that
// keeps sessions out of version control.
func (p *place) noSessions(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(p.dir, ".mwp/sessions"))
	if err != nil || len(left) != 1 || left[0].Name() != ".gitignore" {
		t.Errorf("sessions that were left behind: %v, %v", left, err)
	}
}

// contents maps every file below a directory, outside of the cache and the sessions, to
// its text, mode and time.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == ".mwp" {
				return nil
			}
			if rel == filepath.FromSlash(".mwp/cache") || rel == filepath.FromSlash(".mwp/sessions") {
				return fs.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		}
		all[rel] = info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
