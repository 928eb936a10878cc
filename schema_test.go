package mwp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// The schemas of headers and configurations reject keys that the parsers warn
// about and ignore. So there are three verdicts: valid for both, strange for the
// schema and a warning, invalid for both. Some mistakes a schema cannot see.
const (
	valid   = "valid"
	strange = "strange"
	invalid = "invalid"
	// unseen is invalid for the parser and valid for the schema: where a path leads,
	// how a number is spelt, what stands twice.
	unseen = "unseen"
)

func TestHeaderSchema(t *testing.T) {
	cases := map[string]string{
		"": valid,

		"layer: 0": valid, "layer: 4": valid, "layer: L3": valid, "layer: 5": invalid, "layer: -1": invalid,
		`layer: "2"`: invalid, "layer: l2": invalid, "layer: 1.5": invalid, "layer:": invalid, "layer: [1]": invalid,
		"layer: 02": unseen,

		"scope: local": valid, "scope: recursive": valid, "scope: Local": invalid, "scope: true": invalid,

		"max_tokens: 1": valid, "max_tokens: 0": invalid, "max_tokens: 1000000001": invalid, `max_tokens: "5"`: invalid,
		"max_tokens: 0x10": unseen,
		"window: 0":        valid, "window: -1": invalid, "window: 2.5": invalid,
		"priority: -7": valid, "priority: 1000001": invalid, "priority: high": invalid,

		"owners: [team-api, ann]": valid, "owners:": valid, "owners: team-api": invalid, "owners: [1]": invalid,
		`owners: [" "]`: invalid, `owners: ["a\tb"]`: invalid,

		"imports:": valid, "imports: []": valid, "imports: ./rules.md": invalid, "imports: {local: ./a.md}": invalid,
		"imports: [./rules.md]": invalid, "imports: [{}]": invalid,
		"imports: [{local: ./rules.md}]": valid, "imports: [{local: rules.md}]": valid,
		"imports: [{local: 'rules.md#Error handling'}]": valid,
		"imports: [{local: 'rules.md#'}]":               invalid, "imports: [{local: '#Errors'}]": invalid,
		"imports: [{local: ../a.md}]": invalid, "imports: [{local: ./../a.md}]": invalid, "imports: [{local: ..}]": invalid,
		"imports: [{local: a/../../b.md}]": unseen, "imports: [{local: a/../b.md}]": valid,
		"imports: [{local: /etc/passwd}]": invalid, "imports: [{local: ~/a.md}]": invalid, `imports: [{local: 'C:\a.md'}]`: invalid,
		`imports: [{local: 'a\b.md'}]`: invalid, "imports: [{local: 'https://example.org/a.md'}]": invalid,
		"imports: [{local: 5}]": invalid, "imports: [{local: ''}]": invalid,
		"imports: [{workspace: packages}]": valid, "imports: [{workspace: /packages}]": invalid,
		"imports: [{git: 'https://example.org/a.git@v1'}]": valid, "imports: [{git: 'git@example.org:a/b.git@v1'}]": valid,
		"imports: [{git: rules@v1}]": invalid, "imports: [{git: '--upload-pack=x:y'}]": invalid,
		"imports: [{workspace: a, git: 'https://example.org/a.git@v1'}]":           valid,
		"imports: [{local: a, git: 'https://example.org/a.git@v1'}]":               invalid,
		"imports: [{local: a, workspace: b}]":                                      invalid,
		"imports: [{local: a, workspace: b, git: 'https://example.org/a.git@v1'}]": invalid,
		"imports: [{npm: a}]": invalid, "imports: [{local: a, as: b}]": strange,

		"guards:": valid, "guards: cargo test": invalid, "guards: [cargo test]": invalid, "guards: [{}]": invalid,
		"guards: [{cmd: cargo test --lib}]": valid, "guards: [{cmd: ''}]": invalid, "guards: [{cmd: 5}]": invalid,
		"guards: [{cmd: [cargo, test]}]": valid, "guards: [{cmd: [printf, '']}]": valid, "guards: [{cmd: ['', x]}]": invalid,
		"guards: [{cmd: []}]": invalid, "guards: [{cmd: [go, 5]}]": invalid,
		"guards: [{cmd: a, exists: b}]": invalid, "guards: [{name: a}]": invalid, "guards: [{name: a, cmd: b}]": valid,
		"guards: [{exists: src/}]": valid, "guards: [{exists: ../go.mod}]": valid, "guards: [{exists: /etc}]": invalid,
		"guards: [{contains: {path: a, text: b}}]": valid, "guards: [{contains: {path: a}}]": invalid,
		"guards: [{contains: a}]": invalid, "guards: [{contains: {path: a, text: b, flags: i}}]": strange,
		"guards: [{script: 'npm:typecheck'}]": valid, "guards: [{script: 'make:test'}]": valid,
		"guards: [{script: 'just:test'}]": invalid, "guards: [{script: 'npm:'}]": invalid, "guards: [{script: typecheck}]": invalid,
		"guards: [{cmd: a, cache_for: 10m}]": valid, "guards: [{cmd: a, cache_for: 1h30m}]": valid,
		"guards: [{cmd: a, cache_for: 1.5d}]": valid, "guards: [{cmd: a, cache_for: 0}]": valid,
		"guards: [{cmd: a, cache_for: 10}]": invalid, "guards: [{cmd: a, cache_for: ten}]": invalid,
		"guards: [{cmd: a, cache_for: -1m}]": invalid, "guards: [{cmd: a, cache_for: [1m]}]": invalid,
		"guards: [{cmd: a, timeout: 30s}]": valid, "guards: [{cmd: a, timeout: 0s}]": invalid, "guards: [{cmd: a, timeout: 0}]": invalid,
		"guards: [{cmd: a, trust: project}]": valid, "guards: [{cmd: a, trust: root}]": invalid,
		"guards: [{cmd: a, verified_paths: [src/, ../go.mod]}]": valid, "guards: [{cmd: a, verified_paths: src/}]": invalid,
		"guards: [{cmd: a, retries: 3}]": strange,

		"verified_paths: [src/api/, tests/]": valid, "verified_paths:": valid, "verified_paths: [~/x]": invalid,

		"lair: 2": strange, "description: a": strange, "schema: 1": strange, "cache_for: 1m": strange,
		"- layer": invalid, "layer": invalid,
		"layer: 1\nlayer: 2": unseen, "layer: &a 1": unseen,
	}
	parse := func(text string) []ir.Diagnostic {
		d := nodes.ParseDocument([]byte("---\n"+text+"\n---\nBody.\n"), nodes.Markdown)
		// An import that can be none leaves the rest of a header valid. An editor still
		// marks it.
		for _, i := range d.Header.Imports {
			if i.Refused.Code != "" {
				d.Problems = append(d.Problems, i.Refused)
			}
		}
		return d.Problems
	}
	compareVerdicts(t, "header.schema.json", cases, parse, decodeYAML)
}

