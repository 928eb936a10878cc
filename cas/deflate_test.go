package cas

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

var prose = []byte(strings.Repeat("text that compresses well. ", 200))

// A compressed payload is exactly one stream of exactly the recorded length, and
// after a bad one the same reader reads a good one.
func TestUnpackTakesOneWholeStream(t *testing.T) {
	var c compressor
	defer c.close()
	good := c.pack(prose)
	if good.codec != deflateCodec {
		t.Fatalf("%d bytes are packed with codec %d", len(prose), good.codec)
	}
	other := c.pack(bytes.ToUpper(prose))
	for name, bad := range map[string]payload{
		"one byte too few":       {raw: len(prose) + 1, b: good.b},
		"one byte too many":      {raw: len(prose) - 1, b: good.b},
		"cut by a byte":          {raw: len(prose), b: good.b[:len(good.b)-1]},
		"cut in the middle":      {raw: len(prose), b: good.b[:len(good.b)/2]},
		"a byte behind the end":  {raw: len(prose), b: append(bytes.Clone(good.b), 0)},
		"a stream behind it":     {raw: len(prose), b: append(bytes.Clone(good.b), other.b...)},
		"both streams' length":   {raw: 2 * len(prose), b: append(bytes.Clone(good.b), other.b...)},
		"nothing":                {raw: len(prose)},
		"no block of this type":  {raw: len(prose), b: bytes.Repeat([]byte{0xff}, len(good.b))},
		"more than it can be":    {raw: MaxSize, b: good.b},
		"an end, and no content": {raw: 1, b: []byte{3, 0}},
	} {
		bad.codec = deflateCodec
		if b, err := c.unpack(bad); !errors.Is(err, errDamaged) || b != nil {
			t.Errorf("%s: unpack = %d bytes, %v, want damaged", name, len(b), err)
		}
		if b, err := c.unpack(good); err != nil || !bytes.Equal(b, prose) {
			t.Errorf("after %s: unpack of a good payload = %d bytes, %v", name, len(b), err)
		}
	}
}

// Nothing that DEFLATE can say in a few bytes is held for a lie. Better levels than
// pack's come closest to the limit.
func TestUnpackTakesTheBestRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the largest value there may be, with -short")
	}
	zeros := make([]byte, MaxSize)
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var c compressor
	defer c.close()
	p := payload{codec: deflateCodec, raw: len(zeros), b: out.Bytes()}
	if b, err := c.unpack(p); err != nil || !bytes.Equal(b, zeros) {
		t.Errorf("unpack of %d bytes that are %d = %d bytes, %v", len(p.b), p.raw, len(b), err)
	}
}

func TestHeadLimits(t *testing.T) {
	for _, c := range []struct {
		codec  codec
		stored int
		raw    int
		want   bool
	}{
		{rawCodec, 10, 10, true},
		{rawCodec, 10, 11, false},
		{deflateCodec, 10, 11, true},
		{deflateCodec, 10, 10, false},
		{deflateCodec, 10, MaxSize, true},
		{deflateCodec, 10, MaxSize + 1, false},
		{2, 10, 11, false},
	} {
		b := appendRecord(nil, valueRecord, &[32]byte{}, payload{codec: c.codec, raw: c.raw, b: make([]byte, c.stored)})
		if _, err := parseHead(b); (err == nil) != c.want || err != nil && !errors.Is(err, errDamaged) {
			t.Errorf("parseHead(codec %d, %d bytes that were %d) = %v, want good %v", c.codec, c.stored, c.raw, err, c.want)
		}
	}
}

// Readers of a store unpack while a flush packs, all with one compressor.
func TestCompressorAtOnce(t *testing.T) {
	var c compressor
	defer c.close()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				want := fmt.Appendf(bytes.Clone(prose), "%d %d", i, j)
				p := c.pack(want)
				if b, err := c.unpack(p); err != nil || !bytes.Equal(b, want) {
					t.Errorf("unpack(pack(x)) = %d bytes, %v, want the %d of x", len(b), err, len(want))
				}
				if j%20 == i {
					c.close()
				}
			}
		})
	}
	wg.Wait()
}
