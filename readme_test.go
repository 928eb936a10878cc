package mwp_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp"
)

// readmeHome stands in the README for the directory that its commands begin in.
const readmeHome = "/home/ann"

// readmeCommitter makes the ids of the README's commits the same everywhere.
var readmeCommitter = []string{
	"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
	"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
}

// TestReadmeConsole runs the commands of the README's console blocks, one after
// the other in one shell, and compares what they print, stdout and stderr
// together. A line of three dots stands for any lines.
func TestReadmeConsole(t *testing.T) {
	env := readmeEnvironment(t)
	runConsole(t, "README.md", consoleSteps(t, "README.md"), env)
}

func readDocument(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// runConsole runs steps of a document in an empty directory.
func runConsole(t *testing.T, document string, steps []consoleStep, env []string) {
	t.Helper()
	if len(steps) == 0 {
		t.Fatalf("%s has no console block", document)
	}
	if _, err := exec.LookPath("git"); err != nil {
		if i := slices.IndexFunc(steps, func(s consoleStep) bool { return strings.Contains(s.command, "git init") }); i >= 0 {
			t.Logf("NOT TESTED: there is no git program on PATH, so %d of %d commands are left out", len(steps)-i, len(steps))
			steps = steps[:i]
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "{ %s\n} >'%s/%d' 2>&1\n", s.command, out, i)
	}
	c := exec.Command("sh", "-c", script.String())
	c.Dir, c.Env = dir, append(slices.Clone(env), "HOME="+t.TempDir())
	if b, err := c.CombinedOutput(); err != nil {
		// The last command's status is the shell's, and a refusal is none.
		if _, exited := err.(*exec.ExitError); !exited || len(b) > 0 {
			t.Errorf("sh: %v\n%s", err, b)
		}
	}
	for i, s := range steps {
		b, err := os.ReadFile(filepath.Join(out, fmt.Sprint(i)))
		if err != nil {
			t.Fatalf("%s: %v", s.command, err)
		}
		text := strings.ReplaceAll(string(b), dir, readmeHome)
		if got := lines(text); !matchLines(s.want, got) {
			t.Errorf("%s shows for `%s`\n%s\n\nwhich prints\n%s", document, s.command, strings.Join(s.want, "\n"), text)
		}
	}
}

// readmeEnvironment returns an environment with both programs on PATH and nobody's
// settings. It skips the test where nothing runs what is written for a POSIX shell.
func readmeEnvironment(t *testing.T) []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the blocks are written for a POSIX shell")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/mwp", "./cmd/mwp-git")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var env []string
	for _, e := range os.Environ() {
		if !slices.ContainsFunc([]string{"MWP_", "GIT_", "XDG_", "NO_COLOR", "CLICOLOR"}, func(p string) bool { return strings.HasPrefix(e, p) }) {
			env = append(env, e)
		}
	}
	env = append(env, readmeCommitter...)
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir())
}

type consoleStep struct {
	command string
	want    []string
}

// consoleSteps reads the blocks: "$ " begins a command, "> " goes on with it.
// An output line that begins with "> " cannot follow a command directly, so it is
// taken for output when the command is complete without it.
func consoleSteps(t *testing.T, file string) []consoleStep {
	t.Helper()
	return stepsIn(readDocument(t, file))
}

func stepsIn(text string) []consoleStep {
	var steps []consoleStep
	open, here := false, ""
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "```console":
			open = true
		case line == "```":
			open = false
		case !open:
		case strings.HasPrefix(line, "$ "):
			command := line[2:]
			steps = append(steps, consoleStep{command: command})
			if _, word, ok := strings.Cut(command, "<<"); ok {
				here = strings.Trim(word, "'")
			}
		case here != "" && strings.HasPrefix(line, "> "):
			steps[len(steps)-1].command += "\n" + line[2:]
			if line[2:] == here {
				here = ""
			}
		default:
			s := &steps[len(steps)-1]
			s.want = append(s.want, line)
		}
	}
	return steps
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// matchLines compares lines; "..." in want stands for any number of them.
func matchLines(want, got []string) bool {
	i := slices.Index(want, "...")
	if i < 0 {
		return slices.Equal(want, got)
	}
	if len(got) < i || !slices.Equal(want[:i], got[:i]) {
		return false
	}
	for n := i; n <= len(got); n++ {
		if matchLines(want[i+1:], got[n:]) {
			return true
		}
	}
	return false
}

func TestMatchLines(t *testing.T) {
	for _, c := range []struct {
		want, got string
		match     bool
	}{
		{"a b", "a b", true}, {"a b", "a", false}, {"a", "a b", false}, {"... b", "a b", true}, {"a ...", "a", true},
		{"a ... c", "a b b c", true}, {"a ... c", "a b b", false}, {"a ... c ... d", "a c c d", true}, {"...", "", true},
	} {
		if got := matchLines(strings.Fields(c.want), strings.Fields(c.got)); got != c.match {
			t.Errorf("matchLines(%q, %q) = %v, want %v", c.want, c.got, got, c.match)
		}
	}
}

// TestReadmeShowsTheGraph checks that the picture in the README is the one that the
// command above it draws.
func TestReadmeShowsTheGraph(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	w := mwp.Open(mwp.Options{Dir: dir, CacheDir: t.TempDir()})
	defer w.Close()
	r, err := w.Graph(t.Context(), mwp.Request{Target: "examples/logistics/dev/browser-sdk/src/client.ts"}, mwp.Mermaid, false)
	if err != nil {
		t.Fatal(err)
	}
	readme = bytes.ReplaceAll(readme, []byte("\r\n"), []byte("\n"))
	if !bytes.Contains(readme, []byte("```mermaid\n"+string(r.Text)+"```\n")) {
		t.Errorf("README.md does not show the graph of the example, which is\n%s", r.Text)
	}
}

// TestReadmeShowsTheExample checks that the map printed in the README is the one
// the command above it prints.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(expectedMaps, "logistics/dev/browser-sdk/src/client.ts.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme, want = bytes.ReplaceAll(readme, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if !bytes.Contains(readme, []byte("```markdown\n"+string(want)+"```\n")) {
		t.Error("README.md does not show the expected map of examples/logistics word for word")
	}
}
