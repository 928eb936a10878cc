package eval

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// glanced is a tree with a slot that rests on two files in it, on a name that is not there,
// and on the names in two directories.
type glanced struct {
	t    *testing.T
	root string
	w    *World
	slot *Slot
}

func newGlanced(t *testing.T) *glanced {
	g := &glanced{t: t, root: t.TempDir()}
	g.write("a/b/one.md", "one")
	g.write("a/two.md", "two")
	g.w = NewWorld(g.root, time.Now)
	g.slot = &Slot{}
	for _, rel := range []string{"a/two.md", "a/b/one.md", "a/b/gone.md"} {
		var e cas.Encoder
		e.String(rel)
		g.leaf(graph.FileKind.Name, rel, e.Encoded())
	}
	for _, rel := range []string{"a", "a/b"} {
		var e cas.Encoder
		e.Uint(1)
		e.String("name")
		e.String(rel)
		g.leaf(graph.ProbeKind.Name, rel, e.Encoded())
	}
	return g
}

func (g *glanced) leaf(kind, rel string, params []byte) {
	g.t.Helper()
	l := SlotLeaf{Kind: kind, Params: params, Trusted: true}
	if string(l.statPath()) != rel {
		g.t.Fatalf("the parameters of %s lead to %q", rel, l.statPath())
	}
	s, err := lstat(g.w.abs(rel))
	if err != nil {
		g.t.Fatal(err)
	}
	l.Print = s.Fingerprint
	g.slot.Leaves = append(g.slot.Leaves, l)
}

func (g *glanced) write(rel, text string) {
	g.t.Helper()
	path := filepath.Join(g.root, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		g.t.Fatal(err)
	}
}

// must fails the test when a step of a change did.
func (g *glanced) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *glanced) path(rel string) string { return filepath.Join(g.root, rel) }

// Everything that can happen to what a slot rests on is seen from the open directories.
func TestGlanceSees(t *testing.T) {
	for name, change := range map[string]func(g *glanced){
		"a file is written":       func(g *glanced) { g.write("a/b/one.md", "other") },
		"a file is removed":       func(g *glanced) { g.must(os.Remove(g.path("a/two.md"))) },
		"a missing one is there":  func(g *glanced) { g.write("a/b/gone.md", "") },
		"a name beside":           func(g *glanced) { g.write("a/b/name", "") },
		"a directory is gone":     func(g *glanced) { g.must(os.Rename(g.path("a/b"), g.path("b"))) },
		"the root is another one": func(g *glanced) { g.must(os.Rename(g.root, g.root+"2")); g.write("a/x", "") },
		"a directory is replaced": func(g *glanced) {
			g.must(os.Rename(g.path("a/b"), g.path("a/c")))
			g.write("a/b/one.md", "one")
		},
		"a directory is a link to itself": func(g *glanced) {
			g.must(os.Rename(g.path("a/b"), g.path("a/c")))
			g.must(os.Symlink("c", g.path("a/b")))
		},
		"a file is executable": func(g *glanced) { g.must(os.Chmod(g.path("a/two.md"), 0o755)) },
		"the time is over":     func(g *glanced) { g.slot.Expires = 1 },
		"the time is to come":  func(g *glanced) { g.slot.ValidFrom = time.Now().Add(time.Hour).UnixNano() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGlanced(t)
			glance := g.w.Glance(g.slot)
			if glance == nil {
				t.Fatal("no glance")
			}
			defer glance.Close()
			if n := glance.Dirs(); n != 3 {
				t.Errorf("%d directories are open, want 3", n)
			}
			if !g.w.CheckAt(glance, nil) || g.w.Count.Glances.Load() != 1 {
				t.Fatal("nothing changed, and the glance says that something did")
			}
			change(g)
			if g.w.CheckAt(glance, nil) {
				t.Error("the glance saw nothing")
			}
		})
	}
}

// A slot that open directories cannot tell of has no glance, and leaves none open.
func TestNoGlance(t *testing.T) {
	for name, spoil := range map[string]func(g *glanced){
		"untrusted":           func(g *glanced) { g.slot.Leaves[0].Trusted = false },
		"two fingerprints":    func(g *glanced) { g.leafAgain(func(f *Fingerprint) { f.Size++ }) },
		"a missing directory": func(g *glanced) { g.must(os.RemoveAll(g.path("a"))) },
		"through a link": func(g *glanced) {
			g.must(os.Rename(g.path("a"), g.path("real")))
			g.must(os.Symlink("real", g.path("a")))
		},
		"above the root": func(g *glanced) {
			var e cas.Encoder
			e.String("../x")
			g.leaf(graph.FileKind.Name, "../x", e.Encoded())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGlanced(t)
			spoil(g)
			before := openFiles(t)
			if glance := g.w.Glance(g.slot); glance != nil {
				glance.Close()
				t.Error("there is a glance")
			}
			if after := openFiles(t); after > before {
				t.Errorf("%d files are open, %d before", after, before)
			}
		})
	}
}

func (g *glanced) leafAgain(spoil func(*Fingerprint)) {
	l := g.slot.Leaves[0]
	spoil(&l.Print)
	g.slot.Leaves = append(g.slot.Leaves, l)
}

// A record counts for who holds its key.
func TestGlanceRecords(t *testing.T) {
	g := newGlanced(t)
	var e, state cas.Encoder
	e.String("a/two.md")
	state.String("somebody")
	g.leaf(graph.RecordKind.Name, "a/two.md", e.Encoded())
	g.slot.Leaves[len(g.slot.Leaves)-1].State = state.Encoded()
	glance := g.w.Glance(g.slot)
	if glance == nil {
		t.Fatal("no glance")
	}
	defer glance.Close()
	if g.w.CheckAt(glance, nil) {
		t.Error("a record of another key counts")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	return len(fds)
}
