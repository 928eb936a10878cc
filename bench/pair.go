package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// contestant is a command that is timed against others.
type contestant struct {
	name string
	argv []string
	dir  string
	// before runs before each run and is not timed.
	before func() error
}

// run starts the command, waits for its end and returns the time from one to the
// other. It starts processes without package os/exec, whose goroutines and pipes
// would be a part of the time.
func (c *contestant) run(null *os.File, env []string) (time.Duration, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return 0, err
		}
	}
	attr := &os.ProcAttr{Dir: c.dir, Env: env, Files: []*os.File{null, null, null}}
	start := time.Now()
	p, err := os.StartProcess(c.argv[0], c.argv, attr)
	if err != nil {
		return 0, err
	}
	state, err := p.Wait()
	took := time.Since(start)
	if err == nil && !state.Success() {
		err = fmt.Errorf("%s: %s", c.name, state)
	}
	return took, err
}

// race runs each contestant n times, in rounds; within a round each runs once,
// and the rounds begin with another one each time. It returns the times by
// contestant and round.
func (l *lab) race(cs ...*contestant) ([][]time.Duration, error) {
	return l.raceFor(l.c.runs, cs...)
}

// raceFor is race with a number of rounds of its own, for what takes seconds.
func (l *lab) raceFor(rounds int, cs ...*contestant) ([][]time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	runs := make([]func() (time.Duration, error), len(cs))
	for i, c := range cs {
		runs[i] = func() (time.Duration, error) { return c.run(null, l.env) }
	}
	// What the first run finds in no cache of the system is not the subject.
	if _, err := alternate(1, runs...); err != nil {
		return nil, err
	}
	runtime.GC()
	return alternate(rounds, runs...)
}

// alternate does each of some runs once a round, in rounds that begin with another one
// each time. It returns what they took, by run and round.
func alternate(rounds int, runs ...func() (time.Duration, error)) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(runs))
	for round := range rounds {
		for i := range runs {
			i = (i + round) % len(runs)
			d, err := runs[i]()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], d)
		}
	}
	return times, nil
}

// raceWithin is race, with as many rounds as fit into rowTime: no more than were asked
// for, and if possible no fewer than fewRounds.
func (l *lab) raceWithin(cs ...*contestant) ([][]time.Duration, error) {
	start := time.Now()
	if _, err := l.raceFor(1, cs...); err != nil {
		return nil, err
	}
	return l.raceFor(l.rounds(time.Since(start)/2), cs...)
}

// rowTime is how long the runs behind one row may take, roughly; fewRounds are run even
// if they take longer.
const (
	rowTime   = 600 * time.Millisecond
	fewRounds = 11
)

// rounds is how many rounds there are when one takes that long.
func (l *lab) rounds(one time.Duration) int {
	return min(l.c.runs, max(fewRounds, int(rowTime/max(one, time.Microsecond))))
}

// paced runs functions in turn as alternate does, as often as there is time for.
func (l *lab) paced(runs ...func() (time.Duration, error)) ([][]time.Duration, error) {
	start := time.Now()
	if _, err := alternate(1, runs...); err != nil {
		return nil, err
	}
	return alternate(l.rounds(time.Since(start)), runs...)
}

// comparison is how two contestants did.
type comparison struct {
	// ratio is the median of the rounds' ratios; least is the ratio of the shortest
	// times, which is less disturbed by other work on the machine.
	ratio, least     float64
	median, minimum  time.Duration
	against, fastest time.Duration
}

func compare(a, b []time.Duration) comparison {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = float64(a[i]) / float64(b[i])
	}
	c := comparison{ratio: median(ratios), median: median(a), minimum: slices.Min(a), against: median(b), fastest: slices.Min(b)}
	c.least = float64(c.minimum) / float64(c.fastest)
	return c
}

// String gives the numbers behind the ratio.
func (c comparison) String() string {
	return fmt.Sprintf("minima %.2f; medians %s and %s", c.least, milliseconds(c.median), milliseconds(c.against))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// percentile returns the smallest of some values that p percent of them do not exceed.
func percentile[T int | int64 | float64 | time.Duration](vs []T, p int) T {
	vs = slices.Clone(vs)
	slices.Sort(vs)
	return vs[max(0, (len(vs)*p+99)/100-1)]
}

// median returns the middle of some values, the lower one of two.
func median[T int | int64 | float64 | time.Duration](vs []T) T { return percentile(vs, 50) }

// program is a Go program that measurements need.
type program struct{ name, source string }

var programs = []program{
	{"hello", `package main

import "os"

func main() { os.Stdout.WriteString("hello, world\n") }
`},
	// What every tool that looks at the whole tree has to do at least. The paths are in
	// a file, each with a NUL byte behind it.
	{"lstat", `package main

import (
	"os"
	"strings"
)

func main() {
	paths, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	for _, p := range strings.Split(strings.TrimSuffix(string(paths), "\x00"), "\x00") {
		if _, err := os.Lstat(p); err != nil {
			panic(err)
		}
	}
}
`},
	// What everything that hashes files has to do at least, on one processor. The
	// digest is the standard library's fastest.
	{"sum", `package main

import (
	"crypto/sha256"
	"os"
	"strings"
)

func main() {
	paths, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	for _, p := range strings.Split(strings.TrimSuffix(string(paths), "\x00"), "\x00") {
		b, err := os.ReadFile(p)
		if err != nil {
			panic(err)
		}
		sha256.Sum256(b)
	}
}
`},
	// A child begins with the peak of the process that started it, so a small one
	// has to.
	{"launch", `package main

import (
	"fmt"
	"os"
)

func main() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{Files: []*os.File{null, null, null}})
	if err != nil {
		panic(err)
	}
	s, err := p.Wait()
	if err != nil || !s.Success() {
		panic(fmt.Sprint(s, err))
	}
	fmt.Printf("%+v\n", s.SysUsage())
}
`},
}

// hello is the smallest program, started in a tree.
func (l *lab) hello(t *tree) *contestant {
	return &contestant{name: "hello", argv: []string{l.binary("hello")}, dir: t.root}
}

// binary returns where a program is built.
func (l *lab) binary(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(l.dir, "bin", name)
}
