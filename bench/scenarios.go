package main

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// warm returns the contestant that asks for a tree's warm map.
func (l *lab) warm(name string) *contestant {
	t := l.trees[name]
	return &contestant{name: "warm map, " + name + " tree", argv: []string{l.binary("mwp"), "map", t.target}, dir: t.root}
}

func (l *lab) warmTime() ([]row, error) {
	root := l.trees["small"].root
	cs := []*contestant{
		l.warm("small"),
		l.hello(l.trees["small"]),
		{name: "version", argv: []string{l.binary("mwp"), "version"}, dir: root},
	}
	git, err := exec.LookPath("git")
	if err == nil && !l.hasGit {
		err = fmt.Errorf("git cannot make a repository here")
	}
	if err == nil {
		cs = append(cs, &contestant{name: "git", argv: []string{git, "rev-parse", "HEAD"}, dir: root})
	}
	times, raceErr := l.race(cs...)
	if raceErr != nil {
		return nil, raceErr
	}
	against := func(i int, what string, limit float64) row {
		c := compare(times[0], times[i])
		return limited("warm map / "+what, c.ratio, limit, "", c.String())
	}
	rows := []row{against(1, "hello world", 2), against(2, "mwp version", 1.25)}
	if err != nil {
		rows = append(rows, missing("warm map / git rev-parse HEAD", err.Error()))
	} else {
		rows = append(rows, against(3, "git rev-parse HEAD", 2.5))
	}
	c := compare(times[2], times[1])
	return append(rows, row{What: "mwp version / hello world", Measured: c.ratio, Detail: c.String()}), nil
}

func (l *lab) systemCalls() ([]row, error) {
	if err := straced(); err != nil {
		return []row{missing("system calls of a warm map", err.Error())}, nil
	}
	t := l.trees["small"]
	version, err := trace(l.dir, t.root, l.env, l.binary("mwp"), "version")
	if err != nil {
		return nil, err
	}
	warm, err := trace(l.dir, t.root, l.env, l.binary("mwp"), "map", t.target)
	if err != nil {
		return nil, err
	}
	slot, _, err := onlySlot(t)
	if err != nil {
		return nil, err
	}
	rows := []row{
		limited("system calls of a warm map, without the scheduler's", float64(warm.own()), float64(warmCallLimit(version, slot, t)), "count",
			fmt.Sprintf("mwp version %d + %d leaves + %d ancestors + 12; beyond version: %s; with the scheduler's %d and %d",
				version.own(), len(slot.Leaves), ancestors(t), warm.beyond(version), warm.total(), version.total())),
		limited("directories read by a warm map", float64(len(warm.listed)), 0, "count", strings.Join(warm.listed, " ")),
	}
	fresh, err := newTree(l.scratch(), smallShape(l.c.seed))
	if err != nil {
		return nil, err
	}
	cold, err := trace(l.dir, fresh.root, l.env, l.binary("mwp"), "map", fresh.target)
	if err != nil {
		return nil, err
	}
	beside := 0
	for _, dir := range cold.listed {
		if !fresh.within(dir) {
			beside++
		}
	}
	return append(rows, limited("directories beside the target's path read by a cold map", float64(beside), 0, "count",
		fmt.Sprintf("reads %d: %s; %d system calls", len(cold.listed), strings.ReplaceAll(strings.Join(cold.listed, " "), fresh.root, "."), cold.own()))), nil
}

// warmCallLimit is T2's limit.
func warmCallLimit(version *calls, slot *eval.Slot, t *tree) int {
	return version.own() + len(slot.Leaves) + ancestors(t) + 12
}

// ancestors is the number of places where an anchor of the target is looked for:
// the target, which may be a directory, and everything above it.
func ancestors(t *tree) int {
	return strings.Count(filepath.ToSlash(filepath.Join(t.root, t.target)), "/") + 1
}

func (l *lab) growth() ([]row, error) {
	times, err := l.race(l.warm("large"), l.warm("small"))
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	return []row{limited(fmt.Sprintf("warm map with %d files / with %d", l.c.files, smallFiles), c.ratio, 1.10, "", c.String())}, nil
}

// plain returns a small tree for counts, and asks for its map once.
func (l *lab) plain(depth int) (*tree, error) {
	t, err := newTree(l.scratch(), shape{seed: l.c.seed, files: 100, depth: depth, contexts: 2, contextSize: contextSize})
	if err != nil {
		return nil, err
	}
	_, err = ask(t)
	return t, err
}

