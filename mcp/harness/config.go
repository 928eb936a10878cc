package harness

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Error says why a file of a client is left as it is: it is malformed, or something
// else has the place of what would be added.
type Error struct {
	// Line and Column are where, from 1 and in characters; 0 when the whole file is meant.
	Line, Column int
	// Message is one sentence; Hint, when set, says what to do.
	Message, Hint string
	// Differs is set when the file is in order and the place is taken.
	Differs bool
}

// Error returns the sentence with its place.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

func errorAt(text []byte, at int, format string, args ...any) *Error {
	e := &Error{Message: fmt.Sprintf(format, args...)}
	e.Line, e.Column = position(text, at)
	return e
}

// position returns the line and column of an offset.
func position(text []byte, at int) (line, column int) {
	at = min(at, len(text))
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	if start == 0 && at >= bomLen(text) {
		start = bomLen(text)
	}
	return 1 + bytes.Count(text[:at], []byte("\n")), 1 + utf8.RuneCount(text[start:at])
}

// bomLen returns the length of the byte order mark that text begins with.
func bomLen(text []byte) int {
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return len("\ufeff")
	}
	return 0
}

// Entry is one thing that a file gets.
type Entry struct {
	// Path leads from the root to the object or array that holds the entry. What is
	// missing of it is made.
	Path []string
	// Key is the entry's key; "" appends to the array at Path.
	Key string
	// Value is JSON on one line.
	Value string
	// Mark, in an array, begins the commands by which an element of ours is known after
	// somebody has changed it.
	Mark string
	// Inner, when set, is the key of an object at Path that holds the entries in newer
	// versions of the file's format. Where a file has it, the entry goes in there.
	Inner string
}

// File is a file of a client with what mwp adds to it (D-114).
type File struct {
	// Names are the paths that the client reads, with slashes, from the project's root.
	// The first that exists is used, and the first of all is made when none does.
	Names []string
	// Head is the beginning of a new file, members on one line; a client that cannot
	// do without it sets NeedsHead, for files that somebody else has begun.
	Head      string
	NeedsHead string
	// Entries are added in this order. TOML, instead of them, is a block for the end of
	// a TOML file.
	Entries []Entry
	TOML    *Table
}

// New returns the content of the file where there is none.
func (f File) New() []byte {
	if f.TOML != nil {
		return []byte(f.TOML.block("\n"))
	}
	return []byte(f.tree().expanded("", "  ") + "\n")
}

// Add returns the text with everything that it lacks of the entries inserted, and
// nothing else changed; the text itself when it lacks nothing. Remove takes the same
// away again, byte for byte. The error is an *Error.
func (f File) Add(text []byte) ([]byte, error) {
	if f.TOML != nil {
		return f.TOML.add(text)
	}
	return f.addJSON(text)
}

// Remove returns the text without what Add put there. Entries that somebody has
// changed since stay, and are named in left. gone reports that nothing but ours was in
// the file, so that it can go. The error is an *Error, for a file that is malformed.
func (f File) Remove(text []byte) (edited []byte, gone bool, left []*Error, err error) {
	if f.TOML != nil {
		return f.TOML.remove(text)
	}
	return f.removeJSON(text)
}
