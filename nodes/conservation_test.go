package nodes_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

var conservationSeed = flag.Uint64("conservation-seed", 0, "seed of the conservation test, 0 for the usual ones")

// paper is a workspace on paper: who imports what, in the words of a header.
type paper struct {
	rng     *rand.Rand
	imports map[string][]string
	empty   map[string]bool
	archive strings.Builder
}

// levels are the directories of the cascade, files what can be imported. A document
// imports only what comes after it, so that there are no cycles.
var (
	levels = []string{".", "a", "a/b", "a/b/c"}
	files  = []string{"r.md", "a/s.md", "a/b/t.md", "lib/u.md", "a/b/c/v.md", "lib/w.md", "notes.cfg"}
	traps  = []string{"gone.md", "../out.md", "/abs.md", "lib", "", "r.md#Nothing", `a\b.md`}
)

func contextOf(dir string) string { return path.Join(dir, ".mwp-context.md") }

// write adds a document with imports that its place in the order allows.
func (p *paper) write(name string, later []string) {
	text := ""
	if path.Ext(name) == ".md" {
		for range p.rng.IntN(4) {
			target := later[p.rng.IntN(len(later))]
			if p.rng.IntN(5) == 0 {
				target = traps[p.rng.IntN(len(traps))]
			}
			p.imports[name] = append(p.imports[name], target)
			spelling := target
			if target != "" && target[0] != '/' && target[0] != '.' && p.rng.IntN(2) == 0 {
				spelling = "a/.././" + target
			}
			text += fmt.Sprintf("  - workspace: '%s'\n", spelling)
		}
		if text != "" {
			text = "imports:\n" + text
		}
		for _, key := range []string{"layer: 0", "layer: 3", "priority: 70", "priority: -3", "scope: local", "window: 2", "max_tokens: 4"} {
			if p.rng.IntN(8) == 0 && !strings.Contains(text, key[:5]) {
				text += key + "\n"
			}
		}
		text = "---\n" + text + "---\n"
	}
	if p.empty[name] = p.rng.IntN(6) == 0; !p.empty[name] {
		text += fmt.Sprintf("# Title\nThe words of %s.\n", name)
	}
	fmt.Fprintf(&p.archive, "-- %s --\n%s", name, text)
}

func newPaper(seed uint64) *paper {
	p := &paper{rng: rand.New(rand.NewPCG(seed, 3)), imports: map[string][]string{}, empty: map[string]bool{}}
	policy := []string{"report", "drop"}[p.rng.IntN(2)]
	fmt.Fprintf(&p.archive, "-- .mwp --\nname = \"p\"\n[budgets]\npolicy = %q\nl1 = 20\n", policy)
	if p.rng.IntN(2) == 0 {
		p.archive.WriteString("[render]\nwindow = 2\n")
	}
	p.archive.WriteString("-- lib/plain --\n-- a/b/c/x --\n")
	for i, dir := range levels {
		later := slices.Concat(files, levels[i+1:], []string{"r.md#Title", "lib/u.md#Title"})
		p.write(contextOf(dir), later)
	}
	for i, f := range files {
		p.write(f, append(slices.Clone(files[i+1:]), "notes.cfg"))
	}
	return p
}

// candidates counts by D-110 what the resolution looks at: the anchor, each context
// file, and below it each import of each document, which is entered once.
func (p *paper) candidates() int {
	n := 1
	for _, dir := range levels {
		seen := map[string]bool{}
		n++
		for pending := []string{contextOf(dir)}; len(pending) > 0; pending = pending[1:] {
			if seen[pending[0]] {
				continue
			}
			seen[pending[0]] = true
			for _, target := range p.imports[pending[0]] {
				n++
				file, section, _ := strings.Cut(target, "#")
				if slices.Contains(levels, file) {
					file = contextOf(file)
				}
				// A section that is not there leads nowhere.
				if empty, ok := p.empty[file]; ok && (section == "" || section == "Title" && !empty) {
					pending = append(pending, file)
				}
			}
		}
	}
	return n
}

// TestConservationOfImports is D-110 on random workspaces: as many candidates come
// out as went in, each with one outcome; what anything in the map refers to is in it
// once, unless it is empty or has another outcome; and every import that leads
// nowhere is a finding.
func TestConservationOfImports(t *testing.T) {
	seeds := []uint64{*conservationSeed}
	if *conservationSeed == 0 {
		seeds = seeds[:0]
		for i := range uint64(60) {
			seeds = append(seeds, i+1)
		}
	}
	seen := map[string]int{}
	for _, seed := range seeds {
		p := newPaper(seed)
		root := tree(t, p.archive.String())
		for _, target := range []string{"a/b/c/x", "a/b/c", "a"} {
			v := evaluate(t, root, mapNode(target))
			if len(v.Refusal) > 0 {
				t.Fatalf("seed %d: refused\n%s\n%s", seed, messages(v), p.archive.String())
			}
			conserved(t, v)
			if target != "a" {
				if got, want := len(v.IR.Trace), p.candidates(); got != want {
					t.Errorf("seed %d: %d candidates came out, %d went in\n%s\n%s", seed, got, want, outline(v), p.archive.String())
				}
			}
			for s, n := range p.check(t, v) {
				seen[s] += n
			}
			if t.Failed() {
				t.Fatalf("seed %d, target %s:\n%s\n%s", seed, target, outline(v), p.archive.String())
			}
		}
	}
	for _, s := range []string{
		ir.Included, ir.Deduplicated, ir.ExcludedByWindow, ir.ExcludedByScope, ir.DroppedByBudget, ir.Unresolved, ir.Empty, ir.Failed,
	} {
		if *conservationSeed == 0 && seen[s] == 0 {
			t.Errorf("nothing ended as %s: the workspaces are too tame", s)
		}
	}
}

// check looks at one map and returns how many candidates have each outcome.
func (p *paper) check(t *testing.T, v nodes.MapValue) map[string]int {
	t.Helper()
	count := map[string]int{}
	sections := map[string]map[string]bool{}
	for _, e := range v.IR.Layers.All() {
		if sections[e.Source] == nil {
			sections[e.Source] = map[string]bool{}
		}
		if sections[e.Source][e.Section] {
			t.Errorf("%s#%s is in the map twice", e.Source, e.Section)
		}
		sections[e.Source][e.Section] = true
		if p.empty[e.Source] {
			t.Errorf("%s has no body and is in the map", e.Source)
		}
	}
	lost := 0
	for _, r := range v.IR.Trace {
		count[r.Status]++
		switch r.Status {
		case ir.Unresolved, ir.Failed:
			lost++
			found := slices.ContainsFunc(v.IR.Warnings, func(d ir.Diagnostic) bool {
				return d.Severity == ir.SeverityError && fmt.Sprintf("%s:%d", d.Source, d.Line) == r.Declared
			})
			if !found {
				t.Errorf("%s, declared at %s, is %s and no finding", r.Source, r.Declared, r.Status)
			}
		case ir.Deduplicated:
			// Somebody else carries it, or would if it had a body or room.
			if len(sections[r.Source]) == 0 && !slices.ContainsFunc(v.IR.Trace, func(o ir.TraceRecord) bool {
				return o.Source == r.Source && (o.Status == ir.Empty || o.Status == ir.DroppedByBudget)
			}) {
				t.Errorf("%s gave way to %s and is nowhere", r.Source, r.DeduplicatedBy)
			}
		case ir.Empty:
			if !p.empty[r.Source] && r.Source != ".mwp" {
				t.Errorf("%s has a body and counts as empty", r.Source)
			}
		}
	}
	return count
}
