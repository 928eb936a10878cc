package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// StatusReport is a workspace at a glance, with doctor's verdict.
type StatusReport struct {
	// Target is the path whose map the layers are of, relative to the root, "." for the
	// root; Asked is set when somebody named it. Of a workspace as a whole it is the
	// target that comes nearest to a cap.
	Target string
	Asked  bool
	// Tokens are those of the target's map by layer, Caps the caps, nil for none.
	Tokens [ir.LayerCount]int
	Caps   [ir.LayerCount]*int
	// Members are the directories of members. Contexts, Anchors and Directories count
	// what a walk of the workspace found.
	Members                        []string
	Contexts, Anchors, Directories int
	Guards                         StatusGuards
	// Modules counts the pinned git modules, Missing those that are imported and not
	// there, Modified those that are not as they were pinned.
	Modules, Missing, Modified int
	// Cache is where the cache lies, "" for none; Bytes its size, Maps how many finished
	// answers it holds. Writable says whether more can be kept.
	Cache    string
	Bytes    int64
	Maps     int
	Writable bool
	// Sessions counts the stored sessions, the last of which was used at LastSession.
	Sessions    int
	LastSession time.Time
	// Clients are the names of the clients that the project's files tell about mwp.
	Clients []string
	// Doctor is the whole report; a status shows its verdict and its next command.
	Doctor *DoctorReport
}

// StatusGuards counts guards by what is known of them.
type StatusGuards struct{ Passed, Failed, Overridden, Stale, NotRun int }

// Total returns how many guards there are.
func (g StatusGuards) Total() int { return g.Passed + g.Failed + g.Overridden + g.Stale + g.NotRun }

// StatusOptions select how Status prints.
type StatusOptions struct {
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
	// ASCII draws bars with "#" and ".".
	ASCII bool
}

// Columns and lines of the smallest terminal that a status is for, and the column where
// values begin.
const (
	statusWidth  = 80
	statusColumn = 10
)

// Status prints a workspace on one screen of 80 columns and 24 lines, whatever the names
// in it and however many. The last two lines are doctor's verdict and its next command,
// which is never cut and may be longer than a line.
func Status(s *StatusReport, o StatusOptions) []byte {
	v := statusView{printer{color: o.Color}, o.ASCII}
	name := s.Doctor.Name
	if name == "" {
		name = "(no name)"
	}
	name = v.clip(name, statusWidth/2)
	v.line(v.paint(bold, name) + "  " + v.clipStart(s.Doctor.Root, statusWidth-2-displayWidth(name)))
	v.line("")
	v.row("members", v.members(s.Members))
	v.row("contexts", count(s.Contexts, "context file")+", "+count(s.Anchors, "anchor")+", "+directories(s.Directories))
	v.budgets(s)
	v.row("guards", v.guards(s.Guards))
	v.row("modules", v.modules(s))
	v.row("cache", v.cache(s))
	sessions := "none kept"
	if s.Sessions > 0 {
		sessions = grouped(s.Sessions) + " kept, the last used " + moment(s.LastSession)
	}
	v.row("sessions", sessions)
	clients := "none of this project's files names mwp"
	if len(s.Clients) > 0 {
		clients = strings.Join(s.Clients, ", ")
	}
	v.row("clients", clients)
	v.line("")
	v.verdict(s.Doctor)
	return v.buf
}

// statusView prints lines that fit a screen.
type statusView struct {
	printer
	ascii bool
}

// row prints a label and what fits of a value.
func (v *statusView) row(label, value string) {
	v.line(padRight(label, statusColumn) + v.clip(value, statusWidth-statusColumn))
}

func directories(n int) string {
	if n == 1 {
		return "1 directory"
	}
	return grouped(n) + " directories"
}

// members counts the members and names those that there is room for.
func (v *statusView) members(names []string) string {
	if len(names) == 0 {
		return "none: one project"
	}
	const room = statusWidth - statusColumn
	s := grouped(len(names)) + ": "
	for i, name := range names {
		more := ""
		if left := len(names) - i - 1; left > 0 {
			more = ", " + grouped(left) + " more"
		}
		next := v.clip(name, room/3)
		if i > 0 {
			next = ", " + next
		}
		if i > 0 && displayWidth(s)+displayWidth(next)+displayWidth(more) > room {
			return s + ", " + grouped(len(names)-i) + " more"
		}
		s += next
	}
	return s
}

// budgets prints a bar for each layer.
func (v *statusView) budgets(s *StatusReport) {
	if s.Target == "" {
		v.row("budgets", "nothing to weigh: no directory has a map")
		return
	}
	what := "the map of "
	if !s.Asked {
		what = "the fullest map, "
	}
	v.row("budgets", what+v.clip(lineStart(s.Target), statusWidth-statusColumn-len(what)))
	for i, tokens := range s.Tokens {
		v.line(strings.Repeat(" ", statusColumn-4) + ir.LayerName(i) + "  " + v.bar(tokens, s.Caps[i]))
	}
}

// statusBar is the length of a bar.
const statusBar = 20

// bar draws how much of its cap a layer spends: "[####....] 212/300".
func (v *statusView) bar(tokens int, limit *int) string {
	full, empty, left, right := "█", "░", "", ""
	if v.ascii {
		full, empty, left, right = "#", ".", "[", "]"
	}
	if limit == nil {
		return strings.Repeat(" ", statusBar+len(left)+len(right)) + " " + strconv.Itoa(tokens) + ", no cap"
	}
	n, code := filled(tokens, *limit), green
	text := strconv.Itoa(tokens) + "/" + strconv.Itoa(*limit)
	switch {
	case tokens > *limit:
		code = red
		text += ", over by " + strconv.Itoa(tokens-*limit)
	case int64(tokens)*10 >= int64(*limit)*9:
		code = yellow
	}
	return left + v.paint(code, strings.Repeat(full, n)) + strings.Repeat(empty, statusBar-n) + right + " " + text
}

