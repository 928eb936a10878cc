package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"
)

// Serve reads messages from in and answers them on out, until one of these:
//
//   - in ends. What was read is answered, for which there is Options.Grace; then the
//     running call's context ends with ErrInputEnded, and what waits behind it is
//     answered with InternalError and not run. Serve returns nil, or what reading
//     failed with. A closed stream (fs.ErrClosed, io.ErrClosedPipe) has ended.
//   - ctx ends. The running call's context ends with it, nothing is written any more,
//     and Serve returns context.Cause(ctx).
//   - a write to out fails. Everything is cancelled, and the error matches
//     ErrReaderGone and what Write returned. For standard output the caller must
//     ignore SIGPIPE, or the write will end the process.
//
// Serve waits for what it started, but no longer than Options.Grace: a handler that
// does not heed its context, and a Write that does not return, are left behind. They
// can write nothing more then, and no Written is called. So is the goroutine that
// reads, when ctx ended or a write failed while it waits in in.Read, unless in has a
// working SetReadDeadline, as pipes and connections have; it is woken by that, and
// the deadline is removed again. Left behind, it takes what its Read returns with
// it.
//
// 1024 calls, or lines of twice Options.MaxLine, may wait. When there are more,
// nothing is read until some are answered: nothing a client sends at once is lost, but
// a ping or a cancel behind so many calls waits with them. One Write is made for each
// message.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h Handler, o Options) error {
	o = o.withDefaults()
	run, fail := context.WithCancelCause(ctx)
	calls, expire := context.WithCancelCause(run)
	j := &journal{to: o.Log}
	s := &server{
		o:      o,
		handle: h,
		queue:  newQueue(2 * o.MaxLine),
		out:    &output{to: out, log: j.note, fail: fail, over: run.Done(), turn: make(chan struct{}, 1)},
		log:    j,
		calls:  calls,
		over:   run.Done(),
		read:   make(chan struct{}),
		worked: make(chan struct{}),
	}
	go s.readOn(newLines(in, o.MaxLine))
	go func() {
		defer close(s.worked)
		s.workAll()
	}()
	s.wait(expire)
	s.depart(in, fail)
	if err := context.Cause(run); err != errDone {
		return err
	}
	return s.unread
}

// errDone is what Serve itself ends the contexts with when the input has ended and
// there is nothing left to wait for.
var errDone = errors.New("everything is answered")

// server is one Serve.
type server struct {
	o      Options
	handle Handler
	queue  *queue
	out    *output
	log    *journal
	calls  context.Context // what the contexts of calls derive from
	over   <-chan struct{} // ctx ended, or a write failed
	read   chan struct{}   // closed when nothing is read any more
	unread error           // why, when the input did not just end; set before read is closed
	worked chan struct{}   // closed when nothing runs any more
	watch  watch
}

// wait returns when everything is answered, when over ends, or when the time after
// the end of the input has passed.
func (s *server) wait(expire context.CancelCauseFunc) {
	select {
	case <-s.read:
	case <-s.over:
		s.queue.stop()
		return
	}
	select {
	case <-s.worked:
	case <-s.over:
	case <-time.After(s.o.Grace):
		s.queue.expire()
		expire(ErrInputEnded)
	}
}

// depart waits for the worker, then sees that nothing is written or logged any more,
// and wakes the goroutine that reads.
func (s *server) depart(in io.Reader, fail context.CancelCauseFunc) {
	late, stop := context.WithTimeout(context.Background(), s.o.Grace)
	defer stop()
	await := func(done <-chan struct{}) {
		select {
		case <-done:
		case <-late.Done():
		}
	}
	await(s.worked)
	fail(errDone)
	// Whoever still writes began before, and whoever comes later finds over ended.
	select {
	case s.out.turn <- struct{}{}:
	case <-late.Done():
	}
	if d, ok := in.(deadliner); ok && !closed(s.read) && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		await(s.read)
		_ = d.SetReadDeadline(time.Time{})
	}
	s.log.close()
}

type deadliner interface{ SetReadDeadline(time.Time) error }

// readOn takes lines until there are no more, or until another goroutine goes on with
// it.
func (s *server) readOn(l *lines) {
	err := s.readAll(l)
	if err == errHandedOn {
		return
	}
	s.unread = err
	s.queue.end()
	close(s.read)
}

// errHandedOn is what ends the reading of one goroutine.
var errHandedOn = errors.New("another goroutine reads")

// readAll takes lines until there are no more, and returns what that was by, nil for
// an end.
func (s *server) readAll(l *lines) error {
	for {
		line, err := l.next()
		if closed(s.over) || isEnd(err) {
			return nil
		}
		e, ok := entry{}, true
		switch {
		case err == errTooLong:
			e.call = refuse(InvalidRequest, "expected a line of at most %d bytes, found a longer one", s.o.MaxLine)
		case err != nil:
			return fmt.Errorf("reading messages: %w", err)
		default:
			s.log.note(In, line)
			e, ok = parse(line, s.o.MaxDepth)
		}
		if !ok {
			continue
		}
		switch s.accept(e) {
		case stop:
			return nil
		case here:
			if s.runHere(e.call, l) {
				return errHandedOn
			}
		}
	}
}

func isEnd(err error) bool {
	return err == io.EOF || errors.Is(err, fs.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// accepted says what became of a line.
type accepted int

const (
	goOn accepted = iota // it is dealt with, or queued
	here                 // nothing is before it: the goroutine that reads is to run it
	stop                 // nothing can be queued or answered any more
)

// accept does at once what does not wait, and queues what has something before it.
func (s *server) accept(e entry) accepted {
	var ok bool
	if c := e.call; c != nil {
		switch {
		case s.isCancel(c):
			s.cancel(c)
			return goOn
		case s.isPing(c) && !s.queue.busy(c.key):
			// A client could not tell the answer to a ping from that of a call with its id.
			ok = s.out.send(c.put)
		case s.queue.claim(c):
			return here
		default:
			ok = s.queue.add(e)
		}
	} else {
		// Before they are queued, which may wait for the very call that is cancelled.
		for _, c := range e.batch {
			if s.isCancel(c) && s.o.Batches() {
				s.cancel(c)
			}
		}
		ok = s.queue.add(e)
	}
	if !ok {
		return stop
	}
	return goOn
}

func (s *server) isCancel(c *Call) bool {
	return s.o.Cancel != "" && c.Method == s.o.Cancel && c.ID == nil
}

func (s *server) cancel(c *Call) {
	if key, ok := c.cancelled(); ok {
		s.queue.cancel(key)
	}
}

// isPing tells whether the call is a ping, which has its reply then.
func (s *server) isPing(c *Call) bool {
	if s.o.Ping == "" || c.Method != s.o.Ping || c.ID == nil || s.o.Pong != nil && !s.o.Pong(c.Params) {
		return false
	}
	c.reply.Result = emptyObject
	return true
}

// journal hands lines to Options.Log, one at a time.
type journal struct {
	mu sync.Mutex
	to func(direction byte, line []byte) // guarded by mu; nil when nobody listens
}

func (j *journal) note(direction byte, line []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.to != nil {
		j.to(direction, line)
	}
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.to = nil
}
