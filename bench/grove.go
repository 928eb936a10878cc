package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
)

// groveShape describes the tree that commands over a whole workspace are measured in.
// Equal shapes give equal trees.
type groveShape struct {
	seed uint64
	// files and dirs are how many there are, the root and the context files included,
	// the state directory and its configuration not; contexts of the directories have
	// a context file.
	files, dirs, contexts int
}

// groveOf is the shape that T7 is about: ten thousand directories for 100,000 files
// and for a million.
func groveOf(seed uint64, files int) groveShape {
	dirs := min(10_000, files/10)
	return groveShape{seed: seed, files: files, dirs: dirs, contexts: dirs / 10}
}

// branching is how many directories lie in one. Ten thousand are then seven levels
// deep, as in a large repository.
const branching = 4

// grove is a generated tree with contexts everywhere.
type grove struct {
	tree
	// carrying are the directories with a context file; dirs are all of them.
	carrying []string
}

// newGrove writes a tree below root, which must not exist.
func newGrove(root string, s groveShape) (*grove, error) {
	if err := enough(filepath.Dir(root), s.files, s.dirs); err != nil {
		return nil, err
	}
	t := &grove{tree: tree{root: root, dirs: []string{"."}}}
	if err := t.write(".mwp/config.toml", configText(shape{})); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(s.seed, 7))
	for i := 1; i < s.dirs; i++ {
		t.dirs = append(t.dirs, filepath.Join(t.dirs[(i-1)/branching], fmt.Sprintf("%s-%d", pick(r), i)))
	}
	every := s.dirs / s.contexts
	return t, together(func(yield func(func() error) bool) {
		// The names of a file count through the directories, as far as there are files.
		rest := s.files - s.contexts
		for i, dir := range t.dirs {
			var files []file
			if i%every == every-1 && len(t.carrying) < s.contexts {
				t.carrying = append(t.carrying, dir)
				files = append(files, file{".mwp-context.md", contextText(r, i, contextSize)})
			}
			for k := i; k < rest; k += s.dirs {
				files = append(files, file{fmt.Sprintf("%s_%d.go", pick(r), k), "package x // " + pick(r) + "\n"})
			}
			if !yield(func() error { return t.writeDir(dir, files) }) {
				return
			}
		}
	})
}

// looked are the paths whose state a walk of the whole workspace rests on: every
// directory and every context file.
func (t *grove) looked() []string {
	var paths []string
	for _, d := range t.dirs {
		paths = append(paths, filepath.Join(t.root, d))
	}
	for _, d := range t.carrying {
		paths = append(paths, filepath.Join(t.root, d, ".mwp-context.md"))
	}
	return paths
}
