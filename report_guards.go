package mwp

import (
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render/page"
)

// guards takes over what is known of every guard of the workspace, as `mwp verify
// --list` prints it, and finds out which of them this user never agreed to.
func (c *reporting) guards(plan *nodes.GuardPlanValue) {
	v := &verifying{w: c.w, c: c.candidate, store: c.w.project(c.candidate)}
	said := v.decisions()
	for i := range plan.Guards {
		g := &plan.Guards[i]
		line := page.Guard{VerifiedGuard: v.known(g)}
		switch {
		case g.Command().Invalid != "":
			line.NotTrusted, line.Why = true, g.Command().Invalid
		case g.Level == nodes.TrustAdHoc:
			v.agreed(g, said, &line)
		}
		c.page.Guards = append(c.page.Guards, line)
	}
	c.page.GuardsHidden = len(plan.Problems) > 0 || len(c.page.Unanswered) > 0
	for _, d := range plan.Problems {
		if d.Code != ir.LimitExceeded && d.Code != ir.Unreadable {
			continue
		}
		if d.Source == "" {
			d.Message = "the guards are not known: " + d.Message
		} else {
			d.Message = "the guards of " + d.Source + " are not known, those of other places are: " + d.Message
		}
		c.page.Unanswered = append(c.page.Unanswered, d)
	}
}

// decisions returns what was decided about ad-hoc guards, nil where nothing is or
// nobody can tell.
func (v *verifying) decisions() *guard.Decisions {
	if v.store == nil {
		return nil
	}
	key, err := v.w.user.open()
	if err != nil || !key.Exists() {
		return nil
	}
	lock := guard.TrustLock{State: *v.store, Key: key, Root: realPath(v.c.dir)}
	d, err := lock.Read()
	if err != nil {
		return nil
	}
	return d
}

// agreed says whether an ad-hoc guard would run without a question.
func (v *verifying) agreed(g *nodes.PlannedGuard, d *guard.Decisions, line *page.Guard) {
	var said guard.Answer
	if d != nil {
		_, digest := v.boundFiles(g)
		said = d.Lookup(guard.AdHoc{Command: g.Text(), DeclaredIn: g.Path, Cwd: g.Dir, Commit: g.Commit, Script: digest})
	}
	switch said.Verdict {
	case guard.Yes:
		line.Why = "allowed by you"
		return
	case guard.Never:
		line.Why = "you said never"
	case guard.Outdated:
		line.Why = "its " + joinParts(said.Parts) + " changed since you decided"
	}
	line.NotTrusted = true
}
