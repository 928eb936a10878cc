package guard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// lookUp finds the program of Argv, or says why it cannot be started.
func (j *Job) lookUp() (path string, none *Outcome) {
	name := j.Argv[0]
	if name == "" {
		return "", &Outcome{Reason: ReasonNotFound, Detail: "the command has no program"}
	}
	var err error
	if strings.ContainsAny(name, separators) {
		if path, err = program(j.at(name), j.Env); err == nil {
			path = asTyped(name, path)
		}
	} else {
		path, err = onPath(name, j.Env)
	}
	if err == nil {
		return path, nil
	}
	return "", unusable(name, err)
}

// at returns where a path leads from the working directory. It does not join them: for
// the system "link/.." is not the directory of the link.
func (j *Job) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return j.Dir + string(filepath.Separator) + path
}

// errNoExec is the error of a file that nobody may execute.
var errNoExec = errors.New("it is not marked as executable")

// onPath looks a program up in the directories of PATH. Entries that are relative, the
// empty one among them, stand for another directory in every guard and would let a
// workspace put a program in the place of a known one; they are skipped.
func onPath(name string, env []string) (string, error) {
	found := error(&fs.PathError{Op: "find", Path: name, Err: exec.ErrNotFound})
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := program(filepath.Join(dir, name), env)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, errNoExec) {
			found = err
		}
	}
	return "", found
}

// variable returns the value of an environment variable, the last if there are
// several.
func variable(env []string, name string) string {
	value := ""
	for _, v := range env {
		if n, rest, ok := strings.Cut(v, "="); ok && sameVariable(n, name) {
			value = rest
		}
	}
	return value
}

// unusable says why a program was not even tried.
func unusable(name string, err error) *Outcome {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return &Outcome{Reason: ReasonNotFound, Detail: fmt.Sprintf("the program %q is not on the PATH", name), Hint: "install it, or correct the command"}
	case errors.Is(err, fs.ErrNotExist):
		return &Outcome{Reason: ReasonNotFound, Detail: fmt.Sprintf("there is no program %q", name)}
	case errors.Is(err, errNoExec):
		return &Outcome{Reason: ReasonNotExecutable, Detail: fmt.Sprintf("the file %q is not marked as executable", name), Hint: "make it executable with chmod +x"}
	}
	return &Outcome{Reason: ReasonNotExecutable, Detail: fmt.Sprintf("the program %q cannot be executed: %v", name, cause(err))}
}

// unstarted says why a program that was found did not start.
func (j *Job) unstarted(cmd *exec.Cmd, err error) (Outcome, error) {
	name := filepath.Base(cmd.Path)
	if j.Shell == "" {
		name = j.Argv[0]
	}
	asks, crlf := interpreter(j.at(cmd.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && asks != "":
		o := Outcome{Reason: ReasonNotFound, Detail: fmt.Sprintf("the first line of %q asks for %q, which is not there", name, asks)}
		if crlf {
			o.Hint = "save the file with LF line ends; the first line ends in CR LF"
		}
		return o, nil
	case errors.Is(err, fs.ErrNotExist):
		return Outcome{Reason: ReasonNotFound, Detail: fmt.Sprintf("the program %q, or what has to load it, is not there", name)}, nil
	case noProgram(err):
		return Outcome{
			Reason: ReasonNotExecutable, Detail: fmt.Sprintf("%q is no program for this system", name),
			Hint: "a script begins with a line such as #!/bin/sh",
		}, nil
	case errors.Is(err, fs.ErrPermission), unsuitable(err):
		o := Outcome{Reason: ReasonNotExecutable, Detail: fmt.Sprintf("the program %q cannot be executed: %v", name, cause(err))}
		if asks != "" {
			o.Detail += fmt.Sprintf("; its first line asks for %q", asks)
		}
		return o, nil
	}
	return Outcome{}, fmt.Errorf("run a guard: %w", err)
}

// cause is an error without what was being done, which holds names as they are.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// interpreter returns what the first line of a script asks for, "" for no script.
func interpreter(path string) (asks string, crlf bool) {
	// The kernel reads no more either.
	const maxFirst = 256
	// A pipe would keep us until somebody writes to it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	first := make([]byte, maxFirst)
	n, _ := io.ReadFull(f, first)
	line, _, _ := strings.Cut(string(first[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return "", false
	}
	rest, crlf = strings.CutSuffix(rest, "\r")
	if words := strings.Fields(rest); len(words) > 0 {
		asks = words[0]
	}
	return asks, crlf
}
