package rpc

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// blank is the white space of JSON.
const blank = " \t\r\n"

// deeper tells whether objects and arrays lie within each other more than limit
// deep. It holds for JSON; of anything else it says what a parser would meet before
// it found the mistake, or more.
func deeper(line []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// members yields the keys and the values of an object as they stand in it, keys
// with their quotes, repeated ones each time. raw must be valid JSON and have no
// white space at its ends.
func members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := blanks(raw, 1)
		for raw[i] != '}' {
			key := raw[i:past(raw, i)]
			i = blanks(raw, i+len(key))
			i = blanks(raw, i+1)
			value := raw[i:past(raw, i)]
			if !yield(key, value) {
				return
			}
			i = next(raw, i+len(value))
		}
	}
}

// Object takes an object apart: a Call's params, or a value in them. Keys are as they
// are written, which encoding/json does for maps only, and of one that is repeated the last
// counts. nil and null are an empty object; anything else is none.
func Object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true
	}
	if raw[0] != '{' {
		return nil, false
	}
	m := map[string]json.RawMessage{}
	for key, value := range members(raw) {
		m[string(unquoted(key))] = value
	}
	return m, true
}

// elements yields the values of an array, on the same terms as members.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		i := blanks(raw, 1)
		for raw[i] != ']' {
			value := raw[i:past(raw, i)]
			if !yield(value) {
				return
			}
			i = next(raw, i+len(value))
		}
	}
}

// next is where the following value begins, or the container ends.
func next(raw []byte, i int) int {
	if i = blanks(raw, i); raw[i] == ',' {
		i = blanks(raw, i+1)
	}
	return i
}

func blanks(raw []byte, i int) int {
	for strings.IndexByte(blank, raw[i]) >= 0 {
		i++
	}
	return i
}

// past is the index after the value that begins at i.
func past(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return pastString(raw, i)
	case '{', '[':
		return pastContainer(raw, i)
	}
	for i < len(raw) && strings.IndexByte(",]}"+blank, raw[i]) < 0 {
		i++
	}
	return i
}

func pastString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func pastContainer(raw []byte, i int) int {
	for depth := 0; ; {
		switch raw[i] {
		case '"':
			i = pastString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// unquoted is the text of a JSON string. It is the bytes between the quotes when
// nothing is escaped, so that comparing it costs no allocation.
func unquoted(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	// raw has been found valid, so this cannot fail.
	_ = json.Unmarshal(raw, &s)
	return []byte(s)
}
