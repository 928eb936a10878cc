package tokens

import (
	_ "embed"
	"unicode/utf8"
)

// class tells what the patterns of the exact counters can tell about a
// character: \s, \r\n, \p{N}, and the letters and marks by their case.
type class uint8

const (
	other    class = iota // none of the following: punctuation, symbols, controls
	space                 // white space but for newlines
	newline               // CR and LF
	number                // Nd, Nl, No
	upper                 // Lu, Lt
	lower                 // Ll
	caseless              // Lm, Lo
	mark                  // Mn, Mc, Me
)

// classData is a table in two stages: for each 128 characters, up to the last
// that are not all of class other, the number of a block; then the blocks, one
// byte for each character. Package unicode would have to search up to eight
// lists of ranges, which takes 72 ns for a Chinese character against 3 ns here,
// and its version changes with the Go release.
//
//go:embed data/classes.tab
var classData string

// classBlocks is where the blocks begin. The first is that of ASCII.
const classBlocks = 0xe0200 >> 7

func classOf(r rune) class {
	i := int(r >> 7)
	if i >= classBlocks {
		return other
	}
	return class(classData[classBlocks+int(classData[i])<<7+int(r&127)])
}

// classAt returns the class and size of the character at the start of text
// from i on, which must not be empty.
func classAt(text []byte, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return class(classData[classBlocks+int(b)]), 1
	}
	// An invalid byte decodes as U+FFFD of size 1, which is of class other.
	r, n := utf8.DecodeRune(text[i:])
	return classOf(r), n
}

// classes is a set of classes.
type classes uint8

const (
	letters   classes = 1<<upper | 1<<lower | 1<<caseless
	lowers    classes = 1<<lower | 1<<caseless | 1<<mark // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	uppers    classes = 1<<upper | 1<<caseless | 1<<mark // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	prefixes  classes = 1<<other | 1<<space | 1<<mark    // [^\r\n\p{L}\p{N}]
	symbols   classes = 1<<other | 1<<mark               // [^\s\p{L}\p{N}]
	spaces    classes = 1<<space | 1<<newline            // \s
	numbers   classes = 1 << number                      // \p{N}
	bothCases classes = lowers & uppers
)

func (s classes) has(c class) bool { return s>>c&1 != 0 }

// run returns the end of the longest run of characters in s that starts at i.
func (s classes) run(text []byte, i int) int {
	for i < len(text) {
		c, n := classAt(text, i)
		if !s.has(c) {
			break
		}
		i += n
	}
	return i
}
