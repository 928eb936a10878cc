package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Guard statuses.
const (
	passed     = "passed"
	failed     = "failed"
	stale      = "stale"
	unverified = "unverified"
)

// shownGuard is a guard with the record of its last run, nil when there is none.
type shownGuard struct {
	*ir.Guard
	run *ir.Verification
}

// pairGuards finds each guard's record. A record names its command and not the
// directory it ran in, so records of one command are handed out in map order,
// the order in which guards run (D-43), and a record of the guard's own status
// is preferred. Identical guards that ran once share the record.
func pairGuards(m *ir.Map, entries []*ir.Entry) [][]shownGuard {
	all := make([][]shownGuard, len(entries))
	used := make([]bool, len(m.Verifications))
	for i, e := range entries {
		for j := range e.Guards {
			g := &e.Guards[j]
			all[i] = append(all[i], shownGuard{g, takeRun(m.Verifications, used, g)})
		}
	}
	return all
}

func takeRun(runs []ir.Verification, used []bool, g *ir.Guard) *ir.Verification {
	best, score := -1, -1
	for k := range runs {
		v := &runs[k]
		if v.Guard != g.Cmd && v.Guard != g.Name || g.Status == unverified && v.Status != unverified {
			continue
		}
		s := 0
		if v.Status == g.Status {
			s += 2
		}
		if !used[k] {
			s++
		}
		if s > score {
			best, score = k, s
		}
	}
	if best < 0 {
		return nil
	}
	used[best] = true
	return &runs[best]
}

// failure describes a failed guard: "cargo test exited 101".
func (w *writer) failure(g shownGuard) {
	w.clean(command(g.Cmd))
	switch {
	case g.run == nil:
		w.raw(" failed")
	case g.run.ExitCode == nil:
		w.raw(" did not finish")
	default:
		w.raw(" exited " + strconv.Itoa(*g.run.ExitCode))
	}
}

// owners names the people to ask about a failure (D-29).
func (w *writer) owners(e *ir.Entry) {
	if len(e.Owners) > 0 {
		w.raw("; owner: ")
		w.name(strings.Join(e.Owners, ", "))
	}
}

// callouts writes what a reader must know before the body, and reports whether
// there was any: checks that fail or whose result is out of date (D-60).
func (w *writer) callouts(e *ir.Entry, guards []shownGuard) bool {
	called := false
	for _, g := range guards {
		if g.Status != failed && g.Status != stale {
			continue
		}
		called = true
		w.quote()
		w.say("⚠️ This reference's check is ")
		if g.Status == failed {
			w.raw("failing (")
			w.failure(g)
			w.owners(e)
		} else {
			w.raw("stale (")
			w.clean(command(g.Cmd))
			if t := w.when(g.run); t != "" {
				w.raw(", last passed ")
				w.name(t)
			}
		}
		w.raw(")\n")
	}
	return called
}

// quiet reports whether guardLines has something to write.
func quiet(guards []shownGuard) bool {
	for _, g := range guards {
		if g.Status != failed && g.Status != stale {
			return true
		}
	}
	return false
}

// guardLines writes the checks that need no attention.
func (w *writer) guardLines(guards []shownGuard) {
	for _, g := range guards {
		switch g.Status {
		case failed, stale:
			continue
		}
		w.raw("Guard: ")
		w.clean(command(g.Name))
		if g.Status != passed {
			w.say(" — not verified\n")
			continue
		}
		w.say(" — passed ")
		if t := w.when(g.run); t != "" {
			w.name(t)
			w.raw(" ")
		}
		w.say("✓\n")
	}
}

// when returns the time of a run to the minute, in UTC, or its age when the
// caller declared a clock (D-49). A run later than that clock keeps its time.
func (w *writer) when(v *ir.Verification) string {
	if v == nil || v.RanAt == "" {
		return ""
	}
	t, err := time.Parse(time.RFC3339, v.RanAt)
	if err != nil {
		return v.RanAt
	}
	age := w.o.Now.Sub(t)
	switch {
	case w.o.Now.IsZero() || age < 0:
		return t.UTC().Format("2006-01-02T15:04Z")
	case age < time.Minute:
		return "less than a minute ago"
	case age < time.Hour:
		return strconv.Itoa(int(age/time.Minute)) + " min ago"
	case age < 48*time.Hour:
		return strconv.Itoa(int(age/time.Hour)) + " h ago"
	}
	return strconv.Itoa(int(age/(24*time.Hour))) + " days ago"
}
