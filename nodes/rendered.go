package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// Rendered is a map as text in one format: what is printed and what a slot
// holds. It changes with the map.
type Rendered struct {
	Map
	Format Format
	// Annotate adds source comments, ASCII replaces glyphs, NotLoaded and Color
	// apply to explanations.
	Annotate, ASCII, NotLoaded, Color bool
}

// Format is how a map is written.
type Format uint8

// The formats. The model formats are listed by render.Models.
const (
	JSON Format = iota
	MarkdownText
	ClaudeText
	GPT4Text
	LlamaText
	ExplainText
	ExplainJSON
	// EncodedIR is the map itself in canonical encoding, for who renders it later; see
	// DecodeIR.
	EncodedIR
)

// formatNames are the formats of a map, as people write them. Explanations have
// commands instead of names.
var formatNames = [...]string{JSON: "json", MarkdownText: "markdown", ClaudeText: "claude", GPT4Text: "gpt-4", LlamaText: "llama"}

// FormatNames lists how the formats of a map are spelled, the default first.
func FormatNames() []string { return slices.Clone(formatNames[:]) }

// FormatByName returns the format with a name; "md" is short for "markdown" (D-69).
func FormatByName(name string) (Format, bool) {
	if name == "md" {
		return MarkdownText, true
	}
	i := slices.Index(formatNames[:], name)
	return Format(max(i, 0)), i >= 0
}

// ModelFormat returns the name of a format that is framed for a model.
func ModelFormat(f Format) (name string, ok bool) {
	switch f {
	case ClaudeText, GPT4Text, LlamaText:
		return formatNames[f], true
	}
	return "", false
}

// RenderedValue is a text with what the command line needs beside it.
type RenderedValue struct {
	Text []byte
	// RootAt is where the line with the absolute root belongs in a JSON text, 0
	// where there is none: the root is no part of the value (D-49).
	RootAt int
	// Refused is set when there is no map; Notices then hold the errors. Otherwise
	// they are the findings of severity error that stderr repeats (D-38).
	Refused bool
	Notices []ir.Diagnostic
	// Findings counts error-severity warnings, ReadOnly repeats the map's flag: both
	// decide the exit status under --strict.
	Findings int
	// Warnings counts a lint report's warnings.
	Warnings int
	ReadOnly bool
	// PolicyError is set when [budgets] policy asks for --strict.
	PolicyError bool
	// Missing are git references that a fetch could provide, as written (D-35).
	Missing []string
}

var renderedKind = graph.Define(graph.Definition[RenderedValue, Rendered]{
	Name: "rendered", Version: 7, Order: 80,
	Params: func(c *cas.Coder, n *Rendered) {
		codeMapParams(c, &n.Map)
		c.Uint8((*uint8)(&n.Format))
		if n.Format > EncodedIR {
			c.Fail("format %d", n.Format)
		}
		c.Bool(&n.Annotate)
		c.Bool(&n.ASCII)
		c.Bool(&n.NotLoaded)
		c.Bool(&n.Color)
	},
	Value: codeText,
})

// CodeRenderedMeta codes everything of a RenderedValue but its text, for slots,
// which keep the text apart.
func CodeRenderedMeta(c *cas.Coder, v *RenderedValue) {
	c.Int(&v.RootAt)
	c.Bool(&v.Refused)
	cas.Slice(c, &v.Notices, codeDiagnostic)
	c.Int(&v.Findings)
	c.Int(&v.Warnings)
	c.Bool(&v.ReadOnly)
	c.Bool(&v.PolicyError)
	c.Strings(&v.Missing)
}

// Kind returns the kind "rendered".
func (Rendered) Kind() *graph.Kind { return renderedKind }

