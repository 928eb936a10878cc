package mwp_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// users are whose key a question is asked with; the last has none.
var users = []string{"ann has a long secret", "bob has a long secret", ""}

// guardSide is what the random edits know of guards.
type guardSide struct {
	// user is a place in users, ages the clock that results are judged by.
	user int
	ages time.Time
	// ledger is a state directory outside of the trees, in which the real ledger writes;
	// runs is what it holds, by user.
	ledger string
	runs   [2]map[cas.Key]graph.Run
	seen   map[string]int
	// probes counts the edits after which a fingerprint had to change.
	probes int
	last   question
	// only is set when nearly every edit is of something that guards rest on, none when
	// the last plan had nothing to run.
	only, none bool
}

func newGuardSide(dir string) guardSide {
	g := guardSide{ages: time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC), ledger: filepath.Join(dir, "ledger", ".mwp"), seen: map[string]int{}}
	for i := range g.runs {
		g.runs[i] = map[cas.Key]graph.Run{}
	}
	return g
}

// guardOptions says who asks, and when.
func (e *editor) guardOptions() mwp.GuardOptions {
	return mwp.GuardOptions{TrustKey: users[e.guards.user], Now: func() time.Time { return e.guards.ages }}
}

var (
	checks = []string{
		"cmd: ./check.sh", "cmd: ./check.sh", "cmd: ./check.sh --all", "cmd: sh ./tools/verify.sh", "cmd: ../check.sh", "cmd: ./tools/linked.sh", "cmd: ./tools/linked.sh",
		"cmd: cargo test", "cmd: npm run check", "cmd: pytest && ./check.sh", "cmd: [go, vet, ./...]", "cmd: /bin/true",
		"exists: rules.md", "exists: ../docs/", "exists: lib/gone.md", "exists: ../verified/deep/c.txt",
		"contains: {path: ../rules.md, text: Calm}", "contains: {path: rules.md, text: words}", "contains: {path: ../verified/a.txt, text: b}", "script: npm:check", "script: make:check",
	}
	verifiedLists = []string{
		"[rules.md]", "[src]", "[src/]", "[lib, rules.md]", "['*.md']", "['**/*.go', ../rules.md]", "[../docs]", "[]", "[gone]", "[src/link]", "[check.sh]",
		"['../docs/*.md']", "[.]", "[../verified]", "[../../verified]", "[../verified, ../verified/deep/c.txt]", "['../verified/**']", "['../verified/d*']", "['../../verified/*/*.txt', src]", "[../../outside]", "[../verified/linked]",
	}
	// verifiedDirs are directories that the lists above lead to.
	verifiedDirs  = []string{"verified", "verified/deep", "pkg/app/src", "docs"}
	verifiedNames = []string{"a.txt", "b.go", "c.txt", "d.md", ".hidden", "linked", "e with blanks"}
	scriptFiles   = []string{
		"check.sh", "pkg/check.sh", "pkg/app/check.sh", "svc/check.sh", "pkg/tools/verify.sh", "pkg/app/tools/verify.sh", "pkg/tools/linked.sh", "svc/tools/linked.sh",
		"package.json", "pkg/app/package.json", "Makefile", "svc/makefile",
	}
	allowedGuards = []string{"", "./check.sh", "sh ./tools/verify.sh", "./tools/linked.sh", "pytest && ./check.sh", "../check.sh"}
	verifiedRules = []string{"", "*.txt\n", "deep/\n", "/a.txt\n", "*\n!b.go\n", "src\n", "check.sh\n", "c.txt\n"}
)

// guardKeys returns the keys guards and verified_paths of a header, "" now and
// then.
func (e *editor) guardKeys() string {
	if e.rng.IntN(4) == 0 {
		return ""
	}
	b := ""
	if e.rng.IntN(3) == 0 {
		b += "verified_paths: " + pick(e, verifiedLists) + "\n"
	}
	b += "guards:\n"
	for range 1 + e.rng.IntN(3) {
		check := pick(e, checks)
		b += "  - " + check + "\n"
		if !strings.HasPrefix(check, "cmd:") {
			continue
		}
		b += pick(e, []string{"", "", "    trust: project\n", "    trust: ad-hoc\n", "    name: a name\n", "    cache_for: 0s\n", "    timeout: 5m\n"})
		if e.rng.IntN(3) > 0 {
			b += "    verified_paths: " + pick(e, verifiedLists) + "\n"
		}
	}
	return b
}

