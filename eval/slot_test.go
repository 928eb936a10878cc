package eval_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

func kindNamed(name string) *graph.Kind {
	if i := slices.IndexFunc(testKinds, func(k *graph.Kind) bool { return k.Name == name }); i >= 0 {
		return testKinds[i]
	}
	return nil
}

// slot evaluates both{a, b} and returns its slot as read back from its encoding.
func (b *bench) slot() *eval.Slot {
	b.t.Helper()
	e := b.evaluator()
	n := both{"a", "b"}
	v, err := e.Eval(context.Background(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	s, ok := e.NewSlot(n, []byte(v.(string)), nil, b.now, true)
	if !ok {
		b.t.Fatal("NewSlot found no evaluation")
	}
	s, err = eval.DecodeSlot(eval.EncodeSlot(s))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) check(s *eval.Slot) (ok, changed bool, w *eval.World) {
	w = eval.NewWorld(b.dir, func() time.Time { return b.now })
	ok, changed = w.Check(s, kindNamed)
	return ok, changed, w
}

func TestSlotHoldsUntilSomethingChanges(t *testing.T) {
	edits := map[string]func(b *bench){
		"content":   func(b *bench) { b.write("a", "other") },
		"same size": func(b *bench) { b.write("a", "y") },
		"new file":  func(b *bench) { b.write("flag", "") },
		"deleted":   func(b *bench) { os.Remove(filepath.Join(b.dir, "b")) },
		"replaced by a directory": func(b *bench) {
			os.Remove(filepath.Join(b.dir, "b"))
			os.Mkdir(filepath.Join(b.dir, "b"), 0o755)
		},
		"replaced by a link": func(b *bench) {
			os.Rename(filepath.Join(b.dir, "b"), filepath.Join(b.dir, "c"))
			os.Symlink("c", filepath.Join(b.dir, "b"))
		},
	}
	for name, edit := range edits {
		for _, settled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s settled=%v", name, settled), func(t *testing.T) {
				b := newBench(t)
				if !settled {
					b.now = time.Now()
				}
				b.write("a", "x")
				b.write("b", "z")
				s := b.slot()
				if ok, _, _ := b.check(s); !ok {
					t.Fatal("the slot does not hold although nothing changed")
				}
				edit(b)
				if ok, _, _ := b.check(s); ok {
					t.Errorf("the slot holds after: %s", name)
				}
			})
		}
	}
}

func TestSlotSurvivesWhatDoesNotMatter(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "z")
	s := b.slot()
	b.write("unrelated", "appears in the probed directory")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(b.dir, "a"), later, later); err != nil {
		t.Fatal(err)
	}
	ok, changed, w := b.check(s)
	if !ok || !changed || w.Count.FilesRead.Load() != 1 {
		t.Fatalf("after a touch: ok %v, changed %v, files read %d; want a hit that read one file", ok, changed, w.Count.FilesRead.Load())
	}
	b.now = b.now.Add(2 * time.Hour)
	b.check(s)
	if ok, changed, w = b.check(s); !ok || changed || w.Count.FilesRead.Load() != 0 {
		t.Errorf("after the refresh: ok %v, changed %v, files read %d; want one lstat per path and no read", ok, changed, w.Count.FilesRead.Load())
	}
}

// TestYoungFingerprintsAreNotBelieved is the race rule: a file that changed less
// than two seconds before it was read may change again without its times moving.
func TestYoungFingerprintsAreNotBelieved(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "z")
	old := time.Now().Add(-time.Hour)
	b.now = time.Now()
	s := b.slot()
	for _, l := range s.Leaves {
		if l.Kind == "file" && l.Trusted {
			t.Errorf("a file written just now is trusted: %+v", l.Print)
		}
	}
	// The rewrite keeps size and mtime; ctime cannot be kept, so the fingerprint is
	// made equal by hand, as a coarse clock would.
	b.write("a", "y")
	os.Chtimes(filepath.Join(b.dir, "a"), old, old)
	fresh := b.slot()
	for i := range s.Leaves {
		s.Leaves[i].Print = fresh.Leaves[i].Print
	}
	if ok, _, _ := b.check(s); ok {
		t.Error("a rewrite within the same clock tick was served stale")
	}
}

// TestFutureTimesAreNotBelieved: a file dated ahead of the clock never settles.
func TestFutureTimesAreNotBelieved(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "z")
	future := b.now.Add(24 * time.Hour)
	os.Chtimes(filepath.Join(b.dir, "a"), future, future)
	for _, l := range b.slot().Leaves {
		if path, _ := kindNamed(l.Kind).DecodeParams(l.Params); path == (graph.File{Path: "a"}) && l.Trusted {
			t.Error("a file from the future is trusted")
		}
	}
}

func TestSlotWindow(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "z")
	s := b.slot()
	for _, c := range []struct {
		from, to time.Duration
		want     bool
	}{
		{-time.Second, time.Second, true},
		{time.Second, 2 * time.Second, false},
		{-2 * time.Second, 0, false}, // valid from ≤ now < valid until
		{0, time.Second, true},
	} {
		s.ValidFrom, s.Expires = b.now.Add(c.from).UnixNano(), b.now.Add(c.to).UnixNano()
		if ok, _, _ := b.check(s); ok != c.want {
			t.Errorf("valid from %v to %v: ok = %v, want %v", c.from, c.to, ok, c.want)
		}
	}
}

func TestSlotProvenanceEqualsTheEvaluators(t *testing.T) {
	b := newBench(t)
	b.write("a", "x")
	b.write("b", "z")
	e := b.evaluator()
	n := both{"a", "b"}
	if _, err := e.Eval(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	want := e.Provenance(n)
	s, _ := e.NewSlot(n, nil, nil, b.now, true)
	got, err := s.Provenance(kindNamed)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(got) < 8 {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Task != want[i].Task || !reflect.DeepEqual(got[i].Needs, want[i].Needs) {
			t.Errorf("step %d = %v %v, want %v %v", i, got[i].Task, got[i].Needs, want[i].Task, want[i].Needs)
		}
	}
}

func FuzzDecodeSlot(f *testing.F) {
	f.Add([]byte{})
	f.Add(eval.EncodeSlot(&eval.Slot{Result: []byte("r"), Leaves: []eval.SlotLeaf{{Kind: "file", Params: []byte("x")}}, Edges: []byte{1, 1, 'x', 0}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := eval.DecodeSlot(in)
		if err != nil {
			return
		}
		if got := eval.EncodeSlot(s); string(got) != string(in) {
			t.Fatalf("DecodeSlot accepted %x, which encodes to %x", in, got)
		}
		s.Provenance(kindNamed)
	})
}
