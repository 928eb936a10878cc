package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// graphBuilder adds nodes by name, so that tables read like a graph.
type graphBuilder struct {
	g  Graph
	at map[string]int
}

func (b *graphBuilder) add(kind, name string, needs ...string) *GraphNode {
	if b.at == nil {
		b.at = make(map[string]int)
	}
	n := GraphNode{Kind: kind, Name: name, Leaf: slices.Contains([]string{"file", "probe", "list", "link", "above"}, kind)}
	for _, need := range needs {
		i, ok := b.at[need]
		if !ok {
			panic("no node " + need)
		}
		n.Needs = append(n.Needs, i)
	}
	b.at[kind+" "+name] = len(b.g.Nodes)
	b.g.Nodes = append(b.g.Nodes, n)
	return &b.g.Nodes[len(b.g.Nodes)-1]
}

// routesGraph has the shape of a map of one file below a sub-project, with a
// module and a context file that is not there.
func routesGraph() Graph {
	const target = "backend/src/api/routes.ts"
	b := graphBuilder{g: Graph{Target: target}}
	b.add("above", target)
	b.add("file", "backend/.mwp")
	b.add("config", "backend/.mwp", "file backend/.mwp")
	b.add("file", ".mwp/config.toml")
	b.add("config", ".mwp/config.toml", "file .mwp/config.toml")
	b.add("anchor", target, "above "+target, "config backend/.mwp", "config .mwp/config.toml", "config .mwp/config.toml")
	b.add("settings", target, "anchor "+target, "config .mwp/config.toml")
	b.add("probe", ".")
	b.add("probe", "backend")
	b.add("cascade", target, "anchor "+target, "settings "+target, "probe .", "probe backend")
	b.add("file", "backend/.mwp-context.md")
	b.add("parsed", "6de8f716397d")
	b.add("context", "backend/.mwp-context.md", "file backend/.mwp-context.md", "parsed 6de8f716397d")
	b.add("file", "backend/docs/style.md").Absent = true
	b.add("file", ".mwp/modules/go@1.2/.mwp-module.md").Module = true
	b.add("context", ".mwp/modules/go@1.2/.mwp-module.md", "file .mwp/modules/go@1.2/.mwp-module.md").Module = true
	b.add("closure", "backend/.mwp-context.md", "context backend/.mwp-context.md",
		"context .mwp/modules/go@1.2/.mwp-module.md", "file backend/docs/style.md")
	b.add("layers", target, "settings "+target, "cascade "+target, "context backend/.mwp-context.md", "closure backend/.mwp-context.md")
	b.add("tokens", "09c6e035769e")
	b.add("measure", "backend/.mwp-context.md", "file backend/.mwp-context.md", "tokens 09c6e035769e")
	b.add("budget", target, "settings "+target, "layers "+target, "measure backend/.mwp-context.md")
	b.add("list", ".mwp/intents")
	b.add("surroundings", target, "anchor "+target, "cascade "+target, "list .mwp/intents")
	b.add("map", target, "layers "+target, "budget "+target, "surroundings "+target, "file backend/.mwp-context.md")
	b.add("rendered", target, "map "+target, "settings "+target)
	return b.g
}

// wideGraph has n files in each of some directories below one layers node.
func wideGraph(directories, n int) Graph {
	b := graphBuilder{g: Graph{Target: "."}}
	var contexts []string
	for d := range directories {
		for i := range n {
			name := fmt.Sprintf("packages/group-%d/team-%d/note-%d.md", d/4, d, i)
			b.add("file", name)
			b.add("context", name, "file "+name)
			contexts = append(contexts, "context "+name)
		}
	}
	b.add("layers", ".", contexts...)
	b.add("map", ".", "layers .")
	return b.g
}

func hostileGraph() Graph {
	b := graphBuilder{g: Graph{Target: hostileLabels[0]}}
	var files []string
	for _, name := range hostileLabels {
		b.add("file", name)
		files = append(files, "file "+name)
	}
	b.add("map", hostileLabels[0], files...)
	return b.g
}