func TestContextSchema(t *testing.T) {
	cases := map[string]string{
		"description: a\nschema: 1\nlayer: 2": valid, "description: ''": valid, "description: 5": invalid, "description:": invalid,
		"schema: 2": invalid, "schema: '1'": invalid, "owners: [a]\nguards: [{cmd: b}]": valid, "layer: 7": invalid, "lair: 2": strange,
	}
	parse := func(text string) []ir.Diagnostic { return nodes.ParseDocument([]byte(text+"\n"), nodes.YAML).Problems }
	compareVerdicts(t, "context.schema.json", cases, parse, decodeYAML)
}

func TestConfigSchema(t *testing.T) {
	cases := map[string]string{
		"": valid, `name = "a"`: valid, `name = ""`: valid, `name = 1`: invalid, `name = "\u0000"`: invalid,
		`description = "a\nb"`: valid, `nmae = "a"`: strange, `Name = "a"`: strange,

		`members = ["engine", "packages/*", "!packages/old", "./a/", "**"]`: valid, `members = "engine"`: invalid,
		`members = [1]`: invalid, `members = [""]`: invalid, `members = ["/a"]`: invalid, `members = ["../a"]`: invalid,
		`members = ["a/../b"]`: invalid, `members = ["!/a"]`: invalid, `members = ['a\b']`: invalid, `members = ["~/a"]`: invalid,
		`members = ["a..b"]`: valid,

		"[budgets]\nl0 = 800\nl4 = \"none\"\npolicy = \"drop\"": valid, "[budgets]\nl0 = 0": invalid, "[budgets]\nl1 = \"300\"": invalid,
		"[budgets]\nl1 = -5": invalid, "[budgets]\nl1 = 1.5": invalid, "[budgets]\npolicy = \"fail\"": invalid, "[budgets]\nl5 = 1": strange,
		"budgets = 3": invalid,

		"[trust]\nallowed_guards = [\"cargo test\"]": valid, "[trust]\nallowed_guards = \"cargo test\"": invalid,
		"[trust]\nalowed_guards = []": strange,

		"[directories]\n\"engine\" = { role = \"core\", stack = [\"rust\"], shared = true }": valid,
		"[directories]\n\"docker-compose.yml\" = {}":                                         valid,
		"[directories]\n\"a/b/\" = { role = \"\" }":                                          valid,
		"[directories]\nengine = \"core\"":                                                   invalid, "[directories]\n\"\" = {}": invalid,
		"[directories]\n\".\" = {}": invalid, "[directories]\n\"./a\" = {}": invalid, "[directories]\n\"a//b\" = {}": invalid,
		"[directories]\n\"/a\" = {}": invalid, "[directories]\n\"../a\" = {}": invalid, "[directories]\n'a\\b' = {}": invalid,
		"[directories]\na = { stack = \"rust\" }": invalid, "[directories]\na = { shared = 1 }": invalid,
		"[directories]\na = { role = 1 }": invalid, "[directories]\na = { color = 1 }": strange,
		"[directories]\na = {}\n\"a/\" = {}": unseen,

		"[render]\nwindow = 3": valid, "[render]\nwindow = -1": invalid, "[render]\nwidth = 3": strange,
		"[boundary]\nfiles = []\nmode = \"soft\"": valid, "[boundary]\nfiles = [\"AGENTS.md\"]": valid,
		"[boundary]\nfiles = [\"a/b\"]": invalid, "[boundary]\nfiles = [\"..\"]": invalid, "[boundary]\nmode = \"off\"": invalid,
		"[tokens]\ncounter = \"approx/1\"": valid, "[tokens]\ncounter = \"gpt2\"": invalid,
		"[guards]\ntimeout = \"5m\"\njobs = 2": valid, "[guards]\ntimeout = 5": invalid, "[guards]\ntimeout = \"0s\"": invalid,
		"[guards]\njobs = 0":           invalid,
		"[sessions]\nmax_age = \"2w\"": valid, "[sessions]\nmax_age = \"0\"": invalid, "[sessions]\nmax_age = \"soon\"": invalid,
		"[cache]\nmax_size = \"256MiB\"": valid, "[cache]\nmax_size = 1000": valid, "[cache]\nmax_size = \"1 GB\"": valid,
		"[cache]\nmax_size = \"0\"": invalid, "[cache]\nmax_size = 0": invalid, "[cache]\nmax_size = \"1XB\"": invalid,
		"[cache]\nmax_size = \"99999999TiB\"":  unseen,
		"[modules]\nallow = [\"github.com/\"]": valid, "[modules]\nallow = [\" \"]": invalid,
		"[module]\nallow = []":    strange,
		"[signals]\ntests = true": valid, "[signals]\ntests = \"yes\"": invalid, "[signals]\ntest = true": strange,
	}
	parse := func(text string) []ir.Diagnostic {
		_, problems := nodes.ParseConfig([]byte(text))
		return problems
	}
	decode := func(text string) (v any, err error) {
		var m map[string]any
		_, err = toml.Decode(text, &m)
		return m, err
	}
	compareVerdicts(t, "config.schema.json", cases, parse, decode)
}

