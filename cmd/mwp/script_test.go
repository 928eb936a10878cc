package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mwp": main})
}

func TestScripts(t *testing.T) {
	buildFetcher(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			// The home of the machine that runs the tests must not matter. It lies outside of
			// every workspace, as one inside is no place for a key.
			home := filepath.Join(filepath.Dir(env.WorkDir), "homes", filepath.Base(env.WorkDir), "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_STATE_HOME", home+"/state")
			for name, value := range gitVariables(home, filepath.Dir(env.WorkDir)) {
				env.Setenv(name, value)
			}
			// For scripts that take PATH away.
			mwp, err := exec.LookPath("mwp")
			if err != nil {
				return err
			}
			env.Setenv("MWP", mwp)
			// A name that would move a terminal's cursor and turn its text round.
			env.Setenv("CSI", "a\u009b31m\u202eb")
			// Under -race every process would sleep for a second before it ends.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			if err := os.MkdirAll(home, 0o777); err != nil {
				return err
			}
			return os.WriteFile(home+"/.gitconfig", []byte(gitConfig), 0o666)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"same":   same,
			"damage": damage,

			"soon":      soon,
			"bound":     bound,
			"steady":    steady,
			"outline":   outline,
			"tree":      tree,
			"write":     write,
			"sametime":  sametime,
			"shuffle":   shuffle,
			"overwrite": overwrite,
			"socket":    socket,
			"hardlink":  hardlink,
			"long":      long,
			"fill":      fill,
			"release":   release,
			"terminal":  terminal,
			"gone":      gone,
			"guards":    guards,
			"edit":      edit,
		},
		Condition: condition,
	})
}

// hardlink gives a program a second place. A copy that is started at once may be refused:
// a process that another test forked meanwhile still has it open for writing.
func hardlink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hardlink old new")
	}
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// buildFetcher puts mwp-git beside mwp, where installing both puts it.
func buildFetcher(t *testing.T) {
	t.Helper()
	if err := fetcher(); err != nil {
		t.Fatal(err)
	}
}

var fetcher = sync.OnceValue(func() error {
	own, err := exec.LookPath("mwp")
	if err != nil {
		return err
	}
	name := "mwp-git"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	build := exec.Command("go", "build", "-o", filepath.Join(filepath.Dir(own), name), "../mwp-git")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ../mwp-git: %w\n%s", err, out)
	}
	return nil
})

// gitConfig and gitVariables take the user and the machine away from git, and make
// the same commits everywhere. mwp withholds the variables from the git that it
// starts itself, which has the configuration only.
const gitConfig = `[user]
	name = Tess Ter
	email = tess@example.org
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
`

func gitVariables(home, ceiling string) map[string]string {
	const when = "2026-01-01T00:00:00Z"
	return map[string]string{
		"XDG_CONFIG_HOME":         home + "/config",
		"GIT_CONFIG_GLOBAL":       home + "/.gitconfig",
		"GIT_CONFIG_NOSYSTEM":     "1",
		"GIT_ATTR_NOSYSTEM":       "1",
		"GIT_AUTHOR_DATE":         when,
		"GIT_COMMITTER_DATE":      when,
		"GIT_CEILING_DIRECTORIES": ceiling,
	}
}

// condition knows what a machine may lack. [modes]: the modes of files bind
// what bound runs. [mount]: a user may mount a tmpfs in a namespace. [root]: the
// user is root, who may make devices. [terminal]: a test can make a terminal. [proc]:
// processes and their environment are files.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "modes":
		if runtime.GOOS == "windows" {
			return false, nil
		}
		if os.Geteuid() != 0 {
			return true, nil
		}
		return exec.Command(drop[0], append(drop[1:], "true")...).Run() == nil, nil
	case "terminal":
		master, end, err := openTerminal()
		if err != nil {
			return false, nil
		}
		return true, errors.Join(master.Close(), end.Close())
	case "proc":
		_, err := os.Stat("/proc/self/environ")
		return err == nil, nil
	case "mount":
		return exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// drop starts a program for which modes bind although its user is root.