var hostileLabels = []string{
	`x"] --> evil["y`,
	"a\nclick n0 \"javascript:alert(1)\"\n%%{init: {\"securityLevel\": \"loose\"}}%%",
	"%%{init: {'theme':'dark'}}%%",
	"<img src=x onerror=alert(1)>.md",
	"`**bold** _em_`", "__init__.py", "1. list.md", "- item", "www.example.com/a@b.com", "https://example.com/",
	"fa:fa-bomb", "$$x^2$$", "&lt;b&gt;", "#35;", "#quot;", "ﬂ°°60¶ßscript", "style a:b#c;d;", "classDef x:y#z;",
	`back\slash\N\G\"`, `\`, `tail\`, "{a|b}", "[[x]]", "((x))", "@{ shape: bomb }", ":::file", "~~~", "---", "end",
	"\u202egnp.exe", "zero\u200bwidth", "\x00\x1b[31m", "bad\xff\xfeutf8", "crlf\r\n", "שלום/עולם", "日本語.md", "🙂.md",
	"\ufffd", "e\u0301", "100%.md", "%%", "/", "//", "..", "../x", "", " ", "  two  spaces  ", "<br/>", "]", "}", "};",
}

func graphCases() map[string]struct {
	g Graph
	o GraphOptions
} {
	return map[string]struct {
		g Graph
		o GraphOptions
	}{
		"routes":     {g: routesGraph()},
		"routes.all": {g: routesGraph(), o: GraphOptions{All: true}},
		"folded":     {g: wideGraph(12, 20)},
		"hostile":    {g: hostileGraph()},
		"empty":      {},
	}
}

func TestGraphGolden(t *testing.T) {
	want := map[string][]byte{"parse.mjs": nil}
	for name, c := range graphCases() {
		want[name+".mmd"], want[name+".dot"] = Mermaid(c.g, c.o), DOT(c.g, c.o)
	}
	dir := filepath.Join("testdata", "graph")
	for name, got := range want {
		if got == nil {
			continue
		}
		file := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v (run the test with -update)", err)
		} else if !bytes.Equal(got, golden) {
			t.Errorf("%s differs (-golden +got):\n%s", file, cmp.Diff(string(golden), string(got)))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("%s belongs to no test", filepath.Join(dir, f.Name()))
		}
	}
}

// drawn is what a reader of either language sees.
type drawn struct {
	labels map[string]string
	edges  map[[2]string]bool
	notes  string
}

// nodes returns the ids of d without the legend's.
func (d *drawn) nodes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.labels)), func(id string) bool { return id[0] != 'n' || id == "note" })
}

// plainMermaid is every line of a picture's grammar with labels replaced by their
// quotes: nothing else may occur.
var plainMermaid = regexp.MustCompile(`^(` +
	`flowchart TB|  accTitle: [A-Za-z ]+|  subgraph (s\d|legend)\[""\]|  end|` +
	`    [nl]\d+(\(\[""\]\)|\[\[""\]\]|\[""\]|\{\{""\}\}|\[/""/\]):::[a-zA-Z]+|    note\[""\]:::note|` +
	`  n\d+ --> n\d+( & n\d+)*|  classDef [a-zA-Z]+ [a-z0-9#:, -]+` +
	`)$`)

var (
	quoted        = regexp.MustCompile(`"[^"]*"`)
	mermaidEntity = regexp.MustCompile(`#(quot|\d+);`)
	// afterEntities is what Mermaid looks for in a label without entities.
	afterEntities = regexp.MustCompile(`\x{FB02}|\x{B6}|\\n|\$\$|:fa-`)
	spelledOut    = strings.NewReplacer(`\u{fb02}`, "\ufb02", `\u{b6}`, "\u00b6", `\u{5c}`, `\`, `\u{24}`, "$", `\u{3a}`, ":")
	// rawMermaid are the signs that a label may hold beside letters and digits.
	rawMermaid = regexp.MustCompile(`^[\pL\pN\pM/,…×. _-]*$`)
)

// readMermaid is a strict reader of the subset that Mermaid writes.
func readMermaid(t *testing.T, text []byte) *drawn {
	t.Helper()
	d := &drawn{labels: map[string]string{}, edges: map[[2]string]bool{}}
	if !utf8.Valid(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
	depth := 0
	if bytes.Contains(text, []byte(`""`)) {
		t.Fatalf("an empty label:\n%s", text)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		bare := quoted.ReplaceAllString(line, `""`)
		if !plainMermaid.MatchString(bare) {
			t.Fatalf("line %q is none that a picture has", line)
		}
		fields := strings.Fields(bare)
		switch {
		case fields[0] == "subgraph":
			depth++
		case fields[0] == "end":
			depth--
		case fields[0] == "flowchart", fields[0] == "accTitle:", fields[0] == "classDef":
		case strings.Contains(line, `"`):
			id := strings.TrimLeft(line[:strings.IndexAny(line, "[({")], " ")
			d.labels[id] = readMermaidLabel(t, strings.Trim(quoted.FindString(line), `"`))
		default:
			for _, to := range fields[2:] {
				if to != "&" {
					d.addEdge(t, fields[0], to)
				}
			}
		}
	}
	if depth != 0 {
		t.Fatalf("%d subgraphs stay open", depth)
	}
	d.notes = d.labels["note"]
	return d
}

func readMermaidLabel(t *testing.T, label string) string {
	t.Helper()
	lines := strings.Split(label, "<br/>")
	for i, line := range lines {
		if raw := mermaidEntity.ReplaceAllString(line, ""); !rawMermaid.MatchString(raw) {
			t.Fatalf("label %q holds a sign that has to be an entity", line)
		}
		lines[i] = mermaidEntity.ReplaceAllStringFunc(line, func(e string) string {
			if e == "#quot;" {
				return `"`
			}
			n, err := strconv.Atoi(e[1 : len(e)-1])
			if err != nil {
				t.Fatal(err)
			}
			return string(rune(n))
		})
		if m := afterEntities.FindString(lines[i]); m != "" {
			t.Fatalf("label %q reads %q when its entities are characters again", line, m)
		}
	}
	return strings.Join(lines, "\n")
}

func (d *drawn) addEdge(t *testing.T, from, to string) {
	t.Helper()
	for _, id := range []string{from, to} {
		if _, ok := d.labels[id]; !ok {
			t.Fatalf("an edge names %q, which is no node", id)
		}
	}
	if e := [2]string{from, to}; from == to {
		t.Fatalf("node %q leads to itself", from)
	} else if d.edges[e] {
		t.Fatalf("edge %v is drawn twice", e)
	} else {
		d.edges[e] = true
	}
}

// dotTokens splits DOT into words, strings and signs. A string must end on its
// line; nothing but the subset that DOT writes is known.
func dotTokens(t *testing.T, text string) []string {
	t.Helper()
	var tokens []string
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\n':
			i++
		case strings.HasPrefix(text[i:], "->"):
			tokens, i = append(tokens, "->"), i+2
		case strings.IndexByte("{}[]=;", c) >= 0:
			tokens, i = append(tokens, string(c)), i+1
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] < 0x20 || text[end] == 0x7f {
					t.Fatalf("a string holds %q", text[end])
				}
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				t.Fatalf("the string %.40q does not end", text[i:])
			}
			tokens, i = append(tokens, text[i:end+1]), end+1
		default:
			end := i
			for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= 'A' && text[end] <= 'Z' ||
				text[end] >= '0' && text[end] <= '9' || text[end] == '_' || text[end] == '.') {
				end++
			}
			if end == i {
				t.Fatalf("unexpected %.40q", text[i:])
			}
			tokens, i = append(tokens, text[i:end]), end
		}
	}
	return tokens
}

