package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Surroundings is what a map names without loading it: intents, pipelines,
// project notes, the directories that other maps or other tools cover, and, where
// the configuration asks for them, signals (D-11, D-21, D-55, D-94, D-83). It changes
// when a file appears in or vanishes from the listed directories, and with the roles
// that configurations declare.
type Surroundings struct {
	Target      string
	Explicit    bool
	Orientation bool
}

// SurroundingsValue holds the lists, each sorted by path but for Signals, which is nil
// where nobody asked for it.
type SurroundingsValue struct {
	Intents, Pipelines, Notes []ir.Listed
	Directories               []ir.Directory
	SubApplications           []ir.SubApplication
	Signals                   []ir.Signal
}

var surroundingsKind = graph.Define(graph.Definition[SurroundingsValue, Surroundings]{
	Name: "surroundings", Version: 2, Order: 55,
	Params: func(c *cas.Coder, n *Surroundings) {
		c.String(&n.Target)
		c.Bool(&n.Explicit)
		c.Bool(&n.Orientation)
	},
	Value: codeSurroundings,
})

func codeSurroundings(c *cas.Coder, v *SurroundingsValue) {
	for _, l := range []*[]ir.Listed{&v.Intents, &v.Pipelines, &v.Notes} {
		cas.Slice(c, l, codeListed)
	}
	cas.Slice(c, &v.Directories, codeDirectory)
	cas.Slice(c, &v.SubApplications, codeSubApplication)
	codeSignals(c, &v.Signals)
}

// Kind returns the kind "surroundings".
func (Surroundings) Kind() *graph.Kind { return surroundingsKind }

// Compute lists.
func (n Surroundings) Compute(r graph.Reader) (v SurroundingsValue, err error) {
	at := Settings{Target: n.Target, Explicit: n.Explicit}
	anchor, err := graph.Need(r, Anchor(at))
	if err != nil {
		return v, err
	}
	settings, err := graph.Need(r, at)
	if err != nil {
		return v, err
	}
	cascade, err := graph.Need(r, Cascade(at))
	if err != nil || len(cascade.Levels) == 0 {
		return v, err
	}
	ws, _, err := configs(r, anchor)
	if err != nil {
		return v, err
	}
	states := []string{anchor.WorkspaceState, anchor.ProjectState}
	for _, state := range slices.Compact(states) {
		if state != "" {
			if err := v.authored(r, state); err != nil {
				return v, err
			}
		}
	}
	roles := map[string]string{}
	if ws != nil {
		for _, d := range ws.Config.Directories {
			roles[d.Key] = d.Role
		}
	}
	s := scan{r: r, v: &v, settings: settings, roles: roles}
	switch {
	case n.Orientation:
		err = s.orientation(ws)
	case cascade.TargetIsDir:
		last := cascade.Levels[len(cascade.Levels)-1]
		err = s.children(last.Dir, last.Real)
	}
	if err != nil {
		return v, err
	}
	if settings.TestSignals {
		beside, err := graph.Need(r, Signals(at))
		if err != nil {
			return v, err
		}
		v.Signals = append([]ir.Signal{}, beside.Found...)
	}
	v.sort()
	return v, nil
}

// authored lists a state directory's files that people write.
func (v *SurroundingsValue) authored(r graph.Reader, state string) error {
	notes := []string{"topology.md", "discoveries.md"}
	probe, err := graph.Need(r, graph.NewProbe(state, append([]string{"intents", "pipelines"}, notes...)...))
	if err != nil {
		return err
	}
	for i, list := range []*[]ir.Listed{&v.Intents, &v.Pipelines} {
		if probe.Types[i] != graph.Directory {
			continue
		}
		dir := join(state, []string{"intents", "pipelines"}[i])
		files, err := graph.Need(r, graph.List{Dir: dir, Filter: graph.VisibleFiles})
		if err != nil {
			return err
		}
		for _, name := range files.Names {
			*list = append(*list, ir.Listed{Path: join(dir, name)})
		}
	}
	for i, name := range notes {
		if probe.Types[2+i] == graph.Regular {
			v.Notes = append(v.Notes, ir.Listed{Path: join(state, name)})
		}
	}
	return nil
}

func (v *SurroundingsValue) sort() {
	for _, l := range [][]ir.Listed{v.Intents, v.Pipelines, v.Notes} {
		slices.SortFunc(l, func(a, b ir.Listed) int { return ir.ComparePaths(a.Path, b.Path) })
	}
	slices.SortFunc(v.Directories, func(a, b ir.Directory) int { return ir.ComparePaths(a.Path, b.Path) })
	slices.SortFunc(v.SubApplications, func(a, b ir.SubApplication) int { return ir.ComparePaths(a.Path, b.Path) })
}

// scan looks one level into directories that the map could send a reader to.
type scan struct {
	r        graph.Reader
	v        *SurroundingsValue
	settings SettingsValue
	roles    map[string]string
}

