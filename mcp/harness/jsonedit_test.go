package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// small is a file with one entry in an object and two in arrays.
var small = File{
	Names: []string{"small.json"},
	Entries: []Entry{
		{Path: []string{"servers"}, Key: "mwp", Value: `{"command": "mwp", "args": ["x"]}`},
		{Path: []string{"hooks", "Start"}, Value: `{"command": "mwp hook a"}`, Mark: "mwp hook"},
		{Path: []string{"hooks", "End"}, Value: `{"command": "mwp hook a"}`, Mark: "mwp hook"},
	},
}

// one is a file with the entry in an object only.
var one = File{Names: []string{"one.json"}, Entries: small.Entries[:1]}

const newSmall = `{
  "servers": {
    "mwp": {
      "command": "mwp",
      "args": ["x"]
    }
  },
  "hooks": {
    "Start": [
      {"command": "mwp hook a"}
    ],
    "End": [
      {"command": "mwp hook a"}
    ]
  }
}
`

func TestNewJSON(t *testing.T) {
	if diff := cmp.Diff(newSmall, string(small.New())); diff != "" {
		t.Error(diff)
	}
}

// TestAddJSON shows what files look like afterwards; TestAddThenRemove holds all of
// them to the way back.
func TestAddJSON(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", `{"servers": {"mwp": {"command": "mwp", "args": ["x"]}}}`},
		{"white space", "\ufeff \r\n", "\ufeff" + `{"servers": {"mwp": {"command": "mwp", "args": ["x"]}}}` + " \r\n"},
		{"empty", "{}\n", `{

  "servers": {
    "mwp": {
      "command": "mwp",
      "args": ["x"]
    }
  }
}
`},
		{"empty on two lines", "{\n}", `{
  "servers": {
    "mwp": {
      "command": "mwp",
      "args": ["x"]
    }
  }

}`},
		{"others, tabs, no last line end", "{\n\t\"a\": 1\n}", `{
	"a": 1,
	"servers": {
		"mwp": {
			"command": "mwp",
			"args": ["x"]
		}
	}
}`},
		{"one line", `{"a":1}`, `{"a":1, "servers": {"mwp": {"command": "mwp", "args": ["x"]}}}`},
		{"one line with a comment at its end", "{\"a\":1 // why\n}", `{"a":1, // why
  "servers": {"mwp": {"command": "mwp", "args": ["x"]}}
}`},
		{"other servers", `{
    "servers": {
        "b": {} /* b */ // b
        // "c": {}
    },
    "z": []
}
`, `{
    "servers": {
        "b": {}, /* b */ // b
        "mwp": {
            "command": "mwp",
            "args": ["x"]
        }
        // "c": {}
    },
    "z": []
}
`},
		{"no servers yet", "{\n  \"servers\": {}\n}\n", `{
  "servers": {

    "mwp": {
      "command": "mwp",
      "args": ["x"]
    }
  }
}
`},
		{"trailing commas", "{\n  \"servers\": {\n    \"b\": {}, // b\n  },\n}\n", `{
  "servers": {
    "b": {}, // b
    "mwp": {
      "command": "mwp",
      "args": ["x"]
    },
  },
}
`},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"servers\": {\r\n    \"mwp\": {\r\n      \"command\": \"mwp\",\r\n      \"args\": [\"x\"]\r\n    }\r\n  }\r\n}\r\n"},
		{"there, written otherwise", `{"servers":{"\u006dwp":{"args":["x"],"command":"mwp"}}}`, `{"servers":{"\u006dwp":{"args":["x"],"command":"mwp"}}}`},
	} {
		got, err := one.Add([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// corpus are files as people keep them, and as nobody does.
var corpus = []string{
	"", "\n", " ", "\ufeff", "\ufeff\r\n\r\n", "{}", "{}\n", "{ }", "{\n}", "{\r\n}\r\n", "{\n\n}\n", "\ufeff{}", "{ \n }", "{/**/}", "{//\n}", "{\n//\n}",
	`{"a":1}`, `{"a":1,}`, `{"a":1 ,}`, `{"a":1/*x*/,/*y*/}`, "{\"a\":1//x\n,//y\n}", "{\n\"a\":1\n}", "{\n  \"a\": 1,\n}", "{\"a\":1,\n\"b\":2}", "{\n\"a\":1, \"b\":2}",
	"\t{\n\t\t\"a\": [\n\t\t]\n\t}\n", "{\n   \"a\": 1 /* x\n y */ , \n /* z */ }", "// top\n{\n}\n// end", "{\"a\":1}\r\n", "{\"a\":1\n//x\n}",
	`{"servers":{}}`, `{"servers":{ }}`, "{\"servers\":{\n}}", "{\n  \"servers\": {},\n  \"hooks\": {}\n}\n", "{\n  \"servers\": {\n  }\n}\n", `{"servers":{"b":{}}}`,
	"{\n  \"hooks\": {\n    \"Start\": [],\n    \"End\": [ ]\n  }\n}\n", "{\"hooks\":{\"Start\":[\n]}}", "{\n  \"hooks\": {\"Start\": [{\"command\": \"x\"}]}\n}\n",
	"{\n  \"hooks\": {\n    \"Start\": [\n      {\"command\": \"x\"},\n    ],\n  },\n}\n", "{\"hooks\":{\"Start\":[1,2,],\"End\":[//\n]}}",
	"{\n  \"version\": 1\n}\n", `{"version":1}`, "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {},\n  \"version\": 1\n}\n", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
	"{\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n", "{\n  \"mcp\": {\n    \"servers\": {\"type\": \"local\"}\n  }\n}\n", `{"mcp":{}}`,
	newSmall, "{\n  \"a\": \"\u00e4\\u00e4\\ud83d\\ude00\"\n}", "/* a\r\n */{}\n", "{/*\n*/\"a\":1}", "{\"a\":{\"b\":{}},\"servers\":{\"x\":1\n,\"y\":2}}", "{\n  \"a\": 1\n\n\n  ,\n}",
	"[]", "1", "{\"servers\":1}", "{\"servers\":[]}", "{\"hooks\":{\"Start\":{}}}", "{\"servers\":{\"mwp\":1}}", "{\"a\":1,\"a\":2}", "{a:1}", "{'a':1}", "{\"a\":}", "{\"a\":1", "{\"a\" 1}", "{,}", "{\"a\":1,,}", "{\"a\":01}", "{\"a\":\"\\x\"}", "{\"a\":tru}", "{}}", "/", "/*", "//", "\xff", "{\"a\":1}\r", "{\"a\":\"\t\"}", "{\"a\":1 \"b\":2}",
}

// jsonFiles are the files that the properties are tried with.
func jsonFiles(t testing.TB) []File {
	all := []File{small, one}
	for _, f := range files(t) {
		if f.TOML == nil {
			all = append(all, f)
		}
	}
	return all
}

// TestAddThenRemove is the promise of --undo: every byte comes back.
func TestAddThenRemove(t *testing.T) {
	edited := 0
	for _, f := range jsonFiles(t) {
		for _, text := range corpus {
			if checkIdentity(t, f, []byte(text)) {
				edited++
			}
		}
	}
	if edited < 300 {
		t.Errorf("only %d files were edited", edited)
	}
}

// checkIdentity adds, looks at the result, and removes. It reports whether there was
// something to add.
func checkIdentity(t *testing.T, f File, text []byte) bool {
	t.Helper()
	before := bytes.Clone(text)
	added, err := f.Add(text)
	if !bytes.Equal(text, before) {
		t.Fatalf("%s: Add(%q) changed its argument", f.Names[0], before)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Message == "" || strings.Contains(e.Message, "taken away again") {
			t.Fatalf("%s: Add(%q) = %v", f.Names[0], text, err)
		}
		return false
	}
	root, err := parseJSON(added)
	if err != nil || root == nil {
		t.Fatalf("%s: Add(%q) = %q, which does not parse: %v", f.Names[0], text, added, err)
	}
	for _, e := range f.Entries {
		path := e.path(root)
		if c, depth, err := e.walk(added, root, path); err != nil || depth < len(path) {
			t.Fatalf("%s: Add(%q) = %q, without %v", f.Names[0], text, added, path)
		} else if same, _ := e.find(c); same < 0 {
			t.Fatalf("%s: Add(%q) = %q, without %s", f.Names[0], text, added, e.Value)
		}
	}
	if json.Valid(bytes.TrimPrefix(text, []byte("\ufeff"))) && !json.Valid(bytes.TrimPrefix(added, []byte("\ufeff"))) {
		t.Fatalf("%s: Add(%q) = %q: was strict JSON and is not", f.Names[0], text, added)
	}
	if again, err := f.Add(added); err != nil || !bytes.Equal(again, added) {
		t.Fatalf("%s: Add twice: %q, then %q, %v", f.Names[0], added, again, err)
	}
	back, gone, left, err := f.Remove(added)
	if partly(f, text) {
		// What was there before and is the same as ours goes too.
		return false
	}
	if err != nil || gone || left != nil || !bytes.Equal(back, text) {
		t.Fatalf("%s: %q, with it\n%q,\nand back\n%q, gone %v, left %v, %v", f.Names[0], text, added, back, gone, left, err)
	}
	return true
}

// partly reports whether the text has some of the entries already.
func partly(f File, text []byte) bool {
	back, gone, _, err := f.Remove(text)
	return err == nil && (gone || !bytes.Equal(back, text))
}

// TestAddThenRemoveRandom makes files that no person would write.
func TestAddThenRemoveRandom(t *testing.T) {
	cursor, _ := ClientNamed("cursor", setup)
	opencode, _ := ClientNamed("opencode", setup)
	all := []File{small, one, cursor.Files[1], opencode.Files[0]}
	edited, seeds := 0, 1500
	if testing.Short() {
		// One goroutine computes: the race detector finds nothing in it.
		seeds = 75
	}
	for seed := range uint64(seeds) {
		g := &scribble{rand.New(rand.NewPCG(seed, 5)), "\n"}
		if g.IntN(4) == 0 {
			g.eol = "\r\n"
		}
		text := g.space() + g.value(0, "") + g.space()
		if g.IntN(8) == 0 {
			text = "\ufeff" + text
		}
		for _, f := range all {
			if checkIdentity(t, f, []byte(text)) {
				edited++
			}
		}
	}
	if edited < seeds*4/3 {
		t.Errorf("only %d files were edited", edited)
	}
}

// scribble writes random JSON with comments, in random white space.
type scribble struct {
	*rand.Rand
	eol string
}

func (g *scribble) space() string {
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString([]string{" ", "\t", g.eol, g.eol + "  ", "/* c */", "/*" + g.eol + "*/", "// c" + g.eol, "//" + g.eol + "\t"}[g.IntN(8)])
	}
	return b.String()
}

// value writes the value of a key, with names that lead to where the entries go.
func (g *scribble) value(depth int, key string) string {
	kind := g.IntN(6)
	switch key {
	case "":
		if depth == 0 {
			kind = 5
		}
	case "servers", "hooks", "mcp":
		kind = 5
	case "Start", "End", "sessionStart":
		kind = 4
	}
	if depth > 3 {
		kind = min(kind, 3)
	}
	opening, closing := "[", "]"
	switch kind {
	case 0:
		return "1"
	case 1:
		return "null"
	case 2:
		return `"/* \" { // \u00e4"`
	case 3:
		return "-0.5e+3"
	case 5:
		opening, closing = "{", "}"
	}
	names := []string{"servers", "hooks", "mcp", "Start", "End", "sessionStart", "version", "a", "b/*"}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var b strings.Builder
	b.WriteString(opening)
	n := g.IntN(4)
	for i := range n {
		b.WriteString(g.space())
		name := ""
		if kind == 5 {
			name = names[i]
			b.WriteString(quoteJSON(name) + g.space() + ":" + g.space())
		}
		b.WriteString(g.value(depth+1, name) + g.space())
		if i < n-1 || g.IntN(3) == 0 {
			b.WriteString(",")
		}
	}
	return b.String() + g.space() + closing
}

func FuzzJSON(f *testing.F) {
	for _, text := range corpus {
		f.Add([]byte(text))
	}
	cursor, _ := ClientNamed("cursor", setup)
	opencode, _ := ClientNamed("opencode", setup)
	all := []File{small, cursor.Files[1], opencode.Files[0]}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range all {
			checkIdentity(t, file, text)
			back, _, _, err := file.Remove(text)
			if err != nil || back == nil {
				continue
			}
			before, _ := parseJSON(text)
			after, err := parseJSON(back)
			if err != nil || before != nil && before.kind != '{' && !bytes.Equal(back, text) {
				t.Fatalf("%s: Remove(%q) = %q, %v", file.Names[0], text, back, err)
			}
			if after != nil && utf8.Valid(text) && len(back) > len(text) {
				t.Fatalf("%s: Remove(%q) = %q", file.Names[0], text, back)
			}
		}
	})
}

