package harness

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

var block = File{Names: []string{"config.toml"}, TOML: &Table{Path: []string{"servers", "mwp"}, Lines: []string{`command = "mwp"`, "n = 1"}}}

const blockText = "[servers.mwp]\ncommand = \"mwp\"\nn = 1\n"

func TestAddTOML(t *testing.T) {
	crlf := strings.ReplaceAll(blockText, "\n", "\r\n")
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "\n" + blockText},
		{"a line", "a = 1\n", "a = 1\n\n" + blockText},
		{"a line that is not ended", "a = 1", "a = 1\n\n" + strings.TrimSuffix(blockText, "\n")},
		{"CRLF", "a = 1\r\n", "a = 1\r\n\r\n" + crlf},
		{"a comment at the end", "a = 1\n# end", "a = 1\n# end\n\n" + strings.TrimSuffix(blockText, "\n")},
		{"another server", "[servers.b]\nx = 1\n", "[servers.b]\nx = 1\n\n" + blockText},
		{"a table of servers", "[servers]\nb.x = 1\n", "[servers]\nb.x = 1\n\n" + blockText},
		{"an array of tables", "[[x]]\n[[x]]\n", "[[x]]\n[[x]]\n\n" + blockText},
		{"there", blockText + "# mine\n[z]\n", blockText + "# mine\n[z]\n"},
	} {
		got, err := block.Add([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestTOMLRefused: whatever spelling has the place, the file stays as it is.
func TestTOMLRefused(t *testing.T) {
	const taken = "servers.mwp is there already, and a different one"
	for _, tt := range []struct{ text, want string }{
		{"[servers.mwp]\ncommand = \"x\"\n", "1:1: " + taken},
		{" [ servers . \"mwp\" ]\n", "1:2: " + taken},
		{"['servers'.\"\\u006dwp\"]", "1:1: " + taken},
		{"a = 1\n[servers]\nmwp = {}\n", "3:1: " + taken},
		{"[servers]\nmwp.command = 1\n", "2:1: " + taken},
		{"servers.mwp.command = 1\n", "1:1: " + taken},
		{"servers = { mwp = { command = 1 } }\n", "1:13: " + taken},
		{"[servers.mwp.env]\nA = \"1\"\n", "1:1: " + taken},
		{"[[servers.mwp]]\n", "1:1: " + taken},
		{blockText + "x = 1\n", "1:1: " + taken},
		{blockText + "\n[servers.mwp.env]\n", "1:1: " + taken},
		{"[servers.mwp.env]\n" + blockText, "1:1: " + taken},
		{"servers = {}\n", "1:1: expected a table that others can be added to, found servers written as one value"},
		{"[[servers]]\n", "1:1: expected a table that others can be added to, found servers written as one value"},
		{"servers = 1\n", "1:1: expected a table that others can be added to, found servers written as one value"},
		{"a = ", "1:5: expected a value, found the end of the file"},
		{"a = bogus", "1:5: expected a value, found 'b'"},
		{"a = 1 b = 2", "1:7: expected the end of the line, found 'b'"},
		{"a\n", "1:2: expected = behind the key, found '\\n'"},
		{"= 1", "1:1: expected a key, found '='"},
		{"[a", "1:3: expected ] behind the table's name, found the end of the file"},
		{"[[a]\n", "1:5: expected ] behind the table's name, found '\\n'"},
		{"a = [1", "1:5: the bracket is never closed"},
		{"a = [1 2]", "1:8: expected a comma or ], found '2'"},
		{"a = {b = 1", "1:5: the brace is never closed"},
		{"a = {b = 1 c = 2}", "1:12: expected a comma or }, found 'c'"},
		{"a = \"x\n\"", "1:5: the string is never closed"},
		{"a = \"\"\"x", "1:5: the string is never closed"},
		{"a = \"\\q\"", "1:7: the string has an escape that TOML does not know"},
		{"a = \"\\ud800\"", "1:7: expected 4 hexadecimal digits of a character behind the escape"},
		{"a = 1\na = 2\n", "2:1: the key a is there twice"},
		{"[a]\n[a]\n", "2:1: the table a is there twice"},
		{"a.b = 1\n[a]\n", "2:1: the table a is there twice"},
		{"a = {}\na.b = 1\n", "2:1: the key a is there twice"},
		{"a = 1\n[a.b]\n", "2:1: a has a value already"},
		{"# \x01\n", "1:3: a comment has no control characters"},
		{"a = 1\r", "1:6: expected a line feed behind the carriage return"},
		{"\xff", `1:1: expected UTF-8, found the byte \xff`},
		{"a = " + strings.Repeat("[", 200000), "1:105: expected at most 100 levels"},
		{"a = " + strings.Repeat("{a=", 60000), "1:305: expected at most 100 levels"},
		{strings.Repeat("a.", 100000), "1:66: expected a key of at most 32 parts"},
		{strings.Repeat("#", 10<<20), "the file has 10485760 bytes, the limit is 262144"},
	} {
		_, err := block.Add([]byte(tt.text))
		var e *Error
		if got := fmt.Sprint(err); got != tt.want || !errors.As(err, &e) || e.Differs != strings.HasSuffix(tt.want, taken) {
			t.Errorf("Add(%.60q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestRemoveTOML(t *testing.T) {
	for _, tt := range []struct{ name, text, want, left string }{
		{"nothing else", blockText, "gone", ""},
		{"somebody ended the last line", "a = 1\n\n" + blockText, "a = 1\n", ""},
		{"a table behind", "a = 1\n\n" + blockText + "\n[z]\n", "a = 1\n\n[z]\n", ""},
		{"first, with a table behind", blockText + "\n[z]\n", "\n[z]\n", ""},
		{"not there", "a = 1\n", "a = 1\n", ""},
		{"another value", "[servers.mwp]\ncommand = \"mwp\"\nn = 2\n", "same", "1:1: servers.mwp is not as mwp wrote it"},
		{"another key", blockText + "x = 1\n", "same", "1:1: servers.mwp is not as mwp wrote it"},
	} {
		got, gone, left, err := block.Remove([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := tt.want
		if want == "same" {
			want = tt.text
		}
		if gone != (want == "gone") || !gone && string(got) != want {
			t.Errorf("%s: Remove = %q, gone %v, want %q", tt.name, got, gone, want)
		}
		if got := fmt.Sprint(left); tt.left != "" && got != "["+tt.left+"]" || tt.left == "" && left != nil {
			t.Errorf("%s: left %s, want %s", tt.name, got, tt.left)
		}
	}
}

var tomlCorpus = []string{
	"", "\n", "\ufeff", "\ufeff# x", " ", "a=1", "a = 1\r\n", "# c", "[a]\n[b]\nx.y = 1\n[b.z]\n[[c]]\n[c.d]\n[[c]]\n[c.d]\n", "a = \"\"\"\nx\\\n  y\"\"\"\"\n", "a = '''\n'''\n", "a = [1, [2], {b=1},]\n",
	"a = {b.c = 1, b.d = 2}\n", "d = 2026-05-17 10:42:00Z\n", "d = 10:42:00.5\n", "f = [1e3, -0.5, +inf, nan, 0xff, 0o7, 0b1, 1_000]\n", "\"a b\".'c' = true\n", "servers.b.x = 1\n", "[servers]\n", "[servers.b]\n", "a = \"\\U0001F600\\t\"\n",
	"[servers]\nmwp = 1\n", "[ servers . mwp ]\n", blockText, "a = 1\n\n" + blockText, "[a.b.c]\n[a]\n[a.b]\n", "a.b.c = 1\na.b.d = 1\n[a.x]\n", "[[servers.mwp]]", "\n\n\n", "x = 1 # y", "a = [ # x\n1, # y\n]\n", "[a]\nb = 1\n[a.c]\n[d]\n",
}

// checkTOML adds, lets another parser judge the result, and removes.
func checkTOML(t *testing.T, f File, text []byte) {
	t.Helper()
	added, err := f.Add(text)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || strings.Contains(e.Message, "taken away again") {
			t.Fatalf("Add(%q) = %v", text, err)
		}
		return
	}
	// The library is slow and hungry with keys and nesting that people do not write.
	if len(text) < 400 {
		var before, after map[string]any
		if _, err := toml.Decode(string(text), &before); err == nil {
			meta, err := toml.Decode(string(added), &after)
			if err != nil || !meta.IsDefined(f.TOML.Path...) {
				t.Fatalf("%q was TOML, and Add made %q: %v", text, added, err)
			}
		}
	}
	if bytes.Equal(added, text) {
		return
	}
	back, gone, left, err := f.Remove(added)
	if err != nil || gone || left != nil || !bytes.Equal(back, text) {
		t.Fatalf("%q, with it %q, and back %q, gone %v, left %v, %v", text, added, back, gone, left, err)
	}
}

func FuzzTOML(f *testing.F) {
	for _, text := range tomlCorpus {
		f.Add([]byte(text))
	}
	c, _ := ClientNamed("codex", setup)
	f.Fuzz(func(t *testing.T, text []byte) {
		checkTOML(t, block, text)
		checkTOML(t, c.Files[0], text)
		if back, gone, _, err := block.Remove(text); err == nil && !gone && len(text) < 400 {
			var v map[string]any
			if _, err := toml.Decode(string(text), &v); err == nil {
				if _, err := toml.Decode(string(back), &v); err != nil {
					t.Fatalf("Remove(%q) = %q: %v", text, back, err)
				}
			}
		}
	})
}
