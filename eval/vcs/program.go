package vcs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// program is how git is called for one directory.
type program struct {
	path     string // of the program
	dir      string
	terminal bool
}

// call is one run of git.
type call struct {
	// doing completes "cannot", for errors.
	doing string
	args  []string
	// index is the index to read, "" for the repository's own.
	index string
	// acts is set for what the user asked to happen; see the package's comment.
	acts bool
}

const (
	// maxAnswer bounds an answer that is held in memory: half a million long paths.
	maxAnswer = 64 << 20
	// maxComplaint is what is kept of the end of standard error.
	maxComplaint = 32 << 10
	// grace is how long a program may take to end when it is told to, and how long
	// something it left behind may hold its output open.
	grace = 2 * time.Second
)

// quiet are options of every question. An empty monitor is none, for every version
// of git; "false" was a program's name for older ones.
func quiet() []string {
	return []string{
		"--no-pager", "--literal-pathspecs", "-c", "safe.bareRepository=explicit",
		"-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null",
		"-c", "diff.orderFile=/dev/null",
	}
}

// find returns git for a directory.
func find(dir string, terminal bool) (program, error) {
	p, err := exec.LookPath("git")
	if err != nil {
		return program{}, &Error{Doing: "run git", Reason: ErrNoGit.Error(), Hint: "install git", Err: ErrNoGit}
	}
	return program{path: p, dir: dir, terminal: terminal}, nil
}

// command prepares a call.
func (p *program) command(ctx context.Context, c call) (*exec.Cmd, *tail) {
	args := quiet()
	if c.acts {
		args = []string{"--no-pager", "-c", "safe.bareRepository=explicit"}
	}
	cmd := exec.CommandContext(ctx, p.path, append(args, c.args...)...)
	cmd.Dir = p.dir
	cmd.Env = environment(cmd.Environ(), c.acts, p.terminal)
	if c.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.index)
	}
	complaint := new(tail)
	cmd.Stderr = complaint
	cmd.WaitDelay = grace
	separate(cmd, c.acts && p.terminal)
	return cmd, complaint
}

// kept says which of git's variables stay; see the package's comment.
func kept(name string, acts bool) bool {
	always := []string{
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
	}
	switch {
	case !strings.HasPrefix(name, "GIT_"), slices.Contains(always, name):
		return true
	case strings.HasPrefix(name, "GIT_CONFIG_KEY_"), strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
		return true
	case !acts:
		return false
	}
	for _, prefix := range []string{"GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_COMMITTER_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL"}, name)
}

// environment returns the environment of a call.
func environment(inherited []string, acts, terminal bool) []string {
	var env []string
	allowed := false
	for _, v := range inherited {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		if kept(name, acts) {
			env = append(env, v)
			allowed = allowed || name == "GIT_ALLOW_PROTOCOL"
		}
	}
	env = append(env, "LC_ALL=C")
	if !acts {
		return append(env,
			"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
			// Others do not have the user's replacements.
			"GIT_NO_REPLACE_OBJECTS=1",
			// Either keeps a partial clone from fetching; the first since git 2.45.
			"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	if !terminal {
		env = append(env, "GIT_TERMINAL_PROMPT=0")
	}
	if !allowed {
		// Without the transports that are programs named in a URL.
		env = append(env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh")
	}
	return env
}

// output runs a call and returns what it wrote.
func (p *program) output(ctx context.Context, c call) ([]byte, error) {
	cmd, complaint := p.command(ctx, c)
	out := &head{max: maxAnswer}
	cmd.Stdout = out
	err := p.end(ctx, c, cmd, cmd.Run(), complaint)
	if out.over {
		return nil, tooLong(c.doing)
	}
	return out.Bytes(), err
}

// line runs a call whose answer is one line, and may contain line ends itself.
func (p *program) line(ctx context.Context, c call) (string, error) {
	out, err := p.output(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

// errEnded means that git's answer ended before it was complete.
var errEnded = errors.New("git's answer ended early")

// stream runs a call and hands over its ends. An error of consume ends git, except
// for errEnded, for which git has a reason of its own.
func (p *program) stream(ctx context.Context, c call, consume func(in io.Writer, out *bufio.Reader) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd, complaint := p.command(running, c)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fail(c.doing, err, err.Error())
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fail(c.doing, err, err.Error())
	}
	if err := cmd.Start(); err != nil {
		return p.end(ctx, c, cmd, err, complaint)
	}
	consumed := consume(in, bufio.NewReaderSize(out, maxEntry))
	in.Close()
	early := errors.Is(consumed, errEnded)
	if consumed != nil && !early {
		stop()
	}
	err = p.end(ctx, c, cmd, cmd.Wait(), complaint)
	if consumed == nil || err != nil && (early || ctx.Err() != nil) {
		return err
	}
	if early {
		return fail(c.doing, errEnded, errEnded.Error())
	}
	return consumed
}

// end says how a run of git went.
func (p *program) end(ctx context.Context, c call, cmd *exec.Cmd, err error, complaint *tail) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		// What still holds the output is something that git left behind: an agent for
		// passwords.
		return nil
	case ctx.Err() != nil:
		if cmd.Process != nil {
			kill(cmd)
		}
		return ctx.Err()
	case errors.As(err, &exit):
		return refusal(c.doing, complaint.text(), exit.ExitCode())
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return fail(c.doing, err, path.Op+" "+path.Path+": "+path.Err.Error())
	}
	return fail(c.doing, err, err.Error())
}

func tooLong(doing string) *Error {
	return fail(doing, ErrTooLong, "git's answer is too long")
}

// maxEntry bounds one entry of a streamed answer; no system has longer paths.
const maxEntry = 64 << 10

// entry reads up to a delimiter, which it drops. At the end it returns io.EOF.
func entry(doing string, r *bufio.Reader, delimiter byte) ([]byte, error) {
	b, err := r.ReadSlice(delimiter)
	switch {
	case err == nil:
		return b[:len(b)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, tooLong(doing)
	case err == io.EOF && len(b) == 0:
		return nil, io.EOF
	}
	return nil, errEnded
}

// head keeps the beginning of what is written to it and then refuses more, which
// ends the writer.
type head struct {
	bytes.Buffer
	max  int
	over bool
}

func (h *head) Write(b []byte) (int, error) {
	if h.Len()+len(b) > h.max {
		h.over = true
		return 0, ErrTooLong
	}
	return h.Buffer.Write(b)
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - maxComplaint; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) text() []byte { return t.kept }
