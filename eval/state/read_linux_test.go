package state

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
)

// asNobody does something without root's rights to every file. The system keeps them
// per thread.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	do()
}

// reachable lets everybody come to a workspace's directory: the one around those of a
// test is its owner's alone.
func reachable(t *testing.T, d Dir) Dir {
	t.Helper()
	if err := os.Chmod(filepath.Dir(filepath.Dir(d.Path)), 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// readThroughFiles is how other systems read.
func readThroughFiles(d Dir, sub, name string, limit int64) ([]byte, error) {
	f, err := d.openSub(sub)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	return f.readAtMost(name, limit)
}

// TestReadBothWays: the short way and the one of other systems say the same, and neither
// waits for a pipe.
func TestReadBothWays(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, d Dir, path string)
		reason error
	}{
		{"nothing", func(*testing.T, Dir, string) {}, nil},
		{"no anchor", func(t *testing.T, d Dir, _ string) { gone(t, d.Path) }, nil},
		{"no workspace", func(t *testing.T, d Dir, _ string) { gone(t, filepath.Dir(d.Path)) }, nil},
		{"no subdirectory", func(t *testing.T, d Dir, _ string) { put(t, filepath.Join(d.Path, "x"), "") }, nil},
		{"no file", func(t *testing.T, _ Dir, path string) { put(t, path+"2", "") }, nil},
		{"a file", func(t *testing.T, _ Dir, path string) { put(t, path, "12345678") }, nil},
		{"an empty file", func(t *testing.T, _ Dir, path string) { put(t, path, "") }, nil},
		{"a long file", func(t *testing.T, _ Dir, path string) { put(t, path, "123456789") }, ErrTooLarge},
		{"a directory", func(t *testing.T, _ Dir, path string) { put(t, filepath.Join(path, "x"), "") }, cas.ErrLink},
		{"a link", func(t *testing.T, _ Dir, path string) {
			put(t, path+"2", "x")
			link(t, "a.json2", path)
		}, cas.ErrLink},
		{"a link to nothing", func(t *testing.T, _ Dir, path string) {
			put(t, path+"2", "x")
			link(t, "a.json3", path)
		}, cas.ErrLink},
		{"a pipe", func(t *testing.T, _ Dir, path string) {
			put(t, path+"2", "x")
			if err := errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
				t.Fatal(err)
			}
		}, cas.ErrLink},
		{"a socket", func(t *testing.T, _ Dir, path string) {
			put(t, path+"2", "x")
			// The whole path is longer than a socket's may be.
			t.Chdir(filepath.Dir(path))
			l, err := net.Listen("unix", "a.json")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, cas.ErrLink},
		{"a file as subdirectory", func(t *testing.T, d Dir, path string) { put(t, filepath.Dir(path), "x") }, cas.ErrLink},
		{"a link as subdirectory", func(t *testing.T, d Dir, path string) {
			put(t, filepath.Join(d.Path, "other", "a.json"), "x")
			link(t, "other", filepath.Dir(path))
		}, cas.ErrLink},
		{"a file as state directory", func(t *testing.T, d Dir, _ string) { gone(t, d.Path); put(t, d.Path, "x") }, cas.ErrLink},
		{"a link as state directory", func(t *testing.T, d Dir, path string) {
			gone(t, d.Path)
			put(t, filepath.Join(d.Path+"2", "sessions", "a.json"), "x")
			link(t, ".mwp2", d.Path)
		}, cas.ErrLink},
		{"an unreadable file", func(t *testing.T, _ Dir, path string) {
			put(t, path, "x")
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
		}, os.ErrPermission},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := reachable(t, workspace(t))
			c.make(t, d, filepath.Join(d.Path, "sessions", "a.json"))
			asNobody(t, func() {
				got, err := d.read("sessions", "a.json", 8)
				want, wantErr := readThroughFiles(d, "sessions", "a.json", 8)
				if string(got) != string(want) || (got == nil) != (want == nil) || !errors.Is(err, c.reason) {
					t.Errorf("%q, %v; want %q, %v", got, err, want, c.reason)
				}
				if err != wantErr && err.Error() != wantErr.Error() {
					t.Errorf("%v\nother systems: %v", err, wantErr)
				}
			})
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnly: where nothing can be written, the error says so and how it comes, and
// reading goes on.
func TestReadOnly(t *testing.T) {
	d := reachable(t, workspace(t))
	update(t, d, "a.json", "old")
	fresh := reachable(t, besideFile(t))
	for _, dir := range []string{d.Path, filepath.Join(d.Path, "sessions"), filepath.Dir(fresh.Path)} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o755) })
	}
	if err := os.Chmod(filepath.Join(d.Path, "cache", "locks", "sessions"), 0o666); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		ctx := context.Background()
		for name, err := range map[string]error{
			"Update":                d.Update(ctx, "sessions", "a.json", 10, write("new")),
			"Update of a new file":  d.Update(ctx, "sessions", "b.json", 10, write("new")),
			"Update of a new place": d.Update(ctx, "other", "b.json", 10, write("new")),
			"Remove":                second(d.Remove(ctx, "sessions", "a.json")),
			"Update of nothing":     fresh.Update(ctx, "sessions", "a.json", 10, write("new")),
		} {
			var f *FileError
			if !errors.Is(err, ErrUnwritable) || !errors.As(err, &f) || !strings.HasSuffix(f.Message, ": permission denied") ||
				!strings.HasPrefix(f.Hint, "the directory has to be readable and writable to keep ") {
				t.Errorf("%s = %v", name, err)
			}
		}
		if b, err := d.Read("sessions", "a.json", 10); string(b) != "old" || err != nil {
			t.Errorf("Read = %q, %v", b, err)
		}
		if list, err := d.List("sessions", 10); len(list) != 1 || err != nil {
			t.Errorf("List = %v, %v", list, err)
		}
		if was, err := fresh.Remove(ctx, "sessions", "a.json"); was || err != nil {
			t.Errorf("Remove of nothing = %v, %v", was, err)
		}
	})
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore a.json" {
		t.Errorf("the directory holds %s", got)
	}
}
