package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/graph"
)

const (
	smallFiles = 1000
	// depth gives a map of 20 leaves: what a target in a large repository has.
	depth       = 8
	contextSize = 900
	// settleTime is longer than what a file must have been left alone for before mwp
	// believes its times.
	settleTime = 2200 * time.Millisecond
)

// lab is a directory with everything that is measured in it.
type lab struct {
	c     *config
	log   io.Writer
	dir   string
	env   []string // of child processes
	trees map[string]*tree
	// scraps is how many scratch directories were named.
	scraps int
	// built is set when the programs are there.
	built bool
	// hasGit is set when the small tree is a git repository.
	hasGit bool
}

// smallShape is the shape of the tree that most times are measured in.
func smallShape(seed uint64) shape {
	return shape{seed: seed, files: smallFiles, depth: depth, contexts: 20, contextSize: contextSize}
}

func newLab(c *config, log io.Writer) (*lab, error) {
	dir, err := os.MkdirTemp("", "mwp-bench-")
	if err == nil {
		// A link in the path would make paths that the tools print differ from ours.
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	l := &lab{c: c, log: log, dir: dir, trees: map[string]*tree{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MWP_") && !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GODEBUG=") {
			l.env = append(l.env, v)
		}
	}
	return l, nil
}

func (l *lab) close() error { return os.RemoveAll(l.dir) }

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.log, format+"\n", args...) }

// prepare builds the programs and generates the trees that child processes are
// asked about, and waits until their files are old enough to be believed.
func (l *lab) prepare(names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := l.build(); err != nil {
		return err
	}
	shapes := map[string]shape{
		"small": smallShape(l.c.seed),
		"cold":  smallShape(l.c.seed),
		"large": {seed: l.c.seed, files: l.c.files, depth: depth, contexts: l.c.files / 100, contextSize: contextSize},
	}
	for _, name := range names {
		if l.trees[name] != nil {
			continue
		}
		l.say("generating the %s tree of %d files", name, shapes[name].files)
		t, err := newTree(filepath.Join(l.dir, name), shapes[name])
		if err != nil {
			return err
		}
		l.trees[name] = t
		if name == "small" {
			l.hasGit = l.commit(t) == nil
		}
		// The first map makes the cache's directory, which is a change of the anchor's.
		if _, err := l.mwp(t, "map", t.target); err != nil {
			return err
		}
	}
	time.Sleep(settleTime)
	for _, name := range slices.Sorted(maps.Keys(l.trees)) {
		t := l.trees[name]
		for range 2 {
			said, err := l.mwp(t, "map", "-v", t.target)
			if err != nil {
				return err
			}
			if !strings.Contains(said, "served from its slot") {
				return fmt.Errorf("the map of the %s tree is not warm: %s", name, said)
			}
		}
	}
	return nil
}

// build builds mwp as it is released, and what it is compared with.
func (l *lab) build() error {
	if l.built {
		return nil
	}
	l.built = true
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if err := l.goBuild(root, "mwp", "./cmd/mwp"); err != nil {
		return err
	}
	for _, p := range programs {
		dir := filepath.Join(l.dir, "src", p.name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(p.source), 0o666); err != nil {
			return err
		}
		if err := l.goBuild(dir, p.name, "main.go"); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) goBuild(dir, name, what string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", l.binary(name), what)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(l.env), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// moduleRoot returns the directory of this module, wherever in it we were started.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// commit makes a tree a git repository with one commit.
func (l *lab) commit(t *tree) error {
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "--allow-empty", "-m", "empty"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = t.root, l.env
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// mwp runs the program in a tree and returns what it said on stderr.
func (l *lab) mwp(t *tree, args ...string) (string, error) {
	var said bytes.Buffer
	cmd := exec.Command(l.binary("mwp"), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = t.root, l.env, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("mwp %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return said.String(), nil
}

// scratch returns a new directory's path; the directory does not exist.
func (l *lab) scratch() string {
	l.scraps++
	return filepath.Join(l.dir, fmt.Sprintf("scratch%d", l.scraps))
}

// asked is what a question in this process found.
type asked struct {
	*mwp.Result
	events []mwp.Event
}

// ask asks for the target's map in this process and records it.
func ask(t *tree) (*asked, error) {
	return askFor(t, func(ws *mwp.Workspace) (*mwp.Result, error) {
		return ws.Map(context.Background(), mwp.Request{Target: t.target})
	})
}

// askFor asks a question about a tree and records the answer. The clock is an hour
// ahead, so that files just written are believed: counts need no waiting.
func askFor(t *tree, question func(*mwp.Workspace) (*mwp.Result, error)) (*asked, error) {
	a := &asked{}
	events := make(chan mwp.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			a.events = append(a.events, e)
		}
	}()
	ws := mwp.Open(mwp.Options{
		Dir: t.root, Now: func() time.Time { return time.Now().Add(time.Hour) },
		Observe: func(e mwp.Event) { events <- e },
	})
	var err error
	a.Result, err = question(ws)
	if err == nil {
		err = a.Record()
	}
	close(events)
	<-done
	return a, err
}

// computed names the kinds that were computed, sorted.
func (a *asked) computed() string {
	var names []string
	for _, e := range a.events {
		if e.Status == graph.Computed {
			names = append(names, e.Task.Kind().Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
