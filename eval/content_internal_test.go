package eval

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// pattern returns n bytes that repeat with no power of two.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

// TestSumPieces holds that the digest does not depend on how much the system hands out
// at a time, and that each byte counts.
func TestSumPieces(t *testing.T) {
	seen := map[cas.Digest]string{}
	note := func(d cas.Digest, name string) {
		if first, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", first, name)
		}
		seen[d] = name
	}
	for _, size := range []int{0, 1, 100, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2*pieceBytes - 1, 2 * pieceBytes, 3*pieceBytes + 77} {
		b := pattern(size)
		var first cas.Digest
		for i, step := range []int{size + 1, 1 << 16, pieceBytes - 3, 4099} {
			d, n, err := sumPieces(steps(b, step), int64(size))
			if err != nil || n != int64(size) {
				t.Fatalf("%d bytes in steps of %d: %d, %v", size, step, n, err)
			}
			if i == 0 {
				first = d
			} else if d != first {
				t.Errorf("%d bytes in steps of %d have another digest", size, step)
			}
		}
		if first != cas.Sum(b) {
			t.Errorf("%d bytes do not have the digest that b3sum prints", size)
		}
		note(first, fmt.Sprint(size))
		for _, at := range []int{0, pieceBytes - 1, pieceBytes, size - 1} {
			if at >= 0 && at < size && (at == 0 || at != size-1 || size > 1) {
				b[at]++
				d, _, _ := sumPieces(steps(b, size), int64(size))
				b[at]--
				if d == first {
					t.Errorf("%d bytes have one digest whatever byte %d is", size, at)
				}
			}
		}
	}
	a, b := pattern(pieceBytes), bytes.Repeat([]byte{7}, pieceBytes)
	for name, whole := range map[string][][]byte{"ab": {a, b}, "ba": {b, a}, "aab": {a, a, b}} {
		d, _, _ := sumPieces(steps(bytes.Join(whole, nil), 1<<20), 4*pieceBytes)
		note(d, name)
	}
}

// steps yields b in reads of at most n bytes.
func steps(b []byte, n int) func([]byte) (int, error) {
	return func(to []byte) (int, error) {
		c := copy(to[:min(n, len(to))], b)
		b = b[c:]
		return c, nil
	}
}

// TestSumPiecesEnds holds that a file that grows for ever is given up, and that a
// failing read is one.
func TestSumPiecesEnds(t *testing.T) {
	read := int64(0)
	_, n, err := sumPieces(func(b []byte) (int, error) { read += int64(len(b)); return len(b), nil }, 10)
	if err != nil || n <= 10 || read > 2*pieceBytes {
		t.Errorf("an endless file: %d bytes, %v, after %d", n, err, read)
	}
	fails := errors.New("no disk")
	if _, _, err := sumPieces(func(b []byte) (int, error) { return 0, fails }, 10); !errors.Is(err, fails) {
		t.Errorf("a failing read: %v", err)
	}
}

// TestContentTakesNoMemory holds that large files cost neither their size nor a buffer
// each. The race detector makes a pool lose every fourth of what it is given.
func TestContentTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	const size = 4 << 20
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint(i))
	}
	for _, name := range names {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	w := NewWorld(dir, time.Now)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, name := range names {
		if r, err := w.read(graph.Content{Path: name}); err != nil || r.value.(graph.ContentState).Size != size {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 24*pieceBytes {
		t.Errorf("%d bytes were allocated to read %d, want at most %d", got, len(names)*size, 24*pieceBytes)
	}
}

// TestWhileStill holds that what changes while it is read is read again, and given up
// in the end, wherever the change falls.
func TestWhileStill(t *testing.T) {
	never := func(*stat) bool { return false }
	for _, changes := range []int{0, 1, attempts - 1, attempts} {
		for _, how := range []string{"grows", "shrinks", "other size than read", "another time within", "replaced", "gone and back"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, []byte("0123456789"), 0o644); err != nil {
				t.Fatal(err)
			}
			w := NewWorld(dir, func() time.Time { return time.Now().Add(time.Hour) })
			reads := 0
			s, trusted, err := w.whileStill("f", never, func(path string) (int64, stat, stat, error) {
				reads++
				b, before, after, err := readRegular(path, 1<<20)
				n := int64(len(b))
				if reads > changes {
					return n, before, after, err
				}
				switch how {
				case "grows":
					err = os.WriteFile(path, append(b, 'x'), 0o644)
				case "shrinks":
					err = os.Truncate(path, n-1)
				case "replaced":
					other := filepath.Join(dir, "other")
					if err = os.WriteFile(other, b, 0o644); err == nil {
						err = os.Rename(other, path)
					}
				case "another time within":
					at := time.Unix(int64(reads), 0)
					if err = os.Chtimes(path, at, at); err == nil {
						after, err = lstat(path)
					}
				case "other size than read":
					n--
				case "gone and back":
					return 0, stat{}, stat{}, os.ErrNotExist
				}
				return n, before, after, err
			})
			if changes == attempts {
				var failed *WorldError
				if !errors.As(err, &failed) || !errors.Is(err, errUnsettled) || failed.Path != "f" || reads != attempts {
					t.Errorf("%s for ever: %v after %d reads", how, err, reads)
				}
				continue
			}
			if err != nil || reads != changes+1 || s.Type != graph.Regular || !trusted {
				t.Errorf("%s %d times: %+v, trusted %v, %v after %d reads", how, changes, s, trusted, err, reads)
			}
		}
	}
}

// TestContentOfAGrowingFile holds while another goroutine appends that the digest is
// of exactly the bytes that the size says, or that there is none.
func TestContentOfAGrowingFile(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const most = 4 << 20
	whole := pattern(most)
	var wg sync.WaitGroup
	wg.Go(func() {
		for at := 0; at < most; at += 9973 {
			if _, err := f.Write(whole[at:min(at+9973, most)]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	start := time.Now()
	w := NewWorld(dir, func() time.Time { return start })
	look := func() int64 {
		r, err := w.read(graph.Content{Path: "log"})
		if errors.Is(err, errUnsettled) {
			return 0
		}
		if err != nil {
			t.Error(err)
			return most
		}
		s := r.value.(graph.ContentState)
		if want, _, _ := sumPieces(steps(whole[:s.Size], most), s.Size); s.Digest != want {
			t.Errorf("the digest of %d bytes is not theirs", s.Size)
		}
		if r.trusted {
			t.Error("a file that was just written is trusted")
		}
		return s.Size
	}
	for range 20 {
		look()
	}
	wg.Wait()
	if got := look(); got != most {
		t.Errorf("in the end %d bytes, want %d", got, most)
	}
}
