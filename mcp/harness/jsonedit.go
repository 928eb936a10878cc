package harness

import (
	"bytes"
	"strings"
)

// The layout of what is inserted says what was there before it, because nothing else
// remembers it:
//
//   - into an object or array with items, as its last one, in the way of the others;
//   - into one that was empty, with an empty line before the entry, or behind it where
//     the brackets stood on two lines;
//   - one that was not there has no such line, and goes with its last entry.
//
// So Remove restores every byte without a record that could be lost or be wrong.

func (f File) addJSON(text []byte) ([]byte, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		n := bomLen(text)
		return splice(text, edit{n, n, f.tree().compact()}), nil
	}
	if root.kind != '{' {
		return nil, errorAt(text, root.start, "expected an object, found %s", root.noun())
	}
	if f.NeedsHead != "" && root.member(f.NeedsHead) == nil {
		e := errorAt(text, root.start, "expected the member %q, found none", f.NeedsHead)
		e.Hint = "write " + f.Head + " there, then run the command again"
		return nil, e
	}
	for _, e := range f.Entries {
		if text, err = e.add(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// add inserts one entry, unless it is there.
func (e Entry) add(text []byte) ([]byte, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	path := e.path(root)
	c, depth, err := e.walk(text, root, path)
	if err != nil {
		return nil, err
	}
	var edited []byte
	if depth < len(path) {
		edited = insert(text, root, c, path[depth], chain(path[depth+1:], e))
	} else {
		same, other := e.find(c)
		if same >= 0 {
			return text, nil
		}
		if other >= 0 {
			return nil, e.differs(text, c.items[other], path)
		}
		t := &fresh{}
		t.put(nil, e)
		edited = insert(text, root, c, e.Key, t.vals[0])
	}
	if back, _, left, err := e.remove(edited); err != nil || left != nil || !bytes.Equal(back, text) {
		err := errorAt(text, c.start, "nothing can be added here so that it could be taken away again")
		err.Hint = "write it there: " + e.Value
		return nil, err
	}
	return edited, nil
}

// path returns where the entry goes in this file.
func (e Entry) path(root *value) []string {
	if e.Inner == "" {
		return e.Path
	}
	v := root
	for _, k := range append(e.Path[:len(e.Path):len(e.Path)], e.Inner) {
		if v = v.member(k); v == nil {
			return e.Path
		}
	}
	// An entry of the older format may have the very name.
	if v.kind != '{' || v.member("type") != nil || v.member("command") != nil || v.member("url") != nil {
		return e.Path
	}
	return append(e.Path[:len(e.Path):len(e.Path)], e.Inner)
}

// walk follows a path as far as it exists, and returns where it ends.
func (e Entry) walk(text []byte, root *value, path []string) (c *value, depth int, err error) {
	c = root
	for i, k := range path {
		next := c.member(k)
		if next == nil {
			return c, i, nil
		}
		want, noun := byte('{'), "an object"
		if e.Key == "" && i == len(path)-1 {
			want, noun = '[', "an array"
		}
		if next.kind != want {
			return nil, 0, errorAt(text, next.start, "%s: expected %s, found %s", strings.Join(path[:i+1], "."), noun, next.noun())
		}
		c = next
	}
	return c, len(path), nil
}

// find returns the index of the entry in its container, and of what has its place;
// -1 for none.
func (e Entry) find(c *value) (same, other int) {
	same, other = -1, -1
	want, err := parseJSON([]byte(e.Value))
	if err != nil {
		panic("harness: an entry is not JSON: " + e.Value)
	}
	for i, m := range c.items {
		switch {
		case e.Key != "" && m.key != e.Key:
		case m.value.means(nil) == want.means(nil):
			same = i
		case e.Key != "" || m.value.runs(e.Mark):
			other = i
		}
	}
	return same, other
}

// runs reports whether a command inside of the value has the mark in it.
func (v *value) runs(mark string) bool {
	if mark == "" {
		return false
	}
	for _, m := range v.items {
		if m.key == "command" && strings.Contains(m.value.text, mark) || m.value.runs(mark) {
			return true
		}
	}
	return false
}

func (e Entry) differs(text []byte, m item, path []string) *Error {
	name := strings.Join(path, ".")
	if e.Key != "" {
		name += "." + e.Key
	}
	err := errorAt(text, m.start, "%s has an entry for mwp already, and a different one", name)
	err.Hint = "keep it, or take it out and run the command again, which adds " + e.Value
	err.Differs = true
	return err
}

// edit replaces text[from:to].
type edit struct {
	from, to int
	by       string
}

// splice applies edits, which are in the order of the text and apart.
func splice(text []byte, edits ...edit) []byte {
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		b.Write(text[at:e.from])
		b.WriteString(e.by)
		at = e.to
	}
	b.Write(text[at:])
	return b.Bytes()
}

// insert writes a new last item into a container.
func insert(text []byte, root, c *value, key string, v *fresh) []byte {
	eol, unit := lineEnd(text), indentUnit(text, root)
	write := func(indent string, lines bool) string {
		s := v.compact()
		if lines {
			s = strings.ReplaceAll(v.expanded(indent, unit), "\n", eol)
		}
		if c.kind == '{' {
			s = quoteJSON(key) + ": " + s
		}
		return s
	}
	outer := indentOf(text, c.start)
	if len(c.items) == 0 {
		at, s := c.start+1, eol+outer+unit+write(outer+unit, true)+eol
		if text[at] != '\n' && text[at] != '\r' {
			s = eol + s + outer
		}
		return splice(text, edit{at, at, s})
	}
	first, last := c.items[0], c.items[len(c.items)-1]
	from := last.value.end
	if last.comma >= 0 {
		from = last.comma + 1
	}
	at, lineComment := restOfLine(text, from)
	indent, lines := ownLine(text, first.start)
	if own, ok := ownLine(text, last.start); ok && lines {
		indent = own
	}
	s := " " + write("", false)
	switch {
	case lines:
		s = eol + indent + write(indent, true)
	case lineComment:
		s = eol + outer + unit + write("", false)
	}
	if last.comma >= 0 {
		return splice(text, edit{at, at, s + ","})
	}
	return splice(text, edit{from, from, ","}, edit{at, at, s})
}

// lineEnd returns how the text's first line ends.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentUnit returns what one level of the root is indented by.
func indentUnit(text []byte, root *value) string {
	if len(root.items) > 0 {
		if own, ok := ownLine(text, root.items[0].start); ok {
			if unit := strings.TrimPrefix(own, indentOf(text, root.start)); unit != "" {
				return unit
			}
		}
	}
	return "  "
}

// lineStart returns where the line of an offset begins.
func lineStart(text []byte, at int) int {
	if start := bytes.LastIndexByte(text[:at], '\n') + 1; start > 0 {
		return start
	}
	return bomLen(text)
}

// indentOf returns the white space that the line of an offset begins with.
func indentOf(text []byte, at int) string {
	line := text[lineStart(text, at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// ownLine returns the white space before an item, and whether its line begins with it.
func ownLine(text []byte, at int) (string, bool) {
	start := lineStart(text, at)
	indent := indentOf(text, at)
	return indent, start+len(indent) == at && start > bomLen(text)
}

// restOfLine returns the end of the comments that begin on the line of an offset, with
// nothing but space before them.
func restOfLine(text []byte, from int) (at int, lineComment bool) {
	at = from
	for p := (jsonParser{text: text, i: from}); ; {
		for !p.done() && (p.text[p.i] == ' ' || p.text[p.i] == '\t') {
			p.i++
		}
		if p.done() || p.text[p.i] != '/' {
			return at, false
		}
		lineComment = bytes.HasPrefix(text[p.i:], []byte("//"))
		before := p.i
		if p.comment() != nil {
			return at, false
		}
		if at = p.i; lineComment || bytes.IndexByte(text[before:at], '\n') >= 0 {
			return at, lineComment
		}
	}
}
