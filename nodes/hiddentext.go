package nodes

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxHidden bounds the findings about one body.
	maxHidden = 20
	// maxHiddenRun is how many unseen characters real text has in a row: an emoji
	// selector with a joiner, or a joiner with a mark of direction. Each of them can
	// be innocent where it stands; a longer row carries data.
	maxHiddenRun = 2
	// hiddenContext is how many characters around a finding its excerpt shows.
	hiddenContext = 16
	// commentInput is how many bytes of a comment its excerpt is made from.
	commentInput = 1 << 10
)

// Hidden is a place in a body where text does not show (D-112).
type Hidden struct {
	// Line and Column count from 1, the column in characters.
	Line, Column int
	// Rune is the first unseen character, or 0 for an HTML comment.
	Rune rune
	// What names the finding without an article: "zero-width space", "12 tag
	// characters", "HTML comment".
	What string
	// Text is a short excerpt with every unseen character escaped: the comment, the
	// letters that tag characters stand for, or the characters and what is around
	// them on the line.
	Text string
	// More is how many findings are not listed. Only the last one has it.
	More int
}

// HiddenText returns what a reviewer of a body does not see, in the order of the
// text and at most 20 findings: control characters, characters without width or
// ink, those that reorder what is around them, and, in foreign text, HTML comments
// outside fenced code and code spans (D-112). Characters of one class in a row are
// one finding.
//
// What real text needs is not found: joiners next to letters of scripts that join
// and in emoji, word separators of scripts that write no spaces, one variation
// selector after a character that has variants, flags, marks of direction on a
// line with right-to-left letters or digits, one soft hyphen between letters,
// blanks in Braille, a byte order mark at the start. It takes time in proportion to
// the body and accepts any bytes.
func HiddenText(body []byte, foreign bool) []Hidden {
	var chars, comments hiddenSpots
	if !plainASCII(body) {
		s := hiddenScan{body: body, spots: &chars}
		s.run()
	}
	if foreign && bytes.Contains(body, []byte("<!--")) {
		findComments(body, &comments)
	}
	spots := append(chars.first, comments.first...)
	slices.SortFunc(spots, func(a, b hiddenSpot) int { return cmp.Compare(a.start, b.start) })
	spots = spots[:min(len(spots), maxHidden)]
	var out []Hidden
	for _, at := range spots {
		out = append(out, at.finding(body))
	}
	if len(out) > 0 {
		out[len(out)-1].More = chars.count + comments.count - len(out)
	}
	return out
}

