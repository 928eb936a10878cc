package mwp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const mcpExample = "examples/mcp"

// TestMCPExample plays the conversation of examples/mcp to the program and compares its
// answers, as bytes and as what a model sees of them.
func TestMCPExample(t *testing.T) {
	t.Parallel()
	project, env := mcpProject(t)
	before := listTree(t, project)
	conversation := slurp(t, filepath.Join(mcpExample, "conversation.jsonl"))
	c := exec.Command(programIn(env, "mwp"), "serve-mcp")
	c.Dir, c.Env, c.Stdin = project, env, bytes.NewReader(conversation)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("mwp serve-mcp: %v\n%s", err, stderr.Bytes())
	}
	out = mcpVersion.ReplaceAll(out, []byte(`"name":"mwp","version":"0.0.0"`))
	out = bytes.ReplaceAll(out, inJSON(t, project), []byte(readmeHome+"/project"))
	checkFile(t, filepath.Join(mcpExample, "expected.jsonl"), out)
	checkFile(t, filepath.Join(mcpExample, "answers.md"), answersPage(t, conversation, out))
	checkOnlyIgnored(t, project, before)
}

// mcpVersion matches what names the program, in another version for each build.
var mcpVersion = regexp.MustCompile(`"name":"mwp","version":"[^"]*"`)

// TestMCPExampleReadme runs the commands of the example's README in a copy.
func TestMCPExampleReadme(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the blocks are written for a POSIX shell")
	}
	project, env := mcpProject(t)
	steps := consoleSteps(t, filepath.Join(mcpExample, "README.md"))
	if len(steps) < 5 {
		t.Fatalf("the README shows %d commands, expected one for each way to ask", len(steps))
	}
	for _, s := range steps {
		c := exec.Command("sh", "-c", s.command)
		c.Dir, c.Env = project, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", s.command, err, out)
		}
		if !matchLines(s.want, lines(string(out))) {
			t.Errorf("the README shows for `%s`\n%s\n\nwhich prints\n%s", s.command, strings.Join(s.want, "\n"), out)
		}
	}
}

// mcpProject copies the example and returns the absolute directory of its project, and an
// environment with the program on PATH and nobody's settings.
func mcpProject(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(copyExample(t, "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "project")
	// Sessions of somebody who tried the commands in place are no part of the example.
	if err := os.RemoveAll(filepath.Join(dir, ".mwp", "sessions")); err != nil {
		t.Fatal(err)
	}
	return dir, readmeEnvironment(t)
}

// programIn returns where the last PATH of an environment has a program.
func programIn(env []string, name string) string {
	path := ""
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.SplitList(path)[0], name)
}

// inJSON returns a string as JSON has it, without the quotes.
func inJSON(t *testing.T, s string) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b[1 : len(b)-1]
}

func slurp(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
}

// mcpRequest and mcpAnswer are the members of messages that the page of answers shows.
type mcpRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
	}
}

type mcpAnswer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// answersPage shows the answers below their requests: of a tool the text, of everything
// else the JSON.
func answersPage(t *testing.T, conversation, answers []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# Answers\n\nWritten by `go test . -run TestMCPExample -update` from what the server answers to\n[conversation.jsonl](conversation.jsonl). Of a tool's answer this is the text; the\nstructured half, where there is one, is in [expected.jsonl](expected.jsonl).\n")
	all := lines(string(answers))
	for _, line := range lines(string(conversation)) {
		var q mcpRequest
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatalf("conversation.jsonl: %v: %s", err, line)
		}
		if q.ID == nil {
			continue
		}
		if len(all) == 0 {
			t.Fatalf("no answer to %s", line)
		}
		var a mcpAnswer
		if err := json.Unmarshal([]byte(all[0]), &a); err != nil || !bytes.Equal(a.ID, q.ID) {
			t.Fatalf("the answer to %s is %s (%v)", line, all[0], err)
		}
		all = all[1:]
		fmt.Fprintf(&b, "\n## %s. %s\n\n", q.ID, q.title())
		a.show(t, &b)
	}
	if len(all) > 0 {
		t.Errorf("answers that nobody asked for:\n%s", strings.Join(all, "\n"))
	}
	return b.Bytes()
}

func (q *mcpRequest) title() string {
	if q.Params.Name == "" {
		return q.Method
	}
	return "`" + q.Params.Name + "(" + string(q.Params.Arguments) + ")`"
}

func (a *mcpAnswer) show(t *testing.T, b *bytes.Buffer) {
	t.Helper()
	var tool struct {
		Content []struct{ Text string }
		IsError bool
	}
	if a.Error == nil {
		if err := json.Unmarshal(a.Result, &tool); err != nil {
			t.Fatal(err)
		}
	}
	if len(tool.Content) == 1 {
		if tool.IsError {
			b.WriteString("Refused:\n\n")
		}
		b.WriteString("````text\n" + strings.TrimSuffix(tool.Content[0].Text, "\n") + "\n````\n")
		return
	}
	shown := a.Result
	if a.Error != nil {
		b.WriteString("Refused:\n\n")
		shown = a.Error
	}
	b.WriteString("```json\n")
	if err := json.Indent(b, shown, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n```\n")
}
