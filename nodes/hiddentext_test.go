package nodes

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// realText is what people write. The unseen characters are escaped here because a
// reader of this file could not tell whether they are there.
var realText = map[string]string{
	"persian": "کتاب\u200cها را روی میز گذاشتم و گفتم که نمی\u200cدانم چه می\u200cخواهد. پرونده\u200cی PDF\u200cها در پوشه\u200cی «نامه»\u200cها است؛ " +
		"جوان ۲۰\u200cساله\u200cای آن\u200cها را می\u200cخواند.\n\nبرای ساختن پروژه از C++\u200e استفاده می\u200cکنیم.\n",
	"arabic": "هذا المشروعُ مكتوبٌ بلغة C++\u200e، ويُبنى بالأمر make\u200f.\nالسنة ١٤٤٥ ه\u200d. والرقم \u061c12\u061c في القائمة.\n\u061c-١٢\nمَ\u200dد\n",
	"urdu":   "یہ کتاب\u200cخانہ بہت بڑا ہے، اور \u200fURL\u200f یہاں لکھیں۔\n",
	"hebrew": "שלום\u200f! הגרסה \u200eWindows 10\u200e נתמכת (ראו README\u200f).\nC#\u200e ו-\u200eC++\u200e הן שפות תכנות.\nבְּרֵאשִׁ\u034fית\n",
	"hindi":  "श्रीमान्\u200c जी ने कहा कि क्\u200dष और क्ष एक ही हैं। पढ़ने की शक्\u200cति बढ़ाएँ।\n",
	"marathi, bengali, malayalam, sinhala, telugu": "तर्\u200dहेचा\nউৎ উত্\u200d\nഅവന്\u200d പറഞ്ഞു\nශ්\u200dරී ලංකාව\nబస్\u200c వచ్చింది\n",
	"khmer, thai, lao, burmese":                    "ខ្ញុំ\u200bចង់\u200bទៅ\u200bផ្សារ។\nภาษา\u200bไทย\u200bง่าย\nພາສາ\u200bລາວ\nမြန်မာ\u200bစာ\n",
	"mongolian":                                    "ᠰᠠᠢᠨ\u180b ᠪᠠᠶᠢᠨ\u180eᠠ ᠨ\u180b\u180eᠠ\n",
	"japanese":                                     "葛\U000e0100飾区と辻\U000e0101さん。〰\ufe0f 、\ufe00\n",
	"german":                                       "Donau\u00addampf\u00adschiff\u00adfahrt und Schu\u0308\u00adler\n",
	"emoji families":                               "👨\u200d👩\u200d👧\u200d👦 👩\u200d❤\ufe0f\u200d💋\u200d👨 👨🏽\u200d🚀 👁\ufe0f\u200d🗨\ufe0f 🧑\u200d🤝\u200d🧑 🏃🏿\u200d♀\ufe0f\u200d➡\ufe0f\n",
	"emoji selectors":                              "❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ™\ufe0f ‼\ufe0f ℹ\ufe0f ↔\ufe0f ⚠\ufe0f\n",
	"flags":                                        "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f 🇩🇪 " + regionFlag("gbeng") + regionFlag("gbsct") + " " + regionFlag("ustx") + "\n",
	"mathematics":                                  "A ∩\ufe00 B, 0\ufe00, x ≨\ufe00 y\n",
	"braille":                                      "⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙\n\u2800\u2800\u2800\u2800\u2800⢀⣴⣿⣿⣦⡀\u2800\u2800\u2800\u2800\n",
	"spaces":                                       "a\u00a0b\u2009c\u202fd\u3000e\n",
	"byte order mark":                              "\ufeffText\n",
	"crlf":                                         "one\r\ntwo\r\n",
	"visible formats":                              "\u0600١٢ \u06dd١٢ \u070fܐ\n",
	"private use":                                  "\ue0b0 \U000f0001\n",
	"code and symbols":                             "if a < b { x <- c } // é … — “quoted” → ok\n\tindented\n",
}

func regionFlag(code string) string { return "🏴" + tags(code) + "\U000e007f" }

// tags writes text in characters that nobody sees.
func tags(text string) string {
	return strings.Map(func(r rune) rune { return 0xe0000 + r }, text)
}

