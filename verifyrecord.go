package mwp

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// exclusive waits until no other process runs the guard. Where no lock can be made,
// because nothing can be written, nothing can be kept twice either.
func (v *verifying) exclusive(ctx context.Context, g *nodes.PlannedGuard) (unlock func(), err error) {
	if v.store == nil {
		return func() {}, nil
	}
	dir, err := v.store.Locks()
	if err == nil {
		var release func() error
		release, err = guard.Exclusive(ctx, dir, g.RunKey().String(), func() { v.w.progress("another mwp runs " + g.Text() + "; waiting for its end") })
		if err == nil {
			return func() { release() }, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	v.forgets(err.Error(), "")
	return func() {}, nil
}

// ranMeanwhile takes over the result of another process that ran the guard on the same
// files while this one waited for it.
func (v *verifying) ranMeanwhile(ctx context.Context, g *nodes.PlannedGuard, line *ir.VerifiedGuard, whole cas.Digest) bool {
	if v.store == nil {
		return false
	}
	var last guard.Record
	_, err := guard.NewLedger(v.key).Update(ctx, *v.store, func(all *guard.Records) error {
		last, _ = all.Get(g.Key())
		return nil
	})
	// Not by its time, which is ahead of this process's where a clock was set back.
	if err != nil || last.Run.RanAt == 0 || last.Run.Fingerprint != whole || g.Check.Run != nil && g.Check.Run.RanAt == last.Run.RanAt {
		return false
	}
	v.found(g, line, &last.Run)
	return true
}

// found puts a run into the plan and the report.
func (v *verifying) found(g *nodes.PlannedGuard, line *ir.VerifiedGuard, run *graph.Run) {
	g.Check = nodes.CheckValue{Status: ir.FailedCheck, Reason: run.Reason, Run: run, Overridden: run.Override != nil}
	if run.Passed {
		g.Check.Status = ir.Passed
	}
	line.Verification = g.Verification()
}

// log keeps the guard's output where this user alone finds it, and returns the file, ""
// when nothing was written (D-48).
func (v *verifying) log(g *nodes.PlannedGuard, out *guard.Outcome) string {
	if v.w.o.Guards.UserDir == "" || v.nowhere {
		return ""
	}
	name := cas.Sum([]byte(v.c.dir)).String()[:12] + "-" + g.RunKey().String()[:16] + ".log"
	dir := filepath.Join(v.w.o.Guards.UserDir, "logs")
	if err := guard.WriteLog(dir, name, guard.Log{
		Command: g.Text(), Dir: filepath.Join(v.c.dir, filepath.FromSlash(g.Dir)), Outcome: *out,
	}); err != nil {
		v.notice(ir.ResultsNotKept, "the output of "+g.Text()+" is not kept: "+err.Error(), "")
		return ""
	}
	return filepath.Join(dir, name)
}

// conclude reports what came of a run and records it. before is how its files were
// then: whatever changed while the guard ran was not checked.
func (v *verifying) conclude(ctx context.Context, g *nodes.PlannedGuard, line *ir.VerifiedGuard, out *guard.Outcome, before nodes.GuardPrints) error {
	line.Detail, line.Hint = out.Detail, out.Hint
	if out.Status == guard.Unverified {
		line.Verification = ir.Verification{
			Key: line.Key, Guard: line.Guard, Cwd: line.Cwd, DeclaredIn: line.DeclaredIn, Name: line.Name,
			Status: ir.Unverified, Reason: out.Reason, DurationMS: out.Duration.Milliseconds(),
		}
		return nil
	}
	at := v.w.now()
	cacheFor := nodes.DefaultCacheFor
	if g.CacheFor != nil {
		cacheFor = *g.CacheFor
	}
	run := graph.Run{
		Passed: out.Status == guard.Passed, Exit: out.Exit, Reason: out.Reason, Duration: out.Duration.Milliseconds(),
		RanAt: at.UnixNano(), CacheUntil: later(at, cacheFor), Fingerprint: before.Whole, Declared: before.Declared,
	}
	if before.Unreadable != "" {
		v.notice(ir.GuardStale, "the result of "+g.Text()+" does not count: cannot "+before.Unreadable, "make it readable, or take it out of verified_paths")
	}
	if after, err := v.prints(ctx, g.Guard); err == nil && after.Whole != before.Whole {
		v.notice(ir.GuardStale, "files that "+g.Text()+" rests on changed while it ran, so its result does not count for them", "when the guard changes them itself, leave them out of verified_paths, or let git ignore them")
	}
	previous := v.record(ctx, g, line, &run)
	v.found(g, line, &run)
	if !v.q.NoDiscoveries && v.store != nil && guard.Changed(previous, run) {
		v.discover(ctx, g, line, &run)
	}
	return ctx.Err()
}

// later returns the moment some time after another, or the last one there is.
func later(at time.Time, d time.Duration) int64 {
	if now := at.UnixNano(); now <= math.MaxInt64-int64(d) {
		return now + int64(d)
	}
	return math.MaxInt64
}

// record writes a run to the ledger and returns the one before it. A person's override
// goes on while the guard fails on the same files (D-84).
func (v *verifying) record(ctx context.Context, g *nodes.PlannedGuard, line *ir.VerifiedGuard, run *graph.Run) (previous *graph.Run) {
	if v.store == nil {
		return nil
	}
	rec := guard.Record{Key: g.Key(), Guard: g.Text(), Cwd: g.Dir, DeclaredIn: g.Path, Run: *run}
	if line.Log != "" {
		rec.Log = filepath.Base(line.Log)
	}
	problem, err := guard.NewLedger(v.key).Update(ctx, *v.store, func(all *guard.Records) error {
		if last, ok := all.Get(rec.Key); ok {
			previous = &last.Run
			if o := last.Run.Override; o != nil && !run.Passed && o.Declared == run.Declared && run.RanAt < o.Until && last.Run.RanAt <= run.RanAt {
				rec.Run.Override, run.Override = o, o
			}
		}
		all.Set(rec)
		return nil
	})
	if problem != "" {
		v.damaged(problem)
	}
	if err != nil && ctx.Err() == nil {
		v.forgets(err.Error(), "")
	}
	return previous
}

// discover notes a changed result in the project's discoveries (D-48).
func (v *verifying) discover(ctx context.Context, g *nodes.PlannedGuard, line *ir.VerifiedGuard, run *graph.Run) {
	d := guard.Discovery{
		Kind: guard.Failing, At: run.RanAt, Guard: g.Text(), DeclaredIn: g.DeclaredAt(), Exit: run.Exit, Reason: run.Reason, Log: line.Log,
	}
	if run.Passed {
		d.Kind = guard.Recovered
	}
	if len(g.Sources) > 0 && len(v.Report.Targets) == 1 {
		d.Target = v.Report.Targets[0]
	}
	appended, err := guard.AppendDiscovery(ctx, *v.store, d)
	file := filepath.Join(v.store.Path, "discoveries.md")
	switch {
	case err != nil && ctx.Err() == nil:
		v.notice(ir.ResultsNotKept, "not noted in "+file+": "+err.Error(), "")
	case err == nil && !appended:
		v.notice(ir.ResultsNotKept, file+" is full, so nothing more is noted there", "move what is settled out of it")
	}
}

// OverrideRequest is a person's decision to work on while a guard fails (D-84).
type OverrideRequest struct {
	// Targets are as in VerifyRequest. Guard names the guard: its command, its name, or
	// the beginning of its key.
	Targets []string
	Guard   string
	Reason  string
	// For is how long it holds.
	For           time.Duration
	AllowFloating bool
	NoDiscoveries bool
}

// Override records the decision beside the guard's last run, which has to be a failure
// on the files as they are. It returns the guard with the end of the override.
func (w *Workspace) Override(ctx context.Context, q OverrideRequest) (*VerifyResult, error) {
	v := &verifying{w: w, q: VerifyRequest{Targets: q.Targets, AllowFloating: q.AllowFloating, NoDiscoveries: q.NoDiscoveries}}
	if err := v.collect(ctx); err != nil {
		return nil, err
	}
	g, err := v.called(q.Guard)
	if err != nil {
		return nil, err
	}
	refuse := func(hint, format string, args ...any) error {
		return &UsageError{ir.Diagnostic{Code: ir.OverrideRefused, Severity: ir.SeverityError, Source: g.Path, Line: g.Line, Message: fmt.Sprintf(format, args...), Hint: hint}}
	}
	switch {
	case g.Static():
		return nil, refuse("mend what it names, or the guard", "%s runs nothing, so there is no run to override", g.Text())
	case g.Check.Status != ir.FailedCheck:
		return nil, refuse("", "%s does not fail; its status is %s", g.Text(), g.Check.Status)
	case g.Check.FilesChanged:
		return nil, refuse("run `mwp verify` first", "files changed since %s failed, so nobody knows whether it still does", g.Text())
	}
	if err := v.prepare(ctx); err != nil {
		return nil, err
	}
	if v.store == nil {
		return nil, environment(ir.ResultsNotKept, nil, v.run.notices[0].Hint, "the override cannot be kept: %s", v.run.notices[0].Message)
	}
	at := w.now()
	o := &graph.Override{Reason: q.Reason, Until: at.Add(q.For).UnixNano(), Declared: g.Declared}
	problem, err := guard.NewLedger(v.key).Update(ctx, *v.store, func(all *guard.Records) error {
		last, ok := all.Get(g.Key())
		if !ok || last.Run.Passed || last.Run.Declared != g.Declared {
			return refuse("run `mwp verify`", "%s was run again meanwhile", g.Text())
		}
		last.Run.Override = o
		all.Set(last)
		g.Check.Run = &last.Run
		return nil
	})
	if problem != "" {
		v.damaged(problem)
	}
	if err != nil {
		return nil, guardError(err)
	}
	g.Check.Overridden = true
	v.Report.Guards = []ir.VerifiedGuard{v.known(g)}
	if !q.NoDiscoveries {
		d := guard.Discovery{Kind: guard.Overridden, At: at.UnixNano(), Guard: g.Text(), DeclaredIn: g.DeclaredAt(), Override: q.Reason, Until: o.Until, Exit: g.Check.Run.Exit, Reason: g.Check.Run.Reason}
		if _, err := guard.AppendDiscovery(ctx, *v.store, d); err != nil && ctx.Err() == nil {
			v.notice(ir.ResultsNotKept, "not noted in discoveries.md: "+err.Error(), "")
		}
	}
	v.Notices = append(v.Notices, v.run.notices...)
	return &v.VerifyResult, nil
}

// called returns the one guard of the plan with a name.
func (v *verifying) called(name string) (*nodes.PlannedGuard, error) {
	var found []*nodes.PlannedGuard
	for i := range v.guards {
		if g := &v.guards[i]; g.Called(name) {
			found = append(found, g)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	d := ir.Diagnostic{Code: ir.OverrideRefused, Severity: ir.SeverityError, Message: "no guard is called " + name, Hint: "`mwp verify --list` names them, with their keys"}
	if len(found) > 1 {
		d.Message = fmt.Sprintf("%d guards are called %s", len(found), name)
		d.Hint = "name a target whose map has only one of them, or its key: `mwp verify --list`"
	}
	return nil, &UsageError{d}
}
