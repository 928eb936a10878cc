package mwp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
)

var update = flag.Bool("update", false, "rewrite the expected files of examples and the generated documents")

// expectedMaps holds the maps of examples/<name>/<target> as
// <name>/<target>.json and .md. It lies outside the examples, so that no map
// sees it.
const expectedMaps = "examples/expected"

// orientation stands for the missing target in file names.
const orientation = "orientation"

// exampleMaps lists every map that is kept, with the entries it must have,
// layer by layer, and how many candidates are accounted for.
var exampleMaps = []struct {
	example, target string
	entries         []string
	candidates      int
	warnings        []string
}{
	{
		example: "logistics", target: "dev/browser-sdk/src/client.ts",
		entries:    []string{"L0 dev/.mwp-context.md", "L1 dev/browser-sdk/.mwp-context.md"},
		candidates: 3, // and the anchor, which has only a name
		warnings:   []string{"guard_unverified"},
	},
	{
		example: "logistics", target: "dev/browser-sdk/phase-6/00_intent.md",
		entries:    []string{"L0 dev/.mwp-context.md", "L1 dev/browser-sdk/.mwp-context.md"},
		candidates: 3,
		warnings:   []string{"guard_unverified"},
	},
	{example: "logistics", entries: []string{"L0 .mwp/config.toml"}, candidates: 1},
	{
		example: "polyglot", target: "backend/src/api/routes.ts",
		entries: []string{
			"L0 .mwp/config.toml", "L1 backend/.mwp", "L1 backend/.mwp-context.md",
			"L1 packages/.mwp-context.md", // imported by the one before it
			"L2 backend/src/api/.mwp-context.md",
		},
		candidates: 5,
	},
	{example: "polyglot", entries: []string{"L0 .mwp/config.toml"}, candidates: 1},
	{example: "minimal", entries: []string{"L0 .mwp"}, candidates: 1},
	{
		example: "guarded", target: "shop/core/price.py",
		entries:    []string{"L0 .mwp/config.toml", "L1 shop/.mwp-context.md", "L1 shop/RULES.md"},
		candidates: 3,
		warnings:   []string{"guard_unverified"},
	},
}

func TestExamples(t *testing.T) {
	kept := map[string]bool{}
	for name := range sharedScenes {
		kept[name] = true
	}
	for _, name := range guardedMaps {
		kept[name] = true
	}
	for _, c := range exampleMaps {
		name := path.Join(c.example, c.target)
		if c.target == "" {
			name = path.Join(c.example, orientation)
		}
		for _, ext := range []string{".json", ".md"} {
			kept[name+ext] = true
		}
		t.Run(name, func(t *testing.T) {
			root := copyExample(t, c.example)
			before := listTree(t, root)
			w := mwp.Open(mwp.Options{Dir: root})
			for ext, format := range map[string]mwp.Format{".json": mwp.JSON, ".md": mwp.MarkdownText} {
				r, err := w.Map(context.Background(), mwp.Request{Target: c.target, Format: format, NoRoot: true})
				if err != nil {
					t.Fatalf("Map(%q): %v", c.target, err)
				}
				if err := r.Record(); err != nil {
					t.Errorf("Record: %v", err)
				}
				checkFile(t, filepath.Join(expectedMaps, filepath.FromSlash(name)+ext), r.Text)
				if ext == ".json" {
					m := decodeMap(t, r.Text)
					var entries, codes []string
					for _, e := range m.Layers.All() {
						entries = append(entries, fmt.Sprintf("L%d %s", e.Layer, e.Source))
					}
					for _, d := range m.Warnings {
						codes = append(codes, string(d.Code))
					}
					if !slices.Equal(entries, c.entries) {
						t.Errorf("entries = %q, want %q", entries, c.entries)
					}
					if len(m.Trace) != c.candidates {
						t.Errorf("%d candidates are accounted for, want %d", len(m.Trace), c.candidates)
					}
					if !slices.Equal(codes, c.warnings) {
						t.Errorf("warnings = %q, want %q", codes, c.warnings)
					}
				}
			}
			checkOnlyIgnored(t, root, before)
		})
	}
	checkOrphans(t, expectedMaps, kept)
}

