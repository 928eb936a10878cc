package nodes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// TestTrustLists is D-08 and D-41: the workspace's list, and a member's for what is
// declared inside it; of limits the nearest.
func TestTrustLists(t *testing.T) {
	root := tree(t, `
-- .mwp --
members = ["m", "m/n", "link"]
[trust]
allowed_guards = ["./ws.sh", "./both.sh"]
[guards]
timeout = "1m"
jobs = 2
-- x --
-- m/.mwp --
name = "m"
[trust]
allowed_guards = ["./m.sh", "./both.sh"]
[guards]
timeout = "2m"
-- m/a/x --
-- m/n/.mwp --
name = "n"
[trust]
allowed_guards = ["./n.sh"]
[guards]
jobs = 4
-- m/n/x --
-- other/.mwp --
name = "no member"
[trust]
allowed_guards = ["./other.sh"]
[guards]
jobs = 9
timeout = "9m"
-- other/x --
-- mother/x --
`)
	for _, c := range []struct {
		dir      string
		explicit bool
		want     string
	}{
		{".", false, "./both.sh ./ws.sh 1m0s 2"},
		{"mother", false, "./both.sh ./ws.sh 1m0s 2"},
		{"m", false, "./both.sh ./m.sh ./ws.sh 2m0s 2"},
		{"m/a", false, "./both.sh ./m.sh ./ws.sh 2m0s 2"},
		{"m/a/gone", false, "./both.sh ./m.sh ./ws.sh 2m0s 2"},
		{"m/n", false, "./both.sh ./n.sh ./ws.sh 1m0s 4"},
		// A project that the workspace does not list brings no trust of its own (D-07).
		{"other", false, "./both.sh ./ws.sh 1m0s 2"},
		{".", true, "./both.sh ./ws.sh 1m0s 2"},
		{"m/a", true, "./both.sh ./m.sh ./ws.sh 2m0s 2"},
	} {
		d := desk{root: root}
		v := d.eval(t, nodes.Trust{Dir: c.dir, Explicit: c.explicit}).(nodes.TrustValue)
		got := fmt.Sprintf("%s %v %d", strings.Join(v.Allowed, " "), time.Duration(v.Timeout), v.Jobs)
		if got != c.want {
			t.Errorf("trust in %s, explicit %v: %s, want %s", c.dir, c.explicit, got, c.want)
		}
	}
	for name, archive := range map[string]string{"no anchor": "-- .git/HEAD --\n-- a/x --\n", "nothing said": "-- .mwp --\n-- a/x --\n", "a directory without config": "-- .mwp/x --\n-- a/x --\n"} {
		d := desk{root: tree(t, archive)}
		if v := d.eval(t, nodes.Trust{Dir: "a"}).(nodes.TrustValue); len(v.Allowed) != 0 || v.Timeout != 0 || v.Jobs != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	// An explicit root without an anchor has no workspace's list.
	d := desk{root: tree(t, "-- m/.mwp --\n[trust]\nallowed_guards = [\"./m.sh\"]\n-- m/x --\n-- a/x --\n")}
	if v := d.eval(t, nodes.Trust{Dir: "a", Explicit: true}).(nodes.TrustValue); len(v.Allowed) != 0 {
		t.Errorf("beside a member: %+v", v)
	}
}

// TestTrustOfPlannedGuards: what each guard may do, by whose list (D-41, D-42).
func TestTrustOfPlannedGuards(t *testing.T) {
	d := desk{root: tree(t, `
-- .mwp --
members = ["m"]
[trust]
allowed_guards = ["./ws.sh", "npm run module", "./pipe.sh | tee log"]
[guards]
timeout = "3m"
-- .mwp-context.md --
---
imports: [{workspace: m/r.md}, {workspace: other/r.md}]
guards:
  - cmd: ./ws.sh --fast
  - cmd: ./m.sh
  - cmd: npm run own
  - {cmd: npm run slow, timeout: 1h}
  - {cmd: npm run asked, trust: ad-hoc}
  - {cmd: ./raised.sh, trust: project}
  - cmd: ./pipe.sh  |  tee log
  - cmd: ./pipe.sh | tee other
  - exists: x
---
Root
-- x --
-- m/.mwp --
name = "m"
[trust]
allowed_guards = ["./m.sh"]
-- m/.mwp-context.md --
---
guards: [{cmd: ./m.sh}]
imports: [{local: node_modules/mod}]
---
M
-- m/r.md --
---
guards: [{cmd: ./m.sh --again}, {cmd: ./ws.sh}]
---
R
-- m/node_modules/mod/.mwp-module.md --
---
name: mod
guards: [{cmd: npm run module}, {cmd: npm run other}, {cmd: cargo test}]
imports: [{local: r.md}]
---
-- m/node_modules/mod/.mwp --
[trust]
allowed_guards = ["cargo test"]
-- m/node_modules/mod/r.md --
R
-- other/.mwp --
[trust]
allowed_guards = ["./other.sh"]
-- other/r.md --
---
guards: [{cmd: ./other.sh}]
---
O
`)}
	n := nodes.GuardPlan{Layers: mapNode("m/x").Layers}
	v := d.eval(t, n).(nodes.GuardPlanValue)
	got := map[string]string{}
	for _, g := range v.Guards {
		got[g.Text()+" in "+g.Dir] = fmt.Sprintf("%s %v", g.Level, g.Timeout)
		if (g.Allow != "") != (g.Level == "ad-hoc") {
			t.Errorf("%s is %s and could be allowed by %q", g.Text(), g.Level, g.Allow)
		}
	}
	want := map[string]string{
		"./ws.sh --fast in .":        "project 3m0s",
		"./m.sh in .":                "ad-hoc 3m0s",
		"npm run own in .":           "builtin 3m0s",
		"npm run slow in .":          "builtin 1h0m0s",
		"npm run asked in .":         "ad-hoc 3m0s",
		"./raised.sh in .":           "ad-hoc 3m0s",
		"./pipe.sh | tee log in .":   "project 3m0s",
		"./pipe.sh | tee other in .": "ad-hoc 3m0s",
		"exists x in .":              " 0s",
		"./m.sh in m":                "project 3m0s",
		"./m.sh --again in m":        "project 3m0s",
		"./ws.sh in m":               "project 3m0s",
		"npm run module in m":        "project 3m0s",
		"npm run other in m":         "ad-hoc 3m0s",
		"cargo test in m":            "ad-hoc 3m0s",
		"./other.sh in other":        "ad-hoc 3m0s",
	}
	for g, level := range want {
		if got[g] != level {
			t.Errorf("%s: %q, want %q", g, got[g], level)
		}
	}
	if len(got) != len(want) || len(v.Problems) > 0 {
		t.Errorf("%d guards, want %d: %v %v", len(got), len(want), got, v.Problems)
	}
}

// TestTrustTables is D-109: whatever changes what may run without a question changes
// the digest, and nothing else does.
func TestTrustTables(t *testing.T) {
	const archive = `
-- .mwp --
description = "d"
members = ["m"]
[trust]
allowed_guards = ["./ws.sh"]
-- x --
-- a/x --
-- m/.mwp --
name = "m"
[trust]
allowed_guards = ["./m.sh"]
-- other/.mwp --
[trust]
allowed_guards = ["./other.sh"]
`
	digest := func(from, to string) cas.Digest {
		if !strings.Contains(archive, from) {
			t.Fatalf("%q is not in the archive", from)
		}
		d := desk{root: tree(t, strings.Replace(archive, from, to, 1))}
		return d.eval(t, nodes.TrustTables{}).(cas.Digest)
	}
	same := digest("", "")
	for _, c := range [][2]string{{`"d"`, `"e"`}, {`["./ws.sh"]`, "['./ws.sh', './ws.sh']"}, {"-- a/x --", "-- a/y --"}, {`"./other.sh"`, `"./more.sh"`}, {`name = "m"`, `name = "n"`}} {
		if digest(c[0], c[1]) != same {
			t.Errorf("%s instead of %s changes the digest", c[1], c[0])
		}
	}
	for _, c := range [][2]string{{`"./ws.sh"`, `"./ws.sh", "./m.sh"`}, {`"./ws.sh"`, ""}, {`"./m.sh"`, `"./n.sh"`}, {`members = ["m"]`, `members = ["m", "other"]`}, {`members = ["m"]`, "members = ['x']"}} {
		if digest(c[0], c[1]) == same {
			t.Errorf("%s instead of %s changes nothing", c[1], c[0])
		}
	}
}
