package cas

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"
)

// maxDepth bounds how deep Slice and Optional nest. A few megabytes of hostile
// input could otherwise exhaust the stack of a description that calls itself.
const maxDepth = 200

// Coder passes over a value field by field and either writes it to the canonical
// encoding or reads it from there. One function describes a type for both
// directions, so that the two cannot drift apart:
//
//	func codeLink(c *cas.Coder, l *Link) {
//		c.String(&l.Target)
//		c.Int(&l.Depth)
//	}
//
// A description must visit the same fields in the same order in both directions,
// and may depend on fields it has already visited.
type Coder struct {
	e     *Encoder
	d     *Decoder
	depth int
}

// EncodeValue returns the canonical encoding of *v, which is not changed. A value
// that the description rejects is a mistake of the caller and panics.
func EncodeValue[V any](v *V, code func(*Coder, *V)) []byte {
	e := encoders.Get().(*Encoder)
	e.Reset()
	EncodeInto(e, v, code)
	b := bytes.Clone(e.b)
	if cap(e.b) <= keptEncoder {
		encoders.Put(e)
	}
	return b
}

// encoders are kept because the bytes of a value grow several times before they have
// their length, and a walk of a tree encodes a hundred thousand values. One that has
// grown beyond keptEncoder bytes is not kept.
var encoders = sync.Pool{New: func() any { return new(Encoder) }}

const keptEncoder = 64 << 10

// EncodeInto appends the canonical encoding of *v to e.
func EncodeInto[V any](e *Encoder, v *V, code func(*Coder, *V)) {
	code(&Coder{e: e}, v)
}

// DecodeValue reads a value that takes all of b. Its byte slices alias b. Input
// that EncodeValue does not write is an error, and the value is then zero.
func DecodeValue[V any](b []byte, code func(*Coder, *V)) (V, error) {
	d := NewDecoder(b)
	v := DecodeFrom(d, code)
	if err := d.Finish(); err != nil {
		var zero V
		return zero, err
	}
	return v, nil
}

// DecodeFrom reads a value from d and leaves d behind it. The caller asks d for
// the error.
func DecodeFrom[V any](d *Decoder, code func(*Coder, *V)) V {
	var v V
	code(&Coder{d: d}, &v)
	return v
}

// Decoding reports whether the coder reads. Descriptions need it only for values
// that are checked or completed after reading.
func (c *Coder) Decoding() bool { return c.d != nil }

// Fail rejects the value. While reading that is an error of the input; while
// writing it panics, because a value that cannot be read back is a mistake of
// the caller.
func (c *Coder) Fail(format string, args ...any) {
	if c.d == nil {
		panic("cas.Coder: cannot encode: " + fmt.Sprintf(format, args...))
	}
	c.d.Fail(format, args...)
}

// String passes over a string of any bytes.
func (c *Coder) String(p *string) {
	if c.d == nil {
		c.e.String(*p)
	} else {
		*p = c.d.String()
	}
}

// Bytes passes over a byte string. Nil and empty are written alike and read as
// nil; what is read may alias the input.
func (c *Coder) Bytes(p *[]byte) {
	if c.d == nil {
		c.e.Bytes(*p)
	} else {
		*p = c.d.Bytes()
	}
}

// Bool passes over a truth value.
func (c *Coder) Bool(p *bool) {
	if c.d == nil {
		c.e.Bool(*p)
	} else {
		*p = c.d.Bool()
	}
}

// Int passes over an int. A number too large for this machine's int is an error.
func (c *Coder) Int(p *int) {
	if c.d == nil {
		c.e.Int(int64(*p))
		return
	}
	v := c.d.Int()
	if v > math.MaxInt || v < math.MinInt {
		c.d.Fail("number %d does not fit an int", v)
		v = 0
	}
	*p = int(v)
}

// Int64 passes over a signed number.
func (c *Coder) Int64(p *int64) {
	if c.d == nil {
		c.e.Int(*p)
	} else {
		*p = c.d.Int()
	}
}

// Uint64 passes over an unsigned number.
func (c *Coder) Uint64(p *uint64) {
	if c.d == nil {
		c.e.Uint(*p)
	} else {
		*p = c.d.Uint()
	}
}

// Uint8 passes over a small number, usually an enumeration. It is written like
// any other number.
func (c *Coder) Uint8(p *uint8) {
	if c.d == nil {
		c.e.Uint(uint64(*p))
		return
	}
	v := c.d.Uint()
	if v > math.MaxUint8 {
		c.d.Fail("number %d does not fit 8 bits", v)
		v = 0
	}
	*p = uint8(v)
}

// Digest passes over a digest.
func (c *Coder) Digest(p *Digest) {
	if c.d == nil {
		c.e.Digest(*p)
	} else {
		*p = c.d.Digest()
	}
}

// Key passes over a key.
func (c *Coder) Key(p *Key) {
	if c.d == nil {
		c.e.Key(*p)
	} else {
		*p = c.d.Key()
	}
}

// Strings passes over a list of strings, as Slice does.
func (c *Coder) Strings(p *[]string) { Slice(c, p, (*Coder).String) }

// Slice passes over a list: its count and then each element. Nil and empty are
// written alike and read as nil. An element must take at least one byte, which is
// what lets a count be checked against the input before anything is allocated.
func Slice[T any](c *Coder, p *[]T, each func(*Coder, *T)) {
	if !c.enter() {
		return
	}
	defer c.leave()
	if c.d == nil {
		c.e.Count(len(*p))
		for i := range *p {
			before := c.e.Len()
			each(c, &(*p)[i])
			if c.e.Len() == before {
				panic(fmt.Sprintf("cas.Slice: an element of %T encodes to nothing", *p))
			}
		}
		return
	}
	*p = nil
	n := c.d.Count(1)
	if n == 0 {
		return
	}
	// Elements in memory may be far larger than in the input, so capacity beyond
	// 64 KiB is earned by elements that were really there.
	var t T
	s := make([]T, 0, min(n, 1+(64<<10)/max(int(unsafe.Sizeof(t)), 1)))
	for range n {
		before := c.d.at
		if len(s) == cap(s) {
			// Append would grow a long list by a quarter and copy it all five times.
			s = slices.Grow(s, min(n-len(s), len(s)))
		}
		s = append(s, t)
		each(c, &s[len(s)-1])
		if c.d.err == nil && c.d.at == before {
			c.d.Fail("an element takes no bytes")
		}
		if c.d.err != nil {
			return
		}
	}
	*p = s
}

// Optional passes over a value that may be absent: a truth value and then, when
// true, what p points to.
func Optional[T any](c *Coder, p **T, each func(*Coder, *T)) {
	if !c.enter() {
		return
	}
	defer c.leave()
	present := *p != nil
	c.Bool(&present)
	// A value that is written is shared, so nothing is stored into it, not even what
	// stands there.
	switch {
	case c.d == nil && !present:
		return
	case c.d != nil && !present:
		*p = nil
		return
	case c.d != nil:
		*p = new(T)
	}
	each(c, *p)
}

func (c *Coder) enter() bool {
	if c.depth == maxDepth {
		c.Fail("nested deeper than %d", maxDepth)
		return false
	}
	c.depth++
	return true
}

func (c *Coder) leave() { c.depth-- }
