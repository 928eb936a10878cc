package clienttest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

// bridge lets clients that speak HTTP only talk to a server on stdio. A POST is one line
// for the server, and the body of the response is the server's line, byte for byte. What
// only HTTP has (status codes, headers, session ids) is the bridge's, so tests of that
// say nothing about the server.
type bridge struct {
	command func() *exec.Cmd
	mu      sync.Mutex
	// servers holds a process for each session of a legacy revision, and under "" the one
	// for all requests of revisions without sessions.
	servers map[string]*server
}

// legacy are the revisions with sessions.
var legacy = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	versionMeta   = "io.modelcontextprotocol/protocolVersion"
)

// newBridge serves a command on loopback until the test ends, and returns the address.
func newBridge(t *testing.T, command func() *exec.Cmd) string {
	t.Helper()
	b := &bridge{command: command, servers: map[string]*server{}}
	s := httptest.NewServer(b)
	t.Cleanup(func() {
		s.Close()
		for _, p := range b.servers {
			if err := p.end(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		}
	})
	return s.URL + "/mcp"
}

// request is what the bridge has to know of a message.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
}

// version is the revision that a message itself names.
func (q request) version() (v string) {
	json.Unmarshal(q.Params.Meta[versionMeta], &v)
	return v
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		b.post(w, r)
	case http.MethodDelete:
		b.remove(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (b *bridge) remove(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	b.mu.Lock()
	s := b.servers[id]
	delete(b.servers, id)
	b.mu.Unlock()
	if id == "" || s == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.end()
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var q request
	json.Unmarshal(body, &q)
	version := r.Header.Get(versionHeader)
	modern := version != "" && !slices.Contains(legacy, version)
	if modern && q.version() != "" && q.version() != version {
		mismatch(w, q)
		return
	}
	s, id, err := b.server(r.Header.Get(sessionHeader), modern, q.Method == "initialize")
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	answer, err := s.ask(body, q.ID)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if id != "" {
		w.Header().Set(sessionHeader, id)
	}
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if modern {
		w.WriteHeader(status(answer))
	}
	w.Write(answer)
}

// server returns the process that a message is for.
func (b *bridge) server(id string, modern, begin bool) (*server, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case modern:
		id = ""
	case begin:
		id = rand.Text()
	}
	if s := b.servers[id]; s != nil && (modern || id != "") {
		return s, id, nil
	}
	if !modern && !begin {
		return nil, "", fmt.Errorf("no session %q", id)
	}
	s, err := start(b.command())
	if err == nil {
		b.servers[id] = s
	}
	return s, id, err
}

// mismatch is the answer to a message that contradicts its header.
func mismatch(w http.ResponseWriter, q request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": q.ID, "error": map[string]any{"code": -32020, "message": "the header names another revision"}})
}

// status is the code that revision 2026-07-28 wants with an answer.
func status(answer []byte) int {
	var a struct{ Error *struct{ Code int } }
	json.Unmarshal(answer, &a)
	switch {
	case a.Error == nil:
		return http.StatusOK
	case a.Error.Code == -32601:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// server is one process. It gets one message at a time.
type server struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	in    io.WriteCloser
	lines *bufio.Reader
}

func start(cmd *exec.Cmd) (*server, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &server{cmd: cmd, in: in, lines: bufio.NewReader(out)}, nil
}

// ask writes a message and returns the line that answers it, or nil for a notification.
func (s *server) ask(message []byte, id json.RawMessage) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := append(bytes.ReplaceAll(message, []byte("\n"), []byte(" ")), '\n')
	if _, err := s.in.Write(line); err != nil {
		return nil, err
	}
	for len(id) > 0 {
		answer, err := s.lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the server said %q and ended: %w", answer, err)
		}
		var a request
		json.Unmarshal(answer, &a)
		if a.Method == "" && bytes.Equal(a.ID, id) {
			return answer, nil
		}
	}
	return nil, nil
}

// end closes the server's input and waits for its end.
func (s *server) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.Close()
	io.Copy(io.Discard, s.lines)
	return s.cmd.Wait()
}
