package main

import (
	"slices"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/harness"
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
	// noVariable is set for what somebody has to say each time: no variable stands for it.
	noVariable bool
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
	flagSession    = flagSpec{name: "session", arg: "ID", help: "send only what the session ID has not had, and note it"}
	flagFull       = flagSpec{name: "full", help: "with --session: the whole map again, as without one"}
	flagOlderThan  = flagSpec{name: "older-than", arg: "AGE", help: "with clean: last used longer ago (default 7d)"}
	flagWhy        = flagSpec{name: "why", arg: "PATH", files: true, help: "only the account of one file"}
	flagWhyNot     = flagSpec{name: "why-not", means: "why", arg: "PATH", files: true, help: "the same as --why"}
	flagNotLoaded  = flagSpec{name: "not-loaded", help: "only what did not make it into the map"}
	flagMember     = flagSpec{name: "member", help: "add the directory to the members of the workspace"}
	flagDryRun     = flagSpec{name: "dry-run", help: "say what would be made, make nothing"}
	flagOffline    = flagSpec{name: "offline", help: "fetch nothing; what is missing is named"}
	flagFloating   = flagSpec{name: "allow-floating", help: "accept imports that name a branch"}
	flagInsecure   = flagSpec{name: "allow-insecure", help: "let modules be fetched by http"}
	flagGraph      = flagSpec{name: "graph", arg: "FORMAT", values: mwp.GraphNames, help: "draw what the map is computed from: mermaid or dot"}
	flagAll        = flagSpec{name: "all", help: "with --graph: every node, plumbing too"}
	flagLintFormat = flagSpec{name: "format", arg: "FORMAT", values: mwp.ReportNames, help: "text, json, sarif or github (default text)"}
	flagLintJSON   = flagSpec{name: "json", means: "format=json", help: "the same as --format json"}
	flagSARIF      = flagSpec{name: "sarif", means: "format=sarif", help: "the same as --format sarif"}
	flagWarnings   = flagSpec{name: "max-warnings", arg: "N", help: "exit with 1 when there are more warnings"}
	flagDiff       = flagSpec{name: "diff", arg: "REVISION", help: "what the work tree adds to each target since then"}
	flagProfile    = flagSpec{name: "profile", arg: "HARNESS", values: mwp.Profiles, help: "codex, claude, windsurf or none: its caps count too"}
	flagFetch      = flagSpec{name: "fetch", help: "fetch modules that are missing"}
	flagStdin      = flagSpec{name: "stdin", help: "read further paths from stdin, one a line"}
	flagStdin0     = flagSpec{name: "stdin0", help: "read further paths from stdin, separated by NUL bytes"}
	flagLimit      = flagSpec{name: "limit", arg: "N", help: "at most N rows"}
	flagCursor     = flagSpec{name: "cursor", arg: "CURSOR", help: "continue after a page, with the cursor that it gave"}
	flagCheck      = flagSpec{name: "check", help: "hash the modules again, compare with the lock file"}
	flagFrozen     = flagSpec{name: "frozen", help: "never change the lock file"}
	flagUpdate     = flagSpec{name: "update", help: "look references up anew; without arguments all of them"}
	flagRemote     = flagSpec{name: "remote", arg: "NAME", help: "the remote to push to (default origin, or the only one)"}
	flagClient     = flagSpec{name: "client", noVariable: true, arg: "NAME", values: mwp.ClientNames, help: "tell this client about mwp; repeatable"}
	flagUnsigned   = flagSpec{name: "unsigned", noVariable: true, help: "with import: take what this user's key did not sign"}
	flagImportOnly = flagSpec{name: "strict", help: "with import: exit with 3 when the archive is ignored"}
	flagUndo       = flagSpec{name: "undo", noVariable: true, help: "with --client: take out what it put in"}
	flagWithBase   = flagSpec{name: "with-base", help: "add the module that explains the conventions to an LLM"}
	flagMapVerify  = flagSpec{name: "verify", noVariable: true, help: "run the map's guards first"}
	flagRelative   = flagSpec{name: "relative-times", help: "how long ago guards passed, instead of when"}
	flagNow        = flagSpec{name: "now", arg: "TIME", help: "the time that results of guards are dated and judged by"}
	flagStaged     = flagSpec{name: "staged", noVariable: true, help: "the guards of what the next git commit changes"}
	flagStale      = flagSpec{name: "stale", noVariable: true, help: "only guards whose last result does not count any more"}
	flagAffected   = flagSpec{name: "affected", noVariable: true, arg: "REVISION", help: "only guards that rest on a file that differs from it"}
	flagJobs       = flagSpec{name: "jobs", spellings: []string{"j"}, arg: "N", help: "guards that run at once (default 1)"}
	flagTrustAdHoc = flagSpec{name: "trust-adhoc", noVariable: true, help: "run guards that nobody agreed to, this once"}
	flagOverride   = flagSpec{name: "override", noVariable: true, arg: "GUARD", help: "work on while this guard fails: its command, name or key"}
	flagReason     = flagSpec{name: "reason", noVariable: true, arg: "TEXT", help: "why, for --override"}
	flagFor        = flagSpec{name: "for", noVariable: true, arg: "TIME", help: "how long an override holds (default 4h)"}
	flagYes        = flagSpec{name: "yes", noVariable: true, help: "confirm an override without a terminal"}
	flagHook       = flagSpec{name: "hook", noVariable: true, arg: "HARNESS", values: hookNames, help: "claude: exit with 2 and say why on stderr"}

	flagList          = flagSpec{name: "list", noVariable: true, help: "what is known of the guards, with keys; runs nothing"}
	flagNoDiscoveries = flagSpec{name: "no-discoveries", help: "leave discoveries.md as it is"}
	flagVerifyFormat  = flagSpec{name: "format", arg: "FORMAT", values: verifyFormats, help: "text, json or junit (default text)"}
	flagVerifyJSON    = flagSpec{name: "json", means: "format=json", help: "the same as --format json"}
	flagStrictGuards  = flagSpec{name: "strict-guards", noVariable: true, help: "exit with 2 before a write while a guard of the map fails"}
	flagVerifyJUnit   = flagSpec{name: "junit", means: "format=junit", help: "the same as --format junit"}

	sessionsChoices = []string{"list", "inspect", "rm", "clean"}

	flagLog            = flagSpec{name: "log", noVariable: true, arg: "FILE", files: true, help: "write a line for each message to FILE, behind what it holds"}
	flagInstructions   = flagSpec{name: "instructions", noVariable: true, help: "print what the server tells models, and end"}
	flagTrustWorkspace = flagSpec{name: "trust-workspace", noVariable: true, help: "let programs run the guards that [trust] allows"}

	cacheChoices   = []string{"status", "clean", "fsck", "show", "export", "import"}
	shellChoices   = []string{"bash", "zsh", "fish", "powershell"}
	topicExitCodes = "exit-codes"
	topicVariables = "environment"
	topicNodes     = "nodes"
	topicMan       = "man"
)

