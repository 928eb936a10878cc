package render

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestExplainHasEveryFieldOfGuards: a field that is added to a verification or to an
// account and forgotten by Explain fails the test.
func TestExplainHasEveryFieldOfGuards(t *testing.T) {
	next := 700_000
	v, a := ir.Verification{}, ir.GuardAccount{}
	values := append(mark(reflect.ValueOf(&v).Elem(), &next), mark(reflect.ValueOf(&a).Elem(), &next)...)
	// What is said in other words, or by the account in place of the verification.
	instead := map[string]string{
		v.Status: "failed", v.Reason: "exited", v.DeclaredIn: a.Declared[0], a.Key: v.Key,
		strconv.FormatInt(v.DurationMS, 10): "1 min 17 s",
	}
	v.Status, v.DurationMS, a.Key = ir.FailedCheck, 77_000, v.Key
	m := &ir.Map{Verifications: []ir.Verification{v}}
	text := string(Explain(m, ExplainOptions{Guards: []ir.GuardAccount{a}}))
	flat := strings.Join(strings.Fields(text), " ")
	for _, s := range append(values, "its time ended", "files that it rests on changed since", "all source files below") {
		if w, ok := instead[s]; ok {
			s = w
		}
		if !strings.Contains(flat, s) {
			t.Errorf("Explain lacks %s:\n%s", s, text)
		}
	}
	if len(values) < 25 {
		t.Errorf("only %d values were looked for", len(values))
	}
	if text := string(Explain(m, ExplainOptions{})); !strings.Contains(text, v.DeclaredIn) {
		t.Error("Explain without an account lacks the declaration")
	}
	m.Verifications[0].Status = "status-of-a-later-version"
	if text := string(Explain(m, ExplainOptions{})); !strings.Contains(text, v.Reason) || !strings.Contains(text, "status-of-a-later-version") {
		t.Errorf("Explain lacks the reason or the status:\n%s", text)
	}
}

func TestAccounts(t *testing.T) {
	flat := func(m *ir.Map, more ...ir.GuardAccount) string {
		_, text, _ := strings.Cut(string(Explain(m, ExplainOptions{Guards: more})), "\nGuards: 1\n")
		return strings.Join(strings.Fields(text), " ")
	}
	static := ir.GuardAccount{Key: "blake3:g", Trust: "static"}
	asks := ir.GuardAccount{Key: "blake3:g", Trust: "ad-hoc", Why: "not in allowed_guards", Runs: "./x.sh", Timeout: "30s", CacheFor: "1h"}
	logged := ir.GuardAccount{Key: "blake3:g", Trust: "project", Log: "/l"}
	const ran, until = "2026-05-17T10:42:11.250Z", "2026-05-17T10:52:11.250Z"
	run := func(v ir.Verification) *ir.Verification {
		v.RanAt, v.CacheUntil, v.DurationMS, v.Cwd = ran, until, 3421, "a"
		return &v
	}
	for _, c := range []struct {
		status string
		v      *ir.Verification
		more   []ir.GuardAccount
		want   []string
		lacks  string
	}{
		{ir.Passed, run(ir.Verification{ExitCode: ref(0)}), nil, []string{"x passed", "record " + ran + ", exited 0, 3.4 s", "counts until " + until + ", or until its inputs change", "runs in a "}, "next"},
		{ir.Passed, run(ir.Verification{ExitCode: ref(0), Fingerprint: "blake3:f"}), []ir.GuardAccount{asks}, []string{"runs ./x.sh in a, for at most 30s", "counts until " + until + ", 1h after the run, or", "inputs fingerprint blake3:f", "trust ad-hoc: not in allowed_guards"}, "next"},
		{ir.Passed, &ir.Verification{}, []ir.GuardAccount{static}, []string{"counts always", "runs nothing"}, "record"},
		{ir.Passed, &ir.Verification{}, nil, []string{"counts always", "runs nothing"}, "record"},
		{ir.FailedCheck, &ir.Verification{Reason: ir.ReasonAbsent}, []ir.GuardAccount{static}, []string{"why x does not exist", "next mend what it names, or the guard"}, "mwp verify"},
		{ir.FailedCheck, run(ir.Verification{ExitCode: ref(101)}), []ir.GuardAccount{logged}, []string{"why exited 101", "counts until a run passes", "log /l", "next read the log, mend what it checks, then run `mwp verify x`"}, "time ended"},
		{ir.FailedCheck, run(ir.Verification{ExitCode: ref(101), Expired: true}), nil, []string{"until a run passes; its time ended (" + until + ")", "next mend what it checks, then run"}, "changed"},
		{ir.FailedCheck, run(ir.Verification{ExitCode: ref(101), FilesChanged: true}), nil, []string{"files that it rests on changed since", "next run `mwp verify x`: what failed may be mended"}, "time ended"},
		{ir.FailedCheck, run(ir.Verification{Reason: ir.ReasonTimeout}), nil, []string{"why ran past its time limit", "record " + ran + ", ran past its time limit, 3.4 s"}, "exited"},
		{ir.FailedCheck, run(ir.Verification{ExitCode: ref(1), Override: &ir.Override{Reason: "later", Until: "2026-05-17T14:00:00Z"}}), nil, []string{"a person chose to work on", "override until 2026-05-17T14:00:00Z: later"}, "time ended"},
		{ir.Stale, run(ir.Verification{Reason: ir.ReasonExpired}), nil, []string{"the time for which that counts has ended", "counts no longer; its time ended (" + until + ")", "next run `mwp verify x`"}, "read the log"},
		{ir.Stale, run(ir.Verification{Reason: ir.ReasonFilesChanged}), nil, []string{"files that it rests on changed since", "counts no longer owners"}, "time ended"},
		{ir.Stale, run(ir.Verification{Reason: ir.ReasonEarly}), nil, []string{"counts not before " + ran}, "time ended"},
		{ir.Unverified, &ir.Verification{Reason: ir.ReasonNeverRun}, []ir.GuardAccount{asks}, []string{"there is no record of a run", "record none", "next run `mwp verify x` in a terminal, where it may ask"}, "counts"},
		{ir.Unverified, &ir.Verification{Reason: ir.ReasonForeign}, nil, []string{"not signed with your key", "next run `mwp verify x`"}, "terminal"},
		{ir.Unverified, nil, nil, []string{"why nothing more is known", "next run"}, "counts"},
	} {
		m := guarded(ir.Guard{Name: "x", Cmd: "x", Status: c.status}, c.v, "ann")
		text := flat(m, c.more...)
		for _, s := range append(c.want, "for a/.mwp-context.md", "owners ann") {
			if !strings.Contains(text, s) {
				t.Errorf("%s %+v: Explain lacks %q: %s", c.status, c.v, s, text)
			}
		}
		if strings.Contains(text, c.lacks) {
			t.Errorf("%s %+v: Explain says %q: %s", c.status, c.v, c.lacks, text)
		}
	}
}

