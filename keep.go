package mwp

import (
	"container/list"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
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
}

// kept is a slot on the shelf.
type kept struct {
	key  cas.Key
	size int

	// mu is held while the slot is looked at: checking one renews its fingerprints.
	mu   sync.Mutex
	slot *eval.Slot // guarded by mu
	meta slotMeta
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
	return &shelf{limit: limit, slots: map[cas.Key]*list.Element{}, order: list.New()}
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

// decoded returns the map that the slot's result encodes, nil when it encodes none. The
// caller holds mu.
func (k *kept) decoded() *shown {
	if k.shown == nil {
		k.shown, _ = showing(k.slot.Result)
	}
	return k.shown
}