func (l *lab) edits() ([]row, error) {
	var rows []row
	var counts []int64
	for _, depth := range []int{5, 50} {
		t, err := l.plain(depth)
		if err != nil {
			return nil, err
		}
		if err := editBody(t, depth/2); err != nil {
			return nil, err
		}
		a, err := ask(t)
		if err != nil {
			return nil, err
		}
		counts = append(counts, a.Stats.Computed)
		rows = append(rows, limited(fmt.Sprintf("nodes computed after one body edit at %d levels", depth), float64(a.Stats.Computed), 8, "count",
			fmt.Sprintf("%s; %d recalled", a.computed(), a.Stats.Hits)))
		at := time.Now().Add(-time.Minute)
		if err := os.Chtimes(filepath.Join(t.root, t.dirs[1], ".mwp-context.md"), at, at); err != nil {
			return nil, err
		}
		if a, err = ask(t); err != nil {
			return nil, err
		}
		rows = append(rows, limited(fmt.Sprintf("nodes computed after a touch at %d levels", depth), float64(a.Stats.Computed), 0, "count",
			fmt.Sprintf("served %v, %d files read", a.Served, a.World.FilesRead.Load())))
	}
	return append(rows, limited("difference between 50 and 5 levels", float64(max(counts[0]-counts[1], counts[1]-counts[0])), 0, "count", "")), nil
}

// editBody changes the words of one context file and keeps its header.
func editBody(t *tree, level int) error {
	return appendLine(filepath.Join(t.root, t.dirs[level], ".mwp-context.md"))
}

func appendLine(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, "\nOne more sentence.\n"...), 0o666)
}

func (l *lab) relocated() ([]row, error) {
	from, err := l.plain(depth)
	if err != nil {
		return nil, err
	}
	to := *from
	to.root = filepath.Join(l.scratch(), "another", "place")
	if err := os.CopyFS(to.root, os.DirFS(from.root)); err != nil {
		return nil, err
	}
	a, err := ask(&to)
	if err != nil {
		return nil, err
	}
	rows := []row{servedRow("copied tree", a)}
	if err := os.RemoveAll(filepath.Join(to.cache(), mwp.CacheFormat, "slots")); err != nil {
		return nil, err
	}
	if a, err = ask(&to); err != nil {
		return nil, err
	}
	return append(rows, limited("nodes computed in a copied tree without its slots", float64(a.Stats.Computed), 0, "count",
		fmt.Sprintf("%d recalled", a.Stats.Hits))), nil
}

// servedRow is a row that is ok when a map came from its slot.
func servedRow(where string, a *asked) row {
	r := limited("nodes computed in a "+where, float64(a.Stats.Computed), 0, "count", fmt.Sprintf("served %v, %d files read", a.Served, a.World.FilesRead.Load()))
	if !a.Served {
		r.Verdict = short
	}
	return r
}

func (l *lab) cold() ([]row, error) {
	t := l.trees["cold"]
	c := l.warm("cold")
	c.before = func() error { return os.RemoveAll(t.cache()) }
	times, err := l.race(c, l.warm("small"))
	if err != nil {
		return nil, err
	}
	x := compare(times[0], times[1])
	rows := []row{limited("cold map / warm map, 20 leaves", x.ratio, 3, "", x.String())}
	n, hits, err := l.branches()
	if err != nil {
		return nil, err
	}
	return append(rows, limited("nodes computed after a branch switch and back", float64(n), 0, "count", fmt.Sprintf("%d recalled", hits))), nil
}

// branches maps a target on a branch, on another one and on the first again.
func (l *lab) branches() (computed, hits int64, err error) {
	t, err := l.plain(depth)
	if err != nil {
		return 0, 0, err
	}
	var a *asked
	for _, branch := range []uint64{1, 2, 1} {
		if err := t.checkOut(branch); err != nil {
			return 0, 0, err
		}
		if a, err = ask(t); err != nil {
			return 0, 0, err
		}
	}
	return a.Stats.Computed, a.Stats.Hits, nil
}

