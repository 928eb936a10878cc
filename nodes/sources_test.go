package nodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// inputs is a guard's fingerprints: what a map compares, and with everything.
type inputs struct{ Declared, Whole cas.Digest }

// inputsOf returns the fingerprints of the first guard in the map of a/x.
func (d *desk) inputsOf(t *testing.T) (in inputs) {
	t.Helper()
	g := d.guardsOf(t, "a/x")[0]
	p, err := nodes.DecodeGuardPrints(d.eval(t, nodes.InputsOf(g)).(nodes.RenderedValue).Text)
	must(t, err)
	in = inputs{Declared: p.Declared, Whole: p.Whole}
	if in.Declared != d.declared(t, g) {
		t.Error("the text has another fingerprint than the node")
	}
	return in
}

// sourceTree is what the guards below look at. The check itself is ./check.sh.
const sourceTree = `
-- .mwp --
description = "d"
-- .gitignore --
*.log
/a/ignored/
-- a/.gitignore --
src/local.tmp
-- a/.mwpignore --
*.gen
-- a/x --
-- a/check.sh --
true
-- a/r.md --
R
-- a/src/one.go --
1
-- a/src/two.ts --
2
-- a/src/sub/three.go --
3
-- a/src/sub/deep/four.ts --
4
-- a/src/.hidden.go --
h
-- a/src/.config/c.go --
c
-- a/src/run.log --
-- a/src/local.tmp --
-- a/src/x.gen --
-- a/src/node_modules/n/n.go --
n
-- a/src/target/t.go --
t
-- a/src/.git/g.go --
g
-- a/src/.mwp/m.go --
m
-- a/src/link.go -> one.go --
-- a/src/way -> ../../lib --
-- a/ignored/i.go --
i
-- a/ignored/i.log --
-- a/app/[id]/page.tsx --
p
-- lib/l.go --
l
-- lib/sub/m.go --
m
-- other/o.go --
o
-- a/.mwp-context.md --
---
guards:
  - cmd: ./check.sh
HEADER
imports:
  - local: r.md
  - workspace: lib/w.md
---
A
-- lib/w.md --
W
`

func edit(file string) func(*testing.T, string) {
	return func(t *testing.T, root string) { write(t, root, file, "edited\n") }
}

func remove(file string) func(*testing.T, string) {
	return func(t *testing.T, root string) { must(t, os.RemoveAll(filepath.Join(root, file))) }
}

func relink(file, to string) func(*testing.T, string) {
	return func(t *testing.T, root string) {
		remove(file)(t, root)
		must(t, os.Symlink(to, filepath.Join(root, file)))
	}
}

func move(file, to string) func(*testing.T, string) {
	return func(t *testing.T, root string) {
		must(t, os.Rename(filepath.Join(root, file), filepath.Join(root, to)))
	}
}

func chmod(file string) func(*testing.T, string) {
	return func(t *testing.T, root string) { must(t, os.Chmod(filepath.Join(root, file), 0o755)) }
}

