package ir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SessionRecord is what one reader has been sent, as .mwp/sessions/<id>.json holds it
// (R-192, D-64).
type SessionRecord struct {
	ID string
	// Created and LastUsed are in UTC, to the second.
	Created, LastUsed time.Time
	// Generation grows each time the reader lost what it had, so that what was computed
	// before is not taken for something that it has.
	Generation int
	// Client is the id that the program around the reader gave its conversation, ""
	// when it gave none. Nothing is looked up by it.
	Client string
	// Seen holds the entries, in order of their keys.
	Seen []Seen
	// Calls are the last calls, oldest first; CallCount counts all of them.
	Calls     []SessionCall
	CallCount int
}

// Seen is an entry that a reader has.
type Seen struct {
	// Key is Entry.ID; Hash is "blake3:" and the digest of what was shown (D-62).
	Key, Hash string
	SentAt    time.Time
	Source    string
	Layer     int
	Tokens    int
	// Dir is the directory below which the entry counts, "." for all.
	Dir string
	// Call is the call that carried it.
	Call string
	// State is SeenHeld, SeenLost or SeenWithdrawn.
	State string
	// Varied is set when several readers share the session and versions that differ were
	// sent: which one a reader has is not known, so the entry is always sent (D-115).
	Varied bool
}

// States of an entry that was sent: the reader has it; had it before it lost everything;
// was told that it holds no longer. The last two are kept where several readers share a
// session, of whom another may still have it.
const (
	SeenHeld      = "held"
	SeenLost      = "lost"
	SeenWithdrawn = "withdrawn"
)

// SessionCall is one answered call. Target is nil for an orientation map.
type SessionCall struct {
	Target        *string
	LayersSent    []string
	LayersSkipped []string
}

// AppendSessionJSON appends r as JSON in a fixed order, with a final newline.
//
//	{id, created_at, last_used, generation, client, seen: {KEY: {hash, sent_at, source, layer, tokens, dir, call, state, varied}}, call_count, calls: [{target, layers_sent, layers_skipped}]}
func AppendSessionJSON(dst []byte, r *SessionRecord) []byte {
	w := jsonWriter{buf: dst}
	w.session(r)
	return append(w.buf, '\n')
}

// AppendSessionsJSON appends {"sessions": […]}, what `mwp sessions list --json` prints.
// Of each it has everything but what was seen and asked.
func AppendSessionsJSON(dst []byte, rs []SessionRecord) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	list(w.field("sessions"), rs, func(w *jsonWriter, r *SessionRecord) {
		w.open('{')
		w.sessionHead(r)
		w.field("seen_count").int(int64(r.Held()))
		w.field("call_count").int(int64(r.CallCount))
		w.close('}')
	})
	w.close('}')
	return append(w.buf, '\n')
}

// AppendRemovedJSON appends {"removed": […]}, what `mwp sessions rm` and `clean` print.
func AppendRemovedJSON(dst []byte, ids []string) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	w.field("removed").strings(ids)
	w.close('}')
	return append(w.buf, '\n')
}

func (w *jsonWriter) sessionHead(r *SessionRecord) {
	w.field("id").str(r.ID)
	w.field("created_at").str(r.Created.UTC().Format(time.RFC3339))
	w.field("last_used").str(r.LastUsed.UTC().Format(time.RFC3339))
	w.field("generation").int(int64(r.Generation))
	w.field("client").str(r.Client)
}

func (w *jsonWriter) session(r *SessionRecord) {
	w.open('{')
	w.sessionHead(r)
	w.field("seen").open('{')
	for i := range r.Seen {
		s := &r.Seen[i]
		w.field(s.Key).open('{')
		w.field("hash").str(s.Hash)
		w.field("sent_at").str(s.SentAt.UTC().Format(time.RFC3339))
		w.field("source").str(s.Source)
		w.field("layer").int(int64(s.Layer))
		w.field("tokens").int(int64(s.Tokens))
		w.field("dir").str(s.Dir)
		w.field("call").str(s.Call)
		w.field("state").str(s.State)
		w.field("varied").bool(s.Varied)
		w.close('}')
	}
	w.close('}')
	w.field("call_count").int(int64(r.CallCount))
	list(w.field("calls"), r.Calls, func(w *jsonWriter, c *SessionCall) {
		w.open('{')
		if w.field("target"); c.Target == nil {
			w.raw("null")
		} else {
			w.str(*c.Target)
		}
		w.field("layers_sent").strings(c.LayersSent)
		w.field("layers_skipped").strings(c.LayersSkipped)
		w.close('}')
	})
	w.close('}')
}

