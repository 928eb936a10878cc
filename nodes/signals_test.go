package nodes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const signalsOn = "-- .mwp/config.toml --\n[signals]\ntests = true\n"

func signalLines(m *ir.Map) string {
	var b strings.Builder
	for _, s := range m.Signals {
		fmt.Fprintln(&b, s.Kind, s.Path)
	}
	return b.String()
}

func TestSignals(t *testing.T) {
	for _, c := range []struct{ name, tree, target, want string }{
		{"a test beside", "-- a/f.go --\n-- a/f_test.go --\n-- a/g_test.go --\n", "a/f.go", "test a/f_test.go\n"},
		{"what a test tests", "-- a/f.go --\n-- a/f_test.go --\n", "a/f_test.go", "source a/f.go\n"},
		{"no test", "-- a/f.go --\n", "a/f.go", ""},
		{"in the order of the conventions", "-- f.py --\n-- test_f.py --\n-- f_test.py --\n-- tests/test_f.py --\n", "f.py", "test test_f.py\ntest f_test.py\ntest tests/test_f.py\n"},
		{"in a tree of tests", "-- m/src/main/java/o/F.java --\n-- m/src/test/java/o/FTest.java --\n", "m/src/main/java/o/F.java", "test m/src/test/java/o/FTest.java\n"},
		{"no such directory", "-- src/a/f.ts --\n-- tests --\n", "src/a/f.ts", ""},
		{"a directory", "-- f.go/x --\n-- f_test.go --\n", "f.go", ""},
		{"the whole project", "-- f.go --\n-- f_test.go --\n", "", ""},
		{"a target that does not exist", "-- a/f_test.go --\n", "a/f.go", ""},
		{"in a directory that does not exist", "-- a/f_test.go --\n", "b/f.go", ""},
		{"a state directory", "-- .mwp/scripts/f.py --\n-- .mwp/scripts/test_f.py --\n", ".mwp/scripts/f.py", ""},
		{"a directory with a test's name", "-- f.go --\n-- f_test.go/x --\n", "f.go", ""},
		{"a link to a file", "-- f.go --\n-- f_test.go -> a/b --\n-- a/b --\n", "f.go", "test f_test.go\n"},
		{"a link to nothing", "-- f.go --\n-- f_test.go -> a/b --\n", "f.go", ""},
		{"a link to a directory", "-- f.go --\n-- f_test.go -> a --\n-- a/b --\n", "f.go", ""},
		{"a link out of the root", "-- f.go --\n-- f_test.go -> ../../../../../../etc/hostname --\n", "f.go", ""},
		{"a link to itself", "-- f.go --\n-- f_test.go -> f_test.go --\n", "f.go", ""},
		{"a linked directory of tests", "-- src/f.rs --\n-- tests -> checks --\n-- checks/f.rs --\n", "src/f.rs", "test tests/f.rs\n"},
		{"a directory of tests outside", "-- src/f.rs --\n-- tests -> .. --\n", "src/f.rs", ""},
		{"a target below a linked directory", "-- a -> b/c --\n-- b/c/f.py --\n-- b/tests/test_f.py --\n-- tests/test_f.py --\n", "a/f.py", "test tests/test_f.py\n"},
		{"a target that is a link", "-- a/f.go -> ../g --\n-- g --\n-- a/f_test.go --\n", "a/f.go", "test a/f_test.go\n"},
		{"case matters", "-- f.go --\n-- F_test.go --\n", "f.go", ""},
		{"another tool's directory is named like any other", "-- src/f.rs --\n-- tests/AGENTS.md --\n-- tests/f.rs --\n", "src/f.rs", "test tests/f.rs\n"},
		{"a name with everything", "-- a/ü \"*.go --\n-- a/ü \"*_test.go --\n", "a/ü \"*.go", "test a/ü \"*_test.go\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := evaluate(t, tree(t, signalsOn+c.tree), mapNode(c.target))
			if diff := cmp.Diff(c.want, signalLines(&v.IR)); diff != "" || v.IR.Signals == nil {
				t.Errorf("signals of %q (-want +got), nil is %v:\n%s", c.target, v.IR.Signals == nil, diff)
			}
			conserved(t, v)
		})
	}
}

// TestSignalOfALongName: a test's name that no file can have is the name of none.
func TestSignalOfALongName(t *testing.T) {
	root := tree(t, signalsOn)
	name := strings.Repeat("x", 250) + ".go"
	write(t, root, name, "")
	if v := evaluate(t, root, mapNode(name)); len(v.IR.Signals) != 0 || len(v.Refusal) != 0 {
		t.Errorf("signals = %v, refusal %v", v.IR.Signals, v.Refusal)
	}
}

