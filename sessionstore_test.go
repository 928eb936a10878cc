package mwp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func TestBadSessionID(t *testing.T) {
	for _, id := range []string{"a", "test-delta-1", "A.b_c-9", strings.Repeat("x", 128), "console", "com", "com10"} {
		if reason := BadSessionID(id); reason != "" {
			t.Errorf("%q: %s", id, reason)
		}
	}
	for _, id := range []string{
		"", ".", "..", ".a", "-a", "_a", "a/b", `a\b`, "a:b", "a b", "a\x00", "ä", strings.Repeat("x", 129), "CON", "con", "nul.x", "Com1", "LPT9.json", "aux",
	} {
		if BadSessionID(id) == "" {
			t.Errorf("%q names a session", id)
		}
	}
}

// twoDirs is a workspace with context in the root, a and b.
func twoDirs(t *testing.T) tree {
	f := tree{t, t.TempDir()}
	f.write(".mwp/config.toml", "name = \"p\"\ndescription = \"d\"\n")
	for _, dir := range []string{"a", "b"} {
		f.write(dir+"/.mwp-context.md", "rules of "+dir+"\n")
	}
	return f
}

// turn is one run of the command line: it loads a session, sends, and saves.
type turn struct {
	t *testing.T
	w *Workspace
	s *Session
}

func begin(t *testing.T, f tree) *turn {
	t.Helper()
	w := Open(Options{Dir: f.root, Offline: true})
	t.Cleanup(func() { w.Close() })
	s, err := w.LoadSession("s")
	if err != nil {
		t.Fatal(err)
	}
	return &turn{t, w, s}
}

