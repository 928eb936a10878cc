package nodes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Home is the module that a document belongs to. The zero Home is the project.
type Home struct {
	// Root is the module's directory, relative to the workspace root, without links.
	Root string
	// Opaque is set where a manifest decides alone what is loaded.
	Opaque bool
	// Commit and Dir name a git module; Key is the reference it was pinned by and
	// PinKind what that reference is. All are "" for a module in the project's tree.
	Commit, Dir, Key, PinKind string
}

// Source is one document that can be imported: where maps name it, where it lies,
// how it is written and which module it belongs to.
type Source struct {
	Path, Real string
	Syntax     Syntax
	Home       Home
}

func codeSource(c *cas.Coder, s *Source) {
	c.String(&s.Path)
	codeReal(c, s.Path, &s.Real)
	s.Syntax.code(c)
	module := s.Home != Home{}
	if c.Bool(&module); !module {
		return
	}
	c.String(&s.Home.Root)
	c.Bool(&s.Home.Opaque)
	for _, t := range []*string{&s.Home.Commit, &s.Home.Dir, &s.Home.Key, &s.Home.PinKind} {
		c.String(t)
	}
}

// Resource is what an import stands for: a document, or one section of it (D-116).
type Resource struct {
	Source
	Section string
}

// key identifies the text, whatever path or reference led to it (D-37).
func (r *Resource) key() string { return r.Real + "\x00" + r.Section }

// Imports resolves the imports of one document, one step far. It
// changes with the document's header, with what its paths lead to, and with the
// pins of the modules it names; not with the text of what it imports.
type Imports struct {
	Source
	// AllowFloating accepts references that were pinned to a branch (D-33).
	AllowFloating bool
}

// Resolution is the outcome of one import, in the header's order.
type Resolution struct {
	Import ImportRef
	// Targets is empty when the import does not resolve; an anchored module has two:
	// its anchor and its context file (D-36).
	Targets []Resource
	// Via is the kind that resolved, for an item with a fallback (D-32).
	Via string
	// Problem is why there are no targets; its Code is "" when there are.
	Problem ir.Diagnostic
	// Missing is a git reference that a fetch could provide, as written.
	Missing string
	// Notes concern lint alone.
	Notes []ir.Diagnostic
}

// ImportsValue is the list of outcomes.
type ImportsValue struct {
	Resolutions []Resolution
	// Pipelines are the root-relative paths that a manifest lists.
	Pipelines []string
	// Lost are pipelines that do not exist.
	Lost []ir.Diagnostic
	// Refusal holds findings that leave no map: a lock file that cannot be read, a
	// module that is not what was pinned.
	Refusal []ir.Diagnostic
}

var importsKind = graph.Define(graph.Definition[ImportsValue, Imports]{
	Name: "imports", Version: 1, Order: 47,
	Params: func(c *cas.Coder, n *Imports) { codeSource(c, &n.Source); c.Bool(&n.AllowFloating) },
	Value: func(c *cas.Coder, v *ImportsValue) {
		cas.Slice(c, &v.Resolutions, func(c *cas.Coder, r *Resolution) {
			codeImportRef(c, &r.Import)
			cas.Slice(c, &r.Targets, func(c *cas.Coder, t *Resource) { codeSource(c, &t.Source); c.String(&t.Section) })
			c.String(&r.Via)
			codeDiagnostic(c, &r.Problem)
			c.String(&r.Missing)
			cas.Slice(c, &r.Notes, codeDiagnostic)
		})
		c.Strings(&v.Pipelines)
		cas.Slice(c, &v.Lost, codeDiagnostic)
		cas.Slice(c, &v.Refusal, codeDiagnostic)
	},
})

// Kind returns the kind "imports".
func (Imports) Kind() *graph.Kind { return importsKind }

// importing is an Imports being computed.
type importing struct {
	Imports
	r graph.Reader
	v ImportsValue
	// ws is the workspace's configuration and state its state directory, "" without
	// one; known is set when they were looked up.
	ws    ConfigFileValue
	state string
	known bool
	// tree is the list of the git module that the document lies in.
	tree ModuleTreeValue
}

// lookup is a path import on its way to a resource. at is the index of its
// Resolution, or -1-i for the i-th pipeline.
type lookup struct {
	at      int
	ref     ImportRef
	section string
	// dir is where the path starts, without links, and display how maps name that.
	dir, display, file string
}

