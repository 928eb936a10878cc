package tokens

// The exact counters cut a text into pieces before merging, each with a
// regular expression whose alternatives are tried in order, as a backtracking
// engine does. The functions here return the end of the piece that starts at
// i, for i < len(text); every character belongs to a piece.
//
// A piece may end before the run that was scanned to find it: white space is
// cut after its last newline or before its last character, a word after its
// last caseless letter. The scans are linear all the same, because what is left
// of such a run is one piece, or two.

// nextO200k matches
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func nextO200k(text []byte, i int) int {
	c, n := classAt(text, i)
	start := i
	if prefixes.has(c) {
		start += n
	}
	end, certain := casedWord(text, start)
	if !certain && c == mark {
		// Only a mark may be both the prefix and part of the word. The first
		// alternative without the prefix, which ends after the mark, comes
		// before the second one with it.
		end = start
	}
	if end > start || c == mark {
		return end + contraction(text[end:])
	}
	switch {
	case c == number:
		return digits(text, i)
	case c == other || c == space && symbolAfterBlank(text, i):
		end := symbols.run(text, i+n)
		for end < len(text) && (text[end] == '\r' || text[end] == '\n' || text[end] == '/') {
			end++
		}
		return end
	default:
		return whiteSpace(text, i)
	}
}

// casedWord returns the end of the word that starts at i, or i if there is
// none. The word is certain if the first of the two alternatives matches: a
// run of uppers and lowers, in that order, with at least one of the latter.
// Otherwise it is a run of class upper alone.
func casedWord(text []byte, i int) (end int, certain bool) {
	last := i
	for i < len(text) {
		c, n := classAt(text, i)
		if c == lower {
			return lowers.run(text, i+n), true
		}
		if !uppers.has(c) {
			break
		}
		i += n
		if bothCases.has(c) {
			last, certain = i, true
		}
	}
	if certain {
		return last, true
	}
	return i, false
}

// nextCl100k matches
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// OpenAI's present spelling has \s++$ before \s*[\r\n]+ and so leaves white
// space at the end of the text in one piece. No token spans the cut that is
// missing there (a test looks at all), so the counts are the same.
func nextCl100k(text []byte, i int) int {
	if n := contraction(text[i:]); n > 0 {
		return i + n
	}
	c, n := classAt(text, i)
	start := i
	if prefixes.has(c) {
		start += n
	}
	if end := letters.run(text, start); end > start {
		return end
	}
	switch {
	case c == number:
		return digits(text, i)
	case c == other || c == mark || c == space && symbolAfterBlank(text, i):
		end := symbols.run(text, i+n)
		for end < len(text) && (text[end] == '\r' || text[end] == '\n') {
			end++
		}
		return end
	default:
		return whiteSpace(text, i)
	}
}

// contraction returns the length of the match of (?i:'s|'t|'re|'ve|'m|'ll|'d)
// at the start of b, or 0.
func contraction(b []byte) int {
	if len(b) < 2 || b[0] != '\'' {
		return 0
	}
	// For ASCII letters, setting this bit is lower-casing; no other byte
	// becomes one of the letters below but its own upper case.
	switch b[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(b) > 2 && b[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(b) > 2 && b[2]|0x20 == 'l' {
			return 3
		}
	case 0xc5 | 0x20:
		// U+017F, the long s, is an s when case is ignored.
		if len(b) > 2 && b[1] == 0xc5 && b[2] == 0xbf {
			return 3
		}
	}
	return 0
}

// digits matches \p{N}{1,3}, knowing that a number stands at i.
func digits(text []byte, i int) int {
	for range 3 {
		if i == len(text) {
			break
		}
		c, n := classAt(text, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// symbolAfterBlank reports whether U+0020 stands at i with a symbol after it.
func symbolAfterBlank(text []byte, i int) bool {
	if text[i] != ' ' || i+1 == len(text) {
		return false
	}
	c, _ := classAt(text, i+1)
	return symbols.has(c)
}

// whiteSpace matches \s*[\r\n]+|\s+(?!\S)|\s+, knowing that white space stands
// at i: a run is cut after its last newline; without one it leaves its last
// character to the word that follows, unless that is all there is.
func whiteSpace(text []byte, i int) int {
	end, last, afterNewline := i, i, i
	for end < len(text) {
		c, n := classAt(text, end)
		if !spaces.has(c) {
			break
		}
		last = end
		end += n
		if c == newline {
			afterNewline = end
		}
	}
	switch {
	case afterNewline > i:
		return afterNewline
	case end == len(text) || last == i:
		return end
	default:
		return last
	}
}
