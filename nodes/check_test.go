package nodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// noon is when these tests take place.
var noon = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)

// recordsFile is where a workspace with a file for an anchor keeps results.
const recordsFile = ".mwp.d/guards.cache.json"

// declared returns the fingerprint that a map compares.
func (d *desk) declared(t *testing.T, g nodes.Guard) cas.Digest {
	t.Helper()
	n := nodes.InputsOf(g).GuardInputs
	n.Whole = false
	return d.eval(t, n).(nodes.GuardInputsValue).Fingerprint
}

// TestStatusLattice is D-46 and D-47 in every combination: what the run said, where
// the clock stands, whether files changed, whether a person overrides, and whose
// record it is.
func TestStatusLattice(t *testing.T) {
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nowners: [team-a, bo]\nguards: [{cmd: ./check.sh}]\n---\nA\n")
	write(t, root, recordsFile, "x")
	two := 2
	for _, passed := range []bool{true, false} {
		for _, when := range []string{"current", "last moment", "expired", "early"} {
			for _, changed := range []bool{false, true} {
				for _, override := range []string{"", "now", "over", "for other files"} {
					for _, whose := range []string{"mine", "foreign", "nobody's"} {
						name := fmt.Sprintf("passed %v, %s, changed %v, override %q, %s", passed, when, changed, override, whose)
						d := desk{root: root, ledger: paperLedger{}, now: noon}
						g := d.guardsOf(t, "a/x")[0]
						run := &graph.Run{Passed: passed, Exit: &two, Duration: 7, RanAt: noon.Add(-time.Minute).UnixNano(), CacheUntil: noon.Add(time.Minute).UnixNano()}
						run.Declared = d.declared(t, g)
						run.Fingerprint = cas.Sum([]byte("whole"))
						switch when {
						case "last moment":
							run.CacheUntil = noon.UnixNano() + 1
						case "expired":
							run.CacheUntil = noon.UnixNano()
						case "early":
							run.RanAt, run.CacheUntil = noon.Add(6*time.Second).UnixNano(), noon.Add(time.Hour).UnixNano()
						}
						if changed {
							run.Declared = cas.Sum([]byte("other"))
						}
						now := d.declared(t, g)
						switch override {
						case "now":
							run.Override = &graph.Override{Reason: "known", Until: noon.Add(time.Hour).UnixNano(), Declared: now}
						case "over":
							run.Override = &graph.Override{Reason: "known", Until: noon.UnixNano(), Declared: now}
						case "for other files":
							run.Override = &graph.Override{Reason: "known", Until: noon.Add(time.Hour).UnixNano(), Declared: cas.Sum([]byte("older"))}
						}
						state := graph.RecordState{Signer: "me", Run: run}
						if whose == "foreign" {
							state = graph.RecordState{Signer: "me", Foreign: true}
						}
						if whose != "nobody's" {
							d.ledger.add(&g, state)
						}
						v := d.mapOf(t, "a/x")
						conserved(t, v)
						x := v.IR.Verifications[0]
						status, reason, readOnly := expected(passed, when, changed, override, whose)
						if x.Status != status || x.Reason != reason || v.IR.ReadOnly != readOnly {
							t.Errorf("%s: %s (%s), read-only %v, want %s (%s), %v", name, x.Status, x.Reason, v.IR.ReadOnly, status, reason, readOnly)
						}
						recorded := whose == "mine"
						if (x.ExitCode != nil) != recorded || (x.RanAt != "") != recorded || (x.Fingerprint == run.Fingerprint.Tagged()) != recorded {
							t.Errorf("%s: %+v tells of a run", name, x)
						}
						failing := status == ir.FailedCheck
						if x.Expired != (failing && when == "expired") || x.FilesChanged != (failing && changed) {
							t.Errorf("%s: expired %v, files changed %v", name, x.Expired, x.FilesChanged)
						}
						if (x.Override != nil) != (failing && override == "now" && when != "early") {
							t.Errorf("%s: override %v", name, x.Override)
						}
						found := guardFindings(v)
						if diff := cmp.Diff(expectedFindings(status, reason, override, when == "early", changed), found); diff != "" {
							t.Errorf("%s: findings (-want +got):\n%s", name, diff)
						}
						for _, e := range v.IR.Layers.All() {
							if e.Source != ".mwp" && (e.GuardStatus == nil || *e.GuardStatus != status) {
								t.Errorf("%s: the entry's status is %v", name, e.GuardStatus)
							}
						}
					}
				}
			}
		}
	}
}

