package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Bounds of a configuration. The library keeps the full path of every key and
// copies it at every level: 32 KB of nested inline tables took it 16 s, 16 KB of
// "a.a.a…" more than 6 GB. So depth and the sum of all paths are bounded before
// it sees the file.
const (
	maxConfigBytes    = 256 << 10
	maxConfigDepth    = 16
	maxConfigKeyBytes = 2 << 20
	maxPatternBytes   = 1024
)

// ParseConfig reads an anchor's configuration and reports every mistake in it, in
// the order of the file, without a source (D-02). Keys are matched exactly; an
// unknown one is a warning. A configuration with an error must not be used.
func ParseConfig(b []byte) (Config, []ir.Diagnostic) {
	if d, bad := encodingProblem(b); bad {
		return Config{}, []ir.Diagnostic{d}
	}
	r := configReader{text: configText(b)}
	r.read()
	return r.config, r.list.sorted(1 + strings.Count(strings.TrimSuffix(r.text, "\n"), "\n"))
}

// configText drops a byte order mark and writes CRLF as LF, so that multi-line
// strings do not differ between platforms. TOML does not allow a lone CR.
func configText(b []byte) string {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	return string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}

type configReader struct {
	text   string
	config Config
	keys   keyTable
	list   findings
	placed []placedSetting
}

type placedSetting struct {
	Setting
	column int
}

func (r *configReader) read() {
	if len(r.text) > maxConfigBytes {
		r.limit(1, fmt.Sprintf("the configuration has %d bytes, the limit is %d", len(r.text), maxConfigBytes))
		return
	}
	r.keys = locateKeys(r.text)
	if o := r.keys.over; o != "" {
		r.limit(r.keys.overLine, o)
		return
	}
	top, err := decodeTOML(r.text)
	for _, c := range r.keys.conflicts {
		r.list.add(ir.Diagnostic{
			Code: ir.ConfigInvalid, Severity: ir.SeverityError, Line: c.line, Column: c.column,
			Message: fmt.Sprintf("duplicate key %s: line %d sets it first", abbreviate(c.key), c.first),
			Hint:    "keep one of the two lines",
		})
	}
	if err != nil {
		// A key set twice is the library's error too, without the first line.
		if len(r.keys.conflicts) == 0 {
			r.syntaxError(err)
		}
		return
	}
	r.table("", top, r.topKey)
	slices.SortFunc(r.config.Directories, func(a, b DirectorySetting) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	r.refuseRepeatedDirectories()
	slices.SortStableFunc(r.placed, func(a, b placedSetting) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.column - b.column
	})
	for _, p := range r.placed {
		r.config.Settings = append(r.config.Settings, p.Setting)
	}
}

func decodeTOML(text string) (top map[string]any, err error) {
	// The library reports "BUG in lexer" by a panic that it does not recover.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	_, err = toml.Decode(text, &top)
	return top, err
}

func (r *configReader) limit(line int, message string) {
	r.list.add(ir.Diagnostic{Code: ir.LimitExceeded, Severity: ir.SeverityError, Line: line, Message: message})
}

func (r *configReader) syntaxError(err error) {
	d := ir.Diagnostic{Code: ir.ConfigInvalid, Severity: ir.SeverityError, Line: 1, Message: "expected TOML: " + err.Error()}
	var p toml.ParseError
	if errors.As(err, &p) {
		message := strings.TrimSuffix(p.Message, ".")
		if len(message) > 300 {
			message = abbreviate(message)
		}
		d.Message = "expected TOML: " + lowerFirst(message)
		// The library's line is one too high where it stumbles over a line end, and its
		// column is not always filled in. The offset is right.
		at := min(max(p.Position.Start, 0), len(r.text))
		d.Line, d.Column = position([]byte(r.text), at)
	}
	r.list.add(d)
}

// lowerFirst begins a sentence of the library as ours begin, unless its first word
// is an abbreviation.
func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// tomlField is a key with its value and place.
type tomlField struct {
	r *configReader
	// key is the full key as TOML writes it, name its last part as text.
	key, name    string
	value        any
	line, column int
}

// table calls each for every key of a table, in byte order: a map's own order
// would change the order of equal findings.
func (r *configReader) table(prefix string, t map[string]any, each func(tomlField)) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		f := tomlField{r: r, key: joinKey(prefix, name), name: name, value: t[name]}
		if p, ok := r.keys.places[f.key]; ok {
			f.line, f.column = p.line, p.column
		}
		each(f)
	}
}

