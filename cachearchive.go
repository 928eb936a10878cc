package mwp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// CacheArchive is what ExportCache wrote or ImportCache read.
type CacheArchive struct {
	// Bytes is the size of the file; Records and Slots are the entries in it, of which
	// ImportCache adds those that the cache lacks.
	Bytes          int64
	Records, Slots int
	// Signer names the key that vouches for it, "" for nobody's.
	Signer string
	// Ignored says why ImportCache took nothing, nil when it took what there was.
	Ignored error
}

// ExportCache writes an archive of the part of the cache that the workspace around
// Options.Dir reaches as it is now: what lint and targets rest on, brought up to date
// first, and every answer that still holds. It goes by content, so it is of use in
// any checkout of the same files: no path outside the root, no time stamp and no inode
// is in it, and neither are modules, results of guards or sessions. The user's key, when
// there is one, vouches for it.
func (w *Workspace) ExportCache(ctx context.Context, out io.Writer) (*CacheArchive, error) {
	p, s, err := w.enter(ctx, "")
	if err != nil {
		return nil, err
	}
	if s.area == nil {
		return nil, environment(ir.NoRoot, nil, "make an anchor with `mwp init`, or name a place with --cache-dir", "nothing is kept for %s: the root has no .mwp", s.dir)
	}
	key, err := w.user.open()
	if err != nil {
		return nil, guardError(err)
	}
	x := &exporter{s: s, reached: map[cas.Key]*reached{}}
	slots := x.slots()
	if err := x.walk(ctx, fromOf(p, s.candidate)); err != nil {
		return nil, err
	}
	if err := s.store.Flush(); err != nil && s.area.Check() == nil && !errors.Is(err, fs.ErrPermission) {
		return nil, environment(ir.Unreadable, err, "", "cannot write the cache %s: %s", s.area.Dir(), reason(err))
	}
	records := x.records()
	c := &CacheArchive{}
	a := cas.NewArchiveWriter(out)
	for _, e := range append(records, slots...) {
		if len(e.Payload) > cas.MaxEntry {
			continue // computed anew elsewhere
		}
		if err := a.Add(e); err != nil {
			return nil, err
		}
		if e.Kind == cas.SlotEntry {
			c.Slots++
		} else {
			c.Records++
		}
	}
	c.Bytes, err = a.Close(func(d cas.Digest) cas.Seal {
		seal := key.SealArchive(d)
		c.Signer = seal.Signer
		return seal
	})
	return c, err
}

// exporter gathers what a workspace reaches.
type exporter struct {
	s *session
	// tasks are the questions whose answers still hold.
	tasks []graph.Task

	mu      sync.Mutex
	reached map[cas.Key]*reached // guarded by mu
}

// reached is a node's trace as it stands.
type reached struct {
	value  cas.Digest
	inline bool
	trace  []byte
	needs  []cas.Key
	// run is set for what came of a guard, and for all that rests on it.
	run, settled bool
}

// slots returns every answer that holds now, in the order of keys, without the time
// stamps by which this machine knows that it does.
func (x *exporter) slots() []cas.Entry {
	var out []cas.Entry
	area := x.s.area.Slots()
	for _, key := range area.Recent(maxExported) {
		b, err := area.Read(key)
		if err != nil {
			continue
		}
		slot, err := eval.DecodeSlot(b)
		if err != nil {
			continue
		}
		var task text
		if len(slot.Edges) > 0 {
			// The last step is the question. One that has another key now was asked of
			// another version of the program.
			prov, err := slot.Provenance(kindByName)
			if err != nil || len(prov) == 0 {
				continue
			}
			n, ok := prov[len(prov)-1].Task.(text)
			if !ok || slotKey(n) != key {
				continue
			}
			task = n
		}
		if ok, _ := x.s.world.Check(slot, kindByName); !ok || slices.ContainsFunc(slot.Leaves, restsOnRun) {
			continue
		}
		if task != nil {
			x.tasks = append(x.tasks, task)
		}
		slot.Forget()
		out = append(out, cas.Entry{Kind: cas.SlotEntry, ID: key, Payload: eval.EncodeSlot(slot)})
	}
	sortEntries(out)
	return out
}

