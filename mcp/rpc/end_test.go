package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

const grace = 2 * time.Second

var errStop = errors.New("stop")

// handedOn is how long a call may run before what comes behind it is read.
const handedOn = 10 * time.Millisecond

func TestEndOfInput(t *testing.T) {
	flow(t, "what is queued is answered within the grace", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		c.in.Close()
		time.Sleep(grace - time.Nanosecond)
		c.release("1", says("1"))
		c.release("2", says("2"))
		c.expect(result("1", "1"), result("2", "2"))
		c.end(nil)
	})
	flow(t, "after the grace the call is cancelled and the rest refused", func(t *testing.T, c *client) {
		began := time.Now()
		c.call("1", "slow")
		h := c.run("1")
		c.call("2", "slow")
		c.send(`{"jsonrpc":"2.0","method":"note"}`, "rubbish")
		c.end(nil)
		if got := time.Since(began); got < grace || got > grace+handedOn {
			t.Errorf("Serve took %v, want %v", got, grace)
		}
		if err := context.Cause(h.ctx); err != rpc.ErrInputEnded {
			t.Errorf("cause = %v, want ErrInputEnded", err)
		}
		if c.run("2") != nil || c.run("") != nil {
			t.Error("a call was begun after the grace")
		}
		c.expect(refused("1", -32603, "the input ended and the time to answer is over"),
			refused("2", -32603, "not run: the input ended and the time to answer is over"), refused("null", -32700, notJSON))
	})
	flow(t, "a deaf call is left behind and can write nothing", func(t *testing.T, c *client) {
		began := time.Now()
		c.call("1", "deaf")
		h := c.run("1")
		c.call("2", "slow")
		c.end(nil)
		if got := time.Since(began); got < 2*grace || got > 2*grace+handedOn {
			t.Errorf("Serve took %v, want %v", got, 2*grace)
		}
		h.call.Notify("late", nil)
		c.release("1", func() (rpc.Reply, error) {
			return rpc.Reply{Result: []byte("1"), Written: func() { t.Error("Written was called") }}, nil
		})
		if c.run("2") != nil {
			t.Error("a call was begun after Serve had returned")
		}
		c.expect()
	})
	flow(t, "the context ends in the grace", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.in.Close()
		synctest.Wait()
		c.stop(errStop)
		c.end(errStop)
		c.expect()
	})
}

func TestGraceOfTheCaller(t *testing.T) {
	for _, g := range []time.Duration{time.Minute, -1} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, rpc.Options{Grace: g})
			c.call("1", "slow")
			began := time.Now()
			c.end(nil)
			if got, want := time.Since(began), max(g, 0); got < want || got > want+handedOn {
				t.Errorf("Serve took %v, want %v", got, want)
			}
		})
	}
}

func TestEndOfContext(t *testing.T) {
	flow(t, "idle", func(t *testing.T, c *client) {
		synctest.Wait()
		began := time.Now()
		c.stop(errStop)
		c.end(errStop)
		if time.Since(began) != 0 {
			t.Error("Serve waited for nothing")
		}
	})
	flow(t, "in a call with others behind it", func(t *testing.T, c *client) {
		c.call("1", "slow")
		h := c.run("1")
		c.call("2", "slow")
		began := time.Now()
		c.stop(errStop)
		c.end(errStop)
		if err := context.Cause(h.ctx); err != errStop {
			t.Errorf("cause = %v, want %v", err, errStop)
		}
		if time.Since(began) != 0 || c.run("2") != nil {
			t.Error("Serve waited, or began another call")
		}
		c.expect()
	})
	flow(t, "in a deaf call", func(t *testing.T, c *client) {
		c.call("1", "deaf")
		began := time.Now()
		c.stop(errStop)
		c.end(errStop)
		if got := time.Since(began); got < grace || got > grace+handedOn {
			t.Errorf("Serve took %v, want %v", got, grace)
		}
		c.release("1", says("1"))
		c.expect()
	})
	flow(t, "in an array", func(t *testing.T, c *client) {
		c.send(`[{"jsonrpc":"2.0","id":1,"method":"slow"},{"jsonrpc":"2.0","id":2,"method":"slow"}]`)
		c.stop(errStop)
		c.end(errStop)
		if c.run("2") != nil {
			t.Error("a call was begun after the context had ended")
		}
		c.expect()
	})
	flow(t, "with the reader waiting for room", func(t *testing.T, c *client) {
		c.call("1", "slow")
		go io.WriteString(c.in, strings.Repeat(`{"jsonrpc":"2.0","method":"note"}`+"\n", 5000))
		synctest.Wait()
		c.stop(errStop)
		c.end(errStop)
	})
	flow(t, "before it begins", func(t *testing.T, c *client) {
		c.end(nil)
		ctx, stop := context.WithCancelCause(context.Background())
		stop(errStop)
		var out transcript
		if err := rpc.Serve(ctx, strings.NewReader(goesOn), &out, echo, rpc.Options{}); err != errStop {
			t.Errorf("Serve = %v, want %v", err, errStop)
		}
		same(t, out.lines, nil)
	})
}

