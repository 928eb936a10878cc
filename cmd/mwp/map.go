package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// request returns the question that the flags describe.
func (a *app) request(target string) mwp.Request {
	return mwp.Request{
		Target: target, Format: a.format, NoRoot: a.noRoot, Window: a.window, Overrides: a.overrides,
		Annotate: a.annotate, ASCII: a.ascii, AllowFloating: a.floating, Relative: a.relativeTo(),
	}
}

// relativeTo returns the moment that ages are counted from, zero for times (D-49).
func (a *app) relativeTo() time.Time {
	if !a.relativeTimes {
		return time.Time{}
	}
	if !a.now.IsZero() {
		return a.now
	}
	if t, ok := moment(a.env("SOURCE_DATE_EPOCH")); ok {
		return t
	}
	return time.Now()
}

// target returns the one target, "" for the whole project.
func (a *app) target() (string, error) {
	if len(a.words) == 0 {
		return "", nil
	}
	if a.words[0] == "" {
		return "", usage("name a file or directory, or leave the target out for the whole project", "the target is empty")
	}
	return a.words[0], nil
}

func (a *app) runMap() error {
	if a.each {
		return a.mapEach()
	}
	if n := len(a.words); n > 1 {
		return misspelt("for a JSON array of maps: mwp map --each", "map takes one target, got %d", n)
	}
	target, err := a.target()
	if err != nil {
		return err
	}
	ws, err := a.mapWorkspace()
	if err != nil {
		return err
	}
	if a.verifyMap {
		if err := a.verifyBefore(ws, target); err != nil {
			return err
		}
	}
	r, err := a.mapOf(ws, target)
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}

// mapWorkspace returns the workspace, and with --session the session to send to, which
// is written when the output was.
func (a *app) mapWorkspace() (*mwp.Workspace, error) {
	ws, err := a.workspace()
	if err != nil || a.session == "" {
		return ws, err
	}
	if a.reader, err = ws.LoadSession(a.session); err != nil {
		return nil, err
	}
	a.delivered = func() {
		if err := ws.SaveSession(context.WithoutCancel(a.ctx), a.reader); err != nil {
			d := a.findings(err)[0]
			d.Code, d.Severity = ir.SessionUnusable, ir.SeverityWarning
			d.Message = "session " + a.session + " is not recorded, so its next map repeats this one: " + d.Message
			a.report(d)
		}
	}
	return ws, nil
}

// mapOf answers for one target: the whole map, or what the session lacks.
func (a *app) mapOf(ws *mwp.Workspace, target string) (*mwp.Result, error) {
	if a.reader == nil {
		return ws.Map(a.ctx, a.request(target))
	}
	x, err := ws.Send(a.ctx, a.reader, a.request(target), mwp.SendOptions{Full: a.full})
	if err != nil {
		return nil, err
	}
	x.Delivered()
	return x.Result, nil
}

// mapEach prints one array with the map of every target, or, when one of them has
// none, nothing.
func (a *app) mapEach() error {
	if a.format != mwp.JSON {
		return misspelt("leave --render out", "--each prints JSON")
	}
	if a.verifyMap {
		return misspelt("run `mwp verify` with the targets first", "--verify takes one target")
	}
	ws, err := a.mapWorkspace()
	if err != nil {
		return err
	}
	var results []*mwp.Result
	var first error
	text := []byte("[")
	for i, target := range a.words {
		if target == "" {
			return usage("", "the target is empty")
		}
		r, err := a.mapOf(ws, target)
		if err = a.cause(err); err != nil {
			if first != nil {
				a.reportError(first)
			}
			if first = err; a.ctx.Err() != nil {
				return err
			}
			continue
		}
		if results = append(results, r); i > 0 {
			text = append(text, ',')
		}
		text = append(text, "\n  "...)
		// Line ends inside of strings are escaped, so these are all between tokens.
		text = append(text, bytes.ReplaceAll(bytes.TrimSpace(r.Text), []byte("\n"), []byte("\n  "))...)
	}
	if first != nil {
		return first
	}
	if len(results) > 0 {
		text = append(text, '\n')
	}
	return a.deliver(append(text, "]\n"...), results...)
}

