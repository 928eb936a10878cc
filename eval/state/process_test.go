package state

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// childEnv makes TestChild a second process, see there.
const childEnv = "MWP_STATE_TEST_CHILD"

// TestChild is the second process: it counts so many times in a session's file, or
// removes the file instead of the last time, and kills itself before a step of the last
// if one is given.
func TestChild(t *testing.T) {
	args := strings.Split(os.Getenv(childEnv), "\n")
	if len(args) != 4 {
		t.Skip("only as a second process")
	}
	d := Dir{Path: args[0], Ignore: "cache/\n"}
	name, step := args[1], args[3]
	n, _ := strconv.Atoi(args[2])
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for i := range n {
		if i == n-1 {
			d.step = killedAt(step)
		}
		if i == n-1 && strings.HasPrefix(step, "remove ") {
			d.Remove(context.Background(), "sessions", name)
			continue
		}
		count(t, d, name)
	}
}

func killedAt(step string) func(op, name string) error {
	return func(op, name string) error {
		if op+" "+name != step {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		fmt.Println("not killed:", err)
		select {}
	}
}

func child(d Dir, name string, n int, step string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{d.Path, name, strconv.Itoa(n), step}, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestProcesses: two processes and this one count in one file at the same time, from
// before there is a state directory, and nothing is lost.
func TestProcesses(t *testing.T) {
	d := besideFile(t)
	const each = 30
	var begin []func()
	var end []func()
	for range 2 {
		cmd := child(d, "a.json", each, "")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		if line, err := said.ReadString('\n'); line != "ready\n" {
			t.Fatalf("a process said %q, %v", line, err)
		}
		begin = append(begin, func() { in.Close() })
		end = append(end, func() {
			rest, _ := said.ReadString(0)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, rest)
			}
		})
	}
	for _, f := range begin {
		f()
	}
	for range each {
		count(t, d, "a.json")
	}
	for _, f := range end {
		f()
	}
	if n := counted(t, d, "a.json"); n != 3*each {
		t.Errorf("counted %d, want %d", n, 3*each)
	}
}

// TestKilled: whenever the process ends, the file is the old one, the lock is free, and
// the next writer, of another file too, cleans up.
func TestKilled(t *testing.T) {
	for _, c := range []struct {
		step   string
		before int
		left   string
	}{
		{"mkdir .mwp.d", 0, ""},
		{"write .gitignore", 0, ""},
		{"mkdir cache", 0, ""},
		{"mkdir locks", 0, ""},
		{"mkdir sessions", 0, ""},
		{"write new.tmp", 0, ""},
		{"write new.tmp", 1, ".gitignore a.json"},
		{"rename a.json", 0, ".gitignore new.tmp"},
		{"rename a.json", 1, ".gitignore a.json new.tmp"},
		{"remove a.json", 1, ".gitignore a.json"},
	} {
		d := besideFile(t)
		cmd := child(d, "a.json", c.before+1, c.step)
		cmd.Stdin = strings.NewReader("\n")
		out, err := cmd.Output()
		if _, ended := err.(*exec.ExitError); !ended || strings.Contains(string(out), "not killed") {
			t.Fatalf("%s: the process was not killed: %v: %s", c.step, err, out)
		}
		if n := counted(t, d, "a.json"); n != c.before {
			t.Errorf("%s: counted %d, want %d", c.step, n, c.before)
		}
		sessions := filepath.Join(d.Path, "sessions")
		if c.left != "" && namesIn(t, sessions) != c.left {
			t.Errorf("%s: the directory holds %s, want %s", c.step, namesIn(t, sessions), c.left)
		}
		count(t, d, "b.json")
		if got, want := namesIn(t, sessions), ".gitignore "+strings.Repeat("a.json ", c.before)+"b.json"; got != want {
			t.Errorf("%s: the directory holds %s after the next, want %s", c.step, got, want)
		}
		count(t, d, "a.json")
		if n := counted(t, d, "a.json"); n != c.before+1 {
			t.Errorf("%s: counted %d after the next, want %d", c.step, n, c.before+1)
		}
		if got := namesIn(t, d.Path); got != ".gitignore cache sessions" {
			t.Errorf("%s: the state directory holds %s", c.step, got)
		}
	}
}
