package render

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// A writer produces one document. The order and the content of its sections are
// here, once; a frame only decides what stands around them, so that no frame can
// say less than another (D-61).
type writer struct {
	buf    []byte
	m      *ir.Map
	o      Options
	f      *frame
	ranges [][2]int
}

// section is one block of a document. Entry is set for a layer's entry.
type section struct {
	tag   string
	title string
	entry *ir.Entry
}

func newWriter(m *ir.Map, o Options, f *frame) *writer {
	n := 2048
	for i := range ir.LayerCount {
		for j := range *m.Layers.At(i) {
			n += len((*m.Layers.At(i))[j].BodyMarkdown) + 256
		}
	}
	return &writer{buf: make([]byte, 0, n), m: m, o: o, f: f}
}

func (w *writer) document() {
	w.marker()
	w.raw("\n")
	w.start()
	layers := &w.m.Layers
	if d := w.m.Delta; d != nil && d.Whole != nil {
		layers = d.Whole
	}
	entries := layers.All()
	guards := pairGuards(w.m, entries)
	w.banner(entries, guards)
	w.delivered()
	w.budget()
	w.unresolved()
	w.tokens()
	w.section(section{tag: "instructions"}, func() {
		title, lines := preamble(w.m)
		w.strong(title)
		w.raw(" ")
		for _, line := range lines {
			w.say(line + "\n")
		}
	})
	if w.f.rule {
		w.gap()
		w.raw("---\n")
	}
	project, identity := projectName(w.m.Anchors.Workspace, entries), false
	for i, e := range entries {
		if w.m.Delta == nil || !slices.Contains(w.m.Delta.Skipped, e.ID) {
			w.entry(e, title(e, e.Layer == 0 && !identity, project), guards[i])
		}
		identity = identity || e.Layer == 0
	}
	w.lists()
	w.finish()
}

// marker writes the first line of every render.
func (w *writer) marker() {
	w.raw("<!-- mwp workspace map | target: ")
	if w.m.Target == nil {
		w.raw("(project root)")
	} else {
		w.buf = appendName(w.buf, *w.m.Target, true)
	}
	w.raw(" | schema: ")
	w.buf = appendName(w.buf, w.m.SchemaVersion, true)
	w.raw(" -->\n")
}

// banner tells a reader of a read-only map what fails, what must not happen and
// how to check again (R-146, R-147, D-60).
func (w *writer) banner(entries []*ir.Entry, guards [][]shownGuard) {
	if !w.m.ReadOnly {
		return
	}
	w.section(section{tag: "read_only"}, func() {
		w.quote()
		w.say("⛔ ")
		w.strong(readOnlyTitle)
		w.say(" — " + readOnlyWhy + "\n")
		for _, f := range failingGuards(w.m, entries, guards) {
			w.failed(f)
		}
		if !w.f.plain {
			w.raw(">")
		}
		w.raw("\n")
		w.quote()
		w.raw(readOnlyStop + "\n")
		w.quote()
		w.raw("To check again: `" + verifyCommand(w.m.Target) + "`\n")
	})
}

// namedSources bounds how many of the texts that one failing guard stands for the
// banner names; each has its own callout.
const namedSources = 5

// failed writes one guard of the banner.
func (w *writer) failed(f *failingGuard) {
	w.quote()
	w.raw("- ")
	w.failure(f.shownGuard)
	if sources := f.sources.list; len(sources) > 0 {
		w.raw(" (")
		for i, s := range sources[:min(len(sources), namedSources)] {
			if i > 0 {
				w.raw(", ")
			}
			w.name(s)
		}
		if more := len(sources) - namedSources; more > 0 {
			w.raw(" and " + strconv.Itoa(more) + " more")
		}
		w.owners(f.owners.list)
		w.raw(")")
	}
	w.overridden(f.run)
	w.raw("\n")
}

