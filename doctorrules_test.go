package mwp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// wellFacts are those of a workspace about which there is nothing to say but facts.
func wellFacts() *doctorFacts {
	return &doctorFacts{
		root: "/p",
		anchor: anchorFacts{
			name: "p", file: ".mwp/config.toml", state: ".mwp", stateExists: true, identity: true,
			directories: []nodes.DirectorySetting{
				{Key: "api", Stack: []string{"nodejs", "typescript"}},
				{Key: "core", Stack: []string{"rust"}},
				{Key: "packages", Stack: []string{"typescript"}, Shared: true},
				{Key: "web", Stack: []string{"typescript"}},
			},
			members: []string{"api", "core", "packages", "web"}, parts: []string{"api", "core", "packages", "web"},
		},
		imports: []declaredImport{
			{dir: "api", value: "packages", path: "packages"},
			{dir: "web/src", value: "packages/types", path: "packages/types"},
			{dir: ".", value: "https://example.org/mwp-stack-TypeScript.git@v1"},
			{dir: "core", value: "https://example.org/rusty.git@v1", git: "nodejs-rules"},
		},
		work:    workFacts{intents: true, pipelines: true, sessions: 9, lastSession: time.Unix(0, 0)},
		git:     gitFacts{repository: true},
		modules: moduleFacts{pinned: 2, fetcher: "/bin/mwp-git"},
		cache:   cacheFacts{dir: "/p/.mwp/cache/v1"},
		guards:  guardFacts{StatusGuards: render.StatusGuards{Passed: 2}, static: 1},
		trust:   TrustGiven,
		places:  placeFacts{state: "/p/.mwp", user: "/u", userHas: counted{list: []string{"key"}}},
		clients: []clientFact{{name: "claude", how: clientReady}},
	}
}

