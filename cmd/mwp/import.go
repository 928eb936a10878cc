package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runImport() error {
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	a.listen()
	switch {
	case len(a.words) > 0 && a.words[0] == "outdated":
		if len(a.words) > 1 || a.check || a.update || a.frozen {
			return misspelt("run `mwp import outdated`", "outdated takes no further arguments")
		}
		if a.offline {
			return misspelt("leave --offline and MWP_OFFLINE out", "outdated asks the repositories, and --offline does not")
		}
		return a.outdated(ws)
	case a.check:
		if len(a.words) > 0 || a.update {
			return misspelt("run `mwp import --check`", "--check looks at every pinned module")
		}
		return a.checkModules(ws)
	case a.update && (a.frozen || a.offline):
		return misspelt("give one of them", "--update asks repositories and changes the lock file; --frozen and --offline do not")
	}
	for _, w := range a.words {
		if err := a.badReference(w); err != nil {
			return err
		}
	}
	imported, err := ws.Import(a.ctx, mwp.ImportRequest{
		References: a.words, Update: a.update, Frozen: a.frozen, AllowFloating: a.floating,
	})
	if err != nil {
		return a.cause(err)
	}
	var text string
	if a.json {
		text = importedJSON(imported)
	} else {
		text = importedText(imported, len(a.words) == 0)
	}
	if err := a.print([]byte(text)); err != nil {
		return err
	}
	var worst error
	for _, m := range imported {
		a.report(m.Notices...)
		if m.Err == nil {
			continue
		}
		a.report(a.findings(m.Err)...)
		if exitCode(m.Err) != 4 {
			worst = errNegative
		} else if worst == nil {
			worst = errEnvironment
		}
	}
	if worst == nil && len(imported) == 0 && !a.json && !a.quiet {
		a.note("the workspace imports no git modules")
	}
	return worst
}

// badReference refuses words that are neither a reference nor the name of
// something, and asks whether outdated was meant (U-10).
func (a *app) badReference(w string) error {
	if w == "" {
		return usage("name a repository or a module's directory, or leave it out for everything", "a reference is empty")
	}
	if mwp.Suggest(w, []string{"outdated"}) == "" {
		return nil
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, w)); err == nil {
		return nil
	}
	return misspelt("did you mean outdated?", "import: there is no module %s", quoted(w))
}

// importedText prints what to write into a context file, and what it stands for.
func importedText(imported []mwp.Imported, all bool) string {
	var b strings.Builder
	for _, m := range imported {
		if m.Err != nil {
			continue
		}
		if !all {
			b.WriteString(ir.EscapeControls(m.Line) + "\n")
		}
		if m.Commit != "" {
			did := "already there"
			if m.Fetched {
				did = "fetched"
			}
			what := m.Kind + " at commit " + m.Commit + ", " + did
			if all {
				b.WriteString(ir.EscapeControls(m.Reference) + "  " + what + "\n")
			} else {
				b.WriteString("  # " + what + "\n")
			}
		}
	}
	return b.String()
}

func importedJSON(imported []mwp.Imported) string {
	items := make([]string, len(imported))
	for i, m := range imported {
		var o jsonObject
		o.str("reference", m.Reference)
		o.str("line", m.Line)
		o.str("kind", m.Kind)
		o.str("commit", m.Commit)
		o.str("tree", m.Tree)
		o.str("directory", m.Directory)
		o.raw("fetched", strconv.FormatBool(m.Fetched))
		o.raw("ok", strconv.FormatBool(m.Err == nil))
		items[i] = o.line()
	}
	return jsonArray(items)
}

func (a *app) checkModules(ws *mwp.Workspace) error {
	problems, err := ws.CheckModules(a.ctx)
	if err != nil {
		return a.cause(err)
	}
	var text string
	if a.json {
		items := make([]string, len(problems))
		for i, p := range problems {
			var o jsonObject
			o.str("reference", p.Key)
			o.str("path", p.Path)
			o.str("what", p.What)
			items[i] = o.line()
		}
		text = jsonArray(items)
	} else {
		for _, p := range problems {
			text += p.String() + "\n"
		}
	}
	if err := a.print([]byte(text)); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errNegative
	}
	if !a.json && !a.quiet {
		a.note("every pinned module is as the lock file says")
	}
	return nil
}

func (a *app) outdated(ws *mwp.Workspace) error {
	states, err := ws.Outdated(a.ctx)
	if err != nil {
		return a.cause(err)
	}
	var text string
	var worst error
	items := make([]string, len(states))
	for i, s := range states {
		var o jsonObject
		o.str("reference", s.Reference)
		o.str("commit", s.Commit)
		o.str("newest", s.Newest)
		o.raw("moved", strconv.FormatBool(s.Moved))
		o.str("found", s.Found)
		items[i] = o.line()
		line := ir.EscapeControls(s.Reference) + "  "
		switch {
		case s.Err != nil:
			a.report(a.findings(s.Err)...)
			worst = errEnvironment
			continue
		case s.Moved && s.Found == "":
			text += line + "the tag is gone; it stood for " + s.Commit + "\n"
		case s.Moved:
			text += line + "the tag moved from " + s.Commit + " to " + s.Found + "\n"
		}
		if s.Newest != "" {
			text += line + "newer: " + ir.EscapeControls(s.Newest) + "\n"
		}
	}
	if a.json {
		text = jsonArray(items)
	}
	if err := a.print([]byte(text)); err != nil {
		return err
	}
	return worst
}

// jsonArray puts objects on a line each.
func jsonArray(items []string) string {
	if len(items) == 0 {
		return "[]\n"
	}
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return "[\n  " + strings.Join(items, ",\n  ") + "\n]\n"
}
