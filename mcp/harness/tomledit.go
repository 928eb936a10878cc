package harness

import (
	"bytes"
	"strings"
)

// Table is a table for the end of a TOML file.
type Table struct {
	// Path is the table's name, bare keys.
	Path []string
	// Lines are its "key = value" lines.
	Lines []string
}

// block returns the table as it is written.
func (t *Table) block(eol string) string {
	return "[" + strings.Join(t.Path, ".") + "]" + eol + strings.Join(t.Lines, eol) + eol
}

// add appends the table. An empty line goes before it, also in an empty file, which
// tells that from a file that was not there; and a file whose last line is not ended
// keeps it so.
func (t *Table) add(text []byte) ([]byte, error) {
	doc, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	if at, ok := doc.at(t.Path); ok {
		if _, _, ours := t.find(text, doc); ours {
			return text, nil
		}
		e := errorAt(text, at, "%s is there already, and a different one", strings.Join(t.Path, "."))
		e.Hint = "keep it, or take it out and run the command again, which adds " + strings.Join(t.Lines, ", ")
		e.Differs = true
		return nil, e
	}
	if at, ok := doc.closed(t.Path); ok {
		e := errorAt(text, at, "expected a table that others can be added to, found %s written as one value", strings.Join(t.Path[:1], "."))
		e.Hint = "write it as [" + strings.Join(t.Path[:1], ".") + ".NAME] tables, then run the command again"
		return nil, e
	}
	eol := lineEnd(text)
	b := eol + t.block(eol)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b = eol + strings.TrimSuffix(b, eol)
	}
	edited := append(bytes.Clone(text), b...)
	if back, _, left, err := t.remove(edited); err != nil || left != nil || !bytes.Equal(back, text) {
		e := errorAt(text, len(text), "nothing can be added here so that it could be taken away again")
		e.Hint = "write it there: " + strings.Join(t.Lines, ", ")
		return nil, e
	}
	return edited, nil
}

// find returns where the table stands exactly as add writes it, with nothing added by
// somebody else.
func (t *Table) find(text []byte, doc *tomlDocument) (start, end int, ok bool) {
	eol := lineEnd(text)
	b := t.block(eol)
	for i, s := range doc.statements {
		if !s.header || string(text[s.start:min(s.start+len(b), len(text))]) != b &&
			string(text[s.start:]) != strings.TrimSuffix(b, eol) {
			continue
		}
		// Besides the statements of the block, nothing belongs to the table.
		for j, other := range doc.statements {
			if (j < i || j > i+len(t.Lines)) && below(other.path, t.Path) {
				return 0, 0, false
			}
		}
		return s.start, min(s.start+len(b), len(text)), true
	}
	return 0, 0, false
}

// below reports whether path begins with prefix.
func below(path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i, k := range prefix {
		if path[i] != k {
			return false
		}
	}
	return true
}

// remove takes the table out again.
func (t *Table) remove(text []byte) (edited []byte, gone bool, left []*Error, err error) {
	doc, err := parseTOML(text)
	if err != nil {
		return nil, false, nil, err
	}
	at, ok := doc.at(t.Path)
	if !ok {
		return text, false, nil, nil
	}
	start, end, ok := t.find(text, doc)
	if !ok {
		e := errorAt(text, at, "%s is not as mwp wrote it", strings.Join(t.Path, "."))
		e.Hint = "take it out yourself if it is not wanted"
		e.Differs = true
		return text, false, []*Error{e}, nil
	}
	eol := lineEnd(text)
	if start == bomLen(text) && len(bytes.TrimSpace(text[end:])) == 0 {
		return nil, true, nil, nil
	}
	before := text[:start]
	// The empty line, and the end of a line that had none.
	before = bytes.TrimSuffix(before, []byte(eol))
	if end == len(text) && text[end-1] != '\n' {
		before = bytes.TrimSuffix(before, []byte(eol))
	}
	return append(bytes.Clone(before), text[end:]...), false, nil, nil
}
