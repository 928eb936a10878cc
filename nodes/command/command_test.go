package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const shell = "SHELL" // stands for "no words, Shell set"
	for _, tt := range []struct {
		text, normal string
		words        []string
	}{
		{"a", "a", []string{"a"}},
		{"  a \t b  ", "a b", []string{"a", "b"}},
		{"\n a b \n\n", "a b", []string{"a", "b"}},
		{"a\tb", "a b", []string{"a", "b"}},
		{"a  'b  c'", "a 'b  c'", []string{"a", "b  c"}},
		{"a 'b\tc'", "a 'b\tc'", []string{"a", "b\tc"}},
		{`a "b  c"  d`, `a "b  c" d`, []string{"a", "b  c", "d"}},
		{`a\  b`, `a\  b`, []string{"a ", "b"}},
		{`a \ `, `a \ `, []string{"a", " "}},
		{`a\ ` + "\n", `a\ `, []string{"a "}},
		{`a\	b`, `a\	b`, []string{"a\tb"}},
		{`a '' b`, `a '' b`, []string{"a", "", "b"}},
		{`a ""`, `a ""`, []string{"a", ""}},
		{`a''b`, `a''b`, []string{"ab"}},
		{`a"b"'c'd`, `a"b"'c'd`, []string{"abcd"}},
		{`a \'`, `a \'`, []string{"a", "'"}},
		{`a '\'`, `a '\'`, []string{"a", `\`}},
		{`a '"'`, `a '"'`, []string{"a", `"`}},
		{`a "'"`, `a "'"`, []string{"a", "'"}},
		{`a "\""`, `a "\""`, []string{"a", `"`}},
		{`a "\\"`, `a "\\"`, []string{"a", `\`}},
		{`a "\x"`, `a "\x"`, []string{"a", `\x`}},
		{`a "\'"`, `a "\'"`, []string{"a", `\'`}},
		{`a \\`, `a \\`, []string{"a", `\`}},
		{`a \;\&\|\<\>\(\)`, `a \;\&\|\<\>\(\)`, []string{"a", ";&|<>()"}},
		{`a \*\?\[\{\}\~\#\!`, `a \*\?\[\{\}\~\#\!`, []string{"a", "*?[{}~#!"}},
		{`a '$x' '` + "`x`" + `'`, `a '$x' '` + "`x`" + `'`, []string{"a", "$x", "`x`"}},
		{`a "*?[{};&|<>()~#!"`, `a "*?[{};&|<>()~#!"`, []string{"a", "*?[{};&|<>()~#!"}},
		{`a b#c`, `a b#c`, []string{"a", "b#c"}},
		{`a ''#`, `a ''#`, []string{"a", "#"}},
		{`a b~ b!`, `a b~ b!`, []string{"a", "b~", "b!"}},
		{`a "~" '!'`, `a "~" '!'`, []string{"a", "~", "!"}},
		{`a ]`, `a ]`, []string{"a", "]"}},
		{`a %X% b^c`, `a %X% b^c`, []string{"a", "%X%", "b^c"}},
		{`a X=1 -x=y`, `a X=1 -x=y`, []string{"a", "X=1", "-x=y"}},
		{`'X=1' a`, `'X=1' a`, []string{"X=1", "a"}},
		{`X'='1 a`, `X'='1 a`, []string{"X=1", "a"}},
		{`1X=1 a`, `1X=1 a`, []string{"1X=1", "a"}},
		{`=x a`, `=x a`, []string{"=x", "a"}},
		{`a-b=1`, `a-b=1`, []string{"a-b=1"}},
		{`'cd' x`, `'cd' x`, []string{"cd", "x"}},
		{`c\d x`, `c\d x`, []string{"cd", "x"}},
		{`a cd if !x`, `a cd if !x`, []string{"a", "cd", "if", "!x"}},
		{`test -f x`, `test -f x`, []string{"test", "-f", "x"}},
		{`café ñ 日本`, `café ñ 日本`, []string{"café", "ñ", "日本"}},
		{"a\u00a0b", "a\u00a0b", []string{"a\u00a0b"}},
		{"-x", "-x", []string{"-x"}},

		{`a;b`, `a;b`, []string{shell}},
		{`a  ;  b`, `a ; b`, []string{shell}},
		{`a  &&  b`, `a && b`, []string{shell}},
		{`a  "$x"  b`, `a "$x" b`, []string{shell}},
		{`a  $x  b`, `a $x b`, []string{shell}},
		{`a  $(b  c)`, `a $(b c)`, []string{shell}},
		{`a  "$(b  c)"`, `a  "$(b  c)"`, []string{shell}},
		{`a  "${x-b  c}"`, `a  "${x-b  c}"`, []string{shell}},
		{`a  ${x-b  c}`, `a  ${x-b  c}`, []string{shell}},
		{`a  $'it\'s  b'`, `a  $'it\'s  b'`, []string{shell}},
		{" a  `b  c` ", "a  `b  c`", []string{shell}},
		{"a  <<E\n x  y\nE\n", "a  <<E\n x  y\nE", []string{shell}},
		{" a  b\n\n c ", "a  b\n\n c", []string{shell}},
		{"a \\\n  b", "a \\\n  b", []string{shell}},
		{"a  'b\n  c' ", "a  'b\n  c'", []string{shell}},
		{"a  \"b\n  c\" ", "a  \"b\n  c\"", []string{shell}},
		{"a # it's  b\nc 'd  e'", "a # it's  b\nc 'd  e'", []string{shell}},
		{`a  'b  `, `a  'b  `, []string{shell}},
		{`a  "b  `, `a  "b  `, []string{shell}},
		{`a  "b\`, `a  "b\`, []string{shell}},
		{`a  \`, `a  \`, []string{shell}},
		{`a \$x`, `a \$x`, []string{shell}},
		{`a "\$x"`, `a "\$x"`, []string{shell}},
		{`a \` + "`", `a \` + "`", []string{shell}},
		{`a{`, `a{`, []string{shell}},
		{`a }`, `a }`, []string{shell}},
		{`a b:~ `, `a b:~`, []string{shell}},
		{`a b=~`, `a b=~`, []string{shell}},
		{`~/a`, `~/a`, []string{shell}},
		{`a !`, `a !`, []string{shell}},
		{`# a`, `# a`, []string{shell}},
		{`_X1=1`, `_X1=1`, []string{shell}},
		{`X+=1 a`, `X+=1 a`, []string{shell}},
		{`X=`, `X=`, []string{shell}},
		{`X="a b" c`, `X="a b" c`, []string{shell}},
		{`cd`, `cd`, []string{shell}},
		{`cd''`, `cd''`, []string{shell}},
		{`if a`, `if a`, []string{shell}},
		{`. a`, `. a`, []string{shell}},
		{`set -e`, `set -e`, []string{shell}},
		{`eval 'a'`, `eval 'a'`, []string{shell}},
	} {
		want := Command{Text: tt.normal, Words: tt.words}
		if slices.Equal(tt.words, []string{shell}) {
			want.Words, want.Shell = nil, true
		}
		if diff := cmp.Diff(want, Parse(tt.text)); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", tt.text, diff)
		}
		if again := Parse(tt.normal); again.Text != tt.normal {
			t.Errorf("Parse(%q).Text = %q", tt.normal, again.Text)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a\x00b", "the command holds U+0000, which does not show"},
		{"a\rb", "the command holds U+000D, which does not show"},
		{"a\r\n", "the command holds U+000D, which does not show"},
		{"a '\x1b'", "the command holds U+001B, which does not show"},
		{"a\u0085", "the command holds U+0085, which does not show"},
		{"a\u2028b", "the command holds U+2028, which does not show"},
		{"a\u2029b", "the command holds U+2029, which does not show"},
		{"a\u2065", "the command holds U+2065, which does not show"},
		{"a\u202e", "the command holds U+202E, which does not show"},
		{"a\U000e0041", "the command holds U+E0041, which does not show"},
		{"a\U000e0000", "the command holds U+E0000, which does not show"},
		{"a\xff", "the command is not UTF-8"},
		{"", "the command names no program"},
		{" \n\t", "the command names no program"},
		{"''", "the command names no program"},
		{`"" a`, "the command names no program"},
		{"a 'b\tc'", ""},
		{"a\nb", ""},
		{"a \ufffd é", ""},
	} {
		if got := Parse(tt.text).Invalid; got != tt.want {
			t.Errorf("Parse(%q).Invalid = %q, want %q", tt.text, got, tt.want)
		}
		if c := Parse(tt.text); strings.Contains(tt.want, "the command holds") && (!c.Shell || c.Words != nil) {
			t.Errorf("Parse(%q) = %+v", tt.text, c)
		}
	}
}

func TestFromArgv(t *testing.T) {
	for _, tt := range []struct {
		words []string
		text  string
		bad   string
	}{
		{[]string{"cargo", "test"}, "cargo test", ""},
		{[]string{"a", "; rm -rf ~"}, "a '; rm -rf ~'", ""},
		{[]string{"a", ""}, "a ''", ""},
		{[]string{"a", "it's"}, `a 'it'\''s'`, ""},
		{[]string{"a", "'"}, `a ''\'''`, ""},
		{[]string{"a", "$x", "`x`", "*", "~", "#", "!", `\`}, "a '$x' '`x`' '*' '~' '#' '!' '\\'", ""},
		{[]string{"a", "--x=~/y", "b:c", "50%", "x@y", "1+1"}, "a '--x=~/y' b:c 50% x@y 1+1", ""},
		{[]string{"cd", "cd"}, "'cd' cd", ""},
		{[]string{"X=1", "X=1"}, "'X=1' X=1", ""},
		{[]string{"my tool", "日本"}, "'my tool' 日本", ""},
		{[]string{"a", "b\nc"}, "a 'b\nc'", ""},
		{[]string{"a", "b\x00"}, "a 'b\x00'", "the command holds U+0000, which does not show"},
		{[]string{"a", "b\u200d"}, "a b\u200d", "the command holds U+200D, which does not show"},
		{[]string{"a", "\xff"}, "a \xff", "the command is not UTF-8"},
		{[]string{"", "a"}, "'' a", "the command names no program"},
		{nil, "", "the command names no program"},
	} {
		want := Command{Text: tt.text, Words: tt.words, Invalid: tt.bad}
		got := FromArgv(tt.words)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("FromArgv(%q) (-want +got):\n%s", tt.words, diff)
		}
		if back := Parse(got.Text); tt.bad == "" && !strings.Contains(got.Text, "\n") && !slices.Equal(back.Words, tt.words) {
			t.Errorf("Parse(%q).Words = %q, want %q", got.Text, back.Words, tt.words)
		}
	}
}

// TestFromArgvKeepsNoAlias: callers reuse their lists.
func TestFromArgvKeepsNoAlias(t *testing.T) {
	words := []string{"cargo", "test"}
	c := FromArgv(words)
	words[1] = "install"
	if c.Words[1] != "test" {
		t.Errorf("the words became %q", c.Words)
	}
}

func TestLabel(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"./bundle-size-check.sh", "bundle-size-check.sh"},
		{"./tools/bundle-size-check.sh --x", "bundle-size-check.sh --x"},
		{"tools/a.sh ./b/c.sh", "a.sh ./b/c.sh"},
		{"../a.sh", "a.sh"},
		{"/usr/bin/cargo  test", "cargo test"},
		{"cargo test ./x", "cargo test ./x"},
		{"'./my tools/a.sh' --x", "a.sh --x"},
		{"'./my tools/a b.sh' --x", "'a b.sh' --x"},
		{`./my\ tools/a\ b.sh`, "'a b.sh'"},
		{`"./tools/"a.sh 'x  y'`, "a.sh 'x  y'"},
		{"./", "./"},
		{"./tools/ x", "./tools/ x"},
		{"'cd' x", "'cd' x"},
		{"./a.sh && ./b.sh", "a.sh && ./b.sh"},
		{"./a.sh>x", "a.sh>x"},
		{"./a/*.sh", "./a/*.sh"},
		{"./$X/a.sh", "./$X/a.sh"},
		{"~/a.sh", "~/a.sh"},
		{"X=./a/b c", "X=./a/b c"},
		{"  ./a.sh\n./b.sh", `a.sh\n./b.sh`},
		{"./a.sh 'x\ty'", `a.sh 'x\ty'`},
		{"./a.sh\u202e", `a.sh\u202e`},
		{"./a.sh \x1b", `a.sh \x1b`},
		{"./a.sh \u00ad", `a.sh \u00ad`},
		{"", ""},
		{"'./a", "'./a"},
	} {
		if got := Label(Parse(tt.text)); got != tt.want {
			t.Errorf("Label(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := Label(FromArgv([]string{"./tools/a b.sh", "c d", "x\ny"})); got != `'a b.sh' 'c d' 'x\ny'` {
		t.Errorf("Label of a list = %q", got)
	}
}

func readAllowLine(t *testing.T, line string) string {
	t.Helper()
	var v struct {
		Entries []string `toml:"allowed_guards"`
	}
	if _, err := toml.Decode(line, &v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if len(v.Entries) != 1 {
		t.Fatalf("%s holds %d entries", line, len(v.Entries))
	}
	return v.Entries[0]
}

func TestAllowLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"./check.sh  --all", `allowed_guards = ["./check.sh --all"]`},
		{`a "b\c" 'd'`, `allowed_guards = ["a \"b\\c\" 'd'"]`},
		{"a && b", `allowed_guards = ["a && b"]`},
		{"a é", `allowed_guards = ["a é"]`},
		{"a\nb", ""},
		{"a 'b\tc'", ""},
		{"a\x1b", ""},
		{"a\u200b", ""},
		{"", ""},
	} {
		if got := AllowLine(Parse(tt.text)); got != tt.want {
			t.Errorf("AllowLine(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
