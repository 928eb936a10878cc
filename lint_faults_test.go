package mwp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// fault is a mistake that is planted in a tree without any. DIR in a text stands for
// a directory with a context file, where paths start, except for those that begin
// with "/" and start at the workspace root.
type fault struct {
	name string
	// files are written, links are made, each from a path to a text.
	files, links map[string]string
	// want are the findings, no more and no less, as "PATH:LINE SEVERITY CODE".
	want []string
}

const (
	faultyContext = ".mwp-context.md"
	faultyConfig  = "/.mwp/config.toml"
)

func header(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\nRules of DIR.\n"
}

var faults = []fault{
	{name: "an unknown key", files: map[string]string{faultyContext: header("layer: 2", "prioritty: 60")},
		want: []string{"DIR/.mwp-context.md:3 warning frontmatter_unknown_key"}},
	{name: "a key twice", files: map[string]string{faultyContext: header("layer: 2", "layer: 1")},
		want: []string{"DIR/.mwp-context.md:3 error frontmatter_invalid"}},
	{name: "a layer that does not exist", files: map[string]string{faultyContext: header("layer: 7")},
		want: []string{"DIR/.mwp-context.md:2 error frontmatter_invalid"}},
	{name: "a header without an end", files: map[string]string{faultyContext: "---\nlayer: 2\nRules.\n"},
		want: []string{"DIR/.mwp-context.md:1 error frontmatter_unterminated"}},
	{name: "UTF-16", files: map[string]string{faultyContext: "\xff\xfeR\x00u\x00l\x00e\x00s\x00"},
		want: []string{"DIR/.mwp-context.md:1 error encoding_invalid"}},
	{name: "a tab in the header", files: map[string]string{faultyContext: header("guards:", "\t- cmd: go test")},
		want: []string{"DIR/.mwp-context.md:3 error frontmatter_invalid"}},
	{name: "two YAML contexts", files: map[string]string{".mwp-context.yaml": "schema: 1\ndescription: Rules.\n", ".mwp-context.yml": "schema: 1\ndescription: Rules.\n"},
		want: []string{"DIR/.mwp-context.yml:0 error two_context_files"}},
	{name: "Markdown beside YAML", files: map[string]string{".mwp-context.yaml": "schema: 1\ndescription: Rules.\n"},
		want: []string{"DIR/.mwp-context.md:0 warning stale_context_md"}},
	{name: "a missing import", files: map[string]string{faultyContext: header("imports:", "  - local: ./gone.md")},
		want: []string{"DIR/.mwp-context.md:3 error unresolved_import"}},
	{name: "a missing member of the workspace", files: map[string]string{faultyContext: header("imports:", "  - workspace: gone/at/all")},
		want: []string{"DIR/.mwp-context.md:3 error unresolved_import"}},
	{name: "an import from above", files: map[string]string{faultyContext: header("imports:", "  - local: ../rules.md")},
		want: []string{"DIR/.mwp-context.md:3 error import_escapes"}},
	{name: "an import from outside", files: map[string]string{faultyContext: header("imports:", "  - workspace: ../rules.md")},
		want: []string{"DIR/.mwp-context.md:3 error import_escapes_root"}},
	{name: "an absolute import", files: map[string]string{faultyContext: header("imports:", "  - local: /etc/hostname")},
		want: []string{"DIR/.mwp-context.md:3 error import_absolute"}},
	{name: "an import without a kind", files: map[string]string{faultyContext: header("imports:", "  - ./rules.md")},
		want: []string{"DIR/.mwp-context.md:3 error import_kind_invalid"}},
	{name: "a cycle", files: map[string]string{
		faultyContext: header("imports:", "  - local: ./one.md"), "one.md": header("imports:", "  - local: ./two.md"), "two.md": header("imports:", "  - local: ./one.md")},
		want: []string{"DIR/one.md:3 error import_cycle"}},
	{name: "an import of itself", files: map[string]string{faultyContext: header("imports:", "  - local: ./.mwp-context.md")},
		want: []string{"DIR/.mwp-context.md:3 error import_cycle"}},
	{name: "a section that is gone", files: map[string]string{faultyContext: header("imports:", "  - local: ./s.md#Errors"), "s.md": "# Error\nText.\n"},
		want: []string{"DIR/.mwp-context.md:3 error section_unknown"}},
	{name: "a reference that moves", files: map[string]string{faultyContext: header("imports:", "  - git: https://example.com/rules.git")},
		want: []string{"DIR/.mwp-context.md:3 error floating_ref"}},
	{name: "a module that nobody fetched", files: map[string]string{faultyContext: header("imports:", "  - git: https://example.com/rules.git@v1")},
		want: []string{"DIR/.mwp-context.md:3 error unresolved_import"}},
	{name: "a password", files: map[string]string{faultyContext: header("imports:", "  - git: https://u:hunter2@example.com/rules.git@v1")},
		want: []string{"DIR/.mwp-context.md:3 error import_secret", "DIR/.mwp-context.md:3 error unresolved_import"}},
	{name: "a text over its own limit", files: map[string]string{faultyContext: header("max_tokens: 2")},
		want: []string{"DIR/.mwp-context.md:0 error max_tokens_overrun"}},
	{name: "a text over its layer's cap", files: map[string]string{faultyContext: "---\nlayer: 3\n---\n" + strings.Repeat("All work and no play.\n", 500)},
		want: []string{"DIR/.mwp-context.md:0 error budget_overrun"}},
	{name: "a context beside an instruction file", files: map[string]string{"/AGENTS.md": "Read this.\n", "/.mwp-context.md": "Of the root.\n"},
		want: []string{".mwp-context.md:0 note root_context", ".mwp-context.md:0 warning context_beside_instructions"}},
	{name: "a context in a closed directory", files: map[string]string{"leaf/CLAUDE.md": "Read this.\n", "leaf/.mwp-context.md": "Never read.\n"},
		want: []string{"DIR/leaf/.mwp-context.md:0 warning context_beside_instructions", "DIR/leaf/.mwp-context.md:0 warning context_closed"}},
	{name: "a name in other letters", files: map[string]string{"leaf/.MWP-Context.md": "Never read.\n"},
		want: []string{"DIR/leaf/.MWP-Context.md:0 warning context_name_case"}},
	{name: "a link out of the tree", links: map[string]string{"leaf/.mwp-context.md": "/nowhere/rules.md"},
		want: []string{"DIR/leaf/.mwp-context.md:0 error import_escapes_root"}},
	{name: "a link that goes round", links: map[string]string{"leaf/.mwp-context.md": ".mwp-context.md"},
		want: []string{"DIR/leaf/.mwp-context.md:0 error link_loop"}},
	{name: "a directory with a context's name", files: map[string]string{"leaf/.mwp-context.md/x": ""},
		want: []string{"DIR/leaf/.mwp-context.md:0 error context_not_regular"}},
	{name: "a verified path that is gone", files: map[string]string{faultyContext: header("verified_paths:", "  - gone.go")},
		want: []string{"DIR/.mwp-context.md:3 warning verified_path_missing"}},
	{name: "a guard's script that is gone", files: map[string]string{faultyContext: header("guards:", "  - cmd: ./gone.sh")},
		want: []string{"DIR/.mwp-context.md:3 error guard_script_missing", "DIR/.mwp-context.md:3 note guard_not_trusted"}},
	{name: "text that nobody sees", files: map[string]string{faultyContext: "Rules\u200b of DIR.\n"},
		want: []string{"DIR/.mwp-context.md:1 warning hidden_text"}},
	{name: "the example of init", files: map[string]string{faultyContext: "# Leaf\n\n" + nodes.ExampleText + "\n"},
		want: []string{"DIR/.mwp-context.md:3 note example_text"}},
	{name: "a map in a context", files: map[string]string{faultyContext: "Rules.\n<!-- mwp workspace map | target: x | schema: 1 -->\n"},
		want: []string{"DIR/.mwp-context.md:2 warning map_pasted"}},
	{name: "a module without a name", files: map[string]string{"leaf/.mwp-module.md": "---\nversion: 1.0.0\n---\n"},
		want: []string{"DIR/leaf/.mwp-module.md:1 error frontmatter_invalid"}},
	{name: "a module that lists nothing", files: map[string]string{"leaf/.mwp-module.md": "---\nname: leaf\n---\nRules of the leaf.\n"},
		want: []string{"DIR/leaf/.mwp-module.md:1 note module_empty"}},
	{name: "a module that lists what it lacks", files: map[string]string{"leaf/.mwp-module.md": "---\nname: leaf\nimports:\n  - local: ./gone.md\n---\n"},
		want: []string{"DIR/leaf/.mwp-module.md:4 error unresolved_import"}},
	{name: "a member that is gone", files: map[string]string{faultyConfig: "name = \"tree\"\nmembers = [\"DIR/gone\"]\n"},
		want: []string{".mwp/config.toml:2 warning member_missing"}},
	{name: "a role of a directory that is gone", files: map[string]string{faultyConfig: "name = \"tree\"\n\n[directories]\n\"gone\" = { role = \"nothing\" }\n"},
		want: []string{".mwp/config.toml:4 warning directory_missing"}},
	{name: "an unknown key of the configuration", files: map[string]string{faultyConfig: "name = \"tree\"\nmember = []\n"},
		want: []string{".mwp/config.toml:2 warning config_unknown_key"}},
	{name: "a lock file that was edited", files: map[string]string{"/.mwp/modules.lock": "mwp-modules 1\nhttps://example.com/rules.git@v1 tag 12 blake3:34\n"},
		want: []string{".mwp/modules.lock:2 error lock_invalid"}},
	{name: "a pin that nothing imports", files: map[string]string{"/.mwp/modules.lock": "mwp-modules 1\nhttps://example.com/rules.git@v1 tag " + strings.Repeat("12", 20) + " blake3:" + strings.Repeat("34", 32) + "\n"},
		want: []string{".mwp/modules.lock:0 warning lock_unused"}},
	{name: "a project that nobody lists", files: map[string]string{faultyConfig: "name = \"tree\"\nmembers = [\"other\"]\n", "/other/.mwp": "", "leaf/.mwp": "name = \"leaf\"\n"},
		want: []string{"DIR/leaf/.mwp:0 warning not_a_member"}},
}

