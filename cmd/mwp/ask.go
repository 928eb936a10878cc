package main

import (
	"context"
	"os"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// mayAsk reports whether somebody is there to answer (D-87).
func (a *app) mayAsk() bool {
	in, ok := a.stdin.(*os.File)
	return ok && a.env("CI") == "" && isTerminal(in) && isTerminal(a.stderr)
}

// ask puts the question about an ad-hoc guard to the person at the terminal (D-42).
func (a *app) ask(ctx context.Context, q mwp.GuardQuestion) (mwp.GuardAnswer, error) {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			b.WriteString("  " + name + strings.Repeat(" ", 10-len(name)) + ir.EscapeControls(value) + "\n")
		}
	}
	b.WriteString("mwp: may this guard run?\n")
	command := q.Command
	if q.Shell {
		command += "   (by a shell)"
	}
	field("command", command)
	field("in", q.Dir)
	field("declared", q.DeclaredIn)
	if len(q.Files) > 0 {
		field("files", strings.Join(q.Files, ", "))
	} else {
		field("files", "none: when what it runs changes, nobody asks again")
	}
	if q.Foreign {
		field("module", strings.TrimSpace("text from elsewhere "+q.Module))
	}
	field("why", q.Why)
	a.stderr.Write([]byte(b.String()))
	for {
		a.stderr.Write([]byte("Run it, now and until it changes? [y]es, [n]o, ne[v]er: "))
		line, err := a.readLine(ctx)
		if err != nil {
			return mwp.AnswerNo, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return mwp.AnswerYes, nil
		case "v", "never":
			return mwp.AnswerNever, nil
		case "n", "no", "":
			return mwp.AnswerNo, nil
		}
	}
}

// askForOthers asks once whether programs that act for somebody may run the guards that
// ran just now without a question (D-109). Until then they may not.
func (a *app) askForOthers(ws *mwp.Workspace, r *ir.VerifyReport) error {
	ran := false
	for i := range r.Guards {
		g := &r.Guards[i]
		ran = ran || g.Ran && (g.Trust == "builtin" || g.Trust == "project")
	}
	if !ran || a.userDir() == "" {
		return nil
	}
	// The report is out, and with it ended what signals interrupt.
	ctx := context.WithoutCancel(a.ctx)
	state, err := ws.Trusted(ctx)
	if err != nil || state == mwp.TrustGiven || state == mwp.TrustDenied {
		return err
	}
	question := ""
	if state == mwp.TrustOutdated {
		question = "mwp: the workspace's [trust] tables changed.\n"
	}
	question += "mwp: programs that act for you, such as an MCP server, do not run this workspace's\n" +
		"guards yet. May they run the built-in and allowed ones, until its [trust] tables change?\n[y]es, [n]o: "
	a.stderr.Write([]byte(question))
	line, err := a.readLine(ctx)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return ws.TrustWorkspace(ctx, true)
	case "n", "no":
		return ws.TrustWorkspace(ctx, false)
	}
	// Silence decides nothing.
	a.stderr.Write([]byte("\n"))
	return nil
}

// readLine reads a line from stdin, a byte at a time so that nothing behind it is
// taken, and gives up when ctx ends: then nobody reads on.
func (a *app) readLine(ctx context.Context) (string, error) {
	read := make(chan string, 1)
	go func() {
		var line []byte
		one := make([]byte, 1)
		for {
			n, err := a.stdin.Read(one)
			if n > 0 && one[0] != '\n' {
				line = append(line, one[0])
			}
			if err != nil || n > 0 && one[0] == '\n' || len(line) > 4096 {
				read <- string(line)
				return
			}
		}
	}()
	select {
	case line := <-read:
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
