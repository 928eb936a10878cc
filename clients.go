package mwp

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/mcp/harness"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// ClientsRequest says which clients are told about mwp, and where (D-114).
type ClientsRequest struct {
	// Dir is a directory of the project, relative to Options.Dir; "" is Options.Dir. The
	// files are those of the nearest anchor at or above it, or of Dir where there is none;
	// with Itself, which is for a directory that is about to be an anchor, those of Dir.
	Dir    string
	Itself bool
	// Clients are names of ClientNames.
	Clients []string
	// Undo takes out what was put in.
	Undo bool
	// Program is the absolute path of mwp, for clients that do not search PATH.
	Program string
	// Home, when set, is the user's home directory, which is no project (D-03).
	Home string
}

// ClientsPlan is what a request comes to. Nothing is written before Write.
type ClientsPlan struct {
	// Root is the absolute directory of the project; Anchored is false when it has no
	// .mwp yet.
	Root     string
	Anchored bool
	// Files are the clients' files in the project, in the order of the request.
	Files []ClientFile
	// Copies are for clients that read no file of a project.
	Copies []ClientCopy
	// Notes are sentences for the person who set up clients, about those that get something.
	Notes []string
	// Left is what --undo leaves, because somebody has changed it.
	Left []ir.Diagnostic
}

// ClientFile is a file of a client before and after.
type ClientFile struct {
	// Client is its name, Path the file's from the root, with slashes.
	Client, Path string
	// Existed and Exists say whether there is a file, before and after.
	Existed, Exists bool
	Before, After   []byte
	perm            fs.FileMode
}

// Changed reports whether Write does something to the file.
func (f *ClientFile) Changed() bool {
	return f.Existed != f.Exists || !bytes.Equal(f.Before, f.After)
}

// ClientCopy is a configuration that a person puts where the client reads it.
type ClientCopy struct {
	Client, Title string
	// Where are the files it can belong to, one for each system.
	Where []string
	// Text is the content of the file when there is nothing else in it.
	Text string
}

// ClientNames returns the clients that PlanClients knows.
func ClientNames() []string { return harness.ClientNames() }

// Codes of what keeps a client's file as it is.
const (
	clientInvalid ir.Code = "client_file_invalid"
	clientDiffers ir.Code = "client_entry_differs"
)

// PlanClients looks at the clients' files and says what to insert, or with Undo what
// to take out. It reads the project and writes nothing. All files that cannot be edited
// are refused at once, and then none is: malformed ones, ones with other entries in the
// place, links, and paths that lead out of the project.
func (w *Workspace) PlanClients(ctx context.Context, q ClientsRequest) (*ClientsPlan, error) {
	p, err := w.clientRoot(ctx, q)
	if err != nil {
		return nil, err
	}
	var refused []ir.Diagnostic
	var seen []string
	for _, name := range q.Clients {
		c, ok := harness.ClientNamed(name, harness.Setup{Root: p.Root, Program: q.Program})
		if !ok {
			return nil, &UsageError{ir.Diagnostic{Code: ir.TargetInvalid, Severity: ir.SeverityError, Message: "there is no client " + name}}
		}
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		planned := len(p.Files)
		if len(c.Files) == 0 {
			p.Copies = append(p.Copies, ClientCopy{c.Name, c.Title, c.Where, string(c.User.New())})
		}
		for _, f := range c.Files {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ds, err := p.plan(c.Name, f, q.Undo)
			if err != nil {
				return nil, err
			}
			refused = append(refused, ds...)
		}
		news := len(c.Files) == 0
		for i := range p.Files[planned:] {
			news = news || p.Files[planned+i].Changed()
		}
		if news && !q.Undo {
			p.Notes = append(p.Notes, c.Notes...)
		}
	}
	if len(refused) > 0 {
		return nil, &Refusal{refused}
	}
	return p, nil
}

