package mwp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

var (
	steps = flag.Int("steps", 100, "steps of the random-edit test")
	seed  = flag.Uint64("seed", 0, "seed of the random-edit test, 0 for one from the clock")
)

// TestFromScratchConsistency edits a tree at random and, after every step, asks
// for maps, and now and then for a lint report, the list of targets or the reason
// for one file, in three ways: from the tree's own cache, with an empty cache, and
// in a copy at another path that got a copy of the cache. All three must be equal,
// byte for byte, refusals included. Nothing is fetched.
//
// In the settled variants the clock is moved past the settle time between steps,
// so that the stat-only path is what is tested; in the young one it is not, so
// that the race rule is. The damaged variant also evicts and damages cache files.
// The wide one has so many directories that a slot's paths are looked at at once. In
// those about guards nearly every edit is of something that guards rest on.
func TestFromScratchConsistency(t *testing.T) {
	for _, v := range []struct {
		name                      string
		settled, damaged, guarded bool
		// share divides the steps; dirs are empty directories beside the others.
		share, dirs int
	}{
		{"settled", true, false, false, 1, 0},
		{"young", false, false, false, 2, 0},
		{"damaged", true, true, false, 2, 0},
		{"wide", true, false, false, 15, 1100},
		{"guards", true, false, true, 1, 0},
		{"young guards", false, false, true, 3, 0},
		{"damaged guards", true, true, true, 4, 0},
	} {
		t.Run(v.name, func(t *testing.T) {
			n, s := max(*steps/v.share, 1), *seed
			if testing.Short() {
				n = min(n, 60/v.share)
			}
			if s == 0 {
				s = uint64(time.Now().UnixNano())
			}
			t.Logf("seed %d, %d steps", s, n)
			e := newEditor(t, s, v.settled)
			e.widen(v.dirs)
			if e.guards.only = v.guarded; v.guarded || v.dirs > 0 {
				e.mendGuarded()
			}
			for i := range n {
				what := e.step(i)
				if v.damaged && e.rng.IntN(2) == 0 {
					what += "; " + e.damage()
				}
				e.compare(fmt.Sprintf("seed %d, step %d: %s", s, i, what))
				if i == n-1 {
					t.Log(e.worth())
					t.Log(e.guardWorth())
				}
				if t.Failed() {
					t.Fatalf("last steps:\n%s", strings.Join(e.log[max(0, len(e.log)-6):], "\n"))
				}
			}
		})
	}
}

// editor is a random tree in two places.
type editor struct {
	t       *testing.T
	rng     *rand.Rand
	settled bool
	start   time.Time
	clock   time.Time
	// places are the tree and its copy. The copy lies deeper, so that paths that
	// climb above the root have another length there.
	places  [2]string
	scratch string
	log     []string
	// wide is how many directories lie in "many"; then the questions are about the
	// whole tree.
	wide int
	// fetched says which of moduleVariants lies in the store for each module, lock
	// what the lock file says.
	fetched map[gitModule]int
	lock    pin.Lock
	// refusing is set when the last question for a map was refused, plain when no
	// imported text was in its answer.
	refusing, plain bool
	tally           tally
	// last is the last question about a map, which is often asked again.
	last question
	// lastWide is the last one about the whole tree; primed is set when it was asked
	// before an edit.
	lastWide question
	primed   bool
	// kept are workspaces that go on while everything changes, one for each user.
	kept map[string]*mwp.Workspace
	// guards is in consistency_guards_test.go.
	guards guardSide
}

func newEditor(t *testing.T, seed uint64, settled bool) *editor {
	dir := t.TempDir()
	e := &editor{t: t, rng: rand.New(rand.NewPCG(seed, 0)), settled: settled, scratch: filepath.Join(dir, "scratch"), fetched: map[gitModule]int{}, kept: map[string]*mwp.Workspace{}, guards: newGuardSide(dir)}
	e.start = time.Now()
	e.clock = e.start
	e.places = [2]string{filepath.Join(dir, "a", "tree"), filepath.Join(dir, "b", "c", "d", "tree")}
	for _, d := range []string{".mwp/intents", "pkg/app/src", "pkg/lib", "svc/api", "docs"} {
		e.each(func(root string) error { return os.MkdirAll(filepath.Join(root, d), 0o755) })
	}
	e.mendContexts()
	e.mendImports()
	e.mendGuards()
	return e
}

