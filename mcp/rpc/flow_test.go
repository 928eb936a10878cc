package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

// pipeIn is a pipe whose Read a deadline in the past ends, like that of a file.
type pipeIn struct{ *io.PipeReader }

func (p pipeIn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		p.CloseWithError(os.ErrDeadlineExceeded)
	}
	return nil
}

// client is the other side of a Serve that runs. It lives in a bubble of synctest:
// after settle, every goroutine waits for the client, so what was not answered until
// then is not answered by waiting longer. The bubble fails when one is left behind.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  transcript
	read int
	stop context.CancelCauseFunc
	done chan error

	mu   sync.Mutex
	runs map[string]*held // guarded by mu
}

// held is a call in a handler that waits to be told how to go on.
type held struct {
	call  *rpc.Call
	ctx   context.Context
	reply chan func() (rpc.Reply, error)
}

func dial(t *testing.T, o rpc.Options) *client {
	r, w := io.Pipe()
	c := connect(t, pipeIn{r}, o)
	c.in = w
	return c
}

func connect(t *testing.T, in io.Reader, o rpc.Options) *client {
	ctx, stop := context.WithCancelCause(context.Background())
	c := &client{t: t, stop: stop, done: make(chan error, 1), runs: map[string]*held{}}
	o.Ping, o.Cancel = pingName, cancelName
	go func() { c.done <- rpc.Serve(ctx, in, &c.out, c.hold, o) }()
	return c
}

// hold keeps a call until release, unless its context ends and its method heeds it.
func (c *client) hold(ctx context.Context, call *rpc.Call) (rpc.Reply, error) {
	h := &held{call: call, ctx: ctx, reply: make(chan func() (rpc.Reply, error), 1)}
	c.mu.Lock()
	c.runs[string(call.ID)] = h
	c.mu.Unlock()
	if call.Method == "deaf" {
		return (<-h.reply)()
	}
	select {
	case f := <-h.reply:
		return f()
	case <-ctx.Done():
		return rpc.Reply{}, context.Cause(ctx)
	}
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
	synctest.Wait()
}

func (c *client) call(id, method string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`)
}

func (c *client) cancel(id string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","method":"` + cancelName + `","params":{"requestId":` + id + `,"reason":"r"}}`)
}

// run is the held call with that id, nil when it is not running.
func (c *client) run(id string) *held {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[id]
}

func (c *client) release(id string, f func() (rpc.Reply, error)) {
	c.t.Helper()
	h := c.run(id)
	if h == nil {
		c.t.Fatalf("call %s does not run", id)
	}
	c.mu.Lock()
	delete(c.runs, id)
	c.mu.Unlock()
	h.reply <- f
	synctest.Wait()
}

func says(value string) func() (rpc.Reply, error) {
	return func() (rpc.Reply, error) { return rpc.Reply{Result: json.RawMessage(value)}, nil }
}

// expect checks what came since the last time.
func (c *client) expect(want ...string) {
	c.t.Helper()
	synctest.Wait()
	c.out.mu.Lock()
	got := slices.Clone(c.out.lines[c.read:])
	c.read = len(c.out.lines)
	wrong := slices.Clone(c.out.wrong)
	c.out.mu.Unlock()
	same(c.t, got, want)
	if len(wrong) > 0 {
		c.t.Errorf("Writes that are not one message: %q", wrong)
	}
}

func (c *client) end(want error) {
	c.t.Helper()
	c.in.Close()
	if err := <-c.done; !errors.Is(err, want) {
		c.t.Errorf("Serve = %v, want %v", err, want)
	}
}

func flow(t *testing.T, name string, f func(t *testing.T, c *client)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, dial(t, rpc.Options{Batches: func() bool { return true }})) })
	})
}

