package nodes

import (
	"strings"
	"unicode/utf8"
)

// MemberMatch reports whether a `members` list covers the directory at path,
// relative to the workspace root (D-05). A pattern is a path whose segments may
// hold '*', '?' and '[..]'; a segment '**' stands for any number of segments,
// none included. The last pattern that matches decides, and a leading '!' makes
// it exclude. The root is no member of itself.
//
// Wildcards of an including pattern do not match a segment that begins with '.'
// or is node_modules: a project vendored there must be named to be trusted (D-07).
func MemberMatch(patterns []string, path string) bool {
	target, ok := memberSegments(path)
	if !ok || len(target) == 0 {
		return false
	}
	member := false
	for _, p := range patterns {
		p, excludes := strings.CutPrefix(strings.TrimSpace(p), "!")
		if member != excludes {
			continue
		}
		if segs, ok := memberSegments(p); ok && matchSegments(segs, target, excludes) {
			member = !excludes
		}
	}
	return member
}

// memberSegments splits a relative path and drops the segments that mean
// nothing. Paths that lead out of the root have no segments to compare.
func memberSegments(path string) ([]string, bool) {
	if strings.HasPrefix(path, "/") {
		return nil, false
	}
	var segs []string
	for s := range strings.SplitSeq(path, "/") {
		switch s {
		case "", ".":
		case "..":
			return nil, false
		default:
			segs = append(segs, s)
		}
	}
	return segs, true
}

// matchSegments compares with one remembered '**': when a later part fails, only
// the last '**' needs to take one segment more, because an earlier one could
// only move the same attempt further right. That keeps the time to the product
// of the lengths, where plain recursion doubles with every '**'.
func matchSegments(pattern, path []string, anything bool) bool {
	p, s, star, mark := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, s
			p++
		case p < len(pattern) && matchSegment(pattern[p], path[s], anything):
			p++
			s++
		case star >= 0 && (anything || wildcardsMay(path[mark])):
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func wildcardsMay(segment string) bool {
	return segment != "node_modules" && !strings.HasPrefix(segment, ".")
}

// matchSegment matches one segment, with the same single step back for '*'.
func matchSegment(pattern, name string, anything bool) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return pattern == name
	}
	if !anything && !wildcardsMay(name) && !(strings.HasPrefix(name, ".") && strings.HasPrefix(pattern, ".")) {
		return false
	}
	p, s, star, mark := 0, 0, -1, 0
	for s < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, s
			p++
			continue
		}
		if width, size, ok := matchRune(pattern[p:], name[s:]); ok {
			p += width
			s += size
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, s = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchRune matches the pattern's first element against the name's first
// character and returns how many bytes of each it took.
func matchRune(pattern, name string) (width, size int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	c, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size, true
	case '[':
		if width, in := matchClass(pattern, c); width > 0 {
			return width, size, in
		}
	}
	p, width := utf8.DecodeRuneInString(pattern)
	return width, size, p == c && pattern[:width] == name[:size]
}

// matchClass reads '[a-z]', '[!a]' or '[^a]' at the start of the pattern. Its
// width is 0 when there is no closing bracket; the bracket is then itself.
func matchClass(pattern string, c rune) (width int, in bool) {
	i := 1
	negated := false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negated = true
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, in != negated
		}
		lo, n := utf8.DecodeRuneInString(pattern[i:])
		i += n
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, n = utf8.DecodeRuneInString(pattern[i+1:])
			i += 1 + n
		}
		if lo <= c && c <= hi {
			in = true
		}
	}
	return 0, false
}