func plainASCII(body []byte) bool {
	for _, c := range body {
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// hiddenSpot is a finding between two offsets: count characters of a class, or a
// comment when there is no class.
type hiddenSpot struct {
	start, end, count int
	class             hiddenClass
}

// hiddenSpots keeps the spots that can be reported and counts the others.
type hiddenSpots struct {
	first []hiddenSpot
	count int
}

func (h *hiddenSpots) add(at hiddenSpot) {
	if h.count++; len(h.first) < maxHidden {
		h.first = append(h.first, at)
	}
}

func (h hiddenSpot) finding(body []byte) Hidden {
	var f Hidden
	f.Line, f.Column = position(body, h.start)
	if h.class == seen {
		f.What, f.Text = "HTML comment", commentExcerpt(body[h.start:h.end])
		return f
	}
	f.Rune, _ = utf8.DecodeRune(body[h.start:])
	f.What = h.class.name(f.Rune, h.count)
	if h.class == tag {
		f.Text = tagText(body[h.start:h.end])
	} else {
		f.Text = h.excerpt(body)
	}
	return f
}

// hiddenClass is how an unseen character is spoken of.
type hiddenClass uint8

const (
	seen hiddenClass = iota
	control
	zeroWidth
	directional
	tag
	selector
	filler
	separator
	ignorable
)

// classOf returns the class of a character that leaves no ink, or that moves a
// terminal's cursor, and seen for all others. Spaces are seen. The ranges are
// Unicode's controls and default-ignorable characters, the annotation marks, the
// line separators and the blank Braille cell; written out, they take a quarter of
// the time of the tables of package unicode.
func classOf(r rune) hiddenClass {
	switch {
	case r < 0xad:
		if r >= 0x7f && r < 0xa0 || r < ' ' && r != '\n' && r != '\t' {
			return control
		}
	case r < 0x2000:
		return classBelow2000(r)
	case r < 0x2070:
		return classOfPunctuation(r)
	case r < 0xfe00:
		if r == 0x2800 || r == 0x3164 {
			return filler
		}
	case r < 0x10000:
		return classOfPresentation(r)
	case r >= 0xe0000 && r < 0xe1000:
		switch {
		case r < 0xe0080:
			return tag
		case r >= 0xe0100 && r < 0xe01f0:
			return selector
		}
		return ignorable
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return ignorable
	}
	return seen
}

func classBelow2000(r rune) hiddenClass {
	switch r {
	case 0xad, 0x34f:
		return ignorable
	case 0x61c:
		return directional
	case 0x115f, 0x1160, 0x17b4, 0x17b5:
		return filler
	case 0x180b, 0x180c, 0x180d, 0x180f:
		return selector
	case 0x180e:
		return zeroWidth
	}
	return seen
}

func classOfPunctuation(r rune) hiddenClass {
	switch {
	case r >= 0x200b && r <= 0x200d, r == 0x2060:
		return zeroWidth
	case r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return directional
	case r == 0x2028, r == 0x2029:
		return separator
	case r > 0x2060:
		return ignorable
	}
	return seen
}

func classOfPresentation(r rune) hiddenClass {
	switch {
	case r <= 0xfe0f:
		return selector
	case r == 0xfeff:
		return zeroWidth
	case r == 0xffa0:
		return filler
	case r >= 0xfff0 && r <= 0xfffb:
		return ignorable
	}
	return seen
}

func (h hiddenClass) name(r rune, count int) string {
	one, many := "invisible character", "invisible characters"
	switch h {
	case control:
		one, many = "control character", "control characters"
	case zeroWidth:
		one, many = "zero-width character", "zero-width characters"
	case directional:
		one, many = "bidirectional control", "bidirectional controls"
	case tag:
		one, many = "tag character", "tag characters"
	case selector:
		one, many = "variation selector", "variation selectors"
	case filler:
		one, many = "invisible filler", "invisible fillers"
	case separator:
		one, many = "line separator", "line separators"
	}
	if count > 1 {
		return fmt.Sprintf("%d %s", count, many)
	}
	if s := hiddenNames[r]; s != "" {
		return s
	}
	return one
}

var hiddenNames = map[rune]string{
	0x1b: "escape character", 0xad: "soft hyphen", 0x34f: "combining grapheme joiner", 0x61c: "arabic letter mark",
	0x200b: "zero-width space", 0x200c: "zero-width non-joiner", 0x200d: "zero-width joiner",
	0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x2060: "word joiner",
	0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "pop directional formatting",
	0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x2066: "left-to-right isolate",
	0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "pop directional isolate",
	0x2029: "paragraph separator", 0x2800: "blank braille pattern", 0x3164: "hangul filler", 0xfeff: "byte order mark",
}

// hiddenScan goes through the characters of a body.
type hiddenScan struct {
	body  []byte
	spots *hiddenSpots
	// before is the last character that is seen.
	before rune
	line   lineScripts
}

// lineScripts is what has been found out about the line that ends at end.
type lineScripts struct {
	end                  int
	rightToLeft, braille bool
}

func (s *hiddenScan) run() {
	s.before = '\n'
	i := 0
	if bytes.HasPrefix(s.body, []byte("\ufeff")) {
		i = len("\ufeff")
	}
	for i < len(s.body) {
		if c := s.body[i]; c >= ' ' && c < 0x7f || c == '\n' {
			s.before = rune(c)
			i++
			continue
		}
		r, class, size := s.at(i)
		if class == seen {
			s.before = r
			i += size
			continue
		}
		n := 0
		if s.before == blackFlag {
			n = flagTags(s.body[i:])
		}
		if n > 0 {
			// Tags after a whole flag belong to no flag.
			s.before = cancelTag
		} else {
			n = s.judge(i)
		}
		i += n
	}
}

// at returns the character at an offset. A carriage return before a newline and
// the blanks of a Braille picture count as seen.
func (s *hiddenScan) at(i int) (r rune, class hiddenClass, size int) {
	r, size = utf8.DecodeRune(s.body[i:])
	class = classOf(r)
	switch {
	case r == '\r' && i+1 < len(s.body) && s.body[i+1] == '\n':
		class = seen
	case r == 0x2800 && s.scripts(i).braille:
		class = seen
	}
	return r, class, size
}

// scripts returns what the line around an offset holds. Each line is read once, as
// offsets only grow.
func (s *hiddenScan) scripts(i int) lineScripts {
	if i < s.line.end {
		return s.line
	}
	start := bytes.LastIndexByte(s.body[:i], '\n') + 1
	line, _ := cutLine(s.body, start)
	s.line = lineScripts{end: start + len(line)}
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		s.line.rightToLeft = s.line.rightToLeft || isRightToLeft(r)
		s.line.braille = s.line.braille || r > 0x2800 && r <= 0x28ff
		line = line[size:]
	}
	return s.line
}

// judge reports those characters of the unseen ones at an offset that have no
// business there, and returns how many bytes all of them have.
func (s *hiddenScan) judge(start int) int {
	run := neighbours{before: s.before, after: '\n'}
	end := start
	for end < len(s.body) {
		r, class, size := s.at(end)
		if class == seen {
			run.after = r
			break
		}
		end += size
		run.length++
	}
	var spot hiddenSpot
	for i := start; i < end; {
		r, class, size := s.at(i)
		fine := run.length <= maxHiddenRun && s.needed(i, r, i == start, run)
		if spot.count > 0 && (fine || class != spot.class) {
			s.spots.add(spot)
			spot = hiddenSpot{}
		}
		if !fine {
			if spot.count == 0 {
				spot.start = i
			}
			spot.end, spot.class = i+size, class
			spot.count++
		}
		i += size
	}
	if spot.count > 0 {
		s.spots.add(spot)
	}
	return end - start
}

// neighbours are the seen characters around a row of unseen ones.
type neighbours struct {
	before, after rune
	length        int
}

// needed reports whether real text has r between such neighbours.
func (s *hiddenScan) needed(i int, r rune, first bool, n neighbours) bool {
	switch {
	case r == 0x200d:
		return isPictograph(n.before) && isPictograph(n.after) || joins(n.before) || joins(n.after)
	case r == 0x200c:
		return joins(n.before) || joins(n.after)
	case r == 0x200b:
		return unicode.In(n.before, spacelessScripts...) || unicode.In(n.after, spacelessScripts...)
	case r == 0x200e, r == 0x200f, r == 0x61c:
		return s.scripts(i).rightToLeft
	case r == 0xad:
		return n.length == 1 && (unicode.IsLetter(n.before) || unicode.IsMark(n.before)) && unicode.IsLetter(n.after)
	case r == 0x34f:
		return unicode.Is(unicode.Hebrew, n.before) || unicode.Is(unicode.Hebrew, n.after)
	case r == 0x180e:
		return unicode.Is(unicode.Mongolian, n.before)
	case classOf(r) == selector:
		return first && hasVariant(n.before, r)
	}
	return false
}

// hasVariant reports whether a variation selector may follow a character. Which
// pairs are registered changes with every version of Unicode; what matters here is
// that letters and spaces that everybody reads cannot carry one.
func hasVariant(base, selector rune) bool {
	switch {
	case selector >= 0x180b && selector <= 0x180f:
		return unicode.Is(unicode.Mongolian, base)
	case selector >= 0xe0100:
		return unicode.Is(unicode.Han, base)
	case selector == 0xfe0e, selector == 0xfe0f:
		return isPictograph(base) || base >= '0' && base <= '9' || base == '#' || base == '*'
	case selector <= 0xfe02:
		return unicode.In(base, unicode.Sm, unicode.Han, unicode.Myanmar, unicode.Phags_Pa) || base == '0' ||
			base >= 0x3001 && base <= 0x3002 || base >= 0xff01 && base <= 0xff1f
	}
	return false
}

// isPictograph reports symbols. Which of them are emoji is not in package unicode;
// the five that Unicode does not class as symbols are named.
func isPictograph(r rune) bool {
	switch r {
	case 0x203c, 0x2049, 0x2139, 0x3030, 0x303d:
		return true
	}
	return r >= 0xa9 && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk)
}

