package eval

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
)

// readDir reads a directory that holds still meanwhile and hands each entry to
// keep, in no order, after reset. Where the directory is something else, or gone,
// the answer is its type.
func (w *World) readDir(rel string, reset func(), keep func(name []byte, t graph.FileType)) (*reading, graph.FileType, error) {
	dir := w.abs(rel)
	var last *reading
	for range attempts {
		start := w.now()
		reset()
		s, read, err := w.listDir(dir, keep)
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		if s.Type != graph.Directory {
			reset()
			return settledByType(s, nil), s.Type, nil
		}
		again, err := w.lstat(dir)
		if err != nil {
			return nil, 0, &WorldError{"list", rel, err}
		}
		if !read || again.Type != graph.Directory {
			continue
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
	r, t, err := w.readDir(l.Dir, func() { names = nil }, func(name []byte, t graph.FileType) {
		if n, ok := listed(l.Filter, name, t); ok {
			names = append(names, n)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	r.value = graph.ListState{Type: t, Names: names}
	return r, nil
}

// listed returns a name as a filter shows it, and whether it does. Everything tells
// directories apart and nothing else: whoever looks at a name learns the rest.
func listed(f graph.Filter, name []byte, t graph.FileType) (string, bool) {
	switch f {
	case graph.Directories:
		return string(name), t == graph.Directory
	case graph.Everything:
		if t == graph.Directory {
			return string(name) + "/", true
		}
		return string(name), true
	}
	return string(name), t == graph.Regular && name[0] != '.'
}

func (w *World) readScan(l graph.Scan) (*reading, error) {
	wanted := w.names(l.Names)
	var found []graph.Found
	r, t, err := w.readDir(l.Dir, func() { found = nil }, func(name []byte, t graph.FileType) {
		if t == graph.Directory || wanted.has(name) {
			found = append(found, graph.Found{Name: string(name), Type: t})
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
	if t == graph.Directory {
		w.keep(l.Dir, newListing(wanted, found, r))
	}
	return r, nil
}

// nameSet is what a scan looks for. Most entries are ruled out by their first
// character and their length, without a comparison.
type nameSet struct {
	names   [][]byte
	lengths [256]bool
}

func newNameSet(joined string) *nameSet {
	s := &nameSet{}
	if joined != "" {
		s.names = bytes.Split([]byte(joined), []byte("/"))
	}
	for _, n := range s.names {
		s.lengths[min(len(n), 255)] = true
	}
	return s
}

// names returns the set for a scan's names: all scans of a workspace look for the
// same.
func (w *World) names(joined string) *nameSet {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lastNames == nil || w.lastJoined != joined {
		w.lastJoined, w.lastNames = joined, newNameSet(joined)
	}
	return w.lastNames
}

func (s *nameSet) has(name []byte) bool {
	if name[0] == '.' {
		for _, p := range graph.ScanPrefixes {
			if len(name) >= len(p) && bytes.EqualFold(name[:len(p)], []byte(p)) {
				return true
			}
		}
	}
	return s.lengths[min(len(name), 255)] && slices.ContainsFunc(s.names, func(n []byte) bool { return bytes.EqualFold(n, name) })
}

// listing is what a scan saw in one directory. It answers what a probe or a search
// for anchors would ask there, so that after a walk of the tree the cascades of a
// thousand directories look at no name again.
type listing struct {
	wanted *nameSet
	found  []graph.Found // sorted by name
	// marks are those of found that were looked for by name.
	marks []graph.Found
	// print and trusted are the scan's.
	print   Fingerprint
	trusted bool
}

func newListing(wanted *nameSet, found []graph.Found, r *reading) *listing {
	l := &listing{wanted: wanted, found: found, print: r.print, trusted: r.trusted}
	for _, f := range found {
		if wanted.has([]byte(f.Name)) {
			l.marks = append(l.marks, f)
		}
	}
	return l
}

// typeOf returns the type of a name in the directory, and false when the scan does
// not tell: it did not look for the name, or there is something whose name only
// differs by case or by how it is composed, which is the same to some file systems.
func (l *listing) typeOf(name string) (graph.FileType, bool) {
	if i, ok := slices.BinarySearchFunc(l.found, name, func(f graph.Found, name string) int { return cmp.Compare(f.Name, name) }); ok {
		return l.found[i].Type, true
	}
	if !isASCII(name) || name == "" || !l.wanted.has([]byte(name)) {
		return 0, false
	}
	for _, f := range l.marks {
		if strings.EqualFold(f.Name, name) {
			return 0, false
		}
	}
	return graph.Absent, true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func (w *World) keep(rel string, l *listing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.scanned == nil {
		w.scanned = map[string]*listing{}
	}
	w.scanned[rel] = l
}

// listing returns what is known of a whole directory, nil when it was not scanned.
func (w *World) listing(rel string) *listing {
	w.mu.Lock()
	l := w.scanned[rel]
	w.mu.Unlock()
	if k := w.known.Load(); l == nil && k != nil {
		if l = k.listing(w, rel); l != nil {
			w.keep(rel, l)
		}
	}
	return l
}

// probed answers a probe from a scan of its directory, nil when that cannot be.
func (w *World) probed(l graph.Probe, names []string) *reading {
	seen := w.listing(l.Dir)
	if seen == nil {
		return nil
	}
	state := graph.ProbeState{Dir: graph.Directory, Types: make([]graph.FileType, len(names))}
	for i, n := range names {
		t, ok := seen.typeOf(n)
		if !ok {
			return nil
		}
		state.Types[i] = t
	}
	return &reading{value: state, print: seen.print, trusted: seen.trusted}
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
