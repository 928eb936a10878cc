package eval_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/graph"
)

// TestTenThousandContents holds what a check of many files costs, and the evaluation
// that follows when it fails: one lstat for each, and to read those that changed.
func TestTenThousandContents(t *testing.T) {
	const n = 10_000
	g := newGuardBench(t, guarded{n, 1})
	g.keep("k", run(true, time.Hour))
	_, s, w, _ := g.eval()
	if got := w.Count.FilesRead.Load(); got != n+1 {
		t.Errorf("at first %d files read, want %d", got, n+1)
	}
	const looks = n + 2 // and the directory, and the records
	for _, c := range []struct {
		name          string
		edit          func()
		ok, changed   bool
		checked, read int64 // files read by the check, and by the evaluation that follows
	}{
		{name: "nothing", edit: func() {}, ok: true},
		{name: "touched", edit: func() { g.must(os.Chtimes(g.path(contentPath(777)), at, at)) }, ok: true, changed: true, checked: 1},
		{name: "nothing after that", edit: func() {}, ok: true},
		{name: "content", edit: func() { g.write(contentPath(9), "edited text") }, checked: 1, read: 1 + 1},
		{name: "over", edit: func() { g.clock = at.Add(time.Hour) }, read: 1},
	} {
		c.edit()
		ok, changed, w := g.check(s)
		if ok != c.ok || changed != c.changed {
			t.Errorf("%s: check = %v, %v; want %v, %v", c.name, ok, changed, c.ok, c.changed)
		}
		// A file that is read is looked at before and after.
		if l, f := w.Count.Lstats.Load(), w.Count.FilesRead.Load(); l != looks+2*c.checked || f != c.checked {
			t.Errorf("%s: %d lstats and %d files read, want %d and %d", c.name, l, f, looks+2*c.checked, c.checked)
		}
		if ok {
			continue
		}
		var got string
		got, s, w, _ = g.eval()
		if f := w.Count.FilesRead.Load(); f != c.read {
			t.Errorf("%s: the evaluation reads %d files, want %d", c.name, f, c.read)
		}
		if c.name == "content" && got != g.fresh() {
			t.Errorf("%s: the value is not a fresh one", c.name)
		}
	}
}

// TestContentsAreReadOnceForACheck holds for few files too, which may be large ones:
// what did not change is not hashed because something else did.
func TestContentsAreReadOnceForACheck(t *testing.T) {
	g := newGuardBench(t, guarded{9, 1})
	g.keep("k", run(true, time.Hour))
	_, s, _, _ := g.eval()
	g.write(contentPath(4), "edited text")
	if ok, _, _ := g.check(s); ok {
		t.Fatal("the slot holds")
	}
	got, s, w, _ := g.eval()
	if f := w.Count.FilesRead.Load(); f != 1+1 || got != g.fresh() {
		t.Errorf("%d files read, want 2; as a fresh value: %v", f, got == g.fresh())
	}
	g.clock = at.Add(time.Hour)
	g.check(s)
	got, _, w, _ = g.eval()
	if f := w.Count.FilesRead.Load(); f != 1 || got != g.fresh() {
		t.Errorf("over: %d files read, want 1; as a fresh value: %v", f, got == g.fresh())
	}
}

// TestUntrustedContents holds that files which no lstat vouches for are read by a check,
// and by the evaluation that follows on one change only where they were not.
func TestUntrustedContents(t *testing.T) {
	g := newGuardBench(t, guarded{1000, 1})
	g.now = time.Now()
	_, s, _, _ := g.eval()
	ok, changed, w := g.check(s)
	if f := w.Count.FilesRead.Load(); !ok || changed || f != 1000 {
		t.Errorf("check = %v, %v with %d files read, want true, false, 1000", ok, changed, f)
	}
	g.now = g.now.Add(time.Hour)
	if ok, changed, _ = g.check(s); !ok || !changed {
		t.Errorf("later check = %v, %v, want true, true", ok, changed)
	}
	if ok, changed, w = g.check(s); !ok || changed || w.Count.FilesRead.Load() != 0 {
		t.Errorf("last check = %v, %v with %d files read, want true, false, 0", ok, changed, w.Count.FilesRead.Load())
	}
	for i := range s.Leaves {
		s.Leaves[i].Trusted = false
	}
	g.write(contentPath(999), "edited text")
	ok, _, w = g.check(s)
	checked := w.Count.FilesRead.Load()
	// How many were read when the difference was found depends on the processors.
	if ok || checked > 1000 {
		t.Errorf("check after an edit = %v with %d files read", ok, checked)
	}
	got, _, w, _ := g.eval()
	if f := w.Count.FilesRead.Load(); f+checked > 1000+1 || got != g.fresh() {
		t.Errorf("%d files read after the %d of the check, want 1001 together; as a fresh value: %v", f, checked, got == g.fresh())
	}
}

