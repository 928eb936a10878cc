package main

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// world is a machine of its own for one test: a home, a place for temporary files
// that must be empty afterwards, and an environment.
type world struct {
	t              *testing.T
	dir, home, tmp string
	env            []string
	// roundTripper trusts the test's server; nil is the program's own.
	roundTripper http.RoundTripper
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.home, w.tmp = filepath.Join(w.dir, "home"), filepath.Join(w.dir, "tmp")
	for _, d := range []string{w.home, w.tmp} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	// What libraries and children look up themselves.
	for k, v := range map[string]string{"HOME": w.home, "USERPROFILE": w.home, "TMPDIR": w.tmp, "TMP": w.tmp, "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": filepath.Join(w.home, "xdg"), "SSH_AUTH_SOCK": "", "SSH_KNOWN_HOSTS": "", "NETRC": "", "MWP_GIT_TOKEN": "", "MWP_GIT_TOKEN_HOST": "127.0.0.1", "HTTPS_PROXY": "", "HTTP_PROXY": "", "NO_PROXY": "*"} {
		t.Setenv(k, v)
	}
	w.env = os.Environ()
	t.Cleanup(func() {
		left, err := os.ReadDir(w.tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the temporary directory: %v, %v", left, err)
		}
	})
	return w
}

// set adds a variable to the program's environment.
func (w *world) set(name, value string) {
	kept := w.env[:0:0]
	for _, e := range w.env {
		if !strings.HasPrefix(e, name+"=") {
			kept = append(kept, e)
		}
	}
	w.env = append(kept, name+"="+value)
}

// withoutGit takes the git program away.
func (w *world) withoutGit() *world {
	w.set("PATH", w.home)
	return w
}

func (w *world) write(name, text string, mode fs.FileMode) string {
	w.t.Helper()
	p := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, and this test serves repositories with it")
	}
}

// git runs git in a directory and returns what it printed.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	return w.gitInput("", dir, args...)
}

