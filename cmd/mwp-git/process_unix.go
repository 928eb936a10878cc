//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// maxMemory ends this program and git's when a repository makes either of them
// take more: a lost fetch is better than a machine that swaps.
const maxMemory = 1 << 30

// limitProcess sets the limits that this process and its children share. A memory
// image of one of them would hold passwords.
func limitProcess() {
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: maxMemory, Max: maxMemory})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

// ownGroup makes the end of a command the end of everything that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
