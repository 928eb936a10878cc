package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ignore"
)

// Tree is what a directory and everything below it hold that lint and targets have
// to look at, ignore rules applied (D-73). It depends on its own directory's names
// and on its children's trees, so that a change somewhere is looked for on one way
// down; it sees names and types, no content but that of ignore files.
type Tree struct {
	// Dir is relative to the root; links are not followed (D-74).
	Dir      string
	Explicit bool
	// Ignore are the files of ignore rules above Dir, as joinIgnore writes them, in
	// the order in which the later ones win; Below is where the root lies in its
	// repository.
	Ignore, Below string
}

// Place is a directory with something in it that a scan looks for.
type Place struct {
	// Dir is relative to the Tree's own directory.
	Dir   string
	Found []graph.Found
	// Denied is set for a directory that may not be read, Deep for one whose
	// directories were not looked at.
	Denied, Deep bool
}

// maxScanDepth bounds how many directories lie inside each other in a scan (D-102):
// what a summary of a chain holds grows with the square of its length.
const maxScanDepth = 100

// TreeValue is a directory's summary.
type TreeValue struct {
	// Places are the directories with a find, parents first.
	Places []Place
	// Dirs are all directories, relative to the Tree's own, parents first, "." for
	// itself.
	Dirs []string
}

var treeKind = graph.Define(graph.Definition[TreeValue, Tree]{
	Name: "tree", Version: 3, Order: 43,
	Params: func(c *cas.Coder, n *Tree) {
		c.Bool(&n.Explicit)
		c.String(&n.Below)
		c.String(&n.Ignore)
		c.String(&n.Dir)
	},
	Value: func(c *cas.Coder, v *TreeValue) {
		cas.Slice(c, &v.Places, func(c *cas.Coder, p *Place) {
			c.String(&p.Dir)
			cas.Slice(c, &p.Found, func(c *cas.Coder, f *graph.Found) { c.String(&f.Name); c.Uint8((*uint8)(&f.Type)) })
			c.Bool(&p.Denied)
			c.Bool(&p.Deep)
		})
		c.Strings(&v.Dirs)
	},
	Depth: func(n Tree) int { return depth(n.Dir) },
})

// Kind returns the kind "tree".
func (Tree) Kind() *graph.Kind { return treeKind }

// neverScanned are directories that no scan enters, whatever the ignore files say
// (D-73): other people's code, build output, and what tools keep for themselves.
var neverScanned = []string{".git", ".mwp", ".mwp.d", "node_modules", "target"}

// Resolving reports whether a root-relative path can decide what a map consists of
// before any import is looked at: a context file, an anchor's configuration, a
// manifest, a lock file, ignore rules.
func Resolving(file string) bool {
	name := base(file)
	return name == ".mwp" || name == ManifestName || name == LockName || name == "config.toml" && base(parent(file)) == ".mwp" ||
		slices.Contains(contextNames[:], name) || slices.Contains(ignoreNames[:], name)
}

// wholeTree returns the tree of the workspace.
func wholeTree(r graph.Reader, explicit bool) (Tree, error) {
	above, err := graph.Need(r, IgnoreAbove{})
	return WholeTree(above, explicit), err
}

// WholeTree returns the Tree that lint and targets walk of a workspace, for whoever has to
// look at the same directories (D-73). above is the value of IgnoreAbove.
func WholeTree(above IgnoreAboveValue, explicit bool) Tree {
	return Tree{Dir: ".", Explicit: explicit, Ignore: joinIgnore(above.Files, above.Dirs), Below: above.Below}
}

// Instructions is the names of other tools' instruction files, as one text for a
// Scan. It changes with [boundary] files and with nothing else of a configuration.
type Instructions struct{ Explicit bool }

var instructionsKind = graph.Define(graph.Definition[string, Instructions]{
	Name: "instructions", Version: 1, Order: 42,
	Params: func(c *cas.Coder, n *Instructions) { c.Bool(&n.Explicit) },
	Value:  func(c *cas.Coder, v *string) { c.String(v) },
})

