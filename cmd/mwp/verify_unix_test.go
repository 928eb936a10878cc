//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
)

// hangUp, in the place of an answer, takes the terminal away.
const hangUp = "HANGUP"

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
			if _, err := master.WriteString(answers[asked]); err != nil {
				return seen.String(), err
			}
		}
	}
	return strings.ReplaceAll(seen.String(), "\r\n", "\n"), c.Wait()
}
