package nodes

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// imported returns a candidate for every reference in the context's closure; k is
// the context's own. What the map has to say beside them is added to v.
func (c *located) imported(k *Candidate, w window, v *LayersValue) []Candidate {
	refs := c.closure.References
	ks := make([]Candidate, len(refs))
	guards, ok := c.closure.attach(Source{Path: c.Path, Real: c.Real}, guardsOf(&c.Header, Source{Path: c.Path, Real: c.Real}, ""))
	if !ok {
		v.Problems = append(v.Problems, tooManyGuards(c.Path))
	}
	k.declared = guards[0]
	for i := range refs {
		from := k
		if at := refs[i].Importer; at >= 0 {
			from = &ks[at]
		}
		ks[i] = c.reference(i, from)
		ks[i].declared = guards[i+1]
		w.apply(&ks[i])
	}
	if len(refs) == 0 || k.outside() != "" {
		return ks
	}
	v.Findings = append(v.Findings, c.closure.Warnings...)
	used := make([]bool, len(c.closure.Modules))
	for i := range refs {
		ref := &refs[i]
		if ks[i].outside() != "" {
			continue
		}
		if ref.Problem.Code != "" {
			v.Findings = append(v.Findings, ref.Problem)
		}
		if ref.Missing != "" && !slices.Contains(v.Missing, ref.Missing) {
			v.Missing = append(v.Missing, ref.Missing)
		}
		if ref.Home.PinKind == pin.Branch && ref.Via == ImportGit {
			v.Findings = append(v.Findings, floating(ref))
		}
		if ref.Module >= 0 && !used[ref.Module] {
			used[ref.Module] = true
			v.use(&c.closure.Modules[ref.Module])
		}
	}
	return ks
}

func floating(ref *Reference) ir.Diagnostic {
	value := ref.Import.Value
	if ref.Import.Kind == ImportWorkspace {
		value = ref.Import.Git
	}
	return ir.Diagnostic{
		Code: ir.FloatingRef, Severity: ir.SeverityWarning, Source: ref.Declared, Line: ref.Import.Line, Column: ref.Import.Column,
		Message: fmt.Sprintf("git: %s names a branch; this is what it was at commit %s", pin.Mask(value), short(ref.Home.Commit)),
		Hint:    "name a tag or a commit after the @; `mwp import --update` looks again",
	}
}

// short abbreviates a commit for people.
func short(commit string) string { return commit[:min(len(commit), 12)] }

// use adds a module to the map's lists, with a finding when another version of it
// is there already (D-37).
func (v *LayersValue) use(m *ModuleUse) {
	ref, _ := pin.ParseRef(m.Key)
	url := pin.Ref{URL: ref.URL, Dir: ref.Dir}
	u := ir.Module{Name: m.Name, Version: m.Version, Description: m.Description, Source: m.Source, Ref: ref.Name, SHA: m.Commit}
	if m.Key != "" {
		u.URL = url.Key()
	}
	for _, o := range v.Modules {
		if o.Source == u.Source {
			return
		}
		other, _ := pin.ParseRef(o.URL)
		if u.URL != "" && other.Repository() == ref.Repository() && other.Dir == ref.Dir && o.SHA != u.SHA {
			v.Findings = append(v.Findings, ir.Diagnostic{
				Code: ir.ModuleVersionConflict, Severity: ir.SeverityWarning, Source: u.Source,
				Message: fmt.Sprintf("the map draws on two versions of %s: %s (%s) and %s (%s)", u.URL, o.Ref, short(o.SHA), u.Ref, short(u.SHA)),
				Hint:    "import one version, and ask the authors of modules that pin another to follow",
			})
		}
	}
	v.Modules = append(v.Modules, u)
	for _, p := range m.Pipelines {
		v.Pipelines = append(v.Pipelines, ir.Listed{Path: p, Module: m.Name})
	}
}

