package main

import (
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
	last map[int]*latest
}

// shownLines is how many lines of a failure are shown where nobody watched.
const shownLines = 20

// latest is the last of many lines. It is a ring of buffers that are used again, as a
// guard may write a gigabyte.
type latest struct {
	lines [shownLines][]byte
	count int
}

func (l *latest) add(line []byte) {
	at := &l.lines[l.count%shownLines]
	*at = append((*at)[:0], line...)
	l.count++
}

func (l *latest) each(show func([]byte)) {
	for i := max(0, l.count-shownLines); i < l.count; i++ {
		show(l.lines[i%shownLines])
	}
}

// watcher returns one; begun is called at the first event.
func (a *app) watcher(begun func()) *watcher {
	return &watcher{a: a, begun: begun, live: isTerminal(a.stderr), last: map[int]*latest{}}
}

func (w *watcher) event(e mwp.GuardEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.a
	w.begun()
	if a.hook != "" || e.Number == 0 {
		// What a guard prints is not for a model.
		return
	}
	live := w.live && !a.quiet
	// Another program's JSON errors have no room for what guards print.
	silent := a.wantsJSON() && !w.live
	switch {
	case e.Line != nil && live:
		w.show(e.Line)
	case e.Line != nil:
		if w.last[e.Number] == nil {
			w.last[e.Number] = &latest{}
		}
		w.last[e.Number].add(e.Line)
	case e.Ended == nil && !silent && !a.quiet:
		place := ""
		if e.Of > 1 {
			place = " (" + strconv.Itoa(e.Number) + " of " + strconv.Itoa(e.Of) + ")"
		}
		a.note("running " + e.Guard + place)
	case e.Ended != nil:
		if l := w.last[e.Number]; l != nil && e.Ended.Status != ir.Passed && !silent {
			a.note("the end of what " + e.Guard + " wrote:")
			l.each(w.show)
		}
		delete(w.last, e.Number)
	}
}

func (w *watcher) show(line []byte) {
	w.a.stderr.Write([]byte("  | " + ir.EscapeControls(strings.ToValidUTF8(string(line), "\ufffd")) + "\n"))
}
