package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
)

func TestChanged(t *testing.T) {
	run := func(passed bool, exit *int, reason string, print byte) graph.Run {
		return graph.Run{Passed: passed, Exit: exit, Reason: reason, Fingerprint: cas.Digest{print}}
	}
	pass, one, two, timeout := run(true, ptr(0), "", 1), run(false, ptr(1), "", 1), run(false, ptr(2), "", 1), run(false, nil, "timeout", 1)
	later := one
	later.RanAt, later.Duration, later.Declared, later.Exit = 5, 6, cas.Digest{7}, ptr(1)
	for _, c := range []struct {
		name     string
		previous *graph.Run
		next     graph.Run
		want     bool
	}{
		{"the first run passes", nil, pass, false},
		{"the first run fails", nil, one, true},
		{"passes as before", &pass, pass, false},
		{"passes with other files", &pass, run(true, ptr(0), "", 2), false},
		{"fails", &pass, one, true},
		{"fails as before", &one, later, false},
		{"fails with other files", &one, run(false, ptr(1), "", 2), true},
		{"fails with another code", &one, two, true},
		{"times out", &one, timeout, true},
		{"times out as before", &timeout, timeout, false},
		{"a signal after a timeout", &timeout, run(false, nil, "signal", 1), true},
		{"fails after a timeout", &timeout, one, true},
		{"recovers", &one, pass, true},
		{"recovers from a timeout", &timeout, run(true, ptr(0), "", 9), true},
	} {
		if got := Changed(c.previous, c.next); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func found() Discovery {
	return Discovery{
		Kind: Failing, At: noon + 999e6, Guard: "./check.sh", DeclaredIn: "svc/.mwp-context.md", Target: "svc/main.go",
		Exit: ptr(3), Log: "/home/ann/logs/svc-check.log",
	}
}

func note(t testing.TB, p state.Dir, d Discovery) (appended bool) {
	t.Helper()
	appended, err := AppendDiscovery(context.Background(), p, d)
	if err != nil {
		t.Fatal(err)
	}
	return appended
}

const foundText = "## 2026-05-17T12:00:00Z guard failed\n\n- guard: `./check.sh`\n- context: `svc/.mwp-context.md`\n- target: `svc/main.go`\n- exit code: 3\n- log: `svc-check.log`\n"

func TestAppendDiscovery(t *testing.T) {
	p := project(t)
	path := filepath.Join(p.Path, DiscoveriesName)
	recovered := Discovery{Kind: Recovered, At: noon + 60e9, Guard: "./check.sh", DeclaredIn: "svc/.mwp-context.md", Exit: ptr(0)}
	over := Discovery{Kind: Overridden, At: noon, Guard: "./check.sh", Reason: "timeout", Override: "flaky", Until: noon + 4*3600e9}
	want := discoveriesHeader + "\n" + foundText
	for _, c := range []struct {
		d    Discovery
		more string
	}{
		{found(), ""},
		{recovered, "\n## 2026-05-17T12:01:00Z guard recovered\n\n- guard: `./check.sh`\n- context: `svc/.mwp-context.md`\n- exit code: 0\n"},
		{over, "\n## 2026-05-17T12:00:00Z guard overridden\n\n- guard: `./check.sh`\n- reason: `timeout`\n- override: `flaky`\n- until: 2026-05-17T16:00:00Z\n"},
	} {
		if !note(t, p, c.d) {
			t.Error("not appended")
		}
		want += c.more
		if got := string(readFile(t, path)); got != want {
			t.Errorf("the file is\n%s\nwant\n%s", got, want)
		}
	}
	// Words of an override belong to an override only.
	d := found()
	d.Override = "secret plan"
	if text := d.section(); strings.Contains(text, "plan") || strings.Contains(text, "until") {
		t.Errorf("a failure's section is\n%s", text)
	}
}

// TestPeopleWrite: what a person wrote stays, byte for byte, and decides how lines end.
func TestPeopleWrite(t *testing.T) {
	crlf := strings.ReplaceAll(foundText, "\n", "\r\n")
	for _, c := range []struct{ name, old, want string }{
		{"empty", "", foundText},
		{"a line", "# Discoveries\n\nby hand\n", "\n" + foundText},
		{"no end of line", "by hand", "\n\n" + foundText},
		{"an empty line at the end", "by hand\n\n", foundText},
		{"CRLF", "# D\r\n\r\nby hand\r\n", "\r\n" + crlf},
		{"CRLF and no end of line", "# D\r\nby hand", "\r\n\r\n" + crlf},
		{"CRLF and an empty line", "# D\r\n\r\n", crlf},
		{"a byte-order mark and bytes that are no text", "\ufeff# D\n\xff\x00\n", "\n" + foundText},
		{"one CR somewhere", "a\nb\r\n", "\n" + foundText},
	} {
		p := project(t)
		path := filepath.Join(p.Path, DiscoveriesName)
		if err := os.WriteFile(path, []byte(c.old), 0o640); err != nil {
			t.Fatal(err)
		}
		note(t, p, found())
		if got := string(readFile(t, path)); got != c.old+c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.old+c.want)
		}
		note(t, p, found())
		if n, _ := sections(readFile(t, path)); n != 2 {
			t.Errorf("%s: %d sections after two", c.name, n)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 && os.PathSeparator == '/' {
			t.Errorf("%s: mode %v, %v", c.name, info.Mode(), err)
		}
	}
}

// TestEscaped: nothing that a stranger named can end its line or its span of code.
func TestEscaped(t *testing.T) {
	hostile := "x` <b>\n## 2026-01-01T00:00:00Z guard recovered\r\n\x1b[31m\u202e\u2028\xff" + strings.Repeat("y", 1000)
	d := Discovery{Kind: Overridden, Guard: hostile, DeclaredIn: hostile, Target: hostile, Reason: hostile, Log: "a/b\\" + hostile, Override: hostile, At: noon}
	text := d.section()
	if n, _ := sections([]byte(text)); n != 1 {
		t.Errorf("%d sections in\n%s", n, text)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 9 {
		t.Errorf("%d lines, want 9:\n%s", len(lines), text)
	}
	for _, line := range lines[2:8] {
		if strings.Count(line, "`") != 2 || !strings.HasSuffix(line, "…`") || len(line) > 700 {
			t.Errorf("line %q", line)
		}
		for _, c := range line {
			if c < ' ' || c == 0x7f || c == 0x202e || c == 0x2028 || c == 0xfffd {
				t.Errorf("line %q has %q", line, c)
			}
		}
	}
	if want := "- guard: `x\\x60 <b>\\n## 2026-01-01T00:00:00Z guard recovered\\r\\n\\x1b[31m\\u202e\\u2028\\xffyyy"; !strings.HasPrefix(lines[2], want) {
		t.Errorf("the guard's line is %q", lines[2])
	}
	d = Discovery{Log: "logs/..", Guard: "g"}
	if text := d.section(); strings.Contains(text, "logs") {
		t.Errorf("a log's directory is named:\n%s", text)
	}
}

// TestFull: a guard that changes its mind for ever does not fill the project.
func TestFull(t *testing.T) {
	p := project(t)
	path := filepath.Join(p.Path, DiscoveriesName)
	text := "# Mine\n" + strings.Repeat("\n"+foundText, maxSections-1)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, false} {
		if got := note(t, p, found()); got != want {
			t.Errorf("append %d = %v, want %v", i, got, want)
		}
	}
	want := text + "\n" + foundText + "\n## 2026-05-17T12:00:00Z no further guard results\n\nThis file has 500 of them. Delete those that are settled, and new ones are noted again.\n"
	if got := string(readFile(t, path)); got != want {
		t.Errorf("the file ends in %q", got[len(text):])
	}
	// A person deletes two of ours.
	if err := os.WriteFile(path, []byte(strings.Replace(want, "\n"+foundText+"\n"+foundText, "", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false} {
		if got := note(t, p, found()); got != want {
			t.Errorf("append %d after deleting = %v, want %v", i, got, want)
		}
	}
	if got := strings.Count(string(readFile(t, path)), fullWords); got != 2 {
		t.Errorf("the file says %d times that it is full, want 2", got)
	}
	if err := os.WriteFile(path, make([]byte, maxDiscoveries+1), 0o666); err != nil {
		t.Fatal(err)
	}
	if note(t, p, found()) {
		t.Error("appended to a file of more than 1 MiB")
	}
}

func TestSections(t *testing.T) {
	for text, want := range map[string]int{
		foundText: 1, "x" + foundText: 0, "#" + foundText: 0, strings.ReplaceAll(foundText, "\n", "\r\n"): 1,
		"## 2026-05-17 guard failed\n": 0, "## 2026-13-17T12:00:00Z guard failed\n": 0, "## 2026-05-17T12:00:00Z notes\n": 0, "## ": 0, "": 0,
		"## 2026-05-17T12:00:00Z guard failed": 1,
	} {
		if got, closed := sections([]byte(text)); got != want || closed {
			t.Errorf("sections(%q) = %d, %v, want %d", text, got, closed, want)
		}
	}
}

func TestNotedAtOnce(t *testing.T) {
	p := project(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			d := found()
			d.Guard = fmt.Sprint("guard-", i)
			note(t, p, d)
		})
	}
	wg.Wait()
	text := string(readFile(t, filepath.Join(p.Path, DiscoveriesName)))
	if n, _ := sections([]byte(text)); n != 8 || strings.Count(text, "# Discoveries\n") != 1 {
		t.Errorf("%d sections in\n%s", n, text)
	}
	for i := range 8 {
		if !strings.Contains(text, fmt.Sprintf("`guard-%d`", i)) {
			t.Errorf("guard %d is lost", i)
		}
	}
}

// FuzzDiscovery: whatever stands in the file and whatever is noted, the one stays and the
// other is one section.
func FuzzDiscovery(f *testing.F) {
	f.Add([]byte("# D\n"), "./x", "why")
	f.Add([]byte("# D\r\n"+foundText), "`\n## x", "\xff\u202e")
	f.Add([]byte("## 2026-05-17T12:00:00Z no further guard results"), "", "\n\n")
	f.Fuzz(func(t *testing.T, old []byte, guard, why string) {
		d := Discovery{Kind: Overridden, At: noon, Guard: guard, Target: why, Override: why, Log: guard}
		before, _ := sections(old)
		added := joint(old, d.section())
		after, closed := sections(append(append([]byte{}, old...), added...))
		if after != before+1 || closed {
			t.Errorf("%d sections, before %d, closed %v: %q + %q", after, before, closed, old, added)
		}
		if len(added) > 30<<10 {
			t.Errorf("%d bytes are added", len(added))
		}
	})
}
