package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Anchor finds the sub-project and the workspace root of a path (D-03 to D-07).
// It changes when an anchor on the path or above the root appears, vanishes or
// changes form, and when the configuration of one of them changes.
type Anchor struct {
	// Target is the path, as typed; whether it is a file or a directory, or exists,
	// does not matter here.
	Target string
	// Explicit is set when the root was given by --root: then it is the workspace
	// root whatever lies above (D-04).
	Explicit bool
}

// AnchorValue says where a path belongs.
type AnchorValue struct {
	// Up is how many levels above the reader's root the workspace root lies. It is
	// 0 in any evaluation that goes on to a map; more means: begin again there.
	Up int
	// Root is the workspace root's directory, "." when Up is 0 and the evaluation
	// began where it should.
	Root string
	// Sub is the sub-project's directory, "." when it is the workspace root.
	Sub string
	// Workspace and Project are the anchors' files as the map names them, "" where
	// there is none; the Config ones are where their configuration is read, and the
	// State ones their state directories (D-01).
	Workspace, Project             string
	WorkspaceConfig, ProjectConfig string
	WorkspaceState, ProjectState   string
	Problems                       []ir.Diagnostic
}

var anchorKind = graph.Define(graph.Definition[AnchorValue, Anchor]{
	Name: "anchor", Version: 1, Order: 20,
	Params: func(c *cas.Coder, n *Anchor) { c.String(&n.Target); c.Bool(&n.Explicit) },
	Value: func(c *cas.Coder, v *AnchorValue) {
		c.Int(&v.Up)
		c.String(&v.Root)
		c.String(&v.Sub)
		for _, s := range []*string{&v.Workspace, &v.Project, &v.WorkspaceConfig, &v.ProjectConfig, &v.WorkspaceState, &v.ProjectState} {
			c.String(s)
		}
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "anchor".
func (Anchor) Kind() *graph.Kind { return anchorKind }

// anchorPlace is one anchor on the way up.
type anchorPlace struct {
	up  int    // levels above the reader's root; 0 for the root and below
	dir string // relative to the reader's root
	graph.Sighting
}

// config returns where the anchor's configuration is read.
func (p anchorPlace) config() string {
	if p.Type == graph.Directory {
		return join(p.dir, ".mwp/config.toml")
	}
	return join(p.dir, ".mwp")
}

// Compute walks up twice: to the nearest anchor, and from there to the nearest
// one that declares members.
func (n Anchor) Compute(r graph.Reader) (v AnchorValue, err error) {
	above, err := graph.Need(r, graph.Above{Dir: n.Target})
	if err != nil {
		return v, err
	}
	v.Root, v.Sub = ".", "."
	var places []anchorPlace
	segs := segments(n.Target)
	for i, s := range above.Sightings {
		p := anchorPlace{Sighting: s, dir: "."}
		if s.Up <= len(segs) {
			if d := strings.Join(segs[:len(segs)-s.Up], "/"); d != "" {
				p.dir = d
			}
		} else {
			p.up = s.Up - len(segs)
			p.dir = strings.TrimSuffix(strings.Repeat("../", p.up), "/")
		}
		if n.Explicit && p.up > 0 {
			continue
		}
		switch {
		case s.Type == graph.Regular, s.Type == graph.Directory, s.Name == ".git":
			places = append(places, p)
		default:
			// The nearest thing named .mwp decides: going on to a farther anchor would
			// give a different map that looks just as good (D-03).
			if i == 0 {
				v.Problems = []ir.Diagnostic{{
					Code: ir.ConfigInvalid, Severity: ir.SeverityError, Source: join(p.dir, ".mwp"),
					Message: fmt.Sprintf("expected a file or a directory, found a %s", s.Type.Noun()),
					Hint:    "replace it by a regular file or directory, or name the root with --root",
				}}
				return v, nil
			}
		}
	}
	if len(places) == 0 || places[0].Name == ".git" {
		// No anchor at all: a root found by .git or given by --root, empty configuration.
		if len(places) > 0 {
			v.Up = places[0].up
			if v.Up == 0 && !n.Explicit {
				v.Root = places[0].dir
			}
		}
		return v, nil
	}
	sub := places[0]
	ws := places[len(places)-1]
	if !n.Explicit {
		if ws, v.Problems, err = workspace(r, places); err != nil {
			return v, err
		}
	}
	if v.Up = ws.up; v.Up > 0 {
		return v, nil
	}
	if !n.Explicit {
		v.Root = ws.dir
	}
	// A directory that --root names may have no anchor of its own; the nearest one
	// below it is then a sub-project of it.
	if !n.Explicit || ws.dir == "." {
		if v.Workspace, v.WorkspaceConfig, v.WorkspaceState, err = describeAnchor(r, ws); err != nil {
			return v, err
		}
	}
	v.Project, v.ProjectConfig, v.ProjectState = v.Workspace, v.WorkspaceConfig, v.WorkspaceState
	if sub.dir != "." {
		v.Sub = sub.dir
		v.Project, v.ProjectConfig, v.ProjectState, err = describeAnchor(r, sub)
	}
	return v, err
}

// describeAnchor returns the name, configuration file and state directory of an
// anchor. A directory without config.toml is an anchor too, and then the
// directory is what the map names.
func describeAnchor(r graph.Reader, p anchorPlace) (name, config, state string, err error) {
	if p.Type == graph.Regular {
		f := join(p.dir, ".mwp")
		return f, f, f + ".d", nil
	}
	state = join(p.dir, ".mwp")
	c, err := graph.Need(r, ConfigFile{Path: p.config()})
	if err != nil {
		return "", "", "", err
	}
	if !c.Present {
		return state, p.config(), state, nil
	}
	return p.config(), p.config(), state, nil
}

// workspace returns the nearest anchor with members, if that one lists the
// sub-project, else the sub-project's own anchor and a warning (D-05, D-07).
func workspace(r graph.Reader, places []anchorPlace) (anchorPlace, []ir.Diagnostic, error) {
	sub := places[0]
	for i, p := range places {
		c, err := graph.Need(r, ConfigFile{Path: p.config()})
		if err != nil {
			return sub, nil, err
		}
		if failed(c.Problems) {
			return sub, unknownMembership(i, p, c.Problems), nil
		}
		if len(c.Config.Members) == 0 {
			continue
		}
		if i == 0 {
			return p, nil, nil
		}
		from := pathFrom(p, sub)
		if MemberMatch(c.Config.Members, from) {
			return p, nil, nil
		}
		return sub, []ir.Diagnostic{{
			Code: ir.NotAMember, Severity: ir.SeverityWarning, Source: p.config(),
			Message: fmt.Sprintf("the workspace at %s encloses this project and does not list it, so the project stands alone", p.dir),
			Hint:    fmt.Sprintf("to join it, add %q to members in %s", from, p.config()),
		}}, nil
	}
	return sub, nil, nil
}

// unknownMembership returns the findings about an anchor that cannot be read. Of
// one that encloses the project they say why they matter: whether it lists the
// project cannot be told.
func unknownMembership(i int, p anchorPlace, problems []ir.Diagnostic) []ir.Diagnostic {
	if i == 0 {
		return problems
	}
	return append(slices.Clone(problems), ir.Diagnostic{
		Code: ir.ConfigInvalid, Severity: ir.SeverityError, Source: p.config(),
		Message: "it encloses this project, and whether it lists it as a member cannot be told",
		Hint:    "mend the file, or name this project's root with --root",
	})
}

// pathFrom returns sub's directory as seen from p's.
func pathFrom(p, sub anchorPlace) string {
	if p.up == 0 {
		if p.dir == "." {
			return sub.dir
		}
		return strings.TrimPrefix(sub.dir, p.dir+"/")
	}
	from := p.Below
	if sub.up > 0 {
		from = strings.TrimSuffix(from, "/"+sub.Below)
	} else if sub.dir != "." {
		from = join(from, sub.dir)
	}
	return from
}
