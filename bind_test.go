package mwp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// street is a directory with a workspace, house, and what lies beside it: nb is a workspace,
// plain is none, and house-2 begins with the workspace's name.
func street(t *testing.T) (f tree, house string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f = tree{t, filepath.Join(dir, "street")}
	f.write("house/.mwp/config.toml", "name = \"house\"\ndescription = \"d\"\n")
	f.write("house/a/.mwp-context.md", "rules of a\n")
	f.write("house/a/b/.mwp-context.md", "rules of b\n")
	f.write("house/inner/.mwp/config.toml", "name = \"inner\"\ndescription = \"d\"\n")
	f.write("house/inner/.mwp-context.md", "rules of inner\n")
	f.write("house-2/.mwp-context.md", "rules of house-2\n")
	f.write("nb/.mwp/config.toml", "name = \"nb\"\ndescription = \"d\"\n")
	f.write("nb/x/.mwp-context.md", "rules of nb\n")
	f.write("plain/.mwp-context.md", "rules of plain\n")
	f.write("plain/x/.mwp-context.md", "rules of x in plain\n")
	return f, filepath.Join(f.root, "house")
}

// lead makes a link, or ends the test where there are none.
func (f tree) lead(name, to string) {
	f.t.Helper()
	if err := os.Symlink(filepath.FromSlash(to), filepath.Join(f.root, name)); err != nil {
		f.t.Skip(err)
	}
}

