package graph

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
)

// FileType is what a name in the file system is, links not followed.
type FileType uint8

// The types that a leaf distinguishes.
const (
	Absent FileType = iota
	Regular
	Directory
	Link
	Other // a pipe, socket or device
	// TooLarge is a regular file above File's limit; its bytes are not read.
	TooLarge
)

// String returns the type as a word for logs.
func (f FileType) String() string {
	switch f {
	case Absent:
		return "absent"
	case Regular:
		return "file"
	case Directory:
		return "directory"
	case Link:
		return "link"
	case Other:
		return "other"
	case TooLarge:
		return "file that is too large"
	}
	return "unknown"
}

// Noun returns what a message calls the type: Other says which kinds it covers.
func (f FileType) Noun() string {
	if f == Other {
		return "pipe, socket or device"
	}
	return f.String()
}

func (f *FileType) code(c *cas.Coder) {
	c.Uint8((*uint8)(f))
	if *f > TooLarge {
		c.Fail("file type %d", *f)
	}
}

// MaxFileBytes bounds what one file leaf reads (D-102).
const MaxFileBytes = 1 << 20

// Leaves lists the leaf kinds, for the evaluator's table.
func Leaves() []*Kind {
	return []*Kind{FileKind, ProbeKind, ListKind, LinkKind, AboveKind, ScanKind, RepositoryKind, ContentKind, RecordKind}
}

// defineLeaf returns a leaf kind. Leaves have order 0 and are never computed.
func defineLeaf[V any, N Node[V]](name string, params func(*cas.Coder, *N), value func(*cas.Coder, *V)) *Kind {
	return &Kind{Name: name, Version: 1, Leaf: true, ops: &Definition[V, N]{Name: name, Params: params, Value: value}}
}

// File is the leaf for the content of one file. Path is relative to the root,
// '/'-separated, and has no link among its components: links are leaves of their
// own. A path that starts with "../" names a file above the root, which only
// anchors do.
type File struct{ Path string }

// FileState is a file's content. Bytes is set for Regular only and is not part
// of the encoding: Digest stands for it.
type FileState struct {
	Type   FileType
	Size   int64
	Digest cas.Digest
	Bytes  []byte
}

// FileKind is the kind of File.
var FileKind = defineLeaf("file",
	func(c *cas.Coder, f *File) { c.String(&f.Path) },
	func(c *cas.Coder, s *FileState) {
		s.Type.code(c)
		c.Int64(&s.Size)
		if s.Type == Regular {
			c.Digest(&s.Digest)
		}
	})

// Kind returns FileKind.
func (File) Kind() *Kind { return FileKind }

// Compute panics: leaves are read by the evaluator.
func (File) Compute(Reader) (FileState, error) { panic("graph.File.Compute: a leaf") }

// Probe is the leaf for the types of some names in one directory. It sees
// existence and type only: an edit of a probed file does not change it. Dir is
// relative to the root without links, "." for the root; Names are joined by '/',
// which no name contains.
type Probe struct{ Dir, Names string }

// NewProbe returns the probe of names in dir. The names' order is kept.
func NewProbe(dir string, names ...string) Probe {
	return Probe{Dir: dir, Names: strings.Join(names, "/")}
}

// ProbeState is the answer to a Probe: the type of Dir itself and of each name,
// in the probe's order. Where Dir is not a directory every name is Absent.
type ProbeState struct {
	Dir   FileType
	Types []FileType
}

// ProbeKind is the kind of Probe.
var ProbeKind = defineLeaf("probe",
	func(c *cas.Coder, p *Probe) {
		// Names before the directory, and one by one: the probes of a cascade ask for
		// the same names but the last, and a slot shares the beginning.
		names := strings.Split(p.Names, "/")
		if c.Decoding() {
			names = nil
		}
		if c.Strings(&names); len(names) == 0 {
			c.Fail("a probe without names")
		}
		for _, n := range names {
			if strings.Contains(n, "/") {
				c.Fail("the name %q has a separator", n)
			}
		}
		p.Names = strings.Join(names, "/")
		c.String(&p.Dir)
	},
	func(c *cas.Coder, s *ProbeState) {
		s.Dir.code(c)
		cas.Slice(c, &s.Types, func(c *cas.Coder, t *FileType) { t.code(c) })
	})