func TestHiddenTextLeavesRealTextAlone(t *testing.T) {
	for name, text := range realText {
		for _, foreign := range []bool{false, true} {
			if got := HiddenText([]byte(text), foreign); got != nil {
				t.Errorf("%s: HiddenText(%q, %v) = %+v, want none", name, text, foreign, got)
			}
		}
	}
}

func TestHiddenText(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Hidden
	}{
		{"zero-width space in a word", "a\nign\u200bore\n", Hidden{Line: 2, Column: 4, Rune: 0x200b, What: "zero-width space", Text: `ign\u{200b}ore`}},
		{"non-joiner in Latin", "pass\u200cword\n", Hidden{Line: 1, Column: 5, Rune: 0x200c, What: "zero-width non-joiner", Text: `pass\u{200c}word`}},
		{"joiner in Latin", "a\u200db\n", Hidden{Line: 1, Column: 2, Rune: 0x200d, What: "zero-width joiner", Text: `a\u{200d}b`}},
		{"joiner after one emoji", "👩\u200dx\n", Hidden{Line: 1, Column: 2, Rune: 0x200d, What: "zero-width joiner", Text: `👩\u{200d}x`}},
		{"word joiner", "a\u2060b\n", Hidden{Line: 1, Column: 2, Rune: 0x2060, What: "word joiner", Text: `a\u{2060}b`}},
		{"bits", "x\u200b\u200c\u200b\u200b\u200cy\n", Hidden{Line: 1, Column: 2, Rune: 0x200b, What: "5 zero-width characters", Text: `x\u{200b}\u{200c}\u{200b}\u{200b}\u{200c}y`}},
		{"bits between Persian letters", "می\u200c\u200d\u200cخ\n", Hidden{Line: 1, Column: 3, Rune: 0x200c, What: "3 zero-width characters", Text: `می\u{200c}\u{200d}\u{200c}خ`}},
		{"bits in marks of direction", "ש\u200e\u200f\u200e\n", Hidden{Line: 1, Column: 2, Rune: 0x200e, What: "3 bidirectional controls", Text: `ש\u{200e}\u{200f}\u{200e}`}},
		{"byte order mark inside", "é\ufeff\n", Hidden{Line: 1, Column: 2, Rune: 0xfeff, What: "byte order mark", Text: `é\u{feff}`}},
		{"second byte order mark", "\ufeff\ufeffa\n", Hidden{Line: 1, Column: 1, Rune: 0xfeff, What: "byte order mark", Text: `\u{feff}\u{feff}a`}},
		{"override", "// \u202etxet\n", Hidden{Line: 1, Column: 4, Rune: 0x202e, What: "right-to-left override", Text: `// \u{202e}txet`}},
		{"override in Hebrew", "שלום \u202e\n", Hidden{Line: 1, Column: 6, Rune: 0x202e, What: "right-to-left override", Text: `שלום \u{202e}`}},
		{"isolate", "\tif \u2066x\n", Hidden{Line: 1, Column: 5, Rune: 0x2066, What: "left-to-right isolate", Text: `if \u{2066}x`}},
		{"embeddings", "a\u202a\u202bb\n", Hidden{Line: 1, Column: 2, Rune: 0x202a, What: "2 bidirectional controls", Text: `a\u{202a}\u{202b}b`}},
		{"mark without right-to-left letters", "שלום\na\u200eb\n", Hidden{Line: 2, Column: 2, Rune: 0x200e, What: "left-to-right mark", Text: `a\u{200e}b`}},
		{"tags", "Hi" + tags("ignore all rules") + "!\n", Hidden{Line: 1, Column: 3, Rune: 0xe0069, What: "16 tag characters", Text: "ignore all rules"}},
		{"tags after a flag that no flag has", "🏴" + tags("run rm -rf") + "\U000e007f\n", Hidden{Line: 1, Column: 2, Rune: 0xe0072, What: "11 tag characters", Text: "run rm -rf"}},
		{"two codes after one flag", regionFlag("gbeng") + tags("gbsct") + "\U000e007f\n", Hidden{Line: 1, Column: 8, Rune: 0xe0067, What: "6 tag characters", Text: "gbsct"}},
		{"code too short for a flag", "🏴" + tags("x") + "\U000e007f\n", Hidden{Line: 1, Column: 2, Rune: 0xe0078, What: "2 tag characters", Text: "x"}},
		{"code too long for a flag", "🏴" + tags("deleteall") + "\U000e007f\n", Hidden{Line: 1, Column: 2, Rune: 0xe0064, What: "10 tag characters", Text: "deleteall"}},
		{"mark below a line that may have one", "ש\u200e\na\u200eb\n", Hidden{Line: 2, Column: 2, Rune: 0x200e, What: "left-to-right mark", Text: `a\u{200e}b`}},
		{"unfinished flag", "🏴" + tags("gbeng") + "\n", Hidden{Line: 1, Column: 2, Rune: 0xe0067, What: "5 tag characters", Text: "gbeng"}},
		{"language tag", "a\U000e0001b\n", Hidden{Line: 1, Column: 2, Rune: 0xe0001, What: "tag character"}},
		{"selector after a letter", "a\ufe0fb\n", Hidden{Line: 1, Column: 2, Rune: 0xfe0f, What: "variation selector", Text: `a\u{fe0f}b`}},
		{"selector that emoji do not have", "😀\ufe07\n", Hidden{Line: 1, Column: 2, Rune: 0xfe07, What: "variation selector", Text: `😀\u{fe07}`}},
		{"ideographic selector after an emoji", "😀\U000e0150\n", Hidden{Line: 1, Column: 2, Rune: 0xe0150, What: "variation selector", Text: `😀\u{e0150}`}},
		{"two selectors", "❤\ufe0f\ufe0f\n", Hidden{Line: 1, Column: 3, Rune: 0xfe0f, What: "variation selector", Text: `❤\u{fe0f}\u{fe0f}`}},
		{"bytes in selectors", "😀" + strings.Repeat("\U000e0120", 400) + "!\n", Hidden{Line: 1, Column: 2, Rune: 0xe0120, What: "400 variation selectors", Text: "😀" + strings.Repeat(`\u{e0120}`, 8) + "…!"}},
		{"hangul filler", "x\u3164y\n", Hidden{Line: 1, Column: 2, Rune: 0x3164, What: "hangul filler", Text: `x\u{3164}y`}},
		{"halfwidth filler", "x\uffa0y\n", Hidden{Line: 1, Column: 2, Rune: 0xffa0, What: "invisible filler", Text: `x\u{ffa0}y`}},
		{"braille blank without Braille", "⠓\nx\u2800y\n", Hidden{Line: 2, Column: 2, Rune: 0x2800, What: "blank braille pattern", Text: `x\u{2800}y`}},
		{"line separator", "a\u2028b\n", Hidden{Line: 1, Column: 2, Rune: 0x2028, What: "line separator", Text: `a\u{2028}b`}},
		{"invisible times", "a\u2062b\n", Hidden{Line: 1, Column: 2, Rune: 0x2062, What: "invisible character", Text: `a\u{2062}b`}},
		{"grapheme joiner", "a\u034fb\n", Hidden{Line: 1, Column: 2, Rune: 0x34f, What: "combining grapheme joiner", Text: `a\u{34f}b`}},
		{"soft hyphen at an end", "a\u00ad b\n", Hidden{Line: 1, Column: 2, Rune: 0xad, What: "soft hyphen", Text: `a\u{ad} b`}},
		{"two soft hyphens", "a\u00ad\u00adb\n", Hidden{Line: 1, Column: 2, Rune: 0xad, What: "2 invisible characters", Text: `a\u{ad}\u{ad}b`}},
		{"annotation", "a\ufff9b\n", Hidden{Line: 1, Column: 2, Rune: 0xfff9, What: "invisible character", Text: `a\u{fff9}b`}},
		{"musical", "a\U0001d173b\n", Hidden{Line: 1, Column: 2, Rune: 0x1d173, What: "invisible character", Text: `a\u{1d173}b`}},
		{"escape", "ok\x1b[8mhidden\n", Hidden{Line: 1, Column: 3, Rune: 0x1b, What: "escape character", Text: `ok\x1b[8mhidden`}},
		{"backspace", "no\b\b\n", Hidden{Line: 1, Column: 3, Rune: 8, What: "2 control characters", Text: `no\x08\x08`}},
		{"NUL", "a\x00", Hidden{Line: 1, Column: 2, Rune: 0, What: "control character", Text: `a\x00`}},
		{"DEL", "a\x7f\n", Hidden{Line: 1, Column: 2, Rune: 0x7f, What: "control character", Text: `a\x7f`}},
		{"C1", "a\u009b31m\n", Hidden{Line: 1, Column: 2, Rune: 0x9b, What: "control character", Text: `a\u{9b}31m`}},
		{"carriage return", "safe\rEVIL\n", Hidden{Line: 1, Column: 5, Rune: '\r', What: "control character", Text: `safe\x0dEVIL`}},
		{"in fenced code", "```\na\u200b\n```\n", Hidden{Line: 2, Column: 2, Rune: 0x200b, What: "zero-width space", Text: `a\u{200b}`}},
		{"context is cut", strings.Repeat("x", 40) + "\u200b" + strings.Repeat("y", 40), Hidden{Line: 1, Column: 41, Rune: 0x200b, What: "zero-width space", Text: "xxxxxxxxxxxxxxxx" + `\u{200b}` + "yyyyyyyyyyyyyyyy"}},
		{"invalid bytes around", "\xff\u200b\xc3\n", Hidden{Line: 1, Column: 2, Rune: 0x200b, What: "zero-width space", Text: `\xff\u{200b}\xc3`}},
	} {
		if d := cmp.Diff([]Hidden{tt.want}, HiddenText([]byte(tt.in), false)); d != "" {
			t.Errorf("%s: HiddenText(%q) (-want +got):\n%s", tt.name, tt.in, d)
		}
	}
}

