package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// book is a ledger whose files are JSON, signed with a key's name.
type book struct {
	key           string
	parsed, asked atomic.Int64
}

// page is a book's file.
type page struct {
	Key  string
	Runs map[string]*graph.Run
}

func (b *book) Signer() string {
	b.asked.Add(1)
	return b.key
}

func (b *book) Parse(file []byte) map[cas.Key]graph.RecordState {
	b.parsed.Add(1)
	var p page
	if json.Unmarshal(bytes.TrimSpace(file), &p) != nil {
		return nil
	}
	states := map[cas.Key]graph.RecordState{}
	for name, run := range p.Runs {
		s := graph.RecordState{Signer: b.key, Foreign: p.Key != b.key}
		if !s.Foreign {
			s.Run = run
		}
		// A reader has to decide these itself.
		s.Phase, s.Overridden = graph.Early, true
		states[keyNamed(name)] = s
	}
	return states
}

func keyNamed(name string) cas.Key { return cas.Key(cas.Sum([]byte(name))) }

func guardNamed(i int) cas.Key { return keyNamed(fmt.Sprint("guard ", i)) }

const ledgerFile = "guards.json"

// at is a moment of the clock of ages in tests of this file.
var at = time.Date(2026, 5, 17, 10, 42, 0, 0, time.UTC)

func run(passed bool, ttl time.Duration) *graph.Run {
	return &graph.Run{Passed: passed, Duration: 5, RanAt: at.UnixNano(), CacheUntil: at.Add(ttl).UnixNano(), Fingerprint: cas.Sum([]byte("f"))}
}

// keep writes runs of guards 0, 1, … to the records file; nil leaves a guard out.
func (b *bench) keep(key string, runs ...*graph.Run) {
	b.t.Helper()
	p := page{Key: key, Runs: map[string]*graph.Run{}}
	for i, r := range runs {
		if r != nil {
			p.Runs[fmt.Sprint("guard ", i)] = r
		}
	}
	text, err := json.Marshal(p)
	b.must(err)
	b.write(ledgerFile, string(text))
}

// believing makes evaluators read records with a ledger and a clock.
func (b *bench) believing(l eval.Ledger, now *time.Time) func(*eval.Config) {
	return func(c *eval.Config) {
		c.World = eval.NewWorld(b.dir, func() time.Time { return b.now })
		c.World.Ledger = l
		if now != nil {
			c.World.Now = func() time.Time { return *now }
		}
	}
}

// record returns what a world says of a guard.
func (b *bench) record(l eval.Ledger, file string, guard int) graph.RecordState {
	b.t.Helper()
	now := at
	v, err := b.evaluator(b.believing(l, &now)).Eval(context.Background(), graph.Record{File: file, Guard: guardNamed(guard)})
	b.must(err)
	return v.(graph.RecordState)
}

func TestRecord(t *testing.T) {
	exit := 3
	failed := run(false, time.Minute)
	failed.Exit = &exit
	failed.Override = &graph.Override{Reason: "release", Until: at.Add(time.Hour).UnixNano()}
	passed := run(true, time.Minute)
	b := newBench(t)
	b.keep("k", passed, failed, nil, run(true, 0))
	mine := &book{key: "k"}
	for i, want := range []graph.RecordState{
		{Signer: "k", Run: passed}, {Signer: "k", Run: failed, Overridden: true}, {}, {Signer: "k", Run: run(true, 0), Phase: graph.Expired},
	} {
		if diff := cmp.Diff(want, b.record(mine, ledgerFile, i)); diff != "" {
			t.Errorf("guard %d (-want +got):\n%s", i, diff)
		}
		foreign := graph.RecordState{Signer: "other", Foreign: true}
		if i == 2 {
			foreign = graph.RecordState{}
		}
		if diff := cmp.Diff(foreign, b.record(&book{key: "other"}, ledgerFile, i)); diff != "" {
			t.Errorf("guard %d with another key (-want +got):\n%s", i, diff)
		}
		if got := b.record(nil, ledgerFile, i); got != (graph.RecordState{}) {
			t.Errorf("guard %d without a ledger = %+v", i, got)
		}
	}
}

