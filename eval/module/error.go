package module

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// Codes of an Error beside those of package protocol.
const (
	// ModuleModified is a module, on disk or from its repository, with other bytes
	// than the lock file pins (D-53).
	ModuleModified = "module_modified"
	// Unresolved is a reference that the lock file does not have while it must not
	// change.
	Unresolved = "unresolved_import"
	// LockInvalid is a lock file that cannot be used or replaced.
	LockInvalid = "lock_invalid"
	// FetcherMissing is a missing mwp-git, FetcherFailed one that did not answer as
	// agreed.
	FetcherMissing = "fetcher_missing"
	FetcherFailed  = "fetcher_failed"
	// Cancelled is a fetch that its caller gave up.
	Cancelled = "cancelled"
)

// Error is why there is no module. It wraps what the system or the context said,
// if that was the reason.
type Error struct {
	// Code is one of the constants of this package or of package protocol.
	Code string
	// Message is one sentence, safe for a terminal and without passwords (U-45);
	// Hint, if not empty, what to do next.
	Message, Hint string
	// Key is the reference (pin.Ref.Key), "" when it is not about one.
	Key string
	// Commit is what a moved tag stands for now, "" for other errors.
	Commit string

	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the reason, nil when there is nothing more to know.
func (e *Error) Unwrap() error { return e.cause }

// failed returns the error of doing something to a path.
func failed(err error, what, path string) *Error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Cancelled, Message: what + " " + show(path) + ": given up", cause: err}
	case errors.Is(err, cas.ErrLink):
		return &Error{
			Code: protocol.Unsafe, Message: show(path) + " is " + cas.ErrLink.Error(),
			Hint: "see where it came from, and move it away", cause: err,
		}
	}
	e := &Error{Code: protocol.IO, Message: what + " " + show(path) + ": " + reason(err).Error(), cause: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "make room on the disk and run the command again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Hint = "modules are kept in the project; it has to be writable to fetch one"
	}
	return e
}

// reason takes the names of calls and files from an error: they are relative to
// directories that its reader does not see.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return err
}
