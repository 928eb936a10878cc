package pin

import (
	"path"
	"strings"
	"testing"
)

func TestCheckPath(t *testing.T) {
	for _, p := range []string{
		"a", "a/b.md", ".mwp-module.md", ".gitignore", ".gitmodules", "a b/c d.md", "ü/日本.md", "@scope/x", "console", "com10", "nullable.md", "..a", "a..b",
		strings.Repeat("d/", MaxDepth-1) + "x", strings.Repeat("x", MaxPathBytes), "a/ b",
	} {
		if err := CheckPath(p); err != nil {
			t.Errorf("CheckPath(%q) = %v", p, err)
		}
	}
	for p, want := range map[string]string{
		"":                                   "an empty name",
		"\xff":                               "not UTF-8",
		strings.Repeat("x", MaxPathBytes+1):  "more than 180 bytes",
		"/a":                                 "not relative and clean",
		"a/":                                 "not relative and clean",
		"a//b":                               "not relative and clean",
		"./a":                                "not relative and clean",
		"a/../b":                             "not relative and clean",
		"..":                                 "a step out of the module",
		"../a":                               "a step out of the module",
		".":                                  "ends in a dot",
		strings.Repeat("d/", MaxDepth) + "x": "more than 32 directories",
		`a\b`:                                "one of the characters",
		"c:/x":                               "one of the characters",
		"a*":                                 "one of the characters",
		"a?":                                 "one of the characters",
		`a"`:                                 "one of the characters",
		"a<b":                                "one of the characters",
		"a|b":                                "one of the characters",
		"a\nb":                               "a control or invisible character",
		"a\x00":                              "a control or invisible character",
		"a\x7f":                              "a control or invisible character",
		"a\u200b":                            "a control or invisible character",
		"a\u202egnp.md":                      "a control or invisible character",
		"a\u2028b":                           "a control or invisible character",
		"a\U000e0041":                        "a control or invisible character",
		"a\ufffd":                            "a control or invisible character",
		".git":                               "look-alike",
		"a/.GIT/config":                      "look-alike",
		"git~1":                              "look-alike",
		".g\u200cit":                         "a control or invisible character",
		"a.":                                 "ends in a dot or a blank",
		"a /b":                               "ends in a dot or a blank",
		".git.":                              "ends in a dot or a blank",
		"nul":                                "a device on Windows",
		"a/NUL.md":                           "a device on Windows",
		"con.tar.gz":                         "a device on Windows",
		"aux .md":                            "a device on Windows",
		"COM1":                               "a device on Windows",
		"conout$":                            "a device on Windows",
	} {
		if err := CheckPath(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckPath(%q) = %v, want %q", p, err, want)
		}
	}
}

func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{"a/b", "../a", ".git/x", "a\u200b", "nul.txt", "a/./b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPath(p) != nil {
			return
		}
		if full := path.Join("/root", p); !strings.HasPrefix(full, "/root/") || full != "/root/"+p {
			t.Errorf("CheckPath(%q) lets through what means %q", p, full)
		}
		if strings.ContainsAny(p, "\x00\n\r\\:") || strings.Contains("/"+strings.ToLower(p)+"/", "/.git/") {
			t.Errorf("CheckPath(%q) = nil", p)
		}
	})
}