// TestRecordWithoutAFile: whatever is no records file says nothing.
func TestRecordWithoutAFile(t *testing.T) {
	for name, make := range map[string]func(b *bench) error{
		"absent":      func(*bench) error { return nil },
		"empty":       func(b *bench) error { return os.WriteFile(b.path(ledgerFile), nil, 0o644) },
		"no records":  func(b *bench) error { return os.WriteFile(b.path(ledgerFile), []byte("{]"), 0o644) },
		"a directory": func(b *bench) error { return os.Mkdir(b.path(ledgerFile), 0o755) },
		"a link": func(b *bench) error {
			b.keep("k", run(true, time.Hour))
			if err := os.Rename(b.path(ledgerFile), b.path("elsewhere")); err != nil {
				return err
			}
			return os.Symlink("elsewhere", b.path(ledgerFile))
		},
		"too large": func(b *bench) error {
			b.keep("k", run(true, time.Hour))
			f, err := os.OpenFile(b.path(ledgerFile), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			i, err := f.Stat()
			if err != nil {
				return err
			}
			_, err = f.WriteString(strings.Repeat(" ", 16<<20+1-int(i.Size())))
			return err
		},
	} {
		b := newBench(t)
		if err := make(b); err != nil {
			t.Log("NOT TESTED: ", name, err)
			continue
		}
		mine := &book{key: "k"}
		if got := b.record(mine, ledgerFile, 0); got != (graph.RecordState{}) {
			t.Errorf("Record in a file that is %s = %+v", name, got)
		}
		if name == "too large" {
			if mine.parsed.Load() != 0 {
				t.Error("a file that is too large was parsed")
			}
			// With a byte less it is read.
			b.must(os.Truncate(b.path(ledgerFile), 16<<20))
			if got := b.record(mine, ledgerFile, 0); got.Run == nil {
				t.Errorf("Record in 16 MiB = %+v", got)
			}
		}
	}
}

// guarded reads Files contents, the listing of their directory, and Guards records, of
// which none follows another.
type guarded struct{ Files, Guards int }

var guardedKind = graph.Define(graph.Definition[string, guarded]{Name: "guarded", Version: 1, Order: 1,
	Params: func(c *cas.Coder, n *guarded) { c.Int(&n.Files); c.Int(&n.Guards) }, Value: (*cas.Coder).String})

func (guarded) Kind() *graph.Kind { return guardedKind }

func contentPath(i int) string { return fmt.Sprintf("src/f%05d", i) }

func (n guarded) Compute(r graph.Reader) (string, error) {
	var out strings.Builder
	list, err := graph.Need(r, graph.List{Dir: "src", Filter: graph.Everything})
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&out, list)
	each := (n.Files + n.Guards) / (n.Guards + 1)
	for from, guard := 0, 0; from < n.Files || guard < n.Guards; from += each {
		var group []graph.Content
		for i := from; i < min(from+each, n.Files); i++ {
			group = append(group, graph.Content{Path: contentPath(i)})
		}
		states, err := graph.NeedAll(r, group)
		if err != nil {
			return "", err
		}
		for i, s := range states {
			fmt.Fprintln(&out, group[i].Path, s)
		}
		if guard < n.Guards {
			s, err := graph.Need(r, graph.Record{File: ledgerFile, Guard: guardNamed(guard)})
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(s)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&out, guard, string(text))
			guard++
		}
	}
	return out.String(), nil
}

// guardBench is a tree for guarded, with a ledger and a clock for ages.
type guardBench struct {
	*bench
	node   guarded
	ledger *book
	clock  time.Time // for ages
	scout  *eval.World
}

