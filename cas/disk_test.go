package cas

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex // guards t
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func putFlush(t testing.TB, d *Disk, values ...string) {
	t.Helper()
	for _, v := range values {
		if err := d.PutValue(Sum([]byte(v)), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
}

func act(t testing.TB, d *Disk, k Key, actions ...string) {
	t.Helper()
	for _, a := range actions {
		if err := d.PutAction(k, []byte(a)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
}

func has(d *Disk, value string) bool {
	b, err := d.Value(Sum([]byte(value)))
	return err == nil && string(b) == value
}

// segmentsIn returns the segments' paths, oldest first.
func segmentsIn(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+packSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func setTime(t testing.TB, path string, to time.Time) {
	t.Helper()
	if err := os.Chtimes(path, to, to); err != nil {
		t.Fatal(err)
	}
}

func timeOf(t testing.TB, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// Opening and putting must not touch the disk: somebody waits for an answer.
func TestDiskIsLazy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "v1", packsDir)
	d := OpenDisk(dir, DiskOptions{})
	d.PutValue(Sum([]byte("v")), []byte("v"))
	d.PutAction(Key{}, []byte("a"))
	if !has(d, "v") || d.listed {
		t.Error("a pending value was sought on disk")
	}
	d.Actions(Key{1})
	if _, err := os.Stat(filepath.Dir(filepath.Dir(dir))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a directory: %v", err)
	}
	if d.deflate.w != nil || d.deflate.r != nil {
		t.Error("a compressor was built for nothing")
	}
}

func TestDirectoryThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var told []error
	d := OpenDisk(file, DiskOptions{Observe: func(err error) { told = append(told, err) }})
	if _, err := d.Value(Sum(nil)); !errors.Is(err, ErrAbsent) {
		t.Errorf("Value = %v, want ErrAbsent", err)
	}
	if got := d.Actions(Key{}); len(got) != 0 {
		t.Errorf("Actions = %q", got)
	}
	d.PutValue(Sum([]byte("v")), []byte("v"))
	if err := d.Flush(); err == nil {
		t.Error("Flush gave no error")
	}
	if !has(d, "v") {
		t.Error("what could not be flushed is lost")
	}
	if len(told) == 0 {
		t.Error("nobody was told why")
	}
}

// What is there is not written again.
func TestFlushWritesOnlyWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	k := Key{1}
	for i := range 3 {
		d := OpenDisk(dir, DiskOptions{})
		d.PutValue(Sum([]byte("v")), []byte("v"))
		act(t, d, k, "a")
		d.Close()
		if n := len(segmentsIn(t, dir)); n != 1 {
			t.Fatalf("%d segments after flush %d, want 1", n, i)
		}
	}
	d := OpenDisk(dir, DiskOptions{})
	defer d.Close()
	act(t, d, k, "b")
	act(t, d, k, "a")
	if got := fmt.Sprintf("%q", d.Actions(k)); got != `["a" "b"]` {
		t.Errorf("Actions = %s, want a renewed above b", got)
	}
	if n := len(payloads(t, d)); n != 4 {
		t.Errorf("%d records, want v, a, b, a", n)
	}
}

// A use renews the mtime of a segment when it is older than an hour, so that
// eviction takes what nobody uses; a store that may not write does not.
func TestUseTouches(t *testing.T) {
	uses := map[string]func(*Disk){
		"value put again":  func(d *Disk) { d.PutValue(Sum([]byte("v")), []byte("v")); d.Flush() },
		"action put again": func(d *Disk) { d.PutAction(Key{1}, []byte("a")); d.Flush() },
		"value read":       func(d *Disk) { has(d, "v") },
		"action read":      func(d *Disk) { d.Actions(Key{1}) },
	}
	for name, use := range uses {
		for _, c := range []struct {
			age      time.Duration
			readOnly bool
			want     bool
		}{{30 * time.Minute, false, false}, {61 * time.Minute, false, true}, {-2 * time.Hour, false, true}, {100 * time.Hour, true, false}} {
			dir := t.TempDir()
			d := OpenDisk(dir, DiskOptions{})
			d.PutAction(Key{1}, []byte("a"))
			putFlush(t, d, "v")
			d.Close()
			path := segmentsIn(t, dir)[0]
			setTime(t, path, noon.Add(-c.age))
			d = OpenDisk(dir, DiskOptions{Now: func() time.Time { return noon }, ReadOnly: c.readOnly})
			use(d)
			d.Close()
			if got := timeOf(t, path).Equal(noon); got != c.want {
				t.Errorf("%s, age %v, read-only %v: touched = %v, want %v", name, c.age, c.readOnly, got, c.want)
			}
			if n := len(segmentsIn(t, dir)); n != 1 {
				t.Errorf("%s: %d segments", name, n)
			}
		}
	}
}

// The value is touched before the action that names it is written: a trim between
// the two must not leave an action without its value.
func TestTouchComesBeforeTheAction(t *testing.T) {
	dir := t.TempDir()
	d := OpenDisk(dir, DiskOptions{})
	putFlush(t, d, "v")
	d.Close()
	path := segmentsIn(t, dir)[0]
	setTime(t, path, noon.Add(-48*time.Hour))
	d = OpenDisk(dir, DiskOptions{Now: func() time.Time { return noon }})
	defer d.Close()
	stepped := false
	d.step = func(string) {
		stepped = true
		if !timeOf(t, path).Equal(noon) {
			t.Error("the action is written before the value's segment is touched")
		}
	}
	d.PutValue(Sum([]byte("v")), []byte("v"))
	act(t, d, Key{1}, "names v")
	if !stepped {
		t.Error("nothing was written")
	}
}

// A damaged record must not keep the good one from being written.
func TestDamageHeals(t *testing.T) {
	dir := t.TempDir()
	d := OpenDisk(dir, DiskOptions{})
	d.PutAction(Key{1}, []byte("the action"))
	putFlush(t, d, "the value")
	d.Close()
	path := segmentsIn(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("the value"), []byte("tha value"), 1)
	b = bytes.Replace(b, []byte("the action"), []byte("tha action"), 1)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var told []error
	d = OpenDisk(dir, DiskOptions{Observe: func(err error) { told = append(told, err) }})
	defer d.Close()
	if _, err := d.Value(Sum([]byte("the value"))); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "does not match its digest") {
		t.Errorf("Value of a damaged record: %v, want ErrAbsent with the reason", err)
	}
	if got := d.Actions(Key{1}); len(got) != 0 {
		t.Errorf("Actions = %q, want the damaged one left out", got)
	}
	if len(told) != 2 {
		t.Errorf("told %v, want both records", told)
	}
	d.PutAction(Key{1}, []byte("the action"))
	putFlush(t, d, "the value")
	if !has(d, "the value") || len(d.Actions(Key{1})) != 1 {
		t.Error("what was put after the damage is not there")
	}
}

// Only a writer's mistake makes a value of another digest; it is not written.
func TestWrongValueIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	d := OpenDisk(dir, DiskOptions{})
	d.PutValue(Digest{1}, []byte("wrong"))
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := len(segmentsIn(t, dir)); n != 0 {
		t.Errorf("%d segments, want none", n)
	}
}