// dotReader is a recursive reader of: graph = "digraph" id block; block = "{"
// {statement} "}"; statement = "subgraph" id block | id "=" value ";" | id
// [attributes] ";" | id "->" "{" {id} "}" ";".
type dotReader struct {
	t      *testing.T
	tokens []string
	d      *drawn
	depth  int
}

func (r *dotReader) next() string {
	r.t.Helper()
	if len(r.tokens) == 0 {
		r.t.Fatal("the text ends too early")
	}
	tok := r.tokens[0]
	r.tokens = r.tokens[1:]
	return tok
}

func (r *dotReader) expect(want string) {
	r.t.Helper()
	if got := r.next(); got != want {
		r.t.Fatalf("got %q, want %q before %.60q", got, want, r.tokens)
	}
}

var dotID = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *dotReader) id() string {
	r.t.Helper()
	tok := r.next()
	if !dotID.MatchString(tok) {
		r.t.Fatalf("%q is no id", tok)
	}
	return tok
}

func (r *dotReader) block() {
	r.t.Helper()
	r.expect("{")
	r.depth++
	for r.tokens[0] != "}" {
		r.statement()
	}
	r.depth--
	r.next()
}

func (r *dotReader) statement() {
	r.t.Helper()
	id := r.id()
	if id == "subgraph" {
		r.id()
		r.block()
		return
	}
	switch tok := r.next(); tok {
	case "=":
		if v := r.next(); id == "label" && r.depth == 1 {
			r.d.notes = readDOTString(r.t, v)
		}
	case "->":
		r.expect("{")
		for r.tokens[0] != "}" {
			r.d.addEdge(r.t, id, r.id())
		}
		r.next()
	case "[":
		for r.tokens[0] != "]" {
			name := r.id()
			r.expect("=")
			v := r.next()
			switch name {
			case "label":
				r.d.labels[id] = readDOTString(r.t, v)
			case "tooltip":
				readDOTString(r.t, v)
			case "shape", "style", "fillcolor", "color", "fontcolor", "fontname", "fontsize", "margin", "arrowsize":
			default:
				r.t.Fatalf("attribute %q is none that a picture has", name)
			}
		}
		r.next()
	default:
		r.t.Fatalf("unexpected %q after %q", tok, id)
	}
	r.expect(";")
}

