package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/rpc"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// tool is one tool: what clients are shown of it, and what it does.
type tool struct {
	name, title, about string
	in                 schema
	// out is the JSON Schema of the structured half of an answer, "" without one.
	out string
	// writes is set for the one tool that starts programs and records what came of it.
	// None reaches beyond the workspace.
	writes bool
	// idempotent says that a second call does no more than the first.
	idempotent bool
	// meta is a JSON object of what single clients read, "" for none.
	meta string
	call func(ctx context.Context, s *server, w *mwp.Workspace, q *request, args arguments) (*answer, error)
}

// tools are the tools in the order in which clients list them. There is none that lets
// a model give trust or change the project.
func tools() []tool {
	return []tool{mapWorkspace(), resetSession(), explainContext(), verifyContext(), listTargets()}
}

// answer is what a tool says.
type answer struct {
	// text is complete by itself: some clients show their model nothing else, others
	// only structured.
	text string
	// structured is a JSON object on one line, nil for none.
	structured []byte
	isError    bool
	// written is called when the answer was written, nil for nothing to do.
	written func()
}

// listTools answers tools/list. The list is the same for every connection.
func (s *server) listTools(q *request) (*result, error) {
	if err := q.onlyPage(); err != nil {
		return nil, err
	}
	if s.toolList == nil {
		var all [][]byte
		for _, t := range tools() {
			all = append(all, t.json())
		}
		list := newResult()
		list.list("tools", all)
		s.toolList = list.buf
	}
	return &result{buf: bytes.Clone(s.toolList), cache: static}, nil
}

func (t *tool) json() []byte {
	r := newResult()
	r.text("name", t.name)
	r.text("title", t.title)
	r.text("description", t.about)
	r.raw("inputSchema", t.in.json())
	if t.out != "" {
		r.raw("outputSchema", []byte(t.out))
	}
	hints := newResult()
	hints.raw("readOnlyHint", strconv.AppendBool(nil, !t.writes))
	if t.writes {
		hints.raw("destructiveHint", []byte("false"))
	}
	if t.idempotent {
		hints.raw("idempotentHint", []byte("true"))
	}
	hints.raw("openWorldHint", []byte("false"))
	r.raw("annotations", hints.close())
	if t.meta != "" {
		r.raw("_meta", []byte(t.meta))
	}
	return r.close()
}

// callTool answers tools/call. What the protocol calls malformed is an error of the
// protocol; everything else that goes wrong is an answer, so that the model reads it.
func (s *server) callTool(ctx context.Context, q *request) (rpc.Reply, error) {
	name, err := q.stringParam("name")
	if err != nil {
		return rpc.Reply{}, err
	}
	for _, t := range tools() {
		if t.name == name {
			return s.callThe(ctx, &t, q)
		}
	}
	var names schema
	for _, t := range tools() {
		names = append(names, argument{name: t.name})
	}
	text := "there is no tool " + quoted(name)
	if near := names.near(name); near != "" {
		text += "; did you mean " + near + "?"
	}
	return s.reply(q, &answer{isError: true, text: text + "\nhint: the tools are " + strings.Join(names.names(), ", ")}), nil
}

func (s *server) callThe(ctx context.Context, t *tool, q *request) (rpc.Reply, error) {
	args, err := t.in.check(t.name, q.params["arguments"])
	if err != nil {
		return rpc.Reply{}, err
	}
	a, err := s.ask(ctx, t, q, args)
	if err != nil {
		ds := findings(err)
		if ds == nil || ctx.Err() != nil {
			return rpc.Reply{}, err
		}
		a = &answer{isError: true, text: said(ds)}
	}
	return s.reply(q, a), nil
}

func (s *server) ask(ctx context.Context, t *tool, q *request, args arguments) (*answer, error) {
	w, err := s.workspace(ctx)
	if err != nil {
		return nil, err
	}
	return t.call(ctx, s, w, q, args)
}

func (s *server) reply(q *request, a *answer) rpc.Reply {
	// A map is most of an answer, and its text is copied once.
	const around = 512
	r := &result{buf: make([]byte, 0, len(a.text)+len(a.text)/16+len(a.structured)+around)}
	r.buf = append(r.buf, `{"content":[{"type":"text","text":`...)
	r.buf = append(ir.AppendString(r.buf, a.text), "}]"...)
	if a.structured != nil {
		r.raw("structuredContent", a.structured)
	}
	if a.isError {
		r.raw("isError", []byte("true"))
	}
	return rpc.Reply{Result: s.finish(q, r), Written: a.written}
}

// targetArgument is the argument of the tools that need a target.
func targetArgument(about string) argument {
	return argument{name: "target", kind: typeString, about: about, required: true}
}

// oneLine returns JSON without the line ends between its tokens, nil for what is no JSON.
func oneLine(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}

// kept returns what keeps results for the next question. That an answer is not kept
// changes nothing about it.
func (s *server) kept(results ...*mwp.Result) func() {
	return func() {
		for _, r := range results {
			if err := r.Record(); err != nil {
				s.tell(notCached(err))
				return
			}
		}
	}
}

func notCached(err error) ir.Diagnostic {
	return ir.Diagnostic{
		Code: ir.ResultsNotKept, Severity: ir.SeverityNote, Message: "not cached: " + mwp.Innermost(err).Error() + " (the answer is complete)",
	}
}
