package mcp

import (
	"context"
	"strconv"

	"github.com/model-workspace-protocol/mwp"
)

// resetSession is the way back for a reader who lost what it was sent (R-209, D-63).
func resetSession() tool {
	return tool{
		name: "reset_session", title: "Send maps again",
		about: "Call it when maps that you were sent are no longer in your context: the next map_workspace sends everything.",
		out:   `{"type":"object","properties":{"cleared":{"type":"integer"}}}`,

		idempotent: true,
		call:       callResetSession,
	}
}

// callResetSession forgets at once, not when the answer was written: that the reader has
// less than is thought is the mistake to avoid.
func callResetSession(_ context.Context, s *server, w *mwp.Workspace, q *request, _ arguments) (*answer, error) {
	cleared := 0
	if !q.modern {
		cleared = s.forget()
	}
	n := strconv.Itoa(cleared)
	a := &answer{structured: []byte(`{"cleared":` + n + `}`)}
	switch cleared {
	case 0:
		a.text = "there was nothing to forget"
	case 1:
		a.text = "forgot 1 entry"
	default:
		a.text = "forgot " + n + " entries"
	}
	a.text += ": the next map_workspace sends the whole map"
	if session := s.session; cleared > 0 {
		a.written = func() { s.mirror.save(w, session) }
	}
	return a, nil
}

// forget makes the reader one that has nothing, and returns how many entries it had.
func (s *server) forget() int {
	if s.session == nil {
		return 0
	}
	return s.session.Clear()
}
