package render

import (
	"path"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// rootLabel stands for the workspace root where a directory is shown, and for its
// name where that is not known.
const rootLabel = "(root)"

var layerTitles = [ir.LayerCount]string{
	"Project identity",
	"Module",
	"Stage contract",
	"Module reference",
	"Working artifact",
}

// title returns the part of an entry's heading after "L<n> — " (D-59). The first
// L0 entry is the project itself and needs no label. A file that is neither an
// anchor nor a context file is labelled with its path in every layer: two
// imports from one directory would otherwise share a heading.
func title(e *ir.Entry, first bool, project string) string {
	if e.Layer < 0 || e.Layer >= ir.LayerCount {
		return e.Source
	}
	t := layerTitles[e.Layer]
	if e.Layer == 0 && first {
		return t
	}
	return t + ": " + label(e, project)
}

func label(e *ir.Entry, project string) string {
	if e.Layer == 4 {
		return withSection(e.Source, e)
	}
	if e.Origin != nil && e.Origin.Module != "" {
		return moduleLabel(e)
	}
	dir, ok := place(e.Source)
	if e.Layer == 3 || !ok || e.Section != "" {
		return withSection(e.Source, e)
	}
	if e.Layer == 1 && e.Name != "" {
		return e.Name
	}
	switch {
	case dir == "." && e.Layer == 1 && project != "":
		return project
	case dir == ".":
		return rootLabel
	case e.Layer == 1:
		return path.Base(dir)
	}
	return dir
}

// moduleLabel returns "<module>/<file>"; a context file or an anchor stands for its
// directory.
func moduleLabel(e *ir.Entry) string {
	rest := e.Origin.Path
	if dir, ok := place(rest); ok {
		rest = dir
	}
	return withSection(path.Join(e.Origin.Module, rest), e)
}

// withSection adds the heading of the part that an entry carries.
func withSection(label string, e *ir.Entry) string {
	if e.Section == "" {
		return label
	}
	return label + "#" + e.Section
}

// place returns the directory that source speaks for, when source is an anchor,
// a context file or a module manifest.
func place(source string) (dir string, ok bool) {
	dir, base := path.Dir(source), path.Base(source)
	switch base {
	case ".mwp", ".mwp-context.md", ".mwp-context.yaml", ".mwp-context.yml", ".mwp-module.md":
		return dir, true
	case "config.toml":
		if path.Base(dir) == ".mwp" {
			return path.Dir(dir), true
		}
	}
	return dir, false
}

// projectName returns the root anchor's name, "" when no entry carries it.
func projectName(anchor string, entries []*ir.Entry) string {
	for _, e := range entries {
		if e.Name != "" && (e.ID == "." || e.Source == anchor) {
			return e.Name
		}
	}
	return ""
}
