package nodes

import (
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ignore"
)

// IgnoreFile is one file of ignore rules, parsed once for all directories below
// it. It changes with the file's bytes; an absent file has no rules.
type IgnoreFile struct{ Path string }

// IgnoreFileValue is the text, which is what identifies the value, and its
// patterns.
type IgnoreFileValue struct {
	Text     []byte
	patterns ignore.Patterns
}

var ignoreFileKind = graph.Define(graph.Definition[IgnoreFileValue, IgnoreFile]{
	Name: "ignore-file", Version: 1, Order: 8,
	Params: func(c *cas.Coder, n *IgnoreFile) { c.String(&n.Path) },
	Value: func(c *cas.Coder, v *IgnoreFileValue) {
		if c.Bytes(&v.Text); c.Decoding() {
			v.patterns = ignore.Parse(v.Text)
		}
	},
})

// Kind returns the kind "ignore-file".
func (IgnoreFile) Kind() *graph.Kind { return ignoreFileKind }

// maxIgnoreBytes bounds a file of rules: parsed, a hostile one takes more than a
// hundred times its size. A larger file has no rules, so that nothing is left out.
const maxIgnoreBytes = 256 << 10

// Compute reads and parses.
func (n IgnoreFile) Compute(r graph.Reader) (v IgnoreFileValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Path})
	if err != nil || f.Type != graph.Regular || f.Size > maxIgnoreBytes {
		return v, err
	}
	v.Text, v.patterns = f.Bytes, ignore.Parse(f.Bytes)
	return v, nil
}

// ignoreNames are the files of rules in a directory; the later ones win (D-73).
var ignoreNames = [...]string{".gitignore", ".mwpignore"}

// IgnoreAbove is what a scan of the workspace begins with: the files of rules
// between the enclosing repository's top and the root, and where the root lies in
// it. It changes when one of them appears or vanishes.
type IgnoreAbove struct{}

// IgnoreAboveValue names the files in the order in which the later ones win.
type IgnoreAboveValue struct {
	// Below is the path from the repository's top to the root, "." without one.
	Below string
	// Files are paths for File leaves, Dirs the directories they speak for, as seen
	// from the repository's top.
	Files, Dirs []string
}

var ignoreAboveKind = graph.Define(graph.Definition[IgnoreAboveValue, IgnoreAbove]{
	Name: "ignore-above", Version: 1, Order: 9,
	Params: func(*cas.Coder, *IgnoreAbove) {},
	Value: func(c *cas.Coder, v *IgnoreAboveValue) {
		c.String(&v.Below)
		c.Strings(&v.Files)
		c.Strings(&v.Dirs)
	},
})

// Kind returns the kind "ignore-above".
func (IgnoreAbove) Kind() *graph.Kind { return ignoreAboveKind }

// Compute walks from the repository's top down to the root's parent.
func (IgnoreAbove) Compute(r graph.Reader) (v IgnoreAboveValue, err error) {
	repo, err := graph.Need(r, graph.Repository{})
	if err != nil {
		return v, err
	}
	v.Below = repo.Below
	segs := segments(repo.Below)
	top := "."
	for i := range segs {
		if i == 0 {
			top = ".."
		} else {
			top += "/.."
		}
	}
	if repo.Type == graph.Directory {
		v.Files, v.Dirs = append(v.Files, join(top, ".git/info/exclude")), append(v.Dirs, ".")
	}
	if repo.Type == graph.Absent {
		return v, nil
	}
	dir, at := top, "."
	for _, s := range segs {
		probe, err := graph.Need(r, graph.NewProbe(dir, ignoreNames[:]...))
		if err != nil {
			return v, err
		}
		for i, name := range ignoreNames {
			if probe.Types[i] == graph.Regular {
				v.Files, v.Dirs = append(v.Files, join(dir, name)), append(v.Dirs, at)
			}
		}
		at = join(at, s)
		if dir == ".." {
			break
		}
		dir = dir[:len(dir)-len("/..")]
	}
	return v, nil
}

// Ignored is whether git ignores one path, by the rules of every directory above it.
// It changes with these rules.
type Ignored struct{ Path string }

// IgnoredValue is the answer; Source and Line say which rule gave it.
type IgnoredValue struct {
	Ignored bool
	Source  string
	Line    int
}

var ignoredKind = graph.Define(graph.Definition[IgnoredValue, Ignored]{
	Name: "ignored", Version: 1, Order: 43,
	Params: func(c *cas.Coder, n *Ignored) { c.String(&n.Path) },
	Value: func(c *cas.Coder, v *IgnoredValue) {
		c.Bool(&v.Ignored)
		c.String(&v.Source)
		c.Int(&v.Line)
	},
})

// Kind returns the kind "ignored".
func (Ignored) Kind() *graph.Kind { return ignoredKind }

// Compute reads the rules from the repository's top down.
func (n Ignored) Compute(r graph.Reader) (v IgnoredValue, err error) {
	above, err := graph.Need(r, IgnoreAbove{})
	if err != nil {
		return v, err
	}
	at := Tree{Below: above.Below}
	files, dirs := slices.Clone(above.Files), slices.Clone(above.Dirs)
	dir := "."
	for _, seg := range append([]string{"."}, segments(parent(n.Path))...) {
		if seg != "." {
			dir = join(dir, seg)
		}
		files, dirs = append(files, join(dir, ".gitignore")), append(dirs, at.inRepository(dir))
	}
	rules, err := readIgnore(r, joinIgnore(files, dirs))
	if err != nil {
		return v, err
	}
	d := rules.DecideWithParents(at.inRepository(n.Path), false)
	return IgnoredValue{d.Verdict == ignore.Ignored, d.Source, d.Line}, nil
}
