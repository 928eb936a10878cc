package page

import (
	"path"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// contexts is the tree of directories with context of their own. It opens and closes
// without a script; the script adds arrow keys and a filter.
func (w *writer) contexts(r *Report) {
	w.section(2, "Every directory with context of its own, the files that it adds, and what a map of it carries in all.")
	if len(r.Dirs) == 0 {
		if r.unknown() {
			w.raw("<p>Which directories have context is not known: the findings say what is in the way.</p>\n</section>\n")
			return
		}
		w.raw("<p>No directory has context. <code>mwp init</code> writes a first file.</p>\n</section>\n")
		return
	}
	w.raw("<div class=\"bar-tools\" id=\"tree-tools\" hidden><label>Filter <input type=\"search\" id=\"filter\" autocomplete=\"off\" spellcheck=\"false\"></label> <button type=\"button\" class=\"quiet\" id=\"open-all\">Open all</button> <button type=\"button\" class=\"quiet\" id=\"close-all\">Close all</button> <span id=\"filtered\" role=\"status\"></span></div>\n")
	w.raw("<div class=\"tree\" id=\"tree\">\n<p class=\"tree-head\" aria-hidden=\"true\"><span>Directory or file</span><span>Layer</span><span>Adds</span><span>In its map</span><span>Owners</span></p>\n")
	t := tree{w: w, r: r, children: make([][]int, len(r.Dirs))}
	t.embedded = map[string]int{}
	for i := range r.Targets {
		t.embedded[r.Targets[i].Path] = i
	}
	t.refused = map[string]ir.Code{}
	for _, d := range r.Refused {
		t.refused[d.Path] = d.Code
	}
	var roots []int
	for i := range r.Dirs {
		t.widest = max(t.widest, r.Dirs[i].Row.All)
		if up := r.Dirs[i].Parent; up >= 0 {
			t.children[up] = append(t.children[up], i)
		} else {
			roots = append(roots, i)
		}
	}
	t.list(roots, "")
	w.raw("</div>\n")
	w.leftOutDirs(r)
	w.raw("</section>\n")
}

func (w *writer) leftOutDirs(r *Report) {
	hidden := 0
	for i := range r.Dirs {
		hidden += r.Dirs[i].Hidden
	}
	if hidden > 0 {
		w.more(counted(hidden, "directory")+" with context further down not shown.", "mwp targets", "", "")
	}
	if r.Loose > 0 {
		w.more(counted(r.Loose, "directory")+" with context outside of this tree.", "mwp targets", "", "")
	}
}

// tree writes the directories below each other.
type tree struct {
	w        *writer
	r        *Report
	children [][]int
	embedded map[string]int // by target
	refused  map[string]ir.Code
	widest   int
}

func (t *tree) list(dirs []int, above string) {
	t.w.raw("<ul>\n")
	for _, i := range dirs {
		t.dir(i, above)
	}
	t.w.raw("</ul>\n")
}

func (t *tree) dir(i int, above string) {
	w, d := t.w, &t.r.Dirs[i]
	// A large tree opens at its top: a reader looks for one place in it.
	open := " open"
	if len(t.r.Dirs) > 40 && depth(d.Row.Path) > 0 {
		open = ""
	}
	if d.Row.Path == "." {
		open += ` data-root=""`
	}
	w.raw("<li><details").raw(open).raw("><summary><span class=\"what\">").path(shortened(d.Row.Path, above)).raw("</span>")
	if code, no := t.refused[d.Row.Path]; no {
		w.raw("<span class=\"none\">").state("bad", "✕", "no map: "+string(code)).raw("</span>")
	} else {
		w.weight(d, t.widest)
	}
	w.raw("</summary>\n<ul>\n")
	t.files(d)
	t.notes(d)
	w.raw("</ul>\n")
	if len(t.children[i]) > 0 {
		t.list(t.children[i], d.Row.Path)
	}
	w.raw("</details></li>\n")
}

// weight writes what a directory adds and what its map carries.
func (w *writer) weight(d *Dir, widest int) {
	w.raw("<span class=\"layer\">").chip(d.Row.Layer).raw("</span><span class=\"num\">").number(d.tokens()).raw("<i> added</i></span>")
	w.raw("<span class=\"map\">").share(&d.Row, widest).raw(" <span class=\"num\">").number(d.Row.All).raw("<i> in its map</i></span>")
	if _, room, ok := d.Row.Headroom(); ok && room < 0 {
		w.raw(" ").state("bad", "✕", "over a cap")
	}
	w.raw("</span>")
}

// share draws the size of a map by layer, against the largest of the page.
func (w *writer) share(row *ir.TargetRow, widest int) *writer {
	w.raw(`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">`)
	spent := 0
	for layer, n := range row.Tokens {
		from, to := spent*100/max(widest, 1), (spent+n)*100/max(widest, 1)
		if n > 0 {
			w.raw(`<rect class="b`).int(layer).raw(`" x="`).int(from).raw(`" width="`).int(max(to-from, 1)).raw(`" height="8"/>`)
		}
		spent += n
	}
	return w.raw("</svg>")
}

func (t *tree) files(d *Dir) {
	w := t.w
	for i := range d.Own[:min(len(d.Own), maxOwn)] {
		s := &d.Own[i]
		w.raw("<li class=\"file\"><span class=\"what\">").file(s.Path, s.Section, d.Row.Path)
		if s.Imported {
			w.raw(" <i>imported</i>")
		}
		if s.Status != ir.Included {
			w.raw(" ").state("note", "∅", outcomeWords(s.Status))
			if s.Tokens > 0 {
				w.raw(" <i>(").raw(counted(s.Tokens, "token")).raw(")</i>")
			}
		} else if s.CountedIn != "" {
			w.raw(" <i>· ").raw(counted(s.Tokens, "token")).raw(", counted in ").path(shortened(s.CountedIn, "")).raw("</i>")
		}
		w.raw("</span><span class=\"layer\">").chip(s.Layer).raw("</span><span class=\"num\">").number(s.weight()).raw("<i> tokens</i></span><span class=\"map\"></span><span class=\"who\">").list(s.Owners).raw("</span></li>\n")
	}
	if n := len(d.Own) - maxOwn; n > 0 {
		tokens := 0
		for i := range d.Own[maxOwn:] {
			s := &d.Own[maxOwn+i]
			tokens += s.weight()
		}
		w.raw("<li class=\"file\">")
		w.more(counted(n, "further file")+" with "+counted(tokens, "token")+" not shown.", "mwp explain", d.Row.Path, "")
		w.raw("</li>\n")
	}
}

func (t *tree) notes(d *Dir) {
	w := t.w
	t.heirs(d)
	if d.Hidden > 0 {
		w.raw("<li class=\"aside\">")
		w.more(counted(d.Hidden, "directory")+" with context below it not shown.", "mwp targets", d.Row.Path, "")
		w.raw("</li>\n")
	}
}

// heirs names who else has the directory's context, leads to its map and counts the
// guards there.
func (t *tree) heirs(d *Dir) {
	w := t.w
	target := d.Row.Path
	if target == "." {
		target = ""
	}
	i, ok := t.embedded[target]
	if !ok && d.HeirCount == 0 && d.Row.Guards == 0 {
		return
	}
	w.raw("<li class=\"aside\">")
	between := ""
	if ok {
		see := "See its map"
		if t.refused[d.Row.Path] != "" {
			see = "See why"
		}
		w.raw("<a href=\"#map-").int(i).raw("\">").raw(see).raw("</a>")
		between = " · "
	}
	if d.Row.Guards > 0 {
		w.raw(between).raw(counted(d.Row.Guards, "guard")).raw(" in its map")
		between = " · "
	}
	if d.HeirCount > 0 {
		w.raw(between)
		names := make([]string, len(d.Heirs))
		for i, h := range d.Heirs {
			names[i] = shortened(h, d.Row.Path)
		}
		w.raw("inherited by ").raw(counted(d.HeirCount, "directory")).raw(" without context: ").list(names)
		if d.HeirCount > len(d.Heirs) {
			w.raw(", …")
		}
	}
	w.raw("</li>\n")
}

// shortened returns a path as seen from a directory above it.
func shortened(p, dir string) string {
	if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
		return rest
	}
	if p == "." {
		return "(project root)"
	}
	return path.Clean(p)
}

// outcomeWords returns an outcome as people say it.
func outcomeWords(status string) string { return strings.ReplaceAll(status, "_", " ") }
