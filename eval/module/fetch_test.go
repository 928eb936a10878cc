package module

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// TestFetch: what one fetch leaves is the files, their list, the lock file and the
// ignore file, all as documented; the second one asks nobody.
func TestFetch(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	url := w.serve("m", r)
	c := commit("m")
	list, tree := sums(r.Trees[c])
	o := w.fetch(url + "@v1.0.0")
	want := Outcome{
		Want:   Want{Ref: ref(t, url+"@v1.0.0")},
		Record: pin.Record{Key: url + "@v1.0.0", Kind: pin.Tag, Commit: c, Tree: tree},
		Dir:    w.path("modules/" + c), Fetched: true, Notes: []string{`a note with \x1b`},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Fatal(diff)
	}
	state := map[string]string{
		".gitignore":   "modules/\n",
		"modules.lock": string(pin.AppendLock(nil, pin.Lock{Records: []pin.Record{o.Record}})),
	}
	state["modules/"+c+".b3sums"] = list
	for name, content := range r.Trees[c] {
		state["modules/"+c+"/"+name] = content
	}
	if diff := cmp.Diff(state, w.snapshot()); diff != "" {
		t.Error(diff)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "m", "remote.json")); err != nil {
		t.Fatal(err)
	}
	o = w.fetch(url + "@v1.0.0")
	want.Fetched, want.Notes = false, nil
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	if got := w.calls("m"); got != "fetch v1.0.0 \n" {
		t.Errorf("the repository was asked %q", got)
	}
	if problems, err := w.store.Check(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

// TestReferences: what a reference turns out to be decides whether it is pinned.
func TestReferences(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Branches = map[string]string{"main": commit("m"), "": commit("m")}
	url := w.serve("m", r)
	for _, c := range []struct {
		name     string
		floating bool
		code     string
		kind     string
	}{
		{"@v1.0.0", false, "", pin.Tag},
		{"@" + commit("m"), false, "", pin.Commit},
		{"@v9.9.9", false, protocol.RefNotFound, ""},
		{"@main", false, protocol.FloatingRef, ""},
		{"@main", true, "", pin.Branch},
		{"@main", false, protocol.FloatingRef, ""}, // pinned, and still not allowed
		{"", false, protocol.FloatingRef, ""},
		{"", true, "", pin.Branch},
		{"@" + commit("m")[:10], false, protocol.Refused, ""},
		{"@>=1.0", false, protocol.Refused, ""},
		{"//pkg/a@v1.0.0", false, "", pin.Tag},
		{"//none@v1.0.0", false, protocol.Unsafe, ""},
	} {
		o := w.store.Fetch(t.Context(), []Want{{Ref: ref(t, url+c.name), Floating: c.floating}})[0]
		if code(o.Err) != c.code || o.Record.Kind != c.kind {
			t.Errorf("Fetch(%q, floating %v) = %+v, %v, want kind %q, code %q", c.name, c.floating, o.Record, o.Err, c.kind, c.code)
		}
		var e *Error
		if errors.As(o.Err, &e) && e.Key != url+c.name {
			t.Errorf("Fetch(%q): the error is about %q", c.name, e.Key)
		}
	}
}

// TestFailedFetchLeavesNothing: case 26.
func TestFailedFetchLeavesNothing(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	first := w.fetch(url + "@v9.9.9").Err
	if second := w.fetch(url + "@v9.9.9").Err; first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("the first fetch says %v, the second %v", first, second)
	}
	if got := w.snapshot(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestPinned: a record holds a reference to its commit and bytes until it is
// updated.
func TestPinned(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	url := w.serve("m", r)
	key := url + "@v1.0.0"
	old := w.must(key)

	next := commit("next")
	r.Tags["v1.0.0"] = next
	r.Trees[next] = map[string]string{"rules.md": "other"}
	w.serve("m", r)
	if got := w.must(key); got != old {
		t.Errorf("a module that is there: %v, want %v", got, old)
	}
	if err := os.RemoveAll(w.path("modules")); err != nil {
		t.Fatal(err)
	}
	o := w.fetch(key)
	var e *Error
	if !errors.As(o.Err, &e) || e.Code != protocol.TagMoved || e.Commit != next {
		t.Errorf("a moved tag: %+v", o)
	}
	o = w.store.Fetch(t.Context(), []Want{{Ref: ref(t, key), Update: true, Frozen: true}})[0]
	if code(o.Err) != protocol.TagMoved {
		t.Errorf("a moved tag, frozen: %+v", o)
	}
	o = w.store.Fetch(t.Context(), []Want{{Ref: ref(t, key), Update: true}})[0]
	if o.Err != nil || o.Record.Commit != next {
		t.Errorf("update: %+v", o)
	}

	// The same commit with other bytes.
	r.Trees[next]["rules.md"] = "forged"
	w.serve("m", r)
	if err := os.RemoveAll(w.path("modules")); err != nil {
		t.Fatal(err)
	}
	before := w.snapshot()
	if o = w.fetch(key); code(o.Err) != ModuleModified {
		t.Errorf("other bytes: %+v", o)
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Error(diff)
	}
}

func TestFrozen(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	w.must(url + "@v1.0.0")
	before := w.snapshot()
	frozen := func(s string) error {
		return w.store.Fetch(t.Context(), []Want{{Ref: ref(t, s), Frozen: true}})[0].Err
	}
	if err := frozen(url + "//pkg/a@v1.0.0"); code(err) != Unresolved {
		t.Errorf("an unknown reference: %v", err)
	}
	if err := os.RemoveAll(w.path("modules")); err != nil {
		t.Fatal(err)
	}
	if err := frozen(url + "@v1.0.0"); err != nil {
		t.Errorf("a pinned one: %v", err)
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Error(diff)
	}
}

// TestManyWants: outcomes come in the order of the wants, and a want that is given
// twice is fetched once.
func TestManyWants(t *testing.T) {
	w := newWorld(t)
	var wants []Want
	for i := range 6 {
		name := fmt.Sprint("m", i)
		url := w.serve(name, simple(name))
		for _, rest := range []string{"@v1.0.0", "@none", "//pkg/a@v1.0.0", "@v1.0.0"} {
			wants = append(wants, Want{Ref: ref(t, url+rest)})
		}
	}
	slices.Reverse(wants)
	for i, o := range w.store.Fetch(t.Context(), wants) {
		if o.Want != wants[i] || (o.Err != nil) != (wants[i].Ref.Name == "none") {
			t.Errorf("outcome %d is %+v", i, o)
		}
	}
	for i := range 6 {
		if got := strings.Count(w.calls(fmt.Sprint("m", i)), "\n"); got != 3 {
			t.Errorf("m%d was asked %d times, want 3", i, got)
		}
	}
	if lock, err := w.store.Lock(); err != nil || len(lock.Records) != 12 {
		t.Errorf("Lock = %v, %v", lock, err)
	}
}

// TestSubdirectories: modules of one commit share its directory, in whatever order
// they come.
func TestSubdirectories(t *testing.T) {
	rests := []string{"@v1.0.0", "//pkg/a@v1.0.0", "//pkg@v1.0.0", "//pkg/b@v1.0.0"}
	var want map[string]string
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}} {
		w := newWorld(t)
		r := simple("m")
		url := w.serve("m", r)
		for _, i := range order {
			w.must(url + rests[i])
		}
		if problems, err := w.store.Check(t.Context()); err != nil || len(problems) != 0 {
			t.Errorf("order %v: Check = %v, %v", order, problems, err)
		}
		got := w.snapshot()
		delete(got, "modules.lock")
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order %v: %s", order, diff)
		}
	}
}

