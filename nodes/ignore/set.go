package ignore

import "strings"

// set is a set of bytes.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

func (s *set) add(c byte) { s[c>>6] |= 1 << (c & 63) }

func (s *set) addRange(low, high byte) {
	for c := int(low); c <= int(high); c++ {
		s.add(byte(c))
	}
}

// readSet reads the bracket expression at the beginning of s and returns how long
// it is. It reports false for one that git gives up at. No set has '/' in it.
func readSet(s string) (out set, length int, ok bool) {
	i := 1
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	var low byte // of a range, if a '-' follows; 0 for none
	closing := 0 // the first ']' behind the last "[:"
	for first := i; i < len(s); i++ {
		switch c := s[i]; {
		case c == ']' && i > first:
			return out.finished(negated), i + 1, true
		case c == '-' && low != 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				i++
			}
			if i == len(s) {
				return out, 0, false
			}
			out.addRange(low, s[i])
			low = 0
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			// Looking for it anew each time would be quadratic in "[[:[:[:".
			if closing < i+2 {
				n := strings.IndexByte(s[i+2:], ']')
				if n < 0 {
					return out, 0, false
				}
				closing = i + 2 + n
			}
			if closing == i+2 || s[closing-1] != ':' {
				out.add(c) // and the ':' next
				continue
			}
			if !out.addNamed(s[i+2 : closing-1]) {
				return out, 0, false
			}
			i = closing
			low = 0
		default:
			if c == '\\' {
				i++
				if i == len(s) {
					return out, 0, false
				}
			}
			out.add(s[i])
			low = s[i]
		}
	}
	return out, 0, false
}

func (s set) finished(negated bool) set {
	if negated {
		for i := range s {
			s[i] = ^s[i]
		}
	}
	s['/'>>6] &^= 1 << ('/' & 63)
	return s
}

// addNamed adds a class of POSIX, of which git knows the ASCII part. It reports
// false for a name that git does not know.
func (s *set) addNamed(name string) bool {
	for _, class := range classes {
		if class.name == name {
			for i := 0; i < len(class.ranges); i += 2 {
				s.addRange(class.ranges[i], class.ranges[i+1])
			}
			return true
		}
	}
	return false
}

// classes are the named classes, as pairs of a first and a last byte. In git, a
// space is neither a vertical tab nor a form feed.
var classes = []struct{ name, ranges string }{
	{"alnum", "09AZaz"},
	{"alpha", "AZaz"},
	{"blank", "\t\t  "},
	{"cntrl", "\x00\x1f\x7f\x7f"},
	{"digit", "09"},
	{"graph", "!~"},
	{"lower", "az"},
	{"print", " ~"},
	{"punct", "!/:@[`{~"},
	{"space", "\t\n\r\r  "},
	{"upper", "AZ"},
	{"xdigit", "09AFaf"},
}
