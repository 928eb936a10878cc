// Command mwp prints workspace maps and looks after them. It knows flags and
// terminals; what a map is, package mwp knows.
//
// It may not link anything that talks to a network, nor do work at start that the
// command at hand does not need: a map that is served from its slot takes less
// time than a Go program needs to start.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// app is one run of the program.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	start          time.Time
	// listen makes signals end ctx; it may be called again and from anywhere.
	listen func()
	// uninterruptible ends what interruptible began; nil when nothing did.
	uninterruptible func()

	*invocation
	options

	// reader is the session that maps are sent to, nil without --session; delivered, when
	// set, is called when the output was written.
	reader    *mwp.Session
	delivered func()

	// begun ends what working shows, when something else is to be said; nil when nothing
	// is shown.
	begun func()
	// scanned counts the directories that a walk of the tree has looked at.
	scanned atomic.Int64

	mu     sync.Mutex
	events []mwp.Event // guarded by mu
}

// run is the program with everything it touches handed in, except for MWP_*
// variables that stand for flags, which package ff reads itself. It returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) (code int) {
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, env: env, start: time.Now()}
	defer func() {
		if v := recover(); v != nil {
			code = a.panicked(v)
		}
	}()
	err := a.cause(a.run(args))
	if a.isHook() {
		return a.hooked(err)
	}
	if err != nil {
		a.reportError(err)
	}
	return exitCode(err)
}

func (a *app) run(args []string) error {
	var err error
	if a.invocation, err = parse(args); err != nil {
		return err
	}
	switch {
	case a.help && a.command == nil:
		return a.print(helpText())
	case a.help:
		return a.print(commandHelp(a.command))
	}
	if err := a.readOptions(); err != nil {
		return err
	}
	if n := a.command.words; n >= 0 && len(a.words) > n {
		return usage("see `mwp help "+a.command.name+"`", "%s takes %s, got %d", a.command.name, arguments(n), len(a.words))
	}
	switch a.command.name {
	case "map":
		return a.runMap()
	case "explain":
		return a.runExplain()
	case "lint":
		return a.runLint()
	case "targets":
		return a.runTargets()
	case "doctor":
		return a.runDoctor()
	case "status":
		return a.runStatus()
	case "report":
		return a.runReport()
	case "verify":
		return a.runVerify()
	case "serve-mcp":
		return a.runServeMCP()
	case "hook":
		return a.runHook()
	case "import":
		return a.runImport()
	case "publish":
		return a.runPublish()
	case "config":
		return a.runConfig()
	case "cache":
		return a.runCache()
	case "init":
		return a.runInit()
	case "sessions":
		return a.runSessions()
	case "version":
		return a.runVersion()
	case "help":
		return a.runHelp()
	case "completion":
		return a.runCompletion()
	}
	panic("run: no code for the command " + a.command.name)
}

// dir returns the directory that relative paths start from.
func (a *app) dir() (string, error) {
	// Not os.Getwd, which believes $PWD: above a directory that was entered through a
	// link lie other anchors than above the directory itself.
	// A directory that was removed has no name; absolute paths mean something still.
	dir, _ := syscall.Getwd()
	for _, d := range a.dirs {
		if filepath.IsAbs(d) {
			dir = filepath.Clean(d)
		} else {
			dir = filepath.Join(dir, d)
		}
	}
	if len(a.dirs) > 0 {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
		if err != nil {
			return "", failed(err, "change to %s", dir)
		}
	}
	return dir, nil
}

// workspace returns the workspace that the flags describe.
func (a *app) workspace() (*mwp.Workspace, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	o := mwp.Options{
		Dir: dir, Root: a.root, Fresh: a.fresh, VerifyCache: a.verifyCache,
		Offline: a.offline, AllowInsecure: a.insecure, Progress: a.progress,
		Guards: mwp.GuardOptions{UserDir: a.userDir(), TrustKey: a.env("MWP_TRUST_KEY")},
	}
	if a.command == &cmdVerify || a.verifyMap {
		o.Guards.Env = os.Environ()
	}
	if !a.now.IsZero() {
		o.Guards.Now = func() time.Time { return a.now }
	}
	if o.CacheDir = a.cacheDir; o.CacheDir != "" && !filepath.IsAbs(o.CacheDir) {
		o.CacheDir = filepath.Join(dir, o.CacheDir)
	}
	interruptible := a.interruptible()
	a.listen = sync.OnceFunc(func() {
		// What is computed makes many small values, and the program ends right after it:
		// collecting them four times less often takes a fifth of the time off.
		debug.SetGCPercent(400)
		interruptible()
	})
	keep := a.verbose > 1 || a.debugs("hash")
	o.Observe = func(e mwp.Event) {
		a.listen()
		if e.Task.Kind().Name == "scan" {
			a.scanned.Add(1)
		}
		if keep {
			a.mu.Lock()
			a.events = append(a.events, e)
			a.mu.Unlock()
		}
	}
	return mwp.Open(o), nil
}

// debugs reports whether MWP_DEBUG names a topic.
func (a *app) debugs(topic string) bool {
	for t := range strings.SplitSeq(a.env("MWP_DEBUG"), ",") {
		if t == topic {
			return true
		}
	}
	return false
}

// panicked reports a mistake of ours in one sentence.
func (a *app) panicked(v any) int {
	text, stack, _ := strings.Cut(panicText(v), "\n")
	d := ir.Diagnostic{
		Code: codeInternal, Severity: ir.SeverityError, Message: "mwp made a mistake: " + text,
		Hint: "please report it with what MWP_DEBUG=panic prints",
	}
	code := 4
	if a.isHook() {
		code = a.hooked(&mwp.EnvironmentError{Diagnostic: d})
	} else {
		a.report(d)
	}
	if a.debugs("panic") {
		io.WriteString(a.stderr, stack+"\n"+string(debug.Stack()))
	}
	return code
}

func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return "a panic of an unknown type"
}
