package nodes

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// LintPlace is what is wrong in one directory: with its context files, its anchor
// and its manifest, what they import, and what a map of the directory costs
// (R-232 to R-236, D-79). It changes with these files and with what they lead to.
type LintPlace struct {
	Chain
	// Found is what the scan found there, as encodeFound writes it.
	Found string
}

// LintPlaceValue is the directory's findings.
type LintPlaceValue struct {
	Findings []ir.Diagnostic
	// Row is set when HasRow is: the directory has a map.
	HasRow bool
	Row    ir.TargetRow
	// Contexts counts the context files, Used the keys of the git modules that they
	// draw on; Missing are those that a fetch could provide, as written.
	Contexts      int
	Used, Missing []string
}

var lintPlaceKind = graph.Define(graph.Definition[LintPlaceValue, LintPlace]{
	Name: "lint-place", Version: 5, Order: 74,
	Params: func(c *cas.Coder, n *LintPlace) {
		c.String(&n.Target)
		c.Bool(&n.Explicit)
		c.Bool(&n.AllowFloating)
		c.String(&n.Profile)
		c.String(&n.Found)
	},
	Value: func(c *cas.Coder, v *LintPlaceValue) {
		cas.Slice(c, &v.Findings, codeDiagnostic)
		if c.Bool(&v.HasRow); v.HasRow {
			codeTargetRow(c, &v.Row)
		}
		c.Int(&v.Contexts)
		c.Strings(&v.Used)
		c.Strings(&v.Missing)
	},
})

// Kind returns the kind "lint-place".
func (LintPlace) Kind() *graph.Kind { return lintPlaceKind }

// encodeFound writes a scan's finds as one comparable text. A NUL byte is in no
// name.
func encodeFound(found []graph.Found) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(f.Name + "\x00" + strconv.Itoa(int(f.Type)) + "\x00")
	}
	return b.String()
}

func decodeFound(s string) []graph.Found {
	parts := strings.Split(s, "\x00")
	var found []graph.Found
	for i := 0; i+1 < len(parts); i += 2 {
		t, _ := strconv.Atoi(parts[i+1])
		found = append(found, graph.Found{Name: parts[i], Type: graph.FileType(t)})
	}
	return found
}

// placeMarks sorts a directory's finds.
type placeMarks struct {
	contexts, instructions, strays []string
	anchor                         graph.FileType
	manifest                       bool
}

func marksOf(found []graph.Found) (m placeMarks) {
	for _, f := range found {
		switch {
		case f.Name == ".mwp":
			if f.Type == graph.Regular || f.Type == graph.Directory {
				m.anchor = f.Type
			}
		case slices.Contains(contextNames[:], f.Name):
			m.contexts = append(m.contexts, f.Name)
		case slices.ContainsFunc(contextNames[:], func(n string) bool { return strings.EqualFold(n, f.Name) }):
			m.strays = append(m.strays, f.Name)
		case f.Name == ManifestName:
			m.manifest = f.Type == graph.Regular
		case strings.EqualFold(f.Name, ".mwp") || strings.EqualFold(f.Name, ManifestName) || slices.Contains(ignoreNames[:], strings.ToLower(f.Name)):
		default:
			m.instructions = append(m.instructions, f.Name)
		}
	}
	return m
}

// placing is a LintPlace being computed.
type placing struct {
	LintPlace
	r graph.Reader
	v LintPlaceValue
	m placeMarks
}

