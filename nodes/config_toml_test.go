package nodes

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const richConfig = `# the proposal's example
name = "polyglot"
description = """
Rust engine,
TypeScript backend"""
members = ["engine", "packages/*", "!packages/old"]

[budgets]
l0 = 800
l3 = "none"
policy = "drop"

[trust]
allowed_guards = [
  "cargo test", # a comment with ] and "
  'npm run "x"',
]

[directories]
"engine/" = { role = "Rust core", stack = ["rust"] }
packages = { role = "shared", shared = true }
"docker-compose.yml".role = "services"

[directories."backend/src"]
role = "API"

[render]
window = 2
[boundary]
files = []
mode = "soft"
[tokens]
counter = "approx/1"
[guards]
timeout = "2m"
jobs = 4
[sessions]
max_age = "1w"
[cache]
max_size = "256MiB"
[modules]
allow = ["https://github.com/org/"]
[signals]
tests = true
`

func TestParseConfig(t *testing.T) {
	got, ds := ParseConfig([]byte(richConfig))
	if len(ds) > 0 {
		t.Fatalf("ParseConfig(richConfig): %s", report("f", ds))
	}
	want := Config{
		Name: "polyglot", Description: "Rust engine,\nTypeScript backend",
		Members:       []string{"engine", "packages/*", "!packages/old"},
		Budgets:       [5]BudgetSetting{0: {Set: true, Cap: 800}, 3: {Set: true, None: true}},
		Policy:        "drop",
		AllowedGuards: []string{"cargo test", `npm run "x"`},
		Directories: []DirectorySetting{
			{Key: "backend/src", Role: "API", Line: 24},
			{Key: "docker-compose.yml", Role: "services", Line: 22},
			{Key: "engine", Role: "Rust core", Stack: []string{"rust"}, Line: 20},
			{Key: "packages", Role: "shared", Shared: true, Line: 21},
		},
		Window: ptr(2), HasBoundaryFiles: true, BoundaryMode: "soft", Counter: "approx/1",
		GuardTimeout: ptr(2 * time.Minute), GuardJobs: ptr(4), SessionMaxAge: ptr(7 * 24 * time.Hour),
		CacheMaxSize: ptr(int64(256 << 20)), ModulesAllow: []string{"https://github.com/org/"}, HasModulesAllow: true, TestSignals: true,
		Settings: []Setting{
			{"name", `"polyglot"`, 2},
			{"description", `"Rust engine,\nTypeScript backend"`, 3},
			{"members", `["engine", "packages/*", "!packages/old"]`, 6},
			{"budgets.l0", "800", 9},
			{"budgets.l3", `"none"`, 10},
			{"budgets.policy", `"drop"`, 11},
			{"trust.allowed_guards", `["cargo test", "npm run \"x\""]`, 14},
			{`directories."engine/".role`, `"Rust core"`, 20},
			{`directories."engine/".stack`, `["rust"]`, 20},
			{"directories.packages.role", `"shared"`, 21},
			{"directories.packages.shared", "true", 21},
			{`directories."docker-compose.yml".role`, `"services"`, 22},
			{`directories."backend/src".role`, `"API"`, 25},
			{"render.window", "2", 28},
			{"boundary.files", "[]", 30},
			{"boundary.mode", `"soft"`, 31},
			{"tokens.counter", `"approx/1"`, 33},
			{"guards.timeout", `"2m"`, 35},
			{"guards.jobs", "4", 36},
			{"sessions.max_age", `"1w"`, 38},
			{"cache.max_size", `"256MiB"`, 40},
			{"modules.allow", `["https://github.com/org/"]`, 42},
			{"signals.tests", "true", 44},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("ParseConfig(richConfig) (-want +got):\n%s", d)
	}
	for name, text := range map[string]string{"CRLF": strings.ReplaceAll(richConfig, "\n", "\r\n"), "BOM": "\ufeff" + richConfig} {
		other, ds := ParseConfig([]byte(text))
		if d := cmp.Diff(want, other); d != "" || len(ds) > 0 {
			t.Errorf("ParseConfig of the %s form: %v (-want +got):\n%s", name, ds, d)
		}
	}
	checkRoundTrip(t, got, codeConfig)
}

func TestEmptyConfig(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing", "\ufeff", "[budgets]\n[trust]\n[directories]\n", "boundary = {}"} {
		if c, ds := ParseConfig([]byte(text)); !reflect.DeepEqual(c, Config{}) || ds != nil {
			t.Errorf("ParseConfig(%q) = %+v, %v, want an empty configuration", text, c, ds)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct{ text, at, message string }{
		{"name = 1", "1:1", "name: expected text, found 1"},
		{"name = \"a\\u0000\"", "1:1", "name: expected text without control"},
		{"  name = true", "1:3", "found true"},
		{"name = 1.5", "1:1", "found the fraction 1.5"},
		{"name = 2020-01-01", "1:1", "found a date or time"},
		{"name = []", "1:1", "found a list"},
		{"name = {}", "1:1", "found a table"},
		{"[[name]]", "1:3", "found a list of tables"},
		{"members = \"x\"", "1:1", `members: expected a list of texts, found the text "x"`},
		{"members = [1]", "1:1", "found 1 in it"},
		{"members = [\"~/x\"]", "1:1", "expected a path from the workspace root"},
		{"members = [\"!../x\"]", "1:1", "expected a path inside the workspace root"},
		{"members = [\"" + strings.Repeat("a", maxPatternBytes+1) + "\"]", "1:1", "a pattern of at most 1024 bytes"},
		{"budgets = 3", "1:1", "budgets: expected a table, found 3"},
		{"[[budgets]]", "1:3", "budgets: expected a table, found a list of tables"},
		{"[budgets]\nl1 = -1", "2:1", `budgets.l1: expected a whole number above 0 or "none", found -1`},
		{"budgets.l1 = \"None\"", "1:9", `found the text "None"`},
		{"budgets = { l0 = 1, l1 = 1.0 }", "1:21", "found the fraction 1"},
		{"[budgets]\nl2 = 1000000001", "2:1", "found 1000000001"},
		{"[trust]\nallowed_guards = [\" \"]", "2:1", "expected text that says something"},
		{"[trust]\nallowed_guards = [\"a\\nb\"]", "2:1", "without control or invisible characters"},
		{"[directories]\n\"a\\nb\" = {}", "2:1", "without control or invisible characters"},
		{"[directories]\n\"\" = {}", "2:1", "expected text that says something"},
		{"[directories]\n\"a\\\\b\" = {}", "2:1", "expected a path with /"},
		{"[directories]\n\"a//b\" = {}", "2:1", "expected a clean path"},
		{"[directories]\n\"a//\" = {}", "2:1", "expected a clean path"},
		{"[directories]\n\"./a\" = {}", "2:1", "expected a clean path"},
		{"[directories]\n\"a/../..\" = {}", "2:1", "expected a path inside the workspace root"},
		{"[directories]\n\"C:/x\" = {}", "2:1", "expected a path from the workspace root"},
		{"[directories]\na.shared = \"yes\"", "2:3", `expected true or false, found the text "yes"`},
		{"[render]\nwindow = \"2\"", "2:1", "expected a whole number, 0 or more"},
		{"[boundary]\nfiles = [\"..\"]", "2:1", "expected a file name without /"},
		{"[boundary]\nfiles = [\"\"]", "2:1", "expected text that says something"},
		{"[guards]\ntimeout = \"0\"", "2:1", "expected a duration above 0"},
		{"[guards]\ntimeout = \"15251w\"", "2:1", "expected a duration above 0"},
		{"[cache]\nmax_size = 0", "2:1", "expected a size above 0"},
		{"[cache]\nmax_size = \"1.5MiB\"", "2:1", "expected a size above 0"},
		{"[cache]\nmax_size = \"99999999TiB\"", "2:1", "expected a size above 0"},
		{"a.b.c = 1\na.b = 2", "2:3", "duplicate key a.b: line 1 sets it first"},
		{"trust.allowed_guards.x = 1\ntrust.allowed_guards = []", "2:7", "duplicate key trust.allowed_guards"},
		{"[directories]\na = {}\n'a' = {}", "3:1", "duplicate key directories.a: line 2 sets it first"},
		{"[budgets]\n[budgets]", "2:2", "expected TOML"},
		{"name = ", "1:7", "expected TOML"},
		{"name = \nx = 1", "1:8", "expected TOML"},
		{"name = \"x", "1:9", "expected TOML"},
		{"name = \"x\ny = 1", "1:10", "expected TOML"},
		{"é = 1", "1:1", "expected TOML"},
		{"name = 'é' ü", "1:11", "expected TOML"},
		{"name = \"x\"\rdescription = \"y\"", "1:10", "expected TOML"},
		{"[directories\n", "1:13", "expected TOML"},
	} {
		_, ds := ParseConfig([]byte(tt.text))
		errs, at := 0, ""
		for _, d := range ds {
			if d.Severity == ir.SeverityError {
				errs++
				at = fmt.Sprintf("%d:%d", d.Line, d.Column)
				if d.Code != ir.ConfigInvalid || !strings.Contains(d.Message, tt.message) {
					errs = -1
				}
			}
		}
		if errs != 1 || at != tt.at {
			t.Errorf("ParseConfig(%.60q) = %s, want one error at %s: %s", tt.text, report("f", ds), tt.at, tt.message)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"1", 1, true}, {"10B", 10, true}, {"1KiB", 1024, true}, {"256MiB", 256 << 20, true}, {"2 GiB", 2 << 30, true},
		{"1TiB", 1 << 40, true}, {"5kB", 5000, true}, {"5KB", 5000, true}, {"1MB", 1e6, true}, {"3GB", 3e9, true}, {"1TB", 1e12, true},
		{"9223372036854775807", 1<<63 - 1, true}, {"9223372036854775808", 0, false},
		{"8388608TiB", 0, false}, {"8388607TiB", 8388607 << 40, true},
		{"", 0, false}, {"MiB", 0, false}, {"-1", 0, false}, {"1.5MiB", 0, false}, {"1mib", 0, false}, {"1 M", 0, false},
		{"99999999999999999999999", 0, false},
	} {
		if got, ok := parseSize(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("parseSize(%q) = %d, %v, want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestLocateKeys(t *testing.T) {
	text := strings.Join([]string{
		`a = 1 # x = 2`,
		`b.c = "[x]" `,
		`"d e".'f"g' = '''`,
		`h = 1`,
		`'''`,
		"\t[t . u]",
		`v = { w = 1, x.y = [ { z = 1 }, "}" ], "é" = {}, q = 2 }`,
		`m = """`,
		`n = "x" \"""`,
		`o = """""`,
		`p = [`,
		`  "[", # ]`,
		`  [ 'a' ]`,
		`] # r = 1`,
		`[[s]]`,
		`k = 1979-05-27 07:32:00`,
		`'l\' = { '\' = 'm\', n = 1 }`,
	}, "\n")
	want := map[string]string{
		"a": "1:1", "b": "2:1", "b.c": "2:3",
		`"d e"`: "3:1", `"d e"."f\"g"`: "3:7",
		"t": "6:3", "t.u": "6:7",
		"t.u.v": "7:1", "t.u.v.w": "7:7", "t.u.v.x": "7:14", "t.u.v.x.y": "7:16", `t.u.v."é"`: "7:40", "t.u.v.q": "7:50",
		"t.u.m": "8:1", "t.u.p": "11:1", "s": "15:3", "s.k": "16:1",
		`s."l\\"`: "17:1", `s."l\\"."\\"`: "17:10", `s."l\\".n`: "17:22",
	}
	got := map[string]string{}
	for key, p := range locateKeys(text).places {
		got[key] = fmt.Sprintf("%d:%d", p.line, p.column)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("locateKeys (-want +got):\n%s", d)
	}
	var v map[string]any
	if _, err := toml.Decode(text, &v); err != nil {
		t.Errorf("the library does not read the text: %v", err)
	}
}

// The library needs seconds and gigabytes for these (see maxConfigDepth). There is
// no clock here: without the bounds the test does not come back.
func TestHostileConfigs(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, maxConfigBytes/2/len(s)) }
	many := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxConfigBytes/2; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"brackets":       "a=" + long("["),
		"balanced":       "a=" + long("[") + long("]"),
		"inline tables":  "a=" + long("{a="),
		"dotted key":     long("a.") + "a=1",
		"dotted header":  "[" + long("a.") + "a]",
		"in an array":    "a=[{" + long("b.") + "b=1}]",
		"deep in arrays": "a=" + strings.Repeat("[{a=", maxConfigDepth),
		"17 levels":      "[a.b.c.d.e.f.g.h]\ni.j.k.l.m.n.o.p=[1]",
		"long path":      "a" + strings.Repeat("a", 60_000) + "={" + many("k%d=1,") + "}",
		"deep paths":     "[" + strings.Repeat("abcdefghijkl.", 15) + "x]\n" + many("k%d=1\n"),
		"size":           "#" + strings.Repeat("x", maxConfigBytes),
	} {
		_, ds := ParseConfig([]byte(text))
		if len(ds) != 1 || ds[0].Code != ir.LimitExceeded {
			t.Errorf("%s: ParseConfig = %s, want limit_exceeded", name, report("f", ds))
		}
	}
	for name, text := range map[string]string{
		"many keys":   many("k%d=1\n"),
		"many tables": many("[k%d]\n"),
		"one line":    "a={" + many("k%d=1,") + "}",
		"16 levels":   "[a.b.c.d.e.f.g.h]\ni.j.k.l.m.n.o=[1]",
		"a list":      "a=[" + long("1,") + "]",
		"tables":      "[[a]]\nb=1\n[[a]]\nb=2\n",
	} {
		if _, ds := ParseConfig([]byte(text)); anyError(ds) || len(ds) == 0 {
			t.Errorf("%s: ParseConfig = %s, want warnings", name, report("f", ds[:min(len(ds), 3)]))
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	fuzzSeeds(f, "testdata/problems/*.toml")
	for _, s := range []string{
		richConfig, "a.b.c=1\na.b=2", "a = [[1,2],[{x=1}]]", "\"\\u00e9\\x41\\e\" = 1", "''=1", "a={\n b=1, # x\n c=2,\n}",
		"a='''\n''''''", `a=""""""`, `a="""\"""""`, "[[a]]\nb=1\n[[a]]\nb=2", "a=\"\x01\"", "a=1\rb=2", "[a]\n[a.b]\n[c]\na.b.c=1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ds := ParseConfig(b)
		checkProblems(t, b, ds)
		checkRoundTrip(t, c, codeConfig)
		if again, ds2 := ParseConfig(b); !reflect.DeepEqual(c, again) || !reflect.DeepEqual(ds, ds2) {
			t.Fatalf("ParseConfig(%q) differs from one call to the next", b)
		}
		for _, s := range c.Settings {
			var v map[string]any
			if _, err := toml.Decode(s.Key+" = "+s.Value, &v); err != nil {
				t.Fatalf("setting %s = %s of %q is not TOML: %v", s.Key, s.Value, b, err)
			}
		}
		if _, bad := encodingProblem(b); bad || len(b) > 4096 {
			return
		}
		text := configText(b)
		keys := locateKeys(text)
		if keys.over != "" {
			return
		}
		top, err := decodeTOML(text)
		if err != nil {
			return
		}
		// What the library found has a place, and the place is the key.
		checkPlaces(t, text, "", top, keys)
	})
}

func checkPlaces(t *testing.T, text, prefix string, table map[string]any, keys keyTable) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for name, v := range table {
		key := joinKey(prefix, name)
		p, ok := keys.places[key]
		if !ok {
			t.Fatalf("locateKeys(%q) has no place for %s", text, key)
		}
		at := string([]rune(lines[p.line-1])[p.column-1:])
		if !strings.HasPrefix(at, name) && !strings.HasPrefix(at, `"`) && !strings.HasPrefix(at, "'") {
			t.Fatalf("locateKeys(%q) puts %s at %d:%d, where %q is", text, key, p.line, p.column, at)
		}
		if sub, ok := v.(map[string]any); ok {
			checkPlaces(t, text, key, sub, keys)
		}
	}
}

func BenchmarkParseConfig(b *testing.B) {
	text := []byte(richConfig)
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := ParseConfig(text); len(ds) != 0 {
			b.Fatal(ds)
		}
	}
}
