package nodes

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// maxListedHeadings bounds the headings, or the lines, that one message names.
	maxListedHeadings = 20
	// maxComparedHeadings bounds the work of a suggestion, which for one heading
	// takes the product of two lengths.
	maxComparedHeadings = 4096
	// maxNesting bounds the lists and quotes that are followed into each other. A
	// blank line visits every open list item, so without a bound a deep list above
	// many blank lines would take the product of the two.
	maxNesting = 64
)

// Heading is an ATX heading of a Markdown text: its level from 1 to 6, its text as
// written but without the '#'s on either side and the blanks around it, and its
// line, counted from 1. The text may be empty (D-116).
type Heading struct {
	Level int
	Text  string
	Line  int
}

// Headings returns the headings of a body that can name a section, in the order of
// the text. What CommonMark takes for code or for an HTML block, comments above
// all, holds none, and a heading inside a list item or a quote belongs to that.
// Headings underlined with '=' or '-' do not count (D-116). It takes time in
// proportion to the body.
func Headings(body []byte) []Heading {
	var out []Heading
	for _, h := range placedHeadings(body) {
		out = append(out, h.Heading)
	}
	return out
}

// Section returns the part of a body from the heading with the given text, which
// is included, to before the next heading of the same or a smaller level. An
// underlined heading ends no section, as it begins none: in the middle of a
// paragraph, one line of dashes would cut a section short. Texts are compared
// after trimming, case-sensitively. The section is verbatim, except that trailing
// newlines become one, and shares memory with body when body ends in a newline.
// It is false when no heading, or more than one, has the text (D-116).
func Section(body []byte, heading string) ([]byte, bool) {
	heading = strings.TrimSpace(heading)
	headings := placedHeadings(body)
	at := -1
	for i, h := range headings {
		if strings.TrimSpace(h.Text) != heading {
			continue
		}
		if at >= 0 {
			return nil, false
		}
		at = i
	}
	if at < 0 {
		return nil, false
	}
	end := len(body)
	for _, h := range headings[at+1:] {
		if h.Level <= headings[at].Level {
			end = h.start
			break
		}
	}
	for body[end-1] == '\n' {
		end--
	}
	start := headings[at].start
	if end < len(body) {
		return body[start : end+1 : end+1], true
	}
	return append(body[start:end:end], '\n'), true
}

// SectionProblem says in one sentence why Section found nothing under heading in a
// body that has the headings available, and in a second one what to write instead:
// the message and the hint of a diagnostic. It names at most 20 headings or lines
// and then how many there are besides, and no lines when they are 0 (D-116, D-28).
func SectionProblem(heading string, available []Heading) (message, hint string) {
	heading = strings.TrimSpace(heading)
	var texts, lines []string
	matches := 0
	seen := map[string]bool{"": true}
	for _, h := range available {
		text := strings.TrimSpace(h.Text)
		if text == heading {
			matches++
			if h.Line > 0 {
				lines = append(lines, fmt.Sprint(h.Line))
			}
		}
		if !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	message = fmt.Sprintf("expected one heading %q", abbreviate(heading))
	switch {
	case matches > 1 && len(lines) == matches:
		return message + ", found it on lines " + listed(lines), "give each of these headings a text of its own"
	case matches > 1:
		return message + fmt.Sprintf(", found %d", matches), "give each of these headings a text of its own"
	case len(texts) == 0:
		return message + ", found no heading with a text", "write headings as # to ###### and a space, outside code, lists and quotes"
	}
	if s := nearHeading(heading, texts); s != "" {
		hint = fmt.Sprintf("did you mean %q?", abbreviate(s))
	}
	for i := range texts[:min(len(texts), maxListedHeadings)] {
		texts[i] = fmt.Sprintf("%q", abbreviate(texts[i]))
	}
	return message + ", found " + listed(texts), hint
}

// nearHeading returns the text that heading most likely means. Whoever copies a
// heading copies its '#'s too.
func nearHeading(heading string, texts []string) string {
	bare := strings.TrimSpace(strings.TrimLeft(heading, "#"))
	if slices.Contains(texts, bare) {
		return bare
	}
	return Suggest(bare, texts[:min(len(texts), maxComparedHeadings)])
}

func listed(all []string) string {
	if more := len(all) - maxListedHeadings; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxListedHeadings], ", "), more)
	}
	return strings.Join(all, ", ")
}

// placedHeading is a heading with the offset of its line.
type placedHeading struct {
	Heading
	start int
}

