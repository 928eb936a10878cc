package mwp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestGoSourceTree maps a file of a real tree of about 10,000 files: cold, warm,
// after edits, after a rename, and in a copy of the tree that got the cache.
func TestGoSourceTree(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: copies the Go source tree; run without -short")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("SKIP: go env GOROOT: %v", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(filepath.Join(src, "net/http/server.go")); err != nil {
		t.Skipf("SKIP: no Go source tree: %v", err)
	}
	root := filepath.Join(t.TempDir(), "go")
	if err := os.CopyFS(root, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	write := func(root, path, text string) {
		t.Helper()
		p := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(root, ".mwp/config.toml", "name = \"go\"\ndescription = \"The Go standard library and tools\"\n")
	write(root, ".mwp-context.md", "ROOT rules\n")
	write(root, "net/.mwp-context.md", "NET rules\n")
	write(root, "net/http/.mwp-context.md", "HTTP rules\n")
	write(root, "cmd/compile/internal/.mwp-context.md", "COMPILER rules\n")

	// The clock is an hour ahead, so that fingerprints count as settled.
	ask := func(root, target string, q mwp.Request) *mwp.Result {
		t.Helper()
		q.Target, q.NoRoot = filepath.Join(root, target), true
		o := mwp.Options{Dir: root, Now: func() time.Time { return time.Now().Add(time.Hour) }}
		r, err := mwp.Open(o).Map(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	trace := func(root, target string) string {
		m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: target})
		return summary(m, err)
	}
	const target = "net/http/server.go"
	cold := ask(root, target, mwp.Request{})
	warm := ask(root, target, mwp.Request{})
	if cold.Served || !warm.Served || string(cold.Text) != string(warm.Text) {
		t.Errorf("cold served %v, warm served %v, equal %v", cold.Served, warm.Served, string(cold.Text) == string(warm.Text))
	}
	if n := cold.World.DirsRead.Load(); n != 0 {
		t.Errorf("a map of one file listed %d directories", n)
	}
	want := `included L0/50 .mwp/config.toml
included L0/50 .mwp-context.md
included L1/50 net/.mwp-context.md
included L2/50 net/http/.mwp-context.md
`
	if diff := cmp.Diff(want, trace(root, target)); diff != "" {
		t.Errorf("cold (-want +got):\n%s", diff)
	}

	write(root, "net/http/.mwp-context.md", "---\npriority: 60\n---\nHTTP rules, edited\n")
	edited := ask(root, target, mwp.Request{Format: nodes.MarkdownText})
	if edited.Served || !strings.Contains(string(edited.Text), "HTTP rules, edited") {
		t.Errorf("edited: served %v\n%s", edited.Served, edited.Text)
	}
	if got := trace(root, target); !strings.Contains(got, "included L2/60 net/http/.mwp-context.md") {
		t.Errorf("edited:\n%s", got)
	}

	if err := os.Rename(filepath.Join(root, "net"), filepath.Join(root, "wire")); err != nil {
		t.Fatal(err)
	}
	if got := trace(root, "wire/http/server.go"); !strings.Contains(got, "included L1/50 wire/.mwp-context.md\nincluded L2/60 wire/http/.mwp-context.md") {
		t.Errorf("renamed:\n%s", got)
	}
	if got := trace(root, target); !strings.Contains(got, "warning target_missing net/http/server.go") || strings.Contains(got, "NET") {
		t.Errorf("the old name after the rename:\n%s", got)
	}
	if err := os.Rename(filepath.Join(root, "wire"), filepath.Join(root, "net")); err != nil {
		t.Fatal(err)
	}

	again := ask(root, target, mwp.Request{})
	copied := filepath.Join(t.TempDir(), "deeper", "copy")
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	moved := ask(copied, target, mwp.Request{})
	if !moved.Served || string(moved.Text) != string(again.Text) {
		t.Errorf("relocated: served %v, equal %v", moved.Served, string(moved.Text) == string(again.Text))
	}

	// Explain accounts for every candidate: one line of the text for each record.
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	explained := string(ask(root, target, mwp.Request{Format: nodes.ExplainText}).Text)
	for _, r := range m.Trace {
		if !strings.Contains(explained, r.Source) {
			t.Errorf("explain does not mention %s (%s)", r.Source, r.Status)
		}
	}
	if len(m.Trace) != 4 || m.Trace[0].Status != ir.Included {
		t.Errorf("%d records", len(m.Trace))
	}
	if got := trace(root, "cmd/compile/internal/ssa/compile.go"); !strings.Contains(got, "cmd/compile/internal/.mwp-context.md") {
		t.Errorf("compiler:\n%s", got)
	}
	wholeTreeAgrees(t, root, copied, write)
}

// wholeTreeAgrees edits a large tree and asks for lint reports and targets, whose
// slots look at more than a thousand directories: from the cache, from nothing, and
// in the copy with a copy of the cache.
func wholeTreeAgrees(t *testing.T, root, copied string, write func(root, path, text string)) {
	t.Helper()
	clock := func() time.Time { return time.Now().Add(time.Hour) }
	ask := func(root string, q question, o mwp.Options) (string, *mwp.Result) {
		t.Helper()
		o.Now = clock
		r, recorded, err := q.result(root, o)
		if err != nil || recorded != nil {
			t.Fatal(err, recorded)
		}
		return spoken(r), r
	}
	lint := question{kind: "lint", lint: mwp.LintRequest{Format: nodes.ReportJSON}}
	targets := question{kind: "targets", targets: mwp.TargetsRequest{JSON: true}}
	for i, edit := range [][2]string{
		{"net/http/.mwp-context.md", "HTTP rules\n"},
		{"net/http/internal/.mwp-context.yaml", "description: no schema\n"},
		{"cmd/.gitignore", "compile/\n"},
		{"net/http/.mwp-context.md", "---\nimports:\n  - workspace: net/textproto/rules.md#Tone\n---\nHTTP rules\n"},
		{"net/textproto/rules.md", "# Tone\n\nCalm.\n"},
		{"cmd/.gitignore", "nothing/\n"},
	} {
		for _, r := range []string{root, copied} {
			write(r, edit[0], edit[1])
		}
		copyTree(t, filepath.Join(root, ".mwp/cache"), filepath.Join(copied, ".mwp/cache"))
		for _, q := range []question{lint, targets} {
			want, fresh := ask(root, q, mwp.Options{CacheDir: filepath.Join(t.TempDir(), "fresh"), Fresh: true})
			first, once := ask(root, q, mwp.Options{})
			again, twice := ask(root, q, mwp.Options{})
			moved, _ := ask(copied, q, mwp.Options{})
			if first != want || again != want || moved != want {
				t.Errorf("edit %d, %s: equal to a fresh answer: computed %v, served %v, moved %v", i, q, first == want, again == want, moved == want)
			}
			if !twice.Served {
				t.Errorf("edit %d, %s: asked again, it is not served", i, q)
			}
			// Other ignore rules make other nodes of all directories below them.
			rules := filepath.Base(edit[0]) == ".gitignore"
			if all := fresh.Stats.Computed; i > 0 && !rules && once.Stats.Computed > all/10 {
				t.Errorf("edit %d, %s: %d of %d nodes computed", i, q, once.Stats.Computed, all)
			}
		}
	}
}
