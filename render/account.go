package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// account is everything that is known of one guard of a map.
type account struct {
	name, cmd, status string
	// sources are the entries that it stands for; owners theirs.
	sources, owners names
	v               *ir.Verification
	more            *ir.GuardAccount
}

// accounts returns the guards of a map in map order (D-43), each once, with what
// more has to say of them. Guards without a verification come last.
func accounts(m *ir.Map, more []ir.GuardAccount) []*account {
	var all, unknown []*account
	byKey := map[string]*account{}
	for i := range m.Verifications {
		v := &m.Verifications[i]
		a := &account{cmd: v.Guard, status: v.Status, v: v}
		all = append(all, a)
		if v.Key != "" && byKey[v.Key] == nil {
			byKey[v.Key] = a
		}
	}
	for _, e := range m.Layers.All() {
		for i := range e.Guards {
			g := &e.Guards[i]
			a := byKey[g.Key]
			if a == nil {
				a = &account{cmd: g.Cmd, status: g.Status}
				unknown = append(unknown, a)
				if g.Key != "" {
					byKey[g.Key] = a
				}
			}
			a.name = g.Name
			a.sources.add(e.Source)
			a.owners.add(e.Owners...)
		}
	}
	for i := range more {
		if a := byKey[more[i].Key]; a != nil {
			a.more = &more[i]
		}
	}
	return append(all, unknown...)
}

// accounts prints those of guards that stand for one of the sources, or of all
// for nil.
func (p *printer) accounts(more []ir.GuardAccount, sources []string) {
	all := accounts(p.m, more)
	if sources != nil {
		all = slices.DeleteFunc(all, func(a *account) bool {
			return !slices.ContainsFunc(sources, func(s string) bool { return a.sources.seen[s] })
		})
	}
	if len(all) == 0 {
		return
	}
	p.heading("Guards: " + grouped(len(all)))
	for _, a := range all {
		p.account(a)
	}
}

// account prints one guard: what it is, what is known of it, what decides whether it
// runs, and what to type next.
func (p *printer) account(a *account) {
	const indent = "       "
	p.wrap("  ", "    ", ir.EscapeControls(a.cmd)+"  "+p.paint(statusColor(a.status), ir.EscapeControls(a.status)))
	v, more := a.v, a.more
	if v == nil {
		v = &ir.Verification{Status: a.status}
	}
	if more == nil {
		more = &ir.GuardAccount{}
	}
	if name := cmp.Or(v.Name, a.name); name != a.cmd {
		p.field(indent, "name", brief(name))
	}
	p.field(indent, "why", statusReason(a))
	p.field(indent, "for", some(a.sources.list))
	declared := more.Declared
	if len(declared) == 0 && v.DeclaredIn != "" {
		declared = []string{v.DeclaredIn}
	}
	p.field(indent, "declared", some(declared))
	p.field(indent, "trust", joined(": ", ir.EscapeControls(more.Trust), ir.EscapeControls(more.Why)))
	p.field(indent, "runs", runs(v, more))
	p.field(indent, "record", record(v, more))
	p.field(indent, "counts", counts(v, more))
	p.field(indent, "inputs", inputs(v, more))
	p.field(indent, "log", ir.EscapeControls(more.Log))
	owners := a.owners
	owners.add(more.Owners...)
	p.field(indent, "owners", some(owners.list))
	if o := v.Override; o != nil {
		p.field(indent, "override", joined(": ", "until "+ir.EscapeControls(o.Until), brief(o.Reason)))
	}
	p.field(indent, "key", ir.EscapeControls(v.Key))
	p.field(indent, "next", p.next(a.status, v, more))
}

// Trust levels as accounts and reports name them (D-41).
const (
	trustStatic = "static"
	trustAdHoc  = "ad-hoc"
)

// some names what a line has room for and counts the rest.
func some(names []string) string {
	const room = 20
	s := escapeAll(names[:min(len(names), room)], ", ")
	if more := len(names) - room; more > 0 {
		s += " and " + grouped(more) + " more"
	}
	return s
}

// isStatic reports a guard that runs nothing (D-113). Without an account it shows in
// an outcome that no run has.
func isStatic(v *ir.Verification, more *ir.GuardAccount) bool {
	return more.Trust == trustStatic || more.Trust == "" && v.RanAt == "" && (v.Status == ir.Passed || v.Status == ir.FailedCheck)
}

func statusColor(status string) string {
	switch status {
	case ir.Passed:
		return green
	case ir.FailedCheck:
		return red
	}
	return yellow
}