// TestHiddenComments gives the place of every comment as line:column.
func TestHiddenComments(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"block", "<!-- x -->\n", "1:1"},
		{"indented", "a\n  <!-- x -->\n", "2:3"},
		{"inline", "é <!-- x --> b <!-- y -->\n", "1:3 1:16"},
		{"over lines", "<!-- a\n\n```\nb <!-- c\n-->\n<!-- d -->\n", "1:1 6:1"},
		{"two in a block", "<!-- a --> <!-- b -->\n", "1:1 1:12"},
		{"shortest", "<!--> x <!-- y -->\n", "1:1 1:9"},
		{"unclosed block", "a\n<!-- x\n\n# y\n", "2:1"},
		{"unclosed inline", "a <!-- x\n\nb\n", "1:3"},
		{"in a heading", "# a <!-- x -->\n", "1:5"},
		{"in a list", "- <!-- x -->\n", "1:3"},
		{"in a quote", "> a\n> <!-- x -->\n", "2:3"},
		{"in an element", "<div>\n`<!-- x -->`\n</div>\n", "2:2"},
		{"in a lone tag", "<span>\n```\n<!-- x -->\n```\n", "3:1"},
		{"in raw text", "<pre>\n\n`<!-- x -->`\n</pre>\n", "3:2"},
		{"in indented code", "a\n\n    <!-- x -->\n", "3:5"},
		{"below a fence", "```\n```\n<!-- x -->\n", "3:1"},
		{"below the fence of a list item", "- ```\n<!-- x -->\n", "2:1"},
		{"below the fence of a quote", "> ```\n<!-- x -->\n", "2:1"},
		{"fence that is none", "``` `\n<!-- x -->\n", "2:1"},
		{"escaped", "\\<!-- x -->\n", "1:2"},

		{"fenced", "```html\n<!-- x -->\n```\n", ""},
		{"fenced in a list", "1. a\n   ```\n   <!-- x -->\n   ```\n", ""},
		{"unclosed fence", "~~~\n<!-- x -->\n", ""},
		{"code span", "Write `<!-- x -->` or ``a ` <!-- y -->`` here.\n", ""},
		{"code span in a heading", "## `<!-- x -->`\n", ""},
		{"code span after a tag", "<b>a</b> `<!-- x -->` <https://a.b> `<!-- y -->`\n", ""},
		{"code span below another list item", "- a ` b\n- `<!-- x -->`\n", ""},
		{"code span after a link", "[a](b.md), [c][d], [e] and `<!-- x -->`\n", ""},
		{"code span after an address", "See https://a.b/c and `<!-- x -->`.\n", ""},
		{"arrow", "a <- b --> c <!- d\n", ""},

		{"half in a span", "`a` <!-- ` -->\n", "1:5"},
		{"between spans", "`a` <!-- x --> `b`\n", "1:5"},
		{"spans of two paragraphs", "a `\n\n<!-- x -->\n\n` b\n", "3:1"},
		{"span that a comment block ends", "a `\n<!-- x -->\n`\n", "2:1"},
		{"span that a list item ends", "a `\n- b <!-- x --> `\n", "2:5"},
		{"spans of unlike length", "`` a <!-- x --> `\n", "1:6"},
		{"span over two lines", "a `b\nc` <!-- x --> `d\n", "2:4"},
		{"spans over two lines and on one", "a `b\n`<!-- x -->` c`\n", "2:2"},
		{"cells of a table", "| a | b |\n|---|---|\n| ` | ` `<!-- x -->` |\n", "3:10"},
		{"rows of a table without bars", "| a |\n|---|\nx `\ny <!-- x --> `\n", "4:3"},
		{"half an escaped row of backticks", "\\`` a ` <!-- x --> `\n", "1:9"},
		{"backtick in an attribute", "<a title=\"`\"> <!-- x --> `\n", "1:15"},
		{"angle in an attribute", "<a title='>`'> <!-- x --> `\n", "1:16"},
		{"backtick in an address", "www.a.b/` <!-- x --> `\n", "1:11"},
		{"backtick behind a scheme", "http://a.b/` <!-- x --> `\n", "1:14"},
		{"backtick in a link", "[x](` ) <!-- x --> `\n", "1:9"},
		{"backtick in a link's title", "[x](y \"`\") <!-- x --> `\n", "1:12"},
		{"backtick in a link's label", "[x][`] <!-- x --> `\n\n[`]: y\n", "1:8"},
		{"backtick in an instruction", "a <? > ` ?> <!-- x --> `\n", "1:13"},
		{"escaped backtick", "\\` <!-- x --> `\n", "1:4"},
		{"backtick in a definition", "[x]: `\nfoo <!-- x --> `\n", "2:5"},
		{"backtick in a definition in a list", "1. [x]: `\n   foo <!-- x --> `\n", "2:8"},
		{"backtick in a comment", "<!-- ` --> a <!-- x --> `\n", "1:1 1:14"},
		{"backtick in an inline comment", "a <!-- ` --> <!-- x --> `\n", "1:3 1:14"},
	} {
		if got := HiddenText([]byte(tt.in), false); got != nil {
			t.Errorf("%s: HiddenText(%q, false) = %v, want none", tt.name, tt.in, got)
		}
		var got []string
		for _, h := range HiddenText([]byte(tt.in), true) {
			got = append(got, fmt.Sprintf("%d:%d", h.Line, h.Column))
			if h.Rune != 0 || h.What != "HTML comment" || !strings.HasPrefix(h.Text, "<!--") {
				t.Errorf("%s: HiddenText(%q, true) has %+v, want a comment", tt.name, tt.in, h)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: HiddenText(%q, true) = %q, want %q", tt.name, tt.in, s, tt.want)
		}
	}
}

