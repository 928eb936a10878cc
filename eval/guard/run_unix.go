//go:build unix

package guard

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// separators tell a path from a program's name.
	separators = "/"
	// The statuses of a shell that did not start a command, by POSIX.
	shellNotFound      = 127
	shellNotExecutable = 126
)

// shell prepares the system's shell.
func shell(text string) *exec.Cmd {
	return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", text}}
}

// program returns the path if there is a file that somebody may execute. Whether this
// user may is for the system to say.
func program(path string, _ []string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "execute", Path: path, Err: errors.New("it is a directory")}
	case info.Mode()&0o111 == 0:
		return "", &fs.PathError{Op: "execute", Path: path, Err: errNoExec}
	}
	return path, nil
}

// asTyped returns the path of a program as the guard's author wrote it, which scripts
// show in their messages. The system begins a relative one at the working directory.
func asTyped(name, _ string) string { return name }

// sameVariable compares two names of environment variables.
func sameVariable(a, b string) bool { return a == b }

// noProgram reports whether a file has no format that the system executes.
func noProgram(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// unsuitable reports whether it is for this file, or these arguments, that no process
// was started, and not for want of room.
func unsuitable(err error) bool {
	for _, e := range []syscall.Errno{
		syscall.E2BIG, syscall.EINVAL, syscall.EIO, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.ETXTBSY,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// signalName returns the name of the signal that ended a process, "" without one.
func signalName(s *os.ProcessState) string {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return ""
	}
	if name := unix.SignalName(w.Signal()); name != "" {
		return name
	}
	return w.Signal().String()
}
