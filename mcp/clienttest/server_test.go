package clienttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decode returns a result in the form of T, and fails where there is none.
func decode[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("error %d: %s", a.Error.Code, a.Error.Message)
	}
	if err := json.Unmarshal(a.Result, &v); err != nil {
		t.Fatalf("%v in %s", err, a.Result)
	}
	return v
}

// refused wants an error with a code and some words.
func refused(t *testing.T, a answer, code int, words ...string) {
	t.Helper()
	if a.Error == nil {
		t.Errorf("result %s, want error %d", a.Result, code)
		return
	}
	if a.Error.Code != code {
		t.Errorf("error %d: %s, want %d", a.Error.Code, a.Error.Message, code)
	}
	for _, w := range words {
		if !strings.Contains(a.Error.Message, w) {
			t.Errorf("error %q does not name %q", a.Error.Message, w)
		}
	}
}

// TestServer: every client agrees on its revision, and is told what there is.
func TestServer(t *testing.T) {
	each(t, func(t *testing.T, k kind, c client, _ *workspace) {
		s := decode[struct {
			ProtocolVersion string
			ServerInfo      struct{ Name, Version string }
			Capabilities    map[string]json.RawMessage
			Instructions    string
		}](t, c.ask(t, "server", nil))
		if s.ProtocolVersion != k.version {
			t.Errorf("agreed on revision %q, want %q", s.ProtocolVersion, k.version)
		}
		if s.ServerInfo.Name != "mwp" || s.ServerInfo.Version == "" {
			t.Errorf("serverInfo %+v", s.ServerInfo)
		}
		for name, value := range s.Capabilities {
			if !slices.Contains([]string{"tools", "resources", "prompts", "completions"}, name) || string(value) != "{}" {
				t.Errorf("capability %s: %s", name, value)
			}
		}
		if len(s.Capabilities) != 4 {
			t.Errorf("%d capabilities", len(s.Capabilities))
		}
		if len(s.Instructions) > 2048 || !strings.Contains(s.Instructions, "map_workspace") {
			t.Errorf("instructions of %d bytes: %q", len(s.Instructions), s.Instructions)
		}
	})
}

// toolList is what clients read of tools/list.
type toolList struct {
	Tools []struct {
		Name, Title, Description string
		InputSchema              struct {
			Type                 string
			Properties           map[string]struct{ Type string }
			Required             []string
			AdditionalProperties *bool
		}
		OutputSchema *struct{ Type string }
		Annotations  struct {
			ReadOnlyHint, IdempotentHint   bool
			DestructiveHint, OpenWorldHint *bool
		}
	}
	NextCursor string
}

