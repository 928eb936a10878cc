package cas

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// thing has a field of every sort.
type thing struct {
	Name  string
	Body  []byte
	On    bool
	N     int
	N64   int64
	U64   uint64
	Kind  uint8
	D     Digest
	K     Key
	Names []string
	Kids  []thing
	Extra *thing
}

func codeThing(c *Coder, t *thing) {
	c.String(&t.Name)
	c.Bytes(&t.Body)
	c.Bool(&t.On)
	c.Int(&t.N)
	c.Int64(&t.N64)
	c.Uint64(&t.U64)
	c.Uint8(&t.Kind)
	c.Digest(&t.D)
	c.Key(&t.K)
	c.Strings(&t.Names)
	Slice(c, &t.Kids, codeThing)
	Optional(c, &t.Extra, codeThing)
	if t.Kind > 200 {
		c.Fail("kind %d is unknown", t.Kind)
	}
}

var sample = thing{
	Name: "a\xff", Body: []byte{1, 0}, On: true, N: -3, N64: math.MinInt64, U64: math.MaxUint64, Kind: 200,
	D: Sum(nil), K: Key{9}, Names: []string{"", "x"}, Kids: []thing{{Name: "kid"}}, Extra: &thing{N: 7},
}

func TestCoderRoundTrip(t *testing.T) {
	for _, want := range []thing{{}, sample, {Body: []byte{}, Names: []string{}, Kids: []thing{}}} {
		b := EncodeValue(&want, codeThing)
		got, err := DecodeValue(b, codeThing)
		if err != nil {
			t.Fatal(err)
		}
		want.Body, want.Names, want.Kids = orNil(want.Body), orNil(want.Names), orNil(want.Kids)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("DecodeValue(EncodeValue(v)) (-want +got):\n%s", diff)
		}
	}
}

func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// Sequences of the same types that would be the same bytes without lengths, counts
// and fixed widths.
func TestEncodingIsInjective(t *testing.T) {
	strs := func(s ...string) func(*Encoder) {
		return func(e *Encoder) {
			for _, s := range s {
				e.String(s)
			}
		}
	}
	lists := func(lists ...[]string) func(*Encoder) {
		return func(e *Encoder) {
			for i := range lists {
				EncodeInto(e, &lists[i], (*Coder).Strings)
			}
		}
	}
	uints := func(n ...uint64) func(*Encoder) {
		return func(e *Encoder) {
			for _, n := range n {
				e.Uint(n)
			}
		}
	}
	ints := func(n ...int64) func(*Encoder) {
		return func(e *Encoder) {
			for _, n := range n {
				e.Int(n)
			}
		}
	}
	empty := ""
	for _, group := range [][]func(*Encoder){
		{strs("ab", "c"), strs("a", "bc"), strs("abc", ""), strs("", "abc"), strs("abc"), strs("ab\x01c")},
		{lists([]string{"ab"}, nil), lists(nil, []string{"ab"}), lists([]string{"a", "b"}, nil), lists([]string{"a"}, []string{"b"}), lists([]string{""}, nil), lists(nil, nil)},
		{uints(1, 128), uints(129, 1), uints(1, 0, 1), uints(257), uints(1, 1)},
		{ints(-1, 0), ints(0, -1), ints(1, 0), ints(0, 1)},
		{func(e *Encoder) { p := (*string)(nil); EncodeInto(e, &p, codeOptionalString) }, func(e *Encoder) { p := &empty; EncodeInto(e, &p, codeOptionalString) }},
	} {
		seen := map[string]int{}
		for i, put := range group {
			var e Encoder
			put(&e)
			if j, ok := seen[string(e.Encoded())]; ok {
				t.Errorf("sequences %d and %d of a group are both %x", j, i, e.Encoded())
			}
			seen[string(e.Encoded())] = i
		}
	}
}

func codeOptionalString(c *Coder, p **string) { Optional(c, p, (*Coder).String) }

