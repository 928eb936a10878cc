package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// The IR's canonical encoding. It lives here because nodes/ir imports the
// standard library only.

func codeIR(c *cas.Coder, m *ir.Map) {
	c.String(&m.SchemaVersion)
	c.String(&m.Kind)
	cas.Optional(c, &m.Target, (*cas.Coder).String)
	c.String(&m.Anchors.Workspace)
	c.String(&m.Anchors.Project)
	c.Bool(&m.ReadOnly)
	for i := range ir.LayerCount {
		cas.Slice(c, m.Layers.At(i), codeEntry)
	}
	cas.Slice(c, &m.Directories, codeDirectory)
	cas.Slice(c, &m.SubApplications, codeSubApplication)
	for _, l := range []*[]ir.Listed{&m.Intents, &m.Pipelines, &m.Notes} {
		cas.Slice(c, l, codeListed)
	}
	cas.Slice(c, &m.Modules, codeModule)
	codeSignals(c, &m.Signals)
	for i := range ir.LayerCount {
		cas.Optional(c, m.Budgets.At(i), (*cas.Coder).Int)
		c.Int(m.Totals.At(i))
	}
	c.Int(&m.Totals.All)
	c.Int(&m.Totals.RenderedTokens)
	c.String(&m.TokenCounter)
	cas.Slice(c, &m.Verifications, codeVerification)
	cas.Slice(c, &m.Trace, codeTraceRecord)
	cas.Slice(c, &m.Warnings, codeDiagnostic)
	c.String(&m.IRHash)
}

func codeEntry(c *cas.Coder, e *ir.Entry) {
	c.String(&e.ID)
	c.String(&e.Source)
	c.String(&e.Name)
	c.Int(&e.Layer)
	c.Int(&e.Priority)
	c.Int(&e.Tokens)
	c.String(&e.Scope)
	c.Strings(&e.ImportsChain)
	c.String(&e.BodyMarkdown)
	cas.Optional(c, &e.GuardStatus, (*cas.Coder).String)
	c.Strings(&e.Owners)
	c.String(&e.Section)
	cas.Optional(c, &e.Origin, codeOrigin)
	cas.Slice(c, &e.Guards, func(c *cas.Coder, g *ir.Guard) {
		for _, s := range []*string{&g.Key, &g.Name, &g.Cmd, &g.Status} {
			c.String(s)
		}
	})
}

func codeVerification(c *cas.Coder, v *ir.Verification) {
	for _, s := range []*string{&v.Key, &v.Guard, &v.Status, &v.RanAt, &v.CacheUntil, &v.Fingerprint, &v.Cwd, &v.DeclaredIn, &v.Name, &v.Reason} {
		c.String(s)
	}
	cas.Optional(c, &v.ExitCode, (*cas.Coder).Int)
	c.Int64(&v.DurationMS)
	c.Bool(&v.Expired)
	c.Bool(&v.FilesChanged)
	cas.Optional(c, &v.Override, func(c *cas.Coder, o *ir.Override) { c.String(&o.Reason); c.String(&o.Until) })
}

func codeOrigin(c *cas.Coder, o *ir.Origin) {
	for _, s := range []*string{&o.Module, &o.Version, &o.URL, &o.Ref, &o.SHA, &o.Path} {
		c.String(s)
	}
}

func codeModule(c *cas.Coder, m *ir.Module) {
	for _, s := range []*string{&m.Name, &m.Version, &m.Description, &m.Source, &m.URL, &m.Ref, &m.SHA} {
		c.String(s)
	}
}

func codeTraceRecord(c *cas.Coder, t *ir.TraceRecord) {
	c.String(&t.Source)
	if c.Decoding() {
		t.SourcePath = t.Source
	}
	cas.Optional(c, &t.Layer, (*cas.Coder).Int)
	cas.Optional(c, &t.Priority, (*cas.Coder).Int)
	c.String(&t.Reason)
	c.String(&t.Rule)
	c.Strings(&t.ImportsChain)
	c.Int(&t.Tokens)
	c.String(&t.Status)
	cas.Optional(c, &t.ByteRange, func(c *cas.Coder, r *[2]int) {
		c.Int(&r[0])
		c.Int(&r[1])
	})
	c.String(&t.DeduplicatedBy)
	c.String(&t.Declared)
	c.String(&t.Digest)
	c.Strings(&t.Owners)
	c.String(&t.ID)
}

func codeListed(c *cas.Coder, l *ir.Listed) {
	c.String(&l.Path)
	c.String(&l.Module)
}

// codeSignals keeps an empty list apart from none: one was looked for.
func codeSignals(c *cas.Coder, l *[]ir.Signal) {
	on := *l != nil
	if c.Bool(&on); !on {
		return
	}
	if cas.Slice(c, l, codeSignal); *l == nil {
		*l = []ir.Signal{}
	}
}

func codeSignal(c *cas.Coder, s *ir.Signal) {
	for _, t := range []*string{&s.Kind, &s.Path, &s.Rule} {
		c.String(t)
	}
}

func codeDirectory(c *cas.Coder, d *ir.Directory) {
	for _, s := range []*string{&d.Name, &d.Path, &d.Role, &d.Reason} {
		c.String(s)
	}
}

func codeSubApplication(c *cas.Coder, a *ir.SubApplication) {
	for _, s := range []*string{&a.Name, &a.Path, &a.Role, &a.Reason, &a.Excerpt} {
		c.String(s)
	}
}
