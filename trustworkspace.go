package mwp

import (
	"context"
	"fmt"
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TrustState is what this user said about letting other programs run a workspace's
// guards (D-109).
type TrustState int

// The states. TrustOutdated is a workspace whose [trust] tables changed since.
const (
	TrustUnknown TrustState = iota
	TrustGiven
	TrustDenied
	TrustOutdated
)

// Trusted returns whether this user let programs that act for somebody else, such as an
// MCP server or a harness's hook, run the guards of the workspace around Options.Dir.
// A person who runs verify in a terminal needs nobody's trust.
func (w *Workspace) Trusted(ctx context.Context) (TrustState, error) {
	root, tables, err := w.trustTables(ctx)
	if err != nil {
		return TrustUnknown, err
	}
	return w.trusted(root, tables)
}

// trusted returns what this user said of a root with certain tables.
func (w *Workspace) trusted(root string, tables cas.Digest) (TrustState, error) {
	if _, inside := below(realPath(root), realPath(w.o.Guards.UserDir)); inside && w.o.Guards.UserDir != "" {
		// There is no place for an answer that a repository could not write itself.
		return TrustDenied, nil
	}
	v, err := guard.Personal{Dir: w.o.Guards.UserDir}.Trusted(realPath(root), tables)
	switch v {
	case guard.Yes:
		return TrustGiven, guardError(err)
	case guard.Never:
		return TrustDenied, guardError(err)
	case guard.Outdated:
		return TrustOutdated, guardError(err)
	}
	return TrustUnknown, guardError(err)
}

// TrustWorkspace records whether this user lets them, for as long as no [trust] table of
// the workspace changes.
func (w *Workspace) TrustWorkspace(ctx context.Context, trusts bool) error {
	verdict := guard.Never
	if trusts {
		verdict = guard.Yes
	}
	root, tables, err := w.trustTables(ctx)
	if err != nil {
		return err
	}
	return guardError(guard.Personal{Dir: w.o.Guards.UserDir}.Trust(ctx, realPath(root), tables, verdict, w.now()))
}

// trustTables returns the workspace's root and the digest of its [trust] tables.
func (w *Workspace) trustTables(ctx context.Context) (root string, tables cas.Digest, err error) {
	node := func(c candidate, from string) (text, string) {
		return nodes.TrustTablesText{TrustTables: nodes.TrustTables{Explicit: c.explicit}, From: from}, ""
	}
	r, err := w.answer(ctx, question{node: node})
	if err != nil {
		return "", tables, err
	}
	copy(tables[:], r.Text)
	r.Record()
	return r.Root, tables, nil
}

// permitted refuses a run for others that this user did not agree to: the root and the
// tables that the plan was made under have to be those that were agreed to, and so have
// those that there are now. Checks that start nothing need nobody's word.
func (v *verifying) permitted(ctx context.Context) error {
	starts := slices.ContainsFunc(v.todo, func(i int) bool { return !v.guards[i].Static() })
	if !v.q.ForOthers || !starts {
		return nil
	}
	root, now, err := v.w.trustTables(ctx)
	if err != nil {
		return err
	}
	if v.Root != root {
		return notTrusted("type `mwp verify` in a terminal there", "the target lies in another workspace, %s, whose guards this program does not run", v.Root)
	}
	for _, tables := range append(v.tables, now) {
		t, err := v.w.trusted(root, tables)
		if err != nil {
			return err
		}
		if t != TrustGiven {
			return untrusted(root, t)
		}
	}
	return nil
}

func untrusted(root string, t TrustState) error {
	const hint = "type `mwp verify` in a terminal there and answer its question, or start the server with --trust-workspace"
	switch t {
	case TrustOutdated:
		return notTrusted(hint, "the [trust] tables of %s changed since this user, or mwp init, let other programs run its guards", root)
	case TrustDenied:
		return notTrusted("type `mwp verify` in a terminal there, or start the server with --trust-workspace", "this user does not let other programs run the guards of %s", root)
	}
	return notTrusted(hint, "nobody has let other programs run the guards of %s yet", root)
}

func notTrusted(hint, format string, args ...any) error {
	return &Refusal{[]ir.Diagnostic{{Code: ir.GuardNotTrusted, Severity: ir.SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint}}}
}
