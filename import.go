package mwp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/eval/module"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// ImportRequest asks for modules to be fetched and pinned.
type ImportRequest struct {
	// References are git references or paths of modules; none stands for every git
	// import in the workspace around Options.Dir.
	References []string
	// Update resolves references anew, whatever the lock file says; without
	// References all that it has. Frozen keeps the lock file as it is.
	Update, Frozen bool
	AllowFloating  bool
}

// Imported is what came of one reference.
type Imported struct {
	// Reference is what was asked for, without secrets; Line what a context file has
	// to say to import it.
	Reference, Line string
	// Kind, Commit and Tree are what the lock file has, "" for a path.
	Kind, Commit, Tree string
	// Directory is where the module lies; Fetched is true when a repository was asked
	// for it.
	Directory string
	Fetched   bool
	Notices   []ir.Diagnostic
	// Err is why there is no module: a *Refusal or an *EnvironmentError.
	Err error
}

// Import fetches modules, pins them in the lock file and says which line imports
// them (R-097, D-34). A path is checked and recorded nowhere. The error is about
// the question as a whole; what came of each reference is in the list.
func (w *Workspace) Import(ctx context.Context, q ImportRequest) ([]Imported, error) {
	if len(q.References) == 0 {
		return w.importAll(ctx, q)
	}
	var out []Imported
	var wants []module.Want
	var of []int
	for _, value := range q.References {
		ref, err := pin.ParseRef(value)
		if err != nil && isPath(value) {
			m, err := w.importPath(ctx, value)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
			continue
		}
		m := Imported{Reference: pin.Mask(value), Line: "- git: " + pin.Mask(value)}
		switch why := ref.Vague(); {
		case err != nil:
			m.Err = refused(err)
		case ref.Name == "" && q.Update:
			pinned, err := w.pinned(ctx, ref)
			if err != nil {
				return nil, err
			}
			for _, r := range pinned {
				wants, of = append(wants, w.want(r, q)), append(of, len(out))
				out = append(out, Imported{Reference: r.Key(), Line: "- git: " + r.Key()})
			}
			continue
		case why != "":
			m.Err = &Refusal{[]ir.Diagnostic{{Code: ir.ImportKindInvalid, Severity: ir.SeverityError, Message: "expected a tag or a commit after the @, found " + ref.Name + ": " + why}}}
		default:
			m.Reference = ref.Key()
			wants, of = append(wants, w.want(ref, q)), append(of, len(out))
		}
		out = append(out, m)
	}
	if len(wants) == 0 {
		return out, nil
	}
	store, err := w.moduleStore(ctx)
	if err != nil {
		return nil, err
	}
	outcomes, err := w.fetch(ctx, store, wants)
	for i, o := range outcomes {
		settle(&out[of[i]], o)
	}
	return out, err
}

// pinned returns the references that the lock file has for a repository, whatever
// their tags.
func (w *Workspace) pinned(ctx context.Context, ref pin.Ref) ([]pin.Ref, error) {
	store, err := w.moduleStore(ctx)
	if err != nil {
		return nil, err
	}
	lock, err := store.Lock()
	if err != nil {
		return nil, fetchError(ref, err)
	}
	var out []pin.Ref
	for _, r := range lock.Records {
		if known, err := pin.ParseRef(r.Key); err == nil && known.Repository() == ref.Repository() && (ref.Dir == "" || known.Dir == ref.Dir) {
			out = append(out, known)
		}
	}
	if len(out) == 0 {
		return nil, &Refusal{[]ir.Diagnostic{{
			Code: ir.UnresolvedImport, Severity: ir.SeverityError, Message: "the lock file pins nothing of " + ref.Key(),
			Hint: "name a tag or a commit after an @ to import it",
		}}}
	}
	return out, nil
}

