//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// group is a command and all that it starts.
type group struct {
	cmd    *exec.Cmd
	waited error // what cmd.Wait returned
}

func tie(*syscall.SysProcAttr) {}

// await returns when the leader has ended. Its number is free from then on; the next
// process to get it would have to begin a group within the microseconds until kill.
func (g *group) await() { g.waited = g.cmd.Wait() }

func (g *group) reap() error { return g.waited }

// terminate asks every process of the group to end.
func (g *group) terminate() { g.signalGroup(syscall.SIGTERM) }

func (g *group) kill() { g.signalGroup(syscall.SIGKILL) }