// Kind returns ProbeKind.
func (Probe) Kind() *Kind { return ProbeKind }

// Compute panics: leaves are read by the evaluator.
func (Probe) Compute(Reader) (ProbeState, error) { panic("graph.Probe.Compute: a leaf") }

// Filter selects what a List shows, so that a change outside it changes nothing.
type Filter uint8

// The filters. Hidden names start with a dot.
const (
	// VisibleFiles keeps regular files whose names are not hidden.
	VisibleFiles Filter = iota
	// Directories keeps directories, hidden ones included; links are not followed.
	Directories
	// Everything keeps every name. A directory's ends in '/', which no name contains.
	Everything
)

// List is the leaf for the names in one directory.
type List struct {
	Dir    string
	Filter Filter
}

// ListState is a directory's filtered names, sorted by bytes. Type is
// Directory, or what else was found, with no names.
type ListState struct {
	Type  FileType
	Names []string
}

// ListKind is the kind of List.
var ListKind = defineLeaf("list",
	func(c *cas.Coder, l *List) {
		c.String(&l.Dir)
		c.Uint8((*uint8)(&l.Filter))
		if l.Filter > Everything {
			c.Fail("filter %d", l.Filter)
		}
	},
	func(c *cas.Coder, s *ListState) { s.Type.code(c); c.Strings(&s.Names) })

// Kind returns ListKind.
func (List) Kind() *Kind { return ListKind }

// Compute panics: leaves are read by the evaluator.
func (List) Compute(Reader) (ListState, error) { panic("graph.List.Compute: a leaf") }

// SymLink is the leaf for the target of one symbolic link.
type SymLink struct{ Path string }

// LinkState is a link's target as stored, or the type that stands there instead
// of a link. Inside is the target relative to the root when the stored target is
// absolute and lies inside it; an absolute target elsewhere leaves it "".
type LinkState struct {
	Type   FileType
	Target string
	Inside string
}

// LinkKind is the kind of SymLink.
var LinkKind = defineLeaf("link",
	func(c *cas.Coder, l *SymLink) { c.String(&l.Path) },
	func(c *cas.Coder, s *LinkState) {
		s.Type.code(c)
		// An absolute target would tie the value to this machine: only whether and
		// where it lies inside the root matters.
		abs := strings.HasPrefix(s.Target, "/")
		if abs && !c.Decoding() {
			t := "/"
			c.String(&t)
		} else {
			c.String(&s.Target)
		}
		c.String(&s.Inside)
	})

// Kind returns LinkKind.
func (SymLink) Kind() *Kind { return LinkKind }

// Compute panics: leaves are read by the evaluator.
func (SymLink) Compute(Reader) (LinkState, error) { panic("graph.SymLink.Compute: a leaf") }

// Above is the leaf for the anchors at a directory and above it, up to the file
// system's root. It lists what was found and not what was looked at, so that it
// has the same value in a copy of the tree at another depth.
type Above struct{ Dir string }

// Sighting is one anchor: a ".mwp" or ".git" Up levels above the directory.
type Sighting struct {
	Up   int
	Name string
	Type FileType
	// Below, for an anchor above the root, is the path from the anchor's directory
	// down to the root: what a members list would have to name.
	Below string
}

// AboveState is the answer to an Above: every ".mwp", nearest first, or, where
// there is none, the nearest ".git" (D-04).
type AboveState struct{ Sightings []Sighting }

// AboveKind is the kind of Above.
var AboveKind = defineLeaf("above",
	func(c *cas.Coder, a *Above) { c.String(&a.Dir) },
	func(c *cas.Coder, s *AboveState) {
		cas.Slice(c, &s.Sightings, func(c *cas.Coder, s *Sighting) {
			c.Int(&s.Up)
			c.String(&s.Name)
			s.Type.code(c)
			c.String(&s.Below)
		})
	})

// Kind returns AboveKind.
func (Above) Kind() *Kind { return AboveKind }

// Compute panics: leaves are read by the evaluator.
func (Above) Compute(Reader) (AboveState, error) { panic("graph.Above.Compute: a leaf") }
