package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Graph is the provenance of one result as plain values: what Mermaid and DOT
// draw. Nodes come dependencies first, and the last one is the result.
type Graph struct {
	// Target is what the result is about, "" or "." for an orientation map.
	Target string
	Nodes  []GraphNode
}

// GraphNode is one step of a Graph.
type GraphNode struct {
	Kind string
	// Name is the path that tells the node from others of its kind, or what else
	// does: directory, target, digest. A name equal to Graph.Target is drawn at the
	// result only.
	Name string
	// Leaf is set for a fact about the world, Absent for one that says that there is
	// nothing of this name, Module for what belongs to a fetched module.
	Leaf, Absent, Module bool
	// Needs holds indexes of earlier nodes; an index that is none makes Mermaid and
	// DOT panic.
	Needs []int
}

// GraphOptions change what of a graph is drawn.
type GraphOptions struct {
	// All draws every node and every edge. Without it the leaves that only look at
	// names and the pure functions of bytes are left out, and an edge that follows
	// from others.
	All bool
}

// MaxGraphNodes is how many nodes Mermaid and DOT draw at most, legend not
// counted. Above it the leaves of one directory become one node, then other nodes
// do, then those of one kind, and the note in the picture says so.
const MaxGraphNodes = 200

// A page that shows Mermaid refuses a picture of more than 500 edges or 50,000
// characters, and a picture cannot raise either limit: both are settings that
// only the page may change.
const (
	maxMermaidEdges = 500
	maxMermaidBytes = 50_000
)

// Mermaid returns g as a Mermaid flowchart, the result on top and files at the
// bottom. Equal graphs give equal bytes, whatever the order of their nodes. Every
// name is escaped, so that it can neither end its label nor bring in markup,
// directives or links (D-105).
func Mermaid(g Graph, o GraphOptions) []byte {
	var text []byte
	draw(&g, o, rung{all: true}, func(p *picture) bool {
		text = p.mermaid()
		return p.edges() <= maxMermaidEdges && len(text) <= maxMermaidBytes
	})
	return text
}

// DOT returns g in the language of Graphviz, see Mermaid. With GraphOptions.All
// nothing is folded, however large the graph is: tools read it as well as people.
func DOT(g Graph, o GraphOptions) []byte {
	var text []byte
	draw(&g, o, rung{all: true, unlimited: true}, func(p *picture) bool {
		text = p.dot()
		return true
	})
	return text
}

// box is what one node, or several that were folded, are drawn as.
type box struct {
	kind, name string
	class      class
	count      int
	needs      []int
}

// picture is a graph as it will be drawn. Boxes come dependencies first until
// arrange sorts them.
type picture struct {
	target string
	boxes  []box
	result int
	notes  []string
}

// class says how a box is drawn.
type class uint8

const (
	resultClass class = iota
	computedClass
	moduleClass
	fileClass
	moduleFileClass
	absentClass
	lookClass
	classCount
)

// style is one line for each class: its name in Mermaid, the words of the
// legend, the brackets that make Mermaid's shape, and Graphviz's shape.
type style struct {
	name, legend      string
	open, close       string
	shape, dotStyle   string
	fill, stroke, ink string
}

var styles = [classCount]style{
	resultClass:     {"result", "the result", "{{", "}}", "hexagon", "filled,bold", "#fff3c4", "#b7791f", "#3d2a05"},
	computedClass:   {"computed", "computed", "([", "])", "box", "filled,rounded", "#e6f0ff", "#3b6fb6", "#10243e"},
	moduleClass:     {"module", "computed for a module", "[[", "]]", "component", "filled", "#efe6ff", "#7a4fc0", "#2a1650"},
	fileClass:       {"file", "file", "[", "]", "note", "filled", "#e8f5e9", "#3c8a45", "#11351a"},
	moduleFileClass: {"moduleFile", "file of a module", "[", "]", "note", "filled", "#efe6ff", "#7a4fc0", "#2a1650"},
	absentClass:     {"absent", "looked for and absent", "[", "]", "note", "filled,dashed", "#f5f5f5", "#8a8a8a", "#444444"},
	lookClass:       {"look", "names looked at", "[/", "/]", "parallelogram", "filled", "#f3f4f6", "#8a8f98", "#30343a"},
}

