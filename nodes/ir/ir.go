// Package ir defines the workspace map as plain values: the intermediate
// representation (IR) that every renderer, the command line, the MCP server and
// CI consume, schema version 1 (R-171 to R-177, D-57).
//
// It holds types, their fixed JSON order and the diagnostic codes, and nothing
// that computes a map. It imports the standard library only and may not touch
// files, so that a renderer built on it cannot either.
package ir

import "strconv"

// SchemaVersion is the IR's version. A change of meaning of a field of the
// proposal's section 8 would need a new one; additive fields do not (D-57).
const SchemaVersion = "1"

// Kinds of a map (D-11).
const (
	KindOrientation = "orientation"
	KindFocused     = "focused"
)

// LayerCount is the number of layers, L0 to L4.
const LayerCount = 5

// Map is one workspace map. Slices are never nil in the JSON: an empty one
// prints as [] (U-39).
type Map struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is KindOrientation or KindFocused.
	Kind string `json:"kind"`
	// Target is relative to the workspace root, '/'-separated, without a trailing
	// slash; nil for an orientation map.
	Target *string `json:"target"`
	// Root is the absolute path of the workspace root. It is added when the map
	// is printed and is part of no key and no hash (D-49).
	Root            string           `json:"root,omitempty"`
	Anchors         Anchors          `json:"anchors"`
	ReadOnly        bool             `json:"read_only"`
	Layers          Layers           `json:"layers"`
	Directories     []Directory      `json:"directories"`
	SubApplications []SubApplication `json:"sub_applications"`
	Intents         []Listed         `json:"intents"`
	Pipelines       []Listed         `json:"pipelines"`
	Notes           []Listed         `json:"notes"`
	// Modules lists the modules that the map draws on, in the order in which its
	// imports name them.
	Modules []Module `json:"modules"`
	// Signals is nil, and not in the JSON, unless [signals] asks for it (D-83).
	Signals []Signal `json:"signals,omitzero"`
	Budgets Budgets  `json:"budgets"`
	// TokenCounter names the counter behind every token number (D-39).
	TokenCounter  string         `json:"token_counter"`
	Totals        Totals         `json:"totals"`
	Verifications []Verification `json:"verifications"`
	Trace         []TraceRecord  `json:"trace"`
	Warnings      []Diagnostic   `json:"warnings"`
	Delta         *Delta         `json:"delta"`
	// IRHash is "blake3:" and the digest of the JSON text without root, delta and
	// ir_hash (AppendJSON with HashedForm).
	IRHash string `json:"ir_hash"`
}

// Anchors names the files that anchor the map, relative to the root; "" when
// there is none (a root found by .git or --root, D-04).
type Anchors struct {
	Workspace string `json:"workspace"`
	Project   string `json:"project"`
}

// Layers holds the entries by layer, each in map order (D-22).
type Layers struct {
	L0 []Entry `json:"l0"`
	L1 []Entry `json:"l1"`
	L2 []Entry `json:"l2"`
	L3 []Entry `json:"l3"`
	L4 []Entry `json:"l4"`
}

// At returns the slice of layer i (0 to 4) for reading or appending.
func (l *Layers) At(i int) *[]Entry {
	return [LayerCount]*[]Entry{&l.L0, &l.L1, &l.L2, &l.L3, &l.L4}[i]
}

// All returns every entry in map order.
func (l *Layers) All() []*Entry {
	var all []*Entry
	for i := range LayerCount {
		es := *l.At(i)
		for j := range es {
			all = append(all, &es[j])
		}
	}
	return all
}

