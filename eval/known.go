package eval

import (
	"sync"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// known is the part of a slot that a check found unchanged, while something else in it
// changed, or its time was over. It is kept of large slots, and of those with files
// that may be large. The evaluation that follows takes these leaves from here: after
// one edit in a tree of ten thousand directories it reads one file, and not all of
// them again to find that they have the digest that the slot says.
//
// What is here was trusted and had an equal lstat a moment ago, or was read then, which
// is all that the slot itself is served on.
type known struct {
	leaves []SlotLeaf
	// look says of each leaf which lstat it rests on, -1 for none; holds, whether it is
	// unchanged.
	look  []int32
	holds []bool
	// dirs are the paths that names were probed in, with the leaf that is their scan.
	dirs map[string]dirLook

	once sync.Once
	// index holds the leaves that hold, by kind and parameters; made when the first is
	// asked for.
	index map[string]int
}

// dirLook is an lstat by its index, and the leaf of the scan that rests on it too, -1
// for none.
type dirLook struct{ look, scan int32 }

// sharedKnowledge is what the worlds of one request know, by root.
type sharedKnowledge struct {
	mu    sync.Mutex
	roots map[string]*known // guarded by mu
}

// take returns what was left for a root, to the first who asks. A second evaluation of a
// request follows on a change, such as a module that was fetched.
func (s *sharedKnowledge) take(root string) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.roots[root]
	delete(s.roots, root)
	return k
}

func (s *sharedKnowledge) leave(root string, k *known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots == nil {
		s.roots = map[string]*known{}
	}
	s.roots[root] = k
}

func (k *known) makeIndex() {
	k.index = make(map[string]int, len(k.leaves))
	for i := range k.leaves {
		// A record's value has its age in it, which goes on while its file stays as it is.
		if l := &k.leaves[i]; k.holds[i] && l.Kind != graph.RecordKind.Name {
			k.index[l.Kind+"\x00"+string(l.Params)] = i
		}
	}
}

// reading returns a leaf that holds, nil when it is not known to.
func (k *known) reading(t graph.Task) *reading {
	k.once.Do(k.makeIndex)
	kind := t.Kind()
	i, ok := k.index[kind.Name+"\x00"+string(kind.EncodeParams(t))]
	if !ok {
		return nil
	}
	l := &k.leaves[i]
	return &reading{encoded: l.State, digest: cas.Sum(l.State), print: l.Print, trusted: l.Trusted, remembered: true}
}

// listing returns a directory's scan that holds, nil when there is none.
func (k *known) listing(w *World, rel string) *listing {
	d, ok := k.dirs[rel]
	if !ok || d.scan < 0 || !k.holds[d.scan] {
		return nil
	}
	l := &k.leaves[d.scan]
	t, err := graph.ScanKind.DecodeParams(l.Params)
	if err != nil {
		return nil
	}
	v, err := graph.ScanKind.DecodeValue(l.State)
	if err != nil {
		return nil
	}
	state := v.(graph.ScanState)
	if state.Type != graph.Directory || state.Denied {
		return nil
	}
	return newListing(w.names(t.(graph.Scan).Names), state.Entries, &reading{print: l.Print, trusted: l.Trusted})
}