// readDOTString undoes what Graphviz reads in a quoted string, and fails for
// escapes and entities that stand for something else than text.
func readDOTString(t *testing.T, s string) string {
	t.Helper()
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		t.Fatalf("%s is no string", s)
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && strings.IndexByte(`"\`, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case s[i] == '\\' && s[i+1] == 'n':
			i++
			b.WriteByte('\n')
		case s[i] == '\\':
			t.Fatalf("%q holds the escape %q", s, s[i:i+2])
		case s[i] == '&' && !strings.HasPrefix(s[i:], "&amp;"):
			t.Fatalf("%q holds an entity", s)
		case s[i] == '&':
			i += len("amp;")
			b.WriteByte('&')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func readDOT(t *testing.T, text []byte) *drawn {
	t.Helper()
	if !utf8.Valid(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
	r := &dotReader{t: t, tokens: dotTokens(t, string(text)), d: &drawn{labels: map[string]string{}, edges: map[[2]string]bool{}}}
	r.expect("digraph")
	r.id()
	r.block()
	if len(r.tokens) > 0 {
		t.Fatalf("%q follows the graph", r.tokens)
	}
	for _, id := range []string{"node", "edge"} {
		delete(r.d.labels, id)
	}
	return r.d
}

// both reads g in both languages and checks that they agree where neither folds.
func both(t *testing.T, g Graph, o GraphOptions) *drawn {
	t.Helper()
	m, d := readMermaid(t, Mermaid(g, o)), readDOT(t, DOT(g, o))
	delete(m.labels, "note")
	for _, p := range []*drawn{m, d} {
		p.notes = spelledOut.Replace(p.notes)
		for id, label := range p.labels {
			p.labels[id] = spelledOut.Replace(label)
		}
	}
	if diff := cmp.Diff(m, d, cmp.AllowUnexported(drawn{})); diff != "" {
		t.Fatalf("the languages differ (-mermaid +dot):\n%s", diff)
	}
	return m
}

// fileLabel returns what a file of some name is drawn with.
func fileLabel(name string) string {
	if name == "" {
		name = "file"
	}
	return shorten(ir.EscapeControls(name), labelRunes)
}

func TestGraphNamesArriveAsTheyAre(t *testing.T) {
	for _, name := range hostileLabels {
		d := both(t, Graph{Target: name, Nodes: []GraphNode{
			{Kind: "file", Name: name, Leaf: true}, {Kind: "map", Name: name, Needs: []int{0}},
		}}, GraphOptions{})
		result := "map"
		if name != "" && name != "." {
			result += "\n" + fileLabel(name)
		}
		if d.labels["n1"] != fileLabel(name) || d.labels["n0"] != result {
			t.Errorf("%q is drawn as %q and %q, want %q and %q", name, d.labels["n1"], d.labels["n0"], fileLabel(name), result)
		}
	}
}

func FuzzGraphNames(f *testing.F) {
	for _, name := range hostileLabels {
		f.Add(name, "config")
	}
	f.Fuzz(func(t *testing.T, name, kind string) {
		if len(name)+len(kind) > 1<<12 {
			t.Skip()
		}
		d := both(t, Graph{Target: "t", Nodes: []GraphNode{
			{Kind: "file", Name: name, Leaf: true}, {Kind: kind, Name: name, Needs: []int{0}}, {Kind: "map", Name: "t", Needs: []int{1}},
		}}, GraphOptions{All: true})
		if len(d.edges) != 2 || len(d.nodes()) != 3 {
			t.Errorf("%d edges and %d nodes, want 2 and 3", len(d.edges), len(d.nodes()))
		}
		for _, label := range d.labels {
			if ir.EscapeControls(strings.ReplaceAll(label, "\n", "")) != strings.ReplaceAll(label, "\n", "") {
				t.Errorf("%q holds a control character", label)
			}
		}
	})
}

var randomParts = []string{
	`"`, "'", "`", "\n", "\r", "\t", "\x00", "\x1b", "[", "]", "(", ")", "{", "}", "<", ">", "-->", "---", "%%", "%%{init", "}%%",
	"click ", "end", "subgraph ", "#", ";", "#35;", "#quot;", "&", "&amp;", "\\", "\\n", "\\G", "$$", "www.", "a@b.c", "://",
	"fa:fa-x", "ﬂ°°60¶ß", "\u202e", "\u2028", "\u200d", "🙂", "é", "日", "ש", "\xff", "\xed\xa0\x80", "/", ".", "..", " ", "  ",
	"_", "__", "*", "**", "~", "|", ":", ":::", "=", "@{", "1.", "- ", "+ ", "style x:y#z;", "classDef a:b#c;", "a", "b", "c", "0", "9",
}

func randomName(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(randomParts[r.IntN(len(randomParts))])
	}
	return b.String()
}