func (u *turn) send(target string) *ir.Delta {
	u.t.Helper()
	x, err := u.w.Send(u.t.Context(), u.s, Request{Target: target, Format: MarkdownText}, SendOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	x.Delivered()
	return x.Delta
}

func (u *turn) save() {
	u.t.Helper()
	if err := u.w.SaveSession(u.t.Context(), u.s); err != nil {
		u.t.Fatal(err)
	}
}

func stored(t *testing.T, f tree) *ir.SessionRecord {
	t.Helper()
	w := Open(Options{Dir: f.root, Offline: true})
	defer w.Close()
	r, err := w.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recordKeys(r *ir.SessionRecord) (keys []string) {
	for _, s := range r.Seen {
		keys = append(keys, s.Key)
	}
	return keys
}

// Two runs at once: both deliveries are kept.
func TestSessionsMerge(t *testing.T) {
	f := twoDirs(t)
	one, two := begin(t, f), begin(t, f)
	one.send("a")
	two.send("b")
	one.save()
	two.save()
	if d := cmp.Diff([]string{".", "a", "b"}, recordKeys(stored(t, f))); d != "" {
		t.Errorf("seen (-want +got):\n%s", d)
	}
	if n := stored(t, f).CallCount; n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	if d := begin(t, f).send("b/x"); len(d.Sent) != 0 {
		t.Errorf("sent again: %q", d.Sent)
	}
}

// Two runs deliver two versions of a file: nobody knows which the reader saw last, so it
// is sent again.
func TestSessionsDispute(t *testing.T) {
	f := twoDirs(t)
	one := begin(t, f)
	one.send("a")
	f.write("a/.mwp-context.md", "other rules of a\n")
	two := begin(t, f)
	two.send("a")
	two.save()
	one.save()
	if d := cmp.Diff([]string{"."}, recordKeys(stored(t, f))); d != "" {
		t.Errorf("seen (-want +got):\n%s", d)
	}
	if d := begin(t, f).send("a"); !slices.Equal(d.Sent, []string{"a"}) {
		t.Errorf("sent %q, want a", d.Sent)
	}
}

// The reader loses everything while an answer is on its way: the answer is not taken for
// something that the reader has.
func TestSessionsForget(t *testing.T) {
	f := twoDirs(t)
	first := begin(t, f)
	first.send("a")
	first.save()

	late := begin(t, f)
	late.send("b")
	compaction := begin(t, f)
	if n := compaction.s.Clear(); n != 0 {
		t.Errorf("Clear of a session that nobody read = %d", n)
	}
	compaction.save()
	late.save()
	r := stored(t, f)
	if len(r.Seen) != 0 || r.Generation != 1 || r.CallCount != 2 {
		t.Errorf("after the loss: seen %q, generation %d, %d calls", recordKeys(r), r.Generation, r.CallCount)
	}
	if d := begin(t, f).send("a"); d.Reason != ir.DeliverFirst || !slices.Equal(d.Sent, []string{".", "a"}) {
		t.Errorf("after the loss: %+v", d)
	}

	// Removing the record says the same.
	gone := begin(t, f)
	gone.send("a")
	gone.save()
	late = begin(t, f)
	late.send("b")
	if err := late.w.RemoveSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	late.save()
	if r := stored(t, f); len(r.Seen) != 0 {
		t.Errorf("after the record was removed: seen %q", recordKeys(r))
	}
}

// Many runs at once lose nothing and leave nothing half-written.
func TestSessionsAtOnce(t *testing.T) {
	f := twoDirs(t)
	const n = 8
	for i := range n {
		f.write(fmt.Sprintf("d%d/.mwp-context.md", i), "rules\n")
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			w := Open(Options{Dir: f.root, Offline: true})
			defer w.Close()
			s, err := w.LoadSession("s")
			if err != nil {
				t.Error(err)
				return
			}
			x, err := w.Send(context.Background(), s, Request{Target: fmt.Sprintf("d%d", i)}, SendOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			x.Delivered()
			if err := w.SaveSession(context.Background(), s); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if r := stored(t, f); len(r.Seen) != n+1 || r.CallCount != n {
		t.Errorf("seen %q after %d calls", recordKeys(r), r.CallCount)
	}
}

// A session that lies in memory is mirrored while it goes on, and leaves nothing.
func TestSessionSnapshot(t *testing.T) {
	f := twoDirs(t)
	w := Open(Options{Dir: f.root, Offline: true, Keep: 1 << 20})
	defer w.Close()
	s := NewSession("")
	send := func(target string) {
		x, err := w.Send(t.Context(), s, Request{Target: target}, SendOptions{RepeatInFull: true})
		if err != nil {
			t.Fatal(err)
		}
		x.Delivered()
	}
	send("a")
	copied := s.Snapshot()
	send("b")
	if err := w.SaveSession(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Session(t.Context(), s.ID()); err != nil || !slices.Equal(recordKeys(r), []string{".", "a"}) {
		t.Fatalf("mirrored %v, %v", r, err)
	}
	if err := w.SaveSession(t.Context(), s.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Session(t.Context(), s.ID()); err != nil || !slices.Equal(recordKeys(r), []string{".", "a", "b"}) {
		t.Fatalf("mirrored %v, %v", r, err)
	}
	if err := w.DiscardSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var gone *Refusal
	if _, err := w.Session(t.Context(), s.ID()); !errors.As(err, &gone) {
		t.Errorf("after the end: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(f.root, ".mwp/sessions"))
	if err != nil || len(left) != 1 || left[0].Name() != ".gitignore" {
		t.Errorf("left: %v, %v", left, err)
	}
	if one, two := NewSession(""), NewSession(""); one.ID() == two.ID() {
		t.Errorf("two sessions have one id, %s", one.ID())
	}
}

// Sessions do not show up in git status, whatever wrote them first.
func TestSessionsAreIgnored(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git")
	}
	f := twoDirs(t)
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", f.root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", ".")
	u := begin(t, f)
	u.send("a")
	u.save()
	if s := git("status", "--porcelain", "--untracked-files=all"); strings.Contains(s, "??") {
		t.Errorf("git status:\n%s", s)
	}
}

func TestSessionRecordJSON(t *testing.T) {
	f := twoDirs(t)
	u := begin(t, f)
	u.s.SetClient("client \"7\"")
	u.send("")
	u.send("a/x.go")
	u.save()
	r := stored(t, f)
	back, err := ir.ParseSession(ir.AppendSessionJSON(nil, r), "s")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, back); d != "" {
		t.Errorf("the record read again (-want +got):\n%s", d)
	}
	if r.Client != "client \"7\"" || len(r.Calls) != 2 || r.Calls[0].Target != nil || *r.Calls[1].Target != "a/x.go" {
		t.Errorf("the record: %+v", r)
	}
	for _, text := range []string{"", "{", "null", "[]", `{"id": "t"}`, `{"id": "s", "seen": {"a": {}}}`, `{"id": "s", "seen": {"a": {"hash": "x", "dir": ".", "layer": 9, "state": "held"}}}`} {
		if _, err := ir.ParseSession([]byte(text), "s"); err == nil {
			t.Errorf("%q is a record", text)
		}
	}
}

// A reader who had nothing has nothing to lose: no record is made of that.
func TestSessionsForgetNothing(t *testing.T) {
	f := twoDirs(t)
	u := begin(t, f)
	u.s.Clear()
	u.save()
	var gone *Refusal
	if _, err := u.w.Session(t.Context(), "s"); !errors.As(err, &gone) {
		t.Errorf("the session of nobody: %v", err)
	}
}

// A target of more bytes than any path is refused before each of its levels is looked at.
func TestLongTarget(t *testing.T) {
	f := twoDirs(t)
	for _, w := range []*Workspace{Open(Options{Dir: f.root, Offline: true}), Open(Options{Dir: f.root, Offline: true, Keep: 1 << 20})} {
		defer w.Close()
		var misuse *UsageError
		for range 2 {
			_, err := w.Map(t.Context(), Request{Target: strings.Repeat("x/", maxTarget/2) + "x"})
			if !errors.As(err, &misuse) || misuse.Diagnostic.Code != ir.TargetInvalid {
				t.Errorf("a target of %d bytes: %v", maxTarget+1, err)
			}
		}
		if _, err := w.Map(t.Context(), Request{Target: "a/" + strings.Repeat("x", 200)}); err != nil {
			t.Errorf("a long name: %v", err)
		}
	}
}
