package render

import (
	"strconv"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// DoctorGroup says how much a finding of doctor matters.
type DoctorGroup int

// The groups, the gravest first. Only DoctorBroken makes the exit status 1 (D-77).
const (
	DoctorBroken DoctorGroup = iota
	DoctorWarning
	DoctorSuggestion
	DoctorFact
)

// DoctorGroups counts them.
const DoctorGroups = 4

// doctorNames are the groups in JSON, in what counts them, and above a list of them.
var doctorNames = [DoctorGroups]struct{ field, noun, title string }{
	{"broken", "broken", "Broken"},
	{"warning", "warning", "Warnings"},
	{"suggestion", "suggestion", "Suggestions"},
	{"fact", "fact", "Facts"},
}

// DoctorFinding is one thing that doctor has to say.
type DoctorFinding struct {
	// Code names the rule; docs/doctor.md has an entry for each.
	Code  string
	Group DoctorGroup
	// Message is one sentence.
	Message string
	// Items are what it is about, as text that anybody may have written; More counts
	// those that are not listed.
	Items []string
	More  int
	// Commands are what to type, in this order; none where there is nothing to type.
	Commands []string
}

// DoctorReport is what doctor found in a workspace (R-237, D-77).
type DoctorReport struct {
	// Root is the absolute workspace root, Name what its configuration calls it, "" for
	// nothing.
	Root, Name string
	// Next is the one command to type now.
	Next string
	// Findings are by group, and within one the most useful first.
	Findings []DoctorFinding
}

// Counts returns how many findings there are of each group.
func (r *DoctorReport) Counts() (n [DoctorGroups]int) {
	for i := range r.Findings {
		n[r.Findings[i].Group]++
	}
	return n
}

// Broken reports whether anything is broken.
func (r *DoctorReport) Broken() bool { return r.Counts()[DoctorBroken] > 0 }

// Verdict returns the state of the workspace in one sentence.
func (r *DoctorReport) Verdict() string {
	n := r.Counts()
	rest := ""
	for g := DoctorWarning; g < DoctorFact; g++ {
		if n[g] > 0 {
			rest = joined(", ", rest, count(n[g], doctorNames[g].noun))
		}
	}
	switch {
	case n[DoctorBroken] > 0:
		return joined("; ", "broken: "+things(n[DoctorBroken])+" to mend first", rest)
	case n[DoctorWarning] > 0:
		return "working, with " + rest
	}
	return joined("; ", "healthy: nothing is broken, and nothing needs attention", rest)
}

func things(n int) string {
	if n == 1 {
		return "1 thing"
	}
	return grouped(n) + " things"
}

// DoctorOptions select how Doctor prints.
type DoctorOptions struct {
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
}

// Doctor prints a report for people: the verdict in the first line, the one command to
// type in the second, then the findings by group (D-77). Its own words are ASCII.
func Doctor(r *DoctorReport, o DoctorOptions) []byte {
	p := printer{color: o.Color}
	p.verdict(r)
	last := DoctorGroup(-1)
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Group != last {
			last = f.Group
			p.heading(doctorNames[last].title + ": " + strconv.Itoa(r.Counts()[last]))
		}
		p.doctorFinding(f)
	}
	return p.buf
}

// verdict prints the two lines that a report begins with and a status ends with.
func (p *printer) verdict(r *DoctorReport) {
	code := green
	switch n := r.Counts(); {
	case n[DoctorBroken] > 0:
		code = red
	case n[DoctorWarning] > 0:
		code = yellow
	}
	p.line(p.paint(code, r.Verdict()))
	p.line("next: " + p.paint(bold, ir.EscapeControls(r.Next)))
}

func (p *printer) doctorFinding(f *DoctorFinding) {
	p.wrap("  ", "    ", ir.EscapeControls(f.Message)+" ["+ir.EscapeControls(f.Code)+"]")
	for _, item := range f.Items {
		p.line("      " + brief(item))
	}
	if f.More > 0 {
		p.line("      and " + grouped(f.More) + " more")
	}
	for _, c := range f.Commands {
		p.line("    $ " + ir.EscapeControls(c))
	}
}

// doctorSchema is the version of the JSON forms of doctor and status.
const doctorSchema = "1"

// DoctorJSON returns a report as one JSON object with a final newline; its fields are
// in docs/schema/doctor.schema.json.
func DoctorJSON(r *DoctorReport) []byte {
	var w jsonText
	w.open('{')
	w.field("schema_version").str(doctorSchema)
	w.field("root").str(r.Root)
	w.field("name").str(r.Name)
	w.doctorSummary(r)
	w.field("findings").open('[')
	for i := range r.Findings {
		f := &r.Findings[i]
		w.open('{')
		w.field("code").str(f.Code)
		w.field("group").str(doctorNames[f.Group].field)
		w.field("message").str(f.Message)
		w.field("items").strs(f.Items)
		w.field("more").int(f.More)
		w.field("commands").strs(f.Commands)
		w.close('}')
	}
	w.close(']')
	w.close('}')
	return w.indented()
}

// doctorSummary writes the fields that doctor and status share.
func (w *jsonText) doctorSummary(r *DoctorReport) {
	n := r.Counts()
	w.field("verdict")
	switch {
	case n[DoctorBroken] > 0:
		w.str("broken")
	case n[DoctorWarning] > 0:
		w.str("warnings")
	default:
		w.str("healthy")
	}
	w.field("summary").str(r.Verdict())
	w.field("next").str(r.Next)
	w.field("counts").open('{')
	for g, names := range doctorNames {
		w.field(names.field).int(n[g])
	}
	w.close('}')
}

// strs writes a list, which is never null.
func (w *jsonText) strs(list []string) {
	w.open('[')
	for _, s := range list {
		w.str(s)
	}
	w.close(']')
}
