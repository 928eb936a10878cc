package eval_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// wide looks at N directories as a walk of a tree does: scans first, then what lies in
// them, names in them and the anchors above them.
type wide struct{ N int }

var wideKind = graph.Define(graph.Definition[string, wide]{Name: "wide", Version: 1, Order: 1,
	Params: func(c *cas.Coder, n *wide) { c.Int(&n.N) }, Value: (*cas.Coder).String})

func (wide) Kind() *graph.Kind { return wideKind }

func wideDir(i int) string { return fmt.Sprintf("d%03d", i) }

func (n wide) Compute(r graph.Reader) (string, error) {
	scans, files, probes, aboves := make([]graph.Scan, n.N), make([]graph.File, n.N), make([]graph.Probe, n.N), make([]graph.Above, n.N)
	for i := range n.N {
		d := wideDir(i)
		scans[i] = graph.Scan{Dir: d, Names: "x"}
		files[i] = graph.File{Path: d + "/.mwp-context.md"}
		probes[i] = graph.NewProbe(d, ".mwp", "x", ".mwp-context.md")
		aboves[i] = graph.Above{Dir: d}
	}
	ss, err := graph.NeedAll(r, scans)
	if err != nil {
		return "", err
	}
	fs, err := graph.NeedAll(r, files)
	if err != nil {
		return "", err
	}
	ps, err := graph.NeedAll(r, probes)
	if err != nil {
		return "", err
	}
	as, err := graph.NeedAll(r, aboves)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range n.N {
		fmt.Fprintf(&b, "%d %v %q %v %v\n", i, ss[i], fs[i].Bytes, ps[i], as[i].Sightings)
	}
	return b.String(), nil
}

// wideCount makes more leaves than a slot has when they are looked at in turn.
const wideCount = 260

// wideBench returns a tree for wide, and the slot of its value as it was read back.
func wideBench(t *testing.T) (*bench, *eval.Slot) {
	t.Helper()
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.dir, ".mwp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range wideCount {
		if err := os.Mkdir(filepath.Join(b.dir, wideDir(i)), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write(wideDir(i)+"/.mwp-context.md", fmt.Sprint("text ", i))
		b.write(wideDir(i)+"/other", "")
	}
	e := b.evaluator()
	v, err := e.Eval(context.Background(), wide{wideCount})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := e.NewSlot(wide{wideCount}, []byte(v.(string)), nil, b.now, false)
	if !ok {
		t.Fatal("no slot")
	}
	if s, err = eval.DecodeSlot(eval.EncodeSlot(s)); err != nil {
		t.Fatal(err)
	}
	return b, s
}

// fresh returns wide's value in the tree as it is.
func (b *bench) fresh() string {
	b.store = cas.NewMemory()
	v, _ := b.eval(wide{wideCount})
	return v
}

// wideEdits are edits of a tree for wide, with how many directories are read for each
// and how many files there are no more.
var wideEdits = []struct {
	name       string
	edit       func(b *bench) error
	dirs, gone int64
}{
	{"content", func(b *bench) error { b.write("d007/.mwp-context.md", "other"); return nil }, 0, 0},
	{"same size", func(b *bench) error { b.write("d007/.mwp-context.md", "next 7"); return nil }, 0, 0},
	{"removed", func(b *bench) error { return os.Remove(filepath.Join(b.dir, "d007/.mwp-context.md")) }, 1, 1},
	{"a name that is looked for", func(b *bench) error { b.write("d007/x", ""); return nil }, 1, 0},
	{"a name in another case", func(b *bench) error { b.write("d007/X", ""); return nil }, 1, 0},
	{"an anchor", func(b *bench) error { return os.Mkdir(filepath.Join(b.dir, "d007/.mwp"), 0o755) }, 1, 0},
	{"a directory", func(b *bench) error { return os.Mkdir(filepath.Join(b.dir, "d007/new"), 0o755) }, 1, 0},
	{"a directory gone", func(b *bench) error { return os.RemoveAll(filepath.Join(b.dir, "d007")) }, 0, 1},
	{"a directory became a file", func(b *bench) error {
		err := os.RemoveAll(filepath.Join(b.dir, "d007"))
		b.write("d007", "")
		return err
	}, 0, 1},
	{"a file became a link", func(b *bench) error {
		path := filepath.Join(b.dir, "d007/.mwp-context.md")
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Symlink("other", path)
	}, 1, 1},
}

