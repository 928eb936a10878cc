package main

import (
	"strconv"
	"sync"
	"time"
)

// progress writes a line about a fetch, which always takes long enough to wonder.
// Where stderr is read by a program, as JSON, it is not for progress.
func (a *app) progress(line string) {
	if a.begun != nil {
		a.begun()
	}
	if !a.quiet && (!a.wantsJSON() || isTerminal(a.stderr)) {
		a.note(line)
	}
}

// working says once a second how far a walk of the tree has come, until the
// function that it returns is called. What takes less than a second says nothing.
func (a *app) working(what string) (stop func()) {
	if a.quiet {
		return func() {}
	}
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.note(what + ", " + strconv.FormatInt(a.scanned.Load(), 10) + " directories so far")
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}
