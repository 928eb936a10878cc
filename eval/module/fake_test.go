package module

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// childEnv makes the test binary a second process: mwp-git, or a mwp that fetches.
const childEnv = "MWP_MODULE_TEST_CHILD"

// quickRace takes a second's wait from the end of each process that is built to
// detect races.
const quickRace = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	switch what := os.Getenv(childEnv); {
	case what == "":
		os.Exit(m.Run())
	case what == "fetcher":
		fakeFetcher()
	case strings.HasPrefix(what, "hold "):
		// Keeps its standard output open until it is killed.
		if _, err := cas.Lock(context.Background(), what[len("hold "):], nil); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "holding")
		forever()
	case strings.HasPrefix(what, "in "):
		inChild(strings.Split(what, "\n")[1:])
	default:
		panic("unknown child " + what)
	}
}

// forever waits for the kill.
func forever() {
	r, _, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	r.Read(make([]byte, 1))
}

// remote is a repository as fakeFetcher serves it, from remote.json in a directory.
type remote struct {
	Tags, Branches map[string]string // to commits
	// Trees are the files of each commit by path. Names with a trailing "->" are
	// links, with a trailing "|" pipes, with a trailing "+" empty files of a size.
	Trees map[string]map[string]string
	// Behave is how the fetcher misbehaves, Answer what it says instead of its
	// answer.
	Behave, Answer string
}

func fakeFetcher() {
	var q protocol.Request
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "fetching "+q.URL)
	dir := strings.TrimPrefix(q.URL, "file://")
	text, err := os.ReadFile(filepath.Join(dir, "remote.json"))
	if err != nil {
		answer(protocol.Response{Error: &protocol.Error{Code: protocol.Unreachable, Message: "no repository " + q.URL}})
		return
	}
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(calls, q.Op, q.Ref, q.Dir)
	calls.Close()
	var r remote
	if err := json.Unmarshal(text, &r); err != nil {
		panic(err)
	}
	misbehave(r, q, dir)
	out := r.serve(q)
	if r.Answer != "" {
		fmt.Println(r.Answer)
		return
	}
	answer(out)
}

func answer(r protocol.Response) { json.NewEncoder(os.Stdout).Encode(r) }

func misbehave(r remote, q protocol.Request, dir string) {
	switch r.Behave {
	case "hang":
		forever()
	case "hang ready", "hang mindful":
		// Tells its process id, and goes on when it is told to. A mindful one ends when
		// nobody waits any more.
		if r.Behave == "hang mindful" {
			if _, err := cas.Lock(context.Background(), filepath.Join(dir, "held"), nil); err != nil {
				panic(err)
			}
			go func() {
				io.Copy(io.Discard, os.Stdin)
				os.Exit(5)
			}()
		}
		fifo(filepath.Join(dir, "ready"), os.O_WRONLY, fmt.Sprintln(os.Getpid()))
		fifo(filepath.Join(dir, "go"), os.O_RDONLY, "")
	case "garbage":
		fmt.Print("fatal: \x1b[31mnot json")
		os.Exit(0)
	case "nothing":
		os.Exit(0)
	case "two":
		answer(protocol.Response{})
	case "huge":
		for range 6 << 10 {
			os.Stdout.Write(make([]byte, 1<<10))
		}
	case "loud":
		for range 3 * maxLines {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 10*maxLine)[:maxLine+100])
		}
	case "exit":
		fmt.Fprint(os.Stderr, "counting\r\x1b[2Jfatal: https://user:secret@host/x.git is gone")
		os.Exit(1)
	case "write and die":
		r.serve(q)
		os.Exit(3)
	case "half and answer":
		os.WriteFile(filepath.Join(q.Into, "only"), nil, 0o666)
		answer(protocol.Response{Commit: r.Tags[q.Ref], Kind: pin.Tag})
		os.Exit(0)
	case "grandchild", "escaped grandchild":
		grandchild(filepath.Join(dir, "held"), filepath.Join(dir, "pid"), r.Behave == "escaped grandchild")
	case "environment":
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "SEEN=") {
				fmt.Fprintln(os.Stderr, v)
			}
		}
	}
}

// grandchild starts a process that holds this one's output, and waits until it
// does.
func grandchild(lock, pid string, escape bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=hold "+lock)
	cmd.Stdout = os.Stdout
	if escape {
		leaveGroup(cmd)
	}
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(said).ReadString('\n')
	}
	if err == nil {
		err = os.WriteFile(pid, fmt.Append(nil, cmd.Process.Pid), 0o666)
	}
	if err != nil {
		panic(err)
	}
}

