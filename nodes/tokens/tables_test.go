package tokens

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"unicode"

	"github.com/tiktoken-go/tokenizer"
)

var update = flag.Bool("update", false, "rewrite the tables in data")

// perBucket is how many entries share a bucket on average, at most: 4 makes
// the offsets a tenth of the file.
const perBucket = 4

// vocabulary returns the tokens of an encoding, each at the index of its rank,
// as the library has them.
func vocabulary(t testing.TB, name string) [][]byte {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Encoding(name))
	if err != nil {
		t.Fatalf("open %s of the library: %v", name, err)
	}
	var vocab [][]byte
	for {
		s, err := codec.Decode([]uint{uint(len(vocab))})
		if err != nil {
			return vocab // ranks are dense from 0
		}
		vocab = append(vocab, []byte(s))
	}
}

// unicodeVersion is the one that classes.tab has.
const unicodeVersion = "15.0.0"

// buildTable lays out a vocabulary as described in table.go. Entries of a
// bucket are in the order of their ranks, because a lower rank is more common.
func buildTable(vocab [][]byte) []byte {
	width := bits.Len(uint(len(vocab)-1) / perBucket)
	longest := 0
	buckets := make([][]byte, 1<<width)
	for rank, token := range vocab {
		h := hash(token)
		b := &buckets[h>>(64-width)]
		*b = binary.LittleEndian.AppendUint32(*b, uint32(rank)<<rankShift|entryTag(h, len(token)))
		*b = append(*b, token...)
		longest = max(longest, len(token))
	}
	var data []byte
	for _, x := range []int{len(vocab), width, longest, 0} {
		data = binary.LittleEndian.AppendUint32(data, uint32(x))
	}
	offset := uint32(0)
	for _, b := range buckets {
		data = binary.LittleEndian.AppendUint32(data, offset)
		offset += uint32(len(b))
	}
	data = binary.LittleEndian.AppendUint32(data, offset)
	return append(data, slices.Concat(buckets...)...)
}

// generalClass is classOf by the tables of package unicode.
func generalClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.N, r):
		return number
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lm, unicode.Lo):
		return caseless
	case unicode.Is(unicode.M, r):
		return mark
	default:
		return other
	}
}

func buildClasses() []byte {
	var index, blocks []byte
	for first := rune(0); first < classBlocks<<7; first += 128 {
		block := make([]byte, 128)
		for i := range block {
			block[i] = byte(generalClass(first + rune(i)))
		}
		n := 0
		for n < len(blocks)/128 && !bytes.Equal(blocks[128*n:128*n+128], block) {
			n++
		}
		if n == len(blocks)/128 {
			blocks = append(blocks, block...)
		}
		if n > 255 {
			panic("buildClasses: more blocks than a byte can number")
		}
		index = append(index, byte(n))
	}
	return append(index, blocks...)
}

func TestTablesAreCurrent(t *testing.T) {
	check := func(file, have string, want []byte) {
		t.Helper()
		if *update {
			if err := os.WriteFile(filepath.Join("data", file), want, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if have != string(want) {
			t.Errorf("data/%s differs from what `go generate ./nodes/tokens` makes", file)
		}
	}
	check("o200k_base.tab", o200kData, buildTable(vocabulary(t, "o200k_base")))
	check("cl100k_base.tab", cl100kData, buildTable(vocabulary(t, "cl100k_base")))
	if unicode.Version == unicodeVersion {
		check("classes.tab", classData, buildClasses())
	}
}

// tokens returns the tokens of a table, each at the index of its rank.
func (t *table) tokens() [][]byte {
	type entry struct {
		rank  uint32
		bytes []byte
	}
	var list []entry
	for p := 0; p < len(t.entries); {
		e := u32(t.entries, p)
		p += 4
		n := int(e&lengthMask) + 1
		list = append(list, entry{e >> rankShift, []byte(t.entries[p : p+n])})
		p += n
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.rank, b.rank) })
	tokens := make([][]byte, len(list))
	for i, e := range list {
		tokens[i] = e.bytes
	}
	return tokens
}