func TestFlow(t *testing.T) {
	flow(t, "a ping is answered during a call, before it and behind it", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		c.call(`"p"`, "ping")
		c.expect(result(`"p"`, "{}"))
		c.release("1", says("10"))
		c.expect(result("1", "10"))
		c.call(`"p"`, "ping")
		c.expect(result(`"p"`, "{}"))
		c.release("2", says("20"))
		c.expect(result("2", "20"))
		c.end(nil)
	})
	flow(t, "one call at a time, in order", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		c.send("rubbish")
		if c.run("2") != nil {
			t.Error("call 2 runs beside call 1")
		}
		c.expect()
		c.release("1", says("10"))
		c.expect(result("1", "10"))
		c.release("2", says("20"))
		c.expect(result("2", "20"), refused("null", -32700, notJSON))
		c.end(nil)
	})
	flow(t, "cancel of a running call", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		h := c.run("1")
		c.cancel("1")
		if err := context.Cause(h.ctx); err != rpc.ErrCancelled {
			t.Errorf("cause = %v, want ErrCancelled", err)
		}
		c.cancel("1")
		c.release("2", says("20"))
		c.expect(result("2", "20"))
		c.end(nil)
	})
	flow(t, "cancel of a running call that succeeds all the same", func(t *testing.T, c *client) {
		c.call("1", "deaf")
		h := c.run("1")
		c.cancel("1")
		h.call.Notify("progress", nil)
		c.release("1", func() (rpc.Reply, error) {
			return rpc.Reply{Result: json.RawMessage("1"), Written: func() { t.Error("Written was called after a cancel") }}, nil
		})
		c.expect()
		c.end(nil)
	})
	flow(t, "cancel of a queued call, and its id again", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		c.call("3", "slow")
		c.cancel("2")
		c.cancel("2")
		c.release("1", says("10"))
		if c.run("2") != nil {
			t.Error("a cancelled call was run")
		}
		c.call("2", "slow")
		c.release("3", says("30"))
		c.release("2", says("21"))
		c.expect(result("1", "10"), result("3", "30"), result("2", "21"))
		c.end(nil)
	})
	flow(t, "cancel of an unknown call, of an answered one, of another type", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.cancel(`"1"`)
		c.cancel("9")
		c.cancel("1.0")
		c.release("1", says("10"))
		c.cancel("1")
		c.call("1", "slow")
		c.release("1", says("11"))
		c.expect(result("1", "10"), result("1", "11"))
		c.end(nil)
	})
	flow(t, "ids are compared by value", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call(`"1"`, "slow")
		c.call("9007199254740993", "slow")
		c.call("9007199254740992", "slow")
		c.call(`"\u0031"`, "slow")
		c.call("1", "ping")
		c.call(`1`, "slow")
		c.expect()
		for _, id := range []string{"1", `"1"`, "9007199254740993", "9007199254740992"} {
			c.release(id, says("0"))
		}
		c.expect(result("1", "0"), result(`"1"`, "0"), result("9007199254740993", "0"), result("9007199254740992", "0"),
			refused(`"1"`, -32600, inFlight), refused("1", -32600, inFlight), refused("1", -32600, inFlight))
		c.call("1", "ping")
		c.expect(result("1", "{}"))
		c.end(nil)
	})
	flow(t, "notifications end with the handler", func(t *testing.T, c *client) {
		c.call("1", "slow")
		h := c.run("1")
		h.call.Notify("progress", json.RawMessage(`{"n":1}`))
		c.release("1", says("1"))
		h.call.Notify("progress", json.RawMessage(`{"n":2}`))
		c.expect(`{"jsonrpc":"2.0","method":"progress","params":{"n":1}}`, result("1", "1"))
		c.end(nil)
	})
	flow(t, "Written comes after the answer and before the next call", func(t *testing.T, c *client) {
		c.call("1", "slow")
		c.call("2", "slow")
		written := false
		c.release("1", func() (rpc.Reply, error) {
			return rpc.Reply{Result: json.RawMessage("1"), Written: func() {
				c.out.mu.Lock()
				defer c.out.mu.Unlock()
				c.mu.Lock()
				defer c.mu.Unlock()
				written = len(c.out.lines) == 1 && c.runs["2"] == nil
			}}, nil
		})
		if !written {
			t.Error("Written was not called, or not between the answer and the next call")
		}
		c.release("2", func() (rpc.Reply, error) {
			return rpc.Reply{Result: json.RawMessage("2"), Written: func() { panic("on purpose") }}, nil
		})
		c.call("3", "slow")
		c.release("3", func() (rpc.Reply, error) {
			return rpc.Reply{Written: func() { t.Error("Written was called for an error") }}, errors.New("failed")
		})
		c.expect(result("1", "1"), result("2", "2"), refused("3", -32603, "failed"))
		c.end(nil)
	})
	flow(t, "cancels and pings in an array", func(t *testing.T, c *client) {
		c.call("0", "slow")
		c.send(`[{"jsonrpc":"2.0","id":1,"method":"slow"},{"jsonrpc":"2.0","id":2,"method":"slow"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
		c.cancel("1")
		c.send(`[{"jsonrpc":"2.0","method":"` + cancelName + `","params":{"requestId":0}}]`)
		if c.run("1") != nil || c.run("2") == nil {
			t.Error("call 1 was run, or call 2 was not")
		}
		written := false
		c.release("2", func() (rpc.Reply, error) {
			return rpc.Reply{Result: json.RawMessage("20"), Written: func() { written = true }}, nil
		})
		c.expect("[" + result("2", "20") + "," + result("3", "{}") + "]")
		if !written {
			t.Error("Written was not called for a call of an array")
		}
		c.send(`[{"jsonrpc":"2.0","id":1,"method":"slow"},{"jsonrpc":"2.0","id":2,"method":"deaf"}]`)
		c.release("1", says("10"))
		c.cancel("1")
		c.cancel("2")
		c.release("2", says("20"))
		c.expect()
		c.end(nil)
	})
	flow(t, "no cancel of an array that is not served", func(t *testing.T, c *client) {
		c.end(nil)
		d := dial(t, rpc.Options{})
		d.call("1", "slow")
		d.send(`[{"jsonrpc":"2.0","method":"` + cancelName + `","params":{"requestId":1}},{"jsonrpc":"2.0","id":2,"method":"slow"}]`)
		d.release("1", says("1"))
		d.expect(result("1", "1"), refused("null", -32600, notBatch))
		d.call("2", "slow")
		d.release("2", says("2"))
		d.expect(result("2", "2"))
		d.end(nil)
	})
}

// slowOut lets the test stand between an answer and the end of its Write.
type slowOut struct {
	transcript
	began, goOn chan struct{}
}

func (o *slowOut) Write(b []byte) (int, error) {
	n, err := o.transcript.Write(b)
	o.began <- struct{}{}
	<-o.goOn
	return n, err
}

// A client may use an id again as soon as it has read the answer, and may have
// cancelled the call meanwhile.
func TestDuringTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := &slowOut{began: make(chan struct{}), goOn: make(chan struct{})}
		done := make(chan error, 1)
		n := 0
		var written []int
		h := func(context.Context, *rpc.Call) (rpc.Reply, error) {
			n++
			return rpc.Reply{Result: fmt.Append(nil, n), Written: func() { written = append(written, n) }}, nil
		}
		go func() { done <- rpc.Serve(context.Background(), r, out, h, rpc.Options{Cancel: cancelName}) }()
		const call = `{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n"
		send := func(s string) {
			if _, err := io.WriteString(w, s); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		send(call)
		<-out.began
		send(call) // is not the id of a call in flight
		out.goOn <- struct{}{}
		<-out.began
		send(`{"jsonrpc":"2.0","method":"` + cancelName + `","params":{"requestId":1}}` + "\n")
		out.goOn <- struct{}{}
		w.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		same(t, out.lines, []string{result("1", "1"), result("1", "2")})
		if !slices.Equal(written, []int{1}) {
			t.Errorf("Written was called for %v, want for 1", written)
		}
	})
}

// What does not fit into the queue is not read, and nothing of it is lost.
func TestBackPressure(t *testing.T) {
	const many = 5000
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, rpc.Options{})
		c.call(`"first"`, "slow")
		sent := 0
		go func() {
			for i := range many {
				fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"nothing"}`+"\n", i)
				sent = i + 1
			}
			c.in.Close()
		}()
		time.Sleep(handedOn)
		synctest.Wait()
		// A pipe without memory: one chunk may have been read ahead, of about 40 bytes each.
		if sent < 1024 || sent > 1024+32<<10/40 {
			t.Errorf("%d calls were read while one runs, want 1024 and a chunk", sent)
		}
		c.mu.Lock()
		first := c.runs[`"first"`]
		c.mu.Unlock()
		first.reply <- says("0")
		for range many {
			synctest.Wait()
			c.mu.Lock()
			for id, h := range c.runs {
				if id != `"first"` {
					h.reply <- says("0")
				}
				delete(c.runs, id)
			}
			c.mu.Unlock()
		}
		if err := <-c.done; err != nil {
			t.Fatal(err)
		}
		for i, l := range c.out.lines[1:] {
			if want := result(fmt.Sprint(i), "0"); l != want {
				t.Fatalf("answer %d = %s, want %s", i, l, want)
			}
		}
		if len(c.out.lines) != many+1 {
			t.Errorf("%d answers, want %d", len(c.out.lines), many+1)
		}
	})
}

// The lines that wait are bounded in bytes as well, cancelled ones not counted.
func TestBackPressureOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, rpc.Options{MaxLine: 1000})
		c.call(`"first"`, "slow")
		long := func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow","params":["%s"]}`, id, strings.Repeat("a", 800))
		}
		c.send(long(1), long(2))
		c.cancel("1")
		c.send(long(3))
		sent := false
		go func() {
			// Two: the first is read, and waits for its room.
			fmt.Fprintln(c.in, long(4))
			fmt.Fprintln(c.in, long(5))
			sent = true
		}()
		synctest.Wait()
		if sent {
			t.Error("five lines of 850 bytes fit into 2000 bytes")
		}
		for _, id := range []string{`"first"`, "2", "3", "4", "5"} {
			c.release(id, says("0"))
		}
		c.expect(result(`"first"`, "0"), result("2", "0"), result("3", "0"), result("4", "0"), result("5", "0"))
		c.end(nil)
	})
}

