package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
)

var testTime = time.Unix(0, noon)

// approved is what the tests below say yes to.
func approved() AdHoc {
	return AdHoc{Command: "./check.sh --all", DeclaredIn: "svc/.mwp-context.md", Cwd: "svc", Commit: "", Script: cas.Sum([]byte("script"))}
}

func decide(t testing.TB, l TrustLock, g AdHoc, v Verdict, after time.Duration) {
	t.Helper()
	if err := l.Decide(context.Background(), g, v, testTime.Add(after)); err != nil {
		t.Fatal(err)
	}
}

func answer(t testing.TB, l TrustLock, g AdHoc) Answer {
	t.Helper()
	d, err := l.Read()
	if err != nil || d.Problem != "" {
		t.Fatal(err, d.Problem)
	}
	return d.Lookup(g)
}

func with(g AdHoc, change func(*AdHoc)) AdHoc { change(&g); return g }

func TestTrustLock(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/home/ann/p"}
	g := approved()
	if got := answer(t, l, g); got.Verdict != Unknown {
		t.Errorf("without a file: %+v", got)
	}
	decide(t, l, g, Yes, 0)
	decide(t, l, with(g, func(g *AdHoc) { g.DeclaredIn, g.Script = "lib/.mwp-context.md", cas.Digest{} }), Never, 0)
	elsewhere := l
	elsewhere.Root = "/home/ann/q"
	other := cas.Sum([]byte("other"))
	for _, c := range []struct {
		name string
		lock TrustLock
		g    AdHoc
		want Answer
	}{
		{"the same", l, g, Answer{Verdict: Yes}},
		{"never", l, with(g, func(g *AdHoc) { g.DeclaredIn, g.Script = "lib/.mwp-context.md", cas.Digest{} }), Answer{Verdict: Never}},
		{"another script", l, with(g, func(g *AdHoc) { g.Script = other }), Answer{Outdated, []Part{PartScript}, Yes}},
		{"the script is gone", l, with(g, func(g *AdHoc) { g.Script = cas.Digest{} }), Answer{Outdated, []Part{PartScript}, Yes}},
		{"another commit", l, with(g, func(g *AdHoc) { g.Commit = "abc" }), Answer{Outdated, []Part{PartModule}, Yes}},
		{"both", l, with(g, func(g *AdHoc) { g.Commit, g.Script = "abc", other }), Answer{Outdated, []Part{PartScript, PartModule}, Yes}},
		{"another command", l, with(g, func(g *AdHoc) { g.Command = "./check.sh" }), Answer{Outdated, []Part{PartCommand}, Yes}},
		{"another command and script", l, with(g, func(g *AdHoc) { g.Command, g.Script = "./check.sh", other }), Answer{}},
		{"another command without a script", l, with(g, func(g *AdHoc) {
			g.DeclaredIn, g.Script, g.Command = "lib/.mwp-context.md", cas.Digest{}, "make"
		}), Answer{}},
		{"another file", l, with(g, func(g *AdHoc) { g.DeclaredIn = "b.md" }), Answer{}},
		{"another directory", l, with(g, func(g *AdHoc) { g.Cwd = "." }), Answer{}},
		{"another place", elsewhere, g, Answer{Outdated, []Part{PartWorkspace}, Yes}},
		{"never, a script since", l, with(g, func(g *AdHoc) { g.DeclaredIn = "lib/.mwp-context.md" }), Answer{Outdated, []Part{PartScript}, Never}},
		{"fields that run together", l, with(g, func(g *AdHoc) { g.DeclaredIn, g.Cwd = "svc/.mwp-context.mds", "vc" }), Answer{}},
	} {
		if diff := cmp.Diff(c.want, answer(t, c.lock, c.g)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	decide(t, l, g, Never, -time.Hour) // the clock went back; the last word counts
	if got := answer(t, l, g); got.Verdict != Never {
		t.Errorf("after never: %+v", got)
	}
	if got := strings.Count(string(readFile(t, filepath.Join(l.State.Path, TrustName))), `"command"`); got != 2 {
		t.Errorf("%d decisions, want 2", got)
	}
}

// TestNearest: the answer is about the decision that differs least, of several the
// newest.
func TestNearest(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	g := approved()
	decide(t, l, with(g, func(g *AdHoc) { g.Commit, g.Script = "1", cas.Digest{1} }), Never, 3*time.Hour)
	decide(t, l, with(g, func(g *AdHoc) { g.Script = cas.Digest{2} }), Yes, time.Hour)
	decide(t, l, with(g, func(g *AdHoc) { g.Script = cas.Digest{3} }), Never, 2*time.Hour)
	decide(t, l, with(g, func(g *AdHoc) { g.Script = cas.Digest{4} }), Yes, 0)
	if diff := cmp.Diff(Answer{Outdated, []Part{PartScript}, Never}, answer(t, l, g)); diff != "" {
		t.Errorf("Lookup (-want +got):\n%s", diff)
	}
}

// TestTrustOfOthers: a lock that comes with a repository decides nothing, and is kept.
func TestTrustOfOthers(t *testing.T) {
	ann := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	bob, none := ann, ann
	bob.Key, none.Key = textKey(t, "bob"), &Key{signer: noSigner}
	decide(t, ann, approved(), Yes, 0)
	for _, l := range []TrustLock{bob, none} {
		d, err := l.Read()
		if err != nil || d.Foreign != 1 || d.Damaged != 0 || d.Problem != "" || d.Lookup(approved()).Verdict != Unknown {
			t.Errorf("%s reads %+v, %v", l.Key.Signer(), d, err)
		}
	}
	decide(t, bob, approved(), Never, 0)
	for l, want := range map[*TrustLock]Verdict{&ann: Yes, &bob: Never} {
		if got := answer(t, *l, approved()); got.Verdict != want {
			t.Errorf("%s answers %+v, want %v", l.Key.Signer(), got, want)
		}
	}
	// The ledger's signature is none of the lock's, even under the same key.
	if ann.Key.records.Sum([]byte("x")) == ann.Key.decisions.Sum([]byte("x")) {
		t.Error("records and decisions are signed alike")
	}
}

// TestTrustFlippedBits: no bit of a decision can be changed without losing it.
func TestTrustFlippedBits(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	g := with(approved(), func(g *AdHoc) { g.Script = cas.Digest{} })
	decide(t, l, approved(), Yes, 0)
	decide(t, l, g, Never, 0)
	whole := readFile(t, filepath.Join(l.State.Path, TrustName))
	first := strings.Index(string(whole), "    {\n") + 4
	end := first + strings.Index(string(whole[first:]), "\n    }") + 6
	firstIs := l.parse(whole).own[0]
	for i := range whole {
		// A digit into another one, a letter into one of the other case, text into none.
		for _, mask := range []byte{1, 0x20, 0xff} {
			bad := append([]byte{}, whole...)
			bad[i] ^= mask
			d := l.parse(bad)
			if d.Problem == "" && d.Foreign == 0 {
				t.Fatalf("xor %#x at byte %d: nothing to report", mask, i)
			}
			for _, c := range d.own {
				if was := firstIs.binding == c.binding; was && i >= first && i < end {
					t.Fatalf("xor %#x at byte %d: %+v is believed", mask, i, c)
				}
				if c.verdict == Yes != (c.AdHoc == approved()) || c.verdict == Never != (c.AdHoc == g) {
					t.Fatalf("xor %#x at byte %d: %+v is believed", mask, i, c)
				}
			}
		}
	}
}

func TestTrustBroken(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	decide(t, l, approved(), Yes, 0)
	path := filepath.Join(l.State.Path, TrustName)
	whole := string(readFile(t, path))
	bad := strings.Replace(whole, `"yes"`, `"never"`, 1)
	for _, c := range []struct {
		text, problem string
		damaged       int
	}{
		{bad, "1 decision is damaged and counts for nothing", 1},
		{strings.Replace(whole, `"yes"`, `"maybe"`, 1), "1 decision is damaged and counts for nothing", 1},
		{whole[:strings.Index(whole, `"cwd": "`)+9], "9:16: expected the end of a string, found the end of the file; what follows counts for nothing; 1 decision is damaged and counts for nothing", 1},
		{strings.Repeat(" ", maxTrust+1), "the file has more than 4 MiB, and counts for nothing", 0},
		{"", "1:1: expected {, found the end of the file; what follows counts for nothing", 0},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		os.Remove(path + ".broken")
		d, err := l.Read()
		if err != nil || d.Damaged != c.damaged || d.Foreign != 0 || d.Lookup(approved()).Verdict != Unknown {
			t.Errorf("%q is read as %+v, %v", c.problem, d, err)
		}
		if d.Problem != c.problem {
			t.Errorf("problem %q, want %q", d.Problem, c.problem)
		}
		decide(t, l, approved(), Yes, 0)
		if got := string(readFile(t, path)); got != whole {
			t.Errorf("after a decision, the file is\n%s", got)
		}
		if got := readFile(t, path+".broken"); string(got) != c.text && len(got) != maxTrust+1 {
			t.Errorf("kept aside: %q", got)
		}
	}
}

// TestNamesThatAreNoText: what a decision is bound to are the bytes of a name, even
// those that JSON cannot hold.
func TestNamesThatAreNoText(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w\xff"}
	g := with(approved(), func(g *AdHoc) { g.DeclaredIn = "a\xff/x.md" })
	decide(t, l, g, Yes, 0)
	if got := answer(t, l, g); got.Verdict != Yes {
		t.Errorf("the same: %+v", got)
	}
	for _, name := range []string{"a\xfe/x.md", "a\ufffd/x.md"} {
		if got := answer(t, l, with(g, func(g *AdHoc) { g.DeclaredIn = name })); got.Verdict == Yes {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestDecideAtOnce(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { decide(t, l, AdHoc{Command: fmt.Sprint("c", i)}, Yes, 0) })
	}
	wg.Wait()
	for i := range 8 {
		if got := answer(t, l, AdHoc{Command: fmt.Sprint("c", i)}); got.Verdict != Yes {
			t.Errorf("decision %d: %+v", i, got)
		}
	}
}

func TestDecidePanics(t *testing.T) {
	for name, l := range map[string]TrustLock{"no key": {Key: &Key{signer: noSigner}}, "no decision": {Key: textKey(t, "ann")}} {
		v := Yes
		if name == "no decision" {
			v = Outdated
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			l.Decide(context.Background(), AdHoc{}, v, testTime)
		}()
	}
}

// FuzzTrustLock: any file is read without a panic, and what is written after it is read
// as the same decisions.
func FuzzTrustLock(f *testing.F) {
	l := TrustLock{State: project(f), Key: textKey(f, "ann"), Root: "/w"}
	bob := l
	bob.Key = textKey(f, "bob")
	decide(f, l, approved(), Yes, 0)
	decide(f, bob, approved(), Never, 0)
	whole := readFile(f, filepath.Join(l.State.Path, TrustName))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"version": 1, "decisions": [{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := l.parse(text)
		d.Lookup(approved())
		out := d.format()
		again := l.parse(out)
		if again.Problem != "" || again.Foreign != d.Foreign || len(again.own) != len(d.own) || string(again.format()) != string(out) {
			t.Errorf("read again: %+v\nwas %+v", again, d)
		}
		for _, c := range again.own {
			if !slices.ContainsFunc(d.own, func(o decision) bool { return o == c }) {
				t.Errorf("%+v is new", c)
			}
		}
	})
}