// leaves evaluates a map with an empty store and returns the leaves it rests on.
func leaves(t *testing.T, root, target string) []string {
	t.Helper()
	var mu sync.Mutex
	var keys []string
	e := eval.New(eval.Config{World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory(), Observe: func(ev eval.Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Task.Kind().Leaf {
			keys = append(keys, fmt.Sprintf("%s %+v", ev.Task.Kind().Name, ev.Task))
		} else if ev.Task.Kind().Name == "signals" {
			keys = append(keys, "signals")
		}
	}})
	_, err := e.Eval(context.Background(), mapNode(target))
	must(t, err)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// TestSignalsOff: nobody who did not ask for signals pays for them, and a member does
// not ask for its workspace.
func TestSignalsOff(t *testing.T) {
	const files = "-- m/src/f.py --\n-- m/src/test_f.py --\n"
	want := leaves(t, tree(t, "-- .mwp/config.toml --\nname = \"x\"\n"+files), "m/src/f.py")
	for _, config := range []string{"", "[signals]\n", "[signals]\ntests = false\n"} {
		root := tree(t, "-- .mwp/config.toml --\n"+config+files)
		if diff := cmp.Diff(want, leaves(t, root, "m/src/f.py")); diff != "" {
			t.Errorf("with %q other leaves are read (-want +got):\n%s", config, diff)
		}
		v := evaluate(t, root, mapNode("m/src/f.py"))
		if text := string(ir.AppendJSON(nil, &v.IR, ir.FullForm)); v.IR.Signals != nil || strings.Contains(text, "signals") {
			t.Errorf("with %q there are signals:\n%s", config, text)
		}
	}
	member := tree(t, "-- .mwp/config.toml --\nmembers = [\"m\"]\n-- m/.mwp/config.toml --\n[signals]\ntests = true\n"+files)
	if v := evaluate(t, member, mapNode("m/src/f.py")); v.IR.Signals != nil {
		t.Errorf("a member turned signals on: %v", v.IR.Signals)
	}
}

// TestSignalsAreNoPartOfTheLayers compares a map with and without: layers, sums,
// account and findings are the same, the hash is not.
func TestSignalsAreNoPartOfTheLayers(t *testing.T) {
	const files = "-- a/.mwp-context.md --\nText.\n-- a/f.go --\n-- a/f_test.go --\nsecret\n"
	off := evaluate(t, tree(t, "-- .mwp/config.toml --\nname = \"x\"\n"+files), mapNode("a/f.go")).IR
	root := tree(t, "-- .mwp/config.toml --\nname = \"x\"\n[signals]\ntests = true\n"+files)
	on := evaluate(t, root, mapNode("a/f.go")).IR
	if len(on.Signals) != 1 || on.IRHash == off.IRHash || on.Totals.RenderedTokens <= off.Totals.RenderedTokens {
		t.Fatalf("signals %v, hashes %s and %s, %d and %d rendered tokens", on.Signals, on.IRHash, off.IRHash, on.Totals.RenderedTokens, off.Totals.RenderedTokens)
	}
	must(t, os.Remove(filepath.Join(root, "a", "f_test.go")))
	none := evaluate(t, root, mapNode("a/f.go")).IR
	if none.IRHash == on.IRHash || none.IRHash == off.IRHash || none.Totals != off.Totals {
		t.Errorf("an empty list: hash %s, totals %v; with a signal %s, off %s, %v", none.IRHash, none.Totals, on.IRHash, off.IRHash, off.Totals)
	}
	on.Signals, on.IRHash, on.Totals.RenderedTokens = nil, off.IRHash, off.Totals.RenderedTokens
	if diff := cmp.Diff(off, on); diff != "" {
		t.Errorf("signals change more than they say (-off +on):\n%s", diff)
	}
}

// TestSignalsAreConsistent adds, edits and removes files and directories between runs
// over one store. Each answer is the one of an empty store, and what is computed again
// is what changed.
func TestSignalsAreConsistent(t *testing.T) {
	root := tree(t, signalsOn+"-- .mwp-context.md --\nText.\n-- p/src/k/f.py --\n")
	store := cas.NewMemory()
	ask := func() (text string, kinds []string) {
		var mu sync.Mutex
		e := eval.New(eval.Config{World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: store, Observe: func(ev eval.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Status == graph.Computed && !ev.Task.Kind().Leaf {
				kinds = append(kinds, ev.Task.Kind().Name)
			}
		}})
		v, err := e.Eval(context.Background(), nodes.Rendered{Map: mapNode("p/src/k/f.py"), Format: nodes.JSON})
		must(t, err)
		slices.Sort(kinds)
		return string(v.(nodes.RenderedValue).Text), kinds
	}
	ask()
	found := []string{"map", "rendered", "signals", "surroundings", "tokens"}
	file := func(name string) func() { return func() { write(t, root, name, "x\n") } }
	remove := func(name string) func() {
		return func() { must(t, os.RemoveAll(filepath.Join(root, filepath.FromSlash(name)))) }
	}
	for _, c := range []struct {
		name     string
		do       func()
		signals  string
		computed []string
	}{
		{"nothing", func() {}, "", nil},
		{"a file of another name", file("p/src/k/g_test.py"), "", nil},
		{"a test", file("p/src/k/f_test.py"), "p/src/k/f_test.py", found},
		{"its text", func() { write(t, root, "p/src/k/f_test.py", "other\n") }, "p/src/k/f_test.py", nil},
		{"a directory of tests", file("p/src/k/tests/other"), "p/src/k/f_test.py", []string{"signals"}},
		{"a test in it", file("p/src/k/tests/test_f.py"), "p/src/k/f_test.py p/src/k/tests/test_f.py", found},
		{"a test in a tree of tests", file("p/tests/k/test_f.py"), "p/src/k/f_test.py p/src/k/tests/test_f.py p/tests/k/test_f.py", found},
		{"the first is removed", remove("p/src/k/f_test.py"), "p/src/k/tests/test_f.py p/tests/k/test_f.py", found},
		{"its directory is removed", remove("p/src/k/tests"), "p/tests/k/test_f.py", found},
		// Where nothing is found any more, the map is one that the store has.
		{"a directory with its name", func() { remove("p/tests/k/test_f.py")(); file("p/tests/k/test_f.py/x")() }, "", []string{"signals"}},
		{"all are removed", remove("p/tests"), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.do()
			warm, computed := ask()
			if diff := cmp.Diff(c.computed, computed); diff != "" {
				t.Errorf("computed (-want +got):\n%s", diff)
			}
			fresh := evaluate(t, root, mapNode("p/src/k/f.py"))
			if want := string(ir.AppendJSON(nil, &fresh.IR, ir.FullForm)); warm != want {
				t.Errorf("the warm map differs (-fresh +warm):\n%s", cmp.Diff(want, warm))
			}
			var paths []string
			for _, s := range fresh.IR.Signals {
				paths = append(paths, s.Path)
			}
			if got := strings.Join(paths, " "); got != c.signals {
				t.Errorf("signals = %s, want %s", got, c.signals)
			}
		})
	}
}

