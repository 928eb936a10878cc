package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/model-workspace-protocol/mwp/mcp/harness"
)

// told runs a hook and returns what the model reads.
func told(t *testing.T, event map[string]any, args ...string) (string, outcome) {
	t.Helper()
	b, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"hook"}, args...), bytes.NewReader(b), &stdout, &stderr, noEnvironment)
	o := outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
	if stdout.Len() == 0 {
		return "", o
	}
	var answer struct {
		HookSpecificOutput struct{ AdditionalContext string }
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("hook printed %q: %v", &stdout, err)
	}
	return answer.HookSpecificOutput.AdditionalContext, o
}

func noEnvironment(string) string { return "" }

func reading(session, path string) map[string]any {
	return map[string]any{"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Read", "tool_input": map[string]any{"file_path": path}}
}

// Hooks of tools that are used at once: every map is told at least once, at most once by
// each hook, and afterwards the record holds all.
func TestHooksAtOnce(t *testing.T) {
	files := map[string]string{".mwp/config.toml": "name = \"demo\"\n"}
	const dirs, each = 4, 3
	for i := range dirs {
		files[fmt.Sprintf("d%d/.mwp-context.md", i)] = fmt.Sprintf("Rule number %d.\n", i)
	}
	project(t, files)
	var wait sync.WaitGroup
	texts := make([]string, dirs*each)
	for i := range texts {
		wait.Go(func() {
			texts[i], _ = told(t, reading("s", fmt.Sprintf("d%d/x%d", i%dirs, i)), "claude")
		})
	}
	wait.Wait()
	for i := range dirs {
		rule := fmt.Sprintf("Rule number %d.", i)
		if n := strings.Count(strings.Join(texts, ""), rule); n < 1 || n > each {
			t.Errorf("%q was told %d times by %d hooks", rule, n, each)
		}
		if text, o := told(t, reading("s", fmt.Sprintf("d%d/y", i)), "claude"); text != "" || o.stderr != "" {
			t.Errorf("d%d is told again: %q, %q", i, text, o.stderr)
		}
	}
}

// A map that the harness would cut comes in steps of whole entries, each once, and every
// answer fits.
func TestLongMaps(t *testing.T) {
	files := map[string]string{".mwp/config.toml": "name = \"demo\"\ndescription = \"Rule of all.\"\n[budgets]\nl1 = 5000\nl2 = 5000\nl3 = 5000\n"}
	dir, rule := "", regexp.MustCompile(`Rule of (\w+)\.`)
	for i := range 6 {
		dir = filepath.Join(dir, "abcdef"[i:i+1])
		files[dir+"/.mwp-context.md"] = "Rule of " + "abcdef"[i:i+1] + ".\n" + strings.Repeat("\"Long\" & \U0001f600\n", 200) + "End of " + "abcdef"[i:i+1] + ".\n"
	}
	project(t, files)
	target := dir + "/x"
	seen := map[string]int{}
	for calls := 1; ; calls++ {
		text, o := told(t, reading("s", target), "claude")
		if o.code != 0 || o.stderr != "" {
			t.Fatalf("%+v", o)
		}
		if n := len(utf16.Encode([]rune(o.stdout))); n > 10_000 {
			t.Errorf("call %d prints %d characters", calls, n)
		}
		for _, m := range rule.FindAllStringSubmatch(text, -1) {
			seen[m[1]]++
			if m[1] != "all" && !strings.Contains(text, "End of "+m[1]+".") {
				t.Errorf("the entry of %s is cut", m[1])
			}
		}
		last := strings.Contains(text, "Rule of f.")
		if hint := strings.Contains(text, "map_workspace(\"a/b/c/d/e/f/x\")"); hint == last {
			t.Errorf("call %d: the rest is announced: %v, all is told: %v", calls, hint, last)
		}
		if last {
			break
		}
		if calls == 6 {
			t.Fatal("the map is not complete after 6 calls")
		}
	}
	for _, r := range []string{"all", "a", "b", "c", "d", "e", "f"} {
		if seen[r] != 1 {
			t.Errorf("the rule of %s was told %d times", r, seen[r])
		}
	}
	if text, _ := told(t, reading("s", target), "claude"); text != "" {
		t.Errorf("told again: %.200q", text)
	}
	// A harness without a known limit gets it whole.
	if text, _ := told(t, reading("other", target), "vscode"); !strings.Contains(text, "Rule of a.") || !strings.Contains(text, "Rule of f.") {
		t.Errorf("vscode is told %.200q", text)
	}
}

