package ignore

import (
	"fmt"
	"strings"
	"testing"
)

func matches(t *testing.T, line, path string) bool {
	t.Helper()
	return Stack{}.Push(".", "f", Parse([]byte(line))).Decide(path, true).Verdict == Ignored
}

// TestGlobs holds what is easily lost; TestAgreesWithGit compares at large.
func TestGlobs(t *testing.T) {
	for _, tt := range []struct {
		line    string
		yes, no []string
	}{
		{"*", []string{"a", "a/b"}, []string{"", "."}},
		{"**", []string{"a", "a/b"}, []string{"", "."}},
		{"a**", []string{"a", "ab", "c/ab"}, []string{"ba"}},
		{`*\x`, []string{"ax"}, []string{"a"}},
		{"/*", []string{"a"}, []string{"a/b"}},
		{"*.x", []string{".x", "a/b.x"}, []string{"x", "a.xx"}},
		{"a*", []string{"a", "ab", "c/ab"}, []string{"ba", "a/b"}},
		{"a*b*c", []string{"abc", "axbxbxc", "abcc"}, []string{"acb", "abcd"}},
		{"/a*/b", []string{"a/b", "ax/b"}, []string{"ax/y/b", "a/x/b"}},
		{"**/b", []string{"b", "a/b", "a/a/b"}, []string{"ab", "a/bb"}},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "ab/c"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb"}},
		{"a/**/**/b", []string{"a/b", "a/x/b"}, []string{"ab"}},
		{"a/***/b", []string{"a/b", "a/x/y/b"}, nil},
		{"x*/**b", []string{"x/b", "xy/ab"}, []string{"x/a/b"}},
		{"*/**/b", []string{"a/b", "a/x/b"}, []string{"b"}},
		{"**/*a*/b*", []string{"a/b", "x/y/cac/bd"}, []string{"a/x/b"}},
		{"**/a/*b/**/c", []string{"a/b/c", "a/x/a/xb/y/c"}, []string{"a/x/b/c"}},
		// In git a glob begins behind the plain text, where ** is special anew.
		{"/a**/b", []string{"a/b", "ab", "ax/y/b"}, []string{"b"}},
		{"/a**", []string{"a", "a/b"}, nil},
		{"/?a**/b", []string{"xa/b"}, []string{"xab", "xax/y/b"}},
		{`/**\/b`, []string{"a/b", "a/c/b"}, []string{"b"}},
		{`a/**\/b`, []string{"a/x/b"}, []string{"a/b"}},
		{`\a\*\[`, []string{"a*["}, []string{"ab["}},
		{`\/a`, nil, []string{"a"}},
		{"?", []string{"a", "\xff"}, []string{"é", "aa"}},
		{"a?b/", []string{"axb"}, []string{"a/b"}},
		{"/a?b", []string{"axb"}, []string{"a/b"}},
		{"/a[^x]b", []string{"ayb"}, []string{"a/b", "axb"}},
		{"/a[/]b", nil, []string{"a/b"}},
		{"/a[.-0]b", []string{"a.b", "a0b"}, []string{"a/b"}},
		{"[]-a]", []string{"]", "^", "a"}, []string{"-", "b"}},
		{"[a-c-e]", []string{"b", "-", "e"}, []string{"d"}},
		{"x[--0]", []string{"x-", "x."}, []string{"x1"}},
		{`x[\--0]`, []string{"x-", "x."}, []string{"x1"}},
		{`[a-\z]`, []string{"m"}, []string{"-", "\\"}},
		{`[\\-^]`, []string{"\\", "]", "^"}, []string{"-"}},
		{"[!!]", []string{"a"}, []string{"!"}},
		{"[a!]", []string{"a", "!"}, nil},
		{"[[:digit:]-z]", []string{"5", "-", "z"}, []string{"b"}},
		{"[a[:digit:]-z]", []string{"a", "5", "-", "z"}, []string{"b"}},
		{"[[:-a]", []string{"[", ":", "A", "a"}, []string{"-", "b"}},
		{"[[:][:alpha:]]", []string{"[a]", ":p]"}, []string{"[", "5]"}},
		{"[[:\\]a[:digit:]]", []string{"]", "5", "a"}, []string{"\\"}},
		{"[[:digit]", []string{"[", ":", "d"}, []string{"5"}},
		{"[[:digit:]", nil, []string{"5", "["}},
		{"[[:space:]]", []string{" ", "\t", "\n"}, []string{"\v", "\f", "\u00a0"}},
		{"[[:punct:]]x", []string{"!x", "~x", "[x"}, []string{"/x", " x", "ax", "\x7fx"}},
		{"[[:cntrl:]]", []string{"\x01", "\x7f", "\n"}, []string{" ", "\x80"}},
		{"[![:alnum:]]", []string{"-", "\xc3"}, []string{"a", "Z", "0"}},
	} {
		for _, path := range tt.yes {
			if !matches(t, tt.line, path) {
				t.Errorf("%q does not match %q", tt.line, path)
			}
		}
		for _, path := range tt.no {
			if matches(t, tt.line, path) {
				t.Errorf("%q matches %q", tt.line, path)
			}
		}
	}
}

