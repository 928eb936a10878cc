package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// project makes a tree and goes there.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

var small = map[string]string{
	".mwp/config.toml":         "name = \"demo\"\ndescription = \"A demo.\"\n",
	"dev/.mwp-context.md":      "The dev rules.\n",
	"dev/x.ts":                 "",
	"bad/.mwp-context.md":      "---\nlayer: 9\n---\nText.\n",
	"over/.mwp-context.md":     "---\nmax_tokens: 1\n---\nThis is too much for one token.\n",
	"boundary/CLAUDE.md":       "",
	"boundary/src/x.ts":        "",
	".mwp/intents/add-view.md": "",
	"warned/.mwp-context.md":   "---\nlair: 2\n---\nText.\n",
	"module/.mwp-module.md":    "---\nname: module\n---\n",
}

type outcome struct {
	code           int
	stdout, stderr string
}

func try(env map[string]string, args ...string) outcome {
	var out, err bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(""), &out, &err, func(k string) string { return env[k] })
	return outcome{code, out.String(), err.String()}
}

// TestExitStatus is appendix A.
func TestExitStatus(t *testing.T) {
	project(t, small)
	for _, c := range []struct {
		line string
		want int
	}{
		{"", 0},
		{"help", 0},
		{"map", 0},
		{"map dev/x.ts", 0},
		{"map dev/new.ts", 0},
		{"map over/x", 0},
		{"explain over/x", 0},
		{"explain dev/x.ts --why nothing", 0},
		{"config", 0},
		{"cache status", 0},
		{"cache fsck", 0},
		{"init --dry-run", 0},
		{"lint dev", 0},
		{"lint dev --max-warnings 0", 0},
		{"lint warned --max-warnings 1", 0},
		{"lint --format sarif dev", 0},
		{"targets", 0},
		{"targets dev --json", 0},
		{"status", 0},
		{"status dev --json", 0},
		{"explain dev --graph mermaid", 0},
		{"import --check", 0},
		{"import outdated", 0},
		{"import --json", 0},
		{"import module", 0},
		{"verify dev", 0},
		{"verify dev --json --stale", 0},
		{"verify nowhere", 0},
		{"verify --list", 0},
		{"verify bad --list", 0},
		{"verify", 1},
		{"verify bad", 1},
		{"verify bad --json", 1},
		{"verify dev bad --junit", 1},
		{"lint", 1},
		{"doctor", 1},
		{"doctor --json", 1},
		{"status bad", 1},
		{"lint bad --json", 1},
		{"lint warned --max-warnings 0", 1},
		{"lint warned -q --max-warnings 0", 1},
		{"import nowhere", 1},
		{"import x@v1", 1},
		{"import https://example.com/x.git", 1},
		{"import --frozen https://example.com/x.git@v1", 1},
		{"import --offline https://example.com/x.git@v1", 1},
		{"publish dev", 1},
		{"explain bad --graph dot", 1},
		{"map bad", 1},
		{"map boundary/src/x.ts", 1},
		{"map .mwp/cache/v1", 1},
		{"explain bad", 1},
		{"cache show never/asked", 1},
		{"init /", 1},
		{"map a b", 2},
		{"map --budget l3=no", 2},
		{"nothing", 2},
		{"lint nowhere", 2},
		{"lint --json --sarif", 2},
		{"targets nowhere", 2},
		{"targets --limit 0", 2},
		{"serve-mcp --instructions", 0},
		{"serve-mcp dev", 2},
		{"serve-mcp --log dev", 2},
		{"serve-mcp --log no/such/log", 4},
		{"serve-mcp -C nowhere", 4},
		{"import --update --frozen", 2},
		{"import --update --offline", 2},
		{"import outdated --offline", 2},
		{"import --check x", 2},
		{"publish --root .", 2},
		{"verify --staged --affected main", 2},
		{"verify --for 31d --override x --reason y --yes", 2},
		{"verify --junit --json", 2},
		{"verify --jobs 0 dev", 2},
		{"verify --yes dev", 2},
		{"verify --hook claude bad", 2},
		{"verify --override x --reason y", 2},
		{"map over/x --strict", 3},
		{"map dev/x.ts --strict", 0},
		{"lint /", 4},
		{"lint --diff main", 4},
		{"verify /", 4},
		{"verify --staged", 4},
		{"verify -o nowhere/file dev", 4},
		{"lint -o nowhere/file", 4},
		{"targets /", 4},
		{"map /", 4},
		{"map -C nowhere", 4},
		{"map -o nowhere/file", 4},
		{"map --root nowhere dev", 4},
	} {
		got := try(nil, strings.Fields(c.line)...)
		if got.code != c.want {
			t.Errorf("mwp %s: exit status %d, want %d; stderr: %s", c.line, got.code, c.want, got.stderr)
		}
		words := strings.Fields(c.line)
		if len(words) > 0 && (words[0] == "lint" || words[0] == "import" || words[0] == "doctor") && c.want < 2 {
			// These print what they found and did, which may be nothing.
			if strings.Contains(got.stderr, "internal_error") {
				t.Errorf("mwp %s: stderr %q", c.line, got.stderr)
			}
			continue
		}
		// The report of verify is written whatever it says (D-72).
		no := c.want == 1 && words[0] != "verify"
		if (got.stdout == "") != (no || c.want == 2 || c.want == 4 || strings.Contains(c.line, "-o")) {
			t.Errorf("mwp %s: exit status %d with %d bytes on stdout", c.line, got.code, len(got.stdout))
		}
		if c.want == 1 || c.want == 2 || c.want == 4 {
			if !strings.Contains(got.stderr, "error") {
				t.Errorf("mwp %s: no error on stderr: %q", c.line, got.stderr)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errPipe, 0},
		{errNegative, 1},
		{&mwp.Refusal{}, 1},
		{fmt.Errorf("map: %w", &mwp.Refusal{}), 1},
		{usage("", "x"), 2},
		{misspelt("", "x"), 2},
		{errStrict, 3},
		{&mwp.EnvironmentError{}, 4},
		{failed(fs.ErrPermission, "read"), 4},
		{errors.New("anything else"), 4},
		{context.Canceled, 4},
		{&interrupted{syscall.SIGHUP}, 129},
		{&interrupted{syscall.SIGINT}, 130},
		{&interrupted{syscall.SIGTERM}, 143},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

// failing is a stream that does not take anything.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestClosedPipeIsSilent(t *testing.T) {
	project(t, small)
	var stderr bytes.Buffer
	out := failing{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
	if code := run(context.Background(), []string{"map"}, nil, out, &stderr, noEnv); code != 0 || stderr.Len() > 0 {
		t.Errorf("run into a closed pipe = %d, stderr %q, want 0 and nothing", code, stderr.String())
	}
	out = failing{syscall.ENOSPC}
	if code := run(context.Background(), []string{"map"}, nil, out, &stderr, noEnv); code != 4 || !strings.Contains(stderr.String(), "cannot write the result: ") {
		t.Errorf("run onto a full disk = %d, stderr %q, want 4 and the reason", code, stderr.String())
	}
}

func noEnv(string) string { return "" }

// oneWrite counts.
type oneWrite struct{ calls int }

func (w *oneWrite) Write(b []byte) (int, error) { w.calls++; return len(b), nil }

func TestAMapIsWrittenAtOnce(t *testing.T) {
	project(t, small)
	for _, line := range []string{"map", "map dev/x.ts --render md", "map --each dev bad/../dev", "explain", "config", "cache status", "help map", "lint dev", "lint dev --sarif", "verify dev", "verify dev --junit", "targets --json", "explain --graph dot", "import module"} {
		var w oneWrite
		if code := run(context.Background(), strings.Fields(line), nil, &w, io.Discard, noEnv); code != 0 || w.calls != 1 {
			t.Errorf("mwp %s: exit status %d, %d writes, want 0 and 1", line, code, w.calls)
		}
	}
}

// TestKeysAreListedInOrder: what MWP_DEBUG=hash prints does not depend on the
// schedule, so two runs can be compared.
func TestKeysAreListedInOrder(t *testing.T) {
	project(t, small)
	got := try(map[string]string{"MWP_DEBUG": "hash"}, "map", "dev/x.ts", "--fresh").stderr
	var heads []string
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, " ") {
			heads = append(heads, line)
		}
	}
	if len(heads) < 10 || !slices.IsSorted(heads) {
		t.Errorf("nodes in this order:\n%s", strings.Join(heads, ""))
	}
}

// TestWhatAResultMeansForTheStatus covers results that are hard to come by.
func TestWhatAResultMeansForTheStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		flag   bool
		change func(*mwp.Result)
		want   int
	}{
		{"nothing", true, func(*mwp.Result) {}, 0},
		{"findings", false, func(r *mwp.Result) { r.Findings = 1 }, 0},
		{"findings, --strict", true, func(r *mwp.Result) { r.Findings = 1 }, 3},
		{"findings, policy", false, func(r *mwp.Result) { r.Findings, r.Strict = 1, true }, 3},
		{"read-only", false, func(r *mwp.Result) { r.ReadOnly = true }, 0},
		{"read-only, --strict", true, func(r *mwp.Result) { r.ReadOnly = true }, 3},
		{"a wrong cache", false, func(r *mwp.Result) { r.Stats.Mismatches = 2 }, 4},
		{"a wrong cache, --strict", true, func(r *mwp.Result) { r.Findings, r.Stats.Mismatches = 1, 2 }, 4},
	} {
		var stdout bytes.Buffer
		a := &app{ctx: context.Background(), stdout: &stdout, stderr: io.Discard, env: noEnv, invocation: &invocation{command: &cmdMap}}
		a.strict = c.flag
		var r mwp.Result
		c.change(&r)
		if got := exitCode(a.deliver([]byte("map"), &r)); got != c.want || stdout.String() != "map" {
			t.Errorf("%s: exit status %d with %q on stdout, want %d and the map", c.name, got, stdout.String(), c.want)
		}
	}
}

