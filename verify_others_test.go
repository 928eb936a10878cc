package mwp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// guarded is a workspace with an allowed guard in g, another workspace in nested with one of
// its own, and a user. A guard that runs leaves a file of its name.
type guarded struct {
	tree
	user string
	now  func() time.Time
}

const guardedConfig = "name = \"p\"\ndescription = \"d\"\n\n[trust]\nallowed_guards = [\"sh ./ok.sh\"]\n"

func guardedTree(t *testing.T) *guarded {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT CHECKED: the guards of this test are shell scripts")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &guarded{tree: tree{t, filepath.Join(dir, "p")}, user: filepath.Join(dir, "user"), now: time.Now}
	f.write(".mwp/config.toml", guardedConfig)
	f.write("nested/.mwp", guardedConfig)
	for _, name := range []string{"g", "nested"} {
		f.write(name+"/.mwp-context.md", "---\nguards:\n  - cmd: sh ./ok.sh\n---\nGuarded.\n")
		f.write(name+"/ok.sh", "touch ran\n")
	}
	f.write("a/.mwp-context.md", "rules of a\n")
	return f
}

func (f *guarded) open() *Workspace {
	f.t.Helper()
	return served(f.t, Options{Guards: GuardOptions{UserDir: f.user, Now: f.now, Env: []string{"PATH=" + os.Getenv("PATH")}}}, f.root)
}

// ran reports whether the guard of a directory ran, and forgets it.
func (f *guarded) ran(name string) bool {
	return os.Remove(filepath.Join(f.root, name, "ran")) == nil
}

func (f *guarded) trust(w *Workspace, trusts bool) {
	f.t.Helper()
	if err := w.TrustWorkspace(f.t.Context(), trusts); err != nil {
		f.t.Fatal(err)
	}
}

// refused runs guards for others and checks that none ran and why.
func (f *guarded) refused(w *Workspace, why string, targets ...string) {
	f.t.Helper()
	r, err := w.Verify(f.t.Context(), VerifyRequest{Targets: targets, ForOthers: true, TrustAdHoc: true})
	d := findingOf(err)
	if r != nil || d.Code != ir.GuardNotTrusted || !strings.Contains(d.Message, why) || !strings.Contains(d.Hint, "mwp verify") {
		f.t.Errorf("Verify of %q for others = %v, want that %s", targets, err, why)
	}
	for _, name := range []string{"g", "nested"} {
		if f.ran(name) {
			f.t.Errorf("the guard of %s ran", name)
		}
	}
}

// passes runs guards for others and checks that that of g ran.
func (f *guarded) passes(w *Workspace, targets ...string) {
	f.t.Helper()
	r, err := w.Verify(f.t.Context(), VerifyRequest{Targets: targets, ForOthers: true})
	if err != nil {
		f.t.Fatal(err)
	}
	if !r.Report.OK() || !f.ran("g") || f.ran("nested") {
		f.t.Errorf("Verify of %q for others: %+v", targets, r.Report)
	}
}

// TestVerifyForOthers: a program that acts for somebody else runs guards only where this
// user let it, and only those of the workspace that the user spoke of (D-109). Who asks for
// himself needs nobody's trust.
func TestVerifyForOthers(t *testing.T) {
	f := guardedTree(t)
	w := f.open()
	if r, err := w.Verify(t.Context(), VerifyRequest{Targets: []string{"g"}}); err != nil || !r.Report.OK() || !f.ran("g") {
		t.Fatalf("Verify for oneself = %+v, %v", r, err)
	}
	for _, targets := range [][]string{nil, {"g"}, {"g/x"}, {"a", "g"}} {
		f.refused(w, "nobody has let other programs run the guards of "+f.root+" yet", targets...)
	}
	// What starts no program needs nobody's word.
	f.write("s/.mwp-context.md", "---\nguards:\n  - exists: ./must.txt\n---\nChecked.\n")
	f.write("s/must.txt", "")
	for target, checks := range map[string]int{"s": 1, "a": 0, ".": 0} {
		r, err := w.Verify(t.Context(), VerifyRequest{Targets: []string{target}, ForOthers: true})
		if err != nil || !r.Report.OK() || len(r.Report.Guards) != checks {
			t.Errorf("Verify of %s, where no program starts: %+v, %v", target, r, err)
		}
	}
	f.trust(w, true)
	f.passes(w)
	f.passes(w, "g")
	f.passes(w, "g/x", "a", ".")
	f.trust(w, false)
	f.refused(w, "this user does not let other programs run the guards of "+f.root, "g")
	f.trust(w, true)
	f.passes(w, "g")
	// Another process sees the same.
	f.passes(f.open(), "g")
}

// TestVerifyForOthersOutdated: what was said holds for the [trust] tables that there were,
// also for a workspace that is open, and again when they are as they were.
func TestVerifyForOthersOutdated(t *testing.T) {
	f := guardedTree(t)
	w := f.open()
	f.trust(w, true)
	f.passes(w, "g")
	const why = "the [trust] tables of"
	f.write(".mwp/config.toml", strings.Replace(guardedConfig, `"sh ./ok.sh"`, `"sh ./ok.sh", "sh ./more.sh"`, 1))
	f.refused(w, why, "g")
	f.refused(f.open(), why, "g")
	// Something else in the file is no table of trust.
	f.write(".mwp/config.toml", strings.Replace(guardedConfig, `"d"`, `"another text"`, 1))
	f.passes(w, "g")
	f.write(".mwp/config.toml", guardedConfig)
	f.passes(w, "g")
}

