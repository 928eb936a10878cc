//go:build unix

package guard_test

import (
	"bufio"
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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/guard"
)

const (
	// childEnv makes the test binary a second process.
	childEnv = "MWP_GUARD_RUN_TEST_CHILD"
	// markEnv is in the environment of all that a test starts.
	markEnv = "MWP_GUARD_RUN_TEST_MARK"
)

// init and not TestMain, of which a package has one only.
func init() {
	// Tests look at the modes of what they and the code make.
	syscall.Umask(0o022)
	what := strings.Split(os.Getenv(childEnv), "\n")
	switch what[0] {
	case "":
		return
	case "run":
		// Runs a guard in a process that is to be killed.
		j := guard.Job{Shell: what[1], Dir: "/", Root: "/", Env: environment()}
		fmt.Println(guard.Run(context.Background(), j))
	case "lock":
		_, err := guard.Exclusive(context.Background(), what[1], what[2], nil)
		fmt.Println("locked", err)
		io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

// environment is what a guard inherits.
func environment() []string {
	mark := os.Getenv(markEnv)
	if mark == "" {
		mark = fmt.Sprint(os.Getpid())
	}
	return append(os.Environ(), markEnv+"="+mark, childEnv+"=", "GORACE=atexit_sleep_ms=0")
}

// left lists the processes of these tests that run, where there is a /proc.
func left() []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err == nil && bytes.Contains(append([]byte{0}, env...), fmt.Append(nil, "\x00", markEnv, "=", os.Getpid(), "\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// nothingLeft checks at the end of a test that nothing of it runs.
func nothingLeft(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		for _, p := range left() {
			t.Errorf("left: %s", p)
			pid, _ := strconv.Atoi(strings.Fields(p)[0])
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// sh returns a job for a script in a new directory.
func sh(t *testing.T, script string) guard.Job {
	t.Helper()
	nothingLeft(t)
	dir := t.TempDir()
	return guard.Job{Shell: script, Dir: dir, Root: filepath.Dir(dir), Env: environment()}
}

// argv does the same for a program.
func argv(t *testing.T, args ...string) guard.Job {
	t.Helper()
	j := sh(t, "")
	j.Argv = args
	return j
}

// file writes an executable, or a file with another mode.
func file(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	// Between fork and exec another child would have the file open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, j guard.Job) guard.Outcome {
	t.Helper()
	o, err := guard.Run(t.Context(), j)
	if err != nil {
		t.Fatalf("Run(%q, %q) = %v", j.Argv, j.Shell, err)
	}
	return o
}

// short is an outcome in a line.
func short(o guard.Outcome) string {
	s := o.Status.String()
	if o.Exit != nil {
		s += fmt.Sprint(" exit ", *o.Exit)
	}
	if o.Reason != "" {
		s += " " + o.Reason + ": " + o.Detail
	}
	if o.Hint != "" {
		s += " (" + o.Hint + ")"
	}
	return s
}

func TestExitStatuses(t *testing.T) {
	j := argv(t, "./x", "")
	file(t, filepath.Join(j.Dir, "x"), "#!/bin/sh\nexit $1\n", 0o755)
	for code := range 256 {
		want := fmt.Sprint("failed exit ", code)
		if code == 0 {
			want = "passed exit 0"
		}
		j.Argv[1] = fmt.Sprint(code)
		if got := short(run(t, j)); got != want {
			t.Errorf("argv: %s, want %s", got, want)
		}
		if code%15 > 0 {
			continue // 126 and 127, which are the shell's own, among them
		}
		s := guard.Job{Shell: fmt.Sprint("exit ", code), Dir: j.Dir, Root: j.Root, Env: j.Env}
		if got := short(run(t, s)); got != want {
			t.Errorf("shell: %s, want %s", got, want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	const (
		shellNotFound = "unverified not_found: the shell did not find a command and ended with status 127; the last line of the output names it"
		shellNoExec   = "unverified not_executable: the shell could not execute a command and ended with status 126; the last line of the output names it (make the program executable with chmod +x)"
		noPath        = "unverified not_found: the program \"no-such-program\" is not on the PATH (install it, or correct the command)"
	)
	type files map[string]string
	tests := []struct {
		name  string
		files files // those whose names end in '!' may not be executed
		argv  []string
		shell string
		want  string
	}{
		{name: "program", argv: []string{"true"}, want: "passed exit 0"},
		{name: "arguments as they are", argv: []string{"test", "$HOME *; a'\"\n", "=", "$HOME *; a'\"\n"}, want: "passed exit 0"},
		{name: "shell text as it is", shell: `test 'a  "b' = "a  \"b" && exit 4`, want: "failed exit 4"},
		{name: "script", files: files{"a b'\"$c": "#!/bin/sh\nexit 5\n"}, argv: []string{"./a b'\"$c"}, want: "failed exit 5"},
		{name: "relative path", files: files{"sub/x": "#!/bin/sh\ntest \"$0\" = sub/x && test \"$PWD\" -ef .\n"}, argv: []string{"sub/x"}, want: "passed exit 0"},
		{name: "name in the directory", files: files{"no-such-program": "#!/bin/sh\n"}, argv: []string{"no-such-program"}, want: noPath},
		{name: "not found", argv: []string{"no-such-program"}, want: noPath},
		{name: "hostile name", argv: []string{"no\x1b[2J\u202e"}, want: `unverified not_found: the program "no\x1b[2J\u202e" is not on the PATH (install it, or correct the command)`},
		{name: "no name", argv: []string{""}, want: "unverified not_found: the command has no program"},
		{name: "path not found", argv: []string{"./no"}, want: `unverified not_found: there is no program "./no"`},
		{name: "path through a file", files: files{"f!": ""}, argv: []string{"f!/x"}, want: `unverified not_executable: the program "f!/x" cannot be executed: not a directory`},
		{name: "directory", files: files{"d/x": ""}, argv: []string{"./d"}, want: `unverified not_executable: the program "./d" cannot be executed: it is a directory`},
		{name: "not executable", files: files{"x!": "#!/bin/sh\n"}, argv: []string{"./x!"}, want: `unverified not_executable: the file "./x!" is not marked as executable (make it executable with chmod +x)`},
		{name: "no interpreter", files: files{"x": "#!/no/such/interpreter -x\n"}, argv: []string{"./x"}, want: `unverified not_found: the first line of "./x" asks for "/no/such/interpreter", which is not there`},
		{name: "interpreter and CR LF", files: files{"x": "#!/bin/sh\r\nexit 0\r\n"}, argv: []string{"./x"}, want: `unverified not_found: the first line of "./x" asks for "/bin/sh", which is not there (save the file with LF line ends; the first line ends in CR LF)`},
		{name: "interpreter may not be executed", files: files{"i!": "", "x": "#!./i!\n"}, argv: []string{"./x"}, want: `unverified not_executable: the program "./x" cannot be executed: permission denied; its first line asks for "./i!"`},
		{name: "no first line", files: files{"x": "exit 0\n"}, argv: []string{"./x"}, want: `unverified not_executable: "./x" is no program for this system (a script begins with a line such as #!/bin/sh)`},
		{name: "empty file", files: files{"x": ""}, argv: []string{"./x"}, want: `unverified not_executable: "./x" is no program for this system (a script begins with a line such as #!/bin/sh)`},
		{name: "too long", argv: []string{"true", strings.Repeat("a", 1<<20)}, want: `unverified not_executable: the program "true" cannot be executed: argument list too long`},
		{name: "zero byte", argv: []string{"true", "a\x00b"}, want: "unverified not_executable: the command holds a zero byte, which no argument can"},
		{name: "zero byte in a shell", shell: "true \x00", want: "unverified not_executable: the command holds a zero byte, which no argument can"},
		{name: "shell, not found", shell: "no-such-program --x", want: shellNotFound},
		{name: "shell, not found at the end", shell: "true && no-such-program", want: shellNotFound},
		{name: "shell, not executable", files: files{"x!": "#!/bin/sh\n"}, shell: "./x!", want: shellNoExec},
		{name: "127 of a program", files: files{"x": "#!/bin/sh\nexit 127\n"}, argv: []string{"./x"}, want: "failed exit 127"},
		{name: "signal", shell: "kill -KILL $$", want: "failed signal: it was ended by SIGKILL"},
		{name: "another signal", shell: "kill -SEGV $$", want: "failed signal: it was ended by SIGSEGV"},
		{name: "signal to a child", shell: "sh -c 'kill -KILL $$'; exit $?", want: "failed exit 137"},
		{name: "reads its input", shell: "read x; test $? = 1 && cat", want: "passed exit 0"},
		{name: "asks on the terminal", shell: "read x </dev/tty || exit 9", want: "failed exit 9"},
		{name: "left in the background", shell: "sleep 1000 & exit 0", want: "passed exit 0"},
		{name: "left in the background after failing", shell: "sleep 1000 & exit 1", want: "failed exit 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := argv(t, test.argv...)
			j.Shell = test.shell
			for name, text := range test.files {
				path := filepath.Join(j.Dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				mode := fs.FileMode(0o755)
				if strings.HasSuffix(name, "!") {
					mode = 0o644
				}
				file(t, path, text, mode)
			}
			o := run(t, j)
			if diff := cmp.Diff(test.want, short(o)); diff != "" {
				t.Errorf("%s\noutput: %s", diff, o.Output)
			}
		})
	}
}

// The PATH is that of the guard's environment, and its relative entries do not count.
func TestPath(t *testing.T) {
	j := argv(t, "prog")
	bin := filepath.Join(j.Dir, "bin with 'quotes\" and spaces")
	for dir, code := range map[string]string{"here": "1", "relative": "2", bin: "3"} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(j.Dir, dir)
		}
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		file(t, filepath.Join(dir, "prog"), "#!/bin/sh\nexit "+code+"\n", 0o755)
	}
	plain := filepath.Join(j.Dir, "plain")
	if err := os.Mkdir(plain, 0o777); err != nil {
		t.Fatal(err)
	}
	file(t, filepath.Join(plain, "prog"), "#!/bin/sh\n", 0o644)
	t.Chdir(filepath.Join(j.Dir, "here"))
	j.Dir = filepath.Join(j.Dir, "here")
	const missing = `unverified not_found: the program "prog" is not on the PATH (install it, or correct the command)`
	tests := []struct{ name, path, want string }{
		{"absolute", bin, "failed exit 3"},
		{"empty entries", ":" + bin + "::", "failed exit 3"},
		{"relative entries", ".:../relative:" + bin, "failed exit 3"},
		{"only relative", ":.:../relative", missing},
		{"none", "", missing},
		{"not executable", plain, `unverified not_executable: the file "prog" is not marked as executable (make it executable with chmod +x)`},
		{"not executable first", plain + ":" + bin, "failed exit 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := j
			j.Env = append(environment(), "PATH=/nonexistent", "PATH="+test.path)
			if diff := cmp.Diff(test.want, short(run(t, j))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironmentOfAGuard(t *testing.T) {
	j := sh(t, `echo "$MWP_GUARD|$MWP_GUARD_ROOT|$PWD|$A|${GIT_DIR-none}|${MWP_TRUST_KEY-none}|$MWP_GUARD_GIT_INDEX_FILE"; env | grep ^HOME`)
	j.Env = []string{"A=1", "A=2", "GIT_DIR=/x", "MWP_TRUST_KEY=s", "GIT_INDEX_FILE=i", "PWD=/x", "PATH=" + os.Getenv("PATH")}
	j.From = "/from"
	o := run(t, j)
	want := strings.Join([]string{"1", j.Root, j.Dir, "2", "none", "none", "/from/i\n"}, "|")
	if string(o.Output) != want || o.Status != guard.Failed {
		t.Errorf("%s, wrote %q, want %q", short(o), o.Output, want)
	}
	j.Env = nil
	j.Shell = "command -p env"
	var names []string
	for line := range strings.Lines(string(run(t, j).Output)) {
		// Some shells set _ and others.
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "MWP_") || name == "HOME" || name == "PATH" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"MWP_GUARD", "MWP_GUARD_ROOT"}, names); diff != "" {
		t.Error(diff)
	}
}

// In a hook, a guard works on repositories of its own and can look at what is about to
// be committed (case 23).
func TestStagedContent(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git")
	}
	j := sh(t, `set -e
git init -q .; echo committed >f; git add f
echo staged >f; cp .git/index .git/next; GIT_INDEX_FILE=.git/next git add f; echo changed >f`)
	j.Env = append(j.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if o := run(t, j); o.Status != guard.Passed {
		t.Fatalf("%s: %s", short(o), o.Output)
	}
	repo := j.Dir
	j.Env = append(j.Env, "GIT_DIR="+filepath.Join(repo, ".git"), "GIT_INDEX_FILE=.git/next", "GIT_PREFIX=x/")
	j.From = repo
	j.Dir = filepath.Join(repo, "svc")
	if err := os.Mkdir(j.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	j.Shell = `set -e
git show :f; GIT_INDEX_FILE=$MWP_GUARD_GIT_INDEX_FILE git show :f
mkdir other; cd other; git init -q .; git rev-parse --show-toplevel`
	o := run(t, j)
	top, err := filepath.EvalSymlinks(filepath.Join(j.Dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "committed\nstaged\n" + top + "\n"; string(o.Output) != want || o.Status != guard.Passed {
		t.Errorf("%s, wrote %q, want %q", short(o), o.Output, want)
	}
}

// Case 20: a limit is a limit for everything that a guard has started.
func TestTimeout(t *testing.T) {
	for name, script := range map[string]string{
		"leader":                   "echo started; exec sleep 1000",
		"child":                    "sleep 1000 & echo started; sleep 1001",
		"child holds the pipe":     "(trap '' TERM; sleep 1000; :) & echo started; wait",
		"deaf":                     "trap '' TERM INT HUP; echo started; while :; do sleep 1000; done",
		"exits 0 when it is asked": "trap 'exit 0' TERM; echo started; while :; do sleep 0.01; done",
	} {
		for _, grace := range []time.Duration{0, 10 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " grace ", grace), func(t *testing.T) {
				j := sh(t, script)
				j.Grace = grace
				var o guard.Outcome
				// A machine that is busy may take longer than that to start a shell.
				for j.Timeout = 100 * time.Millisecond; j.Timeout < time.Minute && len(o.Output) == 0; j.Timeout *= 2 {
					o = run(t, j)
					want := fmt.Sprintf("failed timeout: it ran longer than %v and was ended", j.Timeout)
					if got := short(o); got != want {
						t.Errorf("%s, want %s", got, want)
					}
					if o.Duration < j.Timeout || o.Started.IsZero() {
						t.Errorf("started %v, took %v", o.Started, o.Duration)
					}
				}
				if !strings.HasPrefix(string(o.Output), "started\n") {
					t.Errorf("wrote %q", o.Output)
				}
			})
		}
	}
}

func TestCancel(t *testing.T) {
	j := sh(t, "sleep 1000 & echo ready; trap 'exit 0' TERM; while :; do sleep 0.01; done")
	j.Grace = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j.Progress = func([]byte) { cancel() }
	o, err := guard.Run(ctx, j)
	if !errors.Is(err, context.Canceled) || !cmp.Equal(o, guard.Outcome{}) {
		t.Errorf("Run = %+v, %v, want only the context's error", o, err)
	}
	if l := left(); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
	for name, j := range map[string]guard.Job{"shell": sh(t, "> made"), "missing": argv(t, "no-such-program")} {
		if o, err := guard.Run(ctx, j); !errors.Is(err, context.Canceled) || !cmp.Equal(o, guard.Outcome{}) {
			t.Errorf("%s: Run with a context that is done = %+v, %v", name, o, err)
		}
		if names := list(t, j.Dir); len(names) > 0 {
			t.Errorf("the guard ran and made %q", names)
		}
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	j = sh(t, "exec sleep 1000")
	if o, err := guard.Run(ctx, j); !errors.Is(err, context.DeadlineExceeded) || !cmp.Equal(o, guard.Outcome{}) {
		t.Errorf("Run = %+v, %v, want the caller's deadline and not the guard's limit", o, err)
	}
}

func TestMisuse(t *testing.T) {
	good := sh(t, "true")
	for name, spoil := range map[string]func(*guard.Job){
		"nothing to run":   func(j *guard.Job) { j.Shell = "" },
		"both":             func(j *guard.Job) { j.Argv = []string{"true"} },
		"relative dir":     func(j *guard.Job) { j.Dir = "x" },
		"relative root":    func(j *guard.Job) { j.Root = "" },
		"relative origins": func(j *guard.Job) { j.From = "x" },
	} {
		j := good
		spoil(&j)
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "guard.Run: ") {
					t.Errorf("%s: %q", name, s)
				}
			}()
			guard.Run(t.Context(), j)
		}()
	}
	for name, dir := range map[string]string{"missing": filepath.Join(good.Dir, "no"), "file": "/dev/null"} {
		j := good
		j.Dir = dir
		if o, err := guard.Run(t.Context(), j); err == nil || o.Status != guard.Unverified {
			t.Errorf("%s directory: %+v, %v", name, o, err)
		}
	}
}

func TestProgress(t *testing.T) {
	j := sh(t, `printf 'a\n\n'; echo b >&2; printf 'c\033[31m\0'`)
	var got []string
	j.Progress = func(b []byte) { got = append(got, string(b)) }
	o := run(t, j)
	if diff := cmp.Diff([]string{"a", "", "b", "c\x1b[31m\x00"}, got); diff != "" {
		t.Error(diff)
	}
	if string(o.Output) != "a\n\nb\nc\x1b[31m\x00" || o.Omitted != 0 {
		t.Errorf("kept %q, %d left out", o.Output, o.Omitted)
	}
}

// A gigabyte of output takes no more memory than a megabyte, and stops nothing.
func TestGigabyte(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 1 << 26
	}
	j := sh(t, fmt.Sprintf("printf begin; head -c %d /dev/zero; printf end", size))
	var lines, most atomic.Int64
	j.Progress = func(b []byte) { lines.Add(1); most.Store(int64(len(b))) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := run(t, j)
	runtime.ReadMemStats(&after)
	if got := short(o); got != "passed exit 0" {
		t.Errorf("%s", got)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("allocated %d bytes in all", n)
	}
	note := fmt.Sprintf("\n[mwp: %d bytes are left out here]\n", o.Omitted)
	kept := int64(len(o.Output) - len(note))
	if o.Omitted+kept != size+int64(len("beginend")) || len(o.Output) > guard.MaxOutput {
		t.Errorf("kept %d bytes and left out %d of %d", kept, o.Omitted, size)
	}
	if !bytes.HasPrefix(o.Output, []byte("begin\x00")) || !bytes.HasSuffix(o.Output, []byte("\x00end")) || !bytes.Contains(o.Output, []byte(note)) {
		t.Error("head, note and tail are not where they belong")
	}
	if lines.Load() != 1 || most.Load() != guard.MaxLine {
		t.Errorf("%d lines of up to %d bytes, want one of %d", lines.Load(), most.Load(), guard.MaxLine)
	}
}

// Whoever kills mwp takes the guard along, on Linux.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux ends a process with its parent")
	}
	nothingLeft(t)
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(), childEnv+"=run\nexec 3>'"+alive+"'; echo $$ >&3; exec sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("read %q, %v", rest, err)
	}
	for len(left()) > 0 {
		// The pipe is closed a moment before the process is gone.
		runtime.Gosched()
	}
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
	var out []string
	for _, name := range list(t, "/dev/fd") {
		var stat syscall.Stat_t
		fd, _ := strconv.Atoi(name)
		if syscall.Fstat(fd, &stat) == nil { // not the one that the list was read from
			out = append(out, fmt.Sprint(fd, ": ", stat.Dev, " ", stat.Ino))
		}
	}
	return out
}

// Many guards leave nothing open: no file, no goroutine, no process.
func TestManyGuards(t *testing.T) {
	if _, err := os.Stat("/dev/fd/0"); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	kinds := []guard.Job{sh(t, "echo a; sleep 1000 & exit 0"), sh(t, "kill -9 $$"), argv(t, "true"), argv(t, "no-such-program"), sh(t, "exec sleep 1000")}
	kinds[4].Timeout = time.Millisecond
	guards := 100
	if testing.Short() {
		guards = 25
	}
	leavesNothingOpen(t, func() {
		for n := range guards {
			run(t, kinds[n%len(kinds)])
		}
	})
}

func TestExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "locks")
	unlock, err := guard.Exclusive(t.Context(), dir, "k1", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := guard.Exclusive(ctx, dir, "k1", cancel)
		waited <- err
	}()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("Exclusive of a held lock = %v, want the context's error after it said that it waits", err)
	}
	other, err := guard.Exclusive(t.Context(), dir, "k2", nil)
	if err != nil {
		t.Errorf("Exclusive of another guard = %v", err)
	}
	other()
	if err := unlock(); err != nil {
		t.Error(err)
	}
	again, err := guard.Exclusive(t.Context(), dir, "k1", nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	for _, key := range []string{"", "../k", "a/b", ".k"} {
		if _, err := guard.Exclusive(t.Context(), dir, key, nil); err == nil {
			t.Errorf("Exclusive(%q) succeeded", key)
		}
	}
}

// The lock is the process's, and what a guard leaves does not keep it.
func TestExclusiveProcesses(t *testing.T) {
	nothingLeft(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(), childEnv+"=lock\n"+dir+"\nk")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked <nil>\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := guard.Exclusive(ctx, dir, "k", cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("Exclusive = %v while another process has the lock", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	unlock, err := guard.Exclusive(t.Context(), dir, "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if runtime.GOOS != "linux" {
		return
	}
	o := run(t, sh(t, "readlink /proc/$$/fd/*; :"))
	if strings.Contains(string(o.Output), dir) || !strings.Contains(string(o.Output), "pipe:") {
		t.Errorf("the guard has the lock:\n%s", o.Output)
	}
}