func TestPanicked(t *testing.T) {
	var told []string
	o := rpc.Options{Panicked: func(v any, stack []byte) {
		told = append(told, fmt.Sprint(v))
		if !strings.Contains(string(stack), "rpc_test.echo") {
			t.Errorf("the stack does not name the handler:\n%s", stack)
		}
	}}
	answers(t, `{"jsonrpc":"2.0","id":1,"method":"panics"}`+"\n"+`{"jsonrpc":"2.0","method":"panics"}`, echo, o)
	if !slices.Equal(told, []string{"on purpose", "on purpose"}) {
		t.Errorf("Panicked was told %q", told)
	}
}

func TestNotifyOutsideOfServe(t *testing.T) {
	(&rpc.Call{}).Notify("progress", nil)
	defer func() {
		if recover() == nil {
			t.Error("params that are not JSON were taken")
		}
	}()
	(&rpc.Call{}).Notify("progress", json.RawMessage("{"))
}

func TestLog(t *testing.T) {
	var got []string
	o := rpc.Options{Ping: pingName, MaxLine: 100, Log: func(direction byte, line []byte) {
		got = append(got, string(direction)+string(line))
	}}
	in := "\n x \n" + strings.Repeat("y", 101) + "\n" + goesOn
	answers(t, in, echo, o)
	slices.Sort(got)
	want := []string{
		"<x", "<" + goesOn,
		">" + refused("null", -32700, notJSON),
		">" + refused("null", -32600, "expected a line of at most 100 bytes, found a longer one"),
		">" + result(`"on"`, `"none"`),
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("log = %q, want %q", got, want)
	}
}
