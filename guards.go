package mwp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// GuardOptions say whose results of guards count and how guards are run. The zero
// value believes nobody and keeps nothing.
type GuardOptions struct {
	// UserDir is the absolute path of the per-user state directory, outside every
	// project: the key that signs results and decisions, the workspaces that this user
	// trusts, and the output of guards (D-44, D-48, D-109). "" keeps none of these.
	UserDir string
	// TrustKey stands for the key when it is set: what MWP_TRUST_KEY holds (D-44).
	TrustKey string
	// Env is the environment that guards inherit (D-86).
	Env []string
	// Now is the clock that results are dated and judged by; nil is Options.Now.
	Now func() time.Time
}

// user is the person whose key believes and signs. The key is looked for when it is
// first needed: a map without recorded results never asks.
type user struct {
	o GuardOptions

	mu  sync.Mutex
	key *guard.Key // guarded by mu; nil until there is one
}

// open returns the user's key. One that does not exist yet is looked for again: another
// process may make it.
func (u *user) open() (*guard.Key, error) {
	return u.keep(func() (*guard.Key, error) { return guard.OpenKey(u.o.UserDir, u.o.TrustKey) })
}

// sign returns the user's key, made now if need be.
func (u *user) sign(ctx context.Context) (*guard.Key, error) {
	return u.keep(func() (*guard.Key, error) { return guard.CreateKey(ctx, u.o.UserDir, u.o.TrustKey) })
}

func (u *user) keep(get func() (*guard.Key, error)) (*guard.Key, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.key != nil {
		return u.key, nil
	}
	k, err := get()
	if err == nil && k.Exists() {
		u.key = k
	}
	return k, err
}

// Signer and Parse make a user what the evaluator reads records through. Whoever has
// no usable key believes no record: verify says why.
func (u *user) Signer() string {
	if k, err := u.open(); err == nil {
		return k.Signer()
	}
	return ""
}

func (u *user) Parse(file []byte) map[cas.Key]graph.RecordState {
	k, err := u.open()
	if err != nil {
		return nil
	}
	return guard.NewLedger(k).Parse(file)
}

// guardError turns a failure of a side file into one of the environment.
func guardError(err error) error {
	var f *state.FileError
	if errors.As(err, &f) {
		return environment(ir.Unreadable, err, f.Hint, "%s", f.Message)
	}
	return err
}

// project returns where a workspace keeps results and decisions, nil for one without
// an anchor.
func (w *Workspace) project(c candidate) *state.Dir {
	if c.state == "" {
		return nil
	}
	return &state.Dir{Path: c.state, Ignore: stateIgnore(), Waiting: func(lock string) {
		w.progress("waiting for the lock " + lock)
	}}
}

func (w *Workspace) progress(line string) {
	if w.o.Progress != nil {
		w.o.Progress(line)
	}
}

// planNode returns what answers which guards a target has, or with everything those of the
// whole workspace. whole looks at every file behind them.
func planNode(everything, whole, floating bool) func(c candidate, from string) (text, string) {
	return func(c candidate, from string) (text, string) {
		var n nodes.GuardPlanText
		n.Target, n.Explicit, n.AllowFloating = c.target, c.explicit, floating
		n.Everything, n.Whole = everything, whole
		if everything {
			n.Target, n.From = ".", from
			return n, ""
		}
		return n, n.Target
	}
}

// plan answers which guards a target has, "" for the whole workspace around
// Options.Dir.
func (w *Workspace) plan(ctx context.Context, target string, everything, whole, floating bool) (*Result, nodes.GuardPlanValue, error) {
	r, err := w.answer(ctx, question{target: target, node: planNode(everything, whole, floating), fetch: true, floating: floating})
	if err != nil {
		return nil, nodes.GuardPlanValue{}, err
	}
	p, err := cas.DecodeValue(r.Text, nodes.CodeGuardPlan)
	return r, p, err
}

// planUnder is plan with the digest of the [trust] tables that the plan was made under. Both
// come from one evaluation, which reads a file once: a table that changes meanwhile is the
// same for both.
func (w *Workspace) planUnder(ctx context.Context, target string, everything, whole, floating bool) (r *Result, p nodes.GuardPlanValue, tables cas.Digest, err error) {
	at, s, err := w.enter(ctx, target)
	if err != nil {
		return nil, p, tables, err
	}
	from := fromOf(at, s.candidate)
	n, shown := planNode(everything, whole, floating)(s.candidate, from)
	x, err := s.ev.Eval(ctx, n)
	if err != nil {
		return nil, p, tables, worldError(err)
	}
	v := x.(nodes.RenderedValue)
	if x, err = s.ev.Eval(ctx, nodes.TrustTablesText{TrustTables: nodes.TrustTables{Explicit: s.explicit}, From: from}); err != nil {
		return nil, p, tables, worldError(err)
	}
	copy(tables[:], x.(nodes.RenderedValue).Text)
	q := question{}
	if r = newResult(&v, &q, shown, s.dir); r.refused {
		return nil, p, tables, r.refusal()
	}
	p, err = cas.DecodeValue(r.Text, nodes.CodeGuardPlan)
	return r, p, tables, err
}
