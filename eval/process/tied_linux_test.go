package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A tied command dies with this process however that ends.
func TestTied(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(), childEnv+"=exec 3>'"+alive+"'; echo $$ >&3; exec sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	if s, ok := look(pid); !ok || s.parent != cmd.Process.Pid {
		t.Fatalf("%q is not the other process's child, and the test tests nothing", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	// It holds the pipe for as long as it lives.
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("read %q, %v", rest, err)
	}
	for len(left()) > 0 {
		runtime.Gosched()
	}
}

// A tied command does not die with a thread of this process.
func TestTiedToTheProcess(t *testing.T) {
	const commands = 8
	dir := t.TempDir()
	goOn := func(i int) string { return filepath.Join(dir, strconv.Itoa(i)) }
	var done sync.WaitGroup
	var errs [commands]error
	var outs [commands]*ready
	for i := range commands {
		outs[i] = newReady()
		if err := syscall.Mkfifo(goOn(i), 0o600); err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			errs[i] = Run(t.Context(), shell("echo ready; read x <'"+goOn(i)+"'; echo went on"), Options{Stdout: outs[i], Tied: true})
		})
	}
	for i := range commands {
		<-outs[i].line
	}
	// As many goroutines as there may be threads each take one and end with it.
	var taken, ended sync.WaitGroup
	begin := make(chan struct{})
	for range 100 {
		taken.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			taken.Done()
			<-begin
		})
	}
	taken.Wait()
	close(begin)
	ended.Wait()
	for i := range commands {
		f, err := os.OpenFile(goOn(i), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	done.Wait()
	for i := range commands {
		if errs[i] != nil || outs[i].String() != "ready\nwent on\n" {
			t.Errorf("Run = %v, wrote %q", errs[i], outs[i])
		}
	}
}
