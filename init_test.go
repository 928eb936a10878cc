package mwp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestEveryCommentedKeyIsAKey: what a new configuration shows in comments is what
// the configuration knows, with the values that are the defaults.
func TestEveryCommentedKeyIsAKey(t *testing.T) {
	s := scaffold{dir: "/tmp/demo"}
	var b strings.Builder
	for line := range strings.Lines(s.config()) {
		if l, ok := strings.CutPrefix(line, "# "); ok && (strings.HasPrefix(l, "[") || strings.Contains(l, " = ") && !strings.Contains(l, ": ")) {
			line = l
		}
		b.WriteString(line)
	}
	c, problems := nodes.ParseConfig([]byte(b.String()))
	if len(problems) > 0 {
		t.Fatalf("ParseConfig of the uncommented configuration: %v\n%s", problems, b.String())
	}
	if n := len(c.Settings); n < 12 {
		t.Errorf("the configuration shows %d keys, want at least 12:\n%s", n, b.String())
	}
	empty, problems := nodes.ParseConfig([]byte(s.config()))
	if len(problems) > 0 || len(empty.Settings) != 1 || empty.Name != "demo" {
		t.Errorf("the new configuration sets %v, %v, want only the name", empty.Settings, problems)
	}
}

var oddNames = []string{
	"plain", "with space", `quo"te`, `back\slash`, "new\nline", "tab\tbell\x07", "-dash", "# heading", "--- fence", "é日本", "---",
	"a: b", "{curly}", "[square]", "\u202eoverride", "bad\xffutf8", "''' \"\"\"", "*star", "!bang", "%20", "<!-- c -->",
}

// TestInitOfOddNames: whatever a directory is called, what Init makes there is a
// valid configuration with that name, a valid context, and a map without a finding.
func TestInitOfOddNames(t *testing.T) {
	for _, soft := range []bool{false, true} {
		for _, name := range oddNames {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
				t.Skipf("NOT CHECKED: the file system has no name %q: %v", name, err)
			}
			if soft {
				write(t, filepath.Join(dir, name, "AGENTS.md"), "")
			}
			ws := Open(Options{Dir: dir})
			r, err := ws.Init(context.Background(), InitOptions{})
			if err != nil {
				t.Errorf("Init of %q: %v", name, err)
				continue
			}
			if len(r.Made) != 5 {
				t.Errorf("Init of %q made %q, want five files", name, r.Made)
			}
			text, err := os.ReadFile(filepath.Join(dir, ".mwp", "config.toml"))
			if err != nil {
				t.Fatal(err)
			}
			c, problems := nodes.ParseConfig(text)
			if want := ir.EscapeControls(strings.ToValidUTF8(name, "\uFFFD")); len(problems) > 0 || c.Name != want {
				t.Errorf("Init of %q: the configuration has the name %q and %v", name, c.Name, problems)
			}
			if want := soft && name != "bad\xffutf8"; (c.BoundaryMode == "soft") != want {
				t.Errorf("Init of %q, instruction files %v: boundary mode %q", name, soft, c.BoundaryMode)
			}
			m, err := ws.Map(context.Background(), Request{Format: MarkdownText})
			if err != nil || len(m.Notices) > 0 {
				t.Errorf("Map after Init of %q: %v, %v", name, err, m)
			}
			again, err := ws.Init(context.Background(), InitOptions{})
			if err != nil || len(again.Made) > 0 || again.Kept == "" {
				t.Errorf("a second Init of %q: %+v, %v, want nothing made", name, again, err)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestInitGoesOnWhereItWasInterrupted: the configuration is made last.
func TestInitGoesOnWhereItWasInterrupted(t *testing.T) {
	for _, done := range [][]string{{}, {".mwp/.gitignore"}, {".mwp/.gitignore", ".mwp/intents/.gitkeep", ".mwp/pipelines/.gitkeep"}, {".mwp-context.md"}, {"AGENTS.md", ".mwp/example.mwp-context.md"}} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".mwp"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, f := range done {
			write(t, filepath.Join(dir, f), "kept\n")
		}
		if _, err := Open(Options{Dir: dir}).Init(context.Background(), InitOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{".mwp/config.toml", ".mwp/.gitignore", ".mwp/intents/.gitkeep", ".mwp/pipelines/.gitkeep"} {
			if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
				t.Errorf("after %q: %v", done, err)
			}
		}
		for _, f := range done {
			if b, _ := os.ReadFile(filepath.Join(dir, f)); !strings.HasPrefix(string(b), "kept\n") {
				t.Errorf("after %q: %s was overwritten: %q", done, f, b)
			}
		}
	}
}

func TestInitInAReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT CHECKED: permissions do not bind the superuser")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: dir}).Init(context.Background(), InitOptions{})
	var e *EnvironmentError
	if !errors.As(err, &e) || e.Diagnostic.Code != ir.Unreadable {
		t.Errorf("Init = %v, want an EnvironmentError", err)
	}
}

// TestTheSearchIsBounded: it ends at its limit, and when its context does.
func TestTheSearchIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprint(i), "x"), "")
	}
	for _, skipped := range []string{".git", "node_modules", "target", "vendor", ".hidden"} {
		write(t, filepath.Join(dir, "7", skipped, "AGENTS.md"), "")
	}
	write(t, filepath.Join(dir, "8", "AGENTS.md"), "")
	write(t, filepath.Join(dir, "8", ".mwp"), "")
	write(t, filepath.Join(dir, "AGENTS.md"), "")
	ctx, cancel := context.WithCancel(context.Background())
	looked := 0
	s := scaffold{ctx: ctx, dir: dir, exists: true, o: InitOptions{Progress: func(n int) { looked = n }}}
	if err := s.search(); err != nil || s.r.InstructionFile != "" || looked != 50 {
		t.Errorf("search = %v, found %q after %d directories, want nothing after 50", err, s.r.InstructionFile, looked)
	}
	cancel()
	if err := s.search(); !errors.Is(err, context.Canceled) {
		t.Errorf("search with a context that ended = %v", err)
	}
}