func (n *GraphNode) class() class {
	switch {
	case n.Leaf && n.Absent:
		return absentClass
	case n.Leaf && n.Kind != "file":
		return lookClass
	case n.Leaf && n.Module:
		return moduleFileClass
	case n.Leaf:
		return fileClass
	case n.Module:
		return moduleClass
	}
	return computedClass
}

func (c class) leaf() bool { return c >= fileClass }

// stages are the frames of the picture from the result down.
var stages = [...]string{"map", "budget", "resolution", "imports and modules", "headers", "files and directories"}

// stage returns an index of stages. A computed kind that is not named here is part
// of the resolution, as most are.
func (b *box) stage() int {
	if b.class.leaf() {
		return 5
	}
	switch b.kind {
	case "map", "rendered":
		return 0
	case "budget", "measure", "tokens":
		return 1
	case "imports", "closure", "lock-file", "pin", "module-tree":
		return 3
	case "parsed", "context", "sections":
		return 4
	}
	return 2
}

// plumbing is what a picture leaves out: leaves that see names only, and pure
// functions of bytes that are drawn already.
func (n *GraphNode) plumbing() bool {
	switch n.Kind {
	case "probe", "list", "link", "above", "parsed", "tokens":
		return true
	}
	return false
}

// draw makes pictures of g, each coarser than the one before, until one has at
// most MaxGraphNodes boxes and accept returns true, or there is no coarser one.
// whole is the first step for GraphOptions.All.
func draw(g *Graph, o GraphOptions, whole rung, accept func(*picture) bool) {
	full, ladder := newPicture(g, o), folding()
	if o.All {
		ladder = append([]rung{whole}, ladder...)
	}
	for i, r := range ladder {
		last := i == len(ladder)-1
		p := r.fold(full)
		if len(p.boxes) > MaxGraphNodes && !last && !r.unlimited {
			continue
		}
		if !r.all {
			p.reduce()
		}
		p.arrange()
		if accept(p) || last {
			return
		}
	}
}

// rung is one step of coarseness.
type rung struct {
	// all keeps every edge; unlimited accepts any number of boxes.
	all, unlimited bool
	// group returns what the boxes that become one have in common, nil for no
	// folding; note says so in the picture.
	group func(*box, int) any
	note  string
}

// folding returns the rungs, finest first; the first of them folds nothing. Boxes of one rank never lead
// to each other, so folding them makes no cycle.
func folding() []rung {
	type key struct {
		kind  string
		class class
		rank  int
		dir   string
	}
	rungs := []rung{{}, {
		note: "the files of one directory are one node",
		group: func(b *box, rank int) any {
			if !b.class.leaf() {
				return nil
			}
			return key{b.kind, b.class, rank, path.Dir(b.name)}
		},
	}}
	for _, depth := range []int{1 << 20, 4, 3, 2, 1, 0} {
		note := "nodes of one kind and directory are one"
		if depth < 1<<20 {
			note = fmt.Sprintf("nodes of one kind and directory are one, directories cut to depth %d", depth)
		}
		rungs = append(rungs, rung{note: note, group: func(b *box, rank int) any {
			return key{b.kind, b.class, rank, firstDirs(path.Dir(b.name), depth)}
		}})
	}
	return append(rungs, rung{
		note:  "nodes of one kind are one",
		group: func(b *box, _ int) any { return key{kind: b.kind} },
	})
}

// firstDirs returns the first n components of dir, "." for none.
func firstDirs(dir string, n int) string {
	end := 0
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if n == 0 {
			break
		}
		end, n = i, n-1
	}
	if end == 0 {
		return "."
	}
	return dir[:end]
}

