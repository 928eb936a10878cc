package eval

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Slot is the result of one evaluation together with everything the world had to
// be for it: enough to serve it again after one lstat per leaf, without looking
// at any node.
type Slot struct {
	// Result is the answer's bytes as they were printed. Meta is what the caller
	// needs beside them; this package does not look into either.
	Result, Meta []byte
	// Created is when the result was computed; ValidFrom and Expires bound when it
	// may be served, by World's clock for ages, in nanoseconds since 1970. Zero bounds
	// nothing, and Expires itself is too late (D-46).
	Created, ValidFrom, Expires int64
	Leaves                      []SlotLeaf
	// Edges is the provenance graph of the result, see Provenance.
	Edges []byte
}

// SlotLeaf is one fact a result rests on.
type SlotLeaf struct {
	Kind   string
	Params []byte
	// State is the leaf's value in canonical encoding.
	State []byte
	// Print vouches for State: when Trusted, an equal lstat proves that the value
	// is unchanged; otherwise the leaf is read and compared.
	Print   Fingerprint
	Trusted bool
}

// statPath returns the root-relative path whose lstat vouches for the leaf, nil for
// a leaf that has none; it is a part of Params. For names in a directory it is the directory: its
// entries cannot appear, vanish or change type without changing its times. It
// reads the parameters in place, because rebuilding every leaf is a third of
// what a warm map allocates; what it cannot read is read properly later.
func (l *SlotLeaf) statPath() []byte {
	d := cas.NewDecoder(l.Params)
	switch l.Kind {
	case graph.FileKind.Name, graph.LinkKind.Name, graph.ListKind.Name, graph.ContentKind.Name, graph.RecordKind.Name:
		return d.Bytes()
	case graph.ProbeKind.Name:
		for range d.Count(1) {
			d.Bytes()
		}
		return d.Bytes()
	case graph.ScanKind.Name:
		d.Bytes()
		return d.Bytes()
	}
	return nil
}

// Vouched returns the root-relative directories of which the slot knows that no name has
// appeared or vanished in them as long as it is valid: it rests on names that were looked
// for there, and the lstat of the directory is trusted.
func (s *Slot) Vouched() map[string]bool {
	dirs := map[string]bool{}
	for i := range s.Leaves {
		if l := &s.Leaves[i]; l.Trusted && l.Kind == graph.ProbeKind.Name {
			if dir := l.statPath(); len(dir) > 0 {
				dirs[string(dir)] = true
			}
		}
	}
	return dirs
}

// Forget takes out of a slot by what this machine knows that its leaves are as they
// were, so that whoever gets the slot reads each of them once. It reports whether there
// was anything.
func (s *Slot) Forget() (had bool) {
	for i := range s.Leaves {
		l := &s.Leaves[i]
		had = had || l.Trusted || l.Print != Fingerprint{}
		l.Print, l.Trusted = Fingerprint{}, false
	}
	return had
}

const slotFormat = 1

func (s *Slot) code(c *cas.Coder) {
	format := uint8(slotFormat)
	if c.Uint8(&format); format != slotFormat {
		c.Fail("slot format %d", format)
	}
	c.Bytes(&s.Result)
	c.Bytes(&s.Meta)
	c.Int64(&s.Created)
	c.Int64(&s.ValidFrom)
	c.Int64(&s.Expires)
	var kinds nameTable
	var last frontCoder
	cas.Slice(c, &s.Leaves, func(c *cas.Coder, l *SlotLeaf) {
		kinds.code(c, &l.Kind)
		last.code(c, l.Kind, &l.Params)
		c.Bytes(&l.State)
		l.Print.code(c)
		c.Bool(&l.Trusted)
	})
	c.Bytes(&s.Edges)
}

// nameTable codes a name by its number, and in full where it first occurs: its
// number is then one more than any before.
type nameTable struct{ names []string }

func (t *nameTable) code(c *cas.Coder, name *string) {
	n := slices.Index(t.names, *name)
	if n < 0 {
		n = len(t.names)
	}
	if c.Int(&n); n < 0 || n > len(t.names) {
		c.Fail("name %d of %d", n, len(t.names))
		return
	}
	if n < len(t.names) {
		*name = t.names[n]
		return
	}
	if c.String(name); slices.Contains(t.names, *name) {
		c.Fail("the name %q is written twice", *name)
	}
	t.names = append(t.names, *name)
}

// frontCoder codes parameters as the number of bytes they share with the last
// ones of their kind, and the rest. The leaves of a cascade differ in little but
// a path's end, and parameters are most of a slot.
type frontCoder struct {
	// last holds the last parameters of each kind. There are few kinds, and a map would
	// be a third of the time it takes to read a slot.
	last []kindParams
	// room is memory for parameters that are read. Each has its own part of it: one
	// allocation for a hundred leaves.
	room []byte
	size int
}