// before calls its function when something is written.
type before struct{ f func() }

func (w before) Write(b []byte) (int, error) { w.f(); return len(b), nil }

func TestTheAnswerComesBeforeTheCache(t *testing.T) {
	dir := project(t, small)
	slots := filepath.Join(dir, ".mwp", "cache", "v1", "slots")
	for _, line := range []string{"map dev/x.ts", "map --each dev", "explain dev/x.ts", "lint dev", "targets"} {
		if err := os.RemoveAll(slots); err != nil {
			t.Fatal(err)
		}
		out := before{func() {
			if _, err := os.Stat(slots); err == nil {
				t.Errorf("mwp %s: recorded before it was printed", line)
			}
		}}
		if code := run(context.Background(), strings.Fields(line), nil, out, io.Discard, noEnv); code != 0 {
			t.Errorf("mwp %s: exit status %d", line, code)
		}
		if _, err := os.Stat(slots); err != nil {
			t.Errorf("mwp %s: not recorded: %v", line, err)
		}
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("broken\nwith a stack") }

func TestAPanicIsOneSentence(t *testing.T) {
	for _, c := range []struct {
		debug string
		stack bool
	}{{"", false}, {"panic", true}, {"hash,panic", true}, {"hash", false}} {
		var stderr bytes.Buffer
		code := run(context.Background(), []string{"version"}, nil, panicking{}, &stderr, func(k string) string {
			return map[string]string{"MWP_DEBUG": c.debug}[k]
		})
		got := stderr.String()
		if code != 4 || !strings.HasPrefix(got, "error[internal_error]: mwp made a mistake: broken\nhint: ") {
			t.Errorf("a panic: exit status %d, stderr %q", code, got)
		}
		if strings.Contains(got, "goroutine") != c.stack {
			t.Errorf("MWP_DEBUG=%s: a stack is printed: %v", c.debug, !c.stack)
		}
	}
}

func TestSignalsEndARun(t *testing.T) {
	project(t, small)
	for _, line := range []string{"map dev/x.ts --fresh", "map --each dev dev/x.ts --fresh", "explain --fresh", "explain --why x", "config", "cache status", "init sub", "lint --fresh", "targets --fresh", "doctor", "status", "status dev", "explain --graph dot --fresh", "import", "verify", "verify dev --json", "map dev --verify"} {
		for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(&interrupted{sig})
			var stdout, stderr bytes.Buffer
			code := run(ctx, strings.Fields(line), nil, &stdout, &stderr, noEnv)
			if line == "init sub" {
				// A stub needs no search, so there is nothing to interrupt.
				want = 0
				os.RemoveAll("sub")
				stdout.Reset()
			}
			if code != want || stdout.Len() > 0 || stderr.Len() > 0 {
				t.Errorf("mwp %s, %v: exit status %d, stdout %q, stderr %q, want %d and nothing", line, sig, code, stdout.String(), stderr.String(), want)
			}
		}
	}
}

