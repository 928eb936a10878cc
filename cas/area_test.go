package cas

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// area returns a cache whose clock stands at noon.
func area(t *testing.T) (*Area, *clock) {
	t.Helper()
	c := &clock{t: noon}
	return OpenArea(filepath.Join(t.TempDir(), "state", "cache"), c.now), c
}

// fill writes a slot of size bytes that was used at a time.
func fillSlot(t *testing.T, a *Area, name byte, size int, used time.Time) {
	t.Helper()
	s := a.Slots()
	if err := s.Write(Key{name}, make([]byte, size-slotExtra)); err != nil {
		t.Fatal(err)
	}
	setTime(t, s.path(Key{name}), used)
}

// fillPack writes a segment that was used at a time and returns its size.
func fillPack(t *testing.T, a *Area, value string, used time.Time) int64 {
	t.Helper()
	d := a.Store(DiskOptions{MaxSegments: 100})
	defer d.Close()
	putFlush(t, d, value)
	paths := segmentsIn(t, d.dir)
	path := paths[len(paths)-1]
	setTime(t, path, used)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// left returns the names of the slots and segments that remain.
func left(t *testing.T, a *Area) string {
	t.Helper()
	files, err := listKept(a.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		switch f.kind {
		case slotFile:
			names = append(names, filepath.Base(f.path)[:2])
		case packFile:
			names = append(names, "pack")
		case tempFile:
			names = append(names, "temp")
		}
	}
	return strings.Join(names, " ")
}

func TestTrim(t *testing.T) {
	day := 24 * time.Hour
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, c := range []struct {
		name string
		o    TrimOptions
		fill func(a *Area)
		want string
	}{
		{"nothing", TrimOptions{}, func(*Area) {}, ""},
		{"age", TrimOptions{}, func(a *Area) {
			fillSlot(t, a, 1, 100, ago(13*day))
			fillSlot(t, a, 2, 100, ago(15*day))
			fillPack(t, a, "old", ago(15*day))
		}, "01"},
		{"size, least recently used first", TrimOptions{MaxSize: 350}, func(a *Area) {
			fillSlot(t, a, 1, 100, ago(3*day))
			fillSlot(t, a, 2, 100, ago(5*day))
			fillSlot(t, a, 3, 100, ago(2*day))
			fillSlot(t, a, 4, 100, ago(4*day))
			fillSlot(t, a, 5, 100, ago(6*day))
		}, "01 03 04"},
		{"packs compete with slots", TrimOptions{MaxSize: 250}, func(a *Area) {
			fillSlot(t, a, 1, 100, ago(3*day))
			fillPack(t, a, "old", ago(5*day))
			fillPack(t, a, "new", ago(2*day))
		}, "pack"},
		{"never what is young", TrimOptions{MaxSize: 1}, func(a *Area) {
			fillSlot(t, a, 1, 100, ago(59*time.Minute))
			fillSlot(t, a, 2, 100, ago(61*time.Minute))
			fillSlot(t, a, 3, 100, ago(-day))
		}, "01 03"},
		{"old temporary files", TrimOptions{}, func(a *Area) {
			fillSlot(t, a, 1, 100, noon)
			for i, age := range []time.Duration{59 * time.Minute, 61 * time.Minute} {
				path := filepath.Join(a.Dir(), slotsDir, fmt.Sprint(tempPrefix, i))
				if err := os.WriteFile(path, []byte("half"), 0o666); err != nil {
					t.Fatal(err)
				}
				setTime(t, path, ago(age))
			}
		}, "01 temp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _ := area(t)
			c.fill(a)
			before, err := listKept(a.Dir())
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Trim(c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := left(t, a); got != c.want {
				t.Errorf("left %q, want %q", got, c.want)
			}
			after, err := listKept(a.Dir())
			if err != nil {
				t.Fatal(err)
			}
			u, err := a.Usage()
			if err != nil || r.Removed != len(before)-len(after) || r.Remaining != u.Bytes {
				t.Errorf("report %+v with %d files before, %d after, %d bytes left", r, len(before), len(after), u.Bytes)
			}
		})
	}
}

func TestTrimIfDue(t *testing.T) {
	a, c := area(t)
	if _, done, err := a.TrimIfDue(TrimOptions{}); done || err != nil {
		t.Errorf("TrimIfDue of no cache = %v, %v", done, err)
	}
	fillSlot(t, a, 1, 100, noon.Add(-15*24*time.Hour))
	stamp := filepath.Join(filepath.Dir(a.Dir()), ignoreName)
	if err := os.Chtimes(stamp, c.now(), c.now()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {23 * time.Hour, false}, {time.Hour, true}, {0, false}, {-23 * time.Hour, false}, {-2 * time.Hour, true}} {
		c.add(step.after)
		if _, done, err := a.TrimIfDue(TrimOptions{}); done != step.want || err != nil {
			t.Errorf("TrimIfDue %v later = %v, %v, want %v", step.after, done, err, step.want)
		}
	}
	if got := left(t, a); got != "" {
		t.Errorf("left %q", got)
	}
	c.add(48 * time.Hour)
	unlock, ok, err := TryLock(filepath.Join(a.Dir(), trimLock))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer unlock()
	if _, done, err := a.TrimIfDue(TrimOptions{}); done || err != nil {
		t.Errorf("TrimIfDue while another process trims = %v, %v", done, err)
	}
}

// Clean removes what is kept and nothing else, and whoever is at work goes on.
func TestClean(t *testing.T) {
	a, _ := area(t)
	fillSlot(t, a, 1, 100, noon)
	fillPack(t, a, "v", noon)
	d := a.Store(DiskOptions{})
	defer d.Close()
	if !has(d, "v") {
		t.Fatal("the value is not there")
	}
	others := []string{"note", "slots/README", "packs/x.pack", "packs/" + mergeLock, "packs/tmp-1"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(a.Dir(), name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Clean(); err != nil {
		t.Fatal(err)
	}
	if got := left(t, a); got != "temp" {
		t.Errorf("left %q, want the young temporary file", got)
	}
	for _, name := range others {
		if b, err := os.ReadFile(filepath.Join(a.Dir(), name)); err != nil || string(b) != name {
			t.Errorf("%s = %q, %v, want it left alone", name, b, err)
		}
	}
	putFlush(t, d, "w")
	if !has(d, "w") || a.Slots().Write(Key{2}, nil) != nil {
		t.Error("the cache cannot be used after Clean")
	}
	setTime(t, filepath.Join(a.Dir(), "packs/tmp-1"), noon)
	if err := a.Clean(); err != nil || left(t, a) != "" {
		t.Errorf("Clean = %v, left %q", err, left(t, a))
	}
	if err := OpenArea(filepath.Join(t.TempDir(), "none"), nil).Clean(); err != nil {
		t.Errorf("Clean of no cache: %v", err)
	}
}

// A cache inside a repository does not show in git status, and a .gitignore that
// is there stays.
func TestPrepare(t *testing.T) {
	for name, write := range map[string]func(*Area) error{
		"slot": func(a *Area) error { return a.Slots().Write(Key{1}, nil) },
		"pack": func(a *Area) error {
			d := a.Store(DiskOptions{})
			d.PutAction(Key{1}, nil)
			return errors.Join(d.Flush(), d.Close())
		},
	} {
		a, _ := area(t)
		if err := write(a); err != nil {
			t.Fatal(name, err)
		}
		b, err := os.ReadFile(filepath.Join(a.cache, ".gitignore"))
		if err != nil || string(b) != ignoreFile || !strings.HasPrefix(ignoreFile, "#") || !strings.HasSuffix(ignoreFile, "\n*\n") {
			t.Errorf("%s: .gitignore = %q, %v", name, b, err)
		}
	}
	cache := t.TempDir()
	own := []byte("mine\n")
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), own, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(cache); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(cache, ".gitignore")); !bytes.Equal(b, own) {
		t.Errorf(".gitignore = %q, want it left alone", b)
	}
	if files, _ := os.ReadDir(cache); len(files) != 1 {
		t.Errorf("%d files in the cache, want 1", len(files))
	}
}

func TestUsage(t *testing.T) {
	a, _ := area(t)
	if u, err := a.Usage(); err != nil || u != (UsageReport{}) {
		t.Errorf("Usage of no cache = %+v, %v", u, err)
	}
	fillSlot(t, a, 1, 100, noon)
	size := fillPack(t, a, "v", noon.Add(-time.Hour))
	size += fillPack(t, a, "w", noon.Add(-3*time.Hour))
	u, err := a.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if !u.Oldest.Equal(noon.Add(-3*time.Hour)) || !u.Newest.Equal(noon) {
		t.Errorf("Usage: oldest %v, newest %v", u.Oldest, u.Newest)
	}
	u.Oldest, u.Newest = time.Time{}, time.Time{}
	if want := (UsageReport{Bytes: 100 + size, Slots: 1, Segments: 2, Records: 2}); u != want {
		t.Errorf("Usage = %+v, want %+v", u, want)
	}
}

func TestFsck(t *testing.T) {
	a, _ := area(t)
	if r, err := a.Fsck(); err != nil || r.Bytes != 0 || r.Problems != nil {
		t.Errorf("Fsck of no cache = %+v, %v", r, err)
	}
	fillSlot(t, a, 1, 100, noon)
	size := fillPack(t, a, "v", noon)
	r, err := a.Fsck()
	if err != nil || r.Slots != 1 || r.Segments != 1 || r.Records != 1 || r.Bytes != size+100 || len(r.Problems) != 0 {
		t.Errorf("Fsck = %+v, %v", r, err)
	}
	// An index that hides a record, with good tags everywhere.
	v := []byte("hidden")
	sum := Sum(v)
	b := appendRecord([]byte(packMagic), valueRecord, (*[32]byte)(&sum), rawPayload(v))
	b = appendSeal(b, int64(len(b)), newTable(nil), newTable(nil))
	path := filepath.Join(a.Dir(), packsDir, segmentName(1, 1))
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	// A record with a good tag and a value of another digest.
	b = appendRecord([]byte(packMagic), valueRecord, &[32]byte{}, rawPayload(v))
	if err := os.WriteFile(filepath.Join(a.Dir(), packsDir, segmentName(1, 2)), b, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err = a.Fsck()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Problems {
		got = append(got, strings.TrimPrefix(p.String(), filepath.Join(a.Dir(), packsDir)+string(os.PathSeparator)))
	}
	want := []string{
		segmentName(1, 1) + ": byte 72: the index does not list the records that are there",
		segmentName(1, 2) + ": byte 72: damaged: the segment does not end in a footer",
		segmentName(1, 2) + ": byte 8: damaged: value does not match its digest",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
