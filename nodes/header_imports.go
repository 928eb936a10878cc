package nodes

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
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
	refusals := map[string]ir.Diagnostic{}
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
		if valid = valid && ok; ok {
			refusals[key] = r.refusal(key, v)
		}
	})
	_, workspace := values[ImportWorkspace]
	_, git := values[ImportGit]
	switch {
	case len(kinds) == 0:
		r.noImportKind(item, unknown)
		return ref, false
	case len(kinds) == 2 && workspace && git:
		ref.Kind, ref.Value, ref.Git = ImportWorkspace, values[ImportWorkspace], values[ImportGit]
		ref.Refused = refusals[ImportWorkspace]
		if ref.Refused.Code == "" {
			ref.Refused = refusals[ImportGit]
		}
	case len(kinds) > 1:
		r.failAs(ir.ImportKindInvalid, item, fmt.Sprintf("imports: expected one kind in an entry, found %s and %s", kinds[0].Value, kinds[1].Value), "write one entry for each; only workspace may have git beside it")
		return ref, false
	default:
		ref.Kind, ref.Value = kinds[0].Value, values[kinds[0].Value]
		ref.Refused = refusals[ref.Kind]
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

// importValue reads a value that is text; whether that can be an import is said in
// the ImportRef and does not fail the header.
func (r *headerReader) importValue(kind string, v *yaml.Node) (string, bool) {
	if r.refused[v] {
		return "", false
	}
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!str" && strings.TrimSpace(v.Value) == "" && !strings.ContainsFunc(v.Value, isControl) {
		return v.Value, true
	}
	return r.line(kind, kind+": ", v)
}

// refusal is why a value can be no import of its kind.
func (r *headerReader) refusal(kind string, v *yaml.Node) ir.Diagnostic {
	code, message, hint := refusedPath(kind, v.Value)
	if kind == ImportGit {
		code, message, hint = refusedURL(v.Value)
	}
	if code == "" {
		return ir.Diagnostic{}
	}
	return r.at(code, ir.SeverityError, v, kind+": "+message, hint)
}

// refusedURL checks the form of a git import (D-36, D-95).
func refusedURL(value string) (code ir.Code, message, hint string) {
	ref, err := pin.ParseRef(value)
	var e *pin.Error
	if errors.As(err, &e) {
		return ir.ImportKindInvalid, e.Message, e.Hint
	}
	if why := ref.Vague(); why != "" {
		return ir.ImportKindInvalid, "expected a tag or a commit after the @, found " + strconv.Quote(abbreviate(ref.Name)) + ": " + why, ""
	}
	return "", "", ""
}

// refusedPath checks what a path says by itself (D-30, D-31, D-116). Links are
// followed, and what they lead out of is found, where files are read.
func refusedPath(kind, whole string) (code ir.Code, message, hint string) {
	file, section, hasSection := strings.Cut(whole, "#")
	file = strings.ReplaceAll(file, "%23", "#")
	clean := path.Clean(file)
	quoted := strconv.Quote(abbreviate(whole))
	switch {
	case strings.TrimSpace(file) == "" && !hasSection:
		return ir.UnresolvedImport, "expected a path, found " + quoted, "- " + kind + ": ./rules.md"
	case strings.Contains(file, "://"):
		return ir.ImportKindInvalid, "expected a path, found the URL " + strconv.Quote(abbreviate(pin.Mask(whole))), "- git: " + abbreviate(pin.Mask(whole))
	case isAbsolute(file):
		hint := "a local path starts at this file's directory: - local: ./" + abbreviate(strings.TrimLeft(file, "/"))
		if kind == ImportWorkspace {
			hint = "a workspace path starts at the workspace root: - workspace: " + abbreviate(strings.TrimLeft(file, "/"))
		}
		if file[0] != '/' {
			hint = ""
		}
		return ir.ImportAbsolute, "expected a relative path, found " + quoted, hint
	case strings.Contains(file, `\`):
		return ir.UnresolvedImport, `expected a path with /, found \ in ` + quoted, "- " + kind + ": " + abbreviate(strings.ReplaceAll(whole, `\`, "/"))
	case clean == ".." || strings.HasPrefix(clean, "../"):
		if kind == ImportLocal {
			return ir.ImportEscapes, "expected a path below this file's directory, found " + quoted, "use workspace: with the path from the workspace root"
		}
		return ir.ImportEscapesRoot, "expected a path inside the workspace root, found " + quoted, ""
	case file == "":
		return ir.UnresolvedImport, "expected a path before the #, found " + quoted, ""
	case hasSection && strings.TrimSpace(section) == "":
		return ir.UnresolvedImport, "expected a heading after the #, found " + quoted, "a # in a file's name is written %23"
	}
	return "", "", ""
}
