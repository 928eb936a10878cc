package nodes_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Commits of modules in scenarios, which write them $A, $B and $C.
var commits = map[string]string{"$A": strings.Repeat("a1", 20), "$B": strings.Repeat("b2", 20), "$C": strings.Repeat("c3", 20)}

// long replaces the names of commits by the commits, short the other way round.
func long(s string) string {
	for name, commit := range commits {
		s = strings.ReplaceAll(s, name, commit)
	}
	return s
}

func short(s string) string {
	for name, commit := range commits {
		s = strings.ReplaceAll(s, commit, name)
	}
	return s
}

// tree writes a txtar archive to a new directory. A file named "x -> y" makes a
// link x to y, one that ends in / a directory. A file named PINS is not written:
// each of its lines, REFERENCE KIND COMMIT, pins a module whose files lie where a
// fetch would have put them (D-34).
func tree(t *testing.T, archive string) string {
	t.Helper()
	root := t.TempDir()
	var pins string
	for _, f := range txtar.Parse([]byte(long(archive))).Files {
		if f.Name == "PINS" {
			pins = string(f.Data)
			continue
		}
		name, target, isLink := strings.Cut(f.Name, " -> ")
		p := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch {
		case isLink:
			must(t, os.Symlink(target, p))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(p, 0o755))
		default:
			must(t, os.WriteFile(p, f.Data, 0o644))
		}
	}
	if pins != "" {
		pinModules(t, root, strings.Split(strings.TrimSpace(pins), "\n"))
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pinModules writes the lists of the modules' files and the lock file, as a fetch
// would have.
func pinModules(t *testing.T, root string, lines []string) {
	t.Helper()
	state := filepath.Join(root, ".mwp")
	if fi, err := os.Stat(state); err == nil && !fi.IsDir() {
		state = filepath.Join(root, ".mwp.d")
	}
	must(t, os.MkdirAll(filepath.Join(state, "modules"), 0o755))
	var lock pin.Lock
	for _, line := range lines {
		f := strings.Fields(line)
		ref, err := pin.ParseRef(f[0])
		must(t, err)
		files, list := pin.Store(f[2], ref.Dir)
		text := sums(t, filepath.Join(state, "modules", filepath.FromSlash(files)))
		if len(text) > 0 {
			must(t, os.WriteFile(filepath.Join(state, "modules", list), text, 0o644))
		}
		lock.Set(pin.Record{Key: f[0], Kind: f[1], Commit: f[2], Tree: cas.Sum(text).String()})
	}
	must(t, os.WriteFile(filepath.Join(state, nodes.LockName), pin.AppendLock(nil, lock), 0o644))
}

// sums returns the list of the files below a directory.
func sums(t *testing.T, dir string) []byte {
	t.Helper()
	var list []pin.Sum
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(p)
			must(t, err)
			rel, _ := filepath.Rel(dir, p)
			list = append(list, pin.Sum{Digest: cas.Sum(b).String(), Path: filepath.ToSlash(rel)})
		}
		return nil
	})
	return pin.AppendSums(nil, list)
}

// mapNode returns the node of the map of a target, "" for the whole project.
func mapNode(target string) nodes.Map {
	var n nodes.Map
	n.Target, n.From = target, target
	if target == "" {
		n.Target, n.From, n.Orientation = ".", ".", true
	}
	return n
}

