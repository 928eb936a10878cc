package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Layers is every candidate for a map with its layer, order and outcome, before
// budgets: what the anchors declare, what the context files on the cascade say in
// their headers, and which of them scope and window leave out. It changes with
// headers and configuration, not with bodies.
type Layers struct {
	Target   string
	Explicit bool
	// Orientation is set for the map of the whole project (D-11).
	Orientation bool
	// Window replaces every declared window for this run; nil leaves them (D-15).
	Window OptionalInt
}

// OptionalInt is an int that may be absent, as a comparable value.
type OptionalInt struct {
	Set   bool
	Value int
}

func (o *OptionalInt) code(c *cas.Coder) {
	c.Bool(&o.Set)
	if o.Set {
		c.Int(&o.Value)
	}
}

// Candidate is one thing that the resolution looked at.
type Candidate struct {
	ID, Source, Name string
	// Real and Syntax say where the body is; Text is the body of an anchor's entry,
	// which is generated.
	Real   string
	Syntax Syntax
	Text   string
	Anchor bool

	// Placed is set when a layer was assigned.
	Placed     bool
	Layer      int
	Priority   int
	Scope      string
	Depth      int
	MaxTokens  OptionalInt
	Owners     []string
	Status     string
	Reason     string
	Rule       string
	Declared   string
	Duplicates string
}

// LayersValue is the list of candidates in map order and all findings. Findings
// of severity error mean that there is no map.
type LayersValue struct {
	Candidates []Candidate
	Problems   []ir.Diagnostic
}