// ParseSession reads what AppendSessionJSON writes. It fails on what is no record of the
// session id: such a file is as good as none.
func ParseSession(text []byte, id string) (*SessionRecord, error) {
	var f struct {
		ID         string    `json:"id"`
		Created    time.Time `json:"created_at"`
		LastUsed   time.Time `json:"last_used"`
		Generation int       `json:"generation"`
		Client     string    `json:"client"`
		Seen       map[string]struct {
			Hash   string    `json:"hash"`
			SentAt time.Time `json:"sent_at"`
			Source string    `json:"source"`
			Layer  int       `json:"layer"`
			Tokens int       `json:"tokens"`
			Dir    string    `json:"dir"`
			Call   string    `json:"call"`
			State  string    `json:"state"`
			Varied bool      `json:"varied"`
		} `json:"seen"`
		CallCount int `json:"call_count"`
		Calls     []struct {
			Target  *string  `json:"target"`
			Sent    []string `json:"layers_sent"`
			Skipped []string `json:"layers_skipped"`
		} `json:"calls"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("no session record: %w", err)
	}
	if f.ID != id {
		return nil, fmt.Errorf("the record of session %q, expected %q", f.ID, id)
	}
	r := &SessionRecord{
		ID: f.ID, Created: f.Created, LastUsed: f.LastUsed, Generation: f.Generation, Client: f.Client, CallCount: f.CallCount,
	}
	for key, s := range f.Seen {
		if s.Hash == "" || s.Dir == "" || s.Layer < 0 || s.Layer >= LayerCount || s.State != SeenHeld && s.State != SeenLost && s.State != SeenWithdrawn {
			return nil, fmt.Errorf("the record of %q is incomplete", key)
		}
		r.Seen = append(r.Seen, Seen{
			Key: key, Hash: s.Hash, SentAt: s.SentAt, Source: s.Source, Layer: s.Layer, Tokens: s.Tokens, Dir: s.Dir, Call: s.Call,
			State: s.State, Varied: s.Varied,
		})
	}
	SortSeen(r.Seen)
	for _, c := range f.Calls {
		r.Calls = append(r.Calls, SessionCall{Target: c.Target, LayersSent: c.Sent, LayersSkipped: c.Skipped})
	}
	return r, nil
}

// SortSeen puts entries in the order of a record.
func SortSeen(seen []Seen) {
	slices.SortFunc(seen, func(a, b Seen) int { return strings.Compare(a.Key, b.Key) })
}

// FindSeen returns where a key is, or would be, among entries in the order of SortSeen.
func FindSeen(seen []Seen, key string) (at int, found bool) {
	return slices.BinarySearchFunc(seen, key, func(s Seen, key string) int { return strings.Compare(s.Key, key) })
}

// Deliver changes a record by what a reader gained and lost with one answer at a moment.
// When several readers share the session, what is lost is remembered.
func (r *SessionRecord) Deliver(gained []Seen, lost []Withdrawn, at time.Time, shared bool) {
	if r.Created.IsZero() {
		r.Created = at
	}
	r.LastUsed = at
	for _, s := range gained {
		s.SentAt, s.State = at, SeenHeld
		if i, found := FindSeen(r.Seen, s.Key); found {
			r.Seen[i] = s
		} else {
			r.Seen = slices.Insert(r.Seen, i, s)
		}
	}
	for _, l := range lost {
		switch i, found := FindSeen(r.Seen, l.Key); {
		case found && shared:
			r.Seen[i].State = SeenWithdrawn
		case found:
			r.Seen = slices.Delete(r.Seen, i, i+1)
		}
	}
}

// Held counts the entries that the reader has.
func (r *SessionRecord) Held() int {
	n := 0
	for i := range r.Seen {
		if r.Seen[i].State == SeenHeld {
			n++
		}
	}
	return n
}

// maxSessionCalls is how many calls a record keeps: it is read and written with each call
// of the command line.
const maxSessionCalls = 64

// Called adds a call to a record.
func (r *SessionRecord) Called(c SessionCall) {
	r.CallCount++
	if len(r.Calls) >= maxSessionCalls {
		r.Calls = slices.Delete(r.Calls, 0, len(r.Calls)-maxSessionCalls+1)
	}
	r.Calls = append(r.Calls, c)
}

// Supersede notes that the last answer to a call carries nothing of what it carried
// before, so that no reader is sent there for it.
func (r *SessionRecord) Supersede(call string) {
	for i := range r.Seen {
		if s := &r.Seen[i]; s.Call == call && s.State == SeenHeld {
			s.State = SeenLost
		}
	}
}

// Forget notes that the reader lost all that it had. When several share the session,
// others may have it still.
func (r *SessionRecord) Forget(shared bool) {
	r.Generation++
	if !shared {
		r.Seen = nil
		return
	}
	for i := range r.Seen {
		if s := &r.Seen[i]; s.State == SeenHeld {
			s.State = SeenLost
		}
	}
}
