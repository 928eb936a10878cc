package mwp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/eval/module"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// looking is the collection of facts under way.
type looking struct {
	w *Workspace
	q DoctorRequest
	p *place
	s *session
	a nodes.AnchorValue
	f *doctorFacts

	config nodes.Config
	tree   nodes.TreeValue
	// foreign are the roots of workspaces inside this one, anchors the directories with an
	// anchor of this one, contexts those with a context file.
	foreign           map[string]bool
	anchors, contexts []string
	// marked are the directories with anything named .mwp, forms what it is.
	marked []string
	forms  map[string]graph.FileType
}

// doctorFacts collects what there is to know about the workspace of a target, "" being
// Options.Dir.
func (w *Workspace) doctorFacts(ctx context.Context, target string, q DoctorRequest) (*doctorFacts, error) {
	l := looking{q: q, f: &doctorFacts{}, foreign: map[string]bool{}, forms: map[string]graph.FileType{}}
	if err := l.enter(ctx, w, target); err != nil {
		return nil, err
	}
	defer l.w.Close()
	// Lint does not say again what is wrong with the modules.
	l.modules(ctx)
	for _, step := range []func(context.Context) error{
		l.configuration, l.walk, l.headers, l.lint, l.guards, l.trusted, l.clients,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	l.nearby()
	l.work()
	l.cache()
	l.places()
	l.manual()
	l.git(ctx, gitTime)
	return l.f, ctx.Err()
}

// enter finds the workspace and opens its cache for reading: a cache in use notes when an
// entry was used last, and that is a change too.
func (l *looking) enter(ctx context.Context, w *Workspace, target string) (err error) {
	if l.p, err = w.find(w.orDir(target)); err != nil {
		return err
	}
	o := w.o
	o.Keep, o.Offline = 0, true
	l.w = Open(o)
	l.w.bound = w.bound
	for _, c := range l.p.candidates {
		if a := l.w.area(c); a != nil {
			a.store = a.Area.Store(cas.DiskOptions{ReadOnly: true})
		}
	}
	if l.s, l.a, err = l.w.locate(ctx, l.p); err != nil {
		return err
	}
	l.f.root = l.s.dir
	l.f.elsewhere = filepath.Clean(l.w.o.Dir) != l.s.dir
	return nil
}

// at returns the absolute path of a file of the workspace.
func (l *looking) at(names ...string) string {
	return filepath.Join(append([]string{l.s.dir}, names...)...)
}

func valueOf[V any](ctx context.Context, s *session, n graph.Node[V]) (v V, err error) {
	x, err := s.ev.Eval(ctx, n)
	if err != nil {
		return v, worldError(err)
	}
	return x.(V), nil
}

// configuration reads the workspace's.
func (l *looking) configuration(ctx context.Context) error {
	a := &l.f.anchor
	a.file = l.a.Workspace
	if l.a.WorkspaceState != "" {
		a.state = l.a.WorkspaceState
		a.plain = l.a.Workspace == ".mwp" && a.state != ".mwp"
		info, err := os.Lstat(l.at(a.state))
		a.stateExists = err == nil && info.IsDir()
		l.inTheWay()
	}
	if l.a.WorkspaceConfig == "" {
		return nil
	}
	c, err := valueOf(ctx, l.s, nodes.ConfigFile{Path: l.a.WorkspaceConfig})
	if err != nil {
		return err
	}
	a.invalid = slices.ContainsFunc(c.Problems, func(d ir.Diagnostic) bool { return d.Severity == ir.SeverityError })
	if !a.invalid {
		l.config = c.Config
	}
	a.name, a.identity, a.directories = l.config.Name, l.config.SuppliesIdentity(), l.config.Directories
	return nil
}

// inTheWay looks for what making a directory of an anchor that is a file would overwrite.
func (l *looking) inTheWay() {
	if !l.f.anchor.plain {
		return
	}
	for _, name := range []string{".mwp.file", ".mwp.d/config.toml"} {
		if l.exists(name) {
			l.f.anchor.inTheWay = append(l.f.anchor.inTheWay, name)
		}
	}
}

// exists reports whether there is anything by a name, be it a link that leads nowhere.
func (l *looking) exists(names ...string) bool {
	_, err := os.Lstat(l.at(names...))
	return err == nil
}

// walk looks at the directories that lint looks at (D-73).
func (l *looking) walk(ctx context.Context) error {
	above, err := valueOf(ctx, l.s, nodes.IgnoreAbove{})
	if err != nil {
		return err
	}
	if l.tree, err = valueOf(ctx, l.s, nodes.WholeTree(above, l.s.explicit)); err != nil {
		return err
	}
	for _, p := range l.tree.Places {
		form, context := graph.Absent, false
		for _, f := range p.Found {
			if f.Name == ".mwp" {
				form = f.Type
			}
			context = context || isContext(f.Name)
		}
		anchor := form == graph.Regular || form == graph.Directory
		if anchor && p.Dir != "." && !l.s.explicit && !l.isForeign(p.Dir) {
			a, err := valueOf(ctx, l.s, nodes.Anchor{Target: p.Dir})
			if err != nil {
				return err
			}
			if a.Root != "." {
				l.foreign[p.Dir] = true
			}
		}
		if l.isForeign(p.Dir) {
			continue
		}
		if form != graph.Absent {
			l.marked, l.forms[p.Dir] = append(l.marked, p.Dir), form
		}
		if anchor {
			l.anchors = append(l.anchors, p.Dir)
		}
		if context {
			l.contexts = append(l.contexts, p.Dir)
		}
	}
	l.f.anchor.members = l.members()
	if l.f.anchor.parts = l.f.anchor.members; len(l.config.Members) > 0 {
		return nil
	}
	has := setOf(l.contexts)
	for _, d := range l.config.Directories {
		if has[d.Key] {
			l.f.anchor.parts = append(l.f.anchor.parts, d.Key)
		}
	}
	return nil
}

func isContext(name string) bool {
	return name == ".mwp-context.md" || name == ".mwp-context.yaml" || name == ".mwp-context.yml"
}

// isForeign reports whether a directory belongs to a workspace inside this one.
func (l *looking) isForeign(dir string) bool {
	if len(l.foreign) == 0 {
		return false
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if l.foreign[dir] {
			return true
		}
	}
	return false
}

// members returns the directories of members.
func (l *looking) members() []string {
	var out []string
	if len(l.config.Members) == 0 {
		return nil
	}
	for _, dir := range l.anchors {
		if nodes.MemberMatch(l.config.Members, dir) {
			out = append(out, dir)
		}
	}
	known, dirs := setOf(out), setOf(l.tree.Dirs)
	for _, m := range l.config.Members {
		m = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(m), "./"), "/")
		if !known[m] && dirs[m] && nodes.MemberMatch(l.config.Members, m) {
			known[m] = true
			out = append(out, m)
		}
	}
	slices.SortFunc(out, ir.ComparePaths)
	return out
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// headers reads what context files import.
func (l *looking) headers(ctx context.Context) error {
	for _, dir := range l.contexts {
		v, err := valueOf(ctx, l.s, nodes.Cascade{Target: dir, Explicit: l.s.explicit})
		if err != nil {
			// Lint says what may not be read.
			continue
		}
		for _, level := range v.Levels {
			if level.Dir != dir {
				continue
			}
			for _, c := range level.Contexts {
				l.header(ctx, dir, c)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (l *looking) header(ctx context.Context, dir string, c nodes.ContextFile) {
	if c.Shadowed {
		return
	}
	v, err := valueOf(ctx, l.s, nodes.Context{Path: c.Path, Real: c.Real, Syntax: c.Syntax})
	if err != nil {
		return
	}
	for _, k := range v.Header.Imports {
		d := declaredImport{dir: dir, value: k.Value, git: k.Git}
		if k.Kind == nodes.ImportWorkspace {
			d.path, _ = k.Target()
		}
		l.f.imports = append(l.f.imports, d)
	}
}

// lint sums up what lint finds. What a fetch would mend is not counted as a mistake.
func (l *looking) lint(ctx context.Context) error {
	r, err := valueOf(ctx, l.s, nodes.Lint{Explicit: l.s.explicit})
	if err != nil {
		return err
	}
	v := &l.f.lint
	v.LintReport = r
	fetchable := map[string]bool{}
	v.Missing = nil
	for _, m := range r.Missing {
		shown := pin.Mask(m)
		fetchable[shown] = true
		v.Missing = append(v.Missing, shown)
	}
	errs, warnings := map[ir.Code]int{}, map[ir.Code]int{}
	for i := range r.Findings {
		d := &r.Findings[i]
		switch {
		case d.Code == ir.UnresolvedImport && fetchable[fetchedBy(d.Message)]:
		case d.Code == ir.GuardFailed, d.Code == ir.ModuleModified, d.Code == ir.LockInvalid && l.f.modules.problem != "":
			// Guards and modules have findings of their own.
		case d.Code == ir.ExampleText:
			v.examples.add(d.Source)
		case d.Severity == ir.SeverityError:
			v.errors++
			errs[d.Code]++
		case d.Severity == ir.SeverityWarning:
			v.warnings++
			warnings[d.Code]++
		default:
			v.notes++
		}
	}
	v.errorCodes, v.warningCodes = codeCounts(errs), codeCounts(warnings)
	return nil
}

// fetchedBy returns the reference that a finding about a missing module names.
func fetchedBy(message string) string {
	before, _, ok := strings.Cut(message, " is not in this map: ")
	if !ok {
		return ""
	}
	return before[strings.LastIndexByte(before, ' ')+1:]
}

func codeCounts(m map[ir.Code]int) []codeCount {
	var out []codeCount
	for code, n := range m {
		out = append(out, codeCount{code, n})
	}
	slices.SortFunc(out, func(a, b codeCount) int { return cmp.Or(b.n-a.n, strings.Compare(string(a.code), string(b.code))) })
	return out
}

// guards counts what is known of the workspace's guards.
func (l *looking) guards(ctx context.Context) error {
	n := nodes.GuardPlan{Layers: nodes.Layers{Target: ".", Explicit: l.s.explicit}, Everything: true}
	plan, err := valueOf(ctx, l.s, n)
	if err != nil {
		return err
	}
	g := &l.f.guards
	for i := range plan.Guards {
		p := &plan.Guards[i]
		shown := p.Label() + " in " + p.Dir
		switch {
		case p.Check.Status == ir.FailedCheck && p.Check.Overridden:
			g.Overridden++
			g.overridden.add(shown)
		case p.Check.Status == ir.FailedCheck:
			g.Failed++
			g.failing.add(shown)
		case p.Check.Status == ir.Passed:
			g.Passed++
		case p.Check.Status == ir.Stale:
			g.Stale++
		default:
			g.NotRun++
			if p.Level == nodes.TrustAdHoc {
				g.asks++
			}
		}
		if p.Static() {
			g.static++
		}
	}
	if plan.Records != "" {
		l.records()
	}
	return nil
}

// records looks whether the results of guards and the key that signs them can be used.
func (l *looking) records() {
	g := &l.f.guards
	key, err := l.w.user.open()
	if err != nil {
		g.key = err.Error()
		if f, ok := errors.AsType[*state.FileError](err); ok {
			g.key, g.keyHint = f.Message, f.Hint
		}
		return
	}
	d := l.w.project(l.s.candidate)
	if d == nil || !l.f.anchor.stateExists {
		return
	}
	files, err := d.Open()
	if err != nil || files == nil {
		return
	}
	defer files.Close()
	text, err := files.Read(guard.LedgerName, guard.MaxLedger)
	if err != nil {
		g.records = reason(err)
	} else {
		g.records = guard.NewLedger(key).Problem(text)
	}
	if name := path.Join(l.f.anchor.state, guard.LedgerName); g.records != "" && (err != nil || g.Total() == g.static) && l.exists(name) {
		g.recordsAway = []string{name, aside(l.at(name), name)}
	}
}

// aside returns a name beside a file that nothing has, given the file and its name, "" when
// there are too many already.
func aside(file, name string) string {
	for i := range 100 {
		end := ".broken"
		if i > 0 {
			end += strconv.Itoa(i + 1)
		}
		if _, err := os.Lstat(file + end); errors.Is(err, fs.ErrNotExist) {
			return name + end
		}
	}
	return ""
}

// trusted finds out whether programs may run the guards (D-109).
func (l *looking) trusted(ctx context.Context) error {
	tables, err := valueOf(ctx, l.s, nodes.TrustTables{Explicit: l.s.explicit})
	if err != nil {
		return err
	}
	t, err := l.w.trusted(l.s.dir, tables)
	l.f.trust = t
	if err != nil {
		l.f.places.trustFileUnreadable = err.Error()
		var e *EnvironmentError
		if errors.As(err, &e) {
			l.f.places.trustFileUnreadable = e.Diagnostic.Message
		}
		l.trustAway()
	}
	return nil
}

// trustedName is the file of package guard with the workspaces that a user trusts.
const trustedName = "workspaces.json"

// trustAway finds out whether the list of trusted workspaces has to be moved away by hand:
// it does where `mwp verify` could not read it either, or has nothing to ask.
func (l *looking) trustAway() {
	file := filepath.Join(l.w.o.Guards.UserDir, trustedName)
	if _, err := os.Lstat(file); err != nil {
		return
	}
	if _, err := readRegular(file); err != nil || l.f.guards.Total() == l.f.guards.static {
		l.f.places.trustAway = []string{file, aside(file, file)}
	}
}

// clients looks at the files of every client that has some in projects (D-114).
func (l *looking) clients(ctx context.Context) error {
	for _, name := range ClientNames() {
		p, err := l.w.PlanClients(ctx, ClientsRequest{Dir: l.s.dir, Itself: true, Clients: []string{name}, Program: l.q.Program, Home: l.q.Home})
		var r *Refusal
		switch {
		case errors.As(err, &r):
			d := r.Diagnostics[0]
			how := clientUnusable
			if d.Code == clientDiffers {
				how = clientOther
			}
			l.f.clients = append(l.f.clients, clientFact{name, how, d.Place() + ": " + d.Message})
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			continue
		}
		ready := 0
		for i := range p.Files {
			if p.Files[i].Existed && !p.Files[i].Changed() {
				ready++
			}
		}
		switch {
		case ready > 0 && ready == len(p.Files):
			l.f.clients = append(l.f.clients, clientFact{name: name, how: clientReady})
		case ready > 0:
			l.f.clients = append(l.f.clients, clientFact{name: name, how: clientPartly})
		}
	}
	for _, trace := range clientTraces() {
		if _, err := os.Lstat(l.at(trace[0])); err == nil && l.f.seen == "" {
			l.f.seen = trace[1]
		}
	}
	return nil
}

// clientTraces are names at a root that a client or its user puts there.
func clientTraces() [][2]string {
	return [][2]string{
		{".claude", "claude"}, {"CLAUDE.md", "claude"}, {".cursor", "cursor"}, {".cursorrules", "cursor"}, {".codex", "codex"},
		{".gemini", "gemini"}, {"GEMINI.md", "gemini"}, {"opencode.json", "opencode"}, {".zed", "zed"}, {".vscode", "vscode"},
	}
}

// maxNearby is in how many directories a CONTEXT.md is looked for.
const maxNearby = 200_000

// nearby looks for what is like a context file and is none (D-93).
func (l *looking) nearby() {
	has := setOf(l.contexts)
	for _, dir := range l.tree.Dirs[:min(len(l.tree.Dirs), maxNearby)] {
		if has[dir] || l.isForeign(dir) {
			continue
		}
		if info, err := os.Lstat(l.at(filepath.FromSlash(dir), "CONTEXT.md")); err == nil && info.Mode().IsRegular() {
			l.f.contextMD.add(dir)
		}
	}
}

// maxListed bounds how many names of one directory are looked at.
const maxListed = 10_000

// listed returns the names of the visible regular files of a directory, at most maxListed.
func listed(dir string) []string {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// work looks at intents, pipelines and sessions. The sessions that are kept are the count
// of sessions: no other file has one, and `mwp sessions clean` begins it anew (D-77).
func (l *looking) work() {
	v := &l.f.work
	if l.f.anchor.state == "" {
		return
	}
	there := func(name string) bool {
		info, err := os.Lstat(l.at(l.f.anchor.state, name))
		return err == nil && info.IsDir()
	}
	v.intents, v.pipelines = l.exists(l.f.anchor.state, "intents"), l.exists(l.f.anchor.state, "pipelines")
	if there("intents") {
		v.archive = listed(l.at(l.f.anchor.state, "intents", "archive"))
	}
	if there("pipelines") {
		v.templates = listed(l.at(l.f.anchor.state, "pipelines"))
	}
	files, _ := state.Dir{Path: l.at(l.f.anchor.state)}.List(sessionsDir, maxSessions)
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name, sessionExt); ok && BadSessionID(id) == "" {
			v.sessions++
			if f.Modified.After(v.lastSession) {
				v.lastSession = f.Modified
			}
		}
	}
}

// modules hashes the pinned modules again (D-53).
func (l *looking) modules(ctx context.Context) {
	m := &l.f.modules
	m.fetcher, _ = module.FindFetcher(l.w.o.Fetcher)
	store := l.w.modules(l.s.candidate)
	if store == nil {
		return
	}
	lock, err := store.Lock()
	if err != nil {
		m.problem = err.Error()
		return
	}
	m.pinned = len(lock.Records)
	problems, err := store.Check(ctx)
	if err != nil {
		m.problem = err.Error()
		return
	}
	for _, p := range problems {
		if p.Path == "" && p.What == module.Missing {
			m.absent++
			continue
		}
		m.modified.add(p.String())
	}
}

// cache measures the cache. That it can be written is asked of the system, as writing would
// leave traces; whether the disk is full, only `mwp cache status` finds out.
func (l *looking) cache() {
	if l.s.area == nil {
		return
	}
	c := &l.f.cache
	area := l.s.area.Area
	c.dir = area.Dir()
	if u, err := area.Usage(); err == nil {
		c.bytes, c.maps = u.Bytes, u.Slots
	}
	err := area.Check()
	if err == nil {
		err = writableBelow(c.dir)
	}
	if err != nil {
		c.problem = err.Error()
	}
}

// writableBelow reports why nothing can be made at a path, of which the end may not exist.
func writableBelow(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return &fs.PathError{Op: "write", Path: dir, Err: errors.New("not a directory")}
		case err == nil:
			return writable(dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return err
		}
		dir = filepath.Dir(dir)
	}
}

// places lists what is kept of the workspace and of the user (U-44).
func (l *looking) places() {
	v := &l.f.places
	if l.f.anchor.state != "" {
		v.state = l.at(l.f.anchor.state)
		v.stateHas = contents(v.state)
	}
	if v.user = l.w.o.Guards.UserDir; v.user != "" {
		v.userHas = contents(v.user)
	}
	if l.f.anchor.stateExists {
		text, err := readRegular(filepath.Join(v.state, ".gitignore"))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			l.f.unignored = lacking(string(text))
		}
	}
}

// lacking returns the patterns of generated and personal files that an ignore file does
// not have.
func lacking(text string) []string {
	var out []string
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimRight(line, " \t\r\n")] = true
	}
	for _, p := range ignoredFiles {
		if !have[p] {
			out = append(out, p)
		}
	}
	return out
}

// contents names what is directly in a directory.
func contents(dir string) (c counted) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return c
	}
	f, err := os.Open(dir)
	if err != nil {
		return c
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		c.add(name)
	}
	return c
}