var layersKind = graph.Define(graph.Definition[LayersValue, Layers]{
	Name: "layers", Version: 1, Order: 50,
	Params: codeLayers,
	Value: func(c *cas.Coder, v *LayersValue) {
		cas.Slice(c, &v.Candidates, func(c *cas.Coder, k *Candidate) {
			for _, s := range []*string{&k.ID, &k.Source, &k.Name, &k.Real, &k.Text, &k.Scope, &k.Status, &k.Reason, &k.Rule, &k.Declared, &k.Duplicates} {
				c.String(s)
			}
			c.Uint8((*uint8)(&k.Syntax))
			c.Bool(&k.Anchor)
			c.Bool(&k.Placed)
			c.Int(&k.Layer)
			c.Int(&k.Priority)
			c.Int(&k.Depth)
			k.MaxTokens.code(c)
			c.Strings(&k.Owners)
		})
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

func codeLayers(c *cas.Coder, n *Layers) {
	c.String(&n.Target)
	c.Bool(&n.Explicit)
	c.Bool(&n.Orientation)
	n.Window.code(c)
}

// Kind returns the kind "layers".
func (Layers) Kind() *graph.Kind { return layersKind }

// defaultPriority is what an entry has that declares none.
const defaultPriority = 50

// maxCandidates bounds a map (D-102).
const maxCandidates = 2000

// located is a context file with its header and its place on the cascade.
type located struct {
	ContextFile
	ContextValue
	dir   string
	depth int
}

// layering is what layers are assigned from.
type layering struct {
	anchor   AnchorValue
	settings SettingsValue
	cascade  CascadeValue
	contexts []located
	// ws and sub are the configurations of workspace and member, nil without one.
	ws, sub *ConfigFileValue
}

func (n Layers) read(r graph.Reader) (in layering, err error) {
	at := Settings{Target: n.Target, Explicit: n.Explicit}
	if in.anchor, err = graph.Need(r, Anchor(at)); err != nil {
		return in, err
	}
	if in.settings, err = graph.Need(r, at); err != nil {
		return in, err
	}
	if in.cascade, err = graph.Need(r, Cascade(at)); err != nil {
		return in, err
	}
	if in.contexts, err = readContexts(r, in.cascade); err != nil {
		return in, err
	}
	in.ws, in.sub, err = configs(r, in.anchor)
	return in, err
}

// problems returns the findings of everything read, as a list of its own.
func (in *layering) problems() []ir.Diagnostic {
	ds := slices.Concat(in.settings.Problems, in.cascade.Problems)
	for _, c := range in.contexts {
		ds = append(ds, c.Problems...)
	}
	return ds
}

// identity reports whether the root anchor says what the project is; then depths
// count from the root (D-10, D-17).
func (in *layering) identity() bool { return in.ws != nil && in.ws.Config.SuppliesIdentity() }

// base is the depth at which L0 lies when layers are inferred (D-17).
func (in *layering) base() int {
	if !in.identity() {
		for _, c := range in.contexts {
			if c.Skipped == "" {
				return c.depth
			}
		}
	}
	return 0
}

// Compute assigns layers (D-17), applies scope (D-16), window (D-14, D-15) and
// deduplication (D-37), and sorts (D-22).
func (n Layers) Compute(r graph.Reader) (v LayersValue, err error) {
	in, err := n.read(r)
	if err != nil {
		return v, err
	}
	if v.Problems = in.problems(); !failed(v.Problems) {
		if v.Candidates, err = n.candidates(r, &in); err != nil {
			return v, err
		}
		for _, c := range in.contexts {
			v.Problems = append(v.Problems, c.unsupported()...)
		}
		if len(v.Candidates) > maxCandidates {
			v.Problems = append(v.Problems, ir.Diagnostic{
				Code: ir.LimitExceeded, Severity: ir.SeverityError, Source: n.Target,
				Message: fmt.Sprintf("%d entries and imports on the path to the target, the limit is %d", len(v.Candidates), maxCandidates),
			})
		}
	}
	ir.SortDiagnostics(v.Problems)
	v.Problems = dropRepeated(v.Problems)
	return v, nil
}

// candidates returns everything that was looked at, each with its outcome, in map
// order.
func (n Layers) candidates(r graph.Reader, in *layering) ([]Candidate, error) {
	last := in.cascade.Levels[len(in.cascade.Levels)-1]
	window, base := n.window(in.settings, in.contexts, last.Dir), in.base()
	var ks []Candidate
	for _, c := range in.contexts {
		k := c.candidate(base, in.cascade.Project)
		if k.Status == "" && c.Header.Scope == ScopeLocal && c.dir != last.Dir {
			k.leaveOut(ir.ExcludedByScope, "scope", fmt.Sprintf("scope: local, and the target is not directly in %s", c.dir))
		}
		k.applyWindow(window, depth(last.Dir))
		ks = append(append(ks, k), c.unresolvedImports()...)
	}
	if in.anchor.Workspace != "" {
		root, err := rootCandidate(r, in.anchor, in.ws)
		if err != nil {
			return nil, err
		}
		ks = append(ks, root)
	}
	if in.sub != nil {
		k := memberCandidate(in.anchor, &in.sub.Config)
		if realDir(in.cascade, in.anchor.Sub) == "." {
			// Reached through a link, the member is the workspace root once more.
			k.Duplicates = in.anchor.Workspace
			k.leaveOut(ir.Deduplicated, "dedup", fmt.Sprintf("the same anchor as %s, reached through a link", in.anchor.Workspace))
		}
		k.applyWindow(window, depth(last.Dir))
		ks = append(ks, k)
	}
	for i := range ks {
		if k := &ks[i]; n.Orientation && k.Status == "" && k.Layer != 0 {
			k.leaveOut(ir.ExcludedByKind, "orientation", "an orientation map carries L0 only; map a target to see it")
		}
	}
	deduplicate(ks)
	settleNameOnly(ks, in.identity())
	for i := range ks {
		if ks[i].Status == "" {
			ks[i].Status = ir.Included
		}
	}
	slices.SortStableFunc(ks, compareCandidates)
	return ks, nil
}

// leaveOut gives a candidate its outcome and the reason.
func (k *Candidate) leaveOut(status, rule, reason string) {
	k.Status, k.Rule, k.Reason = status, rule, reason
}

// applyWindow leaves out what lies more levels above the target's directory than
// the window has. L0 stays, from any level (D-14).
func (k *Candidate) applyWindow(window, targetDepth int) {
	if above := targetDepth - k.Depth; k.Status == "" && k.Layer != 0 && window > 0 && above > window {
		k.leaveOut(ir.ExcludedByWindow, "window", fmt.Sprintf("%d levels above the target's directory, the window is %d", above, window))
	}
}

// realDir returns where a directory of the cascade lies, "" for any other.
func realDir(cascade CascadeValue, dir string) string {
	for _, l := range cascade.Levels {
		if l.Dir == dir {
			return l.Real
		}
	}
	return ""
}

// readContexts returns the cascade's context files, root first, with headers.
func readContexts(r graph.Reader, cascade CascadeValue) ([]located, error) {
	var cs []located
	var ns []Context
	for _, l := range cascade.Levels {
		for _, f := range l.Contexts {
			cs = append(cs, located{ContextFile: f, dir: l.Dir, depth: depth(l.Dir)})
			if f.Skipped == "" && !f.Shadowed {
				ns = append(ns, Context{Path: f.Path, Real: f.Real, Syntax: f.Syntax})
			}
		}
	}
	vs, err := graph.NeedAll(r, ns)
	if err != nil {
		return nil, err
	}
	for i := range cs {
		if cs[i].Skipped == "" && !cs[i].Shadowed {
			cs[i].ContextValue, vs = vs[0], vs[1:]
		}
	}
	return cs, nil
}

// window returns the effective window: the smallest positive opinion (D-15).
func (n Layers) window(s SettingsValue, contexts []located, targetDir string) int {
	if n.Window.Set {
		return n.Window.Value
	}
	w := s.Window
	for _, c := range contexts {
		own := c.Header.Window
		if own == nil || *own == 0 || c.Header.Scope == "local" && c.dir != targetDir {
			continue
		}
		if w == 0 || *own < w {
			w = *own
		}
	}
	return w
}

// candidate returns the context file as a candidate. Its status is set when it
// is out already.
func (c *located) candidate(base int, project string) Candidate {
	k := Candidate{
		ID: c.dir, Source: c.Path, Real: c.Real, Syntax: c.Syntax, Depth: c.depth,
		Scope: c.Header.Scope, Priority: defaultPriority, Owners: c.Header.Owners,
		Reason: "context file on the path to the target", Rule: "cascade",
	}
	if c.dir == "." {
		k.ID = c.Path
	}
	switch {
	case c.Skipped != "":
		k.leaveOut(ir.Boundary, "boundary", fmt.Sprintf("%s closes this directory; the cascade resumes at the member below it", c.Skipped))
		return k
	case c.Shadowed:
		k.leaveOut(ir.Shadowed, "yaml-first", "a YAML context file stands beside it and wins")
		return k
	}
	k.Placed = true
	if c.Header.Priority != nil {
		k.Priority = *c.Header.Priority
	}
	if c.Header.MaxTokens != nil {
		k.MaxTokens = OptionalInt{Set: true, Value: *c.Header.MaxTokens}
	}
	if c.Header.Layer != nil {
		k.Layer = *c.Header.Layer
		k.Reason += fmt.Sprintf("; layer %d (declared in line %d)", k.Layer, c.Header.LayerLine)
	} else {
		limit := 2
		if within(project, c.dir) {
			limit = 1
		}
		k.Layer = max(0, min(c.depth-base, limit))
		k.Reason += fmt.Sprintf("; layer %d (inferred: depth %d, base %d)", k.Layer, c.depth, base)
	}
	if c.Empty {
		k.leaveOut(ir.Empty, "empty", k.Reason+"; it has no body, so there is nothing to show")
	}
	return k
}

// unresolvedImports accounts for the imports a header declares: until they are
// resolved, each is a candidate that did not make it.
func (c *located) unresolvedImports() []Candidate {
	var ks []Candidate
	for _, im := range c.Header.Imports {
		source := im.Value
		if im.Kind == "local" {
			source = join(c.dir, strings.TrimPrefix(im.Value, "./"))
		}
		ks = append(ks, Candidate{
			ID: source, Source: source, Scope: "recursive", Depth: c.depth,
			Status: ir.Unresolved, Rule: "import-" + im.Kind,
			Reason:   "imports are not resolved by this version",
			Declared: fmt.Sprintf("%s:%d", c.Path, im.Line),
		})
	}
	return ks
}

// unsupported warns about what a header declares and this version does not do.
func (c *located) unsupported() []ir.Diagnostic {
	var ds []ir.Diagnostic
	warn := func(line int, message string) {
		ds = append(ds, ir.Diagnostic{Code: ir.UnsupportedYet, Severity: ir.SeverityWarning, Source: c.Path, Line: line, Message: message})
	}
	for _, im := range c.Header.Imports {
		warn(im.Line, fmt.Sprintf("imports are not resolved by this version: %s: %s is not in this map", im.Kind, im.Value))
	}
	for _, g := range c.Header.Guards {
		warn(g.Line, fmt.Sprintf("guards are not evaluated by this version: %s is neither run nor shown", g.label()))
	}
	return ds
}

// label names a guard in messages.
func (g *GuardSpec) label() string {
	return cmp.Or(g.Name, g.Cmd, strings.Join(g.Argv, " "), g.Exists, g.ContainsPath, g.Script)
}

// rootCandidate is the workspace anchor's own entry (D-10).
func rootCandidate(r graph.Reader, a AnchorValue, ws *ConfigFileValue) (Candidate, error) {
	k := Candidate{
		ID: ".", Source: a.Workspace, Anchor: true, Placed: true, Priority: defaultPriority, Scope: "recursive",
		Reason: "the workspace's anchor: name, description and topology", Rule: "anchor",
	}
	if ws == nil {
		return k, nil
	}
	c := &ws.Config
	k.Name = c.Name
	if !c.SuppliesIdentity() {
		if c.Name == "" {
			k.leaveOut(ir.Empty, "empty", "the anchor declares neither name nor description nor directories nor members")
		}
		k.Text = identityText(c.Name, "")
		return k, nil
	}
	var err error
	k.Text, err = topologyText(r, c)
	return k, err
}

// memberCandidate is a member anchor's entry (D-10).
func memberCandidate(a AnchorValue, c *Config) Candidate {
	k := Candidate{
		ID: a.Project, Source: a.Project, Name: c.Name, Anchor: true, Placed: true, Layer: 1,
		Priority: defaultPriority, Scope: "recursive", Depth: depth(a.Sub), Text: identityText(c.Name, c.Description),
		Reason: "the member's anchor: name and description; layer 1", Rule: "anchor",
	}
	if k.Text == "" {
		k.leaveOut(ir.Empty, "empty", "the member's anchor declares neither name nor description")
	}
	return k
}

func identityText(name, description string) string {
	switch {
	case name == "" && description == "":
		return ""
	case description == "":
		return name + "\n"
	case name == "":
		return description + "\n"
	}
	return name + ": " + description + "\n"
}

// topologyText is the overview that a root anchor supplies: its description, one
// line for each [directories] key, then the members without one (D-10).
func topologyText(r graph.Reader, c *Config) (string, error) {
	isDir, err := directoryKeys(r, c)
	if err != nil {
		return "", err
	}
	var lines []string
	listed := map[string]bool{}
	for _, d := range c.Directories {
		listed[d.Key] = true
		line := "- " + d.Key
		if isDir[d.Key] {
			line += "/"
		}
		if d.Role != "" {
			line += " — " + d.Role
		}
		if len(d.Stack) > 0 {
			line += " [" + strings.Join(d.Stack, ", ") + "]"
		}
		lines = append(lines, line)
	}
	var members []string
	for _, m := range c.Members {
		m = strings.TrimSuffix(strings.TrimPrefix(m, "./"), "/")
		literal := !strings.ContainsAny(m, "*?[")
		if strings.HasPrefix(m, "!") || listed[m] || literal && !MemberMatch(c.Members, m) {
			continue
		}
		if literal {
			m += "/"
		}
		members = append(members, m)
	}
	slices.SortFunc(members, ir.ComparePaths)
	for _, m := range slices.Compact(members) {
		lines = append(lines, "- "+m+" — member")
	}
	text := identityText(c.Name, c.Description)
	if len(lines) > 0 {
		if text != "" {
			text += "\n"
		}
		text += strings.Join(lines, "\n") + "\n"
	}
	return text, nil
}

// directoryKeys tells which [directories] keys are directories, with one probe
// for each directory that holds some.
func directoryKeys(r graph.Reader, c *Config) (map[string]bool, error) {
	names := map[string][]string{}
	var dirs []string
	for _, d := range c.Directories {
		p := parent(d.Key)
		if names[p] == nil {
			dirs = append(dirs, p)
		}
		names[p] = append(names[p], base(d.Key))
	}
	probes := make([]graph.Probe, len(dirs))
	for i, d := range dirs {
		probes[i] = graph.NewProbe(d, names[d]...)
	}
	states, err := graph.NeedAll(r, probes)
	if err != nil {
		return nil, err
	}
	isDir := map[string]bool{}
	for i, d := range dirs {
		for j, name := range names[d] {
			isDir[join(d, name)] = states[i].Types[j] == graph.Directory
		}
	}
	return isDir, nil
}

// deduplicate keeps, of the candidates with one real file, the one closest to
// the root (D-37). Candidates come in cascade order, so the first one wins.
func deduplicate(ks []Candidate) {
	first := map[string]string{}
	for i := range ks {
		k := &ks[i]
		if k.Status != "" || k.Real == "" {
			continue
		}
		if winner, ok := first[k.Real]; ok {
			k.Duplicates = winner
			k.leaveOut(ir.Deduplicated, "dedup", fmt.Sprintf("the same file as %s, which is closer to the root", winner))
			continue
		}
		first[k.Real] = k.Source
	}
}

// settleNameOnly leaves out an anchor that has only a name when anything else
// identifies the project (D-10).
func settleNameOnly(ks []Candidate, identity bool) {
	if identity {
		return
	}
	other := slices.ContainsFunc(ks, func(k Candidate) bool { return k.Status == "" && k.Placed && k.Layer == 0 && k.ID != "." })
	for i := range ks {
		if k := &ks[i]; k.Anchor && k.ID == "." && k.Status == "" && other {
			k.leaveOut(ir.Empty, "name-only", "the anchor has only a name, and another entry identifies the project")
		}
	}
}

// compareCandidates is the total order of D-22; what has no layer comes last.
func compareCandidates(a, b Candidate) int {
	if a.Placed != b.Placed {
		if a.Placed {
			return -1
		}
		return 1
	}
	anchorFirst := func(k Candidate) int {
		if k.Anchor {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.Layer, b.Layer),
		cmp.Compare(b.Priority, a.Priority),
		ir.ComparePaths(declaringDir(a), declaringDir(b)),
		cmp.Compare(anchorFirst(a), anchorFirst(b)),
		ir.ComparePaths(a.Source, b.Source),
		cmp.Compare(a.Declared, b.Declared),
	)
}

// declaringDir is the directory a candidate speaks for. An anchor kept in a
// .mwp directory speaks for the directory that holds it.
func declaringDir(k Candidate) string {
	if k.Anchor {
		d := strings.TrimSuffix(k.Source, "/config.toml")
		return rootAsEmpty(parent(d))
	}
	return rootAsEmpty(parent(k.Source))
}

// rootAsEmpty makes "." the smallest path in segment order.
func rootAsEmpty(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}