func (e *editor) scriptText(file string) string {
	switch filepath.Base(file) {
	case "package.json":
		return pick(e, []string{"{\"scripts\": {\"check\": \"x\"}}\n", "{\"scripts\": {\"test\": \"x\"}}\n", "{}"})
	case "Makefile", "makefile":
		return pick(e, []string{"check:\n\ttrue\n", "all:\n\ttrue\n"})
	}
	return pick(e, []string{"#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 1\n", ""})
}

// mendGuards makes everything that guards rest on sound again, and what is recorded
// too.
func (e *editor) mendGuards() {
	for _, d := range verifiedDirs[:2] {
		for _, name := range []string{".gitignore", ".mwpignore", "linked"} {
			e.delete(filepath.Join(d, name))
		}
		for _, name := range verifiedNames[:5] {
			e.replace(filepath.Join(d, name), pick(e, []string{"a\n", "b\n"}))
		}
		e.symlink("a.txt", filepath.Join(d, "linked"))
	}
	for _, f := range scriptFiles {
		e.replace(f, e.scriptText(f))
	}
	e.symlink("../check.sh", "pkg/tools/linked.sh")
}

var guardEdits = []edit{
	{6, (*editor).guarding},
	{7, (*editor).editVerified},
	{4, (*editor).editScript},
	{4, (*editor).editVerifiedRules},
	{5, (*editor).editTrust},
	{10, (*editor).recordRuns},
	{5, (*editor).editRecords},
	{10, (*editor).moveClock},
	{3, (*editor).switchUser},
	{10, (*editor).probe},
	{1, (*editor).mendGuarded},
}

// wideGuardEdits are those that only the records' leaves see.
var wideGuardEdits = []edit{
	{3, (*editor).recordRuns},
	{2, (*editor).editRecords},
	{3, (*editor).moveClock},
	{3, (*editor).switchUser},
}

// editGuards changes something that guards rest on.
func (e *editor) editGuards() string {
	if e.wide > 0 && e.rng.IntN(4) > 0 {
		return e.oneOf(wideGuardEdits)
	}
	return e.oneOf(guardEdits)
}

// mendGuarded makes a tree in which every question about guards has an answer.
func (e *editor) mendGuarded() string {
	e.mendContexts()
	e.mendGuards()
	for _, d := range []string{"..", ".", "pkg", "docs", "svc", "pkg/app/src"} {
		for _, name := range []string{".gitignore", ".mwpignore", ".git"} {
			if _, err := os.Lstat(filepath.Join(e.places[0], d, name)); err == nil {
				e.delete(filepath.Join(d, name))
			}
		}
	}
	for _, f := range []string{"rules.md", "pkg/rules.md", "pkg/app/rules.md", "docs/style.md"} {
		e.replace(f, pick(e, []string{"", "---\nguards:\n  - cmd: ./check.sh --rules\n---\n"})+pick(e, sectionBodies[:3]))
	}
	for _, d := range []string{"pkg", "pkg/app", "svc"} {
		imports := pick(e, []string{"", "imports:\n  - workspace: docs/style.md\n"})
		if d != "svc" && e.rng.IntN(3) > 0 {
			imports = "imports:\n  - local: ./rules.md\n"
		}
		e.replace(d+"/.mwp-context.md", "---\n"+e.guardKeys()+imports+"---\n"+pick(e, bodies[1:4]))
	}
	e.moveClock()
	return "mend the guards, and " + e.recordRuns()
}

