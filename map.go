package mwp

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Request is one question for a map.
type Request struct {
	// Target is a path, absolute or relative to Options.Dir; "" asks for the
	// orientation map of the workspace around Options.Dir (D-11).
	Target string
	// Format is how the map is written.
	Format nodes.Format
	// NoRoot leaves the absolute root out of a JSON map, for comparing (D-49).
	NoRoot bool
	// Window, when Set, replaces every declared window (D-15).
	Window nodes.OptionalInt
	// Overrides replace configured budgets and the token counter (D-70).
	Overrides nodes.Overrides
	// AllowFloating accepts imports of branches (D-33).
	AllowFloating bool
	// Relative, when set, writes in text formats how long before it guards passed,
	// instead of when (D-49).
	Relative time.Time
	// Annotate, ASCII, NotLoaded and Color select details of text formats.
	Annotate, ASCII, NotLoaded, Color bool
}

// Result is the answer to a Request.
type Result struct {
	// Text is the map as asked for, complete.
	Text []byte
	// Notices are the findings worth a line on stderr.
	Notices []ir.Diagnostic
	// Findings counts error-severity findings in the map, or errors in a lint report,
	// and Warnings the warnings of a lint report; ReadOnly repeats the map's flag;
	// Strict is set when the configuration asks to fail on either (D-38).
	Findings, Warnings int
	ReadOnly, Strict   bool
	// Missing are git imports that are not in the map and that a fetch could provide,
	// as written.
	Missing []string
	// Root is the absolute workspace root; Target is relative to it, "" for an
	// orientation map.
	Root, Target string
	// Served is set when the answer came from its slot.
	Served bool
	// Stats counts what was evaluated; all zero when Served.
	Stats eval.Stats
	// World counts the file system calls behind the answer.
	World *eval.Counters

	// refused is set when there is no map; an empty text may be a good answer.
	refused bool
	// state is where the root keeps generated files, "" for one without an anchor.
	state string
	// shown is the map that the text encodes, when it is at hand.
	shown  *shown
	record func() error
}

// Record writes what the next call will be served from. It is separate from Map
// so that a caller can print first: encoding takes longer than answering. An
// error means that nothing was kept, or, when it matches ErrNotTrimmed, that the
// upkeep failed; the answer is as good without.
func (r *Result) Record() error {
	if r.record == nil {
		return nil
	}
	record := r.record
	r.record = nil
	return record()
}

var slotKeys = cas.Derive("mwp slot v1")

// slotKey identifies a text within one workspace: BLAKE3, derived for
// "mwp slot v1", over the versions of all kinds and the node's name and parameters,
// which are the target and every option (architecture section 4). The anchors above
// are leaves of the slot, with levels and content, so a changed one is a miss.
func slotKey(n text) cas.Key {
	var e cas.Encoder
	for _, k := range nodes.Kinds() {
		e.String(k.Name)
		e.Uint(uint64(k.Version))
	}
	e.String(n.Kind().Name)
	e.Bytes(n.Kind().EncodeParams(n))
	return slotKeys.Key(e.Encoded())
}

// slotMeta is what a slot holds beside the text: what the caller needs with it,
// and the counts of the run that computed it, for `mwp cache status`.
type slotMeta struct {
	rendered               nodes.RenderedValue
	target                 string
	hits, computed, leaves int64
}

func codeSlotMeta(c *cas.Coder, m *slotMeta) {
	nodes.CodeRenderedMeta(c, &m.rendered)
	c.String(&m.target)
	c.Int64(&m.hits)
	c.Int64(&m.computed)
	c.Int64(&m.leaves)
}

// text is a node whose value is what a command prints.
type text = graph.Node[nodes.RenderedValue]

// question is what a command asks of a workspace.
type question struct {
	// target is the path asked about, "" for Options.Dir.
	target string
	// node returns the node that answers it from one candidate root, and the target
	// as seen from there, "" for the whole workspace. from is the nearest anchor's
	// directory.
	node func(c candidate, from string) (n text, target string)
	// noRoot leaves the root out of a JSON map.
	noRoot bool
	// edges keeps the provenance graph in the slot, for explain.
	edges bool
	// fetch is set when missing modules may be fetched.
	fetch bool
	// floating accepts branches.
	floating bool
	// decoded asks for the map that the text encodes.
	decoded bool
}

// question returns the request as a question.
func (q *Request) question() question {
	return question{target: q.Target, node: q.node, noRoot: q.NoRoot, edges: true, fetch: true, floating: q.AllowFloating}
}

// node returns the node that answers a request from one candidate root.
func (q *Request) node(c candidate, from string) (text, string) {
	n := q.rendered(c, from)
	if n.Orientation {
		return n, ""
	}
	return n, n.Target
}

