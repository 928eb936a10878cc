// Package mwp computes workspace maps: for a path in a project, the Markdown
// context that people wrote for it, layered, budgeted and accounted for. The
// command line, the MCP server and Go programs call this package and nothing
// below it, so that one question has one answer.
//
// It may not touch the network, and it prints nothing: what it finds it returns.
package mwp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Options say where a Workspace looks and how it treats its cache.
type Options struct {
	// Dir is the directory that relative targets start from, absolute.
	Dir string
	// Root, when set, is the workspace root whatever the anchors say (--root, D-04).
	Root string
	// CacheDir, when set, holds the cache instead of the workspace's state
	// directory; without it nothing is written for a root that has no anchor.
	CacheDir string
	// Fresh computes everything and still records it. VerifyCache computes every hit
	// again and compares.
	Fresh, VerifyCache bool
	// Offline keeps every question from the network. Without it Map fetches git
	// modules that are pinned and not there (D-35), and only through the program
	// mwp-git, which Fetcher names; "" looks beside the running program, then on PATH.
	Offline bool
	Fetcher string
	// AllowInsecure lets modules be fetched by http.
	AllowInsecure bool
	// Progress, when set, is told in lines for a person what a fetch does, from any
	// goroutine.
	Progress func(line string)
	// Now is the clock; nil means the system's.
	Now func() time.Time
	// Guards says whose results of guards count, and how guards are run.
	Guards GuardOptions
	// Keep is how many bytes of answers a process that asks again and again may keep in
	// memory. Zero keeps none.
	Keep int
	// Observe, when set, is told of every node and leaf that is evaluated, from any
	// goroutine. A map that is served from its slot evaluates none.
	Observe func(eval.Event)
}

// Workspace answers questions about the project around a directory. It holds no
// state of the file system: each call looks again. It is safe for concurrent use.
type Workspace struct {
	o    Options
	user *user
	kept *shelf
	// bound is the root of a workspace that Bind opened, nil of another.
	bound *candidate

	mu sync.Mutex
	// areas holds the caches in use by directory, so that many questions share one
	// store and its open files; guarded by mu.
	areas map[string]*openArea
	// tried holds the git references that were asked for, by root; guarded by mu.
	tried map[string]bool
}

// openArea is a cache with its store.
type openArea struct {
	*cas.Area
	store cas.Store
}

// Open returns a Workspace. It does no I/O.
func Open(o Options) *Workspace {
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &Workspace{o: o, user: &user{o: o.Guards}, areas: map[string]*openArea{}}
	if o.Keep > 0 {
		w.kept = newShelf(o.Keep)
	}
	return w
}

// Close releases the files that the Workspace holds open. What was not recorded
// is forgotten.
func (w *Workspace) Close() error {
	w.kept.empty()
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, a := range w.areas {
		errs = append(errs, a.store.Close())
	}
	clear(w.areas)
	return errors.Join(errs...)
}

// Refusal is the error of a question that has no answer until somebody changes
// the project: a header that does not parse, a boundary, a link that escapes.
type Refusal struct{ Diagnostics []ir.Diagnostic }

// Error returns every finding, one below the other.
func (r *Refusal) Error() string { return joinDiagnostics(r.Diagnostics) }

// EnvironmentError is the error of a question that cannot be answered here: no
// root, a target outside it, a file that cannot be read.
type EnvironmentError struct {
	Diagnostic ir.Diagnostic
	Err        error
}

// Error returns the finding.
func (e *EnvironmentError) Error() string { return e.Diagnostic.String() }

// Unwrap returns the system's error, if there was one.
func (e *EnvironmentError) Unwrap() error { return e.Err }

// UsageError is the error of a question that makes no sense as asked.
type UsageError struct{ Diagnostic ir.Diagnostic }

// Error returns the finding.
func (e *UsageError) Error() string { return e.Diagnostic.String() }

func joinDiagnostics(ds []ir.Diagnostic) string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

func environment(code ir.Code, err error, hint, format string, args ...any) error {
	return &EnvironmentError{ir.Diagnostic{Code: code, Severity: ir.SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint}, err}
}

// kinds is the table of node kinds, made at first use.
var kinds = sync.OnceValue(func() map[string]*graph.Kind {
	table := map[string]*graph.Kind{}
	for _, k := range nodes.Kinds() {
		table[k.Name] = k
	}
	return table
})

func kindByName(name string) *graph.Kind { return kinds()[name] }

// place is a target with the roots it may belong to.
type place struct {
	abs string // the target, absolute and clean
	// scout has looked for anchors above abs; every later reader starts from what it
	// saw.
	scout      *eval.World
	sightings  []graph.Sighting
	candidates []candidate
}