// newPicture returns g with plumbing contracted: who needed it needs what it
// needed.
func newPicture(g *Graph, o GraphOptions) *picture {
	p := &picture{target: g.Target}
	through := make([][]int, len(g.Nodes))
	hidden := make(map[string]int)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var needs []int
		for _, j := range n.Needs {
			if j < 0 || j >= i {
				panic(fmt.Sprintf("render: node %d of a graph needs node %d", i, j))
			}
			needs = append(needs, through[j]...)
		}
		needs = distinct(needs)
		if !o.All && n.plumbing() && i < len(g.Nodes)-1 {
			through[i] = needs
			hidden[n.Kind]++
			continue
		}
		through[i] = []int{len(p.boxes)}
		p.result = len(p.boxes)
		p.boxes = append(p.boxes, box{kind: n.Kind, name: n.Name, class: n.class(), count: 1, needs: needs})
	}
	if len(p.boxes) > 0 {
		p.boxes[p.result].class = resultClass
	}
	p.notes = notes(g, len(p.boxes), hidden)
	return p
}

func notes(g *Graph, shown int, hidden map[string]int) []string {
	about := g.Target
	if about == "" || about == "." {
		about = "the workspace"
	}
	lines := []string{"map of " + shorten(ir.EscapeControls(about), labelRunes)}
	if len(g.Nodes) == 0 {
		return append(lines, "nothing is recorded")
	}
	if shown == len(g.Nodes) {
		return append(lines, fmt.Sprintf("%d nodes", shown))
	}
	kinds := make([]string, 0, len(hidden))
	for kind, n := range hidden {
		kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(kinds)
	return append(lines,
		fmt.Sprintf("%d of %d nodes", shown, len(g.Nodes)),
		"left out: "+strings.Join(kinds, ", "))
}

func distinct(s []int) []int {
	slices.Sort(s)
	return slices.Compact(s)
}

// ranks returns for each box the length of the longest way down from it.
func (p *picture) ranks() []int {
	ranks := make([]int, len(p.boxes))
	for i := range p.boxes {
		for _, j := range p.boxes[i].needs {
			ranks[i] = max(ranks[i], ranks[j]+1)
		}
	}
	return ranks
}

// fold returns a new picture in which the boxes of one group are one box. The
// result stays alone.
func (r *rung) fold(p *picture) *picture {
	q := &picture{target: p.target, notes: slices.Clone(p.notes)}
	ranks := p.ranks()
	groups := make(map[any]int)
	to := make([]int, len(p.boxes))
	for i := range p.boxes {
		b := p.boxes[i]
		var key any
		if r.group != nil && i != p.result {
			key = r.group(&b, ranks[i])
		}
		at, seen := groups[key]
		if key == nil || !seen {
			at = len(q.boxes)
			q.boxes = append(q.boxes, box{kind: b.kind, name: b.name, class: b.class})
			if key != nil {
				groups[key] = at
			}
		}
		to[i] = at
		q.boxes[at].absorb(&b, to[:i])
	}
	if len(p.boxes) > 0 {
		q.result = to[p.result]
	}
	if r.note != "" {
		q.notes = append(q.notes, r.note)
	}
	q.settle()
	return q
}

// absorb adds a box of the same group; to says where earlier boxes went.
func (b *box) absorb(o *box, to []int) {
	if b.count > 0 {
		b.name = commonDir(b.name, o.name, b.count == 1)
		if b.class != o.class {
			b.class = min(b.class, o.class)
		}
	}
	b.count += o.count
	for _, j := range o.needs {
		b.needs = append(b.needs, to[j])
	}
}

// commonDir returns the directory that a folded box, or a box's file when that is
// the first, has in common with another file.
func commonDir(dir, file string, first bool) string {
	if first {
		dir = path.Dir(dir)
	}
	for dir != "." && dir != "/" && !strings.HasPrefix(file, dir+"/") {
		dir = path.Dir(dir)
	}
	return dir
}

// settle removes doubled edges and those from a box to itself, and puts boxes in
// an order in which dependencies come first. Where folding by kind made a cycle
// the order is the given one.
func (p *picture) settle() {
	for i := range p.boxes {
		b := &p.boxes[i]
		b.needs = slices.DeleteFunc(distinct(b.needs), func(j int) bool { return j == i })
	}
	order, ok := p.topological()
	if !ok {
		return
	}
	p.permute(order)
}

// topological returns the indexes of the boxes, dependencies first; ok is false
// when there is a cycle.
func (p *picture) topological() (order []int, ok bool) {
	users := make([][]int, len(p.boxes))
	open := make([]int, len(p.boxes))
	for i := range p.boxes {
		open[i] = len(p.boxes[i].needs)
		for _, j := range p.boxes[i].needs {
			users[j] = append(users[j], i)
		}
		if open[i] == 0 {
			order = append(order, i)
		}
	}
	for next := 0; next < len(order); next++ {
		for _, i := range users[order[next]] {
			if open[i]--; open[i] == 0 {
				order = append(order, i)
			}
		}
	}
	return order, len(order) == len(p.boxes)
}

// permute puts box order[i] at i.
func (p *picture) permute(order []int) {
	boxes, at := make([]box, len(p.boxes)), make([]int, len(p.boxes))
	for i, old := range order {
		boxes[i], at[old] = p.boxes[old], i
	}
	for i := range boxes {
		needs := make([]int, len(boxes[i].needs))
		for k, j := range boxes[i].needs {
			needs[k] = at[j]
		}
		slices.Sort(needs)
		boxes[i].needs = needs
	}
	if len(at) > 0 {
		p.result = at[p.result]
	}
	p.boxes = boxes
}

// reduce removes every edge whose end is reached on a longer way, which leaves
// what is reachable as it is. A picture with a cycle stays as it is.
func (p *picture) reduce() {
	if !p.ordered() {
		return
	}
	ranks, words := p.ranks(), (len(p.boxes)+63)/64
	reach := make([][]uint64, len(p.boxes))
	removed := 0
	for i := range p.boxes {
		b := &p.boxes[i]
		reach[i] = make([]uint64, words)
		slices.SortFunc(b.needs, func(x, y int) int { return cmp.Compare(ranks[y], ranks[x]) })
		kept := b.needs[:0]
		for _, j := range b.needs {
			if reach[i][j/64]&(1<<(j%64)) != 0 {
				removed++
				continue
			}
			kept = append(kept, j)
			for w := range words {
				reach[i][w] |= reach[j][w]
			}
			reach[i][j/64] |= 1 << (j % 64)
		}
		b.needs = kept
	}
	if removed > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d edges that follow from others are not drawn", removed))
	}
}

