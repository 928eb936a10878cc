package eval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// WorldError is a failure of the file system, as opposed to something wrong with
// the inputs: no permission, too many open files, an input that keeps changing
// while it is read. It ends one evaluation and is never recorded.
type WorldError struct {
	Op   string // "read", "list", …
	Path string // relative to the root
	Err  error
}

// Error returns "op path: reason".
func (e *WorldError) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }

// Where says what could not be done to which path, without the system's reason.
func (e *WorldError) Where() string { return e.Op + " " + e.Path }

// Unwrap returns the system's error.
func (e *WorldError) Unwrap() error { return e.Err }

// errUnsettled is what a file gets that changed during every attempt to read it.
var errUnsettled = errors.New("the file keeps changing while it is read")

// Counters count the reader's own work: what gates in CI compare, because a
// count does not depend on how busy the machine is.
type Counters struct {
	Lstats      atomic.Int64
	FilesRead   atomic.Int64
	BytesHashed atomic.Int64
	DirsRead    atomic.Int64
	LinksRead   atomic.Int64
	// Glances counts slots that were found unchanged from open directories.
	Glances atomic.Int64
}

// World reads leaves below one root. It is safe for concurrent use.
type World struct {
	// Ledger reads the records of guards; nil makes every record absent. Now is the
	// clock that their age is measured by, which a user may have pinned (D-49); nil
	// means NewWorld's. Both are set before the first use, and At hands them on.
	Ledger Ledger
	Now    func() time.Time
	Count  Counters

	root string // absolute, as the user named it
	now  func() time.Time

	mu    sync.Mutex
	local map[uint64]bool // guarded by mu: device -> time stamps can be believed
	real  string          // guarded by mu: root with links resolved, "" until needed
	// sighted holds the scans of this request; guarded by mu. One scan serves the
	// search for a slot, the slot's check and the evaluation.
	sighted map[string][]graph.Sighting
	// looked holds what was seen under an absolute path while looking for anchors;
	// guarded by mu. The targets of one workspace have most of their ancestors in
	// common.
	looked map[string]graph.FileType
	// anchored holds the anchors at a root-relative path and above; guarded by mu.
	anchored map[string][]graph.Sighting
	// scanned holds the directories that were scanned, by root-relative path, and
	// lastNames what the last scan looked for, which was lastJoined; guarded by mu.
	scanned    map[string]*listing
	lastJoined string
	lastNames  *nameSet

	records records

	// known is what a check of a slot found unchanged, nil when none was checked, and
	// shared where the worlds of one request leave it for each other.
	known  atomic.Pointer[known]
	shared *sharedKnowledge
}

// NewWorld returns a reader for the tree at root, an absolute path. The clock is the
// one that stamps files: what it says decides whether a time stamp is old enough to be
// believed.
func NewWorld(root string, now func() time.Time) *World {
	return &World{root: root, now: now, local: map[uint64]bool{}, sighted: map[string][]graph.Sighting{}, shared: &sharedKnowledge{}}
}

// abs returns the absolute path of a root-relative one, which may climb.
func (w *World) abs(rel string) string {
	switch {
	case rel == ".":
		// The root itself may be a link, and what is meant is the directory.
		return w.root + string(filepath.Separator) + "."
	case strings.HasPrefix(rel, "../"):
		return filepath.Join(w.root, filepath.FromSlash(rel))
	case w.root == string(filepath.Separator):
		return w.root + filepath.FromSlash(rel)
	}
	// Join would clean a path that is clean already, which costs an allocation for
	// each of the leaves of a warm map.
	return w.root + string(filepath.Separator) + filepath.FromSlash(rel)
}

func (w *World) lstat(path string) (stat, error) {
	w.Count.Lstats.Add(1)
	return lstat(path)
}

