package ignore

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// generator makes trees in which patterns and paths have a good chance to meet.
type generator struct {
	*rand.Rand
	names []string
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 73))}
	for range 3 + g.IntN(4) {
		g.names = append(g.names, g.name())
	}
	return g
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func (g *generator) name() string {
	for {
		var b strings.Builder
		for range 1 + g.IntN(4) {
			if g.one(4) {
				b.WriteString(g.pick("-", "_", " ", "[", "]", "*", "?", "\\", "!", "#", ":", "^", "A", "0", "9", "é", "\xff", "\t", "\r", "\n", "{", ","))
			} else {
				b.WriteString(g.pick("a", "b", "ab", "c", ".", ".x", "z"))
			}
		}
		if name := b.String(); plain(name) {
			return name
		}
	}
}

func (g *generator) path() string {
	names := make([]string, 1+g.IntN(4))
	for i := range names {
		names[i] = g.pick(g.names...)
		if g.one(10) {
			names[i] = g.name()
		}
	}
	return strings.Join(names, "/")
}

// tree returns ignore files, directories that exist, and paths to ask about.
func (g *generator) tree() (files map[string]string, dirs, paths []string) {
	for range 300 {
		paths = append(paths, g.path())
	}
	for range 25 {
		p := g.pick(paths...)
		dirs = append(dirs, p)
		if !slices.Contains(paths, filepath.Dir(p)) && filepath.Dir(p) != "." {
			paths = append(paths, filepath.Dir(p))
		}
	}
	files = map[string]string{".gitignore": g.file(paths, ".")}
	if g.one(2) {
		files[gitExclude] = g.file(paths, ".")
	}
	for range g.IntN(6) {
		d := g.pick(dirs...)
		if up := filepath.Dir(d); g.one(2) && up != "." {
			d = up
		}
		files[d+"/.gitignore"] = g.file(paths, d)
	}
	return files, dirs, paths
}

// file returns an ignore file for a directory.
func (g *generator) file(paths []string, dir string) string {
	var b strings.Builder
	if g.one(12) {
		b.WriteString("\ufeff")
	}
	lines := 1 + g.IntN(6)
	for i := range lines {
		b.WriteString(g.line(paths, dir))
		if i+1 < lines || g.one(2) {
			b.WriteString(g.pick("\n", "\n", "\n", "\r\n", "\n\n", " \n"))
		}
	}
	return b.String()
}

func (g *generator) line(paths []string, dir string) string {
	line := ""
	if g.one(4) {
		for range 1 + g.IntN(7) {
			line += g.token()
		}
	} else {
		line = g.like(g.pick(paths...), dir)
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		line = "!" + line
	case 3:
		line = "/" + line
	case 4:
		line = "!/" + line
	case 5:
		line = g.pick("\\", "#", "\\!", "\\#", " ", "./", "**/", "!!", "*/") + line
	}
	switch g.IntN(12) {
	case 0, 1:
		line += "/"
	case 2:
		line += g.pick("//", " ", "\\ ", "\\", "  ", "\t", "\r", "/**", "/*", "/**/", "\x00x", "**", "/ ", "[")
	}
	return strings.ReplaceAll(line, "\n", "")
}

func (g *generator) token() string {
	if g.one(3) {
		return g.pick(g.names...)
	}
	if g.one(3) {
		return g.set()
	}
	return g.pick("*", "**", "***", "?", "/", "/", "/**/", "**/", "/**", "**\\/", "\\/", "\\*", "\\", "[", "]", "-", "!", "^", "a", "b", ".x", " ")
}

func (g *generator) set() string {
	s := "[" + g.pick("", "", "!", "^")
	for range 1 + g.IntN(3) {
		s += g.pick("a", "b", "]", "-", "\\", "[", "a-c", "b-z", "z-a", ".-0", "a-", "-a", "\\]", "\\-", "\\a-\\c", ":", "[:", ":]", "[:]", "[::]",
			"[:alpha:]", "[:alnum:]", "[:punct:]", "[:digit:]-z", "[:space:]", "[:upper:]", "[:lower:", "[:nope:]", "é", "\xf0-\xff", "!", "^", "/", " ", "*", "+--")
	}
	return s + g.pick("]", "]", "]", "]", "]", "")
}

// like returns a pattern for a path, seen from a directory above it if that is so,
// with some of its bytes and names replaced.
func (g *generator) like(path, dir string) string {
	if below, ok := strings.CutPrefix(path, dir+"/"); ok && dir != "." {
		path = below
	}
	names := strings.Split(path, "/")
	if g.one(2) {
		names = names[g.IntN(len(names)):]
	}
	if g.one(3) {
		names = names[:1+g.IntN(len(names))]
	}
	for i, name := range names {
		switch g.IntN(6) {
		case 0:
			names[i] = g.pick("*", "**", "***", "?", "*?", "**a", "a**", "*\\")
		case 1, 2:
			names[i] = g.blur(name)
		case 3:
			names[i] = name + g.pick("/**", "**", "*", "/*", "**\\", "")
		}
	}
	return strings.Join(names, "/")
}

// blur replaces bytes of a name by what matches them, or nearly.
func (g *generator) blur(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i : i+1]
		switch g.IntN(8) {
		case 0:
			b.WriteString("?")
		case 1:
			b.WriteString(g.pick("*", "*", "**"))
		case 2:
			b.WriteString("\\" + c)
		case 3:
			b.WriteString("[" + g.pick(c, "!"+c, "^a", "\\"+c, "a-z", "]"+c, c+"-"+c, "x"+c+"-", "[:alpha:]"+c, "[:x"+c) + "]")
		case 4:
			b.WriteString("*" + c)
		case 5:
			b.WriteString(g.set())
		default:
			b.WriteString(c)
		}
	}
	return b.String()
}