// TestRemoveAfterEdits: somebody has worked on the file in between.
func TestRemoveAfterEdits(t *testing.T) {
	for _, tt := range []struct{ name, text, want, left string }{
		{"reformatted", `{"servers":{"mwp":{"args":["x"],"command":"mwp"}},"hooks":{"Start":[{"command":"mwp hook a"}],"End":[{"command":"mwp hook a"}]}}`, "gone", ""},
		{"a server behind", "{\n  \"servers\": {\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]},\n    \"b\": {}\n  }\n}\n", "{\n  \"servers\": {\n    \"b\": {}\n  }\n}\n", ""},
		{"a server before", "{\n  \"servers\": {\n    \"b\": {},\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]}\n  }\n}\n", "{\n  \"servers\": {\n    \"b\": {}\n  }\n}\n", ""},
		{"a trailing comma", "{\n  \"servers\": {\n    \"b\": {},\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]},\n  },\n}\n", "{\n  \"servers\": {\n    \"b\": {},\n  },\n}\n", ""},
		{"a comment inside", "{\n  \"servers\": {\n    // ours\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]}\n  }\n}\n", "{\n  \"servers\": {\n    // ours\n  }\n}\n", ""},
		{"behind a line comment", "{\"servers\": {\n \"b\": 1, // b\n \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]}, \"c\": 2}}", "{\"servers\": {\n \"b\": 1, // b\n  \"c\": 2}}", ""},
		{"a hook twice", `{"hooks": {"Start": [{"command": "mwp hook a"}, 1, {"command": "mwp hook a"}]}}`, `{"hooks": {"Start": [ 1]}}`, ""},
		{"another argument", "{\n  \"servers\": {\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"y\"]}\n  }\n}\n", "same", "3:5: servers.mwp has an entry for mwp already, and a different one"},
		{"another timeout", "{\"hooks\": {\"End\": [{\"command\": \"mwp hook a\"}], \"Start\": [{\"command\": \"mwp hook a\", \"timeout\": 1}]}}", `{"hooks": { "Start": [{"command": "mwp hook a", "timeout": 1}]}}`, "1:58: hooks.Start has an entry for mwp already, and a different one"},
		{"a comment at the top", "// mine\n{\n  \"servers\": {\n    \"mwp\": {\"command\": \"mwp\", \"args\": [\"x\"]}\n  }\n}\n", "// mine\n{}\n", ""},
		{"nothing of ours", "{}\n", "same", ""},
		{"not an object", "[]", "same", ""},
		{"elsewhere", `{"servers": 1, "hooks": {"Start": {}}}`, "same", ""},
	} {
		got, gone, left, err := small.Remove([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := tt.want
		switch {
		case want == "same":
			want = tt.text
		case want == "gone":
			want = string(got)
			if !gone {
				t.Errorf("%s: not gone: %q", tt.name, got)
			}
		case gone:
			t.Errorf("%s: gone", tt.name)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		kept := ""
		for _, e := range left {
			if !e.Differs {
				t.Errorf("%s: %v does not say that it differs", tt.name, e)
			}
			kept += e.Error()
		}
		if kept != tt.left {
			t.Errorf("%s: left %q, want %q", tt.name, kept, tt.left)
		}
	}
}

// TestMalformedJSON holds the wording.
func TestMalformedJSON(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[]", "1:1: expected an object, found an array"},
		{"\ufeff\n  null", "2:3: expected an object, found null"},
		{"// only\n", "2:1: expected an object, found the end of the file"},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", "3:3: expected a comma or '}', found '\"'"},
		{"{\n  a: 1\n}", "2:3: expected a key in double quotes, found 'a'"},
		{"{\"ä\" 1}", "1:6: expected a colon behind the key, found '1'"},
		{"{\"a\": tru}", "1:7: expected a value, found 't'"},
		{"{\"a\": ", "1:7: expected a value, found the end of the file"},
		{"{\"a\": 1", "1:1: the bracket is never closed"},
		{"{\"a\": \"x", "1:7: the string is never closed"},
		{"{\"a\": \"x\n\"}", "1:9: a string ends on its line and has no control characters"},
		{"{\"a\": \"\\x\"}", "1:7: the string has an escape that JSON does not know"},
		{"{} {}", "1:4: expected the end of the file, found '{'"},
		{"{} /* x", "1:4: the comment is never closed"},
		{"{} / x", "1:4: expected a comment behind the slash"},
		{"{\"a\": 1, \"\\u0061\": 2}", `1:10: the key "a" is there twice`},
		{"{\"b\": [{\"a\": 1, \"a\": 2}]}", `1:17: the key "a" is there twice`},
		{"{\"a\": \"\xff\"}", `1:8: expected UTF-8, found the byte \xff`},
		{"{}\r", "1:3: expected a line feed behind the carriage return"},
		{"{\"a\": 1}\x00", `1:9: expected the end of the file, found '\x00'`},
		{`{"servers": []}`, "1:13: servers: expected an object, found an array"},
		{`{"hooks": {"Start": {}}}`, "1:21: hooks.Start: expected an array, found an object"},
		{`{"servers": {"mwp": 1}}`, "1:14: servers.mwp has an entry for mwp already, and a different one"},
		{`{"hooks": {"Start": [1, {"x": [{"command": "/opt/mwp hook a"}]}]}}`, "1:25: hooks.Start has an entry for mwp already, and a different one"},
		{strings.Repeat("[", 200000), "1:101: expected at most 100 levels"},
		{`{"a": ` + strings.Repeat(`{"a":`, 20000), "1:502: expected at most 100 levels"},
		{strings.Repeat(" ", 10<<20), "the file has 10485760 bytes, the limit is 262144"},
	} {
		_, err := small.Add([]byte(tt.text))
		if got := fmt.Sprint(err); got != tt.want {
			t.Errorf("Add(%.60q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestHead(t *testing.T) {
	c, _ := ClientNamed("cursor", setup)
	hooks := c.Files[1]
	_, err := hooks.Add([]byte("{\n  \"hooks\": {}\n}\n"))
	if got, want := fmt.Sprint(err), `1:1: expected the member "version", found none`; got != want {
		t.Errorf("a file without a version: %s, want %s", got, want)
	}
	// Somebody has formatted a file that was new: it is ours all the same.
	text := bytes.ReplaceAll(hooks.New(), []byte("  "), []byte("\t"))
	if back, gone, left, err := hooks.Remove(text); !gone || left != nil || err != nil {
		t.Errorf("Remove(%q) = %q, gone %v, %v, %v", text, back, gone, left, err)
	}
	// With something else in it, it stays.
	text = bytes.Replace(hooks.New(), []byte(`"version"`), []byte(`"x": 1, "version"`), 1)
	back, gone, _, err := hooks.Remove(text)
	if got, want := string(back), "{\n  \"x\": 1, \"version\": 1\n}\n"; got != want || gone || err != nil {
		t.Errorf("Remove(%q) = %q, gone %v, %v; want %q", text, got, gone, err, want)
	}
}

// TestOpenCodeVersions: version 2 keeps servers one level deeper, and reads the older
// form too.
func TestOpenCodeVersions(t *testing.T) {
	c, _ := ClientNamed("opencode", setup)
	for _, tt := range []struct{ text, want string }{
		{`{"mcp": {"a": {}}}`, `{"mcp": {"a": {}, "mwp": {"type": "local", "command": ["mwp", "serve-mcp"]}}}`},
		{`{"mcp": {"servers": {"a": {}}}}`, `{"mcp": {"servers": {"a": {}, "mwp": {"type": "local", "command": ["mwp", "serve-mcp"]}}}}`},
		{`{"mcp": {"servers": {"type": "local"}}}`, `{"mcp": {"servers": {"type": "local"}, "mwp": {"type": "local", "command": ["mwp", "serve-mcp"]}}}`},
	} {
		if got, err := c.Files[0].Add([]byte(tt.text)); err != nil || string(got) != tt.want {
			t.Errorf("Add(%s) = %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}