// candidate is a directory that may be the workspace root.
type candidate struct {
	dir string // absolute
	// target is abs as seen from dir.
	target string
	// state is where this root keeps its cache, "" when it has no anchor.
	state    string
	explicit bool
}

// maxTarget is the longest path that a system opens, in bytes. Each level of a target is
// looked at, whether or not it exists.
const maxTarget = 4096

// find normalises a target and looks for anchors above it (D-04, D-06, D-12).
func (w *Workspace) find(target string) (*place, error) {
	usage := func(format string, args ...any) error {
		return &UsageError{ir.Diagnostic{Code: ir.TargetInvalid, Severity: ir.SeverityError, Message: fmt.Sprintf(format, args...), Hint: "name a file or directory of the project: mwp map path/to/file"}}
	}
	switch {
	case target == "":
		return nil, usage("the target is empty")
	case target == "-":
		return nil, usage("- is not a target")
	case strings.ContainsRune(target, 0):
		return nil, usage("the target holds a NUL byte")
	case len(target) > maxTarget:
		return nil, usage("the target has %d bytes, the longest path has %d", len(target), maxTarget)
	}
	abs := filepath.Clean(target)
	if !filepath.IsAbs(abs) {
		if w.o.Dir == "" {
			return nil, environment(ir.Unreadable, nil, "go to another directory, or name an absolute path", "the working directory is gone, so %s means nothing", target)
		}
		abs = filepath.Join(w.o.Dir, target)
	}
	if w.bound != nil {
		return w.findBound(abs)
	}
	p, err := w.scout(abs)
	if err != nil || len(p.candidates) > 0 {
		return p, err
	}
	// A path typed through a link may have its anchor where the link leads.
	if real := realPath(abs); real != abs {
		if p, err = w.scout(real); err != nil || len(p.candidates) > 0 {
			return p, err
		}
	}
	if root := w.root(); root != "" {
		return nil, environment(ir.TargetOutsideRoot, nil, "name a target below the root, or leave --root out",
			"the target %s is outside the root %s", abs, root)
	}
	return nil, environment(ir.NoRoot, nil, "run `mwp init` in the project's root, or name it with --root",
		"no .mwp and no .git at %s or above it", abs)
}

// scouting returns a World that has seen nothing yet.
func (w *Workspace) scouting(abs string) *eval.World {
	world := eval.NewWorld(abs, w.o.Now)
	world.Ledger, world.Now = w.user, w.o.Guards.Now
	return world
}

func (w *Workspace) scout(abs string) (*place, error) {
	p := &place{abs: abs, scout: w.scouting(abs)}
	var err error
	if p.sightings, err = p.scout.Sightings("."); err != nil {
		return nil, worldError(err)
	}
	if root := w.root(); root != "" {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, environment(ir.NoRoot, err, "name an existing directory with --root, or leave it out", "the root %s is not a directory", root)
		}
		for _, r := range []string{root, realPath(root)} {
			if rel, ok := below(r, abs); ok {
				c := candidate{dir: r, target: rel, explicit: true}
				for _, s := range p.sightings {
					if p.dir(s) == r {
						c.state = stateDir(r, s)
					}
				}
				p.candidates = []candidate{c}
				break
			}
		}
		return p, nil
	}
	for _, s := range p.sightings {
		dir := p.dir(s)
		if rel, ok := below(dir, abs); ok {
			p.candidates = append(p.candidates, candidate{dir: dir, target: rel, state: stateDir(dir, s)})
		}
	}
	return p, nil
}

// root returns the absolute root that was asked for, "" when none was.
func (w *Workspace) root() string {
	switch {
	case w.o.Root == "":
		return ""
	case filepath.IsAbs(w.o.Root):
		return filepath.Clean(w.o.Root)
	}
	return filepath.Join(w.o.Dir, w.o.Root)
}

// dir returns the directory that holds a sighting.
func (p *place) dir(s graph.Sighting) string {
	dir := p.abs
	for range s.Up {
		dir = filepath.Dir(dir)
	}
	return dir
}

// stateDir returns where an anchor keeps generated files (D-01), "" for one that
// keeps none.
func stateDir(dir string, s graph.Sighting) string {
	switch {
	case s.Name != ".mwp":
		return ""
	case s.Type == graph.Directory:
		return filepath.Join(dir, ".mwp")
	case s.Type == graph.Regular:
		return filepath.Join(dir, ".mwp.d")
	}
	return ""
}

