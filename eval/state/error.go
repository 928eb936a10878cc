package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/model-workspace-protocol/mwp/cas"
)

var (
	// ErrUnwritable is the reason of a FileError when the system lets nothing be
	// written: a read-only tree, a full disk, no permission. What was to be kept is
	// lost, what was computed still holds.
	ErrUnwritable = errors.New("cannot be written")
	// ErrBusy is the reason when another process held a lock for too long (D-103).
	ErrBusy = errors.New("locked by another process")
	// ErrTooLarge is the reason when a file has more bytes, or a directory more names,
	// than its reader takes.
	ErrTooLarge = errors.New("too large")
	// ErrName is the reason when a name cannot be that of one file on every system.
	ErrName = errors.New("no name of a file")
)

// FileError is why a file could not be read or changed. It wraps one of the reasons
// above, cas.ErrLink for something else than a file or directory of its own, or what
// the context or the system said.
type FileError struct {
	// Message is one sentence, safe for a terminal; Hint, if not empty, what to do next.
	Message, Hint string
	// Reason is what errors.Is and errors.As find.
	Reason error
}

// Error returns the message.
func (e *FileError) Error() string { return e.Message }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Reason }

// Unfit is the error of a file or directory that is not what it should be.
type Unfit struct {
	// Problem says what was expected and what was found.
	Problem string
	// Exposed is set when all that is wrong is that others can read it.
	Exposed bool
}

// Error returns the problem.
func (u Unfit) Error() string { return u.Problem }

// Failed returns the *FileError of doing something to a path, nil for no error. What
// is one already stays as it is.
func Failed(err error, what, path string) error {
	var known *FileError
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &FileError{Message: what + " " + Shown(path) + ": " + Plain(err).Error(), Reason: err}
	switch {
	case errors.Is(err, cas.ErrLink):
		e.Message = Shown(path) + ": " + cas.ErrLink.Error()
		e.Hint = "see where it came from, and move it away"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = what + " " + Shown(path) + ": given up"
	case errors.Is(err, syscall.ENOSPC):
		e.Hint, e.Reason = "make room on the disk and run the command again", errors.Join(ErrUnwritable, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Hint, e.Reason = "the directory has to be writable to keep results and decisions", errors.Join(ErrUnwritable, err)
	}
	return e
}

// Plain takes the names of calls and files from an error.
func Plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if p, ok := errors.AsType[*os.LinkError](err); ok {
		return p.Err
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return err
}

// Shown makes text of strangers fit for one line on a terminal or in a note:
// everything that does not print is written out, the end of a long one is cut off.
func Shown(s string) string {
	const limit = 500
	var b strings.Builder
	n := 0
	for i, c := range s {
		if n++; n > limit {
			b.WriteRune('…')
			break
		}
		switch {
		case c == unicode.ReplacementChar && s[i] != 0xef:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
	}
	return b.String()
}
