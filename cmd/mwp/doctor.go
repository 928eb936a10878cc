package main

import (
	"github.com/model-workspace-protocol/mwp"
)

func (a *app) runDoctor() error {
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	stop := a.working("looking at the workspace")
	r, err := ws.Doctor(a.ctx, a.doctorRequest())
	stop()
	if err != nil {
		return a.cause(err)
	}
	text := mwp.DoctorText(r, !a.json && a.colors(a.stdout))
	if a.json {
		text = mwp.DoctorJSON(r)
	}
	if err := a.print(text); err != nil {
		return err
	}
	if r.Broken() {
		return errNegative
	}
	return nil
}

// doctorRequest says what clients' files may name.
func (a *app) doctorRequest() mwp.DoctorRequest {
	return mwp.DoctorRequest{Program: ownPath(), Home: a.home()}
}