// below returns abs relative to dir in the IR's form.
func below(dir, abs string) (string, bool) {
	rel, err := filepath.Rel(dir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// realPath resolves the links of the longest part of a path that exists.
func realPath(abs string) string {
	rest := ""
	for dir := filepath.Clean(abs); ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// area returns a candidate's cache, nil when it has none.
func (w *Workspace) area(c candidate) *openArea {
	dir := w.o.CacheDir
	switch {
	case dir != "":
		// Whoever names a place may name it through links; a repository may not.
		dir = realPath(dir)
	case c.state != "":
		dir = filepath.Join(c.state, "cache")
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.areas[dir]
	if a == nil {
		area := cas.OpenArea(dir, w.o.Now)
		a = &openArea{area, area.Store(cas.DiskOptions{})}
		w.areas[dir] = a
	}
	return a
}

// session is one evaluation on one root.
type session struct {
	candidate
	world *eval.World
	ev    *eval.Evaluator
	area  *openArea
	store cas.Store
	// maxCache is [cache] max_size in bytes, 0 for the default.
	maxCache int64
}

// cacheLimit returns [cache] max_size of the workspace, 0 when it says nothing.
func (s *session) cacheLimit(ctx context.Context, a nodes.AnchorValue) int64 {
	if a.WorkspaceConfig == "" {
		return 0
	}
	v, err := s.ev.Eval(ctx, nodes.ConfigFile{Path: a.WorkspaceConfig})
	if err != nil {
		return 0
	}
	if limit := v.(nodes.ConfigFileValue).Config.CacheMaxSize; limit != nil {
		return *limit
	}
	return 0
}

func (w *Workspace) begin(p *place, c candidate) *session {
	s := &session{candidate: c, area: w.area(c), world: p.scout.At(c.dir, c.target, p.sightings)}
	if s.area != nil {
		s.store = s.area.store
	} else {
		s.store = cas.NewMemory()
	}
	s.ev = eval.New(eval.Config{
		World: s.world, Kinds: nodes.Kinds(), Store: s.store,
		Fresh: w.o.Fresh, VerifyHits: w.o.VerifyCache, Observe: w.o.Observe,
	})
	return s
}

// locate finds the workspace root of a place: the nearest anchor, or, where that
// is listed by a workspace above, the workspace (D-05).
func (w *Workspace) locate(ctx context.Context, p *place) (*session, nodes.AnchorValue, error) {
	c := p.candidates[0]
	for range len(p.candidates) + 1 {
		s := w.begin(p, c)
		v, err := s.ev.Eval(ctx, nodes.Anchor{Target: c.target, Explicit: c.explicit})
		if err != nil {
			return nil, nodes.AnchorValue{}, worldError(err)
		}
		a := v.(nodes.AnchorValue)
		if a.Up == 0 {
			return s, a, nil
		}
		up := c.dir
		for range a.Up {
			up = filepath.Dir(up)
		}
		next := candidate{}
		for _, k := range p.candidates {
			if k.dir == up {
				next = k
			}
		}
		if next.dir == "" {
			return nil, a, worldError(nodes.ErrMoved)
		}
		c = next
	}
	return nil, nodes.AnchorValue{}, worldError(nodes.ErrMoved)
}

// enter finds a target, "" being Options.Dir, and begins an evaluation at its
// workspace root.
func (w *Workspace) enter(ctx context.Context, target string) (*place, *session, error) {
	p, err := w.find(w.orDir(target))
	if err != nil {
		return nil, nil, err
	}
	s, _, err := w.locate(ctx, p)
	return p, s, err
}

// orDir returns the path that "" stands for.
func (w *Workspace) orDir(target string) string {
	if target != "" {
		return target
	}
	if w.o.Dir == "" {
		return "."
	}
	return w.o.Dir
}

// worldError turns a failure of the world into an error with a finding.
func worldError(err error) error {
	var e *eval.WorldError
	switch {
	case errors.As(err, &e):
		return environment(ir.Unreadable, err, "", "cannot %s %s: %s", e.Op, e.Path, reason(e.Err))
	case errors.Is(err, nodes.ErrMoved):
		return environment(ir.Unreadable, err, "try again", "%v", err)
	}
	return err
}

// reason returns the innermost text of a system error: the path was said.
func reason(err error) string { return Innermost(err).Error() }

// Innermost returns the error at the bottom of a chain, of several joined ones the
// first: what is above says where, and whoever reports it says that better.
func Innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			next = joined.Unwrap()[0]
		}
		if next == nil {
			return err
		}
		err = next
	}
}
