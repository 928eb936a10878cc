package clienttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResources: a resource is the full map of its path, whatever was sent before, and
// reading one changes nothing about what is sent.
func TestResources(t *testing.T) {
	each(t, func(t *testing.T, k kind, c client, w *workspace) {
		list := decode[struct {
			Resources []struct{ URI, Name, MimeType string }
		}](t, c.ask(t, "listResources", map[string]any{}))
		var uris []string
		for _, r := range list.Resources {
			if uris = append(uris, r.URI); r.Name == "" || !strings.HasPrefix(r.MimeType, "text/markdown") {
				t.Errorf("resource %+v", r)
			}
		}
		for _, want := range []string{"mwp://context/", "mwp://context/backend", "mwp://context/backend/src/orders", "mwp://context/web"} {
			if !slices.Contains(uris, want) {
				t.Errorf("%q: %s is missing", uris, want)
			}
		}
		templates := decode[struct {
			ResourceTemplates []struct{ URITemplate string }
		}](t, c.ask(t, "listResourceTemplates", map[string]any{}))
		if len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "mwp://context/{+path}" {
			t.Errorf("%+v", templates)
		}

		want := w.mwp(t, "map", routes, "--render", "markdown")
		for range 2 {
			if diff := cmp.Diff(want, read(t, c, "mwp://context/"+routes)); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff(w.mwp(t, "map", "--render", "markdown"), read(t, c, "mwp://context/")); diff != "" {
			t.Error(diff)
		}
		if got := call(t, c, "map_workspace", map[string]any{"target": routes}).text(); got != want {
			t.Errorf("after reading a resource the map is\n%s", got)
		}
		code := -32002
		if k.modern() || strings.HasPrefix(k.name, "typescript v2") {
			// The second TypeScript SDK shows the old code as the new one.
			code = -32602
		}
		refused(t, c.ask(t, "readResource", map[string]any{"uri": "mwp://context/../../etc/passwd"}), code)
		refused(t, c.ask(t, "readResource", map[string]any{"uri": "mwp://context/%2e%2e/etc/passwd"}), code)
		refused(t, c.ask(t, "readResource", map[string]any{"uri": "file:///etc/passwd"}), code)
	})
}

func read(t *testing.T, c client, uri string) string {
	t.Helper()
	r := decode[struct {
		Contents []struct{ URI, MimeType, Text string }
	}](t, c.ask(t, "readResource", map[string]any{"uri": uri}))
	if len(r.Contents) != 1 || r.Contents[0].URI != uri || !strings.HasPrefix(r.Contents[0].MimeType, "text/markdown") {
		t.Fatalf("%s: %+v", uri, r)
	}
	return r.Contents[0].Text
}

func TestPrompts(t *testing.T) {
	each(t, func(t *testing.T, _ kind, c client, _ *workspace) {
		list := decode[struct {
			Prompts []struct {
				Name      string
				Arguments []struct {
					Name     string
					Required bool
				}
			}
		}](t, c.ask(t, "listPrompts", map[string]any{}))
		if len(list.Prompts) != 2 || list.Prompts[0].Name != "orient" || len(list.Prompts[0].Arguments) != 0 || list.Prompts[1].Name != "focus" {
			t.Fatalf("%+v", list)
		}
		if a := list.Prompts[1].Arguments; len(a) != 1 || a[0].Name != "target" || !a[0].Required {
			t.Errorf("focus: %+v", a)
		}
		type prompt struct {
			Messages []struct {
				Role    string
				Content struct{ Type, Text string }
			}
		}
		for _, want := range []struct {
			name, word string
			arguments  map[string]string
		}{
			{"orient", "map_workspace", nil},
			{"focus", routes, map[string]string{"target": routes}},
		} {
			p := decode[prompt](t, c.ask(t, "getPrompt", map[string]any{"name": want.name, "arguments": want.arguments}))
			if len(p.Messages) == 0 || p.Messages[0].Role != "user" || p.Messages[0].Content.Type != "text" || !strings.Contains(p.Messages[0].Content.Text, want.word) {
				t.Errorf("%s: %+v", want.name, p)
			}
		}
		refused(t, c.ask(t, "getPrompt", map[string]any{"name": "focus"}), -32602, "target")
		refused(t, c.ask(t, "getPrompt", map[string]any{"name": "no-such-prompt"}), -32602, "no-such-prompt")
	})
}

// TestCompletion: paths are offered for the prompt and for the template.
func TestCompletion(t *testing.T) {
	each(t, func(t *testing.T, _ kind, c client, _ *workspace) {
		complete := func(ref map[string]any, argument, value string) []string {
			t.Helper()
			r := decode[struct {
				Completion struct {
					Values  []string
					HasMore bool
				}
			}](t, c.ask(t, "complete", map[string]any{"ref": ref, "argument": map[string]any{"name": argument, "value": value}}))
			if r.Completion.Values == nil || len(r.Completion.Values) > 100 {
				t.Errorf("completion of %q: %v", value, r.Completion.Values)
			}
			return r.Completion.Values
		}
		focus := map[string]any{"type": "ref/prompt", "name": "focus"}
		template := map[string]any{"type": "ref/resource", "uri": "mwp://context/{+path}"}
		for _, ref := range []struct {
			ref      map[string]any
			argument string
		}{{focus, "target"}, {template, "path"}} {
			got := complete(ref.ref, ref.argument, "backend/src/")
			for _, want := range []string{"backend/src/api", "backend/src/orders"} {
				if !slices.ContainsFunc(got, func(v string) bool { return strings.TrimSuffix(v, "/") == want }) {
					t.Errorf("%v: %q, want %s in it", ref.ref, got, want)
				}
			}
			if got := complete(ref.ref, ref.argument, "nothing like it"); len(got) > 0 {
				t.Errorf("%v: %q", ref.ref, got)
			}
		}
		if got := complete(map[string]any{"type": "ref/prompt", "name": "no-such-prompt"}, "x", ""); len(got) > 0 {
			t.Errorf("a prompt that is not there: %q", got)
		}
	})
}
