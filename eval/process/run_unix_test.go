//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ready gathers output, and tells once that there was a complete line.
type ready struct {
	bytes.Buffer
	once sync.Once
	line chan struct{}
}

func newReady() *ready { return &ready{line: make(chan struct{})} }

func (r *ready) Write(p []byte) (int, error) {
	n, err := r.Buffer.Write(p)
	if bytes.IndexByte(p, '\n') >= 0 {
		r.once.Do(func() { close(r.line) })
	}
	return n, err
}

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: what leaves the group is found on Linux only")
	}
}

// cleanEnd checks that nothing of the tests runs, at once.
func cleanEnd(t *testing.T) {
	t.Helper()
	if l := left(); len(l) > 0 {
		t.Errorf("left: %q", l)
		for _, p := range l {
			pid, _ := strconv.Atoi(strings.Fields(p)[0])
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestOutputAndStatus(t *testing.T) {
	tests := []struct {
		name, script   string
		out, err, want string
	}{
		{"nothing", "", "", "", ""},
		{"both streams", "echo a; echo b >&2; exit 3", "a\n", "b\n", "exit status 3"},
		{"null input", "cat; echo end", "end\n", "", ""},
		{"killed", "kill -9 $$", "", "", "signal: killed"},
		{"no line end", "printf a", "a", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, err bytes.Buffer
			got := ""
			if e := Run(t.Context(), shell(test.script), Options{Stdout: &out, Stderr: &err}); e != nil {
				got = e.Error()
			}
			if out.String() != test.out || err.String() != test.err || got != test.want {
				t.Errorf("Run(%q) = %q, wrote %q and %q; want %q, %q, %q", test.script, got, &out, &err, test.want, test.out, test.err)
			}
			cleanEnd(t)
		})
	}
}

// Both streams are one pipe when there is one writer, so that order is kept.
func TestOneStream(t *testing.T) {
	var out bytes.Buffer
	const script = "echo 1; echo 2 >&2; echo 3; echo 4 >&2"
	if err := Run(t.Context(), shell(script), Options{Stdout: &out}); err != nil || out.String() != "1\n2\n3\n4\n" {
		t.Errorf("Run = %v, wrote %q, want the lines in order", err, &out)
	}
	if err := Run(t.Context(), shell(script), Options{}); err != nil {
		t.Errorf("Run without writers = %v", err)
	}
}

// The input stays open until the command ends, and a command need not read it.
func TestInput(t *testing.T) {
	var out bytes.Buffer
	err := Run(t.Context(), shell("read a; read b; echo $a $b"), Options{Input: []byte("x\ny\n"), Stdout: &out})
	if err != nil || out.String() != "x y\n" {
		t.Errorf("Run = %v, wrote %q", err, &out)
	}
	if err := Run(t.Context(), shell("exec true"), Options{Input: bytes.Repeat([]byte("a"), 1<<20)}); err != nil {
		t.Errorf("Run of a command that does not read = %v", err)
	}
	out.Reset()
	err = Run(t.Context(), shell("read a; timeout 0.02 cat; echo $a $?"), Options{Input: []byte("x\n"), Stdout: &out})
	if err != nil || out.String() != "x 124\n" {
		t.Errorf("Run = %v, wrote %q; want the input to stay open", err, &out)
	}
	cleanEnd(t)
}

// Where a command leads a session, it has no terminal.
func TestSession(t *testing.T) {
	onLinux(t)
	var out bytes.Buffer
	if err := Run(t.Context(), shell("read -r line </proc/self/stat; echo $$ $line; (: </dev/tty) 2>/dev/null && echo terminal"), Options{Stdout: &out}); err == nil {
		t.Errorf("the command has a terminal: %q", &out)
	}
	f := strings.Fields(out.String())
	if len(f) < 7 || f[0] != f[1] || f[0] != f[5] || f[0] != f[6] {
		t.Errorf("%q: want process, group and session to be the same", &out)
	}
}

// Each script says "ready" when it has started what may not be left.
func TestNothingIsLeft(t *testing.T) {
	const group, linux = false, true
	tests := []struct {
		name, script string
		onlyLinux    bool
		// ends is set when the leader ends itself.
		ends bool
	}{
		{"leader", "echo ready; exec sleep 1000", group, false},
		{"child", "sleep 1000 & echo ready; wait", group, false},
		{"child that holds the output", "sh -c 'echo ready; sleep 1000; :'; :", group, false},
		{"deaf to signals", "trap '' TERM INT HUP; sleep 1000 & echo ready; wait", group, false},
		{"stopped", "(kill -STOP $$; :) & echo ready; wait", group, false},
		{"stopped leader", "echo ready; kill -STOP $$", group, false},
		{"left behind", "sleep 1000 & echo ready", group, true},
		{"left behind by a child", "(sleep 1000 & exec 1>&-; sleep 1000 &); echo ready", group, true},
		{"group of its own", "timeout 1000 sh -c 'echo ready; sleep 1000; :'; :", linux, false},
		{"group of its own left behind", "mkfifo f; timeout 1000 sh -c 'echo ready >f; sleep 1000; :' & read x <f; echo ready", linux, true},
		{"session of its own", "setsid sh -c 'echo ready; sleep 1000; :'; :", linux, false},
		{"session in a session", "setsid sh -c 'setsid sh -c \"echo ready; sleep 1000; :\"; :'; :", linux, false},
		{"sessions that become more", "setsid sh -c 'i=0; while [ $i -lt 300 ]; do setsid sleep 1000 & [ $i = 20 ] && echo ready; i=$((i+1)); done; wait'; :", linux, false},
		{"many", "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; echo ready; wait", group, false},
		{"many that fork", "i=0; while [ $i -lt 20 ]; do (while :; do sh -c :; done) & i=$((i+1)); done; echo ready; wait", group, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.onlyLinux {
				onLinux(t)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := newReady()
			cmd := shell(test.script)
			cmd.Dir = t.TempDir()
			done := make(chan error, 1)
			go func() { done <- Run(ctx, cmd, Options{Stdout: out}) }()
			<-out.line
			want := error(nil)
			if !test.ends {
				cancel()
				want = context.Canceled
			}
			if err := <-done; !errors.Is(err, want) {
				t.Errorf("Run = %v, want %v", err, want)
			}
			cleanEnd(t)
		})
	}
}

// When Run returns, what it has killed has ended.
func TestGoneAtOnce(t *testing.T) {
	onLinux(t)
	out := newReady()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-out.line; cancel() }()
	err := Run(ctx, shell("i=0; while [ $i -lt 300 ]; do sleep 1000 >/dev/null 2>&1 & p=\"$! $p\"; i=$((i+1)); done; echo $p; wait"), Options{Stdout: out})
	alive := 0
	for pid := range strings.FieldsSeq(out.String()) {
		if _, err := os.Stat("/proc/" + pid + "/exe"); err == nil {
			alive++
		}
	}
	if !errors.Is(err, context.Canceled) || alive > 0 {
		t.Errorf("Run = %v, and %d processes are still there", err, alive)
	}
	cleanEnd(t)
}

// What gets away keeps nobody waiting, and what it was told to write is not lost.
func TestGotAway(t *testing.T) {
	onLinux(t)
	var out bytes.Buffer
	cmd := shell("mkfifo f; setsid sh -c 'echo $$; echo >f; exec sleep 1000' & read x <f; echo ended")
	cmd.Dir = t.TempDir()
	if err := Run(t.Context(), cmd, Options{Stdout: &out}); err != nil {
		t.Errorf("Run = %v", err)
	}
	var pid int
	if _, err := fmt.Sscanf(out.String(), "%d\nended\n", &pid); err != nil {
		t.Fatalf("wrote %q: %v", &out, err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("it did not get away, which the package's comment says: %v", err)
	}
	for len(left()) > 0 {
		runtime.Gosched()
	}
}

type refuses struct{}

var errRefused = errors.New("refused")

func (refuses) Write([]byte) (int, error) { return 0, errRefused }

// A writer that refuses ends the command, and is told of even if that ended before.
func TestRefused(t *testing.T) {
	for _, script := range []string{"echo a; sleep 1000; :", "while :; do echo aaaaaaaa; done", "echo a", "echo a; exit 3"} {
		for _, o := range []Options{{Stdout: refuses{}}, {Stdout: new(bytes.Buffer), Stderr: refuses{}}} {
			s := script
			if o.Stderr != nil {
				s = "exec 1>&2; " + s
			}
			if err := Run(t.Context(), shell(s), o); !errors.Is(err, errRefused) {
				t.Errorf("Run(%q) = %v, want the writer's error", s, err)
			}
		}
	}
	cleanEnd(t)
}

func TestGrace(t *testing.T) {
	const long = time.Hour
	tests := []struct {
		name, script string
		grace        time.Duration
		out          string
	}{
		{"ends itself", "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done", long, "ready\ntidy\n"},
		{"no grace", "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 1000; done", 0, "ready\n"},
		{"deaf", "trap '' TERM; echo ready; while :; do sleep 1000; done", time.Millisecond, "ready\n"},
		{"in a group of its own", "trap '' TERM; timeout 1000 sh -c 'trap \"trap : TERM; echo tidy; exit\" TERM; echo ready; while :; do sleep 0.01; done'", long, "ready\ntidy\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.script, "timeout") {
				onLinux(t)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := newReady()
			go func() { <-out.line; cancel() }()
			err := Run(ctx, shell(test.script), Options{Stdout: out, Stderr: io.Discard, Grace: test.grace})
			if !errors.Is(err, context.Canceled) || out.String() != test.out {
				t.Errorf("Run = %v, wrote %q, want %q", err, out, test.out)
			}
			cleanEnd(t)
		})
	}
}

// Nothing is started, and nothing is left open.
func TestNotStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	made := filepath.Join(t.TempDir(), "made")
	if err := Run(ctx, shell("> "+made), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a context that is done = %v", err)
	}
	if _, err := os.Lstat(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
	leavesNothingOpen(t, func() {
		var out bytes.Buffer
		cmd := &exec.Cmd{Path: "/nonexistent/program", Args: []string{"program"}}
		if err := Run(t.Context(), cmd, Options{Input: []byte("x"), Stdout: &out, Stderr: &out}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Run of a missing program = %v", err)
		}
	})
}

// leavesNothingOpen does something twice, and wants nothing of the second time to stay:
// no descriptor, no goroutine. The first time may open what a process opens once, and
// what is on its way out is given time; what the rest of the process closes in between
// does not matter.
func leavesNothingOpen(t *testing.T, do func()) {
	t.Helper()
	// The garbage collector closes files that were forgotten, and would hide that.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	do()
	before, routines := descriptors(t), runtime.NumGoroutine()
	do()
	var more []string
	for range 5000 {
		more = slices.DeleteFunc(descriptors(t), func(d string) bool { return slices.Contains(before, d) })
		if len(more) == 0 && runtime.NumGoroutine() <= routines {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("left open: %q; %d goroutines, %d before", more, runtime.NumGoroutine(), routines)
}

// descriptors lists what this process has open: number, device and file, because a number
// is soon taken again.
func descriptors(t *testing.T) []string {
	t.Helper()
	d, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	var out []string
	for _, e := range d {
		var stat syscall.Stat_t
		fd, _ := strconv.Atoi(e.Name())
		if syscall.Fstat(fd, &stat) == nil { // not the one that the list was read from
			out = append(out, fmt.Sprint(fd, ": ", stat.Dev, " ", stat.Ino))
		}
	}
	return out
}

// The descriptors of this process are not the command's.
func TestInheritsNothing(t *testing.T) {
	onLinux(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pipe, err := os.Readlink(fmt.Sprint("/proc/self/fd/", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Run(t.Context(), shell("readlink /proc/$$/fd/* 2>&-; :"), Options{Input: []byte("x"), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, f.Name()) || strings.Contains(s, pipe) || strings.Contains(s, "anon_inode") || !strings.Contains(s, "pipe:") {
		t.Errorf("the command has descriptors of this process:\n%s", s)
	}
}

func TestRunLeavesNothingOpen(t *testing.T) {
	leavesNothingOpen(t, func() {
		for range 25 {
			var out bytes.Buffer
			if err := Run(t.Context(), shell("echo a; sleep 1000 &"), Options{Stdout: &out, Tied: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
	cleanEnd(t)
}

func TestMisuse(t *testing.T) {
	connected := shell("")
	connected.Stdout = os.Stdout
	for name, cmd := range map[string]*exec.Cmd{"connected": connected, "with a context": exec.CommandContext(t.Context(), "/bin/sh")} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "process.Run: ") {
					t.Errorf("Run of a command %s: %q", name, s)
				}
			}()
			Run(t.Context(), cmd, Options{})
		}()
	}
}
