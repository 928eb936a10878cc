package vcs

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// What an *Error wraps where callers act on it.
var (
	// ErrNoGit means that there is no git program on PATH.
	ErrNoGit = errors.New("there is no git program on PATH")
	// ErrNoRepository means that the directory is in no work tree.
	ErrNoRepository = errors.New("not in the work tree of a git repository")
	// ErrOwner means that the repository belongs to another user, and git will not
	// read it (safe.directory).
	ErrOwner = errors.New("the repository belongs to another user")
	// ErrIndex means that the index is broken.
	ErrIndex = errors.New("the index is broken")
	// ErrNotFound means that a revision, a path of a commit, an index or a remote is not
	// there.
	ErrNotFound = errors.New("not found")
	// ErrTooLong means that an answer is longer than what is read of one.
	ErrTooLong = errors.New("the answer is too long")
)

// Error is why a question has no answer, or an action did not happen.
type Error struct {
	// Doing completes "cannot".
	Doing string
	// Reason is one sentence in git's words or ours, without passwords and control
	// characters.
	Reason string
	// Hint is the next thing to do, "" when there is nothing to advise.
	Hint string
	// Err is one of the sentinels or an error of the system, or nil.
	Err error

	// status is git's exit status, 0 when it was not run or did not exit.
	status int
}

// Error returns "cannot DOING: REASON".
func (e *Error) Error() string { return "cannot " + e.Doing + ": " + e.Reason }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// fail returns an error of ours. The reason may quote foreign text.
func fail(doing string, err error, reason string) *Error {
	return &Error{Doing: sentence(doing), Reason: sentence(reason), Err: err}
}

// notFound returns an error that is ErrNotFound.
func notFound(doing, reason, hint string) *Error {
	e := fail(doing, ErrNotFound, reason)
	e.Hint = hint
	return e
}

// unexpected is for an answer that is not in the format asked for.
func unexpected(doing string) *Error {
	e := fail(doing, nil, "git's answer is not in the expected format")
	e.Hint = "see whether the repository is damaged: git fsck"
	return e
}

// exited reports whether an error is git's way to say no with an exit status.
func exited(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.status == status
}

// refusal turns what git wrote to standard error into an error. Its texts are
// stable under LC_ALL=C, and it has one exit status for everything.
func refusal(doing string, complaint []byte, status int) *Error {
	text := string(complaint)
	e := fail(doing, nil, reason(text, status))
	e.status = status
	switch {
	case strings.Contains(text, "dubious ownership") || strings.Contains(text, "unsafe repository"):
		e.Err, e.Reason = ErrOwner, ErrOwner.Error()+", and git does not read it"
		e.Hint = "if you trust its owner: " + exception(text)
	case strings.Contains(text, "not a git repository") || strings.Contains(text, "must be run in a work tree") || strings.Contains(text, "cannot use bare repository"):
		e.Err, e.Reason = ErrNoRepository, ErrNoRepository.Error()
		e.Hint = "go to a directory of the repository"
	case brokenIndex(text):
		e.Err, e.Reason = ErrIndex, sentence(ErrIndex.Error()+": "+reason(text, status))
		e.Hint = `delete it and rebuild it from the current commit, then stage again: rm -f "$(git rev-parse --git-path index)" && git reset`
	case strings.Contains(text, "bad object"), strings.Contains(text, "unable to read tree"):
		e.Hint = "see what the repository lacks: git fsck"
	case strings.Contains(text, "from promisor remote"):
		e.Hint = "this is a partial clone, and git fetches what it lacks for: git diff --name-only HEAD"
	case strings.Contains(text, "Please tell me who you are"):
		e.Hint = "git config --global user.email you@example.org"
	case strings.Contains(text, "could not read Username") || strings.Contains(text, "could not read Password"):
		e.Hint = "run the command on a terminal, or give git a credential helper"
	}
	return e
}

// brokenIndex reports whether git could not make sense of an index. One that it could
// not open is not broken.
func brokenIndex(text string) bool {
	return slices.ContainsFunc([]string{
		"index file corrupt", "index file smaller than expected", "unable to map index file", "bad index", "broken index",
		"unknown index entry", "name field in the index", "stage entries",
	}, func(said string) bool { return strings.Contains(text, said) })
}

// exception returns the command that git proposes for a directory of another user.
func exception(text string) string {
	const command = "git config --global --add safe.directory "
	_, dir, ok := strings.Cut(text, command)
	if !ok {
		return command + "DIRECTORY"
	}
	dir, _, _ = strings.Cut(dir, "\n")
	return sentence(command + dir)
}

// reason picks the line that says what happened: git gives advice around it.
func reason(text string, status int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, level := range []string{"fatal: ", "error: "} {
		for _, line := range lines {
			if why, ok := strings.CutPrefix(line, level); ok {
				return why
			}
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "git ended with exit status " + strconv.Itoa(status)
}

// maxSentence is how many characters of foreign text a message carries.
const maxSentence = 400

// sentence makes foreign text fit for a message: one line, without user-info in
// URLs (U-45), control and invisible characters, and of bounded length.
func sentence(s string) string {
	s = strings.Join(strings.Fields(pin.Mask(s)), " ")
	n := 0
	return strings.Map(func(c rune) rune {
		switch n++; {
		case n == maxSentence:
			return '…'
		case n > maxSentence:
			return -1
		case !unicode.IsPrint(c):
			return unicode.ReplacementChar
		}
		return c
	}, s)
}
