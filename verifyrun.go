package mwp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// runState is what the runs of one Verify share.
type runState struct {
	began time.Time
	mu    sync.Mutex
	// notices are findings of the runs; guarded by mu.
	notices []ir.Diagnostic
	// told is set when it was said that results cannot be kept; guarded by mu.
	told bool
}

// now is the clock that results are dated by.
func (w *Workspace) now() time.Time {
	if w.o.Guards.Now != nil {
		return w.o.Guards.Now()
	}
	return w.o.Now()
}

// prepare finds where results and decisions are kept, and the key that signs them.
// Guards run without either; then nothing is remembered, and that is said.
func (v *verifying) prepare(ctx context.Context) error {
	p, err := v.w.find(v.Root)
	if err != nil {
		return err
	}
	s, _, err := v.w.locate(ctx, p)
	if err != nil {
		return err
	}
	v.c, v.run.began = s.candidate, v.w.now()
	if v.store = v.w.project(v.c); v.store == nil {
		v.forgets("the workspace has no anchor", "run `mwp init` to give it a place for them")
		return nil
	}
	if _, inside := below(realPath(v.c.dir), realPath(v.w.o.Guards.UserDir)); inside && v.w.o.Guards.UserDir != "" {
		v.store, v.nowhere = nil, true
		v.forgets("the per-user directory "+v.w.o.Guards.UserDir+" lies in the workspace, where others could read the key", "set XDG_STATE_HOME to a directory outside")
		return nil
	}
	if v.w.o.Guards.UserDir == "" && v.w.o.Guards.TrustKey == "" {
		v.store = nil
		v.forgets("there is no per-user directory for the key that signs them", "set HOME or XDG_STATE_HOME, or MWP_TRUST_KEY")
		return nil
	}
	key, err := v.w.user.sign(ctx)
	switch {
	case errors.Is(err, guard.ErrKey):
		return guardError(err)
	case err != nil:
		v.store = nil
		v.forgets(err.Error(), "")
	}
	v.key = key
	return nil
}

// forgets says, once, that results are not kept.
func (v *verifying) forgets(why, hint string) {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if v.run.told {
		return
	}
	v.run.told = true
	v.run.notices = append(v.run.notices, ir.Diagnostic{
		Code: ir.ResultsNotKept, Severity: ir.SeverityWarning, Message: "results of guards are not kept: " + why, Hint: hint,
	})
}

// decide takes the guards off the list that may not run (D-41, D-42, D-87).
func (v *verifying) decide(ctx context.Context) error {
	lock := guard.TrustLock{Key: v.key, Root: realPath(v.c.dir)}
	decisions := &guard.Decisions{}
	if v.store != nil {
		lock.State = *v.store
		var err error
		if decisions, err = lock.Read(); err != nil {
			v.notice(ir.TrustDamaged, err.Error(), "nothing in it counts")
		}
		v.foreign(decisions)
	}
	v.bound = map[int]cas.Digest{}
	var run []int
	for _, i := range v.todo {
		ok, err := v.mayRun(ctx, i, lock, decisions)
		if err != nil {
			return err
		}
		if ok {
			run = append(run, i)
		}
	}
	v.todo = run
	return nil
}

func (v *verifying) notice(code ir.Code, message, hint string) {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	v.run.notices = append(v.run.notices, ir.Diagnostic{Code: code, Severity: ir.SeverityWarning, Message: message, Hint: hint})
}

// damaged says what is wrong with the results that were there.
func (v *verifying) damaged(problem string) {
	v.notice(ir.RecordDamaged, filepath.Join(v.store.Path, guard.LedgerName)+": "+problem, "what could be read was kept")
}

// foreign says what in trust.lock does not count.
func (v *verifying) foreign(d *guard.Decisions) {
	file := filepath.Join(v.store.Path, guard.TrustName)
	if d.Foreign > 0 {
		v.notice(ir.TrustDamaged, file+" holds decisions that this user did not make; they count as absent", "it belongs to one person and to no repository")
	}
	if d.Damaged > 0 && d.Problem == "" {
		v.notice(ir.TrustDamaged, file+" holds decisions that are not as they were signed; they count as absent", "the guards ask again")
	}
	if d.Problem != "" {
		v.notice(ir.TrustDamaged, file+": "+d.Problem, "what is damaged counts as absent; the guards ask again")
	}
}

