package main

import (
	"fmt"
	"strings"
)

// manPage returns the page of section 1 that the table of commands makes, in the man(7)
// macros, which every formatter reads. It has no date: the same program prints the same
// bytes.
func manPage(version string) []byte {
	var m man
	m.line(`.TH MWP 1 "" "mwp ` + roff(version) + `" "mwp"`)
	m.section("NAME")
	m.text("mwp - print what to know before working on a file")
	m.section("SYNOPSIS")
	m.line(`.B mwp`)
	m.line(`.I command`)
	m.line(`[\fIarguments\fR] [\fIflags\fR]`)
	m.section("DESCRIPTION")
	m.text(about)
	m.section("COMMANDS")
	for _, c := range commands {
		m.command(c)
	}
	m.section("OPTIONS")
	m.text("Flags of every command, before or after it:")
	m.flags(globalFlags[:])
	m.section("EXIT STATUS")
	m.rows(exitCodes())
	m.paragraph(exitCodesNote)
	m.section("ENVIRONMENT")
	m.text(variablesNote)
	m.rows(flagVariables())
	m.paragraph("These stand for no flag:")
	m.rows(otherVariables())
	m.section("FILES")
	m.rows(files())
	m.section("SEE ALSO")
	m.text("git(1)\n\nmwp-git, a program beside mwp, fetches modules for it; mwp starts it, and nobody else has to.")
	return []byte(m.b.String())
}

// files lists what a user may want to find or delete.
func files() []row {
	return []row{
		{".mwp", "makes a directory a project: a directory, or a file with the same content as config.toml"},
		{".mwp/config.toml", "the configuration"},
		{".mwp/modules.lock", "which commit each import of a module stands for; for version control"},
		{".mwp/cache, .mwp/modules, .mwp/sessions", "what can be computed or fetched again, and who was sent what"},
		{".mwp.d", "stands in for the directory where .mwp is a file"},
		{".mwp-context.md", "what to know about the directory that it is in"},
		{"$XDG_STATE_HOME/mwp, ~/.local/state/mwp", "the key that signs results of guards, their logs, and the workspaces whose guards programs may run. On macOS ~/Library/Application Support/mwp, on Windows %LOCALAPPDATA%\\mwp"},
	}
}

// man writes roff. Only line writes what has a meaning to a formatter.
type man struct{ b strings.Builder }

func (m *man) line(s string) { m.b.WriteString(s + "\n") }

func (m *man) section(name string) { m.line(".SH " + name) }

// command writes the subsection of a command.
func (m *man) command(c *command) {
	m.line(".SS " + roff(c.name))
	m.text(c.name + ": " + c.summary + ".")
	if c.alias != "" {
		m.paragraph("The same by another name: mwp " + c.alias + ".")
	}
	m.block(c.usage)
	m.paragraph(c.text)
	m.flags(c.flags)
	if len(c.examples) > 0 {
		m.paragraph("Examples:")
	}
	for _, e := range c.examples {
		m.tagged(bold(e.line), e.does)
	}
}

func (m *man) flags(fs []*flagSpec) {
	for _, f := range fs {
		m.tagged(manSpelling(f), f.help)
	}
}

// manSpelling returns a flag with all its names: "-v, -vv, --verbose".
func manSpelling(f *flagSpec) string {
	var names []string
	for _, s := range append(append([]string(nil), f.spellings...), f.name) {
		names = append(names, bold(dashed(s)))
	}
	s := strings.Join(names, ", ")
	if f.arg != "" {
		s += ` \fI` + roff(f.arg) + `\fR`
	}
	return s
}

func (m *man) rows(rows []row) {
	for _, r := range rows {
		m.tagged(bold(r.term), r.means)
	}
}

func (m *man) tagged(tag, text string) {
	m.line(".TP")
	m.line(tag)
	m.text(text)
}

// gap begins a paragraph, once.
func (m *man) gap() {
	if !strings.HasSuffix(m.b.String(), "\n.PP\n") {
		m.line(".PP")
	}
}

func (m *man) paragraph(s string) {
	m.gap()
	m.text(s)
}

// text writes paragraphs. Lines of one that are indented, as those of a list are, stay
// lines; the others are filled.
func (m *man) text(s string) {
	for i, p := range strings.Split(s, "\n\n") {
		if i > 0 {
			m.gap()
		}
		lines := strings.Split(p, "\n")
		for start := 0; start < len(lines); {
			end := start + 1
			for end < len(lines) && strings.HasPrefix(lines[end], " ") == strings.HasPrefix(lines[start], " ") {
				end++
			}
			switch {
			case strings.HasPrefix(lines[start], " "):
				m.block(lines[start:end])
			default:
				if start > 0 {
					m.gap()
				}
				m.filled(strings.Fields(strings.Join(lines[start:end], " ")))
			}
			start = end
		}
	}
}

// filled writes words in lines of the length that formatters want.
func (m *man) filled(words []string) {
	line := ""
	for _, w := range words {
		w = roff(w)
		if line != "" && len(line)+1+len(w) > 79 {
			m.line(line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	m.line(line)
}

// block writes lines that stay as they are.
func (m *man) block(lines []string) {
	m.gap()
	m.line(".nf")
	for _, l := range lines {
		m.line(`\&` + roff(l))
	}
	m.line(".fi")
}

func bold(s string) string { return `\fB` + roff(s) + `\fR` }

// roff escapes what means something to a formatter, so that every character arrives as
// the one that a shell would want.
func roff(s string) string {
	var b strings.Builder
	if strings.HasPrefix(s, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
