package harness

import (
	"flag"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the configurations in docs/clients.md")

const document = "../../docs/clients.md"

// TestClientsDocument keeps the configurations that people copy equal to what init
// writes: behind a mark with a client and a file stand the file's name and its content.
func TestClientsDocument(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	s := Setup{Root: "/home/ann/project", Program: "/usr/local/bin/mwp"}
	want := map[string]string{}
	for _, name := range ClientNames() {
		c, _ := ClientNamed(name, s)
		list := c.Files
		if len(list) == 0 {
			list = []File{c.User}
		}
		for _, f := range list {
			language := strings.TrimPrefix(path.Ext(f.Names[0]), ".")
			want[name+" "+f.Names[0]] = "<!-- " + name + " " + f.Names[0] + " -->\n`" + f.Names[0] + "`:\n\n```" + language + "\n" + string(f.New()) + "```\n"
		}
		if !strings.Contains(string(b), "\n### "+c.Title+"\n") {
			t.Errorf("%s has no section %s", document, c.Title)
		}
	}
	mark := regexp.MustCompile("<!-- ([a-z-]+ [^ ]+) -->\n(`[^`]+`:\n\n```[a-z]+\n(?s:.*?)\n```\n)?")
	got := mark.ReplaceAllStringFunc(string(b), func(block string) string {
		key := mark.FindStringSubmatch(block)[1]
		text, ok := want[key]
		if !ok {
			t.Errorf("%s: there is no file %s, or it is there twice", document, key)
		}
		delete(want, key)
		return text
	})
	for key := range want {
		t.Errorf("%s lacks the mark <!-- %s -->", document, key)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(document, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(got, string(b)); diff != "" {
		t.Errorf("%s differs from what init writes; run go test ./mcp/harness -run TestClientsDocument -update (-init +document):\n%s", document, diff)
	}
}
