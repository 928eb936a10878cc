package module

import (
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a process and all that it starts: a job, which the system ends with its
// last handle, even when this process is killed.
type group struct {
	cmd *exec.Cmd
	mu  sync.Mutex // guards job
	job windows.Handle
}

// newGroup prepares a command to lead a group, which the end of its context kills.
func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd: cmd}
	cmd.Cancel = func() error { g.kill(); return nil }
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

// started puts the process into the job. What it started before that is not in it.
func (g *group) started() {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(g.cmd.Process.Pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	g.mu.Lock()
	defer g.mu.Unlock()
	windows.AssignProcessToJobObject(g.job, h)
}

// kill ends every process of the group; after the leader's end, those it left.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cmd.Process.Kill()
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}
