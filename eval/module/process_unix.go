//go:build unix

package module

import (
	"os/exec"
	"syscall"
)

// group is a process and all that it starts.
type group struct{ cmd *exec.Cmd }

// newGroup prepares a command to lead a group, which the end of its context kills.
func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { g.kill(); return nil }
	return g
}

func (g *group) started() {}

// kill ends every process of the group; after the leader's end, those it left.
func (g *group) kill() { syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }

func (g *group) close() {}