var commands = [...]*command{
	&cmdMap, &cmdVerify, &cmdExplain, &cmdLint, &cmdTargets, &cmdDoctor, &cmdStatus, &cmdReport, &cmdServeMCP, &cmdHook, &cmdImport, &cmdPublish, &cmdInit, &cmdConfig, &cmdCache, &cmdSessions, &cmdVersion, &cmdHelp, &cmdCompletion,
}

var cmdMap = command{
	name: "map", alias: "collect", summary: "print the workspace map of a file or directory",
	usage: []string{"mwp map [target] [flags]", "mwp map --each [target...] [flags]"},
	text: `The map holds the context that people wrote for the target: one body for each
context file between the root and it, in layers, with the account of what was
left out and why. Without a target it is the map of the whole project. A target
that does not exist yet is fine.`,
	flags: []*flagSpec{
		&flagRender, &flagFormat, &flagMapJSON, &flagBudget, &flagWindow, &flagTokens, &flagStrict, &flagFresh, &flagVerify,
		&flagNoRoot, &flagAnnotate, &flagOutput, &flagEach, &flagSession, &flagFull, &flagOffline, &flagFloating, &flagInsecure,
		&flagMapVerify, &flagNoDiscoveries, &flagRelative, &flagNow,
	},
	words: -1,
	examples: []example{
		{"mwp map", "the whole project, as JSON"},
		{"mwp map dev/browser-sdk/src/client.ts --render markdown", "to paste into an LLM session"},
		{"mwp map backend --render claude --budget l3=4000 -o map.md", "framed for a model, one budget raised, into a file"},
		{"mwp map backend/src --render markdown --session review", "only what the session \"review\" has not had yet"},
	},
}

