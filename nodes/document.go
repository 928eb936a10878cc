package nodes

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adrg/frontmatter"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// MaxHeaderBytes bounds a header, and a context file that is all header (D-102).
const MaxHeaderBytes = 64 << 10

// Syntax is how a context file is written.
type Syntax uint8

const (
	// Markdown is a body with an optional YAML header between fences (D-27).
	Markdown Syntax = iota
	// YAML is a file that is all header; its description is the body (N-02).
	YAML
	// Manifest is a module's .mwp-module.md: Markdown with the keys of a module,
	// whose body is for people and not for maps (D-25).
	Manifest
	// Text is an imported file of any other sort: all body, no header (D-101).
	Text
	// AnchorText is no file: the name and description of an anchor, standing in for
	// a member without a context file (D-31).
	AnchorText
)

func (s *Syntax) code(c *cas.Coder) {
	c.Uint8((*uint8)(s))
	if *s > AnchorText {
		c.Fail("syntax %d", *s)
	}
}

// Document is the header of a context file with what is wrong with it. A header
// that has a problem of error severity must not be used: what a half-read header
// gives is wrong in ways a reader of the map cannot see (D-28).
type Document struct {
	Header   Header
	Problems []ir.Diagnostic
}

func codeDocument(c *cas.Coder, d *Document) {
	codeHeader(c, &d.Header)
	cas.Slice(c, &d.Problems, codeDiagnostic)
}

func codeDiagnostic(c *cas.Coder, d *ir.Diagnostic) {
	c.String((*string)(&d.Code))
	c.String(&d.Severity)
	c.String(&d.Message)
	c.String(&d.Source)
	c.Int(&d.Line)
	c.Int(&d.Column)
	c.String(&d.Hint)
}

// ParseDocument reads the header of a context file and reports every mistake in
// it, in the order of the file, without a source (D-27, D-28). It never panics
// and takes time in proportion to the input.
func ParseDocument(b []byte, s Syntax) Document {
	d := Document{Header: Header{Scope: ScopeRecursive}}
	if s == Manifest {
		d.Header.Module = new(ModuleHeader)
	}
	if p, bad := encodingProblem(b); bad {
		d.Problems = []ir.Diagnostic{p}
		return d
	}
	text := normaliseText(b)
	if s == Text {
		return d
	}
	if s == YAML {
		d.Header.Present = true
		if len(text) > MaxHeaderBytes {
			d.Problems = []ir.Diagnostic{headerTooLong("file", len(text), 1)}
			return d
		}
		r := headerReader{syntax: YAML, raw: text, header: &d.Header}
		r.read()
		d.Problems = r.problems()
		return d
	}
	parts := splitDocument(text)
	switch {
	case parts.fenceLine == 0:
		d.Problems = foreignHeader(text)
	case parts.unterminated:
		d.Problems = []ir.Diagnostic{unterminated(text, parts.fenceLine)}
	case len(parts.header) > MaxHeaderBytes:
		d.Problems = []ir.Diagnostic{headerTooLong("header", len(parts.header), parts.fenceLine)}
	default:
		d.Header.Present = true
		r := headerReader{syntax: s, raw: parts.header, lineOffset: parts.fenceLine, header: &d.Header}
		readFenced(&r)
		d.Problems = r.problems()
	}
	return d
}

// DocumentBody returns the text that a context file contributes: every byte after
// the header, except that a byte order mark is gone, line ends are LF, blank
// lines directly after the header are gone and trailing newlines become one; a
// body of blanks is empty (D-27). It parses no header in Markdown. The result may
// share memory with b.
func DocumentBody(b []byte, s Syntax) []byte {
	text := normaliseText(b)
	if s == YAML {
		if len(text) > MaxHeaderBytes {
			return nil
		}
		r := headerReader{syntax: YAML, raw: text, header: new(Header)}
		r.read()
		text = dropBlankLines(normaliseNewlines([]byte(r.description)))
	} else if s != Text {
		text = splitDocument(text).body
	}
	if len(bytes.Trim(text, " \t\n")) == 0 {
		return nil
	}
	end := len(text)
	for end > 0 && text[end-1] == '\n' {
		end--
	}
	if end < len(text) {
		return text[: end+1 : end+1]
	}
	return append(text[:end:end], '\n')
}