func newGuardBench(t *testing.T, n guarded) *guardBench {
	t.Helper()
	g := &guardBench{bench: newBench(t), node: n, ledger: &book{key: "k"}, clock: at}
	g.must(os.Mkdir(g.path("src"), 0o755))
	for i := range n.Files {
		g.write(contentPath(i), fmt.Sprint("text ", i))
	}
	return g
}

// world returns a world of the same request as the last check, or of a new one.
func (g *guardBench) world(again bool) *eval.World {
	if g.scout == nil || !again {
		g.scout = eval.NewWorld(g.dir, func() time.Time { return g.now })
		if g.ledger != nil {
			g.scout.Ledger = g.ledger
		}
		g.scout.Now = func() time.Time { return g.clock }
	}
	return g.scout.At(g.dir, ".", nil)
}

// eval evaluates in the request of the last check.
func (g *guardBench) eval() (string, *eval.Slot, *eval.World, eval.Stats) {
	g.t.Helper()
	w := g.world(true)
	e := eval.New(eval.Config{World: w, Kinds: guardKinds, Store: g.store})
	v, err := e.Eval(context.Background(), g.node)
	g.must(err)
	s, ok := e.NewSlot(g.node, []byte(v.(string)), nil, g.now, true)
	if !ok {
		g.t.Fatal("no slot")
	}
	s, err = eval.DecodeSlot(eval.EncodeSlot(s))
	g.must(err)
	return v.(string), s, w, e.Stats()
}

// check checks in a new request.
func (g *guardBench) check(s *eval.Slot) (ok, changed bool, w *eval.World) {
	w = g.world(false)
	ok, changed = w.Check(s, guardKindNamed)
	return ok, changed, w
}

// fresh returns the value that somebody sees who knows nothing.
func (g *guardBench) fresh() string {
	other := *g
	b := *g.bench
	b.store, other.bench, other.scout = cas.NewMemory(), &b, nil
	v, _, _, _ := other.eval()
	return v
}

var guardKinds = append(graph.Leaves(), guardedKind)

