package mwp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// question is one question of any kind. It names the kind in text, for the log.
type question struct {
	kind string
	// target is root-relative; "" leaves it out.
	target, file string
	mwp.Request
	lint    mwp.LintRequest
	targets mwp.TargetsRequest
	// whole looks at every file behind a plan's guards.
	whole bool
}

func (q question) String() string {
	switch q.kind {
	case "lint":
		return fmt.Sprintf("lint %q %+v", q.target, q.lint)
	case "plan":
		return fmt.Sprintf("plan %q, whole %v", q.target, q.whole)
	case "targets":
		return fmt.Sprintf("targets %q %+v", q.target, q.targets)
	}
	return fmt.Sprintf("%s %q %q %+v", q.kind, q.target, q.file, q.Request)
}

// tally counts what the questions were worth: a run in which most are refused, or
// in which options never matter, tests little.
type tally struct {
	maps, refused, others, othersRefused, imports, served, kept, varied, mattered int
	glances                                                                       int64
}

func (e *editor) worth() string {
	c := &e.tally
	return fmt.Sprintf("%d questions for maps: %d refused, %d with imported text; %d others: %d refused; %d answers served from slots, %d from memory, %d of those by a glance; %d of %d changed options changed the answer",
		c.maps, c.refused, c.imports, c.others, c.othersRefused, c.served, c.kept, c.glances, c.mattered, c.varied)
}

// importedMark is in every map with imported text.
const importedMark = "imported by"

// mapQuestion returns a random question for a map.
func (e *editor) mapQuestion() question {
	q := question{kind: "map", target: pick(e, []string{
		"", ".", "pkg/app/src/main.go", "pkg/app/src/main.go", "pkg/app/src/main.go", "pkg/app", "pkg/app", "pkg/app/src", "pkg/app/src", "pkg/lib/x.go",
		"svc/api/new.go", "svc/api/new.go", "svc/api", "docs", "docs/link/x",
		"new/deep/f", ".mwp/intents/plan.md", "pkg/link", "svc/src/main.go",
	})}
	q.NoRoot = true
	q.Format = pick(e, []nodes.Format{nodes.JSON, nodes.JSON, nodes.MarkdownText, nodes.ExplainText, nodes.ExplainJSON, nodes.ClaudeText})
	q.AllowFloating = e.rng.IntN(4) == 0
	if e.rng.IntN(5) == 0 {
		q.Window = nodes.OptionalInt{Set: true, Value: e.rng.IntN(3)}
	}
	if e.rng.IntN(5) == 0 {
		q.Overrides.Caps[1] = nodes.CapOverride{Set: true, Cap: nodes.Cap{Limited: true, Tokens: 1 + e.rng.IntN(20)}}
	}
	return q
}

// vary changes one option of a question for a map. An option that is missing from a
// key would be served the other's answer.
func (e *editor) vary(q question) question {
	switch e.rng.IntN(3) {
	case 0:
		q.Window = nodes.OptionalInt{Set: true, Value: e.rng.IntN(3)}
	case 1:
		q.AllowFloating = !q.AllowFloating
	default:
		q.Overrides.Caps[e.rng.IntN(3)] = nodes.CapOverride{Set: true, Cap: nodes.Cap{Limited: true, Tokens: 1 + e.rng.IntN(20)}}
	}
	return q
}

// wideQuestion returns a random question about the whole tree or a part of it.
func (e *editor) wideQuestion() question {
	q := question{kind: pick(e, []string{"lint", "lint", "targets"})}
	if e.rng.IntN(3) == 0 {
		q.target = pick(e, []string{"pkg", "pkg/app/src", "svc/.mwp-context.md", "docs", "mods/m", "node_modules/m", "new"})
	}
	floating := e.rng.IntN(4) == 0
	q.lint = mwp.LintRequest{Format: nodes.ReportJSON, AllowFloating: floating, Profile: pick(e, []string{"", "", "codex"})}
	q.targets = mwp.TargetsRequest{JSON: true, AllowFloating: floating}
	return q
}

// whyQuestion asks why a file is in a map or is not.
func (e *editor) whyQuestion() question {
	q := e.mapQuestion()
	q.kind, q.Format = "why", pick(e, []nodes.Format{nodes.ExplainText, nodes.ExplainJSON})
	q.file = pick(e, append([]string{"pkg/.mwp-context.md", gitModules[0].file("part.md"), "mods/m/part.md"}, importables...))
	return q
}

// result asks a question of the workspace at root, and records the answer. Nothing
// is fetched.
func (q question) result(root string, o mwp.Options) (r *mwp.Result, recorded, err error) {
	o.Dir, o.Offline = root, true
	w := mwp.Open(o)
	defer w.Close()
	return q.of(w, root)
}

// of asks a workspace that may have been asked before.
func (q question) of(w *mwp.Workspace, root string) (r *mwp.Result, recorded, err error) {
	path := ""
	if q.target != "" {
		path = filepath.Join(root, q.target)
	}
	switch ctx := context.Background(); q.kind {
	case "lint":
		if path != "" {
			q.lint.Paths = []string{path}
		}
		r, err = w.Lint(ctx, q.lint)
	case "targets":
		q.targets.Under = path
		r, err = w.Targets(ctx, q.targets)
	case "plan":
		r, _, err = w.Plan(ctx, path, path == "", q.whole, false)
	case "why":
		q.Target = path
		r, err = w.Why(ctx, q.Request, q.file)
	default:
		q.Target = path
		r, err = w.Map(ctx, q.Request)
	}
	if err != nil {
		return nil, nil, err
	}
	return r, r.Record(), nil
}

