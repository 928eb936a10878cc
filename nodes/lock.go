package nodes

import (
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// LockName is the lock file's name in a state directory (D-34).
const LockName = "modules.lock"

// LockFile is the content of .mwp/modules.lock: which commit each git import
// stands for. It changes with the file's records; comments do not matter.
type LockFile struct{ Path string }

// LockFileValue holds the records, sorted, and the mistakes in the file.
type LockFileValue struct {
	Present  bool
	Records  []pin.Record
	Problems []ir.Diagnostic
}

var lockFileKind = graph.Define(graph.Definition[LockFileValue, LockFile]{
	Name: "lock-file", Version: 1, Order: 12,
	Params: func(c *cas.Coder, n *LockFile) { c.String(&n.Path) },
	Value: func(c *cas.Coder, v *LockFileValue) {
		c.Bool(&v.Present)
		cas.Slice(c, &v.Records, codeRecord)
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

func codeRecord(c *cas.Coder, r *pin.Record) {
	for _, s := range []*string{&r.Key, &r.Kind, &r.Commit, &r.Tree} {
		c.String(s)
	}
}

// Kind returns the kind "lock-file".
func (LockFile) Kind() *graph.Kind { return lockFileKind }

// Compute reads and parses the file.
func (n LockFile) Compute(r graph.Reader) (v LockFileValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Path})
	if err != nil || f.Type == graph.Absent {
		return v, err
	}
	v.Present = true
	if f.Type != graph.Regular {
		v.Problems = []ir.Diagnostic{{
			Code: ir.LockInvalid, Severity: ir.SeverityError, Source: n.Path,
			Message: "expected a regular file of at most 1 MiB, found a " + f.Type.Noun(),
		}}
		return v, nil
	}
	lock, bad := pin.ParseLock(f.Bytes)
	for _, e := range bad {
		v.Problems = append(v.Problems, ir.Diagnostic{
			Code: ir.LockInvalid, Severity: ir.SeverityError, Source: n.Path,
			Line: e.Line, Column: e.Column, Message: e.Message, Hint: e.Hint,
		})
	}
	if len(bad) == 0 {
		v.Records = lock.Records
	}
	return v, nil
}

// Pin is the lock file's record of one reference. It changes with that record, not
// with those of other modules.
type Pin struct{ Lock, Key string }

// PinValue is a record, if there is one.
type PinValue struct {
	Found  bool
	Record pin.Record
	// Problems are the lock file's mistakes; with them nothing is found.
	Problems []ir.Diagnostic
}

var pinKind = graph.Define(graph.Definition[PinValue, Pin]{
	Name: "pin", Version: 1, Order: 14,
	Params: func(c *cas.Coder, n *Pin) { c.String(&n.Lock); c.String(&n.Key) },
	Value: func(c *cas.Coder, v *PinValue) {
		if c.Bool(&v.Found); v.Found {
			codeRecord(c, &v.Record)
		}
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "pin".
func (Pin) Kind() *graph.Kind { return pinKind }

// Compute looks the record up.
func (n Pin) Compute(r graph.Reader) (v PinValue, err error) {
	f, err := graph.Need(r, LockFile{Path: n.Lock})
	if err != nil {
		return v, err
	}
	lock := pin.Lock{Records: f.Records}
	v.Record, v.Found = lock.Find(n.Key)
	v.Problems = f.Problems
	return v, nil
}
