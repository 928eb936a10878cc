package harness

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

var setup = Setup{Root: "/srv/<project>", Program: "/usr/local/bin/mwp"}

// files returns every file of every client.
func files(t testing.TB) []File {
	t.Helper()
	var all []File
	for _, name := range ClientNames() {
		c, ok := ClientNamed(name, setup)
		if !ok || c.Name != name || c.Title == "" {
			t.Fatalf("ClientNamed(%q) = %+v, %v", name, c, ok)
		}
		all = append(all, c.Files...)
		if len(c.Files) == 0 {
			all = append(all, c.User)
		}
	}
	return all
}

func TestClientsAreWhole(t *testing.T) {
	if _, ok := ClientNamed("emacs", setup); ok {
		t.Error("emacs is a client")
	}
	for _, name := range ClientNames() {
		c, _ := ClientNamed(name, setup)
		if user := len(c.User.Names) > 0; user == (len(c.Files) > 0) || user != (len(c.Where) > 0) {
			t.Errorf("%s: %d files, user file %v, places %q", name, len(c.Files), c.User.Names, c.Where)
		}
	}
	for _, f := range files(t) {
		text := f.New()
		if f.TOML != nil {
			var v map[string]any
			if _, err := toml.Decode(string(text), &v); err != nil {
				t.Errorf("%s: %v\n%s", f.Names[0], err, text)
			}
		} else if !json.Valid(text) {
			t.Errorf("%s: not JSON\n%s", f.Names[0], text)
		}
		if !bytes.HasSuffix(text, []byte("}\n")) && f.TOML == nil {
			t.Errorf("%s ends with %q", f.Names[0], text[len(text)-3:])
		}
		again, err := f.Add(text)
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s: a new file lacks something: %v\n%s", f.Names[0], err, again)
		}
		for _, text := range [][]byte{text, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))} {
			if _, gone, left, err := f.Remove(text); !gone || left != nil || err != nil {
				t.Errorf("%s: Remove(New()) = gone %v, left %v, %v", f.Names[0], gone, left, err)
			}
		}
	}
}

func TestRootsAsTheyAre(t *testing.T) {
	for _, name := range []string{"claude-desktop", "zed", "windsurf"} {
		c, _ := ClientNamed(name, setup)
		f := c.User
		if len(c.Files) > 0 {
			f = c.Files[0]
		}
		if !strings.Contains(string(f.New()), `"--root", "/srv/<project>"`) {
			t.Errorf("%s: %s", name, f.New())
		}
	}
}

// TestFileNames holds the paths to what is safe to join with a root.
func TestFileNames(t *testing.T) {
	for _, f := range files(t) {
		for _, n := range f.Names {
			if strings.HasPrefix(n, "/") || strings.Contains(n, "..") || strings.Contains(n, `\`) {
				t.Errorf("%q", n)
			}
		}
	}
}

// TestHooksCallOneCommand: some clients run commands with the same text once for an
// event, whatever file they are in.
func TestHooksCallOneCommand(t *testing.T) {
	for _, name := range ClientNames() {
		c, _ := ClientNamed(name, setup)
		var events []string
		for _, f := range c.Files {
			for _, e := range f.Entries {
				if e.Mark == "" {
					continue
				}
				events = append(events, e.Path[1])
				if !strings.Contains(e.Value, `"command": "mwp hook `+name+`"`) {
					t.Errorf("%s: %s", name, e.Value)
				}
			}
		}
		if known := slices.Contains(HookNames(), name); known != (len(events) > 0) {
			t.Errorf("%s: hooks at %q, the command knows it: %v", name, events, known)
		}
	}
}
