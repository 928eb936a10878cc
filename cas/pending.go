package cas

import "bytes"

// pending is what was put and not written: a log in the order of the puts and two
// ways into it. The order is kept because a segment that is cut short then holds
// no action without the values put before it.
type pending struct {
	log     []entry
	values  map[Digest]int // position in log
	actions map[Key][]int  // positions in log, oldest first
	bytes   int
}

// entry is one value or action.
type entry struct {
	kind recordKind
	key  [32]byte
	b    []byte
	dead bool // a later put of the same key replaced it
}

// value returns the pending value of d.
func (p *pending) value(d Digest) ([]byte, bool) {
	i, ok := p.values[d]
	if !ok {
		return nil, false
	}
	return p.log[i].b, true
}

// putValue adds a value unless it is there already.
func (p *pending) putValue(d Digest, b []byte) {
	if _, ok := p.values[d]; ok {
		return
	}
	if p.values == nil {
		p.values = map[Digest]int{}
	}
	p.values[d] = len(p.log)
	p.add(entry{kind: valueRecord, key: d, b: b})
}

// putAction adds an action as the newest of its key. An equal one moves up, and
// only MaxActions remain.
func (p *pending) putAction(k Key, b []byte) {
	old := p.actions[k]
	kept := make([]int, 0, len(old)+1)
	for _, i := range old {
		if bytes.Equal(p.log[i].b, b) {
			p.kill(i)
		} else {
			kept = append(kept, i)
		}
	}
	if len(kept) == MaxActions {
		p.kill(kept[0])
		kept = kept[1:]
	}
	if p.actions == nil {
		p.actions = map[Key][]int{}
	}
	p.actions[k] = append(kept, len(p.log))
	p.add(entry{kind: actionRecord, key: k, b: b})
}

// newest returns the pending actions of k, newest first.
func (p *pending) newest(k Key) [][]byte {
	at := p.actions[k]
	out := make([][]byte, 0, len(at))
	for i := len(at) - 1; i >= 0; i-- {
		out = append(out, p.log[at[i]].b)
	}
	return out
}

func (p *pending) add(e entry) {
	p.log = append(p.log, e)
	p.bytes += len(e.b)
}

func (p *pending) kill(i int) {
	p.bytes -= len(p.log[i].b)
	p.log[i].b = nil
	p.log[i].dead = true
}

// drop forgets the first n entries of the log, which have been written.
func (p *pending) drop(n int) {
	rest := p.log[n:]
	*p = pending{}
	for _, e := range rest {
		switch {
		case e.dead:
		case e.kind == valueRecord:
			p.putValue(e.key, e.b)
		default:
			p.putAction(e.key, e.b)
		}
	}
}

// live returns a copy of the entries that were not replaced.
func (p *pending) live() []entry {
	out := make([]entry, 0, len(p.log))
	for _, e := range p.log {
		if !e.dead {
			out = append(out, e)
		}
	}
	return out
}
