package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval"
)

const (
	// peerServer is the server that most people have run: its tool that reads a file is
	// the least that a server can do for a client.
	peerServer = "@modelcontextprotocol/server-filesystem@2026.8.31"
	// peerFile is the size of the file that it reads.
	peerFile = 2700
	// levels with an import each give a map of about fifty leaves.
	levels = 12
	// callsPerRun is how many calls of each server stand behind one of the runs.
	callsPerRun = 20
	// manyTargets are asked for in turn, manyCalls times in all.
	manyTargets, manyCalls = 1000, 10_000
)

// server is a running MCP server and its client.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// serve starts a server and shakes hands with it.
func (l *lab) serve(dir string, argv ...string) (*server, error) {
	s := &server{cmd: exec.Command(argv[0], argv[1:]...)}
	s.cmd.Dir, s.cmd.Env = dir, l.env
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := s.ask(initialize); err != nil {
		s.close()
		return nil, err
	}
	if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, err
	}
	return s, nil
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"

// ask sends one message and returns the line that answers it.
func (s *server) ask(message string) ([]byte, error) {
	if _, err := io.WriteString(s.in, message); err != nil {
		return nil, err
	}
	line, err := s.out.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", strings.TrimSpace(message), err)
	}
	if bytes.Contains(line, []byte(`"isError":true`)) || bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":null`)) || bytes.Contains(line[:min(len(line), 80)], []byte(`"error"`)) {
		return nil, fmt.Errorf("%s was refused: %s", strings.TrimSpace(message), line)
	}
	return line, nil
}

