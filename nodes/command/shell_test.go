package command

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testShells are the shells that the rules are compared with.
var testShells = []struct {
	program string
	args    []string
}{
	{"sh", nil},
	{"bash", nil},
	{"bash", []string{"--posix"}},
}

// inShell runs a script in a directory of files that globs would find.
func inShell(t *testing.T, program string, args ...string) func(script string) (string, error) {
	t.Helper()
	found, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("NOT CHECKED: there is no %s to compare with", program)
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "ab", "a=b", "-x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(script string) (string, error) {
		cmd := exec.Command(found, append(slices.Clone(args), "-c", script)...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=/home/nobody", "a=one  two", "b=three", "PATH=" + os.Getenv("PATH")}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, stderr.String())
		}
		return string(out), err
	}
}

func generated(r *rand.Rand, atoms []string, most int) string {
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteString(atoms[r.IntN(len(atoms))])
	}
	return b.String()
}

// wordAtoms make texts in which every rule of quoting meets every other.
var wordAtoms = []string{
	" ", " ", " ", "  ", "\t", "a", "b", "ab", "a", "b", "'", "'", "\"", "\"", "\\", "\\", "'a b'", "\"a b\"", "''", "\"\"",
	"$a", "$", "`", ";", "&", "|", "<", ">", "(", ")", "*", "?", "[", "]", "{", "}", "{a,b}", ",", "..", "~", "#", "!", "!!", "%a%", "^", "=", ":", "+", "@",
	"-", "/", ".", "\n", "é", "\u00a0", "1", "2", "a=", "a=~", "a:~", "\\ ", "\\\\", "\\'", "\\\"", "\\*", "\"'\"", "'\"'", "\\n", "\\0", "日",
}

// TestWordsAreTheShells: what runs without a shell is what a shell would have run.
func TestWordsAreTheShells(t *testing.T) {
	for _, shell := range testShells {
		t.Run(strings.Join(append([]string{shell.program}, shell.args...), " "), func(t *testing.T) {
			run := inShell(t, shell.program, shell.args...)
			r := rand.New(rand.NewPCG(41, 85))
			compared := 0
			for range 20 {
				var script, want strings.Builder
				var texts []string
				for len(texts) < 300 {
					text := generated(r, wordAtoms, 12)
					c := Parse(text)
					// A newline at the end would end the line of the script.
					if c.Shell || len(c.Words) == 0 || strings.Contains(text, "\n") {
						continue
					}
					texts = append(texts, text)
					fmt.Fprintf(&script, "printf '%%s\\0' begin %s end\n", text)
					fmt.Fprintf(&want, "begin\x00%s\x00end\x00", strings.Join(c.Words, "\x00"))
				}
				compared += len(texts)
				got, err := run(script.String())
				if err != nil {
					t.Fatalf("%v\n%s", err, script.String())
				}
				if got != want.String() {
					t.Fatal(firstDifference(texts, got, want.String()))
				}
			}
			t.Logf("%d texts", compared)
		})
	}
}

func firstDifference(texts []string, got, want string) string {
	gots, wants := strings.Split(got, "end\x00"), strings.Split(want, "end\x00")
	for i := range texts {
		if i >= len(gots) || gots[i] != wants[i] {
			return fmt.Sprintf("Parse(%q).Words: the shell has %q, we %q", texts[i], gots[min(i, len(gots)-1)], wants[i])
		}
	}
	return fmt.Sprintf("the shell wrote %d texts, want %d", len(gots), len(wants))
}

// TestCollapsingKeepsTheMeaning: Text runs in the shell's place of what was written.
func TestCollapsingKeepsTheMeaning(t *testing.T) {
	atoms := []string{
		" ", "  ", "\t", " \t ", "a", "b", "'a  b'", "\"a  b\"", "\\ ", "\\  ", "\"", "'", "$a", "\"$a\"", "${c:-x  y}", "\"${c:-x  y}\"", "\"${c:-\"x  y\"}\"",
		"$(printf %s  'x  y')", "\"$(printf %s \"x  y\")\"", "`printf %s  x`", "\"`printf %s  \\\"x  y\\\"`\"", " # it's  b", " # \"", "\n printf '%s\\0'  ", " ; printf '%s\\0'  ", "\\\n",
		" <<E\n x  '  y\nE\n", "'x\n  y'", "\"x\n  y\"", "$'a\\'  b'", "\\\\", "\\'", "\\\"", "$((1  +  1))", "{a,  b}",
	}
	for _, shell := range testShells[:2] {
		t.Run(shell.program, func(t *testing.T) {
			run := inShell(t, shell.program)
			r := rand.New(rand.NewPCG(44, 85))
			collapsed := 0
			for range 400 {
				text := "printf '%s\\0'  x  " + generated(r, atoms, 8)
				c := Parse(text)
				if c.Text == text {
					continue
				}
				want, wantErr := run(text)
				got, gotErr := run(c.Text)
				if got != want || (gotErr == nil) != (wantErr == nil) {
					t.Errorf("%q prints %q (%v)\n%q prints %q (%v)", text, want, wantErr, c.Text, got, gotErr)
				}
				if wantErr == nil {
					collapsed++
				}
			}
			if collapsed < 50 {
				t.Errorf("only %d texts ran and had blanks to collapse", collapsed)
			}
		})
	}
}

// TestBashWords: each word that bash runs itself is either one of shellWords or a
// program as well.
func TestBashWords(t *testing.T) {
	out, err := inShell(t, "bash")("compgen -k; compgen -b")
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{"[", "echo", "false", "kill", "printf", "pwd", "test", "true"}
	words := strings.Fields(out)
	if len(words) < 50 {
		t.Fatalf("bash lists %q", words)
	}
	for _, w := range words {
		if !shellsOwn(w) && !slices.Contains(programs, w) {
			t.Errorf("bash runs %s itself, and Parse takes it for a program", w)
		}
		if !Parse(w).Shell && shellsOwn(w) {
			t.Errorf("Parse(%q) needs no shell", w)
		}
	}
}