// Entry is one body in the map: a context file, an anchor's own description, or
// an imported file.
type Entry struct {
	// ID is the key of delta delivery (D-62): "." for the root anchor, the
	// directory for a cascade context, the path for everything else.
	ID string `json:"id"`
	// Source is the file, relative to the root.
	Source string `json:"source"`
	// Name is the member's or project's name for an anchor's entry, else "".
	Name     string `json:"name"`
	Layer    int    `json:"layer"`
	Priority int    `json:"priority"`
	// Tokens counts BodyMarkdown with the map's token counter.
	Tokens int `json:"tokens"`
	// Scope is "recursive" or "local".
	Scope        string   `json:"scope"`
	ImportsChain []string `json:"imports_chain"`
	// Section is the heading of the part that was imported, "" for a whole file
	// (D-116).
	Section string `json:"section"`
	// BodyMarkdown is the author's text, verbatim but for line ends (D-27).
	BodyMarkdown string `json:"body_markdown"`
	// GuardStatus is passed, failed, stale or unverified; nil without guards.
	GuardStatus *string  `json:"guard_status"`
	Owners      []string `json:"owners"`
	// Origin is set for text that came from a git module.
	Origin *Origin `json:"origin"`
	Guards []Guard `json:"guards"`
}

// Origin says which module foreign text came from (D-59). URL, Ref and SHA are ""
// for a module that lies in the project's own tree.
type Origin struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	URL     string `json:"url"`
	Ref     string `json:"ref"`
	SHA     string `json:"sha"`
	// Path is the file as the module names it.
	Path string `json:"path"`
}

// Module is one module that the map draws on (D-25). URL carries no user name and
// no password; URL, Ref and SHA are "" for a module in the project's own tree.
type Module struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	// Source is the file that makes it a module.
	Source string `json:"source"`
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	SHA    string `json:"sha"`
}

// Directory is a member or a first-level directory that carries an anchor or a
// context file, as an orientation map lists it (D-11).
type Directory struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Role string `json:"role"`
	// Reason is "member", "anchor" or "context".
	Reason string `json:"reason"`
}

// SubApplication is a directory owned by another tool's instruction file
// (D-21). Excerpt is filled only under boundary mode "soft" (N-05).
type SubApplication struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Role    string `json:"role"`
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt"`
}

// Listed is a file that the map names and does not open: an intent, a pipeline
// or a project note (D-55, D-94).
type Listed struct {
	Path string `json:"path"`
	// Module is the module that brought a pipeline, else "".
	Module string `json:"module,omitempty"`
}

// What a Signal is to the target: its test, or what it tests.
const (
	SignalTest   = "test"
	SignalSource = "source"
)

// Signal is a file that belongs to the target by its name. Nobody declared it and
// nothing opened it, so it is no entry of a layer (D-83).
type Signal struct {
	// Kind is SignalTest or SignalSource.
	Kind string `json:"kind"`
	Path string `json:"path"`
	// Rule is the convention that names the file, a star for the source's name.
	Rule string `json:"rule"`
}

// Budgets holds the token caps by layer; nil means no cap (D-38).
type Budgets struct {
	L0 *int `json:"l0"`
	L1 *int `json:"l1"`
	L2 *int `json:"l2"`
	L3 *int `json:"l3"`
	L4 *int `json:"l4"`
}

// At returns the cap of layer i (0 to 4).
func (b *Budgets) At(i int) **int {
	return [LayerCount]**int{&b.L0, &b.L1, &b.L2, &b.L3, &b.L4}[i]
}

// Totals sums the entries' tokens by layer. RenderedTokens counts the whole
// canonical Markdown text, headings and preamble included (D-39).
type Totals struct {
	L0             int `json:"l0"`
	L1             int `json:"l1"`
	L2             int `json:"l2"`
	L3             int `json:"l3"`
	L4             int `json:"l4"`
	All            int `json:"all"`
	RenderedTokens int `json:"rendered_tokens"`
}

// At returns the sum of layer i (0 to 4).
func (t *Totals) At(i int) *int {
	return [LayerCount]*int{&t.L0, &t.L1, &t.L2, &t.L3, &t.L4}[i]
}

// Outcomes of a candidate (D-110). Every candidate the resolution looked at
// ends in exactly one of them.
const (
	Included         = "included"
	Deduplicated     = "deduplicated"
	ExcludedByWindow = "excluded_by_window"
	ExcludedByScope  = "excluded_by_scope"
	DroppedByBudget  = "dropped_by_budget"
	Unresolved       = "unresolved"
	// Expanded is a module's manifest: what it lists follows, it adds no text.
	Expanded       = "expanded"
	Empty          = "empty"
	Shadowed       = "shadowed"
	Boundary       = "boundary"
	ExcludedByKind = "excluded_by_kind"
	Failed         = "error"
)

