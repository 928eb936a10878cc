package mwp

import (
	"container/list"
	"path/filepath"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// shelf keeps slots in memory for a process that answers many questions: what is served
// from it needs no file opened and nothing decoded, and is checked against the file system
// all the same. It holds at most limit bytes of slots, the least recently served going
// first.
type shelf struct {
	limit int

	mu    sync.Mutex
	size  int                       // guarded by mu
	slots map[cas.Key]*list.Element // of *kept; guarded by mu
	order *list.List                // the last served first; guarded by mu
	// places are where targets were found to lie, by absolute path; guarded by mu.
	places map[string]*found
}

// found is where a target lay when it was last served: the anchors above it and the root.
type found struct {
	sightings  []graph.Sighting
	candidates []candidate
	root       candidate
}

// maxPlaces bounds the places that are remembered. They are forgotten all at once: they
// are found again in a few lstats.
const maxPlaces = 4096

// kept is a slot on the shelf.
type kept struct {
	key  cas.Key
	size int

	// mu is held while the slot is looked at: checking one renews its fingerprints.
	mu   sync.Mutex
	slot *eval.Slot // guarded by mu
	meta slotMeta
	// vouched are the directories that the slot vouches for, nil when that is not known;
	// guarded by mu.
	vouched map[string]bool
	// shown is the map that the slot's result encodes, decoded once; guarded by mu.
	shown *shown
}

// shown is a map with what delivering it takes.
type shown struct {
	m *ir.Map
	// hashes are the digests of what a reader sees of each entry (D-62).
	hashes []string

	mu sync.Mutex
	// texts are renders of the whole map by their format; guarded by mu.
	texts map[Format][]byte
}

// showing decodes a map.
func showing(encoded []byte) (*shown, error) {
	m, err := nodes.DecodeIR(encoded)
	if err != nil {
		return nil, err
	}
	s := &shown{m: m}
	for _, e := range m.Layers.All() {
		s.hashes = append(s.hashes, nodes.ShownHash(e))
	}
	return s, nil
}

// text returns the whole map in a format for LLMs, with the times of guards' results.
func (s *shown) text(f Format) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[Format][]byte{}
	}
	text := s.texts[f]
	if text == nil {
		text, _ = nodes.Rendered{Format: f}.Text(s.m, time.Time{})
		s.texts[f] = text
	}
	return text
}

func newShelf(limit int) *shelf {
	return &shelf{limit: limit, slots: map[cas.Key]*list.Element{}, order: list.New(), places: map[string]*found{}}
}

// get returns a slot, nil for one that is not there.
func (s *shelf) get(key cas.Key) *kept {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.slots[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*kept)
}

// keptTimes is how much more memory a slot takes than its encoding: the result is there
// encoded, as values and as a text, and every leaf has its own pieces.
const keptTimes = 4

// put adds a slot whose encoding has some length, in place of another with its key.
func (s *shelf) put(key cas.Key, slot *eval.Slot, meta slotMeta, encoded int) *kept {
	k := &kept{key: key, size: keptTimes * encoded, slot: slot, meta: meta}
	if s == nil || k.size > s.limit {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.slots[key]; e != nil {
		s.drop(e)
	}
	s.slots[key] = s.order.PushFront(k)
	for s.size += k.size; s.size > s.limit; {
		s.drop(s.order.Back())
	}
	return k
}

func (s *shelf) drop(e *list.Element) {
	k := s.order.Remove(e).(*kept)
	delete(s.slots, k.key)
	s.size -= k.size
}

// remember notes where a target that was just served lies.
func (s *shelf) remember(p *place, root candidate) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.places) >= maxPlaces {
		clear(s.places)
	}
	s.places[p.abs] = &found{p.sightings, p.candidates, root}
}

func (s *shelf) place(abs string) *found {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places[abs]
}

// recall serves a question about a place that is known from memory alone, nil when it
// cannot. Finding a place takes a look at every directory above the target. Most of them
// are directories that the slot rests on, so that its own check vouches for them; only
// the others are looked at.
func (w *Workspace) recall(target string, q *question) *Result {
	if !filepath.IsAbs(target) {
		target = filepath.Join(w.o.Dir, target)
	}
	abs := filepath.Clean(target)
	f := w.kept.place(abs)
	if f == nil {
		return nil
	}
	p := &place{abs: abs, scout: w.scouting(abs), sightings: f.sightings, candidates: f.candidates}
	n, shown := q.node(f.root, fromOf(p, f.root))
	key := slotKey(n)
	k := w.kept.get(key)
	if k == nil || !w.stillThere(p, f.root, k) {
		return nil
	}
	return w.serveSlot(p, q, f.root, shown, w.area(f.root), k)
}

// stillThere reports whether the anchors above a target are those that were found, as far
// as the check of the slot does not tell.
func (w *Workspace) stillThere(p *place, root candidate, k *kept) bool {
	k.mu.Lock()
	if k.vouched == nil {
		k.vouched = k.slot.Vouched()
	}
	vouched := k.vouched
	k.mu.Unlock()
	seen := p.sightings
	for up, dir := 0, p.abs; ; up++ {
		anchor := len(seen) > 0 && seen[0].Up == up
		rel, inside := below(root.dir, dir)
		if anchor || !inside || !vouched[rel] {
			t, err := p.scout.Look(dir, ".mwp")
			if err != nil || anchor && t != seen[0].Type || !anchor && t != graph.Absent {
				return false
			}
		}
		if anchor {
			seen = seen[1:]
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return len(seen) == 0
		}
		dir = parent
	}
}

// decoded returns the map that the slot's result encodes, nil when it encodes none. The
// caller holds mu.
func (k *kept) decoded() *shown {
	if k.shown == nil {
		k.shown, _ = showing(k.slot.Result)
	}
	return k.shown
}
