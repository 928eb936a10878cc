package mcp

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/model-workspace-protocol/mwp"
)

// BenchmarkCall measures one request and its answer through two pipes, without a process
// between them.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	for name, text := range shop {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	w, err := mwp.Bind(b.Context(), mwp.Options{Dir: dir, Offline: true, Keep: 16 << 20}, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for _, e := range eraTable {
		for _, c := range []struct{ name, line string }{
			{"tools/list", e.request("1", "tools/list", "")},
			{"map_workspace", e.tool("1", "map_workspace", `{"target":"backend/src/api/routes.ts"}`)},
			{"map_workspace/json", e.tool("1", "map_workspace", `{"target":"backend/src/api/routes.ts","render":"json"}`)},
			{"explain_context", e.tool("1", "explain_context", `{"target":"backend/src/api/routes.ts"}`)},
		} {
			b.Run("era="+e.name+"/"+c.name, func(b *testing.B) {
				in, client := io.Pipe()
				out, server := io.Pipe()
				ended := make(chan error, 1)
				go func() {
					ended <- Serve(b.Context(), in, server, Options{Bind: func(context.Context) (*mwp.Workspace, error) { return w, nil }})
				}()
				lines := bufio.NewReaderSize(out, 1<<20)
				call := func(line string) {
					if _, err := io.WriteString(client, line+"\n"); err != nil {
						b.Fatal(err)
					}
					if answer, err := lines.ReadSlice('\n'); err != nil || len(answer) == 0 {
						b.Fatal(err)
					}
				}
				call(hello)
				call(c.line)
				b.ReportAllocs()
				for b.Loop() {
					call(c.line)
				}
				client.Close()
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
