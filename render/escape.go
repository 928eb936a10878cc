package render

import (
	"strings"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// appendName appends s with everything percent-encoded that could end the line
// or hide in it: control characters, line separators, bidirectional and
// zero-width characters, invalid UTF-8, the beginning of a comment (D-105, D-112).
// In a comment
// also runs of hyphens and angle brackets, which could close it or the tag around
// it, and '|', which separates its fields.
//
// A '%' is encoded where two hexadecimal digits follow, so that decoding each
// "%XX" and nothing else gives the name back, and "100%.md" stays openable as
// written.
func appendName(dst []byte, s string, comment bool) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			part := s[i : i+size]
			if r == utf8.RuneError && size == 1 || ir.EscapeControls(part) != part {
				for j := range size {
					dst = appendPercent(dst, part[j])
				}
			} else {
				dst = append(dst, part...)
			}
			i += size
			continue
		}
		switch {
		case c < 0x20, c == 0x7f,
			c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]),
			comment && (c == '|' || c == '<' || c == '>'),
			strings.HasPrefix(s[i:], "<!--"),
			comment && c == '-' && (i > 0 && s[i-1] == '-' || i+1 < len(s) && s[i+1] == '-'):
			dst = appendPercent(dst, c)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

func appendPercent(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// briefBytes bounds what a map and a report show of one command or reason. The JSON
// has all of it. A guard stands for many texts, so that a long command would come
// again with each of them.
const briefBytes = 400

// brief returns s as it may stand in a line for people: control characters as \xNN,
// the end of a very long text as three dots.
func brief(s string) string {
	if len(s) > briefBytes {
		cut := briefBytes
		for cut > briefBytes-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return ir.EscapeControls(s)
}

var inertMarkdown = strings.NewReplacer("`", "\\`", "<!--", "\\<!--")

// command returns a guard's command or name as it may stand in a line of a map: as
// brief has it, with a backslash before what begins a code span or a comment (D-60).
func command(s string) string {
	return inertMarkdown.Replace(brief(s))
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// shellWord returns target as one argument of a command line that a reader may
// paste. A name that no quoting shows faithfully on one line gives ok false.
func shellWord(target string) (word string, ok bool) {
	if target == "" || strings.ContainsAny(target, "'`<>") || !utf8.ValidString(target) || ir.EscapeControls(target) != target {
		return "", false
	}
	if target[0] == '-' {
		target = "./" + target
	}
	return ir.ShellWord(target), true
}
