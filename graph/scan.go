package graph

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Scan is the leaf for what a walk of the tree has to know about one directory:
// its directories, and whatever else in it has a name that begins with one of
// ScanPrefixes or is one of Names, in any case. A file with none of these names does
// not change it, however many there are. Names are joined by '/', which no name
// contains.
type Scan struct{ Dir, Names string }

// ScanPrefixes are how the names of this program's files begin, and of the ignore
// files that it honours. They are no parameter, because every directory of a
// workspace would carry them.
var ScanPrefixes = [...]string{".mwp", ".gitignore"}

// Found is one name in a directory with its type, links not followed.
type Found struct {
	Name string
	Type FileType
}

// ScanState is the answer to a Scan, sorted by name. Type is Directory, or what
// else was found, with no entries. Denied is set for a directory that may not be
// read.
type ScanState struct {
	Type    FileType
	Denied  bool
	Entries []Found
}

// ScanKind is the kind of Scan.
var ScanKind = defineLeaf("scan",
	func(c *cas.Coder, s *Scan) {
		// Names first, as in a Probe: a slot shares them between all directories.
		c.String(&s.Names)
		c.String(&s.Dir)
	},
	func(c *cas.Coder, s *ScanState) {
		s.Type.code(c)
		c.Bool(&s.Denied)
		cas.Slice(c, &s.Entries, func(c *cas.Coder, f *Found) { c.String(&f.Name); f.Type.code(c) })
	})

// Kind returns ScanKind.
func (Scan) Kind() *Kind { return ScanKind }

// Compute panics: leaves are read by the evaluator.
func (Scan) Compute(Reader) (ScanState, error) { panic("graph.Scan.Compute: a leaf") }

// ScanNames joins names for a Scan.
func ScanNames(names []string) string { return strings.Join(names, "/") }

// Repository is the leaf for the git repository that the root lies in.
type Repository struct{}

// RepositoryState says where the nearest ".git" at the root or above it is. Below
// is the path from its directory down to the root, "." for the root itself.
type RepositoryState struct {
	// Type is Absent without a repository. In a linked work tree and in a submodule
	// ".git" is a file.
	Type  FileType
	Up    int
	Below string
}

// RepositoryKind is the kind of Repository.
var RepositoryKind = defineLeaf("repository",
	func(*cas.Coder, *Repository) {},
	func(c *cas.Coder, s *RepositoryState) {
		s.Type.code(c)
		c.Int(&s.Up)
		c.String(&s.Below)
	})

// Kind returns RepositoryKind.
func (Repository) Kind() *Kind { return RepositoryKind }

// Compute panics: leaves are read by the evaluator.
func (Repository) Compute(Reader) (RepositoryState, error) {
	panic("graph.Repository.Compute: a leaf")
}