func TestHiddenCommentExcerpt(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"<!-- a\n\t b\x1b -->\n", `<!-- a b\x1b -->`},
		{"x <!-- a\u202eb --> y\n", `<!-- a\u{202e}b -->`},
		{"<!-- " + strings.Repeat("é", 2000) + " -->", "<!-- " + strings.Repeat("é", 55) + "…"},
		{"<!--" + strings.Repeat(" é", 2000), "<!--" + strings.Repeat(" é", 28) + "…"},
	} {
		got := HiddenText([]byte(tt.in), true)
		if len(got) == 0 || got[0].Text != tt.want {
			t.Errorf("HiddenText(%.30q) = %+v, want the text %q", tt.in, got, tt.want)
		}
	}
}

func TestHiddenTextIsBounded(t *testing.T) {
	text := strings.Repeat("a\u200bb <!-- c --> `x`\n", 25)
	got := HiddenText([]byte(text), true)
	if len(got) != 20 {
		t.Fatalf("HiddenText = %d findings, want 20", len(got))
	}
	for i, h := range got {
		want := Hidden{Line: 1 + i/2, Column: 2, Rune: 0x200b, What: "zero-width space", Text: `a\u{200b}b <!-- c --> ` + "`x`"}
		if i%2 == 1 {
			want = Hidden{Line: 1 + i/2, Column: 5, What: "HTML comment", Text: "<!-- c -->"}
		}
		if i == 19 {
			want.More = 30
		}
		if d := cmp.Diff(want, h); d != "" {
			t.Errorf("finding %d (-want +got):\n%s", i, d)
		}
	}
	if got := HiddenText([]byte(text), false); len(got) != 20 || got[19].More != 5 {
		t.Errorf("HiddenText without comments = %d findings and %d more, want 20 and 5", len(got), got[len(got)-1].More)
	}
}