// Compute resolves.
func (n Imports) Compute(r graph.Reader) (ImportsValue, error) {
	im := importing{Imports: n, r: r}
	doc, err := graph.Need(r, Context{Path: n.Path, Real: n.Real, Syntax: n.Syntax})
	if err != nil || failed(doc.Problems) {
		return im.v, err
	}
	if n.Home.Commit != "" {
		if err := im.workspace(); err != nil {
			return im.v, err
		}
		if im.tree, err = graph.Need(r, ModuleTree{State: im.state, Commit: n.Home.Commit, Dir: n.Home.Dir}); err != nil {
			return im.v, err
		}
	}
	im.v.Resolutions = make([]Resolution, len(doc.Header.Imports))
	var paths []lookup
	for i, ref := range doc.Header.Imports {
		res := &im.v.Resolutions[i]
		res.Import, res.Via = ref, ref.Kind
		switch {
		case ref.Refused.Code != "":
			res.Problem = ref.Refused
			res.Problem.Source = n.Path
		case ref.Kind == ImportGit:
			if err := im.git(res, ref.Value); err != nil {
				return im.v, err
			}
		default:
			if l, ok := im.lookup(i, ref); ok {
				paths = append(paths, l)
			}
		}
	}
	if doc.Header.Module != nil {
		for i, ref := range doc.Header.Module.Pipelines {
			if l, ok := im.lookup(-1-i, ref); ok {
				paths = append(paths, l)
			}
		}
	}
	if err := im.paths(paths); err != nil {
		return im.v, err
	}
	return im.v, im.fallbacks()
}

// fallbacks tries the git pin of workspace imports that did not resolve (D-32).
func (im *importing) fallbacks() error {
	for i := range im.v.Resolutions {
		res := &im.v.Resolutions[i]
		if res.Import.Git == "" || len(res.Targets) > 0 || res.Import.Refused.Code != "" {
			continue
		}
		first := res.Problem
		res.Problem, res.Via = ir.Diagnostic{}, ImportGit
		if err := im.git(res, res.Import.Git); err != nil {
			return err
		}
		if res.Problem.Code != "" {
			res.Problem.Message = first.Message + "; and in its place " + res.Problem.Message
		}
	}
	return nil
}

// problem makes the finding about an import, with its place.
func (im *importing) problem(ref ImportRef, code ir.Code, hint, format string, args ...any) ir.Diagnostic {
	return ir.Diagnostic{
		Code: code, Severity: ir.SeverityError, Source: im.Path, Line: ref.Line, Column: ref.Column,
		// What a path should have been may be an address with a password in it.
		Message: ref.Kind + ": " + pin.Mask(fmt.Sprintf(format, args...)), Hint: hint,
	}
}

func (im *importing) note(ref ImportRef, code ir.Code, hint, format string, args ...any) ir.Diagnostic {
	d := im.problem(ref, code, hint, format, args...)
	d.Severity = ir.SeverityNote
	return d
}

// lookup prepares a path import; when it can lead nowhere it says so and returns
// false.
func (im *importing) lookup(at int, ref ImportRef) (l lookup, ok bool) {
	l = lookup{at: at, ref: ref, dir: parent(im.Real), display: parent(im.Path)}
	if ref.Refused.Code != "" {
		ref.Refused.Source = im.Path
		im.fail(l, ref.Refused)
		return l, false
	}
	l.file, l.section = ref.Target()
	if ref.Kind == ImportWorkspace {
		l.dir, l.display = ".", "."
		switch {
		case im.Home.Opaque:
			im.fail(l, im.problem(ref, ir.UnresolvedImport, "a module lists its own files with local: and its dependencies with git:", "%s is out of reach: a module has no workspace around it", ref.Value))
			return l, false
		case im.Home.Root != "":
			l.dir, l.display = im.Home.Root, im.Home.Root
		}
	}
	if at >= 0 && unclean(ref) {
		im.v.Resolutions[at].Notes = append(im.v.Resolutions[at].Notes,
			im.note(ref, ir.ImportUnclean, "- "+ref.Kind+": ./"+l.file, "%s is a roundabout spelling", ref.Value))
	}
	return l, true
}

// unclean reports a path that goes down and up again (D-30).
func unclean(ref ImportRef) bool {
	file, _, _ := strings.Cut(ref.Value, "#")
	return slices.Contains(strings.Split(file, "/"), "..")
}

// fail records why a lookup ends.
func (im *importing) fail(l lookup, d ir.Diagnostic) {
	if l.at < 0 {
		d.Message = strings.Replace(d.Message, ImportLocal+": ", "pipelines: ", 1)
		im.v.Lost = append(im.v.Lost, d)
		return
	}
	im.v.Resolutions[l.at].Problem = d
}