func TestDecoderRejects(t *testing.T) {
	over := bytes.Repeat([]byte{0xff}, 9)
	for _, c := range []struct {
		name string
		in   []byte
		read func(*Decoder)
		want string
	}{
		{"empty number", nil, func(d *Decoder) { d.Uint() }, "ends inside a number"},
		{"cut number", []byte{0x80}, func(d *Decoder) { d.Uint() }, "ends inside a number"},
		{"long zero", []byte{0x80, 0}, func(d *Decoder) { d.Uint() }, "shortest form"},
		{"long one", []byte{0x81, 0x80, 0}, func(d *Decoder) { d.Int() }, "shortest form"},
		{"65 bits", append(over, 2), func(d *Decoder) { d.Uint() }, "longer than 64 bits"},
		{"eleven bytes", append(over, 0x81, 0), func(d *Decoder) { d.Uint() }, "longer than 64 bits"},
		{"no bool", nil, func(d *Decoder) { d.Bool() }, "want 1 bytes"},
		{"bool 2", []byte{2}, func(d *Decoder) { d.Bool() }, "neither false nor true"},
		{"long string", []byte{3, 'a', 'b'}, func(d *Decoder) { _ = d.String() }, "does not fit"},
		{"huge string", append(over, 1), func(d *Decoder) { d.Bytes() }, "does not fit"},
		{"short digest", make([]byte, 31), func(d *Decoder) { d.Digest() }, "want 32 bytes"},
		{"short key", nil, func(d *Decoder) { d.Key() }, "want 32 bytes"},
		{"count of wide elements", []byte{2, 0, 0, 0}, func(d *Decoder) { d.Count(2) }, "does not fit"},
		{"left over", []byte{1, 0}, func(d *Decoder) { d.Bool() }, "1 bytes left over"},
		{"caller", []byte{9}, func(d *Decoder) { d.Uint(); d.Fail("kind %d", 9); d.Fail("later") }, "byte 1: kind 9"},
	} {
		d := NewDecoder(c.in)
		c.read(d)
		err := d.Finish()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if n, b, s, k := d.Uint(), d.Bytes(), d.String(), d.Key(); err != nil && (n != 0 || b != nil || s != "" || !k.IsZero() || d.Bool()) {
			t.Errorf("%s: reads after the error give values", c.name)
		}
	}
}

func TestDecoderWraps(t *testing.T) {
	cause := errors.New("cause")
	d := NewDecoder(nil)
	d.Fail("because: %w", cause)
	if !errors.Is(d.Err(), cause) {
		t.Errorf("Err() = %v, want it to wrap the cause", d.Err())
	}
}

func TestCoderRejects(t *testing.T) {
	var e Encoder
	e.Uint(256)
	if _, err := DecodeValue(e.Encoded(), (*Coder).Uint8); err == nil {
		t.Error("256 was read as a Uint8")
	}
	bad := sample
	bad.Kind = 201
	e.Reset()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a value that cannot be read back was written")
			}
		}()
		EncodeInto(&e, &bad, codeThing)
	}()
	if v, err := DecodeValue(e.Encoded(), codeThing); err == nil || !cmp.Equal(v, thing{}) {
		t.Errorf("DecodeValue of a rejected value = %v, %v, want zero and an error", v, err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("elements without bytes were written")
			}
		}()
		nothing := []struct{}{{}}
		EncodeValue(&nothing, func(c *Coder, p *[]struct{}) { Slice(c, p, func(*Coder, *struct{}) {}) })
	}()
}

type tree struct{ kids []tree }

func codeTree(c *Coder, t *tree) { Slice(c, &t.kids, codeTree) }

