package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLinesInAnyPieces(t *testing.T) {
	long := strings.Repeat("a", 3*chunk)
	in := "one\n\n\r\n  two \r\n\ufeffthree\n \ufefffour\n" + long + "\n" + long + "b\nlast"
	want := []string{"one", "two", "three", "\ufefffour", long, "too long", "last"}
	for name, r := range map[string]io.Reader{
		"whole":    strings.NewReader(in),
		"bytes":    iotest.OneByteReader(strings.NewReader(in)),
		"halves":   iotest.HalfReader(strings.NewReader(in)),
		"with EOF": iotest.DataErrReader(strings.NewReader(in)),
	} {
		l := newLines(r, len(long))
		var got []string
		for {
			line, err := l.next()
			if err == io.EOF {
				break
			}
			if err == errTooLong {
				line = []byte("too long")
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d lines, want %d: %.40q", name, len(got), len(want), got)
		}
	}
}

// The carriage return of a line that just fits may be the last byte of a chunk.
func TestCarriageReturnAtTheBound(t *testing.T) {
	for _, more := range []int{0, 1} {
		in := strings.Repeat("a", 2*chunk-1+more) + "\r\n"
		line, err := newLines(strings.NewReader(in), 2*chunk-1).next()
		if want := []error{nil, errTooLong}[more]; err != want || want == nil && len(line) != 2*chunk-1 {
			t.Errorf("%d bytes above the bound: %d bytes, %v, want %v", more, len(line), err, want)
		}
	}
}

// A line must be in memory of its own: it is kept while the next is read.
func TestLinesAreKept(t *testing.T) {
	l := newLines(strings.NewReader("first\nother\n"), 100)
	first, _ := l.next()
	if _, err := l.next(); err != nil || string(first) != "first" {
		t.Errorf("the first line became %q, %v", first, err)
	}
}

func TestLinesEndWithTheStreamsError(t *testing.T) {
	failed := errors.New("failed")
	for _, before := range []string{"", "half a line", strings.Repeat("a", 2*chunk), strings.Repeat("a", 4*chunk)} {
		l := newLines(io.MultiReader(strings.NewReader(before), iotest.ErrReader(failed)), 3*chunk)
		if line, err := l.next(); err != failed {
			t.Errorf("after %d bytes: %.10q, %v, want the error", len(before), line, err)
		}
	}
}

// endless gives a line without end, as often as there are bytes left.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left -= len(b); e.left < 0 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// 64 MiB without a newline: what is allocated in all, not only what is held at
// once, stays below some times the bound.
func TestEndlessLineIsNotHeld(t *testing.T) {
	const max = 1 << 20
	l := newLines(&endless{64 << 20}, max)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	if err != errTooLong {
		t.Fatalf("err = %v, want errTooLong", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*max {
		t.Errorf("%d bytes were allocated for a line above a bound of %d", got, max)
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("err = %v, want EOF", err)
	}
}

func TestDeeper(t *testing.T) {
	for _, c := range []struct {
		in    string
		depth int
	}{
		{`1`, 0}, {`"[["`, 0}, {`"\"[["`, 0}, {`"\\"`, 0}, {`[]`, 1}, {`[[],[]]`, 2}, {`{"[":{"a":[]}}`, 3}, {`["\\",[]]`, 2},
	} {
		if deeper([]byte(c.in), c.depth) || c.depth > 0 && !deeper([]byte(c.in), c.depth-1) {
			t.Errorf("depth of %s is not %d", c.in, c.depth)
		}
	}
	if !deeper(bytes.Repeat([]byte("["), 1<<20), 1000) {
		t.Error("a million brackets are not deeper than 1000")
	}
}

// The queue gives back the places of what was taken, also when it never runs empty.
func TestQueueDoesNotGrow(t *testing.T) {
	q := newQueue(1 << 20)
	q.add(entry{call: &Call{}})
	for range 100_000 {
		q.add(entry{call: &Call{}})
		if _, ok := q.take(); !ok {
			t.Fatal("nothing to take")
		}
		q.done()
	}
	if n := cap(q.waiting); n > 64 {
		t.Errorf("a queue of two calls has %d places", n)
	}
	if q.calls != 1 || q.bytes != 0 {
		t.Errorf("%d calls and %d bytes are counted, want 1 and 0", q.calls, q.bytes)
	}
}

// Ids, and calls that are over, leave nothing behind.
func TestFlightEnds(t *testing.T) {
	q := newQueue(1 << 20)
	a, b := &Call{ID: json.RawMessage("1"), key: "1"}, &Call{ID: json.RawMessage("2"), key: "2"}
	q.add(entry{call: a, size: 10})
	q.add(entry{call: b, size: 10})
	q.cancel("2")
	q.take()
	q.leave(a)
	q.left()
	if len(q.flight) != 0 || q.calls != 0 || q.bytes != 0 || q.leaving != nil {
		t.Errorf("left in the queue: %v, %d calls, %d bytes, %v", q.flight, q.calls, q.bytes, q.leaving)
	}
}

// The scan and encoding/json must take an object apart in the same way.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : [ 1 , {"b":"}"} ] , "\u0061" : "\\\"" } `, `{"a":-1.5e+7,"b":null}`, `[1]`, `[ [ ] , "]" , true ]`, `{"a":"\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.Trim(raw, blank)
		if !json.Valid(raw) {
			return
		}
		switch raw[0] {
		case '{':
			got := map[string]any{}
			for key, value := range members(raw) {
				got[string(unquoted(key))] = decoded(t, value)
			}
			same(t, raw, got)
		case '[':
			got := []any{}
			for value := range elements(raw) {
				got = append(got, decoded(t, value))
			}
			same(t, raw, got)
		}
	})
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if len(raw) == 0 || bytes.ContainsAny(raw[:1], blank) || bytes.ContainsAny(raw[len(raw)-1:], blank) {
		t.Errorf("value %q is empty or has white space at its ends", raw)
	}
	if err := unmarshal(raw, &v); err != nil {
		t.Errorf("value %q: %v", raw, err)
	}
	return v
}

func same(t *testing.T, raw []byte, got any) {
	t.Helper()
	var want any
	if err := unmarshal(raw, &want); err != nil {
		// A number out of float64's range, say.
		return
	}
	// Keys that are not UTF-8 become the same replacement; only their count differs.
	if !reflect.DeepEqual(got, want) && bytes.Equal(bytes.ToValidUTF8(raw, nil), raw) {
		t.Errorf("%s was taken apart as %v", raw, got)
	}
}

func unmarshal(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}
