package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/rpc"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// server is one process's state. All of it belongs to the goroutine that works, but for
// what says otherwise.
type server struct {
	o Options
	// handshake is the revision of the last initialize, nil before the first. The
	// goroutine that reads looks at it too.
	handshake atomic.Pointer[string]
	// ws is the workspace, nil until one was found.
	ws *mwp.Workspace
	// session is what the reader behind the handshake was sent, nil before the first map.
	session *mwp.Session
	mirror  *mirror
	// told are the findings that were reported, so that a client's log has each once.
	told map[ir.Diagnostic]bool
	// toolList is the answer to tools/list without its braces, made when it is first
	// asked for.
	toolList []byte
}

// handle answers one message.
func (s *server) handle(ctx context.Context, c *rpc.Call) (rpc.Reply, error) {
	if c.ID == nil {
		// Of the notifications none changes anything here: a cancel was dealt with.
		return rpc.Reply{}, nil
	}
	q, err := s.request(c)
	if err != nil {
		return rpc.Reply{}, err
	}
	return s.dispatch(ctx, q)
}

// eras says in which eras a method exists; the zero value is nowhere.
type eras struct{ legacy, modern bool }

// erasOf are the methods that are served. A ping gets here only where it does
// not exist.
func erasOf(method string) eras {
	switch method {
	case "initialize":
		return eras{legacy: true}
	case "server/discover":
		return eras{modern: true}
	case "tools/list", "tools/call", "prompts/list", "prompts/get", "completion/complete",
		"resources/list", "resources/templates/list", "resources/read":
		return eras{legacy: true, modern: true}
	}
	return eras{}
}

func (s *server) dispatch(ctx context.Context, q *request) (rpc.Reply, error) {
	plain := func(r *result, err error) (rpc.Reply, error) {
		if err != nil {
			return rpc.Reply{}, err
		}
		return rpc.Reply{Result: s.finish(q, r)}, nil
	}
	switch q.call.Method {
	case "initialize":
		return plain(s.initialize(q))
	case "server/discover":
		return plain(s.discover())
	case "tools/list":
		return plain(s.listTools(q))
	case "tools/call":
		return s.callTool(ctx, q)
	case "resources/list":
		return plain(s.listResources(ctx, q))
	case "resources/templates/list":
		return plain(s.listTemplates(q))
	case "resources/read":
		return s.readResource(ctx, q)
	case "prompts/list":
		return plain(s.listPrompts(q))
	case "prompts/get":
		return plain(s.getPrompt(q))
	case "completion/complete":
		return plain(s.complete(ctx, q))
	}
	panic("dispatch: no code for the method " + q.call.Method)
}

// batches reports whether an array of messages is served now: one revision only has
// them. It is called by the goroutine that reads.
func (s *server) batches() bool {
	v := s.handshake.Load()
	return v != nil && *v == "2025-03-26"
}

// legacyVersions are the revisions with a handshake, the newest first.
func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// initialize agrees on a revision: the asked one when it is known, else the newest with
// a handshake, and never an error. Whoever begins anew has seen nothing.
func (s *server) initialize(q *request) (*result, error) {
	version := legacyVersions()[0]
	var asked string
	if json.Unmarshal(q.params["protocolVersion"], &asked) == nil {
		for _, v := range legacyVersions() {
			if v == asked {
				version = v
			}
		}
	}
	s.handshake.Store(&version)
	s.forget()
	r := newResult()
	r.text("protocolVersion", version)
	r.raw("capabilities", []byte(capabilities))
	r.raw("serverInfo", s.info())
	r.text("instructions", Instructions())
	return r, nil
}

// capabilities promise no notification: what changes is seen at the next call.
const capabilities = `{"completions":{},"prompts":{},"resources":{},"tools":{}}`

// discover is what a client of the revision without a handshake may ask first.
func (s *server) discover() (*result, error) {
	r := newResult()
	r.raw("supportedVersions", []byte(`["`+modernVersion+`"]`))
	r.raw("capabilities", []byte(capabilities))
	r.text("instructions", Instructions())
	r.cache = static
	return r, nil
}

// info names the program.
func (s *server) info() []byte {
	r := newResult()
	r.text("name", "mwp")
	r.text("version", s.o.Version)
	return r.close()
}

// workspace returns the workspace, looked for again until it is found (D-65).
func (s *server) workspace(ctx context.Context) (*mwp.Workspace, error) {
	if s.ws != nil {
		return s.ws, nil
	}
	ws, err := s.o.Bind(ctx)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	return ws, nil
}

// mostTold bounds the findings that are remembered.
const mostTold = 1000

// tell reports findings that were not reported yet.
func (s *server) tell(ds ...ir.Diagnostic) {
	for _, d := range ds {
		if s.told[d] {
			continue
		}
		if s.told == nil || len(s.told) >= mostTold {
			s.told = map[ir.Diagnostic]bool{}
		}
		s.told[d] = true
		s.o.Report(d)
	}
}
