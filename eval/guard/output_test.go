package guard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutputBounds(t *testing.T) {
	big := make([]byte, 3*MaxOutput+12345)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(big)
	for _, size := range []int{0, 1, maxHead - 1, maxHead, maxHead + 1, maxHead + maxTail, maxHead + maxTail + 1, MaxOutput, 2*maxTail + maxHead, len(big)} {
		for _, step := range []int{1 << 10, 32 << 10, 3<<10 + 1, len(big)} {
			o := new(output)
			all := big[:size]
			for b := all; len(b) > 0; {
				n := min(step, len(b))
				if wrote, err := o.Write(b[:n]); wrote != n || err != nil {
					t.Fatalf("Write = %d, %v", wrote, err)
				}
				b = b[n:]
			}
			want, left := all, 0
			if left = size - maxHead - maxTail; left > 0 {
				end := "\n"
				if all[maxHead-1] == '\n' {
					end = ""
				}
				want = []byte(string(all[:maxHead]) + end + fmt.Sprintf("[mwp: %d bytes are left out here]\n", left) + string(all[size-maxTail:]))
			}
			if got := o.text(); !bytes.Equal(got, want) || len(got) > MaxOutput {
				t.Errorf("%d bytes in steps of %d: kept %d bytes, want %d of at most %d", size, step, len(got), len(want), MaxOutput)
			}
			if o.omitted() != int64(max(left, 0)) {
				t.Errorf("%d bytes in steps of %d: %d are left out, want %d", size, step, o.omitted(), left)
			}
		}
	}
}

// The longest note has room.
func TestOutputNote(t *testing.T) {
	o := &output{head: make([]byte, maxHead), tail: make([]byte, maxTail), total: 1<<63 - 1}
	if n := len(o.text()); n > MaxOutput {
		t.Errorf("kept %d bytes, want at most %d", n, MaxOutput)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	tests := []struct {
		name  string
		write []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"lines", []string{"a\nb\n"}, []string{"a", "b"}},
		{"in parts", []string{"a", "b", "\n", "\nc", ""}, []string{"ab", "", "c"}},
		{"windows", []string{"a\r\n", "\r\n", "b\rc\n"}, []string{"a", "", "b\rc"}},
		{"long", []string{long + "more", "and more\nb\n"}, []string{long, "b"}},
		{"long in parts", []string{long[1:], "ab", "c\n"}, []string{long[1:] + "a"}},
		{"only long", []string{long, long, long}, []string{long}},
		{"binary", []string{"\x00\xff\x1b[31m\n"}, []string{"\x00\xff\x1b[31m"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			o := &output{lines: lines{call: func(b []byte) { got = append(got, string(b)) }}}
			for _, w := range test.write {
				o.Write([]byte(w))
			}
			o.end()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if kept := string(o.text()); kept != strings.Join(test.write, "") {
				t.Errorf("kept %q", kept)
			}
			if cap(o.lines.part) > 2*MaxLine {
				t.Errorf("holds %d bytes of a line", cap(o.lines.part))
			}
		})
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\nb"), uint8(1))
	f.Add([]byte("\r\n\n\x00"), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		var got [][]byte
		o := &output{lines: lines{call: func(l []byte) { got = append(got, bytes.Clone(l)) }}}
		for rest := b; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			o.Write(rest[:n])
			rest = rest[n:]
		}
		o.end()
		if len(b) <= maxHead && !bytes.Equal(o.text(), b) {
			t.Errorf("kept %q of %q", o.text(), b)
		}
		want := bytes.Count(b, []byte("\n"))
		if len(b) > 0 && b[len(b)-1] != '\n' {
			want++
		}
		if len(got) != want {
			t.Errorf("%d lines of %q, want %d", len(got), b, want)
		}
	})
}