type kindParams struct {
	kind   string
	params []byte
}

func (f *frontCoder) of(kind string) *kindParams {
	for i := range f.last {
		if f.last[i].kind == kind {
			return &f.last[i]
		}
	}
	f.last = append(f.last, kindParams{kind: kind})
	return &f.last[len(f.last)-1]
}

// The memory for parameters grows from what the leaves of a map take to a piece that
// costs nothing beside the leaves in it.
const (
	smallRoom = 512
	largeRoom = 32 << 10
)

// take returns n bytes that nobody else has.
func (f *frontCoder) take(n int) []byte {
	if n > len(f.room) {
		f.size = min(max(2*f.size, smallRoom), largeRoom)
		if n > f.size/4 {
			return make([]byte, n)
		}
		f.room = make([]byte, f.size)
	}
	b := f.room[:n:n]
	f.room = f.room[n:]
	return b
}

func (f *frontCoder) code(c *cas.Coder, kind string, params *[]byte) {
	at := f.of(kind)
	last := at.params
	shared := 0
	var rest []byte
	if !c.Decoding() {
		shared = commonPrefix(last, *params)
		rest = (*params)[shared:]
	}
	if c.Int(&shared); shared < 0 || shared > len(last) {
		c.Fail("%d bytes shared of %d", shared, len(last))
		return
	}
	c.Bytes(&rest)
	if c.Decoding() {
		if len(rest) > 0 && shared < len(last) && rest[0] == last[shared] {
			c.Fail("more bytes are shared than the %d written", shared)
		}
		p := f.take(shared + len(rest))
		copy(p, last[:shared])
		copy(p[shared:], rest)
		*params = p
	}
	at.params = *params
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// EncodeSlot returns s in canonical encoding.
func EncodeSlot(s *Slot) []byte {
	return cas.EncodeValue(s, func(c *cas.Coder, s *Slot) { s.code(c) })
}

// DecodeSlot is the inverse of EncodeSlot. It fails on anything else.
func DecodeSlot(b []byte) (*Slot, error) {
	s, err := cas.DecodeValue(b, func(c *cas.Coder, s *Slot) { s.code(c) })
	return &s, err
}

// manyLeaves is from where on a slot's leaves are looked at by all processors, each
// directory once. Below, starting that costs more than it saves.
const manyLeaves = 1000

// Check reports whether everything a slot rests on is as it was. changed is true
// when fingerprints in s were brought up to date, so that writing s again makes
// the next check cheaper. Whatever cannot be read counts as changed: the
// evaluation that follows says why.
func (w *World) Check(s *Slot, kinds func(name string) *graph.Kind) (ok, changed bool) {
	timely := window{s.ValidFrom, s.Expires}.holds(w.age())
	if len(s.Leaves) > manyLeaves {
		return w.checkAtOnce(s, kinds, timely)
	}
	if timely {
		ok, changed = w.checkInTurn(s, kinds)
	}
	if !ok && slices.ContainsFunc(s.Leaves, func(l SlotLeaf) bool { return l.Kind == graph.ContentKind.Name }) {
		// Among the few may be files of any size, which are not hashed again because of
		// another.
		k, _ := w.unchanged(s, timeless)
		w.shared.leave(w.root, k)
	}
	return ok, changed
}

// checkInTurn looks at one leaf after the other and stops at the first that changed.
// The leaves of one directory follow each other and share its lstat; the records of
// one file do not, and share it too.
func (w *World) checkInTurn(s *Slot, kinds func(name string) *graph.Kind) (ok, changed bool) {
	believer := believer{ledger: w.Ledger}
	var last, lastRecord lastLook
	// The names that guards rest on are probed one by one, in a few directories.
	var probed []lastLook
	for i := range s.Leaves {
		l := &s.Leaves[i]
		if rel := l.statPath(); len(rel) > 0 && l.Trusted {
			at := &last
			switch l.Kind {
			case graph.RecordKind.Name:
				at = &lastRecord
			case graph.ProbeKind.Name:
				if i := slices.IndexFunc(probed, func(p lastLook) bool { return string(rel) == p.rel }); i >= 0 {
					at = &probed[i]
				} else if len(probed) < fewDirs {
					probed = append(probed, last)
					at = &probed[len(probed)-1]
				}
			}
			if string(rel) != at.rel {
				s, err := w.lstat(w.abs(string(rel)))
				if err != nil {
					return false, false
				}
				at.rel, at.print = string(rel), s.Fingerprint
			}
			if at.print == l.Print && believer.believes(l) {
				continue
			}
		}
		same, renewed := w.again(l, kinds)
		if !same {
			return false, false
		}
		changed = changed || renewed
	}
	return true, changed
}

// fewDirs bounds the directories whose lstat is kept while a slot is checked in turn:
// each of up to a thousand leaves is compared with all of them.
const fewDirs = 64

// lastLook is the last lstat and its path, relative to the root.
type lastLook struct {
	rel   string
	print Fingerprint
}

// again reads a leaf whose lstat does not vouch for it, and reports whether its value
// is the same and whether its fingerprint had to be brought up to date.
func (w *World) again(l *SlotLeaf, kinds func(name string) *graph.Kind) (same, renewed bool) {
	k := kinds(l.Kind)
	if k == nil || !k.Leaf {
		return false, false
	}
	t, err := k.DecodeParams(l.Params)
	if err != nil {
		return false, false
	}
	r, err := w.read(t)
	if err != nil || string(r.encoded) != string(l.State) {
		return false, false
	}
	renewed = r.print != l.Print || r.trusted != l.Trusted
	l.Print, l.Trusted = r.print, r.trusted
	return true, renewed
}

// checkAtOnce takes the lstat of every path that the leaves need first, once each and
// on all processors, and then reads what these do not vouch for. What it found
// unchanged is left to the evaluation when the slot as a whole does not hold. A slot
// whose time is over is only looked through for that.
func (w *World) checkAtOnce(s *Slot, kinds func(name string) *graph.Kind, timely bool) (ok, changed bool) {
	believes := timeless
	if timely {
		believes = (&believer{ledger: w.Ledger}).believes
	}
	k, rest := w.unchanged(s, believes)
	w.known.Store(k)
	if timely {
		ok, changed = w.againAll(k, rest, kinds)
	}
	if !ok {
		w.shared.leave(w.root, k)
		return false, false
	}
	return true, changed
}

// unchanged returns what lstat finds unchanged of a slot and believes agrees to, and
// the leaves of which that is not so.
func (w *World) unchanged(s *Slot, believes func(*SlotLeaf) bool) (k *known, rest []int) {
	k = &known{leaves: s.Leaves, holds: make([]bool, len(s.Leaves))}
	looks := w.looksOf(k)
	w.lookAtAll(looks)
	for i := range s.Leaves {
		l := &s.Leaves[i]
		at := k.look[i]
		if at < 0 || looks[at].failed || looks[at].print != l.Print || !believes(l) {
			rest = append(rest, i)
			continue
		}
		k.holds[i] = true
	}
	return k, rest
}

// againAll reads leaves of k until one is not the same. After a clone, or where no time
// stamp can be believed, that is all of them. A file that is the same is held to be so
// from then on, because to hash it is what costs.
func (w *World) againAll(k *known, rest []int, kinds func(name string) *graph.Kind) (ok, changed bool) {
	var differ, renew atomic.Bool
	same := make([]bool, len(rest))
	each(len(rest), 1, func(i int) bool {
		leafSame, renewed := w.again(&k.leaves[rest[i]], kinds)
		if same[i] = leafSame; !leafSame {
			differ.Store(true)
		}
		if renewed {
			renew.Store(true)
		}
		return !differ.Load()
	})
	for i, leaf := range rest {
		if same[i] && k.leaves[leaf].Kind == graph.ContentKind.Name {
			k.holds[leaf] = true
		}
	}
	return !differ.Load(), renew.Load()
}

// look is the lstat of one path that leaves rest on.
type look struct {
	path   string // absolute
	print  Fingerprint
	failed bool
}

// looksOf returns the paths that trusted leaves rest on, and notes in k which leaf
// rests on which. Several probes may rest on one directory, and the scan of it too, and
// all records on one file; there is only one file, and one scan, of a path.
func (w *World) looksOf(k *known) (looks []look) {
	k.look = make([]int32, len(k.leaves))
	k.dirs = map[string]dirLook{}
	prefix := w.abs("")
	add := func(rel []byte) string {
		l := look{path: prefix + string(rel)}
		rest := l.path[len(prefix):]
		if strings.HasPrefix(rest, "../") {
			l.path = w.abs(rest)
		}
		looks = append(looks, l)
		return rest
	}
	single := func(l *SlotLeaf) bool {
		return l.Kind == graph.ScanKind.Name || l.Kind == graph.FileKind.Name || l.Kind == graph.ContentKind.Name
	}
	for i := range k.leaves {
		l := &k.leaves[i]
		k.look[i] = -1
		rel := l.statPath()
		if len(rel) == 0 || !l.Trusted || single(l) {
			continue
		}
		d, ok := k.dirs[string(rel)]
		if !ok {
			d = dirLook{look: int32(len(looks)), scan: -1}
			k.dirs[add(rel)] = d
		}
		k.look[i] = d.look
	}
	looks = slices.Grow(looks, len(k.leaves)-len(looks))
	for i := range k.leaves {
		l := &k.leaves[i]
		if !l.Trusted || !single(l) {
			continue
		}
		rel := l.statPath()
		if d, ok := k.dirs[string(rel)]; ok && l.Kind == graph.ScanKind.Name {
			k.look[i] = d.look
			d.scan = int32(i)
			k.dirs[string(rel)] = d
		} else if len(rel) > 0 {
			k.look[i] = int32(len(looks))
			add(rel)
		}
	}
	return looks
}

// lookAtAll takes every lstat.
func (w *World) lookAtAll(looks []look) {
	each(len(looks), 64, func(i int) bool {
		s, err := w.lstat(looks[i].path)
		looks[i].print, looks[i].failed = s.Fingerprint, err != nil
		return true
	})
}

// each calls do for every number below n, on as many processors as there are batches
// for. Each processor stops when do returns false to it.
func each(n, batch int, do func(i int) bool) {
	var next atomic.Int64
	work := func() {
		for {
			from := int(next.Add(int64(batch))) - batch
			for i := from; i < min(from+batch, n); i++ {
				if !do(i) {
					return
				}
			}
			if from >= n {
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+batch-1)/batch) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// NewSlot records a result of this evaluator: its leaves in the order in which
// the evaluation came to them, from when and until when they are what they are, and,
// when edges is set, what led from them to it. ok is false when the task was not
// evaluated, or rests on a failure.
func (e *Evaluator) NewSlot(t graph.Task, result, meta []byte, created time.Time, edges bool) (s *Slot, ok bool) {
	ps := e.beneath(t)
	if ps == nil || ps[len(ps)-1].passing {
		return nil, false
	}
	n := 0
	var valid window
	for _, p := range ps {
		if p.leaf != nil {
			n++
		}
	}
	s = &Slot{Result: result, Meta: meta, Created: created.UnixNano(), Leaves: make([]SlotLeaf, 0, n)}
	for _, p := range ps {
		if p.leaf != nil {
			k := p.task.Kind()
			s.Leaves = append(s.Leaves, SlotLeaf{
				Kind: k.Name, Params: k.EncodeParams(p.task), State: p.leaf.encoded, Print: p.leaf.print, Trusted: p.leaf.trusted,
			})
			valid = valid.within(p.leaf.window)
		}
	}
	s.ValidFrom, s.Expires = valid.from, valid.until
	if edges {
		s.Edges = encodeEdges(e.Provenance(t))
	}
	return s, true
}

// edge is one step of a provenance graph as a slot keeps it.
type edge struct {
	kind   string
	params []byte // nil for a leaf, whose parameters stand in the slot's leaves
	// back holds the distances to the steps it needs: distances are small, indexes
	// grow.
	back []int
}

func codeEdges(c *cas.Coder, edges *[]edge) {
	var kinds nameTable
	var last frontCoder
	cas.Slice(c, edges, func(c *cas.Coder, e *edge) {
		kinds.code(c, &e.kind)
		last.code(c, e.kind, &e.params)
		cas.Slice(c, &e.back, (*cas.Coder).Int)
	})
}

// encodeEdges writes a provenance graph. A leaf's parameters are not repeated:
// leaves come in the same order as in the slot.
func encodeEdges(prov graph.Provenance) []byte {
	edges := make([]edge, len(prov))
	for i, s := range prov {
		k := s.Task.Kind()
		edges[i].kind = k.Name
		if k.Leaf {
			continue
		}
		edges[i].params = k.EncodeParams(s.Task)
		for _, n := range s.Needs {
			edges[i].back = append(edges[i].back, i-n)
		}
	}
	return cas.EncodeValue(&edges, codeEdges)
}

// Provenance returns the graph that the slot's result was computed from, or an
// error when a kind is not known any more.
func (s *Slot) Provenance(kinds func(name string) *graph.Kind) (graph.Provenance, error) {
	edges, err := cas.DecodeValue(s.Edges, codeEdges)
	if err != nil {
		return nil, err
	}
	leaves := s.Leaves
	prov := make(graph.Provenance, len(edges))
	for i, e := range edges {
		k := kinds(e.kind)
		if k == nil {
			return nil, fmt.Errorf("the kind %q is not known", e.kind)
		}
		params := e.params
		prov[i].Status = graph.Hit
		if k.Leaf {
			if len(leaves) == 0 {
				return nil, errors.New("more leaves than were recorded")
			}
			params, leaves = leaves[0].Params, leaves[1:]
			prov[i].Status = graph.Read
		}
		for _, back := range e.back {
			if back <= 0 || back > i {
				return nil, fmt.Errorf("step %d needs a later one", i)
			}
			prov[i].Needs = append(prov[i].Needs, i-back)
		}
		if prov[i].Task, err = k.DecodeParams(params); err != nil {
			return nil, err
		}
	}
	return prov, nil
}
