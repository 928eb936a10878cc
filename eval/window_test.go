package eval

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/graph"
)

// TestPhase holds each side of each moment at which a record's answer changes.
func TestPhase(t *testing.T) {
	const (
		sec  = int64(time.Second)
		ran  = 1000 * sec
		soon = ran - 5*sec // from here on the run is not dated ahead
		end  = ran + 600*sec
	)
	for _, c := range []struct {
		name       string
		until      int64 // CacheUntil
		override   int64 // 0 for none
		now        int64
		want       graph.Phase
		overridden bool
		window     window
	}{
		{"long before", end, 0, 5, graph.Early, false, window{0, soon}},
		{"last moment too early", end, 0, soon - 1, graph.Early, false, window{0, soon}},
		{"five seconds ahead", end, 0, soon, graph.Current, false, window{soon, end}},
		{"when it ran", end, 0, ran, graph.Current, false, window{soon, end}},
		{"five seconds later", end, 0, ran + 5*sec, graph.Current, false, window{soon, end}},
		{"last moment", end, 0, end - 1, graph.Current, false, window{soon, end}},
		{"over", end, 0, end, graph.Expired, false, window{end, 0}},
		{"just over", end, 0, end + 1, graph.Expired, false, window{end, 0}},
		{"far future", end, 0, math.MaxInt64, graph.Expired, false, window{end, 0}},
		{"kept for no time, at once", ran, 0, ran, graph.Expired, false, window{ran, 0}},
		{"kept for no time, just before", ran, 0, ran - 1, graph.Current, false, window{soon, ran}},
		{"kept for no time, too early", ran, 0, soon - 1, graph.Early, false, window{0, soon}},
		{"over before it ran", soon - sec, 0, soon, graph.Expired, false, window{soon, 0}},
		{"over before it ran, and too early", soon - sec, 0, soon - sec, graph.Early, false, window{0, soon}},
		{"override begun", end, ran + 9, ran, graph.Current, true, window{soon, ran + 9}},
		{"override ends", end, ran + 9, ran + 9, graph.Current, false, window{ran + 9, end}},
		{"override's last moment", end, ran + 9, ran + 8, graph.Current, true, window{soon, ran + 9}},
		{"override outlasts", end, end + 9, end, graph.Expired, true, window{end, end + 9}},
		{"override of an early run", end, end + 9, soon - 1, graph.Early, false, window{0, soon}},
		{"override that ends early", end, 9, soon - 1, graph.Early, false, window{0, soon}},
		{"dated at no moment", math.MaxInt64, 0, 7, graph.Current, false, window{0, math.MaxInt64}},
		{"never kept", 0, 0, 7, graph.Expired, false, window{1, 0}},
		{"never kept, before 1970", 0, 0, -7, graph.Current, false, window{0, -1}},
	} {
		r := &graph.Run{RanAt: ran, CacheUntil: c.until}
		switch c.name {
		case "dated at no moment", "never kept", "never kept, before 1970":
			r.RanAt = math.MinInt64
		}
		if c.override != 0 {
			r.Override = &graph.Override{Until: c.override}
		}
		if p, o, w := phase(r, c.now); p != c.want || o != c.overridden || w != c.window {
			t.Errorf("%s: phase = %v, %v, %v; want %v, %v, %v", c.name, p, o, w, c.want, c.overridden, c.window)
		}
	}
}

// TestPhaseWindowIsExact holds for random runs that a window has the answer's whole
// life in it and no moment more.
func TestPhaseWindowIsExact(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	moment := func() int64 { return int64(dateTolerance)*2 + rnd.Int64N(40) + rnd.Int64N(3)*int64(dateTolerance) }
	for range 5000 {
		r := &graph.Run{RanAt: moment(), CacheUntil: moment()}
		if rnd.IntN(2) == 0 {
			r.Override = &graph.Override{Until: moment()}
		}
		now := moment() - rnd.Int64N(2)*int64(dateTolerance)
		p, o, w := phase(r, now)
		if !w.holds(now) {
			t.Fatalf("phase(%+v, %d) holds in %v, without now", r, now, w)
		}
		for _, at := range []struct {
			bound, now int64
			same       bool
		}{{w.from, w.from, true}, {w.from, w.from - 1, false}, {w.until, w.until - 1, true}, {w.until, w.until, false}} {
			if at.bound == 0 {
				continue
			}
			p2, o2, _ := phase(r, at.now)
			if same := p == p2 && o == o2; same != at.same {
				t.Fatalf("phase(%+v) at %d and at %d the same: %v, with the window %v", r, now, at.now, same, w)
			}
		}
	}
}

func TestWindowWithin(t *testing.T) {
	for _, c := range []struct{ a, b, want window }{
		{window{}, window{}, window{}},
		{window{}, window{3, 9}, window{3, 9}},
		{window{3, 9}, window{}, window{3, 9}},
		{window{3, 0}, window{0, 9}, window{3, 9}},
		{window{3, 9}, window{5, 7}, window{5, 7}},
		{window{5, 7}, window{3, 9}, window{5, 7}},
		{window{-5, -2}, window{-9, -3}, window{-5, -3}},
		{window{5, 0}, window{0, 5}, window{5, 5}}, // never
	} {
		if got := c.a.within(c.b); got != c.want {
			t.Errorf("%v within %v = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if (window{5, 5}).holds(5) || !(window{}).holds(math.MinInt64) || !(window{}).holds(math.MaxInt64) {
		t.Error("an empty window holds, or one without bounds does not")
	}
}
