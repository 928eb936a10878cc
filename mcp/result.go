package mcp

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func escaped(s string) string { return ir.EscapeControls(s) }

// result is a JSON object under construction.
type result struct {
	buf []byte
	// cache says how long a client may keep it, nil for results without a say.
	cache *caching
}

func newResult() *result { return &result{buf: []byte{'{'}} }

// raw adds a member whose value is JSON on one line.
func (r *result) raw(name string, value []byte) {
	if len(r.buf) > 1 {
		r.buf = append(r.buf, ',')
	}
	r.buf = append(ir.AppendString(r.buf, name), ':')
	r.buf = append(r.buf, value...)
}

// text adds a string.
func (r *result) text(name, value string) {
	r.raw(name, nil)
	r.buf = ir.AppendString(r.buf, value)
}

// list adds an array of JSON values.
func (r *result) list(name string, values [][]byte) {
	r.raw(name, []byte{'['})
	for i, v := range values {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, v...)
	}
	r.buf = append(r.buf, ']')
}

func (r *result) close() []byte { return append(r.buf, '}') }

// caching is what the revision without a handshake says on lists and reads.
type caching struct {
	ms    int
	scope string
}

var (
	// static is for what only another version of the program changes.
	static = &caching{ms: 5 * 60 * 1000, scope: "public"}
	// changing is for what an edit changes: ask again.
	changing = &caching{scope: "private"}
)

// finish closes a result, in the form of the request's era.
func (s *server) finish(q *request, r *result) json.RawMessage {
	if q.modern {
		r.text("resultType", "complete")
		if r.cache != nil {
			r.raw("ttlMs", strconv.AppendInt(nil, int64(r.cache.ms), 10))
			r.text("cacheScope", r.cache.scope)
		}
		meta := newResult()
		meta.raw(metaServer, s.info())
		r.raw("_meta", meta.close())
	}
	return r.close()
}

// findings returns what an error of the root package says, nil for an error that is
// none of its refusals: the end of a call, or a mistake of ours.
func findings(err error) []ir.Diagnostic {
	var (
		refusal     *mwp.Refusal
		environment *mwp.EnvironmentError
		misuse      *mwp.UsageError
	)
	switch {
	case errors.As(err, &refusal):
		return refusal.Diagnostics
	case errors.As(err, &environment):
		return []ir.Diagnostic{environment.Diagnostic}
	case errors.As(err, &misuse):
		return []ir.Diagnostic{misuse.Diagnostic}
	}
	return nil
}

// said returns findings as the command line prints them, without the last line's end.
func said(ds []ir.Diagnostic) string {
	text := ""
	for i, d := range ds {
		if i > 0 {
			text += "\n"
		}
		text += d.String()
	}
	return text
}
