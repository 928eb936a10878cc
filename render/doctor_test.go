package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func sampleDoctor() *DoctorReport {
	return &DoctorReport{
		Root: "/home/ann/tradepost", Name: "tradepost", Next: "mwp lint",
		Findings: []DoctorFinding{
			{Code: "lint_errors", Group: DoctorBroken, Message: "3 errors", Items: []string{"import_cycle: 2", "hidden_text: 1"}, Commands: []string{"mwp lint"}},
			{Code: "shared_not_imported", Group: DoctorWarning, Message: "a sentence that is longer than one line of a terminal and is broken where a word ends, and not in the middle of it", Items: []string{"a"}, More: 1200},
			{Code: "workspace", Group: DoctorFact, Message: "/home/ann/tradepost"},
		},
	}
}

func TestDoctor(t *testing.T) {
	const want = `broken: 1 thing to mend first; 1 warning
next: mwp lint

Broken: 1
  3 errors [lint_errors]
      import_cycle: 2
      hidden_text: 1
    $ mwp lint

Warnings: 1
  a sentence that is longer than one line of a terminal and is broken where a word ends, and not
    in the middle of it [shared_not_imported]
      a
      and 1,200 more

Facts: 1
  /home/ann/tradepost [workspace]
`
	got := string(Doctor(sampleDoctor(), DoctorOptions{}))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Doctor (-want +got):\n%s", d)
	}
	colored := string(Doctor(sampleDoctor(), DoctorOptions{Color: true}))
	for _, code := range []string{bold, red, yellow, green, "0"} {
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	if colored != want {
		t.Errorf("colours say something else: %s", cmp.Diff(want, colored))
	}
}

func TestDoctorVerdict(t *testing.T) {
	for _, c := range []struct {
		groups []DoctorGroup
		want   string
		broken bool
	}{
		{nil, "healthy: nothing is broken, and nothing needs attention", false},
		{[]DoctorGroup{DoctorFact}, "healthy: nothing is broken, and nothing needs attention", false},
		{[]DoctorGroup{DoctorSuggestion, DoctorSuggestion}, "healthy: nothing is broken, and nothing needs attention; 2 suggestions", false},
		{[]DoctorGroup{DoctorWarning, DoctorSuggestion}, "working, with 1 warning, 1 suggestion", false},
		{[]DoctorGroup{DoctorBroken, DoctorBroken, DoctorSuggestion}, "broken: 2 things to mend first; 1 suggestion", true},
	} {
		var r DoctorReport
		for _, g := range c.groups {
			r.Findings = append(r.Findings, DoctorFinding{Group: g})
		}
		if got := r.Verdict(); got != c.want || r.Broken() != c.broken {
			t.Errorf("the verdict on %v = %q, %v, want %q", c.groups, got, r.Broken(), c.want)
		}
	}
}

// hostile is a name that would move a cursor, end a line and turn text round.
const hostile = "a\x1b[2J\nnext: rm -rf /\r\u202e\u009b31m\xff"

func TestDoctorHostile(t *testing.T) {
	r := &DoctorReport{Root: hostile, Name: hostile, Next: "mwp lint", Findings: []DoctorFinding{
		{Code: "x", Message: hostile, Items: []string{hostile, strings.Repeat("n", 100_000)}, Commands: []string{hostile}},
	}}
	text := string(Doctor(r, DoctorOptions{}))
	noControls(t, text)
	if strings.Count(text, "\nnext: ") != 1 {
		t.Errorf("a name forges a line:\n%s", text)
	}
	if len(text) > 2000 {
		t.Errorf("%d bytes for one long name", len(text))
	}
	var back struct {
		Root     string
		Findings []struct{ Items []string }
	}
	if err := json.Unmarshal(DoctorJSON(r), &back); err != nil || len(back.Findings) != 1 || len(back.Findings[0].Items) != 2 {
		t.Errorf("JSON: %v, %+v", err, back)
	}
}

func noControls(t *testing.T, text string) {
	t.Helper()
	if clean := strings.ReplaceAll(text, "\n", ""); ir.EscapeControls(clean) != clean {
		t.Errorf("control characters in %q", text)
	}
}

func sampleStatus() *StatusReport {
	limit := [4]int{800, 300, 500, 2000}
	return &StatusReport{
		Target: "backend/src", Tokens: [ir.LayerCount]int{96, 290, 640, 1, 12}, Caps: [ir.LayerCount]*int{&limit[0], &limit[1], &limit[2], &limit[3]},
		Members: []string{"backend", "engine"}, Contexts: 1, Anchors: 3, Directories: 1200,
		Guards: StatusGuards{Passed: 3, Failed: 1, Stale: 2, NotRun: 1, Overridden: 1}, Modules: 4, Missing: 2, Modified: 1,
		Cache: "/home/ann/tradepost/.mwp/cache/v1", Bytes: 3 << 20, Maps: 40, Writable: true,
		Sessions: 2, LastSession: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), Clients: []string{"claude", "codex"}, Doctor: sampleDoctor(),
	}
}

