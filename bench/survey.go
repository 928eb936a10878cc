package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
)

// place is a tree of a shape and a size.
type place struct {
	shape namedShape
	files int
	*tree
	// settled is set while all of its files are old enough to be believed.
	settled bool
}

// survey is a scenario that is measured in a tree of every shape, beside a program that
// only starts.
type survey struct {
	name, what string
	// once is set for what is measured in the smaller trees only.
	once bool
	run  func(*lab, *place) ([]row, error)
}

// surveys are all of them.
var surveys = []survey{
	{"S1", "a warm map of one target", false, (*lab).sameTarget},
	{"S2", "a warm map of another target each time", false, (*lab).manyTargets},
	{"S3", "a cold map", false, (*lab).emptyCache},
	{"S4", "a map after one edit on the target's path: of a body, of a header, of an import", false, (*lab).oneEdit},
	{"S5", "a map after a context file was touched", false, (*lab).touched},
	{"S6", "a map after a context file appeared where there was none", false, (*lab).appeared},
	{"S7", "a map in a copy at another path, to which the cache was restored", true, (*lab).restored},
	{"S8", "a map after a branch was switched and switched back", false, (*lab).switched},
	{"S9", "warm lint and targets of the whole workspace", false, (*lab).wholeWorkspace},
	{"S10", "a warm call of the MCP server", false, (*lab).oneCall},
	{"S11", "eight maps at the same time beside eight in turn", false, (*lab).eight},
}

// nothingComputed is the verdict of a row that is to have every node in the cache.
func nothingComputed(r row) row {
	r.Verdict = ok
	if n := r.Figures.Computed; n != nil && *n > 0 {
		r.Verdict, r.Detail = short, fmt.Sprintf("%d nodes were computed, and none is to be", *n)
	}
	return r
}

// figures are what was found about a command in one place.
type figures struct {
	Shape string `json:"shape"`
	Files int    `json:"files"`
	// Beside names what Against are the times of.
	Beside string `json:"beside"`
	Runs   int    `json:"runs"`
	// Ours and Against are nanoseconds.
	Ours    spread `json:"ours"`
	Against spread `json:"against"`
	// Calls are system calls without the scheduler's, Peak megabytes of resident memory,
	// Cache the bytes of the tree's cache afterwards, Computed nodes. Each is nil where
	// it was not, or could not be, counted.
	Calls    *int     `json:"system_calls"`
	Peak     *float64 `json:"peak_mb"`
	Cache    *int64   `json:"cache_bytes"`
	Computed *int64   `json:"nodes_computed"`
}

// spread is how some times lie.
type spread struct {
	Min time.Duration `json:"min"`
	P50 time.Duration `json:"p50"`
	P95 time.Duration `json:"p95"`
}

func spreadOf(times []time.Duration) spread {
	return spread{slices.Min(times), percentile(times, 50), percentile(times, 95)}
}

// String gives milliseconds.
func (s spread) String() string {
	ms := func(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 2, 64) }
	return ms(s.Min) + " / " + ms(s.P50) + " / " + ms(s.P95)
}

// inPlace returns the row of times that were measured in a place.
func inPlace(p *place, what, beside string, ours, against []time.Duration) row {
	return row{What: what, Measured: compare(ours, against).ratio, Figures: &figures{
		Shape: p.shape.name, Files: p.files, Beside: beside, Runs: len(ours), Ours: spreadOf(ours), Against: spreadOf(against),
	}}
}

// sizes are the sizes of the trees.
func (l *lab) sizes() []int { return slices.Compact([]int{smallFiles, l.c.files}) }

// survey measures scenarios, a tree at a time, so that no two large ones are there at
// once. The largest balanced tree stays: it is T3's large one.
func (l *lab) survey(chosen []survey) ([]row, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	l.noCalls = straced()
	rows := make([][]row, len(chosen))
	for _, s := range l.c.shapes {
		for _, files := range l.sizes() {
			if err := l.visit(&place{shape: s, files: files}, chosen, rows); err != nil {
				return nil, fmt.Errorf("the %s tree of %d files: %w", s.name, files, err)
			}
		}
	}
	return slices.Concat(rows...), nil
}