// expected is the lattice in other words.
func expected(passed bool, when string, changed bool, override, whose string) (status, reason string, readOnly bool) {
	switch {
	case whose == "nobody's":
		return ir.Unverified, ir.ReasonNeverRun, false
	case whose == "foreign":
		return ir.Unverified, ir.ReasonForeign, false
	case !passed:
		return ir.FailedCheck, "", override != "now" || when == "early"
	case when == "early":
		return ir.Stale, ir.ReasonEarly, false
	case changed:
		return ir.Stale, ir.ReasonFilesChanged, false
	case when == "expired":
		return ir.Stale, ir.ReasonExpired, false
	}
	return ir.Passed, "", false
}

func expectedFindings(status, reason, override string, early, changed bool) []string {
	switch {
	case status == ir.FailedCheck && override == "now" && !early:
		return []string{"warning guard_failed a/.mwp-context.md:3: the check fails: ./check.sh exited 2, owners: team-a, bo; overridden until 2026-05-17T13:00:00.000Z: known"}
	case status == ir.FailedCheck:
		text := "error guard_failed a/.mwp-context.md:3: the check fails: ./check.sh exited 2, owners: team-a, bo"
		switch {
		case override == "for other files" || override != "" && changed:
			text += "; its override ended when files changed"
		case override != "":
			text += "; its override does not hold at this time"
		}
		return []string{text}
	case status == ir.Stale:
		return []string{"warning guard_stale : 1 guard whose last result does not count any more: ./check.sh (" + strings.ReplaceAll(reason, "_", " ") + ")"}
	case status == ir.Unverified && reason == ir.ReasonForeign:
		return []string{"warning guard_unverified : 1 guard without a result that counts here: ./check.sh (its record is not signed with your key)"}
	case status == ir.Unverified:
		return []string{"warning guard_unverified : 1 guard without a result that counts here: ./check.sh"}
	}
	return nil
}

func guardFindings(v nodes.MapValue) []string {
	var found []string
	for _, d := range v.IR.Warnings {
		if strings.HasPrefix(string(d.Code), "guard_") {
			found = append(found, fmt.Sprintf("%s %s %s: %s", d.Severity, d.Code, d.Place(), d.Message))
		}
	}
	return found
}

// TestClockTolerance: a clock that is five seconds behind the one of the run still
// believes it (D-46).
func TestClockTolerance(t *testing.T) {
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n-- a/.mwp-context.md --\n---\nguards: [{cmd: ./check.sh}]\n---\nA\n")
	write(t, root, recordsFile, "x")
	for ahead, want := range map[time.Duration]string{0: ir.Passed, 5 * time.Second: ir.Passed, 5*time.Second + 1: ir.Stale, time.Hour: ir.Stale} {
		d := desk{root: root, ledger: paperLedger{}, now: noon}
		g := d.guardsOf(t, "a/x")[0]
		d.ledger.add(&g, graph.RecordState{Signer: "me", Run: &graph.Run{
			Passed: true, RanAt: noon.Add(ahead).UnixNano(), CacheUntil: noon.Add(2 * time.Hour).UnixNano(), Declared: d.declared(t, g),
		}})
		if got := d.mapOf(t, "a/x").IR.Verifications[0]; got.Status != want || (want == ir.Stale) != (got.Reason == ir.ReasonEarly) {
			t.Errorf("%v ahead: %s (%s), want %s", ahead, got.Status, got.Reason, want)
		}
	}
}

