package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
)

// workspace returns the state directory of a workspace, which holds nothing yet.
func workspace(t testing.TB) Dir {
	t.Helper()
	d := Dir{Path: filepath.Join(t.TempDir(), ".mwp"), Ignore: "cache/\nsessions/\n*.tmp\n"}
	if err := os.Mkdir(d.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	return d
}

// besideFile returns the state directory of a workspace whose anchor is a file, which has
// none yet.
func besideFile(t testing.TB) Dir {
	t.Helper()
	d := Dir{Path: filepath.Join(t.TempDir(), ".mwp.d"), Ignore: "cache/\nsessions/\n*.tmp\n"}
	put(t, filepath.Join(filepath.Dir(d.Path), ".mwp"), "[workspace]\n")
	return d
}

// put makes a file with everything around it.
func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// namesIn returns what is in a directory.
func namesIn(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// replace replaces a file directly in the state directory.
func replace(d Dir, name, content string) error {
	return d.Locked(context.Background(), "test", func(f *Files) error {
		if _, err := f.Read(name, 100); err != nil {
			return err
		}
		return f.Replace(name, []byte(content), Durable)
	})
}

// failing returns the directory in which one step fails.
func failing(d Dir, at string, err error) Dir {
	d.step = func(op, name string) error {
		if op+" "+name == at {
			return err
		}
		return nil
	}
	return d
}

// TestReplaceFails: an error at any change leaves the old file and no half of the new
// one, and says where it happened.
func TestReplaceFails(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		at     string
		reason error
		want   string
	}{
		{"write f.tmp", stop, "stop"},
		{"rename f", stop, "stop"},
		{"rename f", syscall.ENOSPC, "no space left on device"},
		{"write f.tmp", syscall.EROFS, "read-only file system"},
	} {
		d := workspace(t)
		if err := replace(d, "f", "old"); err != nil {
			t.Fatal(err)
		}
		err := replace(failing(d, c.at, c.reason), "f", "new")
		var f *FileError
		if !errors.Is(err, c.reason) || !errors.As(err, &f) || f.Message != "write "+filepath.Join(d.Path, "f")+": "+c.want {
			t.Errorf("%s: %v", c.at, err)
		}
		if unwritable := c.reason != stop; errors.Is(err, ErrUnwritable) != unwritable || (f.Hint != "") != unwritable {
			t.Errorf("%s: %v: unwritable: %v, want %v; hint %q", c.at, c.reason, !unwritable, unwritable, f.Hint)
		}
		if got := namesIn(t, d.Path); got != ".gitignore cache f" || content(t, filepath.Join(d.Path, "f")) != "old" {
			t.Errorf("%s: the directory holds %s, or the file changed", c.at, got)
		}
	}
}

// TestMode: a new file keeps what the old one was allowed.
func TestMode(t *testing.T) {
	d := workspace(t)
	path := filepath.Join(d.Path, "f")
	put(t, path, "old")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := replace(d, "f", "new"); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Mode() != before.Mode() || content(t, path) != "new" {
		t.Errorf("mode %v, want %v; %v", after.Mode(), before.Mode(), err)
	}
}

// TestAppend: a failure leaves the file as it was, and so does another file in its place.
func TestAppend(t *testing.T) {
	d := workspace(t)
	path := filepath.Join(d.Path, "f")
	put(t, path, "one\n")
	add := func(d Dir) error {
		return d.Locked(context.Background(), "test", func(f *Files) error { return f.Append("f", []byte("two\n"), 4) })
	}
	stop := errors.New("stop")
	if err := add(failing(d, "append f", stop)); !errors.Is(err, stop) || content(t, path) != "one\n" {
		t.Errorf("Append = %v, the file is %q", err, content(t, path))
	}
	if err := add(d); err != nil || content(t, path) != "one\ntwo\n" {
		t.Errorf("Append = %v, the file is %q", err, content(t, path))
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if err := add(d); err == nil || !strings.HasPrefix(err.Error(), "write "+path+": ") {
		t.Errorf("Append to no file = %v", err)
	}
	if err := os.Symlink("f2", path); err != nil {
		t.Skip(err)
	}
	if err := add(d); !errors.Is(err, cas.ErrLink) || content(t, path) != "one\ntwo\n" {
		t.Errorf("Append to a link = %v, the file is %q", err, content(t, path))
	}
}

// TestBusy: a lock that another process holds is waited for, and then named (D-103).
func TestBusy(t *testing.T) {
	d := workspace(t)
	update := func(d Dir) error {
		return d.Update(context.Background(), "sessions", "a.json", 100, func([]byte) ([]byte, error) { return []byte("x"), nil })
	}
	if err := update(d); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(d.Path, "cache", "locks", "sessions")
	unlock, err := cas.Lock(context.Background(), lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	waits := d
	waits.patience = time.Millisecond
	removes := func(d Dir) error { _, err := d.Remove(context.Background(), "sessions", "a.json"); return err }
	for _, try := range []func(Dir) error{update, removes} {
		err := try(waits)
		var f *FileError
		if !errors.Is(err, ErrBusy) || !errors.As(err, &f) || f.Message != "lock "+lock+": another process has held it for 1ms" || f.Hint == "" {
			t.Errorf("with the lock held: %v", err)
		}
	}
	if b, err := d.Read("sessions", "a.json", 100); string(b) != "x" || err != nil {
		t.Errorf("Read waits for the lock: %q, %v", b, err)
	}
	unlock()
	if err := removes(d); err != nil {
		t.Error(err)
	}
	if lockPatience != 5*time.Second {
		t.Errorf("the patience is %v", lockPatience)
	}
}

// TestGivenUp: a context that is done ends the waiting, and do is not called.
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := workspace(t).Update(ctx, "sessions", "a.json", 100, func([]byte) ([]byte, error) { t.Error("called"); return nil, nil })
	var f *FileError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &f) || !strings.HasSuffix(f.Message, ": given up") {
		t.Errorf("Update = %v", err)
	}
}

// gone removes a directory with all that is in it.
func gone(t testing.TB, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// TestNoAnchor: without its anchor a workspace is none, and nothing that is kept for it
// brings it back.
func TestNoAnchor(t *testing.T) {
	ctx := context.Background()
	none := func(*Files) error { t.Error("called"); return nil }
	calls := map[string]func(Dir) error{
		"Update": func(d Dir) error {
			return d.Update(ctx, "sessions", "a.json", 10, func([]byte) ([]byte, error) { t.Error("called"); return []byte("x"), nil })
		},
		"Locked": func(d Dir) error { return d.Locked(ctx, "test", none) },
		"Locks":  func(d Dir) error { return second(d.Locks()) },
	}
	for _, c := range []struct {
		name string
		dir  string
		make func(t *testing.T, d Dir, anchor string)
		kind string
		left string
	}{
		{"a directory is gone", ".mwp", func(*testing.T, Dir, string) {}, "a directory", ""},
		{"a file is gone", ".mwp.d", func(*testing.T, Dir, string) {}, "a file", ""},
		{"a file is gone and its state is not", ".mwp.d", func(t *testing.T, d Dir, _ string) { put(t, filepath.Join(d.Path, "f"), "mine") }, "a file", ".mwp.d"},
		{"the project is gone", ".mwp", func(t *testing.T, d Dir, _ string) { gone(t, filepath.Dir(d.Path)) }, "a directory", ""},
		{"the project of a file is gone", ".mwp.d", func(t *testing.T, d Dir, _ string) { gone(t, filepath.Dir(d.Path)) }, "a file", ""},
		{"a directory in the place of the file", ".mwp.d", func(t *testing.T, _ Dir, anchor string) { put(t, filepath.Join(anchor, "f"), "") }, "a file", ".mwp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			around := filepath.Join(t.TempDir(), "project")
			d := Dir{Path: filepath.Join(around, c.dir), Ignore: "cache/\n"}
			anchor := filepath.Join(around, ".mwp")
			if err := os.Mkdir(around, 0o777); err != nil {
				t.Fatal(err)
			}
			c.make(t, d, anchor)
			for name, call := range calls {
				err := call(d)
				var f *FileError
				if want := anchor + ": expected " + c.kind + ", the anchor of the workspace, found none"; !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &f) || f.Message != want {
					t.Errorf("%s = %v, want %s", name, err, want)
				} else if want := "run `mwp init` in the project's root if it is to be a workspace again"; f.Hint != want {
					t.Errorf("%s has the hint %q", name, f.Hint)
				}
			}
			if was, err := d.Remove(ctx, "sessions", "a.json"); was || err != nil {
				t.Errorf("Remove = %v, %v", was, err)
			}
			if b, err := d.Read("sessions", "a.json", 10); b != nil || err != nil {
				t.Errorf("Read = %q, %v", b, err)
			}
			if list, err := d.List("sessions", 10); list != nil || err != nil {
				t.Errorf("List = %v, %v", list, err)
			}
			if _, err := os.Lstat(around); errors.Is(err, fs.ErrNotExist) {
				return
			}
			if got := namesIn(t, around); got != c.left {
				t.Errorf("the project holds %q, want %q", got, c.left)
			}
			if c.left != "" {
				if got := namesIn(t, filepath.Join(around, c.left)); got != "f" {
					t.Errorf("%s holds %s, want f", c.left, got)
				}
			}
		})
	}
}

