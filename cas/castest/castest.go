// Package castest is the conformance suite that every cas.Store passes, and a
// check for descriptions that cas.Coder runs. It is for tests only and knows no
// store but the one it is given.
package castest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Run runs the suite on stores that open makes. Each call of open returns an empty
// store of its own; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) cas.Store) {
	for name, test := range map[string]func(*testing.T, cas.Store){
		"absent":          absent,
		"fidelity":        fidelity,
		"verified":        verified,
		"too large":       tooLarge,
		"duplicates":      duplicates,
		"namespaces":      namespaces,
		"newest first":    newestFirst,
		"action cap":      actionCap,
		"concurrency":     concurrency,
		"after a flush":   afterFlush,
		"closed is empty": closedIsEmpty,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			defer s.Close()
			test(t, s)
		})
	}
}

// RunPersistent runs the suite on stores that outlive their process. Each call of
// fresh returns a function that opens the same, at first empty, store again and
// again.
func RunPersistent(t *testing.T, fresh func(t *testing.T) (open func() cas.Store)) {
	Run(t, func(t *testing.T) cas.Store { return fresh(t)() })
	for name, test := range map[string]func(*testing.T, func() cas.Store){
		"reopen":           reopen,
		"unflushed":        unflushed,
		"order over files": orderOverFiles,
		"shared":           shared,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// absent: what was never put is a miss.
func absent(t *testing.T, s cas.Store) {
	wantAbsent(t, s, cas.Sum([]byte("never put")))
	wantActions(t, s, key("never put"))
	flush(t, s)
	wantAbsent(t, s, cas.Sum([]byte("never put")))
}

// fidelity: bytes come back as they were, from memory and after a flush.
func fidelity(t *testing.T, s cas.Store) {
	values := samples()
	for i, v := range values {
		putValue(t, s, v)
		putAction(t, s, key(fmt.Sprint(i)), v)
	}
	for range 2 {
		for i, v := range values {
			wantValue(t, s, v)
			wantActions(t, s, key(fmt.Sprint(i)), v)
		}
		flush(t, s)
	}
}

// samples are byte strings around the limits where a store may change its mind.
func samples() [][]byte {
	noise := make([]byte, 1<<20)
	rand.Read(noise)
	out := [][]byte{{}, {0}, []byte("a"), []byte("\xff\x00\n"), bytes.Repeat([]byte("text "), 200_000), noise}
	for _, n := range []int{1023, 1024, 1025, 64<<10 - 1, 64 << 10, 64<<10 + 1} {
		out = append(out, bytes.Repeat([]byte{'x'}, n), noise[:n])
	}
	return out
}

// verified: bytes that are not what the digest says are never returned, whether
// they were wrong from the start or changed later.
func verified(t *testing.T, s cas.Store) {
	d := cas.Sum([]byte("right"))
	if err := s.PutValue(d, []byte("wrong")); err != nil {
		t.Fatal(err)
	}
	changed := []byte("changed later")
	c := cas.Sum(changed)
	if err := s.PutValue(c, changed); err != nil {
		t.Fatal(err)
	}
	changed[0] = 'C'
	wantAbsent(t, s, d)
	wantAbsent(t, s, c)
	flush(t, s)
	wantAbsent(t, s, d)
	wantAbsent(t, s, c)
}

// tooLarge: the largest size is a limit for puts, not a reason for a half record.
func tooLarge(t *testing.T, s cas.Store) {
	b := make([]byte, cas.MaxSize+1)
	if err := s.PutValue(cas.Digest{1}, b); err == nil {
		t.Error("PutValue of more than MaxSize gave no error")
	}
	if err := s.PutAction(key("large"), b); err == nil {
		t.Error("PutAction of more than MaxSize gave no error")
	}
	wantActions(t, s, key("large"))
}

// duplicates: putting again changes nothing but an action's place.
func duplicates(t *testing.T, s cas.Store) {
	for range 3 {
		putValue(t, s, []byte("value"))
		putAction(t, s, key("k"), []byte("action"))
		flush(t, s)
	}
	wantValue(t, s, []byte("value"))
	wantActions(t, s, key("k"), []byte("action"))
}

// namespaces: a value and an action of the same 32 bytes are two things.
func namespaces(t *testing.T, s cas.Store) {
	v := []byte("value")
	d := cas.Sum(v)
	putAction(t, s, cas.Key(d), []byte("action"))
	flush(t, s)
	wantAbsent(t, s, d)
	putValue(t, s, v)
	flush(t, s)
	wantValue(t, s, v)
	wantActions(t, s, cas.Key(d), []byte("action"))
}

// newestFirst: the order is that of the last put of each action, wherever the
// flushes fall.
func newestFirst(t *testing.T, s cas.Store) {
	for flushes := range 16 {
		k := key(fmt.Sprint("order", flushes))
		for i, a := range []string{"a", "b", "a", "c"} {
			putAction(t, s, k, []byte(a))
			if flushes>>i&1 == 1 {
				flush(t, s)
			}
		}
		wantActions(t, s, k, []byte("c"), []byte("a"), []byte("b"))
	}
}

// actionCap: the newest MaxActions remain.
func actionCap(t *testing.T, s cas.Store) {
	for _, every := range []int{1, 3, 100} {
		k := key(fmt.Sprint("cap", every))
		var want [][]byte
		for i := range 3 * cas.MaxActions {
			a := fmt.Appendf(nil, "action %d", i)
			putAction(t, s, k, a)
			want = append([][]byte{a}, want...)
			if i%every == every-1 {
				flush(t, s)
			}
		}
		wantActions(t, s, k, want[:cas.MaxActions]...)
		flush(t, s)
		wantActions(t, s, k, want[:cas.MaxActions]...)
	}
}

// concurrency: what a goroutine has put it can read, whoever else reads, puts and
// flushes. Run it with -race.
func concurrency(t *testing.T, s cas.Store) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				own := fmt.Appendf(nil, "value %d of %d", i, g)
				common := bytes.Repeat(fmt.Appendf(nil, "value %d of all", i), 200)
				k := key(fmt.Sprint(g, i))
				putValue(t, s, own)
				putValue(t, s, common)
				putAction(t, s, k, own)
				putAction(t, s, key("all"), own)
				if i%8 == g {
					flush(t, s)
				}
				wantValue(t, s, own)
				wantValue(t, s, common)
				wantActions(t, s, k, own)
				if n := len(s.Actions(key("all"))); n == 0 || n > cas.MaxActions {
					t.Errorf("%d actions, want 1 to %d", n, cas.MaxActions)
				}
			}
		})
	}
	wg.Wait()
}