var randomKinds = []string{
	"file", "probe", "list", "parsed", "tokens", "config", "anchor", "settings", "cascade", "context", "measure",
	"closure", "layers", "surroundings", "budget", "map", "of the future",
}

func randomGraph(r *rand.Rand, size int) Graph {
	g := Graph{Target: randomName(r)}
	for i := range size {
		n := GraphNode{Kind: randomKinds[r.IntN(len(randomKinds))], Name: randomName(r), Module: r.IntN(5) == 0}
		n.Leaf = n.Kind == "file" || n.Kind == "probe" || n.Kind == "list"
		n.Absent = n.Leaf && r.IntN(4) == 0
		for range r.IntN(4) {
			if i > 0 && !n.Leaf {
				n.Needs = append(n.Needs, r.IntN(i))
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}

// reaches returns for each node the shown nodes that it leads to.
func reaches(needs [][]int, shown func(int) bool) []map[int]bool {
	all := make([]map[int]bool, len(needs))
	for i := range needs {
		all[i] = make(map[int]bool)
		for _, j := range needs[i] {
			if shown(j) {
				all[i][j] = true
			}
			maps.Copy(all[i], all[j])
		}
	}
	return all
}

func TestGraphKeepsWhatLeadsWhere(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		g := randomGraph(r, 1+r.IntN(40))
		shown := func(i int) bool { return !g.Nodes[i].plumbing() || i == len(g.Nodes)-1 }
		for i := range g.Nodes {
			g.Nodes[i].Name = strconv.Itoa(i)
		}
		g.Target = ""
		needs := make([][]int, len(g.Nodes))
		for i, n := range g.Nodes {
			needs[i] = n.Needs
		}
		want := map[[2]string]bool{}
		for i, to := range reaches(needs, shown) {
			for j := range to {
				if shown(i) {
					want[[2]string{strconv.Itoa(i), strconv.Itoa(j)}] = true
				}
			}
		}
		d := both(t, g, GraphOptions{})
		if diff := cmp.Diff(want, closureOf(d)); diff != "" {
			t.Fatalf("what is reachable changed (-graph +picture):\n%s", diff)
		}
		for e := range d.edges {
			fewer := &drawn{labels: d.labels, edges: maps.Clone(d.edges)}
			delete(fewer.edges, e)
			if len(closureOf(fewer)) == len(want) {
				t.Fatalf("edge %v follows from others", e)
			}
		}
	}
}

// closureOf returns which node's name leads to which, on any way.
func closureOf(d *drawn) map[[2]string]bool {
	next := map[string][]string{}
	for e := range d.edges {
		next[e[0]] = append(next[e[0]], e[1])
	}
	name := func(id string) string {
		l := d.labels[id]
		return l[strings.LastIndexByte(l, '\n')+1:]
	}
	all := map[[2]string]bool{}
	for from := range next {
		open, seen := []string{from}, map[string]bool{}
		for len(open) > 0 {
			id := open[len(open)-1]
			open = open[:len(open)-1]
			for _, to := range next[id] {
				if !seen[to] {
					seen[to] = true
					all[[2]string{name(from), name(to)}] = true
					open = append(open, to)
				}
			}
		}
	}
	return all
}

func TestGraphAllKeepsEveryEdge(t *testing.T) {
	g := routesGraph()
	d := both(t, g, GraphOptions{All: true})
	edges := 0
	for _, n := range g.Nodes {
		edges += len(distinct(slices.Clone(n.Needs)))
	}
	if len(d.edges) != edges || len(d.nodes()) != len(g.Nodes) {
		t.Errorf("%d edges and %d nodes, want %d and %d", len(d.edges), len(d.nodes()), edges, len(g.Nodes))
	}
}

func TestGraphOrderOfNodesDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := randomGraph(r, 30)
		for i := range g.Nodes {
			g.Nodes[i].Name += strconv.Itoa(i)
		}
		h := shuffled(r, g)
		for _, o := range []GraphOptions{{}, {All: true}} {
			if diff := cmp.Diff(string(Mermaid(g, o)), string(Mermaid(h, o))); diff != "" {
				t.Fatalf("another order of nodes gives another picture:\n%s", diff)
			}
			if !bytes.Equal(DOT(g, o), DOT(h, o)) {
				t.Fatal("another order of nodes gives another DOT picture")
			}
		}
	}
}

