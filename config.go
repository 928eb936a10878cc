package mwp

import (
	"context"

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
	_, s, err := w.enter(ctx, target)
	if err != nil {
		return nil, err
	}
	x, err := s.ev.Eval(ctx, nodes.Effective{Target: s.target, Explicit: s.explicit})
	if err != nil {
		return nil, worldError(err)
	}
	v := x.(nodes.EffectiveValue)
	for _, d := range v.Problems {
		if d.Severity == ir.SeverityError {
			return nil, &Refusal{Diagnostics: v.Problems}
		}
	}
	return &Configuration{Root: s.dir, Target: s.target, Settings: v.Settings, Notices: v.Problems}, nil
}