// clientRoot finds the project.
func (w *Workspace) clientRoot(ctx context.Context, q ClientsRequest) (*ClientsPlan, error) {
	s := scaffold{ctx: ctx, o: InitOptions{Dir: q.Dir, Home: q.Home}}
	if err := s.locate(w.o.Dir); err != nil {
		return nil, err
	}
	if err := s.look(); err != nil {
		return nil, err
	}
	switch {
	case s.anchor, q.Itself:
		return &ClientsPlan{Root: s.dir, Anchored: s.anchor}, nil
	case len(s.above) > 0:
		return &ClientsPlan{Root: s.above[0].dir, Anchored: true}, nil
	}
	return &ClientsPlan{Root: s.dir}, nil
}

// plan adds the changes of one file, and returns why there can be none.
func (p *ClientsPlan) plan(client string, f harness.File, undo bool) ([]ir.Diagnostic, error) {
	var found []ClientFile
	for _, name := range f.Names {
		c := ClientFile{Client: client, Path: name}
		if err := p.read(&c); err != nil {
			var r *Refusal
			if errors.As(err, &r) {
				return r.Diagnostics, nil
			}
			return nil, err
		}
		if c.Existed {
			found = append(found, c)
		}
	}
	if undo {
		return p.planRemoval(f, found)
	}
	if len(found) == 0 {
		p.Files = append(p.Files, ClientFile{Client: client, Path: f.Names[0], Exists: true, After: f.New(), perm: 0o666})
		return nil, nil
	}
	chosen := -1
	for i := range found {
		c := &found[i]
		after, err := f.Add(c.Before)
		if err != nil {
			return []ir.Diagnostic{p.diagnose(c, err, ir.SeverityError)}, nil
		}
		c.Exists, c.After = true, after
		if chosen < 0 || !c.Changed() {
			chosen = i
		}
	}
	p.Files = append(p.Files, found[chosen])
	return nil, nil
}

func (p *ClientsPlan) planRemoval(f harness.File, found []ClientFile) ([]ir.Diagnostic, error) {
	var refused []ir.Diagnostic
	for _, c := range found {
		after, gone, left, err := f.Remove(c.Before)
		if err != nil {
			refused = append(refused, p.diagnose(&c, err, ir.SeverityError))
			continue
		}
		for _, l := range left {
			p.Left = append(p.Left, p.diagnose(&c, l, ir.SeverityWarning))
		}
		if c.Exists = !gone; !gone {
			c.After = after
		}
		p.Files = append(p.Files, c)
	}
	return refused, nil
}

// diagnose makes a finding of what package harness says about a file.
func (p *ClientsPlan) diagnose(c *ClientFile, err error, severity string) ir.Diagnostic {
	d := ir.Diagnostic{Code: clientInvalid, Severity: severity, Source: p.abs(c.Path), Message: err.Error()}
	var e *harness.Error
	if errors.As(err, &e) {
		d.Line, d.Column, d.Message, d.Hint = e.Line, e.Column, e.Message, e.Hint
		if e.Differs {
			d.Code = clientDiffers
		}
	}
	if d.Hint == "" && d.Code == clientInvalid {
		d.Hint = "correct it, then run the command again; it was left as it is"
	}
	if severity == ir.SeverityWarning {
		d.Message += "; it stays"
		d.Hint = "take it out yourself if it is not wanted"
	}
	return d
}

func (p *ClientsPlan) abs(name string) string {
	return filepath.Join(p.Root, filepath.FromSlash(name))
}

// read fills in what there is of a file. A project is anybody's, so no link is
// followed, to a file or on the way to one, even to another place in the project.
func (p *ClientsPlan) read(c *ClientFile) error {
	for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(p.abs(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil && strings.Contains(dir, "/"):
			// What is above it is no directory, and is looked at next.
		case err != nil:
			return initFailed(err, "look at", p.abs(dir))
		case !info.IsDir():
			return refuse(initRefused, p.abs(dir), moveAway, "expected a directory or nothing, found %s", noun(info.Mode()))
		}
	}
	info, err := os.Lstat(p.abs(c.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return initFailed(err, "look at", p.abs(c.Path))
	case !info.Mode().IsRegular():
		return refuse(initRefused, p.abs(c.Path), moveAway, "expected a regular file or nothing, found %s", noun(info.Mode()))
	}
	c.Existed, c.perm = true, info.Mode().Perm()
	if c.Before, err = readRegular(p.abs(c.Path)); err != nil {
		return readFailed(clientInvalid, err, p.abs(c.Path))
	}
	return nil
}
