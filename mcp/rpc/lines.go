package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// chunk is how much is read at once. A usual request is 150 bytes long, and
// clients pipeline few.
const chunk = 32 << 10

// errTooLong stands for a line above the bound. It has been passed over.
var errTooLong = errors.New("the line is too long")

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines cuts a stream at its newlines.
type lines struct {
	in  *bufio.Reader
	max int
}

func newLines(in io.Reader, max int) *lines {
	return &lines{in: bufio.NewReaderSize(in, chunk), max: max}
}

// next is the next line that is not blank, in memory of its own, without its end, a
// byte order mark, and white space around it. The error is errTooLong, after which
// next goes on with the line behind, or the stream's: io.EOF after the last line,
// which needs no newline. Less than three times max and a chunk are held: a line that
// grows is copied to larger memory, of which append takes a quarter more than it needs.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.whole()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimPrefix(line, byteOrderMark)
		if line = bytes.Trim(line, blank); len(line) > 0 {
			return line, nil
		}
	}
}

// whole is one line without its end.
func (l *lines) whole() ([]byte, error) {
	part, err := l.in.ReadSlice('\n')
	if err == nil {
		return l.bounded(bytes.Clone(part))
	}
	var line []byte
	for err == bufio.ErrBufferFull {
		// The carriage return of a line that just fits may be the last byte here.
		if len(line)+len(part) > l.max+len("\r") {
			return nil, l.pass()
		}
		line = append(line, part...)
		part, err = l.in.ReadSlice('\n')
	}
	if err != nil && (err != io.EOF || len(line)+len(part) == 0) {
		return nil, err
	}
	return l.bounded(append(line, part...))
}

func (l *lines) bounded(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > l.max {
		return nil, errTooLong
	}
	return line, nil
}

// pass reads to the end of a line that is too long and keeps nothing of it.
func (l *lines) pass() error {
	for {
		if _, err := l.in.ReadSlice('\n'); err != bufio.ErrBufferFull {
			if err != nil && err != io.EOF {
				return err
			}
			return errTooLong
		}
	}
}
