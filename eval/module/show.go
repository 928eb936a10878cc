package module

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	// maxShown is how many characters of foreign text a message carries.
	maxShown = 500
	// maxRead is how many bytes of it are looked at.
	maxRead = 16 << 10
)

// show makes foreign text fit for a terminal: passwords in URLs masked (U-45),
// everything that does not print written out (D-112), the end cut off.
func show(s string) string {
	s = s[:min(len(s), maxRead)]
	var b strings.Builder
	n := 0
	for _, c := range strings.ToValidUTF8(pin.Mask(s), "\ufffd") {
		if n++; n > maxShown {
			b.WriteRune('…')
			break
		}
		switch {
		case c == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
	}
	return b.String()
}

// maxLine bounds a line of progress in bytes; what is beyond is dropped.
const maxLine = 4 << 10

// lines cuts a stream into lines, which end at \n, or at \r as progress does, and
// passes at most left of them on.
type lines struct {
	line func(string)
	left int
	buf  []byte
	last string
}

// Write implements io.Writer and never fails.
func (l *lines) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' || c == '\r' {
			l.end()
		} else if len(l.buf) < maxLine {
			l.buf = append(l.buf, c)
		}
	}
	return len(p), nil
}

// end passes on what was gathered.
func (l *lines) end() {
	text := strings.TrimSpace(show(string(l.buf)))
	l.buf = l.buf[:0]
	if text == "" {
		return
	}
	l.last = text
	if l.left == 0 {
		return
	}
	l.left--
	if l.line != nil {
		l.line(text)
	}
}
