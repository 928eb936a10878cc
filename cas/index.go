package cas

import (
	"bytes"
	"encoding/binary"
	"io"
	"sort"
)

// The layout of a segment around its records, in bytes.
//
//	0       8     packMagic
//	8       ...   records
//	index   44*v  the values' entries, sorted by key and then offset
//	        44*a  the actions' entries, sorted alike
//	end-56  56    footer
//
// An entry is the key (32), the record's offset (8) and its length (4). The
// footer is the offset of the index (8), v (4), a (4), the first 16 bytes of the
// BLAKE3 hash of the index, the first 16 bytes of the hash of the 32 bytes before,
// and endMagic (8). Numbers are little-endian.
const (
	packMagic  = "mwppack\x01"
	endMagic   = "mwpends\x01"
	entrySize  = 44
	footerSize = 56
)

// loadIndex is the size in bytes up to which an index is read whole and checked
// when the segment is opened. Above it, a lookup reads a dozen entries where they
// lie: touching megabytes of memory would cost more than the whole command. Every
// record is checked when it is read, so a damaged large index can only hide one.
const loadIndex = 64 << 10

// place is where a record lies in a segment.
type place struct {
	off    int64
	length int
}

// indexed is an entry of the index.
type indexed struct {
	key [32]byte
	place
}

func appendIndexed(b []byte, e indexed) []byte {
	b = append(b, e.key[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.off))
	return binary.LittleEndian.AppendUint32(b, uint32(e.length))
}

func parseIndexed(b []byte) indexed {
	return indexed{
		key: [32]byte(b),
		place: place{
			off:    int64(binary.LittleEndian.Uint64(b[32:])),
			length: int(binary.LittleEndian.Uint32(b[40:])),
		},
	}
}

// index is a segment's index: one table for values and one for actions, so the
// two are distinct namespaces without a byte for it in every entry.
type index struct {
	values, actions table
	// sealed says that the index was read from the segment; otherwise it was made
	// by a scan.
	sealed bool
	// end is where the records end.
	end int64
}

func (x *index) table(kind recordKind) *table {
	if kind == valueRecord {
		return &x.values
	}
	return &x.actions
}

// table is a sorted run of entries, in memory or in the file.
type table struct {
	n   int
	mem []byte // all of it, or nil
	r   io.ReaderAt
	off int64
}

// read returns the entries from i to j.
func (t *table) read(i, j int) ([]byte, error) {
	if i >= j {
		return nil, nil
	}
	if t.mem != nil {
		return t.mem[i*entrySize : j*entrySize], nil
	}
	b := make([]byte, (j-i)*entrySize)
	return b, readAt(t.r, b, t.off+int64(i)*entrySize)
}

// find returns the places of the records of a key, in the order in which they
// were written.
func (t *table) find(key *[32]byte) ([]place, error) {
	lo, hi := 0, t.n
	if t.mem != nil {
		lo = sort.Search(t.n, func(i int) bool {
			return bytes.Compare(t.mem[i*entrySize:i*entrySize+32], key[:]) >= 0
		})
		hi = lo
	}
	// The last 90 candidates fit a page and are read at once.
	for hi-lo > 90 {
		mid := int(uint(lo+hi) / 2)
		b, err := t.read(mid, mid+1)
		if err != nil {
			return nil, err
		}
		if bytes.Compare(b[:32], key[:]) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	// A writer puts at most MaxActions records of a key into a segment.
	b, err := t.read(lo, min(t.n, hi+MaxActions))
	if err != nil {
		return nil, err
	}
	var found []place
	for ; len(b) > 0; b = b[entrySize:] {
		switch c := bytes.Compare(b[:32], key[:]); {
		case c == 0:
			found = append(found, parseIndexed(b).place)
		case c > 0:
			return found, nil
		}
	}
	return found, nil
}

// all returns every entry.
func (t *table) all() ([]indexed, error) {
	b, err := t.read(0, t.n)
	if err != nil {
		return nil, err
	}
	out := make([]indexed, 0, t.n)
	for ; len(b) > 0; b = b[entrySize:] {
		out = append(out, parseIndexed(b))
	}
	return out, nil
}

// newTable sorts entries into a table in memory.
func newTable(entries []indexed) table {
	sort.Slice(entries, func(i, j int) bool {
		if c := bytes.Compare(entries[i].key[:], entries[j].key[:]); c != 0 {
			return c < 0
		}
		return entries[i].off < entries[j].off
	})
	b := make([]byte, 0, len(entries)*entrySize)
	for _, e := range entries {
		b = appendIndexed(b, e)
	}
	return table{n: len(entries), mem: b}
}

// appendSeal writes index and footer of a segment whose records end at off.
func appendSeal(b []byte, off int64, values, actions table) []byte {
	start := len(b)
	b = append(b, values.mem...)
	b = append(b, actions.mem...)
	sum := Sum(b[start:])
	return appendFooter(b, off, values.n, actions.n, sum)
}

func appendFooter(b []byte, off int64, values, actions int, sum Digest) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(off))
	b = binary.LittleEndian.AppendUint32(b, uint32(values))
	b = binary.LittleEndian.AppendUint32(b, uint32(actions))
	b = append(b, sum[:tagSize]...)
	own := Sum(b[start:])
	b = append(b, own[:tagSize]...)
	return append(b, endMagic...)
}

