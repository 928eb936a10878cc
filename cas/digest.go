package cas

import (
	"encoding/hex"
	"strings"

	"github.com/zeebo/blake3"
)

// tag names the hash function in front of a digest that leaves the process.
const tag = "blake3:"

// Digest is the BLAKE3 hash of some bytes: what b3sum prints for them. It names
// content. Keys, which name questions, are a type of their own, so that one can
// never be looked up as the other.
type Digest [32]byte

// Key is a key derived from an encoding under a context (see Derive). Two
// contexts give two unrelated keys for the same bytes.
type Key [32]byte

// Sum returns the digest of b.
func Sum(b []byte) Digest { return blake3.Sum256(b) }

// String returns the digest as 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Tagged returns the digest as it is written into results: "blake3:" and 64
// hexadecimal digits, so that a reader years later knows how to check it.
func (d Digest) Tagged() string { return tag + d.String() }

// IsZero reports whether the digest was never set. No input is known to hash to
// zero.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the key as 64 lower-case hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// IsZero reports whether the key was never set.
func (k Key) IsZero() bool { return k == Key{} }

// parseHex reads exactly 64 lower-case hexadecimal digits.
func parseHex(s string) (b [32]byte, ok bool) {
	if len(s) != 64 || strings.ToLower(s) != s {
		return b, false
	}
	_, err := hex.Decode(b[:], []byte(s))
	return b, err == nil
}