func TestHiddenTextOfPlainTextAllocatesNothing(t *testing.T) {
	body := []byte(strings.Repeat("Plain text with `code` and a\ttab.\n", 100))
	if n := testing.AllocsPerRun(10, func() { HiddenText(body, true) }); n != 0 {
		t.Errorf("HiddenText(plain text) allocates %v times, want 0", n)
	}
}

// TestClassOf compares the written-out ranges with the tables of the Unicode
// version that the Go release knows.
func TestClassOf(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == 0x2800
		switch {
		case r == '\n', r == '\t', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			want = false
		case r >= 0x13430 && r <= 0x1343f:
			// Controls of hieroglyphs are part of the picture.
			want = false
		}
		if got := classOf(r) != seen; got != want {
			t.Errorf("classOf(%U) is unseen: %v, want %v", r, got, want)
		}
	}
}

func FuzzHiddenText(f *testing.F) {
	for _, text := range realText {
		f.Add([]byte(text), true)
	}
	for _, s := range []string{
		"", "<!--", "<!-->", "- ```\n<!-- x", "`<!-- `` -->`", "🏴" + tags("x"), "\xff\ufeff", "a\r\rb", "> <div>\n\u202e", "| ` |\n\\`<a b='", "\u2800\n⠓\u2800",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, foreign bool) {
		got := HiddenText(b, foreign)
		if len(got) > maxHidden {
			t.Fatalf("HiddenText(%q) = %d findings, want at most %d", b, len(got), maxHidden)
		}
		for i, h := range got {
			if h.Line < 1 || h.Column < 1 || h.What == "" || !foreign && h.What == "HTML comment" {
				t.Errorf("HiddenText(%q, %v) has %+v", b, foreign, h)
			}
			if h.More < 0 || h.More > 0 && (i != len(got)-1 || len(got) < maxHidden) {
				t.Errorf("HiddenText(%q) has %d more at %d of %d", b, h.More, i, len(got))
			}
			if i > 0 && (h.Line < got[i-1].Line || h.Line == got[i-1].Line && h.Column <= got[i-1].Column) {
				t.Errorf("HiddenText(%q) lists %d:%d after %d:%d", b, h.Line, h.Column, got[i-1].Line, got[i-1].Column)
			}
			if len(h.Text) > 1024 || !utf8.ValidString(h.Text) || strings.ContainsFunc(h.Text, func(r rune) bool { return classOf(r) != seen || r == '\n' }) {
				t.Errorf("HiddenText(%q) has the text %q", b, h.Text)
			}
		}
		// What cannot be seen and is nowhere needed is found wherever it stands.
		if found := HiddenText(append([]byte("\u202e\n"), b...), foreign); len(found) == 0 || found[0].Rune != 0x202e {
			t.Errorf("HiddenText misses an override before %q", b)
		}
	})
}

func BenchmarkHiddenText(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"ascii", "Plain text with `code` and a\ttab.\n"},
		{"comments", "Text with `code` <!-- and a comment --> here.\n"},
		{"persian", realText["persian"]},
		{"emoji", realText["emoji families"]},
	} {
		body := []byte(strings.Repeat(bb.text, 64<<10/len(bb.text)))
		b.Run("text="+bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				HiddenText(body, true)
			}
		})
	}
}
