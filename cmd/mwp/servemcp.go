package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// serverKeep bounds the answers that a server keeps in memory, in bytes.
const serverKeep = 16 << 20

// unreadGrace is how long a client that closed its end of stdin may take to read an answer:
// one that is not read keeps the server from reading on, to where the input ends.
const unreadGrace = 5 * time.Second

// countedWriter counts what was written.
type countedWriter struct {
	io.Writer
	n atomic.Int64
}

func (w *countedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.n.Add(1)
	return n, err
}

// whileRead calls stuck when nothing more has been written for a while.
func (w *countedWriter) whileRead(ctx context.Context, stuck func()) {
	t := time.NewTicker(unreadGrace)
	defer t.Stop()
	for last := int64(-1); ; {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		n := w.n.Load()
		if n == last {
			stuck()
			return
		}
		last = n
	}
}

var errUnread = errors.New("the client closed the input and does not read the answers")

// runServeMCP serves maps on stdin and stdout until stdin ends.
func (a *app) runServeMCP() error {
	if a.instructions {
		return a.print([]byte(mcp.Instructions()))
	}
	if f, ok := a.stdout.(*os.File); ok && f == os.Stdout {
		// Whatever prints by mistake must not print into the protocol.
		os.Stdout = os.Stderr
	}
	interruptible := a.interruptible()
	defer a.uninterruptible()
	interruptible()
	// A broken pipe is then an error of a write. To ignore its signal would have guards
	// ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	answers := &countedWriter{Writer: a.stdout}
	ctx, gone := context.WithCancelCause(a.ctx)
	defer gone(nil)
	if out, ok := a.stdout.(*os.File); ok {
		in, _ := a.stdin.(*os.File)
		go func() {
			if hungUp(out, in, func() { go answers.whileRead(ctx, func() { gone(errUnread) }) }) {
				gone(errPipe)
			}
		}()
	}
	bind, err := a.binding()
	if err != nil {
		return err
	}
	o := mcp.Options{
		Version: buildVersion().version, Bind: bind, Client: a.env("CLAUDE_CODE_SESSION_ID"), SearchPath: a.env("PATH"),
		Report: func(d ir.Diagnostic) { a.reportText(d) },
	}
	o.Panicked = func(v any, stack []byte) { a.panicked(v) }
	if a.logFile != "" {
		log, err := openLog(a.logFile)
		if err != nil {
			return err
		}
		defer log.Close()
		o.Log = (&messageLog{w: log}).line
	}
	a.greet()
	err = mcp.Serve(ctx, a.stdin, answers, o)
	switch {
	case mcp.ReaderGone(err):
		return errPipe
	case errors.Is(err, errUnread):
		return nil
	}
	return err
}

// reportText writes findings for whoever reads the log of a client.
func (a *app) reportText(ds ...ir.Diagnostic) { a.reportAs(false, ds) }

// binding returns what finds the workspace: at --root, else around the working directory,
// else around the directory that Claude Code names (D-65).
func (a *app) binding() (func(context.Context) (*mwp.Workspace, error), error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	if strings.Contains(a.root, "${") {
		a.note("--root " + a.root + " holds a variable that the client did not replace, so it counts as absent")
		a.root = ""
	}
	o := mwp.Options{
		Dir: dir, Root: a.root, Offline: true, Keep: serverKeep,
		Guards: mwp.GuardOptions{UserDir: a.userDir(), TrustKey: a.env("MWP_TRUST_KEY"), Env: os.Environ()},
	}
	if o.CacheDir = a.cacheDir; o.CacheDir != "" && !filepath.IsAbs(o.CacheDir) {
		o.CacheDir = filepath.Join(dir, o.CacheDir)
	}
	project := a.env("CLAUDE_PROJECT_DIR")
	if !filepath.IsAbs(project) || project == dir {
		project = ""
	}
	bind := func(ctx context.Context) (*mwp.Workspace, error) {
		return mwp.Bind(ctx, o, dir, project)
	}
	if !a.trustWorkspace {
		return bind, nil
	}
	return a.trusting(bind), nil
}

// trusting binds, and lets the server run the workspace's guards (D-109): in the
// workspace that is there at the start, as whoever typed the flag saw it.
func (a *app) trusting(bind func(context.Context) (*mwp.Workspace, error)) func(context.Context) (*mwp.Workspace, error) {
	ws, err := bind(a.ctx)
	if err == nil {
		err = ws.TrustWorkspace(a.ctx, true)
	}
	if err != nil {
		a.reportText(a.findings(err)...)
	}
	if ws == nil {
		return bind
	}
	return func(context.Context) (*mwp.Workspace, error) { return ws, nil }
}

// greet tells a person what waits for their typing.
func (a *app) greet() {
	if f, ok := a.stdin.(*os.File); ok && isTerminal(f) && !a.quiet {
		io.WriteString(a.stderr, `mwp serves workspace maps to a program here, by the Model Context Protocol: it
waits for one JSON message a line. A client such as Claude Code, Cursor or VS Code
starts it by itself, with a configuration like this one:

  {"mcpServers": {"mwp": {"command": "mwp", "args": ["serve-mcp"]}}}

`+"`mwp init --client NAME`"+` writes it; Ctrl-C or Ctrl-D ends the server.
`)
	}
}

// openLog opens a log to write behind what it holds, or makes it for this user alone. A
// link or a pipe at its place may be somebody else's.
func openLog(path string) (*os.File, error) {
	refuse := func(why string) error {
		return usage("name a file, or one that does not exist yet", "--log %s: %s", path, why)
	}
	flags := os.O_WRONLY | os.O_APPEND | syscall.O_NONBLOCK
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		flags |= os.O_CREATE | os.O_EXCL
	case err != nil:
		return nil, failed(err, "open the log %s", path)
	case !before.Mode().IsRegular():
		return nil, refuse("expected a regular file, found something else")
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, failed(err, "open the log %s", path)
	}
	if after, err := f.Stat(); before != nil && (err != nil || !os.SameFile(before, after)) {
		f.Close()
		return nil, refuse("it was replaced just now")
	}
	return f, nil
}

// messageLog writes a line for each message: when, whither, how long, and its beginning.
type messageLog struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

// loggedBytes is how much of a message is kept.
const loggedBytes = 4096

func (l *messageLog) line(direction byte, message []byte) {
	shown, rest := message, ""
	if len(shown) > loggedBytes {
		shown, rest = shown[:loggedBytes], "…"
	}
	text := strings.ToValidUTF8(string(shown), "\ufffd")
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + string(direction) + " " + strconv.Itoa(len(message)) + " " + ir.EscapeControls(text) + rest + "\n"
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, line) // a full disk must not end the conversation
}
