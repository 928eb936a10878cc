package mcp

import (
	"context"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// verifyContext is `mwp verify` for a model.
func verifyContext() tool {
	return tool{
		name: "verify_context", title: "Run checks",
		about: "Runs the checks behind a target's map, which may take minutes. Checks that no person agreed to do not run.",
		in:    schema{targetArgument("")},
		out:   `{"type":"object","properties":{"ok":{"type":"boolean"},"guards":{"type":"array","items":{"type":"object"}}}}`,

		writes: true, idempotent: true,
		call: callVerifyContext,
	}
}

// callVerifyContext runs guards only in a workspace whose guards this user lets other
// programs run (D-109), and asks nobody about one that is ad-hoc (D-42). What a guard
// prints is nowhere in the answer: it is a stranger's text, and the report names the log.
func callVerifyContext(ctx context.Context, s *server, w *mwp.Workspace, q *request, args arguments) (*answer, error) {
	target, _ := args.text("target")
	target, err := newSpelling(w.Dir()).read(target)
	if err != nil {
		return nil, err
	}
	p := s.progress(q)
	defer p.end()
	r, err := w.Verify(ctx, mwp.VerifyRequest{Targets: []string{target}, ForOthers: true, Watch: p.event})
	if err != nil {
		return nil, err
	}
	return s.report(r), nil
}

// report makes an answer of a run: what `mwp verify` prints for people, the findings
// before the report, and its JSON. That a guard fails is an answer; that one may not run
// is a refusal, and then everything is in the text.
func (s *server) report(r *mwp.VerifyResult) *answer {
	noProgram, refused := false, false
	for i := range r.Report.Guards {
		g := &r.Report.Guards[i]
		noProgram = noProgram || g.Reason == ir.ReasonNotFound || g.Ran && g.ExitCode != nil && *g.ExitCode == 127
		refused = refused || g.Reason == ir.ReasonNotTrusted
	}
	if noProgram {
		r.Report.Notes = append(r.Report.Notes, "a program was not found; the client started this server with PATH="+s.o.SearchPath)
	}
	var b strings.Builder
	for _, ds := range [][]ir.Diagnostic{r.Notices, r.Report.Problems} {
		if len(ds) > 0 {
			b.WriteString(said(ds) + "\n")
		}
	}
	b.Write(mwp.VerifyText(&r.Report, false, false))
	a := &answer{text: b.String(), isError: refused, written: func() {
		if err := r.Record(); err != nil {
			s.tell(notCached(err))
		}
	}}
	if !refused {
		a.structured = oneLine(mwp.VerifyJSON(&r.Report))
	}
	return a
}
