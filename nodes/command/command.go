package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Command is what a guard runs (D-41, D-85).
type Command struct {
	// Text is the command for people, for keys and for the shell: blanks and tabs
	// outside quotes are one blank, and there are none at the ends. Newlines stay, as
	// do all blanks of a text whose quotes only a shell can follow, such as one with a
	// here-document or with quotes inside "$(...)".
	Text string
	// Words are the program and its arguments, nil for a command that needs a shell.
	Words []string
	// Shell is set for a text that only a shell can run. A list of words never needs
	// one.
	Shell bool
	// Invalid says why the command must not run, whatever its level and whoever
	// agrees; "" for all others. It is a clause such as "the command holds U+200D,
	// which does not show".
	Invalid string
}

// Parse reads a command that is written as text. It splits by the rules of a POSIX
// shell: blanks and tabs separate, ' " and \ quote. Shell is set for
//
//   - ; & | < > ( ) and newlines, except at the ends;
//   - $ and back-quotes outside single quotes, even after a backslash;
//   - * ? [ { } unquoted, a # that begins a word, ! as a word, and ~ at the start of
//     a word or after = or :
//   - an assignment before the program, as in CI=1 pytest;
//   - a first word that is a reserved word or that a shell runs itself because a
//     program could not do it (cd, exec, set), unless it is quoted;
//   - a quote that is not closed, and a backslash at the end.
//
// A text with characters that do not show, or that is not UTF-8, is Shell and
// Invalid; one without words is Invalid.
func Parse(text string) Command {
	s := scan(text)
	c := Command{Text: s.normal(), Shell: s.needsShell(), Invalid: unseenIn(text)}
	switch {
	case c.Invalid != "":
		c.Shell = true
	case c.Text == "":
		c.Invalid = noProgram
	case !c.Shell && s.words[0].value == "":
		c.Invalid = noProgram
	}
	if !c.Shell {
		c.Words = s.values()
	}
	return c
}

// FromArgv returns the command of a list that names the program and its arguments
// one by one (D-85). It never needs a shell, whatever the words hold. Parse makes
// the same words from its Text, unless a word holds a newline. A word that does not
// show, or is not UTF-8, makes the command Invalid, as does a missing program.
func FromArgv(words []string) Command {
	c := Command{Words: slices.Clone(words)}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
		if c.Invalid == "" {
			c.Invalid = unseenIn(w)
		}
	}
	if len(words) == 0 || words[0] == "" {
		c.Invalid = noProgram
	} else if shellsOwn(words[0]) || assigns(words[0]) {
		quoted[0] = singleQuoted(words[0])
	}
	c.Text = strings.Join(quoted, " ")
	return c
}

const noProgram = "the command names no program"

// unseenIn returns the clause for Invalid, "" for text that people can check.
func unseenIn(text string) string {
	if !utf8.ValidString(text) {
		return "the command is not UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && unseen(r) {
			return fmt.Sprintf("the command holds U+%04X, which does not show", r)
		}
	}
	return ""
}

// unseen reports characters that change what people see, or that they do not see.
// The two ranges have gaps that are not assigned yet.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 ||
		r >= 0x2060 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe01ef || r >= 0xfe00 && r <= 0xfe0f || blank(r)
}

// blank reports letters and signs without a shape.
func blank(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return false
}
