package mwp

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// stopWords say nothing about what an intent is for: articles, prepositions, and the names
// of months, with which people date files (D-77).
const stopWords = " a an and as at be by for from in into is it of on or our that the this to up via we with v ver version rev draft final new old wip tmp copy " +
	"jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov november dec december "

// intentPattern returns what makes two intents the same work: the words of the file's
// name in lower case, without digits, dates and stop words (D-77). It is "" for a name
// that says nothing more.
func intentPattern(name string) string {
	if ext := path.Ext(name); len(ext) > 1 && len(ext) <= 5 {
		name = strings.TrimSuffix(name, ext)
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) })
	var kept []string
	for _, w := range words {
		letters := strings.TrimFunc(w, unicode.IsDigit)
		numbered := letters != w
		letters = strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, letters)
		// What is left of v2, q3, w14 and 2026t10 is no word.
		if letters == "" || numbered && len(letters) == 1 || strings.Contains(stopWords, " "+letters+" ") {
			continue
		}
		kept = append(kept, letters)
	}
	return strings.Join(kept, " ")
}

// recurrence is a pattern with the archived intents that have it.
type recurrence struct {
	pattern string
	names   []string
}

// shownNames is how many names of one pattern are told.
const shownNames = 3

// recurring returns the patterns that at least two archived intents have and no pipeline,
// the most frequent first (R-170, D-77).
func recurring(archive, pipelines []string) []recurrence {
	known := map[string]bool{}
	for _, p := range pipelines {
		known[intentPattern(p)] = true
	}
	names := map[string][]string{}
	for _, a := range archive {
		if p := intentPattern(a); p != "" && !known[p] {
			names[p] = append(names[p], a)
		}
	}
	var out []recurrence
	for p, list := range names {
		if len(list) > 1 {
			slices.Sort(list)
			out = append(out, recurrence{p, list})
		}
	}
	slices.SortFunc(out, func(a, b recurrence) int {
		if len(a.names) != len(b.names) {
			return len(b.names) - len(a.names)
		}
		return strings.Compare(a.pattern, b.pattern)
	})
	for i := range out {
		r := &out[i]
		if more := len(r.names) - shownNames; more > 0 {
			r.names = append(r.names[:shownNames:shownNames], plural(more, "more", "more"))
		}
	}
	return out
}
