package main

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// watcher shows the run of guards on stderr: to a terminal every line as it comes, to
// anything else the end of the output of a guard that did not pass.
type watcher struct {
	a     *app
	begun func()
	live  bool

	mu sync.Mutex
	// last holds the latest lines of each running guard; guarded by mu, which is held
	// while something is written as well.
	last map[int][][]byte
}

// shownLines is how many lines of a failure are shown where nobody watched.
const shownLines = 20

// watcher returns one; begun is called at the first event.
func (a *app) watcher(begun func()) *watcher {
	return &watcher{a: a, begun: begun, live: isTerminal(a.stderr), last: map[int][][]byte{}}
}

func (w *watcher) event(e mwp.GuardEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.a
	w.begun()
	if a.quiet || a.hook != "" {
		return
	}
	// Another program's JSON errors have no room for what guards print.
	silent := a.wantsJSON() && !w.live
	place := ""
	if e.Of > 1 {
		place = " (" + strconv.Itoa(e.Number) + " of " + strconv.Itoa(e.Of) + ")"
	}
	switch {
	case e.Line != nil:
		line := bytes.Clone(e.Line)
		if w.live {
			w.show(line)
			return
		}
		w.last[e.Number] = append(w.last[e.Number], line)
		if n := len(w.last[e.Number]); n > shownLines {
			w.last[e.Number] = w.last[e.Number][n-shownLines:]
		}
	case e.Ended == nil && !silent:
		a.note("running " + e.Guard + place)
	case e.Ended != nil:
		if e.Ended.Status != ir.Passed && !silent && len(w.last[e.Number]) > 0 {
			a.note("the end of what " + e.Guard + " wrote:")
			for _, line := range w.last[e.Number] {
				w.show(line)
			}
		}
		delete(w.last, e.Number)
	}
}

func (w *watcher) show(line []byte) {
	w.a.stderr.Write([]byte("  | " + ir.EscapeControls(strings.ToValidUTF8(string(line), "\ufffd")) + "\n"))
}
