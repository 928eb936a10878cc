package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// convention is how the users of a language name tests and where they put them. The
// lists are short on purpose: a map asks for every name.
type convention struct {
	// sources are the extensions of what is tested, tests those of tests.
	sources, tests []string
	places         []testPlace
}

// testPlace is where tests lie, seen from what they test, and what they are called.
type testPlace struct {
	how placement
	// from and to are directories, by the placement.
	from, to string
	// marks make a test's name of a source's, which stands at '*'. The mark "*" means
	// that the place alone makes a test.
	marks []string
}

// placement is how the directory of a test follows from that of the source.
type placement uint8

const (
	beside  placement = iota // the same directory
	below                    // the directory to in it
	sister                   // the directory to beside it
	mirror                   // the same path with to in place of from
	flatten                  // to in place of from and all below it
)

// conventions are tried in this order. They are those that the languages' own tools
// or most of their users follow.
func conventions() []convention {
	typed, plain := []string{".ts", ".tsx", ".mts", ".cts"}, []string{".js", ".jsx", ".mjs", ".cjs"}
	script := []testPlace{
		{how: beside, marks: []string{"*.test", "*.spec"}},
		{how: below, to: "__tests__", marks: []string{"*.test", "*.spec", "*"}},
		{how: mirror, from: "src", to: "test", marks: []string{"*.test", "*.spec"}},
		{how: mirror, from: "src", to: "tests", marks: []string{"*.test", "*.spec"}},
	}
	maven := func(marks ...string) []testPlace {
		return []testPlace{{how: mirror, from: "src/main", to: "src/test", marks: marks}, {how: beside, marks: marks}}
	}
	c := []string{".c", ".cc", ".cpp", ".cxx"}
	unit := []string{"*_test", "*_unittest", "test_*"}
	return []convention{
		{[]string{".go"}, []string{".go"}, []testPlace{{how: beside, marks: []string{"*_test"}}}},
		{typed, typed, script},
		{plain, plain, script},
		{[]string{".vue", ".svelte"}, []string{".ts", ".js"}, script[:2]},
		{[]string{".py"}, []string{".py"}, []testPlace{
			{how: beside, marks: []string{"test_*", "*_test"}},
			{how: below, to: "tests", marks: []string{"test_*", "*_test"}},
			{how: sister, to: "tests", marks: []string{"test_*", "*_test"}},
			{how: mirror, from: "src", to: "tests", marks: []string{"test_*", "*_test"}},
			{how: flatten, from: "src", to: "tests", marks: []string{"test_*", "*_test"}},
		}},
		{[]string{".rs"}, []string{".rs"}, []testPlace{
			{how: beside, marks: []string{"*_test"}},
			{how: flatten, from: "src", to: "tests", marks: []string{"*_test", "*"}},
		}},
		{[]string{".java"}, []string{".java"}, maven("*Test", "*Tests")},
		{[]string{".kt"}, []string{".kt"}, maven("*Test", "*Tests")},
		{[]string{".scala"}, []string{".scala"}, maven("*Spec", "*Test", "*Suite")},
		{[]string{".groovy"}, []string{".groovy"}, maven("*Spec", "*Test")},
		{[]string{".cs"}, []string{".cs"}, []testPlace{
			{how: beside, marks: []string{"*Tests", "*Test"}},
			{how: mirror, from: "src", to: "tests", marks: []string{"*Tests", "*Test"}},
			{how: mirror, from: "src", to: "test", marks: []string{"*Tests", "*Test"}},
		}},
		{[]string{".rb"}, []string{".rb"}, []testPlace{
			{how: beside, marks: []string{"*_spec", "*_test"}},
			{how: mirror, from: "lib", to: "spec", marks: []string{"*_spec"}},
			{how: mirror, from: "app", to: "spec", marks: []string{"*_spec"}},
			{how: mirror, from: "lib", to: "test", marks: []string{"*_test", "test_*"}},
			{how: mirror, from: "app", to: "test", marks: []string{"*_test"}},
		}},
		{[]string{".php"}, []string{".php"}, []testPlace{
			{how: beside, marks: []string{"*Test"}},
			{how: mirror, from: "src", to: "tests", marks: []string{"*Test"}},
		}},
		{[]string{".ex"}, []string{".exs"}, []testPlace{{how: mirror, from: "lib", to: "test", marks: []string{"*_test"}}}},
		{[]string{".dart"}, []string{".dart"}, []testPlace{{how: mirror, from: "lib", to: "test", marks: []string{"*_test"}}}},
		{c, c, []testPlace{
			{how: beside, marks: unit},
			{how: below, to: "tests", marks: unit},
			{how: mirror, from: "src", to: "tests", marks: unit},
			{how: mirror, from: "src", to: "test", marks: unit},
		}},
	}
}

