package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// mostCompletions is the protocol's limit.
const mostCompletions = 100

// complete answers completion/complete with directories that have context. What there is
// nothing to complete for gets no values and no error.
func (s *server) complete(ctx context.Context, q *request) (*result, error) {
	ref, ok := rpc.Object(q.params["ref"])
	argument, ok2 := rpc.Object(q.params["argument"])
	if !ok || !ok2 || ref == nil || argument == nil {
		return nil, invalid(q.call.Method + ": expected objects as ref and argument")
	}
	name, value := textOf(argument["name"]), textOf(argument["value"])
	var matches []string
	if completes(ref, name) {
		rows, err := s.targets(ctx)
		if err != nil {
			return nil, err
		}
		matches = matching(rows, value)
	}
	shown := matches[:min(len(matches), mostCompletions)]
	values := newResult()
	var all [][]byte
	for _, m := range shown {
		all = append(all, ir.AppendString(nil, m))
	}
	values.list("values", all)
	values.raw("total", strconv.AppendInt(nil, int64(len(matches)), 10))
	values.raw("hasMore", strconv.AppendBool(nil, len(matches) > len(shown)))
	r := newResult()
	r.raw("completion", values.close())
	return r, nil
}

// completes reports whether an argument is a path of the workspace.
func completes(ref map[string]json.RawMessage, argument string) bool {
	switch textOf(ref["type"]) {
	case "ref/prompt":
		return textOf(ref["name"]) == "focus" && argument == "target"
	case "ref/resource":
		return textOf(ref["uri"]) == contextURI+"{+path}" && argument == "path"
	}
	return false
}

// matching returns the paths that begin with a text, or, when none does, those that
// hold it.
func matching(rows []targetRow, value string) []string {
	for _, match := range []func(s, part string) bool{strings.HasPrefix, strings.Contains} {
		var paths []string
		for _, row := range rows {
			if row.Path != "." && match(row.Path, value) {
				paths = append(paths, row.Path)
			}
		}
		if len(paths) > 0 {
			return paths
		}
	}
	return nil
}

func textOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no string is no name of ours
	return s
}
