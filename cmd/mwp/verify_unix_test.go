//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trustLine is a line of nodes/command/testdata/trust.txt, which describes the format.
// command is as it was written, a Go string or a list of them in brackets.
type trustLine struct {
	command, declared, level string
	allowed                  []string
	module                   bool
}

func trustLines(t *testing.T) (lines []trustLine) {
	t.Helper()
	text, err := os.ReadFile("../../nodes/command/testdata/trust.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		var l trustLine
		var rest string
		if strings.Contains(line, `\xff`) {
			t.Logf("NOT CHECKED: YAML has no way to write %s", line)
			continue
		}
		if line[0] == '[' {
			_, rest = goStrings(t, line)
		} else {
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rest = line[len(q):]
		}
		l.command, rest = line[:len(line)-len(rest)], rest[1:]
		l.allowed, rest = goStrings(t, rest)
		words := strings.Fields(rest)
		if len(words) != 3 {
			t.Fatalf("%s: want DECLARED ORIGIN LEVEL behind the lists", line)
		}
		if words[0] != "-" {
			l.declared = words[0]
		}
		l.module, l.level = words[1] == "module", strings.TrimSuffix(words[2], "!")
		lines = append(lines, l)
	}
	return lines
}

// goStrings reads a list of Go strings in brackets and returns what is behind it.
func goStrings(t *testing.T, s string) (list []string, rest string) {
	t.Helper()
	for s = s[1:]; s[0] != ']'; s = strings.TrimPrefix(s, ", ") {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		text, err := strconv.Unquote(q)
		if err != nil {
			t.Fatal(err)
		}
		list, s = append(list, text), s[len(q):]
	}
	return list, s[1:]
}

// programs are on the PATH of every guard of the test, and nothing else is. Each leaves
// the file "ran" behind in the guard's directory.
var programs = []string{
	"cargo", "npm", "pnpm", "pnpx", "npx", "yarn", "pytest", "py.test", "pytest2", "python", "go", "make", "touch", "rm", "tee", "sh", "bash",
	"env", "sudo", "time", "nice", "gofmt", "check.sh", "cargo.exe", "cargotest", "curl", "node", "x",
}

const stub = "#!/bin/sh\necho \"$0\" >> \"${PWD:-.}/ran\"\n"

