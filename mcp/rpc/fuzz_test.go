package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

const fuzzPing = `{"jsonrpc":"2.0","id":"the last","method":"ping"}`

// small bounds let the fuzzer reach them.
var fuzzOptions = rpc.Options{MaxLine: 500, MaxDepth: 10, Ping: pingName, Cancel: cancelName, Batches: func() bool { return true }}

// A valid ping after any bytes and a newline is answered, every line written is JSON,
// and there are no more of them than were read.
func FuzzPingAfterAnything(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.in))
	}
	f.Add([]byte(`[` + goesOn + `,` + fuzzPing + `,1]`))
	f.Add([]byte(strings.Repeat("a", 501)))
	f.Add([]byte(goesOn + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"on"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		checkLines(t, append(in, '\n'))
	})
}

func checkLines(t testing.TB, in []byte) {
	t.Helper()
	handler := func(_ context.Context, c *rpc.Call) (rpc.Reply, error) {
		switch c.Method {
		case "":
			panic("on purpose")
		case "echo":
			return rpc.Reply{Result: []byte("1")}, nil
		}
		return rpc.Reply{}, fmt.Errorf("no %s", c.Method)
	}
	got := answers(t, string(in)+fuzzPing, handler, fuzzOptions)
	if n := bytes.Count(in, []byte("\n")) + 1; len(got) > n {
		t.Errorf("%d answers to %d lines", len(got), n)
	}
	parsed(t, got)
	// The input may itself have used that id.
	again := bytes.Contains(in, []byte("the last"))
	for _, l := range got {
		if l == result(`"the last"`, "{}") || again && l == refused(`"the last"`, -32600, inFlight) {
			return
		}
	}
	t.Errorf("the ping is not among the answers %.2000q to %.2000q", got, in)
}

// Mutations of real messages, all in one stream, and a real one behind them.
func TestMutatedLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var in bytes.Buffer
	for range 5000 {
		line := []byte(lines[r.IntN(len(lines))].in)
		for range r.IntN(4) {
			line = mutated(r, line)
		}
		in.Write(line)
		in.WriteByte('\n')
	}
	checkLines(t, in.Bytes())
}

func mutated(r *rand.Rand, line []byte) []byte {
	if len(line) == 0 {
		return line
	}
	line = bytes.Clone(line)
	at := r.IntN(len(line))
	switch r.IntN(5) {
	case 0:
		return line[:at]
	case 1:
		line[at] ^= byte(1 << r.IntN(8))
	case 2:
		line = append(line[:at], line[at+1:]...)
	case 3:
		line = append(line[:at:at], append([]byte{"{}[]\",:\\\x000e"[r.IntN(11)]}, line[at:]...)...)
	case 4:
		line = append(line, line[at:]...)
	}
	return line
}