// TestSignalsAskForFewThings bounds what signals add to what a map rests on: a few
// probes, however many files there are, and no list of a directory.
func TestSignalsAskForFewThings(t *testing.T) {
	for _, target := range []string{"src/a/b/f.py", "src/a/b/f.ts", "src/main/java/o/F.java", "src/a/f.cc", "lib/a/f.rb", "src/a/tests/test_f.py"} {
		files := "-- " + target + " --\n"
		for i := range 50 {
			files += fmt.Sprintf("-- %s/%d/f_test.py --\n-- tests/%d --\n-- test/a/b/%d --\n", filepath.Dir(target), i, i, i)
		}
		off := leaves(t, tree(t, "-- .mwp/config.toml --\nname = \"x\"\n"+files), target)
		on := leaves(t, tree(t, signalsOn+files), target)
		added := slices.DeleteFunc(slices.Clone(on), func(l string) bool { return slices.Contains(off, l) || l == "signals" })
		if len(added) == 0 || len(added) > 12 {
			t.Errorf("%s: signals rest on %d more leaves: %s", target, len(added), strings.Join(added, "\n"))
		}
		for _, l := range added {
			if !strings.HasPrefix(l, "probe ") {
				t.Errorf("%s: signals rest on %s", target, l)
			}
		}
	}
	// Where the cascade has been, nothing is looked at again.
	deep := "-- a -> b --\n-- b/c/d/e/f/g/f.go --\n"
	off, on := leaves(t, tree(t, "-- .mwp/config.toml --\n"+deep), "a/c/d/e/f/g/f.go"), leaves(t, tree(t, signalsOn+deep), "a/c/d/e/f/g/f.go")
	if n := len(on) - len(off); n != 2 {
		t.Errorf("one name in a deep directory costs %d leaves, want its probe alone: %s", n-1, strings.Join(on, "\n"))
	}
}
