package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// abcMap has the entries ".", "a" and "a/b", and hashes by key.
func abcMap() (*ir.Map, []string) {
	target := "a/b/f.go"
	m := &ir.Map{SchemaVersion: "1", Kind: ir.KindFocused, Target: &target, Anchors: ir.Anchors{Workspace: ".mwp"}}
	m.Layers.L0 = []ir.Entry{{ID: ".", Source: ".mwp", Name: "demo", BodyMarkdown: "the root\n", Tokens: 2}}
	m.Layers.L1 = []ir.Entry{{ID: "a", Source: "a/.mwp-context.md", Layer: 1, BodyMarkdown: "of a\n", Tokens: 2}}
	m.Layers.L2 = []ir.Entry{
		{ID: "a/b", Source: "a/b/.mwp-context.md", Layer: 2, BodyMarkdown: "of b\n", Tokens: 2},
		{ID: "rules.md", Source: "rules.md", Layer: 2, BodyMarkdown: "rules\n", Tokens: 1, ImportsChain: []string{"a/.mwp-context.md"}},
	}
	for _, e := range m.Layers.All() {
		layer := e.Layer
		m.Trace = append(m.Trace, ir.TraceRecord{Source: e.Source, Layer: &layer, Status: ir.Included, ByteRange: &[2]int{}})
	}
	return m, []string{"h0", "h1", "h2", "h3"}
}

func held(key, hash string) ir.Seen {
	return ir.Seen{Key: key, Hash: hash, Source: key + "/.mwp-context.md", Dir: key, State: ir.SeenHeld, Call: "map_workspace()"}
}

func TestDelta(t *testing.T) {
	lost := held("a", "h1")
	lost.State = ir.SeenLost
	varied := held("a", "h1")
	varied.Varied = true
	withdrawn := held("a/b/old", "x")
	withdrawn.State, withdrawn.Dir = ir.SeenWithdrawn, "a/b"
	elsewhere := held("other", "x")
	imported := ir.Seen{Key: "gone.md", Source: "gone.md", Hash: "x", Dir: "a", State: ir.SeenHeld}
	tests := []struct {
		name                              string
		seen                              []ir.Seen
		o                                 DeltaOptions
		sent, skipped, changed, withdrawn []string
		varied                            []string
	}{
		{name: "nothing seen", sent: []string{".", "a", "a/b", "rules.md"}},
		{name: "some seen", seen: []ir.Seen{held(".", "h0"), held("a", "h1")}, sent: []string{"a/b", "rules.md"}, skipped: []string{".", "a"}},
		{name: "changed", seen: []ir.Seen{held(".", "h0"), held("a", "old")}, sent: []string{"a", "a/b", "rules.md"}, skipped: []string{"."}, changed: []string{"a"}},
		{name: "changed for one of many", seen: []ir.Seen{held("a", "old")}, o: DeltaOptions{Shared: true}, sent: []string{".", "a", "a/b", "rules.md"}, changed: []string{"a"}, varied: []string{"a"}},
		{name: "sent in versions", seen: []ir.Seen{varied}, o: DeltaOptions{Shared: true}, sent: []string{".", "a", "a/b", "rules.md"}, changed: []string{"a"}, varied: []string{"a"}},
		{name: "all seen, asked for", seen: []ir.Seen{held(".", "h0"), held("a", "h1")}, o: DeltaOptions{Reason: ir.DeliverAsked}, sent: []string{".", "a", "a/b", "rules.md"}},
		{name: "lost", seen: []ir.Seen{held(".", "h0"), lost}, sent: []string{"a", "a/b", "rules.md"}, skipped: []string{"."}},
		{name: "elsewhere", seen: []ir.Seen{held(".", "h0"), elsewhere}, sent: []string{"a", "a/b", "rules.md"}, skipped: []string{"."}},
		{name: "an import that is gone", seen: []ir.Seen{held(".", "h0"), imported}, sent: []string{"a", "a/b", "rules.md"}, skipped: []string{"."}, withdrawn: []string{"gone.md"}},
		{name: "withdrawn before", seen: []ir.Seen{held(".", "h0"), withdrawn}, o: DeltaOptions{Shared: true}, sent: []string{"a", "a/b", "rules.md"}, skipped: []string{"."}, withdrawn: []string{"a/b/old"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, hashes := abcMap()
			before, _ := abcMap()
			seen := slices.Clone(test.seen)
			send, gained := Delta(m, hashes, test.seen, test.o)
			var gone, varied []string
			for _, w := range send.Delta.Withdrawn {
				gone = append(gone, w.Key)
			}
			for _, g := range gained {
				if g.Varied {
					varied = append(varied, g.Key)
				}
			}
			got := [][]string{slices.Clone(send.Delta.Sent), send.Delta.Skipped, send.Delta.Changed, gone, varied}
			want := [][]string{test.sent, test.skipped, test.changed, test.withdrawn, test.varied}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("sent, skipped, changed, withdrawn, varied (-want +got):\n%s", d)
			}
			if d := cmp.Diff(before, m); d != "" {
				t.Errorf("the map was changed:\n%s", d)
			}
			if d := cmp.Diff(seen, test.seen); d != "" {
				t.Errorf("what was seen was changed:\n%s", d)
			}
			text := string(Markdown(send, Options{}))
			for i, e := range m.Layers.All() {
				if strings.Contains(text, e.BodyMarkdown) != slices.Contains(test.sent, e.ID) {
					t.Errorf("%s is in the text, or is not:\n%s", e.ID, text)
				}
				if r := send.Trace[i].ByteRange; len(test.skipped) > 0 {
					if (r != nil) != slices.Contains(test.sent, e.ID) || r != nil && text[r[0]:r[1]] != e.BodyMarkdown {
						t.Errorf("the range of %s is %v", e.ID, r)
					}
				}
			}
		})
	}
}

