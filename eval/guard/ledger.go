package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
)

const (
	// LedgerName is the ledger's name in a state directory.
	LedgerName = "guards.cache.json"
	ledgerList = "guards"
	// MaxLedger is how many bytes of a ledger are read; a larger one counts as nothing.
	MaxLedger = 16 << 20
)

// Ledger reads and writes guards.cache.json: the last run of each guard, signed by
// the user who ran it (D-44). It implements what the evaluator reads records through.
// It is safe for concurrent use.
type Ledger struct{ key *Key }

// NewLedger returns the ledger of a user.
func NewLedger(k *Key) *Ledger { return &Ledger{k} }

// Signer returns the name of the key whose records are believed (Key.Signer).
func (l *Ledger) Signer() string { return l.key.Signer() }

// Parse returns what a ledger says, by guard. It sets Signer and either Run or Foreign,
// and leaves Phase and Overridden to those who know the time. The moments of a run are
// whole milliseconds.
//
// A record counts when it carries this user's signature, whatever is wrong with the
// file around it; of several for one guard, the one that ran last.
func (l *Ledger) Parse(file []byte) map[cas.Key]graph.RecordState {
	states, _ := l.parse(file)
	return states
}

// Problem returns one sentence about what does not count in a ledger and should,
// beginning with a line and column where there is one place: for a warning that names
// the file before it. It is "" when nothing is to be reported, for a ledger that does
// not exist, nil, and for the records of other users.
func (l *Ledger) Problem(file []byte) string {
	_, problem := l.parse(file)
	return problem
}

func (l *Ledger) parse(file []byte) (states map[cas.Key]graph.RecordState, problem string) {
	if file == nil {
		return nil, ""
	}
	if len(file) > MaxLedger {
		return nil, tooLarge(MaxLedger)
	}
	// A record is rarely shorter; the map grows otherwise.
	const usual = 700
	states = make(map[cas.Key]graph.RecordState, len(file)/usual)
	f := l.read(string(file), func(r *Record, _ string, believed bool, _ string) {
		state, there := states[r.Key]
		switch {
		case believed && (state.Run == nil || later(&r.Run, state.Run)):
			states[r.Key] = graph.RecordState{Signer: l.Signer(), Run: detached(&r.Run)}
		case !there:
			states[r.Key] = graph.RecordState{Signer: l.Signer(), Foreign: true}
		}
	})
	return states, f.problem("record")
}

func tooLarge(limit int) string {
	return fmt.Sprintf("the file has more than %d MiB, and counts for nothing", limit>>20)
}

// read calls each for the records of a ledger, with their signers, whether they are
// believed, and how they stand in the text. An own record with a wrong code is not
// believed, and a finding.
func (l *Ledger) read(text string, each func(r *Record, signer string, believed bool, raw string)) findings {
	var e cas.Encoder
	return readList(text, ledgerList, func(r *jsonReader) bool {
		start := r.at
		rec, signer, code := readRecord(r)
		if r.want != "" {
			return false
		}
		own := signer == l.Signer()
		believed := own && l.key.records.Verify(appendSigned(&e, &rec, signer), code)
		each(&rec, signer, believed, r.text[start:r.at])
		return believed == own
	})
}

// later reports whether a is to be believed rather than b. A copy of an older record
// beside the newer one changes nothing, and neither does one of before or after an
// override give one.
func later(a, b *graph.Run) bool {
	if a.RanAt != b.RanAt {
		return a.RanAt > b.RanAt
	}
	return a.Override == nil && b.Override != nil
}

// detached returns a run that does not keep the text of its file in memory.
func detached(r *graph.Run) *graph.Run {
	c := *r
	c.Reason = strings.Clone(c.Reason)
	if c.Override != nil {
		c.Override.Reason = strings.Clone(c.Override.Reason)
	}
	return &c
}

// Records are a user's records in a ledger while Update holds its lock.
type Records struct {
	ledger  *Ledger
	own     map[cas.Key]ownRecord
	others  []listed
	changed bool
}

type ownRecord struct {
	Record
	text string
}

// Get returns the record of a guard that this user signed.
func (r *Records) Get(guard cas.Key) (Record, bool) {
	own, ok := r.own[guard]
	return own.Record, ok
}

// Set signs a record and puts it in the place of the one with its key.
func (r *Records) Set(rec Record) {
	rec = rec.kept()
	var e cas.Encoder
	signer := r.ledger.Signer()
	code := r.ledger.key.records.Sum(appendSigned(&e, &rec, signer))
	r.own[rec.Key] = ownRecord{rec, writeRecord(&rec, signer, code)}
	r.changed = true
}

// Update changes a user's records in the ledger of a workspace: it reads the file
// under a lock, which it waits for at most five seconds (D-103), calls change, and
// replaces the file when change set something and returned nil. Other users' records
// stay as they are, at most 2,000 in all and at most 16 MiB, the oldest going first.
//
// A file that does not count as a whole is kept beside the new one, once, as
// guards.cache.json.broken, and problem is what Problem says of it. The error is change's
// own, or a *state.FileError; then the file is as it was. Without a key to sign with Update
// panics.
func (l *Ledger) Update(ctx context.Context, dir state.Dir, change func(*Records) error) (problem string, err error) {
	if !l.key.Exists() {
		panic("guard.Ledger.Update: no key to sign with")
	}
	err = dir.Locked(ctx, "guards", func(f *state.Files) error {
		text, err := f.Read(LedgerName, MaxLedger)
		if err != nil {
			return err
		}
		var r *Records
		r, wrong := l.records(text)
		problem = wrong
		if err := change(r); err != nil || !r.changed {
			return err
		}
		if problem != "" {
			if err := f.KeepBroken(LedgerName, text); err != nil {
				return err
			}
		}
		return f.Replace(LedgerName, r.text(), state.Quick)
	})
	return problem, err
}

// records returns what can be read of a ledger.
func (l *Ledger) records(file []byte) (*Records, string) {
	r := &Records{ledger: l, own: map[cas.Key]ownRecord{}}
	if file == nil {
		return r, ""
	}
	if len(file) > MaxLedger {
		return r, tooLarge(MaxLedger)
	}
	f := l.read(string(file), func(rec *Record, signer string, believed bool, raw string) {
		old, there := r.own[rec.Key]
		switch {
		case believed && (!there || later(&rec.Run, &old.Run)):
			r.own[rec.Key] = ownRecord{*rec, raw}
		case signer != l.Signer():
			r.others = append(r.others, listed{rec.Key, signer, rec.Run.RanAt, raw})
		}
	})
	return r, f.problem("record")
}

// text returns the file.
func (r *Records) text() []byte {
	list := slices.Clone(r.others)
	for k, own := range r.own {
		list = append(list, listed{k, r.ledger.Signer(), own.Run.RanAt, own.text})
	}
	return appendList(nil, ledgerList, bounded(list, r.ledger.Signer(), MaxLedger))
}
