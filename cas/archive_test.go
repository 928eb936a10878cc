package cas

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archiveOf writes an archive of entries.
func archiveOf(t testing.TB, sign func(Digest) Seal, es ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewArchiveWriter(&b)
	for _, e := range es {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	n, err := w.Close(sign)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("Close() = %d, %v for %d bytes", n, err, b.Len())
	}
	return b.Bytes()
}

func valueEntry(text string) Entry {
	return Entry{Kind: ValueEntry, ID: Sum([]byte(text)), Payload: []byte(text)}
}

// entriesOf reads an archive as an import does.
func entriesOf(b []byte) (*Archive, []Entry, error) {
	a, err := OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	var es []Entry
	err = a.Each(func(e Entry) error {
		es = append(es, e)
		return nil
	})
	return a, es, err
}

// resealed returns an archive with another body and a hash that fits: what somebody
// without a key can make.
func resealed(body []byte) []byte {
	b := append([]byte(archiveMagic), body...)
	sum := Sum(b)
	b = append(b, sum[:]...)
	return append(b, make([]byte, trailerSize-len(sum))...)
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func someEntries() []Entry {
	return []Entry{
		valueEntry("a value"), valueEntry(""), valueEntry(string(bytes.Repeat([]byte("long "), 100_000))),
		{Kind: ActionEntry, ID: Sum([]byte("k")), Payload: []byte("an action")},
		{Kind: SlotEntry, ID: Sum([]byte("s")), Payload: []byte{0, 1, 2}},
	}
}

func TestArchiveRoundTrip(t *testing.T) {
	t.Parallel()
	seal := func(d Digest) Seal { return Seal{Signer: "0123456789abcdef", Code: Sum(d[:])} }
	b := archiveOf(t, seal, someEntries()...)
	a, es, err := entriesOf(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someEntries(), es); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if a.Seal != seal(a.Digest) {
		t.Errorf("seal = %+v", a.Seal)
	}
	if again := archiveOf(t, seal, someEntries()...); !bytes.Equal(b, again) {
		t.Error("the same entries give another archive")
	}
	if a, es, err := entriesOf(archiveOf(t, nil)); err != nil || len(es) != 0 || a.Seal != (Seal{}) {
		t.Errorf("an empty archive: %d entries, seal %+v, %v", len(es), a.Seal, err)
	}
	golden(t, "archive.bin", archiveOf(t, seal, someEntries()[0], someEntries()[3], someEntries()[4]))
}

// TestArchiveEveryByteCounts: a cut at any length and a change of any bit are found
// before an entry is handed out, but for those in the code, which the key finds.
func TestArchiveEveryByteCounts(t *testing.T) {
	t.Parallel()
	b := archiveOf(t, nil, valueEntry("a value"), Entry{Kind: SlotEntry, ID: Sum(nil), Payload: []byte("slot")})
	for n := range len(b) {
		if _, err := OpenArchive(bytes.NewReader(b[:n]), int64(n)); !errors.Is(err, ErrNoArchive) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(b), err)
		}
	}
	sealed := len(b) - signerSize - len(Digest{})
	for i := range 8 * sealed {
		c := bytes.Clone(b)
		c[i/8] ^= 1 << (i % 8)
		if _, err := OpenArchive(bytes.NewReader(c), int64(len(c))); !errors.Is(err, ErrNoArchive) {
			t.Fatalf("bit %d changed: %v", i, err)
		}
	}
	for i := sealed; i < len(b); i++ {
		c := bytes.Clone(b)
		c[i] ^= 1
		if a, err := OpenArchive(bytes.NewReader(c), int64(len(c))); err != nil || a.Seal == (Seal{}) {
			t.Fatalf("byte %d of the seal changed: %v, the seal is as before", i, err)
		}
	}
}

