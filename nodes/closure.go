package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Closure is everything that one context file imports, directly or through what it
// imports: each reference once, nearest first, with what its target's header says.
// It changes with headers, paths and pins on the way, not with bodies. Cycles are
// data here (D-26): the walk enters each document once.
type Closure struct{ Imports }

// Reference is one import in a closure, in the order in which the walk met it:
// by depth, then as declared.
type Reference struct {
	// Importer is the index of the reference that led to the declaring document, -1
	// for the closure's root; Depth counts imports from there, 1 for its own.
	Importer, Depth int
	// Declared is the declaring document's path, Import what it says there.
	Declared string
	Import   ImportRef
	Via      string
	// Resource is zero and Problem set when the reference does not resolve.
	Resource
	Problem ir.Diagnostic
	Missing string
	// Same is the index of an earlier reference to the same resource, -1 if this is
	// the first.
	Same int
	// Module is the index of the module that the text belongs to, -1 for none.
	Module int

	// What the target's header says; Body is the text of an AnchorText.
	Layer, Priority, MaxTokens OptionalInt
	LayerLine                  int
	Owners                     []string
	Guards                     []Guard
	Empty                      bool
	Name, Body                 string
}

// ModuleUse is one module in a closure.
type ModuleUse struct {
	Name, Version, Description string
	// Source is the file that makes it a module.
	Source string
	// Key and Commit name a git module, and are "" for one in the project's tree.
	Key, Commit, PinKind string
	Pipelines            []string
}

// ClosureValue is the walk's result.
type ClosureValue struct {
	References []Reference
	Modules    []ModuleUse
	// Cycles are import cycles as findings, each once (D-26).
	Cycles []ir.Diagnostic
	// Refusal holds what leaves no map, cycles aside; Warnings what concerns headers
	// on the way; Notes what only lint reports.
	Refusal, Warnings, Notes []ir.Diagnostic
}

var closureKind = graph.Define(graph.Definition[ClosureValue, Closure]{
	Name: "closure", Version: 3, Order: 48,
	Params: func(c *cas.Coder, n *Closure) { codeSource(c, &n.Source); c.Bool(&n.AllowFloating) },
	Value: func(c *cas.Coder, v *ClosureValue) {
		cas.Slice(c, &v.References, codeReference)
		cas.Slice(c, &v.Modules, func(c *cas.Coder, m *ModuleUse) {
			for _, s := range []*string{&m.Name, &m.Version, &m.Description, &m.Source, &m.Key, &m.Commit, &m.PinKind} {
				c.String(s)
			}
			c.Strings(&m.Pipelines)
		})
		for _, l := range []*[]ir.Diagnostic{&v.Cycles, &v.Refusal, &v.Warnings, &v.Notes} {
			cas.Slice(c, l, codeDiagnostic)
		}
	},
})

func codeReference(c *cas.Coder, r *Reference) {
	c.Int(&r.Importer)
	c.Int(&r.Depth)
	c.String(&r.Declared)
	codeImportRef(c, &r.Import)
	c.String(&r.Via)
	codeSource(c, &r.Source)
	c.String(&r.Section)
	codeDiagnostic(c, &r.Problem)
	c.String(&r.Missing)
	c.Int(&r.Same)
	c.Int(&r.Module)
	r.Layer.code(c)
	r.Priority.code(c)
	r.MaxTokens.code(c)
	c.Int(&r.LayerLine)
	c.Strings(&r.Owners)
	cas.Slice(c, &r.Guards, codeGuard)
	c.Bool(&r.Empty)
	c.String(&r.Name)
	c.String(&r.Body)
}

// Kind returns the kind "closure".
func (Closure) Kind() *graph.Kind { return closureKind }

// maxImportDepth bounds a chain of imports (D-102).
const maxImportDepth = 32

// tracing is a Closure being walked.
type tracing struct {
	Closure
	r graph.Reader
	v ClosureValue
	// first maps a resource to its first reference, modules a module's root to its
	// place in v.Modules, entered the documents whose imports were read.
	first, modules map[string]int
	entered        map[string]bool
	edges          []importEdge
}

