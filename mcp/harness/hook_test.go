package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	claudeID = "8c35adc1-4f0e-4b6a-9d52-2f1f0c7a1e55"
	codexID  = "019a2b3c-0000-7000-8000-00000000c0de"
	cursorID = "6f0d2b1e-3c55-4c64-a0f1-93a1c1d7b0aa"
	vscodeID = "5d3c9f60-9d9c-4f2a-8d6e-0a7c4b1f2e11"
	shop     = "/home/ann/shop"
)

// recorded is what every fixture means. The messages have the fields that the programs
// document, and some that mwp has no use for.
var recorded = map[string]Event{
	"claude-session-start-startup": {Name: "SessionStart", Moment: Started, Source: "startup"},
	"claude-session-start-resume":  {Name: "SessionStart", Moment: Started, Source: "resume"},
	"claude-session-start-clear":   {Name: "SessionStart", Moment: Started, Source: "clear"},
	"claude-session-start-compact": {Name: "SessionStart", Moment: Started, Source: "compact"},
	"claude-prompt":                {Name: "UserPromptSubmit", Moment: Prompted},
	"claude-read":                  {Name: "PreToolUse", Moment: BeforeTool, Tool: "Read", Paths: []string{shop + "/backend/src/api/routes.ts"}},
	"claude-edit":                  {Name: "PreToolUse", Moment: BeforeTool, Tool: "Edit", Writes: true, Paths: []string{shop + "/backend/src/a.ts"}},
	"claude-multiedit":             {Name: "PreToolUse", Moment: BeforeTool, Tool: "MultiEdit", Writes: true, Paths: []string{shop + "/backend/src/a.ts"}},
	"claude-write":                 {Name: "PreToolUse", Moment: BeforeTool, Tool: "Write", Writes: true, Paths: []string{shop + "/backend/new/b.ts"}},
	"claude-notebook":              {Name: "PreToolUse", Moment: BeforeTool, Tool: "NotebookEdit", Writes: true, Paths: []string{shop + "/n.ipynb"}},
	"claude-glob":                  {Name: "PreToolUse", Moment: BeforeTool, Tool: "Glob", Paths: []string{shop + "/backend/src/"}},
	"claude-glob-anywhere":         {Name: "PreToolUse", Moment: BeforeTool, Tool: "Glob"},
	"claude-grep":                  {Name: "PreToolUse", Moment: BeforeTool, Tool: "Grep", Paths: []string{"frontend"}},
	"claude-bash":                  {Name: "PreToolUse", Moment: BeforeTool, Tool: "Bash"},
	"claude-mcp-write":             {Name: "PreToolUse", Moment: BeforeTool, Tool: "mcp__filesystem__write_file", Writes: true, Paths: []string{shop + "/x.txt"}},
	"claude-read-done":             {Name: "PostToolUse", Moment: AfterTool, Tool: "Read", Paths: []string{shop + "/a.ts"}},
	"claude-subagent-start":        {Name: "SubagentStart", Moment: Started, Agent: "a0d1f2c3"},
	"claude-subagent-read":         {Name: "PreToolUse", Moment: BeforeTool, Agent: "a0d1f2c3", Tool: "Read", Paths: []string{shop + "/a.ts"}},
	"claude-subagent-stop":         {Name: "SubagentStop", Agent: "a0d1f2c3"},
	"claude-pre-compact":           {Name: "PreCompact", Moment: Compacted},
	"claude-post-compact":          {Name: "PostCompact", Moment: Compacted},
	"claude-stop":                  {Name: "Stop"},
	"claude-notification":          {Name: "Notification"},
	"claude-session-end":           {Name: "SessionEnd", Moment: Ended},

	"codex-session-start":  {Harness: hookCodex, Name: "SessionStart", Moment: Started, Source: "startup"},
	"codex-apply-patch":    {Harness: hookCodex, Name: "PreToolUse", Moment: BeforeTool, Tool: "apply_patch", Writes: true, Paths: patched},
	"codex-shell":          {Harness: hookCodex, Name: "PreToolUse", Moment: BeforeTool, Tool: "Bash"},
	"codex-shell-patch":    {Harness: hookCodex, Name: "PreToolUse", Moment: BeforeTool, Tool: "Bash", Writes: true, Paths: patched},
	"codex-subagent-start": {Harness: hookCodex, Name: "SubagentStart", Moment: Started, Agent: "agent-7"},
	"codex-pre-compact":    {Harness: hookCodex, Name: "PreCompact", Moment: Compacted},

	"cursor-session-start":  {Harness: hookCursor, Name: "sessionStart", Moment: Started},
	"cursor-read":           {Harness: hookCursor, Name: "preToolUse", Moment: BeforeTool, Tool: "Read", Paths: []string{shop + "/backend/src/a.ts"}},
	"cursor-write-done":     {Harness: hookCursor, Name: "postToolUse", Moment: AfterTool, Tool: "Write", Writes: true, Paths: []string{shop + "/backend/src/a.ts"}},
	"cursor-before-read":    {Harness: hookCursor, Name: "beforeReadFile"},
	"cursor-after-edit":     {Harness: hookCursor, Name: "afterFileEdit"},
	"cursor-prompt":         {Harness: hookCursor, Name: "beforeSubmitPrompt"},
	"cursor-subagent-start": {Harness: hookCursor, Name: "subagentStart"},
	"cursor-pre-compact":    {Harness: hookCursor, Name: "preCompact", Moment: Compacted},
	"cursor-session-end":    {Harness: hookCursor, Name: "sessionEnd", Moment: Ended},

	"gemini-session-start":   {Harness: hookGemini, Name: "SessionStart", Moment: Started, Source: "startup"},
	"gemini-prompt":          {Harness: hookGemini, Name: "BeforeAgent"},
	"gemini-before-replace":  {Harness: hookGemini, Name: "BeforeTool", Moment: BeforeTool, Tool: "replace", Writes: true, Paths: []string{"backend/src/a.ts"}},
	"gemini-read-done":       {Harness: hookGemini, Name: "AfterTool", Moment: AfterTool, Tool: "read_file", Paths: []string{shop + "/backend/src/a.ts"}},
	"gemini-list-done":       {Harness: hookGemini, Name: "AfterTool", Moment: AfterTool, Tool: "list_directory", Paths: []string{"backend"}},
	"gemini-read-many-done":  {Harness: hookGemini, Name: "AfterTool", Moment: AfterTool, Tool: "read_many_files", Paths: []string{"backend/a.ts", "frontend/b.ts"}},
	"gemini-compress-auto":   {Harness: hookGemini, Name: "PreCompress"},
	"gemini-compress-manual": {Harness: hookGemini, Name: "PreCompress", Moment: Compacted},
	"gemini-session-end":     {Harness: hookGemini, Name: "SessionEnd", Moment: Ended},

	"vscode-session-start": {Harness: hookVSCode, Name: "SessionStart", Moment: Started, Source: "new"},
	"vscode-prompt":        {Harness: hookVSCode, Name: "UserPromptSubmit", Moment: Prompted},
	"vscode-read":          {Harness: hookVSCode, Name: "PreToolUse", Moment: BeforeTool, Tool: "read_file", Paths: []string{shop + "/backend/src/a.ts"}},
	"vscode-edit-files":    {Harness: hookVSCode, Name: "PreToolUse", Moment: BeforeTool, Tool: "editFiles", Writes: true, Paths: []string{"src/main.ts", "src/other.ts"}},
	"vscode-multi-replace": {Harness: hookVSCode, Name: "PreToolUse", Moment: BeforeTool, Tool: "multi_replace_string_in_file", Writes: true, Paths: []string{shop + "/a.ts", shop + "/b/c.ts"}},
	"vscode-apply-patch":   {Harness: hookVSCode, Name: "PreToolUse", Moment: BeforeTool, Tool: "apply_patch", Writes: true, Paths: []string{shop + "/a.ts"}},
	"vscode-pre-compact":   {Harness: hookVSCode, Name: "PreCompact", Moment: Compacted},

	"unknown": {Name: "TeammateIdle", Session: "x"},
}