// doctorCases has, for each rule that can stay silent, facts that make it speak, and what it
// says then. The other facts are those of wellFacts, of which no broken thing, no warning
// and no suggestion comes.
var doctorCases = []struct {
	code   string
	group  render.DoctorGroup
	change func(*doctorFacts)
	// says is a part of the finding as text; command its first one, "" for none.
	says, command string
}{
	{"modules_missing", render.DoctorBroken, func(f *doctorFacts) { f.lint.Missing = []string{"https://e/x.git@v1"} }, "1 git module is imported and not here", "mwp import"},
	{"lint_errors", render.DoctorBroken, func(f *doctorFacts) {
		f.lint.errors, f.lint.errorCodes = 3, []codeCount{{ir.ImportCycle, 2}, {ir.HiddenText, 1}}
	}, "import_cycle: 2\n      hidden_text: 1", "mwp lint"},
	{"lock_unusable", render.DoctorBroken, func(f *doctorFacts) { f.modules.problem = "line 3 is odd" }, "line 3 is odd", "mwp import --check"},
	{"module_modified", render.DoctorBroken, func(f *doctorFacts) { f.modules.modified.add("x: modified: a.md") }, "x: modified: a.md", "mwp import --check"},
	{"guards_failed", render.DoctorBroken, func(f *doctorFacts) { f.guards.Failed = 1; f.guards.failing.add("./check.sh in api") }, "1 guard fails", "mwp verify"},
	{"key_unusable", render.DoctorBroken, func(f *doctorFacts) { f.guards.key, f.guards.keyHint = "anybody can read the key", "chmod it" }, "anybody can read the key; chmod it", ""},

	{"trust_uncommitted", render.DoctorWarning, func(f *doctorFacts) {
		f.git.changes = []anchorChange{{"web/.mwp", changeMade, true}}
	}, "web/.mwp", "git diff HEAD -- web/.mwp"},
	{"anchors_not_compared", render.DoctorWarning, func(f *doctorFacts) { f.git.left = 1 }, "1 new anchor was not compared", ""},
	{"trust_outdated", render.DoctorWarning, func(f *doctorFacts) { f.trust = TrustOutdated }, "[trust] tables changed", "mwp verify"},
	{"not_anchored", render.DoctorWarning, func(f *doctorFacts) { f.anchor = anchorFacts{} }, "nothing is kept", "mwp init"},
	{"records_damaged", render.DoctorWarning, func(f *doctorFacts) { f.guards.records = "1:1: expected {" }, "1:1: expected {", "mwp verify"},
	{"trust_unreadable", render.DoctorWarning, func(f *doctorFacts) { f.places.trustFileUnreadable = "the list is damaged" }, "the list is damaged", "mwp verify"},
	{"records_damaged", render.DoctorWarning, func(f *doctorFacts) {
		f.guards = guardFacts{records: "1:1: expected {", recordsAway: []string{".mwp/guards.cache.json", ".mwp/guards.cache.json.broken"}}
	}, "1:1: expected {", "mv .mwp/guards.cache.json .mwp/guards.cache.json.broken"},
	{"trust_unreadable", render.DoctorWarning, func(f *doctorFacts) {
		f.places.trustFileUnreadable, f.places.trustAway = "it is damaged", []string{"/u v/workspaces.json", "/u v/workspaces.json.broken2"}
	}, "it is damaged", "mv '/u v/workspaces.json' '/u v/workspaces.json.broken2'"},
	{"guards_overridden", render.DoctorWarning, func(f *doctorFacts) { f.guards.Overridden = 2 }, "2 guards fail and are overridden", "mwp verify --list"},
	{"fetcher_missing", render.DoctorWarning, func(f *doctorFacts) { f.modules.fetcher = "" }, "mwp-git", "go install github.com/model-workspace-protocol/mwp/cmd/mwp-git@latest"},
	{"cache_unwritable", render.DoctorWarning, func(f *doctorFacts) { f.cache.problem = "read-only file system" }, "read-only file system", "mwp cache status"},
	{"gitignore_incomplete", render.DoctorWarning, func(f *doctorFacts) { f.unignored = []string{"sessions/"} }, "sessions/", "mwp init"},
	{"client_file_unusable", render.DoctorWarning, func(f *doctorFacts) {
		f.clients = append(f.clients, clientFact{"zed", clientUnusable, "x:1: odd"})
	}, "zed: x:1: odd", "mwp init --client zed"},
	{"shared_not_imported", render.DoctorWarning, func(f *doctorFacts) { f.imports = f.imports[1:] },
		"api has the stack typescript in common with packages: - workspace: packages", ""},
	{"lint_warnings", render.DoctorWarning, func(f *doctorFacts) {
		f.lint.warnings, f.lint.warningCodes = 1, []codeCount{{ir.LargeContext, 1}}
	}, "1 warning in", "mwp lint"},

	{"guards_not_run", render.DoctorSuggestion, func(f *doctorFacts) { f.guards.NotRun, f.guards.asks = 3, 1 }, "3 guards have no result that counts for you, so maps say that nobody checked; 1 runs only after you said so", "mwp verify"},
	{"guards_stale", render.DoctorSuggestion, func(f *doctorFacts) { f.guards.Stale = 1 }, "out of date", "mwp verify --stale"},
	{"context_md", render.DoctorSuggestion, func(f *doctorFacts) { f.contextMD.add("a b") }, "a b/CONTEXT.md", "mv 'a b/CONTEXT.md' 'a b/.mwp-context.md'"},
	{"anchor_is_file", render.DoctorSuggestion, func(f *doctorFacts) { f.anchor.plain = true }, "is a file", "mv .mwp .mwp.file && mv .mwp.d .mwp && mv .mwp.file .mwp/config.toml"},
	{"anchor_is_file", render.DoctorSuggestion, func(f *doctorFacts) {
		f.anchor.plain, f.anchor.inTheWay = true, []string{".mwp.file"}
	}, "before that can be made, .mwp.file has to go", ""},
	{"anchor_uncommitted", render.DoctorSuggestion, func(f *doctorFacts) {
		f.git.changes = []anchorChange{{".mwp/modules.lock", changeNew, false}, {".mwp/config.toml", changeMade, false}}
	}, ".mwp/modules.lock (not committed)\n      .mwp/config.toml (changed)", `git add -- .mwp/modules.lock && git commit -m "Set up mwp" -- .mwp/modules.lock`},
	{"manual_scripts", render.DoctorSuggestion, func(f *doctorFacts) {
		f.manual = manualFacts{[]manualScript{{"scripts/concat-context.sh", "concat-context.sh"}}, []string{".mwpignore"}}
	}, "scripts/concat-context.sh: mwp map TARGET --render markdown --annotate", ""},
	{"intent_recurs", render.DoctorSuggestion, func(f *doctorFacts) { f.work.archive = []string{"add-view.md", "Add view 2.md"} }, "add view: Add view 2.md, add-view.md", ""},
	{"work_dirs_absent", render.DoctorSuggestion, func(f *doctorFacts) { f.work.intents, f.work.sessions = false, 3 }, "after 3 sessions there is no .mwp/intents;", "mkdir -p .mwp/intents"},
	{"example_text", render.DoctorSuggestion, func(f *doctorFacts) { f.lint.examples.add("api/.mwp-context.md") }, "api/.mwp-context.md", "mwp lint"},
	{"client_absent", render.DoctorSuggestion, func(f *doctorFacts) { f.clients = nil }, "no file of the project", ""},
	{"client_absent", render.DoctorSuggestion, func(f *doctorFacts) { f.clients, f.seen = nil, "zed" }, "there are files of zed", "mwp init --client zed"},
	{"description_absent", render.DoctorSuggestion, func(f *doctorFacts) { f.anchor.identity = false }, `description = "..."`, ""},
	{"stack_module", render.DoctorSuggestion, func(f *doctorFacts) { f.anchor.directories[0].Stack = append(f.anchor.directories[0].Stack, "Django") }, "mwp-stack-Django for api", ""},

	{"git", render.DoctorFact, func(f *doctorFacts) { f.git.problem = "there is no git program" }, "there is no git program", ""},
	{"git", render.DoctorFact, func(f *doctorFacts) { f.git.inside = 2 }, "2 anchors lie in submodules and were not compared", ""},
	{"trust", render.DoctorFact, func(f *doctorFacts) { f.trust = TrustDenied }, "may not run", ""},
	{"trust", render.DoctorFact, func(f *doctorFacts) { f.trust = TrustUnknown }, "nobody has let", ""},
}

