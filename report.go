package mwp

import (
	"context"
	"errors"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
	"github.com/model-workspace-protocol/mwp/render/page"
)

// ReportRequest asks for a page about a workspace.
type ReportRequest struct {
	// Target is a path whose map the page shows first, relative to Options.Dir; "" for
	// none. It also says which workspace is meant: that around it, else that around
	// Options.Dir.
	Target        string
	AllowFloating bool
	// Now, when not zero, is named in the page as the moment that results of guards were
	// judged by. It sets no clock; Options.Guards does.
	Now time.Time
}

// Report returns one HTML page about a workspace: its contexts and their sizes,
// budgets, guards, findings, and some of its maps with what they were computed from.
// Equal workspaces give equal pages, wherever they lie. It runs no guard and fetches nothing. What is
// wrong in the project is shown and is no error; the error is an *EnvironmentError or a
// *UsageError, or the context's.
func (w *Workspace) Report(ctx context.Context, q ReportRequest) (*Result, error) {
	const tries = 3
	for i := 1; ; i++ {
		r, err := w.report(ctx, q)
		if !errors.Is(err, nodes.ErrMoved) || i == tries {
			return r, worldError(err)
		}
	}
}

func (w *Workspace) report(ctx context.Context, q ReportRequest) (*Result, error) {
	r, err := w.answer(ctx, question{target: q.Target, floating: q.AllowFloating, node: func(c candidate, from string) (text, string) {
		return nodes.Overview{Explicit: c.explicit, AllowFloating: q.AllowFloating, From: from}, ""
	}})
	if err != nil {
		return nil, err
	}
	v, err := cas.DecodeValue(r.Text, nodes.CodeOverview)
	if err != nil {
		return nil, err
	}
	_, s, err := w.enter(ctx, q.Target)
	if err != nil {
		return nil, err
	}
	c := &reporting{w: w, session: s, q: q}
	c.overview(&v)
	if err := c.maps(ctx); err != nil {
		return nil, err
	}
	if !q.Now.IsZero() {
		c.page.Now = q.Now.UTC().Format(time.RFC3339)
	}
	r.Text, r.Notices = page.HTML(&c.page), nil
	return c.withMaps(r), nil
}

// withMaps lets a result record what the maps were computed from, too. The other counts
// are those of the overview, which is most of the work.
func (c *reporting) withMaps(r *Result) *Result {
	r.Stats.Mismatches += c.ev.Stats().Mismatches
	overview := r.record
	r.record = func() error {
		if overview != nil {
			if err := overview(); err != nil {
				return err
			}
		}
		if c.area == nil || c.w.anchorHere(c.candidate) != nil {
			return nil
		}
		return c.store.Flush()
	}
	return r
}

// reporting is a Report under way.
type reporting struct {
	w *Workspace
	*session
	q    ReportRequest
	page page.Report
}

// overview takes over what is known of the whole workspace.
func (c *reporting) overview(v *nodes.OverviewValue) {
	p := &c.page
	p.Findings = v.Lint.Findings
	p.Directories, p.Contexts, p.Anchors = v.Lint.Directories, v.Lint.Contexts, v.Lint.Anchors
	p.Name = v.Name
	p.Rows, p.Refused, p.Unanswered = v.Rows, v.Refused, v.Unread
	p.Dirs, p.Loose = page.Choose(v.Rows)
	for i := range p.Dirs {
		p.Dirs[i].Own = v.Own[i]
	}
	c.guards(&v.Plan)
}

// ask evaluates a node. What may not be read makes one map unknown and leaves the page
// standing: then the answer is a finding.
func (c *reporting) ask(ctx context.Context, n graph.Task) (any, *ir.Diagnostic, error) {
	v, err := c.ev.Eval(ctx, n)
	var world *eval.WorldError
	if errors.As(err, &world) {
		d := worldError(err).(*EnvironmentError).Diagnostic
		d.Source = world.Path
		return nil, &d, nil
	}
	return v, nil, err
}

// maps asks for the maps in the page.
func (c *reporting) maps(ctx context.Context) error {
	asked := ""
	if c.q.Target != "" && c.target != "." {
		asked = c.target
	}
	targets, left := page.Largest(c.page.Rows, asked)
	c.page.TargetsLeft = left
	at := 0
	if asked != "" {
		at = 1
	}
	targets = append(targets[:at:at], append([]string{""}, targets[at:]...)...)
	for _, target := range targets {
		t, err := c.mapOf(ctx, target)
		if err != nil {
			return err
		}
		c.page.Targets = append(c.page.Targets, t)
		if m := &t.Map; target == "" {
			c.page.Counter = m.TokenCounter
		}
	}
	return nil
}

// mapOf asks for one map with its explanation.
func (c *reporting) mapOf(ctx context.Context, target string) (page.Target, error) {
	t := page.Target{Path: target}
	at := c.candidate
	at.target = target
	q := Request{Target: target, AllowFloating: c.q.AllowFloating}
	// The whole project is drawn as from its root, wherever the report was asked for.
	n := q.rendered(at, ".").Map
	x, unknown, err := c.ask(ctx, n)
	switch {
	case err != nil:
		return t, err
	case unknown != nil:
		t.Refusal = []ir.Diagnostic{*unknown}
		return t, nil
	}
	v := x.(nodes.MapValue)
	if t.Refusal = v.Refusal; len(v.Refusal) > 0 {
		return t, nil
	}
	t.Map, t.Text = v.IR, render.Markdown(&v.IR, render.Options{})
	t.Drawing = render.Draw(render.Graph{Target: n.Target, Nodes: drawn(c.ev.Provenance(n))})
	if len(v.IR.Verifications) == 0 {
		return t, nil
	}
	x, unknown, err = c.ask(ctx, nodes.GuardAccounts{Layers: n.Layers})
	if err == nil && unknown == nil {
		t.Guards = x.([]ir.GuardAccount)
	}
	return t, err
}