// TestTools: five tools in one order, with closed schemas, the same for everybody.
func TestTools(t *testing.T) {
	arguments := map[string][]string{
		"map_workspace":   {"full", "render", "target"},
		"reset_session":   nil,
		"explain_context": {"target"},
		"verify_context":  {"target"},
		"list_targets":    {"cursor", "limit", "under"},
	}
	var first *toolList
	each(t, func(t *testing.T, _ kind, c client, _ *workspace) {
		l := decode[toolList](t, c.ask(t, "listTools", nil))
		if first == nil {
			first = &l
		} else if diff := cmp.Diff(*first, l); diff != "" {
			t.Errorf("not the list that another client got:\n%s", diff)
		}
		var names []string
		for _, tool := range l.Tools {
			names = append(names, tool.Name)
			in := tool.InputSchema
			var got []string
			for name, p := range in.Properties {
				if got = append(got, name); p.Type == "" {
					t.Errorf("%s: %s has no type", tool.Name, name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(arguments[tool.Name], got); diff != "" {
				t.Errorf("%s: arguments:\n%s", tool.Name, diff)
			}
			if in.Type != "object" || in.AdditionalProperties == nil || *in.AdditionalProperties {
				t.Errorf("%s: an open schema %+v", tool.Name, in)
			}
			if o := tool.OutputSchema; o != nil && o.Type != "object" {
				t.Errorf("%s: output of type %q", tool.Name, o.Type)
			}
			a := tool.Annotations
			// Without a hint a client assumes the worst.
			if a.ReadOnlyHint != (tool.Name != "verify_context") || a.OpenWorldHint == nil || *a.OpenWorldHint {
				t.Errorf("%s: hints %+v", tool.Name, a)
			}
			if !a.ReadOnlyHint && (!a.IdempotentHint || a.DestructiveHint == nil || *a.DestructiveHint) {
				t.Errorf("%s: hints %+v", tool.Name, a)
			}
			if tool.Title == "" || len(tool.Description) == 0 || len(tool.Description) > 2048 {
				t.Errorf("%s: title %q, description of %d bytes", tool.Name, tool.Title, len(tool.Description))
			}
		}
		want := []string{"map_workspace", "reset_session", "explain_context", "verify_context", "list_targets"}
		if diff := cmp.Diff(want, names); diff != "" || l.NextCursor != "" {
			t.Errorf("%s, next %q", diff, l.NextCursor)
		}
	})
}

// toolResult is what a client's model is shown of a call.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func (r toolResult) text() string {
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		return ""
	}
	return r.Content[0].Text
}

func call(t *testing.T, c client, tool string, arguments map[string]any) toolResult {
	t.Helper()
	return decode[toolResult](t, c.ask(t, "callTool", map[string]any{"name": tool, "arguments": arguments}))
}

const routes = "backend/src/api/routes.ts"

// sameJSON wants two documents to mean the same, but for some keys at their top.
func sameJSON(t *testing.T, what, want string, got []byte, but ...string) {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatalf("%s: the command's: %v", what, err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Errorf("%s: %v in %q", what, err, got)
		return
	}
	for _, key := range but {
		delete(a, key)
		delete(b, key)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s: the command (-) and the tool (+):\n%s", what, diff)
	}
}

// moments are the members of a report that say when a guard ran.
var moments = regexp.MustCompile(`"(duration_ms|ran_at|cache_until)": ?("[^"]*"|[0-9]+)`)

// timeless is a report without the moments of its run.
func timeless(report string) string { return moments.ReplaceAllString(report, `"$1": 0`) }

// TestToolsAreCommands: each tool answers what the command answers on the same state.
func TestToolsAreCommands(t *testing.T) {
	each(t, func(t *testing.T, _ kind, c client, w *workspace) {
		r := call(t, c, "map_workspace", map[string]any{"target": routes})
		if diff := cmp.Diff(w.mwp(t, "map", routes, "--render", "markdown"), r.text()); diff != "" || r.IsError || r.StructuredContent != nil {
			t.Errorf("map_workspace: isError %v, structured %s:\n%s", r.IsError, r.StructuredContent, diff)
		}
		r = call(t, c, "map_workspace", map[string]any{"target": "web/page.ts", "render": "json", "full": true})
		sameJSON(t, "map_workspace", w.mwp(t, "map", "web/page.ts", "--json"), r.StructuredContent, "delta")
		sameJSON(t, "its text", string(r.StructuredContent), []byte(r.text()))

		r = call(t, c, "explain_context", map[string]any{"target": routes})
		sameJSON(t, "explain_context", w.mwp(t, "explain", routes, "--json"), r.StructuredContent)
		if r.text() == "" {
			t.Error("explain_context has no text")
		}
		r = call(t, c, "list_targets", nil)
		sameJSON(t, "list_targets", w.mwp(t, "targets", "--json"), r.StructuredContent)

		r = call(t, c, "verify_context", map[string]any{"target": routes})
		var ran struct {
			OK     bool
			Guards []struct {
				Guard, Status string
				Ran           bool
			}
		}
		if err := json.Unmarshal(r.StructuredContent, &ran); err != nil {
			t.Fatalf("%v in %s; the text is %s", err, r.StructuredContent, r.text())
		}
		if !ran.OK || len(ran.Guards) != 1 || ran.Guards[0].Guard != "test -e ok" || ran.Guards[0].Status != "passed" || !ran.Guards[0].Ran {
			t.Errorf("verify_context: %+v", ran)
		}
		sameJSON(t, "verify_context", timeless(w.mwp(t, "verify", routes, "--json")), []byte(timeless(string(r.StructuredContent))))

		r = call(t, c, "reset_session", nil)
		if r.IsError || !strings.Contains(string(r.StructuredContent), `"cleared"`) {
			t.Errorf("reset_session: %+v", r)
		}
	})
}

// TestNoTrust: a guard that nobody allowed starts nothing, and no tool can allow it.
func TestNoTrust(t *testing.T) {
	each(t, func(t *testing.T, _ kind, c client, w *workspace) {
		r := call(t, c, "verify_context", map[string]any{"target": "web"})
		if !r.IsError || !strings.Contains(r.text(), "touch ran") {
			t.Errorf("verify_context: isError %v, %q", r.IsError, r.text())
		}
		if _, err := os.Stat(filepath.Join(w.dir, "web", "ran")); err == nil {
			t.Error("the guard ran")
		}
	})
}

// TestMistakes: what a model can get wrong is told to it, and what a client gets wrong is
// an error of the protocol.
func TestMistakes(t *testing.T) {
	each(t, func(t *testing.T, k kind, c client, w *workspace) {
		for name, arguments := range map[string]map[string]any{
			"no_such_tool":    nil,
			"map_workspace":   {"target": "../other"},
			"explain_context": {"target": filepath.Join(w.home, "file")},
		} {
			if r := call(t, c, name, arguments); !r.IsError || r.text() == "" || r.StructuredContent != nil {
				t.Errorf("%s(%v) = %+v, want an error in words", name, arguments, r)
			}
		}
		malformed := func(tool string, arguments map[string]any, words ...string) {
			refused(t, c.ask(t, "callTool", map[string]any{"name": tool, "arguments": arguments}), -32602, words...)
		}
		malformed("map_workspace", map[string]any{"Target": "a"}, "Target", "target")
		malformed("map_workspace", map[string]any{"target": 7}, "target")
		malformed("map_workspace", map[string]any{"render": "html"}, "render", "markdown", "json")
		malformed("explain_context", nil, "target")
		malformed("verify_context", map[string]any{"target": "web", "trust": true}, "trust", "target")
	})
}

// TestProgress: whoever asks for it hears of each guard, in growing numbers.
func TestProgress(t *testing.T) {
	each(t, func(t *testing.T, _ kind, c client, _ *workspace) {
		a := c.ask(t, "callTool", map[string]any{"name": "verify_context", "arguments": map[string]any{"target": routes}})
		if len(a.Progress) == 0 {
			t.Fatal("no progress was told")
		}
		last := -1.0
		for _, p := range a.Progress {
			if p.Progress <= last || p.Total != 0 && p.Progress > p.Total {
				t.Errorf("progress %+v after %v", p, last)
			}
			last = p.Progress
		}
	})
}
