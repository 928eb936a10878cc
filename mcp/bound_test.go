package mcp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lead makes a link, or ends the test where there are none.
func lead(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// TestFence: over the protocol too no place outside of the root has an answer, in whatever
// way it is spelled, and the text names the place and the root (D-65).
func TestFence(t *testing.T) {
	p := shopAt(t).trust(t)
	up := tree(t, map[string]string{
		"nb/.mwp/config.toml":         "name = \"nb\"\n",
		"nb/x/.mwp-context.md":        "Rules of nb.\n",
		"plain/x/.mwp-context.md":     "Rules of plain.\n",
		"nb/.mwp/sessions/.gitignore": "*\n",
	})
	lead(t, filepath.Join(up, "nb"), filepath.Join(p.dir, "lnb"))
	lead(t, filepath.Join(up, "plain"), filepath.Join(p.dir, "lp"))
	lead(t, "..", filepath.Join(p.dir, "up"))
	lead(t, p.dir, filepath.Join(up, "shop"))
	before := contents(t, up)
	over := filepath.Dir(p.dir)
	fence := func(shown string) string {
		return "error[target_outside_root]: the target " + shown + " is outside the root " + p.dir + "\nhint: name a target below the root"
	}
	for _, c := range []struct{ target, want string }{
		{"..", fence(over)},
		{"backend/../../x", fence(over + "/x")},
		{"./../x", fence(over + "/x")},
		{over, fence(over)},
		{up + "/nb/x", fence(up + "/nb/x")},
		{up + "/shop/../nb/x", fence(up + "/nb/x")},
		{p.dir + "-2/x", fence(p.dir + "-2/x")},
		{"file://" + up + "/nb/x", fence(up + "/nb/x")},
		{"file://" + p.dir + "/%2e%2e", fence(over)},
		{"lnb/x", fence(p.dir + "/lnb/x")},
		{"lnb", fence(p.dir + "/lnb")},
		{p.dir + "/lnb/x", fence(p.dir + "/lnb/x")},
		{up + "/shop/lnb/x", fence(up + "/shop/lnb/x")},
		{"lp/x", "error[target_outside_root]: lp: the target's path leads out of the workspace root through a link"},
	} {
		target, err := json.Marshal(c.target)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range eraTable {
			for _, tool := range []string{"map_workspace", "explain_context", "verify_context"} {
				m := e.ask(t, p.serving(t), e.tool("1", tool, `{"target":`+string(target)+`}`))
				// A finding about a place inside is part of a report.
				reported := tool == "verify_context" && strings.HasPrefix(c.target, "lp")
				if !strings.HasPrefix(m.text(), c.want) || m.refused() == reported || strings.Contains(m.raw, "Rules of") {
					t.Errorf("%s: %s(%q) = %s, want %q", e.name, tool, c.target, m.raw, c.want)
				}
			}
			m := e.ask(t, p.serving(t), e.request("1", "resources/read", `"uri":"`+contextURI+escape(c.target)+`"`))
			if m.Error == nil || strings.Contains(m.raw, "Rules of") {
				t.Errorf("%s: resources/read of %q = %s", e.name, c.target, m.raw)
			}
		}
	}
	if diff := cmp.Diff(before, contents(t, up)); diff != "" {
		t.Errorf("a tree outside changed (-before +after):\n%s", diff)
	}
	// Through another name of the root, everything inside has its map.
	for _, e := range eraTable {
		want := e.ask(t, p.serving(t), e.tool("1", "map_workspace", `{"target":"backend/src"}`))
		got := e.ask(t, p.serving(t), e.tool("1", "map_workspace", `{"target":"file://`+up+`/shop/backend/src"}`))
		if got.raw != want.raw || got.refused() {
			t.Errorf("%s: through a link: %s, want %s", e.name, got.raw, want.raw)
		}
	}
}

// TestProjectVanishes: while the project is gone every call is refused and nothing is made
// in its place, not even by the session that is kept beside the answers; when it is back,
// the same server serves it.
func TestProjectVanishes(t *testing.T) {
	p := shopAt(t)
	clock := newClock()
	o := p.serving(t)
	o.Every = clock.every
	c := start(t, o)
	c.ask(hello)
	if m := c.ask(mapCall(routes)); m.refused() {
		t.Fatalf("the first map: %s", m.raw)
	}
	<-clock.began
	// Delivered, and not on the disk yet.
	if m := c.ask(mapCall(orders)); m.refused() {
		t.Fatalf("the second map: %s", m.raw)
	}
	// With the next answer, what the last one left to do is done.
	c.ask(eraTable[0].request("1", "prompts/list", ""))
	away := p.dir + ".away"
	if err := os.Rename(p.dir, away); err != nil {
		t.Fatal(err)
	}
	gone := func(after string) {
		t.Helper()
		if _, err := os.Lstat(p.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after %s the project is back: %v", after, err)
		}
	}
	clock.ticks <- clockTime
	<-clock.began
	gone("writing the session")
	e := eraTable[0]
	for _, call := range []string{mapCall(""), mapCall(routes), mapCall("new"), e.tool("1", "explain_context", `{"target":"backend"}`), e.tool("1", "list_targets", `{}`), e.verify("guarded")} {
		m := c.ask(call)
		if !m.refused() || !strings.HasPrefix(m.text(), "error[no_root]: ") || !strings.Contains(m.text(), p.dir) || !strings.Contains(m.text(), "mwp init") {
			t.Errorf("%s = %s", call, m.raw)
		}
		gone(call)
	}
	if err := os.Rename(away, p.dir); err != nil {
		t.Fatal(err)
	}
	if d := deliveryOf(t, c.ask(mapCall("backend/y"))); d.Mode != "delta" || len(d.Sent) != 0 {
		t.Errorf("after it came back: %+v", d)
	}
	clock.ticks <- clockTime
	<-clock.began
	if rs, _, err := p.bound(t).Sessions(t.Context()); err != nil || len(rs) != 1 || rs[0].CallCount != 3 {
		t.Errorf("the session after it came back: %v, %v", rs, err)
	}
	c.end()
	p.noSessions(t)
}

// TestProjectVanishesForGood: the end of a server whose project is gone makes nothing.
func TestProjectVanishesForGood(t *testing.T) {
	p := shopAt(t)
	clock := newClock()
	o := p.serving(t)
	o.Every = clock.every
	c := start(t, o)
	c.ask(hello)
	c.ask(mapCall(routes))
	<-clock.began
	c.ask(mapCall(orders))
	c.ask(eraTable[0].request("1", "prompts/list", ""))
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	c.end()
	if _, err := os.Lstat(p.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the project is back: %v", err)
	}
}

// TestReadToolsLeaveNothingForGit: in a workspace that nobody set up for it, with no ignore
// file of ours, what the read tools keep is in the cache and the sessions alone, and version
// control sees none of it, while the server runs and after.
func TestReadToolsLeaveNothingForGit(t *testing.T) {
	for anchor, state := range map[string]string{".mwp/config.toml": ".mwp", ".mwp": ".mwp.d"} {
		t.Run(anchor, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range shop {
				if !strings.HasPrefix(name, ".mwp/") {
					files[name] = text
				}
			}
			files[anchor] = shop[".mwp/config.toml"]
			p := &place{dir: tree(t, files), user: t.TempDir()}
			status := repository(t, p.dir)
			before := contents(t, p.dir)
			check := func(when string) {
				t.Helper()
				after := contents(t, p.dir)
				for name := range after {
					rest, beside := strings.CutPrefix(filepath.ToSlash(name), ".mwp.d/")
					dir, _, _ := strings.Cut(rest, "/")
					// A directory in which something is made has another time.
					if name == "." || name == ".mwp.d" || beside && (dir == "cache" || dir == "sessions") {
						delete(after, name)
					}
				}
				delete(before, ".")
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s: the tree changed (-before +after):\n%s", when, diff)
				}
				if s := status(); s != "" {
					t.Errorf("%s: git status says\n%s", when, s)
				}
			}
			check("before")
			clock := newClock()
			o := p.serving(t)
			o.Every = clock.every
			c := start(t, o)
			c.ask(hello)
			for _, e := range eraTable {
				for _, arguments := range []string{`{}`, `{"target":"backend"}`, `{"target":"guarded"}`, `{"target":"broken"}`, `{"target":"../x"}`} {
					c.ask(e.tool("1", "map_workspace", arguments))
				}
				c.ask(e.tool("1", "explain_context", `{"target":"guarded"}`))
				c.ask(e.tool("1", "list_targets", `{}`))
				c.ask(e.request("1", "resources/list", ""))
				c.ask(e.request("1", "resources/read", `"uri":"mwp://context/backend"`))
			}
			<-clock.began
			for _, kept := range []string{"cache", "sessions"} {
				if list, err := os.ReadDir(filepath.Join(p.dir, state, kept)); err != nil || len(list) < 2 {
					t.Errorf("%s holds %v, %v", kept, list, err)
				}
			}
			check("while it serves")
			c.end()
			check("after the end")
		})
	}
}

// repository makes a git repository in which everything is committed, and returns what git
// status says.
func repository(t *testing.T, dir string) (status func() string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NOT CHECKED: there is no git")
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_OPTIONAL_LOCKS=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	run("add", "-A")
	run("commit", "-q", "-m", "all")
	return func() string { t.Helper(); return run("status", "--porcelain", "--untracked-files=all") }
}
