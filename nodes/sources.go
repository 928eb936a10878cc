package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ignore"
)

// Sources is what a directory and everything below it hold, as one digest: names,
// types and contents, without what ignore rules leave out and without what no scan
// enters (D-45, D-73). It changes when any of these changes. The directory itself
// was named by somebody, so rules apply below it only.
type Sources struct {
	// Dir is relative to the root, without links; links below are not followed (D-74).
	Dir string
	// Ignore and Below are as in Tree.
	Ignore, Below string
}

// SourcesValue is the digest and how many files it covers.
type SourcesValue struct {
	Digest cas.Digest
	Files  int
}

var sourcesKind = graph.Define(graph.Definition[SourcesValue, Sources]{
	Name: "sources", Version: 1, Order: 44,
	Params: func(c *cas.Coder, n *Sources) {
		c.String(&n.Below)
		c.String(&n.Ignore)
		c.String(&n.Dir)
	},
	Value: func(c *cas.Coder, v *SourcesValue) { c.Digest(&v.Digest); c.Int(&v.Files) },
	Depth: func(n Sources) int { return depth(n.Dir) },
})

// Kind returns the kind "sources".
func (Sources) Kind() *graph.Kind { return sourcesKind }

// Compute digests the directory's own files and needs its children.
func (n Sources) Compute(r graph.Reader) (v SourcesValue, err error) {
	files, dirs, err := n.names(r)
	if err != nil {
		return v, err
	}
	contents := make([]graph.Content, len(files))
	for i, name := range files {
		contents[i] = graph.Content{Path: join(n.Dir, name)}
	}
	states, err := graph.NeedAll(r, contents)
	if err != nil {
		return v, err
	}
	var links []graph.SymLink
	for i, s := range states {
		if s.Type == graph.Link {
			links = append(links, graph.SymLink{Path: contents[i].Path})
		}
	}
	targets, err := graph.NeedAll(r, links)
	if err != nil {
		return v, err
	}
	below, err := graph.NeedAll(r, dirs)
	if err != nil {
		return v, err
	}
	var e cas.Encoder
	e.Count(len(files))
	for i, s := range states {
		e.String(files[i])
		e.Bytes(graph.ContentKind.EncodeValue(s))
		if s.Type == graph.Link {
			e.String(targets[0].Target)
			targets = targets[1:]
		}
	}
	v.Files = len(files)
	e.Count(len(dirs))
	for i, d := range below {
		e.String(base(dirs[i].Dir))
		e.Digest(d.Digest)
		v.Files += d.Files
	}
	v.Digest = cas.Sum(e.Encoded())
	return v, nil
}