func placedHeadings(body []byte) []placedHeading {
	if bytes.IndexByte(body, '#') < 0 {
		return nil
	}
	var out []placedHeading
	n := 0
	for line := range markdownLines(body) {
		n++
		if line.kind == headingLine && !line.nested {
			level, text, _ := atxHeading(line.content)
			out = append(out, placedHeading{Heading{level, string(text), n}, line.start})
		}
	}
	return out
}

// atxHeading reads a heading from a line without its indentation.
func atxHeading(line []byte) (level int, text []byte, ok bool) {
	level = leading(line, '#')
	if level < 1 || level > 6 || len(line) > level && !isBlank(line[level]) {
		return 0, nil, false
	}
	text = bytes.Trim(line[level:], " \t")
	if open := bytes.TrimRight(text, "#"); len(open) == 0 || isBlank(open[len(open)-1]) {
		text = bytes.TrimRight(open, " \t")
	}
	return level, text, true
}

// lineKind is what a line of Markdown is part of.
type lineKind uint8

const (
	blankLine lineKind = iota
	// textLine is a line of a paragraph, a rule, or one of indented code.
	textLine
	headingLine
	// fencedLine is a line of fenced code or one of its fences.
	fencedLine
	htmlLine
)

// markdownLine is a line between start and end, without its newline. Its content
// begins after the markers of lists and quotes and the indentation.
type markdownLine struct {
	start, end int
	content    []byte
	kind       lineKind
	// continues says that the line goes on with the paragraph of the one before.
	continues bool
	// nested says that the line belongs to a list item or a quote.
	nested bool
}

// markdownLines yields the lines of text with what CommonMark's block structure
// makes of them. Lists and quotes are followed, because where they end an open
// fence or comment in them ends too: a scan of the first columns alone takes the
// closing fence of "1. ```" for an opening one and loses the rest of the text.
func markdownLines(text []byte) iter.Seq[markdownLine] {
	return func(yield func(markdownLine) bool) {
		var b blockScan
		for i := 0; i < len(text); {
			line, next := cutLine(text, i)
			l := b.line(bytes.TrimSuffix(line, []byte("\r")))
			l.start, l.end = i, i+len(line)
			if !yield(l) {
				return
			}
			i = next
		}
	}
}

// blockScan is the state between two lines: the open lists and quotes, outermost
// first, and the one block that is open in the innermost, if any.
type blockScan struct {
	open      []container
	paragraph bool
	fence     fence
	html      htmlBlock
}

// container is an open list item, or a quote when indent is 0.
type container struct {
	// indent is how many columns the lines of a list item are indented by.
	indent int
	// empty says that a list item has only its marker so far; such an item does
	// not outlast a blank line.
	empty bool
}

func (b *blockScan) line(text []byte) markdownLine {
	c := cursor{text: text}
	matched := b.match(&c)
	if matched < len(b.open) {
		b.fence, b.html = fence{}, noHTML
	}
	kind, continues := b.inside(&c)
	if kind == blankLine {
		kind, continues = b.begin(&c, matched)
	}
	return markdownLine{content: c.content(), kind: kind, continues: continues, nested: len(b.open) > 0}
}

// match follows the open containers into a line and returns how many of them the
// line belongs to.
func (b *blockScan) match(c *cursor) int {
	for i := range b.open {
		width, rest := c.indent()
		switch o := &b.open[i]; {
		case o.indent == 0:
			if width > 3 || len(rest) == 0 || rest[0] != '>' {
				return i
			}
			c.quote()
		case len(rest) == 0:
			if o.empty {
				return i
			}
		case width < o.indent:
			return i
		default:
			o.empty = false
			c.skip(o.indent)
		}
	}
	return len(b.open)
}

// inside handles the lines of an open fence or HTML block. It returns blankLine
// when there is none, or when a blank line ends it.
func (b *blockScan) inside(c *cursor) (kind lineKind, continues bool) {
	width, rest := c.indent()
	switch {
	case b.fence.length > 0:
		if width < 4 && b.fence.closes(rest) {
			b.fence = fence{}
		}
		return fencedLine, true
	case b.html != noHTML:
		ends := b.html.ends(rest)
		if ends {
			b.html = noHTML
		}
		if len(rest) > 0 || !ends {
			return htmlLine, true
		}
	}
	return blankLine, false
}

// blockStarts are the characters that a line of anything but plain text begins with.
const blockStarts = "#>`~<=-_*+0123456789"

