package cas

import (
	"strings"
	"sync"
	"testing"
)

// The first two lines of BLAKE3's own test vectors: input of 0 and of 1 byte.
func TestMACVectors(t *testing.T) {
	m := NewMAC(Key([]byte("whats the Elvish word for friend")))
	for in, want := range map[string]string{
		"":     "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26",
		"\x00": "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b",
	} {
		for range 2 { // the second time with a hasher that was used before
			if got := m.Sum([]byte(in)).String(); got != want {
				t.Errorf("Sum(%q) = %s, want %s", in, got, want)
			}
		}
	}
}

func TestMACVerify(t *testing.T) {
	text := []byte(strings.Repeat("record ", 300))
	m, other := NewMAC(Key{1}), NewMAC(Key{2})
	code := m.Sum(text)
	if !m.Verify(text, code) {
		t.Error("Verify of a code it made = false")
	}
	if other.Verify(text, code) || m.Verify(text[1:], code) || m.Verify(text, Digest{}) || m.Verify(text, Sum(text)) {
		t.Error("Verify of another secret's, another text's, no code or a mere digest = true")
	}
	for i := range len(code) * 8 {
		bad := code
		bad[i/8] ^= 1 << (i % 8)
		if m.Verify(text, bad) {
			t.Errorf("Verify with bit %d flipped = true", i)
		}
	}
}

func TestMACFromManyGoroutines(t *testing.T) {
	m := NewMAC(Key{3})
	want := m.Sum([]byte("x"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got := m.Sum([]byte("x")); got != want {
					t.Errorf("Sum = %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}