// TestDamage: whatever lies where a module belongs, Check tells, and the next fetch
// mends it without touching what other modules have there.
func TestDamage(t *testing.T) {
	c := commit("m")
	list, _ := sums(simple("m").Trees[c])
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]struct {
		damage  func(w *world)
		problem string // of "rest: problem"
		asks    bool
	}{
		"modified":       {func(w *world) { w.write("modules/"+c+"/rules.md", "evil") }, "modified: rules.md", true},
		"missing":        {func(w *world) { os.Remove(w.path("modules/" + c + "/rules.md")) }, "missing: rules.md", true},
		"extra":          {func(w *world) { w.write("modules/"+c+"/pkg/a/evil.md", "evil") }, "extra: pkg/a/evil.md", false},
		"extra pipe":     {func(w *world) { w.write("modules/"+c+"/pipe|", "") }, "extra: pipe", false},
		"no files":       {func(w *world) { os.RemoveAll(w.path("modules/" + c)) }, "is not fetched", true},
		"no list":        {func(w *world) { os.Remove(w.path("modules/" + c + ".b3sums")) }, "is not fetched", true},
		"other list":     {func(w *world) { w.write("modules/"+c+".b3sums", strings.Replace(list, "rules", "roles", 1)) }, "its list", true},
		"no text":        {func(w *world) { w.write("modules/"+c+".b3sums", "\x00") }, "its list", true},
		"list directory": {func(w *world) { os.Remove(w.path("modules/" + c + ".b3sums")); w.write("modules/"+c+".b3sums/x", "") }, "its list", true},
		"list link": {func(w *world) {
			os.Remove(w.path("modules/" + c + ".b3sums"))
			w.write("modules/"+c+".b3sums->", outside)
		}, "its list", true},
		"file link": {func(w *world) {
			os.Remove(w.path("modules/" + c + "/rules.md"))
			w.write("modules/"+c+"/rules.md->", outside)
		}, "modified: rules.md", true},
		"directory link": {func(w *world) {
			os.RemoveAll(w.path("modules/" + c + "/pkg"))
			w.write("modules/"+c+"/pkg->", filepath.Dir(outside))
		}, "missing: pkg/a/x.md", true},
		"link to a twin": {func(w *world) {
			os.Rename(w.path("modules/"+c+"/pkg"), w.path("modules/"+c+"/twin"))
			w.write("modules/"+c+"/pkg->", "twin")
		}, "missing: pkg/a/x.md", true},
		"directory for file": {func(w *world) {
			os.Remove(w.path("modules/" + c + "/rules.md"))
			w.write("modules/"+c+"/rules.md/x", "")
		}, "modified: rules.md", true},
		"file for directory": {func(w *world) {
			os.RemoveAll(w.path("modules/" + c + "/pkg"))
			w.write("modules/"+c+"/pkg", "")
		}, "missing: pkg/a/x.md", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			url := w.serve("m", simple("m"))
			if strings.HasSuffix(name, "pipe") && errors.Is(mkfifo(filepath.Join(t.TempDir(), "x")), errors.ErrUnsupported) {
				t.Skip("NOT TESTED: no pipes with names here")
			}
			w.must(url + "@v1.0.0")
			w.must(url + "//pkg/b@v1.0.0")
			good := w.snapshot()
			d.damage(w)
			problems, err := w.store.Check(t.Context())
			if err != nil || !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.String(), d.problem) }) {
				t.Errorf("Check = %v, %v, want %q", problems, err, d.problem)
			}
			o := w.fetch(url + "@v1.0.0")
			if o.Err != nil || o.Fetched != d.asks {
				t.Errorf("Fetch = %+v, want fetched %v", o, d.asks)
			}
			if o := w.fetch(url + "//pkg/b@v1.0.0"); o.Err != nil || o.Fetched {
				t.Errorf("Fetch of the other module = %+v", o)
			}
			if diff := cmp.Diff(good, w.snapshot()); diff != "" {
				t.Error(diff)
			}
			if b, err := os.ReadFile(outside); string(b) != "precious" {
				t.Errorf("a file outside is %q, %v", b, err)
			}
		})
	}
}

