// Command bench measures what mwp promises to be (docs/architecture.md, budgets):
// how long a warm map takes beside the smallest Go program, how many system calls
// it makes, how it grows with the repository, how much is computed after an edit,
// and what a cache takes on disk. Scenarios S1 to S11 are measured in trees of
// several shapes and sizes, targets T1 to T11 have limits. docs/benchmarks.md says
// how to read the tables.
//
// Times are compared as ratios of runs that alternate within one loop, because a
// machine's speed changes from minute to minute and hits both sides alike. Counts
// are exact. Each row of the table names the command that measures it again.
//
// Nothing imports this package. It asks no network but for the peers of T4, T5
// and T10, which npm installs into a temporary directory or the one of --peers.
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
	list     bool
	only     string
	shape    string
	runs     int
	files    int
	seed     uint64
	json     string
	markdown string
	from     string
	// peers is where the packages of npm are kept, "" for the lab.
	peers string
	// shapes are what shape names.
	shapes []namedShape
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
	{"T4", "time of what people run in a large repository anyway beside a warm map: git, find, rg, ninja, turbo", []string{"large"}, true, (*lab).beside},
	{"T5", "time and result of what puts the texts of 13 levels together in its own way beside a warm map: a shell script, Codex, Gemini, ruler, rulesync, repomix", nil, true, (*lab).cascades},
	{"T6", "nodes computed after an edit of one body and after a touch", nil, false, (*lab).edits},
	{"T7", "time of lint and targets over a whole workspace beside the bare lstat of what they rest on and beside find, of a cold lint beside find, and nodes computed after one edit", []string{"grove"}, true, (*lab).walks},
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
	f.StringVar(&c.shape, "shape", "", "measure the scenarios only in these trees, by `NAME`, separated by commas")
	f.IntVar(&c.runs, "runs", 101, "number of alternating runs for each time, at least 1")
	f.IntVar(&c.files, "files", 100_000, "number of files of the large trees")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the trees")
	f.StringVar(&c.peers, "peers", "", "keep the npm packages of peers in `DIR` for the next time")
	f.StringVar(&c.json, "json", "", "also write the results to `FILE`")
	f.StringVar(&c.markdown, "markdown", "", "also write the tables into `FILE`, between the lines "+blockStart+" and "+blockEnd)
	f.StringVar(&c.from, "from", "", "measure nothing, read the results of --json from `FILES`, separated by commas")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if f.NArg() > 0 || c.runs < 1 || c.files < smallFiles || c.from != "" && c.json != "" {
		fmt.Fprintf(stderr, "bench takes flags only, --runs of at least 1, --files of at least %d, and --from without --json\n", smallFiles)
		return errUsage
	}
	if c.list {
		return list(stdout)
	}
	chosen, err := choose(c.only)
	if err != nil {
		return err
	}
	if c.shapes, err = chooseShapes(c.shape); err != nil {
		return err
	}
	if c.from != "" {
		return show(&c, chosen, stdout)
	}
	r, err := measure(&c, chosen, stderr)
	if err != nil {
		return err
	}
	if err := r.print(stdout); err != nil {
		return err
	}
	if c.json != "" {
		if err := r.writeJSON(c.json); err != nil {
			return err
		}
	}
	if c.markdown != "" {
		return writeMarkdown(c.markdown, []*report{r})
	}
	return nil
}

// list says what can be measured, and in which trees.
func list(w io.Writer) error {
	for _, s := range surveys {
		fmt.Fprintf(w, "%-9s %s\n", s.name, s.what)
	}
	for _, s := range scenarios {
		fmt.Fprintf(w, "%-9s %s\n", s.name, s.what)
	}
	fmt.Fprintf(w, "\ntrees of S1 to S11, each of %d files and of --files beside the target's path:\n", smallFiles)
	for _, s := range shapes {
		if _, err := fmt.Fprintf(w, "%-9s %s\n", s.name, s.what); err != nil {
			return err
		}
	}
	return nil
}

// show prints results that were measured before, and writes them into a document.
func show(c *config, chosen choice, stdout io.Writer) error {
	reports, err := readReports(c.from)
	if err != nil {
		return err
	}
	for _, r := range reports {
		r.keep(chosen.names(), c.shapes)
		if err := r.print(stdout); err != nil {
			return err
		}
	}
	if c.markdown == "" {
		return nil
	}
	return writeMarkdown(c.markdown, reports)
}

// choice is what is to be measured.
type choice struct {
	surveys   []survey
	scenarios []scenario
}

func (c choice) names() []string {
	var out []string
	for _, s := range c.surveys {
		out = append(out, s.name)
	}
	for _, s := range c.scenarios {
		out = append(out, s.name)
	}
	return out
}

// choose returns what a list names, in the order of --list; all for "".
func choose(only string) (choice, error) {
	all := choice{surveys, scenarios}
	if only == "" {
		return all, nil
	}
	var names []string
	for name := range strings.SplitSeq(only, ",") {
		known := slices.IndexFunc(all.names(), func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(name)) })
		if known < 0 {
			return choice{}, fmt.Errorf("nothing is named %q; --list says what is", name)
		}
		names = append(names, all.names()[known])
	}
	return choice{
		slices.DeleteFunc(slices.Clone(surveys), func(s survey) bool { return !slices.Contains(names, s.name) }),
		slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !slices.Contains(names, s.name) }),
	}, nil
}

func measure(c *config, chosen choice, stderr io.Writer) (r *report, err error) {
	l, err := newLab(c, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.build(); err != nil {
		return nil, err
	}
	if r, err = newReport(l); err != nil {
		return nil, err
	}
	l.say("%s", r)
	if r.Rows, err = l.survey(chosen.surveys); err != nil {
		return nil, err
	}
	var trees []string
	for _, s := range chosen.scenarios {
		trees = append(trees, s.trees...)
	}
	if err := l.prepare(trees); err != nil {
		return nil, err
	}
	for _, s := range chosen.scenarios {
		l.say("measuring %s: %s", s.name, s.what)
		rows, err := s.run(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		sized := slices.Contains(s.trees, "large") || slices.Contains(s.trees, "grove")
		for i := range rows {
			rows[i].Target = s.name
			rows[i].Command = l.command(s.name, s.timed, sized)
		}
		r.Rows = append(r.Rows, rows...)
	}
	return r, nil
}

// command is what measures something again; timed and sized are set when the number of
// runs and of files matter.
func (l *lab) command(name string, timed, sized bool) string {
	text := "go run ./bench --only " + name
	if timed {
		text += fmt.Sprintf(" --runs %d", l.c.runs)
	}
	if sized {
		text += fmt.Sprintf(" --files %d", l.c.files)
	}
	if l.c.seed != 1 {
		text += fmt.Sprintf(" --seed %d", l.c.seed)
	}
	return text
}
