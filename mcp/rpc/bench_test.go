package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

// One request of 150 bytes and its answer of 10 KiB at a time, as a client waits for
// them: through os.Pipe as between processes, and through none, where 1000 requests
// are read at once, to see what is spent here.
func BenchmarkCall(b *testing.B) {
	const frame = `{"jsonrpc":"2.0","id":123456,"method":"tools/call","params":{"name":"map_workspace","arguments":{"target":"/"}}}` + "\n"
	request := strings.Replace(frame, `"/"`, `"`+strings.Repeat("a/", (150-len(frame))/2)+`"`, 1)
	reply := json.RawMessage(`"` + strings.Repeat("a", 10<<10) + `"`)
	h := func(context.Context, *rpc.Call) (rpc.Reply, error) { return rpc.Reply{Result: reply}, nil }
	o := rpc.Options{Grace: noHurry, Ping: pingName, Cancel: cancelName}

	b.Run("through=pipes", func(b *testing.B) {
		in, toServer := pipe(b)
		fromServer, out := pipe(b)
		done := make(chan error, 1)
		go func() { done <- rpc.Serve(context.Background(), in, out, h, o) }()
		answers := bufio.NewReaderSize(fromServer, 64<<10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := io.WriteString(toServer, request); err != nil {
				b.Fatal(err)
			}
			if line, err := answers.ReadSlice('\n'); err != nil || len(line) < 10<<10 {
				b.Fatalf("%d bytes, %v", len(line), err)
			}
		}
		toServer.Close()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	})
	b.Run("through=nothing", func(b *testing.B) {
		const calls = 1000
		var in strings.Builder
		for i := range calls {
			in.WriteString(strings.Replace(request, "123456", strconv.Itoa(100_000+i), 1))
		}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := rpc.Serve(context.Background(), strings.NewReader(in.String()), io.Discard, h, o); err != nil {
				b.Fatal(err)
			}
			n++
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*calls), "ns/call")
	})
}

func pipe(b *testing.B) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
