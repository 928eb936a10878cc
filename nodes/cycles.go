package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// importEdge is one import between two documents, by where they lie; the paths are
// how maps name them.
type importEdge struct {
	from, to         string
	fromPath, toPath string
	line             int
}

// Bounds of the search: a tangle of files can have more cycles than anyone reads.
const (
	maxCycles     = 20
	maxCycleSteps = 20_000
)

// cycles returns a finding for each elementary cycle of imports, rotated to begin
// at its smallest path and sorted (D-26), up to a bound that is said.
func cycles(edges []importEdge) []ir.Diagnostic {
	s := cycleSearch{next: map[string][]importEdge{}, importers: map[string][]string{}, names: map[string]string{}}
	for _, e := range edges {
		if !slices.ContainsFunc(s.next[e.from], func(o importEdge) bool { return o.to == e.to }) {
			s.next[e.from] = append(s.next[e.from], e)
			s.importers[e.to] = append(s.importers[e.to], e.from)
		}
		s.call(e.from, e.fromPath)
		s.call(e.to, e.toPath)
	}
	s.prune()
	var starts []string
	for real := range s.next {
		starts = append(starts, real)
	}
	slices.SortFunc(starts, func(a, b string) int { return ir.ComparePaths(s.names[a], s.names[b]) })
	for _, start := range starts {
		if s.cut {
			break
		}
		s.start, s.back = start, s.leadingTo(start)
		s.path = s.path[:0]
		s.walk(start)
		// A cycle is found from its smallest document; the others need not pass it.
		delete(s.next, start)
	}
	if s.cut {
		s.found = append(s.found, ir.Diagnostic{
			Code: ir.ImportCycle, Severity: ir.SeverityError,
			Message: fmt.Sprintf("there are more import cycles than the %d that are listed", len(s.found)),
		})
	}
	return s.found
}

// cycleSearch looks for cycles by depth-first walks from one document at a time.
type cycleSearch struct {
	// next holds what a document imports, importers the other direction; a document
	// that was a start is in next no more.
	next      map[string][]importEdge
	importers map[string][]string
	names     map[string]string
	start     string
	// back holds the documents from which imports lead to start.
	back  map[string]bool
	path  []importEdge
	steps int
	cut   bool
	found []ir.Diagnostic
}

// call gives a document the smallest of its names.
func (s *cycleSearch) call(real, name string) {
	if old, ok := s.names[real]; !ok || ir.ComparePaths(name, old) < 0 {
		s.names[real] = name
	}
}

// prune takes out the documents from which no import leads round, which mostly is
// all of them: those that import nothing, then those that import only these.
func (s *cycleSearch) prune() {
	left := map[string]int{}
	var done []string
	for real := range s.names {
		if left[real] = len(s.next[real]); left[real] == 0 {
			done = append(done, real)
		}
	}
	for len(done) > 0 {
		real := done[len(done)-1]
		done = done[:len(done)-1]
		delete(s.next, real)
		for _, from := range s.importers[real] {
			if left[from]--; left[from] == 0 {
				done = append(done, from)
			}
		}
	}
}

// leadingTo returns the documents from which imports lead to one. The walk keeps to
// them, or it would lose itself where no way leads back.
func (s *cycleSearch) leadingTo(real string) map[string]bool {
	found := map[string]bool{}
	for pending := []string{real}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, from := range s.importers[at] {
			if !found[from] && s.next[from] != nil {
				found[from] = true
				pending = append(pending, from)
			}
		}
	}
	return found
}

func (s *cycleSearch) walk(at string) {
	for _, e := range s.next[at] {
		s.steps++
		s.cut = s.cut || s.steps > maxCycleSteps || e.to == s.start && len(s.found) == maxCycles
		switch {
		case s.cut:
			return
		case e.to == s.start:
			s.report(append(slices.Clone(s.path), e))
		case !s.back[e.to]:
		case slices.ContainsFunc(s.path, func(o importEdge) bool { return o.from == e.to }) || e.to == at:
		default:
			s.path = append(s.path, e)
			s.walk(e.to)
			s.path = s.path[:len(s.path)-1]
		}
	}
}

func (s *cycleSearch) report(es []importEdge) {
	names, places := []string{s.names[es[0].from]}, make([]string, len(es))
	for i, e := range es {
		names = append(names, s.names[e.to])
		places[i] = fmt.Sprintf("%s:%d", s.names[e.from], e.line)
	}
	s.found = append(s.found, ir.Diagnostic{
		Code: ir.ImportCycle, Severity: ir.SeverityError, Source: names[0], Line: es[0].line,
		Message: "imports go round: " + strings.Join(names, " → ") + " (" + strings.Join(places, ", ") + ")",
		Hint:    "take one of these imports out, or move what both sides need into a file of its own",
	})
}