var vocabularies = []struct {
	name    string
	data    *string
	size    int
	next    func([]byte, int) int
	tikSHA2 string // of OpenAI's file
}{
	{"o200k_base", &o200kData, 199998, nextO200k, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"},
	{"cl100k_base", &cl100kData, 100256, nextCl100k, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"},
}

// OpenAI's file has a line for each token, by rank: base64, space, rank.
func TestTablesHoldOpenAIsFiles(t *testing.T) {
	for _, v := range vocabularies {
		tab := openTable(*v.data)
		var file []byte
		for rank, token := range tab.tokens() {
			file = base64.StdEncoding.AppendEncode(file, token)
			file = append(file, ' ')
			file = strconv.AppendInt(file, int64(rank), 10)
			file = append(file, '\n')
		}
		sum := sha256.Sum256(file)
		if got := hex.EncodeToString(sum[:]); got != v.tikSHA2 {
			t.Errorf("SHA-256 of %s.tiktoken = %s, want %s", v.name, got, v.tikSHA2)
		}
	}
}

func TestRank(t *testing.T) {
	for _, v := range vocabularies {
		tab := openTable(*v.data)
		tokens := tab.tokens()
		if len(tokens) != v.size {
			t.Errorf("%s has %d tokens, want %d", v.name, len(tokens), v.size)
		}
		ranks := map[string]uint32{}
		for rank, token := range tokens {
			ranks[string(token)] = uint32(rank)
			if got := tab.rank(token); got != uint32(rank) {
				t.Fatalf("%s: rank(%q) = %d, want %d", v.name, token, got, rank)
			}
		}
		for b := range 256 {
			if tab.rank([]byte{byte(b)}) == noRank {
				t.Errorf("%s: byte %#x is no token, but pieces of one byte count as one", v.name, b)
			}
		}
		check := func(b []byte) {
			want, ok := ranks[string(b)]
			if !ok {
				want = noRank
			}
			if got := tab.rank(b); got != want {
				t.Fatalf("%s: rank(%q) = %d, want %d", v.name, b, got, want)
			}
		}
		check(nil)
		check(bytes.Repeat([]byte{' '}, tab.longest+1))
		// Neighbours of tokens are the likeliest to be mistaken for them.
		r := rand.New(rand.NewPCG(1, 2))
		for range 100_000 {
			b := slices.Clone(tokens[r.IntN(len(tokens))])
			switch r.IntN(4) {
			case 0:
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			case 1:
				b = append(b, byte(r.IntN(256)))
			case 2:
				b = b[:len(b)-1]
			case 3:
				b = append(b, tokens[r.IntN(len(tokens))]...)
			}
			check(b)
		}
	}
}

// The present pattern of cl100k_base leaves white space at the end of a text
// in one piece where the one that nextCl100k follows cuts after the last
// newline. That makes no difference as long as no token spans such a cut.
func TestNoTokenSpansTheCutInWhiteSpaceAtTheEnd(t *testing.T) {
	tab := openTable(cl100kData)
	blanks := "\t\v\f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	parts := map[byte]bool{} // bytes of blanks
	for i := range len(blanks) {
		parts[blanks[i]] = true
	}
	for _, token := range tab.tokens() {
		i := bytes.LastIndexAny(token, "\r\n")
		if i < 0 || i == len(token)-1 {
			continue
		}
		all := true
		for _, b := range token[i+1:] {
			all = all && parts[b]
		}
		if all {
			t.Errorf("token %q has white space after a newline", token)
		}
	}
}

func TestClasses(t *testing.T) {
	if unicode.Version != unicodeVersion {
		t.Skipf("this Go release has Unicode %s, the table %s", unicode.Version, unicodeVersion)
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := classOf(r), generalClass(r); got != want {
			t.Fatalf("classOf(%U) = %d, want %d", r, got, want)
		}
	}
}
