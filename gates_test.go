package mwp_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// The gates hold the budgets of docs/architecture.md by counts, which do not
// depend on how busy a machine is. Times are measured by ./bench.

// project is a tree with a context file on each of some levels.
type project struct {
	t      *testing.T
	root   string
	levels int
	clock  time.Time
	// events are those of the last map; guarded by mu.
	mu     sync.Mutex
	events []mwp.Event
}

func newProject(t *testing.T, levels int) *project {
	t.Helper()
	p := &project{t: t, root: filepath.Join(t.TempDir(), "tree"), levels: levels}
	p.write(".mwp/config.toml", "name = \"gates\"\n")
	p.write(".mwp/intents/plan.md", "# Plan\n")
	for i := range levels {
		p.write(p.context(i), fmt.Sprintf("---\nowners: [team-%d]\n---\n# Level %d\n\n%s", i, i, strings.Repeat("Some words about this level.\n", 8)))
		p.write(filepath.Join(p.dir(i), "main.go"), "package x\n")
	}
	p.settle()
	return p
}

// dir returns the directory of a level, the root's being level 0.
func (p *project) dir(level int) string { return "." + strings.Repeat("/shipment", level) }

func (p *project) context(level int) string { return p.dir(level) + "/.mwp-context.md" }

func (p *project) target() string { return filepath.Join(p.dir(p.levels-1), "main.go") }

func (p *project) write(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// settle moves the clock so far ahead that every file has been left alone long
// enough to be believed. Change times cannot be set back.
func (p *project) settle() { p.clock = time.Now().Add(time.Hour) }

// ask asks for the target's map and records it.
func (p *project) ask() *mwp.Result {
	p.t.Helper()
	p.events = nil
	r, err := mwp.Open(p.options()).Map(context.Background(), mwp.Request{Target: p.target()})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := r.Record(); err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *project) options() mwp.Options {
	return mwp.Options{Dir: p.root, Now: func() time.Time { return p.clock }, Observe: func(e mwp.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, e)
	}}
}

