package mwp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// LintRequest asks what is wrong in a workspace.
type LintRequest struct {
	// Paths are the directories and files to look at, relative to Options.Dir; none
	// stands for the whole workspace around Options.Dir.
	Paths  []string
	Format nodes.ReportFormat
	// Profile names a harness whose caps count too, "" for none (D-111).
	Profile string
	// AllowFloating accepts imports of branches; Fetch fetches modules that are
	// missing (D-79).
	AllowFloating, Fetch bool
	Quiet, Color         bool
	// Version is the program's, for a SARIF log.
	Version string
}

// Lint looks for mistakes: in headers, imports, configurations, names and sizes
// . Result.Findings counts errors, Result.Warnings warnings.
// It runs no guard and, without Fetch, fetches nothing.
func (w *Workspace) Lint(ctx context.Context, q LintRequest) (*Result, error) {
	target := ""
	if len(q.Paths) > 0 {
		target = q.Paths[0]
	}
	places := make([]*place, len(q.Paths))
	for i, path := range q.Paths {
		p, err := w.find(path)
		if err != nil {
			return nil, err
		}
		places[i] = p
	}
	node := func(c candidate, from string) (text, string) {
		n := nodes.LintText{From: from, Format: q.Format, Quiet: q.Quiet, Color: q.Color, Version: q.Version}
		n.Explicit, n.AllowFloating, n.Profile = c.explicit, q.AllowFloating, q.Profile
		n.Under = under(c, places)
		return n, ""
	}
	if err := w.sameRoot(ctx, places); err != nil {
		return nil, err
	}
	return w.answer(ctx, question{target: target, node: node, floating: q.AllowFloating, fetch: q.Fetch})
}

// under lists the places below a root as a Lint node has them: directories with a
// final slash. The root itself stands for everything.
func under(c candidate, places []*place) string {
	var paths []string
	for _, p := range places {
		if rel, ok := below(c.dir, p.abs); ok {
			if rel == "." {
				return ""
			}
			if info, err := os.Lstat(p.abs); err == nil && info.IsDir() {
				rel += "/"
			}
			paths = append(paths, rel)
		}
	}
	slices.SortFunc(paths, ir.ComparePaths)
	return strings.Join(slices.Compact(paths), "\x00")
}

// sameRoot refuses paths of several workspaces: each has its own configuration.
func (w *Workspace) sameRoot(ctx context.Context, places []*place) error {
	root := ""
	for i, p := range places {
		if len(places) == 1 {
			return nil
		}
		s, _, err := w.locate(ctx, p)
		if err != nil {
			return err
		}
		if i > 0 && s.dir != root {
			return otherWorkspace(root, s.dir)
		}
		root = s.dir
	}
	return nil
}

// TargetsRequest asks for the directories that carry or inherit context.
type TargetsRequest struct {
	// Under is the directory to begin at, relative to Options.Dir; "" for the whole
	// workspace around Options.Dir.
	Under         string
	JSON, Color   bool
	AllowFloating bool
	// Cursor continues after a page of Limit rows; a Limit of 0 has no pages.
	Cursor string
	Limit  int
}

// Targets lists the directories that have a map of more than nothing, with what it
// costs (D-111).
func (w *Workspace) Targets(ctx context.Context, q TargetsRequest) (*Result, error) {
	node := func(c candidate, from string) (text, string) {
		n := nodes.TargetsText{From: from, JSON: q.JSON, Color: q.Color, After: q.Cursor, Limit: q.Limit}
		n.Explicit, n.AllowFloating, n.Under = c.explicit, q.AllowFloating, "."
		if q.Under != "" {
			n.Under = c.target
		}
		return n, ""
	}
	if q.Under != "" {
		abs := q.Under
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(w.o.Dir, abs)
		}
		if _, err := os.Lstat(abs); err != nil {
			return nil, &UsageError{ir.Diagnostic{
				Code: ir.TargetInvalid, Severity: ir.SeverityError, Message: fmt.Sprintf("cannot look at %s: %v", q.Under, Innermost(err)),
				Hint: "name files or directories of the workspace, or nothing for all of it",
			}}
		}
	}
	return w.answer(ctx, question{target: q.Under, node: node, floating: q.AllowFloating})
}
