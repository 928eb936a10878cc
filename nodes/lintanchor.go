package nodes

import (
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