// stuck does not return from Write before it is let go.
type stuck struct{ began, free chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	close(s.began)
	<-s.free
	return len(b), nil
}

// A client that does not read holds up Write, and must not hold up the end.
func TestEndDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(context.Background())
		out := stuck{make(chan struct{}), make(chan struct{})}
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- rpc.Serve(ctx, pipeIn{r}, out, echo, rpc.Options{Ping: pingName}) }()
		io.WriteString(w, goesOn+"\n")
		<-out.began
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		synctest.Wait()
		stop(errStop)
		if err := <-done; err != errStop {
			t.Errorf("Serve = %v, want %v", err, errStop)
		}
		close(out.free)
	})
}

// Nothing may be written after Serve has returned, so it waits for the answer to a
// ping that is being written.
func TestEndWaitsForAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(context.Background())
		out := stuck{make(chan struct{}), make(chan struct{})}
		r, w := io.Pipe()
		defer w.Close()
		done := make(chan error, 1)
		go func() { done <- rpc.Serve(ctx, r, out, echo, rpc.Options{Ping: pingName}) }()
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		<-out.began
		stop(errStop)
		synctest.Wait()
		select {
		case <-done:
			t.Error("Serve returned during a write")
		default:
		}
		close(out.free)
		if err := <-done; err != errStop {
			t.Errorf("Serve = %v, want %v", err, errStop)
		}
	})
}

// A real pipe: the goroutine that waits in Read is woken, and the file is usable
// afterwards.
func TestReaderIsWoken(t *testing.T) {
	local, remote := net.Pipe()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	for name, c := range map[string]struct {
		in  io.Reader
		put io.Writer
	}{"net.Pipe": {local, remote}, "os.Pipe": {r, w}} {
		reads := &reading{in: c.in, began: make(chan struct{}), ended: make(chan struct{})}
		ctx, stop := context.WithCancelCause(context.Background())
		go func() {
			<-reads.began
			stop(errStop)
		}()
		if err := rpc.Serve(ctx, reads, io.Discard, echo, rpc.Options{Grace: noHurry}); err != errStop {
			t.Errorf("%s: Serve = %v, want %v", name, err, errStop)
		}
		select {
		case <-reads.ended:
		default:
			t.Errorf("%s: Serve returned before Read did", name)
		}
		go io.WriteString(c.put, "x")
		if _, err := io.ReadFull(c.in, make([]byte, 1)); err != nil {
			t.Errorf("%s: reading afterwards: %v", name, err)
		}
	}
}

// reading tells when its one Read begins and ends.
type reading struct {
	in           io.Reader
	began, ended chan struct{}
}

func (r *reading) Read(b []byte) (int, error) {
	close(r.began)
	defer close(r.ended)
	return r.in.Read(b)
}

func (r *reading) SetReadDeadline(t time.Time) error {
	return r.in.(interface{ SetReadDeadline(time.Time) error }).SetReadDeadline(t)
}