// document is a document whose imports are read next, and the reference that led
// to it.
type document struct {
	Source
	from int
}

// Compute walks breadth first, so that the first reference to a resource is the
// one nearest to the root, which is the one that counts (D-37).
func (n Closure) Compute(r graph.Reader) (ClosureValue, error) {
	w := tracing{Closure: n, r: r, first: map[string]int{}, modules: map[string]int{}, entered: map[string]bool{n.Real: true}}
	level := []document{{n.Source, -1}}
	for depth := 1; len(level) > 0; depth++ {
		var err error
		if level, err = w.level(level, depth); err != nil {
			return w.v, err
		}
		if i := slices.IndexFunc(w.v.References, tooDeep); i >= 0 {
			w.limit(w.v.References[i].Declared, fmt.Sprintf("imports lead more than %d files deep", maxImportDepth))
			break
		}
		if len(w.v.References) > maxCandidates {
			w.limit(n.Path, fmt.Sprintf("more than %d imports", maxCandidates))
			w.v.References = nil
			break
		}
	}
	w.v.Cycles = cycles(w.edges)
	w.v.Refusal = sortedOnce(w.v.Refusal)
	w.v.Warnings = sortedOnce(w.v.Warnings)
	w.v.Notes = sortedOnce(w.v.Notes)
	return w.v, nil
}

// tooDeep reports an import beyond the bound. One that leads back to what is known
// from nearer by makes no chain longer.
func tooDeep(ref Reference) bool { return ref.Depth > maxImportDepth && ref.Same < 0 }

func (w *tracing) limit(source, message string) {
	w.v.Refusal = append(w.v.Refusal, ir.Diagnostic{
		Code: ir.LimitExceeded, Severity: ir.SeverityError, Source: source, Message: message,
		Hint: "import fewer files, or fewer levels",
	})
}

func sortedOnce(ds []ir.Diagnostic) []ir.Diagnostic {
	ir.SortDiagnostics(ds)
	return dropRepeated(ds)
}

// level reads the imports of all documents of one depth and returns the documents
// of the next.
func (w *tracing) level(docs []document, depth int) ([]document, error) {
	imports := make([]Imports, len(docs))
	for i, d := range docs {
		imports[i] = Imports{Source: d.Source, AllowFloating: w.AllowFloating}
	}
	values, err := graph.NeedAll(w.r, imports)
	if err != nil {
		return nil, err
	}
	at := len(w.v.References)
	for i, v := range values {
		w.v.Refusal = append(w.v.Refusal, v.Refusal...)
		w.v.Warnings = append(w.v.Warnings, v.Lost...)
		if docs[i].from >= 0 && docs[i].Syntax == Manifest {
			w.v.Modules[w.v.References[docs[i].from].Module].Pipelines = v.Pipelines
		}
		for _, res := range v.Resolutions {
			w.resolution(docs[i], &res, depth)
		}
		// A file of imports alone must not fill memory before the limit is looked at.
		if len(w.v.References) > maxCandidates {
			return nil, nil
		}
	}
	return w.enter(at)
}

// resolution appends the references that one import stands for.
func (w *tracing) resolution(d document, res *Resolution, depth int) {
	w.v.Notes = append(w.v.Notes, res.Notes...)
	base := Reference{
		Importer: d.from, Depth: depth, Declared: d.Path, Import: res.Import, Via: res.Via,
		Problem: res.Problem, Missing: res.Missing, Same: -1, Module: -1,
	}
	for _, t := range res.Targets {
		ref := base
		ref.Resource = t
		i := len(w.v.References)
		if same, ok := w.first[t.key()]; ok {
			ref.Same = same
		} else {
			w.first[t.key()] = i
		}
		w.v.References = append(w.v.References, ref)
	}
	if len(res.Targets) == 0 {
		w.v.References = append(w.v.References, base)
	}
}