// restsOnRun reports whether a fact is what came of a guard. Such results go to another
// machine by the file that is for that, and only by it (D-117).
func restsOnRun(l eval.SlotLeaf) bool {
	return l.Kind == graph.RecordKind.Name && !bytes.Equal(l.State, graph.RecordKind.EncodeValue(graph.RecordState{}))
}

// maxExported bounds the answers in an archive.
const maxExported = 100_000

func sortEntries(es []cas.Entry) {
	slices.SortFunc(es, func(a, b cas.Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// walk evaluates what a checkout is asked for, and notes the traces that this rests on.
// What does not hold any more is computed and kept.
func (x *exporter) walk(ctx context.Context, from string) error {
	ev := eval.New(eval.Config{World: x.s.world, Kinds: nodes.Kinds(), Store: x.s.store, Observe: x.observe})
	var lint nodes.LintText
	lint.From, lint.Explicit = from, x.s.explicit
	var targets nodes.TargetsText
	targets.From, targets.Explicit, targets.Under = from, x.s.explicit, "."
	for _, t := range append([]graph.Task{lint, targets}, x.tasks...) {
		if _, err := ev.Eval(ctx, t); errors.Is(err, graph.ErrUnbuildable) {
			continue
		} else if err != nil {
			return worldError(err)
		}
	}
	return nil
}

func (x *exporter) observe(e eval.Event) {
	r := &reached{value: e.Value}
	switch {
	case e.Trace != nil:
		r.inline, r.trace = e.Trace.HasInline, graph.EncodeTrace(e.Trace)
		for _, g := range e.Trace.Groups {
			for _, d := range g {
				r.needs = append(r.needs, graph.ID(d.Task))
			}
		}
	case e.Task.Kind().Name == graph.RecordKind.Name:
		r.run = e.Value != cas.Sum(graph.RecordKind.EncodeValue(graph.RecordState{}))
	default:
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reached[e.ID] = r
}

// restsOnRun is restsOnRun for a node.
func (x *exporter) restsOnRun(id cas.Key) bool {
	r := x.reached[id]
	if r == nil {
		return false
	}
	if !r.settled {
		r.settled = true
		r.run = r.run || slices.ContainsFunc(r.needs, x.restsOnRun)
	}
	return r.run
}

// records returns the reached traces that the store has, with their values. One that it
// does not have rests on a failure of this moment.
func (x *exporter) records() []cas.Entry {
	var out []cas.Entry
	values := map[cas.Digest]bool{}
	for id, r := range x.reached {
		if r.trace == nil || x.restsOnRun(id) || !slices.ContainsFunc(x.s.store.Actions(id), func(b []byte) bool { return bytes.Equal(b, r.trace) }) {
			continue
		}
		if !r.inline && !values[r.value] {
			b, err := x.s.store.Value(r.value)
			if err != nil {
				continue
			}
			values[r.value] = true
			out = append(out, cas.Entry{Kind: cas.ValueEntry, ID: r.value, Payload: b})
		}
		out = append(out, cas.Entry{Kind: cas.ActionEntry, ID: id, Payload: r.trace})
	}
	sortEntries(out)
	return out
}

// ErrUnsigned is why ImportCache ignores an archive that this user's key does not vouch
// for.
var ErrUnsigned = errors.New("not signed with this user's key")

// ImportCache adds what an archive holds to the cache of the workspace around
// Options.Dir. An archive that is damaged, cut off, or of another version of the format
// is ignored as a whole, and so is one that this user's key does not vouch for, unless
// anybody is set: a cache is believed, and whoever writes one decides what maps say.
// The error is of the environment; that of an archive is in CacheArchive.Ignored.
func (w *Workspace) ImportCache(ctx context.Context, in io.Reader, anybody bool) (*CacheArchive, error) {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		return nil, err
	}
	if s.area == nil {
		return &CacheArchive{Ignored: errors.New("the root has no .mwp, so that nothing is kept")}, nil
	}
	key, err := w.user.open()
	if err != nil {
		return nil, guardError(err)
	}
	if err := cmp.Or(w.anchorHere(s.candidate), s.area.Check(), tryWrite(s.area.Dir())); err != nil {
		return &CacheArchive{Ignored: fmt.Errorf("the cache cannot be written: %w", Innermost(err))}, nil
	}
	f, size, err := privateCopy(ctx, in)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, environment(ir.Unreadable, err, "", "cannot copy the archive: %s", reason(err))
	}
	defer os.Remove(f.Name())
	defer f.Close()
	c := &CacheArchive{Bytes: size}
	a, err := cas.OpenArchive(f, size)
	if err != nil {
		c.Ignored = err
		return c, nil
	}
	c.Signer = a.Seal.Signer
	if !anybody && !key.VouchesFor(a) {
		c.Ignored = ErrUnsigned
		return c, nil
	}
	if err := a.Each(c.count); err != nil {
		c.Records, c.Slots, c.Ignored = 0, 0, err
		return c, nil
	}
	if err := s.take(a); err != nil {
		return nil, environment(ir.Unreadable, err, "", "cannot write the cache %s: %s", s.area.Dir(), reason(err))
	}
	return c, nil
}

// privateCopy copies an archive to where nobody changes it between the check of its
// bytes and their use. What comes through a pipe may never end; then the copy is left to
// the end of the process.
func privateCopy(ctx context.Context, in io.Reader) (*os.File, int64, error) {
	f, err := os.CreateTemp("", "mwp-archive-")
	if err != nil {
		return nil, 0, err
	}
	// Where an open file may lose its name, nothing is left of it whatever happens.
	os.Remove(f.Name())
	type copied struct {
		n   int64
		err error
	}
	done := make(chan copied, 1)
	go func() {
		n, err := io.Copy(f, io.LimitReader(in, cas.MaxArchive+1))
		done <- copied{n, err}
	}()
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case c := <-done:
		if c.err != nil {
			f.Close()
			os.Remove(f.Name())
		}
		return f, c.n, c.err
	}
}

// count counts an entry, and refuses what an export does not write.
func (c *CacheArchive) count(e cas.Entry) error {
	if e.Kind != cas.SlotEntry {
		c.Records++
		return nil
	}
	c.Slots++
	slot, err := eval.DecodeSlot(e.Payload)
	if err != nil {
		return fmt.Errorf("%w: the slot %s: %w", cas.ErrNoArchive, cas.Key(e.ID), err)
	}
	if slot.Forget() {
		return fmt.Errorf("%w: the slot %s has another machine's time stamps", cas.ErrNoArchive, cas.Key(e.ID))
	}
	return nil
}

// pendingImport is how many bytes are taken before they are written, with what it costs to
// keep an entry in mind.
const pendingImport, perEntry = 8 << 20, 256

// take adds what the cache lacks; the store itself writes nothing twice. A slot that is
// there knows this machine's time stamps and stays.
func (s *session) take(a *cas.Archive) error {
	slots := s.area.Slots()
	pending := 0
	err := a.Each(func(e cas.Entry) error {
		switch e.Kind {
		case cas.ValueEntry:
			s.store.PutValue(e.ID, e.Payload)
		case cas.ActionEntry:
			s.store.PutAction(e.ID, e.Payload)
		default:
			if _, err := slots.Read(e.ID); err == nil {
				return nil
			}
			return slots.Write(e.ID, e.Payload)
		}
		if pending += len(e.Payload) + perEntry; pending < pendingImport {
			return nil
		}
		pending = 0
		return s.store.Flush()
	})
	return cmp.Or(err, s.store.Flush())
}
