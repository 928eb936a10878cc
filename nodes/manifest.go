package nodes

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// ManifestName is the file that makes a directory a module.
const ManifestName = ".mwp-module.md"

// moduleLayer is a manifest's layer when it declares none (D-25).
const moduleLayer = 3

func manifestKeys() []string {
	return []string{"name", "version", "description", "layer", "imports", "pipelines", "guards", "verified_paths", "owners"}
}

// manifestField reads the keys that only a manifest has, and keeps those of a
// context file out of it.
func (r *headerReader) manifestField(key string, k, v *yaml.Node) bool {
	m := r.header.Module
	switch key {
	case "name":
		m.Name, _ = r.line(key, key+": ", v)
	case "version":
		m.Version = r.version(v)
	case "description":
		m.Description, _ = r.text(key, key+": ", v)
	case "pipelines":
		m.Pipelines = r.pipelines(v)
	default:
		if slices.Contains(manifestKeys(), key) {
			return false
		}
		r.unknownTopKey(k)
	}
	return true
}

// version takes the text as written, quoted or not: as a number 2.10 would become
// 2.1 (D-25).
func (r *headerReader) version(v *yaml.Node) string {
	if v.Kind == yaml.ScalarNode && v.Value != "" && (v.ShortTag() == "!!float" || v.ShortTag() == "!!int") {
		return v.Value
	}
	s, _ := r.line("version", "version: ", v)
	return s
}

// pipelines reads a list of local paths.
func (r *headerReader) pipelines(v *yaml.Node) []ImportRef {
	items, ok := r.items(v)
	if !ok {
		r.failAs(ir.ImportKindInvalid, v, "pipelines: expected a list, found "+describe(v), "- local: ./workflows/release.md")
		return nil
	}
	var out []ImportRef
	for _, item := range items {
		ref, ok := r.importItem(item)
		switch {
		case !ok:
		case ref.Kind != ImportLocal:
			r.failAs(ir.ImportKindInvalid, item, "pipelines: expected local: and a path, found "+ref.Kind, "- local: ./workflows/release.md")
		default:
			out = append(out, ref)
		}
	}
	return out
}

// ModuleManifest is a module's manifest, read from the bytes of its file.
type ModuleManifest struct {
	Name, Version, Description string
	Imports, Pipelines         []ImportRef
	// Problems are in the order of the file and have no source. With one of severity
	// error the rest must not be used.
	Problems []ir.Diagnostic
}

// ParseManifest reads a .mwp-module.md (R-105, D-25). A manifest without a name is
// an error here; a map only warns about it.
func ParseManifest(text []byte) ModuleManifest {
	d := ParseDocument(text, Manifest)
	m := ModuleManifest{
		Name: d.Header.Module.Name, Version: d.Header.Module.Version, Description: d.Header.Module.Description,
		Imports: d.Header.Imports, Pipelines: d.Header.Module.Pipelines, Problems: slices.Clone(d.Problems),
	}
	for _, i := range slices.Concat(m.Imports, m.Pipelines) {
		if i.Refused.Code != "" {
			m.Problems = append(m.Problems, i.Refused)
		}
	}
	if p, bad := unnamed(&d.Header, ir.SeverityError); bad && !failed(d.Problems) {
		m.Problems = append(m.Problems, p)
	}
	if p, bad := barren(&d.Header); bad && !failed(m.Problems) {
		m.Problems = append(m.Problems, p)
	}
	ir.SortDiagnostics(m.Problems)
	return m
}

// barren reports to the author of a manifest that an importer gets nothing from it, which
// is allowed (D-25) and seldom meant: most often the text stands in the manifest itself.
func barren(h *Header) (ir.Diagnostic, bool) {
	d := ir.Diagnostic{
		Code: ir.ModuleEmpty, Severity: ir.SeverityNote, Line: 1,
		Message: "the module lists nothing, so that importing it brings nothing; the text below a manifest's header is in no map",
		Hint:    "move the text to a file and list that, imports: [{local: ./rules.md}]",
	}
	return d, h.Module != nil && len(h.Imports)+len(h.Module.Pipelines)+len(h.Guards) == 0
}

// unnamed reports a manifest without a name.
func unnamed(h *Header, severity string) (ir.Diagnostic, bool) {
	d := ir.Diagnostic{
		Code: ir.FrontmatterInvalid, Severity: severity, Line: 1,
		Message: "expected the module's name, found none", Hint: "name: my-module",
	}
	return d, h.Module != nil && h.Module.Name == ""
}