// TestNothingRefusedEverRuns puts every command of the table of trust into a context
// file, and looks for what it left behind (D-41, D-42).
func TestNothingRefusedEverRuns(t *testing.T) {
	lines := trustLines(t)
	var programsDir, home = t.TempDir(), t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		// Between fork and exec another child would have a program open for writing.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range programs {
		write(filepath.Join(programsDir, p), stub, 0o755)
	}
	// One workspace for each list of allowed guards.
	groups := map[string][]int{}
	for i, l := range lines {
		if slices.ContainsFunc(l.allowed, func(s string) bool { return strings.ContainsAny(s, "\x00") }) {
			t.Logf("NOT CHECKED: TOML has no way to allow %q", l.allowed)
			continue
		}
		key := fmt.Sprintf("%q", l.allowed)
		groups[key] = append(groups[key], i)
	}
	t.Setenv("PATH", programsDir)
	t.Setenv("MWP_GUARD", "")
	checked, ran := map[string]int{}, 0
	for key, members := range groups {
		root := t.TempDir()
		allowed, err := json.Marshal(append([]string{}, lines[members[0]].allowed...))
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(root, ".mwp", "config.toml"), "[trust]\nallowed_guards = "+string(allowed)+"\n", 0o666)
		for _, i := range members {
			l, dir := &lines[i], filepath.Join(root, strconv.Itoa(i))
			guard := "---\nguards:\n  - cmd: " + l.command + "\n"
			if l.declared != "" {
				guard += "    trust: " + l.declared + "\n"
			}
			guard += "---\nText.\n"
			if l.module {
				write(filepath.Join(dir, ".mwp-context.md"), "---\nimports:\n  - local: ./node_modules/m\n---\nOf it.\n", 0o666)
				write(filepath.Join(dir, "node_modules/m/.mwp-module.md"), "---\nname: m\nimports:\n  - local: ./rules.md\n---\n", 0o666)
				write(filepath.Join(dir, "node_modules/m/rules.md"), guard, 0o666)
			} else {
				write(filepath.Join(dir, ".mwp-context.md"), guard, 0o666)
			}
			// Programs of the workspace's own under names that look like others'.
			for _, p := range []string{"check.sh", "check.shx", "cargo", "pytest", "cargo test", "check.sh; rm", "bin/cargo"} {
				write(filepath.Join(dir, p), stub, 0o755)
			}
		}
		for _, i := range members {
			l, dir := &lines[i], filepath.Join(root, strconv.Itoa(i))
			got := try(map[string]string{"XDG_STATE_HOME": home}, "verify", "--json", "-C", dir, ".")
			var report struct {
				Guards []struct {
					Status, Reason, Trust string
					Ran                   bool
				}
			}
			if got.code == 1 && got.stdout == "" {
				// A header that YAML or mwp refuses has no guards; that is no run either.
				report.Guards = nil
			} else if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
				t.Errorf("%s: %+v", l.command, got)
				continue
			}
			_, err := os.Stat(filepath.Join(dir, "ran"))
			marked := err == nil
			checked[l.level]++
			switch {
			case l.level == "ad-hoc":
				if marked {
					t.Errorf("%s, allowed %s, module %v: it ran", l.command, key, l.module)
				}
				for _, g := range report.Guards {
					if g.Ran || g.Status != "unverified" || g.Trust != "ad-hoc" || g.Reason != "not_trusted" {
						t.Errorf("%s: %+v, want an ad-hoc guard that may not run", l.command, g)
					}
				}
			case len(report.Guards) != 1 || report.Guards[0].Trust != l.level:
				t.Errorf("%s, allowed %s: %+v, want one guard that is %s", l.command, key, report.Guards, l.level)
			case marked:
				ran++
			default:
				t.Logf("%s may run and left no mark: %+v", l.command, report.Guards[0])
			}
			for _, name := range []string{"pwned", "PWNED"} {
				if found, _ := filepath.Glob(filepath.Join(dir, name+"*")); len(found) > 0 && l.level == "ad-hoc" {
					t.Errorf("%s made %q", l.command, found)
				}
			}
		}
	}
	t.Logf("%v, of which %d ran", checked, ran)
	if all := checked["builtin"] + checked["project"] + checked["ad-hoc"]; all < 80 || checked["ad-hoc"] < 80 || ran < 40 {
		t.Errorf("%d commands, %v, of which %d ran: too few", all, checked, ran)
	}
}

// marked is what finds the processes of one test.
const marked = "MWP_TEST_VERIFY_MARK"

// started returns a command of mwp in the current directory, everything of which has a
// mark that running finds.
func started(t *testing.T, args ...string) (c *exec.Cmd, mark string) {
	t.Helper()
	mwp, err := exec.LookPath("mwp")
	if err != nil {
		t.Fatal(err)
	}
	// A run that does not end by what the test does ends by this.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	mark = marked + "=" + t.Name() + strconv.Itoa(os.Getpid())
	c = exec.CommandContext(ctx, mwp, args...)
	c.Env = append(os.Environ(), mark, "HOME="+t.TempDir(), "XDG_STATE_HOME=", "CI=", "MWP_GUARD=", "MWP_TRUST_KEY=", "GORACE=atexit_sleep_ms=0")
	return c, mark
}

// alone wants that nothing with the mark runs.
func alone(t *testing.T, mark string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("NOT CHECKED: only Linux shows the environment of processes")
	}
	for _, p := range running(mark) {
		t.Errorf("left: %s", p)
	}
}

// fifo makes a pipe with a name; opening it waits for the other end.
func fifo(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}

func isAbsent(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(name); err == nil {
		t.Errorf("%s exists", name)
	}
}

// waiting is a workspace whose guard says on a pipe that it runs, and then waits for ever
// with a child in the background.
var waiting = map[string]string{
	".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
	"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n---\nOf a.\n",
	"a/check.sh":        "sleep 1000 &\ntrap 'echo caught > caught' TERM INT HUP\necho started > ../started\nwhile :; do sleep 1000; done\n",
}

