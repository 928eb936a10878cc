package harness

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// tomlDocument is what a TOML file defines, as far as adding a table needs it. The
// file is somebody else's, and may have been made to cost: the library that reads mwp's
// own configuration takes minutes and gigabytes for 32 KB of nested tables.
type tomlDocument struct {
	statements []tomlStatement
	root       *tomlNode
}

// tomlStatement is a table's header or a key with its value.
type tomlStatement struct {
	header     bool
	start, end int
	// path is the full path of the table or key.
	path []string
}

// tomlNode is a key with what is below it.
type tomlNode struct {
	kind     tomlKind
	at       int // where it was first named
	children map[string]*tomlNode
}

type tomlKind uint8

const (
	// tomlImplied is a table that only the path of another names.
	tomlImplied tomlKind = iota
	// tomlHeader is a table with a header of its own, tomlDotted one that dotted keys made.
	tomlHeader
	tomlDotted
	// tomlArray is an array of tables.
	tomlArray
	// tomlValue is any other value; tables written in braces are closed to additions.
	tomlValue
)

// at returns where a path is first named, when it is.
func (d *tomlDocument) at(path []string) (int, bool) {
	n := d.root
	for _, k := range path {
		if n = n.children[k]; n == nil {
			return 0, false
		}
	}
	return n.at, true
}

// closed returns the place of the first thing on the way to a path that takes no tables.
func (d *tomlDocument) closed(path []string) (int, bool) {
	n := d.root
	for _, k := range path {
		if n = n.children[k]; n == nil {
			return 0, false
		}
		if n.kind == tomlValue || n.kind == tomlArray {
			return n.at, true
		}
	}
	return 0, false
}

// maxTOMLPath bounds the parts of a dotted key.
const maxTOMLPath = 32

type tomlParser struct {
	text  []byte
	i     int
	doc   *tomlDocument
	table *tomlNode
	path  []string
}

// parseTOML reads a file and refuses what is not TOML. It is no judge of the last
// digit: dates with a 31st of February pass.
func parseTOML(text []byte) (*tomlDocument, error) {
	if len(text) > maxBytes {
		return nil, &Error{Message: fmt.Sprintf("the file has %d bytes, the limit is %d", len(text), maxBytes)}
	}
	if err := (&jsonParser{text: text}).encoding(); err != nil {
		return nil, err
	}
	p := &tomlParser{text: text, i: bomLen(text), doc: &tomlDocument{root: &tomlNode{kind: tomlHeader}}}
	p.table = p.doc.root
	for {
		if err := p.blank(); err != nil {
			return nil, err
		}
		if p.done() {
			return p.doc, nil
		}
		if err := p.statement(); err != nil {
			return nil, err
		}
	}
}

func (p *tomlParser) done() bool { return p.i >= len(p.text) }

func (p *tomlParser) is(c byte) bool { return p.i < len(p.text) && p.text[p.i] == c }

func (p *tomlParser) fail(format string, args ...any) error {
	return errorAt(p.text, p.i, format, args...)
}

func (p *tomlParser) found() string {
	return (&jsonParser{text: p.text, i: p.i}).found()
}

func (p *tomlParser) space() {
	for p.is(' ') || p.is('\t') {
		p.i++
	}
}

// blank skips white space, line ends and comments.
func (p *tomlParser) blank() error {
	for {
		p.space()
		switch {
		case p.is('\n') || p.is('\r'):
			p.i++
		case p.is('#'):
			for ; !p.done() && p.text[p.i] != '\n'; p.i++ {
				if c := p.text[p.i]; c < 0x20 && c != '\t' && c != '\r' || c == 0x7f {
					return p.fail("a comment has no control characters")
				}
			}
		default:
			return nil
		}
	}
}

func (p *tomlParser) statement() error {
	s := tomlStatement{start: p.i, header: p.is('[')}
	var err error
	if s.header {
		s.path, err = p.header()
	} else {
		s.path, err = p.pair(p.table, p.path, 0)
	}
	if err != nil {
		return err
	}
	s.end = p.i
	p.doc.statements = append(p.doc.statements, s)
	p.space()
	if p.done() || p.is('\n') || p.is('\r') || p.is('#') {
		return nil
	}
	return p.fail("expected the end of the line, found %s", p.found())
}

