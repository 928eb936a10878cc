package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// What T7 allows beyond what cannot be avoided: the anchors and the repository above
// the root, the lock file, and the state directory's own files.
const (
	walkExtraLstats = 40
	// walkExtraNodes are the edited file's own nodes and those at the top, beside one for
	// each directory above it.
	walkExtraNodes = 12
	// findFactor is how many times faster than find a warm walk is to be in a tree of
	// findFiles.
	findFactor, findFiles = 12, 1_000_000
	// coldRounds bounds the rounds of what takes seconds.
	coldRounds = 11
)

func lintOf(ws *mwp.Workspace) (*mwp.Result, error) {
	return ws.Lint(context.Background(), mwp.LintRequest{})
}

func targetsOf(ws *mwp.Workspace) (*mwp.Result, error) {
	return ws.Targets(context.Background(), mwp.TargetsRequest{})
}

// walks measures T7. Both sides of each ratio are whole processes, from exec to exit.
func (l *lab) walks() ([]row, error) {
	rows, err := l.walkTimes(l.grove)
	if err != nil {
		return nil, err
	}
	counts, err := walkCounts(l.grove)
	return append(rows, counts...), err
}

func (l *lab) walkTimes(t *grove) ([]row, error) {
	list := filepath.Join(l.dir, "paths")
	if err := os.WriteFile(list, []byte(strings.Join(t.looked(), "\x00")+"\x00"), 0o666); err != nil {
		return nil, err
	}
	// The first two make the cache's directory and bring the slots' fingerprints of what
	// it lies in up to date.
	time.Sleep(settleTime)
	for range 2 {
		for _, command := range []string{"lint", "targets"} {
			if _, err := l.mwp(&t.tree, command); err != nil {
				return nil, err
			}
		}
		time.Sleep(settleTime)
	}
	lint := &contestant{name: "lint", argv: []string{l.binary("mwp"), "lint"}, dir: t.root}
	bare := &contestant{name: "lstat", argv: []string{l.binary("lstat"), list}, dir: t.root}
	targets := &contestant{name: "targets", argv: []string{l.binary("mwp"), "targets"}, dir: t.root}
	times, err := l.race(lint, targets, bare)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, what := range []string{"lint", "targets"} {
		c := compare(times[i], times[2])
		rows = append(rows, limited("warm "+what+" / bare lstat, whole processes", c.ratio, 2, "", c.String()))
	}
	cold := *lint
	cold.before = func() error { return os.RemoveAll(t.cache()) }
	find, err := exec.LookPath("find")
	if err != nil {
		return append(rows, missing("warm lint, targets and cold lint beside find", err.Error())), nil
	}
	listing := &contestant{name: "find", argv: []string{find, t.root}, dir: t.root}
	times, err = l.raceFor(min(l.c.runs, coldRounds), listing, lint, targets)
	if err != nil {
		return nil, err
	}
	for i, what := range []string{"lint", "targets"} {
		rows = append(rows, l.besideFind(what, compare(times[0], times[i+1])))
	}
	times, err = l.raceFor(min(l.c.runs, coldRounds), &cold, listing)
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	rows = append(rows, limited("cold lint / find, whole processes", c.ratio, 5, "", c.String()))
	edited, err := l.raceFor(min(l.c.runs, coldRounds), &contestant{
		name: "lint after an edit", argv: lint.argv, dir: t.root, before: func() error { return t.edit(len(t.carrying) / 2) },
	}, bare)
	if err != nil {
		return nil, err
	}
	c = compare(edited[0], edited[1])
	return append(rows, row{What: "lint after one edit / bare lstat", Measured: c.ratio, Detail: c.String()}), nil
}

// besideFind is how many times faster than find a walk is. The limit is for a tree of a
// million files: find looks at each of them, a walk does not.
func (l *lab) besideFind(what string, c comparison) row {
	what = "find / warm " + what + ", whole processes"
	if l.c.files < findFiles {
		return atLeast(what, c.ratio, 0, "", fmt.Sprintf("%s; the limit of %d is for --files %d", c, findFactor, findFiles))
	}
	return atLeast(what, c.ratio, findFactor, "", c.String())
}

// walkCounts measures what does not depend on the machine.
func walkCounts(t *grove) ([]row, error) {
	var rows []row
	for _, q := range []struct {
		name string
		ask  func(*mwp.Workspace) (*mwp.Result, error)
	}{{"lint", lintOf}, {"targets", targetsOf}} {
		for range 2 {
			if _, err := askFor(&t.tree, q.ask); err != nil {
				return nil, err
			}
		}
		a, err := askFor(&t.tree, q.ask)
		if err != nil {
			return nil, err
		}
		looked := len(t.looked())
		lstats := limited("lstats of a warm "+q.name+" beyond directories and contexts", float64(a.World.Lstats.Load())-float64(looked), walkExtraLstats, "count",
			fmt.Sprintf("%d, served %v", a.World.Lstats.Load(), a.Served))
		read := limited("directories and files read by a warm "+q.name, float64(a.World.DirsRead.Load()+a.World.FilesRead.Load()), 0, "count", "")
		if !a.Served {
			lstats.Verdict, read.Verdict = short, short
		}
		rows = append(rows, lstats, read)
	}
	at := len(t.carrying) / 2
	if err := t.edit(at); err != nil {
		return nil, err
	}
	a, err := askFor(&t.tree, lintOf)
	if err != nil {
		return nil, err
	}
	elsewhere := a.elsewhere(t.carrying[at])
	limit := strings.Count(filepath.ToSlash(t.carrying[at]), "/") + 1 + walkExtraNodes
	rows = append(rows,
		limited("nodes computed by a lint after one edit", float64(a.Stats.Computed), float64(limit), "count", fmt.Sprintf("%s; %d recalled", a.computed(), a.Stats.Hits)),
		limited("nodes of other directories among them", float64(len(elsewhere)), 0, "count", strings.Join(elsewhere, ", ")),
		limited("directories and files read by a lint after one edit", float64(a.World.DirsRead.Load()+a.World.FilesRead.Load()), 1, "count", ""))
	return rows, nil
}

// elsewhere lists computed nodes about directories that are neither the edited one nor
// above it.
func (a *asked) elsewhere(edited string) []string {
	edited = filepath.ToSlash(edited)
	var out []string
	for _, e := range a.events {
		dir := edited
		switch n := e.Task.(type) {
		case nodes.Tree:
			dir = n.Dir
		case nodes.Chain:
			dir = n.Target
		case nodes.LintPlace:
			dir = n.Target
		case nodes.Cascade:
			dir = n.Target
		case nodes.Layers:
			dir = n.Target
		}
		if e.Status == graph.Computed && dir != "." && dir != edited && !strings.HasPrefix(edited, dir+"/") {
			out = append(out, mwp.DescribeNode(e))
		}
	}
	return out
}

// edit changes the words of one context file and keeps its header.
func (t *grove) edit(at int) error {
	return appendLine(filepath.Join(t.root, t.carrying[at], ".mwp-context.md"))
}