// widen makes directories for a scan to look into.
func (e *editor) widen(dirs int) {
	e.wide = dirs
	for i := range dirs {
		dir := fmt.Sprintf("many/%d", i)
		e.each(func(root string) error { return os.MkdirAll(filepath.Join(root, dir), 0o755) })
		e.stamp(dir)
	}
	e.stampUp("many")
}

func (e *editor) each(f func(root string) error) {
	e.t.Helper()
	for _, p := range e.places {
		if err := f(p); err != nil {
			e.t.Fatal(err)
		}
	}
}

// stamp gives a path of this step its own modification time, as if minutes lay
// between steps. In the young variant times stay as the system set them.
func (e *editor) stamp(path string) {
	if !e.settled {
		return
	}
	at := e.clock.Add(-30 * time.Second)
	e.each(func(root string) error {
		p := filepath.Join(root, path)
		if fi, err := os.Lstat(p); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
			return os.Chtimes(p, at, at)
		}
		return nil
	})
}

func (e *editor) write(path, text string) {
	e.each(func(root string) error {
		p := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return nil // the parent is a file now: the edit does not apply
		}
		if fi, err := os.Lstat(p); err == nil && !fi.Mode().IsRegular() {
			return nil
		}
		return os.WriteFile(p, []byte(text), 0o644)
	})
	e.stampUp(path)
}

func (e *editor) stampUp(path string) {
	for p := path; ; p = filepath.Dir(p) {
		e.stamp(p)
		if p == "." {
			return
		}
	}
}

var (
	editDirs  = []string{".", "pkg", "pkg/app", "pkg/app/src", "pkg/lib", "svc", "svc/api", "docs", "new", "new/deep"}
	editNames = []string{".mwp-context.md", ".mwp-context.md", ".mwp-context.md", ".mwp-context.yaml", "AGENTS.md", "CLAUDE.md", ".mwp", "main.go", "main_test.go", "rules.md"}
	configs   = []string{
		"", "name = \"x\"\n", "name = \"x\"\ndescription = \"words\"\n[signals]\ntests = true\n",
		"description = \"d\"\nmembers = [\"pkg/*\"]\n",
		"name = \"x\"\nmembers = [\"mods/m\", \"svc\"]\n[modules]\nallow = [\"https://example.com/o\"]\n",
		"members = [\"pkg/app\", \"svc\"]\n[budgets]\nl1 = 5\npolicy = \"drop\"\n",
		"[boundary]\nmode = \"soft\"\n", "[boundary]\nmode = \"transparent\"\n", "[boundary]\nfiles = [\"rules.md\"]\n",
		"[render]\nwindow = 1\n", "[tokens]\ncounter = \"approx/1\"\n", "[modules]\nallow = [\"https://example.com/p/\"]\n", "[modules]\nallow = []\n",
		"[directories]\n\"svc\" = { role = \"services\", stack = [\"go\"] }\n\"docs\" = { role = \"papers\" }\n",
		"name = 3\n", "not toml", "nmae = \"typo\"\n",
	}
	// soundConfigs of configs leave every question with an answer.
	soundConfigs = configs[:5]
	headers      = []string{
		"", "---\n---\n", "---\nlayer: 3\n---\n", "---\nscope: local\n---\n", "---\nwindow: 1\n---\n", "---\npriority: 80\nowners: [a]\n---\n",
		"---\nmax_tokens: 3\n---\n", "---\nlayer: 9\n---\n", "---\nlayer: 2\n", "---\nguards:\n  - cmd: ./check.sh\n    verified_paths: [docs/*.md, rules.md]\n---\n",
	}
	bodies = []string{
		"", "Text.\n", "Text!\n", "Other words in this body.\n", "# Heading\n\n- a\n- b\n", "日本語の本文。\n",
		"See <!-- not shown --> here.\n", "<!-- mwp workspace map | pasted -->\n",
	}
)

func pick[T any](e *editor, from []T) T { return from[e.rng.IntN(len(from))] }

// content returns text for a file of some name.
func (e *editor) content(name string) string {
	switch {
	case strings.HasSuffix(name, ".yaml"):
		return pick(e, []string{"description: from yaml\n", "layer: 1\ndescription: |\n  more\n", "layer: x\n", "description: ''\n", "schema: 1\nimports:\n  - local: rules.md\ndescription: imports\n"})
	case name == ".mwp" || name == "config.toml":
		return pick(e, configs)
	case name == ".mwp-context.md" && e.rng.IntN(2) == 0:
		return e.importing() + pick(e, bodies)
	case name == ".mwp-context.md":
		return pick(e, headers) + pick(e, bodies)
	}
	return pick(e, bodies)
}

