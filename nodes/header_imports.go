package nodes

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (r *headerReader) imports(v *yaml.Node) {
	items, ok := r.items(v)
	if !ok {
		hint := "- local: ./rules.md"
		switch {
		case v.Kind == yaml.ScalarNode:
			hint = importHint(v.Value)
		case len(v.Content) > 1 && v.Content[0].Kind == yaml.ScalarNode && v.Content[1].Kind == yaml.ScalarNode:
			hint = "- " + abbreviate(v.Content[0].Value) + ": " + abbreviate(v.Content[1].Value)
		}
		r.failAs(ir.ImportKindInvalid, v, "imports: expected a list, found "+describe(v), hint)
		return
	}
	for _, item := range items {
		if i, ok := r.importItem(item); ok {
			r.header.Imports = append(r.header.Imports, i)
		}
	}
}

// importItem reads one entry: one kind with its value, or a workspace path with
// the git pin that stands in for it (D-30, D-32).
func (r *headerReader) importItem(item *yaml.Node) (ref ImportRef, ok bool) {
	ref.Line, ref.Column = item.Line+r.lineOffset, item.Column
	if item.Kind != yaml.MappingNode {
		hint := "- local: ./rules.md"
		if item.Kind == yaml.ScalarNode && item.Value != "" {
			hint = importHint(item.Value)
		}
		r.failAs(ir.ImportKindInvalid, item, "imports: expected an entry such as local: PATH, found "+describe(item), hint)
		return ref, false
	}
	values := map[string]string{}
	valid := true
	var kinds, unknown []*yaml.Node
	r.pairs(item, func(key string, k, v *yaml.Node) {
		if !slices.Contains(importKinds(), key) {
			unknown = append(unknown, k)
			return
		}
		kinds = append(kinds, k)
		value, ok := r.importValue(key, v)
		values[key] = value
		valid = valid && ok
	})
	_, workspace := values[ImportWorkspace]
	_, git := values[ImportGit]
	switch {
	case len(kinds) == 0:
		r.noImportKind(item, unknown)
		return ref, false
	case len(kinds) == 2 && workspace && git:
		ref.Kind, ref.Value, ref.Git = ImportWorkspace, values[ImportWorkspace], values[ImportGit]
	case len(kinds) > 1:
		r.failAs(ir.ImportKindInvalid, item, fmt.Sprintf("imports: expected one kind in an entry, found %s and %s", kinds[0].Value, kinds[1].Value), "write one entry for each; only workspace may have git beside it")
		return ref, false
	default:
		ref.Kind, ref.Value = kinds[0].Value, values[kinds[0].Value]
	}
	for _, k := range unknown {
		r.unknownKey(k, importKinds())
	}
	return ref, valid
}

func (r *headerReader) noImportKind(item *yaml.Node, unknown []*yaml.Node) {
	if len(unknown) == 0 {
		if len(item.Content) == 0 {
			r.failAs(ir.ImportKindInvalid, item, "imports: expected local, workspace or git, found an empty entry", "- local: ./rules.md")
		}
		return
	}
	k := unknown[0]
	hint := "the kinds are local, workspace and git"
	if s := Suggest(k.Value, importKinds()); s != "" {
		hint = "did you mean " + s + "?"
	}
	r.failAs(ir.ImportKindInvalid, k, "imports: expected local, workspace or git, found "+strconv.Quote(abbreviate(k.Value)), hint)
}

// importHint guesses the entry that a bare value was meant to be.
func importHint(value string) string {
	value = abbreviate(value)
	if strings.Contains(value, "://") || strings.HasPrefix(value, "git@") {
		return "- git: " + value
	}
	return "- local: " + value
}

func (r *headerReader) importValue(kind string, v *yaml.Node) (string, bool) {
	if r.refused[v] {
		return "", false
	}
	s, ok := r.line(kind, kind+": ", v)
	switch {
	case !ok:
	case kind == ImportGit:
		ok = r.gitValue(v)
	default:
		ok = r.importPath(kind, v)
	}
	return s, ok
}

// gitValue checks the form of a URL; the rest of it is read where modules are
// (D-36). There is no registry of short names (D-95).
func (r *headerReader) gitValue(v *yaml.Node) bool {
	switch s := v.Value; {
	case strings.HasPrefix(s, "-"):
		// git would read it as an option.
		r.failAs(ir.ImportKindInvalid, v, "git: expected a URL, found "+strconv.Quote(abbreviate(s)), "- git: https://HOST/OWNER/REPOSITORY.git@TAG")
	case !strings.Contains(s, ":"):
		name, ref, ok := strings.Cut(abbreviate(s), "@")
		if !ok {
			ref = "TAG"
		}
		name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".git")
		r.failAs(ir.ImportKindInvalid, v, "git: expected a full URL, found the short name "+strconv.Quote(abbreviate(s))+"; there is no registry of names", "- git: https://HOST/OWNER/"+name+".git@"+ref)
	default:
		return true
	}
	return false
}

// importPath checks what a path says by itself (D-30, D-31, D-116). Links are
// followed, and what they lead out of is found, where files are read.
func (r *headerReader) importPath(kind string, v *yaml.Node) bool {
	whole := v.Value
	file, section, hasSection := strings.Cut(whole, "#")
	file = strings.ReplaceAll(file, "%23", "#")
	clean := path.Clean(file)
	quoted := strconv.Quote(abbreviate(whole))
	switch {
	case strings.Contains(file, "://"):
		r.failAs(ir.ImportKindInvalid, v, kind+": expected a path, found the URL "+quoted, "- git: "+abbreviate(whole))
	case isAbsolute(file):
		hint := "a local path starts at this file's directory: - local: ./" + abbreviate(strings.TrimLeft(file, "/"))
		if kind == ImportWorkspace {
			hint = "a workspace path starts at the workspace root: - workspace: " + abbreviate(strings.TrimLeft(file, "/"))
		}
		if file[0] != '/' {
			hint = ""
		}
		r.failAs(ir.ImportAbsolute, v, kind+": expected a relative path, found "+quoted, hint)
	case strings.Contains(file, `\`):
		r.fail(v, kind+`: expected a path with /, found \ in `+quoted, "- "+kind+": "+abbreviate(strings.ReplaceAll(whole, `\`, "/")))
	case clean == ".." || strings.HasPrefix(clean, "../"):
		code, hint := ir.ImportEscapesRoot, ""
		expected := ": expected a path inside the workspace root, found "
		if kind == ImportLocal {
			code, hint = ir.ImportEscapes, "use workspace: with the path from the workspace root"
			expected = ": expected a path below this file's directory, found "
		}
		r.failAs(code, v, kind+expected+quoted, hint)
	case file == "":
		r.fail(v, kind+": expected a path before the #, found "+quoted, "")
	case hasSection && strings.TrimSpace(section) == "":
		r.fail(v, kind+": expected a heading after the #, found "+quoted, "a # in a file's name is written %23")
	default:
		return true
	}
	return false
}
