package eval

import (
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
	// may be served, in nanoseconds since 1970. Zero bounds nothing.
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
	cas.Slice(c, &s.Leaves, func(c *cas.Coder, l *SlotLeaf) {
		c.String(&l.Kind)
		c.Bytes(&l.Params)
		c.Bytes(&l.State)
		l.Print.code(c)
		c.Bool(&l.Trusted)
	})
	c.Bytes(&s.Edges)
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

// Check reports whether everything a slot rests on is as it was. changed is true
// when fingerprints in s were brought up to date, so that writing s again makes
// the next check cheaper. Whatever cannot be read counts as changed: the
// evaluation that follows says why.
func (w *World) Check(s *Slot, kinds func(name string) *graph.Kind) (ok, changed bool) {
	if now := w.now().UnixNano(); s.ValidFrom != 0 && now < s.ValidFrom || s.Expires != 0 && now >= s.Expires {
		return false, false
	}
	var lastPath string
	var last stat
	for i := range s.Leaves {
		l := &s.Leaves[i]
		k := kinds(l.Kind)
		if k == nil || !k.Leaf {
			return false, false
		}
		t, err := k.DecodeParams(l.Params)
		if err != nil {
			return false, false
		}
		if rel, plain := statPath(t); plain && l.Trusted {
			// The leaves of one directory follow each other and share its lstat.
			if rel != lastPath {
				if last, err = w.lstat(w.abs(rel)); err != nil {
					return false, false
				}
				lastPath = rel
			}
			if last.Fingerprint == l.Print {
				continue
			}
		}
		r, err := w.read(t)
		if err != nil || string(r.encoded) != string(l.State) {
			return false, false
		}
		if r.print != l.Print || r.trusted != l.Trusted {
			l.Print, l.Trusted, changed = r.print, r.trusted, true
		}
	}
	return true, changed
}

// NewSlot records a result of this evaluator: its leaves in the order in which
// the evaluation came to them, and its edges. ok is false when the task was not
// evaluated.
func (e *Evaluator) NewSlot(t graph.Task, result, meta []byte, created time.Time) (s *Slot, ok bool) {
	prov := e.Provenance(t)
	if prov == nil {
		return nil, false
	}
	s = &Slot{Result: result, Meta: meta, Created: created.UnixNano()}
	for _, step := range prov {
		if !step.Task.Kind().Leaf {
			continue
		}
		e.mu.Lock()
		p := e.promises[graph.ID(step.Task)]
		e.mu.Unlock()
		s.Leaves = append(s.Leaves, SlotLeaf{
			Kind: step.Task.Kind().Name, Params: step.Task.Kind().EncodeParams(step.Task),
			State: p.leaf.encoded, Print: p.leaf.print, Trusted: p.leaf.trusted,
		})
	}
	s.Edges = encodeEdges(prov)
	return s, true
}

// encodeEdges writes a provenance graph: the names of its kinds, then for each
// step its kind, parameters and dependencies. A leaf's parameters stand in the
// slot's leaves already, in the same order.
func encodeEdges(prov graph.Provenance) []byte {
	var names []string
	number := map[string]uint64{}
	for _, s := range prov {
		if name := s.Task.Kind().Name; number[name] == 0 {
			names = append(names, name)
			number[name] = uint64(len(names))
		}
	}
	var e cas.Encoder
	e.Count(len(names))
	for _, n := range names {
		e.String(n)
	}
	e.Count(len(prov))
	for i, s := range prov {
		k := s.Task.Kind()
		e.Uint(number[k.Name] - 1)
		if k.Leaf {
			continue
		}
		e.Bytes(k.EncodeParams(s.Task))
		e.Count(len(s.Needs))
		for _, n := range s.Needs {
			e.Uint(uint64(i - n)) // distances are small, indexes grow
		}
	}
	return e.Encoded()
}

// Provenance returns the graph that the slot's result was computed from, or an
// error when a kind is not known any more.
func (s *Slot) Provenance(kinds func(name string) *graph.Kind) (graph.Provenance, error) {
	d := cas.NewDecoder(s.Edges)
	names := make([]string, d.Count(1))
	for i := range names {
		names[i] = d.String()
	}
	leaves := s.Leaves
	prov := make(graph.Provenance, d.Count(1))
	for i := range prov {
		n := d.Uint()
		if n >= uint64(len(names)) {
			d.Fail("kind %d of %d", n, len(names))
			break
		}
		k := kinds(names[n])
		if k == nil {
			d.Fail("kind %s is not known", names[n])
			break
		}
		var params []byte
		if k.Leaf {
			if len(leaves) == 0 {
				d.Fail("more leaves than recorded")
				break
			}
			params, leaves = leaves[0].Params, leaves[1:]
			prov[i].Status = graph.Read
		} else {
			params = d.Bytes()
			prov[i].Needs = make([]int, d.Count(1))
			for j := range prov[i].Needs {
				back := d.Uint()
				if back == 0 || back > uint64(i) {
					d.Fail("step %d needs a later one", i)
					break
				}
				prov[i].Needs[j] = i - int(back)
			}
			prov[i].Status = graph.Hit
		}
		t, err := k.DecodeParams(params)
		if err != nil {
			d.Fail("%v", err)
			break
		}
		prov[i].Task = t
	}
	if err := d.Finish(); err != nil {
		return nil, err
	}
	return prov, nil
}
