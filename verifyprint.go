package mwp

import (
	"time"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// VerifyText returns a report for people.
func VerifyText(r *ir.VerifyReport, color, ascii bool) []byte {
	return render.Verify(r, render.VerifyOptions{Color: color, ASCII: ascii})
}

// VerifyListing returns a report for people who want to know what would run: with the
// keys and the trust of all guards.
func VerifyListing(r *ir.VerifyReport, color, ascii bool) []byte {
	return render.Verify(r, render.VerifyOptions{Color: color, ASCII: ascii, Keys: true})
}

// VerifyJSON returns a report as JSON, as docs/schema/verify.schema.json describes it.
func VerifyJSON(r *ir.VerifyReport) []byte { return ir.AppendVerifyJSON(nil, r) }

// VerifyJUnit returns a report as the XML that CI systems read test results from.
func VerifyJUnit(r *ir.VerifyReport) []byte { return render.JUnit(r) }

// ParseDuration reads a duration as context files write it: 10m, 4h, 1d, 2w (D-28).
func ParseDuration(s string) (time.Duration, error) { return nodes.ParseDuration(s) }