// adjacent returns what may lie beside a file: the sources of a test, or else the
// tests of a source, and none for a file of a language without a convention here. A
// file that is a test by one convention has no tests by another.
func adjacent(path string) []ir.Signal {
	name := base(path)
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 {
		return nil
	}
	f := named{dir: parent(path), stem: name[:dot], ext: name[dot:]}
	var sources, tests naming
	isTest := false
	for _, c := range conventions() {
		if slices.Contains(c.tests, f.ext) {
			isTest = sources.ofTest(f, c) || isTest
		}
		if slices.Contains(c.sources, f.ext) {
			tests.ofSource(f, c)
		}
	}
	if isTest {
		return sources.list
	}
	return tests.list
}

// named is a path in its parts.
type named struct{ dir, stem, ext string }

// naming collects paths, each once, under the rule that named it first.
type naming struct{ list []ir.Signal }

func (n *naming) add(kind, dir, stem, ext, rule string) {
	path := join(dir, stem+ext)
	if !slices.ContainsFunc(n.list, func(s ir.Signal) bool { return s.Path == path }) {
		n.list = append(n.list, ir.Signal{Kind: kind, Path: path, Rule: rule})
	}
}

// ofSource adds where the tests of f would be.
func (n *naming) ofSource(f named, c convention) {
	for _, p := range c.places {
		dir, ok := p.toTest(f.dir)
		if !ok {
			continue
		}
		for _, mark := range p.marks {
			for _, ext := range ownFirst(c.tests, f.ext) {
				n.add(ir.SignalTest, dir, strings.Replace(mark, "*", f.stem, 1), ext, p.rule(mark, ext))
			}
		}
	}
}

// ofTest adds where the sources of f would be, and reports whether f is a test. The
// first mark that fits a name decides: x.test.ts in __tests__ tests x.ts.
func (n *naming) ofTest(f named, c convention) (isTest bool) {
	for _, p := range c.places {
		dir, inPlace := p.toSource(f.dir)
		for _, mark := range p.marks {
			stem, fits := unmark(mark, f.stem)
			if !fits || mark == "*" && !inPlace {
				continue
			}
			isTest = true
			if inPlace {
				for _, ext := range ownFirst(c.sources, f.ext) {
					n.add(ir.SignalSource, dir, stem, ext, p.rule(mark, f.ext))
				}
			}
			break
		}
	}
	return isTest
}

// unmark returns the source's name in a test's.
func unmark(mark, name string) (stem string, ok bool) {
	before, after, _ := strings.Cut(mark, "*")
	stem, ok = strings.CutPrefix(name, before)
	if ok {
		stem, ok = strings.CutSuffix(stem, after)
	}
	return stem, ok && stem != ""
}

// ownFirst returns extensions with a file's own before the others: a .tsx is tested in
// a .tsx if anywhere.
func ownFirst(exts []string, own string) []string {
	i := slices.Index(exts, own)
	if i < 1 {
		return exts
	}
	return slices.Concat(exts[i:i+1], exts[:i], exts[i+1:])
}

// toTest returns the directory of the tests of what lies in dir.
func (p *testPlace) toTest(dir string) (string, bool) {
	switch p.how {
	case below:
		return join(dir, p.to), true
	case sister:
		return join(parent(dir), p.to), dir != "."
	case mirror:
		return exchange(dir, p.from, p.to)
	case flatten:
		at, ok := before(dir, p.from)
		return join(at, p.to), ok
	}
	return dir, true
}

// toSource returns the directory of what is tested in dir. A directory that was beside
// the sources' has forgotten which it was.
func (p *testPlace) toSource(dir string) (string, bool) {
	switch p.how {
	case below:
		return parent(dir), base(dir) == p.to
	case sister:
		return "", false
	case mirror:
		return exchange(dir, p.to, p.from)
	case flatten:
		return join(parent(dir), p.from), base(dir) == p.to
	}
	return dir, true
}

// before returns the directory that the last occurrence of some components lies in.
func before(dir, components string) (string, bool) {
	in := "/" + dir + "/"
	i := strings.LastIndex(in, "/"+components+"/")
	if i <= 0 {
		return ".", i == 0
	}
	return in[1:i], true
}

// exchange replaces the last occurrence of some components.
func exchange(dir, from, to string) (string, bool) {
	at, ok := before(dir, from)
	if !ok {
		return "", false
	}
	return join(at, to) + strings.TrimPrefix(dir, join(at, from)), true
}

// rule names a place and a mark: where tests lie, and what they are called.
func (p *testPlace) rule(mark, ext string) string {
	switch p.how {
	case below:
		return p.to + "/" + mark + ext
	case sister:
		return "../" + p.to + "/" + mark + ext
	case mirror:
		return p.from + "/** -> " + p.to + "/**/" + mark + ext
	case flatten:
		return p.from + "/** -> " + p.to + "/" + mark + ext
	}
	return mark + ext
}
