package mwp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// Session is what one reader has been sent, so that the next answer carries only what it
// lacks (D-62 to D-64, D-115). One goroutine uses it; others may take a Snapshot.
type Session struct {
	mu sync.Mutex
	// rec is written under mu, by the goroutine that uses the session.
	rec ir.SessionRecord
	// named is set for an id that the caller chose, stored for a session that goes on
	// from what the disk holds.
	named, stored bool
	// shared is set when several readers may be behind the session.
	shared bool
	// root is the workspace root that keys are relative to, state where its sessions lie;
	// both are known after the first answer.
	root, state string
	// existed is set when there is a stored record; base is its generation and agreed what
	// it says was seen, as they were when it was last read or written.
	existed bool
	base    int
	agreed  []ir.Seen
	// served holds the calls that were answered since the reader last lost everything.
	served map[string]bool
	// pending is what happened since the record was written.
	pending []delivery
	cleared bool
}

// delivery is what one answer changed.
type delivery struct {
	gained []ir.Seen
	lost   []ir.Withdrawn
	call   ir.SessionCall
	at     time.Time
	// superseded is a call whose last answer is about another workspace, "" for a delivery.
	superseded string
}

// NewSession returns the session of a reader who has nothing. Without an id it gets a
// random one, which no answer names.
func NewSession(id string) *Session {
	s := &Session{named: id != ""}
	if s.rec.ID = id; id == "" {
		s.rec.ID = uuid()
	}
	return s
}

// uuid returns a random UUID, version 4.
func uuid() string {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:], rand.Uint64())
	binary.NativeEndian.PutUint64(b[8:], rand.Uint64())
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ID returns the session's id.
func (s *Session) ID() string { return s.rec.ID }

// SetClient notes the id that the program around the reader gave its conversation.
func (s *Session) SetClient(id string) { s.rec.Client = id }

// Record returns what is known of the session. Of a stored one that is what the disk
// held at the first answer, with what was delivered since.
func (s *Session) Record() ir.SessionRecord { return s.rec }

// Snapshot returns a copy that can be saved while the session goes on.
func (s *Session) Snapshot() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Session{rec: s.rec, named: s.named, stored: s.stored, root: s.root, state: s.state, cleared: true}
	c.rec.Seen, c.rec.Calls = slices.Clone(s.rec.Seen), slices.Clone(s.rec.Calls)
	return c
}

// Clear notes that the reader lost what it had, and returns how many entries that were.
func (s *Session) Clear() int {
	n := s.rec.Held()
	s.mu.Lock()
	s.rec.Forget(s.shared)
	s.mu.Unlock()
	s.served, s.pending, s.cleared = nil, nil, true
	return n
}

// SendOptions say how an answer is delivered.
type SendOptions struct {
	// Full sends the whole map.
	Full bool
	// Shell is set for a reader who has a shell and no tools, as of a hook.
	Shell bool
	// RepeatInFull sends the whole map for a call that was answered before: who asks again
	// has lost the answer (D-63). It is for a connection, which several readers may share.
	RepeatInFull bool
}

// Sending is an answer on its way.
type Sending struct {
	*Result
	// Delta is how it was delivered.
	Delta *ir.Delta
	// Nothing is set when the reader has all of the map already.
	Nothing bool

	session *Session
	change  delivery
}

// Send answers a request with what the reader of a session lacks. The session does not
// change until Delivered. The error is that of Map.
func (w *Workspace) Send(ctx context.Context, s *Session, q Request, o SendOptions) (*Sending, error) {
	r, shown, err := w.mapFor(ctx, q)
	if err != nil {
		return nil, err
	}
	seen, call := s.rec.Seen, render.Call(shown.m.Target)
	if s.root == "" {
		s.mu.Lock()
		s.root, s.state = r.Root, r.state
		if w.bound != nil {
			s.root, s.state = w.bound.dir, w.bound.state
		}
		s.mu.Unlock()
		if s.stored && !s.cleared {
			r.Notices = append(r.Notices, w.load(s)...)
			seen = s.rec.Seen
		}
	}
	d := render.DeltaOptions{Shell: o.Shell}
	if s.named {
		d.Session = s.rec.ID
	}
	if r.Root != s.root {
		// Another workspace inside this one: its keys would be mistaken for others.
		seen, d.Elsewhere = nil, r.Root
		if rel, ok := below(s.root, r.Root); ok {
			d.Elsewhere = rel
			if t := shown.m.Target; t != nil {
				rel = path.Join(rel, *t)
			}
			// The target as it was asked for here.
			call = render.Call(&rel)
		}
	}
	switch {
	case o.Full:
		d.Reason = ir.DeliverAsked
	case o.RepeatInFull && s.served[call]:
		d.Reason = ir.DeliverRepeated
	case !slices.ContainsFunc(seen, func(s ir.Seen) bool { return s.State == ir.SeenHeld }):
		d.Reason = ir.DeliverFirst
	}
	d.Shared, s.shared = o.RepeatInFull, o.RepeatInFull
	send, gained := render.Delta(shown.m, shown.hashes, seen, d)
	x := &Sending{Result: r, Delta: send.Delta, Nothing: len(send.Delta.Sent)+len(send.Delta.Withdrawn) == 0}
	x.session, x.change = s, newDelivery(send, gained, w.o.Now())
	if d.Elsewhere != "" {
		// What this call carried before does not stand in its last answer any more.
		x.change = delivery{at: x.change.at, superseded: call}
	}
	r.Text = q.textOf(send, shown, r.Root)
	return x, nil
}