func configTables() []string {
	return []string{"budgets", "trust", "directories", "render", "boundary", "tokens", "guards", "sessions", "cache", "modules"}
}

// configTableKeys returns the keys of a table with fixed keys.
func configTableKeys(table string) []string {
	switch table {
	case "":
		return append([]string{"name", "description", "members"}, configTables()...)
	case "budgets":
		return []string{"l0", "l1", "l2", "l3", "l4", "policy"}
	case "trust":
		return []string{"allowed_guards"}
	case "render":
		return []string{"window"}
	case "boundary":
		return []string{"files", "mode"}
	case "tokens":
		return []string{"counter"}
	case "guards":
		return []string{"timeout", "jobs"}
	case "sessions":
		return []string{"max_age"}
	case "cache":
		return []string{"max_size"}
	case "modules":
		return []string{"allow"}
	}
	return nil
}

func (r *configReader) topKey(f tomlField) {
	c := &r.config
	switch {
	case f.key == "name":
		f.text(&c.Name)
	case f.key == "description":
		f.text(&c.Description)
	case f.key == "members":
		f.texts(&c.Members, checkMember)
	case f.key == "directories":
		if t, ok := f.table(); ok {
			r.table(f.key, t, r.directory)
		}
	case slices.Contains(configTables(), f.key):
		if t, ok := f.table(); ok {
			table := f.key
			r.table(f.key, t, func(f tomlField) { r.tableKey(table, f) })
		}
	default:
		f.unknown("")
	}
}

func (r *configReader) tableKey(table string, f tomlField) {
	c := &r.config
	switch f.key {
	case "budgets.l0", "budgets.l1", "budgets.l2", "budgets.l3", "budgets.l4":
		f.budget(&c.Budgets[f.name[1]-'0'])
	case "budgets.policy":
		f.oneOf(&c.Policy, "report", "error", "drop")
	case "trust.allowed_guards":
		f.texts(&c.AllowedGuards, checkCommand)
	case "render.window":
		f.number(&c.Window, 0, "a whole number, 0 or more")
	case "boundary.files":
		c.HasBoundaryFiles = f.texts(&c.BoundaryFiles, checkFileName)
	case "boundary.mode":
		f.oneOf(&c.BoundaryMode, "opaque", "soft", "transparent")
	case "tokens.counter":
		f.oneOf(&c.Counter, "o200k_base", "cl100k_base", "approx/1", "whitespace/1")
	case "guards.timeout":
		f.duration(&c.GuardTimeout)
	case "guards.jobs":
		f.number(&c.GuardJobs, 1, "a whole number above 0")
	case "sessions.max_age":
		f.duration(&c.SessionMaxAge)
	case "cache.max_size":
		f.size(&c.CacheMaxSize)
	case "modules.allow":
		c.HasModulesAllow = f.texts(&c.ModulesAllow, checkCommand)
	default:
		f.unknown(table)
	}
}

// directory reads one entry of [directories] (R-033, D-10).
func (r *configReader) directory(f tomlField) {
	d := DirectorySetting{Key: f.name, Line: f.line}
	if problem, hint := checkDirectory(f.name); problem != "" {
		f.fail(fmt.Sprintf("%s, found %s", problem, strconv.Quote(abbreviate(f.name))), hint)
		return
	}
	d.Key = path.Clean(f.name)
	t, ok := f.value.(map[string]any)
	if !ok {
		hint := quoteKey(f.name) + ` = { role = "…" }`
		if role, ok := f.value.(string); ok {
			hint = quoteKey(f.name) + " = { role = " + tomlValue(abbreviate(role)) + " }"
		}
		f.fail("expected a table with role, stack and shared, found "+describeTOML(f.value), hint)
		return
	}
	if len(t) == 0 {
		f.set("{}")
	}
	r.table(f.key, t, func(f tomlField) {
		switch f.name {
		case "role":
			f.text(&d.Role)
		case "stack":
			f.texts(&d.Stack, checkCommand)
		case "shared":
			f.truth(&d.Shared)
		default:
			f.unknownOf([]string{"role", "stack", "shared"}, "")
		}
	})
	r.config.Directories = append(r.config.Directories, d)
}

// refuseRepeatedDirectories finds "engine" beside "engine/".
func (r *configReader) refuseRepeatedDirectories() {
	ds := r.config.Directories
	for i := 1; i < len(ds); i++ {
		if ds[i].Key == ds[i-1].Key {
			r.list.add(ir.Diagnostic{
				Code: ir.ConfigInvalid, Severity: ir.SeverityError, Line: ds[i].Line,
				Message: fmt.Sprintf("directories: line %d already describes %s", ds[i-1].Line, strconv.Quote(abbreviate(ds[i].Key))),
				Hint:    "keep one of the two lines",
			})
		}
	}
}

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
	d, err := parseDuration(s)
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
	case strings.ContainsFunc(s, isControl):
		return "expected text without control characters", ""
	}
	return "", ""
}

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