// TestExampleOfTheProposal checks the worked example: its two bodies, whole and
// in order, and the line of its guard, eight minutes after that passed, are what the
// map adds to the preamble.
func TestExampleOfTheProposal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the guard of the example is a shell script")
	}
	root := filepath.Join(t.TempDir(), "logistics")
	if err := os.CopyFS(root, os.DirFS("examples/logistics")); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(root, "dev", "browser-sdk", "dist", "client.js")
	if err := os.MkdirAll(filepath.Dir(bundle), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bundle, []byte("export {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 17, 10, 42, 0, 0, time.UTC)
	w := mwp.Open(mwp.Options{Dir: root, Guards: mwp.GuardOptions{
		UserDir: filepath.Join(t.TempDir(), "mwp"), Env: os.Environ(), Now: func() time.Time { return now },
	}})
	defer w.Close()
	const target = "dev/browser-sdk/src/client.ts"
	if _, err := w.Verify(context.Background(), mwp.VerifyRequest{Targets: []string{target}, TrustAdHoc: true}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(8 * time.Minute)
	r, err := w.Map(context.Background(), mwp.Request{Target: target, Format: mwp.MarkdownText, Relative: now})
	if err != nil {
		t.Fatal(err)
	}
	head, layers, ok := strings.Cut(string(r.Text), "\n---\n\n")
	if !ok || !strings.HasPrefix(head, "<!-- mwp workspace map | target: dev/browser-sdk/src/client.ts | schema: 1 -->\n") {
		t.Errorf("the map begins with\n%s", head)
	}
	const want = `## L0 — Project identity

Browser SDK for the EU logistics platform. Primary interface for carrier
and shipper integrations.

## L1 — Module: browser-sdk

Owns the TypeScript → Rust API boundary.
Bundle size constraint: < 50 KB compressed.

Guard: bundle-size-check.sh — passed 8 min ago ✓
`
	if d := cmp.Diff(want, layers); d != "" {
		t.Errorf("layers differ (-want +got):\n%s", d)
	}
}

// checkFile compares a file in the checkout with got, or rewrites it.
func checkFile(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v; write it with: go test . -update", err)
		return
	}
	if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(want, got) {
		t.Errorf("%s is not what comes out now; after looking at the difference, go test . -update\n(-want +got):\n%s",
			filepath.ToSlash(file), cmp.Diff(string(want), string(got)))
	}
}

// checkOrphans reports files below dir that no test wrote or read.
func checkOrphans(t *testing.T, dir string, kept map[string]bool) {
	t.Helper()
	for _, name := range listTree(t, dir) {
		if !kept[name] {
			t.Errorf("%s/%s belongs to no test case: delete it or add the case", dir, name)
		}
	}
}

// checkOnlyIgnored reports files that appeared in a copied example and that git
// would show: everything new must lie in a directory that ignores itself.
func checkOnlyIgnored(t *testing.T, root string, before []string) {
	t.Helper()
	for _, name := range listTree(t, root) {
		if slices.Contains(before, name) {
			continue
		}
		ignored := false
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			b, err := os.ReadFile(filepath.Join(root, dir, ".gitignore"))
			ignored = ignored || err == nil && slices.Contains(strings.Split(string(b), "\n"), "*")
		}
		if !ignored {
			t.Errorf("a map left %s behind, which no .gitignore covers", name)
		}
	}
}

// listTree returns the paths of all files below a directory, '/'-separated.
func listTree(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var rel string
			rel, err = filepath.Rel(root, p)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copyExample copies an example to a directory of its own, without what using it
// in place may have left there: a test must neither see somebody's cache nor
// write into the checkout.
func copyExample(t *testing.T, name string) string {
	t.Helper()
	from, to := filepath.Join("examples", name), t.TempDir()
	for _, name := range listTree(t, from) {
		if strings.Contains("/"+name, "/.mwp/cache/") || strings.Contains("/"+name, "/.mwp.d/cache/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