// serve does what mwp-git would.
func (r remote) serve(q protocol.Request) protocol.Response {
	fail := func(code, format string, args ...any) protocol.Response {
		return protocol.Response{Error: &protocol.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
	}
	if q.Op == protocol.Tags {
		var out protocol.Response
		for name, commit := range r.Tags {
			out.Tags = append(out.Tags, protocol.TagName{Name: name, Commit: commit})
		}
		return out
	}
	out := protocol.Response{Notes: []string{"a note with \x1b"}}
	switch {
	case pin.IsCommit(q.Ref):
		out.Commit, out.Kind = q.Ref, pin.Commit
	case r.Tags[q.Ref] != "":
		out.Commit, out.Kind = r.Tags[q.Ref], pin.Tag
		if q.Commit != "" && q.Commit != out.Commit {
			f := fail(protocol.TagMoved, "%s was %s and is %s", q.Ref, q.Commit, out.Commit)
			f.Error.Found = out.Commit
			return f
		}
	case q.Commit != "":
		out.Commit, out.Kind = q.Commit, pin.Branch
	case r.Branches[q.Ref] != "" && q.Floating:
		out.Commit, out.Kind = r.Branches[q.Ref], pin.Branch
	case r.Branches[q.Ref] != "":
		return fail(protocol.FloatingRef, "%s is a branch", q.Ref)
	default:
		return fail(protocol.RefNotFound, "no tag %s", q.Ref)
	}
	if there, err := os.ReadDir(q.Into); err != nil || len(there) != 0 {
		return fail(protocol.IO, "%s is not an empty directory: %v", q.Into, err)
	}
	for name, content := range r.Trees[out.Commit] {
		name, ok := strings.CutPrefix(name, q.Dir)
		if !ok || q.Dir != "" && !strings.HasPrefix(name, "/") {
			continue
		}
		if err := makeEntry(filepath.Join(q.Into, filepath.FromSlash(name)), content); err != nil {
			return fail(protocol.IO, "write: %v", reason(err))
		}
		out.Files++
	}
	return out
}

// makeEntry makes a file, or what the end of its name says.
func makeEntry(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if name, ok := strings.CutSuffix(path, "->"); ok {
		return os.Symlink(content, name)
	}
	if name, ok := strings.CutSuffix(path, "|"); ok {
		return mkfifo(name)
	}
	if name, ok := strings.CutSuffix(path, "+"); ok {
		size, err := strconv.ParseInt(content, 10, 64)
		return errors.Join(err, os.WriteFile(name, nil, 0o666), os.Truncate(name, size))
	}
	return os.WriteFile(path, []byte(content), 0o666)
}

// commit returns a made-up commit id.
func commit(s string) string { return cas.Sum([]byte(s)).String()[:40] }

// world is a workspace and repositories to fetch from.
type world struct {
	t     *testing.T
	dir   string
	store *Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir}
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.store = newStore(dir)
	return w
}

func newStore(dir string) *Store {
	return &Store{
		State: filepath.Join(dir, "p", ".mwp"), Ignore: "modules/\n", Fetcher: os.Args[0],
		Env: append(os.Environ(), childEnv+"=fetcher", quickRace),
	}
}

// serve makes or changes a repository and returns its URL.
func (w *world) serve(name string, r remote) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "remote.json"), text, 0o666)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(dir)
}

// calls returns what the fetcher was asked of a repository.
func (w *world) calls(name string) string {
	b, err := os.ReadFile(filepath.Join(w.dir, name, "calls"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) path(name string) string {
	return filepath.Join(w.dir, "p", ".mwp", filepath.FromSlash(name))
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := makeEntry(w.path(name), content); err != nil {
		w.t.Fatal(err)
	}
}

// snapshot returns the files of the state directory but the cache, with content.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	root := w.path("")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && p == root:
			return nil
		case err != nil:
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && rel == "cache":
			return filepath.SkipDir
		case d.IsDir():
			if there, err := os.ReadDir(p); err != nil || len(there) > 0 || rel == "modules" || rel == "." {
				return err
			}
			out[rel+"/"] = "empty"
		case d.Type()&fs.ModeSymlink != 0:
			out[rel], err = os.Readlink(p)
			out[rel] = "-> " + out[rel]
		case d.Type().IsRegular():
			var b []byte
			b, err = os.ReadFile(p)
			out[rel] = string(b)
		default:
			out[rel] = d.Type().String()
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// ref parses a reference.
func ref(t *testing.T, s string) pin.Ref {
	t.Helper()
	r, err := pin.ParseRef(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) fetch(s string) Outcome {
	w.t.Helper()
	return w.store.Fetch(w.t.Context(), []Want{{Ref: ref(w.t, s)}})[0]
}

// must fetches and returns the record.
func (w *world) must(s string) pin.Record {
	w.t.Helper()
	o := w.fetch(s)
	if o.Err != nil {
		w.t.Fatalf("Fetch(%s): %v", s, o.Err)
	}
	return o.Record
}

// code returns an outcome's code, "" for success.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := err.(*Error); ok {
		return e.Code
	}
	return "not an *Error: " + err.Error()
}

// sums returns the list of a module's files and its digest.
func sums(files map[string]string) (list, tree string) {
	var s []pin.Sum
	for name, content := range files {
		s = append(s, pin.Sum{Digest: cas.Sum([]byte(content)).String(), Path: name})
	}
	text := pin.AppendSums(nil, s)
	return string(text), cas.Sum(text).String()
}

// simple is a repository with one tag.
func simple(name string) remote {
	c := commit(name)
	return remote{
		Tags:  map[string]string{"v1.0.0": c},
		Trees: map[string]map[string]string{c: {".mwp-module.md": name, "rules.md": "rules", "pkg/a/x.md": "x", "pkg/b/y.md": "y"}},
	}
}

// inChild fetches in a second process and prints the outcomes' codes. The process
// begins when its standard input ends.
func inChild(args []string) {
	s := newStore(args[0])
	var n int
	fmt.Sscan(args[1], &n)
	var ops atomic.Int64
	s.before = func(op, name string) error {
		if ops.Add(1) == int64(n) {
			killMyself()
		}
		return nil
	}
	var wants []Want
	for _, a := range args[2:] {
		r, err := pin.ParseRef(a)
		if err != nil {
			panic(err)
		}
		wants = append(wants, Want{Ref: r})
	}
	io.Copy(io.Discard, os.Stdin)
	for _, o := range s.Fetch(context.Background(), wants) {
		fmt.Printf("%s %v\n", code(o.Err), o.Err)
	}
}
