package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	// maxProblems bounds the findings about one file, so that a file of nonsense
	// does not become a map of nonsense. What is left out is counted.
	maxProblems = 100
	// maxHeaderDepth is far above the four levels the format has.
	maxHeaderDepth = 32
	// maxNumber bounds every number, so that a header means the same where int has
	// 32 bits.
	maxNumber   = 1_000_000_000
	maxPriority = 1_000_000
)

// headerKeys lists the keys of a context file (R-060 to R-068, N-02).
func headerKeys(s Syntax) []string {
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

func (r *headerReader) guards(v *yaml.Node) {
	items, ok := r.items(v)
	if !ok {
		hint := "- cmd: ./check.sh"
		if v.Kind == yaml.ScalarNode {
			hint = "- cmd: " + abbreviate(v.Value)
		}
		r.fail(v, "guards: expected a list, found "+describe(v), hint)
		return
	}
	for _, item := range items {
		if g, ok := r.guard(item); ok {
			r.header.Guards = append(r.header.Guards, g)
		}
	}
}

// guard reads one entry (R-065, D-44, D-45, D-86, D-97, D-113).
func (r *headerReader) guard(item *yaml.Node) (g GuardSpec, ok bool) {
	g.Line = item.Line + r.lineOffset
	if item.Kind != yaml.MappingNode {
		hint := "- cmd: ./check.sh"
		if item.Kind == yaml.ScalarNode && item.Value != "" {
			hint = "- cmd: " + abbreviate(item.Value)
		}
		r.fail(item, "guards: expected an entry such as cmd: COMMAND, found "+describe(item), hint)
		return g, false
	}
	errorsBefore := r.list.errors
	var checks, timed []*yaml.Node
	r.pairs(item, func(key string, k, v *yaml.Node) {
		switch key {
		case "cmd":
			checks = append(checks, k)
			g.Cmd, g.Argv = r.command(v)
		case "exists":
			checks = append(checks, k)
			if s, ok := r.line(key, key+": ", v); ok && r.relativePath(key, v) {
				g.Exists = s
			}
		case "contains":
			checks = append(checks, k)
			g.ContainsPath, g.ContainsText = r.contains(v)
		case "script":
			checks = append(checks, k)
			g.Script = r.script(v)
		case "name":
			g.Name, _ = r.line(key, key+": ", v)
		case "cache_for":
			g.CacheFor = r.duration(key, v, 0)
			timed = append(timed, k)
		case "timeout":
			g.Timeout = r.duration(key, v, 1)
			timed = append(timed, k)
		case "trust":
			g.Trust, _ = r.oneOf(key, v, TrustBuiltin, TrustProject, TrustAdHoc)
			timed = append(timed, k)
		case "verified_paths":
			g.VerifiedPaths, g.HasVerifiedPaths = r.verifiedPaths(v)
			timed = append(timed, k)
		default:
			r.unknownKey(k, guardKeys())
		}
	})
	switch {
	case len(checks) > 1:
		r.fail(checks[1], fmt.Sprintf("guards: expected one check in an entry, found %s and %s", checks[0].Value, checks[1].Value), "write one entry for each")
	case len(checks) == 0 && r.list.errors == errorsBefore && !r.refusedBelow(item):
		r.fail(item, "guards: expected one of cmd, exists, contains or script in the entry, found none", "- cmd: ./check.sh")
	case len(checks) == 1 && checks[0].Value != "cmd":
		for _, k := range timed {
			r.list.add(r.at(ir.FrontmatterInvalid, ir.SeverityWarning, k, fmt.Sprintf("guards: %s has no effect beside %s, which runs nothing and is always current", k.Value, checks[0].Value), "delete the line"))
		}
	}
	return g, r.list.errors == errorsBefore
}

func (r *headerReader) refusedBelow(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return r.refused[c] })
}

