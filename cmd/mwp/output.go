package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"golang.org/x/term"
)

// print writes a result with one call, so that a reader never sees a part of it
// because of us.
func (a *app) print(text []byte) error {
	if a.uninterruptible != nil {
		// A reader may keep us waiting for ever.
		a.uninterruptible()
	}
	_, err := a.stdout.Write(text)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return errPipe
	}
	return failed(err, "write the result")
}

// note writes a line of the log that -v asks for.
func (a *app) note(text string) {
	io.WriteString(a.stderr, "mwp: "+ir.EscapeControls(text)+"\n")
}

func (a *app) reportError(err error) {
	ds := a.findings(err)
	if a.invocation == nil || errors.As(err, new(*usageSpelling)) {
		a.reportAs(a.invocation != nil && a.saidJSON, ds)
		return
	}
	a.report(ds...)
}

// report writes findings to stderr: text for people, one JSON object a line where
// the output is JSON (U-02, U-03). Under -q only errors are written.
func (a *app) report(ds ...ir.Diagnostic) {
	a.reportAs(a.invocation != nil && a.wantsJSON(), ds)
}

func (a *app) reportAs(json bool, ds []ir.Diagnostic) {
	var b []byte
	color := !json && len(ds) > 0 && a.colors(a.stderr)
	for i := range ds {
		d := &ds[i]
		switch {
		case a.quiet && d.Severity != ir.SeverityError:
		case json:
			b = append(b, oneLine(ir.AppendDiagnosticJSON(nil, d))...)
		case color:
			b = append(b, paint(d)...)
		default:
			b = append(append(b, d.String()...), '\n')
		}
	}
	if len(b) > 0 {
		a.stderr.Write(b)
	}
}

// oneLine puts an indented JSON object on one line. Line ends inside of strings
// are escaped, so every one in the text is between tokens.
func oneLine(object []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(object), []byte("\n"))
	var b []byte
	for i, l := range lines {
		if l = bytes.TrimLeft(l, " "); i > 1 && i < len(lines)-1 {
			b = append(b, ' ')
		}
		b = append(b, l...)
	}
	return append(b, '\n')
}

// paint returns a finding as ir.Diagnostic.String writes it, with colours that
// repeat what the words say.
func paint(d *ir.Diagnostic) string {
	code := "33" // yellow
	switch d.Severity {
	case ir.SeverityError:
		code = "31" // red
	case ir.SeverityNote:
		code = "36" // cyan
	}
	head, rest, _ := strings.Cut(d.String(), "]: ")
	rest, hint, hinted := strings.Cut(rest, "\nhint: ")
	s := "\x1b[1;" + code + "m" + head + "]\x1b[0m: " + rest + "\n"
	if hinted {
		s += "\x1b[1mhint\x1b[0m: " + hint + "\n"
	}
	return s
}

// colors decides whether a stream gets colours (U-07).
func (a *app) colors(w io.Writer) bool {
	switch {
	case a.color == "always":
		return true
	case a.color == "never", a.env("NO_COLOR") != "" && a.color != "always":
		return false
	case a.env("CLICOLOR_FORCE") != "" && a.env("CLICOLOR_FORCE") != "0":
		return true
	case a.env("TERM") == "dumb":
		return false
	}
	return isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
