package mcp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
)

// TestResources: each listed resource can be read, and is the whole map of its path.
func TestResources(t *testing.T) {
	p := shopAt(t)
	w := p.bound(t)
	for _, e := range eraTable {
		m := e.ask(t, p.serving(t), e.request("1", "resources/list", ""))
		var uris []string
		for _, x := range m.Result["resources"].([]any) {
			r := x.(map[string]any)
			uri := r["uri"].(string)
			uris = append(uris, uri)
			if r["mimeType"] != "text/markdown" || r["name"] == "" || r["title"] == "" {
				t.Errorf("%s: a resource %v", e.name, r)
			}
			path, _ := pathOf(uri)
			want, err := w.Map(t.Context(), mwp.Request{Target: path, Format: mwp.MarkdownText})
			got := e.ask(t, p.serving(t), e.request("1", "resources/read", `"uri":"`+uri+`"`))
			if err != nil {
				if got.Error == nil || got.Error.Message != said(findings(err)) {
					t.Errorf("%s: %s = %s, want %v", e.name, uri, got.raw, err)
				}
				continue
			}
			contents := []any{map[string]any{"uri": uri, "mimeType": "text/markdown", "text": string(want.Text)}}
			if diff := cmp.Diff(contents, got.Result["contents"]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", e.name, uri, diff)
			}
		}
		if diff := cmp.Diff([]string{
			"mwp://context/", "mwp://context/a%20b/%C3%BC%23%25.d", "mwp://context/absent", "mwp://context/adhoc", "mwp://context/backend", "mwp://context/backend/src/api",
			"mwp://context/backend/src/orders", "mwp://context/failing", "mwp://context/guarded", "mwp://context/warned",
		}, uris); diff != "" {
			t.Errorf("%s: resources (-want +got):\n%s", e.name, diff)
		}
	}
}

// TestCacheHints are on every list and read of the revision that wants them, and nowhere
// else.
func TestCacheHints(t *testing.T) {
	p := shopAt(t)
	for method, params := range map[string]string{
		"tools/list": "", "prompts/list": "", "resources/list": "", "resources/templates/list": "", "resources/read": `"uri":"mwp://context/"`,
	} {
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.request("1", method, params))
			ms, given := m.Result["ttlMs"].(float64)
			scope := m.Result["cacheScope"]
			modern := e.name == "modern"
			if given != modern || modern && scope != "public" && scope != "private" || !modern && (scope != nil || m.Result["resultType"] != nil || m.Result["_meta"] != nil) {
				t.Errorf("%s: %s: ttlMs %v, cacheScope %v in %.200s", e.name, method, ms, scope, m.raw)
			}
			if modern && strings.HasPrefix(method, "resources/") && !strings.Contains(method, "templates") && (ms != 0 || scope != "private") {
				t.Errorf("%s may be kept for %v ms, %v", method, ms, scope)
			}
			if modern && m.Result["resultType"] != "complete" {
				t.Errorf("%s: resultType %v", method, m.Result["resultType"])
			}
		}
	}
}

