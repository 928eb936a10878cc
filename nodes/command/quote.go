package command

import "strings"

// quote returns a word as it stands in a command: bare where no shell reads anything
// into it, else in single quotes.
func quote(w string) string {
	if w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 || strings.ContainsRune("_@%+=:,./-", r))
	}) < 0 {
		return w
	}
	return singleQuoted(w)
}

func singleQuoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }

// AllowLine returns the line that lists a command under [trust] in .mwp, so that it
// becomes a project guard (D-87):
//
//	allowed_guards = ["./check.sh --all"]
//
// It returns "" for a command that no line can list, because it is Invalid or holds
// a newline or a tab; such a command has to move into a script.
func AllowLine(c Command) string {
	if c.Invalid != "" || strings.ContainsAny(c.Text, "\n\t") {
		return ""
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.Text)
	return `allowed_guards = ["` + escaped + `"]`
}