// joins reports letters and marks of scripts whose letters change shape with their
// neighbours. The vowel signs of Arabic belong to no single script.
func joins(r rune) bool {
	return r >= 0x600 && (unicode.In(r, joiningScripts...) || r >= 0x64b && r <= 0x670 && unicode.IsMark(r)) &&
		(unicode.IsLetter(r) || unicode.IsMark(r))
}

var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
	unicode.Myanmar, unicode.Tibetan, unicode.Mongolian, unicode.Syriac, unicode.Mandaic, unicode.Nko,
	unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Phags_Pa, unicode.Balinese, unicode.Javanese,
	unicode.Tai_Tham, unicode.Meetei_Mayek, unicode.Chakma, unicode.Grantha, unicode.Tirhuta,
}

// spacelessScripts write words without spaces and mark where a line may break.
var spacelessScripts = []*unicode.RangeTable{
	unicode.Khmer, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Tibetan, unicode.Balinese,
	unicode.Javanese, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet,
}

func isRightToLeft(r rune) bool {
	inBlock := r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
	return inBlock && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

const (
	blackFlag = '\U0001f3f4'
	cancelTag = '\U000e007f'
)

// flagTags returns how many bytes at the start of b turn a black flag into that of
// a part of a country: three to six letters and digits and the tag that ends them.
func flagTags(b []byte) int {
	for i, n := 0, 0; n <= 6; n++ {
		r, size := utf8.DecodeRune(b[i:])
		i += size
		switch {
		case r == cancelTag && n >= 3:
			return i
		case (r < 0xe0061 || r > 0xe007a) && (r < 0xe0030 || r > 0xe0039):
			return 0
		}
	}
	return 0
}

// tagText returns the ASCII that tag characters stand for.
func tagText(tags []byte) string {
	letters := make([]byte, 0, min(len(tags)/4, commentInput))
	for len(tags) > 0 && len(letters) < commentInput {
		r, size := utf8.DecodeRune(tags)
		if c := byte(r & 0x7f); c >= ' ' && c < 0x7f {
			letters = append(letters, c)
		}
		tags = tags[size:]
	}
	return abbreviate(string(letters))
}

func (h hiddenSpot) excerpt(body []byte) string {
	shown := h.start
	for n := 0; n < hiddenContext/2 && shown < h.end; n++ {
		_, size := utf8.DecodeRune(body[shown:])
		shown += size
	}
	from, to := h.start, h.end
	for n := 0; n < hiddenContext && from > 0 && body[from-1] != '\n'; n++ {
		_, size := utf8.DecodeLastRune(body[:from])
		from -= size
	}
	for n := 0; n < hiddenContext && to < len(body) && body[to] != '\n'; n++ {
		_, size := utf8.DecodeRune(body[to:])
		to += size
	}
	text := escapeHidden(body[from:shown])
	if shown < h.end {
		text += "…"
	}
	return strings.TrimSpace(text + escapeHidden(body[h.end:to]))
}

// commentExcerpt returns a comment on one line.
func commentExcerpt(comment []byte) string {
	end := min(len(comment), commentInput)
	for end < len(comment) && !utf8.RuneStart(comment[end]) {
		end--
	}
	return abbreviate(strings.Join(strings.Fields(escapeHidden(comment[:end])), " "))
}

func escapeHidden(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, b[0])
		case classOf(r) == seen:
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		b = b[size:]
	}
	return out.String()
}