// enter reads the headers of the references from index at on, and returns the
// documents among them whose imports were not read before.
func (w *tracing) enter(at int) ([]document, error) {
	var next []document
	var group []graph.Task
	var of []int
	for i := at; i < len(w.v.References); i++ {
		switch ref := &w.v.References[i]; {
		case ref.Real == "" || ref.Same >= 0:
		case ref.Syntax == AnchorText:
			group, of = append(group, ConfigFile{Path: ref.Real}), append(of, i)
		default:
			group, of = append(group, Context{Path: ref.Path, Real: ref.Real, Syntax: ref.Syntax}), append(of, i)
		}
	}
	var values []any
	if len(group) > 0 {
		var err error
		if values, err = w.r.Read(group); err != nil {
			return nil, err
		}
	}
	imports := map[int]bool{}
	for j, v := range values {
		ref := &w.v.References[of[j]]
		switch v := v.(type) {
		case ConfigFileValue:
			w.anchorText(ref, v)
		case ContextValue:
			w.header(ref, v)
			imports[of[j]] = len(v.Header.Imports)+pipelinesOf(&v.Header) > 0
		}
	}
	for i := at; i < len(w.v.References); i++ {
		if ref := &w.v.References[i]; ref.Same >= 0 {
			w.repeat(ref)
		}
	}
	if err := w.sections(at); err != nil {
		return nil, err
	}
	// What leads nowhere imports nothing, and no cycle passes it.
	for i := at; i < len(w.v.References); i++ {
		ref := &w.v.References[i]
		if ref.Real == "" || ref.Problem.Code != "" {
			continue
		}
		w.edges = append(w.edges, importEdge{
			from: w.v.importer(w.Real, ref), to: ref.Real, fromPath: ref.Declared, toPath: ref.Path, line: ref.Import.Line,
		})
		if imports[i] && !w.entered[ref.Real] {
			w.entered[ref.Real] = true
			next = append(next, document{ref.Source, i})
		}
	}
	return next, nil
}

// runDir returns where a module's guards run: in the directory of the project's file
// that leads to the module (D-85).
func (w *tracing) runDir(ref *Reference) string {
	for at := ref.Importer; at >= 0; at = w.v.References[at].Importer {
		if o := &w.v.References[at]; !o.foreign() {
			return parent(o.Real)
		}
	}
	return parent(w.Real)
}

func pipelinesOf(h *Header) int {
	if h.Module == nil {
		return 0
	}
	return len(h.Module.Pipelines)
}

// repeat copies what the first reference to a resource learnt.
func (w *tracing) repeat(ref *Reference) {
	first := &w.v.References[ref.Same]
	ref.Layer, ref.Priority, ref.MaxTokens, ref.LayerLine = first.Layer, first.Priority, first.MaxTokens, first.LayerLine
	ref.Owners, ref.Guards, ref.Empty, ref.Name, ref.Body, ref.Module = first.Owners, first.Guards, first.Empty, first.Name, first.Body, first.Module
}

// header takes over what a document says about itself.
func (w *tracing) header(ref *Reference, v ContextValue) {
	h := &v.Header
	for _, d := range v.Problems {
		if d.Severity == ir.SeverityError {
			w.v.Refusal = append(w.v.Refusal, d)
		} else {
			w.v.Warnings = append(w.v.Warnings, d)
		}
	}
	if h.Layer != nil {
		ref.Layer, ref.LayerLine = OptionalInt{Set: true, Value: *h.Layer}, h.LayerLine
	}
	if h.Priority != nil {
		ref.Priority = OptionalInt{Set: true, Value: *h.Priority}
	}
	if h.MaxTokens != nil {
		ref.MaxTokens = OptionalInt{Set: true, Value: *h.MaxTokens}
	}
	ref.Owners, ref.Guards, ref.Empty = h.Owners, guardsOf(h, ref.Source, w.runDir(ref)), v.Empty
	if h.ScopeLine > 0 {
		w.v.Notes = append(w.v.Notes, ir.Diagnostic{
			Code: ir.ScopeIgnored, Severity: ir.SeverityNote, Source: ref.Path, Line: h.ScopeLine,
			Message: "scope has no effect where the file is imported; the importer's place decides",
		})
	}
	if ref.Home.Root == "" {
		return
	}
	if ref.Syntax == Manifest {
		ref.Name = h.Module.Name
		if d, bad := unnamed(h, ir.SeverityWarning); bad {
			d.Source = ref.Path
			w.v.Warnings = append(w.v.Warnings, d)
		}
		for _, h := range HiddenText([]byte(h.Module.Name+" "+h.Module.Version+" "+h.Module.Description), true) {
			w.v.Warnings = append(w.v.Warnings, ir.Diagnostic{
				Code: ir.HiddenText, Severity: ir.SeverityWarning, Source: ref.Path, Line: 1,
				Message: "found a " + h.What + " in the module's name, version or description, which a reader does not see: " + h.Text,
			})
		}
		if !ref.Layer.Set {
			ref.Layer = OptionalInt{Set: true, Value: moduleLayer}
		}
		w.module(ref, ModuleUse{Name: h.Module.Name, Version: h.Module.Version, Description: h.Module.Description})
		return
	}
	w.module(ref, ModuleUse{})
}

