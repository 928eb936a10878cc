package module

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// scenario is a state, and a fetch in it that is to be interrupted.
type scenario struct {
	before func(w *world, url string)
	wants  func(url string) []Want
}

func want(s string, update bool) Want {
	r, err := pin.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return Want{Ref: r, Update: update}
}

var scenarios = map[string]scenario{
	"first": {
		func(*world, string) {},
		func(url string) []Want { return []Want{want(url+"@v1.0.0", false)} },
	},
	"subdirectory": {
		func(*world, string) {},
		func(url string) []Want { return []Want{want(url+"//pkg/a@v1.0.0", false)} },
	},
	"beside another": {
		func(w *world, url string) { w.must(url + "//pkg/b@v1.0.0") },
		func(url string) []Want { return []Want{want(url+"@v1.0.0", false)} },
	},
	"poisoned": {
		func(w *world, url string) {
			w.must(url + "//pkg/a@v1.0.0")
			w.must(url + "@v1.0.0")
			dir := "modules/" + commit("m")
			w.write(dir+"/rules.md", "evil")
			w.write(dir+"/evil.md", "evil")
			os.RemoveAll(w.path(dir + "/pkg/b"))
			w.write(dir+"/pkg/b->", "a")
		},
		func(url string) []Want { return []Want{want(url+"@v1.0.0", false)} },
	},
	"another name": {
		func(w *world, url string) { w.must(url + "@v1.0.0") },
		func(url string) []Want { return []Want{want(url+"@"+commit("m"), false)} },
	},
	"moved": {
		func(w *world, url string) {
			w.must(url + "@v1.0.0")
			r := simple("m")
			r.Tags["v1.0.0"] = commit("next")
			r.Trees[commit("next")] = map[string]string{"n.md": "n"}
			w.serve("m", r)
		},
		func(url string) []Want { return []Want{want(url+"@v1.0.0", true)} },
	},
}

// fetchAll fetches and returns the first error.
func fetchAll(t *testing.T, s *Store, wants []Want) error {
	for _, o := range s.Fetch(t.Context(), wants) {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}

// good returns the references whose lists are there and the pinned ones, and
// whether all files agree with them.
func (w *world) good() map[string]bool {
	w.t.Helper()
	out := map[string]bool{}
	lock, err := w.store.Lock()
	if err != nil {
		w.t.Fatal(err)
	}
	modules, err := w.store.open(false)
	if err != nil || modules == nil {
		return out
	}
	defer modules.close()
	v := view{modules, lock}
	for _, r := range lock.Records {
		if _, err := v.list(r, ref(w.t, r.Key).Dir); err != nil {
			continue
		}
		problems, err := v.examine(r)
		if err != nil {
			w.t.Fatal(err)
		}
		out[r.Key] = usable(problems)
	}
	return out
}

// TestStoppedAnywhere stops a fetch before each of its changes in turn: once for
// good, as kill -9 does, and once with an error of that one change, as a full disk
// does. Afterwards what passes for a module is what did before or what should, and
// the next fetch completes the work, leaving nothing else.
func TestStoppedAnywhere(t *testing.T) {
	for name, sc := range scenarios {
		for _, forGood := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,forGood=%v", name, forGood), func(t *testing.T) {
				t.Parallel()
				var final map[string]string
				for n := 1; ; n++ {
					what, state := sc.stop(t, n, forGood)
					if what == "" {
						if n == 1 {
							t.Error("nothing was changed, and the test tests nothing")
						}
						break
					}
					if n == 1 {
						final = state
					}
					if diff := cmp.Diff(final, state); diff != "" {
						t.Errorf("stopped before %s: %s", what, diff)
					}
				}
			})
		}
	}
}

// stop stops the scenario's fetch before its n-th change, what, "" when there are
// fewer. It returns the state after another fetch.
func (sc scenario) stop(t *testing.T, n int, forGood bool) (what string, state map[string]string) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	sc.before(w, url)
	old, oldState := w.good(), w.snapshot()
	ops := 0
	w.store.before = func(op, name string) error {
		if ops++; ops == n {
			what = op + " " + name
		}
		if ops == n || ops > n && forGood {
			return syscall.ENOSPC
		}
		return nil
	}
	err := fetchAll(t, w.store, sc.wants(url))
	w.store.before = nil
	for key, usable := range w.good() {
		if was, ok := old[key]; !usable && (!ok || was) {
			t.Errorf("stopped before %s: %s passes for a module and is none", what, key)
		}
	}
	if err != nil && (what == "" || !errors.Is(err, syscall.ENOSPC)) {
		t.Errorf("stopped before %q: %v", what, err)
	}
	if err != nil && !forGood {
		w.checkFailed(what, oldState)
	}
	if err := fetchAll(t, w.store, sc.wants(url)); err != nil {
		t.Fatalf("stopped before %s: the next fetch: %v", what, err)
	}
	// What needs no download cleans nothing up; the next one that does begins so.
	w.sweep()
	if problems, err := w.store.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("stopped before %s: Check = %v, %v", what, problems, err)
	}
	state = map[string]string{}
	for name, content := range w.snapshot() {
		state[name] = strings.ReplaceAll(content, w.dir, "")
	}
	return what, state
}

// sweep does what a download of another repository begins with.
func (w *world) sweep() {
	w.t.Helper()
	modules, err := w.store.open(true)
	if err != nil {
		w.t.Fatal(err)
	}
	defer modules.close()
	if err := w.store.sweep(w.t.Context(), modules, repositoryLock(ref(w.t, "https://h/other@v1"))); err != nil {
		w.t.Fatal(err)
	}
}

// checkFailed checks what a fetch leaves that failed and could clean up: of names
// that are new, only the ignore file, and no file with other bytes.
func (w *world) checkFailed(what string, before map[string]string) {
	w.t.Helper()
	after := w.snapshot()
	maps.DeleteFunc(after, func(name, content string) bool {
		return name == ".gitignore" || before[name] == content
	})
	for name := range after {
		// One failing removal cannot be cleaned up after; the next fetch does.
		if !strings.HasPrefix(what, "remove") {
			w.t.Errorf("failed before %s, and left %s", what, name)
		}
	}
}
