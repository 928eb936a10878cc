package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	// childEnv makes the test binary a second process.
	childEnv = "MWP_PROCESS_TEST_CHILD"
	// markEnv is in the environment of all that a test starts.
	markEnv = "MWP_PROCESS_TEST_MARK"
	// quickRace takes a second's wait from the end of each process that is built to
	// detect races.
	quickRace = "GORACE=atexit_sleep_ms=0"
)

// mark is the value of markEnv for one test process.
var mark = fmt.Sprint(os.Getpid())

func TestMain(m *testing.M) {
	if script := os.Getenv(childEnv); script != "" {
		mark = os.Getenv(markEnv)
		child(script)
	}
	code := m.Run()
	if left := left(); len(left) > 0 {
		fmt.Println("FAIL: processes are left after the tests:", left)
		code = 1
	}
	os.Exit(code)
}

// child runs a tied script, as mwp does, in a process that is to be killed.
func child(script string) {
	err := Run(context.Background(), shell(script), Options{Stdout: os.Stdout, Tied: true})
	fmt.Println("ended:", err)
	os.Exit(0)
}

// shell prepares a script.
func shell(script string) *exec.Cmd {
	return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: environment()}
}

func environment() []string {
	return append(os.Environ(), markEnv+"="+mark, childEnv+"=", quickRace)
}

// left lists the processes of these tests that run, where there is a /proc.
func left() []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if string(v) == markEnv+"="+mark {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
				out = append(out, fmt.Sprint(pid, " ", strings.ReplaceAll(string(line), "\x00", " ")))
			}
		}
	}
	return out
}
