package cas

import (
	"sync"

	"github.com/zeebo/blake3"
)

// MAC makes and checks authentication codes under one secret: BLAKE3 in its keyed
// mode. It is safe for concurrent use.
type MAC struct {
	secret [32]byte
	// As with Derivation, a fresh hasher costs five times a kept one.
	hashers sync.Pool
}

// NewMAC returns the codes of a secret, which is usually derived for one purpose
// (Derive), so that a code for one thing is never one for another. It builds no
// hasher yet.
func NewMAC(secret Key) *MAC { return &MAC{secret: secret} }

// Sum returns the code of b. It never fails; b is not kept.
func (m *MAC) Sum(b []byte) Digest {
	h, ok := m.hashers.Get().(*blake3.Hasher)
	if !ok {
		var err error
		if h, err = blake3.NewKeyed(m.secret[:]); err != nil {
			panic("cas.MAC.Sum: " + err.Error()) // only for another length than 32
		}
	}
	var d Digest
	h.Write(b)
	h.Sum(d[:0])
	h.Reset()
	m.hashers.Put(h)
	return d
}

// Verify reports whether code is the code of b. How long it takes does not depend on
// where the two differ.
func (m *MAC) Verify(b []byte, code Digest) bool {
	sum := m.Sum(b)
	var differ byte
	for i := range sum {
		differ |= sum[i] ^ code[i]
	}
	return differ == 0
}