// keyTable says where the keys of a TOML text stand. Its keys are full keys as TOML
// writes them.
type keyTable struct {
	places map[string]keyPlace
	// conflicts are keys set twice, or set after something was set below them: the
	// library takes `a.b.c = 1` and then `a.b = 2`, and forgets the first.
	conflicts []keyConflict
	// over says which bound the text exceeds, and where.
	over     string
	overLine int
}

type keyPlace struct {
	line, column int
	value        bool
}

type keyConflict struct {
	key                 string
	line, column, first int
}

// locateKeys finds the keys of a TOML text, because the library does not say where
// they are. It knows no more of the language than it must, and accepts more: what
// is not TOML is the library's to report. Keys inside arrays have no place.
func locateKeys(text string) keyTable {
	l := keyLocator{text: text, line: 1, column: 1, table: keyTable{places: map[string]keyPlace{}}}
	l.top()
	if l.arrays {
		l.table.conflicts = nil
	}
	return l.table
}

type keyLocator struct {
	text string
	pos  int
	line int
	// column is the column of columnAt: counting from the line's start for every key
	// would be quadratic in a long line.
	column, columnAt int
	// depth counts open tables and arrays, inArray arrays alone, keyBytes the lengths
	// of all full keys.
	depth, inArray, keyBytes int
	// arrays is set when there are arrays of tables, whose keys repeat.
	arrays bool
	table  keyTable
}

func (l *keyLocator) stopped() bool { return l.table.over != "" }

func (l *keyLocator) exceed(format string, args ...any) {
	if l.table.over == "" {
		l.table.over = fmt.Sprintf(format, args...)
		l.table.overLine = l.line
	}
}

// peek returns the byte at pos, 0 at the end.
func (l *keyLocator) peek() byte {
	if l.pos < len(l.text) {
		return l.text[l.pos]
	}
	return 0
}

func (l *keyLocator) next() {
	if l.pos == len(l.text) {
		return
	}
	if l.peek() == '\n' {
		l.line++
		l.column, l.columnAt = 1, l.pos+1
	}
	l.pos++
}

func (l *keyLocator) blanks() {
	for l.peek() == ' ' || l.peek() == '\t' {
		l.pos++
	}
}

// space passes over blanks, line ends and comments.
func (l *keyLocator) space() {
	for l.pos < len(l.text) {
		switch l.peek() {
		case ' ', '\t', '\n', '\r':
			l.next()
		case '#':
			l.restOfLine()
		default:
			return
		}
	}
}

func (l *keyLocator) restOfLine() {
	if n := strings.IndexByte(l.text[l.pos:], '\n'); n >= 0 {
		l.pos += n
		return
	}
	l.pos = len(l.text)
}

func (l *keyLocator) top() {
	prefix, depth := "", 0
	for l.space(); l.pos < len(l.text) && !l.stopped(); l.space() {
		if l.peek() != '[' {
			l.depth = depth
			l.keyValue(prefix)
		} else {
			l.pos++
			array := l.peek() == '['
			if array {
				l.pos++
				l.arrays = true
			}
			l.depth = 0
			if p := l.key(""); len(p) > 0 {
				prefix, depth = p[len(p)-1].key, len(p)
				l.record(p, false)
			}
		}
		l.restOfLine()
	}
}

// keyValue reads one pair.
func (l *keyLocator) keyValue(prefix string) bool {
	parts := l.key(prefix)
	l.blanks()
	if len(parts) == 0 || l.stopped() || l.peek() != '=' {
		return false
	}
	l.pos++
	l.blanks()
	key := parts[len(parts)-1].key
	l.record(parts, true)
	l.depth += len(parts)
	defer func() { l.depth -= len(parts) }()
	return l.value(key)
}

type keyPart struct {
	key          string
	line, column int
}