func newDelivery(send *ir.Map, gained []ir.Seen, now time.Time) delivery {
	return delivery{
		gained: gained, lost: send.Delta.Withdrawn, at: now.UTC().Truncate(time.Second),
		call: ir.SessionCall{
			Target: send.Target, LayersSent: layersOf(send, send.Delta.Sent), LayersSkipped: layersOf(send, send.Delta.Skipped),
		},
	}
}

// layersOf returns the layers that the entries with some keys are in.
func layersOf(m *ir.Map, keys []string) []string {
	names := []string{}
	for _, e := range m.Delta.Whole.All() {
		if name := ir.LayerName(e.Layer); slices.Contains(keys, e.ID) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// textOf renders what is sent of a map.
func (q *Request) textOf(send *ir.Map, whole *shown, root string) []byte {
	if q.Format == JSON {
		if !q.NoRoot {
			send.Root = root
		}
		return ir.AppendJSON(nil, send, ir.FullForm)
	}
	d := send.Delta
	if len(d.Skipped)+len(d.Changed)+len(d.Withdrawn)+len(d.Elsewhere) == 0 && !q.Annotate && !q.ASCII && q.Relative.IsZero() {
		return slices.Clip(whole.text(q.Format))
	}
	n := nodes.Rendered{Format: q.Format, Annotate: q.Annotate, ASCII: q.ASCII}
	text, _ := n.Text(send, q.Relative)
	return text
}

// mapFor answers a request with the map itself.
func (w *Workspace) mapFor(ctx context.Context, q Request) (*Result, *shown, error) {
	encoded := q
	encoded.Format = nodes.EncodedIR
	encoded.Annotate, encoded.ASCII, encoded.Color, encoded.NotLoaded = false, false, false, false
	question := encoded.question()
	question.decoded = true
	r, err := w.answer(ctx, question)
	if err != nil {
		return nil, nil, err
	}
	m := r.shown
	if m == nil {
		if m, err = showing(r.Text); err != nil {
			return nil, nil, err
		}
	}
	if name, ok := nodes.ModelFormat(q.Format); ok {
		r.Notices = append(r.Notices, render.Disagreements(m.m, name)...)
	}
	return r, m, nil
}

// Delivered notes that the answer reached its reader.
func (x *Sending) Delivered() {
	s := x.session
	if s == nil {
		return
	}
	x.session = nil
	s.mu.Lock()
	x.change.apply(&s.rec, s.shared)
	s.mu.Unlock()
	if s.stored {
		s.pending = append(s.pending, x.change)
	}
	if s.served == nil {
		s.served = map[string]bool{}
	}
	if x.change.superseded != "" {
		delete(s.served, x.change.superseded)
		return
	}
	s.served[render.Call(x.change.call.Target)] = true
}

func (d *delivery) apply(r *ir.SessionRecord, shared bool) {
	if d.superseded != "" {
		r.Supersede(d.superseded)
		return
	}
	r.Deliver(d.gained, d.lost, d.at, shared)
	r.Called(d.call)
}

// SessionsText returns sessions as a table for people, SessionText one of them whole.
func SessionsText(rs []ir.SessionRecord) []byte { return render.Sessions(rs) }

// SessionText returns what a session's reader has and what was asked, for people.
func SessionText(r *ir.SessionRecord) []byte { return render.Session(r) }
