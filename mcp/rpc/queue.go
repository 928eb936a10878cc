package rpc

import (
	"context"
	"slices"
	"sync"
)

var (
	errInFlight = &Error{Code: InvalidRequest, Message: "expected an id of its own, found the id of a call that is not answered yet"}
	errNotRun   = &Error{Code: InternalError, Message: "not run: the input ended and the time to answer is over"}
)

// maxQueued bounds the calls that wait. Reading on and refusing what is too much was
// rejected: a client that sends 100,000 calls at once then gets 100,000 answers, while
// the pipe holds back what does not fit.
const maxQueued = 1024

// entry is what one line asks for: one call, or those of an array.
type entry struct {
	call  *Call
	batch []*Call // not nil for an array
	size  int     // bytes of the line
}

func (e entry) calls() int { return max(1, len(e.batch)) }

// queue holds the calls from when they are read until they are answered.
type queue struct {
	maxBytes int

	mu      sync.Mutex
	changed sync.Cond // on mu: an entry came or went, or one of ended, expired, stopped was set

	// guarded by mu
	waiting []entry          // from head on
	head    int              // entries before it were taken
	calls   int              // in waiting
	bytes   int              // in waiting
	flight  map[string]*Call // by key: waiting or running, neither cancelled nor being written
	leaving []*Call          // being written
	working bool             // something that was taken or claimed is not done with
	ended   bool             // nothing will be added
	expired bool             // what still waits is not to be run
	stopped bool             // nothing is to be taken or added
}

func newQueue(maxBytes int) *queue {
	q := &queue{maxBytes: maxBytes, flight: map[string]*Call{}}
	q.changed.L = &q.mu
	return q
}

// add waits for room, registers the ids and appends the entry. A call whose id is
// in flight becomes a refusal. It is false when the queue has been stopped.
func (q *queue) add(e entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && q.calls > 0 && (q.calls+e.calls() > maxQueued || q.bytes+e.size > q.maxBytes) {
		q.changed.Wait()
	}
	if q.stopped {
		return false
	}
	if e.batch == nil {
		q.register(e.call)
	}
	for _, c := range e.batch {
		q.register(c)
	}
	// In a queue that never runs empty the places that were taken would pile up.
	if 2*q.head >= len(q.waiting) {
		q.waiting, q.head = slices.Delete(q.waiting, 0, q.head), 0
	}
	q.waiting = append(q.waiting, e)
	q.count(e, 1)
	q.changed.Broadcast()
	return true
}

func (q *queue) count(e entry, sign int) {
	q.calls += sign * e.calls()
	q.bytes += sign * e.size
}

func (q *queue) register(c *Call) {
	if c.ID == nil || c.refusal != nil {
		return
	}
	if _, twice := q.flight[c.key]; twice {
		c.refusal = errInFlight
		return
	}
	q.flight[c.key] = c
}

// busy tells whether a call with that key is in flight.
func (q *queue) busy(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.flight[key] != nil
}

// claim registers a call that is not to be queued, because there is nothing that it would
// have to wait for. Its claim ends with done.
func (q *queue) claim(c *Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.working || q.stopped || q.head < len(q.waiting) {
		return false
	}
	q.register(c)
	q.working = true
	return true
}

// done says that what was taken or claimed is done with.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.working = false
	if q.head < len(q.waiting) || q.ended || q.stopped {
		q.changed.Broadcast()
	}
}

// take waits for the next entry, which ends with done. It is false when there will be
// none and nothing runs any more.
func (q *queue) take() (entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.working || !q.stopped && q.head == len(q.waiting) {
		if q.ended && !q.working {
			return entry{}, false
		}
		q.changed.Wait()
	}
	if q.stopped {
		return entry{}, false
	}
	q.working = true
	e := q.waiting[q.head]
	q.waiting[q.head] = entry{}
	q.head++
	q.count(e, -1)
	q.changed.Broadcast()
	return e, true
}

// start gives a call the function that ends its context. It is false when the call
// is not to be run: it was cancelled while it waited, or its time is over, of which
// its refusal tells then.
func (q *queue) start(c *Call, cancel context.CancelCauseFunc) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.expired && c.ID != nil {
		c.refusal = errNotRun
	}
	c.cancel = cancel
	return !q.expired && !c.dropped
}

// cancel drops the call with that key when it waits, ends its context when it runs,
// and sees that it gets no answer. A key that is not in flight is none of its
// business: the answer and the cancel have crossed.
func (q *queue) cancel(key string) {
	q.mu.Lock()
	c := q.flight[key]
	if c == nil {
		for _, l := range q.leaving {
			l.dropped = l.dropped || l.ID != nil && l.key == key
		}
		q.mu.Unlock()
		return
	}
	delete(q.flight, key)
	c.dropped = true
	c.ended.Store(true)
	q.remove(c)
	end := c.cancel
	q.mu.Unlock()
	if end != nil {
		end(ErrCancelled)
	}
}

// remove takes a call out of those that wait, so that it neither occupies room nor
// is met by the worker. One of an array stays in it.
func (q *queue) remove(c *Call) {
	for i := q.head; i < len(q.waiting); i++ {
		if e := q.waiting[i]; e.call == c {
			q.waiting = slices.Delete(q.waiting, i, i+1)
			q.count(e, -1)
			q.changed.Broadcast()
			return
		}
	}
}

// leave ends the flight of calls that are about to be answered, and returns those
// that were not cancelled, in the same memory. It comes before the write: a client
// may use an id again as soon as it has the answer, which is before Write returns
// here.
func (q *queue) leave(calls ...*Call) []*Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range calls {
		if q.flight[c.key] == c {
			delete(q.flight, c.key)
		}
	}
	q.leaving = slices.DeleteFunc(calls, isDropped)
	return q.leaving
}

// left closes what leave began, and returns the calls for which no cancel came
// while they were written.
func (q *queue) left() []*Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.leaving
	q.leaving = nil
	return slices.DeleteFunc(kept, isDropped)
}

func isDropped(c *Call) bool { return c.dropped }

// end says that nothing will be added, expire that what waits is not to be run,
// stop that nothing is to be added or taken.
func (q *queue) end()    { q.set(&q.ended) }
func (q *queue) expire() { q.set(&q.expired) }
func (q *queue) stop()   { q.set(&q.stopped) }

func (q *queue) set(flag *bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*flag = true
	q.changed.Broadcast()
}
