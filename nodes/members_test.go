package nodes

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMemberMatch(t *testing.T) {
	for _, tt := range []struct {
		patterns string
		path     string
		want     bool
	}{
		{"engine", "engine", true},
		{"engine", "engine/core", false},
		{"engine", "Engine", false},
		{"./engine/", "engine", true},
		{"engine", "./engine/", true},
		{"a//b", "a/b", true},
		{"packages/*", "packages/a", true},
		{"packages/*", "packages", false},
		{"packages/*", "packages/a/b", false},
		{"packages/**", "packages", true},
		{"packages/**", "packages/a/b/c", true},
		{"**", "a/b", true},
		{"**/web", "web", true},
		{"**/web", "a/b/web", true},
		{"**/web", "a/webx", false},
		{"a/**/b/**/c", "a/b/x/b/y/c", true},
		{"a/**/b/**/c", "a/x/c", false},
		{"*-api", "orders-api", true},
		{"*-api", "orders-apis", false},
		{"a*b*c", "aXbYbZc", true},
		{"svc?", "svc1", true},
		{"svc?", "svc12", false},
		{"svc?", "svcé", true},
		{"svc[0-9]", "svc7", true},
		{"svc[0-9]", "svcx", false},
		{"svc[!0-9]", "svcx", true},
		{"svc[^0-9]", "svc1", false},
		{"svc[]x]", "svc]", true},
		{"svc[a-]", "svc-", true},
		{"svc[", "svc[", true},
		{"svc[a", "svc[a", true},
		{"", "a", false},
		{"**", ".", false},
		{"**", "", false},
		{".", "a", false},
		{"/engine", "engine", false},
		{"engine", "/engine", false},
		{"../x", "x", false},
		{"**", "../x", false},

		{"packages/* !packages/old", "packages/old", false},
		{"packages/* !packages/old", "packages/new", true},
		{"!packages/old packages/*", "packages/old", true},
		{"packages/* !packages/* packages/keep", "packages/keep", true},
		{"!a", "b", false},
		{"** !**/test/**", "a/test/b", false},
		{"./packages/* !./packages/old/", "packages/old", false},

		{"**", "node_modules/x", false},
		{"**", "a/node_modules/x", false},
		{"*/x", "node_modules/x", false},
		{"node_modules/x", "node_modules/x", true},
		{"node_modules/*", "node_modules/x", true},
		{"*", ".git", false},
		{"**", ".cache/x", false},
		{".*", ".cache", true},
		{".cache/*", ".cache/x", true},
		{".cache/x !**", ".cache/x", false},
		{"node_modules/x !*/x", "node_modules/x", false},
		{"**/node_modules/**/b", "a/node_modules/c/b", true},
	} {
		if got := MemberMatch(strings.Fields(tt.patterns), tt.path); got != tt.want {
			t.Errorf("MemberMatch(%q, %q) = %v, want %v", tt.patterns, tt.path, got, tt.want)
		}
	}
}

// slowMatch is the definition, by recursion.
func slowMatch(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return slowMatch(pattern[1:], path) || len(path) > 0 && wildcardsMay(path[0]) && slowMatch(pattern, path[1:])
	}
	return len(path) > 0 && slowSegment(pattern[0], path[0]) && slowMatch(pattern[1:], path[1:])
}

func slowSegment(p, s string) bool {
	if strings.ContainsAny(p, "*?[") && !wildcardsMay(s) && !(strings.HasPrefix(s, ".") && strings.HasPrefix(p, ".")) {
		return false
	}
	var match func(p, s string) bool
	match = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return match(p[1:], s) || s != "" && match(p, s[1:])
		case s == "":
			return false
		case p[0] == '?' || p[0] == s[0]:
			return match(p[1:], s[1:])
		}
		return false
	}
	return match(p, s)
}

func TestMemberMatchEqualsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) []string {
		out := make([]string, 1+rng.IntN(5))
		for i := range out {
			out[i] = from[rng.IntN(len(from))]
		}
		return out
	}
	for range 50_000 {
		pattern := pick([]string{"**", "**", "*", "a", "b", "a*", "*b", "?", "a*b", ".x", ".*", "node_modules", "*a*a"})
		path := pick([]string{"a", "b", "ab", "aab", "ba", ".x", "node_modules", "aXab"})
		p, s := strings.Join(pattern, "/"), strings.Join(path, "/")
		if got, want := MemberMatch([]string{p}, s), slowMatch(pattern, path); got != want {
			t.Fatalf("MemberMatch(%q, %q) = %v, want %v", p, s, got, want)
		}
	}
}

// An exponential matcher does not come back from these.
func TestMemberMatchOfManyWildcards(t *testing.T) {
	path := strings.Repeat("a/", 400) + "a"
	if MemberMatch([]string{strings.Repeat("**/", 300) + "b"}, path) {
		t.Error("MemberMatch matched a path without b")
	}
	if MemberMatch([]string{strings.Repeat("a*", 300) + "b"}, strings.Repeat("a", 2000)) {
		t.Error("MemberMatch matched a name without b")
	}
	if !MemberMatch([]string{strings.Repeat("**/a/", 200) + "**"}, path) {
		t.Error("MemberMatch did not match 401 times a")
	}
}

func FuzzMemberMatch(f *testing.F) {
	f.Add("packages/*", "packages/a")
	f.Add("!**/[a-", "x")
	f.Add("\xff[\xff-\xfe]", "\xff\xff")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		got := MemberMatch([]string{pattern}, path)
		if got && MemberMatch([]string{pattern, "!" + strings.TrimSpace(pattern)}, path) {
			t.Errorf("MemberMatch(%q, %q): the pattern does not exclude what it includes", pattern, path)
		}
	})
}