// afterFlush: a flush with nothing pending is nothing, and puts go on after it.
func afterFlush(t *testing.T, s cas.Store) {
	flush(t, s)
	putValue(t, s, []byte("one"))
	flush(t, s)
	flush(t, s)
	putValue(t, s, []byte("two"))
	wantValue(t, s, []byte("one"))
	wantValue(t, s, []byte("two"))
}

// closedIsEmpty: Close forgets.
func closedIsEmpty(t *testing.T, s cas.Store) {
	putValue(t, s, []byte("flushed"))
	flush(t, s)
	putValue(t, s, []byte("pending"))
	putAction(t, s, key("k"), []byte("pending"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantAbsent(t, s, cas.Sum([]byte("flushed")))
	wantAbsent(t, s, cas.Sum([]byte("pending")))
	wantActions(t, s, key("k"))
}

// reopen: what was flushed is there in the next process.
func reopen(t *testing.T, open func() cas.Store) {
	s := open()
	values := samples()
	for _, v := range values {
		putValue(t, s, v)
	}
	putAction(t, s, key("k"), []byte("a"))
	flush(t, s)
	s.Close()
	s = open()
	defer s.Close()
	for _, v := range values {
		wantValue(t, s, v)
	}
	wantActions(t, s, key("k"), []byte("a"))
}

// unflushed: what was not flushed is not.
func unflushed(t *testing.T, open func() cas.Store) {
	s := open()
	putValue(t, s, []byte("pending"))
	putAction(t, s, key("k"), []byte("pending"))
	s.Close()
	s = open()
	defer s.Close()
	wantAbsent(t, s, cas.Sum([]byte("pending")))
	wantActions(t, s, key("k"))
}

// orderOverFiles: the order of actions survives processes.
func orderOverFiles(t *testing.T, open func() cas.Store) {
	var want [][]byte
	for i := range 50 {
		s := open()
		a := fmt.Appendf(nil, "action %d", i)
		putAction(t, s, key("k"), a)
		flush(t, s)
		s.Close()
		want = append([][]byte{a}, want[:min(len(want), cas.MaxActions-1)]...)
	}
	s := open()
	defer s.Close()
	wantActions(t, s, key("k"), want...)
}

// shared: stores that are open at the same time lose nothing of each other's.
func shared(t *testing.T, open func() cas.Store) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			s := open()
			defer s.Close()
			for i := range 15 {
				putValue(t, s, fmt.Appendf(nil, "value %d of %d", i, g))
				putAction(t, s, key(fmt.Sprint(g, i)), []byte("action"))
				flush(t, s)
			}
		})
	}
	wg.Wait()
	s := open()
	defer s.Close()
	for g := range 4 {
		for i := range 15 {
			wantValue(t, s, fmt.Appendf(nil, "value %d of %d", i, g))
			wantActions(t, s, key(fmt.Sprint(g, i)), []byte("action"))
		}
	}
}