var patched = []string{"backend/src/a.ts", "backend/src/b.ts", "docs/new.md", "old.txt"}

var sessions = map[string]string{hookClaude: claudeID, hookCodex: codexID, hookCursor: cursorID, hookGemini: "b7a1", hookVSCode: vscodeID}

func TestRecordedEvents(t *testing.T) {
	files, err := filepath.Glob("testdata/hook/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(recorded) {
		t.Errorf("%d fixtures, %d in the table", len(files), len(recorded))
	}
	for name, want := range recorded {
		b, err := os.ReadFile("testdata/hook/" + name + ".json")
		if err != nil {
			t.Error(err)
			continue
		}
		if want.Harness == "" {
			want.Harness = hookClaude
		}
		if want.Session == "" {
			want.Session = sessions[want.Harness]
		}
		want.Cwd = shop
		// Without its name as with it.
		for _, said := range []string{"", want.Harness} {
			got, err := ReadHook(bytes.NewReader(b), said)
			if err != nil {
				t.Errorf("ReadHook(%s, %q): %v", name, said, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("ReadHook(%s, %q): -want +got\n%s", name, said, d)
			}
		}
	}
}

func TestSender(t *testing.T) {
	for _, c := range []struct{ message, said, want string }{
		{`{}`, "", hookClaude},
		{`{}`, hookCodex, hookCodex},
		{`{"cursor_version":"3"}`, hookClaude, hookCursor},
		{`{"workspace_roots":[]}`, hookGemini, hookCursor},
		{`{"timestamp":"2026"}`, hookClaude, hookVSCode},
		{`{"timestamp":"2026"}`, hookGemini, hookGemini},
		{`{"transcript_path":"C:\\Users\\ann\\.gemini\\tmp\\x"}`, "", hookGemini},
		{`{"transcript_path":"/home/ann/.codex/x"}`, hookClaude, hookCodex},
		{`{"turn_id":"1"}`, "", hookCodex},
	} {
		text := strings.TrimSuffix(c.message, "}")
		if len(text) > 1 {
			text += ","
		}
		e, err := ReadHook(strings.NewReader(text+`"hook_event_name":"SessionStart"}`), c.said)
		if err != nil || e.Harness != c.want {
			t.Errorf("ReadHook(%s, %q) is from %q, %v, want %q", c.message, c.said, e.Harness, err, c.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"", "is empty"},
		{" \n", "is empty"},
		{"\ufeff", "is empty"},
		{`{"hook_event_name":"Stop"`, "ends in the middle"},
		{`{"hook_event_name":"St`, "ends in the middle"},
		{"null", "is null"},
		{"[]", "is a JSON array"},
		{`"x"`, "is a JSON string"},
		{"7", "is a JSON number"},
		{"hello", "is no JSON: byte 1"},
		{"{'a':1}", "is no JSON: byte 2"},
		{"{}", "no hook_event_name"},
		{`{"Hook_Event_Name":"Stop","HOOK_EVENT_NAME":"Stop"}`, "no hook_event_name"},
		{`{"hook_event_name":null}`, "no hook_event_name"},
		{`{"hook_event_name":["Stop"]}`, "no hook_event_name"},
		{`{"hook_event_name":"Stop","x":"` + strings.Repeat("a", MaxHook) + `"}`, "longer than 8 MiB"},
		{`{"hook_event_name":"Stop","x":` + strings.Repeat("[", 1<<20), "is no JSON"},
	} {
		_, err := ReadHook(strings.NewReader(c.message), "")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("ReadHook(%.60s): %v, want one line with %q", c.message, err, c.want)
		}
	}
}

// A harness may keep the pipe open, and it may write a mark or more than one line.
func TestReadsOneMessage(t *testing.T) {
	r, w := io.Pipe()
	go io.WriteString(w, "\ufeff{\"hook_event_name\":\"Stop\"}\n")
	if e, err := ReadHook(r, ""); err != nil || e.Name != "Stop" {
		t.Errorf("ReadHook of an open pipe: %+v, %v", e, err)
	}
	big := `{"x":"` + strings.Repeat("a", MaxHook-100) + `","hook_event_name":"Stop"}`
	if e, err := ReadHook(strings.NewReader(big+"\n{"), ""); err != nil || e.Name != "Stop" {
		t.Errorf("ReadHook of %d bytes: %+v, %v", len(big), e, err)
	}
}

func TestPaths(t *testing.T) {
	long := strings.Repeat("a", maxPathLength+1)
	var many, want []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%d/x", i))
	}
	want = many[:maxPaths]
	for _, c := range []struct {
		input any
		tool  string
		want  []string
	}{
		{map[string]any{"file_path": ""}, "Read", nil},
		{map[string]any{"file_path": "a\x00b"}, "Read", nil},
		{map[string]any{"file_path": long}, "Read", nil},
		{map[string]any{"file_path": 7, "path": []string{"x"}}, "Read", nil},
		{map[string]any{"File_Path": "a", "FILE_PATH": "b"}, "Read", nil},
		{map[string]any{"file_path": "a\nb\x1b[31m"}, "Read", []string{"a\nb\x1b[31m"}},
		{map[string]any{"file_path": "https://example.org/a"}, "Read", nil},
		{map[string]any{"file_path": "file:///w/a%20b.go"}, "Read", []string{"/w/a b.go"}},
		{map[string]any{"file_path": "FILE://localhost/w/%c3%BC%23#L10"}, "Read", []string{"/w/ü#"}},
		{map[string]any{"file_path": "file:///w/a?b"}, "Read", []string{"/w/a"}},
		{map[string]any{"file_path": "file:///0:/a"}, "Read", []string{"/0:/a"}},
		{map[string]any{"file_path": "file:///w/a%00b"}, "Read", nil},
		{map[string]any{"file_path": "file:///w/a%"}, "Read", nil},
		{map[string]any{"file_path": "file:///w/a%2"}, "Read", nil},
		{map[string]any{"file_path": "file:///w/a%2g"}, "Read", nil},
		{map[string]any{"file_path": "file://"}, "Read", nil},
		{map[string]any{"file_path": "https://localhost/w/a"}, "Read", nil},
		{map[string]any{"file_path": "file://other/w/a"}, "Read", nil},
		{map[string]any{"file_path": "file:///C:/w/a.go"}, "Read", []string{"C:/w/a.go"}},
		{map[string]any{"file_path": `C:\w\a.go`}, "Read", []string{`C:\w\a.go`}},
		{map[string]any{"file_path": "untitled:Untitled-1"}, "Read", []string{"untitled:Untitled-1"}},
		{map[string]any{"paths": many}, "read_many_files", want},
		{map[string]any{"files": []any{map[string]any{"path": "a"}, nil, 3, "b"}}, "x", []string{"a", "b"}},
		{map[string]any{"files": "a"}, "x", nil},
		{map[string]any{"edits": []any{map[string]any{"file_path": "a"}, map[string]any{"file_path": "a"}}}, "x", []string{"a"}},
		{map[string]any{"pattern": "a/b/*.go"}, "Glob", []string{"a/b/"}},
		{map[string]any{"pattern": "/a/{b,c}/*.go", "path": "d"}, "Glob", []string{"d", "/a/"}},
		{map[string]any{"pattern": "b/c.go", "path": "d/"}, "Glob", []string{"d/b/"}},
		{map[string]any{"pattern": "*.go", "path": "d"}, "Glob", []string{"d"}},
		{map[string]any{"pattern": "a/b"}, "Grep", nil},
		{"*** Begin Patch\n*** Add File: \n*** Add File: a b\n*** End Patch", "apply_patch", []string{"a b"}},
		{"*** Add File: a", "apply_patch", nil},
		{`{"path":"a"}`, "view", []string{"a"}},
		{"no JSON", "view", nil},
		{nil, "view", nil},
		{[]string{"a"}, "view", nil},
	} {
		message, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": c.tool, "tool_input": c.input})
		if err != nil {
			t.Fatal(err)
		}
		e, err := ReadHook(bytes.NewReader(message), "")
		if err != nil || !slices.Equal(e.Paths, c.want) {
			t.Errorf("ReadHook(%.80s) has paths %q, %v, want %q", message, e.Paths, err, c.want)
		}
	}
}