// begin handles a line on which blocks may begin, after the containers that it is
// known to belong to.
func (b *blockScan) begin(c *cursor, matched int) (kind lineKind, continues bool) {
	for {
		width, rest := c.indent()
		if width > 3 || len(rest) == 0 || strings.IndexByte(blockStarts, rest[0]) < 0 {
			return b.plain(width, rest, matched)
		}
		whole := matched == len(b.open)
		f, isFence := openingFence(rest)
		html := openingHTML(rest, b.paragraph)
		_, _, isHeading := atxHeading(rest)
		marker := listMarker(rest, b.paragraph && whole)
		switch {
		case rest[0] == '>' && matched < maxNesting:
			b.enter(matched, container{})
			c.quote()
		case isHeading:
			b.close(matched)
			return headingLine, false
		case isFence:
			b.close(matched)
			b.fence = f
			return fencedLine, false
		case html != noHTML:
			b.close(matched)
			if !html.ends(rest) {
				b.html = html
			}
			return htmlLine, false
		case b.paragraph && whole && isSetextUnderline(rest):
			b.paragraph = false
			return textLine, true
		case isRule(rest):
			b.close(matched)
			return textLine, false
		case marker > 0 && matched < maxNesting:
			b.enter(matched, c.item(width, marker))
		default:
			return b.plain(width, rest, matched)
		}
		matched = len(b.open)
	}
}

// plain handles a line on which no block begins but a paragraph or indented code.
// A paragraph goes on in a line that lacks the markers of its containers.
func (b *blockScan) plain(width int, rest []byte, matched int) (kind lineKind, continues bool) {
	switch {
	case len(rest) == 0:
		b.close(matched)
		return blankLine, false
	case b.paragraph:
		return textLine, true
	}
	b.close(matched)
	b.paragraph = width < 4
	return textLine, false
}

// close ends the open paragraph and the containers that a line does not belong to.
func (b *blockScan) close(matched int) {
	b.open, b.paragraph = b.open[:matched], false
}

func (b *blockScan) enter(matched int, o container) {
	b.close(matched)
	b.open = append(b.open, o)
}

// cursor is a place in a line. Indentation is measured in columns, where a tab
// reaches to the next multiple of four, and a list marker may take only a part of
// one: pending is what is left of it.
type cursor struct {
	text                []byte
	at, column, pending int
}

// indent returns the columns of blanks at the cursor and what follows them.
func (c *cursor) indent() (width int, rest []byte) {
	width = c.pending
	for i := c.at; i < len(c.text); i++ {
		switch c.text[i] {
		case ' ':
			width++
		case '\t':
			width += 4 - (c.column+width)%4
		default:
			return width, c.text[i:]
		}
	}
	return width, nil
}

func (c *cursor) content() []byte {
	_, rest := c.indent()
	return rest
}

// skip moves over the given columns of blanks.
func (c *cursor) skip(columns int) {
	for columns > 0 {
		if c.pending == 0 {
			c.pending = 1
			if c.text[c.at] == '\t' {
				c.pending = 4 - c.column%4
			}
			c.at++
		}
		n := min(columns, c.pending)
		c.pending -= n
		c.column += n
		columns -= n
	}
}

// mark moves over the indentation and n characters of a marker.
func (c *cursor) mark(n int) {
	width, _ := c.indent()
	c.skip(width)
	c.at += n
	c.column += n
}

func (c *cursor) quote() {
	c.mark(1)
	if width, _ := c.indent(); width > 0 {
		c.skip(1)
	}
}

// item moves over a list marker and the blanks that belong to it. More than four
// blanks are one, and indented code.
func (c *cursor) item(width, marker int) container {
	c.mark(marker)
	blanks, rest := c.indent()
	if blanks > 4 || len(rest) == 0 {
		c.skip(min(blanks, 1))
		return container{indent: width + marker + 1, empty: len(rest) == 0}
	}
	c.skip(blanks)
	return container{indent: width + marker + blanks}
}

// fence is an open code fence.
type fence struct {
	char   byte
	length int
}

func openingFence(rest []byte) (fence, bool) {
	f := fence{char: rest[0]}
	if f.char != '`' && f.char != '~' {
		return f, false
	}
	f.length = leading(rest, f.char)
	if f.length < 3 || f.char == '`' && bytes.IndexByte(rest[f.length:], '`') >= 0 {
		return fence{}, false
	}
	return f, true
}

func (f fence) closes(rest []byte) bool {
	n := leading(rest, f.char)
	return n >= f.length && len(trimBlanks(rest[n:])) == 0
}

// htmlBlock is one of CommonMark's seven kinds of HTML block. They differ in how
// they begin and in what ends them.
type htmlBlock uint8

const (
	noHTML htmlBlock = iota
	htmlRaw
	htmlComment
	htmlInstruction
	htmlDeclaration
	htmlCDATA
	htmlElement
	htmlTag
)