// readFenced hands the header to the frontmatter library between two lines of its
// own (D-27). The pre-pass has already decided where the header is: the library
// trims lines before it compares them, so an indented "---" in a block of text
// would close the header for it. A run of '=' longer than any in the header is a
// line that cannot occur there.
func readFenced(r *headerReader) {
	token := strings.Repeat("=", longestRun(r.raw, '=')+1)
	var doc bytes.Buffer
	doc.Grow(len(r.raw) + 2*len(token) + 2)
	doc.WriteString(token + "\n")
	doc.Write(r.raw)
	doc.WriteString(token + "\n")
	format := frontmatter.NewFormat(token, token, func(header []byte, v any) error {
		r := v.(*headerReader)
		r.raw = header
		r.read()
		return nil
	})
	if _, err := frontmatter.MustParse(&doc, r, format); err != nil {
		r.fail(nil, "the header could not be read: "+err.Error(), "")
	}
}

func longestRun(b []byte, c byte) int {
	longest, run := 0, 0
	for _, x := range b {
		if x != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// splitText is a Markdown text cut at its fences.
type splitText struct {
	// fenceLine is the line of the opening fence, 0 when there is none.
	fenceLine    int
	unterminated bool
	header, body []byte
}

// splitDocument finds the header of normalised text: the first line that is not
// blank is "---" at column 0, and the next one that is "---" or "..." at column 0
// closes it; blanks may follow on either (D-27).
func splitDocument(text []byte) splitText {
	line, at, next, n := firstLine(text)
	if string(trimBlanks(line)) != "---" || at != n {
		return splitText{body: text}
	}
	s := splitText{fenceLine: lineNumber(text, n)}
	for i := next; i < len(text); {
		line, after := cutLine(text, i)
		if f := string(trimBlanks(line)); f == "---" || f == "..." {
			s.header = text[next:i:i]
			s.body = dropBlankLines(text[after:])
			return s
		}
		i = after
	}
	s.unterminated = true
	s.body = text
	return s
}

// firstLine returns the first line that is not blank, without its indentation:
// at is where its text begins, start where the line does, next where the next one
// does.
func firstLine(text []byte) (line []byte, at, next, start int) {
	for i := 0; i < len(text); {
		line, after := cutLine(text, i)
		if t := bytes.TrimLeft(line, " \t"); len(t) > 0 {
			return t, i + len(line) - len(t), after, i
		}
		i = after
	}
	return nil, len(text), len(text), len(text)
}

func cutLine(text []byte, i int) (line []byte, next int) {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return text[i : i+n], i + n + 1
	}
	return text[i:], len(text)
}

func trimBlanks(line []byte) []byte { return bytes.TrimRight(line, " \t") }

func dropBlankLines(text []byte) []byte {
	for len(text) > 0 {
		line, next := cutLine(text, 0)
		if len(trimBlanks(line)) > 0 {
			break
		}
		text = text[next:]
	}
	return text
}

func lineNumber(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte{'\n'}) }

// normaliseText drops a byte order mark and writes line ends as LF.
func normaliseText(b []byte) []byte {
	return normaliseNewlines(bytes.TrimPrefix(b, []byte("\ufeff")))
}

func normaliseNewlines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i, c := range b {
		switch {
		case c != '\r':
			out = append(out, c)
		case i+1 == len(b) || b[i+1] != '\n':
			out = append(out, '\n')
		}
	}
	return out
}

