package graph

import "github.com/model-workspace-protocol/mwp/cas"

// Record is the leaf for the last run of one guard: the only thing in a map that
// knows of time. Its value says whether the run still counts; a slot carries the
// moments at which that changes (D-46).
type Record struct {
	// File is where the workspace keeps results, relative to the root.
	File string
	// Guard is the guard's key (D-44).
	Guard cas.Key
}

// Phase is where the clock stands against a run.
type Phase uint8

// The phases. Early is a run that is dated more than a few seconds ahead.
const (
	Current Phase = iota
	Expired
	Early
)

// RecordState is the answer to a Record. The zero value says that nothing is
// recorded.
type RecordState struct {
	// Signer names the key that was believed when the file was read, "" when the file
	// holds nothing for the guard: then the answer is the same for everybody.
	Signer string
	// Foreign is set when what the file holds was not signed with that key, and so
	// counts as nothing (D-44).
	Foreign bool
	// Run is the run, nil without one.
	Run   *Run
	Phase Phase
	// Overridden is set while a person's override is in force (D-84).
	Overridden bool
}

// Run is one run of a guard as it was recorded. Times are nanoseconds since
// 1970, UTC.
type Run struct {
	// Passed tells the two outcomes that are recorded apart.
	Passed bool
	// Exit is the exit status, nil when there was none; Reason is then "timeout" or
	// "signal".
	Exit   *int
	Reason string
	// Duration is in milliseconds.
	Duration          int64
	RanAt, CacheUntil int64
	// Fingerprint is over everything that the result rests on; Declared is over what
	// every map looks at, which leaves out source files that nobody named (D-46).
	Fingerprint, Declared cas.Digest
	Override              *Override
}

// Override is a person's decision to work on in spite of a failing guard (D-84). It
// ends with time, with a run that passes, and with a change of the fingerprint.
type Override struct {
	Reason string
	Until  int64
	// Declared is the fingerprint that it was given for.
	Declared cas.Digest
}

// RecordKind is the kind of Record.
var RecordKind = defineLeaf("record",
	func(c *cas.Coder, r *Record) { c.String(&r.File); c.Key(&r.Guard) },
	func(c *cas.Coder, s *RecordState) {
		c.String(&s.Signer)
		c.Bool(&s.Foreign)
		cas.Optional(c, &s.Run, CodeRun)
		if c.Uint8((*uint8)(&s.Phase)); s.Phase > Early {
			c.Fail("phase %d", s.Phase)
		}
		c.Bool(&s.Overridden)
	})

// CodeRun codes a run, for nodes whose values carry one.
func CodeRun(c *cas.Coder, r *Run) {
	c.Bool(&r.Passed)
	cas.Optional(c, &r.Exit, (*cas.Coder).Int)
	c.String(&r.Reason)
	for _, n := range []*int64{&r.Duration, &r.RanAt, &r.CacheUntil} {
		c.Int64(n)
	}
	c.Digest(&r.Fingerprint)
	c.Digest(&r.Declared)
	cas.Optional(c, &r.Override, func(c *cas.Coder, o *Override) {
		c.String(&o.Reason)
		c.Int64(&o.Until)
		c.Digest(&o.Declared)
	})
}

// Kind returns RecordKind.
func (Record) Kind() *Kind { return RecordKind }

// Compute panics: leaves are read by the evaluator.
func (Record) Compute(Reader) (RecordState, error) { panic("graph.Record.Compute: a leaf") }