func TestJSONFindingsAreOneLineEach(t *testing.T) {
	d := ir.Diagnostic{Code: "c", Severity: ir.SeverityError, Message: "a\nb  \"c\"\x1b", Source: "p", Line: 3, Hint: "h"}
	want := `{"code": "c", "severity": "error", "message": "a\nb  \"c\"\u001b", "source": "p", "line": 3, "hint": "h"}` + "\n"
	if got := string(oneLine(ir.AppendDiagnosticJSON(nil, &d))); got != want {
		t.Errorf("oneLine = %s, want %s", got, want)
	}
}

func TestColours(t *testing.T) {
	project(t, small)
	const esc = "\x1b["
	for _, c := range []struct {
		env  map[string]string
		flag string
		want bool
	}{
		{nil, "auto", false}, // not a terminal
		{nil, "always", true},
		{map[string]string{"CLICOLOR_FORCE": "1"}, "auto", true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, "auto", false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, "never", false},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, "auto", false},
		{map[string]string{"NO_COLOR": "1"}, "always", true},
		{map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, "auto", true},
	} {
		got := try(c.env, "map", "dev/new.ts", "--render", "md", "--color", c.flag)
		if strings.Contains(got.stderr, esc) != c.want {
			t.Errorf("env %v, --color %s: colour is %v", c.env, c.flag, !c.want)
		}
		if strings.Contains(got.stdout, esc) {
			t.Errorf("env %v, --color %s: colour in a rendered map", c.env, c.flag)
		}
	}
}