func (im *importing) unresolved(l lookup, format string, args ...any) {
	im.fail(l, im.problem(l.ref, ir.UnresolvedImport, "", "%s does not resolve: %s", l.ref.Value, fmt.Sprintf(format, args...)))
}

// found records what a lookup led to.
func (im *importing) found(l lookup, s Source) {
	if l.at < 0 {
		im.v.Pipelines = append(im.v.Pipelines, s.Path)
		return
	}
	res := &im.v.Resolutions[l.at]
	if l.section != "" && (s.Syntax == Manifest || s.Syntax == AnchorText) {
		im.unresolved(l, "%s has no sections", s.Path)
		return
	}
	res.Targets = append(res.Targets, Resource{Source: s, Section: l.section})
	if s.Syntax == Text {
		res.Notes = append(res.Notes, im.note(l.ref, ir.NonMarkdownImport, "", "%s is no Markdown; its text is taken as it is", s.Path))
	}
}

// paths resolves path imports, those of one directory together.
func (im *importing) paths(ls []lookup) error {
	if im.Home.Commit != "" {
		return im.inTree(ls)
	}
	dirs, files := make([]string, len(ls)), make([]string, len(ls))
	for i, l := range ls {
		dirs[i], files[i] = l.dir, l.file
	}
	tos, err := resolveAll(im.r, dirs, files)
	if err != nil {
		return err
	}
	var indexes, absent []lookup
	var reals, missing []string
	for i, l := range ls {
		display, to := path.Join(l.display, l.file), tos[i]
		switch {
		case to.Escapes:
			im.fail(l, im.problem(l.ref, ir.ImportEscapesRoot, "put the text into the workspace, or import a module with git:", "%s leads out of the workspace root through a link", l.ref.Value))
		case to.Loop:
			im.fail(l, im.problem(l.ref, ir.LinkLoop, "", "%s leads through more than %d links, or links that go round", l.ref.Value, maxLinks))
		case to.Type == graph.Absent:
			im.unresolved(l, "there is no %s", display)
			absent, missing = append(absent, l), append(missing, to.Path)
		case inGenerated(to.Path):
			im.unresolved(l, "%s lies among generated files; a module is imported with git:", to.Path)
		case to.Type == graph.Directory && l.at < 0:
			im.unresolved(l, "%s is a directory, and a pipeline is a file", display)
		case to.Type == graph.Directory:
			l.display = display
			indexes, reals = append(indexes, l), append(reals, to.Path)
		case to.Type != graph.Regular:
			im.unresolved(l, "%s is a %s, and an import is a regular file or a directory", display, to.Type.Noun())
		default:
			im.found(l, im.source(display, to.Path))
		}
	}
	if err := im.suggest(absent, missing); err != nil {
		return err
	}
	return im.indexes(indexes, reals)
}

// suggest adds to imports of names that are not there what they may have meant:
// missing are the first components that do not exist. Only a name that leads
// nowhere makes a map depend on what else its directory holds.
func (im *importing) suggest(ls []lookup, missing []string) error {
	var lists []graph.List
	for _, m := range missing {
		lists = append(lists, graph.List{Dir: parent(m), Filter: graph.VisibleFiles}, graph.List{Dir: parent(m), Filter: graph.Directories})
	}
	states, err := graph.NeedAll(im.r, lists)
	if err != nil {
		return err
	}
	for i, l := range ls {
		names := slices.Concat(states[2*i].Names, states[2*i+1].Names)
		s := Suggest(base(missing[i]), names[:min(len(names), maxSuggested)])
		if l.at >= 0 && s != "" {
			im.v.Resolutions[l.at].Problem.Hint = "did you mean " + join(parent(missing[i]), s) + "?"
		}
	}
	return nil
}

// maxSuggested bounds how many names of a directory are compared with a missing one.
const maxSuggested = 2000

// source describes a file of the project or of a module in its tree.
func (im *importing) source(display, real string) Source {
	s := Source{Path: display, Real: real, Syntax: syntaxOf(base(real)), Home: im.Home}
	if s.Syntax == Manifest {
		s.Home.Root, s.Home.Opaque = parent(real), true
	}
	return s
}

// syntaxOf tells how an imported file is written (D-101).
func syntaxOf(name string) Syntax {
	switch {
	case name == ManifestName:
		return Manifest
	case name == contextNames[0] || name == contextNames[1]:
		return YAML
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".txt":
		return Markdown
	}
	return Text
}