func TestStatus(t *testing.T) {
	const want = `tradepost  /home/ann/tradepost

members   2: backend, engine
contexts  1 context file, 3 anchors, 1,200 directories
budgets   the fullest map, backend/src
      L0  [##..................] 96/800
      L1  [###################.] 290/300
      L2  [####################] 640/500, over by 140
      L3  [#...................] 1/2000
      L4                         12, no cap
guards    8: 3 passed, 1 failed, 1 overridden, 2 stale, 1 not run
modules   4 pinned, 2 not fetched, 1 not as pinned
cache     3.0 MiB, 40 answers, /home/ann/tradepost/.mwp/cache/v1
sessions  2 kept, the last used 2026-05-01T12:00:00Z
clients   claude, codex

broken: 1 thing to mend first; 1 warning
next: mwp lint
`
	if d := cmp.Diff(want, string(Status(sampleStatus(), StatusOptions{ASCII: true}))); d != "" {
		t.Errorf("Status (-want +got):\n%s", d)
	}
	plain := strings.NewReplacer("[", "", "]", "", "#", "█", "..................", "░░░░░░░░░░░░░░░░░░", "###.", "███░", "█...", "█░░░").Replace
	if got := string(Status(sampleStatus(), StatusOptions{})); !strings.Contains(got, plain("      L0  [##..................] 96/800")) || strings.Contains(got, "#") {
		t.Errorf("Status with glyphs:\n%s", got)
	}
	colored := string(Status(sampleStatus(), StatusOptions{Color: true, ASCII: true}))
	for _, part := range []string{"[\x1b[32m##\x1b[0m..", "[\x1b[33m###", "[\x1b[31m####"} {
		if !strings.Contains(colored, part) {
			t.Errorf("Status in colours lacks %q:\n%q", part, colored)
		}
	}
}

func TestStatusEmpty(t *testing.T) {
	const want = `(no name)  /p

members   none: one project
contexts  0 context files, 0 anchors, 0 directories
budgets   nothing to weigh: no directory has a map
guards    none declared
modules   none imported
cache     none: the root has no .mwp
sessions  none kept
clients   none of this project's files names mwp

healthy: nothing is broken, and nothing needs attention
next: mwp map
`
	s := &StatusReport{Doctor: &DoctorReport{Root: "/p", Next: "mwp map"}}
	if d := cmp.Diff(want, string(Status(s, StatusOptions{}))); d != "" {
		t.Errorf("Status (-want +got):\n%s", d)
	}
}

// TestStatusFits: 80 columns and 24 lines, whatever the names and however large the
// numbers.
func TestStatusFits(t *testing.T) {
	names := map[string]string{
		"long": strings.Repeat("name/", 2000), "wide": strings.Repeat("幅", 3000), "hostile": strings.Repeat(hostile, 50),
		"marks": strings.Repeat("e\u0301", 3000), "space": " ", "empty": "",
	}
	for what, name := range names {
		for _, members := range []int{0, 1, 2, 2000} {
			s := sampleStatus()
			huge := 1_000_000_000
			s.Target, s.Cache, s.Doctor.Name, s.Doctor.Root, s.Writable = name, name, name, name, false
			s.Members, s.Clients = nil, nil
			for i := range members {
				s.Members = append(s.Members, name+strconv.Itoa(i))
			}
			for range min(members, 9) {
				s.Clients = append(s.Clients, name)
			}
			for i := range s.Tokens {
				s.Tokens[i], s.Caps[i] = huge-i, &huge
			}
			s.Tokens[2] = 2 * huge
			s.Contexts, s.Anchors, s.Directories, s.Modules, s.Missing, s.Modified, s.Sessions, s.Maps, s.Bytes = huge, huge, huge, huge, huge, huge, huge, huge, 1<<60
			s.Guards = StatusGuards{huge, huge, huge, huge, huge}
			for _, o := range []StatusOptions{{}, {ASCII: true}} {
				text := string(Status(s, o))
				noControls(t, text)
				lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				if len(lines) > 24 {
					t.Errorf("%s, %d members: %d lines", what, members, len(lines))
				}
				for _, l := range lines {
					if w := displayWidth(l); w > statusWidth {
						t.Errorf("%s, %d members: %d columns in %q", what, members, w, l)
					}
				}
			}
			if members > 2 {
				continue
			}
			var back map[string]any
			if err := json.Unmarshal(StatusJSON(s), &back); err != nil || len(back["members"].([]any)) != members {
				t.Errorf("%s: JSON: %v", what, err)
			}
		}
	}
}

func TestStatusMembers(t *testing.T) {
	v := statusView{}
	var many []string
	for i := range 30 {
		many = append(many, "member"+strconv.Itoa(i))
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a"}, "1: a"},
		{[]string{"a", "b", "c"}, "3: a, b, c"},
		{many, "30: member0, member1, member2, member3, member4, member5, 24 more"},
		{[]string{strings.Repeat("x", 200), "b"}, "2: " + strings.Repeat("x", 22) + "…, b"},
	} {
		if got := v.members(c.names); got != c.want {
			t.Errorf("members(%.40v) = %q, want %q", c.names, got, c.want)
		}
	}
}

func TestFilled(t *testing.T) {
	for _, c := range []struct{ tokens, limit, want int }{
		{0, 300, 0}, {-1, 300, 0}, {1, 1_000_000_000, 1}, {150, 300, 10}, {299, 300, 19}, {300, 300, 20}, {900, 300, 20}, {1, 0, 20}, {0, 0, 0}, {1 << 40, 1 << 41, 10},
	} {
		if got := filled(c.tokens, c.limit); got != c.want {
			t.Errorf("filled(%d, %d) = %d, want %d", c.tokens, c.limit, got, c.want)
		}
	}
}
