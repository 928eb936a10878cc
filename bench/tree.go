package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// shape describes a generated tree. Equal shapes give equal trees.
type shape struct {
	seed uint64
	// files is how many files there are beside the ones on the target's path.
	files int
	// depth is the number of directories on the target's path, the root included.
	// Each has a context file.
	depth int
	// contexts is how many of the other directories have a context file.
	contexts int
	// contextSize is the size of a context file's body in bytes, roughly; 0 makes three
	// sentences without a header of their own.
	contextSize int
	// crowd is how many further files lie in the directory halfway to the target.
	crowd int
	// rules is set when each context file below the root imports a text beside it.
	rules bool
	// imports is how many texts the target's directory reaches: it imports width of them,
	// and each of them as many, until there are enough.
	imports, width int
	// modules is how many git modules the target's directory imports. They are there as
	// if they had been fetched.
	modules int
	// guards is how many guards the target's directory declares, each with a script and a
	// verified file.
	guards int
	// header is what else the header of the target's directory says; allowed are further
	// commands that may run.
	header  string
	allowed []string
}

// filesPerDir is how many files a generated directory has: about as many as the
// directories of the Go source tree.
const filesPerDir = 12

// otherTargets is how many files beside the target's path are remembered.
const otherTargets = 64

// tree is a generated tree.
type tree struct {
	root string
	// dirs are the directories on the target's path, relative to the root, which is
	// ".".
	dirs   []string
	target string
	// others are some of the files that are not on the target's path.
	others []string
}

// words are what names and texts are made of.
var words = strings.Fields(`account address batch billing buffer cache carrier client cluster config
	contract customer depot dispatch driver engine event export fleet freight gateway handler import
	invoice ledger loader manifest meter order parcel payment planner policy portal queue region
	report route sandbox schema service session shipment stock tariff tenant token tracker vendor`)

func pick(r *rand.Rand) string { return words[r.IntN(len(words))] }

// newTree writes a tree below root, which must not exist. The target's path does
// not depend on the number of files, so that trees of two sizes have one target.
func newTree(root string, s shape) (*tree, error) {
	if err := enough(filepath.Dir(root), s.files+s.crowd, s.files/filesPerDir*2); err != nil {
		return nil, err
	}
	t := &tree{root: root, dirs: []string{"."}}
	path := rand.New(rand.NewPCG(s.seed, 1))
	for i := 1; i < s.depth; i++ {
		t.dirs = append(t.dirs, filepath.Join(t.dirs[i-1], fmt.Sprintf("%s-%d", pick(path), i)))
	}
	last := t.dirs[s.depth-1]
	t.target = filepath.Join(last, "main.go")
	if err := t.write(".mwp/config.toml", configText(s)); err != nil {
		return nil, err
	}
	if err := t.write(".mwp/intents/plan.md", "# Plan\n\nMeasure.\n"); err != nil {
		return nil, err
	}
	if err := t.write(t.target, "package main\n"); err != nil {
		return nil, err
	}
	for i, dir := range t.dirs {
		if err := t.writeContext(path, i, dir, s.contextSize, s.headerOf(i)...); err != nil {
			return nil, err
		}
		if s.rules && i > 0 {
			if err := t.write(filepath.Join(dir, "rules.md"), sentences(path, 3)); err != nil {
				return nil, err
			}
		}
	}
	for _, equip := range []func(shape, string) error{t.writeLibrary, t.writeModules, t.writeGuards} {
		if err := equip(s, last); err != nil {
			return nil, err
		}
	}
	return t, together(t.fill(s))
}

// configText is the configuration of a generated tree: no budget, so that no text is
// left out, and leave for its guards.
func configText(s shape) string {
	var b strings.Builder
	b.WriteString("name = \"generated\"\n")
	if allowed := s.commands(); len(allowed) > 0 {
		for i, a := range allowed {
			allowed[i] = strconv.Quote(a)
		}
		b.WriteString("\n[trust]\nallowed_guards = [" + strings.Join(allowed, ", ") + "]\n")
	}
	b.WriteString("\n[budgets]\nl0 = \"none\"\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n")
	return b.String()
}

