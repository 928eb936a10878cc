package render

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// frame is what a family of models likes around the same sections (D-61).
type frame struct {
	// model is the name on the command line, "" for the canonical Markdown.
	model string
	// tagged frames wrap sections in XML-style tags; others give them a heading.
	tagged bool
	// heading stands before and after a section's title.
	heading [2]string
	// plain frames have no Markdown quotes and emphasis around the renderer's words.
	plain bool
	// rule puts a line between preamble and layers; tags make one needless.
	rule bool
	// estimates is set where the model's tokenizer differs from the counter's.
	estimates bool
	// fence returns a line to put around a body, nil for none.
	fence func(body string) string
}

var (
	markdownFrame = frame{heading: [2]string{"## ", ""}, rule: true}

	frames = []*frame{
		{model: "claude", tagged: true, estimates: true},
		{model: "gpt-4", heading: [2]string{"## ", ""}, rule: true, fence: quoteFence},
		{model: "llama", heading: [2]string{"=== ", " ==="}, plain: true, rule: true, estimates: true},
	}
)

// Models returns the names that Model knows, in the order of their help text.
func Models() []string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[i] = f.model
	}
	return names
}

// Model renders m in the frame of a model family: claude in XML-style tags,
// gpt-4 in Markdown with delimiters around bodies, llama in plain sections.
// Bodies, their order and the contract's sentences are those of Markdown (D-61).
// It returns false for a name that Models does not list.
func Model(m *ir.Map, model string, o Options) ([]byte, bool) {
	for _, f := range frames {
		if f.model == model {
			w := newWriter(m, o, f)
			w.document()
			return w.buf, true
		}
	}
	return nil, false
}

// quoteFence returns a run of quotation marks that is longer than any in body,
// so that a body cannot end its own delimiter.
func quoteFence(body string) string {
	longest, run := 2, 0
	for i := range len(body) {
		if body[i] != '"' {
			run = 0
			continue
		}
		if run++; run > longest {
			longest = run
		}
	}
	return strings.Repeat(`"`, longest+1)
}

func (w *writer) start() {
	if w.f.tagged {
		w.raw("<workspace_map kind=")
		w.attribute(w.m.Kind)
		if w.m.Target != nil {
			w.raw(" target=")
			w.attribute(*w.m.Target)
		}
		w.raw(">\n")
	}
}

func (w *writer) finish() {
	if w.f.tagged {
		w.gap()
		w.raw("</workspace_map>\n")
	}
}

func (w *writer) open(s section) {
	if w.f.tagged {
		w.raw("<" + s.tag)
		if s.entry != nil {
			w.raw(" level=")
			w.attribute(ir.LayerName(s.entry.Layer))
			w.raw(" title=")
			w.attribute(s.title)
			w.raw(" source=")
			w.attribute(s.entry.Source)
		}
		w.raw(">\n")
		return
	}
	if s.title == "" {
		return
	}
	w.raw(w.f.heading[0])
	if s.entry != nil {
		w.say(ir.LayerName(s.entry.Layer) + " — ")
	}
	w.name(s.title)
	w.raw(w.f.heading[1] + "\n\n")
}

func (w *writer) close(s section) {
	if w.f.tagged {
		w.raw("</" + s.tag + ">\n")
	}
}

func (w *writer) attribute(s string) {
	w.raw(`"`)
	w.raw(xmlEscaper.Replace(string(appendName(nil, s, false))))
	w.raw(`"`)
}