// header reads "[a.b]" or "[[a.b]]".
func (p *tomlParser) header() ([]string, error) {
	start := p.i
	array := bytes.HasPrefix(p.text[p.i:], []byte("[["))
	p.i++
	if array {
		p.i++
	}
	path, err := p.key()
	if err != nil {
		return nil, err
	}
	for range 2 {
		if !p.is(']') {
			return nil, p.fail("expected ] behind the table's name, found %s", p.found())
		}
		if p.i++; !array {
			break
		}
	}
	n := p.doc.root
	for i, k := range path {
		last := i == len(path)-1
		c := n.children[k]
		switch {
		case c == nil:
			c = n.child(k, start)
			if last && array {
				c.kind = tomlArray
			} else if last {
				c.kind = tomlHeader
			}
		case c.kind == tomlValue:
			return nil, errorAt(p.text, start, "%s has a value already", strings.Join(path[:i+1], "."))
		case !last:
		case array && c.kind == tomlArray:
			// The next element begins.
			c.children = nil
		case array || c.kind != tomlImplied:
			return nil, errorAt(p.text, start, "the table %s is there twice", strings.Join(path, "."))
		default:
			c.kind = tomlHeader
		}
		n = c
	}
	p.table, p.path = n, path
	return path, nil
}

func (n *tomlNode) child(key string, at int) *tomlNode {
	if n.children == nil {
		n.children = map[string]*tomlNode{}
	}
	c := &tomlNode{at: at}
	n.children[key] = c
	return c
}

// pair reads "a.b = value" into a table with this path.
func (p *tomlParser) pair(table *tomlNode, prefix []string, depth int) ([]string, error) {
	start := p.i
	path, err := p.key()
	if err != nil {
		return nil, err
	}
	if !p.is('=') {
		return nil, p.fail("expected = behind the key, found %s", p.found())
	}
	p.i++
	n := table
	for i, k := range path {
		last := i == len(path)-1
		c := n.children[k]
		switch {
		case c == nil:
			c = n.child(k, start)
			c.kind = tomlDotted
			if last {
				c.kind = tomlValue
			}
		case last, c.kind != tomlDotted:
			return nil, errorAt(p.text, start, "the key %s is there twice", strings.Join(path[:i+1], "."))
		}
		n = c
	}
	p.space()
	return slices.Concat(prefix, path), p.value(n, depth)
}

// key reads a dotted key and the white space behind it.
func (p *tomlParser) key() ([]string, error) {
	var path []string
	for {
		p.space()
		part, err := p.keyPart()
		if err != nil {
			return nil, err
		}
		if path = append(path, part); len(path) > maxTOMLPath {
			return nil, p.fail("expected a key of at most %d parts", maxTOMLPath)
		}
		if p.space(); !p.is('.') {
			return path, nil
		}
		p.i++
	}
}

func (p *tomlParser) keyPart() (string, error) {
	if p.is('"') || p.is('\'') {
		if rest := p.text[p.i:]; bytes.HasPrefix(rest, []byte(`"""`)) || bytes.HasPrefix(rest, []byte("'''")) {
			return "", p.fail("expected a key on one line")
		}
		return p.str()
	}
	start := p.i
	for !p.done() && bare(p.text[p.i]) {
		p.i++
	}
	if p.i == start {
		return "", p.fail("expected a key, found %s", p.found())
	}
	return string(p.text[start:p.i]), nil
}

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (p *tomlParser) value(n *tomlNode, depth int) error {
	if depth == maxDepth {
		return p.fail("expected at most %d levels", maxDepth)
	}
	switch {
	case p.is('"'), p.is('\''):
		_, err := p.str()
		return err
	case p.is('['):
		return p.array(depth)
	case p.is('{'):
		return p.braces(n, depth)
	}
	start := p.i
	for !p.done() && (bare(p.text[p.i]) || strings.IndexByte("+.:", p.text[p.i]) >= 0) {
		p.i++
	}
	// A date and its time may have a space between them.
	if p.i-start == len("2026-05-17") && p.is(' ') && p.i+1 < len(p.text) && p.text[p.i+1] >= '0' && p.text[p.i+1] <= '9' {
		for p.i++; !p.done() && (bare(p.text[p.i]) || strings.IndexByte("+.:", p.text[p.i]) >= 0); p.i++ {
		}
	}
	if !tomlScalar().Match(p.text[start:p.i]) {
		p.i = start
		return p.fail("expected a value, found %s", p.found())
	}
	return nil
}

