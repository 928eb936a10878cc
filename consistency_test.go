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
)

var (
	steps = flag.Int("steps", 150, "steps of the random-edit test")
	seed  = flag.Uint64("seed", 0, "seed of the random-edit test, 0 for one from the clock")
)

// TestFromScratchConsistency edits a tree at random and, after every step, asks
// for maps in three ways: from the tree's own cache, with an empty cache, and in
// a copy at another path that got a copy of the cache. All three must be equal,
// byte for byte, refusals included.
//
// In the settled variants the clock is moved past the settle time between steps,
// so that the stat-only path is what is tested; in the young one it is not, so
// that the race rule is. The damaged variants also evict and damage cache files.
func TestFromScratchConsistency(t *testing.T) {
	for _, v := range []struct {
		name             string
		settled, damaged bool
	}{
		{"settled", true, false},
		{"young", false, false},
		{"damaged", true, true},
	} {
		t.Run(v.name, func(t *testing.T) {
			n, s := *steps, *seed
			if testing.Short() {
				n = min(n, 60)
			}
			if s == 0 {
				s = uint64(time.Now().UnixNano())
			}
			t.Logf("seed %d, %d steps", s, n)
			e := newEditor(t, s, v.settled)
			for i := range n {
				what := e.step(i)
				if v.damaged && e.rng.IntN(2) == 0 {
					what += "; " + e.damage()
				}
				e.compare(fmt.Sprintf("seed %d, step %d: %s", s, i, what))
				if i == n-1 {
					t.Logf("%d questions: %d refused, %d served from slots, %d of %d changed options changed the answer", e.asked, e.refused, e.served, e.mattered, e.asked/2)
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
	// What the questions were worth: a run in which most are refused, or in which
	// options never matter, tests little.
	asked, refused, served, mattered int
	// last is the last question, which is often asked again.
	last struct {
		target string
		q      mwp.Request
	}
}

func newEditor(t *testing.T, seed uint64, settled bool) *editor {
	dir := t.TempDir()
	e := &editor{t: t, rng: rand.New(rand.NewPCG(seed, 0)), settled: settled, scratch: filepath.Join(dir, "scratch")}
	e.start = time.Now()
	e.clock = e.start
	e.places = [2]string{filepath.Join(dir, "a", "tree"), filepath.Join(dir, "b", "c", "d", "tree")}
	for _, d := range []string{".mwp/intents", "pkg/app/src", "pkg/lib", "svc/api", "docs"} {
		e.each(func(root string) error { return os.MkdirAll(filepath.Join(root, d), 0o755) })
	}
	e.write(".mwp/config.toml", "name = \"x\"\n")
	return e
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
	editNames = []string{".mwp-context.md", ".mwp-context.md", ".mwp-context.md", ".mwp-context.yaml", "AGENTS.md", "CLAUDE.md", ".mwp", "main.go", "rules.md"}
	configs   = []string{
		"", "name = \"x\"\n", "name = \"x\"\ndescription = \"words\"\n",
		"description = \"d\"\nmembers = [\"pkg/*\"]\n",
		"members = [\"pkg/app\", \"svc\"]\n[budgets]\nl1 = 5\npolicy = \"drop\"\n",
		"[boundary]\nmode = \"soft\"\n", "[boundary]\nmode = \"transparent\"\n", "[boundary]\nfiles = [\"rules.md\"]\n",
		"[render]\nwindow = 1\n", "[tokens]\ncounter = \"approx/1\"\n",
		"[directories]\n\"svc\" = { role = \"services\", stack = [\"go\"] }\n\"docs\" = { role = \"papers\" }\n",
		"name = 3\n", "not toml", "nmae = \"typo\"\n",
	}
	headers = []string{
		"", "---\n---\n", "---\nlayer: 3\n---\n", "---\nscope: local\n---\n", "---\nwindow: 1\n---\n", "---\npriority: 80\nowners: [a]\n---\n",
		"---\nmax_tokens: 3\n---\n", "---\nlayer: 9\n---\n", "---\nimports:\n  - local: ./rules.md\n---\n", "---\nlayer: 2\n", "---\nguards:\n  - cmd: make test\n---\n",
	}
	bodies = []string{"", "Text.\n", "Text!\n", "Other words in this body.\n", "# Heading\n\n- a\n- b\n", "日本語の本文。\n"}
)

func pick[T any](e *editor, from []T) T { return from[e.rng.IntN(len(from))] }

// content returns text for a file of some name.
func (e *editor) content(name string) string {
	switch {
	case strings.HasSuffix(name, ".yaml"):
		return pick(e, []string{"description: from yaml\n", "layer: 1\ndescription: |\n  more\n", "layer: x\n", "description: ''\n"})
	case name == ".mwp" || name == "config.toml":
		return pick(e, configs)
	case name == ".mwp-context.md":
		return pick(e, headers) + pick(e, bodies)
	}
	return pick(e, bodies)
}

// step applies one random edit to both places and moves the clock.
func (e *editor) step(i int) string {
	if e.settled {
		e.clock = e.start.Add(time.Duration(i+1) * time.Minute)
	} else {
		e.clock = time.Now()
	}
	dir := pick(e, editDirs)
	name := pick(e, editNames)
	path := filepath.Join(dir, name)
	what := ""
	if i%100 == 99 {
		// An emptied cache is a state of its own, and keeps the copies small.
		os.RemoveAll(filepath.Join(e.places[0], ".mwp", "cache"))
	}
	switch op := e.rng.IntN(34); {
	case op >= 31:
		// An anchor appears or goes: another root, or another sub-project.
		path = pick(e, []string{"pkg/.mwp", "pkg/app/.mwp", "svc/.mwp", "../.mwp", "../.mwp"})
		if _, err := os.Lstat(filepath.Join(e.places[0], path)); err == nil {
			e.each(func(root string) error { os.RemoveAll(filepath.Join(root, path)); return nil })
			e.stampUp(filepath.Dir(path))
		} else {
			e.write(path, pick(e, append([]string{"members = [\"tree\"]\n", "members = [\"other\"]\n"}, configs[:4]...)))
		}
		what = "toggle " + path
	case op >= 28:
		path = pick(e, []string{"pkg/.mwp-context.md", "pkg/app/.mwp-context.md", "svc/.mwp-context.md", ".mwp/config.toml"})
		what = e.sameSize(path)
	case op >= 20:
		// Mend what earlier edits broke, so that most questions have an answer.
		for _, d := range editDirs {
			e.each(func(root string) error {
				for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".mwp-context.yaml", ".mwp-context.md", "link", ".mwp"} {
					p := filepath.Join(root, d, name)
					if fi, err := os.Lstat(p); err == nil && (name != ".mwp" || d != "." || !fi.IsDir()) {
						os.RemoveAll(p)
					}
				}
				return nil
			})
			e.stampUp(d)
		}
		e.each(func(root string) error { os.Remove(filepath.Join(root, "../.mwp")); return nil })
		e.write(".mwp/config.toml", configs[e.rng.IntN(4)])
		for _, d := range []string{"pkg", "pkg/app", "svc"} {
			e.write(d+"/.mwp-context.md", pick(e, headers[:6])+pick(e, bodies[1:]))
		}
		what = "mend"
	case op < 8:
		text := e.content(name)
		e.write(path, text)
		what = fmt.Sprintf("write %s %q", path, text)
	case op < 10:
		path = pick(e, []string{".mwp/config.toml", ".mwp/config.toml", ".mwp/intents/plan.md", ".mwp/pipelines/ship.md", ".mwp/topology.md"})
		text := e.content(filepath.Base(path))
		e.write(path, text)
		what = fmt.Sprintf("write %s %q", path, text)
	case op < 11:
		what = e.sameSize(path)
	case op < 14:
		victim := pick(e, []string{path, path, ".mwp/config.toml", ".mwp/intents/plan.md", dir})
		if victim == "." {
			victim = path
		}
		e.each(func(root string) error { os.RemoveAll(filepath.Join(root, victim)); return nil })
		e.stampUp(filepath.Dir(victim))
		what = "remove " + victim
	case op < 15:
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
		what = fmt.Sprintf("rename %s to %s", from, to)
	case op < 17:
		target := pick(e, []string{"rules.md", "../.mwp-context.md", "../docs", "../../../outside", "link", ".", "gone"})
		link := filepath.Join(dir, pick(e, []string{".mwp-context.md", "link", "src", "AGENTS.md"}))
		if e.settled {
			// A link's times cannot be set: let the kernel's clock move on instead.
			time.Sleep(12 * time.Millisecond)
		}
		e.each(func(root string) error {
			p := filepath.Join(root, link)
			os.RemoveAll(p)
			os.MkdirAll(filepath.Dir(p), 0o755)
			os.Symlink(target, p)
			return nil
		})
		e.stampUp(filepath.Dir(link))
		what = fmt.Sprintf("link %s to %s", link, target)
	case op < 18:
		e.stamp(path)
		what = "touch " + path
	case op < 19:
		e.each(func(root string) error { os.Chmod(filepath.Join(root, path), 0o755); return nil })
		what = "chmod " + path
	default:
		e.write(filepath.Join(dir, fmt.Sprintf("unrelated%d", e.rng.IntN(3))), "x")
		what = "unrelated file in " + dir
	}
	e.log = append(e.log, what)
	return what
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
			// One tick of the kernel's clock: change times are no finer than that.
			time.Sleep(12 * time.Millisecond)
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

// request returns a random question.
func (e *editor) request() (target string, q mwp.Request) {
	target = pick(e, []string{
		"", ".", "pkg/app/src/main.go", "pkg/app", "pkg/app/src", "pkg/lib/x.go", "svc/api/new.go", "svc/api", "docs", "docs/link/x",
		"new/deep/f", ".mwp/intents/plan.md", "pkg/link", "svc/src/main.go",
	})
	q.NoRoot = true
	q.Format = pick(e, []nodes.Format{nodes.JSON, nodes.JSON, nodes.MarkdownText, nodes.ExplainText, nodes.ClaudeText})
	if e.rng.IntN(5) == 0 {
		q.Window = nodes.OptionalInt{Set: true, Value: e.rng.IntN(3)}
	}
	if e.rng.IntN(5) == 0 {
		q.Overrides.Caps[1] = nodes.CapOverride{Set: true, Cap: nodes.Cap{Limited: true, Tokens: 1 + e.rng.IntN(20)}}
	}
	return target, q
}

func (e *editor) ask(root, target string, q mwp.Request, o mwp.Options) string {
	o.Dir, o.Now = root, func() time.Time { return e.clock }
	if target != "" {
		q.Target = filepath.Join(root, target)
	}
	r, err := mwp.Open(o).Map(context.Background(), q)
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), root, "ROOT")
	}
	if err := r.Record(); err != nil {
		e.t.Logf("record: %v", err)
	}
	if r.Served {
		e.served++
	}
	var b strings.Builder
	b.Write(r.Text)
	for _, n := range r.Notices {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// compare asks the same questions in three ways.
func (e *editor) compare(what string) {
	e.t.Helper()
	copyTree(e.t, filepath.Join(e.places[0], ".mwp", "cache"), filepath.Join(e.places[1], ".mwp", "cache"))
	target, q := e.request()
	if e.last.target != "" && e.rng.IntN(2) == 0 {
		target, q = e.last.target, e.last.q
	}
	e.last.target, e.last.q = target, q
	before := ""
	for i := range 2 {
		if i == 1 {
			// The same question with one option changed right after it: an option that is
			// missing from a key would be served the other's answer.
			if e.rng.IntN(2) == 0 {
				q.Window = nodes.OptionalInt{Set: true, Value: e.rng.IntN(3)}
			} else {
				q.Overrides.Caps[e.rng.IntN(3)] = nodes.CapOverride{Set: true, Cap: nodes.Cap{Limited: true, Tokens: 1 + e.rng.IntN(20)}}
			}
		}
		os.RemoveAll(e.scratch)
		want := e.ask(e.places[0], target, q, mwp.Options{CacheDir: e.scratch, Fresh: true})
		e.asked++
		if strings.HasPrefix(want, "error: ") {
			e.refused++
		}
		if i == 1 && want != before {
			e.mattered++
		}
		before = want
		for _, way := range []struct{ name, root string }{
			{"cached", e.places[0]}, {"cached again", e.places[0]}, {"moved", e.places[1]},
		} {
			if got := e.ask(way.root, target, q, mwp.Options{}); got != want {
				e.t.Errorf("%s\n%s answer for %q %+v differs\n got: %s\nwant: %s", what, way.name, target, q, got, want)
			}
		}
	}
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
