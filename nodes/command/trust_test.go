package command

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// trustCase is a line of testdata/trust.txt, which describes the format.
type trustCase struct {
	line    int
	command Command
	q       Question
	want    Decision // without Why
}

// caseReader reads the fields of one line.
type caseReader struct{ rest string }

func (r *caseReader) str() string {
	q, err := strconv.QuotedPrefix(r.rest)
	if err != nil {
		panic(fmt.Sprintf("expected a quoted string, found %q", r.rest))
	}
	r.rest = r.rest[len(q):]
	s, err := strconv.Unquote(q)
	if err != nil {
		panic(err)
	}
	return s
}

func (r *caseReader) literal(s string) bool {
	rest, ok := strings.CutPrefix(r.rest, s)
	if ok {
		r.rest = rest
	}
	return ok
}

func (r *caseReader) list() []string {
	list := []string{}
	for !r.literal("]") {
		list = append(list, r.str())
		r.literal(", ")
	}
	return list
}

func (r *caseReader) must(s string) {
	if !r.literal(s) {
		panic(fmt.Sprintf("expected %q, found %q", s, r.rest))
	}
}

func readTrustCase(line string) (c trustCase) {
	r := &caseReader{line}
	if r.literal("[") {
		c.command = FromArgv(r.list())
	} else {
		c.command = Parse(r.str())
	}
	r.must(" [")
	c.q.Allowed = r.list()
	r.must(" ")
	words := strings.Split(r.rest, " ")
	if len(words) != 3 || words[1] != "own" && words[1] != "module" {
		panic(fmt.Sprintf("expected DECLARED ORIGIN LEVEL, found %q", r.rest))
	}
	if words[0] != "-" {
		c.q.Declared = words[0]
	}
	c.q.Foreign = words[1] == "module"
	level, raised := strings.CutSuffix(words[2], "!")
	c.want = Decision{Level: Level(level), Raised: raised}
	if c.want.Level.rank() < 0 {
		panic(fmt.Sprintf("%q is no level", level))
	}
	return c
}

func trustCases(t testing.TB) (cases []trustCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/trust.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		c := readTrustCase(line)
		c.line = i + 1
		cases = append(cases, c)
	}
	if len(cases) < 100 {
		t.Fatalf("testdata/trust.txt has %d cases", len(cases))
	}
	return cases
}

func TestDecide(t *testing.T) {
	for _, tt := range trustCases(t) {
		got := Decide(tt.command, tt.q)
		if got.Level != tt.want.Level || got.Raised != tt.want.Raised {
			t.Errorf("trust.txt:%d: Decide(%q, %+v) = %+v, want %+v", tt.line, tt.command.Text, tt.q, got, tt.want)
		}
		if got.Why == "" || strings.ContainsAny(got.Why, "\n\x00") {
			t.Errorf("trust.txt:%d: the reason is %q", tt.line, got.Why)
		}
	}
}

// TestBehindABuiltin: no shell syntax makes a builtin of what it joins, nor an entry.
func TestBehindABuiltin(t *testing.T) {
	for _, builtin := range []string{"cargo test", "cargo clippy", "pytest", "npm run x", "pnpm run x", "pnpm lint"} {
		if got := Decide(Parse(builtin), Question{}); got.Level != Builtin {
			t.Fatalf("Decide(%q) = %+v", builtin, got)
		}
		for _, join := range []string{";", "&", "&&", "|", "||", "|&", "\n", "\r", "\r\n", ">", ">>", "<", "<<", "<<<", "2>", "&>", "$(", "`", "${", "$", "(", "\"$(", "\"`", "'\n", "{", "*", "?", "[", " #", " ~", "\x00", "\u2028"} {
			for _, format := range []string{"%s%stouch x", "%s %s touch x", "%s %stouch x)", "%s %stouch x\"`'}"} {
				text := fmt.Sprintf(format, builtin, join)
				c := Parse(text)
				if got := Decide(c, Question{Allowed: []string{builtin, "touch"}}); got.Level != AdHoc || !c.Shell || c.Words != nil {
					t.Errorf("Decide(%q) = %+v, words %q", text, got, c.Words)
				}
			}
		}
	}
}