// TestWorstOfSeveral: an entry has the worst of its guards' statuses, and the map is
// read-only while any of them fails that nobody overrides (D-47).
func TestWorstOfSeveral(t *testing.T) {
	root := tree(t, `
-- .mwp --
description = "d"
-- a/x --
-- a/.mwp-context.md --
---
guards: [{cmd: ./passed}, {cmd: ./unverified}, {cmd: ./stale}, {cmd: ./failed}, {cmd: ./overridden}]
---
A
`)
	write(t, root, recordsFile, "x")
	names := []string{"./passed", "./unverified", "./stale", "./failed", "./overridden"}
	one := 1
	// Every choice of these five, as an entry that declares just them.
	for set := 1; set < 1<<len(names); set++ {
		var list []string
		for i, n := range names {
			if set&(1<<i) != 0 {
				list = append(list, "{cmd: "+n+"}")
			}
		}
		write(t, root, "a/.mwp-context.md", "---\nguards: ["+strings.Join(list, ", ")+"]\n---\nA\n")
		d := desk{root: root, ledger: paperLedger{}, now: noon}
		for _, g := range d.guardsOf(t, "a/x") {
			now := d.declared(t, g)
			run := &graph.Run{Passed: true, RanAt: noon.UnixNano(), CacheUntil: noon.Add(time.Hour).UnixNano(), Declared: now}
			switch g.Cmd {
			case "./unverified":
				continue
			case "./stale":
				run.CacheUntil = noon.UnixNano()
			case "./failed":
				run.Passed, run.Exit = false, &one
			case "./overridden":
				run.Passed, run.Exit = false, &one
				run.Override = &graph.Override{Reason: "r", Until: noon.Add(1).UnixNano(), Declared: now}
			}
			d.ledger.add(&g, graph.RecordState{Signer: "me", Run: run})
		}
		want := ir.Passed
		for i, s := range []string{ir.Unverified, ir.Stale, ir.FailedCheck, ir.FailedCheck} {
			if set&(2<<i) != 0 {
				want = s
			}
		}
		v := d.mapOf(t, "a/x")
		entries := v.IR.Layers.All()
		if e := entries[len(entries)-1]; *e.GuardStatus != want || len(e.Guards) != len(list) {
			t.Errorf("%v: %s with %d guards, want %s", list, *e.GuardStatus, len(e.Guards), want)
		}
		if failing := set&8 != 0; v.IR.ReadOnly != failing {
			t.Errorf("%v: read-only %v", list, v.IR.ReadOnly)
		}
		conserved(t, v)
	}
}

// TestWhereRecordsLie: beside the workspace's configuration, whatever a member has;
// without an anchor nothing is recorded and nothing is looked for.
func TestWhereRecordsLie(t *testing.T) {
	for _, c := range []struct{ name, tree, records string }{
		{"a file", "-- .mwp --\n-- m/x --\n", ".mwp.d/guards.cache.json"},
		{"a directory", "-- .mwp/config.toml --\n-- m/x --\n", ".mwp/guards.cache.json"},
		{"a member", "-- .mwp/config.toml --\nmembers = [\"m\"]\n-- m/.mwp/config.toml --\nname = \"m\"\n", ".mwp/guards.cache.json"},
		{"no anchor", "-- .git/HEAD --\n-- m/x --\n", ""},
	} {
		d := desk{root: tree(t, c.tree+"-- m/.mwp-context.md --\n---\nguards: [{cmd: ./check.sh}]\n---\nM\n")}
		var asked []string
		for _, ev := range d.events(t, mapNode("m")) {
			if r, ok := ev.Task.(graph.Record); ok {
				asked = append(asked, r.File)
			}
		}
		if got := strings.Join(asked, " "); got != c.records {
			t.Errorf("%s: the map asks for %q, want %q", c.name, got, c.records)
		}
	}
}