// compareVerdicts holds a schema, its relaxed form that lets unknown keys pass,
// and a parser against the same table.
func compareVerdicts(t *testing.T, file string, cases map[string]string, parse func(string) []ir.Diagnostic, decode func(string) (any, error)) {
	strict, relaxed := compileSchema(t, file, nil), compileSchema(t, file, allowUnknown)
	counts := map[string]int{}
	for _, text := range slices.Sorted(maps.Keys(cases)) {
		want := cases[text]
		counts[want]++
		unknown, failed := false, false
		for _, d := range parse(text) {
			unknown = unknown || d.Code == ir.FrontmatterUnknownKey || d.Code == ir.ConfigUnknownKey
			failed = failed || d.Severity == ir.SeverityError
		}
		got := valid
		if failed {
			got = invalid
		} else if unknown {
			got = strange
		}
		if wantParsed := strings.Replace(want, unseen, invalid, 1); got != wantParsed {
			t.Errorf("%s: parsing %q is %s, want %s: %v", file, text, got, wantParsed, parse(text))
		}
		v, err := decode(text)
		if err != nil {
			if want != unseen {
				t.Errorf("%s: %q: %v", file, text, err)
			}
			continue
		}
		errStrict, errRelaxed := strict.Validate(v), relaxed.Validate(v)
		if accepts := want == valid || want == unseen; (errStrict == nil) != accepts {
			t.Errorf("%s: the schema's verdict on %q is %v, want %s", file, text, errStrict, want)
		}
		if accepts := want != invalid; (errRelaxed == nil) != accepts {
			t.Errorf("%s: with unknown keys allowed the schema's verdict on %q is %v, want %s", file, text, errRelaxed, want)
		}
	}
	for _, verdict := range []string{valid, strange, invalid} {
		if counts[verdict] == 0 {
			t.Errorf("%s: no case is %s", file, verdict)
		}
	}
}

