package mwp

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The rules whose findings are broken: a map is wrong or lacks something, or what people
// rely on cannot be relied on.

func modulesMissing(f *doctorFacts) []DoctorFinding {
	if len(f.lint.Missing) == 0 {
		return nil
	}
	var c counted
	for _, m := range f.lint.Missing {
		c.add(m)
	}
	return about("modules_missing", plural(c.total(), "git module is", "git modules are")+" imported and not here, so no map has them", c, "mwp import")
}

func lintErrors(f *doctorFacts) []DoctorFinding {
	if f.lint.errors == 0 {
		return nil
	}
	return about("lint_errors", plural(f.lint.errors, "error", "errors")+" in context files, imports or configuration", codesOf(f.lint.errorCodes), "mwp lint")
}

// codesOf lists codes with their number.
func codesOf(codes []codeCount) (c counted) {
	for _, k := range codes {
		c.add(string(k.code) + ": " + strconv.Itoa(k.n))
	}
	return c
}

func lockUnusable(f *doctorFacts) []DoctorFinding {
	if f.modules.problem == "" {
		return nil
	}
	return finding("lock_unusable", "the pinned modules cannot be checked: "+f.modules.problem, "mwp import --check")
}

func moduleModified(f *doctorFacts) []DoctorFinding {
	if f.modules.modified.total() == 0 {
		return nil
	}
	return about("module_modified", "modules are not as they were pinned; maps that carry what changed are refused", f.modules.modified, "mwp import --check")
}

func guardsFailed(f *doctorFacts) []DoctorFinding {
	if f.guards.Failed == 0 {
		return nil
	}
	return about("guards_failed", plural(f.guards.Failed, "guard fails", "guards fail")+", so the maps that rest on it are read-only", f.guards.failing, "mwp verify")
}

func keyUnusable(f *doctorFacts) []DoctorFinding {
	if f.guards.key == "" || f.guards.Total() == f.guards.static {
		return nil
	}
	message := f.guards.key
	if f.guards.keyHint != "" {
		message += "; " + f.guards.keyHint
	}
	return finding("key_unusable", message)
}

// The rules whose findings are warnings.

// trustUncommitted is D-104: whoever may edit files may widen what guards may run.
func trustUncommitted(f *doctorFacts) []DoctorFinding {
	var c counted
	command, gone := "", ""
	for _, g := range f.git.changes {
		if !g.trust {
			continue
		}
		c.add(g.path)
		word, ok := commandWord(g.path)
		switch {
		case !ok || command != "":
		case g.how == changeDeleted:
			gone = cmp.Or(gone, f.here(gitAbout("diff HEAD", word)))
		case g.how == changeNew:
			// Of a file that git does not have, "diff HEAD" shows nothing.
			command = f.here("git diff --no-index -- /dev/null " + word)
		default:
			command = f.here(gitAbout("diff HEAD", word))
		}
	}
	if c.total() == 0 {
		return nil
	}
	command = cmp.Or(command, gone, f.here("git diff HEAD"), "git diff HEAD")
	return about("trust_uncommitted", "what guards may run under [trust] differs from the current commit: see that a person meant it", c, command)
}

// anchorsNotCompared keeps quantity from hiding what D-104 is about.
func anchorsNotCompared(f *doctorFacts) []DoctorFinding {
	if f.git.left == 0 {
		return nil
	}
	return finding("anchors_not_compared", plural(f.git.left, "new anchor was", "new anchors were")+
		" not compared with the current commit, being too many, so nobody knows what guards may run there")
}

func trustOutdated(f *doctorFacts) []DoctorFinding {
	if f.trust != TrustOutdated || f.guards.Total() == f.guards.static {
		return nil
	}
	return finding("trust_outdated", "the [trust] tables changed since you let programs run the guards here, so they run none until you say so again at a terminal", "mwp verify")
}