// TestRemovedWhileOpen: a workspace that goes between two calls stays gone, and one that
// comes back is written again.
func TestRemovedWhileOpen(t *testing.T) {
	for name, d := range map[string]Dir{".mwp": workspace(t), ".mwp.d": besideFile(t)} {
		update(t, d, "a.json", "one")
		around := filepath.Dir(d.Path)
		gone(t, around)
		if err := d.Update(context.Background(), "sessions", "a.json", 10, write("two")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Update = %v", name, err)
		}
		if _, err := os.Lstat(around); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the project is back: %v", name, err)
		}
		if name == ".mwp" {
			put(t, filepath.Join(d.Path, "config.toml"), "")
		} else {
			put(t, filepath.Join(around, ".mwp"), "")
		}
		update(t, d, "a.json", "three")
		if got := session(t, d, "a.json"); string(got) != "three" {
			t.Errorf("%s: after it came back: %q", name, got)
		}
	}
}

// TestBesideFile: the state directory of an anchor that is a file is made beside it, with
// everything that keeps it out of version control.
func TestBesideFile(t *testing.T) {
	d := besideFile(t)
	update(t, d, "a.json", "one")
	for dir, want := range map[string]string{filepath.Dir(d.Path): ".mwp .mwp.d", d.Path: ".gitignore cache sessions", filepath.Join(d.Path, "sessions"): ".gitignore a.json"} {
		if got := namesIn(t, dir); got != want {
			t.Errorf("%s holds %s, want %s", dir, got, want)
		}
	}
	if got := content(t, filepath.Join(d.Path, "sessions", ".gitignore")); got != "*\n" {
		t.Errorf("the sessions' ignore file is %q", got)
	}
}