// command reads cmd: a text for the shell's rules, or a list of words.
func (r *headerReader) command(v *yaml.Node) (string, []string) {
	if v.Kind != yaml.SequenceNode {
		s, _ := r.text("cmd", "cmd: ", v)
		return s, nil
	}
	var argv []string
	items, _ := r.items(v)
	for i, item := range items {
		// An argument may be empty, the program may not.
		if i > 0 && item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" && item.Value == "" {
			argv = append(argv, "")
			continue
		}
		if s, ok := r.text("cmd", "- ", item); ok {
			argv = append(argv, s)
		}
	}
	if len(v.Content) == 0 {
		r.fail(v, "cmd: expected a command, found an empty list", `cmd: ["go", "vet", "./..."]`)
	}
	return "", argv
}

func (r *headerReader) contains(v *yaml.Node) (file, text string) {
	const hint = "contains: {path: FILE, text: TEXT}"
	if v.Kind != yaml.MappingNode {
		r.fail(v, "contains: expected path and text, found "+describe(v), hint)
		return "", ""
	}
	seen := map[string]bool{}
	r.pairs(v, func(key string, k, n *yaml.Node) {
		seen[key] = true
		switch key {
		case "path":
			if s, ok := r.line(key, "path: ", n); ok && r.relativePath(key, n) {
				file = s
			}
		case "text":
			text, _ = r.text(key, "text: ", n)
		default:
			r.unknownKey(k, []string{"path", "text"})
		}
	})
	for _, key := range []string{"path", "text"} {
		if !seen[key] && !r.refusedBelow(v) {
			r.fail(v, "contains: expected path and text, found no "+key, hint)
		}
	}
	return file, text
}

func (r *headerReader) script(v *yaml.Node) string {
	s, ok := r.line("script", "script: ", v)
	if !ok {
		return ""
	}
	runner, name, _ := strings.Cut(s, ":")
	if (runner != "npm" && runner != "make") || strings.TrimSpace(name) == "" {
		hint := "script: npm:NAME or script: make:NAME"
		if name == "" && runner == s {
			hint = "script: npm:" + abbreviate(s)
		}
		r.fail(v, "script: expected npm:NAME or make:NAME, found "+describe(v), hint)
		return ""
	}
	return s
}

func (r *headerReader) duration(key string, v *yaml.Node, least time.Duration) *time.Duration {
	expected := key + ": expected a duration such as 10m, 2h or 1d, found " + describe(v)
	if v.Kind != yaml.ScalarNode {
		r.fail(v, expected, key+": 10m")
		return nil
	}
	d, err := parseDuration(v.Value)
	switch {
	case err == nil && d >= least:
		return &d
	case err == nil:
		r.fail(v, key+": expected a duration above 0, found "+describe(v), key+": 10m")
	case strings.HasPrefix(err.Error(), "longer"):
		r.fail(v, expected+", which is "+err.Error(), key+": 1w")
	case isDecimal(v.Value) && v.Value[0] != '-':
		r.fail(v, expected+" without a unit", key+": "+v.Value+"s")
	default:
		r.fail(v, expected, key+": 10m")
	}
	return nil
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

// findings collects what is wrong with one file, up to a bound.
type findings struct {
	items  []ir.Diagnostic
	errors int
	// left counts what was not kept, leftErrors the errors among it.
	left, leftErrors int
}

func (f *findings) full() bool { return len(f.items) >= maxProblems }

func (f *findings) add(d ir.Diagnostic) {
	if d.Severity == ir.SeverityError {
		f.errors++
	}
	if f.full() {
		f.left++
		if d.Severity == ir.SeverityError {
			f.leftErrors++
		}
		return
	}
	f.items = append(f.items, d)
}

// sorted returns the findings in the order of the file, each once. When some were
// left out, the last one says how many, and is an error if one of them was.
func (f *findings) sorted(lastLine int) []ir.Diagnostic {
	ir.SortDiagnostics(f.items)
	out := slices.Compact(f.items)
	if f.left == 0 {
		return out
	}
	d := ir.Diagnostic{
		Code: out[len(out)-1].Code, Severity: ir.SeverityWarning,
		Line: lastLine, Message: fmt.Sprintf("%d more findings are not listed", f.left),
	}
	if f.leftErrors > 0 {
		d.Severity = ir.SeverityError
	}
	d.Line = max(d.Line, out[len(out)-1].Line)
	return append(out, d)
}
