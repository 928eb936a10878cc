package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	// maxHeaderDepth is far above the four levels the format has.
	maxHeaderDepth = 32
	// maxNumber bounds every number, so that a header means the same where int has
	// 32 bits.
	maxNumber   = 1_000_000_000
	maxPriority = 1_000_000
)

// headerKeys lists the keys of a context file (R-060 to R-068, N-02).
func headerKeys(s Syntax) []string {
	if s == Manifest {
		return manifestKeys()
	}
	keys := []string{"layer", "scope", "max_tokens", "window", "priority", "imports", "guards", "verified_paths", "owners"}
	if s == YAML {
		keys = append(keys, "schema", "description")
	}
	return keys
}

func guardKeys() []string {
	return []string{"cmd", "name", "cache_for", "trust", "timeout", "verified_paths", "exists", "contains", "script"}
}

func importKinds() []string { return []string{ImportLocal, ImportWorkspace, ImportGit} }

// headerReader decodes one header strictly and collects every mistake. It walks
// YAML nodes instead of decoding into the struct, because duplicate keys, unknown
// keys and positions are only known there (D-28).
type headerReader struct {
	syntax Syntax
	raw    []byte
	// lineOffset is what a line of raw lacks to be a line of the file.
	lineOffset int
	header     *Header
	// description is the body of a YAML context file.
	description string

	list findings
	// refused holds the nodes about which everything has been said.
	refused map[*yaml.Node]bool
}

func (r *headerReader) problems() []ir.Diagnostic {
	return r.list.sorted(r.lineOffset + max(bytes.Count(r.raw, []byte{'\n'}), 1))
}

func (r *headerReader) read() {
	if !r.plainCharacters() {
		return
	}
	root, ok := r.parse()
	if !ok || root == nil {
		return
	}
	r.vet(root, 0)
	if root.Kind != yaml.MappingNode {
		if root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 {
			return
		}
		hint := "write one key: value per line, such as layer: 2"
		if r.syntax == Markdown && root.Kind == yaml.ScalarNode {
			hint = "if the first --- is a horizontal rule, put text or a blank header before it"
		}
		r.fail(root, "expected keys and values, found "+describe(root), hint)
		return
	}
	r.pairs(root, r.field)
}

// plainCharacters reports characters that YAML forbids, or takes for line ends
// where nobody sees one: a key could hide behind U+2028 in a comment.
func (r *headerReader) plainCharacters() bool {
	line, column := 1, 0
	for _, c := range string(r.raw) {
		column++
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c == '\t':
		case isControl(c), c == 0x2028, c == 0x2029, c == 0xfffe, c == 0xffff:
			r.list.add(ir.Diagnostic{
				Code: ir.FrontmatterInvalid, Severity: ir.SeverityError, Line: line + r.lineOffset, Column: column,
				Message: fmt.Sprintf("expected plain text, found the control character U+%04X", c),
				Hint:    "delete the character",
			})
			return false
		}
	}
	return true
}

func isControl(c rune) bool { return c < 0x20 || c >= 0x7f && c < 0xa0 }

// parse returns the top node, nil for a header without content.
func (r *headerReader) parse() (root *yaml.Node, ok bool) {
	// The library reports "internal error" by a panic that it does not recover.
	defer func() {
		if p := recover(); p != nil {
			r.fail(nil, fmt.Sprintf("expected YAML: %v", p), "")
			root, ok = nil, false
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(r.raw))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, true
		}
		r.syntaxError(err)
		return nil, false
	}
	// A decoder reads one document a call, and would ignore the rest.
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			r.syntaxError(err)
		} else {
			r.fail(&second, "expected one YAML document, found a second one", "write all keys in one document")
		}
		return nil, false
	}
	if len(doc.Content) != 1 {
		return nil, true
	}
	return doc.Content[0], true
}

