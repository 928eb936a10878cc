package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
)

// maxBatchResults bounds the bytes of results that are held for one array: calls of
// it that would begin above are refused.
const maxBatchResults = 64 << 20

var (
	emptyObject = json.RawMessage("{}")

	errNoBatches = &Error{Code: InvalidRequest, Message: "expected one message on the line, found an array of messages, which this revision does not have"}
	errTooMuch   = &Error{Code: InternalError, Message: "not run: the answers to the calls of this array before it are too long; ask again in another message"}
	errPanicked  = &Error{Code: InternalError, Message: "the server failed on this call and goes on; the reason is in its log"}
	errNoResult  = &Error{Code: InternalError, Message: "the server failed on this call: its result is not JSON on one line"}
)

// workAll answers what is queued, one after the other.
func (s *server) workAll() {
	for {
		e, ok := s.queue.take()
		if !ok {
			return
		}
		if !closed(s.over) {
			if e.batch == nil {
				s.one(s.calls, e.call)
			} else {
				s.array(s.calls, e.batch)
			}
		}
		s.queue.done()
	}
}

// runHere runs a claimed call on the goroutine that reads, and tells whether another one
// has gone on reading meanwhile.
func (s *server) runHere(c *Call, l *lines) (handedOn bool) {
	next := func() { go s.readOn(l) }
	c.handOn.Store(&next)
	s.watch.begin(c, s.over)
	s.one(s.calls, c)
	s.watch.end()
	s.queue.done()
	return c.handOn.Swap(nil) == nil
}

func (s *server) one(ctx context.Context, c *Call) {
	s.run(ctx, c)
	if !c.isAnswered() || len(s.queue.leave(c)) == 0 {
		return
	}
	s.written(s.out.send(c.put))
}

// array serves the messages of one array and answers with one array of those that
// have an answer.
func (s *server) array(ctx context.Context, batch []*Call) {
	if !s.o.Batches() {
		s.queue.leave(batch...)
		s.queue.left()
		s.out.send((&Call{refusal: errNoBatches}).put)
		return
	}
	size := 0
	for _, c := range batch {
		if size > maxBatchResults && c.refusal == nil {
			c.refusal = errTooMuch
		}
		s.run(ctx, c)
		size += len(c.reply.Result)
	}
	answered := slices.DeleteFunc(batch, func(c *Call) bool { return !c.isAnswered() })
	answered = s.queue.leave(answered...)
	if len(answered) == 0 {
		return
	}
	s.written(s.out.send(func(b []byte) []byte {
		for i, c := range answered {
			b = append(b, "[,"[min(i, 1)])
			b = c.put(b)
		}
		return append(b, ']')
	}))
}

// isAnswered is false for a notification. A line that is refused is answered even
// when it has no id: it is not known to be a notification then.
func (c *Call) isAnswered() bool { return c.ID != nil || c.refusal != nil }

// written tells the handlers of what has been written.
func (s *server) written(whole bool) {
	for _, c := range s.queue.left() {
		if whole && c.reply.Written != nil {
			s.guard(c.reply.Written)
		}
	}
}

// run gives a call its reply or its refusal, unless it has it.
func (s *server) run(ctx context.Context, c *Call) {
	if c.refusal != nil || s.isCancel(c) || s.isPing(c) || closed(s.over) {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !s.queue.start(c, cancel) {
		return
	}
	c.out = s.out
	reply, refusal := s.call(ctx, c)
	c.ended.Store(true)
	if c.ID != nil {
		c.reply, c.refusal = reply, refusal
	}
}

func (s *server) call(ctx context.Context, c *Call) (r Reply, refusal *Error) {
	// The error's text is made inside as well: it is the handler's code.
	if !s.guard(func() { r, refusal = checked(s.handle(ctx, c)) }) {
		return Reply{}, errPanicked
	}
	return r, refusal
}

// checked makes of what a handler returned what can be written.
func checked(r Reply, err error) (Reply, *Error) {
	if e := (*Error)(nil); errors.As(err, &e) && e != nil {
		return Reply{}, e
	}
	if err != nil {
		return Reply{}, &Error{Code: InternalError, Message: err.Error()}
	}
	if len(r.Result) == 0 || bytes.IndexByte(r.Result, '\n') >= 0 {
		return Reply{}, errNoResult
	}
	return r, nil
}

// guard calls f and tells whether it returned. A panic of one call must not take the
// answers of all others with it.
func (s *server) guard(f func()) (returned bool) {
	defer func() {
		if v := recover(); v != nil && s.o.Panicked != nil {
			s.o.Panicked(v, debug.Stack())
		}
	}()
	f()
	return true
}
