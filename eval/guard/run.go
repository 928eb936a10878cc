package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/process"
)

// DefaultTimeout is the limit of a guard that has none of its own (D-86).
const DefaultTimeout = 10 * time.Minute

// Job is one run of a guard (D-85).
type Job struct {
	// Argv is a program and its arguments, started without a shell. A program without
	// a slash is looked up on the PATH in Env, in absolute directories only; a relative
	// path begins at Dir.
	Argv []string
	// Shell is text for the system's shell, in the place of Argv.
	Shell string
	// Dir is the absolute path of the working directory, Root that of the workspace.
	Dir, Root string
	// Env is the environment that was inherited; see the package's comment for what a
	// guard gets of it. Relative paths in it begin at From, where mwp was started.
	Env  []string
	From string
	// Timeout is the limit, DefaultTimeout when it is 0. When it has passed, the guard
	// may take Grace to end itself, and then is killed with all that it started; see
	// package process for what can be found of that.
	Timeout, Grace time.Duration
	// Progress gets each line of the output without its end, cut after MaxLine bytes,
	// as the guard wrote it: whatever shows it to a person has to escape it. It is
	// called from one goroutine, which reads no further meanwhile, and not after Run
	// has returned. nil is nobody.
	Progress func(line []byte)
}

// Status is what a run has shown.
type Status uint8

// The statuses. Unverified is a run that has shown nothing, because the command could
// not be started; it is not recorded (D-86).
const (
	Unverified Status = iota
	Passed
	Failed
)

// String returns the status's name in reports.
func (s Status) String() string { return [...]string{"unverified", "passed", "failed"}[s] }

// The reasons of outcomes without an exit status.
const (
	// ReasonTimeout and ReasonSignal are of Failed.
	ReasonTimeout = "timeout"
	ReasonSignal  = "signal"
	// ReasonNotFound and ReasonNotExecutable are of Unverified.
	ReasonNotFound      = "not_found"
	ReasonNotExecutable = "not_executable"
)

// Outcome is how a run ended.
type Outcome struct {
	Status Status
	// Exit is the exit status. It is nil when there was none and for a shell that
	// could not start the command, which has only its own.
	Exit *int
	// Reason is why there is no Exit, "" when there is one; Detail says it in a
	// sentence with names quoted, and Hint what to do about it, or nothing.
	Reason, Detail, Hint string
	// Started is when the run began; Duration is by a clock that nobody sets.
	Started  time.Time
	Duration time.Duration
	// Output is what the guard wrote to both streams, in order: all of it, or head and
	// tail with a line between them that says how much is left out, MaxOutput bytes at
	// most. Omitted is how many bytes are.
	Output  []byte
	Omitted int64
}

// Run runs a guard to its end. What it started is gone then.
//
// A guard that cannot be started is an Outcome. The error is for what says nothing
// about the guard, and then there is no Outcome to record: ctx was done, which the
// error wraps, its directory is missing, or the system has no room for a process.
func Run(ctx context.Context, j Job) (Outcome, error) {
	j.check()
	if err := ctx.Err(); err != nil {
		return Outcome{}, fmt.Errorf("run a guard: %w", err)
	}
	if err := isDirectory(j.Dir); err != nil {
		return Outcome{}, fmt.Errorf("run a guard: %w", err)
	}
	cmd, none := j.command()
	if none != nil {
		return *none, nil
	}
	timeout := j.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	limited, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	out := &output{lines: lines{call: j.Progress}}
	started := time.Now()
	err := process.Run(limited, cmd, process.Options{Stdout: out, Grace: j.Grace, Tied: true})
	o := Outcome{Started: started, Duration: time.Since(started)}
	if ctx.Err() != nil {
		return Outcome{}, fmt.Errorf("run a guard: %w", ctx.Err())
	}
	out.end()
	o.Output, o.Omitted = out.text(), out.omitted()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		o.Status, o.Reason = Failed, ReasonTimeout
		o.Detail = fmt.Sprintf("it ran longer than %v and was ended", timeout)
		if errors.Is(err, process.ErrAlive) {
			o.Detail = fmt.Sprintf("it ran longer than %v and cannot be ended; is it of another user?", timeout)
		}
	case cmd.ProcessState == nil:
		return j.unstarted(cmd, err)
	default:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return Outcome{}, fmt.Errorf("run a guard: %w", err)
		}
		j.ended(&o, cmd.ProcessState)
	}
	return o, nil
}

// check panics where a caller is wrong.
func (j *Job) check() {
	if (len(j.Argv) == 0) == (j.Shell == "") {
		panic("guard.Run: want either Argv or Shell")
	}
	if !filepath.IsAbs(j.Dir) || !filepath.IsAbs(j.Root) || j.From != "" && !filepath.IsAbs(j.From) {
		panic("guard.Run: want absolute paths")
	}
}

func isDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "enter", Path: dir, Err: errors.New("not a directory")}
	}
	return err
}

// command prepares the process, or says why there can be none.
func (j *Job) command() (*exec.Cmd, *Outcome) {
	env := j.environment()
	if j.Shell != "" {
		if strings.IndexByte(j.Shell, 0) >= 0 {
			return nil, zeroByte()
		}
		cmd := shell(j.Shell)
		cmd.Dir, cmd.Env = j.Dir, env
		return cmd, nil
	}
	if slices.ContainsFunc(j.Argv, func(a string) bool { return strings.IndexByte(a, 0) >= 0 }) {
		return nil, zeroByte()
	}
	path, none := j.lookUp()
	if none != nil {
		return nil, none
	}
	return &exec.Cmd{Path: path, Args: j.Argv, Dir: j.Dir, Env: env}, nil
}

func zeroByte() *Outcome {
	return &Outcome{Reason: ReasonNotExecutable, Detail: "the command holds a zero byte, which no argument can"}
}

// ended fills in how the process ended.
func (j *Job) ended(o *Outcome, s *os.ProcessState) {
	if name := signalName(s); name != "" {
		o.Status, o.Reason, o.Detail = Failed, ReasonSignal, "it was ended by "+name
		return
	}
	code := s.ExitCode()
	switch {
	case j.Shell != "" && code == shellNotFound:
		o.Reason = ReasonNotFound
		o.Detail = fmt.Sprintf("the shell did not find a command and ended with status %d; the last line of the output names it", code)
	case j.Shell != "" && code == shellNotExecutable:
		o.Reason = ReasonNotExecutable
		o.Detail = fmt.Sprintf("the shell could not execute a command and ended with status %d; the last line of the output names it", code)
		o.Hint = "make the program executable with chmod +x"
	case code == 0:
		o.Status, o.Exit = Passed, &code
	default:
		o.Status, o.Exit = Failed, &code
	}
}
