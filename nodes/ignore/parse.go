package ignore

import "strings"

// Patterns is one ignore file, parsed. It never changes.
type Patterns struct{ list []pattern }

// pattern is one line. Those that can match nothing are not kept.
type pattern struct {
	written string // the line
	text    string // what the name equals, ends with or, for a glob, begins with
	glob    *glob  // what follows text in the name
	line    uint32
	suffix  bool // text is the end of the name: the pattern is "*text"
	negated bool
	dirOnly bool
	// anchored patterns match the path from the file's directory, others the last
	// name of a path at any depth.
	anchored bool
}

// Parse reads the text of an ignore file. There are no invalid ones: what git
// cannot match is passed over, as git does. The result refers to one copy of the
// text and takes at most about 60 bytes for each byte of it, so that the caller
// should bound what it reads.
func Parse(text []byte) Patterns {
	var out Patterns
	rest := strings.TrimPrefix(string(text), "\ufeff")
	for number := uint32(1); rest != ""; number++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if p, ok := parseLine(trimLine(line)); ok {
			p.line = number
			out.list = append(out.list, p)
		}
	}
	return out
}

// trimLine removes what git strips from the end of a line: one carriage return,
// all from the first NUL, and spaces (but not tabs) without a backslash.
func trimLine(line string) string {
	line = strings.TrimSuffix(line, "\r")
	line, _, _ = strings.Cut(line, "\x00")
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == ' ' {
			continue
		}
		if line[i] == '\\' {
			i++
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

func parseLine(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	p.written = line
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	wild := strings.IndexAny(line, `*?[\`)
	if wild < 0 {
		p.text = line
		return p, true
	}
	if !p.anchored && line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`) {
		p.text, p.suffix = line[1:], true
		return p, true
	}
	// The glob begins anew behind the plain text, as in git, so that two stars
	// there count as following a slash: "a/b**/c" matches "a/bx/y/c".
	p.text = line[:wild]
	p.glob, ok = compile(line[wild:])
	return p, ok
}

func (p *pattern) matches(name string) bool {
	switch {
	case p.suffix:
		return strings.HasSuffix(name, p.text)
	case p.glob == nil:
		return name == p.text
	}
	rest, ok := strings.CutPrefix(name, p.text)
	if !ok {
		return false
	}
	ok, _ = p.glob.match(rest)
	return ok
}