// shuffled returns g in another order with dependencies first and the result last.
func shuffled(r *rand.Rand, g Graph) Graph {
	h := Graph{Target: g.Target}
	at := make(map[int]int)
	for len(h.Nodes) < len(g.Nodes) {
		i := r.IntN(len(g.Nodes))
		n := g.Nodes[i]
		_, done := at[i]
		ready := !slices.ContainsFunc(n.Needs, func(j int) bool { _, ok := at[j]; return !ok })
		if done || !ready || i == len(g.Nodes)-1 && len(h.Nodes) < i {
			continue
		}
		n.Needs = nil
		for _, k := range r.Perm(len(g.Nodes[i].Needs)) {
			n.Needs = append(n.Needs, at[g.Nodes[i].Needs[k]])
		}
		at[i] = len(h.Nodes)
		h.Nodes = append(h.Nodes, n)
	}
	return h
}

var countLine = regexp.MustCompile(`^(\d+) × `)

// stands returns how many nodes the boxes of a picture stand for.
func (d *drawn) stands() (n int) {
	for _, id := range d.nodes() {
		if m := countLine.FindStringSubmatch(d.labels[id]); m != nil {
			k, _ := strconv.Atoi(m[1])
			n += k
		} else {
			n++
		}
	}
	return n
}

