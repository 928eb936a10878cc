package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFishCompletes asks fish itself.
func TestFishCompletes(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("NOT CHECKED: fish is not installed")
	}
	dir := project(t, small)
	script := filepath.Join(t.TempDir(), "mwp.fish")
	if err := os.WriteFile(script, []byte(try(nil, "completion", "fish").stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := try(nil, "map", "dev", "--session", "review"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	cases := []struct{ line, want string }{
		{"mwp ma", "map"},
		{"mwp --root . ma", "map"},
		{"mwp collect --rend", "--render"},
		{"mwp map --render cl", "claude"},
		{"mwp map --format=g", "--format=gpt-4"},
		{"mwp lint --format sa", "sarif"},
		{"mwp verify --format ju", "junit"},
		{"mwp cache st", "status"},
		{"mwp cache show de", "dev/"},
		{"mwp cache import de", "dev/"},
		{"mwp report -o de", "dev/"},
		{"mwp doc", "doctor"},
		{"mwp cache show st", ""},
		{"mwp map de", "dev/"},
		{"mwp map -o de", "dev/"},
		{"mwp -C de", "dev/"},
		{"mwp version de", ""},
		{"mwp completion z", "zsh"},
		{"mwp completion zsh z", ""},
		{"mwp help man", "man"},
		{"mwp sessions rm re", "review"},
		{"mwp map --session re", "review"},
	}
	var probe strings.Builder
	probe.WriteString("source " + script + "\n")
	for _, c := range cases {
		probe.WriteString("complete -C '" + c.line + "' | string replace -r '\\t.*' '' | string join ' '; echo ===\n")
	}
	c := exec.Command(fish, "--no-config", "-c", probe.String())
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("fish: %v\n%s", err, out)
	}
	got := strings.Split(string(out), "===\n")
	if len(got) != len(cases)+1 {
		t.Fatalf("fish answers %d times, want %d:\n%s", len(got)-1, len(cases), out)
	}
	for i, c := range cases {
		if got := strings.TrimSpace(got[i]); got != c.want {
			t.Errorf("%s<TAB>: %q, want %q", c.line, got, c.want)
		}
	}
}

// TestZshCompletes asks zsh's own function what it would offer: compadd and _files are
// replaced by functions that print.
func TestZshCompletes(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("NOT CHECKED: zsh is not installed")
	}
	dir := project(t, small)
	script := filepath.Join(t.TempDir(), "_mwp")
	if err := os.WriteFile(script, []byte(try(nil, "completion", "zsh").stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := try(nil, "map", "dev", "--session", "review"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	const prelude = `compdef() { :; }
_files() { print -r -- "files $*"; }
compset() { words[CURRENT]=${words[CURRENT]#*=}; }
compadd() { shift; local w; for w in "$@"; do [[ "$w" == "${words[CURRENT]}"* ]] && print -r -- "$w"; done; return 0; }
`
	for _, c := range []struct{ line, want string }{
		{"mwp ma", "map"},
		{"mwp --root . ma", "map"},
		{"mwp collect --rend", "--render"},
		{"mwp map --render cl", "claude"},
		{"mwp map --format=g", "gpt-4"},
		{"mwp lint --format sa", "sarif"},
		{"mwp verify --format ju", "junit"},
		{"mwp cache st", "status"},
		{"mwp cache show de", "files "},
		{"mwp cache import de", "files "},
		{"mwp report -o de", "files "},
		{"mwp doc", "doctor"},
		{"mwp map de", "files "},
		{"mwp map -o de", "files "},
		{"mwp -C de", "files -/"},
		{"mwp version de", ""},
		{"mwp completion z", "zsh"},
		{"mwp completion zsh z", ""},
		{"mwp help man", "man"},
		{"mwp sessions rm re", "review"},
		{"mwp map --session re", "review"},
	} {
		words := strings.Fields(c.line)
		quoted := "'" + strings.Join(words, "' '") + "'"
		probe := prelude + "source " + script + "\nwords=(" + quoted + "); CURRENT=${#words}\n_mwp\n"
		cmd := exec.Command(zsh, "-f", "-c", probe)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.line, err, out)
		}
		if got := strings.TrimSuffix(string(out), "\n"); got != c.want {
			t.Errorf("%s<TAB>: %q, want %q", c.line, got, c.want)
		}
	}
}
