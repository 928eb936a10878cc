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
