package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// LintDiffOptions select what LintDiff prints.
type LintDiffOptions struct {
	// Color adds ANSI colours; they repeat what the words say (U-07, U-46).
	Color bool
}

// namedCauses bounds the sources that one line of LintDiff names.
const namedCauses = 5

// LintDiff prints what a change adds to each target, the largest change first,
// whichever its sign, then the sum (lint --diff, D-111):
//
//	+120 tokens  backend/src/api  (L2 +120: backend/src/api/.mwp-context.md +120)
//
// Targets that share a source each count it.
func LintDiff(ds []ir.TargetDelta, o LintDiffOptions) []byte {
	p := printer{color: o.Color}
	ds = sortedDeltas(ds)
	amounts, width := make([]string, len(ds)), 0
	for i := range ds {
		amounts[i] = tokens(change(&ds[i]))
		width = max(width, len(amounts[i]))
	}
	for i := range ds {
		s := p.paint(changeColor(change(&ds[i])), pad(amounts[i], width)) + "  " + ir.EscapeControls(ds[i].Path)
		if why := deltaReason(&ds[i]); why != "" {
			s += "  (" + why + ")"
		}
		p.line(s)
	}
	if len(ds) > 0 {
		p.line("")
	}
	t := totalOf(ds)
	p.line(p.paint(bold, "total: "+tokens(t.tokens)) + " over " + count(t.targets, "target") + ", " +
		grouped(t.grew) + " larger, " + grouped(t.shrank) + " smaller")
	return p.buf
}

// LintDiffJSON returns the same as one JSON object with a final newline:
//
//	{targets: [{path, before, after, change, layers, causes}], total: {targets, grew, shrank, tokens}}
//
// before and after are null where the target does not exist.
func LintDiffJSON(ds []ir.TargetDelta) []byte {
	ds = sortedDeltas(ds)
	var w jsonText
	w.open('{')
	w.field("targets").open('[')
	for i := range ds {
		w.delta(&ds[i])
	}
	w.close(']')
	t := totalOf(ds)
	w.field("total").open('{')
	w.field("targets").int(t.targets)
	w.field("grew").int(t.grew)
	w.field("shrank").int(t.shrank)
	w.field("tokens").int(t.tokens)
	w.close('}')
	w.close('}')
	return w.indented()
}

func (w *jsonText) delta(d *ir.TargetDelta) {
	known := func(n int) *int {
		if n < 0 {
			return nil
		}
		return &n
	}
	w.open('{')
	w.field("path").str(d.Path)
	w.field("before").optionalInt(known(d.Before))
	w.field("after").optionalInt(known(d.After))
	w.field("change").int(change(d))
	w.field("layers").open('{')
	for i, n := range d.Layers {
		w.field(layerField(i)).int(n)
	}
	w.close('}')
	w.field("causes").open('[')
	for _, c := range d.Causes {
		w.open('{')
		w.field("source").str(c.Source)
		w.field("tokens").int(c.Tokens)
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// change returns the tokens that a target gains; one that does not exist has none.
func change(d *ir.TargetDelta) int { return max(d.After, 0) - max(d.Before, 0) }

// sortedDeltas returns a copy sorted by absolute change, then by path, with causes
// sorted likewise.
func sortedDeltas(ds []ir.TargetDelta) []ir.TargetDelta {
	ds = slices.Clone(ds)
	for i := range ds {
		ds[i].Causes = slices.Clone(ds[i].Causes)
		slices.SortStableFunc(ds[i].Causes, func(a, b ir.TargetCause) int {
			return bySize(a.Tokens, b.Tokens, a.Source, b.Source)
		})
	}
	slices.SortStableFunc(ds, func(a, b ir.TargetDelta) int {
		return bySize(change(&a), change(&b), a.Path, b.Path)
	})
	return ds
}

// bySize orders the larger amount first whichever its sign, a gain before a loss,
// then by path.
func bySize(a, b int, pathA, pathB string) int {
	return cmp.Or(cmp.Compare(max(b, -b), max(a, -a)), cmp.Compare(b, a), ir.ComparePaths(pathA, pathB))
}

type deltaTotal struct {
	targets, grew, shrank, tokens int
}

func totalOf(ds []ir.TargetDelta) deltaTotal {
	t := deltaTotal{targets: len(ds)}
	for i := range ds {
		n := change(&ds[i])
		t.tokens += n
		switch {
		case n > 0:
			t.grew++
		case n < 0:
			t.shrank++
		}
	}
	return t
}

// deltaReason says whether the target is new or gone, which layers changed, and
// which sources did it.
func deltaReason(d *ir.TargetDelta) string {
	var layers, causes []string
	for i, n := range d.Layers {
		if n != 0 {
			layers = append(layers, ir.LayerName(i)+" "+signed(n))
		}
	}
	for i, c := range d.Causes {
		if i == namedCauses {
			causes = append(causes, "and "+grouped(len(d.Causes)-i)+" more")
			break
		}
		causes = append(causes, ir.EscapeControls(c.Source)+" "+signed(c.Tokens))
	}
	s := strings.Join(layers, ", ")
	if len(causes) > 0 {
		s = strings.TrimPrefix(s+": "+strings.Join(causes, ", "), ": ")
	}
	switch {
	case d.Before < 0 && d.After >= 0:
		s = "new; " + s
	case d.After < 0 && d.Before >= 0:
		s = "gone; " + s
	}
	return strings.TrimSuffix(s, "; ")
}

func signed(n int) string {
	if n > 0 {
		return "+" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// tokens returns a change in words, "+1 token" or "-120 tokens".
func tokens(n int) string {
	if n == 1 || n == -1 {
		return signed(n) + " token"
	}
	return signed(n) + " tokens"
}

func changeColor(n int) string {
	switch {
	case n > 0:
		return yellow
	case n < 0:
		return green
	}
	return bold
}