// TestFingerprints is D-45 and D-46: which changes a guard's result does not survive.
// Want says which of the two fingerprints change.
func TestFingerprints(t *testing.T) {
	const none, both, whole = "", "both", "whole"
	paths := func(s string) string { return "    verified_paths: [" + s + "]" }
	for _, c := range []struct {
		name, header string
		edit         func(*testing.T, string)
		want         string
	}{
		// Whatever is declared, these count.
		{"nothing", "", func(*testing.T, string) {}, none},
		{"the declaring file's body", paths(""), func(t *testing.T, root string) {
			f, err := os.OpenFile(filepath.Join(root, "a/.mwp-context.md"), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("More.\n")
			must(t, err)
			must(t, f.Close())
		}, both},
		{"an imported text", paths(""), edit("a/r.md"), both},
		{"an imported text that goes", paths(""), remove("a/r.md"), both},
		{"a text from elsewhere in the workspace", paths(""), edit("lib/w.md"), none},
		{"the script", paths(""), edit("a/check.sh"), both},
		{"the script goes", paths(""), remove("a/check.sh"), both},
		{"the script may be run", paths(""), chmod("a/check.sh"), both},
		{"the script becomes a link", paths(""), relink("a/check.sh", "src/one.go"), both},
		{"the script's link leads out", paths(""), relink("a/check.sh", "../../out"), both},
		{"an unrelated file", paths(""), edit("other/o.go"), none},
		{"a source file, and the list is empty", paths(""), edit("a/src/one.go"), none},

		// Without a list: everything below the directory, and only verify looks.
		{"default: a source file", "", edit("a/src/one.go"), whole},
		{"default: a new one", "", edit("a/src/new/n.go"), whole},
		{"default: a hidden one", "", edit("a/src/.hidden.go"), whole},
		{"default: in a hidden directory", "", edit("a/src/.config/c.go"), whole},
		{"default: elsewhere", "", edit("lib/l.go"), none},
		{"default: renamed", "", move("a/src/one.go", "a/src/won.go"), whole},
		{"default: moved down", "", move("a/src/one.go", "a/src/sub/one.go"), whole},
		{"default: a program", "", chmod("a/src/one.go"), whole},
		{"default: a link's target", "", relink("a/src/link.go", "two.ts"), whole},
		{"default: behind a link", "", edit("lib/sub/m.go"), none},
		{"default: gone", "", remove("a/src/sub"), whole},
		{"default: ignored above", "", edit("a/src/run.log"), none},
		{"default: ignored beside", "", edit("a/src/local.tmp"), none},
		{"default: ignored by .mwpignore", "", edit("a/src/x.gen"), none},
		{"default: an ignored directory", "", edit("a/ignored/i.go"), none},
		{"default: node_modules", "", edit("a/src/node_modules/n/n.go"), none},
		{"default: target", "", edit("a/src/target/t.go"), none},
		{"default: .git", "", edit("a/src/.git/g.go"), none},
		{"default: .mwp", "", edit("a/src/.mwp/m.go"), none},
		{"default: records", "", edit(".mwp.d/guards.cache.json"), none},
		{"default: the rules themselves", "", edit("a/.gitignore"), whole},

		// A list: the guard's or the file's.
		{"a file", paths("src/one.go"), edit("a/src/one.go"), both},
		{"a file beside it", paths("src/one.go"), edit("a/src/two.ts"), none},
		{"a file is gone", paths("src/one.go"), remove("a/src/one.go"), both},
		{"a file becomes a directory", paths("src/one.go"), func(t *testing.T, root string) {
			remove("a/src/one.go")(t, root)
			write(t, root, "a/src/one.go/x", "")
		}, both},
		{"a file becomes a program", paths("src/one.go"), chmod("a/src/one.go"), both},
		{"a file that is renamed", paths("src/one.go"), move("a/src/one.go", "a/src/won.go"), both},
		{"what is missing appears", paths("src/gone.go"), edit("a/src/gone.go"), both},
		{"what is missing stays so", paths("src/gone.go"), edit("a/src/other.go"), none},
		{"a link's target's text", paths("src/link.go"), edit("a/src/one.go"), both},
		{"a link to another file with another text", paths("src/link.go"), relink("a/src/link.go", "two.ts"), both},
		{"an ignored file that is named", paths("src/run.log"), edit("a/src/run.log"), both},
		{"a file elsewhere", paths("../lib/l.go"), edit("lib/l.go"), both},
		{"a path out of the root", paths("../../../etc/passwd, src/one.go"), edit("a/src/two.ts"), none},
		{"a directory: a file", paths("src"), edit("a/src/sub/three.go"), both},
		{"a directory with a slash: a file", paths("src/"), edit("a/src/sub/three.go"), both},
		{"a directory: a new file", paths("src"), edit("a/src/sub/new.go"), both},
		{"a directory: an empty new file", paths("src"), func(t *testing.T, root string) { write(t, root, "a/src/sub/new.go", "") }, both},
		{"a directory: an ignored file", paths("src"), edit("a/src/run.log"), none},
		{"a directory: one beside it", paths("src"), edit("a/ignored/i.go"), none},
		{"a directory: behind a link in it", paths("src"), edit("lib/l.go"), none},
		{"a directory: that a link leads to", paths("src/way"), edit("lib/l.go"), both},
		{"a directory: target in it", paths("src"), edit("a/src/target/t.go"), none},
		{"a directory: target itself", paths("src/target"), edit("a/src/target/t.go"), both},
		{"a directory: node_modules itself", paths("src/node_modules/n"), edit("a/src/node_modules/n/n.go"), both},
		{"an ignored directory that is named", paths("ignored"), edit("a/ignored/i.go"), both},
		{"an ignored file in an ignored directory that is named", paths("ignored"), edit("a/ignored/i.log"), none},
		{"a directory elsewhere", paths("../lib"), edit("lib/sub/m.go"), both},
		{"the own directory", paths("."), edit("a/src/sub/three.go"), both},
		{"the file's list", "verified_paths: [src/one.go]", edit("a/src/one.go"), both},
		{"the file's list, another file", "verified_paths: [src/one.go]", edit("a/src/two.ts"), none},
		{"the guard's list instead of the file's: its own", paths("src/one.go") + "\nverified_paths: [src/two.ts]", edit("a/src/one.go"), both},
		{"the guard's list instead of the file's: the file's", paths("src/one.go") + "\nverified_paths: [src/two.ts]", edit("a/src/two.ts"), none},
		{"the guard's empty list instead of the file's", paths("") + "\nverified_paths: [src/two.ts]", edit("a/src/two.ts"), none},
		{"the file's empty list", "verified_paths: []", edit("a/src/two.ts"), none},

		// Patterns.
		{"src/*.go: a file", paths("src/*.go"), edit("a/src/one.go"), both},
		{"src/*.go: a new one", paths("src/*.go"), edit("a/src/new.go"), both},
		{"src/*.go: one that goes", paths("src/*.go"), remove("a/src/one.go"), both},
		{"src/*.go: another name", paths("src/*.go"), edit("a/src/two.ts"), none},
		{"src/*.go: further down", paths("src/*.go"), edit("a/src/sub/three.go"), none},
		{"src/*.go: hidden", paths("src/*.go"), edit("a/src/.hidden.go"), none},
		{"src/.*.go: hidden", paths("src/.*.go"), edit("a/src/.hidden.go"), both},
		{"src/*.go: a link to a file", paths("src/*.go"), relink("a/src/link.go", "../../lib/l.go"), both},
		{"src/**: further down", paths("src/**"), edit("a/src/sub/deep/four.ts"), both},
		{"src/**: beside it", paths("src/**"), edit("a/ignored/i.go"), none},
		{"src/**: ignored", paths("src/**"), edit("a/src/run.log"), none},
		{"src/**: node_modules", paths("src/**"), edit("a/src/node_modules/n/n.go"), none},
		{"**/*.ts: anywhere", paths("'**/*.ts'"), edit("a/src/sub/deep/four.ts"), both},
		{"**/*.ts: here", paths("'**/*.ts'"), edit("a/new.ts"), both},
		{"**/*.ts: another name", paths("'**/*.ts'"), edit("a/src/sub/three.go"), none},
		{"**/sub/*.go: a file", paths("'**/sub/*.go'"), edit("a/src/sub/three.go"), both},
		{"**/sub/*.go: elsewhere", paths("'**/sub/*.go'"), edit("a/src/one.go"), none},
		{"src/s?b: a directory with all in it", paths("'src/s?b'"), edit("a/src/sub/deep/four.ts"), both},
		{"../lib/*: a file and a directory", paths("'../lib/*'"), edit("lib/sub/m.go"), both},
		{"../*/l.go", paths("'../*/l.go'"), edit("lib/l.go"), both},
		{"../*/l.go: another name", paths("'../*/l.go'"), edit("other/o.go"), none},
		{"../../*: out of the root", paths("'../../*', src/one.go"), edit("a/src/two.ts"), none},
		{"ignored/*.go: the directory is named", paths("'ignored/*.go'"), edit("a/ignored/i.go"), both},
		{"*/i.go: the directory is not", paths("'*/i.go'"), edit("a/ignored/i.go"), none},
		{"src/way/*.go: a link that is named", paths("'src/way/*.go'"), edit("lib/l.go"), both},
		{"src/*/l.go: a link that is not", paths("'src/*/l.go'"), edit("lib/l.go"), none},
		{"a name with brackets, as it stands", paths("'app/[id]/page.tsx'"), edit("a/app/[id]/page.tsx"), both},
		{"a pattern behind a name with brackets", paths("'app/[id]/*.tsx'"), edit("a/app/[id]/page.tsx"), both},
		{"a class", paths("'src/[no]ne.go'"), edit("a/src/one.go"), both},
		{"a class, another name", paths("'src/[nm]ne.go'"), edit("a/src/one.go"), none},
		{"a wildcard that is taken back: a file", paths("'src/*/../one.go'"), edit("a/src/one.go"), both},
		{"a wildcard that is taken back: a directory", paths("'src/*/../sub'"), edit("a/src/sub/three.go"), both},
		{"a wildcard that is taken back: all of it", paths("'*/..'"), edit("a/src/one.go"), both},
		{"a wildcard that is taken back: the root", paths("'../*/..'"), edit("lib/l.go"), both},
		{"a pattern that finds nothing", paths("'gone/*.go'"), edit("a/src/one.go"), none},
		{"a pattern that found nothing", paths("'gone/*.go'"), edit("a/gone/x.go"), both},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (strings.Contains(c.name, "program") || strings.Contains(c.name, "run")) {
				t.Skip("no executable bit")
			}
			d := desk{root: tree(t, strings.Replace(sourceTree, "HEADER", c.header, 1))}
			before := d.inputsOf(t)
			if again := d.inputsOf(t); again != before {
				t.Fatal("two looks differ")
			}
			c.edit(t, d.root)
			after := d.inputsOf(t)
			got := none
			switch {
			case after.Declared != before.Declared && after.Whole != before.Whole:
				got = both
			case after.Declared != before.Declared:
				got = "declared alone"
			case after.Whole != before.Whole:
				got = whole
			}
			if got != c.want {
				t.Errorf("changes %q, want %q", got, c.want)
			}
		})
	}
}