func TestSessionID(t *testing.T) {
	id := func(session, agent string) string { e := Event{Session: session, Agent: agent}; return e.SessionID() }
	for _, c := range []struct{ session, agent, want string }{
		{"", "", ""},
		{"", "a", ""},
		{claudeID, "", "hook-" + claudeID},
		{claudeID, "a0d1f2c3", "hook-" + claudeID + ".a0d1f2c3"},
		{"con", "", "hook-con"},
	} {
		if got := id(c.session, c.agent); got != c.want {
			t.Errorf("SessionID of %q, %q = %q, want %q", c.session, c.agent, got, c.want)
		}
	}
	seen := map[string]string{}
	hostile := []string{"../../x", "..", ".", "a/b", `a\b`, "a.b", "A", "a", "B", "b", "CON", "nul\x00", "a\nb", "é", strings.Repeat("a", 48), strings.Repeat("a", 49), strings.Repeat("a", 1<<20), "\xff"}
	for _, session := range hostile {
		for _, agent := range append([]string{""}, hostile...) {
			got := id(session, agent)
			if len(got) > 128 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-_.H") != "" || !strings.HasPrefix(got, "hook-") || strings.Contains(got, "..") {
				t.Errorf("SessionID of %.20q, %.20q = %q is no safe name", session, agent, got)
			}
			who := fmt.Sprintf("%q %q", session, agent)
			folded := strings.ToLower(got)
			if other, ok := seen[folded]; ok {
				t.Errorf("%.40s and %.40s share %q", who, other, folded)
			}
			seen[folded] = who
		}
	}
}