// A reader that nothing wakes is left behind and does nothing with what it gets.
func TestReaderIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := connect(t, r, rpc.Options{
			Log:     func(byte, []byte) { t.Error("Log was called after Serve had returned") },
			Batches: func() bool { t.Error("Batches was called after Serve had returned"); return true },
		})
		c.in = w
		synctest.Wait()
		c.stop(errStop)
		if err := <-c.done; err != errStop {
			t.Errorf("Serve = %v, want %v", err, errStop)
		}
		c.send(`[{"jsonrpc":"2.0","method":"` + cancelName + `","params":{"requestId":1}}]`)
		c.expect()
	})
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{io.EOF, nil},
		{os.ErrClosed, nil},
		{io.ErrClosedPipe, nil},
		{errStop, errStop},
	} {
		in := io.MultiReader(strings.NewReader(goesOn+"\n"), iotest.ErrReader(c.err))
		var out transcript
		err := rpc.Serve(context.Background(), in, &out, echo, rpc.Options{Grace: noHurry})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("Serve after %v = %v, want %v", c.err, err, c.want)
		}
		same(t, out.lines, []string{result(`"on"`, `"none"`)})
	}
}

// fullOut fails at the write with that number, after a part of the bytes.
type fullOut struct {
	transcript
	left  int
	short bool
}

func (o *fullOut) Write(b []byte) (int, error) {
	if o.left--; o.left < 0 {
		if o.short {
			return len(b) / 2, nil
		}
		return len(b) / 2, errStop
	}
	return o.transcript.Write(b)
}

// Whichever write fails, Serve ends with it: nothing is written after it, no call is
// begun, and no Written is called for what was not written.
func TestEveryWriteMayFail(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"notifies"}`, "rubbish", `[7]`, `{"jsonrpc":"2.0","id":2,"method":"echo"}`, goesOn,
	}, "\n")
	const writes = 7
	for n := range writes + 1 {
		for _, short := range []bool{false, true} {
			out := &fullOut{left: n, short: short}
			begun, written := 0, 0
			h := func(ctx context.Context, c *rpc.Call) (rpc.Reply, error) {
				begun++
				r, err := echo(ctx, c)
				r.Written = func() { written++ }
				return r, err
			}
			err := rpc.Serve(context.Background(), strings.NewReader(in), out, h, rpc.Options{Grace: noHurry, Batches: func() bool { return true }})
			if len(out.lines) != n {
				t.Errorf("write %d fails: %d lines were written", n, len(out.lines))
			}
			if n == writes {
				if err != nil || begun != 3 || written != 3 {
					t.Errorf("no write fails: Serve = %v, %d calls, %d written", err, begun, written)
				}
				continue
			}
			want := errStop
			if short {
				want = io.ErrShortWrite
			}
			if !errors.Is(err, rpc.ErrReaderGone) || !errors.Is(err, want) {
				t.Errorf("write %d fails: Serve = %v, want ErrReaderGone and %v", n, err, want)
			}
			if wantBegun, wantWritten := []int{1, 1, 1, 1, 1, 2, 3}[n], []int{0, 0, 0, 1, 1, 1, 2}[n]; begun != wantBegun || written != wantWritten {
				t.Errorf("write %d fails: %d calls and %d written, want %d and %d", n, begun, written, wantBegun, wantWritten)
			}
		}
	}
}

// A failed answer to a ping ends the running call.
func TestWriteFailsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var cause error
		h := func(ctx context.Context, _ *rpc.Call) (rpc.Reply, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return rpc.Reply{}, cause
		}
		done := make(chan error, 1)
		go func() {
			done <- rpc.Serve(context.Background(), pipeIn{r}, &fullOut{}, h, rpc.Options{Ping: pingName})
		}()
		io.WriteString(w, goesOn+"\n")
		synctest.Wait()
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		if err := <-done; !errors.Is(err, rpc.ErrReaderGone) || !errors.Is(cause, rpc.ErrReaderGone) {
			t.Errorf("Serve = %v, cause %v, want ErrReaderGone in both", err, cause)
		}
	})
}
