//go:build !unix && !windows

package process

import "os/exec"

// group is a command alone.
type group struct {
	cmd    *exec.Cmd
	waited error
}

func newGroup(cmd *exec.Cmd, _ bool) *group { return &group{cmd: cmd} }

func (g *group) enter() {}

func (g *group) await() { g.waited = g.cmd.Wait() }

func (g *group) reap() error { return g.waited }

func (g *group) terminate() {}

func (g *group) kill() { g.cmd.Process.Kill() }

func (g *group) close() {}