// filled returns how many of a bar's cells are full: none only for nothing, all of them
// only at the cap or above it.
func filled(tokens, limit int) int {
	switch {
	case tokens <= 0:
		return 0
	case tokens >= limit:
		return statusBar
	}
	return max(1, int(int64(tokens)*statusBar/int64(limit)))
}

func (v *statusView) guards(g StatusGuards) string {
	if g.Total() == 0 {
		return "none declared"
	}
	parts := []string{grouped(g.Passed) + " passed"}
	for _, p := range []struct {
		n     int
		words string
	}{{g.Failed, "failed"}, {g.Overridden, "overridden"}, {g.Stale, "stale"}, {g.NotRun, "not run"}} {
		if p.n > 0 {
			parts = append(parts, grouped(p.n)+" "+p.words)
		}
	}
	return grouped(g.Total()) + ": " + strings.Join(parts, ", ")
}

func (v *statusView) modules(s *StatusReport) string {
	if s.Modules+s.Missing == 0 {
		return "none imported"
	}
	text := grouped(s.Modules) + " pinned"
	if s.Missing > 0 {
		text += ", " + grouped(s.Missing) + " not fetched"
	}
	if s.Modified > 0 {
		text += ", " + grouped(s.Modified) + " not as pinned"
	}
	return text
}

func (v *statusView) cache(s *StatusReport) string {
	if s.Cache == "" {
		return "none: the root has no .mwp"
	}
	text := ir.Size(s.Bytes) + ", " + count(s.Maps, "answer")
	if !s.Writable {
		text += ", not writable"
	}
	text += ", "
	return text + v.clipStart(s.Cache, statusWidth-statusColumn-displayWidth(text))
}

// mark stands for what was cut off.
func (v *statusView) mark() string {
	if v.ascii {
		return "..."
	}
	return "…"
}

// maxShown bounds what is looked at of one name: nothing longer fits a line.
const maxShown = 4096

// clip returns a text escaped for a terminal and cut at its end to a width in columns.
func (v *statusView) clip(s string, width int) string {
	s = ir.EscapeControls(s[:min(len(s), maxShown)])
	if displayWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := displayWidth(v.mark())
	for _, r := range s {
		w := displayWidth(string(r))
		if used+w > width {
			break
		}
		used += w
		b.WriteRune(r)
	}
	return b.String() + v.mark()
}

// clipStart is clip for a path, whose end says most.
func (v *statusView) clipStart(s string, width int) string {
	s = ir.EscapeControls(s[max(0, len(s)-maxShown):])
	if displayWidth(s) <= width {
		return s
	}
	runes := []rune(s)
	at, used := len(runes), displayWidth(v.mark())
	for at > 0 {
		w := displayWidth(string(runes[at-1]))
		if used+w > width {
			break
		}
		used += w
		at--
	}
	return v.mark() + string(runes[at:])
}

// StatusJSON returns a status as one JSON object with a final newline; docs/doctor.md
// lists its fields.
func StatusJSON(s *StatusReport) []byte {
	var w jsonText
	w.open('{')
	w.field("schema_version").str(doctorSchema)
	w.field("root").str(s.Doctor.Root)
	w.field("name").str(s.Doctor.Name)
	w.field("target")
	if s.Target == "" {
		w.raw("null")
	} else {
		w.str(s.Target)
	}
	w.field("layers").open('{')
	for i, n := range s.Tokens {
		w.field(layerField(i)).open('{')
		w.field("tokens").int(n)
		w.field("cap").optionalInt(s.Caps[i])
		w.close('}')
	}
	w.close('}')
	w.field("members").strs(s.Members)
	w.field("contexts").int(s.Contexts)
	w.field("anchors").int(s.Anchors)
	w.field("directories").int(s.Directories)
	w.field("guards").open('{')
	w.field("passed").int(s.Guards.Passed)
	w.field("failed").int(s.Guards.Failed)
	w.field("overridden").int(s.Guards.Overridden)
	w.field("stale").int(s.Guards.Stale)
	w.field("not_run").int(s.Guards.NotRun)
	w.close('}')
	w.field("modules").open('{')
	w.field("pinned").int(s.Modules)
	w.field("missing").int(s.Missing)
	w.field("modified").int(s.Modified)
	w.close('}')
	w.statusCache(s)
	w.field("sessions").open('{')
	w.field("kept").int(s.Sessions)
	if w.field("last_used"); s.Sessions == 0 {
		w.raw("null")
	} else {
		w.str(moment(s.LastSession))
	}
	w.close('}')
	w.field("clients").strs(s.Clients)
	w.doctorSummary(s.Doctor)
	w.close('}')
	return w.indented()
}

func (w *jsonText) statusCache(s *StatusReport) {
	w.field("cache").open('{')
	if w.field("location"); s.Cache == "" {
		w.raw("null")
	} else {
		w.str(s.Cache)
	}
	w.field("bytes").raw(strconv.FormatInt(s.Bytes, 10))
	w.field("maps").int(s.Maps)
	w.field("writable").raw(strconv.FormatBool(s.Writable))
	w.close('}')
}
