package clienttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modern is the revision without a handshake.
const modern = "2026-07-28"

// client is somebody's client of a server that it started. Its operations have the names
// that the TypeScript SDK gives them, and "server", which tells what was negotiated.
type client interface {
	ask(t *testing.T, op string, params any) answer
}

// answer is what a client's method returned, as JSON.
type answer struct {
	Result json.RawMessage
	Error  *wireError
	// Progress is what a call of a tool was told while it ran.
	Progress []progress
}

type wireError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

type progress struct {
	Progress, Total float64
	Message         string
}

// kind is one of the clients, with the revision that it is to agree on with the server.
type kind struct {
	name    string
	version string
	connect func(*testing.T, *exec.Cmd) client
}

// modern reports whether the client speaks the revision that has no sessions.
func (k kind) modern() bool { return k.version == modern }

// kinds lists the clients that can be tested here. The TypeScript ones are left out,
// with the reason, where there is no Node.
func kinds(t *testing.T) []kind {
	t.Helper()
	all := []kind{
		{"go", modern, goClient("")},
		{"go 2025-11-25", "2025-11-25", goClient("2025-11-25")},
		{"go 2025-06-18", "2025-06-18", goClient("2025-06-18")},
		{"go 2025-03-26", "2025-03-26", goClient("2025-03-26")},
		{"go 2024-11-05", "2024-11-05", goClient("2024-11-05")},
	}
	n := installed(t)
	if n == nil {
		return all
	}
	return append(all,
		kind{"typescript v1", "2025-11-25", n.client("v1", "")},
		kind{"typescript v2", "2025-11-25", n.client("v2", "legacy")},
		kind{"typescript v2 auto", modern, n.client("v2", "auto")},
		kind{"typescript v2 pinned", modern, n.client("v2", modern)},
	)
}

// each runs a test with every client, each with a workspace of its own.
func each(t *testing.T, test func(*testing.T, kind, client, *workspace)) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			w := newWorkspace(t)
			test(t, k, k.connect(t, w.serve()), w)
		})
	}
}

// goSession is the official Go client.
type goSession struct {
	*mcp.ClientSession
	mu    sync.Mutex
	heard []progress
}

// goClient returns a connector that asks for a revision, "" for the newest.
func goClient(version string) func(*testing.T, *exec.Cmd) client {
	return func(t *testing.T, server *exec.Cmd) client {
		t.Helper()
		g := &goSession{}
		c := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "0"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.heard = append(g.heard, progress{r.Params.Progress, r.Params.Total, r.Params.Message})
			},
		})
		s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: server}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		g.ClientSession = s
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return g
	}
}

func (g *goSession) ask(t *testing.T, op string, params any) answer {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	if op == "callTool" {
		return g.callTool(t, raw)
	}
	methods := map[string]func(context.Context, []byte) (any, error){
		"server":                func(context.Context, []byte) (any, error) { return g.InitializeResult(), nil },
		"listTools":             typed(g.ListTools),
		"listResources":         typed(g.ListResources),
		"listResourceTemplates": typed(g.ListResourceTemplates),
		"readResource":          typed(g.ReadResource),
		"listPrompts":           typed(g.ListPrompts),
		"getPrompt":             typed(g.GetPrompt),
		"complete":              typed(g.Complete),
	}
	r, err := methods[op](t.Context(), raw)
	return answered(t, r, err)
}

func (g *goSession) callTool(t *testing.T, raw []byte) answer {
	t.Helper()
	call := typed(func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		p.SetProgressToken("t")
		return g.CallTool(ctx, p)
	})
	r, err := call(t.Context(), raw)
	a := answered(t, r, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	a.Progress, g.heard = g.heard, nil
	return a
}

// typed lets a method of the SDK be called with parameters in JSON.
func typed[P, R any](method func(context.Context, *P) (R, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, raw []byte) (any, error) {
		var p P
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		return method(ctx, &p)
	}
}

func answered(t *testing.T, r any, err error) answer {
	t.Helper()
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return answer{Error: &wireError{int(wire.Code), wire.Message, wire.Data}}
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Result: raw}
}

// typescript is node/client.mjs.
type typescript struct {
	in    io.Writer
	lines *bufio.Reader
}

// client returns a connector for a generation of the TypeScript SDK.
func (n *nodes) client(generation, negotiation string) func(*testing.T, *exec.Cmd) client {
	return func(t *testing.T, server *exec.Cmd) client {
		t.Helper()
		c := exec.Command(n.node, append([]string{n.file("client.mjs"), generation, negotiation}, server.Args...)...)
		c.Dir, c.Env, c.Stderr = server.Dir, server.Env, server.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			io.Copy(io.Discard, out)
			if err := c.Wait(); err != nil {
				t.Errorf("the client ended with %v", err)
			}
		})
		return &typescript{in, bufio.NewReader(out)}
	}
}

func (c *typescript) ask(t *testing.T, op string, params any) answer {
	t.Helper()
	line, err := json.Marshal(map[string]any{"op": op, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "%s\n", line); err != nil {
		t.Fatal(err)
	}
	said, err := c.lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s: the client said %q and ended: %v", op, said, err)
	}
	var a answer
	if err := json.Unmarshal(said, &a); err != nil {
		t.Fatal(err)
	}
	return a
}
