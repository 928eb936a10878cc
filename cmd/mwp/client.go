package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// addClients takes a client's name, or several with commas.
func (o *options) addClients(s string) string {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		known := false
		for _, n := range mwp.ClientNames() {
			known = known || n == name
		}
		if !known {
			return oneOf(name, mwp.ClientNames())
		}
		o.clients = append(o.clients, name)
	}
	return ""
}

// checkClientFlags refuses what makes no sense together.
func (a *app) checkClientFlags() error {
	switch {
	case a.undo && len(a.clients) == 0:
		return misspelt("name the clients: mwp init --client claude --undo", "--undo takes out what --client put in, and there is no --client")
	case a.undo && a.member:
		return misspelt("leave one of them out", "--undo makes nothing, so that --member has no use")
	case a.undo && a.withBase:
		return misspelt("leave one of them out", "--undo makes nothing, so that --with-base has no use")
	}
	return nil
}

// planClients says what the clients' files get, nil when no client was named.
func (a *app) planClients(ws *mwp.Workspace, dir string) (*mwp.ClientsPlan, error) {
	if len(a.clients) == 0 {
		return nil, nil
	}
	return ws.PlanClients(a.ctx, mwp.ClientsRequest{
		Dir: dir, Itself: a.member || a.withBase, Clients: a.clients, Undo: a.undo, Program: ownPath(), Home: a.home(),
	})
}

// ownPath is what clients' files name, "" where it is not known: programs that are started
// from a desktop often have a PATH without mwp's directory.
func ownPath() string {
	program, err := os.Executable()
	if err != nil || !filepath.IsAbs(program) {
		return ""
	}
	return program
}

// justClients reports whether there is nothing for init itself to do.
func (a *app) justClients(p *mwp.ClientsPlan) bool {
	return p != nil && (a.undo || p.Anchored && !a.member && !a.withBase)
}

// finishClients shows the plan and carries it out. before is the text of what init made.
func (a *app) finishClients(p *mwp.ClientsPlan, r *mwp.InitResult, before, cwd string) error {
	write := func(show func() error) error {
		if a.dryRun {
			return show()
		}
		return p.Write(a.ctx, show)
	}
	if a.json {
		if err := write(func() error { return nil }); err != nil {
			return err
		}
		a.report(p.Left...)
		return a.print(a.initJSON(r, p))
	}
	// The difference is on the screen before the first file is replaced.
	if err := write(func() error { return a.show(before + a.clientDiffs(p)) }); err != nil {
		return err
	}
	a.report(p.Left...)
	return a.print([]byte(a.clientsText(p, cwd)))
}

// show prints what is not the last of the output.
func (a *app) show(text string) error {
	if text == "" {
		return nil
	}
	return a.print([]byte(text))
}

func (a *app) clientDiffs(p *mwp.ClientsPlan) string {
	var b strings.Builder
	for i := range p.Files {
		b.WriteString(clientDiff(&p.Files[i]))
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

func clientDiff(f *mwp.ClientFile) string {
	if !f.Changed() {
		return ""
	}
	from, to := "a/"+f.Path, "b/"+f.Path
	if !f.Existed {
		from = "/dev/null"
	}
	if !f.Exists {
		to = "/dev/null"
	}
	return unified(from, to, f.Before, f.After)
}

// clientChange says in one word what happens to a file.
func clientChange(f *mwp.ClientFile) string {
	switch {
	case !f.Changed():
		return "none"
	case !f.Existed:
		return "make"
	case !f.Exists:
		return "remove"
	}
	return "change"
}

func (a *app) clientsText(p *mwp.ClientsPlan, cwd string) string {
	done := map[string]string{"make": "made     ", "change": "changed  ", "remove": "removed  ", "none": "kept     "}
	if a.dryRun {
		done = map[string]string{"make": "would make    ", "change": "would change  ", "remove": "would remove  ", "none": "would keep    "}
	}
	var b strings.Builder
	for i := range p.Files {
		f := &p.Files[i]
		b.WriteString(done[clientChange(f)] + ir.EscapeControls(relativeTo(cwd, filepath.Join(p.Root, filepath.FromSlash(f.Path)))))
		switch {
		case f.Changed():
		case a.undo:
			b.WriteString(", where there is nothing to take out")
		default:
			b.WriteString(", which has it already")
		}
		b.WriteByte('\n')
	}
	if a.undo && len(p.Files) == 0 && len(p.Copies) == 0 {
		b.WriteString("There is no file of " + strings.Join(a.clients, ", ") + " here, so there is nothing to take out.\n")
	}
	for _, c := range p.Copies {
		b.WriteString(a.copyText(c))
	}
	if len(p.Notes) > 0 {
		b.WriteString("\nNext:\n")
		for _, n := range p.Notes {
			b.WriteString("  " + n + "\n")
		}
	}
	return b.String()
}

// copyText says what to put where, for a client that reads no file of a project.
func (a *app) copyText(c mwp.ClientCopy) string {
	if a.undo {
		return c.Title + ": take \"mwp\" out of " + strings.Join(c.Where, " or ") + " yourself; mwp does not write there.\n"
	}
	return "\n" + c.Title + " reads no file of a project. Put this into\n  " + strings.Join(c.Where, "\n  or ") + "\n\n" + c.Text
}

func relativeTo(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// initJSON is what init did, for scripts; r is nil when only clients were set up.
func (a *app) initJSON(r *mwp.InitResult, p *mwp.ClientsPlan) []byte {
	var o jsonObject
	list := func(name string, paths []string) {
		quoted := make([]string, len(paths))
		for i, p := range paths {
			quoted[i] = string(ir.AppendString(nil, p))
		}
		o.raw(name, "["+strings.Join(quoted, ", ")+"]")
	}
	if r == nil {
		r = &mwp.InitResult{}
	}
	dir := r.Dir
	if dir == "" {
		dir = p.Root
	}
	o.str("dir", dir)
	o.raw("written", strconv.FormatBool(!a.dryRun))
	list("made", r.Made)
	if r.Kept != "" {
		o.str("kept", r.Kept)
	}
	var files, copies []string
	if p != nil {
		for i := range p.Files {
			f := &p.Files[i]
			var one jsonObject
			one.str("client", f.Client)
			one.str("path", f.Path)
			one.str("change", clientChange(f))
			one.str("diff", clientDiff(f))
			files = append(files, one.line())
		}
		for _, c := range p.Copies {
			var one jsonObject
			one.str("client", c.Client)
			one.str("where", strings.Join(c.Where, "\n"))
			one.str("text", c.Text)
			copies = append(copies, one.line())
		}
	}
	o.raw("clients", "["+strings.Join(files, ", ")+"]")
	o.raw("copies", "["+strings.Join(copies, ", ")+"]")
	return []byte(o.lines())
}
