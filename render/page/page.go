// Package page writes a report on a workspace as one HTML page: values in, bytes
// out. The page needs no network and no other file, is a readable document without
// its script, and shows names and texts of strangers as text and as nothing else.
//
// It may not touch files, the network or the clock: equal reports give equal bytes.
package page

import (
	_ "embed"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// The style and the script stand in the page as they are here. They are constants of
// the program, so that the policy can name them by their hashes, which a test holds
// to the files.
var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// policy is what a browser lets the page do: apply its own style, run its own script.
// No other script runs, whatever a name in the page is spelled like, and nothing is
// loaded from anywhere.
const policy = "default-src 'none'; style-src 'sha256-" + styleHash + "'; script-src 'sha256-" + scriptHash + "'; base-uri 'none'; form-action 'none'"

// How much of a workspace a page shows. What is cut is counted in the page, with the
// command that prints it. The numbers keep the page of a workspace of 10,000 contexts
// at a few megabytes, which a browser opens in a second.
const (
	// MaxDirs is how many directories with context of their own are shown.
	MaxDirs = 2000
	// MaxTargets is how many maps are in the page.
	MaxTargets = 12

	maxOwn      = 40  // files of one directory, imports included
	maxHeirs    = 8   // names of directories that only inherit, for each directory
	maxFindings = 400 // findings of lint
	maxGuards   = 400
	maxTrace    = 500 // records of one map
	maxSources  = 40  // rows of the table of sizes
	maxOverruns = 20  // rows of the table of overruns
	maxText     = 96 << 10
	maxTexts    = 768 << 10
	maxCell     = 500 // bytes of one name or sentence
)

// Report is what a page shows.
type Report struct {
	// Name is what the project calls itself, "" for nothing.
	Name string
	// Counter names the token counter of the root's maps.
	Counter string
	// Now is the moment that results of guards were judged by, "" when nobody named one.
	Now string
	// Directories, Contexts and Anchors count what was looked at.
	Directories, Contexts, Anchors int
	// Rows are all directories that carry or inherit context, parents first. Dirs are
	// those of them that are shown, as Choose has them, with Own filled in, and Loose
	// is its second result.
	Rows  []ir.TargetRow
	Dirs  []Dir
	Loose int
	// Refused are those of Rows that have no map. Their rows say path and source only.
	Refused []Refused
	// Guards are all guards of the workspace that are known. GuardsHidden is set where
	// files that could not be taken in may declare more.
	Guards       []Guard
	GuardsHidden bool
	// Findings are lint's, sorted.
	Findings []ir.Diagnostic
	// Targets are the maps in the page, the one that was asked for first. TargetsLeft
	// counts the directories with context of their own whose maps are not.
	Targets     []Target
	TargetsLeft int
	// Unanswered says which parts of the report nobody could find out, and why.
	Unanswered []ir.Diagnostic
}

// Refused is a directory with context of its own and without a map.
type Refused struct {
	Path string
	// Code is that of the first error in its way.
	Code ir.Code
}

// Source is one text that a directory adds to the maps below it.
type Source struct {
	// Path is relative to the root. Section is the heading of the part that was
	// imported, "" for a whole file. Origin is set for text from a module.
	Path    string
	Section string
	Origin  *ir.Origin
	Layer   int
	Tokens  int
	Owners  []string
	// Imported is set for what a context file of the directory imports.
	Imported bool
	// Status is the outcome in the directory's own map, as in ir.TraceRecord.
	Status string
	// CountedIn is another directory that adds the text too and that it counts for, ""
	// for a text that counts here.
	CountedIn string
}

// weight returns what the text adds to the sum of all.
func (s *Source) weight() int {
	if s.CountedIn != "" || s.Status != ir.Included {
		return 0
	}
	return s.Tokens
}

// Guard is a guard with what decides whether it runs.
type Guard struct {
	ir.VerifiedGuard
	// NotTrusted is set where it would not run: nobody agreed to it.
	NotTrusted bool
}

// Target is one map with its explanation.
type Target struct {
	// Path is the target, "" for the orientation map.
	Path string
	// Refusal is why there is no map; then the other fields are empty.
	Refusal []ir.Diagnostic
	Map     ir.Map
	// Text is the map in canonical Markdown.
	Text []byte
	// Guards is what there is to say of the map's guards.
	Guards []ir.GuardAccount
	// Drawing is what the map was computed from.
	Drawing render.Drawing
}

// HTML returns the page, complete.
func HTML(r *Report) []byte {
	w := &writer{origins: origins(r)}
	w.head(r)
	w.overview(r)
	w.budgets(r)
	w.contexts(r)
	w.sizes(r)
	w.guards(r)
	w.findings(r)
	w.maps(r)
	w.foot(r)
	return w.b
}

// sections are the parts of the page, for its navigation.
var sections = [...][2]string{
	{"overview", "Overview"}, {"budgets", "Budgets"}, {"contexts", "Contexts"}, {"sizes", "Sizes"},
	{"guards", "Guards"}, {"findings", "Findings"}, {"maps", "Maps"},
}

func (w *writer) head(r *Report) {
	w.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	w.raw(`<meta http-equiv="Content-Security-Policy" content="`).raw(policy).raw("\">\n")
	w.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	w.raw("<title>").text(title(r)).raw(" – workspace report</title>\n<style>").raw(style).raw("</style>\n</head>\n<body>\n")
	w.raw("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n")
	w.raw("<header class=\"top\"><div class=\"wide\">\n<p class=\"eyebrow\">Workspace report</p>\n<h1>").text(title(r)).raw("</h1>\n")
	w.raw("<button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Colours: system</button>\n</div></header>\n")
	w.raw("<nav class=\"sections\" aria-label=\"Sections\"><ul class=\"wide\">\n")
	for _, s := range sections {
		w.raw(`<li><a href="#`).raw(s[0]).raw(`">`).raw(s[1]).raw("</a></li>\n")
	}
	w.raw("</ul></nav>\n<main id=\"main\" class=\"wide\" tabindex=\"-1\">\n")
}

func title(r *Report) string {
	if r.Name == "" {
		return "Workspace"
	}
	return r.Name
}

// section opens a part of the page.
func (w *writer) section(i int, lede string) {
	id, name := sections[i][0], sections[i][1]
	w.raw(`<section id="`).raw(id).raw(`" aria-labelledby="h-`).raw(id).raw("\">\n")
	w.raw(`<h2 id="h-`).raw(id).raw(`">`).raw(name).raw("</h2>\n")
	if lede != "" {
		w.raw("<p class=\"lede\">").text(lede).raw("</p>\n")
	}
}

func (w *writer) foot(r *Report) {
	w.raw("</main>\n<footer class=\"wide\"><p>Written by <code>mwp report</code>")
	if r.Counter != "" {
		w.raw("; tokens are counted with ").text(r.Counter)
	}
	if r.Now != "" {
		w.raw("; results of guards as of ").text(r.Now)
	}
	w.raw(". The page loads nothing and sends nothing.</p></footer>\n")
	w.raw("<script type=\"application/json\" id=\"data\">")
	w.data(r)
	w.raw("</script>\n<script>").raw(script).raw("</script>\n</body>\n</html>\n")
}
