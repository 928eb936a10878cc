package render

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// shownGuard is a guard with what is known of it, nil when the map has nothing.
type shownGuard struct {
	*ir.Guard
	run *ir.Verification
}

// pairGuards finds the verification of each entry's guards by key. Entries may share
// one: a guard stands for all files that its own splices in (D-89).
func pairGuards(m *ir.Map, entries []*ir.Entry) [][]shownGuard {
	all := make([][]shownGuard, len(entries))
	known := verifications(m)
	for i, e := range entries {
		for j := range e.Guards {
			g := &e.Guards[j]
			all[i] = append(all[i], shownGuard{g, known[g.Key]})
		}
	}
	return all
}

// verifications returns those of a map by key. An empty key names nothing.
func verifications(m *ir.Map) map[string]*ir.Verification {
	if len(m.Verifications) == 0 {
		return nil
	}
	known := make(map[string]*ir.Verification, len(m.Verifications))
	for i := range m.Verifications {
		if v := &m.Verifications[i]; v.Key != "" && known[v.Key] == nil {
			known[v.Key] = v
		}
	}
	return known
}

// failure says what a failed guard did: the command and "exited 101", or for a static
// guard what it names and "does not exist". v is nil when nothing is known.
func failure(cmd string, v *ir.Verification) (subject, words string) {
	if v == nil {
		return cmd, "failed"
	}
	file, text := staticSubject(cmd, v.Cwd)
	switch v.Reason {
	case ir.ReasonAbsent, ir.ReasonScriptAbsent:
		return file, "does not exist"
	case ir.ReasonTextAbsent:
		return file, strings.TrimSuffix("does not contain "+text, " ")
	case ir.ReasonOutside:
		return file, "leads out of the workspace"
	case ir.ReasonUnreadable:
		return file, "cannot be read"
	case ir.ReasonTooLarge:
		return file, "is too large to look at"
	}
	return cmd, ir.Outcome(v)
}

// staticSubject takes a static check apart as nodes.Guard writes it: `exists FILE`,
// `contains FILE "TEXT"`. Of anything else the whole is the subject. Guards name files
// from their own directory; a map names them from the root.
func staticSubject(cmd, cwd string) (file, text string) {
	file, ok := strings.CutPrefix(cmd, "exists ")
	if !ok {
		if file, ok = strings.CutPrefix(cmd, "contains "); !ok {
			return cmd, ""
		}
		// The text may end with a space, and then its last quote is no first one.
		if i := strings.LastIndex(strings.TrimSuffix(file, `"`), ` "`); i >= 0 {
			file, text = file[:i], file[i+1:]
		}
	}
	from := path.Join(cwd, file)
	if from == ".." || strings.HasPrefix(from, "../") {
		return file, text
	}
	if strings.HasSuffix(file, "/") {
		from += "/"
	}
	return from, text
}

// doubt returns the words for why a guard is stale or not verified. A guard that never
// ran needs none, and whether one is trusted depends on the user and is no part of a
// map (D-109).
func doubt(reason string) string {
	switch reason {
	case ir.ReasonExpired:
		return "expired"
	case ir.ReasonFilesChanged:
		return "files changed"
	case ir.ReasonEarly:
		return "dated ahead"
	case ir.ReasonUnreadable:
		return "a file that it rests on cannot be read"
	case ir.ReasonForeign:
		return "its record was made with another key"
	case ir.ReasonNotFound:
		return "command not found"
	case ir.ReasonNotExecutable:
		return "not executable"
	}
	return ""
}

// failure writes it for a line of the map.
func (w *writer) failure(g shownGuard) {
	subject, words := failure(g.Cmd, g.run)
	w.clean(command(subject) + " " + command(words))
}

// owners names the people to ask about a failure (D-29).
func (w *writer) owners(owners []string) {
	if len(owners) > 0 {
		w.raw("; owner: ")
		w.name(strings.Join(owners, ", "))
	}
}

// overridden says until when a person chose to work on, and why (D-84).
func (w *writer) overridden(v *ir.Verification) {
	if v == nil || v.Override == nil {
		return
	}
	w.raw(", overridden until ")
	w.name(minute(v.Override.Until))
	if v.Override.Reason != "" {
		w.clean(": " + command(v.Override.Reason))
	}
}

