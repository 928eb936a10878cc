//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hungUp waits until nobody reads what is written to a pipe or socket any more, which a
// program that writes nothing for minutes would not notice. It is false when that cannot
// be known.
func hungUp(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		n, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	}
}
