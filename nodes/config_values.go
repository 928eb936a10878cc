package nodes

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (f tomlField) fail(message, hint string) {
	f.r.list.add(ir.Diagnostic{
		Code: ir.ConfigInvalid, Severity: ir.SeverityError, Line: f.line, Column: f.column,
		Message: abbreviate(f.key) + ": " + message, Hint: hint,
	})
}

func (f tomlField) unknown(table string) {
	hint := ""
	if table == "" {
		for _, t := range configTables() {
			if slices.Contains(configTableKeys(t), f.name) {
				hint = "it belongs below [" + t + "]"
			}
		}
	}
	f.unknownOf(configTableKeys(table), hint)
}

func (f tomlField) unknownOf(known []string, hint string) {
	if hint == "" && !f.r.list.full() {
		if s := Suggest(f.name, known); s != "" {
			hint = "did you mean " + s + "?"
		}
	}
	f.r.list.add(ir.Diagnostic{
		Code: ir.ConfigUnknownKey, Severity: ir.SeverityWarning, Line: f.line, Column: f.column,
		Message: "unknown key " + abbreviate(f.key), Hint: hint,
	})
}

// set records the value for `mwp config`.
func (f tomlField) set(value string) {
	f.r.placed = append(f.r.placed, placedSetting{Setting{Key: f.key, Value: value, Line: f.line}, f.column})
}

func (f tomlField) table() (map[string]any, bool) {
	t, ok := f.value.(map[string]any)
	if !ok {
		hint := "write it as [" + f.key + "]"
		f.fail("expected a table, found "+describeTOML(f.value), hint)
	}
	return t, ok
}

func (f tomlField) text(p *string) {
	s, ok := f.value.(string)
	switch {
	case !ok:
		f.fail("expected text, found "+describeTOML(f.value), "")
	case strings.IndexByte(s, 0) >= 0:
		f.fail("expected text, found a NUL character in it", "")
	default:
		*p = s
		f.set(tomlValue(s))
	}
}

// plainText reads a text that stands in a generated line; prose may have several lines.
func (f tomlField) plainText(p *string, prose bool) {
	if s, ok := f.value.(string); ok && strings.ContainsFunc(s, func(c rune) bool { return unseen(c) && !(prose && (c == '\n' || c == '\t')) }) {
		f.fail("expected text without control or invisible characters", "")
		return
	}
	f.text(p)
}

// texts reads a list of texts; check says what an item lacks, and how to write it.
func (f tomlField) texts(p *[]string, check func(string) (problem, hint string)) bool {
	items, ok := f.value.([]any)
	if !ok {
		hint := f.name + ` = ["…"]`
		if s, ok := f.value.(string); ok {
			hint = f.name + " = [" + tomlValue(abbreviate(s)) + "]"
		}
		f.fail("expected a list of texts, found "+describeTOML(f.value), hint)
		return false
	}
	valid := true
	var texts []string
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			f.fail("expected a list of texts, found "+describeTOML(item)+" in it", "")
			valid = false
			continue
		}
		if problem, hint := check(s); problem != "" {
			f.fail(problem+", found "+strconv.Quote(abbreviate(s)), hint)
			valid = false
			continue
		}
		texts = append(texts, s)
	}
	if valid {
		*p = texts
		f.set(tomlTexts(texts))
	}
	return valid
}

func (f tomlField) truth(p *bool) {
	b, ok := f.value.(bool)
	if !ok {
		f.fail("expected true or false, found "+describeTOML(f.value), "")
		return
	}
	*p = b
	f.set(strconv.FormatBool(b))
}

func (f tomlField) number(p **int, least int64, expected string) {
	n, ok := f.value.(int64)
	if !ok || n < least || n > maxNumber {
		f.fail("expected "+expected+", found "+describeTOML(f.value), "")
		return
	}
	v := int(n)
	*p = &v
	f.set(strconv.Itoa(v))
}

func (f tomlField) budget(p *BudgetSetting) {
	if s, ok := f.value.(string); ok && s == "none" {
		*p = BudgetSetting{Set: true, None: true}
		f.set(tomlValue(s))
		return
	}
	n, ok := f.value.(int64)
	if !ok || n < 1 || n > maxNumber {
		hint := ""
		if s, ok := f.value.(string); ok && isDecimal(s) && s[0] != '-' {
			hint = f.name + " = " + s
		}
		f.fail(`expected a whole number above 0 or "none", found `+describeTOML(f.value), hint)
		return
	}
	*p = BudgetSetting{Set: true, Cap: int(n)}
	f.set(strconv.FormatInt(n, 10))
}

func (f tomlField) oneOf(p *string, allowed ...string) {
	s, ok := f.value.(string)
	if !ok || !slices.Contains(allowed, s) {
		hint := ""
		if near := Suggest(s, allowed); near != "" {
			hint = f.name + " = " + tomlValue(near)
		}
		f.fail("expected "+oneFrom(allowed)+", found "+describeTOML(f.value), hint)
		return
	}
	*p = s
	f.set(tomlValue(s))
}

