package ir

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Form selects what AppendJSON leaves out.
type Form int

const (
	// FullForm is what people and scripts read. Root is printed when it is set.
	FullForm Form = iota
	// HashedForm is the text that ir_hash digests: without root, delta, ir_hash
	// and the times of verifications (appendix C).
	HashedForm
)

// AppendJSON appends m as JSON in the IR's fixed order, indented by two spaces,
// without HTML escaping and with a final newline (D-57). The text is what
// encoding/json would print for the same value (a test compares them), but for
// escapes of characters that cannot be seen; it is
// written by hand because reflection over a map costs more in a fresh process
// than computing it.
func AppendJSON(dst []byte, m *Map, form Form) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	w.field("schema_version").str(m.SchemaVersion)
	w.field("kind").str(m.Kind)
	if w.field("target"); m.Target == nil {
		w.raw("null")
	} else {
		w.str(*m.Target)
	}
	if form == FullForm && m.Root != "" {
		w.field("root").str(m.Root)
	}
	w.field("anchors").open('{')
	w.field("workspace").str(m.Anchors.Workspace)
	w.field("project").str(m.Anchors.Project)
	w.close('}')
	w.field("read_only").bool(m.ReadOnly)
	w.field("layers").open('{')
	for i := range LayerCount {
		list(w.field("l"+strconv.Itoa(i)), *m.Layers.At(i), (*jsonWriter).entry)
	}
	w.close('}')
	list(w.field("directories"), m.Directories, func(w *jsonWriter, d *Directory) {
		w.open('{')
		w.field("name").str(d.Name)
		w.field("path").str(d.Path)
		w.field("role").str(d.Role)
		w.field("reason").str(d.Reason)
		w.close('}')
	})
	list(w.field("sub_applications"), m.SubApplications, func(w *jsonWriter, s *SubApplication) {
		w.open('{')
		w.field("name").str(s.Name)
		w.field("path").str(s.Path)
		w.field("role").str(s.Role)
		w.field("reason").str(s.Reason)
		w.field("excerpt").str(s.Excerpt)
		w.close('}')
	})
	list(w.field("intents"), m.Intents, (*jsonWriter).listed)
	list(w.field("pipelines"), m.Pipelines, (*jsonWriter).listed)
	list(w.field("notes"), m.Notes, (*jsonWriter).listed)
	list(w.field("modules"), m.Modules, func(w *jsonWriter, m *Module) {
		w.open('{')
		w.field("name").str(m.Name)
		w.field("version").str(m.Version)
		w.field("description").str(m.Description)
		w.field("source").str(m.Source)
		w.field("url").str(m.URL)
		w.field("ref").str(m.Ref)
		w.field("sha").str(m.SHA)
		w.close('}')
	})
	if m.Signals != nil {
		list(w.field("signals"), m.Signals, func(w *jsonWriter, s *Signal) {
			w.open('{')
			w.field("kind").str(s.Kind)
			w.field("path").str(s.Path)
			w.field("rule").str(s.Rule)
			w.close('}')
		})
	}
	w.field("budgets").open('{')
	for i := range LayerCount {
		w.field("l" + strconv.Itoa(i)).optionalInt(*m.Budgets.At(i))
	}
	w.close('}')
	w.field("token_counter").str(m.TokenCounter)
	w.field("totals").open('{')
	for i := range LayerCount {
		w.field("l" + strconv.Itoa(i)).int(int64(*m.Totals.At(i)))
	}
	w.field("all").int(int64(m.Totals.All))
	w.field("rendered_tokens").int(int64(m.Totals.RenderedTokens))
	w.close('}')
	list(w.field("verifications"), m.Verifications, func(w *jsonWriter, v *Verification) {
		w.open('{')
		w.verification(v, form)
		w.close('}')
	})
	list(w.field("trace"), m.Trace, (*jsonWriter).traceRecord)
	list(w.field("warnings"), m.Warnings, (*jsonWriter).diagnostic)
	if form == FullForm {
		if w.field("delta"); m.Delta == nil {
			w.raw("null")
		} else {
			d := m.Delta
			w.open('{')
			w.field("session").str(d.Session)
			w.field("mode").str(d.Mode)
			w.field("reason").str(d.Reason)
			w.field("sent").strings(d.Sent)
			w.field("skipped").strings(d.Skipped)
			w.field("changed").strings(d.Changed)
			list(w.field("left_out"), d.LeftOut, func(w *jsonWriter, l *LeftOut) {
				w.open('{')
				w.field("key").str(l.Key)
				w.field("source").str(l.Source)
				w.field("layer").int(int64(l.Layer))
				w.field("tokens").int(int64(l.Tokens))
				w.field("hash").str(l.Hash)
				w.field("call").str(l.Call)
				w.close('}')
			})
			list(w.field("withdrawn"), d.Withdrawn, func(w *jsonWriter, l *Withdrawn) {
				w.open('{')
				w.field("key").str(l.Key)
				w.field("source").str(l.Source)
				w.close('}')
			})
			w.field("elsewhere").str(d.Elsewhere)
			w.close('}')
		}
		w.field("ir_hash").str(m.IRHash)
	}
	w.close('}')
	return append(w.buf, '\n')
}

