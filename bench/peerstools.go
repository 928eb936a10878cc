package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// largeLevel and smallLevel are the sizes of a level's text in bytes. Thirteen large
	// ones are more than the 32 KiB that Codex passes on unless it is told otherwise,
	// thirteen small ones are less than half of that.
	largeLevel, smallLevel = 4500, 1000

	codexPackage    = "@openai/codex@0.171.0"
	geminiPackage   = "@google/gemini-cli-core@0.61.0"
	rulerPackage    = "@intellectronica/ruler@0.3.44"
	rulesyncPackage = "rulesync@17.0.0"
	repomixPackage  = "repomix@1.18.1"
)

// neighbour is a tool that puts the texts of a cascade together.
type neighbour struct {
	name, layout string
	// limit is how many times as long as a warm map it takes at least, 0 for no limit.
	limit float64
	// alike says what its work has in common with a map's, and what not.
	alike string
	// whole is set for what makes files for the whole project and is run in its root.
	// The others are run in the target's directory and print.
	whole bool
	// pace bounds the rounds, and tells which of them are timed in one loop.
	pace int
	argv func(*lab, *tree) ([]string, error)
	// text takes the texts out of what it printed, or out of the files; nil for all that
	// it printed.
	text func(*tree, *said) (string, error)
}

const (
	likeForLike = "like for like: a new process finds and puts together the texts of one target"
	generates   = "not like for like: makes its files again for the whole project, not for a target"
)

// neighbours are T5's peers.
var neighbours = []neighbour{
	{name: "shell script", layout: "mwp", limit: 10, alike: likeForLike + "; a process for each step up and each file", pace: everyRound, argv: script("cascade.sh", false)},
	{name: "shell script that is given the root", layout: "mwp", alike: "the root is handed to it, which a map has to find; a process for each file", pace: everyRound, argv: script("cascade.sh", true)},
	{name: "shell script with one cat", layout: "mwp", alike: likeForLike + ", without a word on where each is from; two programs start, the least that a shell can do", pace: everyRound, argv: script("onecat.sh", false)},
	{name: "cold map, empty cache", layout: "mwp", alike: "the same map without its cache", pace: everyRound, argv: coldMap},
	{name: "Codex prompt assembly, " + codexPackage, layout: "codex", limit: 10, alike: likeForLike + ", and its own instructions beside them; the program itself without npm's wrapper", pace: peerRounds, argv: codex,
		text: func(_ *tree, s *said) (string, error) { return codexText(s.out) }},
	{name: "Gemini's loader, " + geminiPackage, layout: "gemini", limit: 10, alike: likeForLike + "; the module with the loader alone", pace: peerRounds, argv: gemini("dist", "src", "utils", "memoryDiscovery.js")},
	{name: "Gemini's loader in its package, " + geminiPackage, layout: "gemini", limit: 10, alike: likeForLike + "; the whole package, as Gemini CLI has to load it", pace: slowRounds, argv: gemini("dist", "index.js")},
	{name: "ruler apply, " + rulerPackage, layout: "ruler", alike: generates, whole: true, pace: slowRounds, text: generated,
		argv: onNode(rulerPackage, "@intellectronica/ruler/dist/cli/index.js", "apply", "--nested", "--agents", "agentsmd", "--local-only", "--no-mcp", "--no-skills", "--no-backup", "--no-gitignore")},
	{name: "rulesync generate, " + rulesyncPackage, layout: "rulesync", alike: generates, whole: true, pace: slowRounds, text: generated,
		argv: onNode(rulesyncPackage, "rulesync/dist/cli/index.js", "generate", "--targets", "agentsmd", "--features", "rules")},
	{name: "repomix, " + repomixPackage, layout: "repomix", alike: "not like for like: packs what a pattern finds in the whole project, and counts its tokens", whole: true, pace: slowRounds,
		argv: onNode(repomixPackage, "repomix/bin/repomix.cjs", "--include", "**/.mwp-context.md", "--stdout", "--no-file-summary", "--no-directory-structure", "--no-security-check", "--no-git-sort-by-changes")},
}

// everyRound is the pace of what takes milliseconds.
const everyRound = 1 << 30

// beyondReach are those that cannot be measured, with the reason.
var beyondReach = []row{
	missing("Claude Code / warm map", "it puts its memory files together only in a session, which needs a login and the network"),
}

// cascades measures T5: a warm map of the last of some directories and what other tools
// do with the same texts, each in a project of its own and in a new process.
func (l *lab) cascades() ([]row, error) {
	if err := l.build(); err != nil {
		return nil, err
	}
	back, err := l.alone()
	if err != nil {
		return nil, err
	}
	defer back()
	large, err := l.cascadeOf(largeLevel, neighbours)
	if err != nil {
		return nil, err
	}
	var alike []neighbour
	for _, n := range neighbours {
		if !n.whole && n.pace != slowRounds {
			alike = append(alike, n)
		}
	}
	small, err := l.cascadeOf(smallLevel, alike)
	return append(append(large, small...), beyondReach...), err
}

// entrant is a neighbour that is there, with what it made of the texts.
type entrant struct {
	neighbour
	contestant *contestant
	arrival    arrival
}