func notAnchored(f *doctorFacts) []DoctorFinding {
	if f.anchor.file != "" {
		return nil
	}
	return finding("not_anchored", "the root has no .mwp: maps work, and nothing is kept, neither cache nor modules, results of guards nor sessions", f.here("mwp init"))
}

func recordsDamaged(f *doctorFacts) []DoctorFinding {
	if f.guards.records == "" {
		return nil
	}
	command := "mwp verify"
	if away := movedAside(f.guards.recordsAway); away != "" {
		command = f.here(away)
	}
	return finding("records_damaged", "the results of guards do not all count: "+f.guards.records, command)
}

func trustUnreadable(f *doctorFacts) []DoctorFinding {
	if f.places.trustFileUnreadable == "" {
		return nil
	}
	return finding("trust_unreadable", f.places.trustFileUnreadable, cmp.Or(movedAside(f.places.trustAway), "mwp verify"))
}

func guardsOverridden(f *doctorFacts) []DoctorFinding {
	if f.guards.Overridden == 0 {
		return nil
	}
	return about("guards_overridden", plural(f.guards.Overridden, "guard fails and is", "guards fail and are")+" overridden for a while", f.guards.overridden, "mwp verify --list")
}

func fetcherMissing(f *doctorFacts) []DoctorFinding {
	if f.modules.fetcher != "" || f.modules.pinned+len(f.lint.Missing) == 0 {
		return nil
	}
	return finding("fetcher_missing", "the project imports git modules, and mwp-git, which fetches them, is neither beside mwp nor on PATH",
		"go install github.com/model-workspace-protocol/mwp/cmd/mwp-git@latest")
}

func cacheUnwritable(f *doctorFacts) []DoctorFinding {
	if f.cache.problem == "" {
		return nil
	}
	return finding("cache_unwritable", "the cache cannot be written, so every map is computed anew: "+f.cache.problem, "mwp cache status")
}

func ignoreIncomplete(f *doctorFacts) []DoctorFinding {
	if !f.git.repository || len(f.unignored) == 0 || !f.anchor.stateExists {
		return nil
	}
	var c counted
	for _, p := range f.unignored {
		c.add(p)
	}
	message := f.anchor.state + "/.gitignore lacks patterns, so a commit would take along what is personal or made again"
	if f.anchor.plain {
		// init leaves an anchor that is a file as it is.
		return about("gitignore_incomplete", message+"; add them to the file", c)
	}
	return about("gitignore_incomplete", message, c, f.here("mwp init"))
}

func clientUnusableFile(f *doctorFacts) []DoctorFinding {
	var c counted
	command := ""
	for _, k := range f.clients {
		if k.how != clientUnusable {
			continue
		}
		c.add(k.name + ": " + k.why)
		if word, ok := commandWord(k.name); ok && command == "" {
			command = f.here("mwp init --client " + word)
		}
	}
	if c.total() == 0 {
		return nil
	}
	return about("client_file_unusable", "files of clients cannot be read as what they have to be", c, command)
}

// maxShared is how many shared directories are looked at, and maxTags how many stacks: a
// configuration has room for more than anybody means.
const maxShared, maxTags = 100, 200

// sharedNotImported is R-037 and D-77: the members that share a stack tag with a shared
// directory, or all of them where it has none, and that import nothing of it.
func sharedNotImported(f *doctorFacts) []DoctorFinding {
	stacks := map[string][]string{}
	for _, d := range f.anchor.directories {
		stacks[d.Key] = d.Stack
	}
	var out counted
	looked := 0
	for _, shared := range f.anchor.directories {
		if !shared.Shared {
			continue
		}
		if looked++; looked > maxShared {
			break
		}
		has := f.importersOf(shared.Key)
		for _, m := range f.anchor.parts {
			if inDir(m, shared.Key) || inDir(shared.Key, m) || has.covers(m) {
				continue
			}
			switch tag, ok := sharedTag(stacks[m], shared.Stack); {
			case len(shared.Stack) > 0 && !ok:
			case out.full():
				out.more++
			case ok:
				out.add(m + " has the stack " + tag + " in common with " + shared.Key + ": - workspace: " + shared.Key)
			default:
				out.add(m + " uses " + shared.Key + ", which is for every member: - workspace: " + shared.Key)
			}
		}
	}
	if out.total() == 0 {
		return nil
	}
	return about("shared_not_imported", "members seem to use directories that are declared as shared and import nothing of them; where one does, add the line to its imports", out)
}