// TestSignalsEndGuards: whoever interrupts verify interrupts its guards, all of what they
// started, and nothing is recorded (U-23, D-86).
func TestSignalsEndGuards(t *testing.T) {
	for _, line := range []string{"verify a", "verify", "verify --json --jobs 3", "verify a --hook claude", "map a --verify"} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if signal.Ignored(sig) {
				t.Logf("NOT CHECKED: %v is ignored by whoever runs this test", sig)
				continue
			}
			project(t, waiting)
			fifo(t, "started")
			c, mark := started(t, strings.Fields(line)...)
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile("started"); err != nil {
				t.Fatal(err)
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			if got, want := statusOf(c.ProcessState), 128+int(sig); got != want {
				t.Errorf("mwp %s, %v: exit status %d, want %d", line, sig, got, want)
			}
			if stdout.Len() > 0 || strings.Contains(stderr.String(), "error") {
				t.Errorf("mwp %s, %v: stdout %q, stderr %q", line, sig, stdout.String(), stderr.String())
			}
			isAbsent(t, ".mwp/guards.cache.json")
			isAbsent(t, ".mwp/discoveries.md")
			alone(t, mark)
		}
	}
}

// TestKilledVerify: kill -9 leaves no lock and no half result, and on Linux the guard
// itself dies with mwp; what it started is its own affair.
func TestKilledVerify(t *testing.T) {
	files := map[string]string{}
	for name, text := range waiting {
		files[name] = text
	}
	files["a/check.sh"] = "echo started > ../started\nexec sleep 1000\n"
	project(t, files)
	fifo(t, "started")
	c, mark := started(t, "verify", "a")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("started"); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	isAbsent(t, ".mwp/guards.cache.json")
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: only Linux ends a process with its parent")
	}
	for len(running(mark)) > 0 {
		// The signal is on its way when Wait returns.
		runtime.Gosched()
	}
	// The next run finds no lock that is held.
	if err := os.WriteFile("a/check.sh", []byte("exit 0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c, mark = started(t, "verify", "a")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 passed") {
		t.Errorf("verify after a kill: %v\n%s", err, out)
	}
	alone(t, mark)
}

// TestVerifyTogether: two processes never run a guard at the same time, and whoever had
// to wait takes the result over.
func TestVerifyTogether(t *testing.T) {
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n    verified_paths: [check.sh]\n---\nOf a.\n",
		"a/check.sh":        "echo run >> ../runs\necho started > ../started\ncat ../go > /dev/null\n",
	})
	fifo(t, "started")
	fifo(t, "go")
	home := "HOME=" + t.TempDir()
	first, mark := started(t, "verify", "a")
	first.Env = append(first.Env, home)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("started"); err != nil {
		t.Fatal(err)
	}
	second, _ := started(t, "verify", "a")
	second.Env = append(second.Env, home)
	var stdout bytes.Buffer
	second.Stdout = &stdout
	stderr, err := second.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	for strings.HasPrefix(line, "mwp: looking at the workspace") {
		// A machine that is busy needs seconds for that, and each has its line.
		line, err = lines.ReadString('\n')
	}
	if line != "mwp: another mwp runs sh ./check.sh; waiting for its end\n" {
		t.Errorf("the second says %q, %v", line, err)
	}
	if err := os.WriteFile("go", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first: %v", err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 {
		t.Errorf("the second says %q, %v", rest, err)
	}
	if err := second.Wait(); err != nil || !strings.Contains(stdout.String(), "1 passed, 0 failed, 0 not run") {
		t.Errorf("the second: %v\n%s", err, stdout.String())
	}
	if runs, err := os.ReadFile("runs"); string(runs) != "run\n" {
		t.Errorf("runs %q, %v, want one", runs, err)
	}
	alone(t, mark)
}

