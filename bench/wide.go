package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// wideShape describes the tree that commands over a whole workspace are measured in.
// Equal shapes give equal trees.
type wideShape struct {
	seed uint64
	// files and dirs are how many there are, the root and the context files included,
	// the state directory and its configuration not; contexts of the directories have
	// a context file.
	files, dirs, contexts int
}

// workspaceShape is the shape that T7 is about.
var workspaceShape = wideShape{files: 100_000, dirs: 10_000, contexts: 1000}

// branching is how many directories lie in one. Ten thousand are then seven levels
// deep, as in a large repository.
const branching = 4

// wideTree is a generated tree with contexts everywhere.
type wideTree struct {
	tree
	// carrying are the directories with a context file; dirs are all of them.
	carrying []string
}

// newWideTree writes a tree below root, which must not exist.
func newWideTree(root string, s wideShape) (*wideTree, error) {
	t := &wideTree{tree: tree{root: root, dirs: []string{"."}}}
	if err := t.write(".mwp/config.toml", "name = \"generated\"\n\n[budgets]\nl0 = \"none\"\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n"); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(s.seed, 7))
	for i := 1; i < s.dirs; i++ {
		dir := filepath.Join(t.dirs[(i-1)/branching], fmt.Sprintf("%s-%d", pick(r), i))
		if err := os.Mkdir(filepath.Join(root, dir), 0o777); err != nil {
			return nil, err
		}
		t.dirs = append(t.dirs, dir)
	}
	every := s.dirs / s.contexts
	for i := every - 1; i < s.dirs && len(t.carrying) < s.contexts; i += every {
		t.carrying = append(t.carrying, t.dirs[i])
		if err := t.writeContext(r, i, t.dirs[i], contextSize); err != nil {
			return nil, err
		}
	}
	for i := range s.files - len(t.carrying) {
		dir := t.dirs[i%s.dirs]
		if err := t.write(filepath.Join(dir, fmt.Sprintf("%s_%d.go", pick(r), i)), "package x // "+pick(r)+"\n"); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// looked are the paths whose state a walk of the whole workspace rests on: every
// directory and every context file.
func (t *wideTree) looked() []string {
	var paths []string
	for _, d := range t.dirs {
		paths = append(paths, filepath.Join(t.root, d))
	}
	for _, d := range t.carrying {
		paths = append(paths, filepath.Join(t.root, d, ".mwp-context.md"))
	}
	return paths
}