// mayRun decides about one guard, and says in the report why it does not run.
func (v *verifying) mayRun(ctx context.Context, i int, lock guard.TrustLock, known *guard.Decisions) (bool, error) {
	g, line := &v.guards[i], &v.Report.Guards[i]
	c := g.Command()
	switch {
	case c.Invalid != "":
		v.refuse(line, c.Invalid, "")
		line.Hint = "write it in characters that people can see"
		return false, nil
	case g.Level != nodes.TrustAdHoc:
		return true, nil
	case v.q.TrustAdHoc:
		line.Why = "ad-hoc, and --trust-adhoc lets it run this once"
		return true, nil
	}
	files, digest := v.boundFiles(g)
	v.bound[i] = digest
	what := guard.AdHoc{Command: g.Text(), DeclaredIn: g.Path, Cwd: g.Dir, Commit: g.Commit, Script: digest}
	var said guard.Answer
	if v.store != nil {
		said = known.Lookup(what)
	}
	switch said.Verdict {
	case guard.Yes:
		line.Why = "allowed by you"
		return true, nil
	case guard.Never:
		v.refuse(line, "you said never", g.Allow)
		line.Hint = "to be asked again, delete its entry in " + filepath.Join(v.store.Path, guard.TrustName)
		return false, nil
	}
	why := g.Why
	if said.Verdict == guard.Outdated {
		why = "its " + joinParts(said.Parts) + " changed since you decided"
	}
	if v.q.Ask != nil {
		answer, err := v.q.Ask(ctx, v.question(g, files, why, said))
		if err != nil {
			return false, err
		}
		if answer == AnswerNo {
			v.refuse(line, "you said no", g.Allow)
			return false, nil
		}
		return answer == AnswerYes, v.remember(ctx, lock, what, answer, line)
	}
	v.refuse(line, why, g.Allow)
	return false, nil
}

func joinParts(parts []guard.Part) string {
	s := ""
	for i, p := range parts {
		if i > 0 {
			s += " and "
		}
		s += string(p)
	}
	return s
}

func (v *verifying) question(g *nodes.PlannedGuard, files []string, why string, said guard.Answer) GuardQuestion {
	q := GuardQuestion{
		Command: g.Text(), Shell: g.Command().Shell, Dir: filepath.Join(v.c.dir, filepath.FromSlash(g.Dir)),
		DeclaredIn: g.DeclaredAt(), Module: g.Commit, Foreign: g.Foreign, Files: files, Why: why,
	}
	for _, p := range said.Parts {
		q.Changed = append(q.Changed, string(p))
	}
	return q
}

// remember keeps an answer that holds beyond this time.
func (v *verifying) remember(ctx context.Context, lock guard.TrustLock, what guard.AdHoc, answer GuardAnswer, line *ir.VerifiedGuard) error {
	verdict := guard.Yes
	line.Why = "allowed by you"
	if answer == AnswerNever {
		verdict = guard.Never
		v.refuse(line, "you said never", "")
		line.Hint = ""
	}
	if v.store == nil {
		return nil
	}
	if err := lock.Decide(ctx, what, verdict, v.w.now()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.notice(ir.TrustDamaged, "the answer is not remembered: "+err.Error(), "")
	}
	return nil
}

// refuse reports a guard that may not run. What is known of it from before stays known
// unless it would let a gate open (D-87).
func (v *verifying) refuse(line *ir.VerifiedGuard, why, allow string) {
	line.Verification = ir.Verification{
		Key: line.Key, Guard: line.Guard, Cwd: line.Cwd, DeclaredIn: line.DeclaredIn, Name: line.Name, Status: ir.Unverified, Reason: ir.ReasonNotTrusted,
	}
	line.Why = why
	switch {
	case allow != "":
		line.Hint = "look at it, then write " + allow + " under [trust] in " + cmp.Or(v.config, "the configuration, which `mwp init` makes") + ", or run `mwp verify` in a terminal and say yes"
	case line.Trust == nodes.TrustAdHoc:
		line.Hint = "no entry of allowed_guards can hold such a text: move the command into a script"
	}
}