var cmdVerify = command{
	name: "verify", summary: "run the guards behind a map, and record their results",
	usage: []string{"mwp verify [target...] [flags]", "mwp verify --override GUARD --reason TEXT [flags]"},
	text: `Runs the commands by which context files prove what they say, and prints a
report. Without a target it runs every guard that the workspace declares. Exits
with 1 when one fails or may not run, unless a person overrides it.

Built-in commands (cargo test, cargo clippy, pytest, npm run SCRIPT and pnpm
SCRIPT) and those that [trust] allowed_guards lists run at once. About any other
it asks in a terminal, and remembers the answer until the command, its script or
its module changes; without a terminal such a guard does not run.

Results are kept in .mwp/guards.cache.json, signed with this user's key, and
count until they expire or a file that the guard rests on changes. A failure
counts until the guard passes.`,
	flags: []*flagSpec{
		&flagStaged, &flagStale, &flagAffected, &flagList, &flagJobs, &flagTrustAdHoc, &flagVerifyFormat, &flagVerifyJSON, &flagVerifyJUnit, &flagHook,
		&flagOverride, &flagReason, &flagFor, &flagYes, &flagNoDiscoveries, &flagNow, &flagStdin, &flagStdin0, &flagOutput,
		&flagOffline, &flagFloating, &flagInsecure,
	},
	words: -1,
	examples: []example{
		{"mwp verify", "every guard of the workspace"},
		{"mwp verify backend/src/api --stale", "what a map of it shows, as far as it is out of date"},
		{"mwp verify --staged", "in a git hook: what the commit touches"},
		{"mwp verify --override ./check.sh --reason \"broken runner\" --for 2h", "a person decides"},
	},
}

var cmdExplain = command{
	name: "explain", summary: "say what a map loaded, from where, and why",
	usage: []string{"mwp explain [target] [flags]"},
	text: `Prints the account of every candidate for the target's map: what is in it and by
which rule, what is not and why. Paths are relative to the workspace root.`,
	flags: []*flagSpec{
		&flagJSON, &flagWhy, &flagWhyNot, &flagNotLoaded, &flagGraph, &flagAll, &flagBudget, &flagWindow, &flagTokens, &flagFresh,
		&flagVerify, &flagOffline, &flagFloating, &flagInsecure, &flagNow,
	},
	words: 1,
	examples: []example{
		{"mwp explain backend/src/api/routes.ts", "the whole account"},
		{"mwp explain backend --why frontend/.mwp-context.md", "why that file is in the map, or is not"},
		{"mwp explain backend --graph mermaid", "a picture of what the map is computed from"},
	},
}

