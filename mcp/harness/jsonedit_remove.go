package harness

import (
	"bytes"
	"slices"
)

func (f File) removeJSON(text []byte) (edited []byte, gone bool, left []*Error, err error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, false, nil, err
	}
	if root == nil || root.kind != '{' {
		return text, false, nil, nil
	}
	n := bomLen(text)
	if rest, ok := bytes.CutPrefix(text[n:], []byte(f.tree().compact())); ok && len(bytes.TrimSpace(rest)) == 0 {
		return slices.Concat(text[:n], rest), false, nil, nil
	}
	edited = text
	emptied := false
	for _, e := range slices.Backward(f.Entries) {
		for {
			next, fresh, kept, err := e.remove(edited)
			if err != nil {
				return nil, false, nil, err
			}
			if kept != nil {
				// Where it is in the file as it was, which is what a person looks at.
				left = append(left, e.leftIn(text, kept))
			}
			emptied = emptied || fresh
			if kept != nil || bytes.Equal(next, edited) {
				break
			}
			edited = next
		}
	}
	slices.Reverse(left)
	return edited, f.nothingElse(root, edited, emptied), left, nil
}

// leftIn returns the finding about an entry that stays with its place in text.
func (e Entry) leftIn(text []byte, kept *Error) *Error {
	if root, err := parseJSON(text); err == nil && root != nil {
		path := e.path(root)
		if c, depth, err := e.walk(text, root, path); err == nil && depth == len(path) {
			if _, other := e.find(c); other >= 0 {
				return e.differs(text, c.items[other], path)
			}
		}
	}
	return kept
}

// nothingElse reports whether a file that had this root before is one that Add began.
func (f File) nothingElse(before *value, edited []byte, emptied bool) bool {
	p := &jsonParser{text: edited, i: bomLen(edited)}
	if p.space() != nil || p.done() {
		return false
	}
	root, err := p.value(0)
	if err != nil || p.space() != nil || p.comments > 0 {
		return false
	}
	if len(root.items) == 0 {
		return emptied
	}
	if f.Head == "" || before.items[0].key != f.Entries[0].Path[0] || len(before.items) == len(root.items) {
		return false
	}
	head, err := parseJSON([]byte("{" + f.Head + "}"))
	return err == nil && root.means(nil) == head.means(nil)
}

// remove takes one entry out of the text, if it is there. fresh reports that the root
// is empty now and was not there before Add; left is what stays because it differs.
func (e Entry) remove(text []byte) (edited []byte, fresh bool, left *Error, err error) {
	root, err := parseJSON(text)
	if err != nil || root == nil {
		return text, false, nil, err
	}
	path := e.path(root)
	c, depth, err := e.walk(text, root, path)
	if err != nil || depth < len(path) {
		return text, false, nil, nil
	}
	same, other := e.find(c)
	switch {
	case same < 0 && other < 0:
		return text, false, nil, nil
	case same < 0:
		return text, false, e.differs(text, c.items[other], path), nil
	}
	// What holds nothing but the entry and was made for it goes too.
	k := same
	for c != root && len(c.items) == 1 && !c.commented && made(text, c) {
		c, k = parent(root, c)
	}
	m := c.items[k]
	want := root.means(m.value)
	for _, edits := range [][]edit{cut(text, c, k), cutBare(c, k)} {
		edited = splice(text, edits...)
		if after, err := parseJSON(edited); err == nil && after != nil && after.means(nil) == want {
			return edited, c == root && len(c.items) == 1 && made(text, c), nil, nil
		}
	}
	return nil, false, nil, errorAt(text, m.start, "the entry for mwp cannot be taken out")
}

// parent returns what holds a value, and at which index.
func parent(in, of *value) (*value, int) {
	for i, m := range in.items {
		if m.value == of {
			return in, i
		}
		if m.value.start < of.start && of.end <= m.value.end {
			return parent(m.value, of)
		}
	}
	panic("harness: a value that is in no other")
}

// made reports whether Add made a container for its only item.
func made(text []byte, c *value) bool {
	m := c.items[0]
	eol := lineEnd(text)
	rest := text[m.value.end:c.end]
	return !bytes.HasPrefix(text[c.start+1:], []byte(eol+eol)) && !blankBehind(rest, eol)
}

// blankBehind reports an empty line right behind an item.
func blankBehind(rest []byte, eol string) bool {
	rest, ok := bytes.CutPrefix(rest, []byte(eol))
	return ok && (rest[0] == '\n' || rest[0] == '\r')
}

// cut returns the edits that take back what insert did for an item.
func cut(text []byte, c *value, k int) []edit {
	m := c.items[k]
	eol := lineEnd(text)
	start := separated(text, m.start, eol)
	if len(c.items) > 1 {
		switch last := k == len(c.items)-1; {
		case last && m.comma < 0:
			comma := c.items[k-1].comma
			return []edit{{comma, comma + 1, ""}, {start, m.value.end, ""}}
		default:
			return []edit{{start, m.value.end, ""}, {m.comma, m.comma + 1, ""}}
		}
	}
	alone := len(bytes.TrimSpace(text[c.start+1:m.start])) == 0
	if alone {
		start = c.start + 1
	}
	edits := []edit{{start, m.value.end, ""}}
	end := m.value.end
	if m.comma >= 0 {
		edits = append(edits, edit{m.comma, m.comma + 1, ""})
		end = m.comma + 1
	}
	if n := behind(text[end:c.end], eol, indentOf(text, c.start), text[c.start+1:]); n > 0 && alone {
		edits = append(edits, edit{end, end + n, ""})
	}
	return edits
}

// behind returns how many bytes behind an only item were inserted with it. inside is
// the text behind the container's opening bracket.
func behind(rest []byte, eol, outer string, inside []byte) int {
	after, ok := bytes.CutPrefix(rest, []byte(eol))
	if !ok {
		return 0
	}
	wasEmpty := bytes.HasPrefix(inside, []byte(eol+eol))
	if !wasEmpty && blankBehind(rest, eol) {
		return len(eol)
	}
	after, ok = bytes.CutPrefix(after, []byte(outer))
	if ok && (wasEmpty || after[0] == '}' || after[0] == ']') {
		return len(eol) + len(outer)
	}
	return 0
}

// separated returns where the white space begins that was inserted before an item.
func separated(text []byte, at int, eol string) int {
	i := at
	for i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
		i--
	}
	switch {
	case bytes.HasSuffix(text[:i], []byte(eol)):
		return i - len(eol)
	case i < at && text[at-1] == ' ':
		return at - 1
	}
	return at
}

// cutBare returns the edits that take an item out and leave all white space.
func cutBare(c *value, k int) []edit {
	m := c.items[k]
	edits := []edit{{m.start, m.value.end, ""}}
	switch {
	case m.comma >= 0:
		edits = append(edits, edit{m.comma, m.comma + 1, ""})
	case k > 0:
		comma := c.items[k-1].comma
		edits = append([]edit{{comma, comma + 1, ""}}, edits...)
	}
	return edits
}
