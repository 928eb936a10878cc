package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/tokens"
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
	return []string{"budgets", "trust", "directories", "render", "boundary", "tokens", "guards", "sessions", "cache", "modules", "signals"}
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
	case "signals":
		return []string{"tests"}
	}
	return nil
}

func (r *configReader) topKey(f tomlField) {
	c := &r.config
	switch {
	case f.key == "name":
		f.plainText(&c.Name, false)
	case f.key == "description":
		f.plainText(&c.Description, true)
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
		f.oneOf(&c.Policy, PolicyReport, PolicyError, PolicyDrop)
	case "trust.allowed_guards":
		f.texts(&c.AllowedGuards, checkCommand)
	case "render.window":
		f.number(&c.Window, 0, "a whole number, 0 or more")
	case "boundary.files":
		c.HasBoundaryFiles = f.texts(&c.BoundaryFiles, checkFileName)
	case "boundary.mode":
		f.oneOf(&c.BoundaryMode, ModeOpaque, ModeSoft, ModeTransparent)
	case "tokens.counter":
		f.oneOf(&c.Counter, tokens.Names()...)
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
	case "signals.tests":
		f.truth(&c.TestSignals)
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
			f.plainText(&d.Role, false)
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
