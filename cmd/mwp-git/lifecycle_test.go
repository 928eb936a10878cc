package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// holdAt is set in a process that stands in for git and hangs with a child.
const holdAt = "HOLD_AT"

func TestMain(m *testing.M) {
	if address := os.Getenv(holdAt); address != "" {
		hold(address)
		return
	}
	os.Exit(m.Run())
}

// hold connects to the test, starts a child that does the same, and hangs until
// the connection ends.
func hold(address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		os.Exit(3)
	}
	if os.Getenv("CHILD") == "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "CHILD=1")
		if child.Start() != nil {
			os.Exit(3)
		}
	}
	_, _ = c.Read(make([]byte, 1))
}

// begin starts the program on a request and returns its input and its answer.
func (w *world) begin(ctx context.Context, r protocol.Request) (hold io.Closer, answer <-chan protocol.Response) {
	w.t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	in, out := io.Pipe()
	go func() { _, _ = out.Write(text) }()
	done := make(chan protocol.Response, 1)
	go func() {
		var stdout bytes.Buffer
		run(ctx, in, &stdout, io.Discard, w.env)
		var r protocol.Response
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			r.Error = &protocol.Error{Message: err.Error()}
		}
		done <- r
	}()
	return out, done
}

// TestHangingServer accepts a connection and says nothing, until whoever waits
// gives up.
func TestHangingServer(t *testing.T) {
	for _, scheme := range []string{"http", "ssh"} {
		for _, how := range []string{"input ends", "signal"} {
			t.Run(scheme+" "+how, func(t *testing.T) {
				w := newWorld(t)
				silent, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer silent.Close()
				if scheme == "ssh" {
					newAgent(t, w, silent.Addr().String())
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				in, answer := w.begin(ctx, protocol.Request{Op: protocol.Fetch, URL: scheme + "://" + silent.Addr().String() + "/x.git", Ref: "v1", Into: w.into(), Insecure: true})
				defer in.Close()
				c, err := silent.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if how == "signal" {
					cancel()
				} else {
					in.Close()
				}
				wantError(t, <-answer, protocol.IO, "interrupted")
			})
		}
	}
}

func TestInputEndsBeforeRequest(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer
	if code := run(t.Context(), strings.NewReader(""), &out, io.Discard, w.env); code != 0 || !strings.Contains(out.String(), protocol.Refused) {
		t.Errorf("exit status %d, answer %s", code, out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, _ := io.Pipe()
	out.Reset()
	if code := run(ctx, in, &out, io.Discard, w.env); code != 0 || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("exit status %d, answer %s", code, out.String())
	}
}

func TestAnswerCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	if code := run(t.Context(), strings.NewReader("{}"), brokenWriter{}, io.Discard, w.env); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("closed") }

// TestGitIsEnded has a git that hangs with a child, in the way that a stuck
// connection makes it: both must be gone when the answer is there.
func TestGitIsEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: there are no process groups, and the stand-in is a shell script")
	}
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.write("bin/git", "#!/bin/sh\n"+holdAt+"="+listener.Addr().String()+" exec '"+self+"'\n", 0o755)
	w.set("PATH", filepath.Join(w.dir, "bin"))
	// Without an agent ssh is git's from the beginning.
	in, answer := w.begin(t.Context(), protocol.Request{Op: protocol.Fetch, URL: "ssh://git@127.0.0.1/x.git", Ref: "v1", Into: w.into()})
	var held []net.Conn
	for range 2 {
		c, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, c)
	}
	in.Close()
	wantError(t, <-answer, protocol.IO, "interrupted")
	for _, c := range held {
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a process is still there")
		}
	}
}

// TestBrokenServers cuts the connection, sends garbage, errors and too much.
func TestBrokenServers(t *testing.T) {
	needGit(t)
	tests := []struct {
		name string
		wrap func(http.Handler) http.Handler
		code string
		word string
	}{
		{"garbage", answers(200, "application/x-git-upload-pack-advertisement", "\x00\xff\x1b[31mgarbage"), protocol.Unreachable, ""},
		{"a web page", answers(200, "text/html", "<html>Sign in</html>"), protocol.Unreachable, ""},
		{"nothing", answers(200, "text/plain", ""), protocol.Unreachable, ""},
		{"no repository", answers(404, "text/plain", "no"), protocol.Unreachable, "no repository"},
		{"forbidden", answers(403, "text/plain", "no"), protocol.Denied, "https"},
		{"broken", answers(500, "text/plain", strings.Repeat("\x1b[2J", 5000)), protocol.Unreachable, ""},
		{"an error line", answers(200, "application/x-git-upload-pack-advertisement", "001e# service=git-upload-pack\n0000"+"0018ERR go away \x1b[31mnow\n"), protocol.Unreachable, ""},
		{"a redirect in a circle", func(http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, r.URL.String(), http.StatusFound) })
		}, protocol.Unreachable, ""},
		{"a redirect to a file", func(http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Location", "file:///etc/passwd")
				rw.WriteHeader(302)
			})
		}, protocol.Unreachable, ""},
		{"cut while listing", cut("GET", 100), protocol.Unreachable, ""},
		{"cut in the pack", cut("POST", 200), protocol.Unreachable, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.serve(false, test.wrap, false)
			w.moduleRepo("m")
			r, into := w.fetch(s.URL+"/m.git", "v0.1.0")
			wantError(t, r, test.code, test.word)
			if strings.ContainsAny(r.Error.Message, "\x1b\n\x00") || len(r.Error.Message) > 4*maxMessage {
				t.Errorf("message %q", r.Error.Message)
			}
			if left := files(t, into); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
	w := newWorld(t)
	r, _ := w.fetch("http://127.0.0.1:1/m.git", "v0.1.0")
	wantError(t, r, protocol.Unreachable, "127.0.0.1:1")
}

func answers(status int, kind, body string) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		})
	}
}

// cut ends the connection after some bytes of the answers to one method.
func cut(method string, after int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == method {
				rw = &cutter{rw, after}
			}
			next.ServeHTTP(rw, r)
		})
	}
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(b []byte) (int, error) {
	if len(b) < c.left {
		c.left -= len(b)
		return c.ResponseWriter.Write(b)
	}
	_, _ = c.ResponseWriter.Write(b[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := newProgress(&out, func() time.Time { return now })
	p.say("begin")
	for i := range 25 {
		p.count("at %d", i)
		now = now.Add(100 * time.Millisecond)
	}
	if got, want := out.String(), "begin\nat 10\nat 20\n"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
}

// TestSuggest finds the tag that was meant, whatever else there is.
func TestSuggest(t *testing.T) {
	l := &listing{refs: map[string]string{"refs/tags/bad name": "", "refs/tags/" + strings.Repeat("x", 200): "", "refs/heads/v1.2.4": ""}}
	if got := suggest("v1", l); got != "" {
		t.Errorf("suggest among no tags = %q", got)
	}
	for i := range 3 * maxCompared {
		l.refs[fmt.Sprint("refs/tags/zz", i)] = ""
	}
	l.refs["refs/tags/v1.2.3"] = ""
	for _, name := range []string{"1.2.3", "v1.2.4", "V1.2.3"} {
		if got := suggest(name, l); got != `, such as "v1.2.3"` {
			t.Errorf("suggest(%q) = %q", name, got)
		}
	}
}
