package castest

import (
	"bytes"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Codec checks a description for cas.Coder on values of its type: that what it
// writes reads back and writes the same again, that no two of the values, which
// must differ, are written alike, and that no part and no change of one byte of
// what it writes is read as anything that is not written just so.
func Codec[V any](t *testing.T, code func(*cas.Coder, *V), values ...V) {
	t.Helper()
	seen := map[string]int{}
	for i := range values {
		b := cas.EncodeValue(&values[i], code)
		if j, ok := seen[string(b)]; ok {
			t.Errorf("values %d and %d are written alike: %x", j, i, b)
		}
		seen[string(b)] = i
		if _, err := cas.DecodeValue(b, code); err != nil {
			t.Errorf("value %d is written as %x, which is not read: %v", i, b, err)
		}
		Canonical(t, b, code)
		for n := range b {
			Canonical(t, b[:n], code)
			for bit := range 8 {
				changed := bytes.Clone(b)
				changed[n] ^= 1 << bit
				Canonical(t, changed, code)
			}
		}
	}
}

// Canonical checks that a description reads b only if it writes it. Fuzz targets
// call it.
func Canonical[V any](t *testing.T, b []byte, code func(*cas.Coder, *V)) {
	t.Helper()
	v, err := cas.DecodeValue(b, code)
	if err != nil {
		return
	}
	if again := cas.EncodeValue(&v, code); !bytes.Equal(again, b) {
		t.Errorf("%x is read as %+v, which is written as %x", b, v, again)
	}
}
