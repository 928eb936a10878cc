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

// interruptible returns a function that makes signals end the app's context, until
// the app writes its result. It is called when work begins that may take a while:
// listening costs 0.3 ms, a sixth of a warm map, and where nobody listens the
// system ends the process, which a shell reports as the same 129, 130 or 143. So
// does a second signal.
func (a *app) interruptible() func() {
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.ctx = ctx
	signals := make(chan os.Signal, 1)
	a.uninterruptible = func() {
		signal.Stop(signals)
		cancel(nil)
	}
	return func() {
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		go func() {
			select {
			case s := <-signals:
				cancel(&interrupted{s.(syscall.Signal)})
				signal.Stop(signals)
			case <-ctx.Done():
			}
		}()
	}
}