// checkOut gives every second level above the target's the context file of a branch.
func (t *tree) checkOut(branch uint64) error {
	r := rand.New(rand.NewPCG(branch, 3))
	for i := 0; i < len(t.dirs)-1; i += 2 {
		if err := t.writeContext(r, i+int(branch), t.dirs[i], contextSize); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) disk() ([]row, error) {
	t, err := newTree(l.scratch(), shape{seed: l.c.seed, files: 100, depth: depth, contexts: 2, contextSize: contextSize})
	if err != nil {
		return nil, err
	}
	a, err := ask(t)
	if err != nil {
		return nil, err
	}
	slot, size, err := onlySlot(t)
	if err != nil {
		return nil, err
	}
	beyond := (size - int64(len(slot.Result))) * 20 / int64(len(slot.Leaves))
	rows := []row{limited("bytes of a slot of 20 leaves beyond the result", float64(beyond), 6<<10, "B",
		fmt.Sprintf("%d leaves, %d bytes, of which result %d, edges %d", len(slot.Leaves), size, len(slot.Result), len(slot.Edges)))}
	store := cas.OpenArea(t.cache(), nil).Store(cas.DiskOptions{ReadOnly: true})
	defer store.Close()
	var total, n, all int
	for _, e := range a.events {
		if e.Status != graph.Computed {
			continue
		}
		bytes, err := recordBytes(store, e)
		if err != nil {
			return nil, err
		}
		if all += bytes; e.Task.Kind().Name == "parsed" {
			n++
			total += bytes
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("no context was parsed")
	}
	used, err := cas.OpenArea(t.cache(), nil).Usage()
	if err != nil {
		return nil, err
	}
	return append(rows,
		limited("bytes of a parsed context with its trace", float64(total/n), 1300, "B", fmt.Sprintf("mean of %d", n)),
		row{What: "bytes of the whole cache after one map", Measured: float64(used.Bytes), Unit: "B",
			Detail: fmt.Sprintf("records of %d bytes in all, %d for each of %d contexts", all, all/n, n)}), nil
}

// recordOverhead is what the store adds to a record: header, tag and its line in
// the index (docs/format.md).
const recordOverhead = 42 + 16 + 45

// recordBytes is what the store keeps for one computed node: its trace, and its
// value where that is too large to lie in the trace.
func recordBytes(store cas.Store, e mwp.Event) (int, error) {
	n := len(graph.EncodeTrace(e.Trace)) + recordOverhead
	if e.Trace.HasInline {
		return n, nil
	}
	b, err := store.Value(e.Trace.Value)
	if err != nil {
		return 0, fmt.Errorf("the value of %s: %w", mwp.DescribeNode(e), err)
	}
	return n + len(b) + recordOverhead, nil
}

// onlySlot returns the slot of a tree whose cache has one, and the size of its
// file.
func onlySlot(t *tree) (*eval.Slot, int64, error) {
	dir := filepath.Join(t.cache(), mwp.CacheFormat, "slots")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	if len(files) != 1 {
		return nil, 0, fmt.Errorf("%s holds %d slots, want 1", dir, len(files))
	}
	info, err := files[0].Info()
	if err != nil {
		return nil, 0, err
	}
	k, err := hex.DecodeString(files[0].Name())
	if err != nil || len(k) != len(cas.Key{}) {
		return nil, 0, fmt.Errorf("%s is no slot's name", files[0].Name())
	}
	b, err := cas.OpenSlots(dir, nil).Read(cas.Key(k))
	if err != nil {
		return nil, 0, err
	}
	s, err := eval.DecodeSlot(b)
	return s, info.Size(), err
}

func (l *lab) memory() ([]row, error) {
	const limit = 16
	t := l.trees["small"]
	var peaks []float64
	for range 11 {
		peak, ok, err := l.peak(l.mapOf(t))
		if err != nil {
			return nil, err
		}
		if !ok {
			return []row{missing("peak memory of a warm map", "this system does not say")}, nil
		}
		peaks = append(peaks, peak)
	}
	return []row{limited("peak memory of a warm map", median(peaks), limit, "MB", "resident, median of 11 runs")}, nil
}

// peak runs a command and returns the most memory that it had, in megabytes; ok is not
// set where the system does not say.
func (l *lab) peak(c *contestant) (megabytes float64, ok bool, err error) {
	cmd := exec.Command(l.binary("launch"), c.argv...)
	cmd.Dir, cmd.Env = c.dir, l.env
	out, err := cmd.Output()
	if err != nil {
		return 0, false, fmt.Errorf("measure the memory of %s: %w", c.name, err)
	}
	megabytes, ok = peakMemory(string(out))
	return megabytes, ok, nil
}

// peakMemory reads the megabytes out of a printed syscall.Rusage.
func peakMemory(usage string) (float64, bool) {
	_, rest, ok := strings.Cut(usage, "Maxrss:")
	var n float64
	if !ok {
		return 0, false
	}
	if _, err := fmt.Sscan(strings.Fields(rest)[0], &n); err != nil {
		return 0, false
	}
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		n *= 1024 // Apple counts bytes, everybody else kilobytes
	}
	return n / (1 << 20), true
}