// tomlScalar matches every value that is not in quotes or brackets.
func tomlScalar() *regexp.Regexp {
	scalar.once.Do(func() {
		const digits = `[0-9]+(_[0-9]+)*`
		const integer = `(0|[1-9](_?[0-9])*)`
		scalar.form = regexp.MustCompile(`^(true|false|[+-]?(inf|nan)` +
			`|[+-]?` + integer + `(\.` + digits + `)?([eE][+-]?` + digits + `)?` +
			`|0x[0-9A-Fa-f]+(_[0-9A-Fa-f]+)*|0o[0-7]+(_[0-7]+)*|0b[01]+(_[01]+)*` +
			`|\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?)?` +
			`|\d{2}:\d{2}(:\d{2}(\.\d+)?)?)$`)
	})
	return scalar.form
}

// scalar is for tomlScalar: a sync.OnceValue would be made at every start of the program.
var scalar struct {
	once sync.Once
	form *regexp.Regexp
}

func (p *tomlParser) array(depth int) error {
	start := p.i
	p.i++
	for comma := true; ; {
		if err := p.blank(); err != nil {
			return err
		}
		switch {
		case p.done():
			return errorAt(p.text, start, "the bracket is never closed")
		case p.is(']'):
			p.i++
			return nil
		case !comma:
			return p.fail("expected a comma or ], found %s", p.found())
		}
		if err := p.value(&tomlNode{}, depth+1); err != nil {
			return err
		}
		if err := p.blank(); err != nil {
			return err
		}
		if comma = p.is(','); comma {
			p.i++
		}
	}
}

// braces reads a table in braces, which is closed behind its last key.
func (p *tomlParser) braces(n *tomlNode, depth int) error {
	start := p.i
	p.i++
	for comma := true; ; {
		// Newer versions of TOML allow several lines and a comma at the end.
		if err := p.blank(); err != nil {
			return err
		}
		switch {
		case p.done():
			return errorAt(p.text, start, "the brace is never closed")
		case p.is('}'):
			p.i++
			return nil
		case !comma:
			return p.fail("expected a comma or }, found %s", p.found())
		}
		if _, err := p.pair(n, nil, depth+1); err != nil {
			return err
		}
		if err := p.blank(); err != nil {
			return err
		}
		if comma = p.is(','); comma {
			p.i++
		}
	}
}

// str reads a string of any of the four forms.
func (p *tomlParser) str() (string, error) {
	start := p.i
	quote := string(p.text[p.i : p.i+1])
	multi := strings.HasPrefix(string(p.text[p.i:min(p.i+3, len(p.text))]), strings.Repeat(quote, 3))
	if multi {
		quote = strings.Repeat(quote, 3)
	}
	p.i += len(quote)
	var b strings.Builder
	for {
		if p.done() {
			return "", errorAt(p.text, start, "the string is never closed")
		}
		c := p.text[p.i]
		switch {
		case bytes.HasPrefix(p.text[p.i:], []byte(quote)):
			p.i += len(quote)
			// Up to two more quotes belong to the text.
			for range 2 {
				if multi && p.is(quote[0]) {
					p.i++
				}
			}
			return b.String(), nil
		case c == '\\' && quote[0] == '"':
			if err := p.escape(&b, multi); err != nil {
				return "", err
			}
			continue
		case c == '\n' || c == '\r':
			if !multi {
				return "", errorAt(p.text, start, "the string is never closed")
			}
		case c < 0x20 && c != '\t' || c == 0x7f:
			return "", p.fail("a string has no control characters")
		}
		b.WriteByte(c)
		p.i++
	}
}

// escape reads a backslash and what belongs to it.
func (p *tomlParser) escape(b *strings.Builder, multi bool) error {
	p.i++
	if p.done() {
		return p.fail("the string is never closed")
	}
	c := p.text[p.i]
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case digits > 0:
		hex := string(p.text[p.i+1 : min(p.i+1+digits, len(p.text))])
		n, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || len(hex) < digits || !utf8.ValidRune(rune(n)) {
			return p.fail("expected %d hexadecimal digits of a character behind the escape", digits)
		}
		b.WriteRune(rune(n))
		p.i += digits
	case strings.IndexByte(`btnfre"\`, c) >= 0:
		b.WriteByte(map[byte]byte{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', 'e': 0x1b, '"': '"', '\\': '\\'}[c])
	case multi && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		line := p.text[p.i:]
		if n := bytes.IndexByte(line, '\n'); n < 0 || len(bytes.TrimSpace(line[:n])) > 0 {
			return p.fail("expected the end of the line behind the backslash")
		}
		p.i += len(line) - len(bytes.TrimLeft(line, " \t\r\n"))
		return nil
	default:
		return p.fail("the string has an escape that TOML does not know")
	}
	p.i++
	return nil
}
