package cas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkNothingWrong checks that a store answers with entries or not at all, and
// keeps the order of actions, given oldest first. It returns how many it has.
func checkNothingWrong(t *testing.T, d *Disk, entries []entry, what string) (found int) {
	t.Helper()
	actions := map[Key][]string{} // newest first
	for _, e := range entries {
		if e.kind == actionRecord {
			actions[e.key] = append([]string{string(e.b)}, actions[e.key]...)
			continue
		}
		switch b, err := d.Value(e.key); {
		case err == nil && bytes.Equal(b, e.b):
			found++
		case err == nil || !errors.Is(err, ErrAbsent) || b != nil:
			t.Errorf("%s: Value = %q, %v", what, b, err)
		}
	}
	for k, want := range actions {
		next := 0
		for _, a := range d.Actions(k) {
			i := slices.Index(want[next:], string(a))
			if i < 0 {
				t.Errorf("%s: Actions has %q, want of %q in this order", what, a, want)
				break
			}
			next += i + 1
			found++
		}
	}
	return found
}

// damages passes on every truncation of b and every copy with one byte changed.
func damages(b []byte, each func(what string, at int, damaged []byte)) {
	for n := range b {
		each(fmt.Sprintf("cut at %d", n), n, b[:n:n])
		for _, change := range []byte{0xff, 0x01, 0x80} {
			c := bytes.Clone(b)
			c[n] ^= change
			each(fmt.Sprintf("byte %d changed by %#x", n, change), n, c)
		}
	}
}

// Whatever is done to a segment, the store gives the right bytes or a miss, loses
// at most the record that was hit, and fsck sees it.
func TestDamagedSegment(t *testing.T) {
	entries := goldenEntries()
	for name, pack := range map[string]func([]byte) payload{"raw": rawPayload, "compressed": new(compressor).pack} {
		t.Run(name, func(t *testing.T) {
			entries := entries
			if name == "raw" {
				entries = entries[1:] // the long value only makes this slow
				entries = slices.Concat(entries[:1], entries[2:])
			}
			whole := segmentBytes(t, entries, pack)
			x, err := readIndex(bytes.NewReader(whole), int64(len(whole)), loadIndex)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			dir := filepath.Join(root, packsDir)
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, segmentName(1, 0))
			damages(whole, func(what string, at int, b []byte) {
				if err := os.WriteFile(path, b, 0o666); err != nil {
					t.Fatal(err)
				}
				d := OpenDisk(dir, DiskOptions{})
				defer d.Close()
				found := checkNothingWrong(t, d, entries, what)
				want := len(entries)
				switch {
				case at < len(packMagic):
					want = 0
				case len(b) < len(whole):
					want = wholeRecords(whole, x.end, at)
				case int64(at) < x.end:
					want--
				}
				// A value is checked by its digest alone, so it survives damage to its tag.
				if found != want && !(found == want+1 && len(b) == len(whole)) {
					t.Errorf("%s: %d entries found, want %d", what, found, want)
				}
				r, err := Fsck(root)
				if err != nil || len(r.Problems)+r.Foreign == 0 {
					t.Errorf("%s: Fsck = %+v, %v, want a problem", what, r, err)
				}
			})
		})
	}
}

// wholeRecords returns how many records of a segment end before a byte.
func wholeRecords(segment []byte, end int64, before int) (n int) {
	for off := int64(len(packMagic)); off < end; n++ {
		off += int64(binary.LittleEndian.Uint32(segment[off:]))
		if off > int64(before) {
			break
		}
	}
	return n
}

// manyEntries make an index too large to be loaded.
func manyEntries() (entries []entry) {
	for i := range loadIndex/entrySize + 100 {
		v := fmt.Appendf(nil, "value %d", i)
		entries = append(entries, entry{kind: valueRecord, key: Sum(v), b: v})
		if i%10 == 0 {
			k := Key(Sum(fmt.Appendf(nil, "key %d", i)))
			for j := range i%MaxActions + 1 {
				entries = append(entries, entry{kind: actionRecord, key: k, b: fmt.Appendf(nil, "action %d", j)})
			}
		}
	}
	return entries
}

