package cas

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// lookups asks for every record of a store made by filled, and for as many that it has
// not.
func lookups(t *testing.T, d *Disk, n int) {
	t.Helper()
	for i := range n {
		v := numbered(i)
		if b, err := d.Value(Sum(v)); err != nil || !bytes.Equal(b, v) {
			t.Fatalf("value %d = %.40q, %v", i, b, err)
		}
		if a := d.Actions(Key(Sum(v))); len(a) != 1 || !bytes.Equal(a[0], v) {
			t.Fatalf("action %d = %.40q", i, a)
		}
		if b, err := d.Value(Sum(append(v, 'x'))); err == nil {
			t.Fatalf("a value that was not put is %.40q", b)
		}
	}
}

func numbered(i int) []byte {
	return append(fmt.Appendf(nil, "record %d ", i), bytes.Repeat([]byte{byte(i)}, i%1500)...)
}

// filled writes n values and actions as one segment and returns its file.
func filled(t *testing.T, dir string, n int) string {
	t.Helper()
	d := OpenDisk(dir, DiskOptions{})
	for i := range n {
		v := numbered(i)
		d.PutValue(Sum(v), v)
		d.PutAction(Key(Sum(v)), v)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	d.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"+packSuffix))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

// TestManyLookups holds that a segment is in memory after many lookups, answers as
// before, and is let go of by a flush.
func TestManyLookups(t *testing.T) {
	const n = manyLookups
	dir := t.TempDir()
	filled(t, dir, n)
	d := OpenDisk(dir, DiskOptions{})
	defer d.Close()
	lookups(t, d, 10)
	if d.segments[0].memory != nil {
		t.Error("the segment is in memory after a few lookups")
	}
	lookups(t, d, n)
	if d.segments[0].memory == nil {
		t.Fatalf("the segment is not in memory after %d lookups", 3*n)
	}
	lookups(t, d, n)
	more := []byte("one more")
	d.PutValue(Sum(more), more)
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.segments {
		if s.memory != nil {
			t.Errorf("%s is in memory after a flush", s.name)
		}
	}
	lookups(t, d, n)
}

// TestManyLookupsInADamagedSegment holds that a segment whose index does not match its
// tag is not believed more because it is read whole.
func TestManyLookupsInADamagedSegment(t *testing.T) {
	const n = 2 * manyLookups
	dir := t.TempDir()
	file := filled(t, dir, n)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// An index of this size is not checked when the segment is opened.
	b[len(b)-footerSize-1] ^= 1
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	d := OpenDisk(dir, DiskOptions{})
	defer d.Close()
	found := 0
	for range 3 {
		found = 0
		for i := range n {
			v := numbered(i)
			if b, err := d.Value(Sum(v)); err == nil {
				if found++; !bytes.Equal(b, v) {
					t.Fatalf("value %d = %.40q", i, b)
				}
			}
		}
	}
	if found < n-1 || d.segments[0].memory != nil {
		t.Errorf("%d of %d values found, in memory %v; want all but one at most, and not in memory", found, n, d.segments[0].memory != nil)
	}
}

// TestPackerKeepsTheOrder holds that what is compressed on several processors is what
// one of them makes of it.
func TestPackerKeepsTheOrder(t *testing.T) {
	var entries []entry
	for i := range 300 {
		entries = append(entries, entry{b: numbered(i * 7)})
	}
	for _, compress := range []bool{true, false} {
		var p packer
		for range 2 {
			for i, got := range p.all(entries, compress) {
				var c compressor
				want := rawPayload(entries[i].b)
				if compress {
					want = c.pack(entries[i].b)
				}
				if got.codec != want.codec || got.raw != want.raw || !bytes.Equal(got.b, want.b) {
					t.Fatalf("payload %d, compress %v: %d bytes of codec %d, want %d of %d", i, compress, len(got.b), got.codec, len(want.b), want.codec)
				}
			}
		}
	}
}
