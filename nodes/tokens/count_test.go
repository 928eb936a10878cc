package tokens

import (
	"bufio"
	"bytes"
	"go/build"
	"io/fs"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

func counter(t testing.TB, name string) Counter {
	t.Helper()
	c, ok := ByName(name)
	if !ok {
		t.Fatalf("ByName(%q) found nothing", name)
	}
	return c
}

func TestNames(t *testing.T) {
	want := []string{"o200k_base", "cl100k_base", "approx/1", "whitespace/1"}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %q, want %q", got, want)
	}
	Names()[0] = "changed"
	for _, name := range want {
		if c, ok := ByName(name); !ok || c.Name() != name {
			t.Errorf("ByName(%q) = %q, %v", name, c.Name(), ok)
		}
	}
	for _, name := range []string{"", "approx", "O200K_BASE", "p50k_base"} {
		if c, ok := ByName(name); ok {
			t.Errorf("ByName(%q) = %q, want none", name, c.Name())
		}
	}
	if got := (Counter{}).Name(); got != Default {
		t.Errorf("the zero Counter is %q, want %q", got, Default)
	}
}

func TestCountIsOpenAIs(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "openai.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o200k, cl100k := counter(t, "o200k_base"), counter(t, "cl100k_base")
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		fields := strings.SplitN(line, " ", 3)
		text, err := strconv.Unquote(fields[2])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := strconv.Itoa(o200k.Count([]byte(text))); got != fields[0] {
			t.Errorf("o200k_base counts %s tokens in %q, want %s", got, text, fields[0])
		}
		if got := strconv.Itoa(cl100k.Count([]byte(text))); got != fields[1] {
			t.Errorf("cl100k_base counts %s tokens in %q, want %s", got, text, fields[1])
		}
	}
	if lines < 1000 {
		t.Errorf("read %d cases, want at least 1000", lines)
	}
}

// asLibrary changes a splitter into what version 0.10.0 of the library makes
// of the same pattern. It gives up the longest match of \s*[\r\n]+ for one
// that ends at the first group of newlines: "\n\n  \n" becomes "\n\n" and
// "  \n", where a backtracking engine gives back as little as possible and
// OpenAI's has one piece, which o200k_base even has as a token.
//
// The library also drops U+007F, for which no alternative of its compiled
// pattern matches; [^\s\p{L}\p{N}] should. Texts for it have none.
//
// testdata/openai.txt has OpenAI's counts for both.
func asLibrary(next func([]byte, int) int) func([]byte, int) int {
	return func(text []byte, i int) int {
		j := next(text, i)
		piece := text[i:j]
		first := bytes.IndexAny(piece, "\r\n")
		if first < 0 || len(bytes.TrimFunc(piece, unicode.IsSpace)) > 0 {
			return j
		}
		for first < len(piece) && (piece[first] == '\r' || piece[first] == '\n') {
			first++
		}
		return i + first
	}
}

// compare counts texts with the library and with our tables.
func compare(t *testing.T, texts func(yield func(name, text string) bool)) {
	t.Helper()
	for _, v := range vocabularies {
		codec, err := tokenizer.Get(tokenizer.Encoding(v.name))
		if err != nil {
			t.Fatal(err)
		}
		next := asLibrary(v.next)
		tab := openTable(*v.data)
		failures := 0
		for name, text := range texts {
			want, err := codec.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := tab.count([]byte(text), next); got != want {
				t.Errorf("%s counts %d tokens in %s, the library %d", v.name, got, name, want)
				if failures++; failures == 10 {
					break
				}
			}
		}
	}
}