func TestLargeIndexIsSearchedInTheFile(t *testing.T) {
	entries := manyEntries()
	b := segmentBytes(t, entries, rawPayload)
	x, err := readIndex(bytes.NewReader(b), int64(len(b)), loadIndex)
	if err != nil {
		t.Fatal(err)
	}
	if x.values.mem != nil || x.actions.mem != nil {
		t.Fatalf("an index of %d bytes was loaded", len(b)-int(x.end))
	}
	d := storeOf(t, b)
	checkEntries(t, d, entries)
	for i := range 200 {
		if b, err := d.Value(Sum(fmt.Append(nil, "other", i))); !errors.Is(err, ErrAbsent) {
			t.Errorf("Value of what is not there = %q, %v", b, err)
		}
	}
	for _, k := range []Key{{}, {31: 1}, Key(bytes.Repeat([]byte{0xff}, 32))} {
		if got := d.Actions(k); len(got) > 0 {
			t.Errorf("Actions of what is not there = %q", got)
		}
	}
}

// A large index is not checked as a whole; damage in it may hide records and must
// do no more.
func TestDamagedLargeIndex(t *testing.T) {
	entries := manyEntries()
	whole := segmentBytes(t, entries, rawPayload)
	f, err := readFooter(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		at := int(f.off) + i*(len(whole)-int(f.off))/40 + i
		b := bytes.Clone(whole)
		b[at] ^= 0x5a
		d := storeOf(t, b)
		checkNothingWrong(t, d, entries, fmt.Sprintf("byte %d changed", at))
		d.Close()
	}
}

// A record that claims to be large must not be believed further than the file.
func TestSegmentMemoryIsBounded(t *testing.T) {
	b := appendRecord([]byte(packMagic), valueRecord, &[32]byte{}, rawPayload(nil))
	binary.LittleEndian.PutUint32(b[8:], recordOverhead+MaxSize)
	binary.LittleEndian.PutUint32(b[14:], MaxSize)
	if n := allocated(func() { scanIndex(bytes.NewReader(b), int64(len(b))) }); n > 1<<20 {
		t.Errorf("a scan of %d bytes allocates %d", len(b), n)
	}
	// 64 MiB of zeros in a few bytes: more than the record says, and what it says.
	var c compressor
	defer c.close()
	bomb := c.pack(make([]byte, MaxSize))
	bomb.raw = 2000
	if _, err := c.unpack(bomb); !errors.Is(err, errDamaged) {
		t.Errorf("unpack of more than the record says: %v", err)
	}
	lie := payload{codec: deflateCodec, raw: MaxSize, b: make([]byte, 1000)}
	if n := allocated(func() { c.unpack(lie) }); n > maxRatio*1000 {
		t.Errorf("%d bytes that claim to be %d allocate %d", len(lie.b), lie.raw, n)
	}
}

