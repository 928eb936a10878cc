package render

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// DeltaOptions say how a map is to be delivered.
type DeltaOptions struct {
	// Session is the id that the caller gave, "" when the reader is to see none.
	Session string
	// Reason, when set, has the whole map sent, and says why (D-63).
	Reason string
	// Shell is set for a reader who has a shell and no tools.
	Shell bool
	// Elsewhere names the map's root when seen is of another workspace; seen is empty then.
	Elsewhere string
	// Shared is set when seen is what several readers were sent, of whom each may have a
	// part. Then an entry that was sent in two versions is sent every time, and what is
	// withdrawn is said every time.
	Shared bool
}

// Delta returns what to send of a map to a reader who has seen (D-62, D-115), which is in
// the order of ir.SortSeen, and what the reader gains by it. The reader then has seen with
// what it gains in place of the same keys, and without what send.Delta.Withdrawn names:
// SessionRecord.Deliver does that. hashes are the digests of what a reader sees of each entry
// of m.Layers.All. m and seen are not changed, and send shares their texts. send differs from m in its entries, in
// the ranges of its trace, and in its Delta. When it is sent is not known here: what is
// gained has the zero time.
//
// For every m and seen, the entries of send and those of its Delta.Skipped are the entries
// of m, each once; an entry is skipped only when seen has its key with its hash.
func Delta(m *ir.Map, hashes []string, seen []ir.Seen, o DeltaOptions) (send *ir.Map, gained []ir.Seen) {
	copied := *m
	send = &copied
	d := &ir.Delta{Session: o.Session, Mode: ir.DeliverDelta, Reason: o.Reason, Elsewhere: o.Elsewhere, Shell: o.Shell, Whole: &m.Layers}
	send.Delta = d
	if o.Reason != "" {
		d.Mode = ir.DeliverFull
	}
	entries, call := m.Layers.All(), Call(m.Target)
	if o.Shell {
		call = "the map of " + shownTarget(m.Target)
	}
	d.Sent, gained = make([]string, 0, len(entries)), make([]ir.Seen, 0, len(entries))
	for n, e := range entries {
		i, had := ir.FindSeen(seen, e.ID)
		held := had && seen[i].State == ir.SeenHeld
		same := held && seen[i].Hash == hashes[n] && !seen[i].Varied
		if same && o.Reason == "" {
			d.Skipped = append(d.Skipped, e.ID)
			d.LeftOut = append(d.LeftOut, ir.LeftOut{
				Key: e.ID, Source: e.Source, Layer: e.Layer, Tokens: e.Tokens, Hash: hashes[n], Call: seen[i].Call,
			})
			continue
		}
		d.Sent = append(d.Sent, e.ID)
		gained = append(gained, ir.Seen{
			Key: e.ID, Hash: hashes[n], Source: e.Source, Layer: e.Layer, Tokens: e.Tokens, Dir: dirOf(e), Call: call,
			Varied: o.Shared && had && (seen[i].Varied || seen[i].Hash != hashes[n]),
		})
		if had && (seen[i].Varied || seen[i].Hash != hashes[n]) {
			d.Changed = append(d.Changed, e.ID)
		}
	}
	if len(d.Skipped) > 0 {
		send.Layers = ir.Layers{}
		for _, e := range entries {
			if slices.Contains(d.Sent, e.ID) {
				list := send.Layers.At(e.Layer)
				*list = append(*list, *e)
			}
		}
	}
	d.Withdrawn = withdrawn(m, entries, seen)
	if len(d.Skipped) > 0 || len(d.Changed) > 0 || len(d.Withdrawn) > 0 {
		relocate(send)
	}
	return send, gained
}

// Call returns the call of the tool that answers with the map of a target, nil being the
// whole project.
func Call(target *string) string {
	if target == nil {
		return "map_workspace()"
	}
	return "map_workspace(" + strconv.Quote(*target) + ")"
}

// shownTarget names what a map is of.
func shownTarget(target *string) string {
	if target == nil {
		return "the project"
	}
	return *target
}

// dirOf returns the directory below which an entry counts: that of the context file or
// anchor, or of the one that an import begins at.
func dirOf(e *ir.Entry) string {
	source := e.Source
	if len(e.ImportsChain) > 0 {
		source = e.ImportsChain[0]
	}
	dir, _ := place(source)
	return path.Clean(dir)
}

// withdrawn returns what a reader has, would be in m by its place, and is not: its file,
// its import or its text is gone. What m left out for a reason that the trace gives, such
// as a window, holds on elsewhere.
func withdrawn(m *ir.Map, entries []*ir.Entry, seen []ir.Seen) (gone []ir.Withdrawn) {
	target := "."
	if m.Target != nil {
		target = *m.Target
	}
	for i := range seen {
		s := &seen[i]
		if !countsFor(s.Dir, target) || slices.ContainsFunc(entries, func(e *ir.Entry) bool { return e.ID == s.Key }) {
			continue
		}
		if !leftOutOf(m, s.Key) {
			gone = append(gone, ir.Withdrawn{Key: s.Key, Source: s.Source})
		}
	}
	return gone
}

func countsFor(dir, target string) bool {
	return dir == "." || target == dir || strings.HasPrefix(target, dir+"/")
}

// leftOutOf reports whether a map knows an entry and left it out while it is valid. One
// whose text came by another way is none of those: it has another key there, and perhaps
// another text.
func leftOutOf(m *ir.Map, key string) bool {
	return slices.ContainsFunc(m.Trace, func(t ir.TraceRecord) bool {
		if t.ID != key {
			return false
		}
		switch t.Status {
		case ir.ExcludedByWindow, ir.ExcludedByScope, ir.DroppedByBudget, ir.ExcludedByKind, ir.Boundary:
			return true
		}
		return false
	})
}

// relocate writes into the trace where the entries that are sent lie in the text that is
// sent; of the others there is no range.
func relocate(send *ir.Map) {
	_, ranges := Layout(send)
	send.Trace = slices.Clone(send.Trace)
	whole := send.Delta.Whole.All()
	for i := range send.Trace {
		t := &send.Trace[i]
		if t.Status != ir.Included || len(whole) == 0 {
			continue
		}
		e := whole[0]
		whole = whole[1:]
		t.ByteRange = nil
		if !slices.Contains(send.Delta.Skipped, e.ID) && len(ranges) > 0 {
			at := ranges[0]
			t.ByteRange, ranges = &at, ranges[1:]
		}
	}
}