// TestPaintSaysTheSame: colour adds no words.
func TestPaintSaysTheSame(t *testing.T) {
	for _, d := range []ir.Diagnostic{
		{Code: "c", Severity: ir.SeverityError, Message: "m]: n", Source: "a]: b", Hint: "h"},
		{Code: "c", Severity: ir.SeverityWarning, Message: "m"},
		{Code: "c", Severity: ir.SeverityNote, Message: "m\nhint: n", Line: 3, Source: "s"},
	} {
		got := paint(&d)
		for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"} {
			got = strings.ReplaceAll(got, code, "")
		}
		if got != d.String()+"\n" {
			t.Errorf("paint(%+v) without colours = %q, want %q", d, got, d.String())
		}
	}
}

// TestTable holds the table to the code.
func TestTable(t *testing.T) {
	project(t, small)
	for _, c := range commands {
		refused := 2
		if c == &cmdHook {
			// To a harness 2 is a refusal of what the model is about to do.
			refused = 0
		}
		if got := try(nil, c.name, "--no-such-flag"); got.code != refused || got.stderr == "" {
			t.Errorf("%s takes an unknown flag: %+v", c.name, got)
		}
		args := []string{c.name}
		if c.choices != nil && c != &cmdHelp {
			args = append(args, c.choices[0])
		}
		switch c {
		case &cmdInit:
			args = append(args, "--dry-run")
		case &cmdLint, &cmdVerify:
			args = append(args, "dev")
		}
		want := 0
		if c == &cmdPublish || c == &cmdDoctor {
			// There is no module here, and one context file is invalid.
			want = 1
		}
		if got := try(nil, args...); got.code != want {
			t.Errorf("mwp %s: %+v", strings.Join(args, " "), got)
		}
		seen := map[string]bool{}
		for _, f := range allFlags(c) {
			for _, s := range f.typed() {
				if seen[s] {
					t.Errorf("%s: two flags are called %s", c.name, s)
				}
				seen[s] = true
			}
			switch {
			case f == &flagDir, f == &flagHelp, f == &flagVersion:
			case f.means != "":
				target, _, _ := strings.Cut(f.means, "=")
				if flagNamed(c, target) == nil {
					t.Errorf("%s: --%s means %s, which is no flag", c.name, f.name, f.means)
				}
			case new(options).setter(f) == nil:
				t.Errorf("%s: nothing takes --%s", c.name, f.name)
			}
		}
		if c.alias != "" && commandNamed(c.alias) != c {
			t.Errorf("%s is not found as %s", c.name, c.alias)
		}
		if c != &cmdHelp && !slices.Contains(cmdHelp.choices, c.name) {
			t.Errorf("help does not offer %s", c.name)
		}
	}
	for _, topic := range cmdHelp.choices {
		if got := try(nil, "help", topic); got.code != 0 {
			t.Errorf("mwp help %s: %+v", topic, got)
		}
	}
}