// TestVerifyManyTogether: of many processes, at whatever moment they come, no two run a
// guard at the same time, and every run is somebody's.
func TestVerifyManyTogether(t *testing.T) {
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n    verified_paths: [check.sh]\n---\nOf a.\n",
		// A directory is made by one of many.
		"a/check.sh": "mkdir ../alone || { echo together >> ../together; exit 1; }\necho run >> ../runs\nrmdir ../alone\n",
	})
	home := "HOME=" + t.TempDir()
	const many = 6
	outputs := make([]bytes.Buffer, many)
	var cs []*exec.Cmd
	var mark string
	for i := range many {
		var c *exec.Cmd
		c, mark = started(t, "verify", "a", "--json")
		c.Env = append(c.Env, home)
		c.Stdout = &outputs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cs = append(cs, c)
	}
	ran := 0
	for i, c := range cs {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		var report struct{ Guards []struct{ Ran bool } }
		if err := json.Unmarshal(outputs[i].Bytes(), &report); err != nil || len(report.Guards) != 1 {
			t.Fatalf("process %d: %v\n%s", i, err, outputs[i].Bytes())
		}
		if report.Guards[0].Ran {
			ran++
		}
	}
	isAbsent(t, "together")
	runs, err := os.ReadFile("runs")
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(runs, []byte("\n")); got != ran || got < 1 {
		t.Errorf("%d runs, and %d reports of one", got, ran)
	}
	alone(t, mark)
}

// TestReportKeepsTheOrderOfTheMap: guards that end in the opposite order of their
// declaration are reported as they are declared.
func TestReportKeepsTheOrderOfTheMap(t *testing.T) {
	const many = 8
	header := "---\nguards:\n"
	for i := range many {
		header += fmt.Sprintf("  - cmd: sh ./check.sh %d\n", i)
	}
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": header + "---\nOf a.\n",
		// Each waits for the one behind it, so all have to run at once.
		"a/check.sh": fmt.Sprintf("if [ $1 -lt %d ]; then cat ../p$1 > /dev/null; fi\nif [ $1 -gt 0 ]; then echo > ../p$(($1-1)); fi\n", many-1),
	})
	for i := range many {
		fifo(t, fmt.Sprintf("p%d", i))
	}
	c, mark := started(t, "verify", "a", "--json", "--jobs", strconv.Itoa(many))
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var report struct {
		Guards []struct{ Guard, Status string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for i := range many {
		want = append(want, fmt.Sprintf("sh ./check.sh %d passed", i))
	}
	for _, g := range report.Guards {
		got = append(got, g.Guard+" "+g.Status)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	alone(t, mark)
}

// TestVerifyIntoAClosedPipe: a reader that goes away ends nothing but the printing, and
// the gate keeps its answer.
func TestVerifyIntoAClosedPipe(t *testing.T) {
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n---\nOf a.\n",
		"a/check.sh":        "echo started > ../started\ncat ../go > /dev/null\n",
	})
	fifo(t, "started")
	fifo(t, "go")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c, mark := started(t, "verify", "a")
	var stderr bytes.Buffer
	c.Stdout, c.Stderr = w, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := os.ReadFile("started"); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := os.WriteFile("go", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.ExitStatus() != 0 && ws.Signal() != syscall.SIGPIPE || strings.Contains(stderr.String(), "error") {
		t.Errorf("ended with %v, stderr %q", c.ProcessState, stderr.String())
	}
	// The guard ran, and its result counts.
	if _, err := os.Stat(".mwp/guards.cache.json"); err != nil {
		t.Error(err)
	}
	alone(t, mark)
}

// TestLinesWhileAGuardRuns: at a terminal a line is shown when it is written, not when
// the guard ends.
func TestLinesWhileAGuardRuns(t *testing.T) {
	master, end, err := openTerminal()
	if err != nil {
		t.Skipf("NOT CHECKED: no terminal: %v", err)
	}
	defer master.Close()
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n---\nOf a.\n",
		"a/check.sh":        "printf 'first \\033[2J\\n'\ncat ../go > /dev/null\n",
	})
	fifo(t, "go")
	c, mark := started(t, "verify", "a")
	c.Stderr = end
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	lines := bufio.NewReader(master)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the guard's line did not come: %v", err)
		}
		if strings.Contains(line, "first") {
			if want := "  | first \\x1b[2J\r\n"; line != want {
				t.Errorf("shown %q, want %q", line, want)
			}
			break
		}
	}
	if err := os.WriteFile("go", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	alone(t, mark)
}