func decodeYAML(text string) (any, error) {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	if v == nil {
		return map[string]any{}, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
}

const schemaDir = "docs/schema"

// readSchema returns a schema file as JSON values.
func readSchema(t *testing.T, file string) map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(schemaDir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v.(map[string]any)
}

// compileSchema compiles a schema, with all others at hand for references, after
// edit has changed each of their objects.
func compileSchema(t *testing.T, file string, edit func(map[string]any)) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, f := range files {
		doc := readSchema(t, filepath.Base(f))
		if edit != nil {
			eachObject(doc, edit)
		}
		url := doc["$id"].(string)
		if filepath.Base(f) == file {
			id = url
		}
		if err := c.AddResource(url, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

func eachObject(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, child := range v {
			eachObject(child, f)
		}
	case []any:
		for _, child := range v {
			eachObject(child, f)
		}
	}
}

func allowUnknown(o map[string]any) {
	if o["additionalProperties"] == false {
		delete(o, "additionalProperties")
	}
}

func refuseUnknown(o map[string]any) {
	if o["type"] == "object" && o["properties"] != nil {
		o["additionalProperties"] = false
	}
}

// TestSchemasDescribeTheirKeys checks that an editor has something to show for
// each key that a person writes.
func TestSchemasDescribeTheirKeys(t *testing.T) {
	for _, file := range []string{"header.schema.json", "config.schema.json"} {
		for name, p := range readSchema(t, file)["properties"].(map[string]any) {
			p := p.(map[string]any)
			children, _ := p["properties"].(map[string]any)
			if p["description"] == nil && len(children) != 1 {
				t.Errorf("%s: %s has no description", file, name)
			}
			for child, p := range children {
				if p.(map[string]any)["description"] == nil {
					t.Errorf("%s: %s.%s has no description", file, name, child)
				}
			}
		}
	}
}

// TestMapSchemaHasEveryField compares the fields of ir.Map with the schema, both
// ways, and what is required with what is always printed.
func TestMapSchemaHasEveryField(t *testing.T) {
	doc := readSchema(t, "ir.schema.json")
	defs := doc["$defs"].(map[string]any)
	used := map[string]bool{}
	// follow returns the object schema that a property leads to.
	var follow func(s map[string]any) map[string]any
	follow = func(s map[string]any) map[string]any {
		if ref, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/$defs/")
			used[name] = true
			return follow(defs[name].(map[string]any))
		}
		for _, alternative := range asList(s["anyOf"]) {
			if f := follow(alternative.(map[string]any)); f["type"] != "null" {
				return f
			}
		}
		if items, ok := s["items"].(map[string]any); ok {
			return follow(items)
		}
		return s
	}
	var compare func(at string, t1 reflect.Type, s map[string]any)
	compare = func(at string, typ reflect.Type, s map[string]any) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
			typ = typ.Elem()
		}
		s = follow(s)
		if typ.Kind() != reflect.Struct {
			if s["properties"] != nil {
				t.Errorf("%s is a %s in Go and an object in the schema", at, typ)
			}
			return
		}
		properties, _ := s["properties"].(map[string]any)
		required := asList(s["required"])
		var names []string
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			names = append(names, name)
			p, ok := properties[name].(map[string]any)
			if !ok {
				t.Errorf("%s.%s is in ir.%s and not in the schema", at, name, typ.Name())
				continue
			}
			if always := options != "omitempty" && options != "omitzero"; always != slices.Contains(required, any(name)) {
				t.Errorf("%s.%s: printed always is %v, required is %v", at, name, always, !always)
			}
			compare(at+"."+name, f.Type, p)
		}
		for name := range properties {
			if !slices.Contains(names, name) {
				t.Errorf("%s.%s is in the schema and not in ir.%s", at, name, typ.Name())
			}
		}
	}
	compare("map", reflect.TypeFor[ir.Map](), doc)
	for name := range defs {
		b, _ := json.Marshal(doc)
		if !used[name] && !strings.Contains(string(b), fmt.Sprintf("#/$defs/%s\"", name)) {
			t.Errorf("$defs/%s is referred to by nothing", name)
		}
	}
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// TestMapSchemaListsEveryOutcome checks the one list that both the code and the
// schema have to spell.
func TestMapSchemaListsEveryOutcome(t *testing.T) {
	want := []any{
		ir.Included, ir.Deduplicated, ir.ExcludedByWindow, ir.ExcludedByScope, ir.DroppedByBudget, ir.Unresolved,
		ir.Expanded, ir.Empty, ir.Shadowed, ir.Boundary, ir.ExcludedByKind, ir.Failed,
	}
	record := readSchema(t, "ir.schema.json")["$defs"].(map[string]any)["trace_record"].(map[string]any)
	got := record["properties"].(map[string]any)["status"].(map[string]any)["enum"].([]any)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes in the schema: %v, want %v", got, want)
	}
}

