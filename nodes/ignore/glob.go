package ignore

import "strings"

// glob is a compiled wildcard pattern.
type glob struct {
	ops  []op // the last is end
	sets []set
}

// op matches a part of a name: below oneChar the byte of that value, from
// firstSet one byte of sets[op-firstSet].
type op uint32

const (
	oneChar  op = 256 + iota // ?: one byte but '/'
	inName                   // *: bytes but '/'
	dirs                     // **/: nothing, or bytes up to and with a '/'
	someDirs                 // **\/: bytes up to and with a '/'
	rest                     // ** at the end: whatever is left
	end                      // nothing is left
	firstSet
)

// compile reports false for a pattern that can match nothing.
func compile(s string) (*glob, bool) {
	g := &glob{}
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			if i+1 == len(s) {
				return nil, false
			}
			g.ops = append(g.ops, op(s[i+1]))
			i += 2
		case '?':
			g.ops = append(g.ops, oneChar)
			i++
		case '*':
			star, n := readStars(s, i)
			g.ops = append(g.ops, star)
			i += n
		case '[':
			set, n, ok := readSet(s[i:])
			if !ok {
				return nil, false
			}
			g.ops = append(g.ops, firstSet+op(len(g.sets)))
			g.sets = append(g.sets, set)
			i += n
		default:
			g.ops = append(g.ops, op(s[i]))
			i++
		}
	}
	g.ops = append(g.ops, end)
	return g, true
}

// readStars returns the op of the stars at s[i] and how many bytes it covers. Two
// stars are more than one only between slashes or at an end.
func readStars(s string, i int) (op, int) {
	n := 1
	for i+n < len(s) && s[i+n] == '*' {
		n++
	}
	if n == 1 || i > 0 && s[i-1] != '/' {
		return inName, n
	}
	switch after := s[i+n:]; {
	case after == "":
		return rest, n
	case after[0] == '/':
		return dirs, n + 1
	case strings.HasPrefix(after, `\/`):
		return someDirs, n + 2
	}
	return inName, n
}

// match reports whether the glob matches all of a name, and in how many steps: at
// most twice the product of both lengths, each plus one.
//
// After a mismatch it tries again from the last star only. That is enough, and
// keeps hostile patterns from exploding: what comes before a star has then matched
// as early as it can, which leaves the star every choice that any later match
// would. For the same reason nothing can match any more when the name ends too
// early, and a * that has met a '/' gives way to the last ** before it.
func (g *glob) match(name string) (ok bool, steps int) {
	t := try{name: name, star: none, deep: none}
	for {
		t.steps++
		switch o := g.ops[t.next]; {
		case o == rest, o == end && t.at == len(name):
			return true, t.steps
		case o == inName:
			t.next++
			t.star, t.starAt = t.next, t.at
		case o == dirs || o == someDirs:
			t.next++
			t.star = none
			t.deep, t.deepAt = t.next, t.at
			if o == someDirs && !t.skipDir() {
				return false, t.steps
			}
		case t.at < len(name) && g.takes(o, name[t.at]):
			t.next++
			t.at++
		case !t.again():
			return false, t.steps
		}
	}
}

// takes reports whether an op for one byte matches it.
func (g *glob) takes(o op, c byte) bool {
	switch {
	case o < oneChar:
		return byte(o) == c
	case o == oneChar:
		return c != '/'
	case o == end:
		return false
	}
	return g.sets[o-firstSet].has(c)
}

// try is how far a match has come.
type try struct {
	name     string
	next, at int // the op to match next, and where in the name
	// The ops behind the last * and the last **, or none, and where in the name
	// they were tried last.
	star, starAt int
	deep, deepAt int
	steps        int
}

const none = -1

// again goes back to the last star and gives it more of the name. It reports false
// when that is of no use.
func (t *try) again() bool {
	if t.at == len(t.name) {
		return false
	}
	if t.star != none && t.name[t.starAt] != '/' {
		t.starAt++
		t.next, t.at = t.star, t.starAt
		return true
	}
	return t.deep != none && t.skipDir()
}

// skipDir gives the last ** one more '/' and what lies before it.
func (t *try) skipDir() bool {
	n := strings.IndexByte(t.name[t.deepAt:], '/')
	if n < 0 {
		return false
	}
	t.steps += n
	t.deepAt += n + 1
	t.next, t.at = t.deep, t.deepAt
	return true
}
