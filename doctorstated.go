package mwp

import (
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// The rules whose findings are facts: they ask for nothing.

func workspaceFact(f *doctorFacts) []DoctorFinding {
	anchor := "no anchor"
	if f.anchor.file != "" {
		anchor = "anchor " + f.anchor.file
	}
	return finding("workspace", f.root+": "+anchor+", "+plural(len(f.anchor.members), "member", "members")+", "+
		plural(f.lint.Contexts, "context file", "context files")+" in "+plural(f.lint.Directories, "directory", "directories"))
}

func modulesFact(f *doctorFacts) []DoctorFinding {
	if f.modules.pinned == 0 {
		return nil
	}
	text := plural(f.modules.pinned, "module is", "modules are") + " pinned"
	if n := f.modules.pinned - f.modules.absent; f.modules.problem == "" {
		text += "; " + strconv.Itoa(n) + " hashed again, " + plural(f.modules.modified.total(), "difference", "differences")
	}
	if f.modules.fetcher != "" {
		text += "; they are fetched by " + f.modules.fetcher
	}
	return finding("modules", text)
}

func guardsFact(f *doctorFacts) []DoctorFinding {
	g := &f.guards
	if g.Total() == 0 {
		return nil
	}
	return finding("guards", plural(g.Total(), "guard", "guards")+": "+strings.Join([]string{
		strconv.Itoa(g.Passed) + " passed", strconv.Itoa(g.Failed) + " failed", strconv.Itoa(g.Overridden) + " overridden",
		strconv.Itoa(g.Stale) + " stale", strconv.Itoa(g.NotRun) + " without a result",
	}, ", ")+"; none was run for this")
}

func trustFact(f *doctorFacts) []DoctorFinding {
	if f.guards.Total() == f.guards.static {
		return nil
	}
	text := "nobody has let programs that act for you run the guards here; `mwp verify` in a terminal asks"
	switch f.trust {
	case TrustGiven:
		text = "programs that act for you, such as the MCP server, may run the guards here"
	case TrustDenied:
		text = "programs that act for you may not run the guards here"
	case TrustOutdated:
		text = "programs that act for you may not run the guards here until you agree to the changed [trust] tables"
	}
	return finding("trust", text)
}

func cacheFact(f *doctorFacts) []DoctorFinding {
	if f.cache.dir == "" {
		return nil
	}
	return finding("cache", f.cache.dir+": "+ir.Size(f.cache.bytes)+", "+plural(f.cache.maps, "answer", "answers"))
}

func clientsFact(f *doctorFacts) []DoctorFinding {
	var c counted
	for _, k := range f.clients {
		switch k.how {
		case clientReady:
			c.add(k.name)
		case clientUnusable:
		default:
			c.add(k.name + " (" + k.how + ")")
		}
	}
	if c.total() == 0 {
		return nil
	}
	return about("clients", "the project's files tell these clients about mwp", c)
}

func sessionsFact(f *doctorFacts) []DoctorFinding {
	if f.work.sessions == 0 {
		return nil
	}
	return finding("sessions", plural(f.work.sessions, "session is", "sessions are")+" kept, the last used "+f.work.lastSession.UTC().Format(time.RFC3339))
}

func gitFact(f *doctorFacts) []DoctorFinding {
	switch {
	case f.git.problem != "":
		return finding("git", "what guards may run under [trust], and the anchors, were not compared with the current commit: "+f.git.problem)
	case f.git.inside > 0:
		return finding("git", plural(f.git.inside, "anchor lies in a submodule and was", "anchors lie in submodules and were")+" not compared with the current commit, [trust] included")
	}
	return nil
}

// stateFact and userFact are U-44: everything that there is of mwp besides context files.
func stateFact(f *doctorFacts) []DoctorFinding {
	if f.places.state == "" || !f.anchor.stateExists {
		return nil
	}
	return about("state_directory", f.places.state+" is what mwp keeps of this workspace", f.places.stateHas)
}

func userFact(f *doctorFacts) []DoctorFinding {
	if f.places.user == "" {
		return finding("user_directory", "there is no place for a key of yours, as neither HOME nor XDG_STATE_HOME says where it is")
	}
	text := " is what mwp keeps of you, for all workspaces"
	if f.places.userHas.total() == 0 {
		text = " is where mwp would keep what is yours; there is nothing"
	}
	return about("user_directory", f.places.user+text, f.places.userHas)
}

// addHere adds a command about files of the root, if there is a way to write it.
func (f *doctorFacts) addHere(c *counted, command string) {
	if s := f.here(command); s != "" {
		c.add(s)
	}
}

func uninstallFact(f *doctorFacts) []DoctorFinding {
	if f.anchor.file == "" {
		return nil
	}
	var c counted
	for _, k := range f.clients {
		if k.how == clientReady || k.how == clientPartly {
			f.addHere(&c, "mwp init --client "+k.name+" --undo")
		}
	}
	what := ".mwp"
	if f.anchor.plain && f.anchor.stateExists {
		what = ".mwp .mwp.d"
	}
	f.addHere(&c, "rm -r "+what)
	if f.places.user != "" && f.places.userHas.total() > 0 {
		if word, ok := commandWord(f.places.user); ok {
			c.add("rm -r " + word + ", when no other workspace is left")
		}
	}
	return about("uninstall", "to be rid of mwp here, type what follows; members have a .mwp of their own, and context files are yours to keep", c)
}