// TestSlotsAgreeWithFreshValues makes random edits of files, records, keys and clocks,
// and holds after each that a slot which holds has the value that somebody computes who
// knows nothing, and so has an evaluation that knows the slot and the store.
func TestSlotsAgreeWithFreshValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		node  guarded
		steps int
	}{{"small", guarded{6, 5}, 150}, {"large", guarded{6, 1000}, 30}} {
		t.Run(c.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Log("seed", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			g := newGuardBench(t, c.node)
			value, s, _, _ := g.eval()
			books := []*book{{key: "k"}, {key: "other"}, {}, nil}
			held, missed := 0, 0
			for step := range c.steps {
				edits := []string{g.randomEdit(rnd, books)}
				for rnd.IntN(4) == 0 {
					edits = append(edits, g.randomEdit(rnd, books))
				}
				ok, _, _ := g.check(s)
				want := g.fresh()
				if ok && value != want {
					t.Fatalf("step %d, %v: the slot holds with another value than\n%.3000s\nwhich is\n%.3000s", step, edits, want, value)
				}
				if ok {
					held++
					continue
				}
				missed++
				if value, s, _, _ = g.eval(); value != want {
					t.Fatalf("step %d, %v: value = %.3000s\nwant %.3000s", step, edits, value, want)
				}
			}
			if held == 0 || missed == 0 {
				t.Errorf("the slot held %d times and did not %d times: nothing was tested", held, missed)
			}
		})
	}
}

// randomEdit changes something, and moves the clock that stamps files past what it did
// or not. It returns what it did.
func (g *guardBench) randomEdit(rnd *rand.Rand, books []*book) string {
	g.t.Helper()
	file := g.path(contentPath(rnd.IntN(g.node.Files)))
	// What an edit changes gets times that nothing had before, as if the clock had moved.
	stamp := func(path string) {
		then := longAgo.Add(time.Duration(rnd.Int64N(int64(20 * 365 * 24 * time.Hour))))
		_ = os.Chtimes(path, then, then)
	}
	g.now = time.Now()
	if rnd.IntN(3) > 0 {
		g.now = g.now.Add(time.Hour)
	}
	switch rnd.IntN(10) {
	case 0, 1:
		edit := contentEdits[rnd.IntN(len(contentEdits))]
		// Whatever is there may be of another type by now.
		_ = edit.edit(file)
		stamp(g.path("src"))
		if edit.name != "another of the old times" {
			stamp(file)
		}
		return edit.name
	case 2:
		g.must(os.RemoveAll(file))
		g.must(os.WriteFile(file, []byte("text"), 0o644))
		stamp(g.path("src"))
		stamp(file)
		return "a file again"
	case 3, 4:
		runs := make([]*graph.Run, 5)
		for i := range runs {
			if rnd.IntN(3) == 0 {
				continue
			}
			r := run(rnd.IntN(2) == 0, time.Duration(rnd.IntN(3))*time.Minute)
			r.RanAt += rnd.Int64N(3) * int64(time.Minute)
			if rnd.IntN(3) == 0 {
				r.Override = &graph.Override{Until: at.Add(time.Duration(rnd.IntN(4)) * time.Minute).UnixNano()}
			}
			runs[i] = r
		}
		g.must(os.RemoveAll(g.path(ledgerFile)))
		g.keep([]string{"k", "k", "other"}[rnd.IntN(3)], runs...)
		stamp(g.path(ledgerFile))
		return "records"
	case 5:
		if _, err := os.Stat(g.path(ledgerFile)); err != nil {
			return "no records"
		}
		g.must(os.Truncate(g.path(ledgerFile), rnd.Int64N(50)))
		stamp(g.path(ledgerFile))
		return "truncated"
	case 6:
		g.ledger = books[rnd.IntN(len(books))]
		return "another key"
	default:
		g.clock = at.Add(time.Duration(rnd.IntN(8)-2)*time.Minute + time.Duration(rnd.IntN(3)-1))
		return "the clock"
	}
}
