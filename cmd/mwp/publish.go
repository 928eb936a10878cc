package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// codePublished is the note about what was done.
const codePublished ir.Code = "published"

func (a *app) runPublish() error {
	if as := a.gave(&flagRoot); as != "" {
		return misspelt("name the module's directory itself: mwp publish path/to/module", "%s does not choose what is published", as)
	}
	q := mwp.PublishRequest{DryRun: a.dryRun, Remote: a.remote}
	if len(a.words) > 0 {
		q.Dir = a.words[0]
		const hint = "name a module's directory, or leave it out for the current one"
		switch {
		case q.Dir == "":
			return usage(hint, "the directory is empty")
		case q.Dir == "-":
			return usage(hint+"; ./- is one of that name", "- is not a directory")
		case strings.ContainsRune(q.Dir, 0):
			return usage(hint, "the directory's name holds a NUL byte")
		}
	}
	if f, ok := a.stdin.(*os.File); ok {
		// git asks on the terminal itself, whatever our streams are; without one at our
		// input nobody is there to answer.
		q.Terminal = isTerminal(f)
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	a.listen()
	p, err := ws.Publish(a.ctx, q)
	if err != nil {
		return err
	}
	if a.json {
		err = a.print(publishJSON(p, a.dryRun))
	} else {
		err = a.print([]byte(ir.EscapeControls(p.Line) + "\n" + ir.EscapeControls(p.Pinned) + "\n"))
	}
	if err != nil {
		return err
	}
	a.report(append(p.Notices, ir.Diagnostic{Code: codePublished, Severity: ir.SeverityNote, Message: published(p, a.dryRun)})...)
	return nil
}

// published says what happened, or would.
func published(p *mwp.Publication, dryRun bool) string {
	at := p.Tag + " on commit " + p.Commit
	switch {
	case !p.Pushed:
		return p.Remote + " has the tag " + at + " already"
	case dryRun && p.Made:
		return "would make the tag " + at + " and push it to " + p.Remote
	case dryRun:
		return "would push the tag " + at + " to " + p.Remote
	}
	return "pushed the tag " + at + " to " + p.Remote
}

func publishJSON(p *mwp.Publication, dryRun bool) []byte {
	var o jsonObject
	o.str("tag", p.Tag)
	o.str("commit", p.Commit)
	o.str("remote", p.Remote)
	o.str("url", p.URL)
	o.str("import", p.Line)
	o.str("pinned", p.Pinned)
	o.raw("made", strconv.FormatBool(p.Made))
	o.raw("pushed", strconv.FormatBool(p.Pushed))
	o.raw("dry_run", strconv.FormatBool(dryRun))
	return []byte(o.lines())
}