// key reads a dotted key and returns the full key of each part.
func (l *keyLocator) key(prefix string) []keyPart {
	var parts []keyPart
	for {
		l.blanks()
		l.column += utf8.RuneCountInString(l.text[l.columnAt:l.pos])
		l.columnAt = l.pos
		p := keyPart{line: l.line, column: l.column}
		name, ok := l.keyName()
		if !ok {
			return nil
		}
		prefix = joinKey(prefix, name)
		p.key = prefix
		parts = append(parts, p)
		if l.keyBytes += len(prefix); l.keyBytes > maxConfigKeyBytes {
			l.exceed("the keys of the configuration have more than %d bytes in sum", maxConfigKeyBytes)
			return nil
		}
		if l.tooDeep(l.depth + len(parts)) {
			return nil
		}
		l.blanks()
		if l.peek() != '.' {
			return parts
		}
		l.pos++
	}
}

func (l *keyLocator) tooDeep(depth int) bool {
	if depth > maxConfigDepth {
		l.exceed("the configuration nests deeper than %d levels", maxConfigDepth)
	}
	return l.stopped()
}

func (l *keyLocator) keyName() (string, bool) {
	switch c := l.peek(); c {
	case '"', '\'':
		start := l.pos
		if !l.quoted(c) {
			return "", false
		}
		name := l.text[start+1 : l.pos-1]
		if c == '"' {
			name = unescapeTOML(name)
		}
		return name, true
	}
	start := l.pos
	for isBareKey(rune(l.peek())) {
		l.pos++
	}
	return l.text[start:l.pos], l.pos > start
}

// record notes the places of a key's parts. Its own place replaces one that was
// only implied by a longer key.
func (l *keyLocator) record(parts []keyPart, value bool) {
	if l.inArray > 0 {
		return
	}
	for i, p := range parts {
		last := i == len(parts)-1
		old, seen := l.table.places[p.key]
		switch {
		case !seen:
			l.table.places[p.key] = keyPlace{p.line, p.column, last && value}
		case last && value || old.value:
			l.table.conflicts = append(l.table.conflicts, keyConflict{p.key, p.line, p.column, old.line})
			return
		case last:
			l.table.places[p.key] = keyPlace{p.line, p.column, false}
		}
	}
}

// value passes over a value, and reads the keys of inline tables in it. The
// recursion is as deep as tables and arrays nest, which is bounded.
func (l *keyLocator) value(key string) bool {
	switch c := l.peek(); c {
	case '{':
		return l.inlineTable(key)
	case '[':
		return l.array(key)
	case '"', '\'':
		return l.str(c)
	}
	n := strings.IndexAny(l.text[l.pos:], ",]}#\n")
	if n < 0 {
		n = len(l.text) - l.pos
	}
	l.pos += n
	return n > 0
}

func (l *keyLocator) inlineTable(key string) bool {
	l.pos++
	for !l.stopped() {
		l.space()
		switch l.peek() {
		case '}':
			l.pos++
			return true
		case ',':
			l.pos++
		default:
			if !l.keyValue(key) {
				return false
			}
		}
	}
	return false
}

func (l *keyLocator) array(key string) bool {
	l.pos++
	l.depth++
	l.inArray++
	defer func() { l.depth--; l.inArray-- }()
	for !l.tooDeep(l.depth) {
		l.space()
		switch l.peek() {
		case ']':
			l.pos++
			return true
		case ',':
			l.pos++
		default:
			if !l.value(key) {
				return false
			}
		}
	}
	return false
}

// str passes over a string of any of the four forms.
func (l *keyLocator) str(quote byte) bool {
	triple := strings.Repeat(string(quote), 3)
	if !strings.HasPrefix(l.text[l.pos:], triple) {
		return l.quoted(quote)
	}
	l.pos += 3
	for l.pos < len(l.text) {
		switch {
		case strings.HasPrefix(l.text[l.pos:], triple):
			// Up to two quotes before the closing three belong to the text.
			for l.peek() == quote {
				l.pos++
			}
			return true
		case quote == '"' && l.peek() == '\\':
			l.next()
			l.next()
		default:
			l.next()
		}
	}
	return false
}

// quoted passes over a string that ends on its line.
func (l *keyLocator) quoted(quote byte) bool {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '\n':
			return false
		case c == '\\' && quote == '"':
			i++
		case c == quote:
			l.pos = i + 1
			return true
		}
	}
	return false
}

// unescapeTOML reads the escapes of a basic string that the library accepts.
func unescapeTOML(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case 'b':
			b = append(b, '\b')
		case 't':
			b = append(b, '\t')
		case 'n':
			b = append(b, '\n')
		case 'f':
			b = append(b, '\f')
		case 'r':
			b = append(b, '\r')
		case 'e':
			b = append(b, 0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b = append(b, s[i])
		}
		if digits > 0 && i+digits < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil {
				b = utf8.AppendRune(b, rune(n))
			}
			i += digits
		}
	}
	return string(b)
}