func (p *placing) add(code ir.Code, severity, source string, line int, hint, format string, args ...any) {
	p.v.Findings = append(p.v.Findings, ir.Diagnostic{
		Code: code, Severity: severity, Source: source, Line: line, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// Compute looks at everything in the directory.
func (n LintPlace) Compute(r graph.Reader) (LintPlaceValue, error) {
	p := placing{LintPlace: n, r: r, m: marksOf(decodeFound(n.Found))}
	settings, err := graph.Need(r, Settings{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return p.v, err
	}
	cascade, err := graph.Need(r, Cascade{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return p.v, err
	}
	p.names(settings)
	p.v.Findings = append(p.v.Findings, settings.Problems...)
	if err := p.chain(); err != nil {
		return p.v, err
	}
	if err := p.contexts(cascade); err != nil {
		return p.v, err
	}
	if p.m.manifest {
		if err := p.manifest(); err != nil {
			return p.v, err
		}
	}
	if p.m.anchor != graph.Absent {
		if err := p.anchor(); err != nil {
			return p.v, err
		}
	}
	slices.Sort(p.v.Used)
	p.v.Used = slices.Compact(p.v.Used)
	p.v.Findings = sortedOnce(p.v.Findings)
	return p.v, nil
}

// names reports what the names in the directory say.
func (p *placing) names(settings SettingsValue) {
	for _, name := range p.m.strays {
		p.add(ir.ContextNameCase, ir.SeverityWarning, join(p.Target, name), 0, "rename it to "+strings.ToLower(name),
			"this is no context file: names are compared exactly, on every system")
	}
	for _, name := range p.m.contexts {
		file := join(p.Target, name)
		for _, i := range p.m.instructions {
			if slices.Contains(settings.BoundaryFiles, i) {
				p.add(ir.ContextBesideInstructions, ir.SeverityWarning, file, 0, "keep one of them: another tool would load the same text twice",
					"it stands beside %s, which another tool reads", i)
			}
		}
		if p.Target == "." {
			p.add(ir.RootContext, ir.SeverityNote, file, 0, "the root's description and directories belong in the anchor",
				"a context file at the root speaks for the whole workspace")
		}
	}
}

// chain takes over what the directory's map costs, or why it has none.
func (p *placing) chain() error {
	c, err := graph.Need(p.r, p.Chain)
	if err != nil {
		return err
	}
	p.v.Findings = append(p.v.Findings, c.Findings...)
	if len(c.Refusal) == 0 {
		p.v.HasRow, p.v.Row = true, c.Row
		return nil
	}
	for _, d := range c.Refusal {
		if d.Code != ir.BoundaryUninitialised {
			p.v.Findings = append(p.v.Findings, d)
			continue
		}
		for _, name := range p.m.contexts {
			p.add(ir.ContextClosed, ir.SeverityWarning, join(p.Target, name), 0, d.Hint, "it is never loaded: %s closes this directory", d.Source)
		}
	}
	return nil
}

// contexts looks at the directory's context files and what they import. What the
// cascade has to say about their names and types is in its findings.
func (p *placing) contexts(cascade CascadeValue) error {
	if len(p.m.contexts) == 0 {
		return nil
	}
	for _, d := range cascade.Problems {
		if parent(d.Source) == p.Target && d.Code != ir.BoundaryUninitialised {
			p.v.Findings = append(p.v.Findings, d)
		}
	}
	for _, name := range p.m.contexts {
		s := Source{Path: join(p.Target, name), Real: join(p.Target, name), Syntax: syntaxOf(name)}
		to, err := resolve(p.r, p.Target, name)
		if err != nil {
			return err
		}
		if to.Escapes || to.Loop || to.Type != graph.Regular {
			continue
		}
		s.Real = to.Path
		p.v.Contexts++
		if err := p.document(s); err != nil {
			return err
		}
	}
	return nil
}

// document reports on one context file or manifest.
func (p *placing) document(s Source) error {
	v, err := graph.Need(p.r, Context{Path: s.Path, Real: s.Real, Syntax: s.Syntax})
	if err != nil {
		return err
	}
	p.v.Findings = append(p.v.Findings, v.Problems...)
	if s.Syntax == YAML && v.Header.SchemaLine == 0 && !failed(v.Problems) {
		p.add(ir.SchemaMissing, ir.SeverityWarning, s.Path, 1, "schema: 1", "expected the key schema, found none")
	}
	if err := p.pasted(s); err != nil {
		return err
	}
	if failed(v.Problems) {
		return nil
	}
	imported, err := p.imports(s, &v.Header)
	if err != nil {
		return err
	}
	return p.guards(s, &v.Header, &imported)
}

// pasted looks for a map in a context file: whoever reads the next map could not
// tell where it begins (D-59). It also looks for the example that nobody replaced.
func (p *placing) pasted(s Source) error {
	f, err := graph.Need(p.r, graph.File{Path: s.Real})
	if err != nil || f.Type != graph.Regular {
		return err
	}
	if i := bytes.Index(f.Bytes, []byte("<!-- mwp workspace map |")); i >= 0 {
		line, _ := position(f.Bytes, i)
		p.add(ir.MapPasted, ir.SeverityWarning, s.Path, line, "delete the pasted map", "the text holds the first line of a workspace map")
	}
	if i := bytes.Index(f.Bytes, []byte(ExampleText)); i >= 0 {
		line, _ := position(f.Bytes, i)
		p.add(ir.ExampleText, ir.SeverityNote, s.Path, line, "write what holds here, or delete the file", "this is still the example of `mwp init`, and maps carry it")
	}
	return nil
}

// ExampleText is the text of a context file that init makes (D-76).
const ExampleText = "What this directory is for, and what to know before changing anything in it."

// imports reports on the closure of one document, and returns it.
func (p *placing) imports(s Source, h *Header) (c ClosureValue, err error) {
	if len(h.Imports)+pipelinesOf(h) == 0 {
		return c, nil
	}
	if c, err = graph.Need(p.r, Closure{Imports{Source: s, AllowFloating: p.AllowFloating}}); err != nil {
		return c, err
	}
	first := len(p.v.Findings)
	p.v.Findings = slices.Concat(p.v.Findings, c.Refusal, c.Cycles, c.Warnings, c.Notes)
	for i := range p.v.Findings[first:] {
		// A map works with such a URL; a file that everybody gets must not have one (U-45).
		if d := &p.v.Findings[first+i]; d.Code == ir.ImportSecret {
			d.Severity = ir.SeverityError
		}
	}
	for i := range c.References {
		ref := &c.References[i]
		if ref.Problem.Code != "" {
			p.v.Findings = append(p.v.Findings, ref.Problem)
		}
		if ref.Missing != "" {
			p.v.Missing = append(p.v.Missing, ref.Missing)
		}
		if ref.Home.PinKind == pin.Branch && ref.Via == ImportGit {
			p.v.Findings = append(p.v.Findings, floating(ref))
		}
		// What an import names counts as used, whether it came or a fallback stood in.
		for _, value := range []string{ref.Home.Key, ref.Import.Value, ref.Import.Git} {
			if used, err := pin.ParseRef(value); err == nil {
				p.v.Used = append(p.v.Used, used.Key())
			}
		}
	}
	return c, nil
}

// manifest reports on a module that lies in the tree.
func (p *placing) manifest() error {
	file := join(p.Target, ManifestName)
	s := Source{Path: file, Real: file, Syntax: Manifest, Home: Home{Root: p.Target, Opaque: true}}
	v, err := graph.Need(p.r, Context{Path: file, Real: file, Syntax: Manifest})
	if err != nil {
		return err
	}
	if d, bad := unnamed(&v.Header, ir.SeverityError); bad && !failed(v.Problems) {
		d.Source = file
		p.v.Findings = append(p.v.Findings, d)
	}
	if d, bad := barren(&v.Header); bad && v.Header.Module.Name != "" && !failed(v.Problems) {
		d.Source = file
		p.v.Findings = append(p.v.Findings, d)
	}
	return p.document(s)
}
