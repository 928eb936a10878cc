package ir

// LintReport is what lint found in a workspace (R-232 to R-236, D-79, D-111).
type LintReport struct {
	// Findings are sorted by source and position. Each stands once, however many
	// targets it touches.
	Findings []Diagnostic
	// Worst are the targets that come nearest to a cap or go beyond it, worst first,
	// at most five of them (D-111).
	Worst []TargetRow
	// Missing are git imports that a fetch could provide, as written. They are no part
	// of a printed report, which has a finding for each.
	Missing []string
	// Counts of what was looked at.
	Directories, Contexts, Anchors int
}

// Count returns the number of findings of each severity.
func (r *LintReport) Count() (errors, warnings, notes int) {
	for i := range r.Findings {
		switch r.Findings[i].Severity {
		case SeverityError:
			errors++
		case SeverityWarning:
			warnings++
		default:
			notes++
		}
	}
	return errors, warnings, notes
}

// TargetRow is one directory that carries or inherits context.
type TargetRow struct {
	// Path is relative to the workspace root, "." for the root.
	Path string
	// Source is the context file or anchor in the directory itself, "" for one that
	// only inherits.
	Source string
	// Layer is the layer of Source, or of the deepest entry that is inherited.
	Layer int
	// Tokens is the size of the whole chain by layer and All its sum, in Counter's
	// tokens. Bytes is the size of the rendered map, which is what other tools cap.
	Tokens [LayerCount]int
	All    int
	Bytes  int
	// Caps are the caps in effect, nil for none.
	Caps [LayerCount]*int
	// Largest is the entry that spends most, with its tokens.
	Largest       string
	LargestTokens int
	// Guards counts the guards of the chain.
	Guards int
}

// Headroom returns the layer that has spent most of its cap and the room that is
// left below it, negative when it is exceeded. It is false when no layer has a cap.
func (t *TargetRow) Headroom() (layer, tokens int, ok bool) {
	for i, limit := range t.Caps {
		if limit == nil {
			continue
		}
		// Compared crosswise: a cap may be 0, and fractions of floats differ.
		if !ok || int64(t.Tokens[i])*int64(*t.Caps[layer]) > int64(t.Tokens[layer])*int64(*limit) {
			layer, ok = i, true
		}
	}
	if ok {
		tokens = *t.Caps[layer] - t.Tokens[layer]
	}
	return layer, tokens, ok
}

// TargetDelta is what a change adds to one target (lint --diff, D-111).
type TargetDelta struct {
	Path string
	// Before and After are the chain's tokens; one of them is -1 where the target
	// does not exist.
	Before, After int
	// Layers are After minus Before by layer.
	Layers [LayerCount]int
	// Causes are the sources that grew, shrank, came or went, with their part.
	Causes []TargetCause
}

// TargetCause is one source's part of a TargetDelta.
type TargetCause struct {
	Source string
	Tokens int
}