// An entry that is too long by itself is named, with the way to read it, and is not taken
// for told.
func TestEntryTooLong(t *testing.T) {
	project(t, map[string]string{
		".mwp/config.toml":  "name = \"demo\"\n",
		"a/.mwp-context.md": "Rule.\n" + strings.Repeat("word ", 3000) + "\n",
	})
	for range 2 {
		text, o := told(t, reading("s", "a/x"), "codex")
		if o.code != 0 || len(o.stdout) > 10_000 || strings.Contains(text, "word word") || !strings.Contains(text, "run `mwp map a/x --render markdown`") {
			t.Errorf("%d, %q", o.code, text)
		}
	}
	// A name that a shell would run is not put into a command.
	if text, _ := told(t, reading("s", "a/$(touch x)"), "codex"); strings.Contains(text, "mwp map") || !strings.Contains(text, `map_workspace("a/$(touch x)")`) {
		t.Errorf("told %q", text)
	}
	text, _ := told(t, reading("s", "a/x"), "gemini")
	if text != "" {
		t.Errorf("gemini is told %.80q before a tool", text)
	}
}

// What was not written was not told.
func TestHookUnread(t *testing.T) {
	project(t, map[string]string{".mwp/config.toml": "name = \"demo\"\n", "a/.mwp-context.md": "Rule.\n"})
	b, _ := json.Marshal(reading("s", "a/x"))
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"hook"}, bytes.NewReader(b), fullDisk{}, &stderr, noEnvironment); code != 0 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("%d, %q", code, &stderr)
	}
	if text, _ := told(t, reading("s", "a/x")); !strings.Contains(text, "Rule.") {
		t.Errorf("told %q", text)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

// A mistake of ours fails no session either.
func TestHookPanics(t *testing.T) {
	project(t, map[string]string{".mwp/config.toml": "name = \"demo\"\n"})
	var stdout, stderr bytes.Buffer
	env := func(name string) string {
		if name == "CLAUDE_PROJECT_DIR" {
			panic("two\nlines")
		}
		return ""
	}
	in := strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"s"}`)
	code := run(context.Background(), []string{"hook", "--strict-guards"}, in, &stdout, &stderr, env)
	if code != 0 || stdout.Len() > 0 || stderr.String() != "mwp hook: error[internal_error]: mwp made a mistake: two\n" {
		t.Errorf("%d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

// A harness may keep its end open.
func TestHookReadsOneEvent(t *testing.T) {
	project(t, map[string]string{".mwp/config.toml": "name = \"demo\"\ndescription = \"A demo.\"\n"})
	r, w := io.Pipe()
	go io.WriteString(w, `{"hook_event_name":"SessionStart","session_id":"s"}`)
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"hook"}, r, &stdout, &stderr, noEnvironment); code != 0 || !strings.Contains(stdout.String(), "A demo.") {
		t.Errorf("%d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

// A message that has no end is left alone.
func TestHookEndless(t *testing.T) {
	project(t, map[string]string{".mwp/config.toml": "name = \"demo\"\n"})
	in := io.MultiReader(strings.NewReader(`{"hook_event_name":"Stop","x":"`), endless{})
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"hook"}, in, &stdout, &stderr, noEnvironment)
	if want := fmt.Sprintf("longer than %d MiB\n", harness.MaxHook>>20); code != 0 || !strings.HasSuffix(stderr.String(), want) || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("%d, stderr %q", code, &stderr)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}