// TestPlantedLinks: nothing is written through a link in the place of a directory,
// wherever it leads.
func TestPlantedLinks(t *testing.T) {
	for _, name := range []string{"", "modules", "modules/" + commit("m"), "cache", "cache/locks"} {
		for _, inside := range []bool{false, true} {
			w := newWorld(t)
			url := w.serve("m", simple("m"))
			target := filepath.Join(w.dir, "elsewhere")
			if inside {
				target = filepath.Join(w.dir, "p", "src")
			}
			if err := os.Mkdir(target, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o777); err != nil {
				t.Fatal(err)
			}
			to, err := filepath.Rel(filepath.Dir(w.path(name)), target)
			if err == nil {
				err = os.Symlink(to, w.path(name))
			}
			if err != nil {
				t.Skipf("NOT TESTED: cannot make a link: %v", err)
			}
			o := w.fetch(url + "@v1.0.0")
			if code(o.Err) != protocol.Unsafe || !strings.Contains(o.Err.Error(), filepath.Clean(w.path(name))+" is not a directory of its own") {
				t.Errorf("link at %q: %v", name, o.Err)
			}
			if there, err := os.ReadDir(target); err != nil || len(there) != 0 {
				t.Errorf("link at %q: %v was written through it, %v", name, there, err)
			}
			if link, err := os.Readlink(w.path(name)); err != nil || link != to {
				t.Errorf("the link at %q is %q, %v", name, link, err)
			}
		}
	}
}

