package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// calls are the system calls of one run.
type calls struct {
	all map[string]int
	// listed are the directories whose entries were read.
	listed []string
}

// scheduling are the calls by which Go's runtime runs goroutines and grows its
// heap. How many there are depends on what else the machine does; sysmon alone
// sleeps once every 20 µs.
var scheduling = []string{
	"nanosleep", "futex", "clone", "clone3", "gettid", "getpid", "tgkill", "sched_yield", "sched_getaffinity", "restart_syscall",
	"sigaltstack", "rt_sigprocmask", "rt_sigreturn", "mmap", "munmap", "madvise", "pread64", "epoll_pwait", "exit",
}

// own is the number of calls that are not the scheduler's.
func (c *calls) own() int {
	n := 0
	for name, k := range c.all {
		if !slices.Contains(scheduling, name) {
			n += k
		}
	}
	return n
}

// total is the number of all calls.
func (c *calls) total() int {
	n := 0
	for _, k := range c.all {
		n += k
	}
	return n
}

// beyond names what c has more of than a base, the most frequent first.
func (c *calls) beyond(base *calls) string {
	type extra struct {
		name string
		n    int
	}
	var out []extra
	for name, n := range c.all {
		if n -= base.all[name]; n > 0 && !slices.Contains(scheduling, name) {
			out = append(out, extra{name, n})
		}
	}
	slices.SortFunc(out, func(a, b extra) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.name, b.name)
	})
	texts := make([]string, len(out))
	for i, x := range out {
		texts[i] = fmt.Sprintf("%d %s", x.n, x.name)
	}
	return strings.Join(texts, ", ")
}

// straced reports whether system calls can be counted here: the tool may be
// installed and not be allowed to.
func straced() error {
	if _, err := exec.LookPath("strace"); err != nil {
		return err
	}
	if out, err := exec.Command("strace", "-f", "-y", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		return fmt.Errorf("strace: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// trace runs a command and counts its system calls.
func trace(scratch, dir string, env []string, argv ...string) (*calls, error) {
	log := filepath.Join(scratch, "strace.txt")
	cmd := exec.Command("strace", append([]string{"-f", "-y", "-o", log}, argv...)...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.Output(); err != nil {
		return nil, fmt.Errorf("strace %s: %w: %s", strings.Join(argv, " "), err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	return parseTrace(b), nil
}

// parseTrace reads what strace -f -y writes: a process, a call, its arguments. A
// call that another one interrupts has two lines, of which the first counts.
func parseTrace(b []byte) *calls {
	c := &calls{all: map[string]int{}}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		_, call, _ := strings.Cut(s.Text(), " ")
		name, args, ok := strings.Cut(strings.TrimSpace(call), "(")
		if !ok || strings.ContainsAny(name, " <+-") {
			continue
		}
		c.all[name]++
		if name != "getdents64" && name != "getdents" {
			continue
		}
		if _, path, ok := strings.Cut(args, "<"); ok {
			if path, _, ok = strings.Cut(path, ">"); ok && !slices.Contains(c.listed, path) {
				c.listed = append(c.listed, path)
			}
		}
	}
	return c
}
