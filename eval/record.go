package eval

import (
	"math"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Ledger understands the file in which a workspace keeps the last run of each guard
// (D-44). It is safe for concurrent use.
type Ledger interface {
	// Signer names the key that records are believed by. It may cost a look at a file.
	Signer() string
	// Parse returns what a records file says, by guard; nothing for a file that it does
	// not understand. It leaves Phase and Overridden to the reader. A state carries the
	// Signer by which it was judged; a guard that the file does not name is left out. It
	// may not keep file.
	Parse(file []byte) map[cas.Key]graph.RecordState
}

// maxRecordsBytes bounds what is read of a records file: a hundred thousand runs. A
// larger one is no work of ours.
const maxRecordsBytes = 16 << 20

// dateTolerance is by how much two clocks may differ before a run counts as dated
// ahead (D-46).
const dateTolerance = 5 * time.Second

// window is from when and until when something holds, in nanoseconds since 1970: from
// itself is in it and until is not. Zero bounds nothing.
type window struct{ from, until int64 }

// holds reports whether now is in the window.
func (w window) holds(now int64) bool {
	return (w.from == 0 || now >= w.from) && (w.until == 0 || now < w.until)
}

// within returns the part of the window that is in another one too.
func (w window) within(o window) window {
	if o.from != 0 && (w.from == 0 || o.from > w.from) {
		w.from = o.from
	}
	if o.until != 0 && (w.until == 0 || o.until < w.until) {
		w.until = o.until
	}
	return w
}

// turn narrows a window around now to the side of a moment that now is on, and reports
// whether the moment has come. The moment zero cannot be written as a bound: the
// window ends, or begins, one nanosecond inside it.
func (w *window) turn(moment, now int64) (come bool) {
	if now < moment {
		if moment == 0 {
			moment = -1
		}
		*w = w.within(window{until: moment})
		return false
	}
	if moment == 0 {
		moment = 1
	}
	*w = w.within(window{from: moment})
	return true
}

// phase returns where a clock stands against a run, whether the run is overridden, and
// as long as both stay so (D-46, D-84).
func phase(r *graph.Run, now int64) (p graph.Phase, overridden bool, w window) {
	const tolerance = int64(dateTolerance)
	switch {
	case r.RanAt >= math.MinInt64+tolerance && !w.turn(r.RanAt-tolerance, now):
		p = graph.Early
	case w.turn(r.CacheUntil, now):
		p = graph.Expired
	}
	// What is dated ahead was decided by another clock than this one.
	if r.Override != nil && p != graph.Early {
		overridden = !w.turn(r.Override.Until, now)
	}
	return p, overridden, w
}

// records are the records files that a World has read, each once for as long as its
// lstat stays the same.
type records struct {
	mu    sync.Mutex
	files map[string]*recordsFile // guarded by mu
}

type recordsFile struct {
	print   Fingerprint
	trusted bool
	states  map[cas.Key]graph.RecordState
}

func (r *records) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = nil
}

// age returns the time that records are judged by, in nanoseconds since 1970.
func (w *World) age() int64 {
	if w.Now != nil {
		return w.Now().UnixNano()
	}
	return w.now().UnixNano()
}

func (w *World) readRecord(l graph.Record) (*reading, error) {
	f, err := w.recordsFile(l.File)
	if err != nil {
		return nil, err
	}
	r := &reading{print: f.print, trusted: f.trusted}
	state := f.states[l.Guard]
	if state.Signer == "" && (state.Foreign || state.Run != nil) {
		// It was judged by a key without a name, so no name will tell that the key is
		// another one.
		r.trusted = false
	}
	state.Phase, state.Overridden = graph.Current, false
	if state.Run != nil {
		state.Phase, state.Overridden, r.window = phase(state.Run, w.age())
	}
	r.value = state
	return r, nil
}

// recordsFile returns what a records file says now.
func (w *World) recordsFile(rel string) (*recordsFile, error) {
	w.records.mu.Lock()
	defer w.records.mu.Unlock()
	last := w.records.files[rel]
	var b []byte
	s, trusted, err := w.whileStill(rel, func(s *stat) bool {
		return w.Ledger == nil || s.Size > maxRecordsBytes || last != nil && last.print == s.Fingerprint
	}, func(path string) (n int64, before, after stat, err error) {
		b, before, after, err = readRegular(path, maxRecordsBytes)
		return int64(len(b)), before, after, err
	})
	if err != nil {
		return nil, err
	}
	if last != nil && last.print == s.Fingerprint {
		return last, nil
	}
	f := &recordsFile{print: s.Fingerprint, trusted: trusted}
	switch {
	case s.Type != graph.Regular || s.Size > maxRecordsBytes:
	case w.Ledger == nil:
		// Whoever has a ledger finds more in the same file.
		f.trusted = false
	default:
		f.states = w.Ledger.Parse(b)
	}
	if w.records.files == nil {
		w.records.files = map[string]*recordsFile{}
	}
	w.records.files[rel] = f
	return f, nil
}

// believer decides whether an equal lstat of what a leaf rests on vouches for its
// value. It asks the ledger once, and only for records that somebody signed.
type believer struct {
	ledger Ledger
	signer string
	asked  bool
}

// believes reports whether a trusted leaf stands while its fingerprint is the same. A
// record stands only before the key that it was judged by; where the file says nothing
// of a guard, that is so with every key.
func (b *believer) believes(l *SlotLeaf) bool {
	if l.Kind != graph.RecordKind.Name {
		return true
	}
	d := cas.NewDecoder(l.State)
	signer := d.Bytes()
	switch {
	case d.Err() != nil:
		return false
	case len(signer) == 0:
		return true
	case b.ledger == nil:
		return false
	case !b.asked:
		b.signer, b.asked = b.ledger.Signer(), true
	}
	return string(signer) == b.signer
}

// timeless is what believes in every leaf but a record.
func timeless(l *SlotLeaf) bool { return l.Kind != graph.RecordKind.Name }