// fill makes what no map of the target looks at, a directory at a time. Names and texts
// are chosen in one order, whoever writes them.
func (t *tree) fill(s shape) iter.Seq[func() error] {
	return func(yield func(func() error) bool) {
		beside := rand.New(rand.NewPCG(s.seed, 2))
		dirs := (s.files + filesPerDir - 1) / filesPerDir
		every := max(1, s.files/filesPerDir/max(1, s.contexts))
		contexts := 0
		for n := range dirs {
			// Two levels, as a flat directory of ten thousand entries would be unlike any
			// project.
			dir := filepath.Join(t.dirs[beside.IntN(len(t.dirs))], fmt.Sprintf("%s%02d", pick(beside), n%40), fmt.Sprintf("%s%d", pick(beside), n))
			var files []file
			if n%every == 0 && contexts < s.contexts {
				contexts++
				files = append(files, file{".mwp-context.md", contextText(beside, n, s.contextSize)})
			}
			for i := n * filesPerDir; i < min((n+1)*filesPerDir, s.files); i++ {
				files = append(files, file{fmt.Sprintf("%s_%d.go", pick(beside), i), "package x // " + pick(beside) + "\n"})
			}
			if n%max(1, dirs/otherTargets) == 0 && len(t.others) < otherTargets {
				t.others = append(t.others, filepath.Join(dir, files[len(files)-1].name))
			}
			if !yield(func() error { return t.writeDir(dir, files) }) {
				return
			}
		}
		t.crowd(s, beside, yield)
	}
}

// crowd fills the directory halfway to the target.
func (t *tree) crowd(s shape, r *rand.Rand, yield func(func() error) bool) {
	const atOnce = 500
	dir := t.dirs[len(t.dirs)/2]
	for first := 0; first < s.crowd; first += atOnce {
		var files []file
		for i := first; i < min(first+atOnce, s.crowd); i++ {
			files = append(files, file{fmt.Sprintf("%s_%d.txt", pick(r), i), pick(r) + "\n"})
		}
		if !yield(func() error { return t.writeDir(dir, files) }) {
			return
		}
	}
}

// together does jobs side by side: making a million files is a million waits for the
// kernel. It returns the first error, after which no further job begins.
func together(jobs iter.Seq[func() error]) error {
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	work := make(chan func() error)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for job := range work {
				if err := job(); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	for job := range jobs {
		if failed.Load() != nil {
			break
		}
		work <- job
	}
	close(work)
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (t *tree) writeContext(r *rand.Rand, i int, dir string, size int, header ...string) error {
	return t.write(filepath.Join(dir, ".mwp-context.md"), contextText(r, i, size, header...))
}

// contextText returns a context file as people write them: a few keys, those of header
// among them, and some short sections.
func contextText(r *rand.Rand, i, size int, header ...string) string {
	var b strings.Builder
	keys := strings.Join(header, "")
	if size > 0 {
		size += len(keys)
		keys = fmt.Sprintf("priority: %d\nowners: [%s-team, %s-team]\n", 40+i%20, pick(r), pick(r)) + keys
	}
	if keys != "" {
		fmt.Fprintf(&b, "---\n%s---\n", keys)
	}
	if size == 0 {
		b.WriteString(sentences(r, 3))
		return b.String()
	}
	fmt.Fprintf(&b, "# %s %d\n", pick(r), i)
	for b.Len() < size {
		fmt.Fprintf(&b, "\n## The %s of the %s\n\n%s", pick(r), pick(r), sentences(r, 4))
	}
	return b.String()
}

func sentences(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "- Every %s goes through the %s %s before the %s sees it.\n", pick(r), pick(r), pick(r), pick(r))
	}
	return b.String()
}

// write writes a file, and the directories above it where they are missing.
func (t *tree) write(path, text string) error {
	return t.writeDir(filepath.Dir(path), []file{{filepath.Base(path), text}})
}

// file is what is to be written into a directory.
type file struct{ name, text string }

// writeDir writes files into a directory, and makes it where it is missing.
func (t *tree) writeDir(dir string, files []file) error {
	dir = filepath.Join(t.root, dir)
	if len(files) == 0 {
		return os.MkdirAll(dir, 0o777)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		err := os.WriteFile(path, []byte(f.text), 0o666)
		if os.IsNotExist(err) {
			if err = os.MkdirAll(dir, 0o777); err == nil {
				err = os.WriteFile(path, []byte(f.text), 0o666)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// state returns the tree's state directory.
func (t *tree) state() string { return filepath.Join(t.root, ".mwp") }

// cache returns the directory of the tree's cache.
func (t *tree) cache() string { return filepath.Join(t.state(), "cache") }

// within reports whether a path is a directory on the target's path, above the
// root, or in the state directory: where a map may look.
func (t *tree) within(path string) bool {
	rel, err := filepath.Rel(t.root, path)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") && strings.Trim(rel, "./") == "" {
		return true
	}
	return rel == ".mwp" || strings.HasPrefix(rel, ".mwp/") || strings.HasPrefix(filepath.ToSlash(t.target), rel+"/")
}