var drop = []string{"setpriv", "--bounding-set=-dac_override,-dac_read_search"}

// reporting commands print what they found although the answer is no.
var reporting = []string{"fsck", "lint", "import", "verify"}

// status runs "status N program args..." and wants the exit status N. With one
// that is not 0 or 3, stdout must be empty, unless a reporting command was
// understood.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
	}
	reports := want != 2 && slices.ContainsFunc(args, func(a string) bool { return slices.Contains(reporting, a) })
	if out := ts.ReadFile("stdout"); want != 0 && want != 3 && out != "" && !reports {
		ts.Fatalf("%v: exit status %d and something on stdout: %q", args[1:], got, out)
	}
}

// same wants all files to have the content of the first.
func same(ts *testscript.TestScript, neg bool, args []string) {
	first := ts.ReadFile(args[0])
	for _, f := range args[1:] {
		if (ts.ReadFile(f) == first) == neg {
			ts.Fatalf("%s and %s: equal is %v", args[0], f, neg)
		}
	}
}

// damage changes one byte in the middle of every file below a directory.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil || len(b) == 0 {
			return err
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(p, b, 0o666)
	}))
}

// soon is status for what must neither wait nor read for ever. The limit leaves room for
// a machine that is busy.
func soon(ts *testscript.TestScript, neg bool, args []string) {
	start := time.Now()
	status(ts, neg, args)
	if d := time.Since(start); d > time.Minute {
		ts.Fatalf("%v: took %v", args[1:], d)
	}
}

// bound is status under a user for whom the modes of files bind, see [modes].
func bound(ts *testscript.TestScript, neg bool, args []string) {
	if os.Geteuid() == 0 {
		args = append(append(args[:1:1], drop...), args[1:]...)
	}
	status(ts, neg, args)
}

// steady runs "steady N program args..." N times and wants the same output.
func steady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: steady N program args...")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	if testing.Short() {
		n = min(n, 3)
	}
	var first [2]string
	for i := range n {
		ts.Check(ts.Exec(args[1], args[2:]...))
		got := [2]string{ts.ReadFile("stdout"), ts.ReadFile("stderr")}
		if i == 0 {
			first = got
		} else if got != first {
			ts.Fatalf("run %d of %v differs:\n%s%s\nfirst:\n%s%s", i+1, args[1:], got[0], got[1], first[0], first[1])
		}
	}
}

// outline prints the entries, trace and warnings of a JSON map, one a line.
func outline(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: outline file")
	}
	var m ir.Map
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &m))
	out := ts.Stdout()
	for _, layer := range [][]ir.Entry{m.Layers.L0, m.Layers.L1, m.Layers.L2, m.Layers.L3, m.Layers.L4} {
		for _, e := range layer {
			fmt.Fprintf(out, "entry l%d %s priority=%d scope=%s owners=%q %q\n", e.Layer, e.Source, e.Priority, e.Scope, e.Owners, e.BodyMarkdown)
		}
	}
	for _, r := range m.Trace {
		fmt.Fprintf(out, "trace %s %s", r.Source, r.Status)
		if r.DeduplicatedBy != "" {
			fmt.Fprintf(out, " by %s", r.DeduplicatedBy)
		}
		fmt.Fprintln(out)
	}
	for _, d := range m.Directories {
		fmt.Fprintf(out, "directory %s\n", d.Path)
	}
	for _, l := range m.Intents {
		fmt.Fprintf(out, "intent %s\n", l.Path)
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(out, "%s %s %s:%d: %s\n", w.Severity, w.Code, w.Source, w.Line, w.Message)
	}
}

// tree prints what lies below some directories, with sizes and times of change.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.Stdout()
	for _, dir := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintln(out, p, info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
			return err
		}))
	}
}

// write runs "write file text", where text has the escapes of Go.
func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write file text")
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// sametime gives a file the time of change of another.
func sametime(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sametime file like")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), info.ModTime(), info.ModTime()))
}