// askOften sends one message callsPerRun times and returns what one of them took.
func (s *server) askOften(message string) (time.Duration, error) {
	start := time.Now()
	for range callsPerRun {
		if _, err := s.ask(message); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / callsPerRun, nil
}

func (s *server) close() error {
	s.in.Close()
	return s.cmd.Wait()
}

// call is a message that calls a tool with one argument.
func call(tool, argument, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%q:%q}}}`+"\n", tool, argument, value)
}

// servers measures the MCP server.
func (l *lab) servers() ([]row, error) {
	l.atHome()
	t, err := newTree(l.scratch(), shape{seed: l.c.seed, depth: levels, rules: true})
	if err != nil {
		return nil, err
	}
	if _, err := l.mwp(t, "map", t.target); err != nil {
		return nil, err
	}
	if err := l.warmUp(t, "map", "-v", t.target); err != nil {
		return nil, err
	}
	slot, _, err := onlySlot(t)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, measure := range []func(*tree, *eval.Slot) ([]row, error){l.calls, l.firstAnswer, l.hook, l.longService} {
		more, err := measure(t, slot)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// calls compares warm calls with those of the peer, a few of each in turn.
func (l *lab) calls(t *tree, slot *eval.Slot) ([]row, error) {
	what := "time of a warm map_workspace / read_text_file of the npm filesystem server"
	peer, err := l.peer()
	if err != nil {
		return []row{missing(what, err.Error())}, nil
	}
	ours, err := l.serve(t.root, l.binary("mwp"), "serve-mcp")
	if err != nil {
		return nil, err
	}
	defer ours.close()
	file := filepath.Join(t.root, "file.txt")
	if err := os.WriteFile(file, bytes.Repeat([]byte("some text\n"), peerFile/10), 0o666); err != nil {
		return nil, err
	}
	theirs, err := l.serve(t.root, append(peer, t.root)...)
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	// A ping looks at nothing and says nothing: no call can be faster.
	sides := [3]*server{ours, theirs, ours}
	messages := [3]string{call("map_workspace", "target", filepath.ToSlash(t.target)), call("read_text_file", "path", file), ping}
	// The first call makes the directory of sessions, a change in the state directory that
	// every map rests on.
	if _, err := ours.ask(messages[0]); err != nil {
		return nil, err
	}
	time.Sleep(settleTime)
	var runs []func() (time.Duration, error)
	for i := range sides {
		runs = append(runs, func() (time.Duration, error) { return sides[i].askOften(messages[i]) })
	}
	// The first rounds make a program fast that is compiled as it runs.
	if _, err := alternate(3, runs...); err != nil {
		return nil, err
	}
	times, err := alternate(l.c.runs, runs...)
	if err != nil {
		return nil, err
	}
	answer, err := ours.ask(messages[0])
	if err != nil {
		return nil, err
	}
	size := len(answer)
	c := compare(times[0], times[1])
	// Calls per second are what a client gets, collectors' pauses included.
	perSecond := float64(sum(times[0])) / float64(sum(times[1]))
	floor := float64(sum(times[2])) / float64(sum(times[1]))
	list, err := ours.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
	if err != nil {
		return nil, err
	}
	return []row{
		limited(what, perSecond, 0.1, "", fmt.Sprintf("%.1f times the calls per second, means of %d calls each; %d leaves, an answer of %d bytes against a file of %d; runs of %d calls: ratio %.3f, %s",
			1/perSecond, len(times[0])*callsPerRun, len(slot.Leaves), size, peerFile, callsPerRun, c.ratio, micro(c))),
		{What: "time of a ping / read_text_file of the npm filesystem server", Measured: floor,
			Detail: fmt.Sprintf("%.1f times the calls per second: what any call of any server could reach at most", 1/floor)},
		limited("answer to tools/list", float64(len(list)), 3072, "bytes", ""),
	}, nil
}

// oneCall measures a call of a server that has answered the same one before.
func (l *lab) oneCall(p *place) ([]row, error) {
	if err := l.warmPlace(p); err != nil {
		return nil, err
	}
	s, err := l.serve(p.root, l.binary("mwp"), "serve-mcp")
	if err != nil {
		return nil, err
	}
	defer s.close()
	message := call("map_workspace", "target", filepath.ToSlash(p.target))
	if _, err := s.ask(message); err != nil {
		return nil, err
	}
	time.Sleep(settleTime)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	hello := l.hello(p.tree)
	runs := []func() (time.Duration, error){
		func() (time.Duration, error) { return s.askOften(message) },
		func() (time.Duration, error) { return hello.run(null, l.env) },
	}
	times, err := l.paced(runs...)
	if err != nil {
		return nil, err
	}
	r := inPlace(p, "warm map_workspace", "hello", times[0], times[1])
	if h, err := heldBy(s.cmd.Process.Pid); err == nil {
		r.Figures.Peak = &h.megabytes
	}
	return []row{r}, countCache(p, r.Figures)
}

func sum(ds []time.Duration) (all time.Duration) {
	for _, d := range ds {
		all += d
	}
	return all
}

func micro(c comparison) string {
	return fmt.Sprintf("minima %.3f; medians %.0f µs and %.0f µs", c.least, float64(c.median)/1e3, float64(c.against)/1e3)
}

// peer returns the command of the peer, installed into the lab.
func (l *lab) peer() ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("there is no node")
	}
	dir, err := l.install(peerServer)
	if err != nil {
		return nil, err
	}
	return []string{node, filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")}, nil
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// firstAnswer compares the time from the start of a server to its first answer with a
// whole run of mwp version.
func (l *lab) firstAnswer(t *tree, _ *eval.Slot) ([]row, error) {
	version := &contestant{name: "version", argv: []string{l.binary("mwp"), "version"}, dir: t.root}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var times [2][]time.Duration
	for range l.c.runs {
		d, err := l.timeToAnswer(t.root, null)
		if err != nil {
			return nil, err
		}
		v, err := version.run(null, l.env)
		if err != nil {
			return nil, err
		}
		times[0], times[1] = append(times[0], d), append(times[1], v)
	}
	c := compare(times[0], times[1])
	return []row{limited("start to the answer to initialize / mwp version", c.ratio, 1.25, "", c.String())}, nil
}

// timeToAnswer starts a server as contestant.run starts a program.
func (l *lab) timeToAnswer(dir string, null *os.File) (d time.Duration, err error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer feed.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer answers.Close()
	if _, err := io.WriteString(feed, initialize); err != nil {
		return 0, err
	}
	buf := make([]byte, 1<<16)
	start := time.Now()
	p, err := os.StartProcess(l.binary("mwp"), []string{"mwp", "serve-mcp"}, &os.ProcAttr{Dir: dir, Env: l.env, Files: []*os.File{in, out, null}})
	if err != nil {
		return 0, err
	}
	n, err := answers.Read(buf)
	d = time.Since(start)
	in.Close()
	out.Close()
	feed.Close()
	if _, waited := p.Wait(); err == nil {
		err = waited
	}
	if err == nil && !bytes.Contains(buf[:n], []byte(`"protocolVersion"`)) {
		err = fmt.Errorf("the server answered %q", buf[:n])
	}
	return d, err
}

// hook compares a harness's hook with a map of the same target.
func (l *lab) hook(t *tree, _ *eval.Slot) ([]row, error) {
	event := fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"bench","cwd":%q,"tool_name":"Read","tool_input":{"file_path":%q}}`, t.root, filepath.Join(t.root, t.target))
	file := filepath.Join(t.root, "event.json")
	if err := os.WriteFile(file, []byte(event), 0o666); err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	session := filepath.Join(t.root, ".mwp", "sessions")
	var times [3][]time.Duration
	for round := range l.c.runs + 1 {
		for i := range times {
			input := null
			argv := []string{"mwp", "map", t.target}
			if i > 0 {
				if i == 1 {
					if err := os.RemoveAll(session); err != nil {
						return nil, err
					}
				}
				if input, err = os.Open(file); err != nil {
					return nil, err
				}
				argv = []string{"mwp", "hook", "claude"}
			}
			start := time.Now()
			p, err := os.StartProcess(l.binary("mwp"), argv, &os.ProcAttr{Dir: t.root, Env: l.env, Files: []*os.File{input, null, null}})
			if err != nil {
				return nil, err
			}
			state, err := p.Wait()
			if d := time.Since(start); round > 0 {
				times[i] = append(times[i], d)
			}
			if input != null {
				input.Close()
			}
			if err == nil && !state.Success() {
				err = fmt.Errorf("%v: %s", argv, state)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	first, later := compare(times[1], times[0]), compare(times[2], times[0])
	return []row{
		limited("mwp hook that sends a map / warm map", first.ratio, 1.3, "", first.String()),
		limited("mwp hook with nothing new / warm map", later.ratio, 1.3, "", later.String()),
	}, nil
}

// longService asks one server for many targets again and again, and looks at what it
// holds.
func (l *lab) longService(*tree, *eval.Slot) ([]row, error) {
	t := &tree{root: l.scratch()}
	r := rand.New(rand.NewPCG(l.c.seed, 8))
	if err := t.write(".mwp/config.toml", "name = \"many\"\n"); err != nil {
		return nil, err
	}
	for i := range manyTargets {
		if err := t.write(filepath.Join(fmt.Sprintf("part-%d", i), ".mwp-context.md"), sentences(r, 20)); err != nil {
			return nil, err
		}
	}
	time.Sleep(settleTime)
	s, err := l.serve(t.root, l.binary("mwp"), "serve-mcp")
	if err != nil {
		return nil, err
	}
	defer s.close()
	var early, late held
	for i := range manyCalls {
		if _, err := s.ask(call("map_workspace", "target", fmt.Sprintf("part-%d", i%manyTargets))); err != nil {
			return nil, err
		}
		if i == 2*manyTargets-1 {
			if early, err = heldBy(s.cmd.Process.Pid); err != nil {
				return []row{missing("memory of a server after many calls", err.Error())}, nil
			}
		}
	}
	if late, err = heldBy(s.cmd.Process.Pid); err != nil {
		return nil, err
	}
	return []row{
		limited(fmt.Sprintf("memory of a server after %d calls for %d targets", manyCalls, manyTargets), late.megabytes, 64, "MB",
			fmt.Sprintf("resident, the highest so far; %.1f MB after the first %d", early.megabytes, 2*manyTargets)),
		limited("memory then / after the first two rounds", late.megabytes/early.megabytes, 1.1, "", "the highest so far, each time"),
		limited("open descriptors more than after the first rounds", float64(late.descriptors-early.descriptors), 0, "", fmt.Sprintf("%d now", late.descriptors)),
	}, nil
}

// held is what a process holds: the most memory that it had so far, and its open files.
type held struct {
	megabytes   float64
	descriptors int
}

func heldBy(pid int) (h held, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return h, fmt.Errorf("this system does not say")
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return h, fmt.Errorf("this system does not say")
	}
	var kilobytes float64
	if _, err := fmt.Sscan(strings.Fields(rest)[0], &kilobytes); err != nil {
		return h, err
	}
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	return held{kilobytes / 1024, len(fds)}, err
}
