package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// verifiedFiles is how many files a verified directory has.
	verifiedFiles = 10_000
	// The default set is measured in a tree of each of these sizes.
	fewSources, manySources = 1000, 100_000
	// hashingLimit is what a cold map may take beside reading and hashing the files it
	// rests on: the index of what was hashed is written as well.
	hashingLimit = 2
)

// guards measures what guards cost a map. Their results come from mwp verify itself.
func (l *lab) guards() ([]row, error) {
	var rows []row
	for _, measure := range []func() ([]row, error){l.manyGuards, l.verifiedDirectory, l.defaultSet} {
		more, err := measure()
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// aGuard is a guard that passes, with a result that outlasts the measurement; verified
// is "" for the default set.
func aGuard(verified string) string {
	g := "guards:\n  - cmd: \"true\"\n    cache_for: 1d\n"
	if verified != "" {
		g += "    verified_paths: [" + verified + "]\n"
	}
	return g
}

// verified runs a tree's guards and asks for its map until that is warm. The key that
// signs results lies in the lab.
func (l *lab) verified(t *tree) error {
	l.atHome()
	if _, err := l.mwp(t, "verify", t.target); err != nil {
		return err
	}
	// What the run left in the cache is not the map's.
	if err := os.RemoveAll(t.cache()); err != nil {
		return err
	}
	if _, err := l.mwp(t, "map", t.target); err != nil {
		return err
	}
	return l.warmUp(t, "map", "-v", t.target)
}

// atHome lets what belongs to a user lie in the lab.
func (l *lab) atHome() {
	l.env = slices.DeleteFunc(l.env, func(v string) bool {
		return strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "XDG_STATE_HOME=")
	})
	l.env = append(l.env, "HOME="+filepath.Join(l.dir, "home"), "XDG_STATE_HOME="+filepath.Join(l.dir, "home", "state"))
}

// guardShape is a tree whose map has many guards.
func guardShape(seed uint64) shape { return shape{seed: seed, depth: 2, guards: manyGuards} }

func (l *lab) manyGuards() ([]row, error) {
	t, err := newTree(l.scratch(), guardShape(l.c.seed))
	if err == nil {
		err = l.verified(t)
	}
	if err != nil {
		return nil, err
	}
	slot, _, err := onlySlot(t)
	if err != nil {
		return nil, err
	}
	if err := l.warmUp(t, "verify", "--stale", t.target); err != nil {
		return nil, err
	}
	stale := &contestant{name: "verify --stale", argv: []string{l.binary("mwp"), "verify", "--stale", t.target}, dir: t.root}
	times, err := l.race(l.mapOf(t), l.hello(t), stale)
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	limit := 2 + float64(perLeaf)*float64(len(slot.Leaves))/float64(c.against)
	rows := []row{limited(fmt.Sprintf("warm map with %d guards / hello world", manyGuards), c.ratio, limit, "",
		fmt.Sprintf("2 + 2 µs for each of %d leaves; %s", len(slot.Leaves), c))}
	c = compare(times[2], times[0])
	return append(rows, limited("verify --stale of what still counts / warm map", c.ratio, 2, "", c.String())), nil
}

// verifiedDirectory measures the fingerprint of a directory.
func (l *lab) verifiedDirectory() ([]row, error) {
	t, err := newTree(l.scratch(), shape{seed: l.c.seed, depth: 2, header: aGuard("data"), allowed: []string{"true"}})
	if err != nil {
		return nil, err
	}
	var paths []string
	for i := range verifiedFiles {
		path := filepath.Join(t.dirs[1], "data", fmt.Sprint(i/100), fmt.Sprintf("%d.txt", i))
		if err := t.write(path, strings.Repeat(fmt.Sprintf("The shipment %d has a manifest.\n", i), 60)); err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(t.root, path))
	}
	if err := l.verified(t); err != nil {
		return nil, err
	}
	list := filepath.Join(l.dir, "verified")
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\x00")+"\x00"), 0o666); err != nil {
		return nil, err
	}
	warm, bare := l.mapOf(t), &contestant{name: "lstat", argv: []string{l.binary("lstat"), list}, dir: t.root}
	times, err := l.race(warm, bare)
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	rows := []row{limited(fmt.Sprintf("warm map over %d verified files / bare lstat, whole processes", verifiedFiles), c.ratio, 2, "", c.String())}
	edited := *warm
	edited.before = func() error { return appendLine(paths[len(paths)/2]) }
	if times, err = l.raceFor(min(l.c.runs, coldRounds), &edited, bare); err != nil {
		return nil, err
	}
	c = compare(times[0], times[1])
	rows = append(rows, row{What: "map after one of them changed / bare lstat", Measured: c.ratio, Detail: c.String()})
	cold := *warm
	cold.before = func() error { return os.RemoveAll(t.cache()) }
	sum := &contestant{name: "read and hash", argv: []string{l.binary("sum"), list}, dir: t.root}
	if times, err = l.raceFor(min(l.c.runs, coldRounds), &cold, sum); err != nil {
		return nil, err
	}
	c = compare(times[0], times[1])
	return append(rows, limited("cold map over them / reading and hashing them, whole processes", c.ratio, hashingLimit, "", c.String())), nil
}

// defaultSet measures a guard that rests on all source files.
func (l *lab) defaultSet() ([]row, error) {
	var trees []*contestant
	for _, files := range []int{manySources, fewSources} {
		t, err := newTree(l.scratch(), shape{seed: l.c.seed, depth: 1, header: aGuard(""), allowed: []string{"true"}})
		if err != nil {
			return nil, err
		}
		l.say("generating a tree of %d files below a guard", files)
		for i := range files {
			if err := t.write(filepath.Join("src", fmt.Sprint(i/1000), fmt.Sprint(i/100%10), fmt.Sprintf("%d.go", i)), ""); err != nil {
				return nil, err
			}
		}
		if err := l.verified(t); err != nil {
			return nil, err
		}
		trees = append(trees, l.mapOf(t))
	}
	times, err := l.race(trees...)
	if err != nil {
		return nil, err
	}
	c := compare(times[0], times[1])
	return []row{limited(fmt.Sprintf("warm map below a guard over %d files / over %d", manySources, fewSources), c.ratio, 1.10, "", c.String())}, nil
}
