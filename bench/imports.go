package main

import (
	"fmt"
	"os"
	"time"
)

// perLeaf is what T1 allows for each leaf beyond a map's usual twenty.
const perLeaf = 2 * time.Microsecond

// imports measures a warm map with many imports, and a large closure cold and warm.
func (l *lab) imports() ([]row, error) {
	many, err := l.importTree(manyImports, manyImports)
	if err != nil {
		return nil, err
	}
	slot, _, err := onlySlot(many)
	if err != nil {
		return nil, err
	}
	times, err := l.race(l.mapOf(many), l.hello(many))
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
	t, err := newTree(l.scratch(), shape{seed: l.c.seed, depth: 2, imports: n, width: width})
	if err != nil {
		return nil, err
	}
	if _, err := l.mwp(t, "map", t.target); err != nil {
		return nil, err
	}
	return t, l.warmUp(t, "map", "-v", t.target)
}

func (l *lab) mapOf(t *tree) *contestant {
	return &contestant{name: "map", argv: []string{l.binary("mwp"), "map", t.target}, dir: t.root}
}