// TestIgnore: the first write brings an ignore file along, and leaves what is there.
func TestIgnore(t *testing.T) {
	for old, want := range map[string]string{"": "cache/\n", "mine\n": "mine\n"} {
		d := besideFile(t)
		d.Ignore = "cache/\n"
		path := filepath.Join(d.Path, ".gitignore")
		if old != "" {
			put(t, path, old)
		}
		if _, err := d.Locks(); err != nil {
			t.Error(err)
		}
		if got := content(t, path); got != want {
			t.Errorf("the ignore file is %q, want %q", got, want)
		}
	}
	d := besideFile(t)
	d.Ignore = ""
	if err := replace(d, "f", ""); err != nil {
		t.Fatal(err)
	}
	if got, want := namesIn(t, d.Path), "cache f"; got != want {
		t.Errorf("the directory holds %s, want %s", got, want)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b'c\"": "a b'c\"", "é𝒳": "é𝒳", "\n\t\x00": `\n\t\x00`, "\u202e": `\u202e`, "\xff\ufffd": `\xff` + "\ufffd", "\u00a0": `\u00a0`,
		strings.Repeat("é", 500): strings.Repeat("é", 500), strings.Repeat("é", 501): strings.Repeat("é", 500) + "…",
	} {
		if got := Shown(in); got != want {
			t.Errorf("Shown(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestReadReplaced: whoever reads without the lock, while others replace the file, gets
// one of its contents.
func TestReadReplaced(t *testing.T) {
	d := workspace(t)
	if err := replace(d, "f", "0"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 300 && err == nil; i++ {
			err = replace(d, "f", strings.Repeat("0", i%7+1))
		}
		done <- err
	}()
	for reads := 0; ; reads++ {
		b, err := f.Read("f", 100)
		if err != nil || strings.Trim(string(b), "0") != "" || len(b) == 0 {
			t.Fatalf("read %d: %q, %v", reads, b, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
