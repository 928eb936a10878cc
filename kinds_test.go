package mwp_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

var updateKinds = flag.Bool("update-kinds", false, "record the digests of every kind's results")

// withModule stands for a workspace that imports a git module, which no example can
// have without a fetch.
const withModule = "module"

// withSignals asks for signals, which no example does (D-83).
const withSignals = "signals"

func moduleWorkspace(t *testing.T) string {
	t.Helper()
	commit := strings.Repeat("0a", 20)
	root := unpack(t, `
-- .mwp/config.toml --
description = "d"
-- .gitignore --
build/
-- packages/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1
  - local: s.md#Two
---
P
-- packages/s.md --
# One
1
# Two
2
-- other/AGENTS.md --
-- .mwp/modules/`+commit+`/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/`+commit+`/r.md --
R
`)
	modules := filepath.Join(root, ".mwp", "modules")
	var list []pin.Sum
	for _, name := range []string{".mwp-module.md", "r.md"} {
		b, err := os.ReadFile(filepath.Join(modules, commit, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pin.Sum{Digest: cas.Sum(b).String(), Path: name})
	}
	sums := pin.AppendSums(nil, list)
	lock := pin.Lock{Records: []pin.Record{{Key: "https://example.org/o/rules.git@v1", Kind: pin.Tag, Commit: commit, Tree: cas.Sum(sums).String()}}}
	for name, text := range map[string][]byte{"modules/" + commit + ".b3sums": sums, "modules.lock": pin.AppendLock(nil, lock)} {
		if err := os.WriteFile(filepath.Join(root, ".mwp", filepath.FromSlash(name)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestKindVersions digests what every kind computes over the examples. When a
// kind's results change, its version must be raised: cached results of the old
// code would be served otherwise. After raising it, run with -update-kinds.
func TestKindVersions(t *testing.T) {
	var mu sync.Mutex
	results := map[string][]string{}
	observed := func(root string) *mwp.Workspace {
		return mwp.Open(mwp.Options{Dir: root, CacheDir: t.TempDir(), Fresh: true, Offline: true, Observe: func(e eval.Event) {
			if e.Status != graph.Computed {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			k := e.Task.Kind()
			results[k.Name] = append(results[k.Name], fmt.Sprintf("%x %s", k.EncodeParams(e.Task), e.Value))
		}})
	}
	for _, example := range []string{"logistics", "polyglot", "minimal", withModule, withSignals} {
		root := filepath.Join(t.TempDir(), example)
		if example == withModule {
			root = moduleWorkspace(t)
		} else if example == withSignals {
			root = unpack(t, "-- .mwp --\n[signals]\ntests = true\n-- backend/src/api/routes.ts --\n-- backend/src/api/routes.test.ts --\n-- packages/x --\n")
		} else if err := os.CopyFS(root, os.DirFS(filepath.Join("examples", example))); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"", "dev/browser-sdk/src/client.ts", "backend/src/api/routes.ts", "packages"} {
			for _, f := range []nodes.Format{nodes.JSON, nodes.MarkdownText, nodes.ClaudeText, nodes.ExplainText} {
				q := mwp.Request{Format: f}
				if target != "" {
					q.Target = filepath.Join(root, target)
				}
				if _, err := observed(root).Map(context.Background(), q); err != nil {
					t.Fatalf("%s %q: %v", example, target, err)
				}
				if _, err := observed(root).Config(context.Background(), q.Target); err != nil {
					t.Fatalf("%s %q: %v", example, target, err)
				}
			}
		}
		if _, err := observed(root).Lint(context.Background(), mwp.LintRequest{}); err != nil {
			t.Fatalf("%s: %v", example, err)
		}
		if _, err := observed(root).Targets(context.Background(), mwp.TargetsRequest{}); err != nil {
			t.Fatalf("%s: %v", example, err)
		}
		if _, err := observed(root).Report(context.Background(), mwp.ReportRequest{}); err != nil {
			t.Fatalf("%s: %v", example, err)
		}
	}
	guarded := t.TempDir()
	for name, text := range map[string]string{
		".mwp":              "[trust]\nallowed_guards = [\"mwp-kinds-test-no-such-program\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: mwp-kinds-test-no-such-program\n  - exists: x\n  - cmd: pytest\n    trust: ad-hoc\n    verified_paths: [x, s, \"*.y\"]\n---\nA\n",
		"a/s/t":             "t", "a/x": "x", "a/z.y": "z",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(guarded, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(guarded, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []mwp.VerifyRequest{{Stale: true}, {Targets: []string{"a"}}} {
		if _, err := observed(guarded).Verify(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := observed(guarded).Trusted(context.Background()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, k := range nodes.Kinds() {
		if k.Leaf {
			continue
		}
		r := results[k.Name]
		if len(r) == 0 {
			t.Errorf("no example computes a %s", k.Name)
		}
		slices.Sort(r)
		lines = append(lines, fmt.Sprintf("%s %d %s", k.Name, k.Version, cas.Sum([]byte(strings.Join(slices.Compact(r), "\n")))))
	}
	golden := filepath.Join("testdata", "kinds.golden")
	got := strings.Join(lines, "\n") + "\n"
	if *updateKinds {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]string{}
	for line := range strings.Lines(string(want)) {
		f := strings.Fields(line)
		recorded[f[0]] = f[1] + " " + f[2]
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if now := f[1] + " " + f[2]; recorded[f[0]] != now {
			old, _, _ := strings.Cut(recorded[f[0]], " ")
			if old == f[1] {
				t.Errorf("results of kind %s changed and its version is still %s: raise the version, then run with -update-kinds", f[0], old)
			} else {
				t.Errorf("kind %s is at version %s, recorded is %q: run with -update-kinds", f[0], f[1], old)
			}
		}
	}
}
