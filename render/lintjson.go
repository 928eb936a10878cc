package render

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// LintJSON returns a lint report as one JSON object, everything in it, with a
// final newline (D-79):
//
//	{findings: […], worst: […], counts: {…}, summary: {errors, warnings, notes}}
//
// A finding has the shape of a map's warnings, and a target's totals and budgets
// have the names that they have in a map. The order of fields is fixed and arrays
// are never null (U-39).
func LintJSON(r *ir.LintReport) []byte {
	var w jsonText
	w.open('{')
	w.field("findings").open('[')
	for _, d := range sortedFindings(r.Findings) {
		w.diagnostic(&d)
	}
	w.close(']')
	w.field("worst").rows(r.Worst)
	w.field("counts").open('{')
	w.field("directories").int(r.Directories)
	w.field("contexts").int(r.Contexts)
	w.field("anchors").int(r.Anchors)
	w.close('}')
	errors, warnings, notes := r.Count()
	w.field("summary").open('{')
	w.field("errors").int(errors)
	w.field("warnings").int(warnings)
	w.field("notes").int(notes)
	w.close('}')
	w.close('}')
	return w.indented()
}

// jsonText writes JSON in the order of its calls. It knows commas only; lines and
// indentation are added at the end, by json.Indent.
type jsonText struct {
	buf []byte
}

// comma precedes every name and value, and writes one where something of the same
// list stands before.
func (w *jsonText) comma() {
	if n := len(w.buf); n > 0 && bytes.IndexByte([]byte("{[:"), w.buf[n-1]) < 0 {
		w.buf = append(w.buf, ',')
	}
}

func (w *jsonText) raw(s string) {
	w.comma()
	w.buf = append(w.buf, s...)
}

func (w *jsonText) open(c byte) { w.raw(string(rune(c))) }

func (w *jsonText) close(c byte) { w.buf = append(w.buf, c) }

func (w *jsonText) field(name string) *jsonText {
	w.str(name)
	w.buf = append(w.buf, ':')
	return w
}

// str writes s with the IR's rules: what cannot be seen is escaped.
func (w *jsonText) str(s string) {
	w.comma()
	w.buf = ir.AppendString(w.buf, s)
}

func (w *jsonText) int(n int) { w.raw(strconv.Itoa(n)) }

func (w *jsonText) optionalInt(p *int) {
	if p == nil {
		w.raw("null")
		return
	}
	w.int(*p)
}

func (w *jsonText) diagnostic(d *ir.Diagnostic) {
	w.comma()
	w.buf = bytes.TrimSuffix(ir.AppendDiagnosticJSON(w.buf, d), []byte("\n"))
}

func (w *jsonText) rows(rows []ir.TargetRow) {
	w.open('[')
	for i := range rows {
		w.row(&rows[i])
	}
	w.close(']')
}

func (w *jsonText) row(t *ir.TargetRow) {
	w.open('{')
	w.field("path").str(t.Path)
	w.field("source").str(t.Source)
	w.field("layer").int(t.Layer)
	w.field("totals").open('{')
	for i, n := range t.Tokens {
		w.field(layerField(i)).int(n)
	}
	w.field("all").int(t.All)
	if w.field("rendered_bytes"); t.Bytes > 0 {
		w.int(t.Bytes)
	} else {
		// Maps are rendered only where a harness's cap is asked about.
		w.raw("null")
	}
	w.close('}')
	w.field("budgets").open('{')
	for i, limit := range t.Caps {
		w.field(layerField(i)).optionalInt(limit)
	}
	w.close('}')
	w.field("headroom")
	if layer, room, ok := t.Headroom(); ok {
		w.open('{')
		w.field("layer").int(layer)
		w.field("tokens").int(room)
		w.close('}')
	} else {
		w.raw("null")
	}
	w.field("largest")
	if t.Largest != "" {
		w.open('{')
		w.field("source").str(t.Largest)
		w.field("tokens").int(t.LargestTokens)
		w.close('}')
	} else {
		w.raw("null")
	}
	w.field("guards").int(t.Guards)
	w.close('}')
}

func layerField(i int) string { return "l" + strconv.Itoa(i) }

// indented returns the finished text, indented by two spaces, with a final newline.
func (w *jsonText) indented() []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, w.buf, "", "  "); err != nil {
		panic("render: jsonText.indented: " + err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}
