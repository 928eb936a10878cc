package eval

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
)

// readDir reads a directory that holds still meanwhile and hands each entry to
// keep, in no order, after reset. Where the directory is something else, or gone,
// the answer is its type.
func (w *World) readDir(rel string, reset func(), keep func(fs.DirEntry)) (*reading, graph.FileType, error) {
	dir := w.abs(rel)
	var last *reading
	for range attempts {
		start := w.now()
		s, err := w.lstat(dir)
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		if s.Type != graph.Directory {
			reset()
			return settledByType(s, nil), s.Type, nil
		}
		w.Count.DirsRead.Add(1)
		f, err := os.Open(dir)
		if absentError(err) {
			continue
		}
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		entries, err := f.ReadDir(-1)
		f.Close()
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		reset()
		for _, e := range entries {
			keep(e)
		}
		again, err := w.lstat(dir)
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		last = &reading{print: s.Fingerprint}
		if s.Fingerprint == again.Fingerprint {
			last.trusted = s.settled(start) && w.localDevice(&s, dir)
			return last, graph.Directory, nil
		}
	}
	if last == nil {
		return nil, 0, &WorldError{"list", rel, errUnsettled}
	}
	return last, graph.Directory, nil
}

func (w *World) readList(l graph.List) (*reading, error) {
	var names []string
	r, t, err := w.readDir(l.Dir, func() { names = nil }, func(e fs.DirEntry) {
		keep := e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".")
		if l.Filter == graph.Directories {
			keep = e.IsDir()
		}
		if keep {
			names = append(names, e.Name())
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	r.value = graph.ListState{Type: t, Names: names}
	return r, nil
}

func (w *World) readScan(l graph.Scan) (*reading, error) {
	wanted := scanNames(l.Names)
	var found []graph.Found
	r, t, err := w.readDir(l.Dir, func() { found = nil }, func(e fs.DirEntry) {
		if name := e.Name(); e.IsDir() || wanted.has(name) {
			found = append(found, graph.Found{Name: name, Type: typeOf(e.Type())})
		}
	})
	if errors.Is(err, fs.ErrPermission) {
		// One closed directory must not hide what is wrong in all the others. Whoever
		// opens it changes its times.
		s, err := w.lstat(w.abs(l.Dir))
		if err != nil {
			return nil, &WorldError{"list", l.Dir, err}
		}
		return settledByType(s, graph.ScanState{Type: graph.Directory, Denied: true}), nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b graph.Found) int { return cmp.Compare(a.Name, b.Name) })
	r.value = graph.ScanState{Type: t, Entries: found}
	return r, nil
}

// nameSet is what a scan looks for. Most entries are ruled out by their first
// character and their length, without a comparison.
type nameSet struct {
	names   []string
	lengths [256]bool
}

func scanNames(joined string) *nameSet {
	s := &nameSet{}
	if joined != "" {
		s.names = strings.Split(joined, "/")
	}
	for _, n := range s.names {
		s.lengths[min(len(n), 255)] = true
	}
	return s
}

func (s *nameSet) has(name string) bool {
	if name[0] == '.' {
		for _, p := range graph.ScanPrefixes {
			if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) {
				return true
			}
		}
	}
	return s.lengths[min(len(name), 255)] && slices.ContainsFunc(s.names, func(n string) bool { return strings.EqualFold(n, name) })
}

func typeOf(m fs.FileMode) graph.FileType {
	switch {
	case m.IsRegular():
		return graph.Regular
	case m.IsDir():
		return graph.Directory
	case m&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return graph.Link
	}
	return graph.Other
}

func (w *World) readRepository() (*reading, error) {
	found, err := w.look(".", ".git", false)
	if err != nil {
		return nil, err
	}
	state := graph.RepositoryState{Below: "."}
	if len(found) > 0 {
		state.Type, state.Up = found[0].Type, found[0].Up
		if dir := w.root; state.Up > 0 {
			for range state.Up {
				dir = filepath.Dir(dir)
			}
			if below, err := filepath.Rel(dir, w.root); err == nil {
				state.Below = filepath.ToSlash(below)
			}
		}
	}
	return &reading{value: state}, nil
}
