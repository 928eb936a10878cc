package command

import (
	"strconv"
	"strings"
)

// Label returns what a guard without a name is called in text (D-97): the command,
// where a path in the first word gives way to its last element, quoted again if it
// has to be ("./tools/size.sh --x" is "size.sh --x"). The words behind it, and those
// of a command for the shell, stay as they are written. It is one line: characters
// that do not show are escaped as in Go (\n, \u200d).
func Label(c Command) string {
	text := c.Text
	if words := scan(c.Text).before(); len(words) > 0 {
		w := words[0]
		base := w.value[strings.LastIndexByte(w.value, '/')+1:]
		if base != "" && base != w.value && !assigns(w.value[:w.bare]) {
			text = quote(base) + text[w.end:]
		}
	}
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
