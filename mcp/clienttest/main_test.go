// Package clienttest talks to `mwp serve-mcp` with other people's clients: the official
// Go client, the two generations of the TypeScript client, the inspector and the
// conformance suite. It is a module of its own, so that mwp's go.mod stays free of what
// only these tests need, and it knows of mwp no more than its program.
//
// The Go client is always tested. What runs on Node is tested where node and npm are,
// and skipped with the reason where they are not. MWP_CLIENTTEST_NODE may name a
// directory in which the npm packages are kept from one run to the next.
package clienttest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// program is the mwp that is tested, built from the tree around this module.
var program string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clienttest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "mwp")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/mwp")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, out)
		return 1
	}
	code := m.Run()
	if asked.Load() {
		if _, err := node(); errors.Is(err, errAbsent) {
			// Without -v nobody reads what a test that passes has to say.
			fmt.Println("SKIPPED: the TypeScript clients, the inspector and the conformance suite:", err)
		}
	}
	return code
}

// workspace is a project on disk, and a home for its user.
type workspace struct {
	t    *testing.T
	dir  string
	home string
}

// files are those of the walk of proposal section 8.1: a root anchor with a name, and
// context files below it. The guard of backend/src/api passes as long as ok is there.
var files = map[string]string{
	".mwp/config.toml":                   "name = \"shop\"\ndescription = \"A shop and what it sells.\"\n\n[trust]\nallowed_guards = [\"test\"]\n",
	"backend/.mwp-context.md":            "The backend is written in TypeScript.\n",
	"backend/src/api/.mwp-context.md":    "---\nguards:\n  - cmd: test -e ok\n    verified_paths: [ok]\n---\nRoutes are thin.\n",
	"backend/src/api/ok":                 "\n",
	"backend/src/api/routes.ts":          "export {};\n",
	"backend/src/api/users.ts":           "export {};\n",
	"backend/src/orders/.mwp-context.md": "Orders are never deleted.\n",
	"backend/src/orders/order.ts":        "export {};\n",
	"web/.mwp-context.md":                "---\nguards:\n  - cmd: touch ran\n---\nThe web shop.\n",
	"web/page.ts":                        "export {};\n",
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: filepath.Join(t.TempDir(), "shop"), home: t.TempDir()}
	for name, text := range files {
		w.write(t, name, text)
	}
	return w
}

func (w *workspace) write(t *testing.T, name, text string) {
	t.Helper()
	p := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (w *workspace) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

// command prepares a program in the workspace.
func (w *workspace) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Dir = w.dir
	c.Env = append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME="+filepath.Join(w.home, "state"), "MWP_ROOT=", "CLAUDE_PROJECT_DIR=")
	c.Stderr = logger{w.t}
	return c
}

// serve prepares the server, which may run the guards of the workspace.
func (w *workspace) serve() *exec.Cmd { return w.command(program, "serve-mcp", "--trust-workspace") }

// logger shows what programs say on stderr beside the test that they belong to.
type logger struct{ t *testing.T }

func (l logger) Write(p []byte) (int, error) {
	l.t.Logf("stderr: %s", p)
	return len(p), nil
}

// mwp returns what the program prints. An exit status of 1 is an answer.
func (w *workspace) mwp(t *testing.T, args ...string) string {
	t.Helper()
	c := w.command(append([]string{program}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil && c.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %v\n%s", c, err, stderr.Bytes())
	}
	return string(out)
}
