package mwp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// sharedScenes are commands for examples/shared-module/try.sh, by the name of the
// file below examples/expected that has what they print.
var sharedScenes = map[string][]string{
	"shared-module/crates/ledger/src/lib.rs.md":      {"map", "crates/ledger/src/lib.rs", "--render", "markdown"},
	"shared-module/crates/ledger/src/lib.rs.json":    {"map", "crates/ledger/src/lib.rs", "--no-root"},
	"shared-module/crates/ledger/src/lib.rs.explain": {"explain", "crates/ledger/src/lib.rs"},
	"shared-module/crates/gateway/src/lib.rs.md":     {"map", "crates/gateway/src/lib.rs", "--render", "markdown"},
	"shared-module/import.txt":                       {"import"},
	"shared-module/lint.txt":                         {"lint", "--fetch"},
	"shared-module/targets.txt":                      {"targets"},
}

// TestSharedModule runs the example as its README says. The module's commit is the
// same everywhere, the address of its repository is not.
func TestSharedModule(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "git"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS == "windows" {
			t.Skipf("NOT TESTED: the example is a script for a POSIX shell with git: %v", err)
		}
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", "./cmd/mwp", "./cmd/mwp-git")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	before := listTree(t, "examples/shared-module")
	for name, args := range sharedScenes {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			checkFile(t, filepath.Join(expectedMaps, filepath.FromSlash(name)), tryScript(t, bin, args...))
		})
	}
	t.Cleanup(func() {
		if diff := cmp.Diff(before, listTree(t, "examples/shared-module")); diff != "" {
			t.Errorf("the script changed the example (-before +after):\n%s", diff)
		}
	})
}

// madeUp matches what differs from run to run: where the repository lies, and the
// digest over a map that names it.
var madeUp = regexp.MustCompile(`file://[^ "\n]*/modules/|("ir_hash": "blake3:|\n  hash +blake3:)[0-9a-f]{64}`)

// tryScript returns what the script prints, with the same text in place of what is
// made up.
func tryScript(t *testing.T, bin string, args ...string) []byte {
	t.Helper()
	c := exec.Command("sh", append([]string{"examples/shared-module/try.sh"}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MWP_") && !strings.HasPrefix(v, "TMPDIR=") && !strings.HasPrefix(v, "KEEP=") {
			c.Env = append(c.Env, v)
		}
	}
	// A hook that runs these tests has another repository in its environment.
	c.Env = append(c.Env, "MWP="+filepath.Join(bin, "mwp"), "TMPDIR="+t.TempDir(), "HOME="+t.TempDir(), "GIT_DIR="+bin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("try.sh %q: %v\n%s", args, err, stderr.Bytes())
	}
	return madeUp.ReplaceAllFunc(out, func(b []byte) []byte {
		if bytes.HasPrefix(b, []byte("file://")) {
			return []byte("file:///modules/")
		}
		i := bytes.Index(b, []byte("blake3:"))
		return append(slices.Clone(b[:i]), "blake3:"+strings.Repeat("0", 64)...)
	})
}

// TestBaseModule: the module that explains the convention holds to it. It lists the
// same texts for those who edit it and for those who import it, and lint has nothing
// to say about it in either place.
func TestBaseModule(t *testing.T) {
	t.Parallel()
	alone := copyExample(t, "mwp-base")
	project := t.TempDir()
	if err := os.CopyFS(filepath.Join(project, "mwp-base"), os.DirFS(filepath.Join("examples", "mwp-base"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".mwp":                "name = \"importer\"\ndescription = \"Imports the base.\"\nmembers = [\"mwp-base\"]\n",
		"src/.mwp-context.md": "---\nimports:\n  - workspace: mwp-base\n---\nOf src.\n",
		"src/main.go":         "",
	} {
		file := filepath.Join(project, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	edited := textsOf(t, alone, "guide/cascade.md", "guide/")
	imported := textsOf(t, project, "src/main.go", "mwp-base/guide/")
	if diff := cmp.Diff(edited, imported); diff != "" || len(edited) == 0 {
		t.Errorf("editors and importers of mwp-base get different texts (-editors +importers):\n%s", diff)
	}
	var there []string
	for _, name := range listTree(t, filepath.Join(alone, "guide")) {
		if !strings.HasPrefix(name, ".") {
			there = append(there, name)
		}
	}
	slices.Sort(there)
	if diff := cmp.Diff(there, edited); diff != "" {
		t.Errorf("mwp-base lists not exactly what is in guide (-there +listed):\n%s", diff)
	}
	m, err := mapOf(t, mwp.Options{Dir: project}, mwp.Request{Target: filepath.Join(project, "src/main.go")})
	if err != nil {
		t.Fatal(err)
	}
	if m.Totals.L3 == 0 || m.Totals.L3 >= 1400 {
		t.Errorf("the texts of mwp-base have %d tokens, and its README promises less than 1400", m.Totals.L3)
	}
	if len(m.Pipelines) != 1 || m.Pipelines[0].Path != "mwp-base/workflows/add-context-file.md" {
		t.Errorf("pipelines = %+v, want the module's", m.Pipelines)
	}
	for _, root := range []string{alone, project} {
		w := mwp.Open(mwp.Options{Dir: root})
		defer w.Close()
		r, err := w.Lint(context.Background(), mwp.LintRequest{Format: nodes.ReportJSON})
		if err != nil {
			t.Fatal(err)
		}
		var report struct{ Findings []ir.Diagnostic }
		if err := json.Unmarshal(r.Text, &report); err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			t.Errorf("lint of %s: %s", filepath.Base(root), f.String())
		}
	}
}

// textsOf lists the files below a directory that make up a map's L3, sorted, without
// those of editors only.
func textsOf(t *testing.T, root, target, below string) []string {
	t.Helper()
	m, err := mapOf(t, mwp.Options{Dir: root}, mwp.Request{Target: filepath.Join(root, filepath.FromSlash(target))})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range m.Layers.L3 {
		if name, ok := strings.CutPrefix(e.Source, below); ok && !strings.HasPrefix(path.Base(name), ".") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
