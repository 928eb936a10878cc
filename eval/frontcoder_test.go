package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
)

// codeParams codes parameters of one kind.
func codeParams(c *cas.Coder, list *[][]byte) {
	var f frontCoder
	cas.Slice(c, list, func(c *cas.Coder, p *[]byte) { f.code(c, "k", p) })
}

// TestFrontCoderReadsWhatItWrites holds that every parameter has memory of its own,
// whatever the sizes.
func TestFrontCoderReadsWhatItWrites(t *testing.T) {
	var want [][]byte
	for i := range 3000 {
		want = append(want, fmt.Appendf(nil, "%s/%d/%s", strings.Repeat("d", i%90), i, strings.Repeat("x", i*i%7000)))
	}
	want = append(want, nil, []byte("z"), []byte("z"), nil)
	b := cas.EncodeValue(&want, codeParams)
	got, err := cas.DecodeValue(b, codeParams)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d parameters, %v; want %d", len(got), err, len(want))
	}
	for i := range got {
		if string(got[i]) != string(want[i]) {
			t.Fatalf("parameter %d = %.60q, want %.60q", i, got[i], want[i])
		}
	}
}

// TestFrontCoderHasOneSpelling holds that parameters which share more with the last
// ones than is written are an error.
func TestFrontCoderHasOneSpelling(t *testing.T) {
	for _, c := range []struct {
		shared int64
		rest   string
		ok     bool
	}{{2, "c", true}, {1, "bc", false}, {0, "abc", false}, {1, "c", true}, {2, "", true}, {1, "", true}, {3, "", false}, {-1, "abc", false}} {
		var e cas.Encoder
		e.Count(2)
		e.Int(0)
		e.String("ab")
		e.Int(c.shared)
		e.String(c.rest)
		if _, err := cas.DecodeValue(e.Encoded(), codeParams); (err == nil) != c.ok {
			t.Errorf("%d shared and %q: %v, want accepted %v", c.shared, c.rest, err, c.ok)
		}
	}
}