// fetch fetches, or, offline, says which modules are there.
func (w *Workspace) fetch(ctx context.Context, store *module.Store, wants []module.Want) ([]module.Outcome, error) {
	if !w.o.Offline {
		return store.Fetch(ctx, wants), ctx.Err()
	}
	lock, err := store.Lock()
	if err != nil {
		return nil, fetchError(pin.Ref{}, err)
	}
	problems, err := store.Check(ctx)
	if err != nil {
		return nil, fetchError(pin.Ref{}, err)
	}
	out := make([]module.Outcome, len(wants))
	for i, want := range wants {
		key := want.Ref.Key()
		out[i].Want = want
		record, ok := lock.Find(key)
		bad := slices.IndexFunc(problems, func(p module.Problem) bool { return p.Key == key })
		switch {
		case !ok:
			out[i].Err = &module.Error{Code: module.Unresolved, Key: key, Message: "it is not in the lock file, and --offline fetches nothing"}
		case bad >= 0:
			out[i].Err = &module.Error{Code: module.Unresolved, Key: key, Message: problems[bad].String() + ", and --offline fetches nothing"}
		default:
			files, _ := pin.Store(record.Commit, want.Ref.Dir)
			out[i].Record, out[i].Dir = record, filepath.Join(store.State, "modules", filepath.FromSlash(files))
		}
	}
	return out, nil
}

func (w *Workspace) want(ref pin.Ref, q ImportRequest) module.Want {
	return module.Want{Ref: ref, Floating: q.AllowFloating, Insecure: w.o.AllowInsecure, Update: q.Update, Frozen: q.Frozen}
}

// isPath reports whether a value that is no git reference names something on disk
// rather than a repository.
func isPath(value string) bool {
	return !strings.Contains(value, ":") && !strings.HasPrefix(value, "-") && (strings.HasPrefix(value, ".") || filepath.IsAbs(value) || !strings.Contains(value, "@"))
}

// refused turns a reference that cannot be one into a refusal.
func refused(err error) error {
	d := ir.Diagnostic{Code: ir.ImportKindInvalid, Severity: ir.SeverityError, Message: err.Error()}
	var e *pin.Error
	if errors.As(err, &e) {
		d.Hint = e.Hint
	}
	return &Refusal{[]ir.Diagnostic{d}}
}

// settle takes over what a fetch came to.
func settle(m *Imported, o module.Outcome) {
	if o.Err != nil {
		m.Err = fetchError(o.Want.Ref, o.Err)
		return
	}
	m.Kind, m.Commit, m.Tree, m.Directory, m.Fetched = o.Record.Kind, o.Record.Commit, o.Record.Tree, o.Dir, o.Fetched
	for _, n := range o.Notes {
		m.Notices = append(m.Notices, ir.Diagnostic{Code: ir.ModuleNote, Severity: ir.SeverityWarning, Source: m.Reference, Message: n})
	}
	if m.Kind == pin.Branch {
		m.Notices = append(m.Notices, ir.Diagnostic{Code: ir.FloatingRef, Severity: ir.SeverityWarning, Source: m.Reference, Message: "it names a branch, which will mean something else", Hint: "import a tag"})
	}
	if o.Fetched {
		m.Notices = append(m.Notices, hiddenInModule(m)...)
	}
}

// fetchError tells a module that must not be used from a repository that cannot be
// asked.
func fetchError(ref pin.Ref, err error) error {
	d := fetchFinding(ref, err)
	var e *module.Error
	if errors.As(err, &e) {
		switch e.Code {
		case protocol.Unreachable, protocol.Denied, protocol.IO, module.FetcherMissing, module.FetcherFailed, module.Cancelled:
			return &EnvironmentError{d, err}
		}
	}
	return &Refusal{[]ir.Diagnostic{d}}
}

// hiddenInModule looks through a fetched module's texts for what a reviewer does not
// see (D-112).
func hiddenInModule(m *Imported) []ir.Diagnostic {
	var ds []ir.Diagnostic
	root, err := os.OpenRoot(m.Directory)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, file := range textsBelow(root) {
		b, err := root.ReadFile(file)
		if err != nil {
			continue
		}
		for _, h := range nodes.HiddenText(b, true) {
			ds = append(ds, ir.Diagnostic{
				Code: ir.HiddenText, Severity: ir.SeverityWarning, Source: m.Reference + ": " + file, Line: h.Line, Column: h.Column,
				Message: "found a " + h.What + ", which a reader does not see: " + h.Text,
			})
			if len(ds) == maxHiddenNotices {
				return ds
			}
		}
	}
	return ds
}

// maxHiddenNotices bounds what one import says about hidden text; lint has it all.
const maxHiddenNotices = 20