// spoken returns all that a result says.
func spoken(r *mwp.Result) string {
	var b strings.Builder
	b.Write(r.Text)
	for _, n := range r.Notices {
		fmt.Fprintln(&b, n)
	}
	fmt.Fprintln(&b, r.Findings, r.Warnings, r.ReadOnly, r.Strict, r.Missing, r.Target)
	return b.String()
}

// ask returns all that the answer says.
func (q question) ask(root string, o mwp.Options) (string, error) {
	r, recorded, err := q.result(root, o)
	if err = errors.Join(err, recorded); err != nil {
		return "", err
	}
	return spoken(r), nil
}

func (e *editor) ask(root string, q question, o mwp.Options) string {
	o.Now, o.Guards = func() time.Time { return e.clock }, e.guardOptions()
	r, recorded, err := q.result(root, o)
	if recorded != nil {
		e.t.Logf("record: %v", recorded)
	}
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), root, "ROOT")
	}
	if r.Served {
		e.tally.served++
	}
	return spoken(r)
}

// compare asks some questions in three ways.
func (e *editor) compare(what string) {
	e.t.Helper()
	copyTree(e.t, filepath.Join(e.places[0], ".mwp", "cache"), filepath.Join(e.places[1], ".mwp", "cache"))
	if e.wide > 0 {
		// The same ones each time: a slot in which much has changed shows no fault in
		// the look at one path.
		e.askOther(what, question{kind: "lint", lint: mwp.LintRequest{Format: nodes.ReportJSON}})
		e.askOther(what, question{kind: "targets", targets: mwp.TargetsRequest{JSON: true}})
		e.askPlan(what, question{kind: "plan", whole: true})
		return
	}
	if e.guards.only {
		e.compareGuards(what)
		return
	}
	q := e.mapQuestion()
	if e.last.kind != "" && e.rng.IntN(2) == 0 {
		q = e.last
	}
	e.last = q
	answer := e.askMap(what, q)
	e.refusing, e.plain = strings.HasPrefix(answer, "error: "), !strings.Contains(answer, importedMark)
	if e.rng.IntN(2) == 0 {
		e.tally.varied++
		if e.askMap(what, e.vary(q)) != answer {
			e.tally.mattered++
		}
	}
	switch n := e.rng.IntN(8); {
	case e.primed:
		e.primed = false
		e.askOther(what, e.lastWide)
	case n < 3:
		if e.lastWide.kind == "" || e.rng.IntN(2) == 0 {
			e.lastWide = e.wideQuestion()
		}
		e.askOther(what, e.lastWide)
	case n < 4:
		e.askOther(what, e.whyQuestion())
	}
	if e.rng.IntN(4) == 0 {
		e.askPlan(what, e.planAgain())
	}
}

// prime asks a question about the whole tree just before an edit that only such
// questions see, so that the edit is all that its slot does not know. It is asked
// again after the step.
func (e *editor) prime() {
	if e.wide > 0 {
		return
	}
	if e.lastWide.kind == "" {
		e.lastWide = e.wideQuestion()
	}
	e.ask(e.places[0], e.lastWide, mwp.Options{})
	e.primed = true
}

func (e *editor) askMap(what string, q question) string {
	e.t.Helper()
	answer := e.askAllWays(what, q)
	e.tally.maps++
	if strings.HasPrefix(answer, "error: ") {
		e.tally.refused++
	}
	if strings.Contains(answer, importedMark) {
		e.tally.imports++
	}
	return answer
}

func (e *editor) askOther(what string, q question) {
	e.t.Helper()
	e.tally.others++
	if strings.HasPrefix(e.askAllWays(what, q), "error: ") {
		e.tally.othersRefused++
	}
}

// askAllWays returns the answer that is computed from nothing, after comparing it
// with the others.
func (e *editor) askAllWays(what string, q question) string {
	e.t.Helper()
	os.RemoveAll(e.scratch)
	want := e.ask(e.places[0], q, mwp.Options{CacheDir: e.scratch, Fresh: true})
	for _, way := range []struct{ name, root string }{
		{"cached", e.places[0]}, {"cached again", e.places[0]}, {"moved", e.places[1]},
	} {
		if got := e.ask(way.root, q, mwp.Options{}); got != want {
			e.t.Errorf("%s\n%s answer for %s differs\n got: %s\nwant: %s", what, way.name, q, got, want)
		}
	}
	// What is remembered is used from the second time on, and directories are open from the
	// fourth time on.
	for range 5 {
		if got := e.askKept(q); got != want {
			e.t.Errorf("%s\nthe answer for %s of a program that goes on differs\n got: %s\nwant: %s", what, q, got, want)
		}
	}
	return want
}

// askKept asks a workspace that lives as long as the test and remembers.
func (e *editor) askKept(q question) string {
	key := e.guardOptions().TrustKey
	w := e.kept[key]
	if w == nil {
		w = mwp.Open(mwp.Options{
			Dir: e.places[0], Offline: true, Keep: 1 << 20, Now: func() time.Time { return e.clock }, Guards: e.guardOptions(),
		})
		e.t.Cleanup(func() { w.Close() })
		e.kept[key] = w
	}
	r, recorded, err := q.of(w, e.places[0])
	if recorded != nil {
		e.t.Logf("record: %v", recorded)
	}
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), e.places[0], "ROOT")
	}
	if r.Served {
		e.tally.kept++
	}
	if r.World != nil {
		e.tally.glances += r.World.Glances.Load()
	}
	return spoken(r)
}
