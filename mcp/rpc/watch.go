package rpc

import (
	"sync"
	"time"
)

const (
	// patience is how long a call may keep others from being read: twice this at most.
	patience = 5 * time.Millisecond
	// idleLooks is after how many looks without a call nobody looks any more.
	idleLooks = 20
)

// watch sees that a call that takes long does not keep pings and cancels from being
// read. It looks at intervals, as a timer for each call would wake a thread each time.
type watch struct {
	mu      sync.Mutex
	running *Call // guarded by mu; nil when the goroutine that reads runs none
	looking bool  // guarded by mu; whether somebody looks
	begun   int   // guarded by mu; counts calls
}

func (w *watch) begin(c *Call, over <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = c
	w.begun++
	if !w.looking {
		w.looking = true
		go w.look(over)
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = nil
}

// look lets the reading go on of every call that it meets twice.
func (w *watch) look(over <-chan struct{}) {
	t := time.NewTicker(patience)
	defer t.Stop()
	var last *Call
	seen, idle := 0, 0
	for {
		select {
		case <-t.C:
		case <-over:
			return
		}
		w.mu.Lock()
		c, begun := w.running, w.begun
		if idle++; begun != seen || c != nil {
			idle = 0
		}
		if idle > idleLooks {
			w.looking = false
		}
		w.mu.Unlock()
		if idle > idleLooks {
			return
		}
		if c != nil && c == last {
			if next := c.handOn.Swap(nil); next != nil {
				(*next)()
			}
		}
		last, seen = c, begun
	}
}