var cmdLint = command{
	name: "lint", summary: "find mistakes in context files, imports and sizes",
	usage: []string{"mwp lint [path...] [flags]"},
	text: `Looks at the whole workspace, or at the paths: headers that do not parse,
imports that lead nowhere or go round, floating references, paths that do not
exist, text that nobody sees, and for every directory what its map costs.
Directories that git ignores are left out. Exits with 1 when there are errors.
It runs no guard, and without --fetch it fetches nothing.`,
	flags: []*flagSpec{
		&flagLintFormat, &flagLintJSON, &flagSARIF, &flagWarnings, &flagDiff, &flagProfile, &flagFetch, &flagFloating, &flagInsecure,
		&flagOffline, &flagStdin, &flagStdin0, &flagOutput, &flagFresh, &flagVerify,
	},
	words: -1,
	examples: []example{
		{"mwp lint", "the whole workspace"},
		{"mwp lint backend --format github --max-warnings 0", "annotations in a workflow, warnings refused"},
		{"mwp lint --diff main", "what a branch adds to every map"},
	},
}

var cmdTargets = command{
	name: "targets", summary: "list the directories that have context, and its size",
	usage: []string{"mwp targets [dir] [flags]"},
	text: `One line for each directory that carries or inherits context: its layer, the
tokens of its whole map against the nearest cap, guards, and where the context
comes from.`,
	flags: []*flagSpec{&flagJSON, &flagLimit, &flagCursor, &flagFloating, &flagFresh, &flagVerify},
	words: 1,
	examples: []example{
		{"mwp targets", "every directory"},
		{"mwp targets backend --json --limit 20", "the first rows, for a script"},
	},
}

var cmdDoctor = command{
	name: "doctor", summary: "check the set-up of a project, and say what to do next",
	usage: []string{"mwp doctor [flags]"},
	text: `The first line is the verdict, the second one command to type. Then, of the
whole workspace around the current directory: what is broken, what to look at,
what could be better, and where everything lies, that of the user too.

It looks at what lint looks at, at guards' results, modules, sessions, clients'
files, the cache, and how the anchors differ from the current git commit. It
changes no file, not even in the cache, runs no guard and fetches nothing. Exits
with 1 only when something is broken. docs/doctor.md explains every finding.`,
	flags:   []*flagSpec{&flagJSON},
	noPaths: true,
	examples: []example{
		{"mwp doctor", "what to do next"},
		{"mwp doctor --json", "the findings, for a script"},
	},
}

var cmdStatus = command{
	name: "status", summary: "show a workspace on one screen: budgets, guards, verdict",
	usage: []string{"mwp status [target] [flags]"},
	text: `Members, context files, how much of its cap each layer spends, guards, modules,
cache, sessions and clients, in 80 columns and 24 lines; at the end the verdict
of mwp doctor and its next command. The budgets are those of the target's map,
or without a target of the map that comes nearest to a cap. It changes no file.`,
	flags: []*flagSpec{&flagJSON},
	words: 1,
	examples: []example{
		{"mwp status", "the workspace at a glance"},
		{"mwp status backend/src --ascii", "the budgets of one target's map, in ASCII"},
	},
}

var cmdReport = command{
	name: "report", summary: "write one HTML page about the workspace",
	usage: []string{"mwp report [target] -o FILE [flags]"},
	text: `The page shows every directory with context, what each file adds, budgets,
guards and their results, what lint finds, and some maps with what is in them,
what is not and why, and what they were computed from. A target's map comes
first. The page needs no network and no other file, and what it leaves out of a
large workspace it counts. The command runs no guard and fetches nothing.`,
	flags: []*flagSpec{&flagOutput, &flagNow, &flagFloating, &flagFresh, &flagVerify},
	words: 1,
	examples: []example{
		{"mwp report -o map.html", "to open in a browser, or to keep with a build"},
		{"mwp report backend/src/api -o map.html", "with the map of that directory first"},
	},
}

