package command

import (
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, tt := range trustCases(f) {
		f.Add(tt.command.Text)
	}
	for _, a := range wordAtoms {
		f.Add("a " + a + " 'b' \"c\" " + a)
	}
	f.Add("sh -o x\x00y")
	f.Add("\\\xff")
	f.Fuzz(func(t *testing.T, text string) {
		c := Parse(text)
		if again := Parse(c.Text); again.Text != c.Text || again.Shell != c.Shell || !slices.Equal(again.Words, c.Words) || again.Invalid != c.Invalid {
			t.Errorf("Parse(%q) = %+v, and of its text %+v", text, c, again)
		}
		if len(c.Text) > len(text) {
			t.Errorf("Parse(%q) grew to %q", text, c.Text)
		}
		if c.Shell && c.Words != nil || !c.Shell && c.Words == nil && c.Invalid == "" {
			t.Errorf("Parse(%q) = %+v", text, c)
		}
		if label := Label(c); strings.ContainsFunc(label, unseen) {
			t.Errorf("Label(%q) = %q", text, label)
		}
		if script := Script(c); script != "" && c.Invalid != "" {
			t.Errorf("Script(%q) = %q", text, script)
		}
		checkTrust(t, c)
		if !c.Shell && c.Invalid == "" {
			checkList(t, c.Words)
		}
	})
}

// checkTrust: an entry equal to the command covers it, one beside it does not, and
// shell syntax is never builtin.
func checkTrust(t *testing.T, c Command) {
	d := Decide(c, Question{})
	if d.Level == Project || d.Level == Builtin && (c.Shell || c.Invalid != "" || strings.ContainsAny(c.Words[0], "/\\")) {
		t.Errorf("Decide(%+v) = %+v", c, d)
	}
	if len(d.Why) > 300 {
		t.Errorf("the reason is %q", d.Why)
	}
	listed := Decide(c, Question{Allowed: []string{c.Text}, Foreign: true})
	if want := c.Invalid == ""; (listed.Level == Project) != want {
		t.Errorf("Decide(%+v) when listed = %+v", c, listed)
	}
	if beside := Decide(c, Question{Allowed: []string{c.Text + "x"}, Foreign: true}); beside.Level == Project && !strings.HasSuffix(c.Text, "\\") {
		t.Errorf("Decide(%+v) = %+v", c, beside)
	}
}

func checkList(t *testing.T, words []string) {
	l := FromArgv(words)
	if !slices.Equal(l.Words, words) || l.Shell || l.Invalid != "" {
		t.Errorf("FromArgv(%q) = %+v", words, l)
	}
	if back := Parse(l.Text); !slices.Equal(back.Words, words) || back.Text != l.Text {
		t.Errorf("Parse(%q) = %+v, want the words %q", l.Text, back, words)
	}
}

func FuzzFromArgv(f *testing.F) {
	f.Add("cargo\x00test\x00; rm")
	f.Add("cd")
	f.Add("A=1\x00'\x00\\\x00")
	f.Add("a\x00\x00 \x00~\x00#\x00!")
	f.Fuzz(func(t *testing.T, joined string) {
		words := strings.Split(joined, "\x00")
		c := FromArgv(words)
		if !slices.Equal(c.Words, words) || c.Shell {
			t.Fatalf("FromArgv(%q) = %+v", words, c)
		}
		if c.Invalid == "" && !strings.Contains(joined, "\n") {
			checkList(t, words)
		}
		if entry := AllowLine(c); entry != "" {
			if d := Decide(c, Question{Allowed: []string{readAllowLine(t, entry)}, Foreign: true}); d.Level != Project {
				t.Errorf("with %s, Decide(%q) = %+v", entry, words, d)
			}
		}
	})
}
