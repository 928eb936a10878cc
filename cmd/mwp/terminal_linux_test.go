package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new terminal.
func openTerminal() (master, terminal *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number := -1
	// Not Fd, after which closing the end would wait for whoever reads from it.
	conn, err := master.SyscallConn()
	if err == nil {
		var failed error
		err = conn.Control(func(fd uintptr) {
			if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
				number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			}
		})
		if err == nil {
			err = failed
		}
	}
	if err == nil {
		terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, terminal, nil
}

// hangUp, in the place of an answer, takes the terminal away.
const hangUp = "HANGUP"

// lateAnswer, before an answer, keeps it back for thinking: longer than the second after
// which progress is shown.
const (
	lateAnswer = "LATE "
	thinking   = 1200 * time.Millisecond
)

// atTerminal runs a program as the foreground of a new terminal, to which its stdin and
// its stderr lead, and answers each prompt of it in turn. It returns what was on the
// screen; stdout is the caller's.
func atTerminal(c *exec.Cmd, prompt string, answers []string) (screen string, err error) {
	master, terminal, err := openTerminal()
	if err != nil {
		return "", err
	}
	defer master.Close()
	c.Stdin, c.Stderr = terminal, terminal
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	terminal.Close()
	if err != nil {
		return "", err
	}
	var seen bytes.Buffer
	buf := make([]byte, 4096)
	for asked := 0; ; {
		n, err := master.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			// The other end is closed when nobody has it any more.
			break
		}
		for ; asked < min(len(answers), strings.Count(seen.String(), prompt)); asked++ {
			if answers[asked] == hangUp {
				master.Close()
				return seen.String(), c.Wait()
			}
			answer, late := strings.CutPrefix(answers[asked], lateAnswer)
			if late {
				// What comes in this time came over the prompt.
				if err := master.SetReadDeadline(time.Now().Add(thinking)); err != nil {
					return seen.String(), err
				}
				io.Copy(&seen, master)
				if err := master.SetReadDeadline(time.Time{}); err != nil {
					return seen.String(), err
				}
			}
			if _, err := master.WriteString(answer); err != nil {
				return seen.String(), err
			}
		}
	}
	return strings.ReplaceAll(seen.String(), "\r\n", "\n"), c.Wait()
}
