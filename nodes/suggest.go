package nodes

import (
	"strings"
	"unicode"
)

// maxSuggestLen bounds the names that Suggest compares; nothing longer is a
// misspelt key, and the comparison takes the product of the lengths.
const maxSuggestLen = 64

// Suggest returns the known name that name most likely means, or "" when none is
// near. Case, '-' and '_' do not count, two exchanged neighbours count once, and
// a third of the letters may differ. Ties go to the smaller name, so the answer
// does not depend on the order of known (D-02, D-28).
func Suggest(name string, known []string) string {
	from := foldName(name)
	if len(from) == 0 || len(from) > maxSuggestLen {
		return ""
	}
	best, bestDistance := "", 0
	for _, k := range known {
		if k == name {
			return ""
		}
		to := foldName(k)
		limit := max(len(from), len(to)) / 3
		if len(to) > maxSuggestLen || len(from)-len(to) > limit || len(to)-len(from) > limit {
			continue
		}
		d := editDistance(from, to)
		if d <= limit && (best == "" || d < bestDistance || d == bestDistance && k < best) {
			best, bestDistance = k, d
		}
	}
	return best
}

func foldName(s string) []rune {
	if len(s) > maxSuggestLen*4 {
		s = s[:maxSuggestLen*4]
	}
	return []rune(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, s))
}

// editDistance is the Damerau-Levenshtein distance in its restricted form: no
// letter takes part in two exchanges.
func editDistance(a, b []rune) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d := min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
