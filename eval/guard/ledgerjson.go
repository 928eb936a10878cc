package guard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

// jsonReader reads the JSON that this package writes, and little else: fields come in
// one order, numbers are whole, and text is escaped in one way where there is a
// choice. What is signed can so be written in one way only. It is written by hand
// because a warm map reads the ledger: encoding/json takes four times as long.
//
// After the first mistake every method returns zero and does nothing.
type jsonReader struct {
	text string
	at   int
	// want is what was expected where the mistake is, "" without one.
	want string
}

func (r *jsonReader) fail(want string) {
	if r.want == "" {
		r.want = want
	}
}

// blank passes over white space.
func (r *jsonReader) blank() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return
		}
	}
}

// next reports whether c comes next, and passes over it.
func (r *jsonReader) next(c byte) bool {
	if r.want != "" {
		return false
	}
	r.blank()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) expect(c byte) {
	if r.next(c) {
		return
	}
	if c == ',' {
		r.fail("a comma")
		return
	}
	r.fail(string(rune(c)))
}

// word reports whether a word comes next, and passes over it.
func (r *jsonReader) word(w string) bool {
	if r.want != "" {
		return false
	}
	r.blank()
	if strings.HasPrefix(r.text[r.at:], w) {
		r.at += len(w)
		return true
	}
	return false
}

// field passes over a name and its colon, and over a comma before it unless it is
// the first of an object.
func (r *jsonReader) field(name string, first bool) {
	if !first {
		r.expect(',')
	}
	if !r.next('"') || !strings.HasPrefix(r.text[r.at:], name) {
		r.fail("the field " + name)
		return
	}
	if r.at += len(name); r.at == len(r.text) || r.text[r.at] != '"' {
		r.fail("the field " + name)
		return
	}
	r.at++
	r.expect(':')
}

// str reads a string. Without escapes in it, it is a part of the text.
func (r *jsonReader) str() string {
	if !r.next('"') {
		r.fail("a string")
		return ""
	}
	start := r.at
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start : r.at-1]
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf:
			return r.escaped(start)
		}
	}
	r.fail("the end of a string")
	return ""
}

// escaped reads on in a string that began at start and is plain up to here.
func (r *jsonReader) escaped(start int) string {
	var b strings.Builder
	b.WriteString(r.text[start:r.at])
	for r.at < len(r.text) {
		c, size := utf8.DecodeRuneInString(r.text[r.at:])
		switch {
		case c == '"':
			r.at++
			return b.String()
		case c == '\\':
			c = r.escape()
			if r.want != "" {
				return ""
			}
			b.WriteRune(c)
		case c < ' ', c == utf8.RuneError && size == 1:
			r.fail("text in UTF-8")
			return ""
		default:
			r.at += size
			b.WriteRune(c)
		}
	}
	r.fail("the end of a string")
	return ""
}

const (
	escapes = `"\bfnrt`
	meant   = "\"\\\b\f\n\r\t"
)

// escape reads what a backslash begins.
func (r *jsonReader) escape() rune {
	if rest := r.text[r.at:]; len(rest) > 1 {
		if i := strings.IndexByte(escapes, rest[1]); i >= 0 {
			r.at += 2
			return rune(meant[i])
		}
	}
	c := r.unit()
	if !utf16.IsSurrogate(c) {
		return c
	}
	if c = utf16.DecodeRune(c, r.unit()); c == unicode.ReplacementChar {
		r.fail("two halves of a character")
	}
	return c
}

// unit reads \u and four digits.
func (r *jsonReader) unit() rune {
	const length = 6
	if rest := r.text[r.at:]; len(rest) >= length && rest[:2] == `\u` && isHex(rest[2:length]) {
		n, _ := strconv.ParseUint(rest[2:length], 16, 16)
		r.at += length
		return rune(n)
	}
	r.fail("an escape")
	return 0
}

func isHex(s string) bool {
	for i := range len(s) {
		if hexValue(s[i]) > 15 {
			return false
		}
	}
	return true
}

// hexValue returns the value of a digit, and more than 15 for what is none.
func hexValue(c byte) byte {
	if d := c - '0'; d <= 9 {
		return d
	}
	if d := c - 'a'; d <= 5 {
		return d + 10
	}
	return 0xff
}

// bare reads a string that has one form only, which the caller checks: an escape in it
// is a mistake.
func (r *jsonReader) bare() string {
	if !r.next('"') {
		r.fail("a string")
		return ""
	}
	n := strings.IndexByte(r.text[r.at:], '"')
	if n < 0 {
		r.fail("the end of a string")
		return ""
	}
	s := r.text[r.at : r.at+n]
	r.at += n + 1
	return s
}

// integer reads a whole number that fits 64 bits.
func (r *jsonReader) integer() int64 {
	if r.want != "" {
		return 0
	}
	r.blank()
	start := r.at
	for r.at < len(r.text) && (r.text[r.at] == '-' || r.text[r.at] >= '0' && r.text[r.at] <= '9') {
		r.at++
	}
	s := r.text[start:r.at]
	n, err := strconv.ParseInt(s, 10, 64)
	// Other spellings of the same number are refused: 007, -0.
	if err != nil || len(s) > 1 && s[0] == '0' || strings.HasPrefix(s, "-0") {
		r.at = start
		r.fail("a whole number")
		return 0
	}
	return n
}

// digest reads a digest as cas.Digest.Tagged writes it.
func (r *jsonReader) digest() cas.Digest {
	s, ok := strings.CutPrefix(r.bare(), digestTag)
	return cas.Digest(r.hex(s, ok, "blake3: and 64 digits"))
}

const digestTag = "blake3:"

