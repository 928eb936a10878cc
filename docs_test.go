package mwp_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/nodes"
)

// TestNodesDocument keeps docs/nodes.md equal to the doc comments of the kinds.
func TestNodesDocument(t *testing.T) {
	byKind := map[string]documentedType{}
	for _, dir := range []string{"graph", "nodes"} {
		if err := collectKinds(dir, byKind); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	b.WriteString(`# Node kinds

Written by ` + "`go test . -run TestNodesDocument -update`" + ` from the doc comments of the code;
edit those. [architecture.md](architecture.md) says what kinds, keys and orders
are for and how to add one.

| kind | version | order | in |
|---|---|---|---|
`)
	for _, k := range nodes.Kinds() {
		d, ok := byKind[k.Name]
		if !ok {
			t.Errorf("kind %s: no definition with that name in graph or nodes", k.Name)
			continue
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | [%s](../%s) |\n", k.Name, k.Name, k.Version, k.Order, d.file, d.file)
	}
	for _, k := range nodes.Kinds() {
		d := byKind[k.Name]
		if d.doc == "" {
			t.Errorf("kind %s: its type has no doc comment", k.Name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s", k.Name, markdown(d.doc))
		if k.Leaf {
			b.WriteString("\nA leaf: only the evaluator reads it.\n")
		}
		if len(d.params) > 0 {
			b.WriteString("\nParameters of `" + d.name + "`:\n\n")
			for _, p := range d.params {
				b.WriteString(p)
			}
		}
	}
	checkFile(t, "docs/nodes.md", b.Bytes())
}

// documentedType is a node's type as its source describes it.
type documentedType struct {
	name, file, doc string
	params          []string // list items
}

// collectKinds finds the definitions of kinds in a package and documents the
// node types they are for.
func collectKinds(dir string, into map[string]documentedType) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	specs := map[string]documentedType{} // by type
	kinds := map[string]string{}         // kind to type
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				s := s.(*ast.TypeSpec)
				if st, ok := s.Type.(*ast.StructType); ok {
					text := s.Doc.Text()
					if text == "" {
						text = g.Doc.Text()
					}
					specs[s.Name.Name] = documentedType{s.Name.Name, filepath.ToSlash(file), text, fields(st)}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if kind, node := definition(c); kind != "" {
					kinds[kind] = node
				}
			}
			return true
		})
	}
	for kind, node := range kinds {
		into[kind] = specs[node]
	}
	return nil
}

// definition returns the kind's name and node type of a call of graph.Define or
// defineLeaf, "" for any other call.
func definition(c *ast.CallExpr) (kind, node string) {
	if len(c.Args) == 0 {
		return "", ""
	}
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		lit, ok := c.Args[0].(*ast.CompositeLit)
		if f.Sel.Name != "Define" || !ok {
			return "", ""
		}
		if t, ok := lit.Type.(*ast.IndexListExpr); ok {
			node = t.Indices[1].(*ast.Ident).Name
		}
		for _, e := range lit.Elts {
			if kv := e.(*ast.KeyValueExpr); kv.Key.(*ast.Ident).Name == "Name" {
				kind, _ = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
			}
		}
	case *ast.Ident:
		if f.Name != "defineLeaf" {
			return "", ""
		}
		kind, _ = strconv.Unquote(c.Args[0].(*ast.BasicLit).Value)
		params := c.Args[1].(*ast.FuncLit).Type.Params.List
		node = params[1].Type.(*ast.StarExpr).X.(*ast.Ident).Name
	}
	return kind, node
}

// fields returns a struct's fields as list items.
func fields(s *ast.StructType) []string {
	var items []string
	for _, f := range s.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()), " ")
		var names []string
		for _, n := range f.Names {
			names = append(names, "`"+n.Name+"`")
		}
		if len(names) == 0 {
			items = append(items, "- those of `"+types.ExprString(f.Type)+"`\n")
			continue
		}
		item := "- " + strings.Join(names, ", ")
		if text != "" {
			item += ": " + text
		}
		items = append(items, item+"\n")
	}
	return items
}

func markdown(doc string) string {
	var p comment.Parser
	var pr comment.Printer
	return string(pr.Markdown(p.Parse(doc)))
}

