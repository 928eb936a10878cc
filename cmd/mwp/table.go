package main

import (
	"slices"

	"github.com/model-workspace-protocol/mwp"
)

// flagSpec describes one flag.
type flagSpec struct {
	// name is what MWP_NAME and the options go by; spellings are further ones that
	// mean the same.
	name      string
	spellings []string
	// means, when set, is the flag and, after '=', the value that this one stands for.
	means string
	// arg names the value in help; "" makes a switch.
	arg  string
	help string
	// values gives the possible ones, for completion; files and dirs complete paths. A
	// function, so that the table costs a start nothing.
	values      func() []string
	files, dirs bool
}

// example is a line for help.
type example struct{ line, does string }

// command describes one command. The table of commands is the only place that
// knows them: the parser, help and completion read it, and a test holds run to it.
type command struct {
	name, alias string
	summary     string
	usage       []string
	text        string
	flags       []*flagSpec
	// words is how many arguments the command takes, -1 for any number. choices are
	// the possible first ones, for completion; without them arguments are paths.
	words    int
	choices  []string
	noPaths  bool
	examples []example
}

var (
	flagJSON       = flagSpec{name: "json", help: "print JSON"}
	flagBudget     = flagSpec{name: "budget", arg: "LAYER=N", help: "cap of a layer in tokens, or none; repeatable"}
	flagWindow     = flagSpec{name: "window", arg: "N", help: "levels above the target that a map reaches; 0 is all"}
	flagTokens     = flagSpec{name: "tokens", arg: "COUNTER", values: mwp.CounterNames, help: "o200k_base, cl100k_base, approx/1 or whitespace/1"}
	flagFresh      = flagSpec{name: "fresh", help: "compute everything again, and cache the result"}
	flagVerify     = flagSpec{name: "verify-cache", help: "compute what the cache holds again and compare"}
	globalFlags    = [...]*flagSpec{&flagRoot, &flagDir, &flagCacheDir, &flagColor, &flagASCII, &flagQuiet, &flagVerbose, &flagHelp, &flagVersion}
	flagRoot       = flagSpec{name: "root", arg: "DIR", dirs: true, help: "the workspace root, whatever .mwp says"}
	flagDir        = flagSpec{name: "C", arg: "DIR", dirs: true, help: "run as if started in DIR; repeatable"}
	flagCacheDir   = flagSpec{name: "cache-dir", arg: "DIR", dirs: true, help: "keep the cache in DIR"}
	flagColor      = flagSpec{name: "color", arg: "WHEN", values: colorNames, help: "auto, always or never (default auto)"}
	flagASCII      = flagSpec{name: "ascii", help: "no glyphs beyond ASCII in what mwp itself says"}
	flagQuiet      = flagSpec{name: "quiet", spellings: []string{"q"}, help: "only errors on stderr"}
	flagVerbose    = flagSpec{name: "verbose", spellings: []string{"v", "vv"}, help: "cache hits and times on stderr; -vv: every node"}
	flagHelp       = flagSpec{name: "help", spellings: []string{"h"}, help: "this text"}
	flagVersion    = flagSpec{name: "version", spellings: []string{"V"}, help: "the version of mwp"}
	flagRender     = flagSpec{name: "render", arg: "FORMAT", values: formatNames, help: "json, markdown (md), claude, gpt-4 or llama (default json)"}
	flagFormat     = flagSpec{name: "format", means: "render", arg: "FORMAT", values: formatNames, help: "the same as --render"}
	flagMapJSON    = flagSpec{name: "json", means: "render=json", help: "the same as --render json"}
	flagStrict     = flagSpec{name: "strict", help: "exit with 3 when the map has errors or is read-only"}
	flagNoRoot     = flagSpec{name: "no-root", help: "leave the absolute root out of the JSON"}
	flagAnnotate   = flagSpec{name: "annotate", help: "name each entry's source in a comment"}
	flagOutput     = flagSpec{name: "output", spellings: []string{"o"}, arg: "FILE", files: true, help: "write to FILE, at once or not at all"}
	flagEach       = flagSpec{name: "each", help: "many targets: a JSON array of their maps"}
	flagSession    = flagSpec{name: "session", arg: "ID", help: "accepted; sessions come in a later version"}
	flagWhy        = flagSpec{name: "why", arg: "PATH", files: true, help: "only the account of one file"}
	flagWhyNot     = flagSpec{name: "why-not", means: "why", arg: "PATH", files: true, help: "the same as --why"}
	flagNotLoaded  = flagSpec{name: "not-loaded", help: "only what did not make it into the map"}
	flagMember     = flagSpec{name: "member", help: "add the directory to the members of the workspace"}
	flagDryRun     = flagSpec{name: "dry-run", help: "say what would be made, make nothing"}
	cacheChoices   = []string{"status", "clean", "fsck", "show"}
	shellChoices   = []string{"bash", "zsh", "fish", "powershell"}
	topicExitCodes = "exit-codes"
	topicVariables = "environment"
	topicNodes     = "nodes"
)

var commands = [...]*command{&cmdMap, &cmdExplain, &cmdInit, &cmdConfig, &cmdCache, &cmdVersion, &cmdHelp, &cmdCompletion}

var cmdMap = command{
	name: "map", alias: "collect", summary: "print the workspace map of a file or directory",
	usage: []string{"mwp map [target] [flags]", "mwp map --each [target...] [flags]"},
	text: `The map holds the context that people wrote for the target: one body for each
context file between the root and it, in layers, with the account of what was
left out and why. Without a target it is the map of the whole project. A target
that does not exist yet is fine.`,
	flags: []*flagSpec{
		&flagRender, &flagFormat, &flagMapJSON, &flagBudget, &flagWindow, &flagTokens, &flagStrict, &flagFresh, &flagVerify,
		&flagNoRoot, &flagAnnotate, &flagOutput, &flagEach, &flagSession,
	},
	words: -1,
	examples: []example{
		{"mwp map", "the whole project, as JSON"},
		{"mwp map dev/browser-sdk/src/client.ts --render markdown", "to paste into an LLM session"},
		{"mwp map backend --render claude --budget l3=4000 -o map.md", "framed for a model, one budget raised, into a file"},
	},
}