// reference makes the candidate for one reference; from is its importer's (D-24).
func (c *located) reference(i int, from *Candidate) Candidate {
	ref := &c.closure.References[i]
	k := Candidate{
		Source: ref.Path, Real: ref.Real, Syntax: ref.Syntax, Section: ref.Section, Name: ref.Name, Text: ref.Body,
		Anchor: ref.Syntax == AnchorText, Dir: c.dir, Depth: c.depth, ImportDepth: ref.Depth,
		Chain: c.closure.chain(c.Path, i), Scope: ScopeRecursive, MaxTokens: ref.MaxTokens, Owners: ref.Owners,
		Declared: fmt.Sprintf("%s:%d", ref.Declared, ref.Import.Line), Rule: "import-" + ref.Via,
	}
	if ref.Real == "" {
		k.Source = unresolvedSource(ref)
	}
	k.ID = k.Source
	if k.Section != "" {
		k.ID += "#" + k.Section
	}
	k.Origin = c.origin(ref)
	k.Placed = ref.Problem.Code == ""
	how := c.place(&k, ref, from)
	k.Reason = k.imported() + how
	switch {
	case from.outside() != "":
		k.leaveOut(from.Status, from.Rule, fmt.Sprintf("%s; it goes with %s: %s", k.imported(), from.Source, from.Reason))
	case ref.Problem.Code != "":
		k.Real = ""
		k.leaveOut(outcome(ref.Problem.Code), k.Rule, ref.Problem.Message)
	case ref.Syntax == Manifest:
		k.leaveOut(ir.Expanded, k.Rule, k.Reason+"; the manifest stands for what it lists, and its own text is not context")
	case ref.Empty && len(ref.Guards) == 0:
		k.leaveOut(ir.Empty, "empty", k.Reason+"; it has no body, so there is nothing to show")
	}
	return k
}

// imported says who imports a candidate, for its reason.
func (k *Candidate) imported() string {
	s := "imported by " + k.Declared
	if k.Section != "" {
		s += fmt.Sprintf(", the section %q", k.Section)
	}
	if o := k.Origin; o != nil {
		s += ", module " + strings.TrimSpace(o.Module+" "+o.Version)
		if o.SHA != "" {
			s += " at commit " + short(o.SHA)
		}
	}
	return s
}

// place gives an imported file its layer and priority: its own layer, else the
// importer's; and a priority below the importer's, so that foreign text cannot
// outrank the project's (D-24).
func (c *located) place(k *Candidate, ref *Reference, from *Candidate) string {
	k.Layer = from.Layer
	how := fmt.Sprintf("; layer %d (%s's)", k.Layer, from.Source)
	switch {
	case ref.Layer.Set && ref.LayerLine > 0:
		k.Layer = ref.Layer.Value
		how = fmt.Sprintf("; layer %d (declared in line %d)", k.Layer, ref.LayerLine)
	case ref.Layer.Set:
		k.Layer = ref.Layer.Value
		how = fmt.Sprintf("; layer %d (a module's)", k.Layer)
	}
	own := from.Priority
	if ref.Priority.Set {
		own = ref.Priority.Value
	}
	// The floor must not lift an import above an importer that lies below it.
	k.Priority = max(min(0, from.Priority), min(own, from.Priority-1))
	return how
}

// origin names the module that a reference's text comes from.
func (c *located) origin(ref *Reference) *ir.Origin {
	if ref.Module < 0 {
		return nil
	}
	m := &c.closure.Modules[ref.Module]
	o := &ir.Origin{Module: m.Name, Version: m.Version, SHA: m.Commit, Path: strings.TrimPrefix(ref.Real, ref.Home.Root+"/")}
	if m.Key != "" {
		r, _ := pin.ParseRef(m.Key)
		o.Ref = r.Name
		o.URL = pin.Ref{URL: r.URL, Dir: r.Dir}.Key()
	}
	return o
}

// outcome is the status of an import that did not resolve: refused, or not found.
func outcome(code ir.Code) string {
	switch code {
	case ir.UnresolvedImport, ir.FloatingRef, ir.SectionUnknown:
		return ir.Unresolved
	}
	return ir.Failed
}

// unresolvedSource is what the trace calls an import that led nowhere.
func unresolvedSource(ref *Reference) string {
	switch ref.Import.Kind {
	case ImportLocal, ImportWorkspace:
		if ref.Import.Refused.Code != "" {
			break
		}
		file, _ := ref.Import.Target()
		if ref.Import.Kind == ImportLocal {
			file = path.Join(parent(ref.Declared), file)
		}
		return pin.Mask(file)
	case ImportGit:
		return pin.Mask(ref.Import.Value)
	}
	if strings.TrimSpace(ref.Import.Value) == "" {
		return strconv.Quote(ref.Import.Value)
	}
	return pin.Mask(ref.Import.Value)
}