func TestGraphFolds(t *testing.T) {
	tests := map[string]struct {
		g    Graph
		note string
	}{
		"nothing":            {wideGraph(9, 11), "edges that follow"},
		"files":              {wideGraph(3, 35), "the files of one directory are one node"},
		"directories":        {wideGraph(40, 10), "nodes of one kind and directory are one"},
		"cut directories":    {wideGraph(150, 1), "directories cut to depth 2"},
		"everything by kind": {chainGraph(900), "nodes of one kind are one"},
	}
	for name, c := range tests {
		for lang, d := range map[string]*drawn{
			"mermaid": readMermaid(t, Mermaid(c.g, GraphOptions{})), "dot": readDOT(t, DOT(c.g, GraphOptions{})),
		} {
			if name != "nothing" && !strings.Contains(d.notes, c.note) || name == "nothing" && strings.Contains(d.notes, "one") {
				t.Errorf("%s in %s: the notes are %q", name, lang, d.notes)
			}
			if n := len(d.nodes()); n > MaxGraphNodes {
				t.Errorf("%s in %s: %d nodes are drawn", name, lang, n)
			}
			if got := d.stands(); got != len(c.g.Nodes) {
				t.Errorf("%s in %s: the nodes drawn stand for %d, want %d", name, lang, got, len(c.g.Nodes))
			}
		}
	}
}

// chainGraph is a graph that no directory divides: every node needs the one before.
func chainGraph(n int) Graph {
	var g Graph
	for i := range n {
		node := GraphNode{Kind: randomKinds[5+i/2%7], Name: "x"}
		if i > 0 {
			node.Needs = []int{i - 1}
		}
		g.Nodes = append(g.Nodes, node)
	}
	g.Nodes[n-1].Kind = "map"
	return g
}

func TestMermaidStaysWithinWhatPagesShow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	dense := Graph{}
	for i := range 150 {
		n := GraphNode{Kind: "context", Name: fmt.Sprintf("d%d/%s", i%9, strings.Repeat("&#;", 30))}
		for j := range i {
			if r.IntN(2) == 0 {
				n.Needs = append(n.Needs, j)
			}
		}
		dense.Nodes = append(dense.Nodes, n)
	}
	// Every file below every context: no edge follows from others.
	crossed := Graph{}
	for i := range 60 {
		n := GraphNode{Kind: "file", Leaf: true, Name: fmt.Sprintf("f%d/x", i)}
		if i >= 30 {
			n = GraphNode{Kind: "context", Name: fmt.Sprintf("c%d/x", i)}
			for j := range 30 {
				n.Needs = append(n.Needs, j)
			}
		}
		crossed.Nodes = append(crossed.Nodes, n)
	}
	heavy := Graph{}
	for i := range 190 {
		heavy.Nodes = append(heavy.Nodes, GraphNode{Kind: "file", Leaf: true, Name: strings.Repeat("🙂", 44) + strconv.Itoa(i)})
	}
	for name, g := range map[string]Graph{"dense": dense, "heavy": heavy, "crossed": crossed, "wide": wideGraph(150, 4), "hostile": randomGraph(r, 600)} {
		for _, o := range []GraphOptions{{}, {All: true}} {
			text := Mermaid(g, o)
			d := readMermaid(t, text)
			if len(text) > maxMermaidBytes || len(d.edges) > maxMermaidEdges || len(d.nodes()) > MaxGraphNodes {
				t.Errorf("%s, %+v: %d bytes, %d edges, %d nodes", name, o, len(text), len(d.edges), len(d.nodes()))
			}
		}
	}
	if d := readDOT(t, DOT(wideGraph(150, 4), GraphOptions{All: true})); len(d.nodes()) != 1202 {
		t.Errorf("DOT draws %d of 1202 nodes though all were asked for", len(d.nodes()))
	}
}

func TestGraphClasses(t *testing.T) {
	text := string(Mermaid(routesGraph(), GraphOptions{}))
	for _, want := range []string{
		`{{"rendered<br/>backend/src/api/routes.ts"}}:::result`,
		`(["cascade"]):::computed`,
		`[[` + `"context<br/>.mwp/modules/go#64;1#46;2/.mwp-module.md"]]:::module`,
		`[".mwp/modules/go#64;1#46;2/.mwp-module.md"]:::moduleFile`,
		`["backend/docs/style.md"]:::absent`,
		`[".mwp/config.toml"]:::file`,
		`["looked for and absent"]:::absent`,
		`left out#58; 1 above, 1 list, 1 parsed, 1 tokens, 2 probe`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if all := string(Mermaid(routesGraph(), GraphOptions{All: true})); !strings.Contains(all, `[/"probe<br/>backend"/]:::look`) {
		t.Errorf("no probe in\n%s", all)
	}
}

func TestShorten(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"", 10, ""},
		{"a/b.md", 10, "a/b.md"},
		{"backend/src/api/v1/routes.ts", 21, "backend/…/routes.ts"},
		{"backend/src/api/v1/routes.ts", 22, "backend/…/v1/routes.ts"},
		{"backend/src/", 9, "ba…d/src/"},
		{"averylongnamewithoutdirectories.md", 12, "ave…ories.md"},
		{"d/averylongnamewithoutdirectories.md", 12, "d/a…ories.md"},
		{"日本語日本語日本語/日本語", 7, "日本…/日本語"},
		{strings.Repeat("/", 20), 5, "/…///"},
	}
	for _, c := range tests {
		got := shorten(c.in, c.limit)
		if got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
		if n := utf8.RuneCountInString(got); n > c.limit {
			t.Errorf("shorten(%q, %d) has %d runes", c.in, c.limit, n)
		}
	}
}

