package module

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// TestMisbehaviour: whatever mwp-git does, the answer is one sentence fit for a
// terminal and nothing is left behind.
func TestMisbehaviour(t *testing.T) {
	c := commit("m")
	answer := func(s string) remote {
		r := simple("m")
		r.Answer = s
		return r
	}
	behave := func(s string) remote {
		r := simple("m")
		r.Behave = s
		return r
	}
	tree := func(name, content string) remote {
		r := simple("m")
		r.Trees[c][name] = content
		return r
	}
	for name, d := range map[string]struct {
		remote  remote
		code    string
		message string
	}{
		"garbage":           {behave("garbage"), FetcherFailed, `found "fatal: \x1b[31mnot json"`},
		"nothing":           {behave("nothing"), FetcherFailed, `expected one JSON object on its standard output, found ""`},
		"two answers":       {behave("two"), FetcherFailed, "expected one JSON object"},
		"huge":              {behave("huge"), FetcherFailed, "the answer is longer than 4194304 bytes"},
		"exit":              {behave("exit"), FetcherFailed, `exit status 1; the last it said: \x1b[2Jfatal: https://***@host/x.git is gone`},
		"write and die":     {behave("write and die"), FetcherFailed, "exit status 3"},
		"not an object":     {answer(`[1]`), FetcherFailed, "expected one JSON object"},
		"empty object":      {answer(`{}`), FetcherFailed, `the commit ""`},
		"short commit":      {answer(`{"commit":"abc","kind":"tag"}`), FetcherFailed, `the commit "abc"`},
		"path for a commit": {answer(`{"commit":"../../../../../../../../../../../../etc","kind":"tag"}`), FetcherFailed, "the commit"},
		"unknown kind":      {answer(`{"commit":"` + c + `","kind":"tree"}`), FetcherFailed, `the kind "tree"`},
		"commit for a tag":  {answer(`{"commit":"` + c + `","kind":"commit"}`), FetcherFailed, "a commit for a name"},
		"branch, unasked":   {answer(`{"commit":"` + c + `","kind":"branch"}`), protocol.FloatingRef, "is a branch"},
		"unknown code":      {answer(`{"error":{"code":"\u001b[2J","message":"a\u001b[2Jb https://u:p@h/"}}`), FetcherFailed, `a\x1b[2Jb https://***@h/`},
		"known code":        {answer(`{"error":{"code":"denied","message":"who?","hint":"log in"}}`), protocol.Denied, "who?"},
		"long message":      {answer(`{"error":{"code":"io","message":"` + strings.Repeat("x", 1<<20) + `"}}`), protocol.IO, strings.Repeat("x", maxShown) + "…"},
		"link":              {tree("up->", "../../.."), protocol.Unsafe, `\"up\" is not a regular file`},
		"pipe":              {tree("p|", ""), protocol.Unsafe, `\"p\" is not a regular file`},
		"name":              {tree("a/b:c", ""), protocol.Unsafe, `\"a/b:c\" has one of the characters`},
		"escape in a name":  {tree("a/b\x1b[2J", ""), protocol.Unsafe, `has a control or invisible character`},
		"git directory":     {tree(".git/hooks/post-checkout", ""), protocol.Unsafe, "look-alike"},
		"deep":              {tree(strings.Repeat("d/", 40)+"x", ""), protocol.Unsafe, "more than 32 directories"},
		"large":             {tree("large+", strconv.Itoa(pin.MaxBytes)), protocol.TooLarge, "more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (d.code == protocol.Unsafe) {
				t.Skip("NOT TESTED: such files cannot be made here")
			}
			w := newWorld(t)
			url := w.serve("m", d.remote)
			err := w.fetch(url + "@v1.0.0").Err
			message := strings.ReplaceAll(d.message, `\"`, `"`)
			if code(err) != d.code || !strings.Contains(err.Error(), message) {
				t.Errorf("Fetch = %s: %v, want %s: %s", code(err), err, d.code, d.message)
			}
			if err != nil && show(err.Error()) != err.Error() && len(err.Error()) < 500 {
				t.Errorf("not fit for a terminal: %q", err)
			}
			if left := w.snapshot(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			// What went wrong is not remembered.
			w.serve("m", simple("m"))
			w.must(url + "@v1.0.0")
		})
	}
}

func TestTooManyFiles(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	for i := range pin.MaxFiles {
		r.Trees[commit("m")]["many/"+strconv.Itoa(i)] = ""
	}
	if err := w.fetch(w.serve("m", r) + "@v1.0.0").Err; code(err) != protocol.TooLarge || !strings.Contains(err.Error(), "more than 5000 files") {
		t.Errorf("Fetch = %v", err)
	}
}

// TestAnswerAgainstRecord: an answer must fit what is pinned.
func TestAnswerAgainstRecord(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	url := w.serve("m", r)
	w.must(url + "@v1.0.0")
	os.RemoveAll(w.path("modules"))
	r.Answer = `{"commit":"` + commit("other") + `","kind":"tag"}`
	w.serve("m", r)
	before := w.snapshot()
	if err := w.fetch(url + "@v1.0.0").Err; code(err) != FetcherFailed || !strings.Contains(err.Error(), "which is not the pinned "+commit("m")) {
		t.Errorf("another commit: %v", err)
	}
	if err := w.fetch(url + "@" + commit("m")).Err; code(err) != FetcherFailed || !strings.Contains(err.Error(), "for another commit") {
		t.Errorf("another commit for a commit: %v", err)
	}
	r.Answer, r.Behave = "", "half and answer"
	w.serve("m", r)
	if err := w.fetch(url + "@v1.0.0").Err; code(err) != ModuleModified {
		t.Errorf("half of the files: %v", err)
	}
	if diff := cmp.Diff(before["modules.lock"], w.snapshot()["modules.lock"]); diff != "" {
		t.Error(diff)
	}
}