func (q *Request) rendered(c candidate, from string) nodes.Rendered {
	orientation := q.Target == "" || c.target == "."
	n := nodes.Rendered{Format: q.Format, Annotate: q.Annotate, ASCII: q.ASCII, NotLoaded: q.NotLoaded, Color: q.Color}
	n.Overrides = q.Overrides
	n.Layers = nodes.Layers{
		Target: c.target, Explicit: c.explicit, Orientation: orientation, Window: q.Window, AllowFloating: q.AllowFloating,
	}
	n.From = c.target
	if orientation {
		n.Target, n.From = ".", from
	}
	return n
}

// Map answers a request. The error is a *Refusal, *EnvironmentError or
// *UsageError, or the context's.
func (w *Workspace) Map(ctx context.Context, q Request) (*Result, error) {
	r, err := w.answer(ctx, q.question())
	if err == nil && !q.Relative.IsZero() {
		err = w.relative(ctx, &q, r)
	}
	return r, err
}

// relative renders a map anew with the ages of its guards' results. They change with
// every second, so they are part of no node and of no slot.
func (w *Workspace) relative(ctx context.Context, q *Request, r *Result) error {
	var m nodes.Rendered
	p, err := w.find(w.orDir(q.Target))
	if err != nil {
		return err
	}
	s, _, err := w.locate(ctx, p)
	if err != nil {
		return err
	}
	m = q.rendered(s.candidate, fromOf(p, s.candidate))
	x, err := s.ev.Eval(ctx, m.Map)
	if err != nil {
		return worldError(err)
	}
	v := x.(nodes.MapValue)
	if len(v.Refusal) > 0 {
		return &Refusal{Diagnostics: v.Refusal}
	}
	if text, ok := m.Text(&v.IR, q.Relative); ok {
		r.Text = text
	}
	return nil
}

// answer serves a question from its slot, or computes it.
func (w *Workspace) answer(ctx context.Context, q question) (*Result, error) {
	target := w.orDir(q.target)
	if w.kept != nil && !w.o.Fresh && !w.o.VerifyCache && target != "" && len(target) <= maxTarget && !strings.ContainsRune(target, 0) {
		if r := w.recall(target, &q); r != nil && !(w.mayFetch(&q) && len(r.Missing) > 0) {
			return r, r.refusal()
		}
	}
	p, err := w.find(target)
	if err != nil {
		return nil, err
	}
	if !w.o.Fresh && !w.o.VerifyCache {
		// A map without a module that could be fetched now is not the best answer.
		if r := w.serve(p, &q); r != nil && !(w.mayFetch(&q) && len(r.Missing) > 0) {
			return r, r.refusal()
		}
	}
	if fixed := onDisk(p); q.target != "" && fixed != "" && fixed != p.abs {
		q.target = fixed
		return w.answer(ctx, q)
	}
	const tries = 3
	for i := 1; ; i++ {
		r, err := w.compute(ctx, p, &q)
		if !errors.Is(err, nodes.ErrMoved) || i == tries {
			return r, err
		}
		if p, err = w.find(target); err != nil {
			return nil, err
		}
	}
}

// onDisk returns a place's path as the file system spells it, "" where every
// spelling is a file of its own (D-100).
func onDisk(p *place) string {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return ""
	}
	c := p.candidates[0]
	return filepath.Join(c.dir, filepath.FromSlash(eval.OnDiskCase(c.dir, c.target)))
}

// fromOf returns the nearest anchor's directory as seen from a candidate.
func fromOf(p *place, c candidate) string {
	if from, ok := below(c.dir, p.candidates[0].dir); ok {
		return from
	}
	return "."
}

// serve looks for a slot whose every leaf is as it was, nearest anchor first.
func (w *Workspace) serve(p *place, q *question) *Result {
	for _, c := range p.candidates {
		area := w.area(c)
		if area == nil && w.kept == nil {
			continue
		}
		n, target := q.node(c, fromOf(p, c))
		key := slotKey(n)
		k := w.kept.get(key)
		if k == nil {
			if area == nil {
				continue
			}
			if k = w.readSlot(area, key); k == nil {
				continue
			}
		}
		r := w.serveSlot(p, q, c, target, area, k)
		if r == nil {
			continue
		}
		w.kept.remember(p, c)
		return r
	}
	return nil
}

// readSlot reads a slot from its file, nil for what is none.
func (w *Workspace) readSlot(area *openArea, key cas.Key) *kept {
	b, err := area.Slots().Read(key)
	if err != nil {
		return nil
	}
	slot, err := eval.DecodeSlot(b)
	if err != nil {
		return nil
	}
	meta, err := cas.DecodeValue(slot.Meta, codeSlotMeta)
	if err != nil {
		return nil
	}
	return w.kept.put(key, slot, meta, len(b))
}