func (f tomlField) duration(p **time.Duration) {
	s, ok := f.value.(string)
	d, err := ParseDuration(s)
	if !ok || err != nil || d <= 0 {
		hint := f.name + ` = "10m"`
		if n, ok := f.value.(int64); ok && n > 0 {
			hint = fmt.Sprintf("%s = \"%ds\"", f.name, n)
		}
		f.fail("expected a duration above 0 such as \"10m\", found "+describeTOML(f.value), hint)
		return
	}
	*p = &d
	f.set(tomlValue(s))
}

func (f tomlField) size(p **int64) {
	n, ok := f.value.(int64)
	value := strconv.FormatInt(n, 10)
	if s, isText := f.value.(string); isText {
		n, ok = parseSize(s)
		value = tomlValue(s)
	}
	if !ok || n < 1 {
		f.fail("expected a size above 0 such as \"256MiB\", found "+describeTOML(f.value), f.name+` = "256MiB"`)
		return
	}
	*p = &n
	f.set(value)
}

// parseSize reads a number of bytes with a unit: B, the binary KiB to TiB, or the
// decimal kB to TB.
func parseSize(s string) (int64, bool) {
	digits, unit := leadingDigits(s)
	n, ok := decimal(digits)
	if !ok || digits == "" || n > math.MaxInt64 {
		return 0, false
	}
	for _, u := range [...]struct {
		name string
		size uint64
	}{
		{"", 1}, {"B", 1},
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	} {
		if strings.TrimSpace(unit) == u.name {
			if n > math.MaxInt64/u.size {
				return 0, false
			}
			return int64(n * u.size), true
		}
	}
	return 0, false
}

// checkCommand refuses what no entry of a list of texts may be.
func checkCommand(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "expected text that says something", ""
	case strings.ContainsFunc(s, unseen):
		return "expected text without control or invisible characters", ""
	}
	return "", ""
}

// unseen reports characters that could make a generated line another one, or read
// otherwise than it is (D-105).
func unseen(c rune) bool { return isControl(c) || ir.Hidden(c) }

func checkMember(s string) (problem, hint string) {
	if problem, hint := checkCommand(s); problem != "" {
		return problem, hint
	}
	pattern := strings.TrimPrefix(s, "!")
	switch {
	case len(s) > maxPatternBytes:
		return fmt.Sprintf("expected a pattern of at most %d bytes", maxPatternBytes), ""
	case isAbsolute(pattern):
		return "expected a path from the workspace root", ""
	case strings.Contains(pattern, `\`):
		return "expected a path with /", abbreviate(strings.ReplaceAll(s, `\`, "/"))
	}
	if _, ok := memberSegments(pattern); !ok {
		return "expected a path inside the workspace root", ""
	}
	return "", ""
}

func checkFileName(s string) (problem, hint string) {
	if problem, hint := checkCommand(s); problem != "" {
		return problem, hint
	}
	if s == "." || s == ".." || strings.ContainsAny(s, `/\`) {
		return "expected a file name without /", ""
	}
	return "", ""
}

func checkDirectory(s string) (problem, hint string) {
	if problem, hint := checkCommand(s); problem != "" {
		return problem, hint
	}
	clean := path.Clean(s)
	switch {
	case isAbsolute(s):
		return "expected a path from the workspace root", ""
	case strings.Contains(s, `\`):
		return "expected a path with /", quoteKey(abbreviate(strings.ReplaceAll(s, `\`, "/")))
	case clean == ".":
		return "expected a path below the workspace root", "describe the root with description"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "expected a path inside the workspace root", ""
	case clean != strings.TrimSuffix(s, "/"):
		return "expected a clean path", "write it as " + quoteKey(abbreviate(clean))
	}
	return "", ""
}

// tomlValue writes a text as TOML does.
func tomlValue(s string) string {
	b := []byte{'"'}
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case isControl(c):
			b = fmt.Appendf(b, `\u%04X`, c)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return string(append(b, '"'))
}

func tomlTexts(ss []string) string {
	quoted := make([]string, len(ss))
	for i, s := range ss {
		quoted[i] = tomlValue(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// describeTOML says what a value is, for "expected …, found …".
func describeTOML(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + tomlValue(abbreviate(v))
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return "the fraction " + strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return "a date or time"
	case []any:
		return "a list"
	case []map[string]any:
		return "a list of tables"
	case map[string]any:
		return "a table"
	}
	return "something else"
}

// quoteKey writes one part of a key as TOML does.
func quoteKey(name string) string {
	bare := name != "" && strings.IndexFunc(name, func(c rune) bool { return !isBareKey(c) }) < 0
	if bare {
		return name
	}
	return tomlValue(name)
}

func isBareKey(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func joinKey(prefix, name string) string {
	if prefix == "" {
		return quoteKey(name)
	}
	return prefix + "." + quoteKey(name)
}
