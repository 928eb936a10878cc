package main

import "github.com/model-workspace-protocol/mwp"

func (a *app) runExplain() error {
	target, err := a.target()
	if err != nil {
		return err
	}
	if a.why != "" && a.notLoaded {
		return misspelt("give one of them", "--why and --not-loaded contradict each other")
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	q := a.request(target)
	q.Format, q.NotLoaded = mwp.ExplainText, a.notLoaded
	if a.json {
		q.Format = mwp.ExplainJSON
	} else {
		q.Color = a.colors(a.stdout)
	}
	if a.graph != mwp.NoGraph {
		return a.explainGraph(ws, q)
	}
	var r *mwp.Result
	if a.why != "" {
		r, err = ws.Why(a.ctx, q, a.why)
	} else {
		r, err = ws.Map(a.ctx, q)
	}
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}

// explainGraph prints a drawing in place of the account.
func (a *app) explainGraph(ws *mwp.Workspace, q mwp.Request) error {
	if a.json || a.why != "" || a.notLoaded {
		return misspelt("give --graph alone", "--graph is a form of its own beside --json, --why and --not-loaded")
	}
	r, err := ws.Graph(a.ctx, q, a.graph, a.all)
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}
