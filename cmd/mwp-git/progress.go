package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes short lines for the human who waits.
type progress struct {
	w   io.Writer
	now func() time.Time

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// newProgress counts nothing in the first second: what is quick needs no count.
func newProgress(w io.Writer, now func() time.Time) *progress {
	return &progress{w: w, now: now, last: now()}
}

// say writes one line.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Nobody may be reading; the work goes on.
	_, _ = fmt.Fprintln(p.w, line)
}

// count writes how far something is, at most once a second.
func (p *progress) count(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.last) >= time.Second {
		p.last = now
		_, _ = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
