package guard

import (
	"math"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// Record is one guard's last run as the ledger keeps it (D-44). Its texts are for
// people and are written as UTF-8; the key alone says which guard it is.
type Record struct {
	Key cas.Key
	// Guard is the command; Cwd, where it ran, and DeclaredIn, the file that names it,
	// are relative to the root.
	Guard, Cwd, DeclaredIn string
	// Log is the name of the file with the output, "" without one.
	Log string
	Run graph.Run
}

// kept returns the record as it can be written: text as UTF-8, times in whole
// milliseconds.
func (r Record) kept() Record {
	for _, s := range []*string{&r.Guard, &r.Cwd, &r.DeclaredIn, &r.Log, &r.Run.Reason} {
		*s = strings.ToValidUTF8(*s, "\ufffd")
	}
	r.Run.RanAt, r.Run.CacheUntil = wholeMillis(r.Run.RanAt), wholeMillis(r.Run.CacheUntil)
	if r.Run.Exit != nil {
		exit := *r.Run.Exit
		r.Run.Exit = &exit
	}
	if o := r.Run.Override; o != nil {
		r.Run.Override = &graph.Override{Reason: strings.ToValidUTF8(o.Reason, "\ufffd"), Until: wholeMillis(o.Until), Declared: o.Declared}
	}
	return r
}

// appendSigned appends what a record's code is over: every field, and who signed.
func appendSigned(e *cas.Encoder, r *Record, signer string) []byte {
	e.Reset()
	e.Key(r.Key)
	for _, s := range [...]string{r.Guard, r.Cwd, r.DeclaredIn, r.Log, signer, r.Run.Reason} {
		e.String(s)
	}
	e.Bool(r.Run.Passed)
	if e.Bool(r.Run.Exit != nil); r.Run.Exit != nil {
		e.Int(int64(*r.Run.Exit))
	}
	for _, n := range [...]int64{r.Run.Duration, r.Run.RanAt, r.Run.CacheUntil} {
		e.Int(n)
	}
	e.Digest(r.Run.Fingerprint)
	e.Digest(r.Run.Declared)
	o := r.Run.Override
	if e.Bool(o != nil); o != nil {
		e.String(o.Reason)
		e.Int(o.Until)
		e.Digest(o.Declared)
	}
	return e.Encoded()
}

const (
	statusPassed = "passed"
	statusFailed = "failed"
)

// writeRecord writes a record and its code as an object in a list.
func writeRecord(r *Record, signer string, code cas.Digest) string {
	w := &jsonWriter{indent: "      "}
	w.raw("{")
	w.field("guard", true).str(r.Guard)
	if r.Run.Passed {
		w.field("status", false).str(statusPassed)
	} else {
		w.field("status", false).str(statusFailed)
	}
	if w.field("exit_code", false); r.Run.Exit == nil {
		w.raw("null")
	} else {
		w.integer(int64(*r.Run.Exit))
	}
	w.field("duration_ms", false).integer(r.Run.Duration)
	w.field("ran_at", false).moment(r.Run.RanAt)
	w.field("cache_until", false).moment(r.Run.CacheUntil)
	w.field("fingerprint", false).digest(r.Run.Fingerprint)
	w.field("declared", false).digest(r.Run.Declared)
	w.field("key", false).str(r.Key.String())
	w.field("cwd", false).str(r.Cwd)
	w.field("declared_in", false).str(r.DeclaredIn)
	w.field("reason", false).str(r.Run.Reason)
	w.field("log", false).str(r.Log)
	if w.field("override", false); r.Run.Override == nil {
		w.raw("null")
	} else {
		w.indent += "  "
		w.raw("{")
		w.field("reason", true).str(r.Run.Override.Reason)
		w.field("until", false).moment(r.Run.Override.Until)
		w.field("declared", false).digest(r.Run.Override.Declared)
		w.indent = w.indent[2:]
		w.raw("\n" + w.indent + "}")
	}
	w.field("signer", false).str(signer)
	w.field("mac", false).str(code.String())
	w.raw("\n" + w.indent[2:] + "}")
	return string(w.b)
}

// readRecord reads an object that writeRecord wrote. Its texts are parts of the
// reader's where they can be.
func readRecord(r *jsonReader) (rec Record, signer string, code cas.Digest) {
	r.expect('{')
	r.field("guard", true)
	rec.Guard = r.str()
	r.field("status", false)
	switch r.bare() {
	case statusPassed:
		rec.Run.Passed = true
	case statusFailed:
	default:
		r.fail("passed or failed")
	}
	if r.field("exit_code", false); !r.word("null") {
		n := r.integer()
		if n > math.MaxInt || n < math.MinInt {
			r.fail("an exit code")
		}
		exit := int(n)
		rec.Run.Exit = &exit
	}
	r.field("duration_ms", false)
	rec.Run.Duration = r.integer()
	r.field("ran_at", false)
	rec.Run.RanAt = r.moment()
	r.field("cache_until", false)
	rec.Run.CacheUntil = r.moment()
	r.field("fingerprint", false)
	rec.Run.Fingerprint = r.digest()
	r.field("declared", false)
	rec.Run.Declared = r.digest()
	r.field("key", false)
	rec.Key = r.key()
	r.field("cwd", false)
	rec.Cwd = r.str()
	r.field("declared_in", false)
	rec.DeclaredIn = r.str()
	r.field("reason", false)
	rec.Run.Reason = r.str()
	r.field("log", false)
	rec.Log = r.str()
	if r.field("override", false); !r.word("null") {
		rec.Run.Override = readOverride(r)
	}
	signer, code = readSignature(r)
	r.expect('}')
	return rec, signer, code
}

func readOverride(r *jsonReader) *graph.Override {
	var o graph.Override
	r.expect('{')
	r.field("reason", true)
	o.Reason = r.str()
	r.field("until", false)
	o.Until = r.moment()
	r.field("declared", false)
	o.Declared = r.digest()
	r.expect('}')
	return &o
}

// readSignature reads the last two fields of a signed object.
func readSignature(r *jsonReader) (signer string, code cas.Digest) {
	r.field("signer", false)
	if signer = r.bare(); !isSigner(signer) {
		r.fail("16 hexadecimal digits")
	}
	r.field("mac", false)
	return signer, r.key()
}