func (w *world) gitInput(input, dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid", "GIT_AUTHOR_DATE=2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2024-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// moduleRepo makes a bare repository with two commits below dir/served: v0.1.0 is
// an annotated tag of the first, light a plain one, nested a tag of a tag, both a
// tag and a branch; main and head are at the second.
func (w *world) moduleRepo(name string, init ...string) (bare, first, second string) {
	w.t.Helper()
	src := filepath.Join(w.dir, "src-"+name)
	w.git(w.dir, append(append([]string{"init", "-q", "-b", "main"}, init...), src)...)
	w.write("src-"+name+"/.mwp-module.md", "---\nname: m\n---\n", 0o644)
	w.write("src-"+name+"/rules/rule.md", "be kind\r\nand brief\n", 0o644)
	w.write("src-"+name+"/bin/run.sh", "#!/bin/sh\n", 0o755)
	w.git(src, "add", "-A")
	w.git(src, "-c", "core.autocrlf=false", "commit", "-qm", "one")
	first = w.git(src, "rev-parse", "HEAD")
	w.git(src, "tag", "-a", "v0.1.0", "-m", "one")
	w.git(src, "tag", "light")
	w.git(src, "tag", "-a", "nested", "-m", "tag of a tag", "v0.1.0")
	w.git(src, "tag", "both")
	w.git(src, "tag", "tree", "HEAD^{tree}")
	w.git(src, "branch", "both")
	w.write("src-"+name+"/second.md", "second\n", 0o644)
	w.git(src, "add", "-A")
	w.git(src, "commit", "-qm", "two")
	second = w.git(src, "rev-parse", "HEAD")
	bare = filepath.Join(w.dir, "served", name+".git")
	w.git(w.dir, "clone", "-q", "--mirror", src, bare)
	return bare, first, second
}

// into makes a new empty directory.
func (w *world) into() string {
	w.t.Helper()
	d, err := os.MkdirTemp(w.dir, "into-")
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// ask runs the program on one request and keeps its input open until it answers.
func (w *world) ask(r protocol.Request) protocol.Response {
	w.t.Helper()
	response, _ := w.askLoud(r)
	return response
}

func (w *world) askLoud(r protocol.Request) (protocol.Response, string) {
	w.t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	in, hold := io.Pipe()
	defer hold.Close()
	go func() { _, _ = hold.Write(text) }()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithCancelCause(w.t.Context())
	defer cancel(nil)
	j := &job{env: w.env, progress: newProgress(&errs, time.Now), roundTripper: w.roundTripper}
	if code := j.run(ctx, cancel, in, &out, &errs); code != 0 {
		w.t.Fatalf("exit status %d, want 0\n%s", code, errs.String())
	}
	var response protocol.Response
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&response); err != nil {
		w.t.Fatalf("the answer is no response: %v\n%s", err, out.String())
	}
	return response, errs.String()
}

// fetch asks for a reference of a repository.
func (w *world) fetch(url, ref string) (protocol.Response, string) {
	w.t.Helper()
	dir := w.into()
	return w.ask(protocol.Request{Op: protocol.Fetch, URL: url, Ref: ref, Into: dir, Insecure: true}), dir
}

// files lists what lies below a directory: mode, path, content.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		fmt.Fprintf(&b, "%v %s %q\n", info.Mode(), filepath.ToSlash(rel), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const firstFiles = `-rw-r--r-- .mwp-module.md "---\nname: m\n---\n"
-rwxr-xr-x bin/run.sh "#!/bin/sh\n"
-rw-r--r-- rules/rule.md "be kind\r\nand brief\n"
`

// wantError checks an answer's code and that its message names some words.
func wantError(t *testing.T, r protocol.Response, code string, words ...string) {
	t.Helper()
	if r.Error == nil || r.Error.Code != code {
		t.Fatalf("error %+v, want code %s", r.Error, code)
	}
	for _, word := range words {
		if !strings.Contains(r.Error.Message+"\n"+r.Error.Hint, word) {
			t.Errorf("message %q, hint %q: want %q in it", r.Error.Message, r.Error.Hint, word)
		}
	}
}

// server serves w.dir/served with git http-backend.
type server struct {
	*httptest.Server
	mu sync.Mutex
	// requests are method, path and Authorization of each request; guarded by mu.
	requests []string
}

// serve starts a server. old makes it speak the protocol of before version 2; wrap,
// when not nil, stands before it.
func (w *world) serve(old bool, wrap func(http.Handler) http.Handler, tls bool) *server {
	w.t.Helper()
	needGit(w.t)
	execPath := w.git(w.dir, "--exec-path")
	backend := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + filepath.Join(w.dir, "served"), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + filepath.Join(w.dir, "server-home"), "GIT_CONFIG_NOSYSTEM=1"}
		if !old {
			env = append(env, "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
		}
		r.Header.Del("Git-Protocol")
		(&cgi.Handler{Path: filepath.Join(execPath, "git-http-backend"), Env: env, Stderr: io.Discard}).ServeHTTP(rw, r)
	})
	s := &server{}
	var h http.Handler = backend
	if wrap != nil {
		h = wrap(backend)
	}
	counting := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		s.mu.Unlock()
		h.ServeHTTP(rw, r)
	})
	if tls {
		s.Server = httptest.NewTLSServer(counting)
	} else {
		s.Server = httptest.NewServer(counting)
	}
	w.t.Cleanup(s.Close)
	return s
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, "\n")
}

// bareRepo is a repository made of raw objects, for trees that no tool would write.
type bareRepo struct {
	t   *testing.T
	dir string
}

func (w *world) bareRepo(name string) *bareRepo {
	dir := filepath.Join(w.dir, "served", name+".git")
	for _, d := range []string{"objects/info", "objects/pack", "refs/tags", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o777); err != nil {
			w.t.Fatal(err)
		}
	}
	b := &bareRepo{w.t, dir}
	b.write("HEAD", "ref: refs/heads/main\n")
	b.write("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
	return b
}

func (b *bareRepo) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// url returns how the program reads it without a server.
func (b *bareRepo) url() string { return "file://" + filepath.ToSlash(b.dir) }

// put stores an object and returns its id.
func (b *bareRepo) put(kind, content string) string {
	b.t.Helper()
	raw := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(raw))
	id := hex.EncodeToString(sum[:])
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	if _, err := io.WriteString(zw, raw); err != nil {
		b.t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "objects", id[:2]), 0o777); err != nil {
		b.t.Fatal(err)
	}
	b.write("objects/"+id[:2]+"/"+id[2:], z.String())
	return id
}

// entry is one line of a raw directory.
func entry(mode, name, id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return mode + " " + name + "\x00" + string(raw)
}

func (b *bareRepo) tree(entries ...string) string { return b.put("tree", strings.Join(entries, "")) }

// tag commits a tree and points the tag v1 to it.
func (b *bareRepo) tag(tree string) (commit string) {
	commit = b.put("commit", "tree "+tree+"\nauthor a <a@example.invalid> 1700000000 +0000\ncommitter a <a@example.invalid> 1700000000 +0000\n\nx\n")
	b.write("refs/tags/v1", commit+"\n")
	b.write("refs/heads/main", commit+"\n")
	return commit
}
