package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i *interrupted) Error() string { return "ended by " + i.signal.String() }

// interruptible returns a function that makes signals end the app's context. It
// is called when work begins that may take a while: listening for signals costs
// 0.3 ms, a sixth of a warm map, and without it the system ends the process with
// the same status (129, 130, 143 to a shell). A second signal does that anyway.
func (a *app) interruptible() func() {
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.ctx = ctx
	a.uninterruptible = func() { cancel(nil) }
	return func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		go func() {
			select {
			case s := <-signals:
				cancel(&interrupted{s.(syscall.Signal)})
			case <-ctx.Done():
			}
			signal.Stop(signals)
		}()
	}
}