// TestExplainReadOnly: the header tells an overridden failure from none.
func TestExplainReadOnly(t *testing.T) {
	for _, c := range []struct {
		status   string
		readOnly bool
		want     string
	}{
		{ir.FailedCheck, true, "  read-only  yes, a guard is failing\n"},
		{ir.FailedCheck, false, "  read-only  no, what fails is overridden\n"},
		{ir.Stale, false, "  read-only  no\n"},
	} {
		m := guarded(ir.Guard{Name: "x", Cmd: "x", Status: c.status}, &ir.Verification{})
		m.ReadOnly = c.readOnly
		if text := string(Explain(m, ExplainOptions{})); !strings.Contains(text, c.want) {
			t.Errorf("Explain of a map with a guard that is %s, read-only %v, lacks %q", c.status, c.readOnly, c.want)
		}
	}
}

// TestWhyHasItsGuards: the guards of one text and no others.
func TestWhyHasItsGuards(t *testing.T) {
	o := ExplainOptions{Guards: guardAccounts()}
	text, _ := Why(guardsMap(), "engine/rules.md", o)
	if !strings.Contains(string(text), "\nGuards: 1\n  cargo test  failed\n") || !strings.Contains(string(text), "builtin: cargo test is") {
		t.Errorf("Why(engine/rules.md) has not its guard:\n%s", text)
	}
	text, _ = Why(guardsMap(), "engine", o)
	if !strings.Contains(string(text), "\nGuards: 14\n") || strings.Contains(string(text), "npm run lint") {
		t.Errorf("Why(engine) has not its 14 guards:\n%s", text)
	}
	if text, _ = Why(guardsMap(), "web", o); strings.Contains(string(text), "Guards") {
		t.Errorf("Why of another file has guards:\n%s", text)
	}
	if text := Explain(guardsMap(), ExplainOptions{NotLoaded: true, Guards: guardAccounts()}); strings.Contains(string(text), "Guards") {
		t.Error("Explain NotLoaded has guards")
	}
	if text := Explain(guardsMap(), o); strings.Contains(string(text), "never printed") {
		t.Error("Explain has an account of a guard that the map does not have")
	}
}

// TestManyNames: a guard that stands for very many texts names some and counts all.
func TestManyNames(t *testing.T) {
	list := make([]string, 1023)
	for i := range list {
		list[i] = "n"
	}
	if got := some(list); !strings.HasSuffix(got, "n, n and 1,003 more") || strings.Count(got, "n,") != 19 {
		t.Errorf("some(1023 names) = %q", got)
	}
	if got := some(list[:20]); strings.Contains(got, "more") {
		t.Errorf("some(20 names) = %q", got)
	}
}

func TestAccountsAreTame(t *testing.T) {
	for _, s := range hostileNames {
		v := ir.Verification{Guard: s, Status: ir.FailedCheck, RanAt: s, CacheUntil: s, Fingerprint: s, Key: s, Cwd: s, DeclaredIn: s, Reason: s, Expired: true, Override: &ir.Override{Reason: s, Until: s}}
		a := ir.GuardAccount{Key: s, Trust: s, Why: s, Runs: s, Declared: []string{s}, Inputs: []string{s}, Whole: true, CacheFor: s, Timeout: s, Log: s, Owners: []string{s}}
		m := &ir.Map{Verifications: []ir.Verification{v, v}}
		m.Verifications[1].Status = ir.Stale
		text := string(Explain(m, ExplainOptions{Guards: []ir.GuardAccount{a}}))
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			if ir.EscapeControls(line) != line {
				t.Errorf("Explain with %q prints %q", s, line)
			}
		}
	}
}
