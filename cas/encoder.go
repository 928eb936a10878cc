package cas

import (
	"encoding/binary"
	"fmt"
)

// Encoder writes the canonical encoding. It is injective: every byte string has
// its length before it, every list its count, every number its shortest form, so
// two different sequences of calls with values of the same types never give the
// same bytes. There are no maps, no floats and no tags, because each of them
// would allow the same value to be written in two ways.
//
// The zero Encoder is ready for use. An Encoder is for one goroutine.
type Encoder struct {
	b []byte
}

// Uint writes v as a little-endian base-128 number of the fewest bytes.
func (e *Encoder) Uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

// Int writes v with the sign in the lowest bit (0, -1, 1, -2, ...), so that small
// negative numbers are short too.
func (e *Encoder) Int(v int64) { e.b = binary.AppendVarint(e.b, v) }

// Bool writes one byte, 0 or 1.
func (e *Encoder) Bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// Bytes writes the length of v and v.
func (e *Encoder) Bytes(v []byte) {
	e.room(len(v))
	e.Uint(uint64(len(v)))
	e.b = append(e.b, v...)
}

// String writes what Bytes would write for the bytes of v. They need not be
// UTF-8: file names are not.
func (e *Encoder) String(v string) {
	e.room(len(v))
	e.Uint(uint64(len(v)))
	e.b = append(e.b, v...)
}

// firstRoom is what the first byte string makes room for. An encoder that somebody
// holds is for a key or a trace, which are longer than that more often than not.
const firstRoom = 256

// room makes the first byte string find a place that need not grow soon.
func (e *Encoder) room(n int) {
	if e.b == nil {
		e.b = make([]byte, 0, max(firstRoom, n+n/2))
	}
}

// Digest writes the 32 bytes of v; their length is fixed and is not written.
func (e *Encoder) Digest(v Digest) { e.b = append(e.b, v[:]...) }

// Key writes the 32 bytes of v.
func (e *Encoder) Key(v Key) { e.b = append(e.b, v[:]...) }

// Count writes the number of elements that follow. A negative count is a mistake
// of the caller and panics.
func (e *Encoder) Count(n int) {
	if n < 0 {
		panic(fmt.Sprintf("cas.Encoder.Count(%d): a count is not negative", n))
	}
	e.Uint(uint64(n))
}

// Encoded returns what was written so far. The bytes belong to the encoder and
// are overwritten after Reset.
func (e *Encoder) Encoded() []byte { return e.b }

// Len returns the number of bytes written so far.
func (e *Encoder) Len() int { return len(e.b) }

// Reset forgets what was written and keeps the memory.
func (e *Encoder) Reset() { e.b = e.b[:0] }