func TestDoctorRules(t *testing.T) {
	for _, c := range doctorCases {
		f := wellFacts()
		c.change(f)
		r := diagnose(f)
		i := slices.IndexFunc(r.Findings, func(d DoctorFinding) bool { return d.Code == c.code })
		if i < 0 {
			t.Errorf("%s: not found in %v", c.code, doctorCodes(r))
			continue
		}
		d := r.Findings[i]
		text := strings.Join(strings.Fields(d.Message), " ")
		for _, item := range d.Items {
			text += "\n      " + item
		}
		if !strings.Contains(text, c.says) || d.Group != c.group {
			t.Errorf("%s: group %d, %q, want group %d and %q in it", c.code, d.Group, text, c.group, c.says)
		}
		if got := strings.Join(d.Commands[:min(1, len(d.Commands))], ""); got != c.command {
			t.Errorf("%s: the first command is %q, want %q", c.code, got, c.command)
		}
		if c.group == render.DoctorFact {
			continue
		}
		if c.command != "" && r.Next != c.command {
			t.Errorf("%s: the next command is %q, want %q", c.code, r.Next, c.command)
		}
		if r.Broken() != (c.group == render.DoctorBroken) {
			t.Errorf("%s: broken is %v", c.code, r.Broken())
		}
		// Nothing else says anything, so that one cause has one finding.
		for _, other := range r.Findings {
			if other.Group != render.DoctorFact && other.Code != c.code {
				t.Errorf("%s: beside it %s is found", c.code, other.Code)
			}
		}
	}
}

func doctorCodes(r *DoctorReport) (codes []string) {
	for _, d := range r.Findings {
		codes = append(codes, d.Code)
	}
	return codes
}

