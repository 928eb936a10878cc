package cas

import (
	"fmt"
	"math"
)

// Decoder reads the canonical encoding. It is total: any input gives values or an
// error, never a panic, and no more memory than the input justifies. It accepts
// only what Encoder writes, so a decoded value re-encodes to the same bytes.
//
// The first error sticks: every later read returns a zero value, so a caller
// reads a whole structure and asks Finish once.
type Decoder struct {
	b   []byte
	at  int
	err error
}

// NewDecoder returns a decoder of b, which it does not copy.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Uint reads what Encoder.Uint wrote. Longer forms of the same number and
// numbers above 64 bits are errors.
func (d *Decoder) Uint() uint64 {
	if d.err != nil {
		return 0
	}
	var v uint64
	for i, shift := d.at, 0; i < len(d.b); i, shift = i+1, shift+7 {
		c := d.b[i]
		if shift == 63 && c > 1 {
			d.Fail("number is longer than 64 bits")
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 {
				d.Fail("number is not in its shortest form")
				return 0
			}
			d.at = i + 1
			return v
		}
	}
	d.Fail("input ends inside a number")
	return 0
}

// Int reads what Encoder.Int wrote.
func (d *Decoder) Int() int64 {
	u := d.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Bool reads one byte; other bytes than 0 and 1 are errors.
func (d *Decoder) Bool() bool {
	b := d.take(1)
	if b == nil {
		return false
	}
	if b[0] > 1 {
		d.at--
		d.Fail("byte %#02x is neither false nor true", b[0])
	}
	return b[0] == 1
}

// Bytes reads a byte string. It may alias the input and must not be changed; an
// empty string is nil.
func (d *Decoder) Bytes() []byte {
	n := d.Count(1)
	if n == 0 {
		return nil
	}
	return d.take(n)
}

// String reads a byte string as a copy of its own.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Digest reads 32 bytes.
func (d *Decoder) Digest() (v Digest) {
	copy(v[:], d.take(len(v)))
	return v
}

// Key reads 32 bytes.
func (d *Decoder) Key() (v Key) {
	copy(v[:], d.take(len(v)))
	return v
}

// Count reads the number of elements that follow. An element takes at least
// minSize bytes (1 is assumed for less): a count that cannot fit in the rest of
// the input is an error, so nobody allocates for a count that a few hostile
// bytes claim.
func (d *Decoder) Count(minSize int) int {
	start := d.at
	n := d.Uint()
	if rest := len(d.b) - d.at; n > math.MaxInt || n > uint64(rest/max(minSize, 1)) {
		d.at = start
		d.Fail("count %d does not fit in the %d bytes that follow", n, rest)
		return 0
	}
	return int(n)
}

// Remaining returns the number of bytes not yet read, 0 after an error.
func (d *Decoder) Remaining() int {
	if d.err != nil {
		return 0
	}
	return len(d.b) - d.at
}

// Fail records an error at the current byte, unless there is one already. It is
// how callers reject a value that is well-formed and wrong, such as an unknown
// enumeration.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("encoding, byte %d: %w", d.at, fmt.Errorf(format, args...))
	}
}

// Err returns the first error, or nil.
func (d *Decoder) Err() error { return d.err }

// Finish returns the first error, counting bytes left over as one: a longer input
// that decodes to the same value would be a second spelling of it.
func (d *Decoder) Finish() error {
	if d.err == nil && d.at != len(d.b) {
		d.Fail("%d bytes left over", len(d.b)-d.at)
	}
	return d.err
}

// take returns the next n bytes, or nil with an error.
func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b)-d.at {
		d.Fail("want %d bytes, %d are left", n, len(d.b)-d.at)
		return nil
	}
	b := d.b[d.at : d.at+n : d.at+n]
	d.at += n
	return b
}