// alphabet has what the patterns tell apart, and what merges differently.
var alphabet = []string{
	"'", "'s", "'S", "'t", "'LL", "'Re", "'vE", "'m", "'D", "'ſ", "x'", "s", "re", "LL", "don't", "I'M",
	"a", "b", "the", "Foo", "A", "Z", "HTTP", "camelCaseWord", "HTTPServer", "ß", "É", "ǅ", "ʰ", "ª", "İ", "ı", "\u212a",
	"漢", "字", "中文", "かな", "ア", "한글", "ก", "้", "ع", "e\u0301", "\u0301", "\u0300", "\u0903", "\u20dd",
	"🙂", "👍🏽", "👩‍👩‍👧", "🇩🇪", "\u200d", "\ufe0f", "\u200b", "\ufeff", "\u00ad", "\u2060",
	"0", "7", "12", "123", "1234", "12345", "123456", "1234567", "٣", "Ⅷ", "½",
	"\r", "\n", "\r\n", "\n\n", " ", "  ", "   ", "    ", "        ", "\t", "\t\t", "\v", "\f",
	"\u00a0", "\u0085", "\u2028", "\u2029", "\u3000", "\u180e",
	"/", "//", "/*", "_", "-", "--", "---", "...", "#", "##", "**", "`", "```", "(", ")", "{", "}", "|", "=", ": ",
	"<|endoftext|>", "<|", "|>", "，", "。", "“", "’", "\x00", "\x1f",
}

func randomText(r *rand.Rand, parts int) string {
	var b strings.Builder
	for range 1 + r.IntN(parts) {
		switch {
		case r.IntN(16) > 0:
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		case unicode.Version == unicodeVersion:
			// Another release of Go would class new characters otherwise.
			b.WriteRune(rune(0x80 + r.IntN(0x2f80)))
		}
	}
	return b.String()
}

// notShort leaves out what one goroutine computes for long: -short goes with the race
// detector, which finds nothing there and takes ten times as long.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED: long computations, with -short")
	}
}

func TestRandomTextsCountAsInTheLibrary(t *testing.T) {
	notShort(t)
	compare(t, func(yield func(name, text string) bool) {
		r := rand.New(rand.NewPCG(39, 118))
		for range 20_000 {
			text := randomText(r, 12)
			if !yield(strconv.Quote(text), text) {
				return
			}
		}
	})
}

func TestFilesCountAsInTheLibrary(t *testing.T) {
	notShort(t)
	compare(t, func(yield func(name, text string) bool) {
		for _, path := range corpus(t) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(text) || bytes.IndexByte(text, 0x7f) >= 0 {
				continue
			}
			if !yield(path, string(text)) {
				return
			}
		}
	})
}

// corpus returns the Markdown files of GOROOT and a sample of its Go files, of
// 600 KB together.
func corpus(t testing.TB) []string {
	t.Helper()
	var markdown, source []string
	for _, dir := range []string{"doc", "src", "test"} {
		err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.Type().IsRegular():
				return err
			case strings.HasSuffix(path, ".md"):
				markdown = append(markdown, path)
			case strings.HasSuffix(path, ".go"):
				source = append(source, path)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(39, 118))
	r.Shuffle(len(source), func(i, j int) { source[i], source[j] = source[j], source[i] })
	size, files := int64(0), []string(nil)
	for _, path := range slices.Concat(markdown, source) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 100_000 {
			continue
		}
		if size += info.Size(); size > 600_000 {
			break
		}
		files = append(files, path)
	}
	if len(files) == 0 {
		t.Skip("GOROOT has no text")
	}
	return files
}

