package nodes

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// keyTable says where the keys of a TOML text stand. Its keys are full keys as TOML
// writes them.
type keyTable struct {
	places map[string]keyPlace
	// conflicts are keys set twice, or set after something was set below them: the
	// library takes `a.b.c = 1` and then `a.b = 2`, and forgets the first.
	conflicts []keyConflict
	// over says which bound the text exceeds, and where.
	over     string
	overLine int
}

type keyPlace struct {
	line, column int
	value        bool
}

type keyConflict struct {
	key                 string
	line, column, first int
}

// locateKeys finds the keys of a TOML text, because the library does not say where
// they are. It knows no more of the language than it must, and accepts more: what
// is not TOML is the library's to report. Keys inside arrays have no place.
func locateKeys(text string) keyTable {
	l := keyLocator{text: text, line: 1, column: 1, table: keyTable{places: map[string]keyPlace{}}}
	l.top()
	if l.arrays {
		l.table.conflicts = nil
	}
	return l.table
}

type keyLocator struct {
	text string
	pos  int
	line int
	// column is the column of columnAt: counting from the line's start for every key
	// would be quadratic in a long line.
	column, columnAt int
	// depth counts open tables and arrays, inArray arrays alone, keyBytes the lengths
	// of all full keys.
	depth, inArray, keyBytes int
	// arrays is set when there are arrays of tables, whose keys repeat.
	arrays bool
	table  keyTable
}

func (l *keyLocator) stopped() bool { return l.table.over != "" }

func (l *keyLocator) exceed(format string, args ...any) {
	if l.table.over == "" {
		l.table.over = fmt.Sprintf(format, args...)
		l.table.overLine = l.line
	}
}

// peek returns the byte at pos, 0 at the end.
func (l *keyLocator) peek() byte {
	if l.pos < len(l.text) {
		return l.text[l.pos]
	}
	return 0
}

func (l *keyLocator) next() {
	if l.pos == len(l.text) {
		return
	}
	if l.peek() == '\n' {
		l.line++
		l.column, l.columnAt = 1, l.pos+1
	}
	l.pos++
}

func (l *keyLocator) blanks() {
	for l.peek() == ' ' || l.peek() == '\t' {
		l.pos++
	}
}

// space passes over blanks, line ends and comments.
func (l *keyLocator) space() {
	for l.pos < len(l.text) {
		switch l.peek() {
		case ' ', '\t', '\n', '\r':
			l.next()
		case '#':
			l.restOfLine()
		default:
			return
		}
	}
}

func (l *keyLocator) restOfLine() {
	if n := strings.IndexByte(l.text[l.pos:], '\n'); n >= 0 {
		l.pos += n
		return
	}
	l.pos = len(l.text)
}

func (l *keyLocator) top() {
	prefix, depth := "", 0
	for l.space(); l.pos < len(l.text) && !l.stopped(); l.space() {
		if l.peek() != '[' {
			l.depth = depth
			l.keyValue(prefix)
		} else {
			l.pos++
			array := l.peek() == '['
			if array {
				l.pos++
				l.arrays = true
			}
			l.depth = 0
			if p := l.key(""); len(p) > 0 {
				prefix, depth = p[len(p)-1].key, len(p)
				l.record(p, false)
			}
		}
		l.restOfLine()
	}
}

// keyValue reads one pair.
func (l *keyLocator) keyValue(prefix string) bool {
	parts := l.key(prefix)
	l.blanks()
	if len(parts) == 0 || l.stopped() || l.peek() != '=' {
		return false
	}
	l.pos++
	l.blanks()
	key := parts[len(parts)-1].key
	l.record(parts, true)
	l.depth += len(parts)
	defer func() { l.depth -= len(parts) }()
	return l.value(key)
}

type keyPart struct {
	key          string
	line, column int
}

// key reads a dotted key and returns the full key of each part.
func (l *keyLocator) key(prefix string) []keyPart {
	var parts []keyPart
	for {
		l.blanks()
		l.column += utf8.RuneCountInString(l.text[l.columnAt:l.pos])
		l.columnAt = l.pos
		p := keyPart{line: l.line, column: l.column}
		name, ok := l.keyName()
		if !ok {
			return nil
		}
		prefix = joinKey(prefix, name)
		p.key = prefix
		parts = append(parts, p)
		if l.keyBytes += len(prefix); l.keyBytes > maxConfigKeyBytes {
			l.exceed("the keys of the configuration have more than %d bytes in sum", maxConfigKeyBytes)
			return nil
		}
		if l.tooDeep(l.depth + len(parts)) {
			return nil
		}
		l.blanks()
		if l.peek() != '.' {
			return parts
		}
		l.pos++
	}
}