// TestLargeSlot holds that a slot of many leaves is looked at once for each path, and
// notices what a small one notices.
func TestLargeSlot(t *testing.T) {
	b, s := wideBench(t)
	ok, changed, w := b.check(s)
	if !ok || changed {
		t.Errorf("check = %v, %v without a change, want true, false", ok, changed)
	}
	// The anchors above the root are looked for on the way up.
	most := int64(2*wideCount + 2*strings.Count(filepath.ToSlash(b.dir), "/") + 4)
	if n := w.Count.Lstats.Load(); n > most || w.Count.DirsRead.Load()+w.Count.FilesRead.Load() > 0 {
		t.Errorf("%d lstats, %d directories and %d files read; want at most %d, 0 and 0", n, w.Count.DirsRead.Load(), w.Count.FilesRead.Load(), most)
	}
	at := b.now.Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(b.dir, "d009/.mwp-context.md"), at, at); err != nil {
		t.Fatal(err)
	}
	if ok, changed, w = b.check(s); !ok || !changed || w.Count.FilesRead.Load() != 1 {
		t.Errorf("check = %v, %v after a touch with %d files read, want true, true, 1", ok, changed, w.Count.FilesRead.Load())
	}
	if ok, changed, _ = b.check(s); !ok || changed {
		t.Errorf("check = %v, %v of the renewed slot, want true, false", ok, changed)
	}
}

// TestWhatHoldsIsNotReadAgain holds that an evaluation after the check of a large slot
// reads what changed, and comes to the value that a fresh one comes to.
func TestWhatHoldsIsNotReadAgain(t *testing.T) {
	for _, c := range wideEdits {
		t.Run(c.name, func(t *testing.T) {
			b, s := wideBench(t)
			if err := c.edit(b); err != nil {
				t.Fatal(err)
			}
			b.now = b.now.Add(time.Hour)
			scout := eval.NewWorld(b.dir, func() time.Time { return b.now })
			sightings, err := scout.Sightings(".")
			if err != nil {
				t.Fatal(err)
			}
			if ok, _ := scout.At(b.dir, ".", sightings).Check(s, kindNamed); ok {
				t.Fatal("the slot holds")
			}
			w := scout.At(b.dir, ".", sightings)
			e := b.evaluator(func(c *eval.Config) { c.World = w })
			v, err := e.Eval(context.Background(), wide{wideCount})
			if err != nil {
				t.Fatal(err)
			}
			if d, f := w.Count.DirsRead.Load(), w.Count.FilesRead.Load(); d != c.dirs || f != wideCount-c.gone {
				// The node computes, so that it needs the bytes of every file.
				t.Errorf("%d directories and %d files read, want %d and %d", d, f, c.dirs, wideCount-c.gone)
			}
			if want := b.fresh(); v != want {
				t.Errorf("value = %.2000q, want %.2000q", v, want)
			}
		})
	}
}

// TestAFileThatChangesAfterTheCheck holds that a file which was found unchanged and
// has changed when its bytes are needed makes the evaluation look at everything anew.
func TestAFileThatChangesAfterTheCheck(t *testing.T) {
	b, s := wideBench(t)
	b.write("d001/.mwp-context.md", "edited before the check")
	scout := eval.NewWorld(b.dir, func() time.Time { return b.now })
	sightings, err := scout.Sightings(".")
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := scout.At(b.dir, ".", sightings).Check(s, kindNamed); ok {
		t.Fatal("the slot holds")
	}
	b.write("d002/.mwp-context.md", "edited after the check")
	b.write("d003/x", "")
	e := b.evaluator(func(c *eval.Config) { c.World = scout.At(b.dir, ".", sightings) })
	v, err := e.Eval(context.Background(), wide{wideCount})
	if err != nil {
		t.Fatal(err)
	}
	if want := b.fresh(); v != want {
		t.Errorf("value = %.1000q, want %.1000q", v, want)
	}
}

// seen is what a scan of a directory and then a probe of some names in it say.
type seen struct{ Names string }

var seenKind = graph.Define(graph.Definition[string, seen]{Name: "seen", Version: 1, Order: 1,
	Params: func(c *cas.Coder, n *seen) { c.String(&n.Names) }, Value: (*cas.Coder).String})

func (seen) Kind() *graph.Kind { return seenKind }

func (n seen) Compute(r graph.Reader) (string, error) {
	if _, err := graph.Need(r, graph.Scan{Dir: ".", Names: "AGENTS.md/Ünder.md"}); err != nil {
		return "", err
	}
	p, err := graph.Need(r, graph.Probe{Dir: ".", Names: n.Names})
	return fmt.Sprint(p.Dir, p.Types), err
}

