package main

import (
	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runSessions() error {
	if len(a.words) == 0 {
		return misspelt("see `mwp help sessions`", "sessions needs one of list, inspect, rm or clean")
	}
	name, ids := a.words[0], a.words[1:]
	var run func(*mwp.Workspace, []string) error
	switch name {
	case "list", "clean":
		if len(ids) > 0 {
			return misspelt("see `mwp help sessions`", "sessions %s takes no argument, got %d", name, len(ids))
		}
		if run = a.sessionsList; name == "clean" {
			run = a.sessionsClean
		}
	case "inspect":
		if len(ids) != 1 {
			return misspelt("`mwp sessions list` names those that exist", "sessions inspect takes one session id, got %d", len(ids))
		}
		run = a.sessionsInspect
	case "rm":
		if len(ids) == 0 {
			return misspelt("`mwp sessions list` names those that exist", "sessions rm needs a session id")
		}
		run = a.sessionsRemove
	default:
		return misspelt("see `mwp help sessions`", "sessions: %s", oneOf(name, sessionsChoices))
	}
	if a.olderThan != 0 && name != "clean" {
		return misspelt("see `mwp help sessions`", "--older-than is for sessions clean")
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	return a.cause(run(ws, ids))
}

func (a *app) sessionsList(ws *mwp.Workspace, _ []string) error {
	rs, findings, err := ws.Sessions(a.ctx)
	if err != nil {
		return err
	}
	text := mwp.SessionsText(rs)
	if a.json {
		text = ir.AppendSessionsJSON(nil, rs)
	}
	err = a.print(text)
	a.report(findings...)
	return err
}

func (a *app) sessionsInspect(ws *mwp.Workspace, ids []string) error {
	r, err := ws.Session(a.ctx, ids[0])
	if err != nil {
		return err
	}
	if a.json {
		return a.print(ir.AppendSessionJSON(nil, r))
	}
	return a.print(mwp.SessionText(r))
}

// sessionsRemove removes every session that it can, and fails for the others.
func (a *app) sessionsRemove(ws *mwp.Workspace, ids []string) error {
	var removed []string
	var first error
	for _, id := range ids {
		err := a.cause(ws.RemoveSession(a.ctx, id))
		if err == nil {
			removed = append(removed, id)
			continue
		}
		if first != nil {
			a.reportError(first)
		}
		first = err
	}
	if err := a.removedSessions(removed); err != nil {
		return err
	}
	return first
}

func (a *app) sessionsClean(ws *mwp.Workspace, _ []string) error {
	removed, err := ws.CleanSessions(a.ctx, a.olderThan)
	if printed := a.removedSessions(removed); printed != nil {
		return printed
	}
	return err
}

func (a *app) removedSessions(ids []string) error {
	if a.json {
		return a.print(ir.AppendRemovedJSON(nil, ids))
	}
	text := ""
	for _, id := range ids {
		text += "removed " + id + "\n"
	}
	if text == "" {
		text = "nothing removed\n"
	}
	return a.print([]byte(text))
}