func TestDoctorWell(t *testing.T) {
	r := diagnose(wellFacts())
	want := []string{"workspace", "modules", "guards", "trust", "cache", "clients", "sessions", "state_directory", "user_directory", "uninstall"}
	if d := cmp.Diff(want, doctorCodes(r)); d != "" {
		t.Errorf("the findings about a healthy workspace (-want +got):\n%s", d)
	}
	if r.Verdict() != "healthy: nothing is broken, and nothing needs attention" || r.Next != "mwp map --render markdown" {
		t.Errorf("verdict %q, next %q", r.Verdict(), r.Next)
	}
	// Nothing is known of a root without anything, and that is said without a panic.
	r = diagnose(&doctorFacts{root: "/p"})
	if got := strings.Join(doctorCodes(r), " "); got != "not_anchored workspace user_directory" {
		t.Errorf("of a bare directory: %s", got)
	}
}

// TestDoctorSilent has facts that are near those that a rule speaks about.
func TestDoctorSilent(t *testing.T) {
	for _, c := range []struct {
		code   string
		change func(*doctorFacts)
	}{
		{"key_unusable", func(f *doctorFacts) { f.guards.key, f.guards.static = "odd", 2 }},
		{"trust_outdated", func(f *doctorFacts) { f.trust, f.guards.static = TrustOutdated, 2 }},
		{"trust", func(f *doctorFacts) { f.guards.static = 2 }},
		{"gitignore_incomplete", func(f *doctorFacts) { f.unignored, f.git.repository = []string{"x"}, false }},
		{"gitignore_incomplete", func(f *doctorFacts) { f.unignored, f.anchor.stateExists = []string{"x"}, false }},
		{"fetcher_missing", func(f *doctorFacts) { f.modules = moduleFacts{} }},
		{"work_dirs_absent", func(f *doctorFacts) { f.work = workFacts{sessions: minSessions - 1} }},
		{"client_absent", func(f *doctorFacts) { f.clients = []clientFact{{name: "zed", how: clientOther}} }},
		{"description_absent", func(f *doctorFacts) { f.anchor.identity, f.anchor.invalid = false, true }},
		{"intent_recurs", func(f *doctorFacts) {
			f.work.archive, f.work.templates = []string{"release-1.md", "release-2.md"}, []string{"release.md"}
		}},
		{"trust_uncommitted", func(f *doctorFacts) { f.git.changes = []anchorChange{{".mwp/config.toml", changeMade, false}} }},
		{"anchor_uncommitted", func(f *doctorFacts) { f.git.changes = []anchorChange{{".mwp/config.toml", changeMade, true}} }},
	} {
		f := wellFacts()
		c.change(f)
		if r := diagnose(f); slices.Contains(doctorCodes(r), c.code) {
			t.Errorf("%s is found", c.code)
		}
	}
}

// TestDoctorShared is D-77 on the proposal's example and around it.
func TestDoctorShared(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*doctorFacts)
		want   []string
	}{
		{"both import it", func(*doctorFacts) {}, nil},
		{"nobody does", func(f *doctorFacts) { f.imports = nil }, []string{"api", "web"}},
		{"the root does", func(f *doctorFacts) { f.imports = []declaredImport{{dir: ".", path: "packages/a"}} }, nil},
		{"a neighbour does", func(f *doctorFacts) { f.imports = []declaredImport{{dir: "webshop", path: "packages"}} }, []string{"api", "web"}},
		{"something with a like name", func(f *doctorFacts) { f.imports[0].path = "packages2" }, []string{"api"}},
		{"without tags it is everybody's", func(f *doctorFacts) { f.anchor.directories[2].Stack, f.imports = nil, f.imports[:1] }, []string{"core", "web"}},
		{"tags differ in case", func(f *doctorFacts) { f.imports, f.anchor.directories[3].Stack = f.imports[:1], []string{"TypeScript"} }, []string{"web"}},
		{"no member's", func(f *doctorFacts) { f.imports, f.anchor.parts = nil, nil }, nil},
		{"a member inside it", func(f *doctorFacts) {
			f.imports, f.anchor.parts = nil, []string{"packages", "packages/a"}
			f.anchor.directories[0] = nodes.DirectorySetting{Key: "packages/a", Stack: []string{"typescript"}}
		}, nil},
	} {
		f := wellFacts()
		c.change(f)
		var got []string
		for _, d := range sharedNotImported(f) {
			for _, item := range d.Items {
				member, _, _ := strings.Cut(item, " ")
				got = append(got, member)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: sharedNotImported names %v, want %v", c.name, got, c.want)
		}
	}
}

