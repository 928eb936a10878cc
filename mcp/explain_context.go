package mcp

import (
	"bytes"
	"context"

	"github.com/model-workspace-protocol/mwp"
)

// explainContext is `mwp explain`.
func explainContext() tool {
	return tool{
		name: "explain_context", title: "Explain a map",
		about: "What is in the map of a file or directory and by which rule, and what is not and why.",
		in:    schema{targetArgument("")},
		out:   `{"type":"object","properties":{"trace":{"type":"array","items":{"type":"object"}}}}`,
		meta:  `{"anthropic/maxResultSizeChars":500000}`,
		call:  callExplainContext,
	}
}

func callExplainContext(ctx context.Context, s *server, w *mwp.Workspace, _ *request, args arguments) (*answer, error) {
	target, _ := args.text("target")
	target, err := newSpelling(w.Dir()).read(target)
	if err != nil {
		return nil, err
	}
	return s.bothHalves(func(json bool) (*mwp.Result, error) {
		format := mwp.ExplainText
		if json {
			format = mwp.ExplainJSON
		}
		return w.Map(ctx, mwp.Request{Target: target, Format: format})
	})
}

// bothHalves answers with the text and the JSON of one question, on one state of the
// tree: the JSON is asked for again behind the text, until nothing changed between the
// two.
func (s *server) bothHalves(ask func(json bool) (*mwp.Result, error)) (*answer, error) {
	const tries = 3
	before, err := ask(true)
	if err != nil {
		return nil, err
	}
	for i := 1; ; i++ {
		text, err := ask(false)
		if err != nil {
			return nil, err
		}
		after, err := ask(true)
		if err != nil {
			return nil, err
		}
		if i == tries || bytes.Equal(before.Text, after.Text) {
			s.tell(after.Notices...)
			return &answer{text: string(text.Text), structured: oneLine(after.Text), written: s.kept(after, text)}, nil
		}
		before = after
	}
}