// encodingProblem reports text that is not UTF-8 or holds NUL bytes (D-27).
func encodingProblem(b []byte) (ir.Diagnostic, bool) {
	d := ir.Diagnostic{Code: ir.EncodingInvalid, Severity: ir.SeverityError, Line: 1, Column: 1, Hint: "save the file as UTF-8"}
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}), bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		d.Message = "expected UTF-8, found the byte order mark of UTF-16"
		return d, true
	case looksLikeUTF16(b):
		d.Message = "expected UTF-8, found what looks like UTF-16: every other byte is NUL"
		return d, true
	}
	at, what := bytes.IndexByte(b, 0), "a NUL byte"
	if !utf8.Valid(b) {
		bad := invalidUTF8(b)
		if at < 0 || bad < at {
			at, what = bad, fmt.Sprintf("the byte 0x%02x", b[bad])
		}
	}
	if at < 0 {
		return d, false
	}
	d.Message = fmt.Sprintf("expected UTF-8 text, found %s at offset %d", what, at)
	d.Line, d.Column = position(b, at)
	return d, true
}

// looksLikeUTF16 reports text of Latin letters in UTF-16 without a byte order
// mark. Two NULs of one parity among the first bytes, and none of the other, are
// no accident.
func looksLikeUTF16(b []byte) bool {
	var nul [2]int
	for i, c := range b[:min(len(b), 16)] {
		if c == 0 {
			nul[i&1]++
		}
	}
	return nul[0] >= 2 && nul[1] == 0 || nul[1] >= 2 && nul[0] == 0
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// position turns an offset into a line and a column in characters. LF, CRLF and a
// lone CR each end a line; a byte order mark takes no column.
func position(b []byte, at int) (line, column int) {
	line = 1
	start := 0
	if bytes.HasPrefix(b, []byte("\ufeff")) && at >= len("\ufeff") {
		start = len("\ufeff")
	}
	for i := start; i < at; i++ {
		if b[i] == '\n' || b[i] == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			line++
			start = i + 1
		}
	}
	return line, 1 + utf8.RuneCount(b[start:at])
}

func headerTooLong(what string, size, line int) ir.Diagnostic {
	return ir.Diagnostic{
		Code: ir.LimitExceeded, Severity: ir.SeverityError, Line: line,
		Message: fmt.Sprintf("the %s has %d bytes, the limit is %d", what, size, MaxHeaderBytes),
		Hint:    "move text into the body, or into files that it imports",
	}
}

// unterminated reports an opening fence without a closing one, with the line that
// was probably meant to close it.
func unterminated(text []byte, fenceLine int) ir.Diagnostic {
	d := ir.Diagnostic{
		Code: ir.FrontmatterUnterminated, Severity: ir.SeverityError, Line: fenceLine, Column: 1,
		Message: "expected a closing --- for the header that begins here, found none",
		Hint:    "write --- on a line of its own where the header ends; if this is a horizontal rule, put text or a blank header before it",
	}
	for i, n := 0, 1; i < len(text); n++ {
		line, next := cutLine(text, i)
		if n > fenceLine && isDashes(line) {
			d.Message += fmt.Sprintf("; line %d is %q", n, abbreviate(string(line)))
			d.Hint = fmt.Sprintf("write line %d as --- in the first column", n)
			break
		}
		i = next
	}
	return d
}

// foreignHeader looks at a text without a fence for a header that would be lost
// in silence: one of another format, which is an error, or one whose fence is not
// exactly a fence, which is a warning, as Markdown may well begin like that.
func foreignHeader(text []byte) []ir.Diagnostic {
	line, at, next, start := firstLine(text)
	trimmed := string(trimBlanks(line))
	d := ir.Diagnostic{Code: ir.FrontmatterInvalid, Severity: ir.SeverityError, Hint: "write the keys as YAML between two lines ---"}
	d.Line, d.Column = position(text, at)
	switch {
	case at == start && trimmed == "+++":
		d.Message = "found a TOML header; mwp reads YAML between --- lines"
	case at == start && trimmed == ";;;":
		d.Message = "found a JSON header; mwp reads YAML between --- lines"
	case at == start && strings.HasPrefix(trimmed, "{") && isJSONHeader(text[at:]):
		d.Message = "found a JSON header; mwp reads YAML between --- lines"
	default:
		return lookalikeFence(text, at, next)
	}
	return []ir.Diagnostic{d}
}

