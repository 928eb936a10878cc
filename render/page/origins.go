package page

import (
	"cmp"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// origins returns what people call the files of modules: a copy lies below a commit's
// number, which says nothing to them.
func origins(r *Report) map[string]string {
	names := map[string]string{}
	add := func(path string, o *ir.Origin) {
		if o != nil && o.SHA != "" && o.Path != "" {
			names[path] = cmp.Or(o.Module, o.URL) + ": " + o.Path
		}
	}
	for i := range r.Dirs {
		for j := range r.Dirs[i].Own {
			s := &r.Dirs[i].Own[j]
			add(s.Path, s.Origin)
		}
	}
	for i := range r.Targets {
		for _, e := range r.Targets[i].Map.Layers.All() {
			add(e.Source, e.Origin)
		}
	}
	return names
}

// named returns what people call a file, with the part of it that is meant.
func (w *writer) named(path, section string) string {
	name := cmp.Or(w.origins[path], path)
	if section != "" {
		name += "#" + section
	}
	return name
}

// file writes a file as seen from a directory. A file of a module has its path as title.
func (w *writer) file(path, section, dir string) *writer {
	if _, ok := w.origins[path]; !ok {
		return w.path(w.named(shortened(path, dir), section))
	}
	return w.raw(`<span title="`).text(path).raw(`">`).path(w.named(path, section)).raw("</span>")
}

// place writes a path that may have a line and a column behind it.
func (w *writer) place(s string) *writer {
	file, at := s, ""
	for range 2 {
		i := strings.LastIndexByte(file, ':')
		if _, ok := w.origins[file]; ok || i < 0 {
			break
		}
		file, at = s[:i], s[i:]
	}
	name, ok := w.origins[file]
	if !ok {
		return w.path(s)
	}
	return w.raw(`<span title="`).text(s).raw(`">`).path(name + at).raw("</span>")
}