// edit is something that a step can do. It returns what it did.
type edit struct {
	weight int
	do     func(e *editor) string
}

// edits are what a step can do.
var edits = []edit{
	{7, (*editor).writeAny},
	{2, (*editor).writeState},
	{1, func(e *editor) string { return e.sameSize(e.anyPath()) }},
	{5, (*editor).sameSizeKnown},
	{3, (*editor).remove},
	{1, (*editor).rename},
	{2, (*editor).link},
	{1, func(e *editor) string { path := e.anyPath(); e.stamp(path); return "touch " + path }},
	{1, (*editor).chmod},
	{1, (*editor).unrelated},
	{3, (*editor).toggleAnchor},
	{2, (*editor).mend},
	{5, (*editor).editContext},
	{6, (*editor).editImported},
	{3, (*editor).editManifest},
	{6, (*editor).editIndex},
	{4, (*editor).linkImported},
	{5, (*editor).editLock},
	{5, (*editor).editModule},
	{4, (*editor).editIgnore},
	{3, (*editor).editRepository},
	{4, (*editor).editAllow},
	{12, (*editor).editGuards},
	{6, (*editor).editTests},
}

// step applies one random edit to both places and moves the clock.
func (e *editor) step(i int) string {
	if e.settled {
		e.clock = e.start.Add(time.Duration(i+1) * time.Minute)
	} else {
		e.clock = time.Now()
	}
	if i%100 == 99 {
		// An emptied cache is a state of its own, and keeps the copies small.
		os.RemoveAll(filepath.Join(e.places[0], ".mwp", "cache"))
	}
	what := ""
	switch {
	case e.guards.only && e.guards.none && e.rng.IntN(2) == 0:
		what = e.mendGuarded()
	case e.guards.only && e.rng.IntN(8) > 0, e.wide > 0 && e.rng.IntN(2) == 0:
		what = e.editGuards()
	case e.refusing && e.rng.IntN(2) == 0, e.plain && e.rng.IntN(5) == 0:
		// Edits break more than they mend, and what is broken hides what is below it.
		what = e.mend()
	case e.wide > 0 && e.rng.IntN(6) > 0:
		what = e.editMany()
	default:
		what = e.anyEdit()
	}
	e.log = append(e.log, what)
	return what
}

func (e *editor) anyEdit() string {
	return e.oneOf(edits)
}

func (e *editor) oneOf(edits []edit) string {
	total := 0
	for _, o := range edits {
		total += o.weight
	}
	n := e.rng.IntN(total)
	for _, o := range edits {
		if n -= o.weight; n < 0 {
			return o.do(e)
		}
	}
	panic("editor.oneOf: the weights have another sum")
}

func (e *editor) anyPath() string { return filepath.Join(pick(e, editDirs), pick(e, editNames)) }

