package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// maxKept is the largest buffer that is kept for the next message. Answers are 10
// KiB as a rule; one of megabytes should not stay in memory.
const maxKept = 256 << 10

// output writes whole messages, one Write each.
type output struct {
	to   io.Writer
	log  func(direction byte, line []byte)
	fail context.CancelCauseFunc // told of the first write that fails; it must end over
	over <-chan struct{}         // ends when nothing may be written any more

	// turn holds a token while somebody writes. It is a channel and no mutex, so that
	// waiting for a reader that does not read can be given up.
	turn chan struct{}

	buf []byte // guarded by turn
}

// begin waits for the turn. It is false when nothing may be written.
func (o *output) begin() bool {
	select {
	case o.turn <- struct{}{}:
	case <-o.over:
		return false
	}
	// Both may have been ready.
	if closed(o.over) {
		o.finish()
		return false
	}
	return true
}

func (o *output) finish() { <-o.turn }

// send writes the message that put appends, and tells whether it was written whole.
func (o *output) send(put func(b []byte) []byte) bool {
	if !o.begin() {
		return false
	}
	defer o.finish()
	return o.write(put)
}

// write is send for who has the turn.
func (o *output) write(put func(b []byte) []byte) bool {
	o.buf = put(o.buf[:0])
	// Before the write, so that a client's next line is not logged above the answer
	// that it waited for.
	o.log(Out, o.buf)
	o.buf = append(o.buf, '\n')
	n, err := o.to.Write(o.buf)
	if err == nil && n < len(o.buf) {
		err = io.ErrShortWrite
	}
	if cap(o.buf) > maxKept {
		o.buf = nil
	}
	if err != nil {
		o.fail(fmt.Errorf("%w: %w", ErrReaderGone, err))
	}
	return err == nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// put appends the answer.
func (c *Call) put(b []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if c.ID == nil {
		b = append(b, "null"...)
	}
	b = append(b, c.ID...)
	if c.refusal != nil {
		b = append(b, `,"error":`...)
		return append(c.refusal.put(b), '}')
	}
	b = append(b, `,"result":`...)
	b = append(b, c.reply.Result...)
	return append(b, '}')
}

func (e *Error) put(b []byte) []byte {
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"message":`...)
	b = appendText(b, e.Message)
	if data, ok := oneLine(e.Data); ok {
		b = append(b, `,"data":`...)
		b = append(b, data...)
	}
	return append(b, '}')
}

// appendText appends a JSON string. Markup stays as it is: nothing here is put into
// a web page, and < in a message is to be read by people.
func appendText(b []byte, s string) []byte {
	w := bytes.NewBuffer(b)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	// A string and a buffer give no error.
	_ = e.Encode(s)
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

// oneLine is a JSON value without the white space between its parts.
func oneLine(raw json.RawMessage) ([]byte, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var w bytes.Buffer
	if json.Compact(&w, raw) != nil {
		return nil, false
	}
	return w.Bytes(), true
}