func (p *picture) ordered() bool {
	for i := range p.boxes {
		for _, j := range p.boxes[i].needs {
			if j >= i {
				return false
			}
		}
	}
	return true
}

// arrange sorts boxes by stage, then by distance from the bottom, farthest first,
// then by kind and name.
func (p *picture) arrange() {
	order, ranks := make([]int, len(p.boxes)), make([]int, len(p.boxes))
	if p.ordered() {
		ranks = p.ranks()
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &p.boxes[i], &p.boxes[j]
		return cmp.Or(
			cmp.Compare(a.stage(), b.stage()), cmp.Compare(ranks[j], ranks[i]),
			cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name),
			cmp.Compare(a.class, b.class), cmp.Compare(a.count, b.count))
	})
	p.permute(order)
}

func (p *picture) edges() (n int) {
	for i := range p.boxes {
		n += len(p.boxes[i].needs)
	}
	return n
}

// labelRunes is how much of a name a label shows.
const labelRunes = 44

// label returns the lines of a box, still to be escaped. A file needs no kind:
// its shape says it. Mermaid does not parse an empty label.
func (p *picture) label(b *box) []string {
	var lines []string
	if b.kind != "file" || b.count > 1 || b.name == "" {
		lines = append(lines, shorten(ir.EscapeControls(cmp.Or(b.kind, "node")), labelRunes))
	}
	name := b.name
	if b.class != resultClass && name == p.target && b.count == 1 && len(lines) > 0 {
		name = ""
	}
	if b.count == 1 && b.class == resultClass && name == "." {
		name = ""
	}
	if b.count > 1 {
		lines[0] = fmt.Sprintf("%d × %s", b.count, lines[0])
		name += "/"
	}
	if name != "" {
		lines = append(lines, shorten(ir.EscapeControls(name), labelRunes))
	}
	return lines
}

