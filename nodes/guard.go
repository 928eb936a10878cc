package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/command"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Guard is one declared check with its place: everything that decides what would be
// run, where, and on which files its result rests.
type Guard struct {
	// GuardSpec is the declaration. VerifiedPaths are the guard's own or, without any,
	// the file's (D-45).
	GuardSpec
	// Path is the declaring file as maps name it, Real where it lies.
	Path, Real string
	// Dir is the directory that the guard runs in and that its paths start from,
	// relative to the root: the declaring file's, and for a module's guard that of the
	// project's file that imports it (D-85).
	Dir string
	// Foreign is set for a guard from a module, Commit names a git module (D-42).
	Foreign bool
	Commit  string
	// Texts are the files that the declaring one splices in and that the guard stands
	// for as well (D-89), sorted.
	Texts  []string
	Owners []string
	// Also is where else the same check is declared, path:line each (D-43).
	Also []string
}

func codeGuard(c *cas.Coder, g *Guard) {
	codeGuardSpec(c, &g.GuardSpec)
	c.String(&g.Path)
	codeReal(c, g.Path, &g.Real)
	c.String(&g.Dir)
	c.Bool(&g.Foreign)
	c.String(&g.Commit)
	c.Strings(&g.Texts)
	c.Strings(&g.Owners)
	c.Strings(&g.Also)
}

// Static reports a guard that is evaluated with the map and runs nothing (D-113).
func (g *Guard) Static() bool { return g.Cmd == "" && len(g.Argv) == 0 }

// Command returns what is run; a static guard has none.
func (g *Guard) Command() command.Command {
	if len(g.Argv) > 0 {
		return command.FromArgv(g.Argv)
	}
	return command.Parse(g.Cmd)
}

// Text returns the command as people and keys see it, or the static check.
func (g *Guard) Text() string {
	switch {
	case g.Exists != "":
		return "exists " + g.Exists
	case g.ContainsPath != "":
		return "contains " + g.ContainsPath + " " + strconv.Quote(g.ContainsText)
	case g.Script != "":
		return "script " + g.Script
	}
	return g.Command().Text
}

// Label returns what a guard line calls the guard (D-97).
func (g *Guard) Label() string {
	switch {
	case g.Name != "":
		return g.Name
	case g.Static():
		return g.Text()
	}
	return command.Label(g.Command())
}

// Called reports whether a person means the guard by a name: its command, its label,
// or at least eight digits of its key.
func (g *Guard) Called(name string) bool {
	const enough = 8
	digits := strings.TrimPrefix(name, "blake3:")
	return name == g.Text() || name == g.Label() || len(digits) >= enough && strings.HasPrefix(g.Key().String(), digits)
}

// DeclaredAt returns the path:line of the declaration.
func (g *Guard) DeclaredAt() string { return g.Path + ":" + strconv.Itoa(g.Line) }

// Defaults of a guard (D-44, D-86).
const (
	DefaultCacheFor = 10 * time.Minute
	DefaultTimeout  = 10 * time.Minute
)

var guardIDs = cas.Derive("mwp guard v1")

// Key identifies the guard's result: BLAKE3, derived for "mwp guard v1", over the
// normalised command, the directory it runs in, the module's commit and whether a
// shell runs it (D-44), and over the declaring file. Two files that declare one command
// have verified paths, times and trust of their own, so each has a record of its own;
// the command runs once for both (RunKey).
func (g *Guard) Key() cas.Key { return guardIDs.Key(g.identity(g.Real)) }

// RunKey identifies what would be started: guards with one are run together (D-43).
func (g *Guard) RunKey() cas.Key { return guardIDs.Key(g.identity("")) }

func (g *Guard) identity(file string) []byte {
	var e cas.Encoder
	e.String(g.Text())
	e.String(g.Dir)
	e.String(g.Commit)
	e.Bool(!g.Static() && g.Command().Shell)
	e.Bool(g.Static())
	e.String(file)
	return e.Encoded()
}

// tagged returns a key as the IR writes it.
func tagged(k cas.Key) string { return cas.Digest(k).Tagged() }

// guardsOf returns the guards that a document declares. dir is where a module's
// guards run, "" for the project's own.
func guardsOf(h *Header, s Source, dir string) []Guard {
	var gs []Guard
	for _, spec := range h.Guards {
		if !spec.HasVerifiedPaths && h.HasVerifiedPaths {
			spec.VerifiedPaths, spec.HasVerifiedPaths = h.VerifiedPaths, true
		}
		g := Guard{GuardSpec: spec, Path: s.Path, Real: s.Real, Dir: parent(s.Real), Owners: h.Owners}
		if s.foreign() {
			g.Dir, g.Foreign, g.Commit = cmp.Or(dir, g.Dir), true, s.Home.Commit
		}
		gs = append(gs, g)
	}
	return gs
}