// An index may be damaged so that it names another good record.
func TestRecordOfAnotherKey(t *testing.T) {
	var c compressor
	v, k := []byte("value"), Key{1}
	d := Sum(v)
	value := appendRecord(nil, valueRecord, (*[32]byte)(&d), rawPayload(v))
	action := appendRecord(nil, actionRecord, (*[32]byte)(&k), rawPayload(v))
	if _, err := openValue(value, d, &c); err != nil {
		t.Error(err)
	}
	if _, err := openAction(action, k, &c); err != nil {
		t.Error(err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"value of another digest": func() ([]byte, error) { return openValue(value, Digest{2}, &c) },
		"action as value":         func() ([]byte, error) { return openValue(action, d, &c) },
		"action of another key":   func() ([]byte, error) { return openAction(action, Key{2}, &c) },
		"value as action":         func() ([]byte, error) { return openAction(value, Key(d), &c) },
	} {
		if b, err := open(); !errors.Is(err, errDamaged) {
			t.Errorf("%s = %q, %v, want an error", name, b, err)
		}
	}
}

func TestSmallFlushIsRawAndLargeOneCompressed(t *testing.T) {
	text := []byte(strings.Repeat("text that compresses well. ", 200))
	fit := compressTotal / len(text) // less than a value is left
	for _, c := range []struct {
		values int
		want   codec
	}{{2, rawCodec}, {fit - 1, rawCodec}, {fit + 1, deflateCodec}} {
		d := OpenDisk(t.TempDir(), DiskOptions{})
		for i := range c.values {
			v := fmt.Appendf(text[:len(text):len(text)], "%d", i)
			if err := d.PutValue(Sum(v), v); err != nil {
				t.Fatal(err)
			}
		}
		tiny := []byte("below a kilobyte nothing is gained")
		d.PutValue(Sum(tiny), tiny)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, p := range payloads(t, d) {
			want := c.want
			if p.raw < compressFrom {
				want = rawCodec
			}
			if p.codec != want {
				t.Errorf("%d values of %d bytes: codec %d, want %d", c.values, p.raw, p.codec, want)
			}
		}
		d.Close()
	}
}

// payloads returns the stored payloads of all records of a store.
func payloads(t *testing.T, d *Disk) (out []payload) {
	t.Helper()
	d.list(true)
	for _, s := range d.segments {
		records, err := s.records()
		if err != nil {
			t.Fatal(err)
		}
		m := merger{deflate: &d.deflate}
		for _, rec := range records {
			p, _, err := m.read(rec)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
	}
	return out
}

func TestSegmentNames(t *testing.T) {
	name := segmentName(0x18ab, 7)
	if stamp, ok := parseSegmentName(name); stamp != 0x18ab || !ok {
		t.Errorf("parseSegmentName(%q) = %#x, %v", name, stamp, ok)
	}
	for _, bad := range []string{"", "x.pack", name[1:], strings.ToUpper(name), name + "x", strings.Replace(name, "-", "_", 1), strings.Replace(name, "7.", "+.", 1), strings.Replace(name, "0", "g", 1)} {
		if _, ok := parseSegmentName(bad); ok {
			t.Errorf("parseSegmentName(%q) is accepted", bad)
		}
	}
}

// FuzzSegment reads any bytes as a segment, and writes what it finds as a segment
// that must say the same.
func FuzzSegment(f *testing.F) {
	for _, pack := range []func([]byte) payload{rawPayload, new(compressor).pack} {
		b := segmentBytes(f, goldenEntries(), pack)
		f.Add(b)
		f.Add(b[:len(b)-footerSize])
		f.Add(b[:100])
	}
	var shared compressor // building a reader takes longer than most of what is tried here
	defer shared.close()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, limit := range []int64{loadIndex, 0} {
			x, err := loadSegment(bytes.NewReader(b), int64(len(b)), limit)
			if err != nil {
				continue
			}
			entries := readAll(t, x, b, &shared)
			again := segmentBytes(t, entries, rawPayload)
			y, err := loadSegment(bytes.NewReader(again), int64(len(again)), limit)
			if err != nil || !y.sealed {
				t.Fatalf("a segment just written is not read: %v", err)
			}
			if got := readAll(t, y, again, &shared); fmt.Sprint(got) != fmt.Sprint(entries) {
				t.Errorf("%d entries read, written again %d: %v", len(entries), len(got), got)
			}
		}
		var r FsckReport
		c := checker{FsckReport: &r, deflate: &shared}
		if checkMagic(bytes.NewReader(b)) == nil {
			if err := c.records("fuzz", bytes.NewReader(b), int64(len(b))); err != nil {
				t.Error(err)
			}
		}
	})
}

// readAll returns the good entries of a segment by key, as lookups find them.
func readAll(t *testing.T, x index, b []byte, c *compressor) (out []entry) {
	t.Helper()
	s := &segment{size: int64(len(b))}
	r := bytes.NewReader(b)
	for _, kind := range []recordKind{valueRecord, actionRecord} {
		all, err := x.table(kind).all()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if _, raw, err := (source{s: s, indexed: e, kind: kind}).read(r, c); err == nil {
				out = append(out, entry{kind: kind, key: e.key, b: raw})
			}
			if _, err := x.table(kind).find(&e.key); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}
