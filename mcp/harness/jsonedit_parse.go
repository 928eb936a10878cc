package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a configuration that is edited. They are far above what people write,
// and low enough that no file costs more than a moment.
const (
	maxBytes = 256 << 10
	maxDepth = 100
)

// value is a JSON value with its place in the text.
type value struct {
	// kind is '{', '[', '"', '0' for a number, or 't', 'f', 'n'.
	kind byte
	// start and end are offsets, end behind the last byte.
	start, end int
	// text is a string's meaning and any other scalar's spelling.
	text  string
	items []item
	// commented is set when a comment stands directly in an object or array.
	commented bool
}

// item is a member of an object or an element of an array.
type item struct {
	key string // "" in an array
	// start is where the key begins, in an array the value; comma is the offset of the
	// comma behind it, -1 when there is none.
	start, comma int
	value        *value
}

// member returns the value of a key, nil when there is none.
func (v *value) member(key string) *value {
	if v.kind != '{' {
		return nil
	}
	for _, m := range v.items {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// noun says what a value is.
func (v *value) noun() string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}

// jsonParser reads JSON with comments and trailing commas, as editors keep it.
type jsonParser struct {
	text []byte
	i    int
	// comments counts the comments that were skipped.
	comments int
}

// parseJSON reads a whole file. It returns nil and no error for one with nothing but
// white space.
func parseJSON(text []byte) (*value, error) {
	if len(text) > maxBytes {
		return nil, &Error{Message: fmt.Sprintf("the file has %d bytes, the limit is %d", len(text), maxBytes)}
	}
	p := &jsonParser{text: text, i: bomLen(text)}
	if err := p.encoding(); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.done() {
		if p.comments > 0 {
			return nil, p.fail("expected an object, found the end of the file")
		}
		return nil, nil
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if !p.done() {
		return nil, p.fail("expected the end of the file, found %s", p.found())
	}
	return v, nil
}

// encoding refuses text that another program may read in another way.
func (p *jsonParser) encoding() error {
	for i := 0; i < len(p.text); {
		r, n := utf8.DecodeRune(p.text[i:])
		if r == utf8.RuneError && n == 1 {
			p.i = i
			return p.fail(`expected UTF-8, found the byte \x%02x`, p.text[i])
		}
		if r == '\r' && (i+1 == len(p.text) || p.text[i+1] != '\n') {
			p.i = i
			return p.fail("expected a line feed behind the carriage return")
		}
		i += n
	}
	return nil
}

func (p *jsonParser) done() bool { return p.i >= len(p.text) }

func (p *jsonParser) fail(format string, args ...any) error {
	return errorAt(p.text, p.i, format, args...)
}

// found describes what stands at the current place.
func (p *jsonParser) found() string {
	if p.done() {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(p.text[p.i:])
	return fmt.Sprintf("%q", r)
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for !p.done() {
		switch c := p.text[p.i]; c {
		case ' ', '\t', '\n', '\r':
			p.i++
		case '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// comment skips one comment, of a line without the line's end.
func (p *jsonParser) comment() error {
	rest := p.text[p.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		p.i += len(bytes.TrimSuffix(rest[:n], []byte("\r")))
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return p.fail("the comment is never closed")
		}
		p.i += n + 4
	default:
		return p.fail("expected a comment behind the slash")
	}
	p.comments++
	return nil
}

func (p *jsonParser) value(depth int) (*value, error) {
	if p.done() {
		return nil, p.fail("expected a value, found the end of the file")
	}
	v := &value{start: p.i, kind: p.text[p.i]}
	var err error
	switch c := v.kind; {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return nil, p.fail("expected at most %d levels", maxDepth)
		}
		err = p.items(v, depth+1)
	case c == '"':
		v.text, err = p.str()
	case c == '-' || c >= '0' && c <= '9':
		v.kind = '0'
		v.text, err = p.word()
	default:
		v.text, err = p.word()
	}
	v.end = p.i
	return v, err
}

// items reads an object or array from its bracket on.
func (p *jsonParser) items(v *value, depth int) error {
	closing := byte('}')
	if v.kind == '[' {
		closing = ']'
	}
	p.i++
	var keys map[string]bool
	for {
		before := p.comments
		if err := p.space(); err != nil {
			return err
		}
		v.commented = v.commented || p.comments > before
		if p.done() {
			return errorAt(p.text, v.start, "the bracket is never closed")
		}
		if p.text[p.i] == closing {
			p.i++
			return nil
		}
		if n := len(v.items); n > 0 && v.items[n-1].comma < 0 {
			return p.fail("expected a comma or %q, found %s", closing, p.found())
		}
		m := item{start: p.i, comma: -1}
		if v.kind == '{' {
			if err := p.key(&m); err != nil {
				return err
			}
			if keys[m.key] {
				return errorAt(p.text, m.start, "the key %q is there twice", m.key)
			}
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[m.key] = true
		}
		var err error
		if m.value, err = p.value(depth); err != nil {
			return err
		}
		before = p.comments
		if err := p.space(); err != nil {
			return err
		}
		v.commented = v.commented || p.comments > before
		if !p.done() && p.text[p.i] == ',' {
			m.comma = p.i
			p.i++
		}
		v.items = append(v.items, m)
	}
}

// key reads a member's key and colon, up to the value.
func (p *jsonParser) key(m *item) (err error) {
	if p.text[p.i] != '"' {
		return p.fail("expected a key in double quotes, found %s", p.found())
	}
	if m.key, err = p.str(); err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.done() || p.text[p.i] != ':' {
		return p.fail("expected a colon behind the key, found %s", p.found())
	}
	p.i++
	return p.space()
}

// str reads a string and returns what it means.
func (p *jsonParser) str() (string, error) {
	start := p.i
	for p.i++; !p.done(); p.i++ {
		switch c := p.text[p.i]; {
		case c == '\\':
			p.i++
		case c < 0x20:
			return "", p.fail("a string ends on its line and has no control characters")
		case c == '"':
			p.i++
			var s string
			if err := json.Unmarshal(p.text[start:p.i], &s); err != nil {
				return "", errorAt(p.text, start, "the string has an escape that JSON does not know")
			}
			return s, nil
		}
	}
	return "", errorAt(p.text, start, "the string is never closed")
}

// word reads a number, true, false or null.
func (p *jsonParser) word() (string, error) {
	start := p.i
	for !p.done() && strings.IndexByte(" \t\r\n,:{}[]\"/", p.text[p.i]) < 0 {
		p.i++
	}
	w := p.text[start:p.i]
	if !json.Valid(w) {
		p.i = start
		return "", p.fail("expected a value, found %s", p.found())
	}
	return string(w), nil
}

// canonical writes a value so that two have the same text when they mean the same,
// whatever the order of their members. What skip names is left out.
func (v *value) canonical(b *strings.Builder, skip *value) {
	switch v.kind {
	case '{':
		items := slices.Clone(v.items)
		slices.SortFunc(items, func(x, y item) int { return strings.Compare(x.key, y.key) })
		b.WriteByte('{')
		for _, m := range items {
			if m.value == skip {
				continue
			}
			fmt.Fprintf(b, "%q:", m.key)
			m.value.canonical(b, skip)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for _, m := range v.items {
			if m.value == skip {
				continue
			}
			m.value.canonical(b, skip)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case '"':
		fmt.Fprintf(b, "%q", v.text)
	default:
		b.WriteString(v.text)
	}
}

// means returns the canonical text of a value without one of the values inside it.
func (v *value) means(skip *value) string {
	var b strings.Builder
	v.canonical(&b, skip)
	return b.String()
}