const (
	rawElements   = " pre script style textarea "
	blockElements = " address article aside base basefont blockquote body caption center col colgroup dd" +
		" details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5" +
		" h6 head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p" +
		" param search section summary table tbody td tfoot th thead title tr track ul "
)

// loneTag is a whole tag with nothing after it. It is compiled when a text has a
// line that begins with '<', which most have not.
var loneTag = sync.OnceValue(func() *regexp.Regexp {
	const (
		name  = `[A-Za-z][A-Za-z0-9-]*`
		value = "[ \t]*=[ \t]*(?:[^ \t\"'=<>`]+|'[^']*'|\"[^\"]*\")"
		attr  = `[ \t]+[A-Za-z_:][A-Za-z0-9_.:-]*(?:` + value + `)?`
	)
	return regexp.MustCompile(`^(?:<` + name + `(?:` + attr + `)*[ \t]*/?>|</` + name + `[ \t]*>)[ \t]*$`)
})

func openingHTML(rest []byte, paragraph bool) htmlBlock {
	switch {
	case rest[0] != '<' || len(rest) == 1:
		return noHTML
	case bytes.HasPrefix(rest, []byte("<!--")):
		return htmlComment
	case rest[1] == '?':
		return htmlInstruction
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return htmlCDATA
	case rest[1] == '!' && len(rest) > 2 && isLetter(rest[2]):
		return htmlDeclaration
	}
	name, after, closing := tagName(rest)
	ends := len(after) == 0 || isBlank(after[0]) || after[0] == '>'
	switch {
	case name == "":
		return noHTML
	case ends && !closing && strings.Contains(rawElements, " "+name+" "):
		return htmlRaw
	case (ends || bytes.HasPrefix(after, []byte("/>"))) && strings.Contains(blockElements, " "+name+" "):
		return htmlElement
	case !paragraph && loneTag().Match(rest):
		return htmlTag
	}
	return noHTML
}

// tagName returns the name of the tag that begins with the '<' at rest, in lower
// case, and what follows it. Names longer than any that matters are cut.
func tagName(rest []byte) (name string, after []byte, closing bool) {
	after = rest[1:]
	closing = len(after) > 0 && after[0] == '/'
	if closing {
		after = after[1:]
	}
	n := 0
	for n < len(after) && n < 16 && (isLetter(after[n]) || n > 0 && after[n] >= '0' && after[n] <= '9') {
		n++
	}
	return strings.ToLower(string(after[:n])), after[n:], closing
}

// ends reports whether a block of this kind ends on a line, or before it when the
// line is blank.
func (h htmlBlock) ends(rest []byte) bool {
	switch h {
	case htmlRaw:
		lower := bytes.ToLower(rest)
		for _, name := range strings.Fields(rawElements) {
			if bytes.Contains(lower, []byte("</"+name+">")) {
				return true
			}
		}
		return false
	case htmlComment:
		return bytes.Contains(rest, []byte("-->"))
	case htmlInstruction:
		return bytes.Contains(rest, []byte("?>"))
	case htmlDeclaration:
		return bytes.IndexByte(rest, '>') >= 0
	case htmlCDATA:
		return bytes.Contains(rest, []byte("]]>"))
	}
	return len(rest) == 0
}

// listMarker returns the length of the list marker at the start of rest, or 0. In
// a paragraph only an item with text, and a list that counts from 1, may begin.
func listMarker(rest []byte, paragraph bool) int {
	n := 0
	for n < len(rest) && n < 10 && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	if n > 9 || n == len(rest) {
		return 0
	}
	numbered := n > 0 && (rest[n] == '.' || rest[n] == ')')
	bullet := n == 0 && (rest[0] == '-' || rest[0] == '+' || rest[0] == '*')
	after := rest[n+1:]
	switch {
	case !numbered && !bullet, len(after) > 0 && !isBlank(after[0]):
		return 0
	case paragraph && (len(trimBlanks(after)) == 0 || numbered && string(rest[:n]) != "1"):
		return 0
	}
	return n + 1
}

func isSetextUnderline(rest []byte) bool {
	return (rest[0] == '=' || rest[0] == '-') && leading(rest, rest[0]) == len(trimBlanks(rest))
}

func isRule(rest []byte) bool {
	n := 0
	for _, c := range rest {
		switch {
		case c == rest[0]:
			n++
		case !isBlank(c):
			return false
		}
	}
	return n >= 3 && (rest[0] == '-' || rest[0] == '_' || rest[0] == '*')
}

func leading(b []byte, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