// TestStaticGuards is D-113: what holds and what does not, at once and without a
// record.
func TestStaticGuards(t *testing.T) {
	const files = `
-- .mwp --
description = "d"
-- package.json --
{"scripts": {"top": "x"}}
-- GNUmakefile --
top:
-- a/x --
-- a/src/f.txt --
one
two
-- a/here -> src --
-- a/dangling -> nowhere --
-- a/round -> round --
-- a/out -> ../../out --
-- a/inside -> src/f.txt --
-- a/empty --
-- b/package.json --
{"name": "b", "scripts": {"test": "x", "pre:build": "y", "no": null, "list": ["x"]}, "nested": {"scripts": {"deep": "x"}}, "Scripts": {"loud": "x"}}
-- b/c/x --
-- bad/package.json --
{"scripts": {"test": "x"},}
-- bare/package.json --
{"name": "bare"}
-- bom/package.json -> ../bom.json --
-- gone/package.json -> nowhere --
-- arr/package.json --
{"scripts": ["test"]}
-- dir/package.json/x --
-- mk/GNUmakefile --
gnu: dep
-- mk/makefile --
small:
-- mk/Makefile --
big:
-- mk2/makefile --
small:
-- mk2/Makefile --
big:
-- mk3/Makefile --
big: small
-- mk4/makefile/x --
-- mk4/Makefile --
big:
-- m/.mwp --
name = "m"
-- m/x --
`
	root := tree(t, strings.Replace(files, "description = \"d\"", "description = \"d\"\nmembers = [\"m\"]", 1))
	write(t, root, "bom.json", "\xef\xbb\xbf{\"scripts\": {\"test\": \"x\"}}")
	write(t, root, "a/crlf.txt", "one\r\ntwo\r\nthree")
	write(t, root, "a/large.txt", strings.Repeat("x", 9<<20))
	for _, c := range []struct{ dir, guard, want string }{
		{"a", "exists: src", ""},
		{"a", "exists: src/", ""},
		{"a", "exists: src/f.txt", ""},
		{"a", "exists: ./src/../src/f.txt", ""},
		{"a", "exists: ../b/package.json", ""},
		{"a", "exists: .", ""},
		{"a", "exists: ..", ""},
		{"a", "exists: large.txt", ""},
		{"a", "exists: src/f.txt/", ir.ReasonAbsent},
		{"a", "exists: src/f.txt/..", ir.ReasonAbsent},
		{"a", "exists: Src", ir.ReasonAbsent},
		{"a", "exists: gone", ir.ReasonAbsent},
		{"a", "exists: gone/../src", ir.ReasonAbsent},
		{"a", "exists: here/f.txt", ""},
		{"a", "exists: here/", ""},
		{"a", "exists: inside", ""},
		{"a", "exists: inside/", ir.ReasonAbsent},
		{"a", "exists: dangling", ir.ReasonAbsent},
		{"a", "exists: round", ir.ReasonAbsent},
		{"a", "exists: out", ir.ReasonOutside},
		{"a", "exists: ../..", ir.ReasonOutside},
		{"a", "exists: ../../etc/passwd", ir.ReasonOutside},
		{"a", `contains: {path: src/f.txt, text: "one\ntwo"}`, ""},
		{"a", `contains: {path: inside, text: two}`, ""},
		{"a", `contains: {path: src/f.txt, text: "two\none"}`, ir.ReasonTextAbsent},
		{"a", `contains: {path: src/f.txt, text: ONE}`, ir.ReasonTextAbsent},
		{"a", `contains: {path: crlf.txt, text: "one\ntwo"}`, ""},
		{"a", `contains: {path: crlf.txt, text: "two\r\nthree"}`, ""},
		{"a", `contains: {path: src/f.txt, text: "one\r\ntwo"}`, ""},
		{"a", `contains: {path: empty, text: x}`, ir.ReasonTextAbsent},
		{"a", `contains: {path: src, text: x}`, ir.ReasonAbsent},
		{"a", `contains: {path: src/f.txt/, text: one}`, ir.ReasonAbsent},
		{"a", `contains: {path: gone, text: x}`, ir.ReasonAbsent},
		{"a", `contains: {path: dangling, text: x}`, ir.ReasonAbsent},
		{"a", `contains: {path: out, text: x}`, ir.ReasonOutside},
		{"a", `contains: {path: large.txt, text: x}`, ir.ReasonTooLarge},
		{"b", "script: npm:test", ""},
		{"b", `script: "npm: test "`, ""},
		{"b/c", "script: npm:test", ""},
		{"b", "script: npm:pre:build", ""},
		{"b", "script: npm:top", ir.ReasonScriptAbsent},
		{"b", "script: npm:deep", ir.ReasonScriptAbsent},
		{"b", "script: npm:loud", ir.ReasonScriptAbsent},
		{"b", "script: npm:no", ir.ReasonScriptAbsent},
		{"b", "script: npm:list", ir.ReasonScriptAbsent},
		{"b", "script: npm:constructor", ir.ReasonScriptAbsent},
		{"b", "script: npm:__proto__", ir.ReasonScriptAbsent},
		{"b", "script: npm:name", ir.ReasonScriptAbsent},
		{"a", "script: npm:top", ""},
		{"m", "script: npm:top", ""},
		{"bad", "script: npm:test", ir.ReasonScriptAbsent},
		{"bare", "script: npm:top", ir.ReasonScriptAbsent},
		{"arr", "script: npm:test", ir.ReasonScriptAbsent},
		{"bom", "script: npm:test", ""},
		{"gone", "script: npm:top", ""},
		{"dir", "script: npm:top", ""},
		{"mk", "script: make:gnu", ""},
		{"mk", "script: make:small", ir.ReasonScriptAbsent},
		{"mk", "script: make:big", ir.ReasonScriptAbsent},
		{"mk2", "script: make:small", ""},
		{"mk2", "script: make:big", ir.ReasonScriptAbsent},
		{"mk3", "script: make:big", ""},
		{"mk3", "script: make:small", ir.ReasonScriptAbsent},
		{"mk4", "script: make:big", ""},
		{"b/c", "script: make:top", ""},
	} {
		write(t, root, c.dir+"/.mwp-context.md", "---\nguards:\n  - "+c.guard+"\n---\nX\n")
		d := desk{root: root}
		var v nodes.MapValue
		for _, ev := range d.events(t, mapNode(c.dir)) {
			switch ev.Task.(type) {
			case graph.Record, graph.Content, nodes.GuardInputs:
				t.Errorf("%s in %s asks for %T", c.guard, c.dir, ev.Task)
			}
		}
		v = d.mapOf(t, c.dir)
		must(t, os.Remove(filepath.Join(root, c.dir, ".mwp-context.md")))
		if len(v.IR.Verifications) != 1 {
			t.Errorf("%s in %s: %s", c.guard, c.dir, messages(v))
			continue
		}
		x := v.IR.Verifications[0]
		want := ir.Passed
		if c.want != "" {
			want = ir.FailedCheck
		}
		if x.Status != want || x.Reason != c.want || v.IR.ReadOnly != (c.want != "") {
			t.Errorf("%s in %s: %s (%s), read-only %v, want %s (%s)", c.guard, c.dir, x.Status, x.Reason, v.IR.ReadOnly, want, c.want)
		}
		if x.RanAt != "" || x.CacheUntil != "" || x.Fingerprint != "" {
			t.Errorf("%s in %s tells of a run: %+v", c.guard, c.dir, x)
		}
	}
}

