package render

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// mark gives every leaf below v its own value and returns them as text, so that
// a field added to the trace and forgotten by Explain fails the test.
func mark(v reflect.Value, next *int) (values []string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return mark(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				values = append(values, mark(v.Field(i), next)...)
			}
		}
		return values
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			values = append(values, mark(v.Index(i), next)...)
		}
		return values
	}
	if v.Kind() == reflect.Bool {
		v.SetBool(true)
		return nil
	}
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString("value" + strconv.Itoa(*next))
		return []string{v.String()}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next))
		return []string{strconv.Itoa(*next)}
	}
	panic("mark: " + v.Kind().String())
}

func TestExplainLeavesNothingOut(t *testing.T) {
	m := engineMap()
	next := 70000
	m.Trace = make([]ir.TraceRecord, 3)
	m.Warnings = make([]ir.Diagnostic, 2)
	var want, lost []string
	for i := range m.Trace {
		vs := mark(reflect.ValueOf(&m.Trace[i]).Elem(), &next)
		m.Trace[i].Layer = ref(i)
		if i == 1 {
			m.Trace[i].Status = ir.Included
			want = append(want, vs...)
		} else {
			lost = append(lost, vs...)
		}
	}
	warned := mark(reflect.ValueOf(&m.Warnings).Elem(), &next)
	// The layer and the status were set to real ones above.
	known := map[string]bool{strconv.Itoa(*m.Trace[1].Layer): true}
	text := string(Explain(m, ExplainOptions{}))
	missing := func(text string, values []string) (n int, first string) {
		for _, v := range values {
			if !known[v] && !strings.Contains(text, v) {
				if n++; n == 1 {
					first = v
				}
			}
		}
		return n, first
	}
	// Per included record two values were replaced, per lost one the layer.
	if n, v := missing(text, want); n != 2 {
		t.Errorf("Explain lacks %d values of an included record, first %s, want 2 (layer and status were replaced)\n%s", n, v, text)
	}
	if n, v := missing(text, lost); n != 2 {
		t.Errorf("Explain lacks %d values of the lost records, first %s, want 2 (two layers were replaced)\n%s", n, v, text)
	}
	if n, v := missing(text, warned); n != 0 {
		t.Errorf("Explain lacks %d values of the warnings, first %s", n, v)
	}
	only := string(Explain(m, ExplainOptions{NotLoaded: true}))
	if n, v := missing(only, lost); n != 2 {
		t.Errorf("Explain NotLoaded lacks %d values, first %s, want 2", n, v)
	}
	if strings.Contains(only, m.Trace[1].Source) {
		t.Error("Explain NotLoaded shows an included record")
	}
}

func TestExplainHeader(t *testing.T) {
	m := deltaMap()
	m.Root, m.IRHash, m.Delta.Reason = "/srv/p", "blake3:ff", "repeat"
	text := string(Explain(m, ExplainOptions{Suggestions: []string{"mwp-stack-rust"}}))
	for _, s := range []string{"Map of engine/src\n", "/srv/p", ".mwp/config.toml", "engine/.mwp", "o200k_base", "blake3:ff",
		"session s1, mode delta, reason repeat", "skipped    ., engine, docs/unknown.md", "14 of 10, over by 4", "no cap", "700 in the rendered text", "Suggestions\n  - mwp-stack-rust\n"} {
		if !strings.Contains(text, s) {
			t.Errorf("Explain lacks %q:\n%s", s, text)
		}
	}
	if text := string(Explain(orientationMap(), ExplainOptions{})); !strings.HasPrefix(text, "Map of (project root)\n") {
		t.Errorf("Explain of an orientation map begins %q", text[:40])
	}
}

func TestExplainColour(t *testing.T) {
	for _, name := range hostileNames {
		m := nameEverything(name)
		m.Anchors.Workspace, m.Root = name, name
		m.Trace[0].Reason, m.Trace[0].Rule, m.Trace[0].Declared, m.Trace[0].Status = name, name, name, name
		m.Warnings[0].Hint, m.Warnings[0].Source = name, name
		for _, o := range []ExplainOptions{{Suggestions: []string{name}}, {NotLoaded: true}} {
			text := string(Explain(m, o))
			if strings.ContainsAny(text, "\x1b\r\t\x7f\u202e\u200b\u009b\u2028") {
				t.Errorf("Explain without colour prints a control character for %q", name)
			}
			o.Color = true
			coloured := string(Explain(m, o))
			if !strings.Contains(coloured, "\x1b[") {
				t.Error("Explain with colour has none")
			}
			plain := coloured
			for _, code := range []string{bold, red, green, yellow, "0"} {
				plain = strings.ReplaceAll(plain, "\x1b["+code+"m", "")
			}
			// Codes may move a line break, nothing else.
			if strings.Join(strings.Fields(plain), " ") != strings.Join(strings.Fields(text), " ") {
				t.Errorf("colour says more than the words for %q", name)
			}
		}
	}
}

func TestExplainWidth(t *testing.T) {
	for name, m := range sampleMaps() {
		for line := range strings.SplitSeq(string(Explain(m, ExplainOptions{})), "\n") {
			if len(line) > 100 {
				t.Errorf("%s: line of %d columns: %s", name, len(line), line)
			}
		}
	}
}

func TestMapOrder(t *testing.T) {
	var got []string
	for _, r := range inMapOrder(engineMap()) {
		got = append(got, r.Source)
	}
	want := ".mwp/config.toml engine/.mwp-context.md .mwp/modules/3f2a91cdeadbeef/rules/errors.md docs/style.md docs/history.md engine/src/legacy docs/gone.md"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("inMapOrder = %s, want %s", s, want)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		total int
		limit *int
		full  int
	}{
		{0, ref(10), 0}, {1, ref(1000), 1}, {5, ref(10), barWidth / 2}, {999, ref(1000), barWidth - 1}, {10, ref(10), barWidth}, {20, ref(10), barWidth}, {0, ref(0), 0}, {1, ref(0), barWidth}, {5, nil, 0},
	} {
		got := bar(c.total, c.limit)
		if n := strings.Count(got, "#"); n != c.full || len(got) != barWidth+2 {
			t.Errorf("bar(%d, %v) = %q, want %d marks", c.total, c.limit, got, c.full)
		}
	}
}

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		path  string
		found bool
		want  string
	}{
		{"docs/style.md", true, "kept       docs/api.md"},
		{"./docs/style.md", true, "kept       docs/api.md"},
		{"engine/", true, "L1   engine/.mwp-context.md  included"},
		{".", true, "L0   .mwp/config.toml  included"},
		{"engine/src/legacy", true, "CLAUDE.md belongs to another tool"},
		{"engine/src", true, "the target itself"},
		{".mwp/intents/faster-parser.md", true, "active intent"},
		{".mwp/pipelines/release.md", true, "a pipeline"},
		{".mwp/discoveries.md", true, "a project note"},
		{"frontend/.mwp-context.md", false, "never a candidate"},
		{"a\x1bb", false, `a\x1bb`},
	} {
		text, found := Why(engineMap(), c.path, ExplainOptions{})
		if found != c.found || !strings.Contains(string(text), c.want) {
			t.Errorf("Why(%q) = %q, %v, want %q, %v", c.path, text, found, c.want, c.found)
		}
	}
	if text, found := Why(orientationMap(), "legacy", ExplainOptions{}); !found || !strings.Contains(string(text), "sub-application: AGENTS.md") {
		t.Errorf("Why(legacy) = %q, %v", text, found)
	}
}