// delivered names what this session already has, what changed since, and what is gone
// (D-62, D-115).
func (w *writer) delivered() {
	d := w.m.Delta
	if d == nil || len(d.Skipped)+len(d.Changed)+len(d.Withdrawn)+len(d.Elsewhere) == 0 {
		return
	}
	w.section(section{tag: "delivered"}, func() {
		if d.Elsewhere != "" {
			w.raw("This target lies in another workspace, ")
			w.name(d.Elsewhere)
			w.raw(". Nothing that other maps of this session said belongs to it, nor the other way round.\n")
		}
		if len(d.Skipped) > 0 {
			w.raw("Already delivered in this session: ")
			w.keys(d.Skipped)
			recovery := deltaRecovery
			if d.Shell {
				recovery = deltaRecoveryShell
			}
			w.say(". " + recovery + "\n")
			for i := range d.LeftOut {
				w.leftOut(&d.LeftOut[i])
			}
			if len(d.LeftOut) > 0 && len(d.Changed)+len(d.Withdrawn) > 0 {
				w.raw("\n")
			}
		}
		if len(d.Changed) > 0 {
			w.raw("Changed since it was delivered, and complete below: ")
			w.keys(d.Changed)
			w.raw(".\n")
		}
		if len(d.Withdrawn) > 0 {
			w.raw("Withdrawn since it was delivered, so do not follow it any more: ")
			for i, e := range d.Withdrawn {
				if i > 0 {
					w.raw(", ")
				}
				w.name(e.Key)
				if e.Source != e.Key {
					w.raw(" (")
					w.name(e.Source)
					w.raw(")")
				}
			}
			w.raw(".\n")
		}
	})
}

// keys writes entries' keys with their layers.
func (w *writer) keys(keys []string) {
	for i, key := range keys {
		if i > 0 {
			w.raw(", ")
		}
		if layer, ok := layerOfKey(w.m, key); ok {
			w.raw(ir.LayerName(layer) + " (")
			w.name(key)
			w.raw(")")
		} else {
			w.name(key)
		}
	}
}

// shownDigits is how much of a digest tells two texts apart.
const shownDigits = len("blake3:") + 12

// leftOut writes what is known of one entry that is not repeated.
func (w *writer) leftOut(l *ir.LeftOut) {
	w.raw("- ")
	if strings.HasPrefix(l.Key, l.Source) {
		w.name(l.Key)
	} else {
		w.name(l.Source)
	}
	w.raw(": " + strconv.Itoa(l.Tokens) + " tokens, ")
	w.raw(l.Hash[:min(len(l.Hash), shownDigits)] + ", came with ")
	w.name(l.Call)
	w.raw("\n")
}

// layerOfKey finds the layer of a skipped entry, in the trace where the whole map is not
// at hand: the entry itself may be gone from a delta.
func layerOfKey(m *ir.Map, key string) (layer int, ok bool) {
	if whole := m.Delta.Whole; whole != nil {
		for _, e := range whole.All() {
			if e.ID == key {
				return e.Layer, true
			}
		}
	}
	for i := range m.Trace {
		r := &m.Trace[i]
		if r.Status != ir.Included || r.Layer == nil {
			continue
		}
		same := r.Source == key
		if key == "." {
			same = r.Source == m.Anchors.Workspace
		} else if dir, ok := place(r.Source); ok && dir == key {
			same = same || strings.HasPrefix(path.Base(r.Source), ".mwp-context.")
		}
		if same {
			return *r.Layer, true
		}
	}
	return 0, false
}

// budget reports caps that are exceeded and entries that a cap removed, so that
// nothing is missing in silence (D-38).
func (w *writer) budget() {
	over := 0
	for i := range w.m.Warnings {
		if isOverrun(&w.m.Warnings[i]) {
			over++
		}
	}
	dropped := 0
	for i := range w.m.Trace {
		if w.m.Trace[i].Status == ir.DroppedByBudget {
			dropped++
		}
	}
	if over+dropped == 0 {
		return
	}
	w.section(section{tag: "budget"}, func() {
		if over > 0 {
			w.quote()
			w.say("⚠️ Over budget: ")
			n := 0
			for i := range w.m.Warnings {
				if d := &w.m.Warnings[i]; isOverrun(d) {
					if n++; n > 1 {
						w.raw("; ")
					}
					w.clean(ir.EscapeControls(strings.TrimSuffix(d.Message, ".")))
				}
			}
			if dropped == 0 {
				w.raw(". Nothing was left out because of it.\n")
			} else {
				w.raw(".\n")
			}
		}
		for i := range w.m.Trace {
			if r := &w.m.Trace[i]; r.Status == ir.DroppedByBudget {
				w.quote()
				w.say("⚠️ Left out to keep the budget: ")
				w.name(r.Source)
				w.raw(" (")
				if r.Layer != nil {
					w.raw(ir.LayerName(*r.Layer) + ", ")
				}
				w.raw(strconv.Itoa(r.Tokens) + " tokens)\n")
			}
		}
	})
}

