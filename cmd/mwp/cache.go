package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runCache() error {
	if len(a.words) == 0 {
		return misspelt("see `mwp help cache`", "cache needs one of status, clean, fsck, show, export or import")
	}
	name := a.words[0]
	run := map[string]func(*mwp.Workspace) error{
		"status": a.cacheStatus, "clean": a.cacheClean, "fsck": a.cacheFsck, "show": a.cacheShow, "export": a.cacheExport, "import": a.cacheImport,
	}[name]
	if run == nil {
		return misspelt("see `mwp help cache`", "cache: %s", oneOf(name, cacheChoices))
	}
	// An entry is JSON whatever was asked for, and so are its errors.
	a.json = a.json || name == "show"
	a.words = a.words[1:]
	switch {
	case name == "import" && (len(a.words) == 0 || a.words[0] == ""):
		return misspelt("name the file that `mwp cache export -o FILE` wrote, or - for stdin", "cache import needs an archive")
	case name != "show" && name != "import" && len(a.words) > 0:
		return misspelt("see `mwp help cache`", "cache %s takes no argument, got %d", name, len(a.words))
	case name != "export" && a.output != "":
		return misspelt("see `mwp help cache`", "--output is for cache export")
	case name != "import" && (a.unsigned || a.strict):
		return misspelt("see `mwp help cache`", "--unsigned and --strict are for cache import")
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	return run(ws)
}

func (a *app) cacheStatus(ws *mwp.Workspace) error {
	c, err := ws.Cache(a.ctx)
	if err != nil {
		return err
	}
	s, err := c.Status()
	if err != nil {
		return err
	}
	if a.json {
		return a.print(statusJSON(&s))
	}
	if s.Dir == "" {
		return a.print([]byte("location   none: the root has no .mwp; --cache-dir names one\n"))
	}
	var b []byte
	row := func(name, value string) {
		b = append(b, fmt.Sprintf("%-11s%s\n", name, ir.EscapeControls(value))...)
	}
	row("location", s.Dir)
	row("size", ir.Size(s.Size))
	row("entries", fmt.Sprintf("%d maps, %d parts in %d files", s.Slots, s.Records, s.Segments))
	row("oldest", used(s.Oldest))
	row("newest", used(s.Newest))
	if l := s.Last; l != nil {
		row("last run", fmt.Sprintf("%d of %d nodes were hits, for %s at %s", l.Hits, l.Hits+l.Computed, l.Target, rfc3339(l.At)))
	} else {
		row("last run", "none recorded")
	}
	if s.NotWritable != nil {
		row("writable", "no, so maps are computed each time: "+s.NotWritable.Error())
	} else {
		row("writable", "yes")
	}
	return a.print(b)
}

func statusJSON(s *mwp.CacheStatus) []byte {
	var o jsonObject
	if s.Dir == "" {
		o.raw("location", "null")
	} else {
		o.str("location", s.Dir)
	}
	o.int("size", s.Size)
	o.int("entries", int64(s.Slots+s.Records))
	o.int("maps", int64(s.Slots))
	o.int("parts", int64(s.Records))
	o.int("files", int64(s.Slots+s.Segments))
	o.time("oldest", s.Oldest)
	o.time("newest", s.Newest)
	if l := s.Last; l == nil {
		o.raw("last_run", "null")
	} else {
		var last jsonObject
		last.str("target", l.Target)
		last.int("hits", l.Hits)
		last.int("computed", l.Computed)
		last.int("leaves", l.Leaves)
		last.time("at", l.At)
		o.raw("last_run", last.line())
	}
	o.raw("writable", strconv.FormatBool(s.Dir != "" && s.NotWritable == nil))
	if s.NotWritable != nil {
		o.str("not_writable", s.NotWritable.Error())
	}
	return []byte(o.lines())
}

func (a *app) cacheClean(ws *mwp.Workspace) error {
	c, err := ws.Cache(a.ctx)
	if err != nil {
		return err
	}
	before, err := c.Status()
	if err != nil {
		return err
	}
	if err := c.Clean(); err != nil {
		return err
	}
	after, err := c.Status()
	if err != nil {
		return err
	}
	entries, bytes := before.Slots+before.Records-after.Slots-after.Records, before.Size-after.Size
	if a.json {
		var o jsonObject
		o.int("removed", int64(entries))
		o.int("freed", bytes)
		return a.print([]byte(o.lines()))
	}
	return a.print(fmt.Appendf(nil, "removed %d entries, %s\n", entries, ir.Size(bytes)))
}

func (a *app) cacheFsck(ws *mwp.Workspace) error {
	c, err := ws.Cache(a.ctx)
	if err != nil {
		return err
	}
	r, err := c.Fsck()
	if err != nil {
		return err
	}
	var b []byte
	if a.json {
		var o jsonObject
		o.int("maps", int64(r.Slots))
		o.int("parts", int64(r.Records))
		o.int("bytes", r.Bytes)
		o.int("foreign", int64(r.Foreign))
		list := "["
		for i, p := range r.Problems {
			var e jsonObject
			e.str("path", p.Path)
			e.int("offset", p.Offset)
			e.str("what", p.What)
			if i > 0 {
				list += ", "
			}
			list += e.line()
		}
		o.raw("problems", list+"]")
		b = []byte(o.lines())
	} else {
		for _, p := range r.Problems {
			b = append(append(b, ir.EscapeControls(p.String())...), '\n')
		}
		b = fmt.Appendf(b, "checked %d maps and %d parts, %s: %d problems\n", r.Slots, r.Records, ir.Size(r.Bytes), len(r.Problems))
	}
	if err := a.print(b); err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		a.report(ir.Diagnostic{
			Code: codeDamaged, Severity: ir.SeverityError, Message: "the cache is damaged; what cannot be read is computed again",
			Hint: "`mwp cache clean` removes it",
		})
		return errNegative
	}
	return nil
}

func (a *app) cacheShow(ws *mwp.Workspace) error {
	target, err := a.target()
	if err != nil {
		return err
	}
	b, err := ws.CacheEntry(a.ctx, target)
	if err != nil {
		return err
	}
	return a.print(b)
}

func used(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return "used " + rfc3339(t)
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// jsonObject is a flat JSON object in the order in which it was filled.
type jsonObject struct{ fields []string }

func (o *jsonObject) raw(name, value string) {
	o.fields = append(o.fields, string(ir.AppendString(nil, name))+": "+value)
}

func (o *jsonObject) str(name, value string) { o.raw(name, string(ir.AppendString(nil, value))) }

func (o *jsonObject) int(name string, n int64) { o.raw(name, strconv.FormatInt(n, 10)) }

func (o *jsonObject) time(name string, t time.Time) {
	if t.IsZero() {
		o.raw(name, "null")
		return
	}
	o.str(name, rfc3339(t))
}

func (o *jsonObject) line() string {
	s := "{"
	for i, f := range o.fields {
		if i > 0 {
			s += ", "
		}
		s += f
	}
	return s + "}"
}

func (o *jsonObject) lines() string {
	s := "{\n"
	for i, f := range o.fields {
		if i > 0 {
			s += ",\n"
		}
		s += "  " + f
	}
	return s + "\n}\n"
}