// inGenerated reports paths in a state directory's generated parts, because what a
// module holds is only known through its pin, and in git's own directory, where
// passwords may stand.
func inGenerated(real string) bool {
	segs := segments(real)
	for i, s := range segs[:max(len(segs)-1, 0)] {
		if s == ".git" {
			return true
		}
		if (s == ".mwp" || s == ".mwp.d") && slices.Contains(generated, segs[i+1]) {
			return true
		}
	}
	return false
}

// indexNames are what makes a directory importable, in the order in which they win
// (D-30, D-31).
var indexNames = [...]string{ManifestName, contextNames[0], contextNames[1], contextNames[2], ".mwp"}

// IndexNames lists the files that can stand for an imported directory, in the order
// in which they win.
func IndexNames() []string { return slices.Clone(indexNames[:len(indexNames)-1]) }

// indexes finds the file that a directory stands for.
func (im *importing) indexes(ls []lookup, reals []string) error {
	probes := make([]graph.Probe, len(reals))
	for i, real := range reals {
		probes[i] = graph.NewProbe(real, indexNames[:]...)
	}
	states, err := graph.NeedAll(im.r, probes)
	if err != nil {
		return err
	}
	for i, l := range ls {
		if l.ref.Kind == ImportWorkspace && im.Home.Root == "" {
			if err := im.noteMember(l); err != nil {
				return err
			}
		}
		if err := im.index(l, reals[i], states[i].Types); err != nil {
			return err
		}
	}
	return nil
}

// index picks a directory's manifest, else its context file, else, for a member,
// its anchor.
func (im *importing) index(l lookup, real string, types []graph.FileType) error {
	names := indexNames[:len(indexNames)-1]
	if im.Home.Opaque {
		names = names[:1]
	}
	for i, name := range names {
		if types[i] == graph.Absent {
			continue
		}
		if i == 1 && types[2] != graph.Absent {
			im.unresolved(l, "%s has %s and %s", l.display, names[1], names[2])
			return nil
		}
		to := resolved{Path: join(real, name), Type: types[i]}
		if to.Type == graph.Link {
			var err error
			if to, err = resolve(im.r, real, name); err != nil {
				return err
			}
		}
		switch {
		case to.Escapes:
			im.fail(l, im.problem(l.ref, ir.ImportEscapesRoot, "", "%s leads out of the workspace root through the link %s", l.ref.Value, join(l.display, name)))
		case to.Loop || to.Type != graph.Regular:
			im.unresolved(l, "%s is no regular file", join(l.display, name))
		default:
			s := im.source(join(l.display, name), to.Path)
			if name != base(to.Path) {
				s.Syntax = syntaxOf(name)
			}
			if i == 0 {
				s.Home.Root, s.Home.Opaque = real, true
			}
			im.found(l, s)
		}
		return nil
	}
	anchor := types[len(types)-1]
	if im.Home.Opaque || l.ref.Kind != ImportWorkspace || anchor != graph.Regular && anchor != graph.Directory {
		im.unresolved(l, "%s has no %s to stand for it", l.display, alternatives(im.Home.Opaque))
		return nil
	}
	config := anchorPlace{dir: l.display, Sighting: graph.Sighting{Type: anchor}}.config()
	im.found(l, Source{Path: config, Real: anchorPlace{dir: real, Sighting: graph.Sighting{Type: anchor}}.config(), Syntax: AnchorText})
	return nil
}

func alternatives(opaque bool) string {
	if opaque {
		return ManifestName
	}
	return ManifestName + " and no " + contextNames[2]
}

// workspace looks up the root anchor's configuration and state directory.
func (im *importing) workspace() error {
	if im.known {
		return nil
	}
	im.known = true
	probe, err := graph.Need(im.r, graph.NewProbe(".", ".mwp"))
	if err != nil {
		return err
	}
	t := probe.Types[0]
	switch t {
	case graph.Directory:
		im.state = ".mwp"
	case graph.Regular:
		im.state = ".mwp.d"
	default:
		return nil
	}
	im.ws, err = graph.Need(im.r, ConfigFile{Path: anchorPlace{dir: ".", Sighting: graph.Sighting{Type: t}}.config()})
	return err
}

// noteMember notes a workspace import of a directory that is no member (D-31).
func (im *importing) noteMember(l lookup) error {
	if err := im.workspace(); err != nil {
		return err
	}
	if l.display == "." || MemberMatch(im.ws.Config.Members, l.display) {
		return nil
	}
	res := &im.v.Resolutions[l.at]
	res.Notes = append(res.Notes, im.note(l.ref, ir.ImplicitMember, "", "%s is no member of the workspace; it is imported as if it were", l.display))
	return nil
}
