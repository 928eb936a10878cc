package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxBatch bounds the messages of one array. An empty object is 3 bytes of a line
// and some hundred bytes as a call, so MaxLine alone would bound nothing.
const maxBatch = 1000

// parse makes of one line the calls that it holds. A line or an element of an array
// that is refused is a call that carries its refusal. Responses leave no call; ok is
// false when nothing is left to do.
func parse(line []byte, maxDepth int) (e entry, ok bool) {
	e.size = cap(line)
	if e.call = malformed(line, maxDepth); e.call != nil {
		return e, true
	}
	if line[0] != '[' {
		e.call = parseMessage(line)
		return e, e.call != nil
	}
	n := 0
	e.batch = []*Call{}
	for raw := range elements(line) {
		if n++; n > maxBatch {
			return entry{call: refuse(InvalidRequest, "expected at most %d messages in an array, found more", maxBatch)}, true
		}
		if c := parseMessage(raw); c != nil {
			e.batch = append(e.batch, c)
		}
	}
	if n == 0 {
		return entry{call: refuse(InvalidRequest, "expected a message, found an empty array")}, true
	}
	return e, true
}

// malformed is the refusal of a line that is not JSON or too deep, else nil. The
// depth is looked at before anything parses the line.
func malformed(line []byte, maxDepth int) *Call {
	switch {
	case deeper(line, maxDepth):
		return refuse(InvalidRequest, "expected at most %d objects and arrays within each other, found more", maxDepth)
	case !utf8.Valid(line):
		return refuse(ParseError, "expected UTF-8, found other bytes")
	case !json.Valid(line):
		return refuse(ParseError, "expected one JSON message on the line, found something else")
	}
	return nil
}

// refuse makes a call that is answered with an error, with the id null until one is
// known.
func refuse(code int, format string, args ...any) *Call {
	return &Call{refusal: &Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// fields are the members of a message that JSON-RPC names, as they stand there.
type fields struct {
	version, id, method, params, result, failure []byte
	twice                                        string // a name that came again
}

// field is where the value of a key goes, nil for a key without meaning. Keys are
// compared as they are: encoding/json would take "ID" for "id".
func (f *fields) field(key []byte) *[]byte {
	switch string(key) {
	case "jsonrpc":
		return &f.version
	case "id":
		return &f.id
	case "method":
		return &f.method
	case "params":
		return &f.params
	case "result":
		return &f.result
	case "error":
		return &f.failure
	}
	return nil
}

// parseMessage reads one value, valid JSON without white space at its ends. It is
// nil for a response: this side asks nothing, and an error as the answer to an
// answer could go on for ever.
func parseMessage(raw []byte) *Call {
	if raw[0] != '{' {
		return refuse(InvalidRequest, "expected an object as the message, found %s", kind(raw))
	}
	var f fields
	for key, value := range members(raw) {
		name := unquoted(key)
		at := f.field(name)
		if at == nil {
			continue
		}
		if *at != nil {
			f.twice = string(name)
		}
		*at = value
	}
	if f.method == nil && (f.result != nil || f.failure != nil) {
		return nil
	}
	return f.call()
}

// call checks the members. What is wrong is answered under the message's id
// wherever that can be told.
func (f *fields) call() *Call {
	id, key, ok := identify(f.id)
	if f.twice == "id" || f.id != nil && !ok {
		found := kind(f.id)
		if f.twice == "id" {
			found = "two of them"
		}
		return refuse(InvalidRequest, "expected a string or an integer as id, found %s", found)
	}
	c := f.check()
	c.ID, c.key = id, key
	return c
}

func (f *fields) check() *Call {
	switch {
	case f.twice != "":
		return refuse(InvalidRequest, "expected each member of a message once, found %s twice", f.twice)
	case kind(f.version) != "a string":
		return refuse(InvalidRequest, `expected "2.0" as jsonrpc, found %s`, kind(f.version))
	case string(unquoted(f.version)) != "2.0":
		return refuse(InvalidRequest, `expected "2.0" as jsonrpc, found another string`)
	case kind(f.method) != "a string":
		return refuse(InvalidRequest, "expected a string as method, found %s", kind(f.method))
	}
	c := &Call{Method: string(unquoted(f.method))}
	switch kind(f.params) {
	case "an object", "an array":
		c.Params = f.params
	case "nothing", "null":
	default:
		return refuse(InvalidRequest, "expected an object or an array as params, found %s", kind(f.params))
	}
	return c
}

// kind says what a JSON value is, in words.
func kind(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f', 'n':
		return string(raw)
	}
	return "a number"
}

// identify reads an id: a string, or a number written as an integer of any size.
// The id is kept as it was sent; the key is equal for ids of equal value, so that
// 1 and "1" differ, and "a" and "\u0061" do not. 1.0 is refused: whether it equals 1
// is answered differently by different programs.
func identify(raw []byte) (id json.RawMessage, key string, ok bool) {
	switch kind(raw) {
	case "a string":
		return raw, `"` + string(unquoted(raw)), true
	case "a number":
		if bytes.ContainsAny(raw, ".eE") {
			return nil, "", false
		}
		if string(raw) == "-0" {
			return raw, "0", true
		}
		return raw, string(raw), true
	}
	return nil, "", false
}

// cancelled is the key of the call that a cancel names.
func (c *Call) cancelled() (key string, ok bool) {
	if kind(c.Params) != "an object" {
		return "", false
	}
	for name, value := range members(c.Params) {
		if string(unquoted(name)) != "requestId" {
			continue
		}
		if ok {
			return "", false
		}
		if _, key, ok = identify(value); !ok {
			return "", false
		}
	}
	return key, ok
}
