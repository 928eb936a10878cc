package mwp

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// DoctorReport is what Doctor found, DoctorFinding one thing of it.
type (
	DoctorReport  = render.DoctorReport
	DoctorFinding = render.DoctorFinding
)

// DoctorRequest asks how a project's set-up is.
type DoctorRequest struct {
	// Program is the absolute path of mwp, as clients' files may have it.
	Program string
	// Home, when set, is the user's home directory, which is no project (D-03).
	Home string
}

// Doctor checks the set-up of the workspace around Options.Dir (R-237 to R-239, D-77). It
// changes no file, the cache included, runs no guard and fetches nothing; git is asked
// about the anchors through package vcs. The error is that of Map.
func (w *Workspace) Doctor(ctx context.Context, q DoctorRequest) (*DoctorReport, error) {
	f, err := w.doctorFacts(ctx, "", q)
	if err != nil {
		return nil, err
	}
	return diagnose(f), nil
}

// DoctorText returns a report as text for people, DoctorJSON as JSON.
func DoctorText(r *DoctorReport, color bool) []byte {
	return render.Doctor(r, render.DoctorOptions{Color: color})
}

// DoctorJSON returns a report in the form of docs/schema/doctor.schema.json.
func DoctorJSON(r *DoctorReport) []byte { return render.DoctorJSON(r) }

// doctorItems is how many items of a finding are listed.
const doctorItems = 10

// diagnose makes a report of facts. It asks nobody, so that each rule can be tested with
// facts that are hard to come by.
//
// The next command is the first command of the first finding that has one, which is what
// the order of the rules decides: what keeps maps from being right, then what makes them
// less than they could be, then advice. A workspace with nothing to do is asked for its
// map. Facts ask for nothing. Before anything that could run a guard comes the look at what
// guards may run, where nobody has agreed to that (D-104).
func diagnose(f *doctorFacts) *DoctorReport {
	r := &DoctorReport{Root: f.root, Name: f.anchor.name}
	for _, group := range doctorRules() {
		for _, rule := range group.rules {
			for _, d := range rule(f) {
				d.Group = group.of
				r.Findings = append(r.Findings, d)
			}
		}
	}
	r.Next = "mwp map --render markdown"
	i := slices.IndexFunc(r.Findings, func(d DoctorFinding) bool { return d.Code == "trust_uncommitted" })
	if i < 0 {
		i = slices.IndexFunc(r.Findings, func(d DoctorFinding) bool { return d.Group != render.DoctorFact && len(d.Commands) > 0 })
	}
	if i >= 0 {
		r.Next = r.Findings[i].Commands[0]
	}
	return r
}

// doctorRule returns the findings of one rule, most often none or one.
type doctorRule func(*doctorFacts) []DoctorFinding

// doctorGroup is the rules whose findings are equally grave, the most useful first.
type doctorGroup struct {
	of    render.DoctorGroup
	rules []doctorRule
}

func doctorRules() []doctorGroup {
	return []doctorGroup{
		{render.DoctorBroken, []doctorRule{
			modulesMissing, lintErrors, lockUnusable, moduleModified, guardsFailed, keyUnusable,
		}},
		{render.DoctorWarning, []doctorRule{
			trustUncommitted, anchorsNotCompared, trustOutdated, notAnchored, recordsDamaged, trustUnreadable, guardsOverridden, fetcherMissing,
			cacheUnwritable, ignoreIncomplete, clientUnusableFile, sharedNotImported, lintWarnings,
		}},
		{render.DoctorSuggestion, []doctorRule{
			guardsNotRun, guardsStale, contextRename, anchorIsFile, anchorUncommitted, manualInstall, intentRecurs, workDirsAbsent,
			clientAbsent, exampleText, descriptionAbsent, stackModule,
		}},
		{render.DoctorFact, []doctorRule{
			workspaceFact, modulesFact, guardsFact, trustFact, cacheFact, clientsFact, sessionsFact, gitFact, stateFact, userFact, uninstallFact,
		}},
	}
}

// finding returns one finding as a list. Commands that are "" are left out.
func finding(code, message string, commands ...string) []DoctorFinding {
	return about(code, message, counted{}, commands...)
}

// about returns one finding with items.
func about(code, message string, c counted, commands ...string) []DoctorFinding {
	commands = slices.DeleteFunc(commands, func(s string) bool { return s == "" })
	return []DoctorFinding{{Code: code, Message: message, Items: c.list, More: c.more, Commands: commands}}
}

// maxRoot bounds a root in a command. It is longer than maxWord, as without it there is no
// command at all.
const maxRoot = 1000

// here makes a command that is about files of the root work where the question was asked.
// The root is absolute: where that directory was reached through a link, ".." leads a shell
// and a program to different places. It returns "" where no command can name the root.
func (f *doctorFacts) here(command string) string {
	switch {
	case !f.elsewhere:
		return command
	case len(f.root) > maxRoot || !visible(f.root):
		return ""
	}
	return "cd " + ir.ShellWord(f.root) + " && " + command
}

// maxWord bounds a name in a command: the next one has to fit a screen.
const maxWord = 200

// commandWord returns a name as one word of a command. ok is false for one that no line of a
// terminal can show: then a command without it has to do.
func commandWord(name string) (word string, ok bool) {
	if name == "" || len(name) > maxWord || !visible(name) {
		return "", false
	}
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return ir.ShellWord(name), true
}

// visible reports whether a terminal shows a name as it is.
func visible(name string) bool { return utf8.ValidString(name) && ir.EscapeControls(name) == name }

// gitAbout returns a git command about words of commandWord. Git takes them for patterns
// unless it is told not to.
func gitAbout(command string, words ...string) string {
	list := strings.Join(words, " ")
	git := "git "
	if strings.ContainsAny(list, `:*?[\`) {
		git += "--literal-pathspecs "
	}
	return git + command + " -- " + list
}

// movedAside returns the command that gives a file another name, "" when there is none; what
// is a pair, or nil.
func movedAside(what []string) string {
	if len(what) != 2 {
		return ""
	}
	from, ok := commandWord(what[0])
	to, okTo := commandWord(what[1])
	if !ok || !okTo {
		return ""
	}
	return "mv " + from + " " + to
}