// syntaxError reports an error of the YAML parser. Its line is where the parser
// gave up, one too low for some errors, and it has no column; so none is given,
// except for tabs, which are found again.
func (r *headerReader) syntaxError(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line, given := 1, false
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message, given = n, text, true
			}
		}
	}
	// The parser counts lines from 0, the scanner below it from 1.
	if given && strings.HasPrefix(message, "did not find expected") {
		line++
	}
	lines := bytes.Split(r.raw, []byte{'\n'})
	line = min(max(line, 1), max(bytes.Count(r.raw, []byte{'\n'}), 1))
	d := ir.Diagnostic{
		Code: ir.FrontmatterInvalid, Severity: ir.SeverityError, Line: line + r.lineOffset,
		Message: "expected YAML: " + message,
	}
	if l, column := tabIndent(lines, line); l > 0 {
		d.Line, d.Column = l+r.lineOffset, column
		d.Message = "tabs are not allowed here"
		d.Hint = "indent with spaces"
		r.list.add(d)
		return
	}
	at := strings.TrimSpace(string(lines[line-1]))
	switch {
	case strings.HasPrefix(message, "unknown anchor"):
		d.Message = "expected plain values, found an alias: " + message
		d.Hint = "write the value out, or quote text that begins with *"
	case strings.HasPrefix(message, "mapping values are not allowed"):
		d.Hint = `quote text that contains ": ", and indent all keys of one entry alike`
	case strings.HasPrefix(message, "found character that cannot start any token"):
		d.Hint = "quote text that begins with @, ` or %"
		if item, ok := strings.CutPrefix(at, "- "); ok && strings.HasPrefix(item, "@") {
			d.Hint = "- " + strconv.Quote(item)
		}
	case strings.HasPrefix(message, "could not find expected ':'"):
		d.Hint = "write key: value, with a space after the colon"
	}
	r.list.add(d)
}

// tabIndent looks for a tab in the indentation near the line of an error.
func tabIndent(lines [][]byte, near int) (line, column int) {
	for _, n := range []int{near, near + 1, near - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		text := lines[n-1]
		indent := len(text) - len(bytes.TrimLeft(text, " \t"))
		if i := bytes.IndexByte(text[:indent], '\t'); i >= 0 && indent < len(text) {
			return n, i + 1
		}
	}
	return 0, 0
}

// vet refuses what a header does not need and a reader would trip over: aliases,
// anchors, merge keys, tags, keys that are not text, keys set twice. The
// library's own check for duplicates compares every pair, and does not run for
// nodes at all.
func (r *headerReader) vet(n *yaml.Node, depth int) {
	if depth > maxHeaderDepth {
		r.fail(n, fmt.Sprintf("nested deeper than %d levels", maxHeaderDepth), "")
		r.refuse(n)
		return
	}
	switch {
	case n.Kind == yaml.AliasNode:
		r.fail(n, "expected a plain value, found the alias *"+abbreviate(n.Value), "write the value out")
		r.refuse(n)
		return
	case n.Anchor != "":
		r.fail(n, "expected a plain value, found the anchor &"+abbreviate(n.Anchor), "write the value without the anchor, or quote text that begins with &")
		r.refuse(n)
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n, "expected a plain value, found the tag "+abbreviate(n.Tag), "write the value without the tag, or quote text that begins with !")
		r.refuse(n)
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			r.vet(c, depth+1)
		}
		return
	}
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		r.vet(v, depth+1)
		switch {
		case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge":
			r.fail(k, "expected a key, found the merge key <<", "write the keys out")
			r.refuse(k)
			continue
		case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!str" && k.Anchor == "" && k.Style&yaml.TaggedStyle == 0:
		default:
			r.fail(k, "expected a key that is a word, found "+describe(k), "")
			r.refuse(k)
			continue
		}
		if first, ok := lines[k.Value]; ok {
			r.fail(k, fmt.Sprintf("duplicate key %q: line %d sets it first", abbreviate(k.Value), first), "keep one of the two lines")
			r.refuse(k)
			continue
		}
		lines[k.Value] = k.Line + r.lineOffset
	}
}

func (r *headerReader) refuse(n *yaml.Node) {
	if r.refused == nil {
		r.refused = map[*yaml.Node]bool{}
	}
	r.refused[n] = true
}

// pairs calls f for each key and value that vet let pass.
func (r *headerReader) pairs(n *yaml.Node, f func(key string, k, v *yaml.Node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k, v := n.Content[i], n.Content[i+1]; !r.refused[k] && !r.refused[v] {
			f(k.Value, k, v)
		}
	}
}

