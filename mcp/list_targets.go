package mcp

import (
	"context"

	"github.com/model-workspace-protocol/mwp"
)

// targetsPage is how many targets are listed when nobody says how many.
const targetsPage = 100

// listTargets is `mwp targets` (R-212, D-71).
func listTargets() tool {
	return tool{
		name: "list_targets", title: "Places with rules",
		about: "Directories that have rules, with layer, tokens and checks, 100 at a time.",
		in: schema{
			{name: "under", kind: typeString, about: "directory to begin in"},
			{name: "limit", kind: typeInteger, most: 1000},
			{name: "cursor", kind: typeString, about: "next_cursor of the page before"},
		},
		out:  `{"type":"object","properties":{"targets":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"}}}`,
		call: callListTargets,
	}
}

func callListTargets(ctx context.Context, s *server, w *mwp.Workspace, _ *request, args arguments) (*answer, error) {
	q := mwp.TargetsRequest{Limit: targetsPage}
	if n := args.number("limit"); n > 0 {
		q.Limit = n
	}
	q.Cursor, _ = args.text("cursor")
	if under, given := args.text("under"); given {
		var err error
		if q.Under, err = newSpelling(w.Dir()).read(under); err != nil {
			return nil, err
		}
	}
	return s.bothHalves(func(json bool) (*mwp.Result, error) {
		q.JSON = json
		return w.Targets(ctx, q)
	})
}