func (l *keyLocator) tooDeep(depth int) bool {
	if depth > maxConfigDepth {
		l.exceed("the configuration nests deeper than %d levels", maxConfigDepth)
	}
	return l.stopped()
}

func (l *keyLocator) keyName() (string, bool) {
	switch c := l.peek(); c {
	case '"', '\'':
		start := l.pos
		if !l.quoted(c) {
			return "", false
		}
		name := l.text[start+1 : l.pos-1]
		if c == '"' {
			name = unescapeTOML(name)
		}
		return name, true
	}
	start := l.pos
	for isBareKey(rune(l.peek())) {
		l.pos++
	}
	return l.text[start:l.pos], l.pos > start
}

// record notes the places of a key's parts. Its own place replaces one that was
// only implied by a longer key.
func (l *keyLocator) record(parts []keyPart, value bool) {
	if l.inArray > 0 {
		return
	}
	for i, p := range parts {
		last := i == len(parts)-1
		old, seen := l.table.places[p.key]
		switch {
		case !seen:
			l.table.places[p.key] = keyPlace{p.line, p.column, last && value}
		case last && value || old.value:
			l.table.conflicts = append(l.table.conflicts, keyConflict{p.key, p.line, p.column, old.line})
			return
		case last:
			l.table.places[p.key] = keyPlace{p.line, p.column, false}
		}
	}
}

// value passes over a value, and reads the keys of inline tables in it. The
// recursion is as deep as tables and arrays nest, which is bounded.
func (l *keyLocator) value(key string) bool {
	switch c := l.peek(); c {
	case '{':
		return l.inlineTable(key)
	case '[':
		return l.array(key)
	case '"', '\'':
		return l.str(c)
	}
	n := strings.IndexAny(l.text[l.pos:], ",]}#\n")
	if n < 0 {
		n = len(l.text) - l.pos
	}
	l.pos += n
	return n > 0
}

func (l *keyLocator) inlineTable(key string) bool {
	l.pos++
	for !l.stopped() {
		l.space()
		switch l.peek() {
		case '}':
			l.pos++
			return true
		case ',':
			l.pos++
		default:
			if !l.keyValue(key) {
				return false
			}
		}
	}
	return false
}

func (l *keyLocator) array(key string) bool {
	l.pos++
	l.depth++
	l.inArray++
	defer func() { l.depth--; l.inArray-- }()
	for !l.tooDeep(l.depth) {
		l.space()
		switch l.peek() {
		case ']':
			l.pos++
			return true
		case ',':
			l.pos++
		default:
			if !l.value(key) {
				return false
			}
		}
	}
	return false
}

// str passes over a string of any of the four forms.
func (l *keyLocator) str(quote byte) bool {
	triple := strings.Repeat(string(quote), 3)
	if !strings.HasPrefix(l.text[l.pos:], triple) {
		return l.quoted(quote)
	}
	l.pos += 3
	for l.pos < len(l.text) {
		switch {
		case strings.HasPrefix(l.text[l.pos:], triple):
			// Up to two quotes before the closing three belong to the text.
			for l.peek() == quote {
				l.pos++
			}
			return true
		case quote == '"' && l.peek() == '\\':
			l.next()
			l.next()
		default:
			l.next()
		}
	}
	return false
}

// quoted passes over a string that ends on its line.
func (l *keyLocator) quoted(quote byte) bool {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '\n':
			return false
		case c == '\\' && quote == '"':
			i++
		case c == quote:
			l.pos = i + 1
			return true
		}
	}
	return false
}

// unescapeTOML reads the escapes of a basic string that the library accepts.
func unescapeTOML(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case 'b':
			b = append(b, '\b')
		case 't':
			b = append(b, '\t')
		case 'n':
			b = append(b, '\n')
		case 'f':
			b = append(b, '\f')
		case 'r':
			b = append(b, '\r')
		case 'e':
			b = append(b, 0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b = append(b, s[i])
		}
		if digits > 0 && i+digits < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil {
				b = utf8.AppendRune(b, rune(n))
			}
			i += digits
		}
	}
	return string(b)
}