// Compute renders.
func (n Rendered) Compute(r graph.Reader) (v RenderedValue, err error) {
	m, err := graph.Need(r, n.Map)
	if err != nil {
		return v, err
	}
	if len(m.Refusal) > 0 {
		v.Refused, v.Notices = true, m.Refusal
		return v, nil
	}
	settings, err := graph.Need(r, Settings{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return v, err
	}
	v.PolicyError = settings.Policy == PolicyError
	v.ReadOnly, v.Missing = m.IR.ReadOnly, m.Missing
	for _, w := range m.IR.Warnings {
		if w.Severity == ir.SeverityError {
			v.Findings++
		}
		if w.Severity != ir.SeverityNote {
			v.Notices = append(v.Notices, w)
		}
	}
	if a := m.IR.Anchors; a.Workspace == "" && a.Project == "" && len(m.IR.Trace) == 0 {
		v.Notices = append(v.Notices, ir.Diagnostic{
			Code: ir.NotAnchored, Severity: ir.SeverityNote, Message: "the map is empty: there is no .mwp here or above, and no context file on the way to the target",
			Hint: "`mwp init` makes a first one",
		})
	}
	switch n.Format {
	case JSON:
		v.Text = ir.AppendJSON(nil, &m.IR, ir.FullForm)
		v.RootAt = rootOffset(v.Text)
	case ExplainText:
		suggestions, err := n.suggestions(r, &m.IR)
		if err != nil {
			return v, err
		}
		accounts, err := n.accounts(r, &m.IR)
		if err != nil {
			return v, err
		}
		v.Text = render.Explain(&m.IR, render.ExplainOptions{NotLoaded: n.NotLoaded, Color: n.Color, Suggestions: suggestions, Guards: accounts})
	case ExplainJSON:
		accounts, err := n.accounts(r, &m.IR)
		if err != nil {
			return v, err
		}
		v.Text = ir.AppendTraceJSON(nil, &m.IR, accounts)
	case EncodedIR:
		v.Text = cas.EncodeValue(&m.IR, codeIR)
	default:
		v.Text, _ = n.Text(&m.IR, time.Time{})
		if name, ok := ModelFormat(n.Format); ok {
			v.Notices = append(v.Notices, render.Disagreements(&m.IR, name)...)
		}
	}
	return v, nil
}

// Text returns a map as text for an LLM, with the ages of guards' results at a moment,
// or, when that is zero, with their times (D-49). It is false for formats that are not
// for an LLM.
func (n Rendered) Text(m *ir.Map, now time.Time) ([]byte, bool) {
	o := render.Options{Annotate: n.Annotate, ASCII: n.ASCII, Now: now}
	switch n.Format {
	case JSON, ExplainText, ExplainJSON, EncodedIR:
		return nil, false
	case MarkdownText:
		return render.Markdown(m, o), true
	}
	return render.Model(m, formatNames[n.Format], o)
}

// accounts returns what there is to say of the map's guards, which most maps have none
// of.
func (n Rendered) accounts(r graph.Reader, m *ir.Map) ([]ir.GuardAccount, error) {
	if len(m.Verifications) == 0 {
		return nil, nil
	}
	return graph.Need(r, GuardAccounts{n.Layers})
}

// rootOffset returns where the "root" line of a JSON map belongs: after the line
// of "target".
func rootOffset(text []byte) int {
	const key = "\n  \"target\": "
	i := strings.Index(string(text), key)
	if i < 0 {
		panic("nodes.rootOffset: the map has no target line")
	}
	i += len(key)
	return i + strings.IndexByte(string(text[i:]), '\n') + 1
}

// suggestions names stack modules that the topology hints at (D-78): for a
// directory on the target's path, a tag that no import on the cascade mentions.
func (n Rendered) suggestions(r graph.Reader, m *ir.Map) ([]string, error) {
	anchor, err := graph.Need(r, Anchor{Target: n.Target, Explicit: n.Explicit})
	if err != nil {
		return nil, err
	}
	ws, _, err := configs(r, anchor)
	if err != nil || ws == nil {
		return nil, err
	}
	var out []string
	for _, d := range ws.Config.Directories {
		if !n.Orientation && !within(n.Target, d.Key) {
			continue
		}
		for _, tag := range d.Stack {
			if !mentioned(m, tag) {
				out = append(out, fmt.Sprintf("%s declares the stack %q: a module named mwp-stack-%s would belong in %s", d.Key, tag, tag, join(d.Key, ".mwp-context.md")))
			}
		}
	}
	return out, nil
}

// mentioned reports whether any import's name or URL has the tag in it.
func mentioned(m *ir.Map, tag string) bool {
	for _, t := range m.Trace {
		if strings.HasPrefix(t.Rule, "import") && strings.Contains(t.Source, tag) {
			return true
		}
	}
	return slices.ContainsFunc(m.Modules, func(u ir.Module) bool {
		return strings.Contains(u.Name, tag) || strings.Contains(u.URL, tag)
	})
}
