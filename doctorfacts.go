package mwp

import (
	"time"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// doctorFacts is everything that doctor's findings are made of. What is wrong with it, the
// rules say. Paths are relative to the root, with slashes, unless a field says otherwise.
type doctorFacts struct {
	// root is absolute; elsewhere is set when the question was asked in another directory.
	root      string
	elsewhere bool
	anchor    anchorFacts
	lint      lintFacts
	// imports are those of every context file; contextMD are directories with a CONTEXT.md
	// and no context file.
	imports   []declaredImport
	contextMD counted
	work      workFacts
	git       gitFacts
	// unignored are patterns that the state directory's .gitignore lacks.
	unignored []string
	modules   moduleFacts
	cache     cacheFacts
	guards    guardFacts
	trust     TrustState
	places    placeFacts
	clients   []clientFact
	// seen is a client that seems to be used here, "" when none does.
	seen   string
	manual manualFacts
}

// counted is a list with what did not fit into it.
type counted struct {
	list []string
	more int
}

// add appends up to a limit.
func (c *counted) add(s string) {
	if !c.full() {
		c.list = append(c.list, s)
		return
	}
	c.more++
}

// full reports whether add only counts.
func (c *counted) full() bool { return len(c.list) >= doctorItems }

func (c *counted) total() int { return len(c.list) + c.more }

// anchorFacts is what the workspace says about itself.
type anchorFacts struct {
	// name is the configured one; file the anchor as maps name it, "" for a root without
	// one; state the state directory.
	name, file, state string
	// plain is set for an anchor that is a file, stateExists when its state directory is
	// there.
	plain, stateExists bool
	// inTheWay are files that making a directory of a plain anchor would overwrite.
	inTheWay []string
	// identity is set when the configuration says enough to be the base of layers (D-10),
	// invalid when it cannot be read.
	identity, invalid bool
	directories       []nodes.DirectorySetting
	// members are the directories of members; parts are the same, or, in a workspace that
	// names none, the keys of [directories] that have a context file.
	members, parts []string
}

// lintFacts sums a lint report up.
type lintFacts struct {
	ir.LintReport
	errors, warnings, notes int
	// errorCodes and warningCodes say how many there are of each code, the most first.
	errorCodes, warningCodes []codeCount
	// examples are the context files that still have the text of mwp init.
	examples counted
}

type codeCount struct {
	code ir.Code
	n    int
}

// declaredImport is one import with the directory of the file that declares it. path is
// where a workspace import leads.
type declaredImport struct{ dir, value, git, path string }

// workFacts is what the project's intents and sessions show.
type workFacts struct {
	// intents and pipelines are set when anything has that name.
	intents, pipelines bool
	// archive and templates are names of archived intents and of pipelines.
	archive, templates []string
	sessions           int
	lastSession        time.Time
}

// gitFacts is how the anchors' files compare with the current commit (D-104).
type gitFacts struct {
	// repository is false outside of one. problem says why not everything was compared, ""
	// when it was.
	repository bool
	problem    string
	changes    []anchorChange
	// left counts anchors that were not compared, being too many, inside those that were
	// not because they belong to a submodule.
	left, inside int
}

// anchorChange is a file of an anchor, or one that its configuration leads to, that the
// current commit has differently.
type anchorChange struct {
	path string
	// how is one of the changes below; trust is set when the [trust] allowed_guards that are
	// read there differ from those of the commit.
	how   string
	trust bool
}

// What can have happened to a file of an anchor since the current commit.
const (
	changeNew     = "not committed"
	changeMade    = "changed"
	changeDeleted = "deleted"
)

type moduleFacts struct {
	// pinned counts the lock file's records; problem says why they cannot be checked.
	pinned  int
	problem string
	// absent are pinned modules that are not there, modified what differs in others.
	absent   int
	modified counted
	// fetcher is the program that fetches, "" when there is none.
	fetcher string
}

type cacheFacts struct {
	// dir is absolute, "" for none.
	dir   string
	bytes int64
	maps  int
	// problem says why nothing can be kept there, "" when it can.
	problem string
}

type guardFacts struct {
	render.StatusGuards
	// failing and overridden are commands; asks counts those that run only after somebody
	// said so; static is how many run nothing.
	failing, overridden counted
	asks, static        int
	// key and records say what is wrong with the key and with the file of results, "" for
	// nothing; keyHint is what to do about the key.
	key, keyHint, records string
	// recordsAway is the file of results and a free name for it, where it has to be moved
	// away by hand.
	recordsAway []string
}

// placeFacts is where things lie (U-44).
type placeFacts struct {
	// state and user are absolute directories, "" for none, with what is in them.
	state, user         string
	stateHas, userHas   counted
	trustFileUnreadable string
	// trustAway is the file of trusted workspaces and a free name for it, absolute, where it
	// has to be moved away by hand.
	trustAway []string
}

// clientFact is a client that a file of the project is about.
type clientFact struct {
	name string
	// how is one of the client states; why, for an unusable one, is a sentence.
	how, why string
}

// The states of a client's files.
const (
	clientReady    = "ready"
	clientPartly   = "partly"
	clientOther    = "set up in another way"
	clientUnusable = "unusable"
)

// manualFacts are the traces of the scripts that people used before there was a program
// (U-35).
type manualFacts struct {
	scripts []manualScript
	// kept are files beside them that mwp reads as well.
	kept []string
}

// manualScript is one of the scripts, with what replaces it.
type manualScript struct{ path, name string }
