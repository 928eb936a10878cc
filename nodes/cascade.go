package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Cascade is the walk from the workspace root to a target's directory:
// for each directory which context file it has, whether an anchor or a boundary
// file marks it, and where it really lies. It sees existence only, so that no
// edit of a file changes it; an entry that appears, vanishes or changes type in
// one of these directories does.
type Cascade struct {
	// Target is the path as typed, "." for the root.
	Target   string
	Explicit bool
}

// ContextFile is one context file on the cascade.
type ContextFile struct {
	// Path is where the cascade found it, Real where its links lead.
	Path, Real string
	Syntax     Syntax
	// Shadowed is set for a Markdown file beside a YAML one (N-02).
	Shadowed bool
	// Skipped names the boundary file that keeps it out, "" when it is in.
	Skipped string
}

// Level is one directory of the cascade.
type Level struct {
	Dir, Real string
	Contexts  []ContextFile
	// Boundary is the instruction file that makes this directory another tool's, ""
	// when there is none, it has an anchor, or the mode is transparent.
	Boundary string
}

// CascadeValue is the walk's result.
type CascadeValue struct {
	Levels []Level
	// Project is the sub-project's directory: the nearest anchor's, or below it the
	// nearest boundary directory under mode "soft" (D-20).
	Project string
	// TargetIsDir is set when the target is the last level itself.
	TargetIsDir bool
	Problems    []ir.Diagnostic
}