// runAll runs what is left on the list, so many at a time. What would start the same
// runs once (D-43).
func (v *verifying) runAll(ctx context.Context) error {
	jobs := max(1, v.q.Jobs)
	if v.q.Jobs == 0 && v.jobs > 0 {
		jobs = v.jobs
	}
	var groups [][]int
	at := map[cas.Key]int{}
	for _, i := range v.todo {
		key := v.guards[i].RunKey()
		if n, known := at[key]; known {
			groups[n] = append(groups[n], i)
			continue
		}
		at[key] = len(groups)
		groups = append(groups, []int{i})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(jobs, len(groups)) {
		wg.Go(func() {
			for n := range next {
				e := GuardEvent{Guard: v.guards[groups[n][0]].Text(), Number: n + 1, Of: len(groups)}
				if err := v.runOne(ctx, groups[n], e); err != nil {
					cancel(err)
				}
			}
		})
	}
	for n := range groups {
		if ctx.Err() != nil {
			break
		}
		next <- n
	}
	close(next)
	wg.Wait()
	v.Notices = append(v.Notices, v.run.notices...)
	return context.Cause(ctx)
}

// prints returns a guard's digests as they are now.
func (v *verifying) prints(ctx context.Context, g nodes.Guard) (nodes.GuardPrints, error) {
	node := func(candidate, string) (text, string) { return nodes.InputsOf(g), "" }
	r, err := v.w.answer(ctx, question{target: v.c.dir, node: node})
	if err != nil {
		return nodes.GuardPrints{}, err
	}
	// Without its slot the next look costs more and finds the same.
	_ = r.Record()
	return nodes.DecodeGuardPrints(r.Text)
}

// runOne runs the guards of one group, which would start the same, and records what
// came of it for each: they rest on files of their own.
func (v *verifying) runOne(ctx context.Context, group []int, e GuardEvent) error {
	first := &v.guards[group[0]]
	unlock, err := v.exclusive(ctx, first)
	if err != nil {
		return err
	}
	defer unlock()
	var run []running
	for _, i := range group {
		r := running{g: &v.guards[i], line: &v.Report.Guards[i]}
		if r.before, err = v.prints(ctx, r.g.Guard); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			v.unknown(r.line, err)
			continue
		}
		if digest, ok := v.bound[i]; ok {
			if _, now := v.boundFiles(r.g); now != digest {
				v.refuse(r.line, "a file that it names changed since it was looked at, a moment ago", "")
				continue
			}
		}
		if !v.ranMeanwhile(ctx, r.g, r.line, r.before.Whole) {
			run = append(run, r)
		}
	}
	if len(run) == 0 {
		return nil
	}
	timeout := run[0].g.Timeout
	for _, r := range run {
		timeout = max(timeout, r.g.Timeout)
	}
	v.watch(e)
	c := first.Command()
	out, err := guard.Run(ctx, guard.Job{
		Argv: c.Words, Shell: shellText(first), Dir: filepath.Join(v.c.dir, filepath.FromSlash(first.Dir)), Root: v.c.dir,
		Env: v.w.o.Guards.Env, From: v.w.o.Dir, Timeout: timeout,
		Progress: func(b []byte) { e := e; e.Line = b; v.watch(e) },
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		// Nothing was learned about the guard, and the others have nothing to do with it.
		out = guard.Outcome{Status: guard.Unverified, Reason: guard.ReasonNotFound, Detail: Innermost(err).Error()}
	}
	log := v.log(first, &out)
	for _, r := range run {
		r.line.Ran, r.line.Log = true, log
		own := out
		if own.Status != guard.Unverified && own.Duration > r.g.Timeout {
			// The others may have more time.
			own.Status, own.Exit, own.Reason = guard.Failed, nil, guard.ReasonTimeout
			own.Detail = fmt.Sprintf("it ran longer than %v", r.g.Timeout)
		}
		if err := v.conclude(ctx, r.g, r.line, &own, r.before); err != nil {
			return err
		}
	}
	e.Ended = run[0].line
	v.watch(e)
	return nil
}

// running is a guard that is about to be run, with its files as they are before.
type running struct {
	g      *nodes.PlannedGuard
	line   *ir.VerifiedGuard
	before nodes.GuardPrints
}

// unknown reports a guard whose files cannot be looked at any more.
func (v *verifying) unknown(line *ir.VerifiedGuard, err error) {
	line.Verification = ir.Verification{
		Key: line.Key, Guard: line.Guard, Cwd: line.Cwd, DeclaredIn: line.DeclaredIn, Name: line.Name, Status: ir.Unverified, Reason: ir.ReasonUnreadable,
	}
	line.Detail = Innermost(err).Error()
	var e *EnvironmentError
	if errors.As(err, &e) {
		line.Detail = e.Diagnostic.Message
	}
}

func shellText(g *nodes.PlannedGuard) string {
	if c := g.Command(); c.Shell {
		return c.Text
	}
	return ""
}

func (v *verifying) watch(e GuardEvent) {
	if v.q.Watch != nil {
		v.q.Watch(e)
	}
}