// joined returns the parts that are not empty with sep between them.
func joined(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// statusReason is the status as a sentence.
func statusReason(a *account) string {
	v := a.v
	if v == nil {
		return "nothing more is known"
	}
	switch a.status {
	case ir.FailedCheck:
		subject, words := failure(a.cmd, v)
		s := brief(words)
		if v.RanAt == "" {
			s = brief(subject) + " " + s
		}
		if v.Override != nil {
			s += "; a person chose to work on"
		}
		return s
	case ir.Stale:
		switch v.Reason {
		case ir.ReasonExpired:
			return "it passed, and the time for which that counts has ended"
		case ir.ReasonFilesChanged:
			return "it passed, and files that it rests on changed since"
		case ir.ReasonEarly:
			return "it passed at a time that has not come yet"
		case ir.ReasonUnreadable:
			return "it passed, and a file that it rests on cannot be read, so nobody knows whether it changed"
		}
	case ir.Unverified:
		switch v.Reason {
		case ir.ReasonNeverRun:
			return "there is no record of a run"
		case ir.ReasonForeign:
			return "what is recorded was not signed with your key, and counts for nothing"
		}
	}
	return ir.EscapeControls(strings.ReplaceAll(v.Reason, "_", " "))
}

// directory returns where a guard runs.
func directory(cwd string) string {
	if cwd == "" || cwd == "." {
		return rootLabel
	}
	return ir.EscapeControls(cwd)
}

func runs(v *ir.Verification, more *ir.GuardAccount) string {
	switch {
	case isStatic(v, more):
		return "nothing; it is looked up with every map, from " + directory(v.Cwd)
	case more.Runs == "":
		return "in " + directory(v.Cwd)
	}
	s := ir.EscapeControls(more.Runs) + " in " + directory(v.Cwd)
	if more.Timeout != "" {
		s += ", for at most " + ir.EscapeControls(more.Timeout)
	}
	return s
}

func record(v *ir.Verification, more *ir.GuardAccount) string {
	switch {
	case isStatic(v, more):
		return ""
	case v.RanAt == "":
		return "none"
	}
	s := ir.EscapeControls(v.RanAt)
	switch {
	case v.ExitCode != nil:
		_, words := failure("", &ir.Verification{ExitCode: v.ExitCode})
		s += ", " + words
	case v.Reason == ir.ReasonTimeout || v.Reason == ir.ReasonSignal:
		s += ", " + ir.Outcome(v)
	}
	return s + ", " + duration(v.DurationMS)
}

// counts says until when a result counts, or why it does not any more (D-46, D-47).
func counts(v *ir.Verification, more *ir.GuardAccount) string {
	until := ir.EscapeControls(v.CacheUntil)
	if more.CacheFor != "" {
		until = joined(", ", until, ir.EscapeControls(more.CacheFor)+" after the run")
	}
	ended := ""
	if until != "" {
		ended = "(" + until + ")"
	}
	switch {
	case v.Status == ir.Unverified:
		return ""
	case isStatic(v, more):
		return "always"
	case v.Status == ir.Passed:
		if until != "" {
			until = "until " + until
		}
		return joined(", or ", until, "until its inputs change")
	case v.Status == ir.FailedCheck:
		s := "until a run passes"
		if v.Expired {
			s = joined(" ", s+"; its time ended", ended)
		}
		if v.FilesChanged {
			s += "; files that it rests on changed since"
		}
		return s
	}
	switch v.Reason {
	case ir.ReasonExpired:
		return joined(" ", "no longer; its time ended", ended)
	case ir.ReasonEarly:
		return "not before " + ir.EscapeControls(v.RanAt)
	}
	return "no longer"
}

// inputs names what the fingerprint is over, as far as it is named.
func inputs(v *ir.Verification, more *ir.GuardAccount) string {
	s := some(more.Inputs)
	if more.Whole {
		s = joined(", and ", s, "all source files below "+directory(v.Cwd)+", which only verify looks at")
	}
	if v.Fingerprint != "" {
		s = joined("; ", s, "fingerprint "+ir.EscapeControls(v.Fingerprint))
	}
	return s
}

// next is what to do about a guard that has not passed.
func (p *printer) next(status string, v *ir.Verification, more *ir.GuardAccount) string {
	run := "run `" + verifyCommand(p.m.Target) + "`"
	if more.Trust == trustAdHoc {
		run += " in a terminal, where it may ask"
	}
	switch {
	case status == ir.Passed:
		return ""
	case isStatic(v, more):
		return "mend what it names, or the guard"
	case status == ir.FailedCheck && v.FilesChanged:
		return run + ": what failed may be mended"
	case status == ir.FailedCheck && more.Log != "":
		return "read the log, mend what it checks, then " + run
	case status == ir.FailedCheck:
		return "mend what it checks, then " + run
	}
	return run
}

// verifyCommand is what checks the guards of a map again. A target that no quoting
// shows faithfully on one line is left to the reader.
func verifyCommand(target *string) string {
	const all = "mwp verify"
	if target == nil {
		return all
	}
	if word, ok := shellWord(*target); ok {
		return all + " " + word
	}
	return all
}
