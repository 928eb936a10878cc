//go:build unix

package vcs

import (
	"os/exec"
	"syscall"
)

// separate gives a command a session of its own, so that everything it starts can
// be ended with it and nothing asks on a terminal. A command that may ask stays
// where the terminal is: from another group it would be stopped when it reads. The
// terminal's own interrupt reaches everything there.
func separate(cmd *exec.Cmd, asks bool) {
	if asks {
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Not SIGKILL: git removes its lock files when it is asked to end.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// kill ends what is left of a cancelled command's session.
func kill(cmd *exec.Cmd) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setsid {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
