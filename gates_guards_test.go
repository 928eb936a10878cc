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
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guardProject is a project whose guards this user runs. Each guard leaves a line in
// a file outside of the project, so that a test can count the processes.
type guardProject struct {
	*project
	user string
	ages time.Time
}

func newGuardProject(t *testing.T, levels int) *guardProject {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the guards are scripts for sh")
	}
	p := &guardProject{project: newProject(t, levels), user: filepath.Join(t.TempDir(), "user"), ages: time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)}
	p.write(".mwp/config.toml", "name = \"gates\"\n[budgets]\nl0 = \"none\"\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n")
	return p
}

// script writes a script that a guard can run.
func (p *guardProject) script(path string) {
	p.t.Helper()
	p.write(path, "#!/bin/sh\necho x >> \"$MWP_TEST_LINES\"\n")
	if err := os.Chmod(filepath.Join(p.root, path), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// guards gives a level's context file guards that are written in YAML.
func (p *guardProject) guards(level int, entries ...string) {
	p.t.Helper()
	p.write(p.context(level), fmt.Sprintf("---\nowners: [team-%d]\nguards:\n%s---\n# Level %d\n\nSome words about this level.\n", level, strings.Join(entries, ""), level))
}

func (p *guardProject) lines() string { return p.user + ".lines" }

// ran returns how many guards ran up to now.
func (p *guardProject) ran() int {
	b, err := os.ReadFile(p.lines())
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func (p *guardProject) open() *mwp.Workspace {
	p.events = nil
	o := p.options()
	o.Guards = mwp.GuardOptions{UserDir: p.user, Env: append(os.Environ(), "MWP_TEST_LINES="+p.lines()), Now: func() time.Time { return p.ages }}
	return mwp.Open(o)
}

func (p *guardProject) ask() *mwp.Result { return p.askFor(p.target()) }

func (p *guardProject) askFor(target string) *mwp.Result {
	p.t.Helper()
	ws := p.open()
	defer ws.Close()
	r, err := ws.Map(context.Background(), mwp.Request{Target: target})
	if err == nil {
		err = r.Record()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// verify runs guards, those of the whole workspace or, with stale, whose results do
// not count.
func (p *guardProject) verify(stale bool, targets ...string) *mwp.VerifyResult {
	p.t.Helper()
	ws := p.open()
	defer ws.Close()
	r, err := ws.Verify(context.Background(), mwp.VerifyRequest{Targets: targets, Stale: stale, Jobs: 4, TrustAdHoc: true, NoDiscoveries: true})
	if err == nil {
		err = r.Record()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if !r.Report.OK() {
		p.t.Fatalf("the guards do not pass: %s", mwp.VerifyText(&r.Report, false, true))
	}
	p.settle()
	return r
}

// kinds counts the computed nodes of the last question by kind.
func (p *guardProject) kinds() map[string]int {
	n := map[string]int{}
	for _, e := range p.events {
		if e.Status == graph.Computed {
			n[e.Task.Kind().Name]++
		}
	}
	return n
}

// slotWith returns the leaves of the only slot that has a leaf of some kind and edges,
// which is a map's.
func (p *guardProject) slotWith(kind string) []eval.SlotLeaf {
	p.t.Helper()
	files, err := os.ReadDir(p.slotsDir())
	if err != nil {
		p.t.Fatal(err)
	}
	var found [][]eval.SlotLeaf
	for _, f := range files {
		k, err := hex.DecodeString(f.Name())
		if err != nil {
			continue
		}
		b, err := cas.OpenSlots(p.slotsDir(), nil).Read(cas.Key(k))
		if err != nil {
			p.t.Fatal(err)
		}
		s, err := eval.DecodeSlot(b)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(s.Edges) > 0 && slices.ContainsFunc(s.Leaves, func(l eval.SlotLeaf) bool { return l.Kind == kind }) {
			found = append(found, s.Leaves)
		}
	}
	if len(found) != 1 {
		p.t.Fatalf("%d slots of maps with a %s, want 1", len(found), kind)
	}
	return found[0]
}

// fifty are the guards of a map that is full of them.
const fifty = 50

// newFifty returns a project whose target's map has fifty guards with passed runs,
// each with a script and a verified file.
func newFifty(t *testing.T) *guardProject {
	p := newGuardProject(t, 5)
	for level := range p.levels {
		var entries []string
		for i := range fifty / p.levels {
			script, file := fmt.Sprintf("check-%d.sh", i), fmt.Sprintf("rests-on-%d.txt", i)
			p.script(filepath.Join(p.dir(level), script))
			p.write(filepath.Join(p.dir(level), file), "x\n")
			entries = append(entries, fmt.Sprintf("  - cmd: ./%s\n    cache_for: 1h\n    verified_paths: [%s]\n", script, file))
		}
		p.guards(level, entries...)
	}
	p.settle()
	p.verify(false)
	if n := p.ran(); n != fifty {
		t.Fatalf("%d guards ran, want %d", n, fifty)
	}
	return p
}

// TestGateGuards holds what a warm map with fifty guards looks at: one lstat for each
// path, the records' among them, and nothing read.
func TestGateGuards(t *testing.T) {
	p := newFifty(t)
	first := p.ask()
	if n := strings.Count(string(first.Text), `"status": "passed"`); n < fifty {
		t.Fatalf("the map has %d passed guards, want %d", n, fifty)
	}
	served(t, p.ask())
	r := p.ask()
	served(t, r)
	if len(p.events) > 0 {
		t.Errorf("evaluated %d tasks", len(p.events))
	}
	s := p.slotWith(graph.RecordKind.Name)
	records := 0
	for _, l := range s {
		if l.Kind == graph.RecordKind.Name {
			records++
		}
		if !l.Trusted && l.Kind != graph.AboveKind.Name {
			t.Errorf("%s %q is not trusted", l.Kind, l.Params)
		}
	}
	if records != fifty {
		t.Errorf("%d records among the leaves, want %d", records, fifty)
	}
	// All records lie in one file, and the names that guards rest on in few directories.
	t.Logf("%d leaves, %d lstats", len(s), r.World.Lstats.Load())
	if got, limit := r.World.Lstats.Load(), int64(len(s)/2); got > limit {
		t.Errorf("%d lstats for %d leaves, of which %d records share one and the probes of a directory another; want at most %d", got, len(s), records, limit)
	}
}

// TestGateStale holds that a verify of what still counts computes nothing and starts no
// process.
func TestGateStale(t *testing.T) {
	p := newFifty(t)
	p.verify(true)
	for range 2 {
		r := p.verify(true)
		if n := len(r.Report.Guards); n != fifty {
			t.Errorf("%d guards in the report, want %d", n, fifty)
		}
		if n := p.ran(); n != fifty {
			t.Errorf("%d guards ran in all, want %d", n, fifty)
		}
		if len(p.events) > 0 {
			t.Errorf("evaluated %d tasks: %v", len(p.events), p.kinds())
		}
	}
	// One file that changed lets one guard run.
	p.write(p.dir(2)+"/rests-on-3.txt", "another\n")
	p.settle()
	p.verify(true)
	if n := p.ran(); n != fifty+1 {
		t.Errorf("%d guards ran after one file changed, want one more than %d", n, fifty)
	}
}

// TestGateDefaultSet holds D-46: a guard that rests on all source files by default costs
// a map nothing, however many there are.
func TestGateDefaultSet(t *testing.T) {
	type cost struct{ lstats, read, hashed, dirs int64 }
	costs := map[string][]cost{}
	many := 10_000
	if testing.Short() {
		many = 2000
	}
	for _, files := range []int{10, many} {
		p := newGuardProject(t, 5)
		p.guards(0, "  - cmd: ./check.sh\n    cache_for: 1h\n")
		p.script("check.sh")
		for i := range files {
			dir := filepath.Join(p.root, fmt.Sprintf("many/%d", i/100))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		p.settle()
		p.verify(false)
		if err := os.RemoveAll(filepath.Join(p.root, ".mwp", "cache")); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"cold", "after cold", "warm"} {
			r := p.ask()
			if what == "cold" && !strings.Contains(string(r.Text), `"status": "passed"`) {
				t.Error("the map does not have the guard's run")
			}
			for _, e := range p.events {
				if l, ok := e.Task.(graph.List); ok && l.Filter == graph.Everything {
					t.Errorf("%s: lists %s", what, l.Dir)
				}
			}
			c := &r.World
			costs[what] = append(costs[what], cost{(*c).Lstats.Load(), (*c).FilesRead.Load(), (*c).BytesHashed.Load(), (*c).DirsRead.Load()})
			if what == "warm" {
				served(t, r)
			}
		}
	}
	for what, c := range costs {
		if c[0] != c[1] {
			t.Errorf("a %s map costs %+v with 10 files and %+v with %d", what, c[0], c[1], many)
		}
		t.Logf("%s: %+v", what, c[0])
	}
}

// TestGateVerifiedFiles holds that of ten thousand verified files only the one is read
// that changed.
func TestGateVerifiedFiles(t *testing.T) {
	files := 10_000
	if testing.Short() {
		files = 2000
	}
	p := newGuardProject(t, 3)
	p.guards(1, "  - cmd: ./check.sh\n    cache_for: 1h\n    verified_paths: [data]\n")
	p.script(p.dir(1) + "/check.sh")
	file := func(i int) string { return fmt.Sprintf("%s/data/%d/%d.txt", p.dir(1), i/100, i) }
	for i := range files {
		p.write(file(i), "x\n")
	}
	p.settle()
	p.verify(false)
	p.ask()
	served(t, p.ask())
	warm := p.ask()
	served(t, warm)
	t.Logf("%d lstats for %d files", warm.World.Lstats.Load(), files)
	if got, limit := warm.World.Lstats.Load(), int64(files+files/100+100); got > limit {
		t.Errorf("a warm map takes %d lstats, want at most %d", got, limit)
	}
	p.write(file(files/2), "another\n")
	p.settle()
	r := p.ask()
	t.Logf("after an edit: %d files read, %d directories, %d lstats; computed %v", r.World.FilesRead.Load(), r.World.DirsRead.Load(), r.World.Lstats.Load(), p.kinds())
	if !strings.Contains(string(r.Text), ir.ReasonFilesChanged) {
		t.Error("the map does not say that files changed")
	}
	// The map is put together again from what people wrote for it.
	if got, want := r.World.FilesRead.Load(), int64(1+p.levels+1); got != want {
		t.Errorf("%d files read after one of %d changed, want %d: that one, %d contexts and the configuration", got, files, want, p.levels)
	}
	if got := r.World.DirsRead.Load(); got != 0 {
		t.Errorf("%d directories read after a file changed, want 0", got)
	}
}

// TestGateNewRun holds D-98: a new run changes what is known of its guard, in the maps
// that have it, and no layer. The tokens are those of the map as a whole.
func TestGateNewRun(t *testing.T) {
	p := newGuardProject(t, 4)
	for _, level := range []int{1, 3} {
		p.guards(level, "  - cmd: ./check.sh\n    cache_for: 1h\n    verified_paths: []\n")
		p.script(p.dir(level) + "/check.sh")
	}
	p.settle()
	p.verify(false)
	inner, outer := p.target(), filepath.Join(p.dir(1), "main.go")
	for range 2 {
		p.askFor(inner)
		p.askFor(outer)
	}
	before := p.askFor(inner)
	// One minute later only the inner guard runs again.
	p.ages = p.ages.Add(time.Minute)
	p.write(p.dir(3)+"/check.sh", "#!/bin/sh\necho y >> \"$MWP_TEST_LINES\"\n")
	p.settle()
	p.verify(true)
	if n := p.ran(); n != 3 {
		t.Fatalf("%d guards ran in all, want 3", n)
	}
	r := p.askFor(outer)
	if !r.Served || len(p.events) > 0 {
		t.Errorf("the map without the new run: served %v, computed %v", r.Served, p.kinds())
	}
	after := p.askFor(inner)
	if string(after.Text) == string(before.Text) {
		t.Error("the map with the new run is the same")
	}
	// The script changed, so its fingerprint is computed as well.
	p.wantKinds("a run after an edit", map[string]int{"check": 1, "guard-inputs": 1, "verifications": 1, "map": 1, "rendered": 1, "tokens": 1})

	// The same again, with nothing but another time.
	p.ages = p.ages.Add(time.Minute)
	p.verify(false, filepath.Join(p.root, inner))
	again := p.askFor(inner)
	p.wantKinds("a run alone", map[string]int{"check": 2, "verifications": 1, "map": 1, "rendered": 1, "tokens": 1})
	if string(again.Text) == string(after.Text) {
		t.Error("the map with newer runs is the same")
	}
	p.askFor(outer)
	p.wantKinds("a run alone, in the other map", map[string]int{"verifications": 1, "map": 1, "rendered": 1, "tokens": 1})
}

// wantKinds compares what the last question computed with a bound for each kind.
func (p *guardProject) wantKinds(what string, limit map[string]int) {
	p.t.Helper()
	got := p.kinds()
	p.t.Logf("%s: computed %v", what, got)
	for kind, n := range got {
		if n > limit[kind] {
			p.t.Errorf("%s: computed %d %s, want at most %d:\n\t%s", what, n, kind, limit[kind], p.computed())
		}
	}
	if got["verifications"] == 0 {
		p.t.Errorf("%s: no verifications were computed, so this shows nothing", what)
	}
}

// TestGateGuardedBodyEdit is T6 with a guard on every level.
func TestGateGuardedBodyEdit(t *testing.T) {
	// The edited file's guard rests on it: its fingerprint, its status and the list of
	// statuses come on top of T6's eight.
	const limit = 8 + 3
	var counts []int64
	for _, levels := range []int{5, 50} {
		p := newGuardProject(t, levels)
		for level := range levels {
			p.guards(level, "  - cmd: ./check.sh\n    cache_for: 1h\n    verified_paths: [main.go]\n")
			p.script(p.dir(level) + "/check.sh")
		}
		p.settle()
		p.verify(false)
		p.ask()
		b, err := os.ReadFile(filepath.Join(p.root, p.context(levels/2)))
		if err != nil {
			t.Fatal(err)
		}
		p.write(p.context(levels/2), string(b)+"\nOther words.\n")
		p.settle()
		r := p.ask()
		n := r.Stats.Computed
		t.Logf("%d levels: %d nodes computed:\n\t%s", levels, n, p.computed())
		if n == 0 || n > limit {
			t.Errorf("%d levels: %d nodes computed, want 1 to %d", levels, n, limit)
		}
		counts = append(counts, n)
	}
	if counts[0] != counts[1] {
		t.Errorf("%d nodes computed at 5 levels and %d at 50, want the same number", counts[0], counts[1])
	}
}

// TestVerifiedNames holds that a name in a verified directory is a part of what a result
// rests on, where nothing else about the directory changes, not even the order (D-45).
func TestVerifiedNames(t *testing.T) {
	root := unpack(t, "-- .mwp/config.toml --\nname = \"x\"\n-- .mwp-context.md --\n---\nguards:\n  - cmd: ./check.sh\n    verified_paths: [data]\n---\nText.\n-- data/a --\nx\n-- data/b/a --\nx\n")
	last := cas.Digest{}
	for _, rename := range [][2]string{{"data/a", "data/aa"}, {"data/aa", "data/ab"}, {"data/b", "data/bb"}, {"data/bb/a", "data/bb/c"}} {
		if err := os.Rename(filepath.Join(root, rename[0]), filepath.Join(root, rename[1])); err != nil {
			t.Fatal(err)
		}
		_, plan, err := mwp.Open(mwp.Options{Dir: root, Fresh: true}).Plan(context.Background(), "", true, false, false)
		if err != nil || len(plan.Guards) != 1 {
			t.Fatalf("%d guards, %v", len(plan.Guards), err)
		}
		if plan.Guards[0].Declared == last {
			t.Errorf("rename %s to %s: the fingerprint is the same", rename[0], rename[1])
		}
		last = plan.Guards[0].Declared
	}
}
