package mcp

import (
	"encoding/json"
	"strings"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

// modernVersion is the revision without a handshake: each request says which revision it
// is of, and what its client can do.
const modernVersion = "2026-07-28"

// Names in _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// unsupportedVersion is the code for a revision that is not served.
const unsupportedVersion = -32022

// request is one request with its era.
type request struct {
	call   *rpc.Call
	params map[string]json.RawMessage
	// modern is set for a request of the revision without a handshake: it is answered
	// without regard to what came before.
	modern bool
	// token is the progress token as it was sent, nil without one.
	token json.RawMessage
}

// request reads what all requests share, and refuses one that its era does not have.
func (s *server) request(c *rpc.Call) (*request, error) {
	in := erasOf(c.Method)
	if in == (eras{}) {
		return nil, noMethod(c.Method)
	}
	q := &request{call: c}
	var ok bool
	if q.params, ok = rpc.Object(c.Params); !ok {
		return nil, invalid(c.Method + ": expected an object as params, found an array")
	}
	meta, ok := rpc.Object(q.params["_meta"])
	if !ok {
		return nil, invalid(c.Method + ": expected an object as _meta")
	}
	version, named := meta[metaVersion]
	switch {
	case named:
		if err := q.modernMeta(version, meta); err != nil {
			return nil, err
		}
	case c.Method == "initialize":
	case s.handshake.Load() == nil:
		return nil, invalid(c.Method + ": nothing says which revision of the protocol this is: send initialize first, or " +
			metaVersion + " and " + metaCapabilities + " in _meta")
	}
	if q.modern && !in.modern || !q.modern && !in.legacy {
		return nil, noMethod(c.Method)
	}
	if t := meta["progressToken"]; len(t) > 0 && (t[0] == '"' || t[0] == '-' || t[0] >= '0' && t[0] <= '9') {
		q.token = t
	}
	return q, nil
}

func noMethod(name string) error {
	return &rpc.Error{Code: rpc.MethodNotFound, Message: "there is no method " + quoted(name)}
}

// modernMeta checks what each request of the revision without a handshake carries.
func (q *request) modernMeta(version json.RawMessage, meta map[string]json.RawMessage) error {
	var v string
	if err := json.Unmarshal(version, &v); err != nil || version[0] != '"' {
		return invalid(q.call.Method + ": expected a string as " + metaVersion)
	}
	if v != modernVersion {
		data := newResult()
		data.raw("supported", []byte(`["`+modernVersion+`"]`))
		data.text("requested", v)
		return &rpc.Error{Code: unsupportedVersion, Message: "the revision " + quoted(v) + " is not served", Data: data.close()}
	}
	if c := meta[metaCapabilities]; len(c) == 0 || c[0] != '{' {
		return invalid(q.call.Method + ": expected an object as " + metaCapabilities + " in _meta")
	}
	q.modern = true
	return nil
}

// stringParam returns a parameter that has to be there.
func (q *request) stringParam(name string) (string, error) {
	var s string
	raw := q.params[name]
	if err := json.Unmarshal(raw, &s); err != nil || raw[0] != '"' {
		return "", invalid(q.call.Method + ": expected a string as " + name + ", found " + kindOf(raw))
	}
	return s, nil
}

// cursor returns the cursor of a list, "" for its beginning.
func (q *request) cursor() (string, error) {
	if raw := q.params["cursor"]; len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	return q.stringParam("cursor")
}

// onlyPage refuses a cursor: lists of one page give none.
func (q *request) onlyPage() error {
	c, err := q.cursor()
	if err == nil && c != "" {
		err = q.badCursor(c)
	}
	return err
}

func (q *request) badCursor(c string) error {
	return invalid(q.call.Method + ": the cursor " + quoted(c) + " is none that was given")
}

// kindOf says what a JSON value is.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f', 'n':
		return string(raw)
	}
	return "a number"
}

// quoted returns a client's text for a message, on one line and of bounded length.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + escaped(s) + `"`
}
