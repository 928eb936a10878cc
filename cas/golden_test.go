package cas

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file in testdata. A difference means that caches and
// keys of released versions change: bump a version instead of updating.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs\n got %q\nwant %q", name, got, want)
	}
}

// vectors are encodings of one call each and of some sequences.
var vectors = []struct {
	name string
	put  func(*Encoder)
}{
	{"uint 0", func(e *Encoder) { e.Uint(0) }},
	{"uint 1", func(e *Encoder) { e.Uint(1) }},
	{"uint 127", func(e *Encoder) { e.Uint(127) }},
	{"uint 128", func(e *Encoder) { e.Uint(128) }},
	{"uint 16384", func(e *Encoder) { e.Uint(16384) }},
	{"uint 2^63", func(e *Encoder) { e.Uint(1 << 63) }},
	{"uint 2^64-1", func(e *Encoder) { e.Uint(math.MaxUint64) }},
	{"int 0", func(e *Encoder) { e.Int(0) }},
	{"int -1", func(e *Encoder) { e.Int(-1) }},
	{"int 1", func(e *Encoder) { e.Int(1) }},
	{"int -65", func(e *Encoder) { e.Int(-65) }},
	{"int 2^63-1", func(e *Encoder) { e.Int(math.MaxInt64) }},
	{"int -2^63", func(e *Encoder) { e.Int(math.MinInt64) }},
	{"bool false", func(e *Encoder) { e.Bool(false) }},
	{"bool true", func(e *Encoder) { e.Bool(true) }},
	{"bytes nil", func(e *Encoder) { e.Bytes(nil) }},
	{"bytes empty", func(e *Encoder) { e.Bytes([]byte{}) }},
	{"bytes 00ff", func(e *Encoder) { e.Bytes([]byte{0, 255}) }},
	{"string empty", func(e *Encoder) { e.String("") }},
	{"string aé", func(e *Encoder) { e.String("aé") }},
	{"string invalid UTF-8", func(e *Encoder) { e.String("a\xffb") }},
	{"string of 200 z", func(e *Encoder) { e.String(strings.Repeat("z", 200)) }},
	{"digest of abc", func(e *Encoder) { e.Digest(Sum([]byte("abc"))) }},
	{"key", func(e *Encoder) { e.Key(Key{0: 1, 31: 2}) }},
	{"count 0", func(e *Encoder) { e.Count(0) }},
	{"count 300", func(e *Encoder) { e.Count(300) }},
	{"two strings", func(e *Encoder) { e.Count(2); e.String("ab"); e.String("c") }},
	{"coded", func(e *Encoder) { v := sample; EncodeInto(e, &v, codeThing) }},
	{"coded zero", func(e *Encoder) { EncodeInto(e, new(thing), codeThing) }},
}

func TestGoldenEncoding(t *testing.T) {
	var out bytes.Buffer
	for _, v := range vectors {
		var e Encoder
		v.put(&e)
		fmt.Fprintf(&out, "%s: %s\n", v.name, hex.EncodeToString(e.Encoded()))
	}
	golden(t, "encoding.txt", out.Bytes())
}

func TestGoldenKeys(t *testing.T) {
	var out bytes.Buffer
	for _, context := range []string{"mwp node v1", "mwp trace v1", "mwp slot v1"} {
		d := Derive(context)
		for _, in := range []string{"", "abc", strings.Repeat("x", 5000)} {
			fmt.Fprintf(&out, "%s, %d bytes: %s\n", context, len(in), d.Key([]byte(in)))
		}
	}
	golden(t, "keys.txt", out.Bytes())
}

// The first two lines of BLAKE3's own test vectors: input of 0 and of 1 byte.
func TestBLAKE3Vectors(t *testing.T) {
	d := Derive("BLAKE3 2019-12-27 16:29:52 test vectors context")
	for _, v := range []struct{ in, hash, derived string }{
		{"", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262", "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"},
		{"\x00", "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213", "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c"},
	} {
		for range 2 { // the second time with a hasher that was used before
			if got := Sum([]byte(v.in)).String(); got != v.hash {
				t.Errorf("Sum(%q) = %s, want %s", v.in, got, v.hash)
			}
			if got := d.Key([]byte(v.in)).String(); got != v.derived {
				t.Errorf("Key(%q) = %s, want %s", v.in, got, v.derived)
			}
		}
	}
}

// goldenEntries are what testdata/segment.pack holds.
func goldenEntries() []entry {
	k := Derive("mwp trace v1").Key([]byte("question"))
	var out []entry
	for _, v := range []string{"", "first value", strings.Repeat("second value. ", 90)} {
		out = append(out, entry{kind: valueRecord, key: Sum([]byte(v)), b: []byte(v)})
	}
	for _, a := range []string{"older answer", "newer answer"} {
		out = append(out, entry{kind: actionRecord, key: k, b: []byte(a)})
	}
	return out
}

// segmentBytes returns a segment of the entries. Raw bytes depend on nothing but
// the format; compressed ones change with the version of Go.
func segmentBytes(t testing.TB, entries []entry, pack func([]byte) payload) []byte {
	t.Helper()
	var out bytes.Buffer
	w := newSegmentWriter(&out)
	for _, e := range entries {
		if err := w.add(e.kind, &e.key, pack(e.b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.seal(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGoldenSegment(t *testing.T) {
	golden(t, "segment.pack", segmentBytes(t, goldenEntries(), rawPayload))
}

// A compressed segment of today must stay readable; what another version of Go
// writes may differ.
func TestGoldenCompressedSegment(t *testing.T) {
	const name = "compressed.pack"
	if *update {
		golden(t, name, segmentBytes(t, goldenEntries(), new(compressor).pack))
	}
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	d := storeOf(t, b)
	checkEntries(t, d, goldenEntries())
	if raw := segmentBytes(t, goldenEntries(), rawPayload); len(b) >= len(raw) {
		t.Errorf("%s has %d bytes, %d uncompressed", name, len(b), len(raw))
	}
}

func TestGoldenSlot(t *testing.T) {
	golden(t, "slot", formatSlot(Key{1, 2, 3}, []byte("# A map\n")))
}

// storeOf returns a store whose directory holds the given segments, oldest first.
func storeOf(t testing.TB, segments ...[]byte) *Disk {
	t.Helper()
	dir := filepath.Join(t.TempDir(), packsDir)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, b := range segments {
		if err := os.WriteFile(filepath.Join(dir, segmentName(uint64(i+1), 0)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := OpenDisk(dir, DiskOptions{})
	t.Cleanup(func() { d.Close() })
	return d
}

// checkEntries checks that a store has all entries, given oldest first.
func checkEntries(t testing.TB, d *Disk, entries []entry) {
	t.Helper()
	want := pending{}
	for _, e := range entries {
		if e.kind == valueRecord {
			if b, err := d.Value(e.key); err != nil || !bytes.Equal(b, e.b) {
				t.Errorf("Value = %q, %v, want %q", b, err, e.b)
			}
		} else {
			want.putAction(e.key, e.b)
		}
	}
	for k := range want.actions {
		if got := d.Actions(k); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want.newest(k)) {
			t.Errorf("Actions = %q, want %q", got, want.newest(k))
		}
	}
}