// TestHelp compares every help text with its golden file, so that a change of help
// is seen.
func TestHelp(t *testing.T) {
	topics := map[string][]string{"mwp": {}}
	for _, topic := range cmdHelp.choices {
		topics[topic] = []string{"help", topic}
	}
	// The nodes' description is a document of its own, held to the code elsewhere.
	delete(topics, topicNodes)
	// The man page is no text for a terminal; TestManPage looks at it.
	delete(topics, topicMan)
	if got := try(nil, "help", topicNodes).stdout; got != mwp.NodesDocument() || !strings.Contains(got, "## cascade") {
		t.Errorf("help nodes = %q", got)
	}
	topics["help"] = []string{"help", "help"}
	golden, err := filepath.Glob("testdata/help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range golden {
		if name := strings.TrimSuffix(filepath.Base(g), ".txt"); topics[name] == nil {
			t.Errorf("%s belongs to no topic", g)
		}
	}
	for name, args := range topics {
		got := try(nil, args...).stdout
		file := filepath.Join("testdata/help", name+".txt")
		if *update {
			if err := os.MkdirAll("testdata/help", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("help %s differs from %s (-want +got; go test -update rewrites):\n%s", name, file, diff)
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("help %s: %d columns: %s", name, n, line)
			}
		}
		_, examples, ok := strings.Cut(got, "\nExamples:\n")
		lines := 0
		for line := range strings.Lines(examples) {
			if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") && strings.Contains(line, "mwp") {
				lines++
			}
		}
		if !ok || lines < 2 {
			t.Errorf("help %s has %d examples, want two", name, lines)
		}
	}
}

func TestCompletionScriptsParse(t *testing.T) {
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"},
		"zsh":  {"zsh", "-n"},
		"fish": {"fish", "--no-execute"},
	} {
		t.Run(shell, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "script")
			got := try(nil, "completion", shell)
			if got.code != 0 {
				t.Fatalf("completion %s: %+v", shell, got)
			}
			if err := os.WriteFile(script, []byte(got.stdout), 0o666); err != nil {
				t.Fatal(err)
			}
			bin, err := exec.LookPath(check[0])
			if err != nil {
				t.Skipf("NOT CHECKED: %s is not installed", check[0])
			}
			if out, err := exec.Command(bin, append(check[1:], script)...).CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", check, err, out)
			}
		})
	}
	// No PowerShell is at hand to parse this one; at least its brackets match.
	got := try(nil, "completion", "powershell").stdout
	for _, pair := range []string{"{}", "()"} {
		if strings.Count(got, pair[:1]) != strings.Count(got, pair[1:]) {
			t.Errorf("powershell: %s do not match", pair)
		}
	}
}

