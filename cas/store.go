package cas

import "errors"

// ErrAbsent is what every miss is, whatever the reason: never written, evicted,
// truncated, damaged, unreadable, or written by another version of the format.
// Test for it with errors.Is; the message of the error at hand has the reason.
var ErrAbsent = errors.New("absent")

// MaxActions is how many actions a store keeps for a key. Actions of a key differ
// when the same question met different inputs, such as on two branches; older
// ones than the last few are not worth the time it takes to reject them.
const MaxActions = 8

// MaxSize is the size in bytes of the largest value, action and slot payload: 64
// MiB. It bounds what a damaged or hostile file can make a reader allocate.
const MaxSize = 64 << 20

// Store keeps values by their digest and actions by their key. It is safe for
// concurrent use. Slices that go in and come out are shared and must not be
// changed by anyone.
//
// A store need not remember anything; it must never answer with other bytes than
// those that were put.
type Store interface {
	// Value returns the bytes whose digest is d, having checked that it is. All
	// errors are ErrAbsent.
	Value(d Digest) ([]byte, error)

	// PutValue keeps b, whose digest the caller says is d, in memory until Flush.
	// The claim is checked when the value is read and when it is written, not
	// here, where somebody waits for an answer. The only error is a value larger
	// than MaxSize.
	PutValue(d Digest, b []byte) error

	// Actions returns what was recorded under k, newest first, at most MaxActions
	// and each only once. Damaged ones are left out.
	Actions(k Key) [][]byte

	// PutAction records b under k as the newest, in memory until Flush. The only
	// error is an action larger than MaxSize.
	PutAction(k Key, b []byte) error

	// Flush writes what is pending. It is called after the answer has been given,
	// so it may take milliseconds. After an error everything pending is still
	// readable and the next Flush tries again.
	Flush() error

	// Close releases files and memory and forgets what was not flushed. A closed
	// store is empty.
	Close() error
}

// absent is a miss with its reason.
type absent struct{ reason string }

func (a *absent) Error() string { return "absent: " + a.reason }

func (a *absent) Is(target error) bool { return target == ErrAbsent }

// miss returns an ErrAbsent with a reason.
func miss(reason string) error { return &absent{reason} }

var errTooLarge = errors.New("larger than 64 MiB, which is the most a cache entry may have")
