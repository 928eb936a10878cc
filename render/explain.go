package render

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// ExplainOptions select what Explain prints.
type ExplainOptions struct {
	// NotLoaded leaves only the candidates that did not make it (D-110).
	NotLoaded bool
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
	// Suggestions are stack modules that the project might import; advice is not
	// context, so it stands here and never in a map (D-78).
	Suggestions []string
	// Instructions are the names of other tools' instruction files as the project
	// has them ([boundary] files), for Why.
	Instructions []string
	// Guards says more of the map's guards than the map does; one is found by its key.
	// It depends on the user and on the machine, and so stands in no map.
	Guards []ir.GuardAccount
}

// Explain prints the trace of m for people: what loaded, from where and why,
// what did not load and why not, its guards with all that decides about them, then
// warnings and suggestions (R-201, D-56).
// Every field of every trace record is in it. Its own words are ASCII; names are
// escaped, because they come from strangers and go to a terminal.
func Explain(m *ir.Map, o ExplainOptions) []byte {
	p := printer{m: m, color: o.Color}
	if !o.NotLoaded {
		p.header()
		p.totals()
	} else {
		p.heading("Not loaded for " + target(m))
	}
	var in, out []*ir.TraceRecord
	for _, r := range inMapOrder(m) {
		if r.Status == ir.Included || r.Status == ir.Expanded {
			in = append(in, r)
		} else {
			out = append(out, r)
		}
	}
	if o.NotLoaded {
		if len(out) == 0 {
			p.line("  nothing: every candidate is in the map")
		}
		p.records(out)
		return p.buf
	}
	p.group("Loaded", in)
	p.group("Not loaded", out)
	p.accounts(o.Guards, nil)
	if len(m.Warnings) > 0 {
		p.heading("Warnings: " + strconv.Itoa(len(m.Warnings)))
		for i := range m.Warnings {
			p.diagnostic(&m.Warnings[i])
		}
	}
	if len(o.Suggestions) > 0 {
		p.heading("Suggestions")
		for _, s := range o.Suggestions {
			p.wrap("  - ", "    ", ir.EscapeControls(s))
		}
	}
	return p.buf
}

// Why prints the account of one path: its trace records, or what else the map
// has to do with it, and the guards that stand for it. A directory stands for the
// context file or anchor in it.
// found is false for a path that was never a candidate; the text then says what
// would have made it one (D-110).
func Why(m *ir.Map, file string, o ExplainOptions) (text []byte, found bool) {
	if !strings.Contains(file, "://") {
		file = path.Clean(file)
	}
	p := printer{m: m, color: o.Color}
	p.heading("Why " + ir.EscapeControls(file) + " in the map of " + target(m))
	modules := namedModules(m, file)
	var exact, inside, below []*ir.TraceRecord
	for _, r := range inMapOrder(m) {
		dir, ok := place(r.Source)
		switch {
		case r.Source == file || modules[r.Source]:
			exact = append(exact, r)
		case ok && dir == file:
			inside = append(inside, r)
		case r.Declared != "" && strings.HasPrefix(r.Source, file+"/"):
			below = append(below, r)
		}
	}
	if len(exact)+len(inside) == 0 {
		exact = below
	}
	if exact = append(exact, inside...); len(exact) > 0 {
		p.records(exact)
		sources := make([]string, len(exact))
		for i, r := range exact {
			sources[i] = r.Source
		}
		p.accounts(o.Guards, sources)
		return p.buf, true
	}
	if s := mentioned(m, file); s != "" {
		p.wrap("  ", "  ", s)
		return p.buf, true
	}
	p.wrap("  ", "  ", "never a candidate: "+notCandidate(m, file, o.Instructions))
	return p.buf, false
}

// namedModules returns the sources of what goes by a name in a map's headings, or by
// a module's name or URL: entries, and the manifest that stands for a module.
func namedModules(m *ir.Map, name string) map[string]bool {
	out := map[string]bool{}
	for _, e := range m.Layers.All() {
		if e.Origin != nil && e.Origin.Module != "" && moduleLabel(e) == name {
			out[e.Source] = true
		}
	}
	for _, u := range m.Modules {
		if name == u.Name || u.URL != "" && (name == u.URL || name == u.URL+"@"+u.Ref) {
			out[u.Source] = true
		}
	}
	return out
}

// notCandidate gives the rule that keeps a path from being looked at (D-110).
func notCandidate(m *ir.Map, file string, instructions []string) string {
	dir, name := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	onPath := dir == "" || m.Target != nil && (*m.Target == dir || strings.HasPrefix(*m.Target, dir+"/"))
	switch name {
	case ".mwp-context.md", ".mwp-context.yaml", ".mwp-context.yml":
		if onPath {
			return "the cascade looked for this name in this directory, and there is none"
		}
		return "its directory is not on the way from the root to the target; a directory beside the way is loaded only where an import names it"
	}
	if slices.Contains(instructions, name) {
		return "the instruction file of another tool, which mwp does not read; below the root it marks a boundary"
	}
	return "a map carries anchors, the context files on the way from the root to the target, and what those import; this is none of them"
}

