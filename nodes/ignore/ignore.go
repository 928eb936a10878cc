// Package ignore decides which paths git would ignore, for the scans that honour
// ignore files (D-73). It knows text and names only: it reads no file, asks no
// system for anything and imports nothing but the standard library. The caller
// lists directories, reads ignore files and hands both in.
//
// The rules are those of git with core.ignoreCase off, whatever the system
// (D-100). Ignore files come from strangers: every text is accepted, memory is
// linear in its length, and deciding a path costs at most a few steps for each
// pair of a byte of a pattern and a byte of the path.
package ignore

import "strings"

// Verdict is what the ignore files say about a path.
type Verdict uint8

const (
	// NoMatch: no pattern matches, so the path is not ignored.
	NoMatch Verdict = iota
	// Ignored: the deciding pattern matches.
	Ignored
	// Included: the deciding pattern is negated with "!".
	Included
)

// String returns the verdict in words.
func (v Verdict) String() string {
	return [...]string{"no match", "ignored", "included"}[v]
}

// Decision is a verdict with its reason. All other fields are empty for NoMatch.
type Decision struct {
	Verdict Verdict
	// Path is what the pattern matched: the path asked about or, from
	// [Stack.DecideWithParents], an ignored directory above it.
	Path string
	// Source is the deciding file, as it was named to [Stack.Push]; Line counts
	// from 1; Pattern is the line without what git strips from its end.
	Source  string
	Line    int
	Pattern string
}

// Stack holds the ignore files that apply in a directory. The zero value holds
// none. Stacks are values that never change: a walk keeps one for each open
// directory, all sharing what lies below, and any number of goroutines may use
// them.
type Stack struct{ top *level }

// level is one ignore file. The patterns of the one pushed last win.
type level struct {
	below    *level
	prefix   string // of the paths it can speak about: "" or a directory and "/"
	source   string
	patterns []pattern
}

// Push returns the stack with one more file on top, whose patterns win over those
// of all earlier ones; it allocates one small struct, however tall the stack. The
// file lies in dir, relative to the root, '/'-separated, "." for the root, and
// source is its name in decisions. The order that git and D-73 ask for is:
// .git/info/exclude with the directory that holds .git, then for each directory
// from the root downwards its .gitignore and its .mwpignore.
func (s Stack) Push(dir, source string, p Patterns) Stack {
	if len(p.list) == 0 {
		return s
	}
	prefix := ""
	if dir != "." {
		prefix = dir + "/"
	}
	return Stack{&level{below: s.top, prefix: prefix, source: source, patterns: p.list}}
}

// Decide returns what the files say about a path, given that no directory above
// it is ignored. The path is relative to the root, '/'-separated and clean; isDir
// is false for a link to a directory. The root itself matches nothing, and files
// in directories that do not lie above the path are silent about it.
func (s Stack) Decide(path string, isDir bool) Decision {
	if path == "." || path == "" {
		return Decision{}
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	for l := s.top; l != nil; l = l.below {
		below, ok := strings.CutPrefix(path, l.prefix)
		if !ok {
			continue
		}
		if p := last(l.patterns, base, below, isDir); p != nil {
			d := Decision{Verdict: Ignored, Path: path, Source: l.source, Line: int(p.line), Pattern: p.written}
			if p.negated {
				d.Verdict = Included
			}
			return d
		}
	}
	return Decision{}
}

// DecideWithParents returns what git says about a path of which nothing is known:
// an ignored directory above it decides, because git does not look into one, so
// no pattern can include a file there again.
func (s Stack) DecideWithParents(path string, isDir bool) Decision {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if d := s.Decide(path[:i], true); d.Verdict == Ignored {
			return d
		}
	}
	return s.Decide(path, isDir)
}

// last returns the last pattern of a file that matches, or nil. base is the last
// name of the path, below the path as seen from the file.
func last(list []pattern, base, below string, isDir bool) *pattern {
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		if p.dirOnly && !isDir {
			continue
		}
		name := base
		if p.anchored {
			name = below
		}
		if p.matches(name) {
			return p
		}
	}
	return nil
}