// What a map left out for a reason that it gives is not withdrawn: it holds elsewhere.
func TestDeltaLeavesAlone(t *testing.T) {
	for status, gone := range map[string]bool{
		ir.ExcludedByScope: false, ir.ExcludedByWindow: false, ir.DroppedByBudget: false, ir.ExcludedByKind: false, ir.Boundary: false,
		ir.Deduplicated: true, ir.Empty: true, ir.Shadowed: true, ir.Failed: true, ir.Unresolved: true,
	} {
		m, hashes := abcMap()
		m.Trace = append(m.Trace, ir.TraceRecord{ID: "a/x.md", Source: "a/x.md", Status: status}, ir.TraceRecord{ID: "a/x.md#Other", Source: "a/x.md", Status: ir.ExcludedByScope})
		seen := []ir.Seen{{Key: "a/x.md", Source: "a/x.md", Hash: "x", Dir: "a", State: ir.SeenHeld}}
		if send, _ := Delta(m, hashes, seen, DeltaOptions{}); (len(send.Delta.Withdrawn) == 1) != gone {
			t.Errorf("%s: withdrawn %v, want %t", status, send.Delta.Withdrawn, gone)
		}
	}
}

// A heading says what it says in the whole map, whoever is left out before it.
func TestDeltaHeadings(t *testing.T) {
	m, hashes := abcMap()
	m.Layers.L0 = append(m.Layers.L0, ir.Entry{ID: ".mwp-context.md", Source: ".mwp-context.md", BodyMarkdown: "more of the root\n"})
	m.Layers.L1 = append(m.Layers.L1, ir.Entry{ID: "z.md", Source: ".mwp-context.yaml", Layer: 1, BodyMarkdown: "z\n"})
	hashes = slices.Insert(hashes, 1, "h5")
	hashes = slices.Insert(hashes, 3, "h6")
	send, _ := Delta(m, hashes, []ir.Seen{held(".", "h0")}, DeltaOptions{})
	whole, part := string(Markdown(m, Options{})), string(Markdown(send, Options{}))
	for _, line := range strings.Split(part, "\n") {
		if strings.HasPrefix(line, "## ") && !strings.Contains(whole, line+"\n") {
			t.Errorf("the heading %q is not one of the whole map:\n%s", line, whole)
		}
	}
}

func TestDeltaText(t *testing.T) {
	m, hashes := abcMap()
	seen := []ir.Seen{held(".", "h0"), held("a", "old"), {Key: "gone.md#Part", Source: "gone.md", Hash: "x", Dir: ".", State: ir.SeenHeld}}
	hashes[0] = "blake3:" + strings.Repeat("0", 64)
	seen[0].Hash = hashes[0]
	send, _ := Delta(m, hashes, seen, DeltaOptions{})
	want := "Already delivered in this session: L0 (.). " + deltaRecovery + `
- .mwp: 2 tokens, blake3:000000000000, came with map_workspace()

Changed since it was delivered, and complete below: L1 (a).
Withdrawn since it was delivered, so do not follow it any more: gone.md#Part (gone.md).
`
	for frame, text := range renders(t, send, Options{}) {
		if frame == "markdown" && !strings.Contains(string(text), want) {
			t.Errorf("frame %s says:\n%s\nwant\n%s", frame, text, want)
		}
	}
}
