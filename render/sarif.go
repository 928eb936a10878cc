package render

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// SARIFOptions are what a log says beside the findings.
type SARIFOptions struct {
	// Version is mwp's version, left out when "".
	Version string
	// Anchor is the workspace's anchor, relative to the root. Findings that belong to
	// no file are placed there, because GitHub refuses a result without a location;
	// "" places them at .mwp, where an anchor would be.
	Anchor string
}

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sourceRoot  = "%SRCROOT%"
)

// SARIF returns a lint report as a SARIF 2.1.0 log with one run (D-79), for code
// scanning services and editors. Paths are percent-encoded and relative to
// %SRCROOT%, the workspace root, and the log holds no absolute path (U-26).
func SARIF(r *ir.LintReport, o SARIFOptions) []byte {
	ds := sortedFindings(r.Findings)
	rules := occurring(ds)
	var w jsonText
	w.open('{')
	w.field("$schema").str(sarifSchema)
	w.field("version").str("2.1.0")
	w.field("runs").open('[')
	w.open('{')
	w.field("tool").open('{')
	w.field("driver").open('{')
	w.field("name").str("mwp")
	if o.Version != "" {
		w.field("version").str(o.Version)
	}
	w.rules(rules)
	w.close('}')
	w.close('}')
	w.sourceRoot()
	w.field("columnKind").str("unicodeCodePoints")
	w.results(ds, rules, o.Anchor)
	w.close('}')
	w.close(']')
	w.close('}')
	return w.indented()
}

// occurring returns the codes of ds, sorted, each once.
func occurring(ds []ir.Diagnostic) []ir.Code {
	codes := make([]ir.Code, len(ds))
	for i := range ds {
		codes[i] = ds[i].Code
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// rules writes a descriptor for each code. GitHub asks for all three texts.
func (w *jsonText) rules(codes []ir.Code) {
	w.field("rules").open('[')
	for _, code := range codes {
		w.open('{')
		w.field("id").str(string(code))
		w.field("shortDescription").text(codeSummary(code))
		w.field("fullDescription").text(codeSummary(code))
		w.field("help").text("The hint of a finding is the next step; docs/errors.md of mwp explains " + string(code) + ".")
		w.close('}')
	}
	w.close(']')
}

func (w *jsonText) text(s string) {
	w.open('{')
	w.field("text").str(s)
	w.close('}')
}

// sourceRoot declares the base of all paths without saying where it is.
func (w *jsonText) sourceRoot() {
	w.field("originalUriBaseIds").open('{')
	w.field(sourceRoot).open('{')
	w.field("description").text("The workspace root.")
	w.close('}')
	w.close('}')
}

func (w *jsonText) results(ds []ir.Diagnostic, rules []ir.Code, anchor string) {
	seen := map[string]int{}
	w.field("results").open('[')
	for i := range ds {
		d := ds[i]
		if d.Source == "" {
			d.Source, d.Line, d.Column = anchor, 0, 0
		}
		if d.Source == "" {
			d.Source = ".mwp"
		}
		index, _ := slices.BinarySearch(rules, d.Code)
		w.result(&d, index, fingerprint(&d, seen))
	}
	w.close(']')
}

func (w *jsonText) result(d *ir.Diagnostic, rule int, print string) {
	w.open('{')
	w.field("ruleId").str(string(d.Code))
	w.field("ruleIndex").int(rule)
	w.field("level").str(severityNames[severityRank(d.Severity)])
	// A viewer makes a link of [words](address), and names in a message are not ours.
	w.field("message").text(strings.ReplaceAll(withHint(d), "](", "] ("))
	w.field("locations").open('[')
	w.open('{')
	w.field("physicalLocation").open('{')
	w.field("artifactLocation").open('{')
	w.field("uri").str(relativeURI(d.Source))
	w.field("uriBaseId").str(sourceRoot)
	w.close('}')
	if d.Line > 0 {
		w.field("region").open('{')
		w.field("startLine").int(d.Line)
		if d.Column > 0 {
			w.field("startColumn").int(d.Column)
		}
		w.close('}')
	}
	w.close('}')
	w.close('}')
	w.close(']')
	// GitHub matches results across runs by the second name alone, and without it
	// takes the text around the line instead.
	w.field("partialFingerprints").open('{')
	w.field("mwp/v1").str(print)
	w.field("primaryLocationLineHash").str(print)
	w.close('}')
	w.close('}')
}

// relativeURI returns path as a relative reference of RFC 3986, whatever bytes it
// has: a colon must not make a scheme of its first part, nor a leading slash lead
// out of the base. By hand, because package net/url brings net/netip, whose tables
// every start of the program would fill.
func relativeURI(path string) string {
	rest := strings.TrimLeft(path, "/")
	lead := strings.Repeat("%2F", len(path)-len(rest))
	first, _, _ := strings.Cut(rest, "/")
	var b strings.Builder
	if lead != "" || strings.Contains(first, ":") {
		b.WriteString("./" + lead)
	}
	for i := range len(rest) {
		if c := rest[i]; pathCharacter(c) {
			b.WriteByte(c)
		} else {
			const digits = "0123456789ABCDEF"
			b.WriteString("%" + string([]byte{digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}

// pathCharacter reports the characters that stand for themselves in a path.
func pathCharacter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/$&+,:;=@", c) >= 0
}

// fingerprint identifies a finding across runs by code, source and message, so that
// it survives moves within its file. Equal ones are numbered as they come in seen.
func fingerprint(d *ir.Diagnostic, seen map[string]int) string {
	// 128 bits tell findings apart; nobody gains by forging one, and sha256 would cost
	// every start of the program its self-test.
	h := fnv.New128a()
	for _, s := range []string{string(d.Code), d.Source, d.Message} {
		// With its length before it, no part can pass for the end of another.
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	sum := hex.EncodeToString(h.Sum(nil))
	seen[sum]++
	return sum + ":" + strconv.Itoa(seen[sum])
}
