package main

import "github.com/model-workspace-protocol/mwp"

// runReport writes a page. A terminal is no place for one.
func (a *app) runReport() error {
	target, err := a.target()
	if err != nil {
		return err
	}
	if a.output == "" && isTerminal(a.stdout) {
		return usage("mwp report -o map.html, then open it in a browser", "a report is a page of HTML and not for a terminal")
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	stop := a.working("looking at the workspace")
	r, err := ws.Report(a.ctx, mwp.ReportRequest{Target: target, AllowFloating: a.floating, Now: a.now})
	stop()
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}
