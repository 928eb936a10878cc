package command

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Level is how far a command is trusted without asking anybody (D-41).
type Level string

const (
	// Builtin commands run always: they are the usual ways to run the tests of a
	// workspace.
	Builtin Level = "builtin"
	// Project commands are listed in allowed_guards.
	Project Level = "project"
	// AdHoc is everything else. Somebody has to agree first (D-42, D-87).
	AdHoc Level = "ad-hoc"
)

// rank orders levels; what is no level ranks lowest.
func (l Level) rank() int { return slices.Index([]Level{AdHoc, Project, Builtin}, l) }

// Question is what the level of a command depends on, apart from the command.
type Question struct {
	// Allowed are the entries of allowed_guards that apply: those of the workspace,
	// and those of the member that declares the guard. For a module's guard they are
	// the consuming workspace's, never the module's.
	Allowed []string
	// Declared is the header's trust:, "" without one.
	Declared string
	// Foreign is set for a guard of a module, however it was reached (D-42).
	Foreign bool
}

// Decision is the level of a command.
type Decision struct {
	Level Level
	// Why says in one line for people what made the level.
	Why string
	// Raised is set when the header declares more than the command has. The
	// declaration has no effect, and lint warns.
	Raised bool
}

// Decide returns the level of a command (D-41, D-42).
//
// A command for the shell is a project command when an entry has the same Text, and
// ad-hoc otherwise. Any other command is builtin or project when its first words are
// those of a builtin or of an entry: "cargo test" covers cargo test --lib, not cargo
// tester. The builtins are cargo test, cargo clippy, pytest, npm run SCRIPT, pnpm run
// SCRIPT and pnpm SCRIPT, each with the bare name of the program. An entry that
// nothing can run covers nothing. A command of a module is never builtin. What the
// header declares can lower the level; a builtin that is declared project stays
// runnable without an entry. An Invalid command is ad-hoc.
//
// Arguments behind a builtin are not judged, although some of them lead elsewhere
// (npm --prefix, cargo --config, pytest /tmp): who writes a guard in a workspace can
// write its tests and its package.json as well. For the same reason it is accepted
// that pnpm looks for a program when there is no script of the name; only pnpm's own
// commands, paths, and the interpreters that Script knows are no scripts here.
func Decide(c Command, q Question) Decision {
	level, why := earned(c, q)
	declared := Level(q.Declared)
	switch {
	case q.Declared != "" && declared.rank() < 0:
		return Decision{Level: AdHoc, Why: "declared " + clip(q.Declared) + ", which is no level"}
	case q.Declared != "" && declared.rank() < level.rank():
		return Decision{Level: declared, Why: "declared " + q.Declared}
	case declared.rank() > level.rank():
		return Decision{Level: level, Raised: true, Why: "declared " + q.Declared + ", but " + why}
	case level == AdHoc && c.Invalid == "":
		why = notListed(c, q)
	}
	return Decision{Level: level, Why: why}
}

// earned returns the level that a command has before its header says anything, and
// the reason as a clause.
func earned(c Command, q Question) (Level, string) {
	if c.Invalid != "" {
		return AdHoc, c.Invalid
	}
	if name := builtin(c.Words); name != "" && !q.Foreign {
		return Builtin, "built in: " + name
	}
	for _, entry := range q.Allowed {
		if covers(Parse(entry), c) {
			return Project, "allowed_guards lists " + clip(entry)
		}
	}
	return AdHoc, "no entry of allowed_guards covers it"
}

func notListed(c Command, q Question) string {
	switch {
	case q.Foreign && builtin(c.Words) != "":
		return "not in allowed_guards, and no command of a module is built in"
	case c.Shell:
		return "not in allowed_guards, which has to list a command with shell syntax word for word"
	}
	return "not in allowed_guards"
}

func covers(entry, c Command) bool {
	switch {
	case entry.Invalid != "":
		return false
	case entry.Shell || c.Shell:
		return entry.Shell && c.Shell && entry.Text == c.Text
	}
	return begins(c.Words, entry.Words...)
}

func begins(words []string, with ...string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// builtin returns the builtin that covers the words, "" if none does.
func builtin(words []string) string {
	switch {
	case begins(words, "cargo", "test"):
		return "cargo test"
	case begins(words, "cargo", "clippy"):
		return "cargo clippy"
	case begins(words, "pytest"):
		return "pytest"
	case begins(words, "npm", "run") && scriptFirst(words[2:]):
		return "npm run SCRIPT"
	case begins(words, "pnpm", "run") && scriptFirst(words[2:]):
		return "pnpm run SCRIPT"
	case begins(words, "pnpm") && scriptFirst(words[1:]) && !pnpmsOwn(words[1]):
		return "pnpm SCRIPT"
	}
	return ""
}

// scriptFirst reports words that begin with the name of a script, and not with an
// option, which would decide where the script comes from.
func scriptFirst(words []string) bool {
	return len(words) > 0 && words[0] != "" && words[0][0] != '-'
}

func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return strconv.Quote(s)
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%q (and %d bytes more)", s[:end], len(s)-end)
}