// TestAbsentResources are errors that name the URI, in the code of the era, and never
// empty contents; nothing outside of the root is shown (case 09).
func TestAbsentResources(t *testing.T) {
	p := shopAt(t)
	outside := filepath.Dir(p.dir)
	write(t, filepath.Join(outside, "outside.md"), "MARK-OUT")
	// A workspace beside this one, whose maps are not served here.
	write(t, filepath.Join(outside, "beside/.mwp"), "name = \"beside\"\ndescription = \"MARK-OUT\"\n")
	for _, uri := range []string{
		"test://nonexistent", "mwp://context/no/such/file", "mwp://context/../outside.md", "mwp://context/%2e%2e/outside.md", "mwp://context/backend/..%2f..%2foutside.md",
		"mwp://context//etc/passwd", "mwp://context/%2fetc/passwd", "mwp://context/a%00b", "mwp://context/%zz", "mwp://contexts/backend", "", "backend", "mwp://context/broken", "mwp://other/backend",
		"mwp://context/../beside/.", "mwp://context/" + p.dir + "/backend",
	} {
		for _, e := range eraTable {
			want := -32002
			if e.name == "modern" {
				want = -32602
			}
			m := e.ask(t, p.serving(t), e.request("1", "resources/read", `"uri":"`+uri+`"`))
			if m.code() != want || m.Error.Data["uri"] != uri || m.Result != nil || strings.Contains(m.raw, "MARK-OUT") {
				t.Errorf("%s: %q = %s, want %d with the uri", e.name, uri, m.raw, want)
			}
		}
	}
	for _, params := range []string{``, `"uri":7`, `"uri":null`} {
		if m := eraTable[0].ask(t, p.serving(t), eraTable[0].request("1", "resources/read", params)); m.code() != -32602 {
			t.Errorf("resources/read with %s: %s", params, m.raw)
		}
	}
	for _, uri := range []string{"mwp://context", "MWP://Context/", "mwp://context/.", "mwp://context/backend#L3"} {
		if m := eraTable[0].ask(t, p.serving(t), eraTable[0].request("1", "resources/read", `"uri":"`+uri+`"`)); m.Error != nil {
			t.Errorf("%s: %s", uri, m.raw)
		}
	}
}