// shorten cuts s in its middle to at most limit runes, between components where
// that leaves enough to be recognised.
func shorten(s string, limit int) string {
	const gap = "…"
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	first, rest, _ := strings.Cut(s, "/")
	room := limit - utf8.RuneCountInString(first) - 3
	for room > 0 {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		if n := utf8.RuneCountInString(rest); n > 0 && n <= room {
			return first + "/" + gap + "/" + rest
		}
	}
	r := []rune(s)
	head := (limit - 1) / 3
	return string(r[:head]) + gap + string(r[len(r)-(limit-1-head):])
}

// present returns the classes that occur, in order.
func (p *picture) present() []class {
	var has [classCount]bool
	for i := range p.boxes {
		has[p.boxes[i].class] = true
	}
	var list []class
	for c, ok := range has {
		if ok {
			list = append(list, class(c))
		}
	}
	return list
}

// perStage calls open before the first box of each stage that has one, each for
// every box, and end after the last.
func (p *picture) perStage(open func(stage int), each func(i int), end func()) {
	at := -1
	for i := range p.boxes {
		if s := p.boxes[i].stage(); s != at {
			if at >= 0 {
				end()
			}
			open(s)
			at = s
		}
		each(i)
	}
	if at >= 0 {
		end()
	}
}

// appendEdges appends one line for each box that needs others.
func (p *picture) appendEdges(b []byte, arrow, between, end string) []byte {
	for i := range p.boxes {
		for k, j := range p.boxes[i].needs {
			if k == 0 {
				b = fmt.Appendf(b, "  n%d%sn%d", i, arrow, j)
			} else {
				b = fmt.Appendf(b, "%sn%d", between, j)
			}
		}
		if len(p.boxes[i].needs) > 0 {
			b = append(b, end+"\n"...)
		}
	}
	return b
}

func (p *picture) mermaid() []byte {
	b := []byte("flowchart TB\n")
	b = append(b, "  accTitle: What a map was computed from\n"...)
	p.perStage(
		func(s int) { b = fmt.Appendf(b, "  subgraph s%d[\"%s\"]\n", s, stages[s]) },
		func(i int) {
			x := &p.boxes[i]
			b = mermaidNode(b, "n"+strconv.Itoa(i), p.label(x), x.class)
		},
		func() { b = append(b, "  end\n"...) })
	b = append(b, "  subgraph legend[\"legend\"]\n"...)
	b = append(b, "    note[\""...)
	b = append(appendMermaid(b, p.notes), "\"]:::note\n"...)
	for _, c := range p.present() {
		b = mermaidNode(b, "l"+strconv.Itoa(int(c)), []string{styles[c].legend}, c)
	}
	b = append(b, "  end\n"...)
	b = p.appendEdges(b, " --> ", " & ", "")
	for _, c := range p.present() {
		s := &styles[c]
		b = fmt.Appendf(b, "  classDef %s fill:%s,stroke:%s,color:%s%s\n", s.name, s.fill, s.stroke, s.ink, mermaidExtra[c])
	}
	return append(b, "  classDef note fill:none,stroke:none\n"...)
}

var mermaidExtra = [classCount]string{resultClass: ",stroke-width:3px", absentClass: ",stroke-dasharray:5 4"}

func mermaidNode(b []byte, id string, label []string, c class) []byte {
	s := &styles[c]
	b = append(b, "    "+id+s.open+`"`...)
	b = appendMermaid(b, label)
	return append(b, `"`+s.close+":::"+s.name+"\n"...)
}

// appendMermaid appends lines as the inside of a quoted label. Letters and digits
// stand for themselves, and so do a few signs where no reading of Mermaid's gives
// them a meaning; all else becomes a character entity. It has several readings:
// its own grammar, directives anywhere in the text, Markdown, and HTML.
func appendMermaid(b []byte, lines []string) []byte {
	for i, line := range lines {
		if i > 0 {
			b = append(b, "<br/>"...)
		}
		prev := rune(0)
		for at, r := range line {
			rest := line[at+utf8.RuneLen(r):]
			next, _ := utf8.DecodeRuneInString(rest)
			switch {
			case readAfterEntities(prev, r, rest):
				for _, c := range fmt.Sprintf(`\u{%x}`, r) {
					b = appendMermaidRune(b, 0, c, 0)
				}
			default:
				b = appendMermaidRune(b, prev, r, next)
			}
			prev = r
		}
	}
	return b
}

