package mwp

import (
	"context"

	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Setting is one configuration value in effect, with the place it comes from.
type Setting = nodes.EffectiveSetting

// Configuration is what applies to a path.
type Configuration struct {
	// Root is the absolute workspace root; Target is relative to it.
	Root, Target string
	Settings     []Setting
	// Notices are the warnings about the files behind it.
	Notices []ir.Diagnostic
}

// Config returns the configuration in effect for a target, "" being Options.Dir.
// A configuration with mistakes is a *Refusal: what would apply cannot be told.
func (w *Workspace) Config(ctx context.Context, target string) (*Configuration, error) {
	if target == "" {
		target = w.o.Dir
	}
	p, err := w.find(target)
	if err != nil {
		return nil, err
	}
	s, _, err := w.locate(ctx, p)
	if err != nil {
		return nil, err
	}
	read := reader(func(t graph.Task) (any, error) { return s.ev.Eval(ctx, t) })
	at := nodes.Settings{Target: s.target, Explicit: s.explicit}
	v, err := graph.Need(read, at)
	if err != nil {
		return nil, worldError(err)
	}
	c := &Configuration{Root: s.dir, Target: s.target, Notices: v.Problems}
	for _, d := range v.Problems {
		if d.Severity == ir.SeverityError {
			return nil, &Refusal{Diagnostics: v.Problems}
		}
	}
	if c.Settings, err = nodes.Effective(read, s.target, s.explicit); err != nil {
		return nil, worldError(err)
	}
	return c, nil
}

// reader answers questions from outside of any node, one after the other.
type reader func(graph.Task) (any, error)

// Read evaluates a group.
func (r reader) Read(group []graph.Task) ([]any, error) {
	vs := make([]any, len(group))
	for i, t := range group {
		var err error
		if vs[i], err = r(t); err != nil {
			return nil, err
		}
	}
	return vs, nil
}
