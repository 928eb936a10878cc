package nodes

import (
	"fmt"
	"slices"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// maxProblems bounds the findings about one file, so that a file of nonsense
// does not become a map of nonsense. What is left out is counted.
const maxProblems = 100

// findings collects what is wrong with one file, up to a bound.
type findings struct {
	items  []ir.Diagnostic
	errors int
	// left counts what was not kept, leftErrors the errors among it.
	left, leftErrors int
}

func (f *findings) full() bool { return len(f.items) >= maxProblems }

func (f *findings) add(d ir.Diagnostic) {
	if d.Severity == ir.SeverityError {
		f.errors++
	}
	if f.full() {
		f.left++
		if d.Severity == ir.SeverityError {
			f.leftErrors++
		}
		return
	}
	f.items = append(f.items, d)
}

// sorted returns the findings in the order of the file, each once. When some were
// left out, the last one says how many, and is an error if one of them was.
func (f *findings) sorted(lastLine int) []ir.Diagnostic {
	ir.SortDiagnostics(f.items)
	out := slices.Compact(f.items)
	if f.left == 0 {
		return out
	}
	d := ir.Diagnostic{
		Code: out[len(out)-1].Code, Severity: ir.SeverityWarning,
		Line: lastLine, Message: fmt.Sprintf("%d more findings are not listed", f.left),
	}
	if f.leftErrors > 0 {
		d.Severity = ir.SeverityError
	}
	d.Line = max(d.Line, out[len(out)-1].Line)
	return append(out, d)
}