// TestFingerprintOfTheDeclaration: what is written beside the check counts as part of
// the declaring file and in no other way.
func TestFingerprintOfTheDeclaration(t *testing.T) {
	d := desk{root: tree(t, strings.Replace(sourceTree, "HEADER", "", 1))}
	g := d.guardsOf(t, "a/x")[0]
	want := nodes.InputsOf(g)
	h := g
	h.Name, h.Trust, h.Owners, h.Line, h.Path = "label", "ad-hoc", []string{"o"}, 99, "elsewhere"
	day := nodes.DefaultTimeout * 144
	h.CacheFor, h.Timeout = &day, &day
	if nodes.InputsOf(h) != want {
		t.Error("label, trust, owners, times or the line change what is looked at")
	}
	for name, edit := range map[string]func(*nodes.Guard){
		"the command":     func(g *nodes.Guard) { g.Cmd = "./other.sh" },
		"the directory":   func(g *nodes.Guard) { g.Dir = "b" },
		"the file":        func(g *nodes.Guard) { g.Real = "a/other.md" },
		"the texts":       func(g *nodes.Guard) { g.Texts = nil },
		"an empty list":   func(g *nodes.Guard) { g.HasVerifiedPaths = true },
		"the list":        func(g *nodes.Guard) { g.VerifiedPaths = []nodes.PathRef{{Path: "p"}} },
		"the commit":      func(g *nodes.Guard) { g.Commit = "c" },
		"a list of words": func(g *nodes.Guard) { g.Cmd, g.Argv = "", []string{"./check.sh"} },
	} {
		h := g
		edit(&h)
		if nodes.InputsOf(h) == want {
			t.Errorf("%s changes nothing", name)
		}
	}
	if len(g.Texts) != 1 || g.Texts[0] != "a/r.md" {
		t.Errorf("the guard stands for %v", g.Texts)
	}
	before := d.inputsOf(t)
	text := strings.Replace(sourceTree, "HEADER", "    cache_for: 1h\n", 1)
	_, text, _ = strings.Cut(text, "-- a/.mwp-context.md --\n")
	text, _, _ = strings.Cut(text, "-- lib/w.md")
	write(t, d.root, "a/.mwp-context.md", text)
	if d.inputsOf(t).Declared == before.Declared {
		t.Error("an edit of the declaring file changes nothing")
	}
}

