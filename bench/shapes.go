package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	// smallFiles is the size of the smaller tree of each shape.
	smallFiles = 1000
	// depth gives a map of 20 leaves: what a target in a large repository has.
	depth = 8
	// deepest is more levels than projects have.
	deepest     = 40
	contextSize = 900
	// crowded is how many entries the widest directory has that tools still show.
	crowded = 20_000
	// closureFiles is the size of a library of texts that import each other, and
	// closureWidth how many each of them imports.
	closureFiles = 500
	closureWidth = 5
	// manyModules, manyGuards and manyImports are what a directory with everything has.
	manyModules = 50
	manyGuards  = 50
	manyImports = 50
)

// namedShape is a shape that the scenarios are measured in.
type namedShape struct {
	name, what string
	shape      shape
}

// shapes are all of them. Their sizes are given by sized.
var shapes = []namedShape{
	{"balanced", fmt.Sprintf("%d levels", depth), shape{depth: depth}},
	{"deep", fmt.Sprintf("%d levels", deepest), shape{depth: deepest}},
	{"wide", fmt.Sprintf("%d levels, one of them with %d files", depth, crowded), shape{depth: depth, crowd: crowded}},
	{"imports", fmt.Sprintf("3 levels, and %d texts that import %d each", closureFiles, closureWidth), shape{depth: 3, imports: closureFiles, width: closureWidth}},
	{"modules", fmt.Sprintf("%d levels, and %d git modules", depth, manyModules), shape{depth: depth, modules: manyModules}},
	{"guards", fmt.Sprintf("%d levels, and %d guards with their results", depth, manyGuards), shape{depth: depth, guards: manyGuards}},
}

// sized returns the shape with a number of files beside the target's path.
func (s shape) sized(seed uint64, files int) shape {
	s.seed, s.files, s.contexts, s.contextSize = seed, files, max(20, files/100), contextSize
	return s
}

// smallShape is the shape of the tree that most times are measured in.
func smallShape(seed uint64) shape { return shape{depth: depth}.sized(seed, smallFiles) }

// chooseShapes returns the shapes that a list names, all for "".
func chooseShapes(list string) ([]namedShape, error) {
	if list == "" {
		return shapes, nil
	}
	var out []namedShape
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(shapes, func(s namedShape) bool { return s.name == strings.ToLower(strings.TrimSpace(name)) })
		if i < 0 {
			return nil, fmt.Errorf("no shape is named %q; --list says what is", name)
		}
		out = append(out, shapes[i])
	}
	return out, nil
}

// headerOf returns what the header of a level's context file says beside the usual.
func (s shape) headerOf(level int) []string {
	var imports []string
	if s.rules && level > 0 {
		imports = append(imports, "  - local: ./rules.md\n")
	}
	if level != s.depth-1 {
		return importing(imports)
	}
	imports = append(imports, s.texts(0, "./lib/")...)
	for i := range s.modules {
		imports = append(imports, "  - git: "+moduleRef(i)+"\n")
	}
	header := append(importing(imports), s.header)
	if s.guards > 0 {
		header = append(header, "guards:\n")
	}
	for i := range s.guards {
		header = append(header, fmt.Sprintf("  - cmd: %s\n    cache_for: 1d\n    verified_paths: [data-%d.txt]\n", guardScript(i), i))
	}
	return header
}

func importing(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"imports:\n"}, lines...)
}

// texts are the imports of the library's text i; text 0 is the target's context file.
func (s shape) texts(i int, from string) []string {
	var lines []string
	for k := i*s.width + 1; k <= min((i+1)*s.width, s.imports); k++ {
		lines = append(lines, fmt.Sprintf("  - local: %stext-%d.md\n", from, k))
	}
	return lines
}

// writeLibrary writes the texts that import each other.
func (t *tree) writeLibrary(s shape, dir string) error {
	r := rand.New(rand.NewPCG(s.seed, 9))
	for i := 1; i <= s.imports; i++ {
		header := strings.Join(importing(s.texts(i, "./")), "")
		if header != "" {
			header = "---\n" + header + "---\n"
		}
		if err := t.write(filepath.Join(dir, "lib", fmt.Sprintf("text-%d.md", i)), fmt.Sprintf("%s# %s %d\n\n%s", header, pick(r), i, sentences(r, 1))); err != nil {
			return err
		}
	}
	return nil
}

func moduleRef(i int) string { return fmt.Sprintf("https://example.com/shelf/rules-%d.git@v1", i) }

// writeModules puts modules, their lists and the lock file where a fetch puts them.
func (t *tree) writeModules(s shape, _ string) error {
	r := rand.New(rand.NewPCG(s.seed, 11))
	var lock pin.Lock
	for i := range s.modules {
		commit := fmt.Sprintf("%040x", i+1)
		var sums []pin.Sum
		for _, f := range []file{
			{".mwp-module.md", fmt.Sprintf("---\nname: rules-%d\nimports:\n  - local: rules.md\n---\n", i)},
			{"rules.md", sentences(r, 3)},
		} {
			if err := t.write(filepath.Join(".mwp", "modules", commit, f.name), f.text); err != nil {
				return err
			}
			sums = append(sums, pin.Sum{Digest: cas.Sum([]byte(f.text)).String(), Path: f.name})
		}
		list := pin.AppendSums(nil, sums)
		if err := t.write(filepath.Join(".mwp", "modules", commit+".b3sums"), string(list)); err != nil {
			return err
		}
		lock.Records = append(lock.Records, pin.Record{Key: moduleRef(i), Kind: pin.Tag, Commit: commit, Tree: cas.Sum(list).String()})
	}
	if s.modules == 0 {
		return nil
	}
	return t.write(filepath.Join(".mwp", "modules.lock"), string(pin.AppendLock(nil, lock)))
}

func guardScript(i int) string { return fmt.Sprintf("./check-%d.sh", i) }

// commands are the guards' commands that the configuration lets run.
func (s shape) commands() []string {
	all := slices.Clone(s.allowed)
	for i := range s.guards {
		all = append(all, guardScript(i))
	}
	return all
}

// writeGuards writes the scripts of guards that pass, and what they verify.
func (t *tree) writeGuards(s shape, dir string) error {
	for i := range s.guards {
		script := filepath.Join(dir, guardScript(i))
		if err := t.write(script, "#!/bin/sh\ntrue\n"); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(t.root, script), 0o777); err != nil {
			return err
		}
		if err := t.write(filepath.Join(dir, fmt.Sprintf("data-%d.txt", i)), "x\n"); err != nil {
			return err
		}
	}
	return nil
}