// TestVerifyForOthersMeanwhile: a table that changes while the plan is made is seen before
// anything runs.
func TestVerifyForOthersMeanwhile(t *testing.T) {
	f := guardedTree(t)
	change := func() {}
	f.now = func() time.Time { change(); return time.Now() }
	w := f.open()
	f.trust(w, true)
	f.passes(w, "g")
	changed := 0
	change = func() {
		changed++
		f.write(".mwp/config.toml", strings.Replace(guardedConfig, "\"sh ./ok.sh\"", "\"sh ./ok.sh\", \"sh ./more.sh\"", 1))
	}
	f.refused(w, "the [trust] tables of", "g")
	if changed == 0 {
		t.Error("nothing asked for the time while the plan was made, so nothing was changed")
	}
}

// TestVerifyForOthersNested: a workspace inside of the trusted one has a list of allowed
// guards that nobody spoke of, however it is named.
func TestVerifyForOthersNested(t *testing.T) {
	f := guardedTree(t)
	f.lead("link", "nested")
	w := f.open()
	f.trust(w, true)
	nested := filepath.Join(f.root, "nested")
	for _, target := range []string{"nested", "nested/x", "./a/../nested", nested, "link", "link/x"} {
		where := nested
		if strings.HasPrefix(target, "link") {
			where = filepath.Join(f.root, "link")
		}
		f.refused(w, "the target lies in another workspace, "+where+", whose guards this program does not run", target)
		// One without guards does not hide it.
		f.refused(w, "another workspace", "a", target)
	}
	// A run that would mix both is refused as on the command line.
	for _, targets := range [][]string{{"g", "nested"}, {"nested", "g"}} {
		r, err := w.Verify(t.Context(), VerifyRequest{Targets: targets, ForOthers: true})
		if r != nil || findingOf(err).Code != ir.TargetInvalid || f.ran("g") || f.ran("nested") {
			t.Errorf("Verify of %q = %+v, %v", targets, r, err)
		}
	}
	// Everything is everything of this workspace.
	f.passes(w)
	// Its own trust is asked for where it is the one that is served.
	inner := served(t, Options{Guards: GuardOptions{UserDir: f.user, Env: []string{"PATH=" + os.Getenv("PATH")}}}, nested)
	f.refused(inner, "nobody has let other programs run the guards of "+nested, ".")
	f.trust(inner, true)
	if r, err := inner.Verify(t.Context(), VerifyRequest{ForOthers: true}); err != nil || !r.Report.OK() || !f.ran("nested") {
		t.Errorf("the nested one, trusted: %+v, %v", r, err)
	}
	f.refused(w, "another workspace", "nested")
}

// TestVerifyForOthersUserInside: a repository cannot bring the answer along.
func TestVerifyForOthersUserInside(t *testing.T) {
	f := guardedTree(t)
	f.user = filepath.Join(f.root, "user")
	w := f.open()
	f.refused(w, "this user does not let other programs", "g")
	_ = w.TrustWorkspace(t.Context(), true)
	f.refused(w, "this user does not let other programs", "g")
}

// TestTrusted: what is known is what was said, of the tables of the whole workspace.
func TestTrusted(t *testing.T) {
	const more = "\n[trust]\nallowed_guards = [\"sh ./more.sh\"]\n"
	const config = "name = \"p\"\ndescription = \"d\"\nmembers = [\"m\"]\n"
	f := guardedTree(t)
	f.write(".mwp/config.toml", config)
	f.write("m/.mwp", "name = \"m\"\ndescription = \"d\"\n")
	w := f.open()
	state := func(want TrustState, after string) {
		t.Helper()
		if got, err := w.Trusted(t.Context()); got != want || err != nil {
			t.Errorf("after %s: %v, %v, want %v", after, got, err, want)
		}
	}
	state(TrustUnknown, "nothing")
	f.trust(w, true)
	state(TrustGiven, "yes")
	f.write(".mwp/config.toml", config+more)
	state(TrustOutdated, "a table of the root")
	f.write(".mwp/config.toml", config)
	state(TrustGiven, "the old text")
	f.write("m/.mwp", "name = \"m\"\ndescription = \"d\"\n"+more)
	state(TrustOutdated, "a table of a member")
	f.trust(w, true)
	state(TrustGiven, "yes to both")
	f.write("nested/.mwp", "name = \"nested\"\n"+more)
	state(TrustGiven, "a table of another workspace inside")
	f.trust(w, false)
	state(TrustDenied, "no")
}

// TestVerifyForOthersBack: a table that is the agreed one again by the time somebody looks
// lets nothing run that only the other one allowed.
func TestVerifyForOthersBack(t *testing.T) {
	f := guardedTree(t)
	f.write("h/.mwp-context.md", "---\nguards:\n  - cmd: sh ./more.sh\n---\nHostile.\n")
	f.write("h/more.sh", "touch ran\n")
	f.trust(f.open(), true)
	hostile := strings.Replace(guardedConfig, "\"sh ./ok.sh\"", "\"sh ./ok.sh\", \"sh ./more.sh\"", 1)
	for at := 1; ; at++ {
		asked := 0
		f.now = func() time.Time {
			if asked++; asked == at {
				f.write(".mwp/config.toml", guardedConfig)
			}
			return time.Now()
		}
		f.write(".mwp/config.toml", hostile)
		r, err := f.open().Verify(t.Context(), VerifyRequest{Targets: []string{"h"}, ForOthers: true})
		if f.ran("h") {
			t.Fatalf("with the agreed table back at moment %d the guard ran: %+v, %v", at, r, err)
		}
		if asked < at {
			break
		}
	}
}
