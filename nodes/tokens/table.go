package tokens

import (
	_ "embed"
	"math/bits"
)

// A vocabulary is a file of little-endian numbers and byte strings:
//
//	16 bytes      entries, bits, longest, 0, as uint32
//	4·(2^bits+1)  for each bucket the offset, from the end of this array, of
//	              its first entry; then the offset of the end
//	the rest      entries: uint32(rank<<14 | print<<7 | length-1), then length
//	              bytes
//
// The first bits of an entry's hash select its bucket; entries of a bucket lie
// side by side with their bytes. So a look-up touches one page of the offsets
// and one of the entries, where a slot array with the byte strings elsewhere
// would touch three and leave a quarter of its slots empty. The kernel maps 16
// pages for each fault on a file, so that small is what makes the first use
// cheap: the larger file is 38 such stretches. The print, seven more bits of
// the hash, spares nearly every comparison that would fail.

//go:embed data/o200k_base.tab
var o200kData string

//go:embed data/cl100k_base.tab
var cl100kData string

const (
	headerSize = 16
	rankShift  = 14
	printShift = 7
	lengthMask = 1<<printShift - 1
	wantMask   = 1<<rankShift - 1

	// noRank is above every rank, so that the least rank of a list of pairs
	// is noRank exactly when no pair can be merged.
	noRank = 1<<32 - 1
)

// table is a view of a vocabulary. Taking one costs a few loads, which is why
// Count does it for each text: a variable would have to be set when the
// program starts.
type table struct {
	offsets string
	entries string
	shift   uint8 // 64 - bits
	longest int
}

func openTable(data string) table {
	bits := u32(data, 4)
	end := headerSize + 4*(1<<bits+1)
	return table{
		offsets: data[headerSize:end],
		entries: data[end:],
		shift:   uint8(64 - bits),
		longest: int(u32(data, 8)),
	}
}

// rank returns the rank of the token with exactly the bytes of b, or noRank.
func (t *table) rank(b []byte) uint32 {
	// No token is longer, and hashing what cannot be one would make the merge
	// of a long run quadratic.
	if len(b) > t.longest || len(b) == 0 {
		return noRank
	}
	h := hash(b)
	bucket := int(h >> t.shift)
	p, end := int(u32(t.offsets, 4*bucket)), int(u32(t.offsets, 4*bucket+4))
	want := entryTag(h, len(b))
	for p < end {
		e := u32(t.entries, p)
		p += 4
		n := int(e&lengthMask) + 1
		if e&wantMask == want && t.entries[p:p+n] == string(b) {
			return e >> rankShift
		}
		p += n
	}
	return noRank
}

// entryTag returns the low bits of the entry of a token with hash h and n
// bytes.
func entryTag(h uint64, n int) uint32 {
	return uint32(h)&lengthMask<<printShift | uint32(n-1)
}

// hash mixes b eight bytes at a time. It is part of the format of the tables:
// after a change they must be generated again.
func hash(b []byte) uint64 {
	const (
		k0 = 0x9e3779b97f4a7c15
		k1 = 0xd6e8feb86659fd93
	)
	h := uint64(len(b)) * k1
	for len(b) > 8 {
		h = fold(h^u64(b), k0)
		b = b[8:]
	}
	// The two halves overlap when fewer than eight bytes are left, which
	// spares a loop over single bytes.
	var tail uint64
	switch n := len(b); {
	case n >= 4:
		tail = uint64(u32(b, 0)) | uint64(u32(b, n-4))<<32
	case n > 0:
		tail = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return fold(h^tail, k1)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^b, b)
	return hi ^ lo
}

// u32 and u64 read little-endian numbers, which the compiler makes one load.
// Package encoding/binary would link reflect and unicode, which have work to
// do when a program starts.
func u32[T string | []byte](s T, i int) uint32 {
	s = s[i : i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func u64(b []byte) uint64 {
	b = b[:8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