// serveSlot answers from a slot, nil when something that it rests on is not as it was.
func (w *Workspace) serveSlot(p *place, q *question, c candidate, target string, area *openArea, k *kept) *Result {
	k.mu.Lock()
	defer k.mu.Unlock()
	world := p.scout.At(c.dir, c.target, p.sightings)
	ok, changed := w.kept.check(world, k)
	if !ok {
		return nil
	}
	v := k.meta.rendered
	v.Text = k.slot.Result
	r := newResult(&v, q, target, c.dir)
	r.Served, r.World, r.state = true, &world.Count, c.state
	if q.decoded && w.kept != nil {
		r.shown = k.decoded()
	}
	if changed {
		k.looksFor = nil
	}
	if changed && area != nil {
		r.record = func() error {
			if err := w.anchorHere(c); err != nil {
				return err
			}
			k.mu.Lock()
			encoded := eval.EncodeSlot(k.slot)
			k.mu.Unlock()
			return area.Slots().Write(k.key, encoded)
		}
	}
	return r
}

// refusal returns the error of a result that is none.
func (r *Result) refusal() error {
	if !r.refused {
		return nil
	}
	err := error(&Refusal{Diagnostics: r.Notices})
	r.Record()
	return err
}

func (w *Workspace) compute(ctx context.Context, p *place, q *question) (*Result, error) {
	var said []ir.Diagnostic
	for {
		s, a, err := w.locate(ctx, p)
		if err != nil {
			return nil, err
		}
		n, target := q.node(s.candidate, fromOf(p, s.candidate))
		x, err := s.ev.Eval(ctx, n)
		if err != nil {
			return nil, worldError(err)
		}
		v := x.(nodes.RenderedValue)
		if w.mayFetch(q) {
			more, notices, err := w.fetchMissing(ctx, s, q, v.Missing)
			if err != nil {
				return nil, err
			}
			if said = append(said, notices...); more {
				// What is there now is another world; the modules may need more modules.
				continue
			}
		}
		r := newResult(&v, q, target, s.dir)
		r.Stats, r.World, r.state = s.ev.Stats(), &s.world.Count, s.state
		r.Notices = append(said, withoutTried(r.Notices, said)...)
		s.maxCache = s.cacheLimit(ctx, a)
		r.record = func() error { return w.record(s, n, q, target, &v) }
		return r, r.refusal()
	}
}

// record writes the slot and the store, and lets the cache be trimmed when that
// is due.
func (w *Workspace) record(s *session, n text, q *question, target string, v *nodes.RenderedValue) error {
	if s.area == nil && w.kept == nil {
		return nil
	}
	if err := w.anchorHere(s.candidate); err != nil {
		return err
	}
	stats := s.ev.Stats()
	meta := slotMeta{*v, cmp.Or(target, "."), stats.Hits, stats.Computed, stats.Leaves}
	slot, ok := s.ev.NewSlot(n, v.Text, cas.EncodeValue(&meta, codeSlotMeta), w.o.Now(), q.edges)
	if ok {
		key, encoded := slotKey(n), eval.EncodeSlot(slot)
		if w.kept != nil {
			meta.rendered.Text = nil
			w.kept.put(key, slot, meta, len(encoded))
		}
		if s.area != nil {
			if err := s.area.Slots().Write(key, encoded); err != nil {
				return err
			}
		}
	}
	if s.area == nil {
		return nil
	}
	if err := s.store.Flush(); err != nil {
		return err
	}
	if _, _, err := s.area.TrimIfDue(cas.TrimOptions{MaxSize: s.maxCache}); err != nil {
		return &trimError{err}
	}
	return nil
}

// anchorHere returns an error when a workspace that keeps its cache has no anchor any more:
// the cache would bring it back.
func (w *Workspace) anchorHere(c candidate) error {
	if c.state == "" || w.o.CacheDir != "" {
		return nil
	}
	_, err := os.Lstat(filepath.Join(c.dir, ".mwp"))
	return err
}

// ErrNotTrimmed is what an error of Record matches when the answer was kept and
// only the upkeep of the cache failed.
var ErrNotTrimmed = errors.New("the cache could not be trimmed")

type trimError struct{ err error }

func (e *trimError) Error() string        { return ErrNotTrimmed.Error() + ": " + e.err.Error() }
func (e *trimError) Unwrap() error        { return e.err }
func (e *trimError) Is(target error) bool { return target == ErrNotTrimmed }

func newResult(v *nodes.RenderedValue, q *question, target, root string) *Result {
	r := &Result{
		Text: v.Text, Notices: v.Notices, Findings: v.Findings, Warnings: v.Warnings, ReadOnly: v.ReadOnly, Strict: v.PolicyError,
		Root: root, Target: target, Missing: v.Missing,
	}
	if v.Refused {
		r.Text, r.refused = nil, true
		return r
	}
	if v.RootAt > 0 && !q.noRoot {
		text := make([]byte, 0, len(v.Text)+len(root)+32)
		text = append(text, v.Text[:v.RootAt]...)
		text = append(text, `  "root": `...)
		text = ir.AppendString(text, filepath.ToSlash(root))
		text = append(text, ",\n"...)
		r.Text = append(text, v.Text[v.RootAt:]...)
	}
	return r
}
