package mcp

import (
	"context"
	"path"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// mapWorkspace is the tool that everything else serves.
func mapWorkspace() tool {
	return tool{
		name: "map_workspace", title: "Workspace map",
		about: "Call it with no arguments at the start of a session and again after compaction, then with the file or directory you are about to work on. " +
			"Returns the rules that people wrote for that place, which bind you, and names what it leaves out because you have it.",
		in: schema{
			{name: "target", kind: typeString, about: "file or directory, relative to the root"},
			{name: "render", kind: typeString, one: []string{"markdown", "json"}},
			{name: "full", kind: typeBoolean, about: "send everything again"},
		},
		idempotent: true,
		meta:       `{"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":500000}`,
		call:       callMapWorkspace,
	}
}

// callMapWorkspace answers behind a handshake with what the reader lacks (D-62, D-63),
// and without one in full: there a connection is no conversation. Markdown goes out
// without structured half, which some clients would show in its place (D-67).
func callMapWorkspace(ctx context.Context, s *server, w *mwp.Workspace, q *request, args arguments) (*answer, error) {
	request := mwp.Request{Format: mwp.MarkdownText}
	if render, _ := args.text("render"); render == "json" {
		request.Format = mwp.JSON
	}
	if target, given := args.text("target"); given {
		var err error
		if request.Target, err = newSpelling(w.Dir()).read(target); err != nil {
			return nil, err
		}
	}
	r, delivered, err := s.deliver(ctx, w, q, request, args.flag("full"))
	if err != nil {
		return nil, err
	}
	s.tell(r.Notices...)
	a := &answer{text: string(r.Text)}
	for _, d := range r.Notices {
		// A client shows nobody what a server writes to stderr, and a target in a misspelt
		// directory is answered with the map of what is above that. A new file in its directory
		// is nothing to talk of.
		if d.Code == ir.TargetMissing && request.Format == mwp.MarkdownText && !strings.HasSuffix(d.Message, "the map of "+aboveOf(r.Target)) {
			a.text += "\n" + d.String() + "\n"
		}
	}
	if request.Format == mwp.JSON {
		a.structured = oneLine(r.Text)
	}
	kept := s.kept(r)
	a.written = func() {
		delivered()
		kept()
	}
	return a, nil
}

// aboveOf names the directory that a target lies in as findings do.
func aboveOf(target string) string {
	if dir := path.Dir(target); dir != "." {
		return dir
	}
	return "the root"
}

// deliver asks for a map. delivered is to be called when the reader has it.
func (s *server) deliver(ctx context.Context, w *mwp.Workspace, q *request, m mwp.Request, full bool) (r *mwp.Result, delivered func(), err error) {
	if q.modern {
		r, err = w.Map(ctx, m)
		return r, func() {}, err
	}
	if s.session == nil {
		s.session = mwp.NewSession("")
		s.session.SetClient(s.o.Client)
	}
	session := s.session
	x, err := w.Send(ctx, session, m, mwp.SendOptions{Full: full, RepeatInFull: true})
	if err != nil {
		return nil, nil, err
	}
	return x.Result, func() {
		x.Delivered()
		s.mirror.save(w, session)
	}, nil
}
