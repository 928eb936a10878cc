// Command bench measures what mwp promises to be (docs/architecture.md, budgets):
// how long a warm map takes beside the smallest Go program, how many system calls
// it makes, how it grows with the repository, how much is computed after an edit,
// and what a cache takes on disk.
//
// Times are compared as ratios of runs that alternate within one loop, because a
// machine's speed changes from minute to minute and hits both sides alike. Counts
// are exact. Each row of the table names the command that measures it again.
//
// Nothing imports this package. It asks no network but for T10's peer, which npm
// installs into a temporary directory.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errUsage is returned when the flags' package has already said what is wrong.
var errUsage = errors.New("usage")

// config are the flags.
type config struct {
	list  bool
	only  string
	runs  int
	files int
	seed  uint64
	json  string
}

// scenario measures one target.
type scenario struct {
	name, what string
	// trees are the trees that its child processes ask about, by name.
	trees []string
	// timed is set when the number of runs matters.
	timed bool
	run   func(*lab) ([]row, error)
}

// scenarios are all of them, in the order of the targets.
var scenarios = []scenario{
	{"T1", "time of a warm map beside a Go hello world, mwp version and git rev-parse", []string{"small"}, true, (*lab).warmTime},
	{"T2", "system calls of a warm map, and the directories that maps read", []string{"small"}, false, (*lab).systemCalls},
	{"T3", "time of a warm map in a large tree beside a small one", []string{"small", "large"}, true, (*lab).growth},
	{"T6", "nodes computed after an edit of one body and after a touch", nil, false, (*lab).edits},
	{"T7", "time of lint and targets over a whole workspace beside the bare lstat of what they rest on, of a cold lint beside find, and nodes computed after one edit", nil, true, (*lab).walks},
	{"T8", "nodes computed after the tree and its cache were copied", nil, false, (*lab).relocated},
	{"T9", "time of a cold map beside a warm one, and nodes computed after a branch switch and back", []string{"small", "cold"}, true, (*lab).cold},
	{"imports", "time of a warm map with 50 imports, and of a cold map with a closure of 500 files beside a warm one", nil, true, (*lab).imports},
	{"guards", "time of a warm map with 50 guards, with 10,000 verified files beside the bare lstat of them, with a guard over all of a large tree, and of mwp verify --stale", nil, true, (*lab).guards},
	{"T10", "time of a warm call of the MCP server beside the npm filesystem server's, of its first answer and of a hook, and what it holds after many calls", nil, true, (*lab).servers},
	{"T11", "bytes on disk", nil, false, (*lab).disk},
	{"memory", "peak memory of a warm map", []string{"small"}, false, (*lab).memory},
}

func run(args []string, stdout, stderr io.Writer) error {
	var c config
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&c.list, "list", false, "say what can be measured, and stop")
	f.StringVar(&c.only, "only", "", "measure only these, by `NAME`, separated by commas")
	f.IntVar(&c.runs, "runs", 101, "number of alternating runs for each time, at least 1")
	f.IntVar(&c.files, "files", 100_000, "number of files of the large tree")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the trees")
	f.StringVar(&c.json, "json", "", "also write the results to `FILE`")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if f.NArg() > 0 || c.runs < 1 || c.files < smallFiles {
		fmt.Fprintf(stderr, "bench takes flags only, --runs of at least 1 and --files of at least %d\n", smallFiles)
		return errUsage
	}
	if c.list {
		for _, s := range scenarios {
			fmt.Fprintf(stdout, "%-7s %s\n", s.name, s.what)
		}
		return nil
	}
	chosen, err := choose(c.only)
	if err != nil {
		return err
	}
	return measure(&c, chosen, stdout, stderr)
}

// choose returns the scenarios that a list names, all for "".
func choose(only string) ([]scenario, error) {
	if only == "" {
		return scenarios, nil
	}
	var out []scenario
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return strings.EqualFold(s.name, strings.TrimSpace(name)) })
		if i < 0 {
			return nil, fmt.Errorf("nothing is named %q; --list says what is", name)
		}
		out = append(out, scenarios[i])
	}
	return out, nil
}

func measure(c *config, chosen []scenario, stdout, stderr io.Writer) (err error) {
	l, err := newLab(c, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	r := report{Machine: describeMachine(l.dir), Seed: c.seed, Runs: c.runs}
	fmt.Fprintln(stdout, r.Machine)
	var trees []string
	for _, s := range chosen {
		trees = append(trees, s.trees...)
	}
	if err := l.prepare(trees); err != nil {
		return err
	}
	for _, s := range chosen {
		l.say("measuring %s: %s", s.name, s.what)
		rows, err := s.run(l)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := range rows {
			rows[i].Target = s.name
			rows[i].Command = l.command(s)
		}
		r.Rows = append(r.Rows, rows...)
	}
	if err := r.table(stdout); err != nil {
		return err
	}
	if c.json == "" {
		return nil
	}
	return r.writeJSON(c.json)
}

// command is what measures a scenario again.
func (l *lab) command(s scenario) string {
	text := "go run ./bench --only " + s.name
	if s.timed {
		text += fmt.Sprintf(" --runs %d", l.c.runs)
	}
	if slices.Contains(s.trees, "large") {
		text += fmt.Sprintf(" --files %d", l.c.files)
	}
	if l.c.seed != 1 {
		text += fmt.Sprintf(" --seed %d", l.c.seed)
	}
	return text
}
