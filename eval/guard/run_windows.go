package guard

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	// separators tell a path from a program's name.
	separators = `/\:`
	// The status of cmd when it did not find a command. It has none for a command that
	// it cannot execute.
	shellNotFound      = 9009
	shellNotExecutable = -1
)

// shell prepares the system's shell, without the commands that a user has it run at
// first. It gets its line as it is: /S says that the outer quotes are none of the
// text's.
func shell(text string) *exec.Cmd {
	path := "cmd.exe"
	if dir, err := windows.GetSystemDirectory(); err == nil {
		path = filepath.Join(dir, path)
	}
	return &exec.Cmd{Path: path, SysProcAttr: &syscall.SysProcAttr{CmdLine: `cmd /D /S /C "` + text + `"`}}
}

// program returns the path of a program, whose extension may be left out.
func program(path string, env []string) (string, error) {
	known := variable(env, "PATHEXT")
	if known == "" {
		known = ".com;.exe;.bat;.cmd"
	}
	tries := []string{}
	if filepath.Ext(path) != "" {
		tries = append(tries, path)
	}
	for _, ext := range strings.Split(strings.ToLower(known), ";") {
		if strings.HasPrefix(ext, ".") {
			tries = append(tries, path+ext)
		}
	}
	for _, p := range tries {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p, nil
		}
	}
	return "", &fs.PathError{Op: "find", Path: path, Err: fs.ErrNotExist}
}

// asTyped returns the path of a program as it was found, with its extension.
func asTyped(_, found string) string { return found }

// sameVariable compares two names of environment variables.
func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// noProgram reports whether a file has no format that the system executes.
func noProgram(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// unsuitable reports whether it is for this file, or these arguments, that no process
// was started, and not for want of room.
func unsuitable(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) || errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_INVALID_NAME)
}

// signalName returns "": no process is ended by a signal.
func signalName(*os.ProcessState) string { return "" }