// TestLintFaults: in a large tree that people wrote, with 200 good context files,
// lint finds nothing, and of each planted fault exactly what it is.
func TestLintFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: copies a large source tree; run without -short")
	}
	for name, find := range map[string]func() (string, error){"go": goSources, "typescript": typescript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, err := find()
			if err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			plantFaults(t, from)
		})
	}
}

func goSources() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	_, err = os.Stat(filepath.Join(src, "net/http/server.go"))
	return src, err
}

// typescript finds the installed npm package.
func typescript() (string, error) {
	dir := os.Getenv("MWP_TYPESCRIPT")
	for _, place := range []string{"/usr/local/lib/node_modules/typescript", "/usr/lib/node_modules/typescript", "/opt/homebrew/lib/node_modules/typescript"} {
		if _, err := os.Stat(place); dir == "" && err == nil {
			dir = place
		}
	}
	if dir == "" {
		return "", fmt.Errorf("the npm package typescript is not installed; its directory can be given in MWP_TYPESCRIPT")
	}
	_, err := os.Stat(filepath.Join(dir, "package.json"))
	return dir, err
}

func plantFaults(t *testing.T, from string) {
	tree := &lintedTree{t, filepath.Join(t.TempDir(), "tree")}
	if err := os.CopyFS(tree.root, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	dirs := tree.contexts(200)
	notes := tree.findings(true)
	for _, f := range notes {
		if !strings.Contains(f, " note ") {
			t.Errorf("a tree without a fault: %s", f)
		}
	}
	for i, f := range faults {
		// Far apart, at all depths, and never a directory that other contexts import from.
		dir := dirs[(i*37+5)%len(dirs)]
		t.Run(f.name, func(t *testing.T) {
			in := &lintedTree{t, tree.root}
			undo := in.plant(&f, dir)
			got := without(in.findings(false), notes)
			undo()
			var want []string
			for _, w := range f.want {
				want = append(want, strings.ReplaceAll(w, "DIR", dir))
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("in %s (-want +got):\n%s", dir, diff)
			}
		})
	}
	if diff := gocmp.Diff(notes, tree.findings(false)); diff != "" {
		t.Errorf("after all faults were taken out (-before +after):\n%s", diff)
	}
}

// without returns the findings that are new.
func without(all, known []string) []string {
	return slices.DeleteFunc(all, func(f string) bool { return slices.Contains(known, f) })
}

// lintedTree is a workspace in a temporary directory.
type lintedTree struct {
	*testing.T
	root string
}

func (t *lintedTree) write(name, text string) {
	t.Helper()
	file := filepath.Join(t.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contexts spreads n good context files over the tree's directories and returns
// these, shallow ones among deep ones.
func (t *lintedTree) contexts(n int) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(t.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || p == t.root {
			return err
		}
		rel, err := filepath.Rel(t.root, p)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, has := 0, len(all); len(all) < n; i++ {
		// A tree of few directories gets more, evenly.
		all = append(all, fmt.Sprintf("%s/more%d", all[i%has], i))
	}
	t.write(".mwp/config.toml", "name = \"tree\"\ndescription = \"A tree that people wrote.\"\n\n[directories]\n\""+all[0]+"\" = { role = \"the first\" }\n")
	t.write("shared/rules.md", "# Errors\nWrap them.\n\n# Names\nShort.\n")
	t.write("shared/check.sh", "#!/bin/sh\n")
	var dirs []string
	for i := range n {
		dir := all[i*len(all)/n]
		dirs = append(dirs, dir)
		t.write(dir+"/.mwp-context.md", t.good(i, dir))
	}
	return dirs
}

// good returns a context file that uses what there is, one feature or another.
func (t *lintedTree) good(i int, dir string) string {
	t.Helper()
	switch i % 10 {
	case 0:
		return "Plain rules.\n"
	case 1:
		return header("layer: 2", "priority: 60", "owners: [team-"+fmt.Sprint(i)+"]")
	case 2:
		return header("imports:", "  - workspace: shared/rules.md#Errors")
	case 3:
		t.write(dir+"/mwp-rules.md", "---\nlayer: 3\n---\nMore rules.\n")
		return header("imports:", "  - local: ./mwp-rules.md", "  - workspace: shared/rules.md")
	case 4:
		return header("verified_paths:", "  - .mwp-context.md", "max_tokens: 200")
	case 5:
		return header("guards:", "  - cmd: go vet ./...", "    cache_for: 5m")
	case 6:
		return header("window: 2", "scope: recursive")
	case 7:
		return header("scope: local") + "\n<details>\n\n---\n\n```yaml\n---\nlayer: 9\n---\n```\n"
	case 8:
		return "\ufeff---\r\nlayer: L2\r\n---\r\nWritten elsewhere.\r\n"
	}
	t.write(dir+"/mwp-module/.mwp-module.md", "---\nname: part\nversion: 1.0.0\nimports:\n  - local: ./part.md\n---\nWhat it is.\n")
	t.write(dir+"/mwp-module/part.md", "Of the part.\n")
	return header("imports:", "  - local: ./mwp-module")
}

// plant puts a fault into a directory and returns what takes it out again.
func (t *lintedTree) plant(f *fault, dir string) (undo func()) {
	t.Helper()
	var back []func()
	place := func(name string) string {
		if strings.HasPrefix(name, "/") {
			name = name[1:]
		} else {
			name = dir + "/" + name
		}
		file := filepath.Join(t.root, filepath.FromSlash(name))
		top := file
		for {
			if _, err := os.Lstat(filepath.Dir(top)); err == nil {
				break
			}
			top = filepath.Dir(top)
		}
		before, err := os.ReadFile(file)
		back = append(back, func() {
			os.RemoveAll(top)
			if err == nil {
				t.write(name, string(before))
			}
		})
		return name
	}
	for name, text := range f.files {
		t.write(place(name), strings.ReplaceAll(text, "DIR", dir))
	}
	for name, to := range f.links {
		file := filepath.Join(t.root, filepath.FromSlash(place(name)))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.Symlink(to, file)
		}
		if err != nil {
			t.Skipf("NOT TESTED: this system makes no links: %v", err)
		}
	}
	return func() {
		for _, b := range slices.Backward(back) {
			b()
		}
	}
}

// findings lints the tree as a process of its own would, with the cache of the last
// time that keep was set.
func (t *lintedTree) findings(keep bool) []string {
	t.Helper()
	// The clock is an hour ahead, so that fingerprints count as settled.
	w := mwp.Open(mwp.Options{Dir: t.root, Now: func() time.Time { return time.Now().Add(time.Hour) }})
	defer w.Close()
	r, err := w.Lint(context.Background(), mwp.LintRequest{Format: nodes.ReportJSON})
	if err != nil {
		t.Fatal(err)
	}
	if keep {
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	var report struct {
		Findings []struct {
			Code, Severity, Source, Message string
			Line                            int
		}
	}
	if err := json.Unmarshal(r.Text, &report); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range report.Findings {
		out = append(out, fmt.Sprintf("%s:%d %s %s", cmp.Or(f.Source, "-"), f.Line, f.Severity, f.Code))
	}
	slices.Sort(out)
	return out
}
