package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// codeArchiveIgnored is the code of an archive that was not taken.
const codeArchiveIgnored ir.Code = "archive_ignored"

func (a *app) cacheExport(ws *mwp.Workspace) error {
	toStdout := a.output == "" || a.output == "-"
	switch {
	case toStdout && isTerminal(a.stdout):
		return misspelt("write it to a file: mwp cache export -o mwp-cache.bin", "an archive is no text, and stdout is a terminal")
	case toStdout && a.json:
		return misspelt("name the file: mwp cache export -o mwp-cache.bin --json", "the archive and the JSON cannot both go to stdout")
	}
	var b bytes.Buffer
	c, err := ws.ExportCache(a.ctx, &b)
	if err != nil {
		return a.cause(err)
	}
	if err := a.write(b.Bytes()); err != nil {
		return err
	}
	if a.json {
		return a.print(archiveJSON(a.output, c))
	}
	if !a.quiet {
		signed := ", not signed: there is no key"
		if c.Signer != "" {
			signed = ", signed with the key " + c.Signer
		}
		a.note(fmt.Sprintf("exported %d answers and %d parts, %s%s", c.Slots, c.Records, ir.Size(c.Bytes), signed))
	}
	return nil
}

func (a *app) cacheImport(ws *mwp.Workspace) error {
	name := a.words[0]
	in, err := a.openArchive(name)
	if err != nil {
		return err
	}
	c := &mwp.CacheArchive{Ignored: errors.New("it does not exist")}
	if in != nil {
		defer in.Close()
		if c, err = ws.ImportCache(a.ctx, in, a.unsigned); err != nil {
			return a.cause(err)
		}
	}
	if a.json {
		if err := a.print(archiveJSON(name, c)); err != nil {
			return err
		}
	}
	if c.Ignored == nil {
		if !a.json && !a.quiet {
			a.note(fmt.Sprintf("imported %d answers and %d parts, %s", c.Slots, c.Records, ir.Size(c.Bytes)))
		}
		return nil
	}
	d := ir.Diagnostic{
		Code: codeArchiveIgnored, Severity: ir.SeverityWarning, Source: ir.EscapeControls(name),
		Message: "the archive was ignored: " + c.Ignored.Error(), Hint: "nothing is lost: what is missing is computed; `mwp cache export` makes a new one",
	}
	if errors.Is(c.Ignored, mwp.ErrUnsigned) {
		d.Hint = "set MWP_TRUST_KEY to the same secret where it is made and where it is used, or pass --unsigned if you would run code from there too"
	}
	a.report(d)
	if a.strict {
		return errStrict
	}
	return nil
}

// openArchive opens what an argument names, nil when there is no such file: a first run
// has no archive yet.
func (a *app) openArchive(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	file, err := a.file(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, misspelt("name the file that `mwp cache export -o FILE` wrote, or - for stdin", "%s is not a regular file", quoted(name))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, failed(err, "read %s", file)
	}
	return f, nil
}

func archiveJSON(file string, c *mwp.CacheArchive) []byte {
	var o jsonObject
	o.str("file", file)
	o.int("bytes", c.Bytes)
	o.int("maps", int64(c.Slots))
	o.int("parts", int64(c.Records))
	if c.Signer == "" {
		o.raw("signer", "null")
	} else {
		o.str("signer", c.Signer)
	}
	if c.Ignored == nil {
		o.raw("ignored", "null")
	} else {
		o.str("ignored", c.Ignored.Error())
	}
	return []byte(o.lines())
}