// footer is the end of a sealed segment.
type footer struct {
	off             int64
	values, actions int
	tag             [tagSize]byte
}

// readFooter reads and checks the footer of a segment of the given size.
func readFooter(r io.ReaderAt, size int64) (f footer, err error) {
	if size < int64(len(packMagic))+footerSize {
		return f, damaged("%d bytes are too few for a footer", size)
	}
	var b [footerSize]byte
	if err := readAt(r, b[:], size-footerSize); err != nil {
		return f, err
	}
	if sum := Sum(b[:32]); string(b[48:]) != endMagic || !bytes.Equal(sum[:tagSize], b[32:48]) {
		return f, damaged("the segment does not end in a footer")
	}
	f = footer{
		off:     int64(binary.LittleEndian.Uint64(b[:])),
		values:  int(binary.LittleEndian.Uint32(b[8:])),
		actions: int(binary.LittleEndian.Uint32(b[12:])),
		tag:     [tagSize]byte(b[16:]),
	}
	if f.off < int64(len(packMagic)) || f.off > size || size-footerSize-f.off != (int64(f.values)+int64(f.actions))*entrySize {
		return f, damaged("footer names an index at byte %d with %d and %d entries in %d bytes", f.off, f.values, f.actions, size)
	}
	return f, nil
}

// readIndex reads the index of a sealed segment. An index of more than limit
// bytes is left in the file and not checked.
func readIndex(r io.ReaderAt, size, limit int64) (index, error) {
	f, err := readFooter(r, size)
	if err != nil {
		return index{}, err
	}
	x := index{
		values:  table{n: f.values, r: r, off: f.off},
		actions: table{n: f.actions, r: r, off: f.off + int64(f.values)*entrySize},
		sealed:  true,
		end:     f.off,
	}
	length := size - footerSize - f.off
	if length > limit {
		return x, nil
	}
	b := make([]byte, length)
	if err := readAt(r, b, f.off); err != nil {
		return index{}, err
	}
	if sum := Sum(b); !bytes.Equal(sum[:tagSize], f.tag[:]) {
		return index{}, damaged("the index does not match its tag")
	}
	x.values.mem, x.actions.mem = b[:f.values*entrySize], b[f.values*entrySize:]
	return x, nil
}

// scanIndex makes an index from the records of a segment, up to the first bad
// one, whose error it returns; nil means that the records fill the segment. It
// holds one record in memory at a time.
func scanIndex(r io.ReaderAt, size int64) (index, error) {
	var values, actions []indexed
	var buf []byte
	off, err := int64(len(packMagic)), error(nil)
	for off < size {
		var h head
		if h, buf, err = readRecord(r, off, size, buf); err != nil {
			break
		}
		e := indexed{key: h.key, place: place{off: off, length: h.length}}
		if h.kind == valueRecord {
			values = append(values, e)
		} else {
			actions = append(actions, e)
		}
		off += int64(h.length)
	}
	return index{values: newTable(values), actions: newTable(actions), end: off}, err
}

// readRecord reads and checks the record at off into buf, which it returns. The
// buffer only grows for a record that fits in the segment.
func readRecord(r io.ReaderAt, off, size int64, buf []byte) (head, []byte, error) {
	if size-off < recordOverhead {
		return head{}, buf, damaged("%d bytes are no record", size-off)
	}
	if cap(buf) < recordHead {
		buf = make([]byte, 4<<10)
	}
	buf = buf[:recordHead]
	if err := readAt(r, buf, off); err != nil {
		return head{}, buf, err
	}
	h, err := parseHead(buf)
	if err != nil {
		return h, buf, err
	}
	if int64(h.length) > size-off {
		return h, buf, damaged("record of %d bytes, %d are left", h.length, size-off)
	}
	if cap(buf) < h.length {
		buf = make([]byte, h.length)
	}
	buf = buf[:h.length]
	if err := readAt(r, buf, off); err != nil {
		return h, buf, err
	}
	h, _, err = parseRecord(buf)
	return h, buf, err
}

// readAt fills b. A file that ends too early is damage, not an error of the disk.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return damaged("the segment ends inside something")
	}
	return err
}
