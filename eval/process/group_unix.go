//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// newGroup prepares a command to lead a session, and thereby a process group.
func newGroup(cmd *exec.Cmd, tied bool) *group {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setsid = true
	if tied {
		tie(cmd.SysProcAttr)
	}
	return &group{cmd: cmd}
}

// signalGroup reaches every process of the leader's group, those that it left too.
func (g *group) signalGroup(s syscall.Signal) { syscall.Kill(-g.cmd.Process.Pid, s) }

func (g *group) enter() {}

func (g *group) close() {}
