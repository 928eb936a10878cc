package mwp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// answered is what a reader of a JSON answer can see.
type answered struct {
	Target *string
	Layers map[string][]struct {
		ID           string
		BodyMarkdown string `json:"body_markdown"`
		Layer        int
		Priority     int
		GuardStatus  *string `json:"guard_status"`
	}
	Trace []struct{ Source, Status string }
	Delta *ir.Delta
}

// bodies returns what a reader sees of each entry.
func (a *answered) bodies() map[string]string {
	all := map[string]string{}
	for _, l := range a.Layers {
		for _, e := range l {
			status := ""
			if e.GuardStatus != nil {
				status = *e.GuardStatus
			}
			all[e.ID] = fmt.Sprintf("L%d %d %s\n%s", e.Layer, e.Priority, status, e.BodyMarkdown)
		}
	}
	return all
}

func parseAnswer(t testing.TB, text []byte) *answered {
	t.Helper()
	a := &answered{}
	if err := json.Unmarshal(text, a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

// tree is a workspace on disk for random edits.
type tree struct {
	t    testing.TB
	root string
}

func (f tree) write(name, text string) {
	f.t.Helper()
	name = filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

func (f tree) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.root, name)); err != nil {
		f.t.Fatal(err)
	}
}

// context returns a random context file for a directory.
func randomContext(r *rand.Rand, dir string) string {
	head := ""
	switch r.IntN(6) {
	case 0:
		head = "layer: 3\n"
	case 1:
		head = "scope: local\n"
	case 2:
		head = fmt.Sprintf("priority: %d\n", r.IntN(3))
	}
	if dir != "." && r.IntN(2) == 0 {
		head += "imports:\n  - local: ./rules.md\n"
	}
	if r.IntN(3) == 0 {
		head += "guards:\n  - exists: ./must.txt\n"
	}
	return fmt.Sprintf("---\n%s---\nrules of %s, version %d\n", head, dir, r.IntN(4))
}

// holder is a reader of answers: what it has by key, and nothing else.
type holder map[string]string

// take reads an answer as its text tells a reader to, and reports whether the reader has
// all of the map; otherwise it has to ask again.
func (h holder) take(a *answered) bool {
	for _, w := range a.Delta.Withdrawn {
		delete(h, w.Key)
	}
	maps.Copy(h, a.bodies())
	for _, key := range a.Delta.Skipped {
		if _, ok := h[key]; !ok {
			return false
		}
	}
	return true
}

// TestDeltaCannotLie plays random conversations of two readers who share a connection,
// with edits, deletions, guards that flip, compactions and resets in between (D-115):
// after each call the reader holds the map that a fresh program computes, and nothing that
// has been withdrawn from it.
func TestDeltaCannotLie(t *testing.T) {
	sequences := 1000
	if testing.Short() {
		sequences = 40
	}
	dirs := []string{".", "a", "a/b", "a/b/c", "d"}
	f := tree{t, t.TempDir()}
	f.write(".mwp", "name = \"p\"\ndescription = \"the project\"\n")
	server := Open(Options{Dir: f.root, Offline: true, Keep: 1 << 20})
	defer server.Close()
	for n := range sequences {
		seed := uint64(n)
		r := rand.New(rand.NewPCG(seed, 5))
		s := NewSession("")
		readers := [2]holder{{}, {}}
		for step := range 8 {
			for range r.IntN(3) {
				f.edit(r, dirs)
			}
			dir := dirs[r.IntN(len(dirs))]
			target := filepath.Join(dir, "file.go")
			if r.IntN(5) == 0 {
				target = ""
			}
			reader := readers[r.IntN(2)]
			switch r.IntN(10) {
			case 0:
				clear(reader)
			case 1:
				s.Clear()
			}
			var o SendOptions
			o.RepeatInFull, o.Full = true, r.IntN(12) == 0
			for try := 0; ; try++ {
				x, err := server.Send(t.Context(), s, Request{Target: target, Format: JSON}, o)
				if err != nil {
					t.Fatalf("seed %d step %d: %v", seed, step, err)
				}
				if r.IntN(8) == 0 {
					// The answer was lost on the way.
					continue
				}
				x.Delivered()
				// Recording takes most of the time of a call, and TestFromScratchConsistency holds
				// what comes of it.
				if r.IntN(8) == 0 {
					x.Record()
				}
				a := parseAnswer(t, x.Text)
				whole := reader.take(a)
				if whole {
					f.holds(reader, target, a, fmt.Sprintf("seed %d step %d (%q)", seed, step, target))
					break
				}
				if try > 20 {
					t.Fatalf("seed %d step %d: the reader never gets the map of %q", seed, step, target)
				}
			}
		}
	}
}