func (e *editor) writeAny() string {
	path := e.anyPath()
	text := e.content(filepath.Base(path))
	e.write(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

// editTests makes or removes a source file and its test, or has maps look for them.
func (e *editor) editTests() string {
	if e.rng.IntN(4) == 0 {
		e.replace(".mwp/config.toml", soundConfigs[2])
		return "ask for signals"
	}
	path := pick(e, []string{"pkg/app/src/main.go", "pkg/app/src/main_test.go", "pkg/app/src/main_test.go"})
	if _, err := os.Lstat(filepath.Join(e.places[0], path)); err == nil && (path != "pkg/app/src/main.go" || e.rng.IntN(4) == 0) {
		e.delete(path)
		return "remove " + path
	}
	e.write(path, "x\n")
	return "write " + path
}

func (e *editor) writeState() string {
	path := pick(e, []string{".mwp/config.toml", ".mwp/config.toml", ".mwp/intents/plan.md", ".mwp/pipelines/ship.md", ".mwp/topology.md"})
	text := e.content(filepath.Base(path))
	e.write(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

func (e *editor) sameSizeKnown() string {
	paths := append([]string{"pkg/.mwp-context.md", "pkg/app/.mwp-context.md", "svc/.mwp-context.md", ".mwp/config.toml", ".mwp/modules.lock", ".gitignore"}, importables...)
	for m := range e.fetched {
		paths = append(paths, m.list(), m.file("part.md"))
	}
	slices.Sort(paths)
	return e.sameSize(pick(e, paths))
}

// delete removes a path, whatever it is.
func (e *editor) delete(path string) {
	e.each(func(root string) error { os.RemoveAll(filepath.Join(root, path)); return nil })
	e.stampUp(filepath.Dir(path))
}

// replace writes a file where something else may stand.
func (e *editor) replace(path, text string) {
	if fi, err := os.Lstat(filepath.Join(e.places[0], path)); err == nil && !fi.Mode().IsRegular() {
		e.delete(path)
	}
	e.write(path, text)
}

// tick lets the clock move on that files get their change times from. It goes in steps
// of some milliseconds, and of more on a machine that is busy.
func (e *editor) tick() {
	stamp := func() time.Time {
		name := filepath.Join(filepath.Dir(e.scratch), "clock")
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			e.t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			e.t.Fatal(err)
		}
		return fi.ModTime()
	}
	for began := stamp(); stamp().Equal(began); {
		time.Sleep(time.Millisecond)
	}
}

// symlink puts a link in the place of whatever stands there.
func (e *editor) symlink(target, path string) {
	if e.settled {
		// A link's times cannot be set.
		e.tick()
	}
	e.each(func(root string) error {
		p := filepath.Join(root, path)
		os.RemoveAll(p)
		os.MkdirAll(filepath.Dir(p), 0o755)
		os.Symlink(target, p)
		return nil
	})
	e.stampUp(filepath.Dir(path))
}

// toggle removes what stands at a path, or writes a file there.
func (e *editor) toggle(path, text string) {
	if _, err := os.Lstat(filepath.Join(e.places[0], path)); err == nil {
		e.delete(path)
	} else {
		e.write(path, text)
	}
}

func (e *editor) remove() string {
	path := e.anyPath()
	victim := pick(e, []string{path, path, ".mwp/config.toml", ".mwp/intents/plan.md", filepath.Dir(path)})
	if victim == "." {
		victim = path
	}
	e.delete(victim)
	return "remove " + victim
}

func (e *editor) rename() string {
	from, to := pick(e, editDirs[1:]), pick(e, editDirs[1:])
	if !strings.HasPrefix(to+"/", from+"/") && !strings.HasPrefix(from+"/", to+"/") {
		e.each(func(root string) error {
			os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755)
			os.Rename(filepath.Join(root, from), filepath.Join(root, to))
			return nil
		})
		e.stampUp(filepath.Dir(from))
		e.stampUp(filepath.Dir(to))
	}
	return fmt.Sprintf("rename %s to %s", from, to)
}

func (e *editor) link() string {
	target := pick(e, []string{"rules.md", "../.mwp-context.md", "../docs", "../../../outside", "link", ".", "gone"})
	path := filepath.Join(pick(e, editDirs), pick(e, []string{".mwp-context.md", "link", "src", "AGENTS.md"}))
	e.symlink(target, path)
	return fmt.Sprintf("link %s to %s", path, target)
}

func (e *editor) chmod() string {
	path := e.anyPath()
	e.each(func(root string) error { os.Chmod(filepath.Join(root, path), 0o755); return nil })
	return "chmod " + path
}

func (e *editor) unrelated() string {
	dir := pick(e, editDirs)
	e.write(filepath.Join(dir, fmt.Sprintf("unrelated%d", e.rng.IntN(3))), "x")
	return "unrelated file in " + dir
}

// toggleAnchor makes another root, or another sub-project, or takes it away.
func (e *editor) toggleAnchor() string {
	path := pick(e, []string{"pkg/.mwp", "pkg/app/.mwp", "svc/.mwp", "../.mwp", "../.mwp"})
	e.toggle(path, pick(e, append([]string{"members = [\"tree\"]\n", "members = [\"other\"]\n"}, configs[:4]...)))
	return "toggle " + path
}

// mend takes back what earlier edits broke, so that most questions have an answer.
func (e *editor) mend() string {
	switch e.rng.IntN(3) {
	case 0:
		e.mendContexts()
		return "mend the contexts"
	case 1:
		e.mendImports()
		return "mend the imports"
	}
	e.mendContexts()
	e.mendImports()
	e.mendGuards()
	return "mend everything"
}

func (e *editor) mendContexts() {
	for _, d := range editDirs {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".mwp-context.yaml", ".mwp-context.md", "link", ".mwp"} {
			fi, err := os.Lstat(filepath.Join(e.places[0], d, name))
			if err == nil && (name != ".mwp" || d != "." || !fi.IsDir()) {
				e.delete(filepath.Join(d, name))
			}
		}
	}
	e.delete("../.mwp")
	e.replace(".mwp/config.toml", pick(e, soundConfigs))
	for _, d := range []string{"pkg", "pkg/app", "svc"} {
		text := pick(e, headers[:6])
		if e.rng.IntN(3) > 0 {
			text = e.importing()
		}
		e.replace(d+"/.mwp-context.md", text+pick(e, bodies[1:]))
	}
}

// sameSize rewrites a file with other bytes of the same number and puts its
// modification time back. Only its change time can tell; the write is repeated
// until the system's clock has moved on, as it would between two of a person's.
func (e *editor) sameSize(path string) string {
	e.each(func(root string) error {
		p := filepath.Join(root, path)
		before, err := os.Lstat(p)
		if err != nil || !before.Mode().IsRegular() || before.Size() == 0 {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		b[len(b)-1] ^= 1
		if e.settled {
			e.tick()
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			return err
		}
		return os.Chtimes(p, before.ModTime(), before.ModTime())
	})
	return "rewrite " + path + " with equal size and time"
}

// damage evicts or damages something in the tree's cache.
func (e *editor) damage() string {
	var files []string
	filepath.WalkDir(filepath.Join(e.places[0], ".mwp", "cache"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(p, ".lock") {
			files = append(files, p)
		}
		return nil
	})
	if len(files) == 0 {
		return "nothing to damage"
	}
	slices.Sort(files)
	p := pick(e, files)
	if slots := filepath.Join(e.places[0], ".mwp", "cache", "v1", "slots"); e.rng.IntN(2) == 0 {
		// The slot written last is the one most likely to be asked for again.
		newest := time.Time{}
		for _, f := range files {
			if fi, err := os.Stat(f); err == nil && filepath.Dir(f) == slots && fi.ModTime().After(newest) {
				p, newest = f, fi.ModTime()
			}
		}
	}
	b, err := os.ReadFile(p)
	if err != nil {
		return "nothing to damage"
	}
	switch e.rng.IntN(4) {
	case 0:
		os.Remove(p)
	case 1:
		os.WriteFile(p, b[:e.rng.IntN(len(b)+1)], 0o644)
	case 2:
		if len(b) > 0 {
			b[e.rng.IntN(len(b))] ^= byte(1 << e.rng.IntN(8))
			os.WriteFile(p, b, 0o644)
		}
	case 3:
		clear(b)
		os.WriteFile(p, b, 0o644)
	}
	return "damage " + filepath.Base(p)
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if fi, err := os.Stat(filepath.Dir(to)); err != nil || !fi.IsDir() {
		return
	}
	os.RemoveAll(to)
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		rel, _ := filepath.Rel(from, p)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameBytesEveryTime is R-001 over what may differ between two clones: path,
// creation order, number of processors, environment.
func TestSameBytesEveryTime(t *testing.T) {
	files := [][2]string{
		{".mwp/config.toml", "name = \"x\"\ndescription = \"d\"\n[directories]\n\"zeta\" = { role = \"r\" }\n\"Beta\" = { role = \"r\" }\n\"a-1\" = {}\n\"a\" = {}\n"},
		{"a/.mwp-context.md", "A\n"}, {"a/b/.mwp-context.md", "---\nlayer: 1\n---\nB\n"}, {"a/b/c/.mwp-context.md", "---\nlayer: 1\npriority: 60\n---\nC\n"},
		{"a/b/c/x.go", "x"}, {"zeta/AGENTS.md", "x"}, {".mwp/intents/one.md", ""}, {".mwp/intents/two.md", ""},
	}
	var want []byte
	for i := range 30 {
		root := filepath.Join(t.TempDir(), strings.Repeat("d/", i%3), "clone")
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		for _, j := range rng.Perm(len(files)) {
			p := filepath.Join(root, files[j][0])
			os.MkdirAll(filepath.Dir(p), 0o755)
			if err := os.WriteFile(p, []byte(files[j][1]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var got []byte
		for _, target := range []string{"", "a/b/c/x.go"} {
			for _, f := range []nodes.Format{nodes.JSON, nodes.MarkdownText} {
				r, err := mwp.Open(mwp.Options{Dir: root}).Map(context.Background(), mwp.Request{Target: target, Format: f, NoRoot: true})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Text...)
			}
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("clone %d differs:\n%s\nwant\n%s", i, got, want)
		}
	}
}