// TestArchiveForged: a hash that fits makes nobody's bytes an archive.
func TestArchiveForged(t *testing.T) {
	t.Parallel()
	wrong := valueEntry("a value")
	wrong.Payload = []byte("another")
	var unfit bytes.Buffer
	w := NewArchiveWriter(&unfit)
	w.Add(wrong)
	w.Close(nil)
	head := func(kind byte, n uint32, rest string) []byte {
		b := []byte{kind, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
		return append(append(b, make([]byte, 32)...), rest...)
	}
	for name, b := range map[string][]byte{
		"a value with another's digest": unfit.Bytes(),
		"no deflate":                    resealed([]byte("\xff\xff\xff\xff")),
		"an unknown kind":               resealed(deflated(head(4, 0, ""))),
		"kind zero":                     resealed(deflated(head(0, 0, ""))),
		"an entry larger than any":      resealed(deflated(head(2, MaxEntry+1, ""))),
		"an entry that claims much":     resealed(deflated(head(2, MaxEntry, "little"))),
		"an entry cut off":              resealed(deflated(head(2, 10, "123"))),
		"a head cut off":                resealed(deflated([]byte{2, 0, 0})),
		"bytes behind the end":          resealed(append(deflated(head(2, 1, "x")), "more"...)),
		"a stream cut off":              resealed(deflated(head(2, 1, "x"))[:8]),
		"a version that is to come":     append([]byte("mwparch\x02"), make([]byte, 100)...),
		"something else":                bytes.Repeat([]byte("tar"), 100),
		"no entry and no stream":        resealed(nil),
		"an empty file":                 nil,
	} {
		_, _, err := entriesOf(b)
		if !errors.Is(err, ErrNoArchive) {
			t.Errorf("%s: %v, want ErrNoArchive", name, err)
		}
	}
}

// TestArchiveUnpacksToNoMoreThanItMay: what an archive claims is counted before it is read.
func TestArchiveUnpacksToNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	b := archiveOf(t, nil, valueEntry("one"), valueEntry("two"))
	a, err := OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if a.limit != maxUnpacked {
		t.Errorf("the limit is %d", a.limit)
	}
	for limit := int64(2*(entryHead+3) - 1); limit < 2*(entryHead+3)+1; limit++ {
		a.limit = limit
		n := 0
		err := a.Each(func(Entry) error { n++; return nil })
		if fits := limit >= 2*(entryHead+3); fits != (err == nil) || fits != (n == 2) || err != nil && !errors.Is(err, ErrNoArchive) {
			t.Errorf("with a limit of %d: %d entries, %v", limit, n, err)
		}
	}
}

// TestArchiveStops: the caller's error ends the reading and comes back as it is, and so
// does one of the disk.
func TestArchiveStops(t *testing.T) {
	t.Parallel()
	b := archiveOf(t, nil, someEntries()...)
	a, err := OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	n := 0
	if err := a.Each(func(Entry) error { n++; return enough }); err != enough || n != 1 {
		t.Errorf("Each = %v after %d entries", err, n)
	}
	disk := errors.New("the disk is gone")
	if _, err := OpenArchive(broken{disk}, int64(len(b))); !errors.Is(err, disk) || errors.Is(err, ErrNoArchive) {
		t.Errorf("OpenArchive on a broken disk: %v", err)
	}
	if err := NewArchiveWriter(io.Discard).Add(Entry{Kind: ValueEntry, Payload: make([]byte, MaxEntry+1)}); err == nil {
		t.Error("an entry of more than MaxEntry was taken")
	}
}

type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func FuzzArchive(f *testing.F) {
	f.Add(archiveOf(f, nil, someEntries()[:2]...)[len(archiveMagic):])
	f.Add(deflated(make([]byte, 1000)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		a, es, err := entriesOf(resealed(body))
		if err != nil {
			if !errors.Is(err, ErrNoArchive) {
				t.Fatal(err)
			}
			return
		}
		if a.Seal != (Seal{}) {
			t.Fatal("a seal out of nothing")
		}
		_, again, err := entriesOf(archiveOf(t, nil, es...))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(es) {
			t.Fatalf("written again: %v", err)
		}
	})
}
