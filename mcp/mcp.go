// Package mcp serves workspace maps by the Model Context Protocol over two streams.
// It is a transport: it knows revisions, tools, resources and prompts, and asks the
// root package everything else, so that a tool answers what the command line answers
//
//
// It may open no file, start no process and write to no stream but the one that it is
// handed. There is no tool that gives trust, and no argument that names a root, a
// budget or a command.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/rpc"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Options are what the program around the server knows.
type Options struct {
	// Version is the program's.
	Version string
	// Bind finds the workspace. It is called for each request that needs one until it
	// succeeds, and its first workspace is kept (D-65). Its error says what was looked
	// for and from where.
	Bind func(context.Context) (*mwp.Workspace, error)
	// Client is the id that the client gave its conversation, "" when it gave none. It is
	// noted in the session's file and looked up by nothing.
	Client string
	// SearchPath is the PATH that guards inherit. It is named where a guard found no
	// program: clients start servers with another one than shells do.
	SearchPath string
	// Report, when set, is told each finding that a command would print on stderr, once.
	Report func(ir.Diagnostic)
	// Log, when set, is told each line in and out, with rpc.In or rpc.Out.
	Log func(direction byte, line []byte)
	// Panicked, when set, is told of a mistake of ours that one answer was lost to.
	Panicked func(v any, stack []byte)
	// Every returns a channel that ticks, and what stops it; nil uses the system's clock.
	// It paces progress and the writing of the session's file.
	Every func(time.Duration) (ticks <-chan time.Time, stop func())
}

// Serve answers the requests on in until in ends, which returns nil, ctx ends, which
// returns its cause, or out fails, which returns an error of which ReaderGone is true. It
// serves the revisions with a handshake and the one without, at
// the same time (D-66).
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Report == nil {
		o.Report = func(ir.Diagnostic) {}
	}
	if o.Every == nil {
		o.Every = every
	}
	s := &server{o: o}
	s.mirror = newMirror(o.Every)
	defer s.mirror.end()
	return rpc.Serve(ctx, in, out, s.handle, rpc.Options{
		Batches: s.batches, Ping: "ping", Pong: legacyPing, Cancel: "notifications/cancelled", Log: o.Log, Panicked: o.Panicked,
	})
}

// ReaderGone reports whether an error of Serve is that nobody reads the answers any more.
func ReaderGone(err error) bool { return errors.Is(err, rpc.ErrReaderGone) }

func every(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// legacyPing reports whether a ping is of a revision that has one: it names none.
func legacyPing(params json.RawMessage) bool {
	p, ok := rpc.Object(params)
	if !ok {
		return true
	}
	meta, _ := rpc.Object(p["_meta"])
	return meta[metaVersion] == nil
}

// invalid is the error of a request whose parameters are not what the method takes.
func invalid(message string) error { return &rpc.Error{Code: rpc.InvalidParams, Message: message} }