var cascadeKind = graph.Define(graph.Definition[CascadeValue, Cascade]{
	Name: "cascade", Version: 1, Order: 40,
	Params: func(c *cas.Coder, n *Cascade) { c.String(&n.Target); c.Bool(&n.Explicit) },
	Value: func(c *cas.Coder, v *CascadeValue) {
		cas.Slice(c, &v.Levels, func(c *cas.Coder, l *Level) {
			c.String(&l.Dir)
			codeReal(c, l.Dir, &l.Real)
			cas.Slice(c, &l.Contexts, func(c *cas.Coder, f *ContextFile) {
				c.String(&f.Path)
				codeReal(c, f.Path, &f.Real)
				f.Syntax.code(c)
				c.Bool(&f.Shadowed)
				c.String(&f.Skipped)
			})
			c.String(&l.Boundary)
		})
		c.String(&v.Project)
		c.Bool(&v.TargetIsDir)
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "cascade".
func (Cascade) Kind() *graph.Kind { return cascadeKind }

// contextNames are the names a context file may have, in the order in which
// they win (R-043, N-02).
var contextNames = [...]string{".mwp-context.yaml", ".mwp-context.yml", ".mwp-context.md"}

// walk is a Cascade being computed.
type walk struct {
	r        graph.Reader
	anchor   AnchorValue
	settings SettingsValue
	v        CascadeValue
}

// Compute walks the target's components.
func (n Cascade) Compute(r graph.Reader) (CascadeValue, error) {
	w := walk{r: r}
	var err error
	if w.anchor, err = graph.Need(r, Anchor(n)); err != nil {
		return w.v, err
	}
	if w.settings, err = graph.Need(r, Settings(n)); err != nil {
		return w.v, err
	}
	w.v.Project = w.anchor.Sub
	dir, real := ".", "."
	rest := segments(n.Target)
	for {
		next := ""
		if len(rest) > 0 {
			next = rest[0]
		}
		types, err := w.level(dir, real, next)
		if err != nil || failed(w.v.Problems) {
			return w.v, err
		}
		if next == "" {
			w.v.TargetIsDir = true
			return w.v, nil
		}
		if state := w.stateBelow(dir); state != "" && state == join(dir, next) {
			return w.v, w.insideState(n.Target, state, real, rest)
		}
		path := join(dir, next)
		to := resolved{Path: join(real, next), Type: types[len(types)-1]}
		if to.Type == graph.Link {
			if to, err = resolve(r, real, next); err != nil {
				return w.v, err
			}
		}
		switch {
		case to.Escapes:
			w.refuse(ir.TargetOutsideRoot, path, "the target's path leads out of the workspace root through a link", "")
			return w.v, nil
		case to.Loop:
			w.refuse(ir.LinkLoop, path, fmt.Sprintf("more than %d links, or links that go round", maxLinks), "")
			return w.v, nil
		case to.Type == graph.Directory:
			dir, real, rest = path, to.Path, rest[1:]
		case len(rest) == 1 && to.Type != graph.Absent:
			return w.v, nil
		default:
			w.warn(ir.TargetMissing, n.Target, fmt.Sprintf("the target does not exist; this is the map of %s", spoken(dir)), "")
			return w.v, nil
		}
	}
}

// spoken is what a message calls a directory.
func spoken(dir string) string {
	if dir == "." {
		return "the root"
	}
	return dir
}

func (w *walk) refuse(code ir.Code, source, message, hint string) {
	w.v.Problems = append(w.v.Problems, ir.Diagnostic{Code: code, Severity: ir.SeverityError, Source: source, Message: message, Hint: hint})
}

func (w *walk) warn(code ir.Code, source, message, hint string) {
	w.v.Problems = append(w.v.Problems, ir.Diagnostic{Code: code, Severity: ir.SeverityWarning, Source: source, Message: message, Hint: hint})
}

// level looks into one directory and appends it. It returns the types of what
// was probed; the last is next's.
func (w *walk) level(dir, real, next string) ([]graph.FileType, error) {
	names := append([]string{".mwp"}, contextNames[:]...)
	names = append(names, w.settings.BoundaryFiles...)
	if next != "" {
		names = append(names, next)
	}
	probe, err := graph.Need(w.r, graph.NewProbe(real, names...))
	if err != nil {
		return nil, err
	}
	types := probe.Types
	l := Level{Dir: dir, Real: real}
	anchored := types[0] == graph.Regular || types[0] == graph.Directory
	if dir != "." && !anchored && w.settings.BoundaryMode != ModeTransparent {
		for i, b := range w.settings.BoundaryFiles {
			if types[1+len(contextNames)+i] != graph.Absent {
				l.Boundary = b
				break
			}
		}
	}
	aboveMember := w.anchor.Sub != dir && within(w.anchor.Sub, dir)
	if l.Boundary != "" && !aboveMember {
		if w.settings.BoundaryMode == ModeOpaque {
			w.refuse(ir.BoundaryUninitialised, join(dir, l.Boundary),
				fmt.Sprintf("%s belongs to another tool's project (it has %s and no .mwp), so there is no map inside it", dir, l.Boundary),
				fmt.Sprintf("run `mwp init %s`, or set mode = \"soft\" under [boundary] in the workspace configuration", dir))
			return types, nil
		}
		w.v.Project = dir
	}
	if err := w.contexts(&l, types[1:1+len(contextNames)]); err != nil {
		return nil, err
	}
	if by := w.closedBy(dir, l.Boundary, aboveMember); by != "" {
		for i := range l.Contexts {
			l.Contexts[i].Skipped = by
		}
	}
	w.v.Levels = append(w.v.Levels, l)
	return types, nil
}

// closedBy returns the boundary file that keeps a level's contexts out: one at
// this level or above it, where the cascade resumes at a member's anchor further
// down (D-19). Under mode "soft" a boundary is a member of its own.
func (w *walk) closedBy(dir, boundary string, aboveMember bool) string {
	if !aboveMember || w.settings.BoundaryMode != ModeOpaque {
		return ""
	}
	if boundary != "" {
		return join(dir, boundary)
	}
	for _, l := range w.v.Levels {
		if l.Boundary != "" {
			return join(l.Dir, l.Boundary)
		}
	}
	return ""
}

// contexts adds the context files of a level, given the types of their names.
func (w *walk) contexts(l *Level, types []graph.FileType) error {
	for i, t := range types {
		if t == graph.Absent {
			continue
		}
		path := join(l.Dir, contextNames[i])
		f := ContextFile{Path: path, Real: join(l.Real, contextNames[i]), Syntax: Markdown}
		if strings.HasSuffix(path, "ml") {
			f.Syntax = YAML
		}
		if t == graph.Link {
			to, err := resolve(w.r, l.Real, contextNames[i])
			if err != nil {
				return err
			}
			switch {
			case to.Escapes:
				w.refuse(ir.ImportEscapesRoot, path, "the context file is a link that leads out of the workspace root", "put the text into the workspace, or import a module")
				continue
			case to.Loop:
				w.refuse(ir.LinkLoop, path, "the context file is a link that leads back to itself", "")
				continue
			case to.Type == graph.Absent:
				w.refuse(ir.ContextNotRegular, path, "the context file is a link to something that does not exist", "")
				continue
			}
			t, f.Real = to.Type, to.Path
		}
		if t != graph.Regular {
			w.refuse(ir.ContextNotRegular, path, fmt.Sprintf("expected a regular file, found a %s", t.Noun()), "remove it, or rename it if it means something else")
			continue
		}
		l.Contexts = append(l.Contexts, f)
	}
	if len(l.Contexts) < 2 {
		return nil
	}
	if l.Contexts[1].Syntax == YAML {
		w.refuse(ir.TwoContextFiles, l.Contexts[1].Path, fmt.Sprintf("the directory has %s and %s", base(l.Contexts[0].Path), base(l.Contexts[1].Path)), "keep one of them")
		return nil
	}
	md := &l.Contexts[len(l.Contexts)-1]
	md.Shadowed = true
	w.warn(ir.StaleContextMD, md.Path, fmt.Sprintf("ignored beside %s", base(l.Contexts[0].Path)), "delete the one that is out of date")
	return nil
}

// stateBelow returns the state directory in dir, "" when it has none.
func (w *walk) stateBelow(dir string) string {
	for _, s := range []string{w.anchor.WorkspaceState, w.anchor.ProjectState} {
		if s != "" && parent(s) == dir {
			return s
		}
	}
	return ""
}

// generated are the parts of a state directory that are not authored (D-106).
var generated = []string{"modules", "cache", "sessions"}

// insideState handles a target in a state directory: authored files there map
// like files beside the anchor.
func (w *walk) insideState(target, state, real string, rest []string) error {
	if len(rest) > 1 && slices.Contains(generated, rest[1]) {
		w.refuse(ir.TargetInState, target, fmt.Sprintf("%s holds generated files, which have no map", join(state, rest[1])), "name a file of the project")
		return nil
	}
	to, err := resolve(w.r, real, strings.Join(rest, "/"))
	if err != nil {
		return err
	}
	switch {
	case to.Escapes:
		w.refuse(ir.TargetOutsideRoot, target, "the target's path leads out of the workspace root through a link", "")
	case to.Loop:
		w.refuse(ir.LinkLoop, target, "links that go round", "")
	case to.Type == graph.Absent:
		w.warn(ir.TargetMissing, target, fmt.Sprintf("the target does not exist; this is the map of %s", spoken(parent(state))), "")
	}
	return nil
}