// TestBashCompletes asks bash itself.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT CHECKED: bash is not installed")
	}
	dir := project(t, small)
	script := filepath.Join(dir, "completion.bash")
	if err := os.WriteFile(script, []byte(try(nil, "completion", "bash").stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := try(nil, "map", "dev", "--session", "review"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, c := range []struct {
		line string // the last word is being typed
		want string
	}{
		{"mwp ma", "map"},
		{"mwp --root . ma", "map"},
		{"mwp map --ren", "--render"},
		{"mwp collect --ren", "--render"},
		{"mwp map x --render cl", "claude"},
		{"mwp map x --render = cl", "claude"},
		{"mwp map --format g", "gpt-4"},
		{"mwp collect --format g", "gpt-4"},
		{"mwp explain --ren", ""},
		{"mwp explain --tok", "--tokens"},
		{"mwp explain --tokens ap", "approx/1"},
		{"mwp --color ne", "never"},
		{"mwp map x --color ne", "never"},
		{"mwp cache st", "status"},
		{"mwp completion z", "zsh"},
		{"mwp li", "lint"},
		{"mwp ta", "targets"},
		{"mwp imp", "import"},
		{"mwp pub", "publish"},
		{"mwp lint --form", "--format"},
		{"mwp lint --format sa", "sarif"},
		{"mwp lint --format g", "github"},
		{"mwp lint --prof", "--profile"},
		{"mwp lint --profile cl", "claude"},
		{"mwp lint --stdin", "--stdin\n--stdin0"},
		{"mwp lint --ren", ""},
		{"mwp targets --cur", "--cursor"},
		{"mwp import --fro", "--frozen"},
		{"mwp import --upd", "--update"},
		{"mwp map --off", "--offline"},
		{"mwp ver", "verify\nversion"},
		{"mwp verify --stag", "--staged"},
		{"mwp verify --hook c", "claude"},
		{"mwp verify --format ju", "junit"},
		{"mwp explain --graph me", "mermaid"},
		{"mwp publish --rem", "--remote"},
		{"mwp init --with", "--with-base"},
		{"mwp help tar", "targets"},
		{"mwp map de", ""}, // bash completes the path
		{"mwp cache show st", ""},
		{"mwp cache imp", "import"},
		{"mwp cache import ex", ""},
		{"mwp doc", "doctor"},
		{"mwp stat", "status"},
		{"mwp report --out", "--output"},
		{"mwp report -o de", "dev"},
		{"mwp completion bash z", ""},
		{"mwp help ma", "map\nman"},
		{"mwp sessions rm re", "review"},
		{"mwp map --session = re", "review"},
		{"mwp --root de", "dev"},
	} {
		words := strings.Fields(c.line)
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + w + "'"
		}
		probe := fmt.Sprintf("compopt() { :; }; source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _mwp; printf '%%s\\n' \"${COMPREPLY[@]}\"", script, strings.Join(quoted, " "), len(words)-1)
		out, err := exec.Command(bash, "--norc", "-c", probe).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.line, err, out)
		}
		if got := strings.TrimSpace(string(out)); got != c.want {
			t.Errorf("%s<TAB>: %q, want %q", c.line, got, c.want)
		}
	}
}

// TestSignalsOfAProcess: a run that waits for its reader ends by the signal, as a
// shell expects of a program.
func TestSignalsOfAProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT CHECKED: signals of Windows cannot be sent")
	}
	big := map[string]string{".mwp/config.toml": "name = \"x\"\n[budgets]\nl0 = \"none\"\n", ".mwp-context.md": strings.Repeat("All work and no play.\n", 20000)}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			t.Logf("NOT CHECKED: %v is ignored by whoever runs this test", sig)
			continue
		}
		project(t, big)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		// A run that does not end by the signal ends by this.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "mwp", "map")
		c.Stdout = w
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		// The first bytes say that it writes; the pipe holds less than the map.
		if _, err := io.ReadFull(r, make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		r.Close()
		if ws := c.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: ended with %v", sig, c.ProcessState)
		}
	}
}

