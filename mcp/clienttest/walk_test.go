package clienttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sent is what an answer says of its delivery.
type sent struct {
	Reason    string
	Sent      []string
	Skipped   []string
	Changed   []string
	Withdrawn []string
}

// step is something that happens to a workspace or a session, and then a call of
// map_workspace and what a client with a session is sent.
type step struct {
	name   string
	before func(t *testing.T, c client, w *workspace)
	// target is "" for none.
	target string
	full   bool
	want   sent
}

// walk is the proposal's, section 8.1, and what may happen after it. Several readers may
// share a connection, so what changed is sent and named in every answer from then on, and
// so is what is gone: one of them may hold the old text.
var walk = []step{
	{name: "orientation", want: sent{Reason: "first", Sent: []string{"."}}},
	{
		name: "first file", target: routes,
		want: sent{Sent: []string{"backend", "backend/src/api"}, Skipped: []string{"."}},
	},
	{
		name: "another branch", target: "backend/src/orders/",
		want: sent{Sent: []string{"backend/src/orders"}, Skipped: []string{".", "backend"}},
	},
	{
		name: "nothing new", target: "backend/src/api/users.ts",
		want: sent{Skipped: []string{".", "backend", "backend/src/api"}},
	},
	{
		name: "the same target, as after a compaction", target: routes,
		want: sent{Reason: "repeat", Sent: []string{".", "backend", "backend/src/api"}},
	},
	{
		name: "a changed file", target: "backend/src/orders/order.ts",
		before: func(t *testing.T, _ client, w *workspace) {
			w.write(t, "backend/.mwp-context.md", "The backend is written in Go.\n")
		},
		want: sent{Sent: []string{"backend"}, Skipped: []string{".", "backend/src/orders"}, Changed: []string{"backend"}},
	},
	{
		name: "a guard that fails", target: "backend/src/api/new.ts",
		before: func(t *testing.T, c client, w *workspace) {
			w.remove(t, "backend/src/api/ok")
			if r := call(t, c, "verify_context", map[string]any{"target": "backend/src/api"}); r.IsError || !strings.Contains(string(r.StructuredContent), `"failed"`) {
				t.Errorf("verify_context: %+v", r)
			}
		},
		want: sent{Sent: []string{"backend", "backend/src/api"}, Skipped: []string{"."}, Changed: []string{"backend", "backend/src/api"}},
	},
	{
		name: "a file that is gone", target: "backend/src/orders/refund.ts",
		before: func(t *testing.T, _ client, w *workspace) { w.remove(t, "backend/src/orders/.mwp-context.md") },
		want:   sent{Sent: []string{"backend"}, Skipped: []string{"."}, Changed: []string{"backend"}, Withdrawn: []string{"backend/src/orders"}},
	},
	{
		name: "everything asked for", target: "backend/src/api/late.ts", full: true,
		want: sent{Reason: "asked", Sent: []string{".", "backend", "backend/src/api"}, Changed: []string{"backend", "backend/src/api"}},
	},
	{
		name: "after reset_session", target: "backend/src/orders/cancel.ts",
		before: func(t *testing.T, c client, _ *workspace) {
			if r := call(t, c, "reset_session", nil); r.IsError {
				t.Errorf("reset_session: %+v", r)
			}
		},
		want: sent{Reason: "first", Sent: []string{".", "backend"}, Changed: []string{"backend"}, Withdrawn: []string{"backend/src/orders"}},
	},
}

// arguments are those of the step's call.
func (s *step) arguments(render string) map[string]any {
	a := map[string]any{"render": render}
	if s.target != "" {
		a["target"] = s.target
	}
	if s.full {
		a["full"] = true
	}
	return a
}

// command is `mwp map` for the step.
func (s *step) command(t *testing.T, w *workspace, flags ...string) string {
	t.Helper()
	args := []string{"map"}
	if s.target != "" {
		args = append(args, s.target)
	}
	return w.mwp(t, append(args, flags...)...)
}