// shuffle runs "shuffle N from to" and copies the files of a tree in the Nth
// random order.
func shuffle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: shuffle N from to")
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	from, to := ts.MkAbs(args[1]), ts.MkAbs(args[2])
	var files []string
	ts.Check(filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, p)
		}
		return err
	}))
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, f := range files {
		rel, err := filepath.Rel(from, f)
		ts.Check(err)
		b, err := os.ReadFile(f)
		ts.Check(err)
		ts.Check(os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o777))
		ts.Check(os.WriteFile(filepath.Join(to, rel), b, 0o666))
	}
}

// overwrite runs "overwrite dir how" and ruins every file below a directory.
func overwrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: overwrite dir how")
	}
	var files []string
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, p)
		}
		return err
	}))
	if len(files) == 0 {
		ts.Fatalf("%s: no file to overwrite", args[0])
	}
	texts := make([][]byte, len(files))
	for i, f := range files {
		var err error
		texts[i], err = os.ReadFile(f)
		ts.Check(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	for i, f := range files {
		b := texts[i]
		switch args[1] {
		case "half":
			b = b[:len(b)/2]
		case "empty":
			b = nil
		case "byte":
			b = b[:min(len(b), 1)]
		case "zeros":
			clear(b)
		case "noise":
			noise.Read(b)
		case "longer":
			b = append(b, b...)
		case "version":
			if len(b) > 7 {
				b[7]++
			}
		case "json":
			b = []byte(`{"schema_version": "999", "ir": {}}`)
		case "swapped":
			b = texts[(i+1)%len(files)]
		case "directory":
			ts.Check(os.Remove(f))
			ts.Check(os.Mkdir(f, 0o777))
			continue
		default:
			ts.Fatalf("overwrite: unknown way %q", args[1])
		}
		ts.Check(os.WriteFile(f, b, 0o666))
	}
}

// socket leaves sockets that nothing listens to. They are made at a short path,
// as the system has a limit for the names of sockets.
func socket(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := os.MkdirTemp("", "s")
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	for _, p := range args {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
		ts.Check(err)
		l.SetUnlinkOnClose(false)
		ts.Check(l.Close())
		ts.Check(os.Rename(filepath.Join(dir, "s"), ts.MkAbs(p)))
	}
}

// long runs "long file N" and makes a file of one comment that has N bytes.
func long(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: long file N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("#", n)), 0o666))
}

// fill replaces $NAME in files by what the script's variable says.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fill file...")
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o666))
	}
}

// release runs "release dir repository [tag...]": the files of a directory become
// the next commit of a bare repository's main branch, and the tags point to it,
// wherever they did before. A tag that begins with "@" is an annotated one of the
// rest. The commit's name is in $COMMIT from then on.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: release dir repository [tag...]")
	}
	dir, bare := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	git := func(args ...string) string {
		ts.Check(ts.Exec("git", append([]string{"--git-dir=" + bare, "--work-tree=" + dir}, args...)...))
		return strings.TrimSpace(ts.ReadFile("stdout"))
	}
	if _, err := os.Stat(bare); err != nil {
		ts.Check(ts.Exec("git", "init", "-q", "--bare", "--template=", bare))
	}
	git("add", "--force", "--all", dir)
	git("commit", "-q", "--allow-empty", "-m", "release")
	for _, tag := range args[2:] {
		if name, annotated := strings.CutPrefix(tag, "@"); annotated {
			git("tag", "--force", "--annotate", "-m", name, name)
		} else {
			git("tag", "--force", tag)
		}
	}
	ts.Setenv("COMMIT", git("rev-parse", "HEAD"))
}

// asking is what every question at a terminal ends with, or nearly.
const asking = "[n]o"