func (f tree) edit(r *rand.Rand, dirs []string) {
	dir := dirs[r.IntN(len(dirs))]
	switch r.IntN(7) {
	case 0:
		f.remove(filepath.Join(dir, ".mwp-context.md"))
	case 1:
		f.write(filepath.Join(dir, "rules.md"), fmt.Sprintf("imported by %s, version %d\n", dir, r.IntN(3)))
	case 2:
		f.remove(filepath.Join(dir, "rules.md"))
	case 3:
		f.write(filepath.Join(dir, "must.txt"), "")
	case 4:
		f.remove(filepath.Join(dir, "must.txt"))
	default:
		f.write(filepath.Join(dir, ".mwp-context.md"), randomContext(r, dir))
	}
}

// holds checks a reader against the map that a fresh program computes.
func (f tree) holds(h holder, target string, got *answered, where string) {
	f.t.Helper()
	w := Open(Options{Dir: f.root, Offline: true, Fresh: true})
	defer w.Close()
	fresh, err := w.Map(f.t.Context(), Request{Target: target, Format: JSON})
	if err != nil {
		f.t.Fatalf("%s: %v", where, err)
	}
	want := parseAnswer(f.t, fresh.Text)
	bodies := want.bodies()
	for key, body := range bodies {
		if h[key] != body {
			f.t.Fatalf("%s: of %s the reader has %q, the map has %q\n%+v", where, key, h[key], body, got.Delta)
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(bodies)), slices.Sorted(slices.Values(slices.Concat(got.Delta.Sent, got.Delta.Skipped)))); d != "" {
		f.t.Fatalf("%s: the keys of the answer (-want +got):\n%s", where, d)
	}
	gone := func(key string) bool {
		dir := filepath.Dir(key)
		if key == "a" || key == "a/b" || key == "a/b/c" || key == "d" {
			dir = key
		}
		known := slices.ContainsFunc(want.Trace, func(r struct{ Source, Status string }) bool {
			return (r.Source == key || r.Source == filepath.Join(key, ".mwp-context.md")) && r.Status != ir.Empty && r.Status != ir.Unresolved
		})
		above := filepath.Dir(target)
		if target == "" {
			above = "."
		}
		return !known && key != "." && (dir == "." || above == dir || strings.HasPrefix(above, dir+"/"))
	}
	for key := range h {
		if _, in := bodies[key]; !in && gone(key) {
			f.t.Fatalf("%s: the reader still follows %s, which is gone\n%+v", where, key, got.Delta)
		}
	}
}

