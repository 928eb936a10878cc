package mwp

import (
	"embed"
	"io/fs"
	"path"
	"path/filepath"
)

// baseFiles is the module that explains the conventions (D-81): what init copies is
// what examples/mwp-base is, so a test of the example is a test of the copy.
//
//go:embed examples/mwp-base/.mwp-module.md examples/mwp-base/guide/[a-z]*.md examples/mwp-base/workflows/[a-z]*.md
var baseFiles embed.FS

const (
	baseFrom = "examples/mwp-base"
	// baseTo is where a project keeps its copy. It is the project's own, for people
	// to change, and not a fetched module.
	baseTo = ".mwp/mwp-base"
	// BaseImport is the line by which a context file at the root imports the copy.
	BaseImport = "- local: ./" + baseTo
)

// base copies the module, as far as its files are not there.
func (w *writer) base() error {
	return fs.WalkDir(baseFiles, baseFrom, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.FromSlash(path.Join(baseTo, p[len(baseFrom):]))
		if d.IsDir() {
			return w.mkdir(name)
		}
		b, err := baseFiles.ReadFile(p)
		if err != nil {
			return err
		}
		return w.create(name, string(b))
	})
}