// TestMakeTargets: which names a makefile has rules for.
func TestMakeTargets(t *testing.T) {
	const makefile = "\xef\xbb\xbffirst:\n" + `# comment: commented
  # indented: hidden
VAR := assigned:here
OTHER ::= x
POSIX :::= x
OLD ?= a:b
URL = http://example.org
.PHONY: all phony
all: one two
a b	c: x
	recipe: never
double:: x
double:: y
spaced : x
%.o: %.c
grouped1 grouped2 &: x
tight1 tight2&: x
after: x # words: more
cont1 \
  cont2: x
	echo \
  inrecipe: x
# comment goes on \
incomment: x
VALUE = a \
  invalue: b
sub/dir: x
crlf: x` + "\r\ncrcont1 \\\r\n  crcont2: x\r\n" + `last:`
	root := tree(t, "-- .mwp --\ndescription = \"d\"\n-- a/x --\n")
	write(t, root, "a/Makefile", makefile)
	yes := strings.Fields("first all a b c double spaced %.o grouped1 grouped2 tight1 tight2 after cont1 cont2 sub/dir crlf crcont1 crcont2 last .PHONY")
	no := strings.Fields(`commented comment # hidden indented VAR OTHER POSIX OLD URL assigned here http phony one two x recipe never foo.o %.c & && tight2& words more
		inrecipe echo incomment goes invalue VALUE dir \ := :`)
	var header strings.Builder
	for _, name := range slices.Concat(yes, no) {
		fmt.Fprintf(&header, "  - script: %q\n", "make:"+name)
	}
	write(t, root, "a/.mwp-context.md", "---\nguards:\n"+header.String()+"---\nX\n")
	d := desk{root: root}
	v := d.mapOf(t, "a/x")
	if len(v.IR.Verifications) != len(yes)+len(no) {
		t.Fatalf("%d verifications: %s", len(v.IR.Verifications), messages(v))
	}
	for i, x := range v.IR.Verifications {
		if want := i < len(yes); (x.Status == ir.Passed) != want {
			t.Errorf("%s: %s (%s), want a target: %v", x.Guard, x.Status, x.Reason, want)
		}
	}
}
