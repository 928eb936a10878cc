package main

import "github.com/model-workspace-protocol/mwp"

// lintDiff prints what the work tree adds to each target since a revision (D-111).
func (a *app) lintDiff(paths []string) error {
	if a.reportFormat != mwp.ReportText && a.reportFormat != mwp.ReportJSON {
		return misspelt("print it as text or json", "--diff has no other formats")
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	a.listen()
	q := mwp.DiffRequest{Base: a.diff, Paths: paths, JSON: a.reportFormat == mwp.ReportJSON, AllowFloating: a.floating, Fetch: a.fetch}
	q.Color = !q.JSON && a.output == "" && a.colors(a.stdout)
	stop := a.working("comparing the workspace with " + a.diff)
	r, err := ws.Diff(a.ctx, q)
	stop()
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}