// computed names the nodes that the last map computed.
func (p *project) computed() string {
	var names []string
	for _, e := range p.events {
		if e.Status == graph.Computed {
			names = append(names, mwp.DescribeNode(e))
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n\t")
}

func (p *project) slotsDir() string { return filepath.Join(p.root, ".mwp", "cache", "v1", "slots") }

// slot returns the only slot of the project's cache and the size of its file.
func (p *project) slot() (*eval.Slot, int64) {
	p.t.Helper()
	files, err := os.ReadDir(p.slotsDir())
	if err != nil || len(files) != 1 {
		p.t.Fatalf("want one slot, got %v, %v", files, err)
	}
	info, err := files[0].Info()
	if err != nil {
		p.t.Fatal(err)
	}
	k, err := hex.DecodeString(files[0].Name())
	if err != nil {
		p.t.Fatal(err)
	}
	b, err := cas.OpenSlots(p.slotsDir(), nil).Read(cas.Key(k))
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := eval.DecodeSlot(b)
	if err != nil {
		p.t.Fatal(err)
	}
	return s, info.Size()
}

// served checks that a map came from its slot and nothing but lstat was used.
func served(t *testing.T, r *mwp.Result) {
	t.Helper()
	if !r.Served || r.Stats != (eval.Stats{}) {
		t.Errorf("served %v with %+v, want true and no evaluation", r.Served, r.Stats)
	}
	if f, h, d, l := r.World.FilesRead.Load(), r.World.BytesHashed.Load(), r.World.DirsRead.Load(), r.World.LinksRead.Load(); f+h+d+l > 0 {
		t.Errorf("read %d files, hashed %d bytes, read %d directories and %d links, want none", f, h, d, l)
	}
}

func TestGateWarmMap(t *testing.T) {
	p := newProject(t, 7)
	if p.ask().Served {
		t.Fatal("the first map was served")
	}
	// The first map made the cache's directory, so that the anchor's looks changed:
	// the second looks into it again and finds everything as it was.
	served(t, p.ask())
	r := p.ask()
	served(t, r)
	if len(p.events) > 0 {
		t.Errorf("evaluated %d tasks", len(p.events))
	}
	s, _ := p.slot()
	if got, limit := r.World.Lstats.Load(), int64(len(s.Leaves)); got > limit {
		t.Errorf("%d lstats for %d leaves", got, limit)
	}
}

// TestGateBodyEdit holds T6: an edit of one body computes the few nodes that see
// bodies, however deep the tree.
func TestGateBodyEdit(t *testing.T) {
	const limit = 8
	var counts []int64
	for _, levels := range []int{5, 50} {
		p := newProject(t, levels)
		p.ask()
		p.write(p.context(levels/2), "---\nowners: [team-"+fmt.Sprint(levels/2)+"]\n---\n# Another heading\n\nOther words.\n")
		p.settle()
		n := p.ask().Stats.Computed
		if n == 0 || n > limit {
			t.Errorf("%d levels: %d nodes computed, want 1 to %d:\n\t%s", levels, n, limit, p.computed())
		}
		t.Logf("%d levels: %d nodes computed:\n\t%s", levels, n, p.computed())
		counts = append(counts, n)
	}
	if counts[0] != counts[1] {
		t.Errorf("%d nodes computed at 5 levels and %d at 50, want the same number", counts[0], counts[1])
	}
}

// TestGateTouch holds T6's other half: new times without new content compute
// nothing, whether the slot is there or only the store.
func TestGateTouch(t *testing.T) {
	p := newProject(t, 7)
	p.ask()
	touch := func() {
		t.Helper()
		at := p.clock.Add(-time.Minute)
		if err := os.Chtimes(filepath.Join(p.root, p.context(3)), at, at); err != nil {
			t.Fatal(err)
		}
		p.settle()
	}
	touch()
	r := p.ask()
	if !r.Served || r.Stats != (eval.Stats{}) || r.World.FilesRead.Load() != 1 {
		t.Errorf("after a touch: served %v, %+v, %d files read; want true, nothing evaluated, 1", r.Served, r.Stats, r.World.FilesRead.Load())
	}
	served(t, p.ask())
	touch()
	if err := os.RemoveAll(p.slotsDir()); err != nil {
		t.Fatal(err)
	}
	if r := p.ask(); r.Served || r.Stats.Computed != 0 {
		t.Errorf("after a touch without the slot: served %v, %d computed, want false and 0:\n\t%s", r.Served, r.Stats.Computed, p.computed())
	}
}

// TestGateCopiedTree holds T8: a cache that was copied with its tree answers at
// the other path.
func TestGateCopiedTree(t *testing.T) {
	p := newProject(t, 7)
	p.ask()
	from := p.root
	p.root = filepath.Join(t.TempDir(), "some", "where", "else")
	if err := os.MkdirAll(p.root, 0o777); err != nil {
		t.Fatal(err)
	}
	copyTree(t, from, p.root)
	p.settle()
	if r := p.ask(); !r.Served || r.Stats != (eval.Stats{}) {
		t.Errorf("served %v with %+v, want true and nothing evaluated:\n\t%s", r.Served, r.Stats, p.computed())
	}
	served(t, p.ask())
	if err := os.RemoveAll(p.slotsDir()); err != nil {
		t.Fatal(err)
	}
	if r := p.ask(); r.Stats.Computed != 0 {
		t.Errorf("without the slot: %d computed, want 0:\n\t%s", r.Stats.Computed, p.computed())
	}
}

// TestGateBranchSwitch holds T9's count: going back to a branch computes nothing.
func TestGateBranchSwitch(t *testing.T) {
	p := newProject(t, 20)
	branch := func(name string) *mwp.Result {
		t.Helper()
		p.write(".mwp/config.toml", "name = \""+name+"\"\ndescription = \"the branch "+name+"\"\n")
		for _, i := range []int{0, 5, 19} {
			p.write(p.context(i), "---\npriority: "+fmt.Sprint(40+i+len(name))+"\n---\nThe text of "+name+".\n")
		}
		p.settle()
		return p.ask()
	}
	branch("main")
	if r := branch("feature"); r.Stats.Computed == 0 {
		t.Error("the other branch computed nothing, so this test shows nothing")
	}
	if r := branch("main"); r.Stats.Computed != 0 {
		t.Errorf("%d computed on the way back, want 0:\n\t%s", r.Stats.Computed, p.computed())
	}
}

// TestGateNothingBeside holds that a map looks into no directory beside the
// target's path, however many there are.
func TestGateNothingBeside(t *testing.T) {
	p := newProject(t, 5)
	for i := range p.levels {
		for j := range 30 {
			p.write(fmt.Sprintf("%s/sibling%d/.mwp-context.md", p.dir(i), j), "Beside.\n")
		}
	}
	p.settle()
	r := p.ask()
	allowed := func(dir string) bool {
		return dir == "." || dir == ".mwp" || strings.HasPrefix(dir, ".mwp/") || dir == strings.Trim(strings.Repeat("shipment/", strings.Count(dir, "/")+1), "/")
	}
	lists := 0
	for _, e := range p.events {
		dir := "."
		switch l := e.Task.(type) {
		case graph.List:
			lists++
			if dir = l.Dir; !strings.HasPrefix(dir, ".mwp/") {
				t.Errorf("lists %s, which the map of a file needs not", dir)
			}
		case graph.Probe:
			dir = l.Dir
		case graph.File:
			dir = filepath.ToSlash(filepath.Dir(l.Path))
		}
		if !allowed(dir) {
			t.Errorf("looks into %s: %s", dir, mwp.DescribeNode(e))
		}
	}
	if got := r.World.DirsRead.Load(); lists == 0 || got != int64(lists) {
		t.Errorf("read %d directories for %d lists", got, lists)
	}
}

// TestGateDisk holds T11.
func TestGateDisk(t *testing.T) {
	const (
		leaves    = 20
		perSlot   = 6 << 10 // bytes for 20 leaves, beyond the rendered ones
		perParsed = 1300    // bytes of a parsed context with its trace
	)
	for _, levels := range []int{6, 8} {
		p := newProject(t, levels)
		p.ask()
		s, size := p.slot()
		beyond := (size - int64(len(s.Result))) * leaves / int64(len(s.Leaves))
		t.Logf("%d levels: %d leaves, %d bytes of which %d rendered and %d edges, %d beyond for each %d leaves", levels, len(s.Leaves), size, len(s.Result), len(s.Edges), beyond, leaves)
		if beyond > perSlot {
			t.Errorf("%d levels: the slot takes %d bytes for each %d leaves beyond the result, want at most %d", levels, beyond, leaves, perSlot)
		}
		for _, e := range p.events {
			if name := e.Task.Kind().Name; e.Status == graph.Computed && (name == "parsed" || name == "context") {
				if n := recordBytes(e); n > perParsed {
					t.Errorf("%s takes %d bytes in the store, want at most %d", mwp.DescribeNode(e), n, perParsed)
				}
			}
		}
	}
}

// recordBytes is the size in the store of what computing one node left there:
// its trace, with the value inside of it when that is small.
func recordBytes(e mwp.Event) int { return len(graph.EncodeTrace(e.Trace)) + recordOverhead }

// recordOverhead is a record's header and tag plus its share of the index, see
// docs/format.md.
const recordOverhead = 42 + 16 + 45

// TestGateAllocation bounds what a warm map allocates: a fresh process touches
// each of these bytes for the first time, which costs a page fault every 4 KB.
// Measured for 18 leaves and a slot of 11 KB: 42 KB in 353 allocations.
func TestGateAllocation(t *testing.T) {
	const maxBytes, maxAllocations = 64 << 10, 450
	p := newProject(t, 7)
	p.ask()
	p.ask()
	ws := mwp.Open(p.options())
	q := mwp.Request{Target: p.target()}
	warm := func() {
		r, err := ws.Map(context.Background(), q)
		if err != nil || !r.Served {
			t.Fatalf("served %v, %v", r != nil && r.Served, err)
		}
	}
	const runs = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := testing.AllocsPerRun(runs, warm)
	runtime.ReadMemStats(&after)
	// AllocsPerRun adds one run of its own to warm up.
	bytes := (after.TotalAlloc - before.TotalAlloc) / (runs + 1)
	if n > maxAllocations || bytes > maxBytes {
		t.Errorf("a warm map allocates %d bytes in %.0f allocations, want at most %d in %d", bytes, n, maxBytes, maxAllocations)
	}
	t.Logf("%d bytes in %.0f allocations", bytes, n)
}