// TraceRecord is the account of one candidate (D-56, D-110).
type TraceRecord struct {
	Source string `json:"source"`
	// SourcePath repeats Source: the proposal spells the field both ways.
	SourcePath string `json:"source_path"`
	// Layer is nil where no layer was assigned (a boundary, an unresolved import).
	Layer    *int `json:"layer"`
	Priority *int `json:"priority"`
	// Reason is a sentence for people; Rule is the short name of the rule that
	// decided.
	Reason       string   `json:"reason"`
	Rule         string   `json:"rule"`
	ImportsChain []string `json:"imports_chain"`
	Tokens       int      `json:"tokens"`
	Status       string   `json:"status"`
	// ByteRange is the half-open range of the verbatim body in the canonical
	// Markdown render, in bytes; nil when the entry is not in it.
	ByteRange *[2]int `json:"byte_range_in_output"`
	// DeduplicatedBy names the source that won, when Status is deduplicated.
	DeduplicatedBy string `json:"deduplicated_by,omitempty"`
	// Declared is the path:line that named this candidate, "" for the cascade.
	Declared string `json:"declared,omitempty"`
	// Digest is "blake3:" and the digest of the body as the map carries it, "" for
	// what was left out before it was read.
	Digest string   `json:"digest,omitempty"`
	Owners []string `json:"owners"`
	// ID is Entry.ID of the candidate. It is not in the JSON.
	ID string `json:"-"`
}

// Modes of a delivery and the reasons for a full one (D-62, D-63).
const (
	DeliverFull  = "full"
	DeliverDelta = "delta"

	DeliverFirst    = "first"
	DeliverRepeated = "repeat"
	DeliverAsked    = "asked"
)

// Delta says what a session's earlier answers already carried (D-62, D-115). The map
// around it has the entries that are sent; its totals, trace and hash are those of the
// whole map.
type Delta struct {
	// Session is the id that the caller gave, "" for a server's own.
	Session string `json:"session"`
	// Mode is DeliverFull or DeliverDelta; Reason says why all is sent, "" for a delta.
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
	// Sent and Skipped are keys (Entry.ID) in map order; Changed are those of Sent that
	// the reader had in another form.
	Sent    []string `json:"sent"`
	Skipped []string `json:"skipped"`
	Changed []string `json:"changed"`
	// LeftOut describes the skipped entries, in the same order.
	LeftOut []LeftOut `json:"left_out"`
	// Withdrawn are entries that the reader has and that hold no longer for the target.
	Withdrawn []Withdrawn `json:"withdrawn"`
	// Elsewhere is the root of the map when it is not the session's, relative to that where
	// it lies in it, "" otherwise: of what was delivered nothing belongs to such a map.
	Elsewhere string `json:"elsewhere"`
	// Shell is set for a reader who has a shell and no tools. It is not in the JSON.
	Shell bool `json:"-"`
	// Whole holds the entries of the whole map, for what a text says of it in headings
	// and banners. It is not in the JSON; nil stands for the layers around the delta.
	Whole *Layers `json:"-"`
}

// LeftOut is an entry that a delta does not repeat.
type LeftOut struct {
	Key    string `json:"key"`
	Source string `json:"source"`
	Layer  int    `json:"layer"`
	Tokens int    `json:"tokens"`
	// Hash is "blake3:" and the digest of what the reader has.
	Hash string `json:"hash"`
	// Call is the call that carried it.
	Call string `json:"call"`
}

// Withdrawn is an entry that was delivered and is gone.
type Withdrawn struct {
	Key    string `json:"key"`
	Source string `json:"source"`
}

// LayerName returns "L0" to "L4".
func LayerName(i int) string { return "L" + strconv.Itoa(i) }