func guardKindNamed(name string) *graph.Kind {
	for _, k := range guardKinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// sizes have slots that are looked at in turn and at once.
var sizes = map[string]guarded{"small": {3, 4}, "large": {3, 1000}, "many files": {1000, 4}}

// TestSlotsEndWithTheirRecords holds a slot to the moments at which one of its records
// gives another answer.
func TestSlotsEndWithTheirRecords(t *testing.T) {
	for size, n := range sizes {
		t.Run(size, func(t *testing.T) {
			g := newGuardBench(t, n)
			overridden := run(false, 0)
			overridden.Override = &graph.Override{Until: at.Add(30 * time.Minute).UnixNano()}
			g.keep("k", run(true, time.Hour), overridden, run(true, 45*time.Minute))
			value, s, _, _ := g.eval()
			from, until := at.UnixNano(), at.Add(30*time.Minute).UnixNano()
			if s.ValidFrom != from || s.Expires != until {
				t.Fatalf("the slot holds from %d to %d, want %d to %d", s.ValidFrom, s.Expires, from, until)
			}
			for _, c := range []struct {
				now  int64
				want bool
			}{
				{from - 1, false}, {from, true}, {from + 1, true}, {until - 1, true}, {until, false}, {until + 1, false},
				{from - int64(24*time.Hour), false}, {until + int64(1e6*time.Hour), false},
			} {
				g.clock = time.Unix(0, c.now)
				ok, changed, _ := g.check(s)
				if ok != c.want || changed {
					t.Errorf("at %v the slot holds: %v, changed %v; want %v, false", g.clock.Sub(at), ok, changed, c.want)
				}
				got, _, w, _ := g.eval()
				if (got == value) != c.want || got != g.fresh() {
					t.Errorf("at %v the value is the same: %v, want %v; as a fresh one: %v", g.clock.Sub(at), got == value, c.want, got == g.fresh())
				}
				// A slot that is over still knows which files are as they were.
				if reads := w.Count.FilesRead.Load(); !c.want && reads != 1 {
					t.Errorf("at %v %d files are read, want the records only", g.clock.Sub(at), reads)
				}
			}
			// A slot of what comes after the last moment, and before the first.
			g.clock = at.Add(2 * time.Hour)
			if _, s, _, _ := g.eval(); s.ValidFrom != at.Add(time.Hour).UnixNano() || s.Expires != 0 {
				t.Errorf("in the end the slot holds from %d to %d", s.ValidFrom, s.Expires)
			}
			g.clock = at.Add(-time.Hour)
			if _, s, _, _ := g.eval(); s.ValidFrom != 0 || s.Expires != at.Add(-5*time.Second).UnixNano() {
				t.Errorf("in the beginning the slot holds from %d to %d", s.ValidFrom, s.Expires)
			}
		})
	}
}

func TestSlotWithoutRunsHasNoEnd(t *testing.T) {
	g := newGuardBench(t, guarded{2, 2})
	for _, key := range []string{"", "other"} {
		if key != "" {
			g.keep(key, run(true, time.Hour))
		}
		if _, s, _, _ := g.eval(); s.ValidFrom != 0 || s.Expires != 0 {
			t.Errorf("file of %q: the slot holds from %d to %d", key, s.ValidFrom, s.Expires)
		}
	}
}

// TestTwoClocks holds that the age of a run has nothing to do with that of a time
// stamp, and that a world without a clock for ages uses its only one.
func TestTwoClocks(t *testing.T) {
	g := newGuardBench(t, guarded{2, 1})
	g.keep("k", run(true, time.Hour))
	_, s, _, _ := g.eval()
	for _, l := range s.Leaves {
		if !l.Trusted {
			t.Errorf("%s is not trusted although its file has settled", l.Kind)
		}
	}
	g.now = time.Now()
	_, s, _, _ = g.eval()
	for _, l := range s.Leaves {
		if l.Trusted {
			t.Errorf("%s is trusted although its file is new", l.Kind)
		}
	}
	w := eval.NewWorld(g.dir, func() time.Time { return g.now })
	w.Ledger = g.ledger
	for _, c := range []struct {
		now  time.Time
		want bool
	}{{at.Add(-5 * time.Second), true}, {at.Add(time.Hour), false}, {at.Add(-6 * time.Second), false}, {at, true}} {
		g.now = c.now
		if ok, _ := w.Check(s, guardKindNamed); ok != c.want {
			t.Errorf("with the only clock at %v the slot holds: %v, want %v", c.now.Sub(at), ok, c.want)
		}
	}
}

// ledgerEdits are what may happen to a records file that has a run of guard 0 and one
// of guard 1 at work. Each says whether the slot holds afterwards.
var ledgerEdits = []struct {
	name string
	edit func(g *guardBench) error
	same bool
}{
	{"nothing", func(*guardBench) error { return nil }, true},
	{"touched", func(g *guardBench) error { return os.Chtimes(g.path(ledgerFile), at, at) }, true},
	{"written as it was", func(g *guardBench) error { g.keepTwo(true); return nil }, true},
	{"same size", func(g *guardBench) error {
		b, err := os.ReadFile(g.path(ledgerFile))
		if err != nil {
			return err
		}
		// A duration of five milliseconds becomes one of six.
		return os.WriteFile(g.path(ledgerFile), bytes.ReplaceAll(b, []byte(`"Duration":5`), []byte(`"Duration":6`)), 0o644)
	}, false},
	{"a run of another guard", func(g *guardBench) error {
		runs := make([]*graph.Run, g.node.Guards+1)
		runs[0], runs[1], runs[g.node.Guards] = run(true, time.Hour), run(false, time.Hour), run(true, 0)
		g.keep("k", runs...)
		return nil
	}, true},
	{"a run that failed", func(g *guardBench) error { g.keepTwo(false); return nil }, false},
	{"a guard gone", func(g *guardBench) error { g.keep("k", run(true, time.Hour)); return nil }, false},
	{"signed by another", func(g *guardBench) error {
		g.keep("other", run(true, time.Hour), run(false, time.Hour))
		return nil
	}, false},
	{"replaced", func(g *guardBench) error {
		b, err := os.ReadFile(g.path(ledgerFile))
		if err != nil {
			return err
		}
		if err := os.WriteFile(g.path("new"), b, 0o644); err != nil {
			return err
		}
		return os.Rename(g.path("new"), g.path(ledgerFile))
	}, true},
	{"truncated", func(g *guardBench) error { return os.Truncate(g.path(ledgerFile), 20) }, false},
	{"emptied", func(g *guardBench) error { return os.Truncate(g.path(ledgerFile), 0) }, false},
	{"removed", func(g *guardBench) error { return os.Remove(g.path(ledgerFile)) }, false},
	{"a directory", func(g *guardBench) error {
		if err := os.Remove(g.path(ledgerFile)); err != nil {
			return err
		}
		return os.Mkdir(g.path(ledgerFile), 0o755)
	}, false},
	{"a link to what it was", func(g *guardBench) error {
		if err := os.Rename(g.path(ledgerFile), g.path("moved")); err != nil {
			return err
		}
		return os.Symlink("moved", g.path(ledgerFile))
	}, false},
	{"another key here", func(g *guardBench) error { g.ledger = &book{key: "other"}; return nil }, false},
	{"no key here", func(g *guardBench) error { g.ledger = nil; return nil }, false},
}

func (g *guardBench) keepTwo(passed bool) { g.keep("k", run(passed, time.Hour), run(false, time.Hour)) }

func TestSlotsNoticeTheRecordsFile(t *testing.T) {
	for size, n := range sizes {
		if size == "many files" {
			continue
		}
		for _, c := range ledgerEdits {
			for _, settled := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s settled=%v", size, c.name, settled), func(t *testing.T) {
					g := newGuardBench(t, n)
					if !settled {
						g.now = time.Now()
					}
					g.keepTwo(true)
					g.age(ledgerFile)
					value, s, _, _ := g.eval()
					if err := c.edit(g); err != nil {
						t.Skip("NOT TESTED: ", err)
					}
					ok, _, w := g.check(s)
					if ok != c.same {
						t.Errorf("the slot holds: %v, want %v", ok, c.same)
					}
					if reads := w.Count.FilesRead.Load(); settled && c.name == "nothing" && reads != 0 {
						t.Errorf("%d files read for nothing", reads)
					}
					if got, _, _, _ := g.eval(); got != g.fresh() || (got == value) != c.same {
						t.Errorf("value is the old one: %v, want %v; as a fresh one: %v", got == value, c.same, got == g.fresh())
					}
				})
			}
		}
	}
}

