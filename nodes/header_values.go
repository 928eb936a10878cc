package nodes

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (r *headerReader) layer(v *yaml.Node) (int, bool) {
	if v.Kind == yaml.ScalarNode && (v.ShortTag() == "!!str" || v.Style == 0) {
		digit := v.Value
		if v.ShortTag() == "!!str" {
			digit = strings.TrimPrefix(digit, "L")
			if digit == v.Value {
				digit = ""
			}
		}
		if len(digit) == 1 && digit[0] >= '0' && digit[0] < '0'+ir.LayerCount {
			return int(digit[0] - '0'), true
		}
	}
	hint := "layer: 2"
	if s := strings.TrimLeft(strings.ToUpper(v.Value), "L"); len(s) == 1 && s[0] >= '0' && s[0] < '0'+ir.LayerCount {
		hint = "layer: " + s
	}
	r.fail(v, "layer: expected 0 to 4 or L0 to L4, found "+describe(v), hint)
	return 0, false
}

// number reads a plain decimal integer. YAML has many more spellings, and readers
// of different versions disagree about 010, 0x10, 1_0 and 1e3 (D-28).
func (r *headerReader) number(key string, v *yaml.Node, lo, hi int, expected string) (int, bool) {
	if v.Kind == yaml.ScalarNode && v.Style == 0 && isDecimal(v.Value) {
		if n, err := strconv.Atoi(v.Value); err == nil && lo <= n && n <= hi {
			return n, true
		}
	}
	hint := ""
	if v.Kind == yaml.ScalarNode && v.Style != 0 && isDecimal(v.Value) {
		hint = key + ": " + v.Value
	}
	r.fail(v, key+": expected "+expected+", found "+describe(v), hint)
	return 0, false
}

func isDecimal(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' || s == "-0" {
		return false
	}
	_, rest := leadingDigits(digits)
	return rest == ""
}

func (r *headerReader) oneOf(key string, v *yaml.Node, allowed ...string) (string, bool) {
	if v.Kind == yaml.ScalarNode && slices.Contains(allowed, v.Value) {
		return v.Value, true
	}
	hint := ""
	if v.Kind == yaml.ScalarNode {
		if s := Suggest(v.Value, allowed); s != "" {
			hint = key + ": " + s
		}
	}
	r.fail(v, key+": expected "+oneFrom(allowed)+", found "+describe(v), hint)
	return "", false
}

// oneFrom writes the allowed words as "a, b or c".
func oneFrom(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// text reads text that says something and that a command line can carry.
// The lead is what stands before the value, for the hint.
func (r *headerReader) text(key, lead string, v *yaml.Node) (string, bool) {
	switch {
	case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str":
		hint := ""
		if v.Kind == yaml.ScalarNode && v.Value != "" {
			hint = lead + strconv.Quote(abbreviate(v.Value))
		}
		r.fail(v, key+": expected text, found "+describe(v), hint)
	case strings.TrimSpace(v.Value) == "" && key != "description":
		r.fail(v, key+": expected text, found nothing but blanks", "")
	case strings.IndexByte(v.Value, 0) >= 0:
		r.fail(v, key+": expected text, found a NUL character in it", "")
	default:
		return v.Value, true
	}
	return "", false
}

// line reads text without control characters.
func (r *headerReader) line(key, lead string, v *yaml.Node) (string, bool) {
	s, ok := r.text(key, lead, v)
	if ok && strings.ContainsFunc(s, isControl) {
		r.fail(v, key+": expected one line of text, found the control characters in "+strconv.Quote(abbreviate(s)), "")
		return "", false
	}
	return s, ok
}

// items returns the entries of a list. A key without a value is an empty list: its
// entries may all be commented out.
func (r *headerReader) items(v *yaml.Node) (items []*yaml.Node, ok bool) {
	if v.Kind == yaml.SequenceNode {
		for _, item := range v.Content {
			if !r.refused[item] {
				items = append(items, item)
			}
		}
		return items, true
	}
	return nil, v.Kind == yaml.ScalarNode && v.Style == 0 && v.Value == ""
}

// texts reads a list of one-line texts.
func (r *headerReader) texts(key string, v *yaml.Node, example string) []*yaml.Node {
	items, ok := r.items(v)
	if !ok {
		if v.Kind == yaml.ScalarNode && v.Value != "" {
			example = flowText(v.Value)
		}
		r.fail(v, key+": expected a list, found "+describe(v), key+": ["+example+"]")
		return nil
	}
	texts := items[:0:0]
	for _, item := range items {
		if _, ok := r.line(key, "- ", item); ok {
			texts = append(texts, item)
		}
	}
	return texts
}

// flowText writes text so that it can stand in a YAML list.
func flowText(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("./_-", c))
	}) < 0
	if plain && !strings.HasPrefix(s, "-") {
		return s
	}
	return strconv.Quote(abbreviate(s))
}

func (r *headerReader) verifiedPaths(v *yaml.Node) (paths []PathRef, has bool) {
	for _, item := range r.texts("verified_paths", v, "src/") {
		if r.relativePath("verified_paths", item) {
			paths = append(paths, PathRef{Path: item.Value, Line: item.Line + r.lineOffset})
		}
	}
	return paths, v.Kind == yaml.SequenceNode
}

// relativePath checks a path that starts at the file's directory and may leave it
// (D-45); whether it leaves the workspace is not known here.
func (r *headerReader) relativePath(key string, v *yaml.Node) bool {
	switch {
	case isAbsolute(v.Value):
		r.fail(v, key+": expected a path relative to this file's directory, found "+strconv.Quote(abbreviate(v.Value)), "")
	case strings.Contains(v.Value, `\`):
		r.fail(v, key+`: expected a path with /, found \ in `+strconv.Quote(abbreviate(v.Value)), "write it as "+abbreviate(strings.ReplaceAll(v.Value, `\`, "/")))
	default:
		return true
	}
	return false
}

// isAbsolute reports paths that are absolute on any platform, or that a shell
// would make so: a header must mean the same everywhere.
func isAbsolute(p string) bool {
	if p == "" {
		return false
	}
	letter := p[0] | 0x20
	return p[0] == '/' || p[0] == '\\' || p[0] == '~' || len(p) > 1 && p[1] == ':' && letter >= 'a' && letter <= 'z'
}