// cascadeOf measures some neighbours on texts of one size.
func (l *lab) cascadeOf(size int, ns []neighbour) ([]row, error) {
	c := newCascade(l.c.seed, size)
	in := fmt.Sprintf("%d levels of %d KB in all", cascadeLevels, (c.bytes()+500)/1000)
	mapped, err := l.enter(c, &neighbour{name: "warm map", layout: "mwp", argv: warmMap})
	if err != nil {
		return nil, err
	}
	if err := l.warmHere(mapped.contestant); err != nil {
		return nil, err
	}
	rows := []row{atLeast("levels that arrived whole in a map, "+in, float64(mapped.arrival.whole), cascadeLevels, "count", mapped.arrival.String())}
	loops := map[int][]*entrant{}
	for i := range ns {
		n := &ns[i]
		e, err := l.enter(c, n)
		if err != nil {
			rows = append(rows, missing(n.name+" / warm map, "+in, err.Error()))
			continue
		}
		loops[n.pace] = append(loops[n.pace], e)
	}
	for _, pace := range []int{everyRound, peerRounds, slowRounds} {
		if len(loops[pace]) > 0 {
			rows = append(rows, l.against(mapped.contestant, loops[pace], pace, in)...)
		}
	}
	return rows, l.stillWarm(mapped.contestant)
}

// enter writes a neighbour's project, lets it work once and looks at what arrived.
func (l *lab) enter(c *cascade, n *neighbour) (*entrant, error) {
	t, err := c.write(l.scratch(), layouts[n.layout])
	if err != nil {
		return nil, err
	}
	argv, err := n.argv(l, t)
	if err != nil {
		return nil, err
	}
	e := &entrant{neighbour: *n, contestant: &contestant{name: n.name, argv: argv, dir: filepath.Join(t.root, filepath.FromSlash(c.target()))}}
	if n.whole {
		e.contestant.dir = t.root
	}
	if n.name == "cold map, empty cache" {
		e.contestant.before = func() error { return os.RemoveAll(t.cache()) }
	}
	// What a tool does once in a new home or project is not the subject.
	if _, err := l.listen(e.contestant); err != nil {
		return nil, err
	}
	s, err := l.listen(e.contestant)
	if err != nil {
		return nil, err
	}
	text, beside := string(s.out), string(s.err)
	if n.text != nil {
		if text, err = n.text(t, s); err != nil {
			return nil, err
		}
	}
	e.arrival = c.arrived(text, beside)
	return e, nil
}

// warmHere asks until the map is answered from the cache.
func (l *lab) warmHere(c *contestant) error {
	return l.warmUp(&tree{root: c.dir}, "map", "-v", "main.go", "--render", "markdown")
}

// against times a map and some entrants in one loop. What fails there has run twice
// before, so all that were in the loop are absent then, with the reason.
func (l *lab) against(mapped *contestant, es []*entrant, pace int, in string) []row {
	racers := []*contestant{mapped}
	for _, e := range es {
		racers = append(racers, e.contestant)
	}
	times, err := l.raceFor(min(l.c.runs, pace), racers...)
	var rows []row
	for i, e := range es {
		what := e.name + " / warm map, " + in
		if err != nil {
			rows = append(rows, missing(what, err.Error()))
			continue
		}
		c := compare(times[i+1], times[0])
		rows = append(rows, atLeast(what, c.ratio, e.limit, "", fmt.Sprintf("%s; %s; %s", e.arrival, e.alike, c)))
	}
	return rows
}

func warmMap(l *lab, _ *tree) ([]string, error) {
	return []string{l.binary("mwp"), "map", "main.go", "--render", "markdown"}, nil
}

func coldMap(l *lab, t *tree) ([]string, error) { return warmMap(l, t) }

// script runs one of our shell scripts, by the sh of PATH.
func script(name string, rooted bool) func(*lab, *tree) ([]string, error) {
	return func(l *lab, t *tree) ([]string, error) {
		sh, err := exec.LookPath("sh")
		if err != nil {
			return nil, fmt.Errorf("there is no sh")
		}
		file, err := l.peerFile(name)
		argv := []string{sh, file, "main.go"}
		if rooted {
			argv = append(argv, t.root)
		}
		return argv, err
	}
}

// peerFile writes one of the embedded files into the lab.
func (l *lab) peerFile(name string) (string, error) {
	text, err := peerFiles.ReadFile("testdata/peers/" + name)
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.dir, name)
	return file, os.WriteFile(file, text, 0o666)
}

func codex(l *lab, _ *tree) ([]string, error) {
	dir, err := l.install(codexPackage)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex*"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s brings no program for this system", codexPackage)
	}
	return []string{found[0], "debug", "prompt-input"}, nil
}

// gemini asks the loader in one of the package's modules.
func gemini(module ...string) func(*lab, *tree) ([]string, error) {
	return func(l *lab, t *tree) ([]string, error) {
		file, err := l.peerFile("gemini.mjs")
		if err != nil {
			return nil, err
		}
		dir, err := l.install(geminiPackage)
		if err != nil {
			return nil, err
		}
		node, err := l.node()
		path := filepath.Join(append([]string{dir, "node_modules", "@google", "gemini-cli-core"}, module...)...)
		return []string{node, file, path, filepath.Join(t.root, filepath.Dir(t.target))}, err
	}
}

// onNode runs a file of a package.
func onNode(spec, file string, args ...string) func(*lab, *tree) ([]string, error) {
	return func(l *lab, _ *tree) ([]string, error) {
		dir, err := l.install(spec)
		if err != nil {
			return nil, err
		}
		node, err := l.node()
		return append([]string{node, filepath.Join(dir, "node_modules", filepath.FromSlash(file))}, args...), err
	}
}

// generated returns the AGENTS.md files of a project, from the root to the last of its
// directories: what a tool that makes them has left there.
func generated(t *tree, _ *said) (string, error) {
	var b strings.Builder
	for _, dir := range t.dirs {
		text, err := os.ReadFile(filepath.Join(t.root, dir, "AGENTS.md"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}
