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

// settleTime is longer than what a file must have been left alone for before mwp
// believes its times.
const settleTime = 2200 * time.Millisecond

// lab is a directory with everything that is measured in it.
type lab struct {
	c     *config
	log   io.Writer
	dir   string
	env   []string // of child processes
	trees map[string]*tree
	// grove is the tree that T7 is about.
	grove *grove
	// scraps is how many scratch directories were named.
	scraps int
	// built is set when the programs are there.
	built bool
	// hasGit is set when the small tree is a git repository.
	hasGit bool
	// noCalls says why system calls cannot be counted here; nil when they can.
	noCalls error
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

// prepare generates the trees that child processes are asked about, and waits until
// their files are old enough to be believed.
func (l *lab) prepare(names []string) error {
	for _, name := range names {
		if err := l.generate(name); err != nil {
			return err
		}
	}
	if len(names) == 0 || len(l.trees) == 0 {
		return nil
	}
	for _, t := range l.trees {
		// What scenarios left in the cache is not the map's. The first map makes the cache's
		// directory, which is a change of the anchor's.
		if err := os.RemoveAll(t.cache()); err != nil {
			return err
		}
		if _, err := l.mwp(t, "map", t.target); err != nil {
			return err
		}
	}
	time.Sleep(settleTime)
	for _, name := range slices.Sorted(maps.Keys(l.trees)) {
		if err := l.twice(l.trees[name], "map", "-v", l.trees[name].target); err != nil {
			return fmt.Errorf("the %s tree: %w", name, err)
		}
	}
	return nil
}

// generate makes one of the trees that several scenarios share, once.
func (l *lab) generate(name string) (err error) {
	if name == "grove" {
		if l.grove == nil {
			s := groveOf(l.c.seed, l.c.files)
			l.say("generating a tree of %d files in %d directories with %d contexts", s.files, s.dirs, s.contexts)
			l.grove, err = newGrove(filepath.Join(l.dir, name), s)
		}
		return err
	}
	if l.trees[name] != nil {
		return nil
	}
	s := smallShape(l.c.seed)
	if name == "large" {
		s = shapes[0].shape.sized(l.c.seed, l.c.files)
	}
	l.say("generating the %s tree of %d files", name, s.files)
	t, err := newTree(filepath.Join(l.dir, name), s)
	if err != nil {
		return err
	}
	l.trees[name] = t
	if name == "small" {
		l.hasGit = l.commit(t) == nil
	}
	return nil
}

// twice runs mwp two times: the first run may bring up to date what the second one
// believes. A map has to come from its slot in the end.
func (l *lab) twice(t *tree, args ...string) (err error) {
	var said string
	for range 2 {
		if said, err = l.mwp(t, args...); err != nil {
			return err
		}
	}
	if args[0] == "map" && !strings.Contains(said, servedWords) {
		return fmt.Errorf("the map is not warm: %s", said)
	}
	return nil
}

// warmUp lets the files grow old enough to be believed and runs mwp twice.
func (l *lab) warmUp(t *tree, args ...string) error {
	time.Sleep(settleTime)
	return l.twice(t, args...)
}

// servedWords is what mwp map -v says about an answer that was ready.
const servedWords = "served from its slot"

// enough returns an error when a directory's file system has no room for that many
// files and directories.
func enough(dir string, files, dirs int) error {
	bytes, inodes := free(dir)
	need, fits := room(files, dirs, bytes, inodes)
	if fits {
		return nil
	}
	return fmt.Errorf("a tree of %d files in %d directories needs %d MB and %d inodes in %s, where %d MB and %d inodes are free: set TMPDIR to a directory with more room, or lower --files",
		files, dirs, need>>20, files+dirs, dir, bytes>>20, inodes)
}

// room returns how many bytes that many files and directories take, and whether they fit
// into what is free, where -1 is unknown. A file here has one block at most.
func room(files, dirs int, bytes, inodes int64) (need int64, fits bool) {
	const block, inode = 4096, 320
	n := int64(files) + int64(dirs)
	need = n * (block + inode)
	return need, (bytes < 0 || bytes >= need) && (inodes < 0 || inodes >= n)
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

// output runs the program and returns what it said on stdout.
func (l *lab) output(args ...string) (string, error) {
	cmd := exec.Command(l.binary("mwp"), args...)
	cmd.Env = l.env
	b, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("mwp %s: %w", strings.Join(args, " "), err)
	}
	return string(b), nil
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
