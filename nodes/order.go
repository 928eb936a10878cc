package nodes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// deduplicate keeps, of the candidates with one text, the one that the nearest
// level to the root names with the fewest imports, first declared first (D-37). A
// section gives way to the whole file when that comes before it (D-116).
// Candidates come in the order of the cascade.
func deduplicate(ks []Candidate) {
	order := make([]*Candidate, len(ks))
	for i := range ks {
		order[i] = &ks[i]
	}
	slices.SortStableFunc(order, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.ImportDepth, b.ImportDepth))
	})
	first := map[string]*Candidate{}
	for _, k := range order {
		if k.key() == "" || k.Status != "" && k.Status != ir.Expanded && k.Status != ir.Empty && k.Status != ir.ExcludedByKind {
			continue
		}
		winner := first[k.key()]
		if whole := first[k.Real+"\x00"]; winner == nil {
			winner = whole
		}
		switch {
		case winner == nil:
			first[k.key()] = k
		case k.Declared != "" || winner.Declared != "" || k.Status == "":
			// The text stands once in the map, with every check that stands for it.
			winner.declared = append(winner.declared, k.declared...)
			k.duplicates(winner)
		}
	}
}

// duplicates gives a candidate its outcome when another carries its text.
func (k *Candidate) duplicates(winner *Candidate) {
	k.Duplicates = winner.Source
	reason := fmt.Sprintf("the same file as %s, which is closer to the root", winner.Source)
	if winner.Declared != "" {
		k.Duplicates = winner.Chain[len(winner.Chain)-1]
		reason = fmt.Sprintf("the same file as %s, which %s imports first", winner.Source, winner.Declared)
	}
	if k.Declared != "" {
		reason = k.imported() + "; " + reason
	}
	k.leaveOut(ir.Deduplicated, "dedup", reason)
}

// settleNameOnly leaves out an anchor that has only a name when anything else
// identifies the project (D-10).
func settleNameOnly(ks []Candidate, identity bool) {
	if identity {
		return
	}
	other := slices.ContainsFunc(ks, func(k Candidate) bool { return k.Status == "" && k.Placed && k.Layer == 0 && k.ID != "." })
	for i := range ks {
		if k := &ks[i]; k.Anchor && k.ID == "." && k.Status == "" && other {
			k.leaveOut(ir.Empty, "name-only", "the anchor has only a name, and another entry identifies the project")
		}
	}
}

// compareCandidates is the total order of D-22; what has no layer comes last.
func compareCandidates(a, b Candidate) int {
	if a.Placed != b.Placed {
		if a.Placed {
			return -1
		}
		return 1
	}
	anchorFirst := func(k Candidate) int {
		if k.Anchor && k.ImportDepth == 0 {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.Layer, b.Layer),
		cmp.Compare(b.Priority, a.Priority),
		ir.ComparePaths(rootAsEmpty(a.Dir), rootAsEmpty(b.Dir)),
		cmp.Compare(anchorFirst(a), anchorFirst(b)),
		cmp.Compare(a.ImportDepth, b.ImportDepth),
		ir.ComparePaths(a.sortPath(), b.sortPath()),
		ir.ComparePaths(a.Source, b.Source),
		cmp.Compare(a.Section, b.Section),
		cmp.Compare(a.Declared, b.Declared),
	)
}

// sortPath is a candidate's source path, and of a module's file the path that it would have
// if modules were not kept by commit: an update of one module must not move the text of
// another. By the path alone, as D-22 has it, it would.
func (k *Candidate) sortPath() string {
	if k.Origin == nil || k.Origin.URL == "" {
		return k.Source
	}
	return ".mwp/modules/" + k.Origin.URL + "/" + k.Origin.Path
}

// rootAsEmpty makes "." the smallest path in segment order.
func rootAsEmpty(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}