// anchorText takes over an anchor's name and description.
func (w *tracing) anchorText(ref *Reference, v ConfigFileValue) {
	w.v.Warnings = append(w.v.Warnings, v.Problems...)
	if failed(v.Problems) {
		w.v.Refusal = append(w.v.Refusal, v.Problems...)
	}
	ref.Name, ref.Body = v.Config.Name, identityText(v.Config.Name, v.Config.Description)
	ref.Empty = ref.Body == ""
	if ref.Home.Root != "" {
		w.module(ref, ModuleUse{Name: v.Config.Name, Description: v.Config.Description})
	}
}

// module finds the module that a reference belongs to, or begins one.
func (w *tracing) module(ref *Reference, m ModuleUse) {
	i, ok := w.modules[ref.Home.Root]
	if !ok {
		m.Source, m.Key, m.Commit, m.PinKind = ref.Path, ref.Home.Key, ref.Home.Commit, ref.Home.PinKind
		if m.Name == "" {
			m.Name = cmp.Or(repositoryName(ref.Home), base(ref.Home.Root))
		}
		i = len(w.v.Modules)
		w.modules[ref.Home.Root] = i
		w.v.Modules = append(w.v.Modules, m)
	}
	ref.Module = i
}

// repositoryName is what a module is called that has no name of its own.
func repositoryName(h Home) string {
	if h.Dir != "" {
		return base(h.Dir)
	}
	ref, err := pin.ParseRef(h.Key)
	if err != nil {
		return ""
	}
	repository := ref.Repository()
	return repository[strings.LastIndexAny(repository, "/:")+1:]
}

// sections checks that the sections named by references from index at on exist
// (D-116).
func (w *tracing) sections(at int) error {
	var of []int
	var ns []Sections
	for i := at; i < len(w.v.References); i++ {
		if ref := &w.v.References[i]; ref.Section != "" && ref.Problem.Code == "" {
			of, ns = append(of, i), append(ns, Sections{Real: ref.Real, Syntax: ref.Syntax})
		}
	}
	values, err := graph.NeedAll(w.r, ns)
	if err != nil {
		return err
	}
	for j, headings := range values {
		ref := &w.v.References[of[j]]
		matches := 0
		for _, h := range headings {
			if strings.TrimSpace(h.Text) == ref.Section {
				matches++
			}
		}
		if matches == 1 {
			ref.Empty = false
			continue
		}
		message, hint := SectionProblem(ref.Section, headings)
		ref.Problem = ir.Diagnostic{
			Code: ir.SectionUnknown, Severity: ir.SeverityError, Source: ref.Declared,
			Line: ref.Import.Line, Column: ref.Import.Column,
			Message: ref.Import.Kind + ": " + ref.Import.Value + " does not resolve: " + message, Hint: hint,
		}
	}
	return nil
}

// chain returns the sources from the closure's root to a reference's importer.
func (v *ClosureValue) chain(root string, i int) []string {
	var out []string
	for at := v.References[i].Importer; at >= 0; at = v.References[at].Importer {
		out = append(out, v.References[at].Path)
	}
	out = append(out, root)
	slices.Reverse(out)
	return out
}
