package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Formats of a verify report.
const (
	verifyText  = "text"
	verifyJSON  = "json"
	verifyJUnit = "junit"
)

func verifyFormats() []string { return []string{verifyText, verifyJSON, verifyJUnit} }

// hookNames are the harnesses whose answer to a failing check verify knows.
func hookNames() []string { return []string{"claude"} }

func (a *app) runVerify() error {
	if a.override != "" {
		return a.runOverride()
	}
	for _, f := range []*flagSpec{&flagReason, &flagFor, &flagYes} {
		if as := a.gave(f); as != "" {
			return misspelt("mwp verify --override GUARD --reason TEXT", "%s goes with --override", as)
		}
	}
	if a.hook != "" {
		for _, f := range []*flagSpec{&flagVerifyFormat, &flagOutput, &flagList} {
			if as := a.gave(f); as != "" {
				return misspelt("leave "+as+" out", "--hook says on stderr what the harness reads, so %s has no report to shape", as)
			}
		}
	}
	q, nothing, err := a.verifyRequest()
	if err != nil || nothing {
		return err
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	stop := a.working("looking at the workspace")
	a.begun = stop
	q.Watch = a.watcher(stop).event
	if ask := q.Ask; ask != nil {
		q.Ask = func(ctx context.Context, g mwp.GuardQuestion) (mwp.GuardAnswer, error) {
			stop()
			return ask(ctx, g)
		}
	}
	r, err := ws.Verify(a.ctx, q)
	stop()
	if err != nil {
		return a.blocking(a.cause(err))
	}
	a.report(r.Notices...)
	a.report(r.Report.Problems...)
	if err := a.verified(r); err != nil {
		return err
	}
	if err := r.Record(); err != nil {
		a.notKept(err)
	}
	if q.Ask != nil {
		if err := a.askForOthers(ws, &r.Report); err != nil {
			return err
		}
	}
	switch {
	case r.Report.OK(), a.list:
		return nil
	case a.hook != "":
		return errBlocked
	}
	return errNegative
}

// blocking makes a failure block a harness too: a gate behind which nobody could look
// stays shut (D-72). Where there is no workspace there is nothing to guard, and an
// interruption is nobody's answer.
func (a *app) blocking(err error) error {
	var environment *mwp.EnvironmentError
	none := errors.As(err, &environment) && environment.Diagnostic.Code == ir.NoRoot
	if a.hook == "" || none || a.ctx.Err() != nil {
		return err
	}
	a.reportError(err)
	return errBlocked
}

// verifyRequest returns the request that the flags describe. nothing is true when a
// list of paths was asked for and is empty.
func (a *app) verifyRequest() (q mwp.VerifyRequest, nothing bool, err error) {
	paths, err := a.pathsAndStdin(false)
	if err != nil {
		return q, false, err
	}
	if (a.fromStdin || a.fromStdin0) && len(paths) == 0 {
		return q, true, nil
	}
	q = mwp.VerifyRequest{
		Targets: paths, Staged: a.staged, GitIndex: a.env("GIT_INDEX_FILE"), Affected: a.affected, Stale: a.stale, Jobs: a.jobs,
		AllowFloating: a.floating, TrustAdHoc: a.trustAdHoc, NoDiscoveries: a.noDiscoveries, List: a.list,
	}
	if a.hook == "" && a.mayAsk() {
		q.Ask = a.ask
	}
	return q, false, nil
}

// verified prints the report, where the caller of a hook reads it only when it says no.
func (a *app) verified(r *mwp.VerifyResult) error {
	switch {
	case a.hook != "":
		if !r.Report.OK() {
			a.stderr.Write(mwp.VerifyText(&r.Report, false, a.ascii))
		}
		return nil
	case a.verifyFormat == verifyJSON:
		return a.write(mwp.VerifyJSON(&r.Report))
	case a.verifyFormat == verifyJUnit:
		return a.write(mwp.VerifyJUnit(&r.Report))
	}
	color := a.output == "" && a.colors(a.stdout)
	if a.list {
		return a.write(mwp.VerifyListing(&r.Report, color, a.ascii))
	}
	return a.write(mwp.VerifyText(&r.Report, color, a.ascii))
}

// verifyBefore runs the guards of a map that is asked for right after.
func (a *app) verifyBefore(ws *mwp.Workspace, target string) error {
	q := mwp.VerifyRequest{AllowFloating: a.floating, NoDiscoveries: a.noDiscoveries}
	if q.Targets = []string{target}; target == "" {
		dir, err := a.dir()
		if err != nil {
			return err
		}
		q.Targets = []string{dir}
	}
	if a.mayAsk() {
		q.Ask = a.ask
	}
	q.Watch = a.watcher(func() {}).event
	r, err := ws.Verify(a.ctx, q)
	if err != nil {
		return a.cause(err)
	}
	a.report(r.Notices...)
	for i := range r.Report.Guards {
		g := &r.Report.Guards[i]
		if g.Reason == ir.ReasonNotTrusted || g.Reason == ir.ReasonNotFound || g.Reason == ir.ReasonNotExecutable {
			a.report(notRun(g))
		}
	}
	return nil
}

// notRun says why a guard of a map could not be run.
func notRun(g *ir.VerifiedGuard) ir.Diagnostic {
	d := ir.Diagnostic{Code: ir.GuardUnverified, Severity: ir.SeverityWarning, Message: g.Guard + " was not run: " + strings.ReplaceAll(g.Reason, "_", " "), Hint: g.Hint}
	if g.Reason == ir.ReasonNotTrusted {
		d.Code = ir.GuardNotTrusted
		d.Message += ": " + g.Why
	}
	return d
}

// runOverride records that somebody works on in spite of a failing guard (D-84).
func (a *app) runOverride() error {
	for _, f := range []*flagSpec{&flagStaged, &flagStale, &flagAffected, &flagList, &flagJobs, &flagTrustAdHoc, &flagHook} {
		if as := a.gave(f); as != "" {
			return misspelt("mwp verify --override GUARD --reason TEXT [--for 4h]", "--override runs no guard, so %s means nothing with it", as)
		}
	}
	if a.verifyFormat == verifyJUnit {
		return misspelt("leave it out, or write --json", "--override has no test results to print as junit")
	}
	if strings.TrimSpace(a.reason) == "" {
		return usage("mwp verify --override GUARD --reason TEXT [--for 4h]", "--override needs a --reason that others can read")
	}
	if !a.yes && !a.mayAsk() {
		return usage("add --yes, or type the command in a terminal", "--override is a person's decision, and nobody is here to confirm it")
	}
	if !a.yes {
		a.stderr.Write([]byte("mwp: maps with " + ir.EscapeControls(a.override) + " will not be read-only although it fails. Go on? [y]es, [n]o: "))
		line, err := a.readLine(a.ctx)
		if err != nil {
			return err
		}
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return errNegative
		}
	}
	paths, err := a.pathsAndStdin(false)
	if err != nil {
		return err
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	q := mwp.OverrideRequest{Targets: paths, Guard: a.override, Reason: a.reason, For: a.lasting, AllowFloating: a.floating, NoDiscoveries: a.noDiscoveries}
	if q.For == 0 {
		q.For = 4 * time.Hour
	}
	r, err := ws.Override(a.ctx, q)
	if err != nil {
		return a.cause(err)
	}
	a.report(r.Notices...)
	if a.verifyFormat == verifyJSON {
		return a.write(mwp.VerifyJSON(&r.Report))
	}
	g := &r.Report.Guards[0]
	return a.write([]byte("overridden until " + g.Override.Until + ": " + ir.EscapeControls(g.Guard) + " (" + ir.EscapeControls(g.DeclaredIn) + ")\n"))
}
