package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// Options say what a command is connected to and how it ends.
type Options struct {
	// Input is written to the standard input, which then stays open until the command
	// has ended; its end tells a command that nobody waits any more. Without one the
	// input is the null device.
	Input []byte
	// Stdout and Stderr get what the command and its descendants write, each from one
	// goroutine. Without a Stderr both streams go to Stdout through one pipe, which
	// keeps their order; without a Stdout they go to the null device. A writer that
	// returns an error ends the command. Run returns after the last Write has.
	Stdout, Stderr io.Writer
	// Grace is how long the command may take to end itself when its context is done:
	// it gets SIGTERM first where there are signals. Without it everything is killed
	// at once.
	Grace time.Duration
	// Tied is set for a command that must not outlive this process; see the package's
	// comment.
	Tied bool
}

// drain is how long output is waited for when the command and what was found of it
// have ended. All of it is in the pipe then, whose end comes at once unless a process
// that got away holds it open; the time is for a machine that is busy.
const drain = time.Second

// killFor is how long the end of what was killed is waited for. It comes at once,
// except for a process that waits for a dead network drive, and for one that runs as
// another user and is not killed at all.
const killFor = time.Second

// ErrAlive is wrapped, beside the reason for ending a command, when it goes on in spite
// of that. Nobody listens to it any more.
var ErrAlive = errors.New("cannot be killed")

// Run starts a command, waits for its end and ends what it left behind. It needs a
// command without a context, Stdin, Stdout, Stderr or ExtraFiles.
//
// The error is ctx's when that was done before the command ended, the writer's when
// one refused, that of cmd.Start when nothing was started, and else that of cmd.Wait:
// nil, or an *exec.ExitError for another status than 0.
func Run(ctx context.Context, cmd *exec.Cmd, o Options) error {
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil || cmd.Cancel != nil {
		panic("process.Run: the command is connected already")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := connect(cmd, o)
	if err != nil {
		return err
	}
	defer w.close()
	g := newGroup(cmd, o.Tied)
	defer g.close()
	ended, err := g.launch()
	if err != nil {
		return err
	}
	w.begin()
	cut := watch(ctx, g, ended, w.refused, o.Grace)
	g.kill()
	if !within(ended, killFor) {
		// It will be reaped when it ends.
		go func() { <-ended; g.reap() }()
		w.drain(0)
		return fmt.Errorf("%w, and process %d %w", cut, cmd.Process.Pid, ErrAlive)
	}
	err = g.reap()
	w.drain(drain)
	if cut == nil {
		// The command may have ended before a refusal could end it.
		cut = w.refusal()
	}
	if cut != nil {
		return cut
	}
	return err
}

// within reports whether a channel is closed before some time has passed.
func within(closed <-chan struct{}, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-closed:
		return true
	case <-t.C:
		return false
	}
}

// watch waits for the command's end, or for a reason to end it, which it returns.
func watch(ctx context.Context, g *group, ended <-chan struct{}, refused <-chan error, grace time.Duration) error {
	select {
	case <-ended:
		return nil
	case err := <-refused:
		return err
	case <-ctx.Done():
	}
	if grace > 0 {
		g.terminate()
		within(ended, grace)
	}
	return ctx.Err()
}

// launch starts the command and returns what is closed when it has ended.
func (g *group) launch() (<-chan struct{}, error) {
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		// Linux ends a tied command with the thread that started it, and Go ends a thread
		// with a goroutine that has locked it and does not unlock it. As long as this one
		// has it, no other can.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := g.cmd.Start()
		if err == nil {
			g.enter()
		}
		started <- err
		if err == nil {
			g.await()
		}
	}()
	err := <-started
	return ended, err
}