func TestCompleteIgnoreIsStable(t *testing.T) {
	for _, old := range []string{"", "mine\n", "mine", "cache/\r\nmine\r\n", "# >>> mwp: as an earlier version said it\ncache/\n# <<< mwp\nmine\n", "# >>> mwp without an end\n"} {
		text, changed := completeIgnore(old)
		if !changed {
			t.Errorf("completeIgnore(%q) changes nothing", old)
		}
		if again, changed := completeIgnore(text); changed {
			t.Errorf("completeIgnore twice: %q then %q", text, again)
		}
		for line := range strings.Lines(old) {
			if !strings.Contains(text, strings.TrimRight(line, "\r\n")) {
				t.Errorf("completeIgnore(%q) lost %q", old, line)
			}
		}
		for _, p := range ignoredFiles {
			if strings.Count("\n"+strings.ReplaceAll(text, "\r", ""), "\n"+p+"\n") != 1 {
				t.Errorf("completeIgnore(%q) has %q not exactly once:\n%s", old, p, text)
			}
		}
	}
}

// TestInitTakesBackWhatItMade: whichever step the failure comes after, the
// directory is as it was.
func TestInitTakesBackWhatItMade(t *testing.T) {
	for _, old := range [][]string{{}, {"AGENTS.md"}, {".mwp/.gitignore"}, {".mwp/intents/mine.md"}} {
		for after := range 12 {
			dir := t.TempDir()
			for _, f := range old {
				write(t, filepath.Join(dir, f), "mine\n")
			}
			before := snapshot(t, dir)
			s := scaffold{ctx: &endingContext{Context: context.Background(), after: after}, dir: dir}
			if err := s.look(); err != nil {
				t.Fatal(err)
			}
			err := s.make()
			if err == nil {
				if after < 5 {
					t.Errorf("with %q: make does not ask its context %d times", old, after)
				}
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("with %q: make = %v", old, err)
			}
			if got := snapshot(t, dir); got != before {
				t.Errorf("with %q, ended after %d steps: there is\n%swant\n%s", old, after, got, before)
			}
		}
	}
}

// endingContext ends when it was asked some times.
type endingContext struct {
	context.Context
	after int
}

func (c *endingContext) Err() error {
	if c.after--; c.after < 0 {
		return context.Canceled
	}
	return nil
}

// snapshot returns what lies below a directory, as text.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(content)
		}
		_, err = fmt.Fprintf(&b, "%s %v %q\n", p, d.Type(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