// findComments reports every "<!--" outside fenced code and code spans, whether or
// not it is closed: readers disagree on what an open one hides.
func findComments(body []byte, spots *hiddenSpots) {
	start, end, kind := 0, 0, blankLine
	flush := func() {
		switch kind {
		case htmlLine:
			commentsIn(body[start:end], start, nil, spots)
		case textLine, headingLine:
			part := body[start:end]
			commentsIn(part, start, codeSpans(part), spots)
		}
	}
	for line := range markdownLines(body) {
		if line.kind != kind || !line.continues {
			flush()
			start, kind = line.start, line.kind
		}
		end = line.end
	}
	flush()
}

// commentsIn reports the comments of one block that no span holds.
func commentsIn(part []byte, offset int, spans []span, spots *hiddenSpots) {
	last := bytes.LastIndex(part, []byte("-->"))
	for i := 0; ; {
		n := bytes.Index(part[i:], []byte("<!--"))
		if n < 0 {
			return
		}
		start := i + n
		for len(spans) > 0 && spans[0].end <= start {
			spans = spans[1:]
		}
		i = start + len("<!--")
		if len(spans) > 0 && spans[0].start < start {
			continue
		}
		end := len(part)
		// "<!-->" is a whole comment.
		if from := start + len("<!"); from <= last {
			end = from + bytes.Index(part[from:], []byte("-->")) + len("-->")
			i = max(i, end)
		}
		spots.add(hiddenSpot{start: offset + start, end: offset + end})
	}
}