// sharedTag returns the first tag that two lists have in common.
func sharedTag(a, b []string) (string, bool) {
	for _, x := range a {
		for _, y := range b {
			if x != "" && strings.EqualFold(x, y) {
				return x, true
			}
		}
	}
	return "", false
}

// importers are the directories whose context files import from one directory, and those
// above them.
type importers struct{ here, above map[string]bool }

func (f *doctorFacts) importersOf(dir string) importers {
	v := importers{map[string]bool{}, map[string]bool{}}
	for i := range f.imports {
		k := &f.imports[i]
		if k.path == "" || !inDir(k.path, dir) || v.here[k.dir] {
			continue
		}
		v.here[k.dir] = true
		for d := k.dir; !v.above[d]; d = path.Dir(d) {
			v.above[d] = true
		}
	}
	return v
}

// covers reports whether a member's maps can have something of the directory: a context
// file above the member, in it or below it imports from there.
func (v importers) covers(member string) bool {
	if v.above[member] {
		return true
	}
	for d := member; d != "."; {
		if d = path.Dir(d); v.here[d] {
			return true
		}
	}
	return false
}

// inDir reports whether a path is a directory or lies in it, "." being the root.
func inDir(p, dir string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

func lintWarnings(f *doctorFacts) []DoctorFinding {
	if f.lint.warnings == 0 {
		return nil
	}
	return about("lint_warnings", plural(f.lint.warnings, "warning", "warnings")+" in context files, imports or configuration", codesOf(f.lint.warningCodes), "mwp lint")
}

// The rules whose findings are suggestions.

func guardsNotRun(f *doctorFacts) []DoctorFinding {
	if f.guards.NotRun == 0 {
		return nil
	}
	message := plural(f.guards.NotRun, "guard has", "guards have") + " no result that counts for you, so maps say that nobody checked"
	if f.guards.asks > 0 {
		message += "; " + plural(f.guards.asks, "runs", "run") + " only after you said so"
	}
	return finding("guards_not_run", message, "mwp verify")
}

func guardsStale(f *doctorFacts) []DoctorFinding {
	if f.guards.Stale == 0 {
		return nil
	}
	return finding("guards_stale", plural(f.guards.Stale, "guard passed once and its result is", "guards passed once and their results are")+" out of date", "mwp verify --stale")
}

// contextRename is D-93.
func contextRename(f *doctorFacts) []DoctorFinding {
	if f.contextMD.total() == 0 {
		return nil
	}
	var commands []string
	var c counted
	c.more = f.contextMD.more
	for _, dir := range f.contextMD.list {
		c.add(joinDir(dir, "CONTEXT.md"))
		if word, ok := commandWord(joinDir(dir, "CONTEXT.md")); ok && len(commands) == 0 {
			to, _ := commandWord(joinDir(dir, ".mwp-context.md"))
			commands = append(commands, f.here("mv "+word+" "+to))
		}
	}
	return about("context_md", "CONTEXT.md is not read: where it is meant for mwp, rename it to .mwp-context.md", c, commands...)
}

func joinDir(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// anchorIsFile is D-01.
func anchorIsFile(f *doctorFacts) []DoctorFinding {
	if !f.anchor.plain {
		return nil
	}
	const message = "the workspace's .mwp is a file, so what is kept lies beside it in .mwp.d; as a directory it holds everything"
	if len(f.anchor.inTheWay) > 0 {
		return finding("anchor_is_file", message+"; before that can be made, "+strings.Join(f.anchor.inTheWay, " and ")+" has to go, which would be overwritten")
	}
	second := "mkdir .mwp"
	if f.anchor.stateExists {
		second = "mv .mwp.d .mwp"
	}
	return finding("anchor_is_file", message,
		f.here("mv .mwp .mwp.file && "+second+" && mv .mwp.file .mwp/config.toml"))
}

func anchorUncommitted(f *doctorFacts) []DoctorFinding {
	var c counted
	diff := ""
	for _, g := range f.git.changes {
		if g.trust {
			continue
		}
		c.add(g.path + " (" + g.how + ")")
		if word, ok := commandWord(g.path); ok && diff == "" && g.how != changeNew {
			diff = f.here(gitAbout("diff HEAD", word))
		}
	}
	if c.total() == 0 {
		return nil
	}
	commands := []string{diff}
	if words := addable(f.git.changes); len(words) > 0 {
		commands = []string{f.here(gitAbout("add", words...) + " && " + gitAbout(`commit -m "Set up mwp"`, words...)), diff}
	}
	if strings.Join(commands, "") == "" {
		commands = []string{f.here("git status --short")}
	}
	return about("anchor_uncommitted", "files of anchors differ from the current commit, so others do not have them as you do", c, commands...)
}

// addable returns the words for new files, as many as fit a command. Of a new state
// directory everything belongs to the repository, as what does not ignores itself; one
// whose [trust] somebody has to look at is not swept along.
func addable(changes []anchorChange) []string {
	whole := map[string]bool{}
	for _, g := range changes {
		if dir, name := path.Split(g.path); name == "config.toml" && path.Base(dir) == ".mwp" && g.how == changeNew && !g.trust {
			whole[path.Clean(dir)] = true
		}
	}
	var words []string
	size := 0
	for _, g := range changes {
		name := g.path
		if dir := path.Dir(name); whole[dir] {
			name = dir
		}
		word, ok := commandWord(name)
		switch {
		case g.trust, g.how != changeNew, !ok, slices.Contains(words, word), len(words) > 0 && size+len(word) > maxWord:
			continue
		}
		size += len(word)
		words = append(words, word)
	}
	return words
}

// manualReplacements are the scripts of U-35 with what does their work now.
func manualReplacements() [][2]string {
	return [][2]string{
		{"mwp-up", "mwp init"},
		{"mwp-up.sh", "mwp init"},
		{"bootstrap.sh", "mwp init, and mwp map for the overview"},
		{"concat-context.sh", "mwp map TARGET --render markdown --annotate"},
		{"mwp-verify.sh", "mwp verify"},
		{"context-scaffold.sh", "mwp init DIRECTORY"},
		{"changes.sh", "mwp map TARGET --session NAME for what is new, mwp lint --diff REVISION for what it costs"},
		{"explore.sh", "mwp targets, and mwp explain TARGET"},
		{"uninstall.sh", "what docs/doctor.md says under \"Uninstall\""},
		{"protocol.md", "mwp serve-mcp --instructions, and the text at the top of every map"},
	}
}

// manualInstall is U-35.
func manualInstall(f *doctorFacts) []DoctorFinding {
	if len(f.manual.scripts) == 0 {
		return nil
	}
	var c counted
	for _, s := range f.manual.scripts {
		for _, r := range manualReplacements() {
			if r[0] == s.name {
				c.add(s.path + ": " + r[1])
			}
		}
	}
	message := "scripts from before there was a program; each can go when nobody calls it any more"
	if len(f.manual.kept) > 0 {
		message += ". Keep context files and " + strings.Join(f.manual.kept, ", ") + ", which mwp reads"
	}
	return about("manual_scripts", message, c)
}

// minSessions are the "more than a few" after which missing directories are mentioned
// (R-169, D-77).
const minSessions = 3

func workDirsAbsent(f *doctorFacts) []DoctorFinding {
	if f.work.sessions < minSessions || f.anchor.state == "" || f.work.intents && f.work.pipelines {
		return nil
	}
	var missing []string
	for _, d := range []struct {
		name  string
		there bool
	}{{"intents", f.work.intents}, {"pipelines", f.work.pipelines}} {
		if !d.there {
			missing = append(missing, f.anchor.state+"/"+d.name)
		}
	}
	return finding("work_dirs_absent", fmt.Sprintf("after %d sessions there is no %s; every map lists the names of what is under way and of what is done again and again",
		f.work.sessions, strings.Join(missing, " and no ")), f.here("mkdir -p "+strings.Join(missing, " ")))
}

// intentRecurs is R-170.
func intentRecurs(f *doctorFacts) []DoctorFinding {
	var c counted
	for _, p := range recurring(f.work.archive, f.work.templates) {
		c.add(p.pattern + ": " + strings.Join(p.names, ", "))
	}
	if c.total() == 0 {
		return nil
	}
	return about("intent_recurs", "the archive has the same work more than once, and no pipeline for it; one in "+f.anchor.state+"/pipelines saves writing it again", c)
}

func clientAbsent(f *doctorFacts) []DoctorFinding {
	if f.anchor.file == "" || len(f.clients) > 0 {
		return nil
	}
	const message = "no file of the project tells a client, such as an editor or an agent, about mwp"
	if f.seen == "" {
		return finding("client_absent", message+"; `mwp help init` lists those that it knows")
	}
	return finding("client_absent", message+", and there are files of "+f.seen, f.here("mwp init --client "+f.seen))
}

func exampleText(f *doctorFacts) []DoctorFinding {
	if f.lint.examples.total() == 0 {
		return nil
	}
	return about("example_text", plural(f.lint.examples.total(), "context file still has", "context files still have")+
		" the example of `mwp init`, and maps carry it: write what holds there", f.lint.examples, "mwp lint")
}

// descriptionAbsent is D-17: with a description, layers do not depend on which files there are.
func descriptionAbsent(f *doctorFacts) []DoctorFinding {
	if f.anchor.file == "" || f.anchor.identity || f.anchor.invalid {
		return nil
	}
	return finding("description_absent", "the configuration has neither description nor directories nor members, so the layers of a map move when a context file is added above others; write one sentence: description = \"...\"")
}

// stackModule is R-038 and D-78. It is advice: nothing is imported by itself.
func stackModule(f *doctorFacts) []DoctorFinding {
	var tags []string
	dirs, silent := map[string][]string{}, map[string]bool{}
	for _, d := range f.anchor.directories {
		for _, tag := range d.Stack {
			if tag == "" {
				continue
			}
			if _, ok := silent[tag]; !ok && len(silent) < maxTags {
				silent[tag] = f.mentions(tag)
			}
			if said, ok := silent[tag]; said || !ok {
				continue
			}
			if dirs[tag] == nil {
				tags = append(tags, tag)
			}
			dirs[tag] = append(dirs[tag], d.Key)
		}
	}
	if len(tags) == 0 {
		return nil
	}
	var c counted
	for _, tag := range tags {
		in := dirs[tag]
		s := "mwp-stack-" + tag + " for " + in[0]
		if more := len(in) - 1; more > 0 {
			s += " and " + strconv.Itoa(more) + " more"
		}
		c.add(s)
	}
	return about("stack_module", "stacks are declared that no import mentions; where a module by this name exists, it would belong in that directory's context file", c)
}

// mentions reports whether any import's name or URL has a tag in it.
func (f *doctorFacts) mentions(tag string) bool {
	tag = strings.ToLower(tag)
	for i := range f.imports {
		if strings.Contains(strings.ToLower(f.imports[i].value+"\x00"+f.imports[i].git), tag) {
			return true
		}
	}
	return false
}

// plural returns "1 ONE" or "N MANY".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