// AppendTraceJSON appends {"target": …, "trace": […], "guards": […]}, what
// `mwp explain --json` and the MCP tool explain_context print (D-56). A guard has the
// fields that it has in the map's verifications, then those of its account; of guards
// without an account nothing is said.
func AppendTraceJSON(dst []byte, m *Map, guards []GuardAccount) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	if w.field("target"); m.Target == nil {
		w.raw("null")
	} else {
		w.str(*m.Target)
	}
	list(w.field("trace"), m.Trace, (*jsonWriter).traceRecord)
	type accounted struct {
		*Verification
		*GuardAccount
	}
	var all []accounted
	for i := range guards {
		for j := range m.Verifications {
			if v := &m.Verifications[j]; v.Key == guards[i].Key {
				all = append(all, accounted{v, &guards[i]})
			}
		}
	}
	list(w.field("guards"), all, func(w *jsonWriter, a *accounted) {
		w.open('{')
		w.verification(a.Verification, FullForm)
		w.account(a.GuardAccount)
		w.close('}')
	})
	w.close('}')
	return append(w.buf, '\n')
}

func (w *jsonWriter) account(a *GuardAccount) {
	w.field("trust").str(a.Trust)
	w.field("trust_reason").str(a.Why)
	w.field("runs").str(a.Runs)
	w.field("declared").strings(a.Declared)
	w.field("inputs").strings(a.Inputs)
	w.field("all_sources").bool(a.Whole)
	w.field("cache_for").str(a.CacheFor)
	w.field("timeout").str(a.Timeout)
	w.field("owners").strings(a.Owners)
}

// AppendDiagnosticJSON appends d as one JSON object with a final newline, the
// shape errors take on stderr when JSON was asked for (U-03).
func AppendDiagnosticJSON(dst []byte, d *Diagnostic) []byte {
	w := jsonWriter{buf: dst}
	w.diagnostic(d)
	return append(w.buf, '\n')
}

// AppendString appends s as a JSON string, with the rules of AppendJSON.
func AppendString(dst []byte, s string) []byte {
	w := jsonWriter{buf: dst}
	w.str(s)
	return w.buf
}

type jsonWriter struct {
	buf   []byte
	depth int
	// started is true once the open bracket has a child, so that the next one is
	// preceded by a comma.
	started bool
}

func (w *jsonWriter) raw(s string) { w.buf = append(w.buf, s...) }

func (w *jsonWriter) line() {
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, ' ', ' ')
	}
}

func (w *jsonWriter) open(c byte) {
	w.buf = append(w.buf, c)
	w.depth++
	w.started = false
}

func (w *jsonWriter) close(c byte) {
	w.depth--
	if w.started {
		w.line()
	}
	w.buf = append(w.buf, c)
	w.started = true
}

func (w *jsonWriter) item() {
	if w.started {
		w.buf = append(w.buf, ',')
	}
	w.line()
	w.started = true
}

func (w *jsonWriter) field(name string) *jsonWriter {
	w.item()
	w.str(name)
	w.raw(": ")
	return w
}

