package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"
)

// client talks to a running server, one request at a time.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
	// notes are the notifications that came before the last answer.
	notes []*message
}

func start(t *testing.T, o Options) *client {
	t.Helper()
	return startIn(t.Context(), t, o)
}

func startIn(ctx context.Context, t *testing.T, o Options) *client {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	c := &client{t: t, in: inWriter, out: bufio.NewReader(outReader), ended: make(chan error, 1)}
	go func() {
		err := Serve(ctx, inReader, outWriter, o)
		outWriter.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { inWriter.Close(); outReader.Close() })
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next message.
func (c *client) receive() *message {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the server wrote %q, %v", line, err)
	}
	m := &message{raw: line}
	if err := json.Unmarshal([]byte(line), m); err != nil {
		c.t.Fatalf("no message on a line: %q, %v", line, err)
	}
	return m
}

// ask sends a request and returns the answer.
func (c *client) ask(line string) *message {
	c.t.Helper()
	c.send(line)
	c.notes = nil
	for {
		m := c.receive()
		if m.Method == "" {
			return m
		}
		c.notes = append(c.notes, m)
	}
}

// end ends the input and waits for the server.
func (c *client) end() {
	c.t.Helper()
	c.in.Close()
	if rest, err := io.ReadAll(c.out); err != nil || len(rest) > 0 {
		c.t.Errorf("after the end of the input: %q, %v", rest, err)
	}
	if err := <-c.ended; err != nil {
		c.t.Errorf("Serve = %v", err)
	}
}

// clock is time that passes when a test says so.
type clock struct {
	// began is told of each pause that begins: for the session's file, when it was
	// written.
	began chan time.Duration
	ticks chan time.Time
}

var clockTime = time.Unix(0, 0)

func newClock() *clock {
	return &clock{began: make(chan time.Duration, 100), ticks: make(chan time.Time)}
}

func (c *clock) every(d time.Duration) (<-chan time.Time, func()) {
	c.began <- d
	return c.ticks, func() {}
}
