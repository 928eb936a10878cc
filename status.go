package mwp

import (
	"context"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// StatusReport is a workspace at a glance.
type StatusReport = render.StatusReport

// Status returns a workspace at a glance, with Doctor's verdict: the budgets are those of
// the target's map, or, for "", of the map that comes nearest to a cap. It changes no
// file, as Doctor does not. The error is that of Map: a target without a map is a *Refusal.
func (w *Workspace) Status(ctx context.Context, target string, q DoctorRequest) (*StatusReport, error) {
	f, err := w.doctorFacts(ctx, target, q)
	if err != nil {
		return nil, err
	}
	s := &StatusReport{
		Asked: target != "", Members: f.anchor.members,
		Contexts: f.lint.Contexts, Anchors: f.lint.Anchors, Directories: f.lint.Directories,
		Guards:  f.guards.StatusGuards,
		Modules: f.modules.pinned, Missing: len(f.lint.Missing), Modified: f.modules.modified.total(),
		Cache: f.cache.dir, Bytes: f.cache.bytes, Maps: f.cache.maps, Writable: f.cache.dir != "" && f.cache.problem == "",
		Sessions: f.work.sessions, LastSession: f.work.lastSession, Clients: clientsOf(f), Doctor: diagnose(f),
	}
	if target != "" {
		return s, w.weigh(ctx, target, s)
	}
	if len(f.lint.Worst) > 0 {
		row := &f.lint.Worst[0]
		s.Target, s.Tokens, s.Caps = row.Path, row.Tokens, row.Caps
	}
	return s, nil
}

func clientsOf(f *doctorFacts) []string {
	names := []string{}
	for _, k := range f.clients {
		if k.how != clientUnusable {
			names = append(names, k.name)
		}
	}
	return names
}

// weigh fills in the budgets of a target's map.
func (w *Workspace) weigh(ctx context.Context, target string, s *StatusReport) error {
	l := looking{f: &doctorFacts{}}
	if err := l.enter(ctx, w, target); err != nil {
		return err
	}
	defer l.w.Close()
	q := Request{Target: target}
	n := q.rendered(l.s.candidate, fromOf(l.p, l.s.candidate))
	v, err := valueOf(ctx, l.s, n.Map)
	if err != nil {
		return err
	}
	if len(v.Refusal) > 0 {
		return &Refusal{Diagnostics: v.Refusal}
	}
	s.Target = n.Target
	for i := range ir.LayerCount {
		s.Tokens[i], s.Caps[i] = *v.IR.Totals.At(i), *v.IR.Budgets.At(i)
	}
	return nil
}

// StatusText returns a status as text for a terminal, StatusJSON as JSON.
func StatusText(s *StatusReport, color, ascii bool) []byte {
	return render.Status(s, render.StatusOptions{Color: color, ASCII: ascii})
}

// StatusJSON returns a status as JSON.
func StatusJSON(s *StatusReport) []byte { return render.StatusJSON(s) }