// TestErrorsDocument checks that docs/errors.md has one heading for each
// diagnostic code that any package declares, and no other.
func TestErrorsDocument(t *testing.T) {
	var codes []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notBuilt, d.Name()):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"):
			codes = append(codes, codesIn(t, p)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for code := range errorEntries(t) {
		documented = append(documented, code)
	}
	slices.Sort(codes)
	slices.Sort(documented)
	if len(codes) == 0 || !slices.Equal(codes, documented) {
		t.Errorf("docs/errors.md differs from the constants (-constants +document):\n%s", cmp.Diff(codes, documented))
	}
}

// TestErrorsDocumentEntries checks that every entry begins with a severity, shows a
// finding of its own code and of no other, with one of those severities, and says
// what to do.
func TestErrorsDocumentEntries(t *testing.T) {
	finding := regexp.MustCompile(`(?m)^    (?:[^ ].*?: )?(error|warning|note)\[([a-z_]+)\]`)
	for code, entry := range errorEntries(t) {
		paragraphs := strings.Split(strings.TrimSpace(entry), "\n\n")
		about, last := strings.ToLower(paragraphs[0]), paragraphs[len(paragraphs)-1]
		if !regexp.MustCompile(`^(error|warning|note)\b`).MatchString(about) {
			t.Errorf("docs/errors.md, %s: the entry begins with no severity: %q", code, paragraphs[0])
		}
		if strings.HasPrefix(last, "    ") {
			t.Errorf("docs/errors.md, %s: nothing after the example says what to do", code)
		}
		found := finding.FindAllStringSubmatch(entry, -1)
		if len(found) == 0 {
			t.Errorf("docs/errors.md, %s: no example", code)
		}
		for _, m := range found {
			if m[2] != code {
				t.Errorf("docs/errors.md, %s: the example is of %s", code, m[2])
			}
			if !strings.Contains(about, m[1]) {
				t.Errorf("docs/errors.md, %s: an example has the severity %s, which the entry does not mention: %q", code, m[1], paragraphs[0])
			}
		}
	}
}

// errorEntries returns the text below each code's heading in docs/errors.md.
func errorEntries(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	entries := map[string]string{}
	heading := regexp.MustCompile("(?m)^(?:### `([a-z_]+)`|## .*)$")
	places := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range places {
		if m[2] < 0 {
			continue
		}
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		code := text[m[2]:m[3]]
		if _, twice := entries[code]; twice {
			t.Errorf("docs/errors.md has two entries for %s", code)
		}
		entries[code] = text[m[1]:end]
	}
	return entries
}

// codesIn returns the values of a file's constants of type Code.
func codesIn(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.ValueSpec)
			name := ""
			switch t := s.Type.(type) {
			case *ast.Ident:
				name = t.Name
			case *ast.SelectorExpr:
				name = t.Sel.Name
			}
			if name != "Code" {
				continue
			}
			for _, v := range s.Values {
				code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
	}
	return codes
}

// TestRoomsDocument keeps the table in docs/architecture.md equal to the one
// that TestImportDirections enforces.
func TestRoomsDocument(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- rooms -->\n", "<!-- /rooms -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/architecture.md has no table between <!-- rooms --> and <!-- /rooms -->")
	}
	var b strings.Builder
	b.WriteString("\n| package | of ours | other modules | never |\n|---|---|---|---|\n")
	dirs := make([]string, 0, len(rooms))
	for dir := range rooms {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		r := rooms[dir]
		name := path.Clean("./" + dir)
		if dir == "" {
			name = "mwp (the root)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, cell(r.ours), cell(r.outside), cell(r.never))
	}
	checkFile(t, "docs/architecture.md", []byte(before+begin+b.String()+"\n"+end+after))
}

func cell(names []string) string {
	var out []string
	for _, n := range names {
		switch n {
		case "":
			n = "mwp"
		case "*":
			n = "all"
		}
		out = append(out, strings.TrimSuffix(n, "/"))
	}
	if len(out) == 0 {
		return "–"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestDocumentLinks checks that every relative link in our documents leads to a
// file that exists.
func TestDocumentLinks(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, file := range append(docs, "README.md", "CHANGELOG.md", "examples/README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			}
		}
	}
}