// TestLockFile: a lock file that cannot be understood is never replaced.
func TestLockFile(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	record := w.must(url + "@v1.0.0")
	good := string(pin.AppendLock(nil, pin.Lock{Records: []pin.Record{record}}))
	for name, text := range map[string]string{
		"conflict": strings.Replace(good, url, "<<<<<<< ours\n"+url, 1) + "=======\n>>>>>>> theirs\n",
		"version":  strings.Replace(good, "mwp-modules 1", "mwp-modules 2", 1),
		"cut off":  good[:len(good)-20],
		"empty":    "",
		"twice":    good + good[strings.Index(good, "file:"):],
	} {
		w.write("modules.lock", text)
		for _, s := range []string{url + "@v1.0.0", url + "//pkg/a@v1.0.0"} {
			o := w.fetch(s)
			if code(o.Err) != LockInvalid || !strings.Contains(o.Err.Error(), "modules.lock:") || o.Err.(*Error).Hint == "" {
				t.Errorf("%s: Fetch(%s) = %+v", name, s, o.Err)
			}
		}
		if _, err := w.store.Check(t.Context()); code(err) != LockInvalid {
			t.Errorf("%s: Check: %v", name, err)
		}
		if b, err := os.ReadFile(w.path("modules.lock")); err != nil || string(b) != text {
			t.Errorf("%s: the file is now %q, %v", name, b, err)
		}
	}
	os.Remove(w.path("modules.lock"))
	w.write("modules.lock/x", "")
	if o := w.fetch(url + "@v1.0.0"); code(o.Err) != LockInvalid {
		t.Errorf("a directory: %v", o.Err)
	}
	os.RemoveAll(w.path("modules.lock"))
	outside := filepath.Join(w.dir, "lock")
	if err := os.WriteFile(outside, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	w.write("modules.lock->", outside)
	if o := w.fetch(url + "@v1.0.0"); code(o.Err) != LockInvalid {
		t.Errorf("a link: %v", o.Err)
	}

	// Edited by hand: kept in order, and its permissions stay.
	os.Remove(w.path("modules.lock"))
	w.write("modules.lock", strings.ReplaceAll("mwp-modules 1\n# mine\n"+good[strings.Index(good, "file:"):], "\n", "\r\n"))
	if err := os.Chmod(w.path("modules.lock"), 0o664); err != nil {
		t.Fatal(err)
	}
	added := w.must(url + "//pkg/a@v1.0.0")
	want := string(pin.AppendLock(nil, pin.Lock{Records: []pin.Record{added, record}}))
	if b, err := os.ReadFile(w.path("modules.lock")); err != nil || string(b) != want {
		t.Errorf("the file is now %q, %v, want %q", b, err, want)
	}
	if info, err := os.Stat(w.path("modules.lock")); err != nil || info.Mode().Perm() != 0o664 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	// Read-only: what is in it is of use, and nothing is added.
	if err := os.Chmod(w.path("modules.lock"), 0o444); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(w.path("modules"))
	w.must(url + "@v1.0.0")
	o := w.fetch(url + "//pkg/b@v1.0.0")
	if code(o.Err) != LockInvalid || !strings.Contains(o.Err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", o.Err)
	}
	if strings.Contains(w.calls("m"), "pkg/b") {
		t.Error("the repository was asked for what cannot be recorded")
	}
}

// TestLockFileChangedMeanwhile: somebody else's edit during a download wins.
func TestLockFileChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	mine := pin.Record{Key: url + "@v1.0.0", Kind: pin.Tag, Commit: commit("mine"), Tree: strings.Repeat("0", 64)}
	text := string(pin.AppendLock(nil, pin.Lock{Records: []pin.Record{mine}}))
	w.store.Progress = func(line string) {
		if strings.HasPrefix(line, "fetching") {
			w.write("modules.lock", text)
		}
	}
	if o := w.fetch(url + "@v1.0.0"); code(o.Err) != LockInvalid || !strings.Contains(o.Err.Error(), "was changed while") {
		t.Errorf("Fetch = %+v", o)
	}
	if diff := cmp.Diff(map[string]string{"modules.lock": text}, w.snapshot()); diff != "" {
		t.Error(diff)
	}
	o := w.store.Fetch(t.Context(), []Want{{Ref: ref(t, url+"@v1.0.0"), Update: true}})[0]
	if o.Err != nil || o.Record.Commit != commit("m") {
		t.Errorf("an update: %+v", o)
	}
}

