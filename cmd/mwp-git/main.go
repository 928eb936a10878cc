// Command mwp-git fetches one pinned git module for mwp: it asks a repository what
// a reference stands for, receives that one commit, and writes the module's files
// as plain files. It answers one request on its standard input with one response
// on its standard output (package protocol).
//
// It is the only program of this module that links network code, and it trusts
// nothing: references come from files of strangers and repositories from servers
// of strangers. It may not run anything that a repository holds or configures, nor
// write outside the directory it was handed, nor keep anything else.
//
// Whoever starts it holds its standard input open until the response is there: an
// input that ends means that nobody waits any more, and the program ends too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// memoryGoal is where the collector begins to work harder; what a module may have
// is far below it.
const memoryGoal = 1 << 30

// grace is how long the end of the program waits for work to notice that it has
// been cancelled.
const grace = 2 * time.Second

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "mwp-git: expected no arguments; mwp starts this program and speaks to it in JSON\nhint: mwp import GIT-URL")
		os.Exit(2)
	}
	debug.SetMemoryLimit(memoryGoal)
	limitProcess()
	// A hook of a surrounding repository exports variables that would lead the
	// libraries, not only the git program, to that repository.
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); isGitVariable(name) {
			os.Unsetenv(name)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

var errNobodyWaits = errors.New("the standard input ended: nobody waits for the answer")

// run answers one request. Everything it touches is handed in, except the files
// that libraries look for themselves: known_hosts, the ssh agent's socket and the
// proxy variables. It returns the exit status: 0 whenever a response was written.
func run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{env: env, progress: newProgress(stderr, time.Now)}
	return j.run(ctx, cancel, stdin, stdout, stderr)
}

func (j *job) run(ctx context.Context, cancel context.CancelCauseFunc, stdin io.Reader, stdout, stderr io.Writer) int {
	var err error
	// Made here and not where it is used: it is removed even when work does not end.
	if j.temp, err = os.MkdirTemp("", "mwp-git-"); err != nil {
		return j.write(stdout, stderr, protocol.Response{Error: j.explain(err)})
	}
	defer os.RemoveAll(j.temp)
	answer, begun := make(chan protocol.Response, 1), make(chan struct{})
	go func() {
		r, err := decodeRequest(stdin)
		close(begun)
		if err != nil {
			answer <- protocol.Response{Error: j.explain(err)}
			return
		}
		go func() {
			// Whatever comes after the request is of no interest, only its end.
			_, _ = io.Copy(io.Discard, stdin)
			cancel(errNobodyWaits)
		}()
		answer <- j.answer(ctx, r)
	}()
	return j.write(stdout, stderr, await(ctx, begun, answer))
}

// await returns the answer. When ctx ends first, work that has begun gets a moment
// to clean up and say so.
func await(ctx context.Context, begun <-chan struct{}, answer <-chan protocol.Response) protocol.Response {
	var late <-chan time.Time
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		select {
		case <-begun:
			timer := time.NewTimer(grace)
			defer timer.Stop()
			late = timer.C
		default:
			now := make(chan time.Time)
			close(now)
			late = now
		}
	}
	select {
	case r := <-answer:
		return r
	case <-late:
		// Not explain: work that did not end may still hold what that looks at.
		return protocol.Response{Error: &protocol.Error{Code: protocol.IO, Message: "fetching was interrupted: " + context.Cause(ctx).Error()}}
	}
}

func (j *job) write(stdout, stderr io.Writer, response protocol.Response) int {
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(response); err != nil {
		fmt.Fprintln(stderr, "mwp-git: the answer could not be written:", err)
		return 1
	}
	return 0
}

// answer does what a request asks. A panic is an answer too: this program reads
// what strangers wrote with libraries that have panicked on less.
func (j *job) answer(ctx context.Context, r protocol.Request) (response protocol.Response) {
	defer func() {
		if v := recover(); v != nil {
			response = protocol.Response{Error: &protocol.Error{
				Code:    protocol.IO,
				Message: j.clean(fmt.Sprintf("mwp-git failed on what it received: %v", v)),
				Hint:    "please report this with the URL",
			}}
		}
	}()
	response, err := j.do(ctx, r)
	if err == nil {
		return response
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return protocol.Response{Error: j.explain(err)}
}