func TestIntentPattern(t *testing.T) {
	for name, want := range map[string]string{
		"add-orders-view.md":            "add orders view",
		"2026-05-17-Add_Orders View.md": "add orders view",
		"add-the-orders-view-3.md":      "add orders view",
		"release-v1.2.0.md":             "release",
		"release 17 May 2026.md":        "release",
		"release-Q3.md":                 "release",
		"upgrade-node20.txt":            "upgrade node",
		"migrate.auth.tokens":           "migrate auth tokens",
		"перенос-данных-2.md":           "перенос данных",
		"2026-01-01.md":                 "",
		"the.md":                        "",
		"":                              "",
		"...":                           "",
	} {
		if got := intentPattern(name); got != want {
			t.Errorf("intentPattern(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestRecurring(t *testing.T) {
	got := recurring(
		[]string{"b-1.md", "b-2.md", "cut-1.md", "cut-2.md", "cut-3.md", "cut-4.md", "cut-5.md", "once.md", "2025.md", "2026.md", "known-1.md", "known-2.md"},
		[]string{"Known.md"})
	want := []recurrence{{"cut", []string{"cut-1.md", "cut-2.md", "cut-3.md", "2 more"}}, {"b", []string{"b-1.md", "b-2.md"}}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recurring = %v, want %v", got, want)
	}
}

// TestDoctorCommands: a command never carries what a terminal would act on or a line cannot
// hold, and works where the question was asked.
func TestDoctorCommands(t *testing.T) {
	for name, want := range map[string]string{
		"a/b": "a/b", "a b": "'a b'", "it's": `'it'\''s'`, "-rf": "./-rf", "$(x)": "'$(x)'",
		"": "", "a\nb": "", "a\x1b[2J": "", "a\u202eb": "", "a\xff": "", strings.Repeat("n", maxWord+1): "",
	} {
		word, ok := commandWord(name)
		if word != want || ok != (want != "") {
			t.Errorf("commandWord(%q) = %q, %v, want %q", name, word, ok, want)
		}
	}
	for _, c := range []struct {
		root   string
		change anchorChange
		want   string
	}{
		{"/p q", anchorChange{"a\nb/.mwp", changeMade, true}, "cd '/p q' && git diff HEAD"},
		{"/p", anchorChange{"a/.mwp", changeMade, true}, "cd /p && git diff HEAD -- a/.mwp"},
		{"/p", anchorChange{":(top)/.mwp", changeMade, true}, "cd /p && git --literal-pathspecs diff HEAD -- ':(top)/.mwp'"},
		{"/p", anchorChange{"a[b]/.mwp", changeMade, false}, "cd /p && git --literal-pathspecs diff HEAD -- 'a[b]/.mwp'"},
		{"/p", anchorChange{"a*/.mwp", changeNew, false}, `cd /p && git --literal-pathspecs add -- 'a*/.mwp' && git --literal-pathspecs commit -m "Set up mwp" -- 'a*/.mwp'`},
		{"/p", anchorChange{"a*/.mwp", changeNew, true}, "cd /p && git diff --no-index -- /dev/null 'a*/.mwp'"},
		// Where the root cannot be named, no command goes to another directory instead.
		{"/p\x1b[2J", anchorChange{"a/.mwp", changeMade, true}, "git diff HEAD"},
		{"/p\x1b[2J", anchorChange{"a/.mwp", changeNew, false}, "mwp map --render markdown"},
	} {
		f := wellFacts()
		f.root, f.elsewhere, f.git.changes = c.root, true, []anchorChange{c.change}
		r := diagnose(f)
		if r.Next != c.want {
			t.Errorf("about %q in %q the next command is %q, want %q", c.change.path, c.root, r.Next, c.want)
		}
		for _, d := range r.Findings {
			if d.Code == "uninstall" && (len(d.Items) > 1) != (visible(c.root)) || slices.Contains(d.Items, "rm -r .mwp") {
				t.Errorf("in %q: %q", c.root, d.Items)
			}
		}
	}
}

// TestDoctorAdds: what commits new files takes nothing along that somebody has to look at,
// and fits a line.
func TestDoctorAdds(t *testing.T) {
	many := []anchorChange{}
	for i := range 100 {
		many = append(many, anchorChange{fmt.Sprintf("d%02d/.mwp", i), changeNew, false})
	}
	for _, c := range []struct {
		name    string
		changes []anchorChange
		want    string
	}{
		{"a new anchor, as a whole", []anchorChange{{"a/.mwp/config.toml", changeNew, false}, {"a/.mwp/modules.lock", changeNew, false}}, "a/.mwp"},
		{"one that widens [trust]", []anchorChange{{"a/.mwp/config.toml", changeNew, true}, {"a/.mwp/modules.lock", changeNew, false}}, "a/.mwp/modules.lock"},
		{"one that was there", []anchorChange{{".mwp/config.toml", changeMade, true}, {".mwp/modules.lock", changeNew, false}, {"b/.mwp", changeNew, false}}, ".mwp/modules.lock b/.mwp"},
		{"nothing new", []anchorChange{{"a/.mwp", changeMade, false}, {"b/.mwp", changeDeleted, false}}, ""},
		{"a directory by the file's name", []anchorChange{{".mwp.d/modules.lock", changeNew, false}}, ".mwp.d/modules.lock"},
	} {
		if got := strings.Join(addable(c.changes), " "); got != c.want {
			t.Errorf("%s: addable = %q, want %q", c.name, got, c.want)
		}
	}
	if got := addable(many); len(got) < 10 || len(strings.Join(got, "")) > maxWord {
		t.Errorf("of many: %q", got)
	}
}

// TestDoctorNext: nothing that runs guards is the next thing to do before somebody looked
// at what guards may run.
func TestDoctorNext(t *testing.T) {
	for _, c := range doctorCases {
		f := wellFacts()
		c.change(f)
		f.git.changes = append(f.git.changes, anchorChange{"web/.mwp", changeMade, true})
		if r := diagnose(f); !strings.HasPrefix(r.Next, "git diff HEAD -- ") {
			t.Errorf("beside %s the next command is %q", c.code, r.Next)
		}
	}
}

// TestDoctorCompared: new anchors push none out that the commit has.
func TestDoctorCompared(t *testing.T) {
	for _, c := range []struct {
		limit, left int
		want        string
	}{{9, 0, "k l a b"}, {4, 0, "k l a b"}, {3, 1, "k l a"}, {1, 3, "k"}} {
		list, left := firstOf([]string{"k", "l"}, []string{"a", "b"}, c.limit)
		if got := strings.Join(list, " "); got != c.want || left != c.left {
			t.Errorf("firstOf(limit %d) = %q and %d left, want %q and %d", c.limit, got, left, c.want, c.left)
		}
	}
}

// TestDoctorGitWaits: a repository can make git wait for ever, and doctor says so instead.
func TestDoctorGitWaits(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: there are no pipes by name")
	}
	for _, program := range []string{"git", "mkfifo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: there is no %s", program)
		}
	}
	dir := t.TempDir()
	for _, c := range [][]string{{"git", "init", "-q", dir}, {"rm", dir + "/.git/HEAD"}, {"mkfifo", dir + "/.git/HEAD"}, {"mkdir", dir + "/.mwp"}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	l := looking{f: &doctorFacts{}, foreign: map[string]bool{}}
	ctx := context.Background()
	ws := Open(Options{Dir: dir})
	defer ws.Close()
	if err := l.enter(ctx, ws, ""); err != nil {
		t.Fatal(err)
	}
	defer l.w.Close()
	l.git(ctx, 50*time.Millisecond)
	if got := l.f.git.problem; got != "git had not answered after 50ms" {
		t.Errorf("the problem is %q", got)
	}
}

// TestDoctorOrder: of several things the gravest comes first, and its command is the next.
func TestDoctorOrder(t *testing.T) {
	f := wellFacts()
	for _, c := range doctorCases {
		if c.code != "not_anchored" {
			c.change(f)
		}
	}
	f.git.changes = []anchorChange{{".mwp/config.toml", changeMade, true}, {"a/.mwp", changeMade, false}}
	r := diagnose(f)
	if r.Next != "git diff HEAD -- .mwp/config.toml" {
		t.Errorf("next is %q, want the look at [trust]", r.Next)
	}
	g := *f
	g.git.changes = nil
	if next := diagnose(&g).Next; next != "mwp import" {
		t.Errorf("next is %q, want what provides the most", next)
	}
	if !slices.IsSortedFunc(r.Findings, func(a, b DoctorFinding) int { return int(a.Group - b.Group) }) {
		t.Errorf("the findings are not by group: %v", doctorCodes(r))
	}
	// The document tells the order of the rules.
	last := -1
	for _, code := range doctorCodes(r) {
		at := strings.Index(doctorDocument(t), "\n### `"+code+"`\n")
		if at < last {
			t.Errorf("docs/doctor.md has %s before what comes before it here", code)
		}
		last = at
	}
}

// TestDoctorBounded: however much is wrong, the report fits a few screens.
func TestDoctorBounded(t *testing.T) {
	f := wellFacts()
	f.anchor.parts, f.imports = nil, nil
	f.anchor.directories = []nodes.DirectorySetting{{Key: "shared", Shared: true}}
	for i := range 10_000 {
		dir := fmt.Sprintf("d%05d\x1b[31m\n%s", i, strings.Repeat("é", 300))
		f.contextMD.add(dir)
		if i < 1000 {
			// A configuration has no room for more.
			f.anchor.parts = append(f.anchor.parts, dir)
			f.anchor.directories = append(f.anchor.directories, nodes.DirectorySetting{Key: dir, Stack: []string{dir}, Shared: true})
		}
		f.git.changes = append(f.git.changes, anchorChange{dir, changeMade, i%2 == 0})
		f.lint.Missing = append(f.lint.Missing, dir)
		f.work.archive = append(f.work.archive, dir)
		f.manual.scripts = append(f.manual.scripts, manualScript{dir, "changes.sh"})
		f.modules.modified.add(dir)
		f.clients = append(f.clients, clientFact{dir, clientUnusable, dir})
		f.unignored = append(f.unignored, dir)
	}
	text := string(DoctorText(diagnose(f), false))
	if len(text) > 100_000 || strings.Count(text, "\n") > 300 {
		t.Errorf("%d bytes in %d lines", len(text), strings.Count(text, "\n"))
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Error("an escape sequence of a name is in the text")
	}
	if !strings.Contains(text, "and 9990 more\n") && !strings.Contains(text, "and 9,990 more\n") {
		t.Errorf("what is not listed is not counted:\n%.3000s", text)
	}
}

func doctorDocument(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDoctorDocument: docs/doctor.md explains every finding that the rules can make, and no
// other; the table here has a case for each that a healthy workspace does not have.
func TestDoctorDocument(t *testing.T) {
	made := map[string]bool{}
	for _, file := range []string{"doctorrules.go", "doctorstated.go"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:finding|about)\("([a-z_]+)"`).FindAllStringSubmatch(string(b), -1) {
			made[m[1]] = true
		}
	}
	explained := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^### `([a-z_]+)`$").FindAllStringSubmatch(doctorDocument(t), -1) {
		if explained[m[1]] {
			t.Errorf("docs/doctor.md explains %s twice", m[1])
		}
		explained[m[1]] = true
	}
	if d := cmp.Diff(made, explained); d != "" {
		t.Errorf("docs/doctor.md differs from the rules (-rules +document):\n%s", d)
	}
	tested := map[string]bool{}
	for _, c := range doctorCases {
		tested[c.code] = true
	}
	for _, code := range doctorCodes(diagnose(wellFacts())) {
		tested[code] = true
	}
	if d := cmp.Diff(made, tested); d != "" {
		t.Errorf("the cases differ from the rules (-rules +cases):\n%s", d)
	}
	for _, r := range manualReplacements() {
		if !strings.Contains(doctorDocument(t), "| `"+r[0]+"` |") {
			t.Errorf("docs/doctor.md has no row for the script %s", r[0])
		}
	}
}
