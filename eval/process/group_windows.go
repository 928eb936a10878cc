package process

import (
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a command and all that it starts: a job, which the system ends with its
// last handle, even when this process is killed.
type group struct {
	cmd    *exec.Cmd
	job    windows.Handle // 0 without one
	waited error
}

// newGroup prepares a job for a command.
func newGroup(cmd *exec.Cmd, _ bool) *group {
	g := &group{cmd: cmd}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	g.job = job
	return g
}

// enter puts the command into the job. What it started before that is not in it.
func (g *group) enter() {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(g.cmd.Process.Pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	windows.AssignProcessToJobObject(g.job, h)
}

func (g *group) await() { g.waited = g.cmd.Wait() }

func (g *group) reap() error { return g.waited }

// terminate does nothing: there is no signal that every program understands.
func (g *group) terminate() {}

// kill ends every process of the job.
func (g *group) kill() {
	g.cmd.Process.Kill()
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
}

func (g *group) close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}
