package ir

import "strings"

// ShellWord quotes text as one word for a shell where that is necessary. Hints are
// copied, and what they quote comes from files of strangers.
func ShellWord(s string) string {
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/._-+:@%,=", c) >= 0) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
