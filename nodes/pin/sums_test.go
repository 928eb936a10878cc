package pin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSums(t *testing.T) {
	other := strings.Repeat("cd", 32)
	given := []Sum{{tree, "b"}, {other, "a/b  c"}, {tree, "a.md"}}
	text := AppendSums([]byte("before\n"), given)
	want := "before\n" + tree + "  a.md\n" + other + "  a/b  c\n" + tree + "  b\n"
	if string(text) != want {
		t.Errorf("AppendSums = %q, want %q", text, want)
	}
	if given[0].Path != "b" {
		t.Error("AppendSums sorted what it was given")
	}
	got, err := ParseSums(text[len("before\n"):])
	if diff := cmp.Diff([]Sum{{tree, "a.md"}, {other, "a/b  c"}, {tree, "b"}}, got); diff != "" || err != nil {
		t.Errorf("ParseSums: %v %s", err, diff)
	}
	for path, digest := range map[string]string{"a.md": tree, "a/b  c": other, "b": tree, "": "", "aa": "", "z": ""} {
		if d, ok := FindSum(got, path); d != digest || ok != (digest != "") {
			t.Errorf("FindSum(%q) = %q, %v", path, d, ok)
		}
	}
	if got, err := ParseSums(nil); len(got) != 0 || err != nil {
		t.Errorf("ParseSums of nothing = %v, %v", got, err)
	}
}

func TestParseSumsRefuses(t *testing.T) {
	line := tree + "  a\n"
	var many strings.Builder
	for i := range MaxFiles + 1 {
		fmt.Fprintf(&many, "%s  %05d\n", tree, i)
	}
	for in, want := range map[string]string{
		"x":                             "1:1: expected a digest",
		"\n":                            "1:1: expected a digest",
		tree + "  a":                    "1:1: expected a digest",
		tree + " a\n":                   "1:1: expected a digest",
		tree + " *a\n":                  "1:1: expected a digest",
		tree[1:] + "  a\n":              "1:1: expected a digest",
		strings.ToUpper(tree) + "  a\n": "1:1: expected a digest",
		line + line:                     "2:1: expected paths in order",
		tree + "  b\n" + line:           "2:1: expected paths in order",
		tree + "  ../a\n":               "a step out of the module",
		tree + "  /a\n":                 "not relative and clean",
		tree + "  \n":                   "an empty name",
		tree + "  a\r\n":                "a control or invisible character",
		`\` + tree + "  a\n":            "1:1: expected a digest",
		line + "\n":                     "2:1: expected a digest",
		many.String():                   "5001:1: more than 5000 files",
	} {
		got, err := ParseSums([]byte(in))
		var e *LineError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || got != nil || e.Hint == "" {
			t.Errorf("ParseSums(%.100q) = %v, %v, want %q", in, len(got), err, want)
		}
	}
}

func TestStore(t *testing.T) {
	for dir, want := range map[string][2]string{
		"":        {sha, sha + ".b3sums"},
		"d":       {sha + "/d", sha + ".d.b3sums"},
		"a/b":     {sha + "/a/b", sha + ".a%2Fb.b3sums"},
		"a%2Fb":   {sha + "/a%2Fb", sha + ".a%252Fb.b3sums"},
		"@team/x": {sha + "/@team/x", sha + ".@team%2Fx.b3sums"},
	} {
		files, list := Store(sha, dir)
		if got := [2]string{files, list}; got != want {
			t.Errorf("Store(%q) = %q, want %q", dir, got, want)
		}
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(tree + "  a\n" + tree + "  b/c\n"))
	f.Add([]byte(tree + "  ../x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sums, err := ParseSums(text)
		if err != nil {
			return
		}
		if again := AppendSums(nil, sums); !bytes.Equal(again, text) {
			t.Errorf("ParseSums(%q), formatted: %q", text, again)
		}
		for _, s := range sums {
			if d, ok := FindSum(sums, s.Path); !ok || d != s.Digest || CheckPath(s.Path) != nil {
				t.Errorf("ParseSums(%q): %+v is found as %q, %v", text, s, d, ok)
			}
		}
	})
}
