package nodes

import (
	"fmt"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// RecordsName is the file in a state directory that keeps guards' results (D-44).
const RecordsName = "guards.cache.json"

// Verifications is what is known of every guard of a map, and whether that makes the
// map read-only (D-47, D-98). It stands apart from Layers, because a new run of a
// guard changes no text.
type Verifications struct{ Layers }

// VerificationsValue is by guard, in the order of LayersValue.Guards.
type VerificationsValue struct {
	Verifications []ir.Verification
	// ReadOnly is set when a guard fails that nobody overrides.
	ReadOnly bool
	Findings []ir.Diagnostic
}

var verificationsKind = graph.Define(graph.Definition[VerificationsValue, Verifications]{
	Name: "verifications", Version: 5, Order: 65,
	Params: func(c *cas.Coder, n *Verifications) { codeLayers(c, &n.Layers) },
	Value: func(c *cas.Coder, v *VerificationsValue) {
		cas.Slice(c, &v.Verifications, codeVerification)
		c.Bool(&v.ReadOnly)
		cas.Slice(c, &v.Findings, codeDiagnostic)
	},
})

// Kind returns the kind "verifications".
func (Verifications) Kind() *graph.Kind { return verificationsKind }

// Compute asks for every check.
func (n Verifications) Compute(r graph.Reader) (v VerificationsValue, err error) {
	layers, err := graph.Need(r, n.Layers)
	if err != nil {
		return v, err
	}
	checks, err := checksOf(r, layers.Guards, n.Target, n.Explicit)
	if err != nil {
		return v, err
	}
	var old, never []string
	for i := range checks {
		g, c := &layers.Guards[i], &checks[i]
		x := verification(g, c)
		v.Verifications = append(v.Verifications, x)
		switch c.Status {
		case ir.FailedCheck:
			v.ReadOnly = v.ReadOnly || !c.Overridden
			v.Findings = append(v.Findings, failedGuard(g, &x, c.Overridden))
			if c.Run != nil && c.Run.Override != nil && !c.Overridden {
				why := "does not hold at this time"
				if c.FilesChanged || c.Run.Override.Declared != c.Run.Declared {
					why = "ended when files changed"
				}
				v.Findings[len(v.Findings)-1].Message += "; its override " + why
			}
		case ir.Stale:
			old = append(old, g.Text()+" ("+strings.ReplaceAll(c.Reason, "_", " ")+")")
		case ir.Unverified:
			text := g.Text()
			if c.Reason == ir.ReasonForeign {
				text += " (its record is not signed with your key)"
			}
			never = append(never, text)
		}
	}
	v.gather(ir.GuardStale, "whose last result does not count any more", old)
	v.gather(ir.GuardUnverified, "without a result that counts here", never)
	return v, nil
}

// checksOf needs the checks of some guards of a workspace.
func checksOf(r graph.Reader, gs []Guard, target string, explicit bool) ([]CheckValue, error) {
	if len(gs) == 0 {
		return nil, nil
	}
	anchor, err := graph.Need(r, Anchor{Target: target, Explicit: explicit})
	if err != nil {
		return nil, err
	}
	records := ""
	if anchor.WorkspaceState != "" {
		records = join(anchor.WorkspaceState, RecordsName)
	}
	ns := make([]Check, len(gs))
	for i := range gs {
		ns[i] = Check{Guard: encodeGuard(gs[i]), Records: records}
	}
	return graph.NeedAll(r, ns)
}

func verification(g *Guard, c *CheckValue) ir.Verification {
	x := ir.Verification{
		Key: tagged(g.Key()), Guard: g.Text(), Status: c.Status, Cwd: g.Dir, DeclaredIn: g.DeclaredAt(), Name: g.Name, Reason: c.Reason,
		Expired: c.Expired, FilesChanged: c.FilesChanged,
	}
	if c.Run != nil {
		x.ExitCode, x.DurationMS = c.Run.Exit, c.Run.Duration
		x.RanAt, x.CacheUntil = recordTime(c.Run.RanAt), recordTime(c.Run.CacheUntil)
		x.Fingerprint = c.Run.Fingerprint.Tagged()
		if c.Overridden {
			x.Override = &ir.Override{Reason: c.Run.Override.Reason, Until: recordTime(c.Run.Override.Until)}
		}
	}
	return x
}

// failedGuard is the finding about a check that does not hold, with whom to ask
// (D-29).
func failedGuard(g *Guard, x *ir.Verification, overridden bool) ir.Diagnostic {
	d := ir.Diagnostic{
		Code: ir.GuardFailed, Severity: ir.SeverityError, Source: g.Path, Line: g.Line,
		Message: "the check fails: " + g.Text() + " " + ir.Outcome(x) + ownedBy(Candidate{Owners: g.Owners}),
		Hint:    "mend what it checks, then run `mwp verify`",
	}
	if g.Static() {
		d.Hint = "mend what it names, or the guard"
	}
	if overridden {
		d.Severity = ir.SeverityWarning
		d.Message += fmt.Sprintf("; overridden until %s: %s", x.Override.Until, x.Override.Reason)
	}
	return d
}

// gather says of all guards with one status what is to be said, once.
func (v *VerificationsValue) gather(code ir.Code, what string, guards []string) {
	if len(guards) == 0 {
		return
	}
	d := ir.Diagnostic{Code: code, Severity: ir.SeverityWarning, Hint: "run `mwp verify` with this target"}
	noun := "guard"
	if len(guards) > 1 {
		noun = "guards"
	}
	d.Message = fmt.Sprintf("%d %s %s: ", len(guards), noun, what) + strings.Join(guards[:min(len(guards), listedEntries)], ", ")
	if more := len(guards) - listedEntries; more > 0 {
		d.Message += fmt.Sprintf(", and %d more", more)
	}
	v.Findings = append(v.Findings, d)
}