func TestDecideSaysWhy(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tt := range []struct {
		command string
		q       Question
		want    Decision
	}{
		{"cargo test -q", Question{}, Decision{Builtin, "built in: cargo test", false}},
		{"npm run a -- b", Question{}, Decision{Builtin, "built in: npm run SCRIPT", false}},
		{"pnpm run a", Question{}, Decision{Builtin, "built in: pnpm run SCRIPT", false}},
		{"pnpm a", Question{}, Decision{Builtin, "built in: pnpm SCRIPT", false}},
		{"cargo clippy", Question{}, Decision{Builtin, "built in: cargo clippy", false}},
		{"pytest", Question{}, Decision{Builtin, "built in: pytest", false}},
		{"./check.sh -q", Question{Allowed: []string{"x", "./check.sh"}}, Decision{Project, `allowed_guards lists "./check.sh"`, false}},
		{long, Question{Allowed: []string{long}}, Decision{Project, `allowed_guards lists "` + strings.Repeat("é", 60) + `" (and 80 bytes more)`, false}},
		{"x" + long, Question{Allowed: []string{"x" + long}}, Decision{Project, `allowed_guards lists "x` + strings.Repeat("é", 59) + `" (and 82 bytes more)`, false}},
		{"./check.sh", Question{}, Decision{AdHoc, "not in allowed_guards", false}},
		{"a | b", Question{Allowed: []string{"a"}}, Decision{AdHoc, "not in allowed_guards, which has to list a command with shell syntax word for word", false}},
		{"pytest", Question{Foreign: true}, Decision{AdHoc, "not in allowed_guards, and no command of a module is built in", false}},
		{"x", Question{Foreign: true}, Decision{AdHoc, "not in allowed_guards", false}},
		{"pytest", Question{Declared: "ad-hoc"}, Decision{AdHoc, "declared ad-hoc", false}},
		{"pytest", Question{Declared: "project"}, Decision{Project, "declared project", false}},
		{"pytest", Question{Declared: "yes"}, Decision{AdHoc, `declared "yes", which is no level`, false}},
		{"x", Question{Declared: "project"}, Decision{AdHoc, "declared project, but no entry of allowed_guards covers it", true}},
		{"x", Question{Declared: "builtin", Allowed: []string{"x"}}, Decision{Project, `declared builtin, but allowed_guards lists "x"`, true}},
		{"x", Question{Declared: "ad-hoc"}, Decision{AdHoc, "not in allowed_guards", false}},
		{"x\u200b", Question{Allowed: []string{"x\u200b"}}, Decision{AdHoc, "the command holds U+200B, which does not show", false}},
		{"x\x1b", Question{Declared: "project"}, Decision{AdHoc, "declared project, but the command holds U+001B, which does not show", true}},
		{"", Question{}, Decision{AdHoc, "the command names no program", false}},
	} {
		if got := Decide(Parse(tt.command), tt.q); got != tt.want {
			t.Errorf("Decide(%q, %+v) = %+v, want %+v", tt.command, tt.q, got, tt.want)
		}
	}
}

// TestPnpmCommands: no command of pnpm is a script, except those that run one, and
// all of them are when run stands in front.
func TestPnpmCommands(t *testing.T) {
	for _, w := range pnpmCommands {
		if got := Decide(FromArgv([]string{"pnpm", w, "x"}), Question{}); w != "run" && got.Level != AdHoc {
			t.Errorf("pnpm %s: %+v", w, got)
		}
		if got := Decide(FromArgv([]string{"pnpm", "run", w}), Question{}); got.Level != Builtin {
			t.Errorf("pnpm run %s: %+v", w, got)
		}
	}
}

// TestAllowLineIsEnough: whoever adds the line that we print gets what was promised.
func TestAllowLineIsEnough(t *testing.T) {
	for _, tt := range trustCases(t) {
		line := AllowLine(tt.command)
		if line == "" {
			continue
		}
		entry := readAllowLine(t, line)
		if got := Decide(tt.command, Question{Allowed: []string{entry}, Foreign: true}); got.Level != Project {
			t.Errorf("trust.txt:%d: with %s the command %q is %+v", tt.line, line, tt.command.Text, got)
		}
	}
}
