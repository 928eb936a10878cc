package mwp

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// Why answers why a file is in the map that a request asks for, or why it is not
// (D-110). The file is relative to Options.Dir, or as maps name files, relative to
// the workspace root. Of the request's formats ExplainText and ExplainJSON have a
// meaning here. The answer is computed from the recorded nodes each time and has
// no slot.
func (w *Workspace) Why(ctx context.Context, q Request, file string) (*Result, error) {
	p, s, err := w.enter(ctx, q.Target)
	if err != nil {
		return nil, err
	}
	n := q.rendered(s.candidate, fromOf(p, s.candidate))
	x, err := s.ev.Eval(ctx, n.Map)
	if err != nil {
		return nil, worldError(err)
	}
	v := x.(nodes.MapValue)
	if len(v.Refusal) > 0 {
		return nil, &Refusal{Diagnostics: v.Refusal}
	}
	x, err = s.ev.Eval(ctx, nodes.Settings{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return nil, worldError(err)
	}
	o := render.ExplainOptions{Color: q.Color, Instructions: x.(nodes.SettingsValue).BoundaryFiles}
	if x, err = s.ev.Eval(ctx, nodes.GuardAccounts{Layers: n.Layers}); err != nil {
		return nil, worldError(err)
	}
	o.Guards = x.([]ir.GuardAccount)
	m := &v.IR
	var text []byte
	for i, f := range w.spellings(s.dir, file) {
		t, found := render.Why(m, f, o)
		if q.Format == ExplainJSON {
			t, found = whyJSON(m, f, o.Guards)
		}
		if i == 0 || found {
			text = t
		}
		if found {
			break
		}
	}
	r := &Result{Text: text, Root: s.dir, Stats: s.ev.Stats(), World: &s.world.Count}
	r.record = s.store.Flush
	return r, nil
}

// spellings returns what a path may mean within a root, the likeliest first.
func (w *Workspace) spellings(root, file string) []string {
	if strings.Contains(file, "://") {
		return []string{file}
	}
	abs := filepath.Clean(file)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(w.o.Dir, file)
	}
	asNamed := path.Clean(filepath.ToSlash(file))
	for _, a := range []string{abs, realPath(abs)} {
		if rel, ok := below(root, a); ok {
			if rel == asNamed || filepath.IsAbs(file) {
				return []string{rel}
			}
			return []string{rel, asNamed}
		}
	}
	return []string{asNamed}
}

// whyJSON returns the records of one file in the form of ExplainJSON.
func whyJSON(m *ir.Map, file string, guards []ir.GuardAccount) (text []byte, found bool) {
	only := *m
	stands := map[string]bool{}
	for _, e := range m.Layers.All() {
		for _, g := range e.Guards {
			stands[g.Key] = stands[g.Key] || e.Source == file
		}
	}
	guards = slices.DeleteFunc(slices.Clone(guards), func(a ir.GuardAccount) bool { return !stands[a.Key] })
	only.Trace = slices.DeleteFunc(slices.Clone(m.Trace), func(t ir.TraceRecord) bool { return t.Source != file })
	return ir.AppendTraceJSON(nil, &only, guards), len(only.Trace) > 0
}
