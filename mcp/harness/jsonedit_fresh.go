package harness

import (
	"encoding/json"
	"strings"
)

// fresh is JSON that is about to be written.
type fresh struct {
	open byte // '{', '[' or 0 for a leaf
	keys []string
	vals []*fresh
	leaf string // JSON on one line
	// wide is set for a leaf that is an object with a line for each of its members.
	wide bool
}

// tree returns the content of a new file. The head comes last: whoever had a head
// before has it first, and so Remove tells a file that Add began from one that it found.
func (f File) tree() *fresh {
	root := &fresh{open: '{'}
	for _, e := range f.Entries {
		root.put(e.Path, e)
	}
	if f.Head != "" {
		head, err := parseJSON([]byte("{" + f.Head + "}"))
		if err != nil {
			panic("harness: a head is not JSON: " + f.Head)
		}
		for _, m := range head.items {
			root.keys = append(root.keys, m.key)
			root.vals = append(root.vals, &fresh{leaf: ("{" + f.Head + "}")[m.value.start:m.value.end]})
		}
	}
	return root
}

// put adds an entry below a path.
func (t *fresh) put(path []string, e Entry) {
	if len(path) == 0 {
		t.keys = append(t.keys, e.Key)
		t.vals = append(t.vals, &fresh{leaf: e.Value, wide: e.Key != "" && strings.HasPrefix(e.Value, "{")})
		return
	}
	for i, k := range t.keys {
		if k == path[0] {
			t.vals[i].put(path[1:], e)
			return
		}
	}
	v := chain(path[1:], e)
	t.keys, t.vals = append(t.keys, path[0]), append(t.vals, v)
}

// chain returns the containers of a path with the entry in the innermost.
func chain(path []string, e Entry) *fresh {
	t := &fresh{open: '{'}
	if len(path) == 0 && e.Key == "" {
		t.open = '['
	}
	t.put(path, e)
	return t
}

func (t *fresh) closing() string {
	if t.open == '[' {
		return "]"
	}
	return "}"
}

func (t *fresh) key(i int) string {
	if t.open == '[' {
		return ""
	}
	return quoteJSON(t.keys[i]) + ": "
}

// expanded writes the value with a line for each of its parts, and LF between them.
func (t *fresh) expanded(indent, unit string) string {
	if t.open == 0 {
		return t.leafLines(indent, unit)
	}
	inner := indent + unit
	parts := make([]string, len(t.vals))
	for i, v := range t.vals {
		parts[i] = inner + t.key(i) + v.expanded(inner, unit)
	}
	return string(t.open) + "\n" + strings.Join(parts, ",\n") + "\n" + indent + t.closing()
}

func (t *fresh) leafLines(indent, unit string) string {
	if !t.wide {
		return t.leaf
	}
	v, err := parseJSON([]byte(t.leaf))
	if err != nil || len(v.items) == 0 {
		return t.leaf
	}
	parts := make([]string, len(v.items))
	for i, m := range v.items {
		parts[i] = indent + unit + t.leaf[m.start:m.value.end]
	}
	return "{\n" + strings.Join(parts, ",\n") + "\n" + indent + "}"
}

// compact writes the value on one line.
func (t *fresh) compact() string {
	if t.open == 0 {
		return t.leaf
	}
	parts := make([]string, len(t.vals))
	for i, v := range t.vals {
		parts[i] = t.key(i) + v.compact()
	}
	return string(t.open) + strings.Join(parts, ", ") + t.closing()
}

// quoteJSON returns s as a JSON string that leaves <, > and & as they are.
func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A string always has a JSON form.
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