// mentioned says what a map has to do with a file that it does not resolve.
func mentioned(m *ir.Map, file string) string {
	listed := func(ls []ir.Listed) bool {
		return slices.ContainsFunc(ls, func(l ir.Listed) bool { return path.Clean(l.Path) == file })
	}
	switch {
	case m.Target != nil && *m.Target == file:
		return "the target itself: a map leads to it and does not carry its text"
	case listed(m.Intents):
		return "listed as an active intent: named in the map, never opened"
	case listed(m.Pipelines):
		return "listed as a pipeline: named in the map, never opened"
	case listed(m.Notes):
		return "listed as a project note: named in the map, never opened"
	}
	for _, s := range m.Signals {
		if s.Path == file {
			return "listed under Signals, by the rule " + ir.EscapeControls(s.Rule) + ": named in the map, never opened"
		}
	}
	for i := range m.SubApplications {
		if s := &m.SubApplications[i]; path.Clean(s.Path) == file {
			return "listed as a sub-application: " + ir.EscapeControls(s.Reason)
		}
	}
	for i := range m.Directories {
		if d := &m.Directories[i]; path.Clean(d.Path) == file {
			return "listed as a directory: " + ir.EscapeControls(d.Reason)
		}
	}
	return ""
}

func target(m *ir.Map) string {
	if m.Target == nil {
		return "(project root)"
	}
	return ir.EscapeControls(*m.Target)
}

// inMapOrder returns the trace by layer, then as the entries stand in the map,
// then as traced; records without a layer come last.
func inMapOrder(m *ir.Map) []*ir.TraceRecord {
	entries := m.Layers.All()
	position := make(map[string]int, len(entries))
	for i, e := range entries {
		position[e.Source] = i
	}
	rs := make([]*ir.TraceRecord, len(m.Trace))
	for i := range m.Trace {
		rs[i] = &m.Trace[i]
	}
	rank := func(r *ir.TraceRecord) (layer, pos int) {
		layer, pos = ir.LayerCount, len(entries)
		if r.Layer != nil {
			layer = *r.Layer
		}
		if n, ok := position[r.Source]; ok && r.Status == ir.Included {
			pos = n
		}
		return layer, pos
	}
	slices.SortStableFunc(rs, func(a, b *ir.TraceRecord) int {
		la, pa := rank(a)
		lb, pb := rank(b)
		if la != lb {
			return la - lb
		}
		return pa - pb
	})
	return rs
}

// printer writes lines for a terminal of about lineWidth columns.
type printer struct {
	buf   []byte
	m     *ir.Map
	color bool
}

const lineWidth = 96

// SGR codes.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *printer) line(s string) {
	p.buf = append(p.buf, s...)
	p.buf = append(p.buf, '\n')
}

func (p *printer) paint(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *printer) heading(s string) {
	if len(p.buf) > 0 {
		p.buf = append(p.buf, '\n')
	}
	p.line(p.paint(bold, s))
}