// evaluate computes a map in a tree, with no cache.
func evaluate(t *testing.T, root string, n nodes.Map) nodes.MapValue {
	t.Helper()
	e := eval.New(eval.Config{World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory()})
	v, err := e.Eval(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return v.(nodes.MapValue)
}

// outline is a map in short: each candidate with outcome, layer and priority, then
// what the map lists, then its findings. Commits are shortened.
func outline(v nodes.MapValue) string {
	var b strings.Builder
	for _, d := range v.Refusal {
		fmt.Fprintf(&b, "refused: %s %s %s\n", d.Severity, d.Code, d.Place())
	}
	m := &v.IR
	for _, r := range m.Trace {
		layer := "-"
		if r.Layer != nil {
			layer = fmt.Sprintf("L%d/%d", *r.Layer, *r.Priority)
		}
		fmt.Fprintf(&b, "%s %s %s", r.Status, layer, r.Source)
		if r.DeduplicatedBy != "" {
			fmt.Fprintf(&b, " (by %s)", r.DeduplicatedBy)
		}
		b.WriteByte('\n')
	}
	for _, x := range m.Modules {
		fmt.Fprintf(&b, "module %s %s", strings.TrimSpace(x.Name+" "+x.Version), x.Source)
		if x.URL != "" {
			fmt.Fprintf(&b, " from %s", strings.TrimSuffix(x.URL+"@"+x.Ref, "@"))
		}
		b.WriteByte('\n')
	}
	for _, p := range m.Pipelines {
		fmt.Fprintf(&b, "pipeline %s (%s)\n", p.Path, p.Module)
	}
	for _, s := range v.Missing {
		fmt.Fprintf(&b, "missing %s\n", s)
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(&b, "%s %s %s\n", w.Severity, w.Code, w.Place())
	}
	return short(b.String())
}

// scenario is one tree, one question and the outline of the answer.
type scenario struct {
	name, tree, target string
	edit               func(*nodes.Map)
	want               string
}

func runScenarios(t *testing.T, scenarios []scenario) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.tree)
			n := mapNode(c.target)
			if c.edit != nil {
				c.edit(&n)
			}
			v := evaluate(t, root, n)
			if diff := cmp.Diff(strings.TrimLeft(c.want, "\n"), outline(v)); diff != "" {
				t.Errorf("map of %q (-want +got):\n%s\n%s", c.target, diff, messages(v))
			}
			conserved(t, v)
		})
	}
}

// messages returns a map's findings in full, for failures.
func messages(v nodes.MapValue) string {
	var b strings.Builder
	for _, d := range slices.Concat(v.Refusal, v.IR.Warnings) {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// conserved checks D-110 in a map: what the trace calls included is in the layers,
// in the same order, and nothing else; only that has a range; an import names who
// declares it; and what has its outcome from somewhere names that.
func conserved(t *testing.T, v nodes.MapValue) {
	t.Helper()
	m := &v.IR
	var traced, entered []string
	outcomes := []string{
		ir.Included, ir.Deduplicated, ir.ExcludedByWindow, ir.ExcludedByScope, ir.DroppedByBudget, ir.Unresolved,
		ir.Expanded, ir.Empty, ir.Shadowed, ir.Boundary, ir.ExcludedByKind, ir.Failed,
	}
	for _, r := range m.Trace {
		if !slices.Contains(outcomes, r.Status) {
			t.Errorf("%s ends as %q, which is no outcome", r.Source, r.Status)
		}
		if r.Status == ir.Included {
			traced = append(traced, fmt.Sprintf("L%d %s %d", *r.Layer, r.Source, r.Tokens))
		}
		if (r.ByteRange != nil) != (r.Status == ir.Included) {
			t.Errorf("%s is %s with the range %v", r.Source, r.Status, r.ByteRange)
		}
		if (r.DeduplicatedBy != "") != (r.Status == ir.Deduplicated) {
			t.Errorf("%s is %s and deduplicated by %q", r.Source, r.Status, r.DeduplicatedBy)
		}
		if (r.Declared == "") != (len(r.ImportsChain) == 0) {
			t.Errorf("%s is declared at %q with the chain %v", r.Source, r.Declared, r.ImportsChain)
		}
		if n := len(r.ImportsChain); n > 0 && !strings.HasPrefix(r.Declared, r.ImportsChain[n-1]+":") {
			t.Errorf("%s is declared at %q, the chain ends in %s", r.Source, r.Declared, r.ImportsChain[n-1])
		}
		if r.Reason == "" || r.Rule == "" {
			t.Errorf("%s is %s for the reason %q by the rule %q", r.Source, r.Status, r.Reason, r.Rule)
		}
	}
	total := 0
	for _, e := range m.Layers.All() {
		entered = append(entered, fmt.Sprintf("L%d %s %d", e.Layer, e.Source, e.Tokens))
		total += e.Tokens
	}
	if diff := cmp.Diff(traced, entered); diff != "" {
		t.Errorf("trace and layers differ (-trace +layers):\n%s", diff)
	}
	if total != m.Totals.All {
		t.Errorf("entries have %d tokens, the total says %d", total, m.Totals.All)
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	p := filepath.Join(root, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(text), 0o644))
}

// place returns the canonical Markdown of a/x in a tree.
func place(t *testing.T, root string) []byte {
	t.Helper()
	e := eval.New(eval.Config{World: eval.NewWorld(root, time.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory()})
	v, err := e.Eval(context.Background(), nodes.Rendered{Map: mapNode("a/x"), Format: nodes.MarkdownText})
	must(t, err)
	return v.(nodes.RenderedValue).Text
}
