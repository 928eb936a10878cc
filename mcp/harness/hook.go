package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxHook is how many bytes of a hook's message are read. A message holds what a tool
// writes or has read, which is a file of some megabytes at most.
const MaxHook = 8 << 20

// Harnesses whose hooks are known.
const (
	hookClaude = "claude"
	hookCodex  = "codex"
	hookCursor = "cursor"
	hookGemini = "gemini"
	hookVSCode = "vscode"
)

// HookNames returns the names of the harnesses whose hooks are known, sorted.
func HookNames() []string {
	return []string{hookClaude, hookCodex, hookCursor, hookGemini, hookVSCode}
}

// Moment is what an event means for the maps that a reader has.
type Moment uint8

// The moments of a conversation (D-114).
const (
	// Unrelated events change nothing, and nothing can be said at them.
	Unrelated Moment = iota
	// Started begins a conversation, or goes on with one whose text may have been lost.
	Started
	// Prompted comes before the model reads what a person wrote.
	Prompted
	// BeforeTool and AfterTool surround the use of a tool.
	BeforeTool
	AfterTool
	// Compacted comes before or after earlier text is replaced by a summary.
	Compacted
	// Ended is the end of a conversation.
	Ended
)

// momentNamed knows the names of events in every harness. A name is one event wherever it
// is used, so that a harness which copies another's names is understood.
func momentNamed(event string) Moment {
	switch event {
	case "SessionStart", "sessionStart", "SubagentStart":
		return Started
	case "UserPromptSubmit":
		return Prompted
	case "PreToolUse", "preToolUse", "BeforeTool":
		return BeforeTool
	case "PostToolUse", "postToolUse", "AfterTool":
		return AfterTool
	case "PreCompact", "preCompact", "PostCompact", "PreCompress":
		return Compacted
	case "SessionEnd", "sessionEnd":
		return Ended
	}
	return Unrelated
}

// Event is one message that a harness sent to a hook.
type Event struct {
	// Harness is one of HookNames: how the answer has to look.
	Harness string
	// Name is the event as the harness calls it, and Moment what it means.
	Name   string
	Moment Moment
	// Session names the conversation, and Agent the subagent in it, which is a reader of
	// its own; "" is the conversation itself. Both are as they were sent.
	Session, Agent string
	// Cwd is the directory that relative paths start from, "" when it was not sent.
	Cwd string
	// Source says why a conversation started: startup, resume, clear, compact.
	Source string
	// Tool is the tool that is used, Writes whether it changes files, and Paths are the
	// files and directories that it names, as they were sent, each once.
	Tool   string
	Writes bool
	Paths  []string
}

// ReadHook reads the message of one event. harness, one of HookNames or "", is who is said
// to have sent it: the message decides where it is unmistakable, as Cursor and VS Code
// also run the hooks of Claude Code's configuration. Keys are matched in their case, and
// unknown ones and unknown events are no error. It reads no further than the message
// goes, and at most MaxHook bytes.
func ReadHook(r io.Reader, harness string) (Event, error) {
	limited := &io.LimitedReader{R: r, N: MaxHook}
	in := bufio.NewReader(limited)
	// A byte order mark is what PowerShell writes into a pipe.
	if start, err := in.Peek(3); err == nil && string(start) == "\xef\xbb\xbf" {
		in.Discard(3)
	}
	var m message
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return Event{}, unreadable(err, limited.N <= 0)
	}
	if m == nil {
		return Event{}, errors.New("the hook's message is null, expected a JSON object")
	}
	return m.event(harness)
}

func unreadable(err error, full bool) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case full:
		return fmt.Errorf("the hook's message is longer than %d MiB", MaxHook>>20)
	case err == io.EOF:
		return errors.New("the hook's message is empty, expected a JSON object on stdin")
	case err == io.ErrUnexpectedEOF:
		return errors.New("the hook's message ends in the middle")
	case errors.As(err, &syntax):
		return fmt.Errorf("the hook's message is no JSON: byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("the hook's message is a JSON %s, expected an object", kind.Value)
	}
	return fmt.Errorf("read the hook's message: %w", err)
}

// message is a JSON object whose values are not decoded. Not a struct: encoding/json
// would take "CWD" for "cwd".
type message map[string]json.RawMessage

// text returns the first of the keys that holds a string which is not empty.
func (m message) text(keys ...string) string {
	for _, k := range keys {
		if s, ok := asString(m[k]); ok && s != "" {
			return s
		}
	}
	return ""
}

func (m message) has(key string) bool { _, ok := m[key]; return ok }

func asString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func (m message) event(harness string) (Event, error) {
	e := Event{
		Name:   m.text("hook_event_name", "hookEventName"),
		Agent:  m.text("agent_id", "agentId"),
		Cwd:    m.text("cwd"),
		Source: m.text("source"),
		Tool:   m.text("tool_name", "toolName"),
	}
	if e.Name == "" {
		return e, errors.New("the hook's message has no hook_event_name")
	}
	// Cursor's tool events may lack session_id; its conversation_id is in every one.
	if e.Session = m.text("session_id", "sessionId"); m.has("conversation_id") {
		e.Session = m.text("conversation_id")
	}
	if e.Cwd == "" {
		e.Cwd = m.firstRoot()
	}
	e.Harness = m.sender(harness, e.Name)
	e.Moment = e.moment(m)
	if e.Moment == BeforeTool || e.Moment == AfterTool {
		e.readTool(m)
	}
	return e, nil
}

// firstRoot returns the folder that is open in Cursor, whose events have no cwd.
func (m message) firstRoot() string {
	var roots []string
	if json.Unmarshal(m["workspace_roots"], &roots) != nil || len(roots) == 0 {
		return ""
	}
	return roots[0]
}

// sender decides which harness sent a message.
func (m message) sender(said, event string) string {
	transcript := strings.ReplaceAll(m.text("transcript_path"), `\`, "/")
	gemini := slices.Contains([]string{"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress"}, event)
	switch {
	case m.has("cursor_version"), m.has("conversation_id"), m.has("workspace_roots"):
		return hookCursor
	case said != "" && said != hookClaude:
		return said
	case gemini, strings.Contains(transcript, "/.gemini/"):
		return hookGemini
	case strings.Contains(transcript, "/.codex/"), m.has("turn_id"):
		return hookCodex
	case m.has("timestamp"), m.has("hookEventName"):
		// Claude Code sends the one under no name and the other under another.
		return hookVSCode
	}
	return hookClaude
}

// moment returns what the event means to this harness.
func (e *Event) moment(m message) Moment {
	switch {
	case e.Name == "SubagentStart" && e.Agent == "":
		// Whose map it would be is not known.
		return Unrelated
	case e.Name == "PreCompress" && m.text("trigger") != "manual":
		// Gemini CLI announces an automatic compression at nearly every turn, before it
		// looks whether one is needed.
		return Unrelated
	}
	return momentNamed(e.Name)
}