// TestHostilePatterns holds the bound of match by counting: 4 KiB against 4 KiB
// that nearly match.
func TestHostilePatterns(t *testing.T) {
	const size = 4096
	fill := func(unit, tail string, n int) string { return strings.Repeat(unit, n/len(unit)) + tail }
	long, deep, pairs := fill("a", "", size), fill("a/", "a", size), fill("aa/", "a", size)
	for _, tt := range []struct {
		pattern, path string
		linear        bool
	}{
		{fill("*a", "*b", size), long, true},
		{fill("*a", "*b", size/2), long, true},
		{fill("a*", "b", size), long, true},
		{fill("?*", "b", size), long, true},
		{"?*" + fill("a", "b", size/2), long, false},
		{"*" + fill("[!b]", "b", size/2), long, false},
		{"*" + fill("?", "b", size/2), long, false},
		{fill("*a*a", "*b", size), deep, true},
		{fill("*/", "b", size), deep, true},
		{fill("**/", "b", size), deep, true},
		{fill("**/a/", "b", size), deep, true},
		{fill("**/*a*/", "b", size), pairs, true},
		{fill("**/*a*a*/*/", "b", size), pairs, true},
		{fill(`**\/a/`, "b", size), deep, true},
		{"**/" + fill("a/", "b", size/2), deep, false},
		{"**/" + fill("*a*/", "*b", size/2), pairs, false},
		{"**/" + fill("*?/", "b", size/4) + "/**/" + fill("[a]/", "b", size/4), deep, false},
		{fill("[", "]", size), long, true},
		{fill("[[:", "]", size), long, true},
		{fill("[a]", "b", size), long, true},
		{fill("[", "", size), long, true},
	} {
		for _, p := range Parse([]byte(tt.pattern)).list {
			ok, steps := p.glob.match(tt.path)
			limit := len(p.glob.ops) * len(tt.path)
			if tt.linear {
				limit = 4 * (len(p.glob.ops) + len(tt.path))
			}
			if ok || steps > limit {
				t.Errorf("%.12q... with %.6q... = %v in %d steps, want false in at most %d", tt.pattern, tt.path, ok, steps, limit)
			}
			t.Logf("%.12q...: %d steps, limit %d", tt.pattern, steps, limit)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, bb := range []struct{ pattern, path string }{
		{"docs/**/*.md", "docs/guide/start/intro.md"},
		{"*.py[cod]", "some_module_name.py"},
		{strings.Repeat("*a", 2048) + "*b", strings.Repeat("a", 4096)},
		{"*" + strings.Repeat("?", 2048) + "b", strings.Repeat("a", 4096)},
	} {
		p := Parse([]byte(bb.pattern)).list[0]
		b.Run(fmt.Sprintf("%.12s", strings.ReplaceAll(bb.pattern, "/", "|")), func(b *testing.B) {
			for b.Loop() {
				sinkBool = p.matches(bb.path)
			}
		})
	}
}

var sinkBool bool
