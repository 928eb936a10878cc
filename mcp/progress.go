package mcp

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp"
)

// progressEvery is how often a run that says nothing says that it goes on.
const progressEvery = 5 * time.Second

// progress tells a client how far a run of guards has come. The number grows with each
// message and never reaches the total: the answer is the end.
type progress struct {
	// token is the client's, nil when it wants to be told nothing.
	token json.RawMessage
	// send takes a message; behind the answer it takes none.
	send func(params json.RawMessage)
	stop func()

	mu sync.Mutex
	// ended counts guards that are through of the total; told counts messages since the
	// last of them ended. All guarded by mu.
	ended, total, told int
	message            string
}

// progress returns one for a request. Without a token it is silent.
func (s *server) progress(q *request) *progress {
	p := &progress{token: q.token, stop: func() {}}
	p.send = func(params json.RawMessage) { q.call.Notify("notifications/progress", params) }
	if p.token == nil {
		return p
	}
	ticks, stop := s.o.Every(progressEvery)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticks:
				p.tell("")
			case <-done:
				return
			}
		}
	}()
	p.stop = func() {
		stop()
		close(done)
	}
	return p
}

// end ends the messages.
func (p *progress) end() { p.stop() }

// event takes note of what happens to a guard. What it prints is not passed on.
func (p *progress) event(e mwp.GuardEvent) {
	if p.token == nil || e.Line != nil {
		return
	}
	p.mu.Lock()
	p.total = e.Of
	p.mu.Unlock()
	switch {
	case e.Number == 0:
	case e.Ended != nil:
		p.mu.Lock()
		p.ended, p.told = p.ended+1, 0
		p.mu.Unlock()
	default:
		p.tell("running " + quoted(e.Guard) + " (" + strconv.Itoa(e.Number) + " of " + strconv.Itoa(e.Of) + ")")
	}
}

// tell sends a message, "" for the last one again.
func (p *progress) tell(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if message != "" {
		p.message = message
	}
	if p.total > 0 && p.ended >= p.total {
		return
	}
	p.told++
	r := newResult()
	r.raw("progressToken", p.token)
	// Between two guards the number goes on towards the next whole one.
	r.raw("progress", strconv.AppendFloat(nil, float64(p.ended)+1-1/float64(p.told+1), 'f', -1, 64))
	if p.total > 0 {
		r.raw("total", strconv.AppendInt(nil, int64(p.total), 10))
	}
	if p.message != "" {
		r.text("message", p.message)
	}
	p.send(r.close())
}