func TestFirstDirs(t *testing.T) {
	for _, c := range []struct {
		dir  string
		n    int
		want string
	}{
		{"a/b/c", 0, "."}, {"a/b/c", 1, "a"}, {"a/b/c", 2, "a/b"}, {"a/b/c", 9, "a/b/c"}, {".", 3, "."}, {"", 1, "."},
	} {
		if got := firstDirs(c.dir, c.n); got != c.want {
			t.Errorf("firstDirs(%q, %d) = %q, want %q", c.dir, c.n, got, c.want)
		}
	}
}

func TestGraphRefusesNeedsThatAreNotEarlier(t *testing.T) {
	for _, need := range []int{-1, 1, 2} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("node 1 may need node %d", need)
				}
			}()
			Mermaid(Graph{Nodes: []GraphNode{{Kind: "file"}, {Kind: "map", Needs: []int{need}}}}, GraphOptions{})
		}()
	}
}

// samples are pictures for other programs to read: the goldens and random ones.
func samples() map[string]Graph {
	g := make(map[string]Graph)
	for name, c := range graphCases() {
		g[name] = c.g
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 100 {
		g[fmt.Sprintf("random %d", i)] = randomGraph(r, 1+r.IntN(25))
	}
	return g
}

// TestMermaidParses asks Mermaid itself. It needs node and a node_modules
// directory, which MWP_MERMAID names.
func TestMermaidParses(t *testing.T) {
	modules := os.Getenv("MWP_MERMAID")
	if modules == "" {
		t.Skip("NOT RUN: npm install --prefix /tmp/m mermaid jsdom && MWP_MERMAID=/tmp/m/node_modules go test ./render -run TestMermaidParses")
	}
	type input struct {
		Name   string            `json:"name"`
		Text   string            `json:"text"`
		Labels map[string]string `json:"labels"`
		Edges  int               `json:"edges"`
	}
	var inputs []input
	for name, g := range samples() {
		for _, o := range []GraphOptions{{}, {All: true}} {
			text := Mermaid(g, o)
			d := readMermaid(t, text)
			for id, l := range d.labels {
				d.labels[id] = strings.ReplaceAll(l, "\n", "<br/>")
			}
			inputs = append(inputs, input{fmt.Sprintf("%s %+v", name, o), string(text), d.labels, len(d.edges)})
		}
	}
	b, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join("testdata", "graph", "parse.mjs"), modules)
	cmd.Stdin = bytes.NewReader(b)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v of %d texts:\n%s", err, len(inputs), out)
	}
}

// TestDOTParses asks Graphviz itself where it is installed.
func TestDOTParses(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("NOT RUN: no dot on PATH; install graphviz to run it")
	}
	for name, g := range samples() {
		cmd := exec.Command(dot, "-Tsvg")
		cmd.Stdin = bytes.NewReader(DOT(g, GraphOptions{}))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || !bytes.Contains(out, []byte("<svg")) || bytes.Contains(stderr.Bytes(), []byte("rror")) {
			t.Errorf("%s: %v\n%s", name, err, stderr.Bytes())
		}
		if bytes.Contains(out, []byte("<script")) || bytes.Contains(out, []byte("xlink:href")) {
			t.Errorf("%s: the picture has a link or a script", name)
		}
	}
}
