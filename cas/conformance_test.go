package cas_test

import (
	"path/filepath"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/cas/castest"
)

func TestMemoryConforms(t *testing.T) {
	castest.Run(t, func(*testing.T) cas.Store { return cas.NewMemory() })
}

func TestDiskConforms(t *testing.T) {
	for name, o := range map[string]cas.DiskOptions{
		"default":       {},
		"merging often": {MaxSegments: 1},
	} {
		t.Run(name, func(t *testing.T) {
			castest.RunPersistent(t, func(t *testing.T) func() cas.Store {
				dir := filepath.Join(t.TempDir(), "packs")
				return func() cas.Store { return cas.OpenDisk(dir, o) }
			})
		})
	}
}

// A store that may not write still keeps what it is told in memory.
func TestReadOnlyDiskConforms(t *testing.T) {
	castest.Run(t, func(t *testing.T) cas.Store {
		return cas.OpenDisk(filepath.Join(t.TempDir(), "packs"), cas.DiskOptions{ReadOnly: true})
	})
}

func BenchmarkMemory(b *testing.B) {
	castest.Bench(b, func(*testing.B) cas.Store { return cas.NewMemory() })
}

func BenchmarkDisk(b *testing.B) {
	castest.Bench(b, func(b *testing.B) cas.Store {
		return cas.OpenDisk(filepath.Join(b.TempDir(), "packs"), cas.DiskOptions{})
	})
}

// link is a type described for castest.Codec as a node kind would describe its
// parameters.
type link struct {
	Target string
	Depth  int
	Tags   []string
	Seen   *cas.Digest
}

func codeLink(c *cas.Coder, l *link) {
	c.String(&l.Target)
	c.Int(&l.Depth)
	c.Strings(&l.Tags)
	cas.Optional(c, &l.Seen, (*cas.Coder).Digest)
}

func TestCodec(t *testing.T) {
	d := cas.Sum(nil)
	castest.Codec(t, codeLink,
		link{}, link{Target: "a", Tags: []string{"b"}}, link{Tags: []string{"a", "b"}},
		link{Depth: -1}, link{Depth: 1}, link{Seen: new(cas.Digest)}, link{Seen: &d})
}
