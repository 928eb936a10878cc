package nodes

import (
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	keys := headerKeys(Markdown)
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"gaurds", keys, "guards"},
		{"prioritty", keys, "priority"},
		{"import", keys, "imports"},
		{"cache_fro", guardKeys(), "cache_for"},
		{"maxTokens", keys, "max_tokens"},
		{"max-tokens", keys, "max_tokens"},
		{"Layer", keys, "layer"},
		{"owner", keys, "owners"},
		{"verify_paths", keys, "verified_paths"},
		{"layer", keys, ""},
		{"interpolate", keys, ""},
		{"x", keys, ""},
		{"", keys, ""},
		{"--", keys, ""},
		{"l9", configTableKeys("budgets"), ""},
		{"mpa", []string{"lint", "map", "verify"}, "map"},
		{"wrokspace", importKinds(), "workspace"},
		{"ab", []string{"cd"}, ""},
		{strings.Repeat("layer", 100), keys, ""},
		{"\xff\xfe", keys, ""},
	} {
		if got := Suggest(tt.name, tt.known); got != tt.want {
			t.Errorf("Suggest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSuggestDoesNotDependOnOrder(t *testing.T) {
	known := []string{"bat", "cat", "hat"}
	for range 6 {
		known = append(known[1:], known[0])
		if got := Suggest("rat", known); got != "bat" {
			t.Errorf("Suggest(rat, %v) = %q, want bat", known, got)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"gaurds", "guards", 1}, {"äö", "öä", 1},
	} {
		if got := editDistance([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := editDistance([]rune(tt.b), []rune(tt.a)); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
