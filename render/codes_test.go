package render

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestCodeSummaries: every code of package ir has a sentence, and every sentence a
// code.
func TestCodeSummaries(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../nodes/ir/diagnostic.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[ir.Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Code" {
			for _, value := range v.Values {
				s, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared[ir.Code(s)] = true
			}
		}
		return true
	})
	if len(declared) < 50 {
		t.Fatalf("found %d codes in package ir", len(declared))
	}
	for code := range declared {
		if _, ok := codeSummaries()[code]; !ok {
			t.Errorf("codeSummaries has no sentence for %q", code)
		}
	}
	sentences := map[string]ir.Code{}
	for code, s := range codeSummaries() {
		if !declared[code] {
			t.Errorf("codeSummaries describes %q, which package ir does not have", code)
		}
		if other, ok := sentences[s]; ok {
			t.Errorf("%q and %q have the same sentence", code, other)
		}
		sentences[s] = code
		if !strings.HasSuffix(s, ".") || strings.ToUpper(s[:1]) != s[:1] || len(s) > 80 {
			t.Errorf("the sentence of %q does not fit: %q", code, s)
		}
	}
	if got := codeSummary("from_a_later_version"); got != "from a later version" {
		t.Errorf("codeSummary of an unknown code = %q", got)
	}
}