// visit makes a tree and measures in it; rows are by scenario.
func (l *lab) visit(p *place, chosen []survey, rows [][]row) (err error) {
	wanted := func(s survey) bool { return !s.once || p.files == smallFiles }
	if !slices.ContainsFunc(chosen, wanted) {
		return nil
	}
	start := time.Now()
	if p.tree, err = newTree(l.scratch(), p.shape.shape.sized(l.c.seed, p.files)); err != nil {
		return err
	}
	l.say("made the %s tree of %d files in %.1f s", p.shape.name, p.files, time.Since(start).Seconds())
	if p.shape.shape.guards > 0 {
		if err := l.verified(p.tree); err != nil {
			return err
		}
	}
	for i, s := range chosen {
		if !wanted(s) {
			continue
		}
		l.say("measuring %s: %s", s.name, s.what)
		more, err := s.run(l, p)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for _, r := range more {
			r.Target, r.Command = s.name, l.command(s.name, true, true)
			r.Name = fmt.Sprintf("scenario=%s/shape=%s/files=%d", s.name, p.shape.name, p.files)
			rows[i] = append(rows[i], r)
		}
	}
	if p.shape.name == shapes[0].name && p.files == l.c.files {
		l.trees["large"] = p.tree
		return nil
	}
	return os.RemoveAll(p.root)
}

// paired times a command of mwp beside the smallest program, and counts what it does.
// Its before runs ahead of every run.
func (l *lab) paired(p *place, what string, c *contestant) (row, error) {
	p.settled = p.settled && c.before == nil
	times, err := l.raceWithin(c, l.hello(p.tree))
	if err != nil {
		return row{}, err
	}
	r := inPlace(p, what, "hello", times[0], times[1])
	for _, count := range []func(*contestant, *figures) error{l.countCalls, l.countMemory, l.countNodes} {
		if c.before != nil {
			if err := c.before(); err != nil {
				return row{}, err
			}
		}
		if err := count(c, r.Figures); err != nil {
			return row{}, err
		}
	}
	return r, countCache(p, r.Figures)
}

func (l *lab) countCalls(c *contestant, f *figures) error {
	if l.noCalls != nil {
		return nil
	}
	made, err := trace(l.dir, c.dir, l.env, c.argv...)
	if err == nil {
		n := made.own()
		f.Calls = &n
	}
	return err
}

func (l *lab) countMemory(c *contestant, f *figures) error {
	peak, ok, err := l.peak(c)
	if ok {
		f.Peak = &peak
	}
	return err
}

func (l *lab) countNodes(c *contestant, f *figures) error {
	said, err := l.mwp(&tree{root: c.dir}, append([]string{c.argv[1], "-v"}, c.argv[2:]...)...)
	if err != nil {
		return err
	}
	n, err := computedIn(said)
	f.Computed = &n
	return err
}

// computedIn reads how many nodes were computed out of what mwp -v says.
func computedIn(said string) (int64, error) {
	if strings.Contains(said, servedWords) {
		return 0, nil
	}
	m := regexp.MustCompile(`hits, ([0-9]+) computed`).FindStringSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("mwp -v does not say how many nodes were computed: %q", said)
	}
	return strconv.ParseInt(m[1], 10, 64)
}

func countCache(p *place, f *figures) error {
	used, err := cas.OpenArea(p.cache(), nil).Usage()
	if err == nil {
		n := int64(used.Bytes)
		f.Cache = &n
	}
	return err
}

// warmPlace asks for the target's map until that is warm. It waits unless nothing has
// changed since it did: mwp looks again at whatever is too young to be believed.
func (l *lab) warmPlace(p *place) error {
	if p.settled {
		return l.twice(p.tree, "map", "-v", p.target)
	}
	if _, err := l.mwp(p.tree, "map", p.target); err != nil {
		return err
	}
	p.settled = true
	return l.warmUp(p.tree, "map", "-v", p.target)
}

func (l *lab) sameTarget(p *place) ([]row, error) {
	if err := l.warmPlace(p); err != nil {
		return nil, err
	}
	r, err := l.paired(p, "warm map, same target", l.mapOf(p.tree))
	return []row{r}, err
}

func (l *lab) manyTargets(p *place) ([]row, error) {
	if err := l.warmPlace(p); err != nil {
		return nil, err
	}
	targets := append([]string{p.target}, p.others...)
	for range 2 {
		for _, t := range targets {
			if _, err := l.mwp(p.tree, "map", t); err != nil {
				return nil, err
			}
		}
	}
	c := l.mapOf(p.tree)
	r := rand.New(rand.NewPCG(l.c.seed, 12))
	c.before = func() error {
		c.argv[len(c.argv)-1] = targets[r.IntN(len(targets))]
		return nil
	}
	one, err := l.paired(p, fmt.Sprintf("warm map, one of %d targets", len(targets)), c)
	return []row{one}, err
}

func (l *lab) emptyCache(p *place) ([]row, error) {
	c := l.mapOf(p.tree)
	c.before = func() error { return os.RemoveAll(p.cache()) }
	r, err := l.paired(p, "cold map", c)
	return []row{r}, err
}

