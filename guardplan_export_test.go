package mwp

import (
	"context"

	"github.com/model-workspace-protocol/mwp/nodes"
)

// Plan is what Verify begins with: which guards there are and what is known of them.
// It runs nothing, so that a test can ask for it after every edit.
func (w *Workspace) Plan(ctx context.Context, target string, everything, whole, floating bool) (*Result, nodes.GuardPlanValue, error) {
	return w.plan(ctx, target, everything, whole, floating)
}
