package nodes

import (
	"cmp"
	"path"
	"slices"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// ReportFormat is how lint writes its report.
type ReportFormat uint8

// The formats of a report.
const (
	ReportText ReportFormat = iota
	ReportJSON
	ReportSARIF
	ReportGitHub
)

// LintText is a lint report as it is printed. It changes with the report.
type LintText struct {
	Lint
	// From is the directory of the anchor that is nearest to what was asked about: it
	// decides whose question this is.
	From         string
	Format       ReportFormat
	Quiet, Color bool
	// Version is the program's, which a SARIF log names.
	Version string
}

var lintTextKind = graph.Define(graph.Definition[RenderedValue, LintText]{
	Name: "lint-text", Version: 3, Order: 80,
	Params: func(c *cas.Coder, n *LintText) {
		c.Bool(&n.Explicit)
		c.Bool(&n.AllowFloating)
		c.String(&n.Profile)
		c.String(&n.Under)
		c.String(&n.From)
		if c.Uint8((*uint8)(&n.Format)); n.Format > ReportGitHub {
			c.Fail("report format %d", n.Format)
		}
		c.Bool(&n.Quiet)
		c.Bool(&n.Color)
		c.String(&n.Version)
	},
	Value: codeText,
})

func codeText(c *cas.Coder, v *RenderedValue) {
	c.Bytes(&v.Text)
	CodeRenderedMeta(c, v)
}

// Kind returns the kind "lint-text".
func (LintText) Kind() *graph.Kind { return lintTextKind }

// Compute renders the report and counts what decides the exit status.
func (n LintText) Compute(r graph.Reader) (v RenderedValue, err error) {
	if err := askedFrom(r, n.From, n.Explicit); err != nil {
		return v, err
	}
	report, err := graph.Need(r, n.Lint)
	if err != nil {
		return v, err
	}
	v.Findings, v.Warnings, _ = report.Count()
	v.Missing = report.Missing
	switch n.Format {
	case ReportJSON:
		v.Text = render.LintJSON(&report)
	case ReportSARIF, ReportGitHub:
		// Services look for files from the repository's top.
		repo, err := graph.Need(r, graph.Repository{})
		if err != nil {
			return v, err
		}
		a, err := graph.Need(r, Anchor{Target: ".", Explicit: n.Explicit})
		if err != nil {
			return v, err
		}
		report.Findings = slices.Clone(report.Findings)
		for i := range report.Findings {
			if d := &report.Findings[i]; d.Source != "" {
				d.Source = path.Join(repo.Below, d.Source)
			}
		}
		if n.Format == ReportGitHub {
			v.Text = render.GitHub(&report)
			break
		}
		anchor := path.Join(repo.Below, cmp.Or(a.Workspace, ".mwp"))
		v.Text = render.SARIF(&report, render.SARIFOptions{Version: n.Version, Anchor: anchor})
	default:
		v.Text = render.Lint(&report, render.LintOptions{Quiet: n.Quiet, Color: n.Color})
	}
	return v, nil
}

// askedFrom needs the anchor that a question about a whole workspace came from.
// Without it, the answer would stand although the project there has left.
func askedFrom(r graph.Reader, from string, explicit bool) error {
	if from == "." || from == "" {
		return nil
	}
	_, err := graph.Need(r, Anchor{Target: from, Explicit: explicit})
	return err
}

// TargetsText is one page of targets as it is printed. It changes with the rows on
// the page.
type TargetsText struct {
	Targets
	// From is what it is for a LintText.
	From        string
	JSON, Color bool
	// After is the path that the page begins behind, "" for the first page; Limit is
	// how many rows it has at most, 0 for all.
	After string
	Limit int
}

var targetsTextKind = graph.Define(graph.Definition[RenderedValue, TargetsText]{
	Name: "targets-text", Version: 3, Order: 80,
	Params: func(c *cas.Coder, n *TargetsText) {
		c.Bool(&n.Explicit)
		c.Bool(&n.AllowFloating)
		c.String(&n.Under)
		c.String(&n.From)
		c.Bool(&n.JSON)
		c.Bool(&n.Color)
		c.String(&n.After)
		c.Int(&n.Limit)
	},
	Value: codeText,
})

// Kind returns the kind "targets-text".
func (TargetsText) Kind() *graph.Kind { return targetsTextKind }

// Compute cuts the page out. Its cursor is the last row's path, so that a row that
// comes or goes meanwhile neither repeats nor hides others.
func (n TargetsText) Compute(r graph.Reader) (v RenderedValue, err error) {
	if err := askedFrom(r, n.From, n.Explicit); err != nil {
		return v, err
	}
	rows, err := graph.Need(r, n.Targets)
	if err != nil {
		return v, err
	}
	page := render.TargetPage{Rows: rows, Total: len(rows)}
	if n.After != "" {
		for len(page.Rows) > 0 && ir.ComparePaths(page.Rows[0].Path, n.After) <= 0 {
			page.Rows = page.Rows[1:]
		}
	}
	if n.Limit > 0 && len(page.Rows) > n.Limit {
		page.Rows = page.Rows[:n.Limit]
		page.Truncated, page.NextCursor = true, page.Rows[n.Limit-1].Path
	}
	if n.JSON {
		v.Text = render.TargetsJSON(&page)
	} else {
		v.Text = render.Targets(&page, render.TargetsOptions{Color: n.Color})
	}
	return v, nil
}
