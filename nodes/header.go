package nodes

import (
	"errors"
	"math"
	"math/bits"
	"path"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Values of Header.Scope.
const (
	ScopeRecursive = "recursive"
	ScopeLocal     = "local"
)

// Values of ImportRef.Kind.
const (
	ImportLocal     = "local"
	ImportWorkspace = "workspace"
	ImportGit       = "git"
)

// Levels of trust that a guard may declare (D-41).
const (
	TrustBuiltin = "builtin"
	TrustProject = "project"
	TrustAdHoc   = "ad-hoc"
)

// Header is what a context file says about itself. Lines count
// from 1 in the file and are 0 for what it does not say.
type Header struct {
	// Present is set when the file has a header, even an empty one (D-27).
	Present bool
	// Layer is 0 to 4, nil when it is to be inferred (D-17).
	Layer *int
	// Scope is ScopeRecursive or ScopeLocal; the default is filled in.
	Scope string
	// MaxTokens caps this file with what it imports (D-40).
	MaxTokens *int
	Window    *int
	Priority  *int
	Imports   []ImportRef
	Guards    []GuardSpec
	// VerifiedPaths is the file's list, for guards that have none of their own
	// (D-45). HasVerifiedPaths tells an empty list from none, which stands for all
	// source files.
	VerifiedPaths    []PathRef
	HasVerifiedPaths bool
	// Owners is carried and shown, nothing else (D-29).
	Owners []string
	// Module is what a module manifest says beyond that, nil in any other file.
	Module *ModuleHeader

	// SchemaLine is where a YAML context file says which schema it follows (N-02).
	SchemaLine                                                    int
	LayerLine, ScopeLine, MaxTokensLine, WindowLine, PriorityLine int
}

// ModuleHeader is a module manifest's own part of a header (R-105, D-25).
type ModuleHeader struct {
	Name string
	// Version is kept as written: 2.10 is not 2.1.
	Version     string
	Description string
	// Pipelines are paths that the map lists and does not open.
	Pipelines []ImportRef
}

// ImportRef is one import, as written (D-30).
type ImportRef struct {
	Kind string
	// Value is the path or URL. A path may carry a section (D-116); see Target.
	Value string
	// Git is the pin that stands in when a workspace path does not resolve (D-32).
	Git          string
	Line, Column int
	// Refused says why the value can be no import, whatever the files are; its Code
	// is "" for one that can. The rest of the header is as good as without it, so
	// the import alone is left out (D-32).
	Refused ir.Diagnostic
}

// Target returns the clean path of a local or workspace import, "." for the
// directory itself, and the heading after the first '#', "" for the whole file
// (D-116). A '#' in a file's name is written %23.
func (i ImportRef) Target() (file, section string) {
	file, section, _ = strings.Cut(i.Value, "#")
	return path.Clean(strings.ReplaceAll(file, "%23", "#")), strings.TrimSpace(section)
}

// GuardSpec is one guard, as written: a command as text or as a list of words,
// or one of the checks that run nothing (D-113).
type GuardSpec struct {
	// Name is the author's label (D-97).
	Name string
	Cmd  string
	Argv []string
	// CacheFor and Timeout are nil where the defaults apply (D-44, D-86). A
	// CacheFor of zero is stale at once.
	CacheFor, Timeout *time.Duration
	// Trust may lower the trust a guard has, never raise it (D-41).
	Trust string
	// VerifiedPaths replaces the file's list when HasVerifiedPaths is set (D-45).
	VerifiedPaths              []PathRef
	HasVerifiedPaths           bool
	Exists                     string
	ContainsPath, ContainsText string
	// Script is "npm:NAME" or "make:NAME".
	Script string
	Line   int
}

// PathRef is a path that a header names, with its line.
type PathRef struct {
	Path string
	Line int
}

func codeHeader(c *cas.Coder, h *Header) {
	c.Bool(&h.Present)
	cas.Optional(c, &h.Layer, (*cas.Coder).Int)
	c.String(&h.Scope)
	cas.Optional(c, &h.MaxTokens, (*cas.Coder).Int)
	cas.Optional(c, &h.Window, (*cas.Coder).Int)
	cas.Optional(c, &h.Priority, (*cas.Coder).Int)
	cas.Slice(c, &h.Imports, codeImportRef)
	cas.Slice(c, &h.Guards, codeGuardSpec)
	cas.Slice(c, &h.VerifiedPaths, codePathRef)
	c.Bool(&h.HasVerifiedPaths)
	c.Strings(&h.Owners)
	cas.Optional(c, &h.Module, func(c *cas.Coder, m *ModuleHeader) {
		c.String(&m.Name)
		c.String(&m.Version)
		c.String(&m.Description)
		cas.Slice(c, &m.Pipelines, codeImportRef)
	})
	for _, line := range []*int{&h.LayerLine, &h.ScopeLine, &h.MaxTokensLine, &h.WindowLine, &h.PriorityLine, &h.SchemaLine} {
		c.Int(line)
	}
}

func codeImportRef(c *cas.Coder, i *ImportRef) {
	c.String(&i.Kind)
	c.String(&i.Value)
	c.String(&i.Git)
	c.Int(&i.Line)
	c.Int(&i.Column)
	refused := i.Refused.Code != ""
	if c.Bool(&refused); refused {
		codeDiagnostic(c, &i.Refused)
	}
}

func codeGuardSpec(c *cas.Coder, g *GuardSpec) {
	c.String(&g.Name)
	c.String(&g.Cmd)
	c.Strings(&g.Argv)
	cas.Optional(c, &g.CacheFor, codeDuration)
	cas.Optional(c, &g.Timeout, codeDuration)
	c.String(&g.Trust)
	cas.Slice(c, &g.VerifiedPaths, codePathRef)
	c.Bool(&g.HasVerifiedPaths)
	c.String(&g.Exists)
	c.String(&g.ContainsPath)
	c.String(&g.ContainsText)
	c.String(&g.Script)
	c.Int(&g.Line)
}

func codePathRef(c *cas.Coder, p *PathRef) {
	c.String(&p.Path)
	c.Int(&p.Line)
}

func codeDuration(c *cas.Coder, d *time.Duration) { c.Int64((*int64)(d)) }

// ParseDuration reads a duration in Go's syntax with the units d (24h) and w (7d)
// added (D-28): "10m", "1h30m", "1.5d", "0". It computes in integers, as a
// fraction of a float would differ between processors.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if s == "" {
		return 0, errors.New("not a duration")
	}
	var total uint64
	for s != "" {
		whole, rest := leadingDigits(s)
		fraction := ""
		if after, ok := strings.CutPrefix(rest, "."); ok {
			fraction, rest = leadingDigits(after)
		}
		if whole == "" && fraction == "" {
			return 0, errors.New("not a duration")
		}
		unit, width := durationUnit(rest)
		if unit == 0 {
			return 0, errors.New("not a duration")
		}
		s = rest[width:]
		part, ok := scaled(whole, fraction, unit)
		if total += part; !ok || total > math.MaxInt64 {
			// 2^63 nanoseconds.
			return 0, errors.New("longer than 15250w")
		}
	}
	return time.Duration(total), nil
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// durationUnit returns the unit that s begins with and its width in bytes. Longer
// names come first, because "m" begins "ms".
func durationUnit(s string) (uint64, int) {
	for _, u := range [...]struct {
		name string
		size time.Duration
	}{
		{"ns", time.Nanosecond},
		{"us", time.Microsecond}, {"µs", time.Microsecond}, {"μs", time.Microsecond},
		{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour},
		{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour},
	} {
		if strings.HasPrefix(s, u.name) {
			return uint64(u.size), len(u.name)
		}
	}
	return 0, 0
}

// scaled returns whole.fraction times unit, and false when that does not fit.
func scaled(whole, fraction string, unit uint64) (uint64, bool) {
	n, ok := decimal(whole)
	hi, lo := bits.Mul64(n, unit)
	if !ok || hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	// Eighteen digits are finer than a nanosecond of a week.
	if len(fraction) > 18 {
		fraction = fraction[:18]
	}
	if fraction == "" {
		return lo, true
	}
	f, _ := decimal(fraction)
	scale := uint64(1)
	for range fraction {
		scale *= 10
	}
	hi, flo := bits.Mul64(f, unit)
	q, _ := bits.Div64(hi, flo, scale)
	return lo + q, true
}

func decimal(digits string) (n uint64, ok bool) {
	for i := range len(digits) {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n = n*10 + uint64(digits[i]-'0')
	}
	return n, true
}
