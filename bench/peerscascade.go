package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed testdata/peers
var peerFiles embed.FS

// cascadeLevels is how many directories have a text, the root included.
const cascadeLevels = 13

// cascade are the texts of some directories, each inside the one before. Every tool
// gets the same ones, under the names that it looks for.
type cascade struct {
	levels []level
}

// level is one directory's text.
type level struct {
	// dir is relative to the root, which is ".", with slashes.
	dir  string
	text string
	// first and last are sentences that no other level has. The text begins and ends
	// with them, so that one which arrives in part is not taken for a whole one.
	first, last string
}

// newCascade returns texts of about size bytes each. Equal arguments give equal ones.
func newCascade(seed uint64, size int) *cascade {
	r := rand.New(rand.NewPCG(seed, 13))
	c := &cascade{}
	dir := "."
	for i := range cascadeLevels {
		if i > 0 {
			dir = path.Join(dir, fmt.Sprintf("%s-%d", pick(r), i))
		}
		mark := func(which string) string {
			return fmt.Sprintf("The %s word of level %d is %s-%08x.", which, i+1, pick(r), r.Uint32())
		}
		v := level{dir: dir, first: mark("first"), last: mark("last")}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s %d\n\n%s\n", pick(r), i+1, v.first)
		for b.Len() < size-len(v.last) {
			fmt.Fprintf(&b, "\n## The %s of the %s\n\n%s", pick(r), pick(r), sentences(r, 4))
		}
		b.WriteString("\n" + v.last + "\n")
		v.text = b.String()
		c.levels = append(c.levels, v)
	}
	return c
}

// bytes is the size of all texts.
func (c *cascade) bytes() (n int) {
	for _, v := range c.levels {
		n += len(v.text)
	}
	return n
}

// target is the directory of the last level.
func (c *cascade) target() string { return c.levels[len(c.levels)-1].dir }

// layout is how a tool wants a cascade to lie in a project.
type layout struct {
	// file names a level's file, relative to the root, with slashes.
	file func(i int, dir string) string
	// header stands before the text, for a tool that cannot take it without one.
	header func(i int, dir string) string
	// extra are the files that make it a project of the tool.
	extra map[string]string
}

// inEach puts the texts into files of one name, each in its own directory.
func inEach(name string) func(int, string) string {
	return func(_ int, dir string) string { return path.Join(dir, name) }
}

var layouts = map[string]layout{
	"mwp": {file: inEach(".mwp-context.md"), extra: map[string]string{
		".mwp/config.toml": "name = \"cascade\"\n\n[budgets]\nl0 = \"none\"\nl1 = \"none\"\nl2 = \"none\"\nl3 = \"none\"\n",
	}},
	"codex":  {file: inEach("AGENTS.md")},
	"gemini": {file: inEach("GEMINI.md")},
	"ruler":  {file: inEach(".ruler/AGENTS.md")},
	"rulesync": {
		file: func(i int, _ string) string { return fmt.Sprintf(".rulesync/rules/level-%02d.md", i+1) },
		header: func(i int, dir string) string {
			if i == 0 {
				return "---\nroot: true\ntargets: [\"agentsmd\"]\n---\n"
			}
			return fmt.Sprintf("---\nroot: false\ntargets: [\"agentsmd\"]\nagentsmd:\n  subprojectPath: %q\n---\n", dir)
		},
	},
	"repomix": {file: inEach(".mwp-context.md")},
}

// repository is the least that every tool takes for a git repository's root, where the
// walk upward ends.
var repository = map[string]string{
	".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
	".git/objects/info/packs": "", ".git/refs/heads/.keep": "",
}

// write lays the texts out below root, which must not exist.
func (c *cascade) write(root string, y layout) (*tree, error) {
	t := &tree{root: root, target: filepath.Join(filepath.FromSlash(c.target()), "main.go")}
	if err := t.write(t.target, "package main\n"); err != nil {
		return nil, err
	}
	for _, files := range []map[string]string{repository, y.extra} {
		for name, text := range files {
			if err := t.write(filepath.FromSlash(name), text); err != nil {
				return nil, err
			}
		}
	}
	for i, v := range c.levels {
		t.dirs = append(t.dirs, filepath.FromSlash(v.dir))
		text := v.text
		if y.header != nil {
			text = y.header(i, v.dir) + text
		}
		if err := t.write(filepath.FromSlash(y.file(i, v.dir)), text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// arrival is what of a cascade arrived in a text.
type arrival struct {
	// whole is how many levels did from their first sentence to their last.
	whole, levels int
	// partial and dropped are the levels that did not, from 1.
	partial, dropped []int
	// backward is set when a deeper level stands before one above it.
	backward bool
	bytes    int
	// word is what the tool says about leaving something out, "" for nothing.
	word string
}

// confession finds what a program may say when it leaves something out. The generated
// texts have none of these words.
var confession = regexp.MustCompile(`(?i)[^\n]*\b(truncat|omitt|dropped|exceed|cut off|too (large|long|big)|left out|skipp)[^\n]*`)

// arrived looks for the levels in what a tool made of them, and for a word about what is
// missing there and in what it said beside.
func (c *cascade) arrived(text, beside string) arrival {
	a := arrival{levels: len(c.levels), bytes: len(text)}
	before := -1
	for i, v := range c.levels {
		first, last := strings.Index(text, v.first), strings.Index(text, v.last)
		switch {
		case first >= 0 && last > first:
			a.whole++
		case first >= 0 || last >= 0:
			a.partial = append(a.partial, i+1)
		default:
			a.dropped = append(a.dropped, i+1)
		}
		if first >= 0 {
			a.backward = a.backward || first < before
			before = first
		}
	}
	a.word = strings.TrimSpace(confession.FindString(beside + "\n" + text))
	return a
}

// String is the part of a row that says what arrived.
func (a arrival) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d levels arrived whole", a.whole, a.levels)
	for _, part := range []struct {
		is     string
		levels []int
	}{{"in part", a.partial}, {"dropped", a.dropped}} {
		switch n := len(part.levels); {
		case n == 1:
			fmt.Fprintf(&b, ", level %d %s", part.levels[0], part.is)
		case n > 1:
			fmt.Fprintf(&b, ", levels %d to %d %s", part.levels[0], part.levels[n-1], part.is)
		}
	}
	switch {
	case a.whole < a.levels && a.word == "":
		b.WriteString(", without a word about it")
	case a.whole < a.levels:
		fmt.Fprintf(&b, ", with the word %q", a.word)
	}
	if a.backward {
		b.WriteString(", the deepest not last")
	}
	fmt.Fprintf(&b, "; %d bytes", a.bytes)
	return b.String()
}

// codexInstructions begin the message in which Codex hands its files to the model.
const codexInstructions = "# AGENTS.md instructions"

// codexText takes out of what "codex debug prompt-input" prints, a list of messages in
// JSON, the one with the project's files.
func codexText(out []byte) (string, error) {
	var messages []struct {
		Content json.RawMessage
	}
	if err := json.Unmarshal(out, &messages); err != nil {
		return "", fmt.Errorf("codex printed no list of messages: %w", err)
	}
	var b strings.Builder
	for _, m := range messages {
		var parts []struct{ Text string }
		if json.Unmarshal(m.Content, &parts) != nil {
			continue // what is no list of parts carries no text
		}
		for _, p := range parts {
			if strings.HasPrefix(p.Text, codexInstructions) {
				b.WriteString(p.Text)
			}
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("no message that codex printed begins with %q", codexInstructions)
	}
	return b.String(), nil
}
