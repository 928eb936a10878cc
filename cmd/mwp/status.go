package main

import "github.com/model-workspace-protocol/mwp"

func (a *app) runStatus() error {
	target, err := a.target()
	if err != nil {
		return err
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	stop := a.working("looking at the workspace")
	s, err := ws.Status(a.ctx, target, a.doctorRequest())
	stop()
	if err != nil {
		return a.cause(err)
	}
	if a.json {
		return a.print(mwp.StatusJSON(s))
	}
	return a.print(mwp.StatusText(s, a.colors(a.stdout), a.ascii))
}
