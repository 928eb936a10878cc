package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const turboPackage = "turbo@2.11.11"

// everyday is a command that people run in a repository anyway.
type everyday struct {
	what string
	// limit is how many times as long as a warm map it takes at least, 0 for no limit.
	limit float64
	note  string
	// prepare returns the command for a tree, or why there is none.
	prepare func(*lab, *tree) (*contestant, error)
}

// everydays are T4's peers. None of them does what a map does: each is what has to be
// run today to learn whether anything has changed.
var everydays = []everyday{
	{"git rev-parse HEAD", 0, "looks at no file of the tree; T1 has its limit", gitCommand("rev-parse", "HEAD")},
	{"git status", 60, "as git is installed: no file system monitor, no untracked cache", gitCommand("status")},
	{"git status with the untracked cache", 0, "core.untrackedCache on, no file system monitor", (*lab).cachedStatus},
	{"find", 25, "names all files", plainCommand("find", ".")},
	{"rg --files", 0, "names the files that no .gitignore leaves out", plainCommand("rg", "--files")},
	{"no-op ninja", 100, "one target with all files of the tree as inputs", (*lab).ninja},
	{"no-op turbo run", 100, "one target with all files of the tree as inputs, the program itself without npm's wrapper", (*lab).turbo},
}

// beside measures T4: a warm map of one target and the everyday commands, in one loop
// on one tree with everything committed.
func (l *lab) beside() ([]row, error) {
	back, err := l.alone()
	if err != nil {
		return nil, err
	}
	defer back()
	t := l.trees["large"]
	added, err := l.makeRepository(t)
	if err != nil {
		return nil, err
	}
	rows, err := l.besideIn(t)
	if err == nil {
		err = l.takeBack(t, added)
	}
	return rows, err
}

func (l *lab) besideIn(t *tree) ([]row, error) {
	what := func(e *everyday) string { return fmt.Sprintf("%s / warm map, %d files", e.what, l.c.files) }
	var rows []row
	var there []*everyday
	racers := []*contestant{l.mapOf(t)}
	time.Sleep(settleTime)
	for i := range everydays {
		e := &everydays[i]
		c, err := e.prepare(l, t)
		if err == nil {
			_, err = l.listen(c)
		}
		if err != nil {
			rows = append(rows, missing(what(e), err.Error()))
			continue
		}
		there = append(there, e)
		racers = append(racers, c)
	}
	if err := l.warmUp(t, "map", "-v", t.target); err != nil {
		return nil, err
	}
	times, err := l.raceFor(min(l.c.runs, peerRounds), racers...)
	if err != nil {
		return nil, err
	}
	if err := l.stillWarm(racers[0]); err != nil {
		return nil, err
	}
	for i, e := range there {
		c := compare(times[i+1], times[0])
		rows = append(rows, atLeast(what(e), c.ratio, e.limit, "", e.note+"; "+c.String()))
	}
	return rows, nil
}

// stillWarm holds that what was timed was answered from the cache.
func (l *lab) stillWarm(c *contestant) error {
	s, err := l.listen(&contestant{name: c.name, argv: append(c.argv[:len(c.argv):len(c.argv)], "-v"), dir: c.dir})
	if err == nil && !bytes.Contains(s.err, []byte("served from its slot")) {
		err = fmt.Errorf("the map was not warm: %s", s.err)
	}
	return err
}

// workspace is what makes a tree a workspace of turbo whose root is its one target. A
// tree without a member would be hashed otherwise, so there is an empty one.
var workspace = map[string]string{
	".gitignore":          ".turbo/\nnode_modules/\n",
	"turbo.json":          `{"tasks": {"//#build": {}}}` + "\n",
	"package.json":        `{"name": "generated", "version": "1.0.0", "private": true, "packageManager": "npm@10.0.0", "workspaces": ["member"], "scripts": {"build": "true"}}` + "\n",
	"member/package.json": `{"name": "member", "version": "1.0.0"}` + "\n",
	"package-lock.json": `{"name": "generated", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
"": {"name": "generated", "version": "1.0.0", "workspaces": ["member"]},
"member": {"version": "1.0.0"}, "node_modules/member": {"resolved": "member", "link": true}}}` + "\n",
}

