package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
	// contextSize is the size of a context file's body in bytes, roughly.
	contextSize int
}

// filesPerDir is how many files a generated directory has: about as many as the
// directories of the Go source tree.
const filesPerDir = 12

// tree is a generated tree.
type tree struct {
	root string
	// dirs are the directories on the target's path, relative to the root, which is
	// ".".
	dirs   []string
	target string
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
	t := &tree{root: root, dirs: []string{"."}}
	path := rand.New(rand.NewPCG(s.seed, 1))
	for i := 1; i < s.depth; i++ {
		t.dirs = append(t.dirs, filepath.Join(t.dirs[i-1], fmt.Sprintf("%s-%d", pick(path), i)))
	}
	t.target = filepath.Join(t.dirs[s.depth-1], "main.go")
	if err := t.write(".mwp/config.toml", "name = \"generated\"\n\n[budgets]\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n"); err != nil {
		return nil, err
	}
	if err := t.write(".mwp/intents/plan.md", "# Plan\n\nMeasure.\n"); err != nil {
		return nil, err
	}
	if err := t.write(t.target, "package main\n"); err != nil {
		return nil, err
	}
	for i, dir := range t.dirs {
		if err := t.writeContext(path, i, dir, s.contextSize); err != nil {
			return nil, err
		}
	}
	return t, t.fill(s)
}

// fill adds what no map of the target looks at.
func (t *tree) fill(s shape) error {
	beside := rand.New(rand.NewPCG(s.seed, 2))
	every := max(1, s.files/filesPerDir/max(1, s.contexts))
	contexts := 0
	dir := ""
	for i := range s.files {
		if n := i / filesPerDir; i%filesPerDir == 0 {
			// Two levels, as a flat directory of ten thousand entries would be unlike any
			// project.
			dir = filepath.Join(t.dirs[beside.IntN(len(t.dirs))], fmt.Sprintf("%s%02d", pick(beside), n%40), fmt.Sprintf("%s%d", pick(beside), n))
			if n%every == 0 && contexts < s.contexts {
				contexts++
				if err := t.writeContext(beside, n, dir, s.contextSize); err != nil {
					return err
				}
			}
		}
		if err := t.write(filepath.Join(dir, fmt.Sprintf("%s_%d.go", pick(beside), i)), "package x // "+pick(beside)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) writeContext(r *rand.Rand, i int, dir string, size int) error {
	return t.write(filepath.Join(dir, ".mwp-context.md"), contextText(r, i, size))
}

// contextText returns a context file as people write them: a few keys and some
// short sections.
func contextText(r *rand.Rand, i, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\npriority: %d\nowners: [%s-team, %s-team]\n---\n# %s %d\n", 40+i%20, pick(r), pick(r), pick(r), i)
	for b.Len() < size {
		fmt.Fprintf(&b, "\n## The %s of the %s\n\n", pick(r), pick(r))
		for range 4 {
			fmt.Fprintf(&b, "- Every %s goes through the %s %s before the %s sees it.\n", pick(r), pick(r), pick(r), pick(r))
		}
	}
	return b.String()
}

// write writes a file, and the directories above it where they are missing.
func (t *tree) write(path, text string) error {
	path = filepath.Join(t.root, path)
	err := os.WriteFile(path, []byte(text), 0o666)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, []byte(text), 0o666)
		}
	}
	return err
}

// cache returns the directory of the tree's cache.
func (t *tree) cache() string { return filepath.Join(t.root, ".mwp", "cache") }

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
