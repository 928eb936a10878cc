package ignore

import (
	"slices"
	"strings"
	"testing"
)

func TestParseLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // the lines kept
	}{
		{"empty", "", nil},
		{"blank lines", "\n  \n\r\n\t\n", []string{"\t"}},
		{"comment", "#a\n #b\n\\#c\n", []string{" #b", "\\#c"}},
		{"no newline at the end", "a\nb", []string{"a", "b"}},
		{"crlf", "a\r\nb\r\r\nc\r", []string{"a", "b\r", "c"}},
		{"byte order mark", "\ufeffa\n\ufeffb\n", []string{"a", "\ufeffb"}},
		{"byte order mark and comment", "\ufeff#a\n", nil},
		{"trailing spaces", "a  \nb\\ \nc\\  \nd\\\\ \ne\t \nf \t\n", []string{"a", "b\\ ", "c\\ ", "d\\\\", "e\t", "f \t"}},
		{"spaces before a carriage return", "a \r\nb\r \n", []string{"a", "b\r"}},
		{"spaces within", "a b  c \n", []string{"a b  c"}},
		{"nothing but negation", "!\n! \n!/\n!!\n", []string{"!!"}},
		{"slashes", "/\n//\n///\na//\n", []string{"///", "a//"}},
		{"cut at NUL", "a\x00b\n\x00c\n#\x00\nd \x00 \n", []string{"a", "d"}},
		{"lone backslash", "\\\na\\\na\\/\nb\\ ", []string{"b\\ "}},
		{"broken brackets", "[\n[a\n[]\n[!]\n[^]a\n[a-\n[\\]\n[[:x:]]\n[[::]]\n[[:alpha:\n[[:ALPHA:]]\n[a-\\", nil},
		{"odd brackets", "[]]\n[!]]\n[a-]\n[[]\n[[:]\n[[:a]\n[\\]]\n[z-a]\n", []string{"[]]", "[!]]", "[a-]", "[[]", "[[:]", "[[:a]", "[\\]]", "[z-a]"}},
	} {
		var got []string
		for _, p := range Parse([]byte(tt.text)).list {
			got = append(got, p.written)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Parse(%q) keeps %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestParseNumbersLines(t *testing.T) {
	var got []uint32
	for _, p := range Parse([]byte("#\na\n\nb\r\n[\n/\nc")).list {
		got = append(got, p.line)
	}
	if want := []uint32{2, 4, 7}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// TestParseDoesNotKeepTheText: callers reuse their buffers.
func TestParseDoesNotKeepTheText(t *testing.T) {
	text := []byte("abc\n*.d\n")
	s := Stack{}.Push(".", "f", Parse(text))
	copy(text, "xxxxxxxx")
	for _, path := range []string{"abc", "x.d"} {
		if s.Decide(path, false).Verdict != Ignored {
			t.Errorf("%q is not ignored once the buffer has changed", path)
		}
	}
}

// TestParseHugeLines: looking for the end of each class in such a line anew would
// take hours.
func TestParseHugeLines(t *testing.T) {
	size := 16 << 20
	if testing.Short() {
		size >>= 4
	}
	for _, unit := range []string{"[:", "[[:", "[:\\]"} {
		text := "[" + strings.Repeat(unit, size/len(unit)) + "\\]]"
		if n := len(Parse([]byte(text)).list); n > 1 {
			t.Errorf("one line of %q makes %d patterns", unit, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a", "*.x\n!b\n/c/\n", "\ufeff#\r\n", "a\\ \n", "[[:alpha:]-z]\n", "a/**/b\n**/*a*a*b\n", "**\\/[!]\\]]\x00", "\ufeff\ufeff\r\r\n"} {
		f.Add([]byte(s), "a/b/c", false)
	}
	f.Fuzz(func(t *testing.T, text []byte, path string, isDir bool) {
		p := Parse(text)
		for _, q := range p.list {
			if again := Parse([]byte("\n" + q.written + "\r\n")).list; len(again) != 1 || again[0].written != q.written {
				t.Errorf("Parse(%q) = %+v, want that line", q.written, again)
			}
			if q.glob == nil {
				continue
			}
			if _, n := q.glob.match(path); n > 2*len(q.glob.ops)*(len(path)+1) {
				t.Errorf("%q takes %d steps on %q", q.written, n, path)
			}
		}
		s := Stack{}.Push(".", "f", p)
		d := s.DecideWithParents(path, isDir)
		if (d.Verdict == NoMatch) != (d == Decision{}) || !strings.HasPrefix(path, d.Path) {
			t.Errorf("DecideWithParents(%q) = %+v", path, d)
		}
		if d.Path == path && d != s.Decide(path, isDir) {
			t.Errorf("Decide(%q) = %+v, with parents %+v", path, s.Decide(path, isDir), d)
		}
	})
}