// makeRepository commits a tree and makes it a workspace of turbo. It returns what has
// to be taken away again. Without git there is no repository; the rows will say so.
func (l *lab) makeRepository(t *tree) (added []string, err error) {
	for path, text := range workspace {
		if err := t.write(filepath.FromSlash(path), text); err != nil {
			return nil, err
		}
		added = append(added, strings.Split(path, "/")[0])
	}
	l.say("committing %d files", l.c.files)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "everything"},
	} {
		c, err := gitCommand(args...)(l, t)
		if err == nil {
			_, err = l.listen(c)
		}
		if err != nil {
			l.say("no repository: %v", err)
			break
		}
	}
	return append(added, ".git", ".turbo", "node_modules"), nil
}

// takeBack leaves the tree as it was generated, for what is measured after this.
func (l *lab) takeBack(t *tree, added []string) error {
	for _, name := range added {
		if err := os.RemoveAll(filepath.Join(t.root, name)); err != nil {
			return err
		}
	}
	if _, err := l.mwp(t, "map", t.target); err != nil {
		return err
	}
	return l.warmUp(t, "map", "-v", t.target)
}

func plainCommand(name string, args ...string) func(*lab, *tree) (*contestant, error) {
	return func(_ *lab, t *tree) (*contestant, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("there is no %s", name)
		}
		return &contestant{name: name, argv: append([]string{path}, args...), dir: t.root}, nil
	}
}

func gitCommand(args ...string) func(*lab, *tree) (*contestant, error) {
	return plainCommand("git", args...)
}

// cachedStatus lets a second repository with the same commit lie beside the tree, whose
// index keeps what git has seen in each directory: an index either does or does not.
func (l *lab) cachedStatus(t *tree) (*contestant, error) {
	dir := l.scratch()
	in := func(args ...string) (*contestant, error) {
		return gitCommand(append([]string{"--git-dir=" + dir, "--work-tree=" + t.root}, args...)...)(l, t)
	}
	status, err := in("status")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(t.root, ".git"))); err != nil {
		return nil, fmt.Errorf("no repository: %w", err)
	}
	for _, args := range [][]string{{"config", "core.untrackedCache", "true"}, {"update-index", "--untracked-cache"}, {"status"}, {"status"}} {
		c, err := in(args...)
		if err == nil {
			_, err = l.listen(c)
		}
		if err != nil {
			return nil, err
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, "index"))
	if err == nil && !bytes.Contains(index, []byte("UNTR")) {
		err = fmt.Errorf("git keeps no untracked cache here")
	}
	return status, err
}

// ninja writes the file of a build whose one target has all files of a tree as inputs,
// beside the tree, and runs it once.
func (l *lab) ninja(t *tree) (*contestant, error) {
	dir := l.scratch()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	text, err := ninjaFile(t.root, dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "build.ninja")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return nil, err
	}
	c, err := plainCommand("ninja", "-f", file)(l, t)
	if err != nil {
		return nil, err
	}
	return c, l.saysAgain(c, "no work to do")
}

// saysAgain runs a command twice and holds that the second time it had nothing to do.
func (l *lab) saysAgain(c *contestant, want string) error {
	if _, err := l.listen(c); err != nil {
		return err
	}
	s, err := l.listen(c)
	if err == nil && !bytes.Contains(s.out, []byte(want)) {
		err = fmt.Errorf("%s found something to do: %s", c.name, lastLine(s.out))
	}
	return err
}

// ninjaFile returns a build file over the files of a tree, without the repository's and
// mwp's own.
func ninjaFile(root, dir string) (string, error) {
	escape := strings.NewReplacer("$", "$$", " ", "$ ", ":", "$:")
	var b strings.Builder
	fmt.Fprintf(&b, "builddir = %s\nrule stamp\n  command = touch $out\nbuild %s: stamp", escape.Replace(dir), escape.Replace(filepath.Join(dir, "stamp")))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".mwp" || d.Name() == ".turbo"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, path)
		b.WriteString(" $\n  " + escape.Replace(filepath.ToSlash(rel)))
		return err
	})
	b.WriteByte('\n')
	return b.String(), err
}

// turbo runs the workspace's one target once, which then is in turbo's cache.
func (l *lab) turbo(t *tree) (*contestant, error) {
	dir, err := l.install(turboPackage)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@turbo", "*", "bin", "turbo*"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s brings no program for this system", turboPackage)
	}
	c := &contestant{name: turboPackage, argv: []string{found[0], "run", "build", "--filter=//", "--skip-infer"}, dir: t.root}
	return c, l.saysAgain(c, "FULL TURBO")
}
