package guard_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/guard"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.FixedZone("x", 3600))

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLogText(t *testing.T) {
	one := 1
	tests := []struct {
		name string
		log  guard.Log
		want string
	}{
		{"failed", guard.Log{Command: "cargo test --lib", Dir: "/w/svc", Outcome: guard.Outcome{
			Status: guard.Failed, Exit: &one, Started: start, Duration: 1500 * time.Millisecond, Output: []byte("a\x1b[31m\x00\xffb"),
		}}, "command: cargo test --lib\ndirectory: /w/svc\nstarted: 2026-01-02T02:04:05.678Z\nended: 2026-01-02T02:04:07.178Z\nstatus: failed\nexit: 1\n\na\x1b[31m\x00\xffb"},
		{"timeout", guard.Log{Command: "a\nb: c", Dir: "/w/\x1b", Outcome: guard.Outcome{
			Status: guard.Failed, Reason: guard.ReasonTimeout, Detail: "it ran longer than 2s and was ended",
		}}, "command: \"a\\nb: c\"\ndirectory: \"/w/\\x1b\"\nstatus: failed\nreason: timeout: it ran longer than 2s and was ended\n\n"},
		{"nothing", guard.Log{}, "command: \ndirectory: \nstatus: unverified\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state", "logs")
			if err := guard.WriteLog(dir, "k.log", test.log); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, read(t, filepath.Join(dir, "k.log"))); diff != "" {
				t.Error(diff)
			}
			if runtime.GOOS == "windows" {
				return
			}
			for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "k.log"): 0o600} {
				if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode(), want, err)
				}
			}
		})
	}
}

func TestLogNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "a", ".log", "../a.log", "a/b.log", `a\b.log`, ".a.log", "a b.log", "é.log", "a:b.log", "a\x00.log", strings.Repeat("a", 300) + ".log"} {
		if err := guard.WriteLog(dir, name, guard.Log{}); err == nil {
			t.Errorf("WriteLog(%q) succeeded", name)
		}
	}
	if names := list(t, dir); len(names) > 0 {
		t.Errorf("wrote %q", names)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Nothing is written through a link, and nothing is lost behind one.
func TestLogLinks(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "logs")
	other := filepath.Join(top, "other")
	if err := os.WriteFile(other, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"k.log", fmt.Sprintf("k.%d.log-tmp", os.Getpid())} {
		if err := os.Symlink(other, filepath.Join(dir, name)); err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
	}
	if err := guard.WriteLog(dir, "k.log", guard.Log{Command: "new"}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, other); got != "mine" {
		t.Errorf("wrote %q through a link", got)
	}
	if info, err := os.Lstat(filepath.Join(dir, "k.log")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the log is %v, %v", info.Mode(), err)
	}
	if info, _ := os.Stat(dir); runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory stays open to others: %v", info.Mode())
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := guard.WriteLog(link, "new.log", guard.Log{}); err == nil {
		t.Errorf("WriteLog to a linked directory succeeded: %q", list(t, dir))
	}
	if err := guard.WriteLog(other, "new.log", guard.Log{}); err == nil {
		t.Error("WriteLog to a file succeeded")
	}
}

// A log is replaced as a whole: whoever reads the old one keeps it.
func TestLogReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := guard.WriteLog(dir, "k.log", guard.Log{Command: "old"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "k.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := guard.WriteLog(dir, "k.log", guard.Log{Command: "new"}); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("NOT TESTED: %v", err)
		}
		t.Fatal(err)
	}
	b := make([]byte, len("command: old"))
	if _, err := f.Read(b); err != nil || string(b) != "command: old" {
		t.Errorf("the old log holds %q, %v", b, err)
	}
	if got := read(t, filepath.Join(dir, "k.log")); !strings.HasPrefix(got, "command: new\n") {
		t.Errorf("the log holds %q", got)
	}
}

func TestLogsTrimmed(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	make := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range guard.KeptLogs + 50 {
		make(fmt.Sprintf("%03d.log", i), time.Duration(i)*time.Minute)
	}
	make("of-nobody", 1000*time.Hour)
	make("dead.1.log-tmp", 2*time.Hour)
	make("alive.1.log-tmp", time.Minute)
	if err := os.Mkdir(filepath.Join(dir, "dir.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	// The one that is written counts as the newest, even by a clock that was set back.
	if err := guard.WriteLog(dir, "new.log", guard.Log{}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range guard.KeptLogs - 1 {
		want = append(want, fmt.Sprintf("%03d.log", i))
	}
	want = append(want, "alive.1.log-tmp", "dir.log", "new.log", "of-nobody")
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	make("999.log", -time.Hour)
	if err := guard.WriteLog(dir, "new.log", guard.Log{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("%03d.log", guard.KeptLogs-2))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one more log than there may be: %v", err)
	}
}