// localDevice reports whether the time stamps on s's device can be believed; path
// is any path on it.
func (w *World) localDevice(s *stat, path string) bool {
	if !s.reliable {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ok, known := w.local[s.device]
	if !known {
		ok = localFileSystem(path)
		w.local[s.device] = ok
	}
	return ok
}

// reading is one leaf as it was read.
type reading struct {
	value any
	// encoded is the value's canonical encoding; digest is its digest.
	encoded []byte
	digest  cas.Digest
	// remembered is set when encoded stood in a slot and still holds; value is then
	// nil, and read when somebody needs it.
	remembered bool
	// print is the lstat that vouches for the value (see SlotLeaf); trusted says
	// whether an equal one later proves that nothing changed.
	print   Fingerprint
	trusted bool
	// window is when the value is what it is; only a record's depends on the clock.
	window window
}

// attempts is how often a read is repeated when what it reads changes meanwhile.
const attempts = 5

// recall returns a leaf as a slot has it, when that was found unchanged, and reads it
// otherwise.
func (w *World) recall(t graph.Task) (*reading, error) {
	if k := w.known.Load(); k != nil {
		if r := k.reading(t); r != nil {
			return r, nil
		}
	}
	return w.read(t)
}

// errOutdated is what a leaf gets that changed between the check of the slot that
// remembers it and the moment when its value was needed.
var errOutdated = errors.New("a file changed since the slot was checked")

// forget drops what was remembered from a slot and from scans.
func (w *World) forget() {
	w.known.Store(nil)
	w.records.forget()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scanned, w.looked, w.anchored = nil, nil, nil
}

// value returns the value of a leaf that was remembered.
func (w *World) value(t graph.Task, r *reading) (any, error) {
	if f, ok := t.(graph.File); ok {
		// The bytes are in no slot.
		again, err := w.readFile(f)
		if err != nil {
			return nil, err
		}
		if string(t.Kind().EncodeValue(again.value)) != string(r.encoded) {
			return nil, errOutdated
		}
		return again.value, nil
	}
	return t.Kind().DecodeValue(r.encoded)
}

// read reads one leaf. Stat before, read, stat after; unequal means again.
func (w *World) read(t graph.Task) (*reading, error) {
	var r *reading
	var err error
	switch l := t.(type) {
	case graph.File:
		r, err = w.readFile(l)
	case graph.Probe:
		r, err = w.readProbe(l)
	case graph.List:
		r, err = w.readList(l)
	case graph.SymLink:
		r, err = w.readLink(l)
	case graph.Above:
		r, err = w.readAbove(l)
	case graph.Scan:
		r, err = w.readScan(l)
	case graph.Repository:
		r, err = w.readRepository()
	case graph.Content:
		r, err = w.readContent(l)
	case graph.Record:
		r, err = w.readRecord(l)
	default:
		panic(fmt.Sprintf("eval.World.read: %T is not a leaf", t))
	}
	if err != nil {
		return nil, err
	}
	r.encoded = t.Kind().EncodeValue(r.value)
	r.digest = cas.Sum(r.encoded)
	return r, nil
}

// whileStill calls read for a regular file until it holds still meanwhile; read returns
// how many bytes it saw and what fstat said before and after. Of anything else, and of
// a file for which enough says that the lstat is enough, it returns the lstat alone.
// trusted says whether an equal lstat later proves that nothing changed.
func (w *World) whileStill(rel string, enough func(*stat) bool, read func(path string) (n int64, before, after stat, err error)) (s stat, trusted bool, err error) {
	path := w.abs(rel)
	for range attempts {
		start := w.now()
		s, err := w.lstat(path)
		if err != nil {
			return stat{}, false, &WorldError{"read", rel, err}
		}
		if s.Type != graph.Regular {
			return s, true, nil
		}
		trusted := s.settled(start) && w.localDevice(&s, path)
		if enough(&s) {
			return s, trusted, nil
		}
		w.Count.FilesRead.Add(1)
		n, before, after, err := read(path)
		if absentError(err) || linkError(err) {
			continue
		}
		if err != nil {
			return stat{}, false, &WorldError{"read", rel, err}
		}
		again, err := w.lstat(path)
		if err != nil {
			return stat{}, false, &WorldError{"read", rel, err}
		}
		if s.Fingerprint == before.Fingerprint && before.Fingerprint == after.Fingerprint && after.Fingerprint == again.Fingerprint && n == s.Size {
			return s, trusted, nil
		}
	}
	return stat{}, false, &WorldError{"read", rel, errUnsettled}
}

func (w *World) readFile(l graph.File) (*reading, error) {
	var b []byte
	s, trusted, err := w.whileStill(l.Path, func(s *stat) bool { return s.Size > graph.MaxFileBytes }, func(path string) (n int64, before, after stat, err error) {
		b, before, after, err = readRegular(path, graph.MaxFileBytes)
		return int64(len(b)), before, after, err
	})
	if err != nil {
		return nil, err
	}
	state := graph.FileState{Type: s.Type}
	switch {
	case s.Type != graph.Regular:
	case s.Size > graph.MaxFileBytes:
		state.Type, state.Size = graph.TooLarge, s.Size
	default:
		w.Count.BytesHashed.Add(s.Size)
		state.Size, state.Digest, state.Bytes = s.Size, cas.Sum(b), b
	}
	return &reading{value: state, print: s.Fingerprint, trusted: trusted}, nil
}

// settledByType returns the reading of something whose type is all there is to
// know: lstat itself is the read, so an equal lstat is always proof.
func settledByType(s stat, v any) *reading {
	return &reading{value: v, print: s.Fingerprint, trusted: true}
}

func (w *World) readProbe(l graph.Probe) (*reading, error) {
	names := strings.Split(l.Names, "/")
	if r := w.probed(l, names); r != nil {
		return r, nil
	}
	dir := w.abs(l.Dir)
	var last *reading
	for range attempts {
		start := w.now()
		s, err := w.lstat(dir)
		if err != nil {
			return nil, &WorldError{"look into", l.Dir, err}
		}
		state := graph.ProbeState{Dir: s.Type, Types: make([]graph.FileType, len(names))}
		if s.Type != graph.Directory {
			return settledByType(s, state), nil
		}
		for i, n := range names {
			e, err := w.lstat(dir + string(filepath.Separator) + n)
			if err != nil {
				return nil, &WorldError{"look at", join(l.Dir, n), err}
			}
			state.Types[i] = e.Type
		}
		again, err := w.lstat(dir)
		if err != nil {
			return nil, &WorldError{"look into", l.Dir, err}
		}
		last = &reading{value: state, print: s.Fingerprint}
		if s.Fingerprint == again.Fingerprint {
			last.trusted = s.settled(start) && w.localDevice(&s, dir)
			return last, nil
		}
	}
	// A directory that a build writes to all the time never holds still. Each name
	// was looked at truly, so the answer stands, untrusted.
	return last, nil
}

func (w *World) readLink(l graph.SymLink) (*reading, error) {
	path := w.abs(l.Path)
	for range attempts {
		start := w.now()
		s, err := w.lstat(path)
		if err != nil {
			return nil, &WorldError{"read the link", l.Path, err}
		}
		if s.Type != graph.Link {
			return settledByType(s, graph.LinkState{Type: s.Type}), nil
		}
		w.Count.LinksRead.Add(1)
		target, err := os.Readlink(path)
		if err != nil {
			if absentError(err) || notLinkError(err) {
				continue
			}
			return nil, &WorldError{"read the link", l.Path, err}
		}
		again, err := w.lstat(path)
		if err != nil {
			return nil, &WorldError{"read the link", l.Path, err}
		}
		if s.Fingerprint != again.Fingerprint {
			continue
		}
		state := graph.LinkState{Type: graph.Link, Target: filepath.ToSlash(target)}
		trusted := s.settled(start) && w.localDevice(&s, path)
		if filepath.IsAbs(target) {
			// Where an absolute target lies relative to the root changes when the root is
			// moved, and nothing about the link does.
			state.Target, state.Inside, trusted = "/", w.inside(target), false
		}
		return &reading{value: state, print: s.Fingerprint, trusted: trusted}, nil
	}
	return nil, &WorldError{"read the link", l.Path, errUnsettled}
}

// inside returns an absolute path relative to the root, or "" when it lies
// elsewhere. The root may be spelled as the user did or with its links resolved.
func (w *World) inside(abs string) string {
	w.mu.Lock()
	if w.real == "" {
		if w.real, _ = filepath.EvalSymlinks(w.root); w.real == "" {
			w.real = w.root
		}
	}
	roots := [2]string{w.root, w.real}
	w.mu.Unlock()
	for _, root := range roots {
		if rel, err := filepath.Rel(root, filepath.Clean(abs)); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

func (w *World) readAbove(l graph.Above) (*reading, error) {
	s, err := w.Sightings(l.Dir)
	if err != nil {
		return nil, err
	}
	return &reading{value: graph.AboveState{Sightings: s}}, nil
}

// Sightings looks for anchors at a root-relative path and at every ancestor of
// it up to the file system's root: each ".mwp", nearest first, or, where there
// is none, the nearest ".git" (D-03, D-04). The path itself is taken as a
// directory; when it is a file nothing is found in it. One lstat per level, once
// in a World's life.
func (w *World) Sightings(rel string) ([]graph.Sighting, error) {
	w.mu.Lock()
	found, ok := w.sighted[rel]
	w.mu.Unlock()
	if ok {
		return found, nil
	}
	found, err := w.anchors(rel)
	if err == nil && len(found) == 0 {
		found, err = w.look(rel, ".git", false)
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.sighted[rel] = found
	w.mu.Unlock()
	return found, nil
}

// anchors returns each ".mwp" at a root-relative path and above it. A directory has
// those of the one above it and its own.
func (w *World) anchors(rel string) ([]graph.Sighting, error) {
	up := above(rel)
	if up == "" {
		return w.look(rel, ".mwp", true)
	}
	w.mu.Lock()
	found, ok := w.anchored[rel]
	w.mu.Unlock()
	if ok {
		return found, nil
	}
	t, err := w.lookAt(rel, w.abs(rel), ".mwp")
	if err != nil {
		return nil, &WorldError{"look for", filepath.ToSlash(filepath.Join(w.abs(rel), ".mwp")), err}
	}
	higher, err := w.anchors(up)
	if err != nil {
		return nil, err
	}
	found = make([]graph.Sighting, 0, len(higher)+1)
	if t != graph.Absent {
		found = append(found, graph.Sighting{Name: ".mwp", Type: t})
	}
	for _, s := range higher {
		s.Up++
		found = append(found, s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.anchored == nil {
		w.anchored = map[string][]graph.Sighting{}
	}
	w.anchored[rel] = found
	return found, nil
}

// look looks for a name at a root-relative path and at every ancestor, for the nearest
// or for all.
func (w *World) look(rel, name string, all bool) ([]graph.Sighting, error) {
	var found []graph.Sighting
	depth, dir := 0, w.root
	if rel != "." {
		depth, dir = strings.Count(rel, "/")+1, w.abs(rel)
	}
	for up, here := 0, rel; ; up, here = up+1, above(here) {
		t, err := w.lookAt(here, dir, name)
		if err != nil {
			return nil, &WorldError{"look for", filepath.ToSlash(filepath.Join(dir, name)), err}
		}
		if t != graph.Absent {
			f := graph.Sighting{Up: up, Name: name, Type: t}
			if up > depth {
				if below, err := filepath.Rel(dir, w.root); err == nil {
					f.Below = filepath.ToSlash(below)
				}
			}
			if found = append(found, f); !all {
				return found, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return found, nil
		}
		dir = parent
	}
}

// above returns the directory above a root-relative one, "" for what lies above the
// root.
func above(rel string) string {
	if rel == "." || rel == "" || strings.HasPrefix(rel, "../") {
		return ""
	}
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

// lookAt returns the type of a name in a directory, given relative to the root, ""
// for one above it, and absolute. It is looked at once in a World's life, or not at
// all when the directory was scanned.
func (w *World) lookAt(rel, dir, name string) (graph.FileType, error) {
	if rel != "" {
		if l := w.listing(rel); l != nil {
			if t, ok := l.typeOf(name); ok {
				return t, nil
			}
		}
	}
	path := filepath.Join(dir, name)
	w.mu.Lock()
	t, ok := w.looked[path]
	w.mu.Unlock()
	if ok {
		return t, nil
	}
	s, err := w.lstat(path)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	if w.looked == nil {
		w.looked = map[string]graph.FileType{}
	}
	w.looked[path] = s.Type
	w.mu.Unlock()
	return s.Type, nil
}

// Look returns the type of a name in an absolute directory; a name in what is no directory
// is absent.
func (w *World) Look(dir, name string) (graph.FileType, error) { return w.lookAt("", dir, name) }

// At returns a World for another root on the same request: what was seen above
// the path is seen again without looking.
func (w *World) At(root, rel string, sightings []graph.Sighting) *World {
	next := NewWorld(root, w.now)
	next.Ledger, next.Now = w.Ledger, w.Now
	next.shared = w.shared
	next.known.Store(w.shared.take(root))
	depth := 0
	if rel != "." {
		depth = strings.Count(rel, "/") + 1
	}
	moved := make([]graph.Sighting, len(sightings))
	for i, s := range sightings {
		s.Below = ""
		if s.Up > depth {
			dir := root
			for range s.Up - depth {
				dir = filepath.Dir(dir)
			}
			if below, err := filepath.Rel(dir, root); err == nil {
				s.Below = filepath.ToSlash(below)
			}
		}
		moved[i] = s
	}
	next.sighted[rel] = moved
	return next
}

// join returns the root-relative path of a name in a root-relative directory.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