// lookalikeFence reports a first line that somebody may have meant as a fence:
// indented, with more text, with too many or typographic dashes, or after an HTML
// comment. It speaks only when header keys and another such line follow.
func lookalikeFence(text []byte, at, next int) []ir.Diagnostic {
	for bytes.HasPrefix(text[at:], []byte("<!--")) {
		end := bytes.Index(text[at:], []byte("-->"))
		if end < 0 {
			return nil
		}
		_, rest := cutLine(text, at+end)
		_, at2, next2, _ := firstLine(text[rest:])
		at, next = rest+at2, rest+next2
	}
	line, _ := cutLine(text, at)
	if !startsWithDashes(line) {
		return nil
	}
	keys := false
	for i, lines := next, 0; i < len(text) && lines < 200; lines++ {
		line, after := cutLine(text, i)
		switch {
		case namesHeaderKey(line):
			keys = true
		case keys && (isDashes(line) || string(trimBlanks(line)) == "..."):
			d := ir.Diagnostic{
				Code: ir.FrontmatterInvalid, Severity: ir.SeverityWarning,
				Message: "expected a header to begin on the first line, found it below other text; it was read as text",
				Hint:    "move what comes before the header below it",
			}
			if opener := string(trimBlanks(wholeLine(text, at))); opener != "---" {
				d.Message = fmt.Sprintf("expected a header to open with ---, found %q; it was read as text", abbreviate(opener))
				d.Hint = "write --- in the first column and nothing else on that line"
			}
			d.Line, d.Column = position(text, at)
			return []ir.Diagnostic{d}
		}
		i = after
	}
	return nil
}

func wholeLine(text []byte, at int) []byte {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _ := cutLine(text, start)
	return line
}

// startsWithDashes reports "---" or its typographic forms at the start of a line,
// whatever invisible characters come before.
func startsWithDashes(line []byte) bool {
	s := strings.TrimLeftFunc(string(line[:min(len(line), 64)]), invisible)
	return strings.HasPrefix(s, "--") || strings.HasPrefix(s, "–") || strings.HasPrefix(s, "—")
}

// isDashes reports a line of nothing else.
func isDashes(line []byte) bool {
	if len(line) > 256 {
		return false
	}
	s := strings.TrimFunc(string(line), invisible)
	return s != "" && s != "-" && strings.Trim(s, "-–—") == ""
}

func invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// namesHeaderKey reports a line such as "layer: 2".
func namesHeaderKey(line []byte) bool {
	name, _, ok := strings.Cut(string(line[:min(len(line), 64)]), ":")
	if !ok {
		return false
	}
	name = strings.TrimSpace(name)
	for _, k := range headerKeys(Markdown) {
		if name == k {
			return true
		}
	}
	return false
}

// isJSONHeader reports whether text begins with a complete {…} that has one of
// the header's keys at its top level. Text that merely begins with a brace, such
// as a template tag, is Markdown.
func isJSONHeader(text []byte) bool {
	depth, named := 0, false
	for i := 0; i < min(len(text), MaxHeaderBytes); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return named
			}
		case '"':
			end := i + 1
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) || text[end] != '"' {
				return false
			}
			after := bytes.TrimLeft(text[end+1:min(len(text), end+64)], " \t\n")
			if depth == 1 && bytes.HasPrefix(after, []byte(":")) && namesHeaderKey(append(text[i+1:end:end], ':')) {
				named = true
			}
			i = end
		}
	}
	return false
}

// abbreviate shortens text from a file to what a message can carry, without the
// passwords of URLs.
func abbreviate(s string) string {
	const limit = 60
	s = pin.Mask(s)
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