// names lists the directory: files and whatever else is no directory, and the
// directories, each with the rules that hold in it.
func (n Sources) names(r graph.Reader) (files []string, dirs []Sources, err error) {
	list, err := graph.Need(r, graph.List{Dir: n.Dir, Filter: graph.Everything})
	if err != nil {
		return nil, nil, err
	}
	at := Tree{Below: n.Below}
	child := n
	for _, name := range ignoreNames {
		if slices.Contains(list.Names, name) {
			child.Ignore += joinIgnore([]string{join(n.Dir, name)}, []string{at.inRepository(n.Dir)})
		}
	}
	var rules ignore.Stack
	if child.Ignore != "" {
		if rules, err = readIgnore(r, child.Ignore); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range list.Names {
		name, dir := strings.CutSuffix(name, "/")
		path := join(n.Dir, name)
		switch {
		case dir && slices.Contains(neverScanned, name) || !dir && (name == ".git" || name == ".mwp"):
		case rules.Decide(at.inRepository(path), dir).Verdict == ignore.Ignored:
		case dir && depth(path) > maxScanDepth:
		case dir:
			child.Dir = path
			dirs = append(dirs, child)
		default:
			files = append(files, name)
		}
	}
	return files, dirs, nil
}

// sourcesOf returns the Sources of a directory that somebody named, with the rules of
// every directory above it.
func sourcesOf(r graph.Reader, dir string) (Sources, error) {
	above, err := graph.Need(r, IgnoreAbove{})
	if err != nil {
		return Sources{}, err
	}
	at := Tree{Below: above.Below}
	files, dirs := slices.Clone(above.Files), slices.Clone(above.Dirs)
	for d := dir; d != "."; {
		d = parent(d)
		for i := len(ignoreNames) - 1; i >= 0; i-- {
			files = slices.Insert(files, len(above.Files), join(d, ignoreNames[i]))
			dirs = slices.Insert(dirs, len(above.Dirs), at.inRepository(d))
		}
	}
	return Sources{Dir: dir, Ignore: joinIgnore(files, dirs), Below: above.Below}, nil
}

// wildcards begin what makes a path a pattern.
const wildcards = "*?["

// globbing is a directory on a pattern's way down the tree.
type globbing struct {
	Sources
	// at are the segments that a name in the directory may match.
	at []int
}

// globbed is what a pattern leads to, sorted: files and whatever else is no directory,
// and directories.
type globbed struct{ files, dirs []string }

func (g *globbed) empty() bool { return len(g.files)+len(g.dirs) == 0 }

// glob returns the paths that a pattern with wildcards leads to from a directory
// without links, sorted: '*', '?' and '[..]' within a segment, '**' for any number of
// them. Wildcards pass over hidden names and over what ignore rules leave out. Each
// directory is looked at once, however many '**' the pattern has.
func glob(r graph.Reader, dir string, segs []string) (found globbed, err error) {
	for !strings.ContainsAny(segs[0], wildcards) {
		to, err := resolve(r, dir, segs[0])
		if err != nil || to.Type != graph.Directory || to.Escapes {
			return found, err
		}
		dir, segs = to.Path, segs[1:]
	}
	p, ok := newPathPattern(segs)
	if !ok {
		return found, nil
	}
	start, err := sourcesOf(r, dir)
	if err != nil {
		return found, err
	}
	for next := []globbing{{start, p.enter(nil, 0)}}; len(next) > 0; next = next[1:] {
		here := next[0]
		files, dirs, err := here.names(r)
		if err != nil {
			return found, err
		}
		for _, d := range dirs {
			at, ends := p.step(here.at, base(d.Dir), true)
			if ends {
				found.dirs = append(found.dirs, d.Dir)
			}
			if len(at) > 0 {
				next = append(next, globbing{d, at})
			}
		}
		for _, name := range files {
			if _, ends := p.step(here.at, name, false); ends {
				found.files = append(found.files, join(here.Dir, name))
			}
		}
	}
	slices.Sort(found.files)
	slices.Sort(found.dirs)
	return found, nil
}

// pathPattern is a pattern's segments.
type pathPattern []string

// newPathPattern makes one '**' of several, and reports false for a pattern that is
// longer than any path that a scan meets.
func newPathPattern(segs []string) (p pathPattern, ok bool) {
	plain := 0
	for i, s := range segs {
		if s != "**" {
			plain++
		} else if i > 0 && segs[i-1] == s {
			continue
		}
		p = append(p, s)
	}
	return p, plain <= maxScanDepth+1
}

// enter adds the segments that come next when those before segment i are matched: a
// '**' stands for nothing, too.
func (p pathPattern) enter(at []int, i int) []int {
	for ; i < len(p); i++ {
		if !slices.Contains(at, i) {
			at = append(at, i)
		}
		if p[i] != "**" {
			break
		}
	}
	return at
}

// step returns the segments that are next below a name, and whether the name is what
// the pattern leads to.
func (p pathPattern) step(at []int, name string, dir bool) (next []int, ends bool) {
	for _, i := range at {
		last := i+1 == len(p)
		switch {
		case p[i] == "**" && !wildcardsMay(name):
		case p[i] == "**" && dir:
			next = p.enter(next, i)
		case p[i] == "**":
			ends = ends || last
		// Brackets are often meant as they stand: app/[id]/page.tsx.
		case p[i] != name && !matchSegment(p[i], name, false):
		case last:
			ends = true
		default:
			next = p.enter(next, i+1)
		}
	}
	return next, ends
}
