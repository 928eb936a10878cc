package command

import (
	"slices"
	"strings"
)

// word is a word of a text, without its quotes.
type word struct {
	value string
	// bare is how many bytes of value stand before the first quote.
	bare int
	// end is where the word ends, counted from the first byte of the command.
	end int
}

// unquoted reports a word that no quote protects from the shell.
func (w word) unquoted() bool { return w.bare == len(w.value) }

// scanner splits a text into words and collapses its blanks in one pass.
type scanner struct {
	text  string
	at    int
	words []word

	// value, bare and open belong to the word being read; bare is below 0 while no
	// quote has been met.
	value []byte
	bare  int
	open  bool

	// collapsed has one blank for the gap between two words; the gap being read, if
	// any, may hold a newline. first and last are the ends of the text without the
	// blanks around it.
	collapsed   []byte
	gap         bool
	newline     bool
	first, last int

	// syntax is set at the first shell syntax, lead to the number of whole words
	// before it.
	syntax bool
	lead   int
	// opaque is set where this scanner cannot tell which blanks are quoted.
	opaque bool
}

func scan(text string) *scanner {
	s := &scanner{text: text}
	for s.at < len(text) {
		s.unquoted()
	}
	s.close()
	if !s.syntax {
		s.lead = len(s.words)
	}
	return s
}

// unquoted reads one character, or one quoted stretch.
func (s *scanner) unquoted() {
	switch c := s.text[s.at]; c {
	case ' ', '\t', '\n':
		s.close()
		s.gap = true
		s.newline = s.newline || c == '\n'
		s.at++
	case '\'':
		s.quoted(s.single)
	case '"':
		s.quoted(s.double)
	case '\\':
		s.quoted(s.escape)
	case ';', '&', '|', '<', '>', '(', ')':
		s.operator(c)
	case '$', '`', '*', '?', '[', '{', '}':
		s.opaque = s.opaque || c == '`' || c == '$' && strings.ContainsRune("'{", rune(s.peek(1)))
		s.special()
		s.literal()
	case '~':
		if !s.open || s.text[s.at-1] == '=' || s.text[s.at-1] == ':' {
			s.special()
		}
		s.literal()
	case '#':
		if !s.open {
			s.special()
		}
		s.literal()
	default:
		s.literal()
	}
}

func (s *scanner) quoted(read func()) {
	s.begin()
	if s.bare < 0 {
		s.bare = len(s.value)
	}
	read()
}

func (s *scanner) single() {
	end := strings.IndexByte(s.text[s.at+1:], '\'')
	if end < 0 {
		s.unclosed()
		return
	}
	inner := s.text[s.at+1 : s.at+1+end]
	if strings.Contains(inner, "\n") {
		s.special()
		s.opaque = true
	}
	s.value = append(s.value, inner...)
	s.take(end + 2)
}

func (s *scanner) double() {
	s.take(1)
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			s.take(1)
			return
		case '$', '`', '\n':
			s.opaque = s.opaque || c != '$' || strings.ContainsRune("({", rune(s.peek(1)))
			s.special()
		case '\\':
			// Before a dollar or a back-quote the backslash stays, and the next turn
			// finds shell syntax.
			if next := s.peek(1); next == '"' || next == '\\' {
				s.value = append(s.value, next)
				s.take(2)
				continue
			}
		}
		s.value = append(s.value, s.text[s.at])
		s.take(1)
	}
	s.unclosed()
}

func (s *scanner) escape() {
	switch next := s.peek(1); next {
	case 0:
		s.unclosed()
		return
	case '\n', '$', '`':
		s.special()
		s.opaque = true
	}
	s.value = append(s.value, s.text[s.at+1])
	s.take(2)
}

// unclosed takes the rest of a text that ends inside a quote.
func (s *scanner) unclosed() {
	s.special()
	s.opaque = true
	s.take(len(s.text) - s.at)
}

func (s *scanner) operator(c byte) {
	// The digits before a redirection are no word.
	if c != '<' && c != '>' || strings.Trim(string(s.value), "0123456789") != "" {
		s.close()
	}
	s.special()
	s.close()
	s.take(1)
}

// special notes shell syntax. The word it stands in, if any, is not one of the words
// before it.
func (s *scanner) special() {
	if !s.syntax {
		s.syntax, s.lead = true, len(s.words)
	}
}

func (s *scanner) literal() {
	s.begin()
	s.value = append(s.value, s.text[s.at])
	s.take(1)
}

func (s *scanner) begin() {
	if !s.open {
		s.open, s.bare = true, -1
	}
}

func (s *scanner) close() {
	if !s.open {
		return
	}
	w := word{value: string(s.value), bare: s.bare, end: s.last - s.first}
	if w.bare < 0 {
		w.bare = len(w.value)
	}
	s.words = append(s.words, w)
	s.open, s.value = false, s.value[:0]
}

// take copies n bytes of the text, with one blank for those that were left out.
func (s *scanner) take(n int) {
	if len(s.collapsed) == 0 {
		s.first = s.at
	} else if s.gap {
		s.collapsed = append(s.collapsed, ' ')
		if s.newline {
			s.special()
			s.opaque = true
		}
	}
	s.gap, s.newline = false, false
	s.collapsed = append(s.collapsed, s.text[s.at:s.at+n]...)
	s.at += n
	s.last = s.at
}

// peek returns the byte n places on, 0 behind the end.
func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

func (s *scanner) normal() string {
	if s.opaque {
		return s.text[s.first:s.last]
	}
	return string(s.collapsed)
}

func (s *scanner) values() (vs []string) {
	for _, w := range s.words {
		vs = append(vs, w.value)
	}
	return vs
}

// before returns the words in front of the first shell syntax.
func (s *scanner) before() []word { return s.words[:s.lead] }

func (s *scanner) needsShell() bool {
	if s.syntax || len(s.words) == 0 {
		return s.syntax
	}
	w := s.words[0]
	return w.unquoted() && shellsOwn(w.value) || assigns(w.value[:w.bare]) ||
		slices.ContainsFunc(s.words, func(w word) bool { return w.unquoted() && w.value == "!" })
}

// assigns reports a word that begins like NAME= or NAME+=.
func assigns(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	name = strings.TrimSuffix(name, "+")
	return ok && name != "" && !(name[0] >= '0' && name[0] <= '9') && strings.IndexFunc(name, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) < 0
}

// shellsOwn reports a first word that is a reserved word, or that changes the shell
// itself, so that no program of the name does the same. Words such as test, echo and
// kill are programs as well.
func shellsOwn(w string) bool { return slices.Contains(shellWords[:], w) }

var shellWords = [...]string{
	"!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "foreach",
	"function", "if", "in", "repeat", "select", "then", "time", "until", "while",
	".", ":", "alias", "autoload", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command", "compgen",
	"complete", "compopt", "continue", "declare", "dirs", "disown", "enable", "eval", "exec", "exit", "export",
	"fc", "fg", "float", "getopts", "hash", "help", "history", "integer", "jobs", "let", "local", "logout", "mapfile",
	"nocorrect", "noglob", "popd", "pushd", "read", "readarray", "readonly", "return", "set", "setopt", "shift",
	"shopt", "source", "suspend", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
	"unsetopt", "wait", "whence",
}
