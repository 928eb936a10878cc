package nodes

import (
	"path"
	"runtime"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guards reports on the guards of one document and of the project's files that it
// imports: what they name and is not there, what they claim and do not have, and
// static ones that fail (D-09, D-41, D-45, D-79, D-113).
func (p *placing) guards(s Source, h *Header, imported *ClosureValue) error {
	all := guardsOf(h, s, parent(s.Real))
	if s.Home != (Home{}) {
		// A module's guards run where it is imported: nothing about paths is known here.
		p.runnable(all)
		return nil
	}
	uses := verifiedUses(nil, s.Path, parent(s.Real), h.VerifiedPaths)
	for i := range imported.References {
		if ref := &imported.References[i]; ref.Same < 0 {
			all = append(all, ref.Guards...)
		}
	}
	paths := 0
	for i := range all {
		paths += len(all[i].VerifiedPaths)
	}
	if paths > maxGuardLines {
		p.v.Findings = append(p.v.Findings, tooManyGuards(s.Path))
		return nil
	}
	for i := range all {
		g := &all[i]
		uses = verifiedUses(uses, g.Path, g.Dir, g.VerifiedPaths)
		if script := command.Script(g.Command()); !g.Static() && script != "" && !path.IsAbs(script) {
			program := len(g.Command().Words) > 0 && g.Command().Words[0] == script
			uses = append(uses, pathUse{file: g.Path, dir: g.Dir, path: script, line: g.Line, script: true, program: program})
		}
		if err := p.guardPatterns(g); err != nil {
			return err
		}
	}
	if err := p.guardPaths(uses); err != nil {
		return err
	}
	p.runnable(all)
	return p.guardClaims(all)
}

// runnable reports guards that nobody could run.
func (p *placing) runnable(all []Guard) {
	for i := range all {
		if g := &all[i]; !g.Static() && g.Command().Invalid != "" {
			p.add(ir.GuardInvalid, ir.SeverityError, g.Path, g.Line, "write it in characters that people can see", "the guard can never run: %s", g.Command().Invalid)
		}
	}
}

// guardClaims reports what is wrong with the guards themselves.
func (p *placing) guardClaims(all []Guard) error {
	if len(all) == 0 {
		return nil
	}
	trusts := make([]Trust, len(all))
	for i := range all {
		trusts[i] = Trust{Dir: all[i].Dir, Explicit: p.Explicit}
	}
	levels, err := graph.NeedAll(p.r, trusts)
	if err != nil {
		return err
	}
	for i := range all {
		g := &all[i]
		if g.Static() {
			c, err := graph.Need(p.r, Check{Guard: encodeGuard(*g)})
			if err != nil {
				return err
			}
			if x := verification(g, &c); c.Status == ir.FailedCheck {
				p.v.Findings = append(p.v.Findings, failedGuard(g, &x, false))
			}
			continue
		}
		switch d := g.decide(levels[i]); {
		case g.Command().Invalid != "":
		case d.Raised:
			p.v.Findings = append(p.v.Findings, trustMismatch(g, d))
		case d.Level == command.AdHoc:
			p.add(ir.GuardNotTrusted, ir.SeverityNote, g.Path, g.Line, command.AllowLine(g.Command()), "%s runs only after a yes at a terminal, so not in CI: %s", g.Text(), d.Why)
		}
	}
	return nil
}

// pathUse is a path that a header names for a guard's sake.
type pathUse struct {
	file string
	// dir is the directory that the path starts from, without links.
	dir, path string
	line      int
	// script is set for a guard's script, program for one that is started itself.
	script, program bool
}

// verifiedUses appends the paths of a list that are no patterns.
func verifiedUses(uses []pathUse, file, dir string, refs []PathRef) []pathUse {
	for _, ref := range refs {
		if !strings.ContainsAny(ref.Path, wildcards) {
			uses = append(uses, pathUse{file: file, dir: dir, path: ref.Path, line: ref.Line})
		}
	}
	return uses
}

// guardPaths reports paths and scripts that do not exist, and scripts that git
// ignores.
func (p *placing) guardPaths(uses []pathUse) error {
	dirs, paths := make([]string, len(uses)), make([]string, len(uses))
	for i, u := range uses {
		dirs[i], paths[i] = u.dir, u.path
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
				if err := p.scriptFound(u, to.Path); err != nil {
					return err
				}
			}
		case u.script:
			p.add(ir.GuardScriptMissing, ir.SeverityError, u.file, u.line, "write the script, or take the guard out",
				"the guard runs %s in %s, which does not exist", u.path, u.dir)
		case to.Escapes:
			p.add(ir.VerifiedPathMissing, ir.SeverityError, u.file, u.line, "name what lies in the workspace", "verified_paths names %s, which leads out of the workspace", u.path)
		default:
			p.add(ir.VerifiedPathMissing, ir.SeverityWarning, u.file, u.line, "", "verified_paths names %s, which does not exist", path.Join(u.dir, u.path))
		}
	}
	return nil
}

// guardPatterns reports patterns that lead to nothing: an edit changes nothing for such
// a guard, so its result counts until it expires.
func (p *placing) guardPatterns(g *Guard) error {
	if g.Static() || !g.HasVerifiedPaths {
		return nil
	}
	if len(g.VerifiedPaths) == 0 {
		p.add(ir.VerifiedPathMissing, ir.SeverityWarning, g.Path, g.Line, "name what it checks, or leave verified_paths out for all source files",
			"verified_paths is empty: no edit but that of the context file makes a result old")
	}
	for _, ref := range g.VerifiedPaths {
		if !strings.ContainsAny(ref.Path, wildcards) {
			continue
		}
		found, err := globFrom(p.r, g.Dir, ref.Path)
		if err != nil {
			return err
		}
		if found.empty() {
			p.add(ir.VerifiedPathMissing, ir.SeverityWarning, g.Path, ref.Line, "", "verified_paths has the pattern %s, which nothing in %s matches", ref.Path, g.Dir)
		}
	}
	return nil
}

// scriptFound warns about a guard's script that other clones do not have, or that
// cannot be started.
func (p *placing) scriptFound(u pathUse, real string) error {
	if u.program && runtime.GOOS != "windows" {
		states, errs := graph.TryAll(p.r, []graph.Content{{Path: real}})
		if errs == nil && states[0].Type == graph.Regular && !states[0].Executable {
			p.add(ir.GuardScriptMode, ir.SeverityWarning, u.file, u.line, "chmod +x "+ir.ShellWord(real), "the guard runs %s, which is not executable", u.path)
		}
	}
	by, err := graph.Need(p.r, Ignored{Path: real})
	if err == nil && by.Ignored {
		p.add(ir.GuardScriptIgnored, ir.SeverityWarning, u.file, u.line, "commit the script, or take the rule out",
			"the guard runs %s, which git ignores (%s:%d), so other clones do not have it", u.path, by.Source, by.Line)
	}
	return err
}