func TestSendSteps(t *testing.T) {
	f := tree{t, t.TempDir()}
	f.write(".mwp", "name = \"p\"\ndescription = \"d\"\n")
	for _, dir := range []string{"backend", "backend/src/api", "backend/src/orders"} {
		f.write(dir+"/.mwp-context.md", "rules of "+dir+"\n")
	}
	f.write("backend/src/api/.mwp-context.md", "---\nguards:\n  - exists: ./must.txt\n---\nrules of the interface\n")
	f.write("backend/src/api/must.txt", "")
	clock := time.Date(2026, 5, 18, 10, 0, 0, 0, time.UTC)
	w := Open(Options{Dir: f.root, Offline: true, Keep: 1 << 20, Now: func() time.Time { return clock }})
	defer w.Close()
	s := NewSession("")
	send := func(target string, o SendOptions) *ir.Delta {
		t.Helper()
		o.RepeatInFull = true
		x, err := w.Send(t.Context(), s, Request{Target: target, Format: MarkdownText}, o)
		if err != nil {
			t.Fatal(err)
		}
		x.Delivered()
		return x.Delta
	}
	list := func(l ...string) []string { return l }
	check := func(d *ir.Delta, mode, reason string, sent, skipped, changed []string, withdrawn ...string) {
		t.Helper()
		var gone []string
		for _, e := range d.Withdrawn {
			gone = append(gone, e.Key)
		}
		got := []any{d.Mode, d.Reason, d.Sent, slices.Clone(d.Skipped), d.Changed, gone}
		want := []any{mode, reason, sent, skipped, changed, withdrawn}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	}
	const api, orders = "backend/src/api/routes.ts", "backend/src/orders/"
	check(send("", SendOptions{}), "full", "first", list("."), nil, nil)
	check(send(api, SendOptions{}), "delta", "", list("backend", "backend/src/api"), list("."), nil)
	check(send(orders, SendOptions{}), "delta", "", list("backend/src/orders"), list(".", "backend"), nil)
	if keys := seenKeys(s); !slices.Equal(keys, list(".", "backend", "backend/src/api", "backend/src/orders")) {
		t.Errorf("seen %q", keys)
	}
	check(send(orders, SendOptions{}), "full", "repeat", list(".", "backend", "backend/src/orders"), nil, nil)
	// The same target in another spelling is the same call.
	check(send("./backend/src/orders", SendOptions{}), "full", "repeat", list(".", "backend", "backend/src/orders"), nil, nil)
	check(send("backend", SendOptions{Full: true}), "full", "asked", list(".", "backend"), nil, nil)

	f.write("backend/.mwp-context.md", "other rules of backend\n")
	check(send("backend/src", SendOptions{}), "delta", "", list("backend"), list("."), list("backend"))
	f.remove("backend/src/api/must.txt")
	check(send("backend/src/api/x.ts", SendOptions{}), "delta", "", list("backend", "backend/src/api"), list("."), list("backend", "backend/src/api"))
	f.remove("backend/src/orders/.mwp-context.md")
	check(send("backend/src/orders/x.ts", SendOptions{}), "delta", "", list("backend"), list("."), list("backend"), "backend/src/orders")

	if n := s.Clear(); n != 3 {
		t.Errorf("Clear = %d, want 3", n)
	}
	check(send(api, SendOptions{}), "full", "first", list(".", "backend", "backend/src/api"), nil, list("backend", "backend/src/api"))
}

func seenKeys(s *Session) (keys []string) {
	for _, e := range s.Record().Seen {
		keys = append(keys, e.Key)
	}
	return keys
}

// A workspace that appears inside this one answers a call that was answered before: nobody is
// sent to that answer any more for what the earlier one carried.
func TestSendElsewhere(t *testing.T) {
	f := tree{t, t.TempDir()}
	f.write(".mwp/config.toml", "name = \"outer\"\ndescription = \"d\"\n")
	f.write("in/.mwp-context.md", "rules of in\n")
	f.write("other/.mwp-context.md", "rules of other\n")
	w, err := Bind(t.Context(), Options{Offline: true, Keep: 1 << 20}, f.root)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := NewSession("")
	send := func(target string) (*ir.Delta, string) {
		t.Helper()
		x, err := w.Send(t.Context(), s, Request{Target: target, Format: MarkdownText}, SendOptions{RepeatInFull: true})
		if err != nil {
			t.Fatal(err)
		}
		x.Delivered()
		return x.Delta, string(x.Text)
	}
	send("in/x.go")
	f.write("in/.mwp/config.toml", "name = \"inner\"\ndescription = \"d\"\n")
	d, text := send("in/x.go")
	if d.Elsewhere != "in" || d.Mode != ir.DeliverFull || !strings.Contains(text, "This target lies in another workspace, in. ") || !strings.Contains(text, "inner: d") {
		t.Errorf("the workspace inside: %+v\n%s", d, text)
	}
	if keys := seenKeys(s); slices.Contains(keys, ".mwp/config.toml") || len(keys) != 2 {
		t.Errorf("seen %q", keys)
	}
	if d, text := send("other/x.go"); len(d.Skipped) != 0 || !strings.Contains(text, "outer: d") {
		t.Errorf("what the first call carried counts as there: %+v", d)
	}
	if d, _ := send("in/x.go"); d.Reason == ir.DeliverRepeated || d.Elsewhere != "in" {
		t.Errorf("the workspace inside, again: %+v", d)
	}
	if d, _ := send("other"); !slices.Equal(d.Skipped, []string{".", "other"}) {
		t.Errorf("afterwards: %+v", d)
	}
}
