package ir

import (
	"sort"
	"strconv"
	"strings"
)

// Severity of a diagnostic.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityNote    = "note"
)

// Code is a diagnostic code of the specification's appendix B. The names are
// part of the contract: scripts match on them.
type Code string

// Codes that refuse a map.
const (
	NoRoot                  Code = "no_root"
	TargetOutsideRoot       Code = "target_outside_root"
	TargetInState           Code = "target_in_state"
	BoundaryUninitialised   Code = "boundary_uninitialised"
	ConfigInvalid           Code = "config_invalid"
	FrontmatterInvalid      Code = "frontmatter_invalid"
	FrontmatterUnterminated Code = "frontmatter_unterminated"
	EncodingInvalid         Code = "encoding_invalid"
	ContextNotRegular       Code = "context_not_regular"
	ImportKindInvalid       Code = "import_kind_invalid"
	ImportCycle             Code = "import_cycle"
	LockInvalid             Code = "lock_invalid"
	TagMoved                Code = "tag_moved"
	ModuleModified          Code = "module_modified"
	LimitExceeded           Code = "limit_exceeded"
	TwoContextFiles         Code = "two_context_files"
	LinkLoop                Code = "link_loop"
	Unreadable              Code = "unreadable"
	TargetInvalid           Code = "target_invalid"
	SessionInvalid          Code = "session_invalid"
	SessionUnknown          Code = "session_unknown"
	SessionUnusable         Code = "session_unusable"
	NotAnchored             Code = "not_anchored"
)

// Codes that appear in a map's warnings.
const (
	BudgetOverrun         Code = "budget_overrun"
	MaxTokensOverrun      Code = "max_tokens_overrun"
	ConfigUnknownKey      Code = "config_unknown_key"
	FrontmatterUnknownKey Code = "frontmatter_unknown_key"
	NotAMember            Code = "not_a_member"
	TargetMissing         Code = "target_missing"
	StaleContextMD        Code = "stale_context_md"
	TokenizerDisagrees    Code = "tokenizer_disagrees"
	LargeContext          Code = "large_context"
)

// Codes of imports that are left out of a map, which then names them (D-32), and
// of what is odd about those that are in it.
const (
	UnresolvedImport      Code = "unresolved_import"
	ImportEscapes         Code = "import_escapes"
	ImportEscapesRoot     Code = "import_escapes_root"
	ImportAbsolute        Code = "import_absolute"
	SectionUnknown        Code = "section_unknown"
	FloatingRef           Code = "floating_ref"
	ModuleVersionConflict Code = "module_version_conflict"
	HiddenText            Code = "hidden_text"
	ImplicitMember        Code = "implicit_member"
	ScopeIgnored          Code = "scope_ignored"
	NonMarkdownImport     Code = "non_markdown_import"
	ImportUnclean         Code = "import_unclean"
	ImportSecret          Code = "import_secret"
	ModuleNote            Code = "module_note"
	ModuleEmpty           Code = "module_empty"
	LFSPointer            Code = "lfs_pointer"
)

// Codes that only lint reports (R-232 to R-236, D-79).
const (
	ContextBesideInstructions Code = "context_beside_instructions"
	RootContext               Code = "root_context"
	ContextNameCase           Code = "context_name_case"
	ContextClosed             Code = "context_closed"
	MapPasted                 Code = "map_pasted"
	ExampleText               Code = "example_text"
	MaxTokensNoEffect         Code = "max_tokens_no_effect"
	SchemaMissing             Code = "schema_missing"
	MemberMissing             Code = "member_missing"
	DirectoryMissing          Code = "directory_missing"
	VerifiedPathMissing       Code = "verified_path_missing"
	GuardScriptMissing        Code = "guard_script_missing"
	GuardScriptIgnored        Code = "guard_script_ignored"
	GuardScriptMode           Code = "guard_script_mode"
	NestedWorkspace           Code = "nested_workspace"
	LockUnused                Code = "lock_unused"
	HarnessCap                Code = "harness_cap"
)

// Codes of guards and of the files that keep what was learned of them (D-44, D-47,
// D-87).
const (
	GuardFailed     Code = "guard_failed"
	GuardInvalid    Code = "guard_invalid"
	GuardStale      Code = "guard_stale"
	GuardUnverified Code = "guard_unverified"
	GuardNotTrusted Code = "guard_not_trusted"
	TrustMismatch   Code = "trust_mismatch"
	RecordDamaged   Code = "record_damaged"
	TrustDamaged    Code = "trust_damaged"
	VerifyInGuard   Code = "verify_in_guard"
	OverrideRefused Code = "override_refused"
	ResultsNotKept  Code = "results_not_kept"
)

// Diagnostic is one finding about the inputs: an error that refuses the map, or
// a warning that travels in it. Source is relative to the root; Line and Column
// count from 1 and are 0 when unknown.
type Diagnostic struct {
	Code     Code   `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// Place returns "source:line:col" with the parts that are known.
func (d Diagnostic) Place() string {
	p := d.Source
	if p != "" && d.Line > 0 {
		p += ":" + strconv.Itoa(d.Line)
		if d.Column > 0 {
			p += ":" + strconv.Itoa(d.Column)
		}
	}
	return p
}

// String returns the one-line form `severity[code]: place: message` and, when
// there is a hint, a second line `hint: …` (U-02). Control characters are
// escaped: names and header text come from strangers.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Severity)
	b.WriteString("[")
	b.WriteString(string(d.Code))
	b.WriteString("]: ")
	if p := d.Place(); p != "" {
		b.WriteString(EscapeControls(p))
		b.WriteString(": ")
	}
	b.WriteString(EscapeControls(d.Message))
	if d.Hint != "" {
		b.WriteString("\nhint: ")
		b.WriteString(EscapeControls(d.Hint))
	}
	return b.String()
}

// SortDiagnostics orders by source, position, severity, code and message, so
// that a report does not depend on the schedule that found its parts.
func SortDiagnostics(ds []Diagnostic) {
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := ds[i], ds[j]
		switch {
		case a.Source != b.Source:
			return ComparePaths(a.Source, b.Source) < 0
		case a.Line != b.Line:
			return a.Line < b.Line
		case a.Column != b.Column:
			return a.Column < b.Column
		case a.Code != b.Code:
			return a.Code < b.Code
		}
		return a.Message < b.Message
	})
}

// ComparePaths orders '/'-separated paths segment by segment, by bytes, parents
// first (D-23). Comparing whole strings would put "dev-x/a" before "dev/a".
func ComparePaths(a, b string) int {
	for {
		x, ra, moreA := strings.Cut(a, "/")
		y, rb, moreB := strings.Cut(b, "/")
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = ra, rb
	}
}

// EscapeControls returns s with control characters, bidirectional overrides,
// zero-width characters and invalid UTF-8 written as \xNN or \u{N}, so that a
// file name can neither move a terminal's cursor nor forge a second line.
func EscapeControls(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == 0xFFFD && s[i] != 0xEF:
			b.WriteString(`\x` + hex2(s[i]))
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\x` + hex2(byte(r)))
		case Hidden(r):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hex2(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// Hidden reports characters that change what a reader sees without being seen:
// C1 controls, line separators, bidirectional controls, zero-width characters,
// tags (D-112).
func Hidden(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 ||
		r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2069 ||
		r == 0xfeff || r >= 0xe0000 && r <= 0xe007f
}