// halfway is the context file that is edited: that of the level in the middle.
func (p *place) halfway() string {
	return filepath.Join(p.root, p.dirs[len(p.dirs)/2], ".mwp-context.md")
}

// oneEdit edits a file in another way each time: what was there before would be found
// in the cache.
func (l *lab) oneEdit(p *place) ([]row, error) {
	path := p.halfway()
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	was, note := string(b), ""
	write := func(text string) error { return os.WriteFile(path, []byte(text), 0o666) }
	var rows []row
	for _, e := range []struct {
		name string
		edit func(n int) error
	}{
		{"a body", func(n int) error { return write(fmt.Sprintf("%s\nSentence %d.\n", was, n)) }},
		{"a header", func(n int) error { return write(strings.Replace(was, "-team]", fmt.Sprintf("-team-%d]", n), 1)) }},
		{"an import", func(n int) error {
			os.Remove(note)
			name := fmt.Sprintf("note-%d.md", n)
			note = filepath.Join(filepath.Dir(path), name)
			if err := os.WriteFile(note, fmt.Appendf(nil, "Note %d.\n", n), 0o666); err != nil {
				return err
			}
			return write(strings.Replace(was, "---\n", "---\nimports:\n  - local: ./"+name+"\n", 1))
		}},
	} {
		if _, err := l.mwp(p.tree, "map", p.target); err != nil {
			return nil, err
		}
		n := 0
		c := l.mapOf(p.tree)
		c.before = func() error { n++; return e.edit(n) }
		r, err := l.paired(p, "map after an edit of "+e.name, c)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	os.Remove(note)
	return rows, write(was)
}

func (l *lab) touched(p *place) ([]row, error) {
	if err := l.warmPlace(p); err != nil {
		return nil, err
	}
	at := time.Now().Add(-time.Hour)
	c := l.mapOf(p.tree)
	c.before = func() error {
		at = at.Add(time.Second)
		return os.Chtimes(p.halfway(), at, at)
	}
	r, err := l.paired(p, "map after a touch", c)
	if err != nil {
		return nil, err
	}
	return []row{nothingComputed(r)}, nil
}

// appeared measures a name that a map looked for in vain until now.
func (l *lab) appeared(p *place) ([]row, error) {
	path := p.halfway()
	was, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := 0
	c := l.mapOf(p.tree)
	c.before = func() error {
		n++
		if err := os.Remove(path); err != nil {
			return err
		}
		if _, err := l.mwp(p.tree, "map", p.target); err != nil {
			return err
		}
		return os.WriteFile(path, fmt.Appendf(nil, "%s\nFile %d.\n", was, n), 0o666)
	}
	r, err := l.paired(p, "map after a context file appeared", c)
	if err != nil {
		return nil, err
	}
	return []row{r}, os.WriteFile(path, was, 0o666)
}

// restored plays a checkout on another machine: the tree is made again elsewhere, and
// the state directory is copied to it before each run.
func (l *lab) restored(p *place) ([]row, error) {
	_, err := l.mwp(p.tree, "map", p.target)
	if err != nil {
		return nil, err
	}
	there := *p
	if there.tree, err = newTree(filepath.Join(l.scratch(), "another", "place"), p.shape.shape.sized(l.c.seed, p.files)); err != nil {
		return nil, err
	}
	c := l.mapOf(there.tree)
	c.before = func() error {
		if err := os.RemoveAll(there.state()); err != nil {
			return err
		}
		return os.CopyFS(there.state(), os.DirFS(p.state()))
	}
	r, err := l.paired(&there, "map in a copy with the cache restored", c)
	if err != nil {
		return nil, err
	}
	return []row{nothingComputed(r)}, os.RemoveAll(there.root)
}

func (l *lab) switched(p *place) ([]row, error) {
	c := l.mapOf(p.tree)
	c.before = func() error {
		for _, branch := range []uint64{1, 2} {
			if err := p.checkOut(branch); err != nil {
				return err
			}
			if _, err := l.mwp(p.tree, "map", p.target); err != nil {
				return err
			}
		}
		return p.checkOut(1)
	}
	r, err := l.paired(p, "map after a branch switch and back", c)
	if err != nil {
		return nil, err
	}
	return []row{nothingComputed(r)}, nil
}

func (l *lab) wholeWorkspace(p *place) ([]row, error) {
	commands := []string{"lint", "targets"}
	for _, command := range commands {
		if _, err := l.mwp(p.tree, command); err != nil {
			return nil, err
		}
	}
	time.Sleep(settleTime)
	var rows []row
	for _, command := range commands {
		if err := l.twice(p.tree, command); err != nil {
			return nil, err
		}
		r, err := l.paired(p, "warm "+command, &contestant{name: command, argv: []string{l.binary("mwp"), command}, dir: p.root})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
