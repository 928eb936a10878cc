package pin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of what a reference turned out to be when it was pinned (D-33).
const (
	Tag    = "tag"
	Commit = "commit"
	// Branch is a floating reference, recorded under --allow-floating only.
	Branch = "branch"
)

// Record is one line of a lock file.
type Record struct {
	// Key is the reference (Ref.Key).
	Key string
	// Kind is Tag, Commit or Branch.
	Kind string
	// Commit is the full id of the commit, Tree the BLAKE3 digest, in hex, of the
	// module's list of files (AppendSums).
	Commit, Tree string
}

// Lock is the content of .mwp/modules.lock (D-34): which commit each reference
// stands for, sorted by key, each once.
type Lock struct{ Records []Record }

// LineError is a mistake in a lock file or a list of files. Line and Column count
// from 1.
type LineError struct {
	Line, Column  int
	Message, Hint string
}

// Error returns "line:col: message".
func (e *LineError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

const lockHeader = "mwp-modules 1"

const lockComment = "# Which commit each git import stands for. Written by `mwp import`; commit this file."

const treePrefix = "blake3:"

// maxLockRecords bounds a lock file; a workspace with more modules has another
// problem.
const maxLockRecords = 5000

// ParseLock reads a lock file and reports every mistake in it, at most a hundred.
// A file with mistakes must not be used: what it pins cannot be told.
func ParseLock(text []byte) (Lock, []*LineError) {
	var l Lock
	var bad []*LineError
	fail := func(line, column int, message, hint string) {
		if len(bad) < 100 {
			bad = append(bad, &LineError{line, column, message, hint})
		}
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if version, ok := strings.CutPrefix(lines[0], "mwp-modules "); ok && version != "" && lines[0] != lockHeader && strings.Trim(version, "0123456789") == "" {
		fail(1, 13, "expected format 1, found format "+clip(version), "upgrade mwp")
		return l, bad
	} else if lines[0] != lockHeader {
		fail(1, 1, "expected the line "+lockHeader+", found "+quote(lines[0]), "restore the file from version control, or delete it and run `mwp import`")
		return l, bad
	}
	seen := map[string]bool{}
	for i, line := range lines[1:] {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, "=======") || strings.HasPrefix(line, ">>>>>>>") || strings.HasPrefix(line, "|||||||") {
			fail(i+2, 1, "found the mark of a merge conflict", "keep the lines that both sides need and delete the marks")
			continue
		}
		r, column, why := parseRecord(line)
		switch {
		case why != "":
			fail(i+2, column, why, "restore the line from version control, or delete it and run `mwp import`")
		case seen[r.Key]:
			fail(i+2, 1, "the reference "+quote(r.Key)+" is pinned twice", "keep one of the lines")
		case len(l.Records) == maxLockRecords:
			fail(i+2, 1, fmt.Sprintf("more than %d references", maxLockRecords), "")
			return l, bad
		default:
			seen[r.Key] = true
			l.Records = append(l.Records, r)
		}
	}
	l.sort()
	return l, bad
}

func parseRecord(line string) (r Record, column int, why string) {
	fields := strings.Split(line, " ")
	if len(fields) != 4 {
		return r, 1, fmt.Sprintf("expected REFERENCE KIND COMMIT TREE with one blank between them, found %s", quote(line))
	}
	r = Record{fields[0], fields[1], fields[2], strings.TrimPrefix(fields[3], treePrefix)}
	at := func(n int) int { return 1 + utf8.RuneCountInString(strings.Join(fields[:n], " ")) + min(n, 1) }
	ref, err := ParseRef(r.Key)
	switch {
	case err != nil:
		return r, 1, err.Error()
	case ref.Key() != r.Key:
		return r, 1, "expected a reference without user name and password, found " + quote(Mask(r.Key))
	case r.Kind != Tag && r.Kind != Commit && r.Kind != Branch:
		return r, at(1), "expected tag, commit or branch, found " + quote(r.Kind)
	case !IsCommit(r.Commit):
		return r, at(2), "expected a commit in full, found " + quote(r.Commit)
	case (r.Kind == Commit) != ref.Commit() || ref.Commit() && ref.Name != r.Commit:
		return r, at(2), "the reference names one commit and the line another"
	case !strings.HasPrefix(fields[3], treePrefix) || !isDigest(r.Tree):
		return r, at(3), "expected blake3: and 64 hex digits, found " + quote(fields[3])
	}
	return r, 0, ""
}

func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// Find returns the record of a key.
func (l *Lock) Find(key string) (Record, bool) {
	i, ok := slices.BinarySearchFunc(l.Records, key, func(r Record, key string) int { return strings.Compare(r.Key, key) })
	if !ok {
		return Record{}, false
	}
	return l.Records[i], true
}

// Set adds a record, or replaces the one with its key.
func (l *Lock) Set(r Record) {
	l.Remove(r.Key)
	l.Records = append(l.Records, r)
	l.sort()
}

// Remove deletes the record of a key, if there is one.
func (l *Lock) Remove(key string) {
	l.Records = slices.DeleteFunc(slices.Clone(l.Records), func(r Record) bool { return r.Key == key })
}

func (l *Lock) sort() {
	slices.SortFunc(l.Records, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
}

// AppendLock appends a lock file's text to dst. ParseLock gives the lock back.
func AppendLock(dst []byte, l Lock) []byte {
	dst = append(dst, lockHeader+"\n"+lockComment+"\n"...)
	for _, r := range l.Records {
		dst = append(dst, r.Key+" "+r.Kind+" "+r.Commit+" "+treePrefix+r.Tree+"\n"...)
	}
	return dst
}

// clip shortens foreign text to what a message can carry.
func clip(s string) string {
	const limit = 80
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}

func quote(s string) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '\ufffd'
		}
		return c
	}, Mask(s))
	return `"` + clip(s) + `"`
}
