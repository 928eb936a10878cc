package mcp

import (
	"context"
	"time"

	"github.com/model-workspace-protocol/mwp"
)

// mirrorEvery is how often the session's file is written while answers go out.
const mirrorEvery = time.Second

// mirror keeps a session's file up to date while a client is there, so that `mwp
// sessions` shows it, and removes it in the end (D-64). It writes beside the answers and
// never before one; where nothing can be written, there is no file.
type mirror struct {
	every func(time.Duration) (<-chan time.Time, func())
	// latest holds the session to be written next, at most one: a newer one takes its place.
	latest chan saved
	// stop ends the writer, and gone is closed when it has ended; both are nil when none
	// was started.
	stop context.CancelFunc
	gone chan struct{}
}

// saved is a session with the workspace that keeps it.
type saved struct {
	w       *mwp.Workspace
	session *mwp.Session
}

func newMirror(every func(time.Duration) (<-chan time.Time, func())) *mirror {
	return &mirror{every: every, latest: make(chan saved, 1)}
}

// save has a session written. Only the goroutine that works calls it, between two
// answers.
func (m *mirror) save(w *mwp.Workspace, session *mwp.Session) {
	if m.gone == nil {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		m.gone = make(chan struct{})
		go m.write(ctx)
	}
	select {
	case <-m.latest:
	default:
	}
	m.latest <- saved{w, session}
}

// end removes the file, and returns when nothing is written any more.
func (m *mirror) end() {
	if m.gone != nil {
		m.stop()
		<-m.gone
	}
}

// write writes a session as it is at once, and again not before some time has passed.
// That a session cannot be written is nobody's loss: it is for looking at.
func (m *mirror) write(ctx context.Context) {
	defer close(m.gone)
	var last saved
	for ctx.Err() == nil {
		select {
		case last = <-m.latest:
			last.session = last.session.Snapshot()
			_ = last.w.SaveSession(ctx, last.session)
			ticks, stop := m.every(mirrorEvery)
			select {
			case <-ticks:
			case <-ctx.Done():
			}
			stop()
		case <-ctx.Done():
		}
	}
	if last.w != nil {
		// The end of the work does not end the cleaning up after it, unless that hangs.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mirrorEvery)
		defer cancel()
		_ = last.w.DiscardSession(ctx, last.session)
	}
}