// callouts writes what a reader must know before the body, and reports whether
// there was any: checks that fail or whose result is out of date (D-60). Each has its
// line, however many there are: none may fail unseen behind another.
func (w *writer) callouts(e *ir.Entry, guards []shownGuard) bool {
	called := false
	for _, g := range guards {
		switch g.Status {
		case ir.FailedCheck:
			w.failing(e, g)
		case ir.Stale:
			w.stale(g)
		default:
			continue
		}
		called = true
	}
	return called
}

func (w *writer) failing(e *ir.Entry, g shownGuard) {
	w.quote()
	w.say("⚠️ This reference's check is failing")
	w.overridden(g.run)
	w.raw(" (")
	w.failure(g)
	if g.run != nil && g.run.FilesChanged {
		w.raw("; files changed since")
	}
	w.owners(e.Owners)
	w.raw(")\n")
}

func (w *writer) stale(g shownGuard) {
	w.quote()
	w.say("⚠️ This reference's check is stale (")
	w.clean(command(g.Cmd))
	if t := w.when(g.run); t != "" {
		w.raw(", last passed ")
		w.name(t)
	}
	if g.run != nil {
		if why := doubt(g.run.Reason); why != "" {
			w.raw("; " + why)
		}
	}
	w.raw(")\n")
}

// quiet reports whether guardLines has something to write.
func quiet(guards []shownGuard) bool {
	for _, g := range guards {
		if g.Status != ir.FailedCheck && g.Status != ir.Stale {
			return true
		}
	}
	return false
}

// guardLines writes the checks that need no attention, one line each.
func (w *writer) guardLines(guards []shownGuard) {
	for _, g := range guards {
		switch g.Status {
		case ir.FailedCheck, ir.Stale:
			continue
		}
		w.raw("Guard: ")
		w.clean(command(g.Name))
		if g.Status != ir.Passed {
			w.say(" — not verified")
			if g.run != nil && doubt(g.run.Reason) != "" {
				w.raw(" (" + doubt(g.run.Reason) + ")")
			}
			w.raw("\n")
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

// minute returns a time to the minute, in UTC, and what is no time as it is.
func minute(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return t.UTC().Format("2006-01-02T15:04Z")
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
		return minute(v.RanAt)
	case age < time.Minute:
		return "less than a minute ago"
	case age < time.Hour:
		return strconv.Itoa(int(age/time.Minute)) + " min ago"
	case age < 48*time.Hour:
		return strconv.Itoa(int(age/time.Hour)) + " h ago"
	}
	return strconv.Itoa(int(age/(24*time.Hour))) + " days ago"
}

// names is a list that has each name once, in the order of first mention.
type names struct {
	list []string
	seen map[string]bool
}

func (n *names) add(some ...string) {
	for _, s := range some {
		if n.seen[s] {
			continue
		}
		if n.seen == nil {
			n.seen = map[string]bool{}
		}
		n.seen[s], n.list = true, append(n.list, s)
	}
}

// failingGuard is a guard of the banner with the entries that it stands for and the
// people to ask.
type failingGuard struct {
	shownGuard
	sources, owners names
}

// failingGuards returns each failing guard of a map once, those of entries in map
// order first. A delta may have left out the entries, never the fact that one fails.
func failingGuards(m *ir.Map, entries []*ir.Entry, guards [][]shownGuard) []*failingGuard {
	var all []*failingGuard
	byKey := map[string]*failingGuard{}
	for i, e := range entries {
		for _, g := range guards[i] {
			if g.Status != ir.FailedCheck {
				continue
			}
			f := byKey[g.Key]
			if f == nil || g.Key == "" {
				f = &failingGuard{shownGuard: g}
				byKey[g.Key], all = f, append(all, f)
			}
			f.sources.add(e.Source)
			f.owners.add(e.Owners...)
		}
	}
	for i := range m.Verifications {
		v := &m.Verifications[i]
		if v.Status != ir.FailedCheck || v.Key != "" && byKey[v.Key] != nil {
			continue
		}
		f := &failingGuard{shownGuard: shownGuard{&ir.Guard{Cmd: v.Guard}, v}}
		if v.DeclaredIn != "" {
			f.sources.add(v.DeclaredIn)
		}
		byKey[v.Key], all = f, append(all, f)
	}
	return all
}
