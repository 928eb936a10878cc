//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	mcpHello  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n"
	mcpVerify = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify_context","arguments":{"target":"a"}}}` + "\n"
	mcpOrient = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"map_workspace","arguments":{}}}` + "\n"
)

// TestSignalsEndTheServer: idle or in a guard, at once, with the status of the signal, and
// without a process, a record or a session that stays behind (U-23).
func TestSignalsEndTheServer(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			t.Logf("NOT CHECKED: %v is ignored by whoever runs this test", sig)
			continue
		}
		for _, busy := range []bool{false, true} {
			project(t, waiting)
			fifo(t, "started")
			c, mark := started(t, "serve-mcp", "--trust-workspace")
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			c.Stderr = &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			for _, line := range []string{mcpHello, mcpOrient} {
				if _, err := io.WriteString(in, line); err != nil {
					t.Fatal(err)
				}
				if line, err := lines.ReadString('\n'); err != nil {
					t.Fatalf("%q, %v", line, err)
				}
			}
			if busy {
				if _, err := io.WriteString(in, mcpVerify); err != nil {
					t.Fatal(err)
				}
				if _, err := os.ReadFile("started"); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(lines)
			if err != nil || len(rest) > 0 {
				t.Errorf("%v, busy %v: wrote %q, %v", sig, busy, rest, err)
			}
			c.Wait()
			if got, want := c.ProcessState.ExitCode(), 128+int(sig); got != want {
				t.Errorf("%v, busy %v: exit status %d, want %d", sig, busy, got, want)
			}
			if stderr.Len() > 0 {
				t.Errorf("%v, busy %v: stderr %q", sig, busy, stderr.String())
			}
			isAbsent(t, ".mwp/guards.cache.json")
			// A signal may come before the session's file was written for the first time.
			if left, err := os.ReadDir(".mwp/sessions"); !os.IsNotExist(err) && (err != nil || len(left) != 1 || left[0].Name() != ".gitignore") {
				t.Errorf("%v, busy %v: left %v, %v", sig, busy, left, err)
			}
			alone(t, mark)
		}
	}
}

// TestEndOfInputInAGuard: the guard is ended, the server too, and its status is 0.
func TestEndOfInputInAGuard(t *testing.T) {
	project(t, waiting)
	fifo(t, "started")
	c, mark := started(t, "serve-mcp", "--trust-workspace")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	c.Stdout = &stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, mcpHello+mcpVerify); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("started"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if n := strings.Count(stdout.String(), "\n"); n != 2 || !strings.Contains(stdout.String(), `"id":1,"error"`) {
		t.Errorf("%d answers: %s", n, stdout.String())
	}
	isAbsent(t, ".mwp/guards.cache.json")
	alone(t, mark)
}

// TestClosedReaderEndsTheServer in a guard, which ends too; a broken pipe is no error.
func TestClosedReaderEndsTheServer(t *testing.T) {
	project(t, waiting)
	fifo(t, "started")
	c, mark := started(t, "serve-mcp", "--trust-workspace")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c.Stdout, c.Stderr = w, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.WriteString(in, mcpHello+mcpVerify); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("started"); err != nil {
		t.Fatal(err)
	}
	r.Close()
	// The answer to a ping is what finds out.
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if got := c.ProcessState.ExitCode(); got != 0 || stderr.Len() > 0 {
		t.Errorf("ended with %v, stderr %q", c.ProcessState, stderr.String())
	}
	isAbsent(t, ".mwp/guards.cache.json")
	alone(t, mark)
}

// TestGuardsOfTheServerHaveNoInput: what a client writes next is not theirs to read, and a
// pipe that breaks ends them as it ends anything.
func TestGuardsOfTheServerHaveNoInput(t *testing.T) {
	project(t, map[string]string{
		".mwp/config.toml":  "[trust]\nallowed_guards = [\"sh\"]\n",
		"a/.mwp-context.md": "---\nguards:\n  - cmd: sh ./check.sh\n---\nOf a.\n",
		"a/check.sh":        "cat > eaten\nyes | head -1 > /dev/null\ntrap '' 0\nkill -PIPE $$\necho survived > survived\n",
	})
	c, mark := started(t, "serve-mcp", "--trust-workspace")
	c.Stdin = strings.NewReader(mcpHello + mcpVerify + strings.Replace(mcpOrient, `"id":1`, `"id":2`, 1))
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"id":2,"result"`)) {
		t.Errorf("the request behind a guard: %s", out)
	}
	if eaten, err := os.ReadFile("a/eaten"); err != nil || len(eaten) > 0 {
		t.Errorf("the guard read %q, %v", eaten, err)
	}
	isAbsent(t, "a/survived")
	alone(t, mark)
}

// TestServerAtATerminal tells a person what it is, and serves what is typed.
func TestServerAtATerminal(t *testing.T) {
	master, end, err := openTerminal()
	if err != nil {
		t.Skipf("NOT CHECKED: no terminal: %v", err)
	}
	defer master.Close()
	project(t, small)
	c, _ := started(t, "serve-mcp")
	var stdout bytes.Buffer
	c.Stdin, c.Stderr, c.Stdout = end, end, &stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	lines := bufio.NewReader(master)
	shown := ""
	for !strings.Contains(shown, "ends the server") {
		line, err := lines.ReadString('\n')
		if shown += line; err != nil {
			t.Fatalf("shown %q, %v", shown, err)
		}
	}
	for _, want := range []string{"by the Model Context Protocol", `"args": ["serve-mcp"]`, "mwp init --client NAME"} {
		if !strings.Contains(shown, want) {
			t.Errorf("shown %q, want %q in it", shown, want)
		}
	}
	fmt.Fprintf(master, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\x04")
	if err := c.Wait(); err != nil || stdout.String() != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("typed a ping: %v, %q", err, stdout.String())
	}
}

// TestFourMessagesAtOnce are answered, however fast the input ends behind them.
func TestFourMessagesAtOnce(t *testing.T) {
	project(t, small)
	for range 20 {
		c, _ := started(t, "serve-mcp")
		c.Stdin = strings.NewReader(mcpHello + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			mcpOrient + strings.Replace(mcpOrient, `"id":1`, `"id":2`, 1))
		out, err := c.Output()
		if n := bytes.Count(out, []byte("\n")); err != nil || n != 3 {
			t.Fatalf("%d answers, %v: %s", n, err, out)
		}
	}
}

// TestUnreadAnswersEndTheServer: a client that closed its end of stdin and reads nothing
// keeps no server alive, although the end of the input lies behind what is not read on.
func TestUnreadAnswersEndTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED: the server waits some seconds for a reader")
	}
	project(t, waiting)
	c, mark := started(t, "serve-mcp")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// Until nothing more goes in: then the server waits for somebody to read.
	full, ok := in.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		t.Fatal("the pipe has no deadline")
	}
	for err == nil {
		if err = full.SetWriteDeadline(time.Now().Add(time.Second)); err == nil {
			_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n")
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	in.Close()
	state, err := c.Process.Wait()
	if err != nil || state.ExitCode() != 0 {
		t.Errorf("the server ended with %v, %v", state, err)
	}
	alone(t, mark)
}