// Newer is decided by the names of segments, and those grow even when the clock
// does not.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	c := &clock{t: noon}
	for i := range 12 {
		d := OpenDisk(dir, DiskOptions{Now: c.now})
		act(t, d, Key{1}, fmt.Sprint(i))
		if got := d.Actions(Key{1}); string(got[0]) != fmt.Sprint(i) {
			t.Errorf("newest = %q, want %d", got[0], i)
		}
		d.Close()
		c.add(-24 * time.Hour)
	}
	for _, v := range []struct{ newest, now, want uint64 }{
		{5, 9, 9}, {5, 5, 6}, {5, 1, 6}, {math.MaxUint64, 1, 1}, {math.MaxUint64 - 1, 1, math.MaxUint64},
	} {
		if got := after(v.newest, v.now); got != v.want {
			t.Errorf("after(%d, %d) = %d, want %d", v.newest, v.now, got, v.want)
		}
	}
}

// Segments of another version and other files are not read, merged, changed or
// removed.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	newer := segmentBytes(t, goldenEntries(), rawPayload)
	newer[len(packMagic)-1] = 2
	foreign := map[string][]byte{
		segmentName(3, 1):             newer,
		segmentName(math.MaxInt64, 2): []byte("no segment at all"),
		segmentName(4, 3):             {},
		"README":                      []byte("hello"),
		"0123.pack":                   newer,
	}
	for name, b := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := OpenDisk(dir, DiskOptions{MaxSegments: 2})
	defer d.Close()
	if _, err := d.Value(goldenEntries()[1].key); !errors.Is(err, ErrAbsent) {
		t.Errorf("Value from another version: %v, want ErrAbsent", err)
	}
	for i := range 10 {
		putFlush(t, d, fmt.Sprint("v", i))
	}
	for i := range 10 {
		if !has(d, fmt.Sprint("v", i)) {
			t.Errorf("value %d is lost", i)
		}
	}
	for name, want := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s is %q, %v, want it unchanged", name, b, err)
		}
	}
	if n := len(segmentsIn(t, dir)); n > len(foreign)-1+3 {
		t.Errorf("%d segments, want the own ones merged", n)
	}
}

