package cas

import "github.com/zeebo/blake3"

// Summer makes the digest of bytes that come in parts. The zero Summer is ready for
// use; it is for one goroutine.
type Summer struct{ h *blake3.Hasher }

// Write takes the next bytes. It never fails; b is not kept.
func (s *Summer) Write(b []byte) {
	if s.h == nil {
		s.h = blake3.New()
	}
	s.h.Write(b)
}

// Digest returns what Sum returns for all bytes since the last Digest or the
// beginning, and makes the Summer as good as new.
func (s *Summer) Digest() (d Digest) {
	if s.h == nil {
		return Sum(nil)
	}
	s.h.Sum(d[:0])
	s.h.Reset()
	return d
}
