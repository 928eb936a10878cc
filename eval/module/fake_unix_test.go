//go:build unix

package module

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o666) }

func killMyself() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	forever()
}

// fifo writes to a pipe with a name, or reads it to its end.
func fifo(path string, flag int, text string) string {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if flag == os.O_WRONLY {
		io.WriteString(f, text)
		return ""
	}
	b, _ := io.ReadAll(f)
	return string(b)
}