func TestMergeKeepsTheNewest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), packsDir)
	d := OpenDisk(dir, DiskOptions{MaxSegments: 3})
	defer d.Close()
	long := strings.Repeat("merged values are compressed. ", 100)
	for i := range 40 {
		act(t, d, Key{1}, fmt.Sprint(i%13))
		putFlush(t, d, fmt.Sprint("v", i), long)
	}
	if n := len(segmentsIn(t, dir)); n > 3 {
		t.Errorf("%d segments, want at most 3", n)
	}
	want := `["0" "12" "11" "10" "9" "8" "7" "6"]`
	if got := fmt.Sprintf("%q", d.Actions(Key{1})); got != want {
		t.Errorf("Actions = %s, want %s", got, want)
	}
	for i := range 40 {
		if !has(d, fmt.Sprint("v", i)) {
			t.Errorf("value %d is lost", i)
		}
	}
	if !has(d, long) {
		t.Error("the long value is lost")
	}
	records, packed := payloads(t, d), 0
	for _, p := range records {
		if p.codec == deflateCodec {
			packed++
		}
	}
	if max := 40 + 1 + MaxActions + 2; len(records) > max || packed != 1 {
		t.Errorf("%d records, %d compressed, want at most %d and 1", len(records), packed, max)
	}
	if r, err := Fsck(filepath.Dir(dir)); err != nil || len(r.Problems) > 0 || r.Records != len(records) {
		t.Errorf("Fsck = %+v, %v", r, err)
	}
}

// A merge leaves damaged records behind and takes the others along.
func TestMergeSkipsDamage(t *testing.T) {
	entries := goldenEntries()
	b := segmentBytes(t, entries, rawPayload)
	b[bytes.Index(b, []byte("older answer"))] ^= 1
	b[bytes.Index(b, []byte("first value"))] ^= 1
	cut := segmentBytes(t, []entry{{kind: valueRecord, key: Sum([]byte("in a cut segment")), b: []byte("in a cut segment")}}, rawPayload)
	d := storeOf(t, b, cut[:len(cut)-1])
	d.o.MaxSegments = 1
	putFlush(t, d, "new")
	if n := len(segmentsIn(t, d.dir)); n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
	if !has(d, "new") || !has(d, "in a cut segment") {
		t.Error("good values are lost")
	}
	if n := checkNothingWrong(t, d, entries, "merged"); n != len(entries)-2 {
		t.Errorf("%d good records of %d are left", n, len(entries)-2)
	}
	if r, err := Fsck(filepath.Dir(d.dir)); err != nil || len(r.Problems) > 0 || r.Segments != 1 {
		t.Errorf("Fsck = %+v, %v", r, err)
	}
}

// A large segment stays as it is, and so does what is older.
func TestMergeLeavesLargeSegments(t *testing.T) {
	dir := t.TempDir()
	d := OpenDisk(dir, DiskOptions{MaxSegments: 3})
	defer d.Close()
	d.large = 2000
	act(t, d, Key{1}, "oldest")
	act(t, d, Key{1}, strings.Repeat("large ", 1000))
	before := segmentsIn(t, dir)
	for i := range 10 {
		act(t, d, Key{1}, fmt.Sprint(i%3))
	}
	now := segmentsIn(t, dir)
	if len(now) > 2+3 || now[0] != before[0] || now[1] != before[1] {
		t.Errorf("segments %q, want the first two of %q and at most 3 more", now, before)
	}
	if got := d.Actions(Key{1}); len(got) != 5 || string(got[0]) != "0" || string(got[4]) != "oldest" {
		t.Errorf("Actions = %.20q, want newest to oldest", got)
	}
}

