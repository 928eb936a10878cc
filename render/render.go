// Package render turns a workspace map into bytes: the canonical Markdown that
// an LLM reads, the same content in the frames of three model families, and the
// trace as text for people.
//
// It is pure. It imports the standard library and nodes/ir only and never os,
// net or the clock: a renderer that could look at the workspace could show
// something the map's key does not cover. The one clock it knows is
// Options.Now.
package render

import (
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Options change how a map is written, never what it says. The zero value gives
// the canonical render, which byte ranges and counted tokens refer to (D-56).
type Options struct {
	// Annotate adds one comment per entry with source, priority and tokens (D-59).
	Annotate bool
	// ASCII writes words for the glyphs and a hyphen for the dash in everything
	// that the renderer itself says; bodies and names stay as they are (U-46).
	ASCII bool
	// Now, when set, prints the age of guard results instead of their time (D-49).
	Now time.Time
}

// Markdown renders m in the order of D-60: marker, read-only banner, delta note,
// budget line, missing imports, preamble, layers, lists. It ends with one newline.
func Markdown(m *ir.Map, o Options) []byte {
	w := newWriter(m, o, &markdownFrame)
	w.document()
	return w.buf
}

// Layout returns the canonical render and, for each entry in the order of
// m.Layers.All, the half-open byte range of its verbatim body in text (D-56).
// Ranges come from writing, not from searching: a body may contain another
// body, a heading or the marker.
func Layout(m *ir.Map) (text []byte, ranges [][2]int) {
	w := newWriter(m, Options{}, &markdownFrame)
	w.document()
	return w.buf, w.ranges
}