// key reads 64 hexadecimal digits.
func (r *jsonReader) key() [32]byte { return r.hex(r.bare(), true, "64 hexadecimal digits") }

func (r *jsonReader) hex(s string, ok bool, want string) (b [32]byte) {
	if ok = ok && len(s) == 2*len(b); ok {
		var wrong byte
		for i := range b {
			high, low := hexValue(s[2*i]), hexValue(s[2*i+1])
			wrong |= high | low
			b[i] = high<<4 | low
		}
		ok = wrong <= 15
	}
	if !ok {
		r.fail(want)
		return [32]byte{}
	}
	return b
}

// moment reads a time as appendMoment writes it, and returns nanoseconds since 1970.
func (r *jsonReader) moment() int64 {
	if ns, ok := parseMoment(r.bare()); ok {
		return ns
	}
	r.fail("a time such as " + momentForm)
	return 0
}

// momentForm is RFC 3339 with milliseconds, in UTC.
const momentForm = "2006-01-02T15:04:05.000Z"

// parseMoment is what time.Parse does for this one form, in a fifth of the time. It
// takes the years that nanoseconds since 1970 can tell.
func parseMoment(s string) (ns int64, ok bool) {
	if len(s) != len(momentForm) {
		return 0, false
	}
	var n [7]int
	at := 0
	for i := range len(momentForm) {
		switch f := momentForm[i]; {
		case f < '0' || f > '9':
			if s[i] != f {
				return 0, false
			}
			at++
		case s[i] < '0' || s[i] > '9':
			return 0, false
		default:
			n[at] = 10*n[at] + int(s[i]-'0')
		}
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*int(time.Millisecond), time.UTC)
	// Date takes the 31st of April for the 1st of May, which shows in the month.
	if n[0] < 1678 || n[0] > 2261 || t.Month() != time.Month(n[1]) || t.Hour() != n[3] || t.Minute() != n[4] || t.Second() != n[5] {
		return 0, false
	}
	return t.UnixNano(), true
}

// appendMoment writes nanoseconds since 1970. The part below a millisecond has to be
// gone already, and the year one that parseMoment takes (wholeMillis).
func appendMoment(b []byte, ns int64) []byte {
	return time.Unix(0, ns).UTC().AppendFormat(b, momentForm)
}

// The first and the last moment that can be written: 1678-01-01T00:00:00.000Z and
// 2261-12-31T23:59:59.999Z.
const (
	firstMoment int64 = -9214560000000000000
	lastMoment  int64 = 9214646399999000000
)

// wholeMillis returns a moment without the part below a millisecond, within the years
// that can be written.
func wholeMillis(ns int64) int64 {
	ns = min(max(ns, firstMoment), lastMoment)
	const ms = int64(time.Millisecond)
	return ns - ((ns%ms)+ms)%ms
}

// maxJSONDepth bounds how deep skip goes into what no version of ours writes.
const maxJSONDepth = 20

// skip passes over any value that this package can read: after an object with a
// mistake in it, the next may still hold.
func (r *jsonReader) skip(depth int) {
	switch {
	case depth == maxJSONDepth:
		r.fail("less deeply nested values")
	case r.next('{'):
		for first := true; r.want == "" && !r.next('}'); first = false {
			if !first {
				r.expect(',')
			}
			r.str()
			r.expect(':')
			r.skip(depth + 1)
		}
	case r.next('['):
		for first := true; r.want == "" && !r.next(']'); first = false {
			if !first {
				r.expect(',')
			}
			r.skip(depth + 1)
		}
	case r.word("null"), r.word("true"), r.word("false"):
	case r.at < len(r.text) && r.text[r.at] == '"':
		r.str()
	default:
		r.integer()
	}
}

// place returns "line:col: expected …, found …" for the mistake, both from 1.
func (r *jsonReader) place() string {
	before := r.text[:min(r.at, len(r.text))]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	found := "the end of the file"
	if rest := r.text[len(before):]; rest != "" {
		c, size := utf8.DecodeRuneInString(rest)
		if c == utf8.RuneError && size == 1 {
			found = fmt.Sprintf(`\x%02x`, rest[0])
		} else {
			found = state.Shown(rest[:size])
		}
	}
	return fmt.Sprintf("%d:%d: expected %s, found %s", line, column, r.want, found)
}

// jsonWriter writes what jsonReader reads, indented.
type jsonWriter struct {
	b      []byte
	indent string
}

func (w *jsonWriter) field(name string, first bool) *jsonWriter {
	if !first {
		w.b = append(w.b, ',')
	}
	w.b = append(append(w.b, '\n'), w.indent...)
	w.b = append(append(append(w.b, '"'), name...), `": `...)
	return w
}

func (w *jsonWriter) raw(s string) { w.b = append(w.b, s...) }

func (w *jsonWriter) integer(n int64) { w.b = strconv.AppendInt(w.b, n, 10) }

// str writes a string. What does not print is escaped, so that the file is fit for a
// terminal; what is no UTF-8 becomes U+FFFD.
func (w *jsonWriter) str(s string) {
	b := append(w.b, '"')
	for _, c := range s {
		i := strings.IndexRune(meant, c)
		switch {
		case c < utf8.RuneSelf && i >= 0:
			b = append(b, '\\', escapes[i])
		case unicode.IsPrint(c):
			b = utf8.AppendRune(b, c)
		default:
			for _, u := range utf16.AppendRune(nil, c) {
				const hex = "0123456789abcdef"
				b = append(b, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
			}
		}
	}
	w.b = append(b, '"')
}

func (w *jsonWriter) moment(ns int64) {
	w.b = append(appendMoment(append(w.b, '"'), ns), '"')
}

func (w *jsonWriter) digest(d cas.Digest) { w.str(d.Tagged()) }