func (r *headerReader) field(key string, k, v *yaml.Node) {
	h := r.header
	line := v.Line + r.lineOffset
	if r.syntax == Manifest && r.manifestField(key, k, v) {
		return
	}
	switch key {
	case "layer":
		if n, ok := r.layer(v); ok {
			h.Layer, h.LayerLine = &n, line
		}
	case "scope":
		if s, ok := r.oneOf(key, v, ScopeRecursive, ScopeLocal); ok {
			h.Scope, h.ScopeLine = s, line
		}
	case "max_tokens":
		if n, ok := r.number(key, v, 1, maxNumber, "a whole number above 0"); ok {
			h.MaxTokens, h.MaxTokensLine = &n, line
		}
	case "window":
		if n, ok := r.number(key, v, 0, maxNumber, "a whole number, 0 or more"); ok {
			h.Window, h.WindowLine = &n, line
		}
	case "priority":
		if n, ok := r.number(key, v, -maxPriority, maxPriority, "a whole number from -1000000 to 1000000"); ok {
			h.Priority, h.PriorityLine = &n, line
		}
	case "imports":
		r.imports(v)
	case "guards":
		r.guards(v)
	case "verified_paths":
		h.VerifiedPaths, h.HasVerifiedPaths = r.verifiedPaths(v)
	case "owners":
		for _, item := range r.texts(key, v, "team-backend") {
			h.Owners = append(h.Owners, item.Value)
		}
	default:
		if r.syntax == YAML && r.yamlField(key, v) {
			return
		}
		r.unknownTopKey(k)
	}
}

// yamlField reads the keys that only a YAML context file has (N-02).
func (r *headerReader) yamlField(key string, v *yaml.Node) bool {
	switch key {
	case "schema":
		r.header.SchemaLine = v.Line + r.lineOffset
		r.number(key, v, 1, 1, "1, the version this mwp reads")
	case "description":
		if s, ok := r.text(key, key+": ", v); ok {
			r.description = s
		}
	default:
		return false
	}
	return true
}

func (r *headerReader) unknownTopKey(k *yaml.Node) {
	switch {
	case k.Value == "description" || k.Value == "schema":
		r.warn(k, fmt.Sprintf("unknown key %q: only a .mwp-context.yaml has it", k.Value), "")
	case k.Value == "interpolate":
		r.warn(k, `unknown key "interpolate": this mwp has no variables, {{…}} stays as it is`, "")
	case slices.Contains([]string{"budget", "budgets", "tokens", "limit"}, k.Value):
		r.warn(k, fmt.Sprintf("unknown key %q", k.Value), "max_tokens: 200 caps this file; the caps of layers are [budgets] in .mwp/config.toml")
	case slices.Contains(guardKeys(), k.Value):
		r.warn(k, fmt.Sprintf("unknown key %q: it belongs to an entry of guards", k.Value), "indent it to the column of the entry's cmd")
	case slices.Contains(importKinds(), k.Value):
		r.warn(k, fmt.Sprintf("unknown key %q: it belongs to an entry of imports", k.Value), "write it as - "+k.Value+": … below imports:")
	default:
		r.unknownKey(k, headerKeys(r.syntax))
	}
}

func (r *headerReader) unknownKey(k *yaml.Node, known []string) {
	hint := ""
	if !r.list.full() {
		if s := Suggest(k.Value, known); s != "" {
			hint = "did you mean " + s + "?"
		}
	}
	r.warn(k, fmt.Sprintf("unknown key %q", abbreviate(k.Value)), hint)
}

func (r *headerReader) fail(n *yaml.Node, message, hint string) {
	r.failAs(ir.FrontmatterInvalid, n, message, hint)
}

func (r *headerReader) failAs(code ir.Code, n *yaml.Node, message, hint string) {
	r.list.add(r.at(code, ir.SeverityError, n, message, hint))
}

func (r *headerReader) warn(n *yaml.Node, message, hint string) {
	r.list.add(r.at(ir.FrontmatterUnknownKey, ir.SeverityWarning, n, message, hint))
}

func (r *headerReader) at(code ir.Code, severity string, n *yaml.Node, message, hint string) ir.Diagnostic {
	d := ir.Diagnostic{Code: code, Severity: severity, Line: 1 + r.lineOffset, Message: message, Hint: hint}
	if n != nil && n.Line > 0 {
		d.Line, d.Column = n.Line+r.lineOffset, n.Column
	}
	return d
}

// describe says what a node is, for "expected …, found …".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	quoted := strconv.Quote(abbreviate(n.Value))
	switch {
	case n.Value == "" && n.Style == 0:
		return "nothing"
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return "the text " + quoted
	case n.ShortTag() == "!!str":
		return quoted
	}
	return abbreviate(n.Value)
}