// moduleStore returns the store of the workspace around Options.Dir.
func (w *Workspace) moduleStore(ctx context.Context) (*module.Store, error) {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		return nil, err
	}
	if store := w.modules(s.candidate); store != nil {
		return store, nil
	}
	return nil, environment(ir.NoRoot, nil, "run `mwp init` in the workspace root", "%s has no .mwp, so there is no place to keep modules", s.dir)
}

// importAll fetches every module that the workspace imports and that is not there,
// or with Update all that the lock file has.
func (w *Workspace) importAll(ctx context.Context, q ImportRequest) ([]Imported, error) {
	store, err := w.moduleStore(ctx)
	if err != nil {
		return nil, err
	}
	var out []Imported
	done := map[string]bool{}
	run := func(keys []string) error {
		var wants []module.Want
		for _, value := range keys {
			if ref, err := pin.ParseRef(value); err == nil && !done[ref.Key()] {
				done[ref.Key()] = true
				wants = append(wants, w.want(ref, q))
			}
		}
		outcomes, err := w.fetch(ctx, store, wants)
		for _, o := range outcomes {
			m := Imported{Reference: o.Want.Ref.Key(), Line: "- git: " + o.Want.Ref.Key()}
			settle(&m, o)
			out = append(out, m)
		}
		return err
	}
	lock, err := store.Lock()
	if err != nil {
		return nil, fetchError(pin.Ref{}, err)
	}
	var keys []string
	for _, r := range lock.Records {
		keys = append(keys, r.Key)
	}
	if err := run(keys); err != nil {
		return nil, err
	}
	// A module may import others, which are known when it is there.
	for {
		missing, err := w.missing(ctx, q.AllowFloating)
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(missing, func(v string) bool {
			ref, err := pin.ParseRef(v)
			return err != nil || done[ref.Key()]
		})
		if len(missing) == 0 {
			slices.SortStableFunc(out, func(a, b Imported) int { return strings.Compare(a.Reference, b.Reference) })
			return out, nil
		}
		if err := run(missing); err != nil {
			return nil, err
		}
	}
}

// missing returns the git references in the workspace that a fetch could provide.
func (w *Workspace) missing(ctx context.Context, floating bool) ([]string, error) {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		return nil, err
	}
	x, err := s.ev.Eval(ctx, nodes.Lint{Explicit: s.explicit, AllowFloating: floating})
	if err != nil {
		return nil, worldError(err)
	}
	return x.(ir.LintReport).Missing, nil
}

// importPath checks a module that lies on this disk.
func (w *Workspace) importPath(ctx context.Context, value string) (Imported, error) {
	abs := filepath.Clean(value)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(w.o.Dir, value)
	}
	m := Imported{Reference: value, Directory: abs}
	manifest := filepath.Join(abs, nodes.ManifestName)
	b, err := readRegular(manifest)
	if err != nil {
		m.Err = &Refusal{[]ir.Diagnostic{{
			Code: ir.UnresolvedImport, Severity: ir.SeverityError, Source: value,
			Message: "expected a module, found no " + nodes.ManifestName + " in it: " + Innermost(err).Error(),
			Hint:    "name a directory with a manifest, or a repository: https://HOST/OWNER/REPOSITORY.git@TAG",
		}}}
		return m, nil
	}
	parsed := nodes.ParseManifest(b)
	for i := range parsed.Problems {
		parsed.Problems[i].Source = filepath.ToSlash(filepath.Join(value, nodes.ManifestName))
	}
	parsed.Problems = append(parsed.Problems, lostFiles(abs, value, &parsed)...)
	if slices.ContainsFunc(parsed.Problems, func(d ir.Diagnostic) bool { return d.Severity == ir.SeverityError }) {
		m.Err = &Refusal{parsed.Problems}
		return m, nil
	}
	m.Notices = parsed.Problems
	if err := w.leadsOut(ctx, abs); err != nil {
		m.Err = err
		return m, nil
	}
	m.Line = "- local: ./"
	if clean := filepath.ToSlash(filepath.Clean(value)); clean != "." {
		m.Line += clean
	}
	if rel, err := filepath.Rel(w.o.Dir, abs); err == nil && (rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))) || filepath.IsAbs(value) {
		m.Line, err = w.workspaceLine(ctx, abs)
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// leadsOut refuses a module that lies elsewhere than its path says, outside of the
// workspace: an import of it would be refused as well (D-74).
func (w *Workspace) leadsOut(ctx context.Context, abs string) error {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		// Without a workspace the module itself can be checked.
		return nil
	}
	real := realPath(abs)
	if _, inside := below(realPath(s.dir), real); inside {
		return nil
	}
	return outside(s.dir)
}