// terminal runs "terminal N answer... -- program args..." and wants the exit status N,
// or any, of a program that runs at a terminal. Each answer is given when the program asks, with
// the escapes of Go: "y\n" is typed, "\x03" interrupts, "\x04" is the end of the
// input, and HANGUP takes the terminal away. One that begins with "LATE " is given by
// somebody who thinks for longer than a display of progress waits. What the terminal
// showed is stderr.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	if neg || at < 1 || at+1 == len(args) {
		ts.Fatalf("usage: terminal N answer... -- program args...")
	}
	want, err := strconv.Atoi(args[0])
	if args[0] != "any" {
		ts.Check(err)
	}
	answers := slices.Clone(args[1:at])
	for i := range answers {
		answers[i], err = strconv.Unquote(`"` + answers[i] + `"`)
		ts.Check(err)
	}
	program := args[at+1]
	if program == "mwp" {
		program = ts.Getenv("MWP")
	}
	// A program that asks once more than it should ends by this.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args[at+2:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range scriptVariables {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	var stdout strings.Builder
	c.Stdout = &stdout
	screen, err := atTerminal(c, asking, answers)
	fmt.Fprint(ts.Stdout(), stdout.String())
	fmt.Fprint(ts.Stderr(), screen)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v: %v", args[at+1:], err)
	}
	if got := statusOf(c.ProcessState); got != want && args[0] != "any" {
		ts.Fatalf("%v: exit status %d, want %d; the screen:\n%s", args[at+1:], got, want, screen)
	}
}

// scriptVariables are those that a program at a terminal gets, if a script sets them.
var scriptVariables = []string{"PATH", "HOME", "XDG_STATE_HOME", "WORK", "CI", "TERM", "NO_COLOR", "MWP_TRUST_KEY", "GORACE"}

// gone wants that no process runs which has this script's directory in its environment.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: gone")
	}
	for _, p := range running("WORK=" + ts.Getenv("WORK")) {
		ts.Fatalf("left: %s", p)
	}
}

// statusOf is the exit status as a shell has it.
func statusOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// running lists the processes with a variable in their environment, where there is a
// /proc.
func running(variable string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), variable) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			found = append(found, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// guards prints the guards of a JSON map or of a report of verify, one a line.
func guards(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: guards file")
	}
	var m struct {
		ReadOnly      bool `json:"read_only"`
		Verifications []ir.Verification
		Guards        []struct {
			ir.Verification
			Ran          bool
			Trust        string
			Trust_reason string
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &m))
	out := ts.Stdout()
	show := func(v *ir.Verification) {
		fmt.Fprintf(out, "%q in %s at %s: %s", v.Guard, v.Cwd, v.DeclaredIn, v.Status)
		if v.ExitCode != nil {
			fmt.Fprintf(out, " exit=%d", *v.ExitCode)
		}
		fmt.Fprintf(out, " reason=%s expired=%v changed=%v", v.Reason, v.Expired, v.FilesChanged)
		if v.Override != nil {
			fmt.Fprintf(out, " override=%q", v.Override.Reason)
		}
	}
	if len(m.Guards) == 0 {
		fmt.Fprintf(out, "read_only=%v\n", m.ReadOnly)
	}
	for i := range m.Verifications {
		show(&m.Verifications[i])
		fmt.Fprintln(out)
	}
	for i := range m.Guards {
		show(&m.Guards[i].Verification)
		fmt.Fprintf(out, " ran=%v trust=%s: %s\n", m.Guards[i].Ran, m.Guards[i].Trust, m.Guards[i].Trust_reason)
	}
}

// edit runs "edit file old new" and replaces every old in a file, of which there has to
// be one; both have the escapes of Go.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit file old new")
	}
	var texts [2]string
	for i := range texts {
		var err error
		texts[i], err = strconv.Unquote(`"` + strings.ReplaceAll(args[i+1], `"`, `\"`) + `"`)
		ts.Check(err)
	}
	file := ts.ReadFile(args[0])
	if !strings.Contains(file, texts[0]) {
		ts.Fatalf("%s does not hold %q", args[0], texts[0])
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(file, texts[0], texts[1])), info.Mode()))
}