// deliver prints a text, says what was found on the way, and then lets the
// results be recorded: encoding takes longer than answering.
func (a *app) deliver(text []byte, results ...*mwp.Result) error {
	if err := a.write(text); err != nil {
		return err
	}
	if a.delivered != nil {
		a.delivered()
	}
	strict, mismatches := false, int64(0)
	for _, r := range results {
		a.report(r.Notices...)
		strict = strict || (a.strict || r.Strict) && (r.Findings > 0 || r.ReadOnly)
		mismatches += r.Stats.Mismatches
	}
	a.log(results)
	for _, r := range results {
		if err := r.Record(); err != nil {
			a.notKept(err)
			break
		}
	}
	if mismatches > 0 {
		return &mwp.EnvironmentError{Diagnostic: ir.Diagnostic{
			Code: codeMismatch, Severity: ir.SeverityError,
			Message: strconv.FormatInt(mismatches, 10) + " cached values differ from what was computed; the output is the computed one",
			Hint:    "run `mwp cache fsck`; when that finds nothing, please report it with what MWP_DEBUG=hash prints",
		}}
	}
	if strict {
		return errStrict
	}
	return nil
}

// notKept says that an answer was not cached.
func (a *app) notKept(err error) {
	what := "not cached: "
	if errors.Is(err, mwp.ErrNotTrimmed) {
		what = "cached, but the cache could not be trimmed: "
	}
	if !a.quiet {
		a.note(what + mwp.Innermost(err).Error() + " (the answer is complete; see mwp cache status)")
	}
}

// write writes the text to stdout, or to the file that -o names.
func (a *app) write(text []byte) error {
	if a.output == "" || a.output == "-" {
		return a.print(text)
	}
	file, err := a.file(a.output)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && a.uninterruptible != nil {
		// A pipe that nobody reads keeps us waiting for ever.
		a.uninterruptible()
	}
	if err := mwp.WriteFile(file, text); err != nil {
		return failed(err, "write %s", file)
	}
	return nil
}

// file returns the absolute path of a file that the command line names.
func (a *app) file(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := a.dir()
	// Not Join, which takes "link/.." and a final slash for nothing.
	return dir + string(filepath.Separator) + name, err
}

// log writes what -v, -vv and MWP_DEBUG=hash ask for. The order is that of the
// nodes' names: the schedule's is another one each time.
func (a *app) log(results []*mwp.Result) {
	if a.verbose > 0 {
		for _, r := range results {
			a.note(summary(r) + ", " + strconv.FormatInt(time.Since(a.start).Microseconds(), 10) + " µs")
		}
	}
	a.mu.Lock()
	events := a.events
	a.mu.Unlock()
	if a.verbose > 1 {
		lines := make([]string, len(events))
		for i, e := range events {
			lines[i] = mwp.DescribeNode(e) + " " + e.Status.String()
		}
		slices.Sort(lines)
		for _, l := range lines {
			a.note(l)
		}
	}
	if a.debugs("hash") {
		texts := make([]string, len(events))
		for i, e := range events {
			texts[i] = mwp.DescribeKey(e)
		}
		slices.Sort(texts)
		for _, t := range texts {
			a.stderr.Write([]byte(t))
		}
		if len(texts) == 0 {
			a.note("served from its slot, so no node was looked at; --fresh shows every key")
		}
	}
}

// summary says where a result came from.
func summary(r *mwp.Result) string {
	target := r.Target
	if target == "" {
		target = "(project root)"
	}
	count := func(n int64, what string) string { return ", " + strconv.FormatInt(n, 10) + " " + what }
	s := target + ": "
	if r.Served {
		s += "served from its slot"
	} else {
		s += "computed" + count(r.Stats.Hits, "hits") + count(r.Stats.Computed, "computed") + count(r.Stats.Leaves, "leaves")
	}
	if w := r.World; w != nil {
		s += count(w.Lstats.Load(), "lstats") + count(w.FilesRead.Load(), "files read") + count(w.DirsRead.Load(), "directories read")
	}
	return s
}