// TestYoungRecordsAreNotBelieved holds that a rewrite which no lstat shows, as with a
// coarse clock, is seen while the file is too young, by slots of both sizes.
func TestYoungRecordsAreNotBelieved(t *testing.T) {
	for size, n := range sizes {
		g := newGuardBench(t, n)
		g.now = time.Now()
		g.keepTwo(true)
		_, s, _, _ := g.eval()
		g.keep("k", run(true, time.Hour), run(true, time.Hour))
		_, later, _, _ := g.eval()
		for i := range s.Leaves {
			s.Leaves[i].Print = later.Leaves[i].Print
		}
		if ok, _, _ := g.check(s); ok {
			t.Errorf("%s: a rewrite within the same clock tick was served stale", size)
		}
	}
}

// TestRecordsWithoutASigner: who judged with a key that has no name is asked again each
// time, and so is who had no ledger where there is a file.
func TestRecordsWithoutASigner(t *testing.T) {
	g := newGuardBench(t, guarded{0, 3})
	g.ledger = &book{}
	g.keep("k", run(true, time.Hour), run(false, time.Hour))
	_, s, _, _ := g.eval()
	for i, want := range []bool{false, false, true} {
		if got := s.Leaves[1+i]; got.Kind != graph.RecordKind.Name || got.Trusted != want {
			t.Errorf("guard %d, %s: trusted %v, want %v", i, got.Kind, got.Trusted, want)
		}
	}
	g.ledger = &book{key: "k"}
	if ok, _, _ := g.check(s); ok {
		t.Error("with a key that has a name the slot holds")
	}
	g.ledger = nil
	g.scout = nil
	_, s, _, _ = g.eval()
	for _, l := range s.Leaves[1:] {
		if l.Trusted {
			t.Error("without a ledger a file that nobody read is trusted")
		}
	}
	g.ledger = &book{key: "k"}
	if ok, _, _ := g.check(s); ok {
		t.Error("with a ledger the slot holds that was made without")
	}
	b := newGuardBench(t, guarded{0, 3})
	b.ledger = nil
	_, s, _, _ = b.eval()
	for _, l := range s.Leaves[1:] {
		if !l.Trusted {
			t.Error("that there is no file is not trusted without a ledger")
		}
	}
}