// namedUnresolved bounds how many missing imports the text names.
const namedUnresolved = 10

// unresolved says which imports did not come: whoever reads the text alone would
// not know that rules are missing from it (D-110).
func (w *writer) unresolved() {
	var missing []*ir.TraceRecord
	for i := range w.m.Trace {
		if r := &w.m.Trace[i]; r.Status == ir.Unresolved || r.Status == ir.Failed {
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		return
	}
	w.section(section{tag: "missing"}, func() {
		w.quote()
		w.say("⚠️ Imported but not in this map: ")
		for i, r := range missing[:min(len(missing), namedUnresolved)] {
			if i > 0 {
				w.raw(", ")
			}
			w.name(r.Source)
			if r.Declared != "" {
				w.raw(" (")
				w.name(r.Declared)
				w.raw(")")
			}
		}
		if more := len(missing) - namedUnresolved; more > 0 {
			w.raw(" and " + strconv.Itoa(more) + " more")
		}
		w.raw(".\n")
	})
}

func isOverrun(d *ir.Diagnostic) bool {
	return d.Severity == ir.SeverityError && (d.Code == ir.BudgetOverrun || d.Code == ir.MaxTokensOverrun)
}

// tokens states the count and, where the model's tokenizer differs, what it
// comes to there (D-39).
func (w *writer) tokens() {
	if !w.f.estimates || !scalable(w.m.TokenCounter) {
		return
	}
	w.section(section{tag: "tokens"}, func() {
		w.raw("Tokens in the layers: " + strconv.Itoa(w.m.Totals.All) + " by ")
		w.name(w.m.TokenCounter)
		w.raw(", about " + strconv.Itoa(Estimate(w.f.model, w.m.Totals.All)) + " for " + w.f.model + ".\n")
	})
}

// entry writes one body with its heading, its origin and its guards (D-59). A
// map has no entry without body and guards (D-99).
func (w *writer) entry(e *ir.Entry, title string, guards []shownGuard) {
	w.section(section{tag: "layer", title: title, entry: e}, func() {
		if w.o.Annotate {
			w.annotation(e)
		}
		if e.Origin != nil {
			w.origin(e.Origin)
		}
		called := w.callouts(e, guards)
		if called && e.BodyMarkdown != "" {
			w.raw("\n")
		}
		w.body(e.BodyMarkdown)
		// Without a blank line a guard line would continue the last item of a list.
		if quiet(guards) && (called || e.BodyMarkdown != "") {
			w.gap()
		}
		w.guardLines(guards)
	})
}

// body writes the author's text as it is and records where it stands. A body
// normally ends with one newline (D-27); one is added where it does not.
func (w *writer) body(body string) {
	fence := ""
	if w.f.fence != nil && body != "" {
		fence = w.f.fence(body)
		w.raw(fence + "\n")
	}
	start := len(w.buf)
	w.raw(body)
	w.ranges = append(w.ranges, [2]int{start, len(w.buf)})
	if body != "" && body[len(body)-1] != '\n' {
		w.raw("\n")
	}
	if fence != "" {
		w.raw(fence + "\n")
	}
}

// annotation says where a body comes from, for readers of --annotate (D-59).
func (w *writer) annotation(e *ir.Entry) {
	w.raw("<!-- source: ")
	w.buf = appendName(w.buf, e.Source, true)
	w.raw(" | priority: " + strconv.Itoa(e.Priority) + " | tokens: " + strconv.Itoa(e.Tokens))
	for i, s := range e.ImportsChain {
		if i == 0 {
			w.raw(" | imported by: ")
		} else {
			w.raw(", ")
		}
		w.buf = appendName(w.buf, s, true)
	}
	w.raw(" -->\n\n")
}

// origin marks text that comes from someone else's repository (D-59).
func (w *writer) origin(o *ir.Origin) {
	w.raw("From module ")
	w.name(o.Module)
	if v := o.Version; v != "" {
		w.raw(" ")
		w.name(v)
	} else if o.Ref != "" {
		w.raw(" ")
		w.name(o.Ref)
	}
	if sha := o.SHA; sha != "" {
		w.raw(" (")
		w.name(sha[:min(7, len(sha))])
		w.raw(")")
	}
	w.raw("\n\n")
}

// lists writes what the map names and does not open (D-11, D-21, D-55, D-94).
func (w *writer) lists() {
	if ds := w.m.Directories; len(ds) > 0 {
		w.section(section{tag: "directories", title: "Directories"}, func() {
			for i := range ds {
				w.place(ds[i].Path, ds[i].Name, ds[i].Role)
			}
		})
	}
	if subs := w.m.SubApplications; len(subs) > 0 {
		w.section(section{tag: "sub_applications", title: "Sub-applications"}, func() {
			for i := range subs {
				w.place(subs[i].Path, subs[i].Name, subs[i].Role)
				w.excerpt(subs[i].Excerpt)
			}
		})
	}
	w.files("active_intents", "Active intents", w.m.Intents)
	w.files("pipelines", "Pipelines", w.m.Pipelines)
	w.files("project_notes", "Project notes", w.m.Notes)
	w.signals()
}

// signals names what was found by name, and says so: no rule of the project stands
// behind it (D-83).
func (w *writer) signals() {
	if len(w.m.Signals) == 0 {
		return
	}
	w.section(section{tag: "signals", title: "Signals"}, func() {
		w.raw("Found by their names alone; nobody wrote this list, and none of the files was opened.\n\n")
		for i := range w.m.Signals {
			w.raw("- " + w.m.Signals[i].Kind + ": ")
			w.name(w.m.Signals[i].Path)
			w.raw("\n")
		}
	})
}

func (w *writer) place(dir, name, role string) {
	w.raw("- ")
	w.name(strings.TrimSuffix(dir, "/"))
	w.raw("/")
	if name != "" && name != path.Base(dir) {
		w.raw(" (")
		w.name(name)
		w.raw(")")
	}
	if role != "" {
		w.say(" — ")
		w.name(role)
	}
	w.raw("\n")
}

// excerpt quotes the little that is read of a sub-application's own file, marked
// as such (N-05).
func (w *writer) excerpt(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	w.raw("  > Excerpt:\n")
	for line := range strings.SplitSeq(text, "\n") {
		w.raw("  >")
		if line != "" {
			w.raw(" ")
			w.name(line)
		}
		w.raw("\n")
	}
}

func (w *writer) files(tag, title string, files []ir.Listed) {
	if len(files) == 0 {
		return
	}
	w.section(section{tag: tag, title: title}, func() {
		for i := range files {
			w.raw("- ")
			w.name(files[i].Path)
			if mod := files[i].Module; mod != "" {
				w.raw(" (module ")
				w.name(mod)
				w.raw(")")
			}
			w.raw("\n")
		}
	})
}

// section writes s between what the frame puts around it, one blank line after
// the section before.
func (w *writer) section(s section, content func()) {
	w.gap()
	w.open(s)
	content()
	w.close(s)
}

// gap makes the next text start after exactly one blank line, or after more
// where a body brought them.
func (w *writer) gap() {
	n := len(w.buf)
	if n >= 2 && w.buf[n-1] == '\n' && w.buf[n-2] != '\n' {
		w.raw("\n")
	}
}

// raw appends text that needs no treatment.
func (w *writer) raw(s string) { w.buf = append(w.buf, s...) }

var asciiReplacer = strings.NewReplacer("✓", "[passed]", "⚠️", "[warning]", "⛔", "[stop]", "—", "-")

// say appends the renderer's own words, which may hold glyphs.
func (w *writer) say(s string) {
	if w.o.ASCII {
		s = asciiReplacer.Replace(s)
	}
	w.raw(s)
}

// quote begins a line that a Markdown reader shows apart from the author's text.
func (w *writer) quote() {
	if !w.f.plain {
		w.raw("> ")
	}
}

func (w *writer) strong(s string) {
	if w.f.plain {
		w.raw(s)
		return
	}
	w.raw("**" + s + "**")
}

// name appends a name or another text from the workspace, encoded for a line of
// this frame (D-105).
func (w *writer) name(s string) {
	if w.f.tagged && strings.IndexByte(s, '<') >= 0 {
		w.clean(string(appendName(nil, s, false)))
		return
	}
	w.buf = appendName(w.buf, s, false)
}

// clean appends a text without control characters; in a tagged frame nothing in
// it may begin a tag.
func (w *writer) clean(s string) {
	if w.f.tagged {
		s = strings.ReplaceAll(s, "<", "&lt;")
	}
	w.raw(s)
}