// TestSchemaListsEveryGuardReason compares the constants of nodes/ir with the schema,
// because a reader of the JSON has to know them all.
func TestSchemaListsEveryGuardReason(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "nodes/ir/guard.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{""}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Reason") {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, s)
		}
		return true
	})
	var got []string
	for _, v := range readSchema(t, "ir.schema.json")["$defs"].(map[string]any)["guard_reason"].(map[string]any)["enum"].([]any) {
		got = append(got, v.(string))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("reasons in the schema: %q, want %q", got, want)
	}
}

// verifyReport has a guard of each status, with every field set in one of them.
func verifyReport() *ir.VerifyReport {
	key := "blake3:" + strings.Repeat("0a", 32)
	one := 1
	var gs []ir.VerifiedGuard
	for _, v := range []ir.Verification{
		{Status: ir.Passed, ExitCode: new(int), DurationMS: 3421, RanAt: "2026-05-17T10:42:11.000Z", CacheUntil: "2026-05-17T10:52:11.000Z", Fingerprint: key},
		{Status: ir.FailedCheck, ExitCode: &one, Expired: true, FilesChanged: true, Override: &ir.Override{Reason: "the runner is down", Until: "2026-05-17T14:42:11.000Z"}},
		{Status: ir.FailedCheck, Reason: ir.ReasonTimeout},
		{Status: ir.Stale, Reason: ir.ReasonExpired},
		{Status: ir.Unverified, Reason: ir.ReasonNotTrusted},
	} {
		v.Key, v.Guard, v.Cwd, v.DeclaredIn = key, "cargo test", ".", ".mwp-context.md:3"
		gs = append(gs, ir.VerifiedGuard{Verification: v, Ran: true, Trust: "builtin", Why: "built in: cargo test",
			Sources: []string{".mwp-context.md"}, Owners: []string{"ann"}, Log: "/var/log", Hint: "mwp verify"})
	}
	return &ir.VerifyReport{Targets: []string{"src"}, Guards: gs, Notes: []string{"1 guard was left alone"}}
}

