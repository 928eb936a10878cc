package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is a command and all that it starts.
type group struct{ cmd *exec.Cmd }

func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// await returns when the leader has ended. It leaves it to be reaped: until then
// nothing else can get its number, which is also that of its group and its session.
func (g *group) await() {
	for {
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func (g *group) reap() error { return g.cmd.Wait() }

// terminate asks every process to end.
func (g *group) terminate() {
	away := g.members()
	g.signalGroup(syscall.SIGTERM)
	for _, m := range away {
		if m.group != g.cmd.Process.Pid {
			m.signal(syscall.SIGTERM)
		}
	}
}

const (
	// The kernel reports the end of a process to its parent only, so the others are
	// looked for again: soon at first, because they end at once.
	firstLook  = 500 * time.Microsecond
	lastLook   = 20 * time.Millisecond
	maxFreezes = 100
)

// kill ends everything and waits until it has ended, but not longer than killFor.
func (g *group) kill() {
	begun := time.Now()
	for delay := firstLook; ; delay = min(2*delay, lastLook) {
		found := g.freeze()
		g.signalGroup(syscall.SIGKILL)
		for _, m := range found {
			m.signal(syscall.SIGKILL)
		}
		if len(found) == 0 || time.Since(begun) >= killFor {
			return
		}
		time.Sleep(delay)
	}
}

// freeze stops everything and returns it. What is about to fork may do so before it
// stops, so the list is made until one that was begun when everything had stopped
// holds nothing new. A process that cannot stop, because it waits for a disk or for a
// child to begin, does not fork either, and is not waited for.
func (g *group) freeze() []member {
	var all []member
	stopped := map[identity]bool{}
	settled := false
	for range maxFreezes {
		now := g.members()
		fresh, moving := false, false
		for _, m := range now {
			if !stopped[m.identity] {
				stopped[m.identity], fresh = true, true
				m.signal(syscall.SIGSTOP)
				all = append(all, m)
			}
			moving = moving || !m.stopped
		}
		if len(now) == 0 || settled && !fresh {
			break
		}
		if settled = !fresh && !moving; moving && !fresh {
			time.Sleep(firstLook)
		}
	}
	return all
}

// identity tells a process from all others, with when it began, in the kernel's
// ticks, and so from an earlier or later one of the same number.
type identity struct{ pid, start int }

// member is a process of the leader's session, or a descendant of one.
type member struct {
	identity
	group   int
	stopped bool
}

// signal sends a signal to the process, and to no other that has got its number.
func (m member) signal(s syscall.Signal) {
	// A handle, where the kernel has such: what it refers to does not change, so that
	// it is the right one if the number belongs to the right process afterwards.
	p, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer p.Release()
	if now, ok := look(m.pid); ok && now.start == m.start {
		p.Signal(s)
	}
}

// members returns what runs of the leader's session, and all descendants of that.
// Without a /proc it returns nothing.
func (g *group) members() []member {
	leader := g.cmd.Process.Pid
	children := map[int][]seen{}
	var todo []seen
	for _, s := range running() {
		if s.session == leader {
			todo = append(todo, s)
		} else {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	var out []member
	for len(todo) > 0 {
		s := todo[0]
		todo = append(todo[1:], children[s.pid]...)
		delete(children, s.pid)
		out = append(out, member{identity{s.pid, s.start}, s.group, s.stopped})
	}
	return out
}

// seen is what /proc says about a process.
type seen struct {
	pid, parent, group, session, start int
	stopped                            bool
}

// running returns all processes that have not ended. It takes some 16 µs for each.
func running() []seen {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []seen
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := look(pid); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// look asks for one process; ok is false when it has ended.
func look(pid int) (s seen, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return seen{}, false
	}
	s, ok = parseStat(text)
	s.pid = pid
	return s, ok
}

// parseStat reads a line of proc(5); ok is false for a process that has ended. The
// program's name comes second, in parentheses, and may hold parentheses itself.
func parseStat(text []byte) (s seen, ok bool) {
	const state, parent, group, session, start = 0, 1, 2, 3, 19
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) <= start || f[state][0] == 'Z' || f[state][0] == 'X' {
		return seen{}, false
	}
	number := func(i int) int {
		n, err := strconv.Atoi(string(f[i]))
		ok = ok && err == nil
		return n
	}
	ok = true
	s = seen{parent: number(parent), group: number(group), session: number(session), start: number(start)}
	// 't' is what a debugger has stopped.
	s.stopped = f[state][0] == 'T' || f[state][0] == 't'
	return s, ok
}
