//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hungUp waits until nobody reads any more what is written to a pipe or socket, which a
// program that writes nothing for minutes would not notice. It is false when that cannot be
// known. ended is called once when nobody can write to in any more: while what was written
// waits to be read, reading does not tell.
func hungUp(out, in *os.File, ended func()) bool {
	fds := []unix.PollFd{{Fd: descriptor(out)}, {Fd: descriptor(in)}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false
		case fds[0].Revents != 0:
			return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		case fds[1].Revents != 0:
			if fds[1].Revents&unix.POLLHUP != 0 {
				ended()
			}
			// A negative one is passed over.
			fds[1].Fd = -1
		}
	}
}

// descriptor returns a file's number, -1 for none. Not Fd, which changes how the file is
// read.
func descriptor(f *os.File) int32 {
	n := int32(-1)
	if f == nil {
		return n
	}
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n = int32(fd) })
	}
	return n
}