// TestVerifyReportsAreValid validates reports and compares their fields, in order of
// name, with those that the schema describes and requires.
func TestVerifyReportsAreValid(t *testing.T) {
	schema, strict := compileSchema(t, "verify.schema.json", nil), compileSchema(t, "verify.schema.json", refuseUnknown)
	decoded := func(r *ir.VerifyReport) map[string]any {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(ir.AppendVerifyJSON(nil, r))))
		if err != nil {
			t.Fatal(err)
		}
		return v.(map[string]any)
	}
	for _, r := range []*ir.VerifyReport{verifyReport(), {}} {
		v := decoded(r)
		for _, s := range []*jsonschema.Schema{schema, strict} {
			if err := s.Validate(v); err != nil {
				t.Error(err)
			}
		}
		v["added_later"] = true
		if schema.Validate(v) != nil || strict.Validate(v) == nil {
			t.Error("a field of a later version must be allowed, and refused by the strict form of this test")
		}
	}
	doc, v := readSchema(t, "verify.schema.json"), decoded(verifyReport())
	guard := doc["$defs"].(map[string]any)["guard"].(map[string]any)
	for _, c := range []struct {
		at     string
		schema map[string]any
		value  map[string]any
	}{
		{"report", doc, v},
		{"counts", doc["properties"].(map[string]any)["counts"].(map[string]any), v["counts"].(map[string]any)},
		{"guard", guard, v["guards"].([]any)[0].(map[string]any)},
	} {
		got := slices.Sorted(maps.Keys(c.value))
		if described := slices.Sorted(maps.Keys(c.schema["properties"].(map[string]any))); !slices.Equal(got, described) {
			t.Errorf("%s: printed are %q, described %q", c.at, got, described)
		}
		var required []string
		for _, name := range asList(c.schema["required"]) {
			required = append(required, name.(string))
		}
		slices.Sort(required)
		if !slices.Equal(got, required) {
			t.Errorf("%s: printed are %q, required %q", c.at, got, required)
		}
	}
	for _, change := range []func(g map[string]any){
		func(g map[string]any) { g["status"] = "ok" },
		func(g map[string]any) { g["reason"] = "bored" },
		func(g map[string]any) { g["key"] = "cargo test" },
		func(g map[string]any) { g["override"] = map[string]any{"reason": "x"} },
		func(g map[string]any) { g["sources"] = nil },
		func(g map[string]any) { delete(g, "ran") },
	} {
		bad := decoded(verifyReport())
		change(bad["guards"].([]any)[0].(map[string]any))
		if schema.Validate(bad) == nil {
			t.Errorf("valid all the same: %v", bad["guards"].([]any)[0])
		}
	}
}

// TestMapsAreValid validates every expected map of the examples, with fields
// that the schema does not know forbidden.
func TestMapsAreValid(t *testing.T) {
	schema, strict := compileSchema(t, "ir.schema.json", nil), compileSchema(t, "ir.schema.json", refuseUnknown)
	n := 0
	for _, name := range listTree(t, expectedMaps) {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		n++
		b, err := os.ReadFile(filepath.Join(expectedMaps, name))
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*jsonschema.Schema{schema, strict} {
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		o := v.(map[string]any)
		o["added_later"] = true
		if schema.Validate(v) != nil || strict.Validate(v) == nil {
			t.Errorf("%s: a field of a later version must be allowed, and refused by the strict form of this test", name)
		}
		delete(o, "added_later")
		delete(o, "trace")
		if schema.Validate(v) == nil {
			t.Errorf("%s is valid without its trace", name)
		}
	}
	if n == 0 {
		t.Error("no expected map was found")
	}
}

// TestMapsWithImportsAreValid does so for a map with modules, sections and every
// outcome that an import can have.
func TestMapsWithImportsAreValid(t *testing.T) {
	root := unpack(t, `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 1
imports:
  - local: mod
  - local: one.md
  - local: one.md#Part
  - local: two.md#Part
  - local: empty.md
  - local: gone.md
  - local: /abs
---
A
-- a/mod/.mwp-module.md --
---
name: mod
imports:
  - local: r.md
pipelines:
  - local: r.md
---
-- a/mod/r.md --
R
-- a/one.md --
# Part
1
-- a/two.md --
# Part
2
-- a/empty.md --
-- a/x --
`)
	r, err := mwp.Open(mwp.Options{Dir: root}).Map(context.Background(), mwp.Request{Target: filepath.Join(root, "a/x"), NoRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	m := decodeMap(t, r.Text)
	var outcomes []string
	for _, rec := range m.Trace {
		outcomes = append(outcomes, rec.Status)
	}
	slices.Sort(outcomes)
	want := []string{ir.Deduplicated, ir.Empty, ir.Failed, ir.Expanded, ir.Included, ir.Unresolved}
	slices.Sort(want)
	if got := slices.Compact(outcomes); !slices.Equal(got, want) || len(m.Modules) != 1 || len(m.Pipelines) != 1 {
		t.Errorf("outcomes %q, modules %v, pipelines %v; want %q and one of each", got, m.Modules, m.Pipelines, want)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(r.Text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compileSchema(t, "ir.schema.json", refuseUnknown).Validate(v); err != nil {
		t.Error(err)
	}
}

// decodeMap reads a printed map and refuses fields that ir.Map does not have.
func decodeMap(t *testing.T, text []byte) *ir.Map {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	m := new(ir.Map)
	if err := d.Decode(m); err != nil {
		t.Fatalf("the map is not JSON of this version: %v", err)
	}
	return m
}