// TestWhatAMapLooksAt: a map lists no directory and reads no source file for a guard
// without a list; verify does (D-46).
func TestWhatAMapLooksAt(t *testing.T) {
	d := desk{root: tree(t, strings.Replace(sourceTree, "HEADER", "", 1)), ledger: paperLedger{}, now: noon}
	write(t, d.root, recordsFile, "x")
	g := d.guardsOf(t, "a/x")[0]
	d.ledger.add(&g, graph.RecordState{Signer: "me", Run: &graph.Run{Passed: true}})
	looks := func(n graph.Task) (lists, contents []string) {
		for _, ev := range d.events(t, n) {
			switch task := ev.Task.(type) {
			case graph.List:
				if task.Filter == graph.Everything {
					lists = append(lists, task.Dir)
				}
			case graph.Content:
				contents = append(contents, task.Path)
			}
		}
		slices.Sort(lists)
		slices.Sort(contents)
		return lists, contents
	}
	lists, contents := looks(mapNode("a/x"))
	if len(lists) > 0 || !slices.Equal(contents, []string{"a/check.sh"}) {
		t.Errorf("a map lists %v and reads %v", lists, contents)
	}
	lists, contents = looks(nodes.InputsOf(g))
	if diff := cmp.Diff(strings.Fields("a a/app a/app/[id] a/src a/src/.config a/src/sub a/src/sub/deep"), lists); diff != "" {
		t.Errorf("verify lists (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Fields(`a/.gitignore a/.mwp-context.md a/.mwpignore a/app/[id]/page.tsx a/check.sh a/r.md a/src/.config/c.go a/src/.hidden.go
		a/src/link.go a/src/one.go a/src/sub/deep/four.ts a/src/sub/three.go a/src/two.ts a/src/way a/x`), contents); diff != "" {
		t.Errorf("verify reads (-want +got):\n%s", diff)
	}
}

// TestCutoffOfChecks: what an edit makes necessary for a map with guards.
func TestCutoffOfChecks(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"an unrelated file", "other/o.go", "edited\n", ""},
		{"a source file, and no list", "a/src/one.go", "edited\n", ""},
		{"a body without guards", "lib/w.md", "edited\n", "budget context map measure rendered tokens tokens"},
		{"the script", "a/check.sh", "edited\n", "check guard-inputs map rendered tokens verifications"},
		{"a body that a guard vouches for", "a/r.md", "edited\n", "budget check context guard-inputs map measure rendered tokens tokens verifications"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := desk{root: tree(t, strings.Replace(sourceTree, "HEADER", "", 1)), ledger: paperLedger{}, now: noon, store: cas.NewMemory()}
			write(t, d.root, recordsFile, "x")
			g := d.guardsOf(t, "a/x")[0]
			d.ledger.add(&g, graph.RecordState{Signer: "me", Run: &graph.Run{Passed: true, RanAt: 1, CacheUntil: noon.UnixNano() * 2, Declared: d.declared(t, g)}})
			n := nodes.Rendered{Map: mapNode("a/x"), Format: nodes.MarkdownText}
			d.eval(t, n)
			write(t, d.root, c.file, c.text)
			if got := strings.Join(d.recomputed(t, n), " "); got != c.want {
				t.Errorf("recomputes %s, want %s", got, c.want)
			}
		})
	}
}

// counts are an evaluation's tasks by kind.
func counts(events []eval.Event) map[string]int {
	n := map[string]int{}
	for _, ev := range events {
		n[ev.Task.Kind().Name]++
	}
	return n
}

// TestSourcesStayLinear: as many leaves as there are files and directories, and an
// edit looks again at one way down.
func TestSourcesStayLinear(t *testing.T) {
	d := desk{root: tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nguards:\n  - {cmd: make check}\n---\nA\n"), store: cas.NewMemory()}
	for i := range 3000 {
		write(t, d.root, fmt.Sprintf("a/flat/f%04d.go", i), fmt.Sprint(i))
	}
	for i := range 200 {
		write(t, d.root, fmt.Sprintf("a/wide/d%02d/e%d/f.go", i/10, i%10), fmt.Sprint(i))
	}
	g := d.guardsOf(t, "a/x")[0]
	n := counts(d.events(t, nodes.InputsOf(g)))
	// a, a/flat, a/wide, 20 and 200 below it; 3000 and 200 files, a/x and the context.
	if n["sources"] != 223 || n["list"] != 223 || n["content"] != 3202 {
		t.Errorf("%v for 223 directories and 3202 files", n)
	}
	write(t, d.root, "a/wide/d07/e3/f.go", "edited")
	var again []string
	for _, ev := range d.events(t, nodes.InputsOf(g)) {
		if s, ok := ev.Task.(nodes.Sources); ok && ev.Status == graph.Computed {
			again = append(again, s.Dir)
		}
	}
	slices.Sort(again)
	if want := []string{"a", "a/wide", "a/wide/d07", "a/wide/d07/e3"}; !slices.Equal(again, want) {
		t.Errorf("an edit computes the sources of %v, want %v", again, want)
	}
}

// TestGlobStaysBounded: many '**' cost no more looks than one, and a pattern that no
// path can match costs none to speak of.
func TestGlobStaysBounded(t *testing.T) {
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n")
	for i := range 400 {
		write(t, root, fmt.Sprintf("a/t/d%02d/e%d/f%d.go", i/20, i%20/4, i%4), "")
	}
	write(t, root, "a/t/"+strings.Repeat("s/", 90)+"end.go", "")
	inputsFor := func(pattern string) (map[string]int, nodes.GuardInputsValue) {
		write(t, root, "a/.mwp-context.md", "---\nguards:\n  - cmd: make check\n    verified_paths: ['"+pattern+"']\n---\nA\n")
		d := desk{root: root}
		n := nodes.InputsOf(d.guardsOf(t, "a/x")[0]).GuardInputs
		v := d.eval(t, n).(nodes.GuardInputsValue)
		return counts(d.events(t, n)), v
	}
	plain, _ := inputsFor("t/**/f1.go")
	if plain["list"] != 20+100+1+90 || plain["content"] != 100 {
		t.Fatalf("%v for 100 files in 211 directories", plain)
	}
	for _, p := range []string{
		"t/**/**/**/**/f1.go", "t/" + strings.Repeat("**/", 5000) + "f1.go", "t/**/*/**/f1.go", "t/**/*/**/*/**/f1.go",
		"t/" + strings.Repeat("**/s*/", 80) + "end.go", "t/" + strings.Repeat("**/*/", 3000) + "f1.go", "t/**/" + strings.Repeat("*", 5000) + "a",
	} {
		n, _ := inputsFor(p)
		if n["list"] > plain["list"] || n["content"] > plain["content"] {
			t.Errorf("%.30s: %v, and %v for one **", p, n, plain)
		}
	}
}

// TestRestsOnAny: by name alone, which paths a guard has to run again for.
func TestRestsOnAny(t *testing.T) {
	guard := func(edit func(*nodes.Guard), verified ...string) nodes.Guard {
		g := nodes.Guard{GuardSpec: nodes.GuardSpec{Cmd: "./check.sh"}, Real: "a/[x]/c.md", Dir: "a/[x]", Texts: []string{"a/r.md"}}
		for _, p := range verified {
			g.VerifiedPaths, g.HasVerifiedPaths = append(g.VerifiedPaths, nodes.PathRef{Path: p}), true
		}
		if edit != nil {
			edit(&g)
		}
		return g
	}
	empty := func(g *nodes.Guard) { g.HasVerifiedPaths = true }
	foreign := func(g *nodes.Guard) { g.Foreign, g.HasVerifiedPaths = true, true }
	// The file's verified paths are no static guard's.
	static := func(spec nodes.GuardSpec) nodes.Guard {
		return guard(func(g *nodes.Guard) {
			spec.VerifiedPaths, spec.HasVerifiedPaths = g.VerifiedPaths, true
			g.GuardSpec = spec
		}, "f.go")
	}
	for _, c := range []struct {
		g    nodes.Guard
		file string
		want bool
	}{
		{guard(empty), "a/[x]/c.md", true},
		{guard(empty), "a/r.md", true},
		{guard(empty), "a/[x]/check.sh", true},
		{guard(empty), "a/[x]/f.go", false},
		{guard(empty), ".mwp/modules.lock", false},
		{guard(foreign), ".mwp/modules.lock", true},
		{guard(nil), "a/[x]/sub/f.go", true},
		{guard(nil), "a/[x]y/f.go", false},
		{guard(nil), "a/x/f.go", false},
		{guard(nil, "src"), "a/[x]/src/f.go", true},
		{guard(nil, "src/"), "a/[x]/src", true},
		{guard(nil, "src"), "a/[x]/srcs", false},
		{guard(nil, "../../lib"), "lib/f.go", true},
		{guard(nil, "*.go"), "a/[x]/f.go", true},
		{guard(nil, "*.go"), "a/[x]/sub/f.go", false},
		{guard(nil, "*"), "a/[x]/sub/f.go", true},
		{guard(nil, "src/**"), "a/[x]/src/sub/f.go", true},
		{guard(nil, "**/*.go"), "a/[x]/src/sub/f.go", true},
		{guard(nil, "**/*.go"), "a/[x]/f.go", true},
		{guard(nil, "**/*.go"), "a/[x]/.f.go", false},
		{guard(nil, "**/*.go"), "a/[x]/node_modules/f.go", false},
		{guard(nil, "app/[id]/page.tsx"), "a/[x]/app/[id]/page.tsx", true},
		{guard(nil, "app/[id]/*"), "a/[x]/app/i/page.tsx", true},
		{guard(nil, "../../*/f.go"), "lib/f.go", true},
		{guard(nil, strings.Repeat("*/", 5000)+"**"), "a/[x]/f.go", false},
		{static(nodes.GuardSpec{Exists: "docs/api.md"}), "a/[x]/docs/api.md", true},
		{static(nodes.GuardSpec{Exists: "docs"}), "a/[x]/docs/api.md", true},
		{static(nodes.GuardSpec{Exists: "docs/api.md"}), "a/[x]/docs/other.md", false},
		{static(nodes.GuardSpec{Exists: "../y.md"}), "a/y.md", true},
		{static(nodes.GuardSpec{Exists: "docs/api.md"}), "a/[x]/c.md", true},
		{static(nodes.GuardSpec{Exists: "docs/api.md"}), "a/r.md", true},
		{static(nodes.GuardSpec{Exists: "docs/api.md"}), "a/[x]/f.go", false},
		{static(nodes.GuardSpec{ContainsPath: "README.md", ContainsText: "x"}), "a/[x]/README.md", true},
		{static(nodes.GuardSpec{ContainsPath: "README.md", ContainsText: "x"}), "a/[x]/README.md.bak", false},
		{static(nodes.GuardSpec{Script: "npm:test"}), "a/[x]/package.json", true},
		{static(nodes.GuardSpec{Script: "npm:test"}), "package.json", true},
		{static(nodes.GuardSpec{Script: "make:test"}), "a/GNUmakefile", true},
		{static(nodes.GuardSpec{Script: "npm:test"}), "a/[x]/sub/package.json", false},
		{static(nodes.GuardSpec{Script: "npm:test"}), "b/package.json", false},
		{static(nodes.GuardSpec{Script: "npm:test"}), "a/[x]/package.json5", false},
	} {
		if got := c.g.RestsOnAny([]string{"other", c.file}); got != c.want {
			t.Errorf("the guard %s with %v rests on %s: %v", c.g.Text(), c.g.VerifiedPaths, c.file, got)
		}
	}
}

// TestRecordsAreNoSource: a run that is recorded, and what a tool keeps beside it,
// must not make the run's own result old.
func TestRecordsAreNoSource(t *testing.T) {
	for _, c := range []struct{ anchor, state string }{{".mwp", ".mwp.d"}, {".mwp/config.toml", ".mwp"}} {
		d := desk{root: tree(t, "-- "+c.anchor+" --\ndescription = \"d\"\n-- f.go --\n-- .mwp-context.md --\n---\nguards:\n  - cmd: make check\n  - {cmd: make dir, verified_paths: [.]}\n  - {cmd: make glob, verified_paths: ['**']}\n---\nR\n")}
		gs := d.guardsOf(t, "")
		var before []string
		for _, g := range gs {
			before = append(before, string(d.eval(t, nodes.InputsOf(g)).(nodes.RenderedValue).Text))
		}
		for _, name := range []string{"guards.cache.json", "discoveries.md", "cache/ab/cd", "modules/m/x.go"} {
			write(t, d.root, c.state+"/"+name, "x")
		}
		for i, g := range gs {
			if string(d.eval(t, nodes.InputsOf(g)).(nodes.RenderedValue).Text) != before[i] {
				t.Errorf("%s: %s rests on what lies in %s", c.anchor, g.Text(), c.state)
			}
		}
		write(t, d.root, "f.go", "edited")
		for i, g := range gs {
			if string(d.eval(t, nodes.InputsOf(g)).(nodes.RenderedValue).Text) == before[i] {
				t.Errorf("%s: %s does not rest on f.go", c.anchor, g.Text())
			}
		}
	}
}