func TestListeningMakesASignalTheCause(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT CHECKED: signals of Windows cannot be sent")
	}
	a := &app{ctx: context.Background()}
	a.interruptible()()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-a.ctx.Done()
	if got := exitCode(a.cause(a.ctx.Err())); got != 143 {
		t.Errorf("exit status after SIGTERM = %d, want 143", got)
	}
}

// FuzzParse: no command line panics, and what it takes apart is not lost.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"map\x00x\x00--render\x00md", "--root\x00.\x00map", "-vv\x00map\x00--\x00-x", "map\x00--budget=l3=4", "-C\x00a\x00-C", "--json\x00--version", "map\x00--why-not"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		v, err := parse(args)
		if v == nil {
			t.Fatalf("parse(%q) = nil", args)
		}
		if err != nil {
			if exitCode(err) != 2 {
				t.Errorf("parse(%q): %v has status %d", args, err, exitCode(err))
			}
			return
		}
		if v.help {
			return
		}
		if v.command == nil {
			t.Fatalf("parse(%q) has neither a command nor an error", args)
		}
		for _, w := range v.words {
			if !slices.Contains(args, w) {
				t.Errorf("parse(%q) made up %q", args, w)
			}
		}
		a := &app{invocation: v, env: noEnv}
		if err := a.readOptions(); err != nil && (exitCode(err) != 2 || errors.Is(err, flag.ErrHelp)) {
			t.Errorf("readOptions(%q): %v", args, err)
		}
	})
}

// TestPagesOfTargets: page after page gives every row once, whatever the size of a
// page, and names that sort oddly are no obstacle.
func TestPagesOfTargets(t *testing.T) {
	files := map[string]string{".mwp": "name = \"x\"\n"}
	for _, dir := range []string{"a", "a/b", "a-b", "a.b", "a/b/c", "Z", "\u00e9", "e\u0301", "q\"u", "sp ace", "-dash", "--json", "\U0001f4a1"} {
		files[dir+"/.mwp-context.md"] = "Of " + dir + ".\n"
	}
	project(t, files)
	type page struct {
		Targets []struct{ Path string }
		Total   int
		// Truncated and Cursor say the same.
		Truncated bool
		Cursor    *string `json:"next_cursor"`
	}
	ask := func(args ...string) (p page) {
		t.Helper()
		got := try(nil, append([]string{"targets", "--json"}, args...)...)
		if got.code != 0 || got.stderr != "" {
			t.Fatalf("mwp targets %q: %+v", args, got)
		}
		if err := json.Unmarshal([]byte(got.stdout), &p); err != nil {
			t.Fatal(err)
		}
		if p.Truncated != (p.Cursor != nil) {
			t.Errorf("mwp targets %q: truncated is %v, the cursor %v", args, p.Truncated, p.Cursor)
		}
		return p
	}
	all := ask()
	if all.Truncated || len(all.Targets) != all.Total || all.Total != len(files) {
		t.Fatalf("%d rows of %d, want %d", len(all.Targets), all.Total, len(files))
	}
	for size := 1; size <= len(files)+1; size++ {
		var rows []struct{ Path string }
		args := []string{fmt.Sprintf("--limit=%d", size)}
		for pages := 0; ; pages++ {
			p := ask(args...)
			if rows = append(rows, p.Targets...); p.Total != all.Total || len(p.Targets) > size || pages > len(files) {
				t.Fatalf("pages of %d: %+v", size, p)
			}
			if p.Cursor == nil {
				break
			}
			args = []string{fmt.Sprintf("--limit=%d", size), "--cursor", *p.Cursor}
		}
		if diff := cmp.Diff(all.Targets, rows); diff != "" {
			t.Errorf("pages of %d (-all +pages):\n%s", size, diff)
		}
	}
}