// Kind returns the kind "instructions".
func (Instructions) Kind() *graph.Kind { return instructionsKind }

// Compute takes the names out of the workspace's settings.
func (n Instructions) Compute(r graph.Reader) (string, error) {
	s, err := graph.Need(r, Settings{Target: ".", Explicit: n.Explicit})
	return graph.ScanNames(s.BoundaryFiles), err
}

// joinIgnore and splitIgnore write a list of files with the directories they speak
// for as one comparable text. A NUL byte is in no path.
func joinIgnore(files, dirs []string) string {
	var b strings.Builder
	for i := range files {
		b.WriteString(files[i] + "\x00" + dirs[i] + "\x00")
	}
	return b.String()
}

func splitIgnore(s string) (files, dirs []string) {
	parts := strings.Split(s, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		files, dirs = append(files, parts[i]), append(dirs, parts[i+1])
	}
	return files, dirs
}

// Compute scans the directory and needs its children.
func (n Tree) Compute(r graph.Reader) (v TreeValue, err error) {
	names, err := graph.Need(r, Instructions{Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	scan, err := graph.Need(r, graph.Scan{Dir: n.Dir, Names: names})
	if err != nil {
		return v, err
	}
	v.Dirs = []string{"."}
	here := Place{Dir: ".", Denied: scan.Denied}
	child := n
	for _, f := range scan.Entries {
		if f.Type == graph.Regular && slices.Contains(ignoreNames[:], f.Name) {
			child.Ignore += joinIgnore([]string{join(n.Dir, f.Name)}, []string{n.inRepository(n.Dir)})
		}
	}
	var rules ignore.Stack
	if child.Ignore != "" {
		if rules, err = readIgnore(r, child.Ignore); err != nil {
			return v, err
		}
	}
	var children []Tree
	for _, f := range scan.Entries {
		path := join(n.Dir, f.Name)
		dir := f.Type == graph.Directory && f.Name != ".mwp"
		switch {
		case dir && slices.Contains(contextNames[:], f.Name):
			// A map of this directory is refused for it.
			here.Found = append(here.Found, f)
		case dir && slices.Contains(neverScanned, f.Name):
		case rules.Decide(n.inRepository(path), f.Type == graph.Directory).Verdict == ignore.Ignored && f.Name != ".mwp":
		case dir && depth(path) > maxScanDepth:
			here.Deep = true
		case dir:
			child.Dir = path
			children = append(children, child)
		case f.Type != graph.Directory && slices.Contains(ignoreNames[:], f.Name):
		default:
			here.Found = append(here.Found, f)
		}
	}
	if len(here.Found) > 0 || here.Denied || here.Deep {
		v.Places = append(v.Places, here)
	}
	below, err := graph.NeedAll(r, children)
	if err != nil {
		return v, err
	}
	for i, t := range below {
		v.add(base(children[i].Dir), t)
	}
	return v, nil
}

// add takes over a child's summary.
func (v *TreeValue) add(name string, t TreeValue) {
	for _, p := range t.Places {
		p.Dir = under(name, p.Dir)
		v.Places = append(v.Places, p)
	}
	for _, d := range t.Dirs {
		v.Dirs = append(v.Dirs, under(name, d))
	}
}

func under(dir, rel string) string {
	if rel == "." {
		return dir
	}
	return dir + "/" + rel
}

// inRepository returns a root-relative path as the repository's ignore files see
// it.
func (n Tree) inRepository(path string) string {
	if n.Below == "." || n.Below == "" {
		return path
	}
	return under(n.Below, path)
}

func readIgnore(r graph.Reader, list string) (ignore.Stack, error) {
	var s ignore.Stack
	files, dirs := splitIgnore(list)
	ns := make([]IgnoreFile, len(files))
	for i, f := range files {
		ns[i] = IgnoreFile{Path: f}
	}
	vs, err := graph.NeedAll(r, ns)
	for i, v := range vs {
		s = s.Push(dirs[i], files[i], v.patterns)
	}
	return s, err
}