func TestLongAndShortMergeAgree(t *testing.T) {
	notShort(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, v := range vocabularies {
		tab := openTable(*v.data)
		tokens := tab.tokens()
		for range 5_000 {
			var piece []byte
			switch r.IntN(3) {
			case 0:
				piece = bytes.Repeat([]byte(alphabet[r.IntN(len(alphabet))]), longPiece)
			case 1:
				for len(piece) < longPiece {
					piece = append(piece, tokens[r.IntN(len(tokens))]...)
				}
			default:
				for range longPiece {
					piece = append(piece, "etaoin"[r.IntN(6)])
				}
			}
			piece = piece[:2+r.IntN(longPiece-2)]
			short := tab.mergeShort(piece)
			if long, _ := tab.mergeLong(piece); long != short {
				t.Fatalf("%s: the heap merges %q to %d tokens, the scan to %d", v.name, piece, long, short)
			}
		}
	}
}

// longRuns have one piece, or pieces that look far ahead, of about n bytes.
func longRuns(n int) map[string][]byte {
	letters := make([]byte, n)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range letters {
		letters[i] = 'a' + byte(r.IntN(26))
	}
	repeat := func(s string) []byte { return bytes.Repeat([]byte(s), n/len(s)) }
	return map[string][]byte{
		"one letter":         repeat("a"),
		"random letters":     letters,
		"spaces":             repeat(" "),
		"spaces and a word":  append(repeat(" "), 'x'),
		"spaces and a digit": append(append([]byte("\n"), repeat(" ")...), '1'),
		"blank lines":        append(repeat(" \n"), ' ', ' ', '1'),
		"newlines":           repeat("\n"),
		"symbols":            repeat("="),
		"mixed symbols":      repeat("<|-"),
		"slashes":            repeat("\n/"),
		"capitals":           append([]byte("漢"), repeat("A")...),
		"caseless":           repeat("漢A"),
		"marks":              repeat("\u0301A"),
		"mark and capitals":  append([]byte("\u0301"), repeat("A")...),
		"humps":              repeat("aB"),
		"apostrophes":        repeat("'"),
		"digits":             repeat("1"),
		"invalid bytes":      repeat("\xff\xc3"),
	}
}

// Work is look-ups and moves in the heap, so it does not depend on the
// machine.
func TestMergeOfALongRunIsLinearithmic(t *testing.T) {
	notShort(t)
	const n = 40_000
	for _, v := range vocabularies {
		tab := openTable(*v.data)
		for name, text := range longRuns(n) {
			_, steps := tab.mergeLong(text)
			// Three look-ups for each byte, and of its at most three items
			// in the heap each moves up and down the levels once.
			if limit := 3*len(text) + 6*len(text)*bits.Len(uint(len(text))); steps > limit {
				t.Errorf("%s: merging %d bytes of %s takes %d steps, want at most %d", v.name, len(text), name, steps, limit)
			}
		}
	}
}

// A quadratic scan would take 10^12 steps and not end before the test binary
// is stopped.
func TestScansOfLongRunsEnd(t *testing.T) {
	notShort(t)
	for name, text := range longRuns(1_000_000) {
		for _, v := range vocabularies {
			n := 0
			for i := 0; i < len(text); n++ {
				i = v.next(text, i)
			}
			if n < 1 || n > len(text) {
				t.Errorf("%s splits %d bytes of %s into %d pieces", v.name, len(text), name, n)
			}
		}
		if n := approximate(text); n > len(text) {
			t.Errorf("approx/1 counts %d tokens in %d bytes of %s", n, len(text), name)
		}
		if n := words(text); n > len(text) {
			t.Errorf("whitespace/1 counts %d words in %d bytes of %s", n, len(text), name)
		}
	}
}

func TestCountDoesNotAllocate(t *testing.T) {
	text := []byte(strings.Repeat("# Title\n\nSome `code` and unusualwords, 漢字 and 12345.\n", 20))
	for _, name := range Names() {
		c := counter(t, name)
		if n := testing.AllocsPerRun(10, func() { c.Count(text) }); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

func TestCountWords(t *testing.T) {
	c := counter(t, "whitespace/1")
	for text, want := range map[string]int{
		"":                      0,
		" \n\t":                 0,
		"a":                     1,
		"  two words\n":         2,
		"a\u00a0b\u2028c\u3000": 3,
		"zero\u200bwidth":       1,
		"a\u0085b\xff \xff":     3,
	} {
		if got := c.Count([]byte(text)); got != want {
			t.Errorf("whitespace/1 counts %d in %q, want %d", got, text, want)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 5_000 {
		text := randomText(r, 20)
		if got, want := c.Count([]byte(text)), len(strings.FieldsFunc(text, unicode.IsSpace)); got != want {
			t.Errorf("whitespace/1 counts %d in %q, want %d", got, text, want)
		}
	}
}

func TestApproximate(t *testing.T) {
	// In thousandths; the count is want/1000 to the nearest.
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{" \t \x01 ", 0},
		{"word", 1009},
		{"two words", 2018},
		{"letters", 1009 + 36},
		{"internationalization", 1009 + 14*36},
		{"camelCase", 1009 + 3*36 + 627},
		{"HTTPServer", 1009 + 4*36},
		{"aBcD", 1009 + 2*627},
		{"a B", 2018},
		{"1", 925},
		{"123", 925},
		{"1234", 2 * 925},
		{"1234567", 3 * 925},
		{"12a34", 925 + 1009 + 925},
		{".", 356 + 398},
		{"...", 356 + 3*398},
		{"- - ", 2 * (356 + 398)},
		{"_a_", 2*(356+398) + 1009},
		{"\n", 861},
		{"\r\n \n\t", 861},
		{"\n\n\n\n", 861},
		{"a\n  b\n", 2018 + 2*861},
		{"漢字", 6 * 605},
		{"\xff", 605},
		{"é!", 2*605 + 356 + 398},
		{"## Title\n\nSee `foo.Bar`, v1.26.\n", 5*1009 + 925*2 + 6*356 + 8*398 + 2*861},
	}
	c := counter(t, "approx/1")
	for _, test := range tests {
		if got, want := c.Count([]byte(test.text)), (test.want+500)/1000; got != want {
			t.Errorf("approx/1 counts %d in %q, want %d", got, test.text, want)
		}
		// A hundred on a line of control characters each show the third place.
		if got, want := c.Count([]byte(strings.Repeat(test.text+"\x01", 100))), (test.want*100+500)/1000; got != want {
			t.Errorf("approx/1 counts %d in a hundred times %q, want %d", got, test.text, want)
		}
	}
	// Twenty digit triples have 18500 thousandths: a half goes upwards.
	if got := c.Count([]byte(strings.Repeat("1 ", 20))); got != 19 {
		t.Errorf("approx/1 counts %d in 18500 thousandths, want 19", got)
	}
}

// The documentation promises 5 % for Markdown.
func TestApproximateIsNear(t *testing.T) {
	exact, estimate := counter(t, Default), counter(t, "approx/1")
	sum, n := 0.0, 0
	for _, path := range corpus(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := exact.Count(text)
		if !strings.HasSuffix(path, ".md") || want < 100 {
			continue
		}
		sum += math.Abs(float64(estimate.Count(text))/float64(want) - 1)
		n++
	}
	if n > 0 && sum/float64(n) > 0.05 {
		t.Errorf("approx/1 is %.1f %% off on average over %d files, want at most 5 %%", 100*sum/float64(n), n)
	}
}

func FuzzCount(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		f.Add([]byte(randomText(r, 12)))
	}
	f.Add([]byte("\xff\xc3'\xed\xa0\x80"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range vocabularies {
			tab := openTable(*v.data)
			n := 0
			for i := 0; i < len(text); {
				j := v.next(text, i)
				if j <= i || j > len(text) {
					t.Fatalf("%s: the piece of %q at %d ends at %d", v.name, text, i, j)
				}
				piece := text[i:j]
				tokens := tab.pieceTokens(piece)
				long, _ := tab.mergeLong(piece)
				if tab.rank(piece) != noRank {
					long = 1
				}
				if tokens != long {
					t.Fatalf("%s: %q is %d tokens, and %d with the heap", v.name, piece, tokens, long)
				}
				n += tokens
				i = j
			}
			if got := counter(t, v.name).Count(text); got != n || n > len(text) {
				t.Fatalf("%s counts %d in %q, its pieces have %d", v.name, got, text, n)
			}
		}
		if got, want := counter(t, "whitespace/1").Count(text), len(bytes.Fields(text)); got != want {
			t.Fatalf("whitespace/1 counts %d in %q, want %d", got, text, want)
		}
		if got := counter(t, "approx/1").Count(text); got < 0 || got > 2*len(text) {
			t.Fatalf("approx/1 counts %d in %d bytes", got, len(text))
		}
	})
}

func BenchmarkCount(b *testing.B) {
	var text []byte
	for _, path := range corpus(b) {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, data...)
	}
	texts := []struct {
		name string
		text []byte
	}{
		{"text=prose/size=1KB", text[:1<<10]},
		{"text=prose/size=8KB", text[:8<<10]},
		{"text=prose/size=100KB", text[:100<<10]},
		{"text=oneletter/size=100KB", bytes.Repeat([]byte("a"), 100<<10)},
		{"text=chinese/size=100KB", bytes.Repeat([]byte("我能吞下玻璃而不伤身体。"), 100<<10/36)},
	}
	for _, name := range Names() {
		c := counter(b, name)
		for _, x := range texts {
			b.Run("counter="+strings.ReplaceAll(name, "/", "-")+"/"+x.name, func(b *testing.B) {
				b.SetBytes(int64(len(x.text)))
				b.ReportAllocs()
				for b.Loop() {
					c.Count(x.text)
				}
			})
		}
	}
}