// delivered reads the account of a delivery, and checks it against the entries.
func delivered(t *testing.T, document json.RawMessage) sent {
	t.Helper()
	var m struct {
		Layers map[string][]struct{ ID string }
		Delta  *struct {
			Reason                 string
			Sent, Skipped, Changed []string
			Withdrawn              []struct{ Key string }
		}
	}
	if err := json.Unmarshal(document, &m); err != nil || m.Delta == nil {
		t.Fatalf("%v, no delta in %s", err, document)
	}
	s := sent{Reason: m.Delta.Reason, Sent: m.Delta.Sent, Skipped: m.Delta.Skipped, Changed: m.Delta.Changed}
	for _, k := range m.Delta.Withdrawn {
		s.Withdrawn = append(s.Withdrawn, k.Key)
	}
	var ids []string
	for layer := range 5 {
		for _, e := range m.Layers[fmt.Sprint("l", layer)] {
			ids = append(ids, e.ID)
		}
	}
	if !slices.Equal(ids, s.Sent) {
		t.Errorf("the entries are %q, and said to be %q", ids, s.Sent)
	}
	return s
}

// TestWalk is the proposal's scenario of phase 4: a reader with a session pays for each
// rule once, hears of what changed, and gets everything back.
func TestWalk(t *testing.T) {
	each(t, func(t *testing.T, k kind, c client, w *workspace) {
		for _, s := range walk {
			if s.before != nil {
				s.before(t, c, w)
			}
			r := call(t, c, "map_workspace", s.arguments("json"))
			if r.IsError {
				t.Fatalf("%s: %s", s.name, r.text())
			}
			if k.modern() {
				// There is no session to remember anything in.
				sameJSON(t, s.name, s.command(t, w, "--json"), r.StructuredContent)
				continue
			}
			got := delivered(t, r.StructuredContent)
			for _, list := range []*[]string{&got.Sent, &got.Skipped, &got.Changed, &got.Withdrawn} {
				if len(*list) == 0 {
					*list = nil
				}
			}
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("%s:\n%s", s.name, diff)
			}
			if s.target != "" {
				e := call(t, c, "explain_context", map[string]any{"target": s.target})
				sameJSON(t, s.name+": explain_context", w.mwp(t, "explain", s.target, "--json"), e.StructuredContent)
			}
		}
	})
}

// TestWalkText is the same walk as a model reads it.
func TestWalkText(t *testing.T) {
	texts := map[string]string{
		".":                  "A shop and what it sells.",
		"backend":            "The backend is written in",
		"backend/src/api":    "Routes are thin.",
		"backend/src/orders": "Orders are never deleted.",
	}
	each(t, func(t *testing.T, k kind, c client, w *workspace) {
		for _, s := range walk {
			if s.before != nil {
				s.before(t, c, w)
			}
			r := call(t, c, "map_workspace", s.arguments("markdown"))
			whole := s.command(t, w, "--render", "markdown")
			if r.IsError || r.StructuredContent != nil {
				t.Errorf("%s: %+v", s.name, r)
			}
			if k.modern() || s.want.Reason != "" {
				if diff := cmp.Diff(whole, r.text()); diff != "" && len(s.want.Changed)+len(s.want.Withdrawn) == 0 {
					t.Errorf("%s: mwp map (-) and the tool (+):\n%s", s.name, diff)
				}
				continue
			}
			for key, text := range texts {
				if got, want := strings.Contains(r.text(), text), slices.Contains(s.want.Sent, key); got != want {
					t.Errorf("%s: the text of %s is there: %v, want %v:\n%s", s.name, key, got, want, r.text())
				}
			}
			if len(s.want.Skipped) > 0 && !strings.Contains(r.text(), "reset_session") {
				t.Errorf("%s: the way back is not named:\n%s", s.name, r.text())
			}
			// The banner and the preamble are for every answer.
			preamble, _, _ := strings.Cut(whole, "\n---\n")
			for line := range strings.Lines(preamble) {
				if !strings.Contains(r.text(), line) {
					t.Errorf("%s: %q is missing:\n%s", s.name, line, r.text())
				}
			}
		}
	})
}
