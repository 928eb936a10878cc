package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// failure is an error that already has its answer.
type failure struct{ answer protocol.Error }

func (f *failure) Error() string { return f.answer.Message }

func fail(code, format string, args ...any) *failure {
	return &failure{protocol.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func refuse(format string, args ...any) *failure { return fail(protocol.Refused, format, args...) }

// hint adds the next thing to do.
func (f *failure) hint(format string, args ...any) *failure {
	f.answer.Hint = fmt.Sprintf(format, args...)
	return f
}

var (
	// errIDRefused is a server that sends only what its references name.
	errIDRefused = errors.New("the server does not send commits by their id")
	// errNeedsGit is a repository that only the git program can read.
	errNeedsGit = errors.New("only the git program reads this repository")
	// errMissing is an object that was asked for and is not there.
	errMissing = errors.New("an object is missing")
)

// explain turns an error into an answer, without secrets and control characters.
func (j *job) explain(err error) *protocol.Error {
	answer := j.explanation(err)
	answer.Message, answer.Hint = j.clean(answer.Message), j.clean(answer.Hint)
	return &answer
}

func (j *job) explanation(err error) protocol.Error {
	where, hint := "the repository", ""
	if j.place != nil {
		where, hint = j.place.url, j.loginHint()
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.answer
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errNobodyWaits):
		return protocol.Error{Code: protocol.IO, Message: "fetching was interrupted: " + err.Error()}
	case isDenial(err):
		return protocol.Error{Code: protocol.Denied, Message: fmt.Sprintf("%s wants other credentials: %s", where, err), Hint: hint}
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return protocol.Error{Code: protocol.Unreachable, Message: "there is no repository at " + where, Hint: "check the URL; some hosts say this of private repositories: " + hint}
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return protocol.Error{Code: protocol.RefNotFound, Message: where + " is empty: it has no commit"}
	case errors.Is(err, errNeedsGit):
		return protocol.Error{Code: protocol.Unreachable, Message: fmt.Sprintf("%s cannot be read without the git program: %s", where, err), Hint: "install git (https://git-scm.com/downloads) so that it is on PATH, then run the command again"}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return protocol.Error{Code: protocol.IO, Message: e.Error()}
	}
	return protocol.Error{Code: protocol.Unreachable, Message: fmt.Sprintf("%s cannot be read: %s", where, err)}
}

func isDenial(err error) bool {
	return errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)
}

// isSilence reports whether nobody answered, or not to the end: then the git
// program would hear nothing either.
func isSilence(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return true
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && (e.Op == "dial" || e.Op == "read") || errors.Is(err, io.ErrUnexpectedEOF)
}

// maxMessage bounds what a server can make a message say.
const maxMessage = 600

// clean returns text for a terminal and a log: one line, no control or invisible
// characters, no user-info of URLs and none of the secrets this run has read.
func (j *job) clean(s string) string {
	s = pin.Mask(j.secrets.remove(s))
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return ' '
		case c == utf8.RuneError || !unicode.IsPrint(c):
			return '\ufffd'
		}
		return c
	}, s)
	if utf8.RuneCountInString(s) > maxMessage {
		s = string([]rune(s)[:maxMessage]) + "…"
	}
	return strings.TrimSpace(s)
}