// served binds a workspace as a server does, which keeps answers in memory.
func served(t testing.TB, o Options, dirs ...string) *Workspace {
	t.Helper()
	o.Offline, o.Keep = true, 1<<20
	w, err := Bind(t.Context(), o, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// findingOf returns the first finding of an error that has one.
func findingOf(err error) ir.Diagnostic {
	var r *Refusal
	var e *EnvironmentError
	var u *UsageError
	switch {
	case errors.As(err, &r):
		return r.Diagnostics[0]
	case errors.As(err, &e):
		return e.Diagnostic
	case errors.As(err, &u):
		return u.Diagnostic
	}
	return ir.Diagnostic{}
}

// TestBoundFence: no spelling of a place outside of the root has an answer, whatever is
// asked (D-65).
func TestBoundFence(t *testing.T) {
	f, house := street(t)
	f.lead("house/lnb", "../nb")
	f.lead("house/up", "..")
	f.lead("alias", ".")
	up := f.root
	w := served(t, Options{}, house)
	for _, c := range []struct{ target, shown string }{
		{"..", up},
		{"../", up},
		{"../house-2", up + "/house-2"},
		{"a/../../x", up + "/x"},
		{"a/../../house-2/x", up + "/house-2/x"},
		{"./..", up},
		{"a/b/../../..", up},
		{up, up},
		{"/", "/"},
		{up + "/nb", up + "/nb"},
		{up + "/nb/x", up + "/nb/x"},
		{up + "/plain", up + "/plain"},
		{up + "/absent/x", up + "/absent/x"},
		{house + "-2", house + "-2"},
		{house + "-2/x", house + "-2/x"},
		{house + "/../nb/x", up + "/nb/x"},
		{up + "/alias/nb/x", up + "/alias/nb/x"},
		{up + "/alias/house-2", up + "/alias/house-2"},
		{"lnb", house + "/lnb"},
		{"lnb/x", house + "/lnb/x"},
		{"lnb/absent/y", house + "/lnb/absent/y"},
		{house + "/lnb/x", house + "/lnb/x"},
		{up + "/alias/house/lnb/x", up + "/alias/house/lnb/x"},
		{"up/nb/x", house + "/up/nb/x"},
	} {
		want := "the target " + filepath.FromSlash(c.shown) + " is outside the root " + house
		s := NewSession("")
		_, mapped := w.Map(t.Context(), Request{Target: c.target, Format: MarkdownText})
		_, sent := w.Send(t.Context(), s, Request{Target: c.target, Format: MarkdownText}, SendOptions{})
		_, explained := w.Map(t.Context(), Request{Target: c.target, Format: ExplainJSON})
		_, verified := w.Verify(t.Context(), VerifyRequest{Targets: []string{c.target}})
		for call, err := range map[string]error{"Map": mapped, "Send": sent, "explain": explained, "Verify": verified} {
			d := findingOf(err)
			if d.Code != ir.TargetOutsideRoot || d.Message != want || d.Hint != "name a target below the root" {
				t.Errorf("%s of %s = %v, want %s", call, c.target, err, want)
			}
		}
		if len(s.Record().Seen) != 0 {
			t.Errorf("%s: a refused target is in the session", c.target)
		}
	}
}

// TestBoundSpellings: every spelling of a place inside has the answer and the keys of the
// relative one, also where the root itself has another name through a link, as everything
// below /tmp has on macOS.
func TestBoundSpellings(t *testing.T) {
	f, house := street(t)
	f.lead("elsewhere", "house")
	f.lead("alias", ".")
	w := served(t, Options{}, house)
	want, err := w.Map(t.Context(), Request{Target: "a/b/x.go", Format: JSON})
	if err != nil {
		t.Fatal(err)
	}
	if want.Root != house || want.Target != "a/b/x.go" {
		t.Fatalf("the root is %s, the target %s", want.Root, want.Target)
	}
	for _, target := range []string{
		"./a/b/x.go", "a/../a/b/x.go", "a//b/x.go", house + "/a/b/x.go", house + "/../house/a/b/x.go",
		f.root + "/elsewhere/a/b/x.go", f.root + "/alias/house/a/b/x.go", f.root + "/alias/elsewhere/a/b/x.go",
	} {
		r, err := w.Map(t.Context(), Request{Target: target, Format: JSON})
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if diff := cmp.Diff(string(want.Text), string(r.Text)); diff != "" || r.Root != house || r.Target != "a/b/x.go" {
			t.Errorf("%s is %s below %s (-want +got):\n%s", target, r.Target, r.Root, diff)
		}
		s := NewSession("")
		for i, spelled := range []string{target, "a/b/y.go"} {
			x, err := w.Send(t.Context(), s, Request{Target: spelled, Format: MarkdownText}, SendOptions{})
			if err != nil {
				t.Fatal(err)
			}
			x.Delivered()
			sent, skipped := []string{".", "a", "a/b"}, []string(nil)
			if i == 1 {
				sent, skipped = skipped, sent
			}
			if !slices.Equal(x.Delta.Sent, sent) || !slices.Equal(x.Delta.Skipped, skipped) {
				t.Errorf("%s, then %s: sent %q, skipped %q", target, spelled, x.Delta.Sent, x.Delta.Skipped)
			}
		}
	}
}

// TestBoundThroughLink: a server that was started with another name of the root takes both
// names, and keys are the same.
func TestBoundThroughLink(t *testing.T) {
	f, house := street(t)
	f.lead("elsewhere", "house")
	elsewhere := filepath.Join(f.root, "elsewhere")
	w := served(t, Options{}, elsewhere)
	s := NewSession("")
	for i, target := range []string{"a/b", house + "/a/b/x.go", elsewhere + "/a/b/y.go"} {
		x, err := w.Send(t.Context(), s, Request{Target: target, Format: MarkdownText}, SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x.Delivered()
		if got := append(slices.Clone(x.Delta.Sent), x.Delta.Skipped...); !slices.Equal(got, []string{".", "a", "a/b"}) || (i == 0) != (len(x.Delta.Skipped) == 0) {
			t.Errorf("%s: sent %q, skipped %q", target, x.Delta.Sent, x.Delta.Skipped)
		}
	}
	if _, err := w.Map(t.Context(), Request{Target: f.root + "/nb/x"}); findingOf(err).Code != ir.TargetOutsideRoot {
		t.Errorf("outside: %v", err)
	}
}

// TestBoundLinkByName: a link inside the root is looked at by its name, as the command line
// does it: one that stays inside has a map, one that leads outside none. That holds when an
// anchor comes to be where it leads, and goes again, and for a server that has earlier
// answers in memory.
func TestBoundLinkByName(t *testing.T) {
	f, house := street(t)
	f.lead("house/l", "a")
	f.lead("house/a/deep", "../../nb/x")
	w := served(t, Options{}, house)
	command := Open(Options{Dir: house, Offline: true})
	defer command.Close()
	// Answered again and again, it comes from memory.
	ask := func(target string, check func(r *Result, err error)) {
		t.Helper()
		for range 5 {
			r, err := w.Map(t.Context(), Request{Target: target, Format: JSON})
			check(r, err)
			if err == nil {
				r.Record()
			}
		}
	}
	same := func(target string, code ir.Code) {
		t.Helper()
		want, refused := command.Map(t.Context(), Request{Target: target, Format: JSON})
		if findingOf(refused).Code != code {
			t.Fatalf("the command line: %s: %v", target, refused)
		}
		ask(target, func(got *Result, err error) {
			t.Helper()
			if diff := cmp.Diff(findingOf(refused), findingOf(err)); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", target, err, diff)
			} else if err == nil && (string(want.Text) != string(got.Text) || got.Root != house || got.Target != target) {
				t.Errorf("%s: %s below %s (-want +got):\n%s", target, got.Target, got.Root, cmp.Diff(string(want.Text), string(got.Text)))
			}
		})
	}
	outside := func(target string) {
		t.Helper()
		ask(target, func(_ *Result, err error) {
			t.Helper()
			if d := findingOf(err); d.Code != ir.TargetOutsideRoot || !strings.HasSuffix(d.Message, "is outside the root "+house) {
				t.Errorf("%s: %v", target, err)
			}
		})
	}
	lead := func(to string) {
		t.Helper()
		f.remove("house/l")
		f.lead("house/l", to)
	}
	same("l/x", "")
	same("l/b/absent.go", "")
	same("a/deep", ir.TargetOutsideRoot)
	same("a/deep/y.go", ir.TargetOutsideRoot)
	lead("../plain")
	same("l", ir.TargetOutsideRoot)
	same("l/x", ir.TargetOutsideRoot)
	same("l/b/absent.go", ir.TargetOutsideRoot)
	f.write("plain/.mwp", "name = \"plain\"\ndescription = \"d\"\n")
	outside("l/x")
	f.remove("plain/.mwp")
	same("l/x", ir.TargetOutsideRoot)
	lead("a")
	same("l/x", "")
	lead("../nb")
	outside("l/x")
	lead("a")
	same("l/x", "")
}

// TestBoundNested: an independent workspace inside of the root has its own map, and nothing
// of it is in the session, whose keys mean other entries.
func TestBoundNested(t *testing.T) {
	_, house := street(t)
	w := served(t, Options{}, house)
	inner := filepath.Join(house, "inner")
	s := NewSession("")
	send := func(target string) *Sending {
		t.Helper()
		x, err := w.Send(t.Context(), s, Request{Target: target, Format: JSON}, SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x.Delivered()
		return x
	}
	if x := send("inner/x"); x.Root != inner || x.Target != "x" || x.Delta.Mode != ir.DeliverFull {
		t.Errorf("inner first: %s below %s, %s", x.Target, x.Root, x.Delta.Mode)
	}
	if n := len(s.Record().Seen); n != 0 {
		t.Errorf("%d entries of the inner workspace are in the session", n)
	}
	if x := send("a/x"); x.Root != house || !slices.Equal(x.Delta.Sent, []string{".", "a"}) {
		t.Errorf("the outer one: %q of %s", x.Delta.Sent, x.Root)
	}
	for range 2 {
		if x := send("inner"); x.Root != inner || len(x.Delta.Skipped) != 0 || !strings.Contains(string(x.Text), "rules of inner") {
			t.Errorf("inner again leaves out %q:\n%s", x.Delta.Skipped, x.Text)
		}
	}
	if x := send("a/y"); len(x.Delta.Sent) != 0 || !slices.Equal(x.Delta.Skipped, []string{".", "a"}) {
		t.Errorf("the outer one again: sent %q, skipped %q", x.Delta.Sent, x.Delta.Skipped)
	}
	if err := w.SaveSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(inner, ".mwp/sessions")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the inner workspace keeps sessions: %v", err)
	}
	r, err := w.Session(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if keys := recordKeys(r); !slices.Equal(keys, []string{".", "a"}) || r.CallCount != 2 {
		t.Errorf("the record has %q and %d calls", keys, r.CallCount)
	}
}

// TestBind: where the root comes from.
func TestBind(t *testing.T) {
	f, house := street(t)
	f.write("house/.mwp/config.toml", "name = \"house\"\ndescription = \"d\"\nmembers = [\"m\"]\n")
	f.write("house/m/.mwp", "name = \"m\"\ndescription = \"d\"\n")
	f.write("repo/.git/HEAD", "ref: refs/heads/main\n")
	f.write("repo/x", "")
	at := func(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }
	for _, c := range []struct {
		name string
		root string
		dirs []string
		want string
		// message is what the refusal says instead, with the code no_root.
		message string
	}{
		{name: "the working directory", dirs: []string{house, ""}, want: house},
		{name: "below it", dirs: []string{at("house/a/b")}, want: house},
		{name: "a directory that is not there any more", dirs: []string{at("house/a/gone/deeper")}, want: house},
		{name: "a member belongs to the workspace above", dirs: []string{at("house/m")}, want: house},
		{name: "an independent one inside does not", dirs: []string{at("house/inner")}, want: at("house/inner")},
		{name: "the second directory", dirs: []string{at("plain"), house}, want: house},
		{name: "no first directory", dirs: []string{"", house}, want: house},
		{name: "the first of two", dirs: []string{at("nb/x"), house}, want: at("nb")},
		{name: "a root", root: at("nb"), dirs: []string{house}, want: at("nb")},
		{name: "a root with dots", root: at("house/../nb/"), dirs: []string{house}, want: at("nb")},
		{name: "a relative root", root: "../nb", dirs: []string{house}, want: at("nb")},
		{name: "a relative root below", root: "a", dirs: []string{house}, want: at("house/a")},
		{name: "a root without an anchor", root: at("plain"), dirs: []string{house}, want: at("plain")},
		{name: "none", dirs: []string{at("plain")}, message: "no .mwp at " + at("plain") + " or above it"},
		{name: "none in two", dirs: []string{at("plain"), at("house-2")}, message: "no .mwp at " + at("plain") + ", nor at " + at("house-2") + " or above it"},
		{name: "a repository without an anchor", dirs: []string{at("repo")}, message: "no .mwp at " + at("repo") + " or above it"},
		{name: "nowhere", dirs: []string{"", ""}, message: "the working directory is gone"},
		{name: "a file as root", root: at("repo/x"), dirs: []string{house}, message: "the root " + at("repo/x") + " is not a directory"},
		{name: "no such root", root: at("gone"), dirs: []string{house}, message: "the root " + at("gone") + " is not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := Bind(t.Context(), Options{Offline: true, Root: c.root}, c.dirs...)
			if c.message != "" {
				if d := findingOf(err); w != nil || d.Code != ir.NoRoot || d.Message != c.message || d.Hint == "" {
					t.Errorf("Bind = %v, %q, want %q", w, err, c.message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if w.Dir() != c.want {
				t.Errorf("bound to %s, want %s", w.Dir(), c.want)
			}
			r, err := w.Map(t.Context(), Request{Format: MarkdownText})
			if err != nil || r.Root != c.want {
				t.Errorf("the map of the project is of %+v, %v", r, err)
			}
			if r, err = w.Map(t.Context(), Request{Target: "new/file.go", Format: MarkdownText}); err != nil || r.Root != c.want || r.Target != "new/file.go" {
				t.Errorf("a target is of %+v, %v", r, err)
			}
			if _, err = w.Map(t.Context(), Request{Target: ".."}); findingOf(err).Code != ir.TargetOutsideRoot {
				t.Errorf("the directory above: %v", err)
			}
		})
	}
}

// TestBindHeals: where there was no workspace, one is found when it was made.
func TestBindHeals(t *testing.T) {
	f, _ := street(t)
	plain := filepath.Join(f.root, "plain")
	o := Options{Offline: true}
	if _, err := Bind(t.Context(), o, plain); findingOf(err).Code != ir.NoRoot {
		t.Fatalf("without an anchor: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(plain, ".mwp")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("looking made an anchor: %v", err)
	}
	f.write("plain/.mwp/config.toml", "name = \"plain\"\ndescription = \"d\"\n")
	if w := served(t, Options{}, plain); w.Dir() != plain {
		t.Errorf("bound to %s", w.Dir())
	}
}

// TestBindGivenUp: the context's error is nobody's missing workspace.
func TestBindGivenUp(t *testing.T) {
	_, house := street(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := Bind(ctx, Options{Offline: true}, house); err == nil {
		w.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Bind = %v", err)
	}
}

// TestBoundVanishes: while the project is gone nothing is answered and nothing is made in
// its place; when it is back, so are the answers.
func TestBoundVanishes(t *testing.T) {
	for _, anchor := range []string{".mwp/config.toml", ".mwp"} {
		t.Run(anchor, func(t *testing.T) {
			f := tree{t, filepath.Join(t.TempDir(), "p")}
			build := func() {
				f.write(anchor, "name = \"p\"\ndescription = \"d\"\n")
				f.write("a/.mwp-context.md", "rules of a\n")
			}
			build()
			w := served(t, Options{}, f.root)
			s := NewSession("")
			send := func() (*Sending, error) {
				return w.Send(t.Context(), s, Request{Target: "a", Format: MarkdownText}, SendOptions{})
			}
			x, err := send()
			if err != nil {
				t.Fatal(err)
			}
			x.Delivered()
			for _, err := range []error{x.Record(), w.SaveSession(t.Context(), s)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			// This one is computed before the project goes, and kept after.
			late, err := w.Map(t.Context(), Request{Target: "a/late", Format: MarkdownText})
			if err != nil {
				t.Fatal(err)
			}
			// So is one that comes from a slot, which a file that was touched brings up to date.
			slot, err := w.Map(t.Context(), Request{Target: "a", Format: MarkdownText})
			if err != nil || slot.Record() != nil {
				t.Fatal(err)
			}
			touched := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(f.root, "a/.mwp-context.md"), touched, touched); err != nil {
				t.Fatal(err)
			}
			slot, err = w.Map(t.Context(), Request{Target: "a", Format: MarkdownText})
			if err != nil || !slot.Served || slot.record == nil {
				t.Fatalf("from the slot: %+v, %v", slot, err)
			}
			f.remove("")
			gone := func(what string) {
				t.Helper()
				if _, err := os.Lstat(f.root); !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("%s: the project is back: %v", what, err)
				}
			}
			for name, r := range map[string]*Result{"Record": late, "Record of a slot": slot} {
				if err := r.Record(); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s for a project that is gone = %v", name, err)
				}
				gone(name)
			}
			s.Clear()
			if err := w.SaveSession(t.Context(), s); findingOf(err).Code != ir.Unreadable || !strings.Contains(findingOf(err).Message, "the anchor of the workspace, found none") {
				t.Errorf("SaveSession = %v", err)
			}
			gone("SaveSession")
			if err := w.DiscardSession(t.Context(), s); err != nil {
				t.Errorf("DiscardSession = %v", err)
			}
			gone("DiscardSession")
			for range 2 {
				if _, err := send(); findingOf(err).Code != ir.NoRoot {
					t.Errorf("a map of what is gone: %v", err)
				}
				if _, err := w.Map(t.Context(), Request{}); findingOf(err).Code != ir.NoRoot {
					t.Errorf("the map of the project that is gone: %v", err)
				}
			}
			gone("Map")
			build()
			if x, err = send(); err != nil || !slices.Equal(x.Delta.Sent, []string{".", "a"}) {
				t.Fatalf("after it came back: %+v, %v", x, err)
			}
			x.Delivered()
			for _, err := range []error{x.Record(), w.SaveSession(t.Context(), s), w.DiscardSession(t.Context(), s)} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