// A store that listed the segments before they were merged finds the records
// after, whether it had opened them or not.
func TestMergedAwayUnderAReader(t *testing.T) {
	for _, opened := range []bool{false, true} {
		dir := t.TempDir()
		w := OpenDisk(dir, DiskOptions{MaxSegments: 5})
		defer w.Close()
		for i := range 5 {
			act(t, w, Key{1}, fmt.Sprint(i))
			if i == 0 {
				continue
			}
		}
		r := OpenDisk(dir, DiskOptions{})
		defer r.Close()
		if opened {
			r.Actions(Key{1})
		} else {
			r.list(false)
		}
		act(t, w, Key{1}, "last")
		if n := len(segmentsIn(t, dir)); n != 1 {
			t.Fatalf("%d segments, want 1", n)
		}
		want := `["last" "4" "3" "2" "1" "0"]`
		if opened && os.PathSeparator == '/' {
			want = `["4" "3" "2" "1" "0"]` // an open file outlives its name
		}
		if got := fmt.Sprintf("%q", r.Actions(Key{1})); got != want {
			t.Errorf("opened before: %v: Actions = %s, want %s", opened, got, want)
		}
	}
}

// When everything is removed under an open store, it is empty and goes on.
func TestDirectoryRemovedUnderAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), packsDir)
	d := OpenDisk(dir, DiskOptions{})
	defer d.Close()
	putFlush(t, d, "old")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	putFlush(t, d, "new")
	if !has(d, "new") || has(d, "old") {
		t.Errorf("new %v, old %v, want true and false", has(d, "new"), has(d, "old"))
	}
}

// A merge that finds the lock taken is left to the one who has it.
func TestMergeSkipsWhenLocked(t *testing.T) {
	dir := t.TempDir()
	unlock, ok, err := TryLock(filepath.Join(dir, mergeLock))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	d := OpenDisk(dir, DiskOptions{MaxSegments: 2})
	defer d.Close()
	for i := range 6 {
		putFlush(t, d, fmt.Sprint(i))
	}
	if n := len(segmentsIn(t, dir)); n != 6 {
		t.Errorf("%d segments while the lock is taken, want 6", n)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	putFlush(t, d, "last")
	if n := len(segmentsIn(t, dir)); n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
}

// More segments than files may be open.
func TestManySegments(t *testing.T) {
	dir := t.TempDir()
	w := OpenDisk(dir, DiskOptions{MaxSegments: 1000})
	defer w.Close()
	for i := range maxOpen + 20 {
		putFlush(t, w, fmt.Sprint(i))
	}
	if n := openFiles(w); n > maxOpen+1 {
		t.Errorf("%d files are open while writing, want at most %d", n, maxOpen+1)
	}
	r := OpenDisk(dir, DiskOptions{MaxSegments: 2})
	defer r.Close()
	for range 2 {
		for i := range maxOpen + 20 {
			if !has(r, fmt.Sprint(i)) {
				t.Errorf("value %d is lost", i)
			}
		}
		if n := openFiles(r); n > maxOpen {
			t.Errorf("%d files are open, want at most %d", n, maxOpen)
		}
		putFlush(t, r, "and merge them")
	}
	if n := len(segmentsIn(t, dir)); n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
}

func openFiles(d *Disk) (n int) {
	for _, s := range d.segments {
		if s.file != nil {
			n++
		}
	}
	return n
}

// A long run on a full disk keeps a bounded amount for the next try.
func TestPendingIsBoundedAfterFailures(t *testing.T) {
	d := OpenDisk(filepath.Join(t.TempDir(), "x"), DiskOptions{})
	d.prepare = func() error { return errors.New("disk full") }
	v := make([]byte, maxPending/2+1)
	d.PutValue(Sum(v), v)
	if err := d.Flush(); err == nil || !has(d, string(v)) {
		t.Errorf("Flush = %v; the value is to be kept", err)
	}
	d.PutAction(Key{1}, v)
	if err := d.Flush(); err == nil || has(d, string(v)) || d.pending.bytes != 0 {
		t.Errorf("Flush = %v with %d bytes kept, want an error and none", err, d.pending.bytes)
	}
	d = OpenDisk(t.TempDir(), DiskOptions{ReadOnly: true})
	d.PutValue(Sum(v), v)
	d.PutAction(Key{1}, v)
	if err := d.Flush(); err != nil || d.pending.bytes != 0 {
		t.Errorf("Flush of a read-only store = %v with %d bytes kept, want none", err, d.pending.bytes)
	}
}