func TestAnswer(t *testing.T) {
	const text = "# <a> & \"b\"\n\tc \u2028 \U0001f600 \x1b\n"
	for _, h := range HookNames() {
		e := Event{Harness: h, Name: "SessionStart", Moment: Started}
		b := e.Answer(text)
		if n := bytes.IndexByte(b, '\n'); n != len(b)-1 {
			t.Errorf("%s: the answer is not one line: %q", h, b)
		}
		var got any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("%s: %v", h, err)
		}
		want := any(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "SessionStart", "additionalContext": text}})
		if h == hookCursor {
			want = map[string]any{"additional_context": text}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", h, d)
		}
		if bytes.Contains(b, []byte(`\u003c`)) {
			t.Errorf("%s: < is escaped in %s", h, b)
		}
	}
}

// Where a text is an error or goes to nobody, none may be printed.
func TestCarries(t *testing.T) {
	want := map[string]string{
		hookClaude: "started prompted before after",
		hookCodex:  "started prompted before after",
		hookCursor: "started before after",
		hookGemini: "started after",
		hookVSCode: "started before after",
	}
	names := []string{Unrelated: "unrelated", Started: "started", Prompted: "prompted", BeforeTool: "before", AfterTool: "after", Compacted: "compacted", Ended: "ended"}
	for _, h := range HookNames() {
		var got []string
		for m, name := range names {
			if e := (Event{Harness: h, Moment: Moment(m)}); e.Carries() {
				got = append(got, name)
			}
			e := Event{Harness: h, Moment: Moment(m)}
			if counts := h != hookCursor || Moment(m) != Started; e.Counts() != counts {
				t.Errorf("%s, %s: Counts() = %v", h, name, e.Counts())
			}
		}
		if s := strings.Join(got, " "); s != want[h] {
			t.Errorf("%s carries %q, want %q", h, s, want[h])
		}
	}
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		harness, answer string
		size, limit     int
	}{
		{hookClaude, "aé\U0001f600\xff", 5, 10_000},
		{hookCodex, "aé\U0001f600", 7, 10_000},
		{hookGemini, "aé", 3, 0},
	} {
		e := Event{Harness: c.harness}
		if got := e.Size([]byte(c.answer)); got != c.size || e.Limit() != c.limit {
			t.Errorf("%s: Size(%q) = %d, Limit() = %d, want %d and %d", c.harness, c.answer, got, e.Limit(), c.size, c.limit)
		}
	}
}

