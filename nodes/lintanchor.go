package nodes

import (
	"path"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// anchor reports on the paths that the directory's configuration declares and that
// lead nowhere (D-79).
func (p *placing) anchor() error {
	file := anchorPlace{dir: p.Target, Sighting: graph.Sighting{Type: p.m.anchor}}.config()
	c, err := graph.Need(p.r, ConfigFile{Path: file})
	if err != nil {
		return err
	}
	p.v.Findings = append(p.v.Findings, c.Problems...)
	if failed(c.Problems) {
		return nil
	}
	var paths []string
	var kinds []ir.Code
	var lines []int
	members := 0
	if i := slices.IndexFunc(c.Config.Settings, func(s Setting) bool { return s.Key == "members" }); i >= 0 {
		members = c.Config.Settings[i].Line
	}
	for _, m := range c.Config.Members {
		m = strings.TrimSuffix(strings.TrimPrefix(m, "./"), "/")
		if !strings.HasPrefix(m, "!") && !strings.ContainsAny(m, "*?[") {
			paths, kinds, lines = append(paths, m), append(kinds, ir.MemberMissing), append(lines, members)
		}
	}
	for _, d := range c.Config.Directories {
		paths, kinds, lines = append(paths, d.Key), append(kinds, ir.DirectoryMissing), append(lines, d.Line)
	}
	dirs := make([]string, len(paths))
	for i := range dirs {
		dirs[i] = p.Target
	}
	tos, err := resolveAll(p.r, dirs, paths)
	if err != nil {
		return err
	}
	for i, to := range tos {
		if to.Type == graph.Absent || to.Escapes || to.Loop {
			what := "members names"
			if kinds[i] == ir.DirectoryMissing {
				what = "[directories] names"
			}
			p.add(kinds[i], ir.SeverityWarning, file, lines[i], "take it out, or create it", "%s %s, which does not exist", what, paths[i])
		}
	}
	return p.memberAnchors(file, members, paths, kinds, tos)
}

// memberAnchors reports members without an anchor of their own.
func (p *placing) memberAnchors(file string, line int, paths []string, kinds []ir.Code, tos []resolved) error {
	var probes []graph.Probe
	var of []string
	for i, to := range tos {
		if kinds[i] == ir.MemberMissing && to.Type == graph.Directory && !to.Escapes {
			probes, of = append(probes, graph.NewProbe(to.Path, ".mwp")), append(of, paths[i])
		}
	}
	states, err := graph.NeedAll(p.r, probes)
	for i, s := range states {
		if s.Types[0] == graph.Absent {
			p.add(ir.MemberMissing, ir.SeverityWarning, file, line, "run `mwp init "+of[i]+" --member`", "members names %s, which has no .mwp", of[i])
		}
	}
	return err
}

// pathUse is a path that a header names for a guard's sake.
type pathUse struct {
	path   string
	line   int
	script bool
}

// guardPaths reports verified paths and guard scripts that do not exist, and
// scripts that git ignores (D-09, D-45, D-79).
func (p *placing) guardPaths(s Source, h *Header) error {
	var uses []pathUse
	verified := func(refs []PathRef) {
		for _, ref := range refs {
			if !strings.ContainsAny(ref.Path, "*?[") {
				uses = append(uses, pathUse{path: ref.Path, line: ref.Line})
			}
		}
	}
	verified(h.VerifiedPaths)
	for _, g := range h.Guards {
		verified(g.VerifiedPaths)
		if script := scriptOf(&g); script != "" {
			uses = append(uses, pathUse{script, g.Line, true})
		}
	}
	if len(uses) == 0 {
		return nil
	}
	dir := parent(s.Real)
	dirs, paths := make([]string, len(uses)), make([]string, len(uses))
	for i, u := range uses {
		dirs[i], paths[i] = dir, u.path
	}
	tos, err := resolveAll(p.r, dirs, paths)
	if err != nil {
		return err
	}
	for i, to := range tos {
		u := uses[i]
		switch {
		case to.Type != graph.Absent && !to.Escapes && !to.Loop:
			if u.script {
				if err := p.scriptIgnored(s, u, to.Path); err != nil {
					return err
				}
			}
		case u.script:
			p.add(ir.GuardScriptMissing, ir.SeverityError, s.Path, u.line, "", "the guard runs %s, which does not exist", u.path)
		default:
			p.add(ir.VerifiedPathMissing, ir.SeverityWarning, s.Path, u.line, "", "verified_paths names %s, which does not exist", path.Join(dir, u.path))
		}
	}
	return nil
}

// scriptOf returns the script that a guard's command names as a path, "" when its
// first word is a program to be searched for.
func scriptOf(g *GuardSpec) string {
	word := ""
	if len(g.Argv) > 0 {
		word = g.Argv[0]
	} else if fields := strings.Fields(g.Cmd); len(fields) > 0 {
		word = fields[0]
	}
	if !strings.Contains(word, "/") || strings.HasPrefix(word, "/") || strings.ContainsAny(word, `$"'~*?`+"`\\") {
		return ""
	}
	return word
}

// scriptIgnored warns about a guard's script that other clones do not have.
func (p *placing) scriptIgnored(s Source, u pathUse, real string) error {
	by, err := graph.Need(p.r, Ignored{Path: real})
	if err == nil && by.Ignored {
		p.add(ir.GuardScriptIgnored, ir.SeverityWarning, s.Path, u.line, "commit the script, or take the rule out",
			"the guard runs %s, which git ignores (%s:%d), so other clones do not have it", u.path, by.Source, by.Line)
	}
	return err
}
