package mwp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/eval/module"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// modules returns the store of git modules of a root, nil for one without an
// anchor, which has no place to keep any.
func (w *Workspace) modules(c candidate) *module.Store {
	if c.state == "" {
		return nil
	}
	return &module.Store{State: c.state, Ignore: stateIgnore(), Fetcher: w.o.Fetcher, Progress: w.o.Progress}
}

// mayFetch reports whether a question's answer may use the network (D-35).
func (w *Workspace) mayFetch(q *question) bool { return q.fetch && !w.o.Offline }

// fetchMissing fetches references that this Workspace has not tried before: what
// cannot be had is asked for once, however many maps want it. more is true when one
// of them is there now. What did not come is said in notices and leaves the map
// without it, except where the module is another one than the pinned: then there is
// no map (D-34).
func (w *Workspace) fetchMissing(ctx context.Context, s *session, q *question, missing []string) (more bool, notices []ir.Diagnostic, err error) {
	var wants []module.Want
	for _, value := range missing {
		ref, err := pin.ParseRef(value)
		if err != nil || !w.first(s.dir+"\x00"+value) {
			continue
		}
		wants = append(wants, module.Want{Ref: ref, Floating: q.floating, Insecure: w.o.AllowInsecure})
	}
	store := w.modules(s.candidate)
	if len(wants) == 0 || store == nil {
		return false, nil, nil
	}
	var refused []ir.Diagnostic
	for _, o := range store.Fetch(ctx, wants) {
		if o.Err == nil {
			more = true
			continue
		}
		d := fetchFinding(o.Want.Ref, o.Err)
		if d.Code == ir.TagMoved || d.Code == ir.ModuleModified {
			refused = append(refused, d)
			continue
		}
		notices = append(notices, d)
	}
	if err := ctx.Err(); err != nil {
		return false, nil, err
	}
	if len(refused) > 0 {
		return false, nil, &Refusal{Diagnostics: refused}
	}
	return more, notices, nil
}

// withoutTried returns findings of a map without the advice to fetch what was just tried,
// and failed for a reason that stands before them.
func withoutTried(ds, failed []ir.Diagnostic) []ir.Diagnostic {
	ds = slices.Clone(ds)
	for i := range ds {
		d := &ds[i]
		ref, advised := strings.CutPrefix(d.Hint, "run `mwp import ")
		ref = strings.Trim(ref, "'`")
		if advised && slices.ContainsFunc(failed, func(f ir.Diagnostic) bool { return strings.HasPrefix(f.Message, "cannot fetch "+ref+": ") }) {
			d.Hint = ""
		}
	}
	return ds
}

// first reports whether a reference is tried for the first time, and remembers it.
func (w *Workspace) first(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tried[value] {
		return false
	}
	if w.tried == nil {
		w.tried = map[string]bool{}
	}
	w.tried[value] = true
	return true
}

// fetchFinding turns a failed fetch into a finding. Some failures are of the lock
// file and of no reference.
func fetchFinding(ref pin.Ref, err error) ir.Diagnostic {
	d := ir.Diagnostic{Code: ir.UnresolvedImport, Severity: ir.SeverityError, Message: err.Error()}
	var e *module.Error
	if errors.As(err, &e) {
		d.Hint, d.Message = e.Hint, e.Message
		switch code := ir.Code(e.Code); code {
		case ir.TagMoved, ir.ModuleModified, ir.FloatingRef, ir.LockInvalid, ir.LimitExceeded:
			d.Code = code
		}
	}
	if key := ref.Key(); key != "" {
		d.Message = "cannot fetch " + key + ": " + strings.TrimPrefix(d.Message, key+": ")
	}
	return d
}
