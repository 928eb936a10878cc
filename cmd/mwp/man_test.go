package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestManPage holds the page to the table: its sections, each command with each of its
// flags, every exit status and every variable, and no request that is not meant as one.
func TestManPage(t *testing.T) {
	got := try(nil, "help", "man")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("mwp help man: %+v", got)
	}
	sections, commandPages := manSections(t, got.stdout)
	want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", `EXIT STATUS`, "ENVIRONMENT", "FILES", "SEE ALSO"}
	if !slices.Equal(sections.names, want) {
		t.Errorf("sections %q, want %q", sections.names, want)
	}
	var names []string
	for _, c := range commands {
		names = append(names, roff(c.name))
		page := commandPages.text[roff(c.name)]
		for _, f := range c.flags {
			if !strings.Contains(page, "\n"+manSpelling(f)+"\n") {
				t.Errorf("mwp %s: the page does not have --%s", c.name, f.name)
			}
		}
		for _, e := range c.examples {
			if !strings.Contains(page, roff(e.line)) {
				t.Errorf("mwp %s: the page does not have the example %s", c.name, e.line)
			}
		}
	}
	if !slices.Equal(commandPages.names, names) {
		t.Errorf("commands %q, want %q", commandPages.names, names)
	}
	for _, f := range globalFlags {
		if !strings.Contains(sections.text["OPTIONS"], "\n"+manSpelling(f)+"\n") {
			t.Errorf("OPTIONS does not have --%s", f.name)
		}
	}
	holds := func(section string, rows []row) {
		for _, r := range rows {
			if !strings.Contains(sections.text[section], "\n"+bold(r.term)+"\n") {
				t.Errorf("%s does not have %s", section, r.term)
			}
		}
	}
	holds("EXIT STATUS", exitCodes())
	holds("ENVIRONMENT", flagVariables())
	holds("ENVIRONMENT", otherVariables())
}

// manParts are the parts of a page that one kind of heading begins.
type manParts struct {
	names []string
	text  map[string]string
}

// manSections takes a page apart, and complains about lines that a formatter would take
// for something else than this program means.
func manSections(t *testing.T, page string) (sections, commands manParts) {
	t.Helper()
	sections.text, commands.text = map[string]string{}, map[string]string{}
	section, command := "", ""
	for i, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		request, rest, _ := strings.Cut(line, " ")
		switch {
		case request == ".TH":
			if i != 0 || !strings.HasPrefix(rest, "MWP 1 ") {
				t.Errorf("line %d: %s", i+1, line)
			}
		case request == ".SH":
			section, command = rest, ""
			sections.names = append(sections.names, section)
		case request == ".SS":
			command = rest
			commands.names = append(commands.names, command)
		case strings.HasPrefix(line, "."):
			if !slices.Contains([]string{".B", ".I", ".PP", ".TP", ".nf", ".fi"}, request) {
				t.Errorf("line %d is no request that the page uses: %s", i+1, line)
			}
		case line == "", strings.HasPrefix(line, "'"), strings.ContainsAny(line, "'`^~"):
			t.Errorf("line %d is not text as it stands: %q", i+1, line)
		}
		for _, r := range line {
			if r < ' ' || r > '~' {
				t.Errorf("line %d has the character %q", i+1, r)
			}
		}
		sections.text[section] += line + "\n"
		if command != "" {
			commands.text[command] += line + "\n"
		}
	}
	return sections, commands
}

func TestRoff(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{".mwp", `\&.mwp`},
		{"a.b", "a.b"},
		{"--no-root", `\-\-no\-root`},
		{`%LOCALAPPDATA%\mwp`, `%LOCALAPPDATA%\emwp`},
		{"`a` ~/b 'c' \"d\" ^", `\(gaa\(ga \(ti/b \(aqc\(aq \(dqd\(dq \(ha`},
		{"✓", `\[u2713]`},
	} {
		if got := roff(c.in); got != c.want {
			t.Errorf("roff(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// TestManPageFormats asks formatters what they think of the page.
func TestManPageFormats(t *testing.T) {
	page := filepath.Join(t.TempDir(), "mwp.1")
	if err := os.WriteFile(page, manPage("v1.2.3"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"mandoc", "-T", "lint", "-W", "style", page},
		{"groff", "-man", "-ww", "-z", "-Tutf8", page},
	} {
		t.Run(c[0], func(t *testing.T) {
			bin, err := exec.LookPath(c[0])
			if err != nil {
				t.Skipf("NOT CHECKED: %s is not installed", c[0])
			}
			out, _ := exec.Command(bin, c[1:]...).CombinedOutput()
			for line := range strings.Lines(string(out)) {
				// The page has no date on purpose.
				if !strings.Contains(line, "missing date") {
					t.Errorf("%s says %s", c[0], line)
				}
			}
		})
	}
}