// TestFiftyRecords holds what fifty records of one file cost: one parse, one lstat in a
// check, and one look at the key.
func TestFiftyRecords(t *testing.T) {
	for size, n := range map[string]guarded{"small": {60, 50}, "large": {1000, 50}} {
		g := newGuardBench(t, n)
		var runs []*graph.Run
		for i := range 50 {
			runs = append(runs, run(i%2 == 0, time.Hour))
		}
		g.keep("k", runs...)
		_, s, _, _ := g.eval()
		if got := g.ledger.parsed.Load(); got != 1 {
			t.Errorf("%s: the file was parsed %d times for 50 records", size, got)
		}
		g.ledger.asked.Store(0)
		ok, changed, w := g.check(s)
		// The directory, the records, and each file.
		if looks := w.Count.Lstats.Load(); !ok || changed || looks != int64(n.Files)+2 || w.Count.FilesRead.Load() != 0 {
			t.Errorf("%s: check = %v, %v with %d lstats and %d files read; want true, false, %d, 0", size, ok, changed, looks, w.Count.FilesRead.Load(), n.Files+2)
		}
		if got := g.ledger.asked.Load(); got != 1 {
			t.Errorf("%s: the ledger was asked for its key %d times, want once", size, got)
		}
		// Of an untrusted file the records are one parse too.
		for i := range s.Leaves {
			if s.Leaves[i].Kind == graph.RecordKind.Name {
				s.Leaves[i].Trusted = false
			}
		}
		g.ledger.parsed.Store(0)
		g.ledger.asked.Store(0)
		if ok, changed, _ := g.check(s); !ok || !changed || g.ledger.parsed.Load() != 1 || g.ledger.asked.Load() != 0 {
			t.Errorf("%s: check of untrusted records = %v, %v with %d parses and %d looks at the key", size, ok, changed, g.ledger.parsed.Load(), g.ledger.asked.Load())
		}
		g.ledger.asked.Store(0)
		g.clock = at.Add(2 * time.Hour)
		if ok, _, _ := g.check(s); ok || g.ledger.asked.Load() != 0 {
			t.Errorf("%s: a slot that is over holds: %v, after %d looks at the key", size, ok, g.ledger.asked.Load())
		}
		// Nobody signed what is not there.
		g.must(os.Remove(g.path(ledgerFile)))
		g.clock, g.scout = at, nil
		_, s, _, _ = g.eval()
		g.ledger.asked.Store(0)
		if ok, _, _ := g.check(s); !ok || g.ledger.asked.Load() != 0 {
			t.Errorf("%s: without a file the slot holds: %v, after %d looks at the key", size, ok, g.ledger.asked.Load())
		}
	}
}

