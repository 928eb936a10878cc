package mwp_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
)

// clientTree makes a project with files and returns its directory.
func clientTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// snapshot returns every file and directory with its content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		all[rel] = "a directory"
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			all[rel] = "a link"
		case !d.IsDir():
			b, err := os.ReadFile(p)
			all[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func plan(t *testing.T, dir string, undo bool, clients ...string) *mwp.ClientsPlan {
	t.Helper()
	w := mwp.Open(mwp.Options{Dir: dir})
	t.Cleanup(func() { w.Close() })
	p, err := w.PlanClients(t.Context(), mwp.ClientsRequest{Clients: clients, Undo: undo})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nothing() error { return nil }

// TestClientsRoundTrip sets every client up in a tree with files of each, and takes
// them out again: every byte and every directory is as it was.
func TestClientsRoundTrip(t *testing.T) {
	dir := clientTree(t, map[string]string{
		".mwp/config.toml":         "",
		".mcp.json":                "{\"mcpServers\": {}}",
		".claude/settings.json":    "",
		".cursor/hooks.json":       "{\r\n  \"version\": 1,\r\n}\r\n",
		".vscode/mcp.json":         "\ufeff// servers\n{\n\t\"servers\": { /* none */ },\n}",
		".codex/config.toml":       "model = \"x\"",
		".gemini/settings.json":    "{\n}\n",
		".opencode/opencode.jsonc": "{\"mcp\": {\"servers\": {\"a\": {}}}}\n",
		".github/workflows/x.yml":  "x",
		".zed/tasks.json":          "[]",
		"sub/x":                    "x",
	})
	before := snapshot(t, dir)
	// From a directory below, which has no anchor.
	p := plan(t, filepath.Join(dir, "sub"), false, mwp.ClientNames()...)
	if p.Root != dir || !p.Anchored {
		t.Fatalf("the root is %s, anchored %v, want %s", p.Root, p.Anchored, dir)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Fatalf("the plan wrote:\n%s", diff)
	}
	if err := p.Write(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	during := snapshot(t, dir)
	var changed []string
	for name, text := range during {
		if before[name] != text && text != "a directory" {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	want := []string{".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".cursor/hooks.json", ".cursor/mcp.json", ".gemini/settings.json", ".github/hooks/mwp.json", ".mcp.json", ".opencode/opencode.jsonc", ".vscode/mcp.json", ".zed/settings.json"}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	again := plan(t, dir, false, mwp.ClientNames()...)
	if len(again.Copies) != 2 {
		t.Errorf("%d configurations to copy, want 2", len(again.Copies))
	}
	for i := range again.Files {
		if again.Files[i].Changed() {
			t.Errorf("%s would change again", again.Files[i].Path)
		}
	}
	undo := plan(t, dir, true, mwp.ClientNames()...)
	if len(undo.Left) > 0 || len(undo.Notes) > 0 {
		t.Errorf("left %v, notes %v", undo.Left, undo.Notes)
	}
	if err := undo.Write(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("after --undo (-before +after):\n%s", diff)
	}
}

// TestClientsWriteIsWhole: whatever fails, no file is changed and nothing is left over.
func TestClientsWriteIsWhole(t *testing.T) {
	start := map[string]string{".mwp/config.toml": "", ".mcp.json": "{}\n"}
	stop := errors.New("stop")
	for name, tt := range map[string]struct {
		undo    bool
		disturb func(dir string) error // between the plan and Write
		show    func(dir string) error // between preparing and replacing
		want    string
	}{
		"the reader is gone": {show: func(string) error { return stop }, want: "stop"},
		"a file has changed": {
			disturb: func(dir string) error { return os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte("{ }\n"), 0o666) },
			want:    "has changed meanwhile",
		},
		"a file has come": {
			disturb: func(dir string) error {
				return errors.Join(os.Mkdir(filepath.Join(dir, ".claude"), 0o777), os.WriteFile(filepath.Join(dir, ".claude/settings.json"), nil, 0o666))
			},
			want: "has changed meanwhile",
		},
		"a link has come": {
			disturb: func(dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, ".claude")) },
			want:    "expected a directory or nothing, found a link",
		},
		"the second file cannot be replaced": {
			show: func(dir string) error { return os.Mkdir(filepath.Join(dir, ".claude/settings.json"), 0o777) },
			want: "cannot write",
		},
		"the second file cannot be removed": {
			undo: true,
			show: func(dir string) error { return os.Remove(filepath.Join(dir, ".claude/settings.json")) },
			want: "cannot remove",
		},
	} {
		if runtime.GOOS == "windows" && strings.Contains(name, "link") {
			continue
		}
		dir := clientTree(t, start)
		if tt.undo {
			if err := plan(t, dir, false, "claude").Write(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		p := plan(t, dir, tt.undo, "claude")
		if tt.disturb != nil {
			if err := tt.disturb(dir); err != nil {
				t.Fatal(err)
			}
		}
		before := snapshot(t, dir)
		err := p.Write(t.Context(), func() error {
			if tt.show == nil {
				t.Errorf("%s: everything was prepared", name)
				return nil
			}
			return tt.show(dir)
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Write = %v, want %q", name, err, tt.want)
		}
		after := snapshot(t, dir)
		// What the test itself did stays or is gone.
		delete(after, ".claude/settings.json")
		if tt.show != nil {
			delete(before, ".claude/settings.json")
			delete(after, ".claude")
			delete(before, ".claude")
		}
		if tt.disturb != nil {
			delete(before, ".claude/settings.json")
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// TestClientsOneFile: of several files that a client reads, one is edited.
func TestClientsOneFile(t *testing.T) {
	const ours = `{"mcp": {"mwp": {"type": "local", "command": ["mwp", "serve-mcp"]}}}`
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // paths, with "!" for those that change
	}{
		{"none", nil, []string{"!opencode.json"}},
		{"two", map[string]string{"opencode.jsonc": "{}", ".opencode/opencode.json": "{}"}, []string{"!opencode.jsonc"}},
		{"two, the first with it", map[string]string{"opencode.json": ours, "opencode.jsonc": "{}"}, []string{"opencode.json"}},
		{"two, the second with it", map[string]string{"opencode.json": "{}", "opencode.jsonc": ours}, []string{"opencode.jsonc"}},
	} {
		p := plan(t, clientTree(t, tt.files), false, "opencode", "opencode")
		var got []string
		for i := range p.Files {
			mark := ""
			if p.Files[i].Changed() {
				mark = "!"
			}
			got = append(got, mark+p.Files[i].Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestClientsUnknown: the command line has asked already, and a program may not have.
func TestClientsUnknown(t *testing.T) {
	w := mwp.Open(mwp.Options{Dir: clientTree(t, nil)})
	defer w.Close()
	var misuse *mwp.UsageError
	if _, err := w.PlanClients(t.Context(), mwp.ClientsRequest{Clients: []string{"emacs"}}); !errors.As(err, &misuse) {
		t.Errorf("PlanClients = %v, want a UsageError", err)
	}
}
