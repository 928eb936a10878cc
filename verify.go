package mwp

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// VerifyRequest says which guards to run and how (D-43, D-72).
type VerifyRequest struct {
	// Targets are paths whose maps' guards are meant; none stands for every guard of
	// the workspace around Options.Dir.
	Targets []string
	// Staged takes the directories of what the next git commit changes as further
	// targets. GitIndex is the index of a commit under way, what GIT_INDEX_FILE holds.
	Staged   bool
	GitIndex string
	// Affected keeps the guards that rest on a file that differs from a git revision.
	Affected string
	// Stale runs only guards whose last result does not count any more.
	Stale bool
	// List reports what is known and runs nothing.
	List bool
	// Jobs is how many guards run at once, 0 for what the configuration says.
	Jobs          int
	AllowFloating bool
	// TrustAdHoc runs guards that nobody agreed to, for this once (D-87).
	TrustAdHoc bool
	// ForOthers is set by a program that acts for somebody else, such as an MCP server.
	// Then guards run only in the workspace around Options.Dir, and only when this user
	// trusts it; everything else is a *Refusal (D-109).
	ForOthers bool
	// NoDiscoveries keeps discoveries.md as it is (D-48).
	NoDiscoveries bool
	// Ask is called for an ad-hoc guard that nobody decided about yet, for one at a
	// time; nil is nobody to ask (D-87).
	Ask func(context.Context, GuardQuestion) (GuardAnswer, error)
	// Watch, when set, is told of what happens, from any goroutine.
	Watch func(GuardEvent)
}

// GuardQuestion is what somebody has to know to let an ad-hoc guard run.
type GuardQuestion struct {
	// Command is the command text, Shell whether a shell would run it, Dir the absolute
	// directory.
	Command, Dir string
	Shell        bool
	// DeclaredIn is the path:line of the declaration. Module is the commit of the module
	// that it comes from; Foreign is set for every module.
	DeclaredIn, Module string
	Foreign            bool
	// Files are the files that the command names and the answer is bound to.
	Files []string
	// Why says what makes the guard ad-hoc. Changed names what is not as it was when
	// somebody agreed, nil when nobody did.
	Why     string
	Changed []string
}

// GuardAnswer is what somebody said.
type GuardAnswer int

// The answers. No holds for this time, Never until the command or its script changes.
const (
	AnswerNo GuardAnswer = iota
	AnswerYes
	AnswerNever
)

// GuardEvent is a moment in the run of one guard. The first event comes when it is known
// which guards are to run; it has no guard.
type GuardEvent struct {
	// Guard is the command, Number its place among Of commands that run, from 1.
	Guard      string
	Number, Of int
	// Line is a line that the guard wrote, as it wrote it; nil when it begins or ends.
	Line []byte
	// Ended is what came of it, nil before.
	Ended *ir.VerifiedGuard
}

// VerifyResult is what came of a request.
type VerifyResult struct {
	Report ir.VerifyReport
	// Notices are findings beside the guards' results.
	Notices []ir.Diagnostic
	// Root is the absolute workspace root.
	Root string

	results []*Result
}

// Record keeps what the next call will be served from; see Result.Record.
func (r *VerifyResult) Record() error {
	for _, x := range r.results {
		if err := x.Record(); err != nil {
			return err
		}
	}
	return nil
}

// verifying is a Verify under way.
type verifying struct {
	w *Workspace
	q VerifyRequest
	VerifyResult
	c candidate
	// guards are the plan, in the order of the maps; todo are the places of those that
	// are to be run.
	guards []nodes.PlannedGuard
	todo   []int
	jobs   int
	// config is the workspace's configuration file, "" for none.
	config string
	// store is where results are kept, nil where none can be; lock is what was decided
	// about ad-hoc guards.
	store *state.Dir
	key   *guard.Key
	// nowhere is set when the per-user directory is no place for anything.
	nowhere bool
	// tables are the digests of the [trust] tables that plans for others were made under.
	tables []cas.Digest
	// bound are the digests of the files that ad-hoc guards name, by place in guards, as
	// they were when it was decided that these may run.
	bound map[int]cas.Digest
	run   runState
}