// TestRecordsOfSeveralFiles holds that the lstats of two records files are not taken for
// each other's.
func TestRecordsOfSeveralFiles(t *testing.T) {
	b := newBench(t)
	now := at
	mine := &book{key: "k"}
	b.keep("k", run(true, time.Hour))
	b.must(os.Rename(b.path(ledgerFile), b.path("other.json")))
	b.keep("k", run(false, time.Hour), run(false, time.Hour))
	n := twoFiles{}
	kinds := append(graph.Leaves(), twoFilesKind)
	with := func(c *eval.Config) { b.believing(mine, &now)(c); c.Kinds = kinds }
	v, _ := b.eval(n, with)
	if v != "false true false " {
		t.Errorf("runs of two files passed: %s", v)
	}
	s := b.slotOf(n, with)
	check := func() bool {
		w := eval.NewWorld(b.dir, func() time.Time { return b.now })
		w.Ledger, w.Now = mine, func() time.Time { return now }
		ok, _ := w.Check(s, func(name string) *graph.Kind {
			for _, k := range kinds {
				if k.Name == name {
					return k
				}
			}
			return nil
		})
		return ok
	}
	if !check() {
		t.Error("the slot does not hold")
	}
	b.must(os.Remove(b.path("other.json")))
	if check() {
		t.Error("the slot holds without one of its files")
	}
}

// twoFiles reads records of two files in turn.
type twoFiles struct{}

var twoFilesKind = graph.Define(graph.Definition[string, twoFiles]{Name: "two files", Version: 1, Order: 1,
	Params: func(*cas.Coder, *twoFiles) {}, Value: (*cas.Coder).String})

func (twoFiles) Kind() *graph.Kind { return twoFilesKind }

func (twoFiles) Compute(r graph.Reader) (string, error) {
	out := ""
	for _, rec := range []graph.Record{{File: ledgerFile, Guard: guardNamed(0)}, {File: "other.json", Guard: guardNamed(0)}, {File: ledgerFile, Guard: guardNamed(1)}} {
		s, err := graph.Need(r, rec)
		if err != nil {
			return "", err
		}
		out += fmt.Sprint(s.Run != nil && s.Run.Passed, " ")
	}
	return out, nil
}

// TestStoredTracesSeeTheClock holds that what the store remembers is held against the
// phase of now.
func TestStoredTracesSeeTheClock(t *testing.T) {
	g := newGuardBench(t, guarded{2, 1})
	g.keep("k", run(true, time.Hour))
	current, _, _, st := g.eval()
	for _, c := range []struct {
		age      time.Duration
		same     bool
		computed int64
	}{{time.Minute, true, 0}, {time.Hour, false, 1}, {2 * time.Hour, false, 0}, {0, true, 0}, {-time.Hour, false, 1}, {-time.Second, true, 0}} {
		g.clock, g.scout = at.Add(c.age), nil
		got, _, _, stats := g.eval()
		if (got == current) != c.same || stats.Computed != c.computed || got != g.fresh() {
			t.Errorf("at %v: the same %v, %d computed; want %v, %d", c.age, got == current, stats.Computed, c.same, c.computed)
		}
	}
	if st.Computed != 1 {
		t.Errorf("%d computed at first", st.Computed)
	}
}

// TestSlotProvenanceWithRecords holds that leaves keep the order that a slot's edges
// rest on.
func TestSlotProvenanceWithRecords(t *testing.T) {
	g := newGuardBench(t, guarded{7, 3})
	g.keepTwo(true)
	e := eval.New(eval.Config{World: g.world(true), Kinds: guardKinds, Store: g.store})
	if _, err := e.Eval(context.Background(), g.node); err != nil {
		t.Fatal(err)
	}
	s, _ := e.NewSlot(g.node, nil, nil, g.now, true)
	got, err := s.Provenance(guardKindNamed)
	g.must(err)
	want := e.Provenance(g.node)
	if len(got) != len(want) || len(got) != 1+1+7+3 {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Task != want[i].Task {
			t.Errorf("step %d = %v, want %v", i, got[i].Task, want[i].Task)
		}
	}
}
