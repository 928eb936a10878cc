package nodes

import (
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Candidate is one thing that the resolution looked at.
type Candidate struct {
	ID, Source, Name string
	// Real and Syntax say where the body is, Section which part of it; Text is the
	// body of an anchor's entry, which is generated.
	Real    string
	Syntax  Syntax
	Section string
	Text    string
	Anchor  bool
	// Dir is the directory of the cascade that the candidate belongs to, Depth how
	// deep that lies, ImportDepth how many imports lead here from there.
	Dir                string
	Depth, ImportDepth int
	// Chain is the sources from the cascade to the direct importer, root first.
	Chain []string
	// Origin names the module that the text comes from, nil for the project's own.
	Origin *ir.Origin

	// Placed is set when a layer was assigned.
	Placed    bool
	Layer     int
	Priority  int
	Scope     string
	MaxTokens OptionalInt
	Owners    []string
	// Guards are the places of the candidate's guards in LayersValue.Guards; only an
	// included one has any. declared are those guards before outcomes are known.
	Guards     []int
	declared   []Guard
	Status     string
	Reason     string
	Rule       string
	Declared   string
	Duplicates string
}

func codeCandidate(c *cas.Coder, k *Candidate) {
	for _, s := range []*string{&k.ID, &k.Source, &k.Name, &k.Real, &k.Section, &k.Text, &k.Dir, &k.Scope, &k.Status, &k.Reason, &k.Rule, &k.Declared, &k.Duplicates} {
		c.String(s)
	}
	k.Syntax.code(c)
	c.Bool(&k.Anchor)
	c.Bool(&k.Placed)
	for _, n := range []*int{&k.Layer, &k.Priority, &k.Depth, &k.ImportDepth} {
		c.Int(n)
	}
	k.MaxTokens.code(c)
	c.Strings(&k.Owners)
	c.Strings(&k.Chain)
	cas.Slice(c, &k.Guards, (*cas.Coder).Int)
	cas.Optional(c, &k.Origin, codeOrigin)
}

// key identifies the text that a candidate carries, "" when nothing else can carry
// it (D-37).
func (k *Candidate) key() string {
	if k.Real == "" {
		return ""
	}
	return k.Real + "\x00" + k.Section
}

// foreign reports text from a module.
func (k *Candidate) foreign() bool { return k.Origin != nil }

// candidate returns the context file as a candidate. Its status is set when it
// is out already.
func (c *located) candidate(base int, project string) Candidate {
	k := Candidate{
		ID: c.dir, Source: c.Path, Real: c.Real, Syntax: c.Syntax, Dir: c.dir, Depth: c.depth,
		Scope: c.Header.Scope, Priority: defaultPriority, Owners: c.Header.Owners,
		Reason: "context file on the path to the target", Rule: "cascade",
	}
	if c.dir == "." {
		k.ID = c.Path
	}
	switch {
	case c.Skipped != "":
		k.leaveOut(ir.Boundary, "boundary", fmt.Sprintf("%s closes this directory; the cascade resumes at the member below it", c.Skipped))
		return k
	case c.Shadowed:
		k.leaveOut(ir.Shadowed, "yaml-first", "a YAML context file stands beside it and wins")
		return k
	}
	k.Placed = true
	if c.Header.Priority != nil {
		k.Priority = *c.Header.Priority
	}
	if c.Header.MaxTokens != nil {
		k.MaxTokens = OptionalInt{Set: true, Value: *c.Header.MaxTokens}
	}
	if c.Header.Layer != nil {
		k.Layer = *c.Header.Layer
		k.Reason += fmt.Sprintf("; layer %d (declared in line %d)", k.Layer, c.Header.LayerLine)
	} else {
		limit := 2
		if within(project, c.dir) {
			limit = 1
		}
		k.Layer = max(0, min(c.depth-base, limit))
		k.Reason += fmt.Sprintf("; layer %d (inferred: depth %d, base %d)", k.Layer, c.depth, base)
	}
	if c.Empty && len(c.Header.Guards) == 0 {
		k.leaveOut(ir.Empty, "empty", k.Reason+"; it has no body, so there is nothing to show")
	}
	return k
}
