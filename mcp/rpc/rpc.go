// Package rpc speaks JSON-RPC 2.0 over lines: one message a line in, one message
// a line out. It reads, checks, queues, cancels and answers; what a method does is
// its caller's. It knows no method but the two whose names it is given, ping and
// cancel. It may import nothing of ours, opens no file, and touches no stream but
// the two that Serve is handed.
//
// Calls run one at a time and are answered in the order in which they came. A line that
// is refused is answered in its turn as well. Two things do not wait: a ping is answered
// as soon as it is read, and a cancel ends the call that it names as soon as it is read.
//
// The goroutine that reads runs a call itself when nothing is before it, because waking
// another one takes longer than a call that is served from memory. When the call has not
// ended after some milliseconds, another goroutine goes on reading.
package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"
)

// The codes of JSON-RPC 2.0.
const (
	ParseError     = -32700 // the line is not JSON, or not UTF-8
	InvalidRequest = -32600 // JSON, and not a request that is served
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603 // a handler failed or panicked, or was not run any more
)

// The directions that Options.Log is told.
const (
	In  byte = '<'
	Out byte = '>'
)

var (
	// ErrReaderGone is matched by what Serve returns when an answer could not be
	// written whole. It is the cause of the running call's context then.
	ErrReaderGone = errors.New("the reader of the answers is gone")
	// ErrCancelled is the cause of a call's context that the client has cancelled.
	ErrCancelled = errors.New("the client cancelled the call")
	// ErrInputEnded is the cause of a call's context that was still running when
	// Options.Grace had passed since the input ended.
	ErrInputEnded = errors.New("the input ended and the time to answer is over")
)

// Call is one request or notification.
type Call struct {
	Method string
	Params json.RawMessage // nil when absent or null; else an object or an array, valid JSON
	ID     json.RawMessage // as it was sent, byte for byte; nil for a notification

	key     string // equal for ids of equal value
	out     *output
	ended   atomic.Bool // nothing may be notified any more
	reply   Reply
	refusal *Error // why there is no reply
	// handOn lets another goroutine read while the call runs. Whoever takes it calls it.
	handOn atomic.Pointer[func()]

	// guarded by the queue's mu
	dropped bool                    // cancelled
	cancel  context.CancelCauseFunc // set when it runs
}

// Notify sends a notification, params being nil or a JSON object or array. It does
// nothing once the handler has returned, the call was cancelled, or Serve is ending,
// and for a Call that Serve did not make. It may be called from several goroutines,
// and waits while another message is written. It panics when params are not JSON.
func (c *Call) Notify(method string, params json.RawMessage) {
	line, ok := oneLine(params)
	if len(params) > 0 && !ok {
		panic("rpc: Call.Notify: params are not JSON")
	}
	if c.out == nil || !c.out.begin() {
		return
	}
	defer c.out.finish()
	// Only now: the answer is written by who sets ended first and then has the turn.
	if c.ended.Load() {
		return
	}
	c.out.write(func(b []byte) []byte {
		b = append(b, `{"jsonrpc":"2.0","method":`...)
		b = appendText(b, method)
		if ok {
			b = append(b, `,"params":`...)
			b = append(b, line...)
		}
		return append(b, '}')
	})
}

// Reply is what a handler answers.
type Reply struct {
	// Result is one JSON value on one line. It is not parsed again, which would cost
	// more than all else here; only when it is empty or has a newline in it, the call
	// is answered with InternalError.
	Result json.RawMessage
	// Written, when set, is called after the answer was written whole and before the
	// next call begins; for calls of one array after the array. It is not called for
	// a notification, for an error, after a write that failed, or when a cancel of
	// the call was read before the write was over.
	Written func()
}

// Error is a JSON-RPC error. A handler returns a *Error, wrapped or not, to choose
// code and text; any other error becomes InternalError with its text.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // left out of the answer when nil or not JSON
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Handler answers one call. It is called for notifications too, whose reply and
// error are dropped. ctx ends when the call is cancelled and when Serve ends, and
// context.Cause tells why: ErrCancelled, ErrInputEnded, ErrReaderGone, or the cause
// of the context that Serve was given.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// Options are the bounds, the two names and the hooks. The zero value has the
// default bounds, and every method is the handler's.
type Options struct {
	// MaxLine is in bytes, without the line's end; 0 means 8 MiB. A longer line is
	// passed over without being held, and refused. All that is held of the input is
	// less than six times MaxLine: a line as it grows, those that wait, and the one
	// that is being answered.
	MaxLine int
	// MaxDepth bounds objects and arrays within each other; 0 means 1000.
	MaxDepth int
	// Grace bounds three waits, each for itself: for queued calls after the input
	// ended; then for the running call, whose context has been cancelled; and for what
	// still runs when ctx has ended or a write failed. 0 means 2 s, less means none.
	Grace time.Duration
	// Batches tells whether an array of messages is served now, each of which may be
	// any message; nil means never. It is called when the array's turn has come, after
	// the calls before it, and when the array is read, for the cancels in it; from two
	// goroutines.
	Batches func() bool
	// Ping is the name of the request that is answered with {} as soon as it is read.
	Ping string
	// Pong tells whether a ping with these params is answered so; nil means each is. One
	// that is not is the handler's. The goroutine that reads calls it.
	Pong func(params json.RawMessage) bool
	// Cancel is the name of the notification whose params name a call, {"requestId":
	// id}. That call's context ends as soon as this is read, or it is never begun, and
	// it is not answered. A cancel that names nothing in flight is ignored.
	Cancel string
	// Log is told of every line that is read, blank and too long ones excepted, and of
	// every line before it is written, both without their ends. One call at a time, and
	// none after Serve has returned. It must not keep the line.
	Log func(direction byte, line []byte)
	// Panicked is told what a handler or a Written panicked with. The call is answered
	// with InternalError, without that text.
	Panicked func(v any, stack []byte)
}

func (o Options) withDefaults() Options {
	o.MaxLine = cmp.Or(o.MaxLine, 8<<20)
	o.MaxDepth = cmp.Or(o.MaxDepth, 1000)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	if o.Batches == nil {
		o.Batches = func() bool { return false }
	}
	return o
}