// guarding gives a context file that many questions rest on other guards and keeps
// the rest.
func (e *editor) guarding() string {
	file := pick(e, []string{"pkg", "pkg/app", "svc"}) + "/.mwp-context.md"
	header, body := e.parts(file)
	var kept []string
	skip := false
	for line := range strings.Lines(strings.TrimSuffix(header, "---\n")) {
		if !strings.HasPrefix(line, " ") {
			skip = strings.HasPrefix(line, "guards:") || strings.HasPrefix(line, "verified_paths:")
		}
		if !skip {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		kept = []string{"---\n"}
	}
	text := strings.Join(kept, "") + e.guardKeys() + "---\n" + body
	e.replace(file, text)
	return fmt.Sprintf("write %s %q", file, text)
}

// editVerified changes something that a guard may rest on.
func (e *editor) editVerified() string {
	file := filepath.Join(pick(e, verifiedDirs[:3]), pick(e, verifiedNames))
	return e.editAny(file, pick(e, []string{"a\n", "b\n", "", "longer text\n"}), []string{"a.txt", "../b.go", "deep", "gone", "../../check.sh"})
}

func (e *editor) editScript() string {
	file := pick(e, scriptFiles)
	return e.editAny(file, e.scriptText(file), []string{"check.sh", "../check.sh", "gone", "../rules.md"})
}

// editAny changes a file, its mode or its type.
func (e *editor) editAny(file, text string, targets []string) string {
	switch n := e.rng.IntN(14); {
	case n < 4:
		e.replace(file, text)
		return fmt.Sprintf("write %s %q", file, text)
	case n < 7:
		return e.sameSize(file)
	case n < 8:
		e.delete(file)
		return "remove " + file
	case n < 11:
		mode := pick(e, []fs.FileMode{0o644, 0o755})
		e.each(func(root string) error { os.Chmod(filepath.Join(root, file), mode); return nil })
		return fmt.Sprintf("chmod %o %s", mode, file)
	case n < 12:
		target := pick(e, targets)
		e.symlink(target, file)
		return "link " + file + " to " + target
	case n < 13:
		dir := filepath.Dir(file)
		if dir == "." {
			return e.sameSize(file)
		}
		e.delete(dir)
		return "remove " + dir
	}
	e.delete(file)
	e.each(func(root string) error { return mkdirWhereItCan(filepath.Join(root, file, "x")) })
	e.stampUp(filepath.Join(file, "x"))
	return "directory instead of " + file
}

// mkdirWhereItCan makes a directory unless something else is in the way.
func mkdirWhereItCan(dir string) error { os.MkdirAll(dir, 0o755); return nil }

// editVerifiedRules hides verified files, or brings them back.
func (e *editor) editVerifiedRules() string {
	file := filepath.Join(pick(e, append([]string{"."}, verifiedDirs...)), pick(e, []string{".gitignore", ".mwpignore"}))
	if e.rng.IntN(2) == 0 {
		e.delete(file)
		return "remove " + file
	}
	text := pick(e, verifiedRules)
	e.replace(file, text)
	return fmt.Sprintf("write %s %q", file, text)
}

// editTrust changes what the workspace or a member lets run.
func (e *editor) editTrust() string {
	if e.rng.IntN(2) == 0 {
		// What the workspace itself lists hides what a member lists.
		member, allowed := pick(e, []string{"pkg/app", "svc"}), pick(e, allowedGuards[1:])
		e.delete("pkg/.mwp")
		e.replace(".mwp/config.toml", "name = \"x\"\nmembers = [\"pkg/app\", \"svc\"]\n[trust]\nallowed_guards = []\n")
		e.replace(member+"/.mwp", fmt.Sprintf("name = \"x\"\n[trust]\nallowed_guards = [%q]\n", allowed))
		return fmt.Sprintf("let the member %s run %q", member, allowed)
	}
	file := pick(e, []string{".mwp/config.toml", ".mwp/config.toml", "pkg/app/.mwp", "svc/.mwp", "pkg/.mwp"})
	text := "name = \"x\"\n"
	if file == ".mwp/config.toml" {
		text += "members = [\"pkg/app\", \"svc\"]\n"
	}
	text += fmt.Sprintf("[trust]\nallowed_guards = [%q]\n", cmp.Or(pick(e, allowedGuards), "none"))
	text += pick(e, []string{"", "[guards]\ntimeout = \"3m\"\n", "[guards]\njobs = 3\n", "[guards]\njobs = 2\ntimeout = \"4m\"\n"})
	e.replace(file, text)
	return fmt.Sprintf("write %s %q", file, text)
}

// planned returns a plan that has guards that run something, computed from nothing;
// no guards when there is none.
func (e *editor) planned() (target, root string, guards []nodes.PlannedGuard, records string) {
	targets := []string{"", "pkg/app/src/main.go", "svc/api", "pkg/lib"}
	for _, i := range e.rng.Perm(len(targets)) {
		target = targets[i]
		root, guards, records = e.plannedFor(target)
		guards = slices.DeleteFunc(guards, func(g nodes.PlannedGuard) bool { return g.Static() })
		if len(guards) > 0 {
			break
		}
	}
	return target, root, guards, records
}

func (e *editor) plannedFor(target string) (root string, guards []nodes.PlannedGuard, records string) {
	scratch := filepath.Join(filepath.Dir(e.scratch), "plan")
	os.RemoveAll(scratch)
	w := mwp.Open(mwp.Options{Dir: e.places[0], CacheDir: scratch, Fresh: true, Offline: true, Now: func() time.Time { return e.clock }, Guards: e.guardOptions()})
	defer w.Close()
	path := ""
	if target != "" {
		path = filepath.Join(e.places[0], target)
	}
	r, plan, err := w.Plan(context.Background(), path, path == "", true, true)
	if err != nil {
		return "", nil, ""
	}
	return r.Root, plan.Guards, plan.Records
}

// moments are how far from now the moments of runs lie.
var moments = []time.Duration{-time.Hour, -10 * time.Minute, -time.Minute, -time.Millisecond, 0, time.Millisecond, 4 * time.Second, 5 * time.Second, 5*time.Second + time.Millisecond, 6 * time.Second, time.Minute, time.Hour}

// recordRuns records runs of some of the workspace's guards, as the ledger writes
// them.
func (e *editor) recordRuns() string {
	_, root, guards, records := e.planned()
	if records == "" || len(guards) == 0 {
		return "no guard to record a run of"
	}
	user := e.guards.user
	if user == 2 || e.rng.IntN(4) == 0 {
		user = e.rng.IntN(2)
	}
	var said []string
	chosen := guards
	if e.rng.IntN(2) == 0 {
		e.rng.Shuffle(len(guards), func(i, j int) { guards[i], guards[j] = guards[j], guards[i] })
		chosen = guards[:1+e.rng.IntN(len(guards))]
	}
	err := e.updateLedger(user, func(all *guard.Records) {
		for _, g := range chosen {
			run := e.aRun(&g)
			all.Set(guard.Record{Key: g.Key(), Guard: g.Text(), Cwd: g.Dir, DeclaredIn: g.Path, Run: run})
			e.guards.runs[user][g.Key()] = run
			said = append(said, fmt.Sprintf("%s in %s passed %v at %s until %s", g.Text(), g.Dir, run.Passed, time.Unix(0, run.RanAt).UTC(), time.Unix(0, run.CacheUntil).UTC()))
		}
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.replace(e.below(root, records), string(e.ledgerText()))
	return fmt.Sprintf("user %d records %s", user, strings.Join(said, ", "))
}

// below returns a path below a workspace's root as it is seen from the tree.
func (e *editor) below(root, rel string) string {
	p, err := filepath.Rel(e.places[0], filepath.Join(root, rel))
	if err != nil {
		e.t.Fatal(err)
	}
	return p
}

func (e *editor) ledgerText() []byte {
	b, _ := os.ReadFile(filepath.Join(e.guards.ledger, guard.LedgerName))
	return b
}

func (e *editor) updateLedger(user int, change func(*guard.Records)) error {
	if err := os.MkdirAll(e.guards.ledger, 0o755); err != nil {
		return err
	}
	key, err := guard.OpenKey("", users[user])
	if err != nil {
		return err
	}
	_, err = guard.NewLedger(key).Update(context.Background(), state.Dir{Path: e.guards.ledger}, func(all *guard.Records) error {
		change(all)
		return nil
	})
	return err
}

func (e *editor) aRun(g *nodes.PlannedGuard) graph.Run {
	now := e.guards.ages.Truncate(time.Millisecond)
	ran := now.Add(pick(e, moments))
	if e.rng.IntN(2) == 0 {
		ran = now.Add(-time.Second)
	}
	run := graph.Run{
		Passed: e.rng.IntN(3) > 0, Duration: 7, RanAt: ran.UnixNano(), CacheUntil: ran.Add(pick(e, []time.Duration{0, time.Millisecond, time.Minute, 10 * time.Minute, time.Hour})).UnixNano(),
		Fingerprint: g.Fingerprint, Declared: g.Declared,
	}
	exit := 0
	if run.Exit = &exit; !run.Passed {
		exit = 1 + e.rng.IntN(2)
		if e.rng.IntN(4) == 0 {
			run.Exit, run.Reason = nil, ir.ReasonTimeout
		}
		if e.rng.IntN(2) == 0 {
			run.Override = &graph.Override{Reason: "known", Until: now.Add(pick(e, moments)).UnixNano(), Declared: g.Declared}
		}
	}
	switch e.rng.IntN(10) {
	case 0:
		run.Fingerprint = cas.Sum([]byte("old"))
	case 1:
		run.Declared = cas.Sum([]byte("old"))
	case 2:
		if run.Override != nil {
			run.Override.Declared = cas.Sum([]byte("old"))
		}
	}
	return run
}

// recordsPath returns where records lie that the tree's own anchor keeps.
func (e *editor) recordsPath() string {
	if fi, err := os.Lstat(filepath.Join(e.places[0], ".mwp")); err == nil && !fi.IsDir() {
		return ".mwp.d/" + guard.LedgerName
	}
	return ".mwp/" + guard.LedgerName
}

// editRecords damages the records, or takes them away, or brings them back.
func (e *editor) editRecords() string {
	file := e.recordsPath()
	b, _ := os.ReadFile(filepath.Join(e.places[0], file))
	text := string(b)
	switch n := e.rng.IntN(12); {
	case n < 3 || text == "":
		e.replace(file, string(e.ledgerText()))
		return "restore the records"
	case n < 4:
		e.delete(file)
		return "remove the records"
	case n < 5:
		e.replace(file, text[:e.rng.IntN(len(text))])
		return "cut the records off"
	case n < 6:
		at := e.rng.IntN(len(text))
		e.replace(file, text[:at]+string(text[at]^1)+text[at+1:])
		return fmt.Sprintf("flip a bit of byte %d of the records", at)
	case n < 7:
		e.replace(file, strings.Replace(text, `"status": "failed"`, `"status": "passed"`, 1))
		return "turn a failure into a pass by hand"
	case n < 8:
		e.replace(file, strings.Replace(text, `"version": 1`, `"version": 2`, 1))
		return "another version of the records"
	case n < 9:
		return e.sameSize(file)
	case n < 10:
		e.symlink("elsewhere.json", file)
		return "link instead of the records"
	case n < 11:
		e.stamp(file)
		return "touch the records"
	}
	// What another user's clone left: records that are signed with another key only.
	other := 1 - e.guards.user%2
	for k := range e.guards.runs[1-other] {
		delete(e.guards.runs[1-other], k)
	}
	os.Remove(filepath.Join(e.guards.ledger, guard.LedgerName))
	err := e.updateLedger(other, func(all *guard.Records) {
		for _, k := range sortedKeys(e.guards.runs[other]) {
			all.Set(guard.Record{Key: k, Run: e.guards.runs[other][k]})
		}
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.replace(file, string(e.ledgerText()))
	return "records of another user only"
}

func sortedKeys(runs map[cas.Key]graph.Run) []cas.Key {
	var ks []cas.Key
	for k := range runs {
		ks = append(ks, k)
	}
	slices.SortFunc(ks, func(a, b cas.Key) int { return bytes.Compare(a[:], b[:]) })
	return ks
}

// moveClock moves the clock that results are judged by, mostly to where something
// begins or ends.
func (e *editor) moveClock() string {
	g := &e.guards
	var at []int64
	for _, runs := range g.runs {
		for _, k := range sortedKeys(runs) {
			r := runs[k]
			at = append(at, r.RanAt-5e9, r.CacheUntil, r.CacheUntil, r.RanAt)
			if r.Override != nil {
				at = append(at, r.Override.Until)
			}
		}
	}
	if len(at) == 0 || e.rng.IntN(4) == 0 {
		g.ages = g.ages.Add(pick(e, moments))
	} else {
		g.ages = time.Unix(0, pick(e, at)+int64(pick(e, []time.Duration{-time.Millisecond, -1, 0, 0, 1, time.Millisecond}))).UTC()
	}
	return "the clock says " + g.ages.Format(time.RFC3339Nano)
}

func (e *editor) switchUser() string {
	e.guards.user = pick(e, []int{0, 0, 0, 1, 1, 2})
	return fmt.Sprintf("user %d asks", e.guards.user)
}

// planQuestion asks which guards there are and what is known of them.
func (e *editor) planQuestion() question {
	q := question{kind: "plan"}
	if e.rng.IntN(2) == 0 {
		q.target = pick(e, []string{".", "pkg/app/src/main.go", "pkg/app", "svc/api", "svc"})
	}
	q.whole = e.rng.IntN(2) == 0
	return q
}

// compareGuards asks about the map of a target with guards, for a plan, and now and
// then for something else.
func (e *editor) compareGuards(what string) {
	e.t.Helper()
	q := e.last
	if q.kind == "" || e.rng.IntN(3) == 0 {
		q = e.mapQuestion()
		if e.rng.IntN(3) > 0 {
			q.target, q.Window = pick(e, []string{"pkg/app/src/main.go", "pkg/app", "svc/api/new.go", "pkg/lib/x.go"}), nodes.OptionalInt{}
		}
	}
	e.last = q
	e.askMap(what, q)
	e.askPlan(what, e.planAgain())
	switch e.rng.IntN(8) {
	case 0:
		e.askOther(what, e.wideQuestion())
	case 1:
		e.askOther(what, e.whyQuestion())
	}
}

// planAgain is often the last question about a plan.
func (e *editor) planAgain() question {
	g := &e.guards
	if g.last.kind == "" || e.rng.IntN(2) == 0 {
		g.last = e.planQuestion()
	}
	return g.last
}

// askPlan asks a plan question in all ways and holds the answer against what was
// recorded.
func (e *editor) askPlan(what string, q question) {
	e.t.Helper()
	e.askOther(what, q)
	e.guards.none = true
	r, _, err := q.result(e.places[0], mwp.Options{Now: func() time.Time { return e.clock }, Guards: e.guardOptions()})
	if err != nil {
		return
	}
	plan, err := cas.DecodeValue(r.Text, nodes.CodeGuardPlan)
	if err != nil {
		e.t.Fatal(err)
	}
	onDisk, _ := os.ReadFile(filepath.Join(r.Root, plan.Records))
	sound := plan.Records != "" && bytes.Equal(onDisk, e.ledgerText())
	if fi, err := os.Lstat(filepath.Join(r.Root, plan.Records)); err == nil && !fi.Mode().IsRegular() {
		sound = false
	}
	for i := range plan.Guards {
		g := &plan.Guards[i]
		e.guards.seen[g.Check.Status]++
		e.guards.none = e.guards.none && g.Static()
		if !g.Static() && r.Root == e.places[0] && e.listed(g) && g.Level == nodes.TrustAdHoc {
			e.t.Errorf("%s\n%s: %s in %s is %s, %s, and a configuration lists it", what, q, g.Text(), g.Dir, g.Level, g.Why)
		}
		if g.Static() || !sound {
			continue
		}
		status, reason, overridden := e.expected(g)
		if g.Check.Status != status || g.Check.Reason != reason || g.Check.Overridden != overridden {
			e.t.Errorf("%s\n%s: %s in %s is %s (%q), overridden %v; want %s (%q), %v", what, q, g.Text(), g.Dir, g.Check.Status, g.Check.Reason, g.Check.Overridden, status, reason, overridden)
		}
		if overridden {
			e.guards.seen["overridden"]++
		}
		if reason == ir.ReasonEarly || reason == ir.ReasonExpired || reason == ir.ReasonForeign {
			e.guards.seen[reason]++
		}
	}
}

// listed reports a guard that the workspace or its member allows, in the words of
// editTrust (D-08, D-41).
func (e *editor) listed(g *nodes.PlannedGuard) bool {
	if g.Foreign || g.Trust == nodes.TrustAdHoc {
		return false
	}
	has := func(file, begin string) (begins, lists bool) {
		b, _ := os.ReadFile(filepath.Join(e.places[0], file))
		begins = strings.HasPrefix(string(b), begin)
		return begins, begins && strings.Contains(string(b), fmt.Sprintf("allowed_guards = [%q]", g.Text()))
	}
	within, lists := has(".mwp/config.toml", "name = \"x\"\nmembers = [\"pkg/app\", \"svc\"]\n[trust]\n")
	for _, m := range []string{"pkg/app", "svc"} {
		if within && !lists && strings.HasPrefix(g.Dir+"/", m+"/") {
			if _, byMember := has(m+"/.mwp", "name = \"x\"\n[trust]\n"); byMember {
				e.guards.seen["listed by a member"]++
				return true
			}
		}
	}
	return lists
}

// expected says what D-46, D-47 and D-84 make of what was recorded.
func (e *editor) expected(g *nodes.PlannedGuard) (status, reason string, overridden bool) {
	now, key := e.guards.ages.UnixNano(), g.Key()
	var run graph.Run
	mine := false
	if e.guards.user < 2 {
		run, mine = e.guards.runs[e.guards.user][key]
	}
	_, anns := e.guards.runs[0][key]
	_, bobs := e.guards.runs[1][key]
	switch {
	case !mine && (anns || bobs):
		return ir.Unverified, ir.ReasonForeign, false
	case !mine:
		return ir.Unverified, ir.ReasonNeverRun, false
	case !run.Passed:
		o := run.Override
		return ir.FailedCheck, run.Reason, o != nil && now < o.Until && run.RanAt-now <= int64(5*time.Second) && o.Declared == g.Declared
	case run.RanAt-now > int64(5*time.Second):
		return ir.Stale, ir.ReasonEarly, false
	case run.Declared != g.Declared:
		return ir.Stale, ir.ReasonFilesChanged, false
	case now >= run.CacheUntil:
		return ir.Stale, ir.ReasonExpired, false
	}
	return ir.Passed, "", false
}

// probe changes one thing that a guard's result rests on by the text of D-45 and D-46,
// and wants another fingerprint. Between two answers that are computed from nothing no
// comparison of ways would miss it.
func (e *editor) probe() string {
	target, root, guards, _ := e.planned()
	// Where another directory is the root, paths mean others.
	if len(guards) == 0 || root != e.places[0] {
		return "no guard to probe"
	}
	var g nodes.PlannedGuard
	what := ""
	// Few guards verify what can be disturbed for sure, so those are tried first.
	e.rng.Shuffle(len(guards), func(i, j int) { guards[i], guards[j] = guards[j], guards[i] })
	for _, disturb := range []func(*nodes.PlannedGuard) string{e.disturbVerified, e.disturb}[e.rng.IntN(3)/2:] {
		for i := 0; i < len(guards) && what == ""; i++ {
			g = guards[i]
			what = disturb(&g)
		}
	}
	if what == "" {
		return "nothing to probe"
	}
	what = "probe " + g.Text() + " in " + g.Dir + ": " + what
	_, after, _ := e.plannedFor(target)
	i := slices.IndexFunc(after, func(x nodes.PlannedGuard) bool { return x.Key() == g.Key() })
	if i < 0 {
		return what
	}
	e.guards.probes++
	if after[i].Declared == g.Declared {
		e.t.Errorf("step %d: %s: the fingerprint is the same", len(e.log), what)
	}
	if after[i].Fingerprint == g.Fingerprint {
		e.t.Errorf("step %d: %s: the fingerprint over everything is the same", len(e.log), what)
	}
	return what
}

// disturb changes one thing that a map's fingerprint of a guard covers, "" where there
// is nothing of which it can be sure.
func (e *editor) disturb(g *nodes.PlannedGuard) string {
	ways := []func() string{
		func() string {
			if texts := append([]string{g.Real}, g.Texts...); !g.Foreign {
				return e.grow(pick(e, texts))
			}
			return ""
		},
		func() string { return e.grow(g.Script) },
		func() string { return e.sameSizeOf(g.Script) },
		func() string { return e.chmodOf(g.Script) },
		func() string { return e.disturbVerified(g) },
		func() string { return e.disturbVerified(g) },
	}
	for _, i := range e.rng.Perm(len(ways)) {
		if what := ways[i](); what != "" {
			return what
		}
	}
	return ""
}

// grow, sameSizeOf and chmodOf change a regular file, and return "" for anything else.
func (e *editor) grow(file string) string {
	if !e.regular(file) {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(e.places[0], file))
	e.write(file, string(b)+"More.\n")
	return "append to " + file
}

func (e *editor) sameSizeOf(file string) string {
	if !e.regular(file) || e.sizeOf(file) == 0 {
		return ""
	}
	return e.sameSize(file)
}

func (e *editor) chmodOf(file string) string {
	if !e.regular(file) || runtime.GOOS == "windows" {
		return ""
	}
	e.each(func(root string) error {
		fi, err := os.Stat(filepath.Join(root, file))
		if err == nil {
			err = os.Chmod(filepath.Join(root, file), fi.Mode().Perm()^0o111)
		}
		return err
	})
	return "chmod " + file
}

func (e *editor) regular(file string) bool {
	fi, err := os.Lstat(filepath.Join(e.places[0], file))
	return file != "" && err == nil && fi.Mode().IsRegular()
}

// disturbVerified changes what lies at a verified path.
func (e *editor) disturbVerified(g *nodes.PlannedGuard) string {
	if len(g.VerifiedPaths) == 0 {
		return ""
	}
	p := pick(e, g.VerifiedPaths).Path
	named := path.Join(g.Dir, p)
	switch {
	case strings.ContainsAny(p, "*?["), strings.HasPrefix(named, "../"), !e.plainPath(named):
		return ""
	case !e.regular(named):
		return e.disturbDir(named)
	case e.rng.IntN(3) == 0:
		return e.grow(named)
	case e.rng.IntN(2) == 0:
		return e.chmodOf(named)
	}
	return e.sameSizeOf(named)
}

func (e *editor) sizeOf(file string) int64 {
	fi, err := os.Lstat(filepath.Join(e.places[0], file))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// plainPath reports a path that exists without a link on the way.
func (e *editor) plainPath(p string) bool {
	real, err := filepath.EvalSymlinks(filepath.Join(e.places[0], p))
	top, _ := filepath.EvalSymlinks(e.places[0])
	return err == nil && real == filepath.Join(top, p)
}

// disturbDir changes what is in a verified directory, where no rules can hide it.
func (e *editor) disturbDir(dir string) string {
	fi, err := os.Lstat(filepath.Join(e.places[0], dir))
	if err != nil || !fi.IsDir() || !e.unruled(dir) {
		return ""
	}
	name := fmt.Sprintf("probe%d", e.rng.IntN(1000))
	file, sub := filepath.Join(dir, name), filepath.Join(dir, name+".d")
	switch e.rng.IntN(6) {
	case 0:
		if what := e.sameSizeOf(e.firstFile(dir)); what != "" {
			return what
		}
		fallthrough
	case 1:
		if known := e.firstLink(dir); known != "" {
			target, _ := os.Readlink(filepath.Join(e.places[0], known))
			e.symlink(target+"x", known)
			return "link " + known + " to " + target + "x"
		}
		fallthrough
	case 2:
		if _, err := os.Lstat(filepath.Join(e.places[0], file)); err == nil {
			return ""
		}
		e.write(file, "")
		return "a new name, " + file
	case 3:
		known := e.firstDir(dir)
		if _, err := os.Lstat(filepath.Join(e.places[0], sub)); err == nil || known == "" {
			return ""
		}
		e.each(func(root string) error { return os.Rename(filepath.Join(root, known), filepath.Join(root, sub)) })
		e.stampUp(sub)
		return "rename " + known + " to " + sub
	}
	known := e.firstFile(dir)
	if known == "" {
		return ""
	}
	rules := filepath.Join(filepath.Dir(known), ".mwpignore")
	e.replace(rules, "/"+filepath.Base(known)+"\n")
	return "hide " + known + " by " + rules
}

// unruled reports a directory in which no ignore file hides anything, as far as the
// repository around it goes.
func (e *editor) unruled(dir string) bool {
	for d := filepath.Join(e.places[0], dir); len(d) >= len(filepath.Dir(e.places[0])); d = filepath.Dir(d) {
		for _, name := range []string{".gitignore", ".mwpignore", ".git/info/exclude"} {
			if _, err := os.Lstat(filepath.Join(d, name)); err == nil {
				return false
			}
		}
	}
	found := true
	filepath.WalkDir(filepath.Join(e.places[0], dir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".gitignore", ".mwpignore"}, d.Name()) {
			found = false
		}
		return nil
	})
	return found
}

// neverVerified are names that no fingerprint covers.
var neverVerified = []string{".git", ".mwp", ".mwp.d", "node_modules", "target"}

func (e *editor) entries(dir string, want func(fs.DirEntry) bool) string {
	list, _ := os.ReadDir(filepath.Join(e.places[0], dir))
	for _, d := range list {
		if want(d) && !slices.Contains(neverVerified, d.Name()) {
			return filepath.Join(dir, d.Name())
		}
	}
	return ""
}

// firstDir returns a directory in dir with a file in it.
func (e *editor) firstDir(dir string) string {
	return e.entries(dir, func(d fs.DirEntry) bool { return d.IsDir() && e.firstFile(filepath.Join(dir, d.Name())) != "" })
}

func (e *editor) firstLink(dir string) string {
	return e.entries(dir, func(d fs.DirEntry) bool { return d.Type()&fs.ModeSymlink != 0 })
}

func (e *editor) firstFile(dir string) string {
	return e.entries(dir, func(d fs.DirEntry) bool { return d.Type().IsRegular() })
}

// guardWorth is what the guards in the answers were worth.
func (e *editor) guardWorth() string {
	return fmt.Sprintf("guards in plans: %v; %d fingerprints had to change", e.guards.seen, e.guards.probes)
}
