package page

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// writer collects the page. raw is for text of ours; everything else goes through
// text, verbatim or json, which leave it no way out of where it stands.
type writer struct {
	b []byte
	// origins are the names of module files for people, by path.
	origins map[string]string
}

func (w *writer) raw(s string) *writer {
	w.b = append(w.b, s...)
	return w
}

// text writes a name or a sentence, also between quotes: what cannot be seen as
// mwp spells it everywhere, the end of what is very long as three dots.
func (w *writer) text(s string) *writer {
	if len(s) > maxCell {
		cut := maxCell
		for cut > maxCell-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	w.b = appendEscaped(w.b, ir.EscapeControls(s))
	return w
}

// path writes a path with places where a line may end.
func (w *writer) path(s string) *writer {
	from := len(w.b)
	w.text(s)
	if strings.Count(s, "/") < 2 {
		return w
	}
	written := string(w.b[from:])
	w.b = append(w.b[:from], strings.ReplaceAll(written, "/", "/<wbr>")...)
	return w
}

// verbatim writes a text of several lines.
func (w *writer) verbatim(s string) *writer {
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				w.b = append(w.b, '\t')
			}
			w.b = appendEscaped(w.b, ir.EscapeControls(part))
		}
		if ended {
			w.b = append(w.b, '\n')
		}
	}
	return w
}

// appendEscaped appends s so that it is text in an element and in a quoted attribute.
func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '&':
			b = append(b, "&amp;"...)
		case '<':
			b = append(b, "&lt;"...)
		case '>':
			b = append(b, "&gt;"...)
		case '"':
			b = append(b, "&#34;"...)
		case '\'':
			b = append(b, "&#39;"...)
		case '`':
			b = append(b, "&#96;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// json writes a string of the data. Nothing in it can end the script element: no
// angle bracket is left in it.
func (w *writer) json(s string) *writer {
	for _, c := range ir.AppendString(nil, s) {
		switch c {
		case '<', '>', '&', 0x7f:
			w.raw(`\u00`).raw(string("0123456789abcdef"[c>>4])).raw(string("0123456789abcdef"[c&15]))
		default:
			w.b = append(w.b, c)
		}
	}
	return w
}

func (w *writer) int(n int) *writer {
	w.b = strconv.AppendInt(w.b, int64(n), 10)
	return w
}

// number writes n for people: 12,345.
func (w *writer) number(n int) *writer { return w.raw(grouped(n)) }

func grouped(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// counted returns "1 guard" or "12 guards".
func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return grouped(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return grouped(n) + " " + noun + "s"
}

// command returns a command line about a target, for pasting, or ok false for a name
// that no quoting shows faithfully.
func command(before, target, after string) (line string, ok bool) {
	if target != "" {
		if ir.EscapeControls(target) != target || !utf8.ValidString(target) {
			return "", false
		}
		if target[0] == '-' {
			target = "./" + target
		}
		before += " " + ir.ShellWord(target)
	}
	return before + after, true
}

// more says what was left out and which command prints it.
func (w *writer) more(what, before, target, after string) {
	w.raw("<p class=\"cut\">").text(what)
	if line, ok := command(before, target, after); ok {
		w.raw(" For all of it: <code>").text(line).raw("</code>")
	}
	w.raw("</p>\n")
}

// chip writes a layer.
func (w *writer) chip(layer int) *writer {
	return w.raw(`<span class="chip l`).int(layer).raw(`" title="`).raw(layerNames[layer]).raw(`">L`).int(layer).raw("</span>")
}

var layerNames = [ir.LayerCount]string{"project identity", "module", "stage contract", "reference", "working artifact"}

// state writes a state as a sign and a word: the colour only repeats them.
func (w *writer) state(class, sign, word string) *writer {
	return w.raw(`<span class="state `).raw(class).raw(`"><span aria-hidden="true">`).raw(sign).raw("</span> ").text(word).raw("</span>")
}

func (w *writer) list(ss []string) *writer { return w.text(strings.Join(ss, ", ")) }

// table opens a table whose columns become lines on a narrow screen.
func (w *writer) table(caption string, heads ...string) {
	w.raw("<div class=\"scroll\"><table>\n<caption>").text(caption).raw("</caption>\n<thead><tr>")
	for _, h := range heads {
		if h, numeric := strings.CutPrefix(h, "#"); numeric {
			w.raw(`<th scope="col" class="num">`).raw(h).raw("</th>")
			continue
		}
		w.raw(`<th scope="col">`).raw(h).raw("</th>")
	}
	w.raw("</tr></thead>\n<tbody>\n")
}

func (w *writer) endTable() { w.raw("</tbody></table></div>\n") }

// cell opens a cell that names its column for narrow screens.
func (w *writer) cell(label string) *writer {
	if l, numeric := strings.CutPrefix(label, "#"); numeric {
		return w.raw(`<td class="num" data-label="`).raw(l).raw(`">`)
	}
	return w.raw(`<td data-label="`).raw(label).raw(`">`)
}

func (w *writer) end() *writer { return w.raw("</td>") }