var cmdExplain = command{
	name: "explain", summary: "say what a map loaded, from where, and why",
	usage: []string{"mwp explain [target] [flags]"},
	text: `Prints the account of every candidate for the target's map: what is in it and by
which rule, what is not and why. Paths are relative to the workspace root.`,
	flags: []*flagSpec{
		&flagJSON, &flagWhy, &flagWhyNot, &flagNotLoaded, &flagBudget, &flagWindow, &flagTokens, &flagFresh, &flagVerify,
	},
	words: 1,
	examples: []example{
		{"mwp explain backend/src/api/routes.ts", "the whole account"},
		{"mwp explain backend --why frontend/.mwp-context.md", "why that file is in the map, or is not"},
	},
}

var cmdInit = command{
	name: "init", summary: "make a directory a project, or give it a context file",
	usage: []string{"mwp init [dir] [flags]"},
	text: `Outside of any project, makes .mwp/config.toml, .mwp/.gitignore, .mwp/intents,
.mwp/pipelines and an example .mwp-context.md. It never overwrites, and a second
run does nothing.

Inside a project it depends on the directory:
  - the current directory, one with another tool's instruction file (CLAUDE.md,
    AGENTS.md, ...), one that the workspace lists as a member, and any with
    --member get a .mwp of their own;
  - any other directory that is named gets a .mwp-context.md only.
A .mwp that is a file stays a file.`,
	flags: []*flagSpec{&flagMember, &flagDryRun},
	words: 1,
	examples: []example{
		{"mwp init", "make the current directory a project"},
		{"mwp init backend/api", "inside a project: a context file for that directory"},
		{"mwp init engine --member", "a project of its own, listed by the workspace"},
	},
}

var cmdConfig = command{
	name: "config", summary: "print the configuration in effect and its sources",
	usage: []string{"mwp config [target] [flags]"},
	text: `Prints one line for each value that applies to the target, with the file and
line, the flag or the variable that it comes from.`,
	flags: []*flagSpec{&flagJSON, &flagBudget, &flagWindow, &flagTokens},
	words: 1,
	examples: []example{
		{"mwp config", "what applies to the current directory"},
		{"mwp config engine/src --json", "what applies there, for a script"},
	},
}

var cmdCache = command{
	name: "cache", summary: "look at the cache, check it, or empty it",
	usage: []string{"mwp cache status|clean|fsck [flags]", "mwp cache show [target] [flags]"},
	text: `  status  size, entries, their age, where they are, whether they can be written
  clean   remove all computed maps; modules, guards and sessions stay
  fsck    check every byte; exits with 1 when something is damaged
  show    what is kept for a target's JSON map, and what it was computed from
Damage is never more than a miss: what cannot be read is computed again.`,
	flags:   []*flagSpec{&flagJSON},
	words:   2,
	choices: cacheChoices,
	examples: []example{
		{"mwp cache status", "how large it is, and the hits of the last run"},
		{"mwp cache show backend/src", "the entry of one target"},
	},
}

var cmdVersion = command{
	name: "version", summary: "print the version",
	usage:   []string{"mwp version [flags]"},
	text:    "Prints the version of mwp, the commit it was built from, and the versions of the\nformats it writes.",
	flags:   []*flagSpec{&flagJSON},
	noPaths: true,
	examples: []example{
		{"mwp version", "for people"},
		{"mwp version --json", "for scripts"},
	},
}

var cmdHelp = command{
	name: "help", summary: "explain a command, exit codes, environment or nodes",
	usage:   []string{"mwp help [command|exit-codes|environment|nodes]"},
	text:    "Without an argument, lists the commands.",
	words:   1,
	choices: []string{"map", "explain", "init", "config", "cache", "version", "completion", "exit-codes", "environment", "nodes"},
	examples: []example{
		{"mwp help map", "everything about one command"},
		{"mwp help exit-codes", "what the exit status means"},
	},
}

var cmdCompletion = command{
	name: "completion", summary: "print a completion script for a shell",
	usage:   []string{"mwp completion bash|zsh|fish|powershell"},
	text:    "The script completes commands, flags, their values and paths.",
	words:   1,
	choices: shellChoices,
	examples: []example{
		{"source <(mwp completion bash)", "for this bash session"},
		{"mwp completion fish > ~/.config/fish/completions/mwp.fish", "for every fish session"},
	},
}

func commandNamed(name string) *command {
	for _, c := range commands {
		if name == c.name || name == c.alias && name != "" {
			return c
		}
	}
	return nil
}

// is reports whether name is one of the flag's spellings.
func (f *flagSpec) is(name string) bool {
	if name == f.name {
		return true
	}
	for _, s := range f.spellings {
		if name == s {
			return true
		}
	}
	return false
}

// flag returns the flag that goes by a name after the command c, which may be nil.
func flagNamed(c *command, name string) *flagSpec {
	if c != nil {
		for _, f := range c.flags {
			if f.is(name) {
				return f
			}
		}
	}
	for _, f := range globalFlags {
		if f.is(name) {
			return f
		}
	}
	return nil
}

func formatNames() []string { return slices.Insert(mwp.FormatNames(), 2, "md") }

func colorNames() []string { return []string{"auto", "always", "never"} }
