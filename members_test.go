package mwp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes"
)

func TestAddMember(t *testing.T) {
	for _, c := range []struct{ name, text, member, want string }{
		{"empty file", "", "x", "members = [\"x\"]\n"},
		{"behind the last key", "name = \"a\"\n", "x", "name = \"a\"\nmembers = [\"x\"]\n"},
		{"no line end", "name = \"a\"", "x", "name = \"a\"\nmembers = [\"x\"]\n"},
		{"before tables", "# head\nname = \"a\" # n\n\n# caps\n[budgets]\nl0 = 1\n", "x", "# head\nname = \"a\" # n\nmembers = [\"x\"]\n\n# caps\n[budgets]\nl0 = 1\n"},
		{"only tables", "[budgets]\nl0 = 1\n", "x", "members = [\"x\"]\n[budgets]\nl0 = 1\n"},
		{"a comment that looks like one", "# members = [\"no\"]\nname = \"a\"\n", "x", "# members = [\"no\"]\nname = \"a\"\nmembers = [\"x\"]\n"},
		{"a string that looks like one", "description = \"\"\"\nmembers = [\\\"no\\\"]\n\"\"\"\"\n[render]\nwindow = 1\n", "x", "description = \"\"\"\nmembers = [\\\"no\\\"]\n\"\"\"\"\nmembers = [\"x\"]\n[render]\nwindow = 1\n"},
		{"empty list", "members = []\n", "x", "members = [\"x\"]\n"},
		{"empty list over lines", "members = [\n]\n", "x", "members = [\n  \"x\",\n]\n"},
		{"one line", "members = [\"a\", 'b'] # c\n", "x", "members = [\"a\", 'b', \"x\"] # c\n"},
		{"one line, comma", "members = [\"a\",]\n", "x", "members = [\"a\", \"x\"]\n"},
		{"spaces", "members = [ \"a\" ]\n", "x", "members = [ \"a\", \"x\" ]\n"},
		{"lines, comma", "members = [\n\t\"a\", # first\n\t\"b\", # second\n]\nname = \"n\"\n", "x", "members = [\n\t\"a\", # first\n\t\"b\", # second\n\t\"x\",\n]\nname = \"n\"\n"},
		{"lines, no comma", "members = [\n    \"a\",\n    \"b\" # ]\n]\n", "x", "members = [\n    \"a\",\n    \"b\", # ]\n    \"x\"\n]\n"},
		{"CRLF", "name = \"a\"\r\nmembers = [\r\n  \"a\",\r\n]\r\n", "x", "name = \"a\"\r\nmembers = [\r\n  \"a\",\r\n  \"x\",\r\n]\r\n"},
		{"quoted key", "\"members\" = [\"a\"]\n", "x", "\"members\" = [\"a\", \"x\"]\n"},
		{"other arrays first", "[directories]\n\"a\" = { role = \"r]\", stack = [\"go\"] }\n", "x", "members = [\"x\"]\n[directories]\n\"a\" = { role = \"r]\", stack = [\"go\"] }\n"},
		{"quotes in the name", "members = [\"a\"]\n", `b"c`, "members = [\"a\", \"b\\\"c\"]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, problems := nodes.ParseConfig([]byte(c.text)); hasErrors(problems) {
				t.Fatalf("the test's own configuration is wrong: %v", problems)
			}
			got, err := addMember([]byte(c.text), c.member)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("addMember(%q, %q) (-want +got):\n%s", c.text, c.member, diff)
			}
		})
	}
}

func TestAddMemberRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, member, reason string }{
		{"mistakes", "name = 7\n", "x", "the file has mistakes"},
		{"byte order mark", "\ufeffname = \"a\"\n", "x", "plain UTF-8"},
		{"not UTF-8", "name = \"\xff\"\n", "x", "plain UTF-8"},
		{"excluded", "members = [\"a\", \"!x\"]\n", "lib[1]", "would not match"},
		{"pattern", "members = [\"a\"]\n", "odd[x]", "would not match"},
		{"pattern that matches itself too", "members = [\"a\"]\n", "*", "would be read as a pattern"},
		{"no path with slashes", "", `b\c`, "would not parse"},
		{"excludes itself", "members = [\"a\"]\n", "!x", "would not match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := addMember([]byte(c.text), c.member)
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("addMember(%q, %q) = %q, %v, want an error with %q", c.text, c.member, got, err, c.reason)
			}
		})
	}
}

// FuzzAddMember: whatever the configuration, what comes out is the same one and
// the member, and every old line is still there.
func FuzzAddMember(f *testing.F) {
	for _, s := range []string{"", "members = []", "members = [\n\"a\", # b\n]", "a.b = {c = [1, {d = \"]\"}]}\n'members' = ['''x''']\n", "members = [[\"a\"]]", "name = '''\n[x]\n'''\n", "[members]\n", "members = [\"\"\"a\"\"\"\"]"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, text, member string) {
		got, err := addMember([]byte(text), member)
		if err != nil {
			return
		}
		before, _ := nodes.ParseConfig([]byte(text))
		after, problems := nodes.ParseConfig(got)
		if hasErrors(problems) || !slices.Equal(after.Members, append(slices.Clone(before.Members), member)) {
			t.Errorf("addMember(%q, %q) = %q with members %q", text, member, got, after.Members)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.Contains(line, "[") && !strings.Contains(line, "]") && !strings.Contains(string(got), strings.TrimRight(line, `,"' `)) {
				t.Errorf("addMember(%q, %q) lost the line %q", text, member, line)
			}
		}
	})
}

// TestJoinReadsTheListAgain: what another process added between the first look
// and the lock stays in the list.
func TestJoinReadsTheListAgain(t *testing.T) {
	for _, c := range []struct{ name, meanwhile, want string }{
		{"another", "members = [\"a\"]\n", "members = [\"a\", \"m\"]\n"},
		{"the same", "members = [\"m\"]\n", "members = [\"m\"]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			config := filepath.Join(dir, ".mwp")
			write(t, config, "")
			s := scaffold{ctx: context.Background(), dir: filepath.Join(dir, "m"), o: InitOptions{Member: true}}
			if err := errors.Join(s.look(), s.decide(false)); err != nil {
				t.Fatal(err)
			}
			write(t, config, c.meanwhile)
			if err := s.make(); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(config); err != nil || string(b) != c.want {
				t.Errorf("the configuration is %q, %v, want %q", b, err, c.want)
			}
			if told := slices.Contains(s.r.Made, config); told != (c.meanwhile != c.want) {
				t.Errorf("make says that it changed the configuration: %v", told)
			}
		})
	}
}

// TestTheLockOfTheMembersIsWaitedForInVain: the error names the lock, and a
// context that ends is told apart.
func TestTheLockOfTheMembersIsWaitedForInVain(t *testing.T) {
	dir := t.TempDir()
	a := parentAnchor{dir: dir, config: filepath.Join(dir, ".mwp"), state: filepath.Join(dir, ".mwp.d")}
	unlock, err := a.lock(context.Background(), membersPatience)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.lock(context.Background(), time.Millisecond)
	var e *EnvironmentError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "members.lock for 1ms") {
		t.Errorf("lock of a list that is locked = %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = a.lock(ctx, membersPatience); err != context.Canceled {
		t.Errorf("lock with a context that ended = %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if unlock, err = a.lock(context.Background(), membersPatience); err != nil {
		t.Fatal(err)
	}
	unlock()
}