// TestIgnoreFile: an existing one is left as it is.
func TestIgnoreFile(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	w.write(".gitignore", "mine\n")
	w.must(url + "@v1.0.0")
	if got := w.snapshot()[".gitignore"]; got != "mine\n" {
		t.Errorf(".gitignore is %q", got)
	}
	if b, err := os.ReadFile(w.path("cache/.gitignore")); err != nil || !strings.Contains(string(b), "\n*\n") {
		t.Errorf("the directory of the locks is not ignored: %q, %v", b, err)
	}
}

// TestSecrets: a password reaches mwp-git and nothing else.
func TestSecrets(t *testing.T) {
	w := newWorld(t)
	var said []string
	w.store.Progress = func(line string) { said = append(said, line) }
	o := w.fetch("https://user:hunter2@127.0.0.1:9/x/y.git@v1.0.0")
	if code(o.Err) != protocol.Unreachable {
		t.Fatalf("%+v", o)
	}
	e := o.Err.(*Error)
	if all := strings.Join(append(said, e.Message, e.Hint, e.Key), "\n"); strings.Contains(all, "hunter2") || !strings.Contains(all, "127.0.0.1:9") {
		t.Errorf("said: %s", all)
	}
}

// TestCancelled: a context that is done fetches nothing, and what is there is
// still there.
func TestCancelled(t *testing.T) {
	w := newWorld(t)
	url := w.serve("m", simple("m"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := []Want{{Ref: ref(t, url+"@v1.0.0")}}
	if err := w.store.Fetch(ctx, want)[0].Err; code(err) != Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch = %v", err)
	}
	w.must(url + "@v1.0.0")
	if o := w.store.Fetch(ctx, want)[0]; o.Err != nil {
		t.Errorf("Fetch of what is there = %v", o.Err)
	}
	if _, err := w.store.Check(ctx); code(err) != Cancelled {
		t.Errorf("Check = %v", err)
	}
}