// TestHang: a repository that does not answer is given up, and so is one whose
// caller has gone.
func TestHang(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "hang"
	url := w.serve("m", r)
	w.store.Timeout = 50 * time.Millisecond
	err := w.fetch(url + "@v1.0.0").Err
	if code(err) != protocol.Unreachable || !strings.Contains(err.Error(), url+": no answer within 50ms") {
		t.Errorf("Fetch = %v", err)
	}
	w.store.Timeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	w.store.Progress = func(string) { cancel() }
	if err := w.store.Fetch(ctx, []Want{{Ref: ref(t, url+"@v1.0.0")}})[0].Err; code(err) != Cancelled {
		t.Errorf("Fetch = %v", err)
	}
	if left := w.snapshot(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestGrandchild: a process that mwp-git leaves behind with its output neither
// holds up the fetch nor outlives it, unless it left the group.
func TestGrandchild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: needs process groups")
	}
	for _, behave := range []string{"grandchild", "escaped grandchild"} {
		w := newWorld(t)
		r := simple("m")
		r.Behave = behave
		w.must(w.serve("m", r) + "@v1.0.0")
		held := filepath.Join(w.dir, "m", "held")
		if behave != "grandchild" {
			text, err := os.ReadFile(filepath.Join(w.dir, "m", "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok, err := cas.TryLock(held); ok || err != nil {
				t.Errorf("%s: is gone, and the test tests nothing: %v", behave, err)
			}
			p, err := os.FindProcess(pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		unlock, err := cas.Lock(ctx, held, nil)
		cancel()
		if err != nil {
			t.Errorf("%s: still there: %v", behave, err)
			continue
		}
		unlock()
	}
}

// TestLoud: progress is bounded, in lines and in their length.
func TestLoud(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "loud"
	n := 0
	w.store.Progress = func(line string) {
		n++
		if len(line) > maxShown+len("…") {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	w.must(w.serve("m", r) + "@v1.0.0")
	if n != maxLines {
		t.Errorf("%d lines, want %d", n, maxLines)
	}
}

// TestEnvironment: case 23. The variables that a git hook receives do not reach
// mwp-git, others do.
func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "environment"
	w.store.Env = append(w.store.Env, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=x", "SEEN=yes")
	var said []string
	w.store.Progress = func(line string) { said = append(said, line) }
	url := w.serve("m", r)
	w.must(url + "@v1.0.0")
	if diff := cmp.Diff([]string{"fetching " + url, "SEEN=yes"}, said); diff != "" {
		t.Error(diff)
	}
}

// TestNoFetcher: without mwp-git nothing is made, and the error says where it was
// looked for.
func TestNoFetcher(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, path := range []string{"", filepath.Join(t.TempDir(), "mwp-git")} {
		w := newWorld(t)
		w.store.Fetcher = path
		where := path
		if path == "" {
			own, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			where = filepath.Join(filepath.Dir(own), "mwp-git")
		}
		err := w.fetch(w.serve("m", simple("m")) + "@v1.0.0").Err
		if code(err) != FetcherMissing || !strings.Contains(err.Error(), where) || !strings.Contains(err.(*Error).Hint, "go install") {
			t.Errorf("Fetch = %v", err)
		}
		if left := w.snapshot(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestFetcherOnPath: mwp-git is found on PATH when it is not beside the program.
func TestFetcherOnPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: a link takes a privilege")
	}
	own, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(own, filepath.Join(dir, "mwp-git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	w := newWorld(t)
	w.store.Fetcher = ""
	w.must(w.serve("m", simple("m")) + "@v1.0.0")
}

func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü":                    "plain ü",
		"\x1b[31mred\x07":            `\x1b[31mred\a`,
		"a\u202eb\u200b":             `a\u202eb\u200b`,
		"bad \xff":                   "bad \ufffd",
		"https://u:p@h/x\tssh://g@h": "https://***@h/x ssh://g@h",
		strings.Repeat("é", 600):     strings.Repeat("é", maxShown) + "…",
	} {
		if got := show(in); got != want {
			t.Errorf("show(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"commit":"x","notes":["\u001b"],"tags":[{"name":"v1","commit":"c"}]}`))
	f.Add([]byte(`{"error":{"code":"io","message":"\u0000"}}`))
	f.Add([]byte(`{} {}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseAnswer("mwp-git", b)
		if err != nil {
			if e, ok := err.(*Error); !ok || knownCode(e.Code) != e.Code && e.Code != FetcherFailed {
				t.Errorf("parseAnswer(%q) fails with %#v", b, err)
			}
		}
		for _, n := range r.Notes {
			if strings.ContainsAny(n, "\x1b\n\r\x00") {
				t.Errorf("parseAnswer(%q) has the note %q", b, n)
			}
		}
	})
}