func (w *jsonWriter) int(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

func (w *jsonWriter) bool(b bool) { w.buf = strconv.AppendBool(w.buf, b) }

func (w *jsonWriter) optionalInt(p *int) {
	if p == nil {
		w.raw("null")
		return
	}
	w.int(int64(*p))
}

func (w *jsonWriter) strings(ss []string) {
	list(w, ss, func(w *jsonWriter, s *string) { w.str(*s) })
}

func list[T any](w *jsonWriter, items []T, each func(*jsonWriter, *T)) {
	w.open('[')
	for i := range items {
		w.item()
		each(w, &items[i])
		w.started = true
	}
	w.close(']')
}

func (w *jsonWriter) entry(e *Entry) {
	w.open('{')
	w.field("id").str(e.ID)
	w.field("source").str(e.Source)
	w.field("name").str(e.Name)
	w.field("layer").int(int64(e.Layer))
	w.field("priority").int(int64(e.Priority))
	w.field("tokens").int(int64(e.Tokens))
	w.field("scope").str(e.Scope)
	w.field("imports_chain").strings(e.ImportsChain)
	w.field("section").str(e.Section)
	w.field("body_markdown").str(e.BodyMarkdown)
	if w.field("guard_status"); e.GuardStatus == nil {
		w.raw("null")
	} else {
		w.str(*e.GuardStatus)
	}
	w.field("owners").strings(e.Owners)
	if w.field("origin"); e.Origin == nil {
		w.raw("null")
	} else {
		w.open('{')
		w.field("module").str(e.Origin.Module)
		w.field("version").str(e.Origin.Version)
		w.field("url").str(e.Origin.URL)
		w.field("ref").str(e.Origin.Ref)
		w.field("sha").str(e.Origin.SHA)
		w.field("path").str(e.Origin.Path)
		w.close('}')
	}
	list(w.field("guards"), e.Guards, func(w *jsonWriter, g *Guard) {
		w.open('{')
		w.field("key").str(g.Key)
		w.field("name").str(g.Name)
		w.field("cmd").str(g.Cmd)
		w.field("status").str(g.Status)
		w.close('}')
	})
	w.close('}')
}

// verification writes the fields of one; what depends on when it ran is no part of
// the hashed form.
func (w *jsonWriter) verification(v *Verification, form Form) {
	w.field("guard").str(v.Guard)
	w.field("status").str(v.Status)
	w.field("exit_code").optionalInt(v.ExitCode)
	if form == FullForm {
		w.field("duration_ms").int(v.DurationMS)
		w.field("ran_at").str(v.RanAt)
		w.field("cache_until").str(v.CacheUntil)
	}
	w.field("fingerprint").str(v.Fingerprint)
	w.field("key").str(v.Key)
	w.field("cwd").str(v.Cwd)
	w.field("declared_in").str(v.DeclaredIn)
	w.field("name").str(v.Name)
	w.field("reason").str(v.Reason)
	w.field("expired").bool(v.Expired)
	w.field("files_changed").bool(v.FilesChanged)
	if w.field("override"); v.Override == nil {
		w.raw("null")
		return
	}
	w.open('{')
	w.field("reason").str(v.Override.Reason)
	if form == FullForm {
		w.field("until").str(v.Override.Until)
	}
	w.close('}')
}

func (w *jsonWriter) listed(l *Listed) {
	w.open('{')
	w.field("path").str(l.Path)
	if l.Module != "" {
		w.field("module").str(l.Module)
	}
	w.close('}')
}

func (w *jsonWriter) traceRecord(r *TraceRecord) {
	w.open('{')
	w.field("source").str(r.Source)
	w.field("source_path").str(r.SourcePath)
	w.field("layer").optionalInt(r.Layer)
	w.field("priority").optionalInt(r.Priority)
	w.field("reason").str(r.Reason)
	w.field("rule").str(r.Rule)
	w.field("imports_chain").strings(r.ImportsChain)
	w.field("tokens").int(int64(r.Tokens))
	w.field("status").str(r.Status)
	if w.field("byte_range_in_output"); r.ByteRange == nil {
		w.raw("null")
	} else {
		list(w, r.ByteRange[:], func(w *jsonWriter, n *int) { w.int(int64(*n)) })
	}
	if r.DeduplicatedBy != "" {
		w.field("deduplicated_by").str(r.DeduplicatedBy)
	}
	if r.Declared != "" {
		w.field("declared").str(r.Declared)
	}
	if r.Digest != "" {
		w.field("digest").str(r.Digest)
	}
	w.field("owners").strings(r.Owners)
	w.close('}')
}

func (w *jsonWriter) diagnostic(d *Diagnostic) {
	w.open('{')
	w.field("code").str(string(d.Code))
	w.field("severity").str(d.Severity)
	w.field("message").str(d.Message)
	if d.Source != "" {
		w.field("source").str(d.Source)
	}
	if d.Line != 0 {
		w.field("line").int(int64(d.Line))
	}
	if d.Column != 0 {
		w.field("column").int(int64(d.Column))
	}
	if d.Hint != "" {
		w.field("hint").str(d.Hint)
	}
	w.close('}')
}

// appendEscaped writes a character as one or two \uXXXX.
func appendEscaped(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	for _, u := range utf16.AppendRune(nil, r) {
		b = append(b, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	return b
}

// str writes a JSON string with encoding/json's rules, HTML escaping off: invalid
// UTF-8 becomes U+FFFD. Characters that cannot be seen are escaped, which means
// the same to a reader and nothing to a terminal.
func (w *jsonWriter) str(s string) {
	const hex = "0123456789abcdef"
	b := append(w.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, `\ufffd`...)
			i++
			start = i
			continue
		}
		if Hidden(r) {
			b = append(b, s[start:i]...)
			b = appendEscaped(b, r)
			i += size
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	w.buf = append(b, '"')
}