// FuzzReadHook holds for every input: no panic, bounds on what is taken from it, and an
// answer that is one line of JSON.
func FuzzReadHook(f *testing.F) {
	files, _ := filepath.Glob("testdata/hook/*.json")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Glob","tool_input":{"pattern":"/","path":"//"}}`))
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":"*** Begin Patch\n*** Move to: ://"}`))
	f.Add([]byte(`{"hook_event_name":"x","session_id":"\ud800","workspace_roots":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ReadHook(bytes.NewReader(b), "")
		if err != nil {
			if strings.Contains(err.Error(), "\n") || err.Error() == "" {
				t.Errorf("error %q is not one line", err)
			}
			return
		}
		if e.Name == "" || !slices.Contains(HookNames(), e.Harness) || len(e.Paths) > maxPaths {
			t.Errorf("%+v", e)
		}
		for _, p := range e.Paths {
			if p == "" || len(p) > maxPathLength || strings.ContainsRune(p, 0) {
				t.Errorf("path %q", p)
			}
		}
		if id := e.SessionID(); len(id) > 128 || strings.ContainsAny(id, "/\\\x00") || (id == "") != (e.Session == "") {
			t.Errorf("id %q of session %q", id, e.Session)
		}
		answer := e.Answer(string(b))
		if !json.Valid(answer) || bytes.IndexByte(answer, '\n') != len(answer)-1 {
			t.Errorf("answer %q", answer)
		}
	})
}
