package cas

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSlots(t *testing.T) {
	s := OpenSlots(filepath.Join(t.TempDir(), "a", "b"), nil)
	if _, err := s.Read(Key{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("Read of nothing: %v, want ErrAbsent", err)
	}
	payloads := [][]byte{{}, []byte("x"), []byte(slotMagic), bytes.Repeat([]byte("map "), 1<<18)}
	for round := range 2 {
		for i, p := range payloads {
			k := Key{byte(i + round)} // the second round replaces
			if err := s.Write(k, p); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Read(k); err != nil || !bytes.Equal(got, p) {
				t.Errorf("Read = %d bytes, %v, want %d", len(got), err, len(p))
			}
		}
	}
	if err := s.Write(Key{1}, make([]byte, MaxSize+1)); err == nil {
		t.Error("a payload larger than MaxSize was written")
	}
	files, err := os.ReadDir(s.dir)
	if err != nil || len(files) != len(payloads)+1 {
		t.Errorf("%d files, %v, want %d", len(files), err, len(payloads))
	}
}

// Any change of any byte of a slot is a miss with a reason.
func TestDamagedSlot(t *testing.T) {
	root := t.TempDir()
	s := OpenSlots(filepath.Join(root, slotsDir), nil)
	if err := s.Write(Key{}, []byte("the payload")); err != nil {
		t.Fatal(err)
	}
	damages(formatSlot(Key{1}, []byte("the payload")), func(what string, _ int, b []byte) {
		if err := os.WriteFile(s.path(Key{}), b, 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(Key{}); !errors.Is(err, ErrAbsent) || got != nil || strings.Contains(err.Error(), "no such") {
			t.Errorf("%s: Read = %q, %v, want ErrAbsent with the reason", what, got, err)
		}
		if r, err := Fsck(root); err != nil || len(r.Problems)+r.Foreign != 1 || r.Slots != 0 {
			t.Errorf("%s: Fsck = %+v, %v, want a problem", what, r, err)
		}
	})
	large, err := os.Create(s.path(Key{}))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(MaxSize + 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(Key{}); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("Read of a huge file: %v", err)
	}
}

func TestSlotReadTouches(t *testing.T) {
	s := OpenSlots(t.TempDir(), func() time.Time { return noon })
	if err := s.Write(Key{}, nil); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]bool{0: true, 59 * time.Minute: false, 61 * time.Minute: true, -61 * time.Minute: true, -59 * time.Minute: false} {
		setTime(t, s.path(Key{}), noon.Add(-age))
		if _, err := s.Read(Key{}); err != nil {
			t.Fatal(err)
		}
		if got := timeOf(t, s.path(Key{})).Equal(noon); got != want {
			t.Errorf("age %v: mtime is now = %v, want %v", age, got, want)
		}
	}
}

// Readers see one whole payload or another or none, never a mixture.
func TestSlotsConcurrently(t *testing.T) {
	s := OpenSlots(t.TempDir(), nil)
	payload := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%03d ", i), 3000) }
	if err := s.Write(Key{}, payload(0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := s.Write(Key{}, payload(g*50+i)); err != nil {
					t.Error(err)
				}
				b, err := s.Read(Key{})
				if errors.Is(err, ErrAbsent) && strings.Contains(err.Error(), "no such slot") {
					continue // between two files
				}
				if err != nil || len(b) != 12000 || !bytes.Equal(b, bytes.Repeat(b[:4], 3000)) {
					t.Errorf("Read = %d bytes, %v", len(b), err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzSlot(f *testing.F) {
	f.Add(formatSlot(Key{1}, nil))
	f.Add(formatSlot(Key{1}, []byte("payload")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseSlot(Key{1}, b); err == nil && !bytes.Equal(formatSlot(Key{1}, p), b) {
			t.Errorf("%x is read as %x, which is written otherwise", b, p)
		}
		if p, err := parseSlot(Key{1}, formatSlot(Key{1}, b)); err != nil || !bytes.Equal(p, b) {
			t.Errorf("%x is written, read as %x: %v", b, p, err)
		}
	})
}

func BenchmarkSlots(b *testing.B) {
	for _, size := range []int{4 << 10, 16 << 10} {
		s := OpenSlots(b.TempDir(), nil)
		payload := make([]byte, size)
		b.Run(fmt.Sprintf("op=write/size=%d", size), func(b *testing.B) {
			for b.Loop() {
				if err := s.Write(Key{}, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("op=read/size=%d", size), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Read(Key{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