// Bench runs the suite's benchmarks on stores that open makes, each empty.
func Bench(b *testing.B, open func(b *testing.B) cas.Store) {
	for _, size := range []int{300, 16 << 10} {
		text := bytes.Repeat([]byte("a line of some context file\n"), size/28+1)[:size]
		value := func(i int) []byte { return fmt.Appendf(text[:len(text):len(text)], "%d", i) }
		b.Run(fmt.Sprintf("op=value/size=%d", size), func(b *testing.B) {
			s := filled(b, open(b), value)
			defer s.Close()
			var digests []cas.Digest
			for i := range benchValues {
				digests = append(digests, cas.Sum(value(i)))
			}
			i := 0
			for b.Loop() {
				if _, err := s.Value(digests[i%benchValues]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
		b.Run(fmt.Sprintf("op=put-flush/size=%d", size), func(b *testing.B) {
			s := open(b)
			defer s.Close()
			i := 0
			for b.Loop() {
				for range 20 {
					putValue(b, s, value(i))
					i++
				}
				flush(b, s)
			}
		})
	}
	b.Run("op=actions", func(b *testing.B) {
		s := filled(b, open(b), func(i int) []byte { return fmt.Append(nil, i) })
		defer s.Close()
		for b.Loop() {
			if len(s.Actions(key("k"))) == 0 {
				b.Fatal("no actions")
			}
		}
	})
	b.Run("op=miss", func(b *testing.B) {
		s := filled(b, open(b), func(i int) []byte { return fmt.Append(nil, i) })
		defer s.Close()
		d := cas.Sum([]byte("never put"))
		for b.Loop() {
			if _, err := s.Value(d); !errors.Is(err, cas.ErrAbsent) {
				b.Fatal(err)
			}
		}
	})
}

const benchValues = 200

// filled puts values over ten flushes.
func filled(b *testing.B, s cas.Store, value func(i int) []byte) cas.Store {
	for i := range benchValues {
		putValue(b, s, value(i))
		putAction(b, s, key("k"), value(i))
		if i%(benchValues/10) == 0 {
			flush(b, s)
		}
	}
	flush(b, s)
	return s
}

var derive = cas.Derive("mwp castest v1")

func key(name string) cas.Key { return derive.Key([]byte(name)) }

func putValue(t testing.TB, s cas.Store, v []byte) {
	t.Helper()
	if err := s.PutValue(cas.Sum(v), v); err != nil {
		t.Errorf("PutValue of %d bytes: %v", len(v), err)
	}
}

func putAction(t testing.TB, s cas.Store, k cas.Key, a []byte) {
	t.Helper()
	if err := s.PutAction(k, a); err != nil {
		t.Errorf("PutAction of %d bytes: %v", len(a), err)
	}
}

func flush(t testing.TB, s cas.Store) {
	t.Helper()
	if err := s.Flush(); err != nil {
		t.Errorf("Flush: %v", err)
	}
}

func wantValue(t testing.TB, s cas.Store, v []byte) {
	t.Helper()
	got, err := s.Value(cas.Sum(v))
	if err != nil || !bytes.Equal(got, v) {
		t.Errorf("Value of %d bytes = %d bytes, %v", len(v), len(got), err)
	}
}

func wantAbsent(t testing.TB, s cas.Store, d cas.Digest) {
	t.Helper()
	if got, err := s.Value(d); !errors.Is(err, cas.ErrAbsent) || got != nil {
		t.Errorf("Value(%s) = %q, %v, want ErrAbsent", d, got, err)
	}
}

func wantActions(t testing.TB, s cas.Store, k cas.Key, want ...[]byte) {
	t.Helper()
	got := s.Actions(k)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("Actions (-want +got):\n%s", diff)
	}
}

// texts shortens, so that a difference of megabytes can be read.
func texts(list [][]byte) []string {
	var out []string
	for _, b := range list {
		if len(b) > 100 {
			b = []byte(cas.Sum(b).Tagged())
		}
		out = append(out, string(b))
	}
	return out
}