// children lists the sub-applications among a directory's children (D-21).
func (s *scan) children(dir, real string) error {
	list, err := graph.Need(s.r, graph.List{Dir: real, Filter: graph.Directories})
	if err != nil {
		return err
	}
	var paths, reals []string
	for _, name := range list.Names {
		if name != ".git" && name != ".mwp" {
			paths, reals = append(paths, join(dir, name)), append(reals, join(real, name))
		}
	}
	return s.look(paths, reals, nil, false)
}

// orientation lists the first level, the [directories] keys and the members
// (D-11): one directory read for the root and one for each glob in members,
// never a tree scan.
func (s *scan) orientation(ws *ConfigFileValue) error {
	list, err := graph.Need(s.r, graph.List{Dir: ".", Filter: graph.Directories})
	if err != nil {
		return err
	}
	paths := slices.DeleteFunc(slices.Clone(list.Names), func(n string) bool { return n == ".git" || n == ".mwp" || n == ".mwp.d" })
	var members []string
	if ws != nil {
		members = ws.Config.Members
		for _, d := range ws.Config.Directories {
			paths = append(paths, d.Key)
		}
		expanded, err := s.expand(members)
		if err != nil {
			return err
		}
		paths = append(paths, expanded...)
	}
	slices.SortFunc(paths, ir.ComparePaths)
	paths = slices.Compact(paths)
	return s.look(paths, paths, members, true)
}

// expand returns the directories that members patterns may mean: literal paths,
// and for a pattern whose last segment has wildcards the children of what stands
// before it. A pattern with wildcards further up, or "**", would need a walk of
// the tree, which a map never does; only its fixed part's children are shown.
func (s *scan) expand(members []string) ([]string, error) {
	var out []string
	for _, m := range members {
		if strings.HasPrefix(m, "!") {
			continue
		}
		fixed := "."
		wild := false
		for _, seg := range segments(strings.TrimSuffix(strings.TrimPrefix(m, "./"), "/")) {
			if strings.ContainsAny(seg, "*?[") {
				wild = true
				break
			}
			fixed = join(fixed, seg)
		}
		if !wild {
			out = append(out, fixed)
			continue
		}
		list, err := graph.Need(s.r, graph.List{Dir: fixed, Filter: graph.Directories})
		if err != nil {
			return nil, err
		}
		for _, name := range list.Names {
			if p := join(fixed, name); MemberMatch(members, p) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// look probes directories and sorts them into the map's lists. Without
// directories set only sub-applications are listed.
func (s *scan) look(paths, reals, members []string, directories bool) error {
	names := append([]string{".mwp"}, contextNames[:]...)
	names = append(names, s.settings.BoundaryFiles...)
	probes := make([]graph.Probe, len(paths))
	for i := range paths {
		probes[i] = graph.NewProbe(reals[i], names...)
	}
	states, err := graph.NeedAll(s.r, probes)
	if err != nil {
		return err
	}
	for i, st := range states {
		if st.Dir != graph.Directory {
			continue
		}
		anchored := st.Types[0] == graph.Regular || st.Types[0] == graph.Directory
		boundary := ""
		for j, b := range s.settings.BoundaryFiles {
			if st.Types[1+len(contextNames)+j] != graph.Absent {
				boundary = b
				break
			}
		}
		hasContext := slices.ContainsFunc(st.Types[1:1+len(contextNames)], func(t graph.FileType) bool { return t != graph.Absent })
		switch p := paths[i]; {
		case anchored && directories:
			if err := s.anchored(p, st.Types[0], members); err != nil {
				return err
			}
		case anchored:
		case boundary != "" && s.settings.BoundaryMode != ModeTransparent:
			if err := s.subApplication(p, reals[i], boundary); err != nil {
				return err
			}
		case hasContext && directories:
			s.v.Directories = append(s.v.Directories, ir.Directory{Name: base(p), Path: p, Role: s.roles[p], Reason: "context"})
		}
	}
	return nil
}

func (s *scan) anchored(p string, form graph.FileType, members []string) error {
	d := ir.Directory{Name: base(p), Path: p, Role: s.roles[p], Reason: "anchor"}
	if MemberMatch(members, p) {
		d.Reason = "member"
	}
	c, err := graph.Need(s.r, ConfigFile{Path: anchorPlace{dir: p, Sighting: graph.Sighting{Type: form}}.config()})
	if err != nil {
		return err
	}
	if c.Config.Name != "" {
		d.Name = c.Config.Name
	}
	if d.Role == "" {
		d.Role = c.Config.Description
	}
	s.v.Directories = append(s.v.Directories, d)
	return nil
}

func (s *scan) subApplication(p, real, boundary string) error {
	a := ir.SubApplication{Name: base(p), Path: p, Role: s.roles[p], Reason: boundary}
	if s.settings.BoundaryMode == ModeSoft {
		f, err := graph.Need(s.r, graph.File{Path: join(real, boundary)})
		if err != nil {
			return err
		}
		if f.Type == graph.Regular {
			a.Excerpt = Excerpt(f.Bytes)
		}
	}
	s.v.SubApplications = append(s.v.SubApplications, a)
	return nil
}
