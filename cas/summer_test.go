package cas

import "testing"

// TestSummer holds that parts make the digest of the whole, also with a Summer that was
// used before.
func TestSummer(t *testing.T) {
	var s Summer
	for _, size := range []int{0, 1, 1024, 1025, 8192, 8193, 100_000, 3<<20 + 1} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i % 251)
		}
		for _, step := range []int{size + 1, 1000, 8192} {
			for at := 0; at < size; at += step {
				s.Write(b[at:min(at+step, size)])
			}
			if got := s.Digest(); got != Sum(b) {
				t.Errorf("digest of %d bytes in parts of %d is not that of the whole", size, step)
			}
		}
	}
}