// Verify runs guards and records their results. It prints nothing
// and asks only through the request. The error is that of Map; a guard that fails, or
// that may not run, is none.
func (w *Workspace) Verify(ctx context.Context, q VerifyRequest) (*VerifyResult, error) {
	if value, ok := lookupEnv(w.o.Guards.Env, "MWP_GUARD"); ok && value != "" {
		return nil, environment(ir.VerifyInGuard, nil, "take mwp verify out of the guard, or run it outside of one",
			"a guard runs this: guards that run guards have no end")
	}
	if q.Staged && q.Affected != "" {
		return nil, &UsageError{ir.Diagnostic{
			Code: ir.TargetInvalid, Severity: ir.SeverityError, Message: "what is staged and what differs from " + q.Affected + " are two selections",
			Hint: "ask for one of them; --affected HEAD is everything that is not committed",
		}}
	}
	v := &verifying{w: w, q: q}
	if err := v.collect(ctx); err != nil {
		return nil, err
	}
	if err := v.choose(ctx); err != nil {
		return nil, err
	}
	if err := v.permitted(ctx); err != nil {
		return nil, err
	}
	v.watch(GuardEvent{Of: len(v.todo)})
	if len(v.todo) > 0 {
		if err := v.prepare(ctx); err != nil {
			return nil, err
		}
		if err := v.decide(ctx); err != nil {
			return nil, err
		}
		if err := v.runAll(ctx); err != nil {
			return nil, err
		}
	}
	return &v.VerifyResult, nil
}

func lookupEnv(env []string, name string) (string, bool) {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// collect makes the plan: the guards of every target's map in turn, each once.
func (v *verifying) collect(ctx context.Context) error {
	targets := v.q.Targets
	var staged []string
	if v.q.Staged {
		var dirs []string
		var err error
		if dirs, staged, err = v.staged(ctx); err != nil {
			return err
		}
		targets = append(slices.Clone(targets), dirs...)
		v.Report.Targets = []string{}
		if len(targets) == 0 {
			v.Report.Notes = append(v.Report.Notes, "nothing is staged, so there is nothing to check")
			return nil
		}
	}
	everything := len(targets) == 0
	if everything {
		targets = []string{""}
	}
	known := map[cas.Key]int{}
	for _, target := range targets {
		if err := v.notInModules(target); err != nil {
			return err
		}
		r, plan, err := v.planOf(ctx, target, everything)
		if err != nil {
			return err
		}
		if v.Root != "" && r.Root != v.Root && v.holds() && len(plan.Guards)+len(plan.Problems) > 0 {
			return otherWorkspace(v.Root, r.Root)
		}
		if v.Root == "" || len(plan.Guards)+len(plan.Problems) > 0 {
			// Where one workspace has guards and the others have none, it is the one.
			v.Root = r.Root
		}
		v.results = append(v.results, r)
		for _, d := range r.Notices {
			if !slices.Contains(v.Notices, d) {
				v.Notices = append(v.Notices, d)
			}
		}
		for _, d := range plan.Problems {
			if !slices.Contains(v.Report.Problems, d) {
				v.Report.Problems = append(v.Report.Problems, d)
			}
		}
		if plan.Config != "" {
			v.config = filepath.Join(r.Root, filepath.FromSlash(plan.Config))
		}
		if v.jobs = max(v.jobs, plan.Jobs); !everything {
			v.Report.Targets = append(v.Report.Targets, cmp.Or(r.Target, "."))
		}
		v.take(known, plan.Guards)
	}
	if len(staged) == 0 {
		return nil
	}
	// A guard elsewhere may name a staged file.
	r, plan, err := v.w.plan(ctx, "", true, v.q.Stale, v.q.AllowFloating)
	if err != nil {
		return err
	}
	v.results = append(v.results, r)
	if !v.holds() {
		v.Root = r.Root
	}
	if r.Root == v.Root {
		v.take(known, slices.DeleteFunc(plan.Guards, func(g nodes.PlannedGuard) bool { return !g.RestsOnAny(staged) }))
	}
	return nil
}

// planOf plans one target, for others under tables that are looked at again.
func (v *verifying) planOf(ctx context.Context, target string, everything bool) (*Result, nodes.GuardPlanValue, error) {
	if !v.q.ForOthers {
		return v.w.plan(ctx, target, everything, v.q.Stale, v.q.AllowFloating)
	}
	r, plan, tables, err := v.w.planUnder(ctx, target, everything, v.q.Stale, v.q.AllowFloating)
	if err == nil {
		v.tables = append(v.tables, tables)
	}
	return r, plan, err
}

// notInModules refuses a target inside a fetched module, which has an anchor of its own:
// its author's allow-list is nobody's consent (D-42, D-106).
func (v *verifying) notInModules(target string) error {
	abs := target
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(v.w.o.Dir, target)
	}
	segs := strings.Split(filepath.ToSlash(realPath(abs)), "/")
	for i := range segs[1:] {
		if (segs[i] == ".mwp" || segs[i] == ".mwp.d") && segs[i+1] == "modules" {
			return &UsageError{ir.Diagnostic{
				Code: ir.TargetInState, Severity: ir.SeverityError, Message: "the guards of a fetched module run where it is imported, not in " + abs,
				Hint: "name a file or directory of the project",
			}}
		}
	}
	return nil
}

