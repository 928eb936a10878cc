package mwp

import (
	"slices"

	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/tokens"
)

// The parts of a Request and of an observation, under the names callers use.
type (
	// Format is how a map is written.
	Format = nodes.Format
	// Overrides replace configured values for one run.
	Overrides = nodes.Overrides
	// CapOverride replaces one layer's cap when Set.
	CapOverride = nodes.CapOverride
	// Cap is the token budget of one layer.
	Cap = nodes.Cap
	// OptionalInt is an int that may be absent.
	OptionalInt = nodes.OptionalInt
	// Event reports one evaluated node or leaf.
	Event = eval.Event
	// ReportFormat is how lint writes its report.
	ReportFormat = nodes.ReportFormat
)

// The formats of a Request.
const (
	JSON         = nodes.JSON
	MarkdownText = nodes.MarkdownText
	ClaudeText   = nodes.ClaudeText
	GPT4Text     = nodes.GPT4Text
	LlamaText    = nodes.LlamaText
	ExplainText  = nodes.ExplainText
	ExplainJSON  = nodes.ExplainJSON
)

// SchemaVersion is the version of the JSON map.
const SchemaVersion = ir.SchemaVersion

// FormatNames lists how the formats of a map are spelled, the default first.
func FormatNames() []string { return nodes.FormatNames() }

// FormatByName returns the format of a map with the given name; "md" is short for
// "markdown" (D-69).
func FormatByName(name string) (Format, bool) { return nodes.FormatByName(name) }

// CounterNames lists the token counters, the default first.
func CounterNames() []string { return tokens.Names() }

// Suggest returns the known name that is nearest to a mistyped one, "" when none
// is near.
func Suggest(name string, known []string) string { return nodes.Suggest(name, known) }

// The formats of a lint report.
const (
	ReportText   = nodes.ReportText
	ReportJSON   = nodes.ReportJSON
	ReportSARIF  = nodes.ReportSARIF
	ReportGitHub = nodes.ReportGitHub
)

var reportNames = [...]string{ReportText: "text", ReportJSON: "json", ReportSARIF: "sarif", ReportGitHub: "github"}

// ReportNames lists how the formats of a lint report are spelled, the default first.
func ReportNames() []string { return slices.Clone(reportNames[:]) }

// ReportByName returns the format of a lint report with the given name.
func ReportByName(name string) (ReportFormat, bool) {
	i := slices.Index(reportNames[:], name)
	return ReportFormat(max(i, 0)), i >= 0
}

// Profiles lists the harnesses whose caps lint knows (D-111).
func Profiles() []string { return nodes.Profiles() }

// GraphFormat is how a provenance graph is drawn.
type GraphFormat uint8

// The formats of a drawing.
const (
	NoGraph GraphFormat = iota
	Mermaid
	DOT
)

// GraphNames lists how the formats of a drawing are spelled.
func GraphNames() []string { return []string{"mermaid", "dot"} }

// GraphByName returns the format of a drawing with the given name.
func GraphByName(name string) (GraphFormat, bool) {
	i := slices.Index(GraphNames(), name)
	return GraphFormat(i + 1), i >= 0
}