var cmdServeMCP = command{
	name: "serve-mcp", summary: "serve maps to an MCP client on stdin and stdout",
	usage: []string{"mwp serve-mcp [flags]"},
	text: `A client such as Claude Code, Cursor or VS Code starts it and asks it for maps,
by the Model Context Protocol: one JSON message a line. It serves one workspace:
that at --root, else around the working directory, else around the directory in
CLAUDE_PROJECT_DIR, and looks again at each call until there is one. A client
that shakes hands is not sent again what it was sent before.

It fetches nothing and changes nothing of the project. Guards run only in a
workspace whose guards this user lets other programs run: ` + "`mwp verify`" + ` in a
terminal asks, and --trust-workspace says so. It ends when stdin ends.`,
	flags:   []*flagSpec{&flagLog, &flagInstructions, &flagTrustWorkspace},
	noPaths: true,
	examples: []example{
		{"mwp serve-mcp", "for the workspace around the current directory"},
		{"mwp serve-mcp --root ~/project --log /tmp/mwp.log", "for a client that starts it elsewhere, with a log"},
		{"mwp serve-mcp --instructions", "what models are told"},
	},
}

var cmdHook = command{
	name: "hook", summary: "give a harness's model the maps it lacks, at its events",
	usage: []string{"mwp hook [harness] [flags]"},
	text: `Reads one event of a conversation as JSON from stdin, as Claude Code, Codex,
Cursor, Gemini CLI and VS Code send it to their hooks, and prints their answer:
the map of the project when a conversation starts, what a reader lacks of the
map of a file or directory when a tool first touches it, and everything again
after the conversation was compacted. There is no output when there is nothing
new to say, outside of a project, and for events that mean nothing to it.

Without the harness's name the event says whose it is. Every subagent is a
reader of its own. What was sent is kept in .mwp/sessions. It runs no guard and
fetches nothing. It never fails a conversation: what goes wrong is one line on
stderr, and the exit status is 0, except that --strict-guards blocks with 2.`,
	flags:   []*flagSpec{&flagStrictGuards},
	words:   1,
	choices: harness.HookNames(),
	examples: []example{
		{"mwp hook claude < event.json", "what the model would be told"},
		{"mwp hook --strict-guards", "no writes while a guard of the target fails"},
	},
}

var cmdImport = command{
	name: "import", summary: "fetch modules, pin them, and check what is pinned",
	usage: []string{"mwp import [reference|path...] [flags]", "mwp import --check", "mwp import outdated"},
	text: `A reference is a git URL with a tag or a commit, and with a directory for a part
of the repository:
  https://HOST/REPOSITORY.git@TAG
  https://HOST/REPOSITORY.git//DIRECTORY@TAG
What it stands for is recorded in .mwp/modules.lock, which belongs into version
control. A path is checked as a module. Without arguments, everything that the
workspace imports is fetched.`,
	flags: []*flagSpec{&flagJSON, &flagCheck, &flagFrozen, &flagUpdate, &flagOffline, &flagFloating, &flagInsecure},
	words: -1,
	examples: []example{
		{"mwp import https://github.com/OWNER/REPOSITORY.git@v1.0.0", "fetch it, pin it, print the line to add"},
		{"mwp import --update https://github.com/OWNER/REPOSITORY.git@v1.0.0", "accept a tag that was moved"},
		{"mwp import outdated", "which pinned modules have newer tags"},
	},
}

var cmdPublish = command{
	name: "publish", summary: "tag a module's version and push the tag",
	usage: []string{"mwp publish [dir] [flags]"},
	text: `Checks the module's manifest and that the work tree is clean, tags the commit
with v and the manifest's version, and pushes the tag. A module in a directory
of its repository has tags that begin with the directory: rules/go/v1.0.0. A tag
that exists is never moved.`,
	flags: []*flagSpec{&flagJSON, &flagDryRun, &flagRemote},
	words: 1,
	examples: []example{
		{"mwp publish --dry-run", "check everything, make nothing"},
		{"mwp publish rules/go", "a module in a directory of its repository"},
	},
}