// take adds guards to the plan, each key once.
func (v *verifying) take(known map[cas.Key]int, guards []nodes.PlannedGuard) {
	for _, g := range guards {
		key := g.Key()
		at, seen := known[key]
		if !seen {
			known[key] = len(v.guards)
			v.guards = append(v.guards, g)
			continue
		}
		for _, s := range g.Sources {
			if !slices.Contains(v.guards[at].Sources, s) {
				v.guards[at].Sources = append(v.guards[at].Sources, s)
			}
		}
	}
}

// holds reports whether there is anything in the plan so far.
func (v *verifying) holds() bool { return len(v.guards)+len(v.Report.Problems) > 0 }

// otherWorkspace refuses paths of several workspaces: each has its own configuration.
func otherWorkspace(a, b string) error {
	return &UsageError{ir.Diagnostic{
		Code: ir.TargetInvalid, Severity: ir.SeverityError,
		Message: "the paths lie in two workspaces, " + a + " and " + b, Hint: "run the command in each of them, with -C DIR",
	}}
}

// staged returns what the next commit changes, relative to the workspace root, and the
// absolute directories of that. What it deletes stood in a directory too, and so does
// the nearest one that is left.
func (v *verifying) staged(ctx context.Context) (dirs, files []string, err error) {
	_, s, err := v.w.enter(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	repo, err := v.repository(ctx, s.dir)
	if err != nil {
		return nil, nil, err
	}
	changes, err := repo.Staged(ctx)
	if err != nil {
		return nil, nil, gitError(err)
	}
	seen := map[string]bool{}
	elsewhere := 0
	for _, c := range changes {
		dir := filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(c.Path)))
		for !isDir(dir) && dir != s.dir {
			dir = filepath.Dir(dir)
		}
		if !seen[dir] {
			seen[dir] = true
			here, err := v.sameRoot(ctx, s.dir, dir)
			if err != nil {
				return nil, nil, err
			}
			if here {
				dirs = append(dirs, dir)
			}
		}
		if slices.Contains(dirs, dir) {
			files = append(files, c.Path)
		} else {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		v.Report.Notes = append(v.Report.Notes, fmt.Sprintf("%d of %d staged files lie in other workspaces, whose guards are not run from here; with -C DIR they are", elsewhere, len(changes)))
	}
	return dirs, files, nil
}

// sameRoot reports whether a directory belongs to the workspace with a root. A project
// inside it that is no member is somebody else's, with an allow-list of its own.
func (v *verifying) sameRoot(ctx context.Context, root, dir string) (bool, error) {
	p, err := v.w.find(dir)
	if err != nil {
		return false, err
	}
	s, _, err := v.w.locate(ctx, p)
	return err == nil && s.dir == root, err
}

// choose keeps the guards that are to be run, and reports on the others.
func (v *verifying) choose(ctx context.Context) error {
	var changed []string
	if v.q.Affected != "" && len(v.guards) > 0 {
		repo, err := v.repository(ctx, v.Root)
		if err != nil {
			return err
		}
		base, err := repo.ResolveCommit(ctx, v.q.Affected)
		if err != nil {
			return gitError(err)
		}
		changes, err := repo.ChangedPaths(ctx, base)
		if err != nil {
			return gitError(err)
		}
		for _, c := range changes {
			changed = append(changed, c.Path)
		}
		before := len(v.guards)
		v.guards = slices.DeleteFunc(v.guards, func(g nodes.PlannedGuard) bool { return !g.RestsOnAny(changed) })
		if n := before - len(v.guards); n > 0 {
			v.Report.Notes = append(v.Report.Notes, fmt.Sprintf("%s on nothing that differs from %s", rest(n), v.q.Affected))
		}
	}
	current := 0
	v.Report.Guards = make([]ir.VerifiedGuard, len(v.guards))
	for i := range v.guards {
		g := &v.guards[i]
		v.Report.Guards[i] = v.known(g)
		switch {
		case g.Static() || v.q.List:
		case v.q.Stale && g.Current():
			current++
		default:
			v.todo = append(v.todo, i)
		}
	}
	if current > 0 {
		v.Report.Notes = append(v.Report.Notes, fmt.Sprintf("%d of %d results still count, so they were not asked for again", current, len(v.guards)))
	}
	return nil
}

func rest(n int) string {
	if n == 1 {
		return "1 guard rests"
	}
	return fmt.Sprintf("%d guards rest", n)
}

// known is the report's line about a guard before anything runs.
func (v *verifying) known(g *nodes.PlannedGuard) ir.VerifiedGuard {
	return ir.VerifiedGuard{
		Verification: g.Verification(), Trust: cmp.Or(g.Level, "static"), Why: g.Why, Sources: g.Sources, Owners: g.Owners,
	}
}

// repository opens the git repository around a directory.
func (v *verifying) repository(ctx context.Context, dir string) (*vcs.Repository, error) {
	repo, err := vcs.Open(ctx, vcs.Options{Dir: dir, Index: v.q.GitIndex})
	if err != nil {
		return nil, gitError(err)
	}
	return repo, nil
}
