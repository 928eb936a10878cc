package mwp

import (
	"container/list"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
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
	// glanced are the slots that hold directories open, the last opened last, and open how
	// many directories that is; asked counts questions; guarded by mu.
	glanced []*kept
	open    int
	asked   int
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
	// asked is the number of the last question for the slot, and again how many there were
	// in short order; guarded by the shelf's mu.
	asked, again int

	// glance checks the slot from open directories, nil while it is not asked for again and
	// again; guarded by mu.
	glance *eval.Glance
	// unfit is set when no glance can check the slot as it is; guarded by mu.
	unfit bool
	// dropped is set when the slot is not on the shelf any more: it opens nothing then.
	dropped atomic.Bool
	// looks are where to look for anchors besides, for the place looksFor; guarded by mu.
	looks    []look
	looksFor *found
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
	k := e.Value.(*kept)
	s.asked++
	if s.asked-k.asked > recently {
		k.again = 0
	}
	k.again++
	k.asked = s.asked
	if len(s.glanced) > 0 && s.asked-s.glanced[0].asked > recently {
		s.blink(s.glanced[0])
	}
	return k
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
	k.dropped.Store(true)
	s.blink(k)
}

const (
	// glancesAfter is how often a slot is asked for, with fewer than recently other questions
	// in between, before its directories are held open; and they are closed when it is not
	// asked for any more.
	glancesAfter = 3
	recently     = 32
	// maxOpen bounds the directories that are held open.
	maxOpen = 64
)

// check reports whether everything that a slot rests on is as it was, and whether the slot
// was brought up to date. The caller holds the slot's mu.
func (s *shelf) check(world *eval.World, k *kept) (ok, changed bool) {
	if k.glance != nil {
		if world.CheckAt(k.glance, kindByName) {
			return true, false
		}
		s.mu.Lock()
		s.close(k)
		s.mu.Unlock()
	}
	if ok, changed = world.Check(k.slot, kindByName); !ok || changed || s == nil || k.dropped.Load() {
		k.unfit = false
		return ok, changed
	}
	s.mu.Lock()
	often := k.again >= glancesAfter
	s.mu.Unlock()
	if !often || k.unfit {
		return ok, changed
	}
	g := world.Glance(k.slot)
	if k.unfit = g == nil; g != nil {
		k.glance = g
		s.mu.Lock()
		defer s.mu.Unlock()
		s.glanced, s.open = append(s.glanced, k), s.open+g.Dirs()
		for s.open > maxOpen && s.glanced[0] != k && s.blink(s.glanced[0]) {
		}
		if k.dropped.Load() {
			s.close(k)
		}
	}
	return ok, changed
}

// blink closes the directories of a slot unless somebody looks at it right now. The caller
// holds mu.
func (s *shelf) blink(k *kept) bool {
	if !k.mu.TryLock() {
		return false
	}
	defer k.mu.Unlock()
	s.close(k)
	return true
}

// close closes the directories of a slot. The caller holds both locks.
func (s *shelf) close(k *kept) {
	if k.glance == nil {
		return
	}
	s.open -= k.glance.Dirs()
	s.glanced = slices.DeleteFunc(s.glanced, func(o *kept) bool { return o == k })
	k.glance.Close()
	k.glance = nil
}

// empty forgets everything.
func (s *shelf) empty() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Back(); e != nil; e = s.order.Back() {
		s.drop(e)
	}
	clear(s.places)
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
	if k == nil || !w.stillThere(p, f, k) {
		return nil
	}
	return w.serveSlot(p, q, f.root, shown, w.area(f.root), k)
}

// look is a name that is to be of a type.
type look struct {
	dir  string
	want graph.FileType
}

// stillThere reports whether the anchors above a target are those that were found, as far
// as the check of the slot does not tell.
func (w *Workspace) stillThere(p *place, f *found, k *kept) bool {
	k.mu.Lock()
	if k.looksFor != f {
		k.looks, k.looksFor = looksAbove(p, f.root, k.slot.Vouched()), f
	}
	looks := k.looks
	k.mu.Unlock()
	for _, l := range looks {
		if t, err := p.scout.Look(l.dir, ".mwp"); err != nil || t != l.want {
			return false
		}
	}
	return true
}

// looksAbove returns where to look for anchors above a target: where one is, and where
// nothing vouches for there being none.
func looksAbove(p *place, root candidate, vouched map[string]bool) (looks []look) {
	seen := p.sightings
	for up, dir := 0, p.abs; ; up++ {
		rel, inside := below(root.dir, dir)
		switch {
		case len(seen) > 0 && seen[0].Up == up:
			looks = append(looks, look{dir, seen[0].Type})
			seen = seen[1:]
		case !inside || !vouched[rel]:
			looks = append(looks, look{dir, graph.Absent})
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return looks
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