func appendMermaidRune(b []byte, prev, r, next rune) []byte {
	switch {
	case plainInMermaid(prev, r, next):
		return utf8.AppendRune(b, r)
	case r == '"':
		return append(b, "#quot;"...)
	}
	return append(strconv.AppendInt(append(b, '#'), int64(r), 10), ';')
}

// readAfterEntities reports whether r starts or ends something that Mermaid looks
// for when entities are characters again, so that no entity hides it: its private
// spelling of entities, a line break, a formula, an icon. Such a sign is spelled
// out as control characters are.
func readAfterEntities(prev, r rune, rest string) bool {
	switch r {
	case 0xFB02, 0xB6:
		return true
	case '\\':
		return strings.HasPrefix(rest, "n")
	case '$':
		return prev == '$'
	case ':':
		return strings.HasPrefix(rest, "fa-")
	}
	return false
}

func plainInMermaid(prev, r, next rune) bool {
	switch {
	case r == '/', r == ',', r == '…', r == '×':
		return true
	case r == '.':
		// "1." starts a list and "www." a link.
		return !unicode.IsDigit(prev) && prev != 'w' && prev != 'W'
	case r == '-', r == '_':
		return word(prev) && word(next)
	case r == ' ':
		return prev != 0 && prev != ' ' && next != utf8.RuneError && next != ' '
	}
	return word(r)
}

// word reports whether r is a letter or digit.
func word(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

func (p *picture) dot() []byte {
	b := []byte("digraph provenance {\n")
	b = append(b, "  rankdir=TB; newrank=true; labelloc=t; fontname=\"Helvetica\"; fontsize=12; ranksep=0.6;\n"...)
	b = append(b, "  label=\""...)
	b = append(appendDOT(b, p.notes, `\n`), "\";\n"...)
	b = append(b, "  node [fontname=\"Helvetica\" fontsize=10 margin=\"0.12,0.06\"];\n"...)
	b = append(b, "  edge [color=\"#8a8f98\" arrowsize=0.6];\n"...)
	p.perStage(
		func(s int) {
			b = fmt.Appendf(b, "  subgraph cluster_%d {\n    label=\"%s\"; labeljust=l; style=rounded; color=\"#c5c9d0\";\n", s, stages[s])
			if s == len(stages)-1 {
				b = append(b, "    rank=max;\n"...)
			}
		},
		func(i int) {
			x := &p.boxes[i]
			b = dotNode(b, "n"+strconv.Itoa(i), p.label(x), x.class, x.name)
		},
		func() { b = append(b, "  }\n"...) })
	b = append(b, "  subgraph cluster_legend {\n    label=\"legend\"; labeljust=l; style=dotted;\n"...)
	for _, c := range p.present() {
		b = dotNode(b, "l"+strconv.Itoa(int(c)), []string{styles[c].legend}, c, "")
	}
	b = append(b, "  }\n"...)
	return append(p.appendEdges(b, " -> {", " ", "};"), "}\n"...)
}

// tooltipRunes is how much of a name DOT keeps beside a shortened label.
const tooltipRunes = 400

func dotNode(b []byte, id string, label []string, c class, name string) []byte {
	s := &styles[c]
	b = append(b, "    "+id+` [label="`...)
	b = appendDOT(b, label, `\n`)
	if name != "" {
		b = append(b, `" tooltip="`...)
		b = appendDOT(b, []string{shorten(ir.EscapeControls(name), tooltipRunes)}, "")
	}
	return fmt.Appendf(b, "\" shape=%s style=\"%s\" fillcolor=\"%s\" color=\"%s\" fontcolor=\"%s\"];\n",
		s.shape, s.dotStyle, s.fill, s.stroke, s.ink)
}

// appendDOT appends lines as the inside of a quoted string. Graphviz reads
// backslashes in it as escapes, some of which stand for the names of node and
// graph, and ampersands as the start of HTML entities.
func appendDOT(b []byte, lines []string, between string) []byte {
	for i, line := range lines {
		if i > 0 {
			b = append(b, between...)
		}
		for _, c := range []byte(line) {
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '&':
				b = append(b, "&amp;"...)
			default:
				b = append(b, c)
			}
		}
	}
	return b
}