// TestPagesOfResources: every directory once, in order, whatever the number of pages, and
// a cursor that was never given is refused.
func TestPagesOfResources(t *testing.T) {
	files := map[string]string{".mwp": "name = \"many\"\n"}
	want := []string{"mwp://context/"}
	for i := range 250 {
		files[fmt.Sprintf("d%03d/.mwp-context.md", i)] = "Text.\n"
		files[fmt.Sprintf("d%03d/sub/x.ts", i)] = ""
		want = append(want, fmt.Sprintf("mwp://context/d%03d", i))
	}
	p := &place{dir: tree(t, files), user: t.TempDir()}
	c := start(t, p.serving(t))
	c.ask(hello)
	var got []string
	var sizes []int
	cursor := ""
	for {
		params := ""
		if cursor != "" {
			params = `"cursor":"` + cursor + `"`
		}
		m := c.ask(eraTable[0].request("1", "resources/list", params))
		page := m.Result["resources"].([]any)
		for _, r := range page {
			got = append(got, r.(map[string]any)["uri"].(string))
		}
		sizes = append(sizes, len(page))
		next, more := m.Result["nextCursor"].(string)
		if !more {
			break
		}
		cursor = next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if !slices.Equal(sizes, []int{100, 100, 51}) {
		t.Errorf("pages of %v", sizes)
	}
	for _, method := range []string{"resources/list", "tools/list", "prompts/list", "resources/templates/list"} {
		for _, cursor := range []string{`"nonsense"`, `7`} {
			if m := c.ask(eraTable[0].request("1", method, `"cursor":`+cursor)); m.code() != -32602 {
				t.Errorf("%s with the cursor %s: %s", method, cursor, m.raw)
			}
		}
		if m := c.ask(eraTable[0].request("1", method, `"cursor":null`)); m.Error != nil {
			t.Errorf("%s without a cursor: %s", method, m.raw)
		}
	}
	c.end()
}

// TestTemplates: the one template, which completes.
func TestTemplates(t *testing.T) {
	m := eraTable[0].ask(t, Options{}, eraTable[0].request("1", "resources/templates/list", ""))
	template := m.Result["resourceTemplates"].([]any)[0].(map[string]any)
	if template["uriTemplate"] != "mwp://context/{+path}" || template["mimeType"] != "text/markdown" {
		t.Errorf("the template %v", template)
	}
}

// TestPrompts become commands: what they say names tools that there are.
func TestPrompts(t *testing.T) {
	e := eraTable[0]
	m := e.ask(t, Options{}, e.request("1", "prompts/list", ""))
	var names []string
	for _, x := range m.Result["prompts"].([]any) {
		names = append(names, x.(map[string]any)["name"].(string))
	}
	if !slices.Equal(names, []string{"orient", "focus"}) {
		t.Errorf("prompts %v", names)
	}
	for _, c := range []struct {
		params, want string
		code         int
	}{
		{`"name":"orient"`, "Call map_workspace with no arguments", 0},
		{`"name":"orient","arguments":{}`, "Call map_workspace with no arguments", 0},
		{`"name":"focus","arguments":{"target":"a\u001b/b"}`, `Call map_workspace with the target "a\x1b/b" and`, 0},
		{`"name":"focus"`, "the argument target is missing", -32602},
		{`"name":"focus","arguments":{"target":7}`, "expected a string as target", -32602},
		{`"name":"orient","arguments":{"target":"a"}`, `there is no argument "target"`, -32602},
		{`"name":"other"`, `there is no prompt "other"; there are orient and focus`, -32602},
		{``, "expected a string as name", -32602},
	} {
		for _, e := range eraTable {
			m := e.ask(t, Options{}, e.request("1", "prompts/get", c.params))
			text := ""
			if m.Error != nil {
				text = m.Error.Message
			} else {
				message := m.Result["messages"].([]any)[0].(map[string]any)
				if message["role"] != "user" {
					t.Errorf("%s: role %v", c.params, message["role"])
				}
				text = message["content"].(map[string]any)["text"].(string)
			}
			if m.code() != c.code || !strings.Contains(text, c.want) {
				t.Errorf("%s: prompts/get with %s = %s, want %d and %q", e.name, c.params, m.raw, c.code, c.want)
			}
		}
	}
}

// TestCompletion: paths of the workspace, at most a hundred, and nothing for what is not
// ours.
func TestCompletion(t *testing.T) {
	files := map[string]string{".mwp": "name = \"many\"\n", "other/.mwp-context.md": "Text.\n"}
	for i := range 120 {
		files[fmt.Sprintf("d%03d/.mwp-context.md", i)] = "Text.\n"
	}
	p := &place{dir: tree(t, files), user: t.TempDir()}
	for _, c := range []struct {
		ref, argument string
		first         string
		count, total  int
	}{
		{`{"type":"ref/prompt","name":"focus"}`, `{"name":"target","value":"d"}`, "d000", 100, 120},
		{`{"type":"ref/resource","uri":"mwp://context/{+path}"}`, `{"name":"path","value":"d01"}`, "d010", 10, 10},
		{`{"type":"ref/prompt","name":"focus"}`, `{"name":"target","value":"the"}`, "other", 1, 1},
		{`{"type":"ref/prompt","name":"focus"}`, `{"name":"target","value":"nothing"}`, "", 0, 0},
		{`{"type":"ref/prompt","name":"focus"}`, `{"name":"other","value":"d"}`, "", 0, 0},
		{`{"type":"ref/prompt","name":"orient"}`, `{"name":"target","value":"d"}`, "", 0, 0},
		{`{"type":"ref/prompt","name":"test_prompt_with_arguments"}`, `{"name":"arg1","value":"par"}`, "", 0, 0},
		{`{"type":"ref/resource","uri":"mwp://context/x"}`, `{"name":"path","value":"d"}`, "", 0, 0},
		{`{"type":7}`, `{"name":7,"value":7}`, "", 0, 0},
	} {
		for _, e := range eraTable {
			m := e.ask(t, p.serving(t), e.request("1", "completion/complete", `"ref":`+c.ref+`,"argument":`+c.argument))
			completion, _ := m.Result["completion"].(map[string]any)
			values, isList := completion["values"].([]any)
			if !isList || len(values) != c.count || c.count > 0 && values[0] != c.first || completion["total"] != float64(c.total) || completion["hasMore"] != (c.total > c.count) {
				t.Errorf("%s: %s %s = %.300s, want %d of %d from %q", e.name, c.ref, c.argument, m.raw, c.count, c.total, c.first)
			}
		}
	}
	for _, params := range []string{``, `"ref":{}`, `"ref":7,"argument":{}`, `"ref":{},"argument":[]`, `"ref":null,"argument":{}`} {
		if m := eraTable[0].ask(t, p.serving(t), eraTable[0].request("1", "completion/complete", params)); m.code() != -32602 {
			t.Errorf("completion/complete with %s: %s", params, m.raw)
		}
	}
}