var cmdInit = command{
	name: "init", summary: "make a directory a project, or give it a context file",
	usage: []string{"mwp init [dir] [flags]", "mwp init [dir] --client NAME [--client NAME...] [--undo] [flags]"},
	text: `Outside of any project, makes .mwp/config.toml, .mwp/.gitignore, .mwp/intents,
.mwp/pipelines and an example .mwp-context.md. It never overwrites, and a second
run does nothing.

Inside a project it depends on the directory:
  - the current directory, one with another tool's instruction file (CLAUDE.md,
    AGENTS.md, ...), one that the workspace lists as a member, and any with
    --member get a .mwp of their own;
  - any other directory that is named gets a .mwp-context.md only.
A .mwp that is a file stays a file.

With --client it adds the MCP server, and hooks where the client has them, to
the client's files in the project, shows the difference and changes nothing else
in them. Where there is an anchor at the directory or above, that is all it
does. For a client that reads no file of a project it prints what to put where.
Clients:
  claude, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode`,
	flags: []*flagSpec{&flagJSON, &flagMember, &flagDryRun, &flagWithBase, &flagClient, &flagUndo},
	words: 1,
	examples: []example{
		{"mwp init", "make the current directory a project"},
		{"mwp init backend/api", "inside a project: a context file for that directory"},
		{"mwp init engine --member", "a project of its own, listed by the workspace"},
		{"mwp init --client claude --dry-run", "what Claude Code's files would get"},
		{"mwp init --client claude --undo", "and out again, byte for byte"},
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
	name: "cache", summary: "look at the cache, check it, empty it, or take it along",
	usage: []string{
		"mwp cache status|clean|fsck [flags]", "mwp cache show [target] [flags]", "mwp cache export [-o FILE] [flags]", "mwp cache import FILE [flags]",
	},
	text: `  status  size, entries, their age, where they are, whether they can be written
  clean   remove all computed maps; modules, guards and sessions stay
  fsck    check every byte; exits with 1 when something is damaged
  show    what is kept for a target's JSON map, and what it was computed from
  export  write what this workspace needs of it to a file, for another checkout
  import  add what such a file holds; one that is damaged or that nobody whose
          key is here vouches for is ignored, with a warning
Damage is never more than a miss: what cannot be read is computed again.`,
	flags:   []*flagSpec{&flagJSON, &flagOutput, &flagUnsigned, &flagImportOnly},
	words:   2,
	choices: cacheChoices,
	examples: []example{
		{"mwp cache status", "how large it is, and the hits of the last run"},
		{"mwp cache show backend/src", "the entry of one target"},
		{"mwp cache export -o mwp-cache.bin", "at the end of a CI run, for the next one"},
		{"mwp cache import mwp-cache.bin", "at the beginning; a file that is not there is fine"},
	},
}

var cmdSessions = command{
	name: "sessions", summary: "list the readers that maps were sent to, or forget them",
	usage: []string{"mwp sessions list|clean [flags]", "mwp sessions inspect ID [flags]", "mwp sessions rm ID... [flags]"},
	text: `  list     ids, when they were made and last used, how many maps each had
  inspect  which context a session's reader has, and what was asked
  rm       forget sessions: the next map of each is complete
  clean    forget those that were last used more than 7 days ago, or what
           [sessions] max_age says
A session is made by mwp map --session ID, by a harness's hook, and by the MCP
server for as long as it runs.`,
	flags:   []*flagSpec{&flagJSON, &flagOlderThan},
	words:   -1,
	noPaths: true,
	choices: sessionsChoices,
	examples: []example{
		{"mwp sessions inspect review", "what the session \"review\" has been sent"},
		{"mwp sessions clean --older-than 1d", "keep those of today"},
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
	usage:   []string{"mwp help [command|exit-codes|environment|nodes|man]"},
	text:    "Without an argument, lists the commands. With man, prints all of it as a page\nfor the program man.",
	words:   1,
	choices: []string{"map", "verify", "explain", "lint", "targets", "doctor", "status", "report", "serve-mcp", "hook", "import", "publish", "init", "config", "cache", "sessions", "version", "completion", "exit-codes", "environment", "nodes", "man"},
	examples: []example{
		{"mwp help map", "everything about one command"},
		{"mwp help exit-codes", "what the exit status means"},
		{"mwp help man > mwp.1 && man ./mwp.1", "the same as a page of man"},
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
