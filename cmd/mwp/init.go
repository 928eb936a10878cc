package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runInit() error {
	if as := a.gave(&flagRoot); as != "" {
		return misspelt("name the directory itself: mwp init "+shellWord(a.root), "%s does not choose what init makes", as)
	}
	if err := a.checkClientFlags(); err != nil {
		return err
	}
	o := mwp.InitOptions{Member: a.member, DryRun: a.dryRun, WithBase: a.withBase, Home: a.home()}
	if len(a.words) > 0 {
		o.Dir = a.words[0]
		const hint = "name a directory, or leave it out for the current one"
		switch {
		case o.Dir == "":
			return usage(hint, "the directory is empty")
		case o.Dir == "-":
			return usage(hint+"; ./- is one of that name", "- is not a directory")
		case strings.HasPrefix(o.Dir, "~"):
			// Only an unquoted ~ at the start of a word means a home directory.
			return usage("write the path in full, or "+shellWord("./"+o.Dir)+" for a directory of that name",
				"the shell has not replaced the ~ of %s", o.Dir)
		}
	}
	shown := time.Now()
	o.Progress = func(n int) {
		if n%64 == 0 && !a.quiet && time.Since(shown) > time.Second {
			shown = time.Now()
			a.note("looking for instruction files, " + strconv.Itoa(n) + " directories so far")
		}
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	a.listen()
	dir, err := a.dir()
	if err != nil {
		return err
	}
	// A client's file that cannot be edited is told before anything is made.
	plan, err := a.planClients(ws, o.Dir)
	if err != nil {
		return err
	}
	if a.justClients(plan) {
		return a.finishClients(plan, nil, "", dir)
	}
	r, err := ws.Init(a.ctx, o)
	if err != nil {
		return err
	}
	if r.Incomplete {
		a.report(ir.Diagnostic{
			Code: ir.LimitExceeded, Severity: ir.SeverityWarning,
			Message: "the search for instruction files of other tools ended after 20000 directories and found none",
			Hint:    "if there are any, set mode = \"soft\" under [boundary] in the configuration",
		})
	}
	switch {
	case plan != nil:
		return a.finishClients(plan, r, a.initText(r, dir)+"\n", dir)
	case a.json:
		return a.print(a.initJSON(r, nil))
	}
	return a.print([]byte(a.initText(r, dir)))
}

// home returns the user's home directory, "" when it is not known.
func (a *app) home() string {
	if h := a.env("HOME"); h != "" {
		return h
	}
	return a.env("USERPROFILE")
}

// initText says what was made and what to do next.
func (a *app) initText(r *mwp.InitResult, cwd string) string {
	var b strings.Builder
	show := func(path string) string {
		if rel, err := filepath.Rel(cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = rel
		}
		return ir.EscapeControls(path)
	}
	made, changed := "made     ", "changed  "
	if a.dryRun {
		made, changed = "would make    ", "would change  "
	}
	for _, path := range r.Made {
		if path == r.Workspace {
			b.WriteString(changed + show(path) + "\n")
		} else {
			b.WriteString(made + show(path) + "\n")
		}
	}
	if r.Kept != "" {
		b.WriteString("kept     " + show(r.Kept) + ", which is there already\n")
	}
	if r.InstructionFile != "" {
		b.WriteString("\nBoundary mode is \"soft\", because of " + show(r.InstructionFile) + ".\n")
	}
	if a.withBase {
		b.WriteString("\nThe base module takes about 1,400 tokens of L3 in every map that imports it.\n")
	}
	if r.BaseLine != "" {
		b.WriteString("\nTo show the conventions in every map, write this below imports: in the header of\n" + show(filepath.Join(r.Dir, ".mwp-context.md")) + ":\n  " + r.BaseLine + "\n")
	}
	if r.MembersLine != "" && r.Kind == mwp.InitAnchor {
		b.WriteString("\nTo make it a member of the workspace, write this line to " + show(r.Workspace) + ",\nor run the command again with --member:\n  " + r.MembersLine + "\n")
	}
	if r.Trusted {
		b.WriteString("\nPrograms that act for you, such as the MCP server, may run the guards that its [trust] table\nallows, until that table changes.\n")
	}
	b.WriteString("\nNext:\n")
	at := ""
	if r.Dir != cwd {
		at = " " + shellWord(show(r.Dir))
	}
	context := filepath.Join(r.Dir, ".mwp-context.md")
	for _, path := range r.Made {
		if path != context && filepath.Base(path) == "example.mwp-context.md" {
			// Beside an instruction file a text of ours would be read twice.
			b.WriteString("  mv " + shellWord(show(path)) + " " + shellWord(show(context)) + ", for what is not in " + show(r.Beside) + "\n")
		}
		if path == context {
			b.WriteString("  edit " + shellWord(show(path)) + ", whose text is an example\n")
		}
	}
	if r.Kind == mwp.InitStub {
		b.WriteString("  mwp map" + at + " --render markdown\n  mwp explain" + at + "\n")
		return b.String()
	}
	b.WriteString("  mwp map" + at + " --render markdown\n  mwp explain" + at + "\n")
	// In the brackets, so that a shell refuses the line when it is pasted as it is.
	if at == "" {
		b.WriteString("  mwp init <directory>\n")
	} else {
		b.WriteString("  mwp init" + at + "/<directory>\n")
	}
	return b.String()
}

// shellWord quotes a word for a shell where that is necessary.
func shellWord(s string) string { return ir.ShellWord(s) }