// foreign reports a document of other people: of a module, or in a directory where
// package managers put what they fetch, however it was reached (D-42).
func (s *Source) foreign() bool {
	if s.Home != (Home{}) {
		return true
	}
	return slices.ContainsFunc(segments(s.Real), func(seg string) bool { return seg == "node_modules" || seg == "vendor" })
}

// attach gives the guards of a context file and of what it imports to the entries
// that they stand for: the declaring document, and the files of the same project
// that it splices in by local imports, directly or through one another (D-89). own
// are the context file's own guards; the result is by reference, in the order of the
// closure, preceded by the context file's. It is false for more than a map can show.
func (v *ClosureValue) attach(root Source, own []Guard) (at [][]Guard, ok bool) {
	at = make([][]Guard, len(v.References)+1)
	lines := 0
	documents := []int{-1}
	// Several sections of one file are one document.
	seen := map[string]bool{}
	for i := range v.References {
		if ref := &v.References[i]; len(ref.Guards) > 0 && ref.Problem.Code == "" && !seen[ref.Real] {
			seen[ref.Real] = true
			documents = append(documents, i)
		}
	}
	for _, d := range documents {
		guards, from := own, root
		if d >= 0 {
			guards, from = v.References[d].Guards, v.References[d].Source
		}
		if len(guards) == 0 {
			continue
		}
		for i := range guards {
			// Each guard has a list of its own in memory, even where the file has one for all.
			lines += len(guards[i].VerifiedPaths)
		}
		reached, texts := v.spliced(root.Real, from)
		stands := func(i int) bool {
			ref := &v.References[i]
			return reached[i] || d >= 0 && ref.Real == from.Real && ref.Problem.Code == ""
		}
		for i := range v.References {
			if stands(i) {
				lines += len(guards)
			}
		}
		if lines > maxGuardLines {
			return make([][]Guard, len(at)), false
		}
		given := slices.Clone(guards)
		for i := range given {
			given[i].Texts = texts
		}
		if d < 0 {
			at[0] = append(at[0], given...)
		}
		for i := range v.References {
			if stands(i) {
				at[i+1] = append(at[i+1], given...)
			}
		}
	}
	return at, true
}

// maxGuardLines bounds what the guards of one context file and its imports add to a
// map, as a line below each text that they stand for: two small files can ask for
// millions (D-102).
const maxGuardLines = 50_000

// tooManyGuards refuses a context file beyond the bound.
func tooManyGuards(source string) ir.Diagnostic {
	return ir.Diagnostic{
		Code: ir.LimitExceeded, Severity: ir.SeverityError, Source: source,
		Message: fmt.Sprintf("its guards and those of its imports have more than %d verified paths and texts that they stand for, counted for each guard", maxGuardLines),
		Hint:    "check several rules with one script",
	}
}

// spliced returns which references a document leads to by local imports without
// leaving its project or module, and where they lie.
func (v *ClosureValue) spliced(root string, from Source) (reached []bool, texts []string) {
	reached = make([]bool, len(v.References))
	seen := map[string]bool{from.Real: true}
	for next := []string{from.Real}; len(next) > 0; {
		here := next[0]
		next = next[1:]
		for i := range v.References {
			ref := &v.References[i]
			if reached[i] || v.importer(root, ref) != here || ref.Via != ImportLocal || ref.Home != from.Home || ref.foreign() != from.foreign() || ref.Problem.Code != "" || ref.Real == "" {
				continue
			}
			reached[i] = true
			if !seen[ref.Real] {
				seen[ref.Real] = true
				next, texts = append(next, ref.Real), append(texts, ref.Real)
			}
		}
	}
	slices.Sort(texts)
	return reached, texts
}

// importer returns where the document lies that declares a reference; root is the
// closure's own.
func (v *ClosureValue) importer(root string, ref *Reference) string {
	if ref.Importer < 0 {
		return root
	}
	return v.References[ref.Importer].Real
}

// guardList is guards in map order, each key once: identical ones run once (D-43).
type guardList struct {
	all []Guard
	at  map[cas.Key]int
}

// add returns the places of some guards in the list, which grows by new ones.
func (l *guardList) add(gs []Guard) []int {
	var places []int
	for _, g := range gs {
		key := g.Key()
		i, known := l.at[key]
		if !known {
			if l.at == nil {
				l.at = map[cas.Key]int{}
			}
			i = len(l.all)
			l.at[key], l.all = i, append(l.all, g)
		}
		if at := g.DeclaredAt(); known && at != l.all[i].DeclaredAt() && !slices.Contains(l.all[i].Also, at) {
			l.all[i].Also = append(slices.Clone(l.all[i].Also), at)
		}
		if !slices.Contains(places, i) {
			places = append(places, i)
		}
	}
	return places
}

// worstStatus returns the status of an entry with guards of these statuses (D-47).
func worstStatus(statuses []string) string {
	for _, s := range []string{ir.FailedCheck, ir.Stale, ir.Unverified} {
		if slices.Contains(statuses, s) {
			return s
		}
	}
	return ir.Passed
}
