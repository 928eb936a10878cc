package guard

import (
	"bytes"
	"fmt"
)

const (
	// MaxOutput bounds what is kept of a guard's output (D-86).
	MaxOutput = 1 << 20
	// MaxLine bounds a line that is reported while the guard runs.
	MaxLine = 4 << 10

	// maxNote is the room for the line between head and tail.
	maxNote = 64
	maxTail = MaxOutput / 2
	maxHead = MaxOutput - maxTail - maxNote
)

// output keeps the beginning and the end of what is written to it, and passes on the
// lines. It never fails.
type output struct {
	lines lines
	head  []byte
	// tail is a ring once it is full: its oldest byte is at next.
	tail  []byte
	next  int
	total int64
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.lines.write(p)
	o.total += int64(len(p))
	rest := p
	if room := min(maxHead-len(o.head), len(p)); room > 0 {
		o.head = append(o.head, p[:room]...)
		rest = p[room:]
	}
	o.keep(rest)
	return len(p), nil
}

// keep writes to the ring.
func (o *output) keep(p []byte) {
	if over := len(p) - maxTail; over > 0 {
		p = p[over:]
	}
	if room := min(maxTail-len(o.tail), len(p)); room > 0 {
		o.tail = append(o.tail, p[:room]...)
		p = p[room:]
	}
	for len(p) > 0 {
		n := copy(o.tail[o.next:], p)
		p = p[n:]
		o.next = (o.next + n) % maxTail
	}
}

// omitted returns how many bytes between head and tail are not kept.
func (o *output) omitted() int64 { return o.total - int64(len(o.head)) - int64(len(o.tail)) }

// text returns what is kept.
func (o *output) text() []byte {
	out := make([]byte, 0, len(o.head)+maxNote+len(o.tail))
	out = append(out, o.head...)
	if n := o.omitted(); n > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, '\n')
		}
		out = fmt.Appendf(out, "[mwp: %d bytes are left out here]\n", n)
	}
	out = append(out, o.tail[o.next:]...)
	return append(out, o.tail[:o.next]...)
}

// end passes on a last line without an end.
func (o *output) end() { o.lines.end() }

// lines cuts output into lines and hands them to call, unless that is nil.
type lines struct {
	call func([]byte)
	part []byte
	// begun is set in the middle of a line, whose part may be empty after a cut.
	begun bool
}

func (l *lines) write(p []byte) {
	if l.call == nil {
		return
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		l.part = append(l.part, line[:min(len(line), MaxLine-len(l.part))]...)
		l.begun = true
		if ended {
			l.end()
		}
		p = rest
	}
}

func (l *lines) end() {
	if l.begun {
		l.call(bytes.TrimSuffix(l.part, []byte("\r")))
	}
	l.part, l.begun = l.part[:0], false
}