// TestProbesAfterAScan holds that a probe has the answer after a scan that it has
// without one, and which of them need a look.
func TestProbesAfterAScan(t *testing.T) {
	for _, c := range []struct {
		names string
		looks bool
	}{
		{".mwp/.mwp-context.md/AGENTS.md", false},
		{".mwp/dir", false},
		{".mwp-context.yaml/.gitignore", false},
		{"file", true},
		{"absent", true},
		{".MWP-context.md", true},
		{"agents.md", true},
		{"link", true},
		{"Ünder.md", true},
		{"dir/file", true},
	} {
		b := newBench(t)
		b.write("file", "")
		b.write(".mwp-context.md", "")
		b.write("AGENTS.md", "")
		if err := os.Mkdir(filepath.Join(b.dir, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("dir", filepath.Join(b.dir, "link")); err != nil {
			t.Skip("NOT TESTED: no links here")
		}
		kinds := append(graph.Leaves(), seenKind)
		w := eval.NewWorld(b.dir, func() time.Time { return b.now })
		got, err := eval.New(eval.Config{World: w, Kinds: kinds, Store: b.store}).Eval(context.Background(), seen{c.names})
		if err != nil {
			t.Fatal(err)
		}
		looks := w.Count.Lstats.Load()
		p, err := eval.New(eval.Config{World: eval.NewWorld(b.dir, func() time.Time { return b.now }), Kinds: kinds, Store: b.store}).Eval(context.Background(), graph.Probe{Dir: ".", Names: c.names})
		if err != nil {
			t.Fatal(err)
		}
		state := p.(graph.ProbeState)
		if want := fmt.Sprint(state.Dir, state.Types); got != want {
			t.Errorf("%s after a scan = %s, want %s", c.names, got, want)
		}
		// A scan takes two looks at most, one before and one after.
		if (looks > 2) != c.looks {
			t.Errorf("%s: %d lstats, looked again %v, want %v", c.names, looks, looks > 2, c.looks)
		}
	}
}

// TestWhatHoldsIsTakenOnce holds that a second evaluation of a request knows nothing of
// the check: it follows on something that was changed, such as a fetched module.
func TestWhatHoldsIsTakenOnce(t *testing.T) {
	b, s := wideBench(t)
	b.write("d001/.mwp-context.md", "edited before the check")
	scout := eval.NewWorld(b.dir, func() time.Time { return b.now })
	sightings, err := scout.Sightings(".")
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := scout.At(b.dir, ".", sightings).Check(s, kindNamed); ok {
		t.Fatal("the slot holds")
	}
	for _, want := range []int64{0, wideCount} {
		w := scout.At(b.dir, ".", sightings)
		e := b.evaluator(func(c *eval.Config) { c.World = w })
		if _, err := e.Eval(context.Background(), wide{wideCount}); err != nil {
			t.Fatal(err)
		}
		if got := w.Count.DirsRead.Load(); got != want {
			t.Errorf("%d directories read, want %d", got, want)
		}
	}
}

// TestUntrustedLeavesOfALargeSlot holds that an equal lstat proves nothing for a leaf
// that was recorded too soon after a change: its value is read and compared.
func TestUntrustedLeavesOfALargeSlot(t *testing.T) {
	b, s := wideBench(t)
	seen := map[string]bool{}
	for i := range s.Leaves {
		l := &s.Leaves[i]
		if seen[l.Kind] {
			continue
		}
		seen[l.Kind] = true
		state := l.State
		// What was read then is not what is there now, and no lstat tells.
		l.State, l.Trusted = append(state[:len(state):len(state)], 0), false
		if ok, _, _ := b.check(s); ok {
			t.Errorf("the slot holds with another %s than there is", l.Kind)
		}
		l.State = state
		if ok, changed, _ := b.check(s); !ok || !changed && l.Kind != graph.AboveKind.Name {
			t.Errorf("check = %v, %v with an untrusted %s that is as it was, want true, true", ok, changed, l.Kind)
		}
	}
	if len(seen) != 4 {
		t.Errorf("leaves of %d kinds, want 4", len(seen))
	}
}

// TestProbesAfterAnUntrustedScan holds that a probe which was answered from a scan is
// believed no more than the scan.
func TestProbesAfterAnUntrustedScan(t *testing.T) {
	for _, settled := range []bool{true, false} {
		b := newBench(t)
		b.write(".mwp-context.md", "")
		if !settled {
			b.now = time.Now()
		}
		n := seen{".mwp-context.md"}
		e := eval.New(eval.Config{World: eval.NewWorld(b.dir, func() time.Time { return b.now }), Kinds: append(graph.Leaves(), seenKind), Store: b.store})
		if _, err := e.Eval(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		s, ok := e.NewSlot(n, nil, nil, b.now, false)
		if !ok || len(s.Leaves) != 2 {
			t.Fatalf("slot %v with leaves %+v, want 2", ok, s.Leaves)
		}
		for _, l := range s.Leaves {
			if l.Trusted != settled {
				t.Errorf("settled %v: %s is trusted: %v", settled, l.Kind, l.Trusted)
			}
		}
	}
}