func outside(root string) error {
	return &Refusal{[]ir.Diagnostic{{
		Code: ir.ImportEscapesRoot, Severity: ir.SeverityError, Message: "the module lies outside the workspace " + root,
		Hint: "copy it into the workspace, or publish it and import it with git:",
	}}}
}

// workspaceLine returns the line for a module that a context file in Options.Dir
// cannot reach by local:.
func (w *Workspace) workspaceLine(ctx context.Context, abs string) (string, error) {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		return "", err
	}
	rel, ok := below(s.dir, abs)
	if !ok {
		return "", outside(s.dir)
	}
	return "- workspace: " + rel, nil
}

// lostFiles reports what a manifest lists and its directory lacks.
func lostFiles(abs, shown string, m *nodes.ModuleManifest) []ir.Diagnostic {
	var ds []ir.Diagnostic
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, ref := range slices.Concat(m.Imports, m.Pipelines) {
		if ref.Kind != nodes.ImportLocal || ref.Refused.Code != "" {
			continue
		}
		file, _ := ref.Target()
		if _, err := root.Stat(filepath.FromSlash(file)); err != nil {
			ds = append(ds, ir.Diagnostic{
				Code: ir.UnresolvedImport, Severity: ir.SeverityError, Source: filepath.ToSlash(filepath.Join(shown, nodes.ManifestName)),
				Line: ref.Line, Column: ref.Column, Message: "local: " + ref.Value + " does not resolve: " + Innermost(err).Error(),
			})
		}
	}
	return ds
}

// ModuleProblem is a difference between the lock file and a module on disk.
type ModuleProblem = module.Problem

// CheckModules hashes every pinned module again and compares it with the lock file
// (D-53).
func (w *Workspace) CheckModules(ctx context.Context) ([]ModuleProblem, error) {
	store, err := w.moduleStore(ctx)
	if err != nil {
		return nil, err
	}
	problems, err := store.Check(ctx)
	if err != nil {
		return nil, fetchError(pin.Ref{}, err)
	}
	return problems, nil
}

// ModuleStatus is how a pinned module compares with its repository.
type ModuleStatus struct {
	Reference, Commit string
	// Newest is a newer tag, "" for none; Moved is true when the pinned tag stands for
	// Found now, which is "" when the tag is gone.
	Newest string
	Moved  bool
	Found  string
	Err    error
}

// Outdated asks the repositories of all pinned modules for newer tags. It writes
// nothing.
func (w *Workspace) Outdated(ctx context.Context) ([]ModuleStatus, error) {
	store, err := w.moduleStore(ctx)
	if err != nil {
		return nil, err
	}
	lock, err := store.Lock()
	if err != nil {
		return nil, fetchError(pin.Ref{}, err)
	}
	var wants []module.Want
	for _, r := range lock.Records {
		if ref, err := pin.ParseRef(r.Key); err == nil {
			wants = append(wants, module.Want{Ref: ref, Insecure: w.o.AllowInsecure})
		}
	}
	var out []ModuleStatus
	for _, s := range store.Outdated(ctx, wants) {
		m := ModuleStatus{Reference: s.Want.Ref.Key(), Commit: s.Record.Commit, Newest: s.Newest, Moved: s.Moved, Found: s.Found}
		if s.Err != nil {
			m.Err = fetchError(s.Want.Ref, s.Err)
		}
		out = append(out, m)
	}
	return out, ctx.Err()
}

// textsBelow lists the Markdown files of a module, sorted.
func textsBelow(root *os.Root) []string {
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		f, err := root.Open(dir)
		if err != nil {
			return
		}
		entries, _ := f.ReadDir(-1)
		f.Close()
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir():
				walk(path)
			case e.Type().IsRegular() && slices.Contains([]string{".md", ".markdown", ".mdx", ".txt"}, strings.ToLower(filepath.Ext(path))):
				out = append(out, filepath.ToSlash(path))
			}
		}
	}
	walk(".")
	slices.Sort(out)
	return out
}
