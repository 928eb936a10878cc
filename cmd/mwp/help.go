package main

import (
	"strings"

	"github.com/model-workspace-protocol/mwp"
)

func (a *app) runHelp() error {
	if len(a.words) == 0 {
		return a.print(helpText())
	}
	switch topic := a.words[0]; topic {
	case topicExitCodes:
		return a.print(exitCodesText())
	case topicVariables:
		return a.print(variablesText())
	case topicNodes:
		return a.print([]byte(mwp.NodesDocument()))
	case topicMan:
		return a.print(manPage(buildVersion().version))
	default:
		if c := commandNamed(topic); c != nil {
			return a.print(commandHelp(c))
		}
		return misspelt("see `mwp help`", "help: %s", oneOf(topic, cmdHelp.choices))
	}
}

const about = `mwp maps a workspace: for a file or directory it prints the context that people
wrote for it, in layers, within a budget, with the account of every choice.`

// helpText lists the commands.
func helpText() []byte {
	var b strings.Builder
	b.WriteString(about + `

Usage:
  mwp <command> [arguments] [flags]

Commands:
`)
	for _, c := range commands {
		b.WriteString("  " + pad(c.name, 12) + c.summary + "\n")
	}
	b.WriteString("\nFlags of every command, before or after it:\n")
	writeFlags(&b, globalFlags[:])
	b.WriteString("\nExamples:\n")
	writeExamples(&b, []example{
		{"mwp init", "make the current directory a project"},
		{"mwp map src/main.go --render markdown", "the map of one file, to paste into an LLM session"},
	})
	b.WriteString("\nMore: mwp help <command>, mwp help exit-codes, environment, nodes or man\n")
	return []byte(b.String())
}

func commandHelp(c *command) []byte {
	var b strings.Builder
	b.WriteString("mwp " + c.name + ": " + c.summary + "\n\nUsage:\n")
	for _, u := range c.usage {
		b.WriteString("  " + u + "\n")
	}
	b.WriteString("\n" + c.text + "\n")
	if len(c.flags) > 0 {
		b.WriteString("\nFlags:\n")
		writeFlags(&b, c.flags)
	}
	b.WriteString("\nFlags of every command:\n")
	writeFlags(&b, globalFlags[:])
	b.WriteString("\nExamples:\n")
	writeExamples(&b, c.examples)
	return []byte(b.String())
}

// spelling returns a flag as help shows it: "-o, --output FILE".
func spelling(f *flagSpec) string {
	s := ""
	for _, short := range f.spellings {
		if len(short) == 1 {
			s += "-" + short + ", "
		}
	}
	if len(f.name) == 1 {
		s += "-" + f.name
	} else {
		s += "--" + f.name
	}
	if f.arg != "" {
		s += " " + f.arg
	}
	return s
}

func writeFlags(b *strings.Builder, fs []*flagSpec) {
	width := 0
	for _, f := range fs {
		width = max(width, len(spelling(f)))
	}
	for _, f := range fs {
		b.WriteString("  " + pad(spelling(f), width+2) + f.help + "\n")
	}
}

func writeExamples(b *strings.Builder, es []example) {
	for _, e := range es {
		b.WriteString("  " + e.line + "\n      " + e.does + "\n")
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len(s)))
}

// row is a term and what it means. The lines of means are broken for help, which
// has 80 columns; the man page joins them.
type row struct{ term, means string }

func writeRows(b *strings.Builder, rows []row, width int) {
	for _, r := range rows {
		indent := "\n" + strings.Repeat(" ", width+2)
		b.WriteString("  " + pad(r.term, width) + strings.ReplaceAll(r.means, "\n", indent) + "\n")
	}
}

// exitCodes is the contract that exitCode keeps.
func exitCodes() []row {
	return []row{
		{"0", "done; there may be warnings on stderr"},
		{"1", `the command's own negative answer: there is no map because a file has
mistakes or another tool owns the directory; lint found errors, or more
warnings than --max-warnings; a module may not be used, or is not what
was pinned; fsck found damage; a guard of verify failed or did not
run; doctor found something broken`},
		{"2", `the command line makes no sense; the answer of verify --hook claude is
no, because only this status blocks there`},
		{"3", `the output is complete, and --strict (or [budgets] policy = "error")
found errors in it, or it is read-only`},
		{"4", `the environment: no root, a target outside of it, a file that cannot be
read or written, a repository that cannot be asked, a cache that gave a
wrong answer (--verify-cache)`},
		{"129", "ended by SIGHUP"},
		{"130", "ended by Ctrl-C"},
		{"143", "ended by SIGTERM"},
	}
}

const exitCodesNote = `With an exit status of 1, 2 or 4 there is nothing on stdout, except for what
lint, verify, doctor and fsck found, what import could do, and what init
--client shows before it writes. A reader that closes the pipe early (mwp map |
head) is no error.`

func exitCodesText() []byte {
	var b strings.Builder
	b.WriteString("The exit status of mwp:\n\n")
	writeRows(&b, exitCodes(), 5)
	b.WriteString("\n" + exitCodesNote + "\n\nExamples:\n")
	writeExamples(&b, []example{
		{`mwp map src --strict > map.json || echo "exit status $?"`, "a map that may not go over its budgets"},
		{"mwp cache fsck || mwp cache clean", "remove a damaged cache"},
	})
	return []byte(b.String())
}

// flagVariables lists the variables that stand for flags, from the table.
func flagVariables() []row {
	var rows []row
	seen := map[string]bool{}
	add := func(fs []*flagSpec) {
		for _, f := range fs {
			if new(options).setter(f) == nil || seen[f.name] || f.noVariable {
				continue
			}
			seen[f.name] = true
			rows = append(rows, row{variable(f), f.help})
		}
	}
	add(globalFlags[:])
	for _, c := range commands {
		add(c.flags)
	}
	return rows
}

// otherVariables lists those that stand for no flag.
func otherVariables() []row {
	return []row{
		{"MWP_TRUST_KEY", "the key that signs results of guards, instead of this\nuser's: a secret of at least 16 bytes"},
		{"MWP_LOG", "error, warn, info or debug: as -q, nothing, -v and -vv"},
		{"MWP_DEBUG", "hash: what went into each key; panic: stacks; or both"},
		{"NO_COLOR", "no colours, unless --color always"},
		{"CLICOLOR_FORCE", "colours in pipes too; TERM=dumb has none"},
	}
}

const variablesNote = `A flag on the command line comes before its variable, and that before the
configuration. Flags that only repeat another one have no variable, and what
somebody has to say each time has none.`

func variablesText() []byte {
	var b strings.Builder
	b.WriteString(variablesNote + "\n\n")
	writeRows(&b, flagVariables(), 20)
	b.WriteString("\n")
	writeRows(&b, otherVariables(), 20)
	b.WriteString("\nExamples:\n")
	writeExamples(&b, []example{
		{"MWP_BUDGET=l2=none,l3=4000 mwp map src", "several budgets in one variable"},
		{"MWP_DEBUG=hash mwp map src --fresh > /dev/null", "what the map's keys were made of"},
	})
	return []byte(b.String())
}
