package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// manyImports is what a directory with a full shelf of shared texts imports.
	manyImports = 50
	// closureFiles is the size of a library of texts that import each other, and
	// closureWidth how many each of them imports.
	closureFiles = 500
	closureWidth = 5
	// perLeaf is what T1 allows for each leaf beyond a map's usual twenty.
	perLeaf = 2 * time.Microsecond
)

// newImportTree writes a tree below root whose target imports n files, width by the
// target's own context file and by each of the others, until there are enough.
func newImportTree(root string, seed uint64, n, width int) (*tree, error) {
	t := &tree{root: root, dirs: []string{".", "app"}, target: filepath.Join("app", "main.go")}
	if err := t.write(".mwp/config.toml", "name = \"imports\"\n\n[budgets]\nl0 = \"none\"\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n"); err != nil {
		return nil, err
	}
	if err := t.write(t.target, "package main\n"); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 9))
	name := func(i int) string { return fmt.Sprintf("text-%d.md", i) }
	for i := 0; i <= n; i++ {
		path, from := filepath.Join("app", "lib", name(i)), "./"
		if i == 0 {
			path, from = filepath.Join("app", ".mwp-context.md"), "./lib/"
		}
		var b strings.Builder
		if first := i*width + 1; first <= n {
			b.WriteString("---\nimports:\n")
			for k := first; k < min(first+width, n+1); k++ {
				fmt.Fprintf(&b, "  - local: %s%s\n", from, name(k))
			}
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "# %s %d\n\n- Every %s goes through the %s before the %s sees it.\n", pick(r), i, pick(r), pick(r), pick(r))
		if err := t.write(path, b.String()); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// imports measures a warm map with many imports, and a large closure cold and warm.
func (l *lab) imports() ([]row, error) {
	if err := l.build(); err != nil {
		return nil, err
	}
	many, err := l.importTree(manyImports, manyImports)
	if err != nil {
		return nil, err
	}
	slot, _, err := onlySlot(many)
	if err != nil {
		return nil, err
	}
	times, err := l.race(l.mapOf(many), &contestant{name: "hello", argv: []string{l.binary("hello")}, dir: many.root})
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	limit := 2 + float64(perLeaf)*float64(len(slot.Leaves))/float64(c.against)
	rows := []row{limited(fmt.Sprintf("warm map with %d imports / hello world", manyImports), c.ratio, limit, "",
		fmt.Sprintf("2 + 2 µs for each of %d leaves; %s", len(slot.Leaves), c))}
	warm, err := l.importTree(closureFiles, closureWidth)
	if err != nil {
		return nil, err
	}
	fresh, err := l.importTree(closureFiles, closureWidth)
	if err != nil {
		return nil, err
	}
	cold := l.mapOf(fresh)
	cold.before = func() error { return os.RemoveAll(fresh.cache()) }
	if times, err = l.race(cold, l.mapOf(warm)); err != nil {
		return nil, err
	}
	c = compare(times[0], times[1])
	return append(rows, limited(fmt.Sprintf("cold map with a closure of %d files / warm", closureFiles), c.ratio, 10, "", c.String())), nil
}

// importTree returns a tree whose target's map is warm.
func (l *lab) importTree(n, width int) (*tree, error) {
	t, err := newImportTree(l.scratch(), l.c.seed, n, width)
	if err != nil {
		return nil, err
	}
	if _, err := l.mwp(t, "map", t.target); err != nil {
		return nil, err
	}
	time.Sleep(settleTime)
	for range 2 {
		said, err := l.mwp(t, "map", "-v", t.target)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(said, "served from its slot") {
			return nil, fmt.Errorf("the map with %d imports is not warm: %s", n, said)
		}
	}
	return t, nil
}

func (l *lab) mapOf(t *tree) *contestant {
	return &contestant{name: "map", argv: []string{l.binary("mwp"), "map", t.target}, dir: t.root}
}