// wrap prints s after first, broken at spaces; further lines start with rest.
// A word longer than a line is not broken: it is a path that someone may copy.
func (p *printer) wrap(first, rest, s string) {
	line, words := first, 0
	for word := range strings.SplitSeq(s, " ") {
		if words > 0 && len(line)+1+len(word) > lineWidth {
			p.line(line)
			line, words = rest, 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	p.line(line)
}

// field prints one aligned "name  value" line, nothing for an empty value.
func (p *printer) field(indent, name, value string) {
	if value == "" {
		return
	}
	const column = 11
	pad := strings.Repeat(" ", max(1, column-len(name)))
	p.wrap(indent+name+pad, indent+strings.Repeat(" ", len(name)+len(pad)), value)
}

func escapeAll(ss []string, sep string) string {
	return ir.EscapeControls(strings.Join(ss, sep))
}

func (p *printer) header() {
	m := p.m
	p.heading("Map of " + target(m))
	orNone := func(s string) string {
		if s == "" {
			return "none"
		}
		return ir.EscapeControls(s)
	}
	p.field("  ", "kind", ir.EscapeControls(m.Kind)+", schema "+ir.EscapeControls(m.SchemaVersion))
	p.field("  ", "root", ir.EscapeControls(m.Root))
	if m.Anchors.Workspace == "" {
		p.field("  ", "workspace", "none, the root has no anchor")
	} else {
		p.field("  ", "workspace", ir.EscapeControls(m.Anchors.Workspace))
	}
	p.field("  ", "project", orNone(m.Anchors.Project))
	p.field("  ", "counter", orNone(m.TokenCounter))
	if m.ReadOnly {
		p.field("  ", "read-only", p.paint(red, "yes, a guard is failing"))
	} else if slices.ContainsFunc(m.Verifications, func(v ir.Verification) bool { return v.Status == ir.FailedCheck }) {
		p.field("  ", "read-only", "no, what fails is overridden")
	} else {
		p.field("  ", "read-only", "no")
	}
	p.field("  ", "hash", ir.EscapeControls(m.IRHash))
	if d := m.Delta; d != nil {
		s := "session " + ir.EscapeControls(d.Session) + ", mode " + ir.EscapeControls(d.Mode)
		if d.Reason != "" {
			s += ", reason " + ir.EscapeControls(d.Reason)
		}
		p.field("  ", "delta", s)
		p.field("  ", "sent", escapeAll(d.Sent, ", "))
		p.field("  ", "skipped", escapeAll(d.Skipped, ", "))
	}
}

// totals draws each layer's tokens against its cap.
func (p *printer) totals() {
	p.heading("Tokens")
	for i := range ir.LayerCount {
		total, limit := *p.m.Totals.At(i), *p.m.Budgets.At(i)
		s := "  " + ir.LayerName(i) + "  " + bar(total, limit) + "  " + pad(strconv.Itoa(total), 6)
		switch {
		case limit == nil:
			s += "  no cap"
		case total > *limit:
			s += " of " + strconv.Itoa(*limit) + p.paint(red, ", over by "+strconv.Itoa(total-*limit))
		default:
			s += " of " + strconv.Itoa(*limit)
		}
		p.line(s)
	}
	s := "  all " + strings.Repeat(" ", barWidth+2) + "  " + pad(strconv.Itoa(p.m.Totals.All), 6)
	if n := p.m.Totals.RenderedTokens; n > 0 {
		s += "  in entries, " + strconv.Itoa(n) + " in the rendered text"
	}
	p.line(s)
}

const barWidth = 24

// bar shows total as a part of limit. Any use shows, and a bar is full only when
// the cap is reached.
func bar(total int, limit *int) string {
	if limit == nil {
		return strings.Repeat(" ", barWidth+2)
	}
	n := barWidth
	if total < *limit {
		n = int(int64(max(total, 0)) * barWidth / int64(*limit))
		if n == 0 && total > 0 {
			n = 1
		}
	}
	if total <= 0 {
		n = 0
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", barWidth-n) + "]"
}

func pad(s string, width int) string {
	return strings.Repeat(" ", max(0, width-len(s))) + s
}

func (p *printer) group(name string, rs []*ir.TraceRecord) {
	p.heading(name + ": " + strconv.Itoa(len(rs)))
	p.records(rs)
}

func (p *printer) records(rs []*ir.TraceRecord) {
	for _, r := range rs {
		p.record(r)
	}
}

// record prints one candidate's account, every field of it.
func (p *printer) record(r *ir.TraceRecord) {
	const indent = "       "
	layer := "--"
	if r.Layer != nil {
		layer = ir.LayerName(*r.Layer)
	}
	code := yellow
	switch r.Status {
	case ir.Included, ir.Expanded:
		code = green
	case ir.Failed, ir.Unresolved:
		code = red
	}
	p.line("  " + layer + "   " + ir.EscapeControls(r.Source) + "  " + p.paint(code, ir.EscapeControls(r.Status)))
	if r.SourcePath != r.Source {
		p.field(indent, "path", ir.EscapeControls(r.SourcePath))
	}
	why := ir.EscapeControls(r.Reason)
	if r.Rule != "" {
		why = strings.TrimPrefix(why+" ["+ir.EscapeControls(r.Rule)+"]", " ")
	}
	p.field(indent, "why", why)
	if r.DeduplicatedBy != "" {
		p.field(indent, "kept", ir.EscapeControls(r.DeduplicatedBy))
	}
	p.field(indent, "declared", ir.EscapeControls(r.Declared))
	p.field(indent, "imports", escapeAll(r.ImportsChain, " -> "))
	size := strconv.Itoa(r.Tokens) + " tokens"
	if r.Priority != nil {
		size += ", priority " + strconv.Itoa(*r.Priority)
	}
	if r.ByteRange != nil {
		size += ", bytes " + strconv.Itoa(r.ByteRange[0]) + " to " + strconv.Itoa(r.ByteRange[1])
	}
	p.field(indent, "size", size)
	p.field(indent, "owners", escapeAll(r.Owners, ", "))
	if r.Status == ir.Included {
		p.guards(indent, r.Source)
	}
	p.field(indent, "digest", ir.EscapeControls(r.Digest))
}

func (p *printer) guards(indent, source string) {
	for i := range ir.LayerCount {
		for j := range *p.m.Layers.At(i) {
			if e := &(*p.m.Layers.At(i))[j]; e.Source == source {
				for k := range e.Guards {
					p.field(indent, "guard", brief(e.Guards[k].Cmd)+": "+ir.EscapeControls(e.Guards[k].Status))
				}
			}
		}
	}
}

func (p *printer) diagnostic(d *ir.Diagnostic) {
	code := yellow
	switch d.Severity {
	case ir.SeverityError:
		code = red
	case ir.SeverityNote:
		code = bold
	}
	text, hint, _ := strings.Cut(d.String(), "\n")
	if tag, rest, ok := strings.Cut(text, "]: "); ok && p.color {
		text = p.paint(code, tag+"]") + ": " + rest
	}
	p.wrap("  ", "    ", text)
	if hint != "" {
		p.wrap("    ", "    ", hint)
	}
}