// Hostile input must not make a reader exhaust stack or memory.
func TestDecodeIsBounded(t *testing.T) {
	wide := func(c *Coder, p *[][4096]byte) {
		Slice(c, p, func(c *Coder, p *[4096]byte) { c.Uint8(&p[0]) })
	}
	var many Encoder
	many.Count(1 << 20)
	for range 1 << 20 {
		many.Uint(300)
	}
	ones := bytes.Repeat([]byte{1}, 10<<20)
	for name, read := range map[string]func() error{
		"deep":          func() error { _, err := DecodeValue(ones, codeTree); return err },
		"deep optional": func() error { _, err := DecodeValue(ones, codeChain); return err },
		"count that does not fit": func() error {
			_, err := DecodeValue([]byte{0xff, 0xff, 0xff, 0x7f, 1}, (*Coder).Strings)
			return err
		},
		"count that fits of wide elements": func() error { _, err := DecodeValue(many.Encoded(), wide); return err },
	} {
		var err error
		if n := allocated(func() { err = read() }); err == nil || n > 1<<20 {
			t.Errorf("%s: error %v after %d bytes allocated", name, err, n)
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

type chain struct{ next *chain }

func codeChain(c *Coder, p *chain) { Optional(c, &p.next, codeChain) }

func FuzzDecodeValue(f *testing.F) {
	for _, v := range []thing{{}, sample} {
		f.Add(EncodeValue(&v, codeThing))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeValue(b, codeThing)
		if err != nil {
			return
		}
		if again := EncodeValue(&v, codeThing); !bytes.Equal(again, b) {
			t.Errorf("%x is read as %+v, which is written as %x", b, v, again)
		}
	})
}

// FuzzDecoder reads fields in an order that the fuzzer chooses and writes them
// again.
func FuzzDecoder(f *testing.F) {
	f.Add("ubsidkc", []byte{1, 1, 1, 'x', 4})
	f.Fuzz(func(t *testing.T, ops string, b []byte) {
		d := NewDecoder(b)
		var e Encoder
		for _, op := range ops {
			read, write := fieldOf(op)
			if read == nil {
				continue
			}
			before := d.Remaining()
			read(d, &e)
			if d.Err() != nil {
				if d.Remaining() != 0 || d.Finish() == nil {
					t.Fatal("a decoder goes on after an error")
				}
				return
			}
			if d.Remaining() > before || write && d.Remaining() == before {
				t.Fatalf("field %q took %d bytes", op, before-d.Remaining())
			}
		}
		if read := b[:len(b)-d.Remaining()]; !bytes.Equal(e.Encoded(), read) {
			t.Errorf("read %x, written again as %x", read, e.Encoded())
		}
	})
}

// fieldOf returns a function that copies a field from a decoder to an encoder, and
// whether the field takes at least a byte.
func fieldOf(op rune) (copyField func(*Decoder, *Encoder), takes bool) {
	switch op {
	case 'u':
		return func(d *Decoder, e *Encoder) { e.Uint(d.Uint()) }, true
	case 'i':
		return func(d *Decoder, e *Encoder) { e.Int(d.Int()) }, true
	case 'b':
		return func(d *Decoder, e *Encoder) { e.Bool(d.Bool()) }, true
	case 's':
		return func(d *Decoder, e *Encoder) { e.String(d.String()) }, true
	case 'y':
		return func(d *Decoder, e *Encoder) { e.Bytes(d.Bytes()) }, true
	case 'd':
		return func(d *Decoder, e *Encoder) { e.Digest(d.Digest()) }, true
	case 'k':
		return func(d *Decoder, e *Encoder) { e.Key(d.Key()) }, true
	case 'c':
		return func(d *Decoder, e *Encoder) { e.Count(d.Count(0)) }, true
	}
	return nil, false
}

// The promises that keep start-up and keys cheap.
func TestAllocations(t *testing.T) {
	d := Derive("mwp node v1")
	in := []byte("some parameters")
	if n := testing.AllocsPerRun(100, func() { d.Key(in) }); n != 0 {
		t.Errorf("Key allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Sum(in) }); n != 0 {
		t.Errorf("Sum allocates %v times", n)
	}
}

func BenchmarkKey(b *testing.B) {
	d := Derive("mwp node v1")
	in := make([]byte, 100)
	for b.Loop() {
		d.Key(in)
	}
}

func BenchmarkEncode(b *testing.B) {
	v := sample
	v.Kids = make([]thing, 20)
	for b.Loop() {
		EncodeValue(&v, codeThing)
	}
}

func BenchmarkDecode(b *testing.B) {
	v := sample
	v.Kids = make([]thing, 20)
	in := EncodeValue(&v, codeThing)
	for b.Loop() {
		if _, err := DecodeValue(in, codeThing); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEncodingStoresNothing encodes one shared value from many goroutines: with the
// race detector, a store into it is seen.
func TestEncodingStoresNothing(t *testing.T) {
	type part struct{ a, b *int }
	shared := make([]part, 100)
	shared[7].b = new(int)
	var all sync.WaitGroup
	texts := make([][]byte, 8)
	for i := range texts {
		all.Go(func() {
			v := shared
			texts[i] = EncodeValue(&v, func(c *Coder, v *[]part) {
				Slice(c, v, func(c *Coder, p *part) {
					Optional(c, &p.a, (*Coder).Int)
					Optional(c, &p.b, (*Coder).Int)
				})
			})
		})
	}
	all.Wait()
	for _, b := range texts {
		if !bytes.Equal(b, texts[0]) {
			t.Errorf("two encodings of one value: %x and %x", b, texts[0])
		}
	}
}