// span is inline code between two offsets, backticks included.
type span struct{ start, end int }

// codeSpans returns the code spans of a paragraph or heading as far as they are
// beyond doubt. After a tag with quotes, an escape, a link with a title, a link
// definition, a backtick in an address, a table or a span over two lines a renderer
// may pair backticks otherwise, and hide a comment that looks like code here: from
// there on nothing is a span.
func codeSpans(part []byte) []span {
	if leading(bytes.TrimLeft(part, " \t>-+*.)0123456789"), '[') > 0 && bytes.Contains(part, []byte("]:")) {
		return nil
	}
	var out []span
	lines := bytes.IndexByte(part, '\n') >= 0
	closing := closingBackticks(part)
	for i := 0; i < len(part); {
		switch part[i] {
		case '\\':
			if i+1 < len(part) && part[i+1] == '`' {
				return out
			}
			i += 2
		case '<':
			n := tagEnd(part[i:])
			if n < 0 {
				return out
			}
			i += n
		case 'w', ':':
			n := bareAddress(part[i:])
			if n < 0 {
				return out
			}
			i += n
		case ']':
			n := linkEnd(part[i:])
			if n < 0 {
				return out
			}
			i += n
		case '`':
			n := leading(part[i:], '`')
			end := closing[i]
			if end == 0 {
				i += n
				continue
			}
			if code := part[i:end]; bytes.IndexByte(code, '\n') >= 0 || lines && bytes.IndexByte(code, '|') >= 0 {
				return out
			}
			out = append(out, span{i, end})
			i = end
		default:
			i++
		}
	}
	return out
}

// closingBackticks maps the start of each row of backticks to the end of the next
// row of the same length.
func closingBackticks(part []byte) map[int]int {
	ends, next := map[int]int{}, map[int]int{}
	for i := len(part); i > 0; i-- {
		if part[i-1] != '`' {
			continue
		}
		end := i
		for i > 1 && part[i-2] == '`' {
			i--
		}
		length := end - (i - 1)
		if to := next[length]; to > 0 {
			ends[i-1] = to
		}
		next[length] = end
	}
	return ends
}

// linkEnd returns the length of the target of a link after its text, which ends
// with the ']' at b, 1 when there is none, and -1 when it is not plain.
func linkEnd(b []byte) int {
	var n int
	switch {
	case bytes.HasPrefix(b, []byte("](")):
		n = 2 + bytes.IndexAny(b[2:], ")(<\"'`")
	case bytes.HasPrefix(b, []byte("][")):
		n = 2 + bytes.IndexAny(b[2:], "]`")
	default:
		return 1
	}
	switch {
	case n < 2:
		return 1
	case b[n] == ')' || b[n] == ']':
		return n + 1
	}
	return -1
}

// bareAddress returns the length of what follows a scheme or is a www address, 1
// when b begins with neither, and -1 when there is a backtick in it: some renderers
// make links of such addresses before they look for code.
func bareAddress(b []byte) int {
	if !bytes.HasPrefix(b, []byte("www.")) && !bytes.HasPrefix(b, []byte("://")) {
		return 1
	}
	switch n := bytes.IndexAny(b, "` \t\n<"); {
	case n < 0:
		return len(b)
	case b[n] == '`':
		return -1
	default:
		return n
	}
}

// tagEnd returns the length of what a '<' begins: a comment, a plain tag, or just
// the character. It is -1 for what may go on beyond the next '>': a tag with quotes
// or backticks, an instruction, a declaration.
func tagEnd(b []byte) int {
	if bytes.HasPrefix(b, []byte("<!--")) {
		if n := bytes.Index(b[2:], []byte("-->")); n >= 0 {
			return 2 + n + len("-->")
		}
		return -1
	}
	switch {
	case len(b) < 2 || !isLetter(b[1]) && b[1] != '/' && b[1] != '!' && b[1] != '?':
		return 1
	case b[1] == '!', b[1] == '?':
		return -1
	}
	n := bytes.IndexAny(b, ">`\"'")
	if n < 0 || b[n] != '>' {
		return -1
	}
	return n + 1
}
