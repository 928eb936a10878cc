package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/model-workspace-protocol/mwp/cas"
)

// write returns what Update calls to give a file a content.
func write(content string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(content), nil }
}

// update gives a session's file a content.
func update(t testing.TB, d Dir, name, content string) {
	t.Helper()
	if err := d.Update(context.Background(), "sessions", name, 1000, write(content)); err != nil {
		t.Fatal(err)
	}
}

// session returns the content of a session's file as Read returns it.
func session(t testing.TB, d Dir, name string) []byte {
	t.Helper()
	b, err := d.Read("sessions", name, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUpdate(t *testing.T) {
	d := workspace(t)
	ctx := context.Background()
	if b := session(t, d, "a.json"); b != nil {
		t.Errorf("Read of no directory = %q", b)
	}
	if list, err := d.List("sessions", 10); list != nil || err != nil {
		t.Errorf("List of no directory = %v, %v", list, err)
	}
	if was, err := d.Remove(ctx, "sessions", "a.json"); was || err != nil {
		t.Errorf("Remove from no directory = %v, %v", was, err)
	}
	if got := namesIn(t, d.Path); got != "" {
		t.Errorf("reading and removing made %s", got)
	}
	update(t, d, "a.json", "one")
	if got := namesIn(t, d.Path); got != ".gitignore cache sessions" {
		t.Errorf("the directory holds %s", got)
	}
	if got := session(t, d, "a.json"); string(got) != "one" {
		t.Errorf("Read = %q, want one", got)
	}
	if b := session(t, d, "b.json"); b != nil {
		t.Errorf("Read of no file = %q", b)
	}
	err := d.Update(ctx, "sessions", "a.json", 1000, func(old []byte) ([]byte, error) { return append(old, " two"...), nil })
	if got := session(t, d, "a.json"); string(got) != "one two" || err != nil {
		t.Errorf("after an update: %q, %v", got, err)
	}
	// A file without content is one all the same.
	update(t, d, "a.json", "")
	if b := session(t, d, "a.json"); b == nil || len(b) > 0 {
		t.Errorf("Read of an empty file = %#v", b)
	}
	err = d.Update(ctx, "sessions", "a.json", 1000, func(old []byte) ([]byte, error) {
		if old == nil {
			t.Error("an empty file is none")
		}
		return nil, nil
	})
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore" || err != nil {
		t.Errorf("after a removal: %s, %v", got, err)
	}
	err = d.Update(ctx, "sessions", "a.json", 1000, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("the removed file holds %q", old)
		}
		return nil, nil
	})
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore" || err != nil {
		t.Errorf("after removing nothing: %s, %v", got, err)
	}
	if was, err := d.Remove(ctx, "sessions", "a.json"); was || err != nil {
		t.Errorf("Remove of no file = %v, %v", was, err)
	}
	update(t, d, "a.json", "three")
	if was, err := d.Remove(ctx, "sessions", "a.json"); !was || err != nil {
		t.Errorf("Remove = %v, %v", was, err)
	}
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore" {
		t.Errorf("after Remove: %s", got)
	}
}

// TestUpdateRefused: everything stays when do says so, and its error is returned as it is.
func TestUpdateRefused(t *testing.T) {
	d := workspace(t)
	update(t, d, "a.json", "one")
	for name, old := range map[string]string{"a.json": "one", "b.json": ""} {
		no := errors.New("no")
		err := d.Update(context.Background(), "sessions", name, 1000, func(b []byte) ([]byte, error) {
			if string(b) != old {
				t.Errorf("%s holds %q, want %q", name, b, old)
			}
			return []byte("two"), no
		})
		if err != no {
			t.Errorf("Update = %v", err)
		}
	}
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore a.json" || string(session(t, d, "a.json")) != "one" {
		t.Errorf("the directory holds %s, or the file changed", got)
	}
}

// TestLimit: a file that is too long is an error, stays, and can be removed; none is
// written.
func TestLimit(t *testing.T) {
	d := workspace(t)
	ctx := context.Background()
	path := filepath.Join(d.Path, "sessions", "a.json")
	update(t, d, "a.json", "12345")
	if b, err := d.Read("sessions", "a.json", 5); string(b) != "12345" || err != nil {
		t.Errorf("Read of as many bytes as allowed = %q, %v", b, err)
	}
	_, read := d.Read("sessions", "a.json", 4)
	old := d.Update(ctx, "sessions", "a.json", 4, func([]byte) ([]byte, error) { t.Error("called"); return nil, nil })
	update := d.Update(ctx, "sessions", "a.json", 5, write("123456"))
	for err, want := range map[error]string{
		read:   path + ": expected at most 4 bytes, found more",
		old:    path + ": expected at most 4 bytes, found more",
		update: path + ": expected at most 5 bytes, found more",
	} {
		var f *FileError
		if !errors.Is(err, ErrTooLarge) || !errors.As(err, &f) || f.Message != want || f.Hint == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := namesIn(t, filepath.Dir(path)); got != ".gitignore a.json" || content(t, path) != "12345" {
		t.Errorf("the directory holds %s, or the file changed", got)
	}
	if was, err := d.Remove(ctx, "sessions", "a.json"); !was || err != nil {
		t.Errorf("Remove = %v, %v", was, err)
	}
}

var badNames = []string{
	"", ".", "..", "/", "a/b", "../a.json", "a/", "/a", `a\b`, `..\a`, "a\x00b", "a:b", "a.json:b", "con", "NUL.json", "Com1.x", "lpt9", "a.", "a ", "a\n",
	"\xff", "a\u202eb", "x.tmp", "x.TMP", newName, ".gitignore", ".GitIgnore", strings.Repeat("a", 181),
}

// TestNames: what does not mean one file in the directory is refused before anything is
// made or read.
func TestNames(t *testing.T) {
	d := workspace(t)
	ctx := context.Background()
	for _, name := range badNames {
		_, read := d.Read("sessions", name, 10)
		_, remove := d.Remove(ctx, "sessions", name)
		update := d.Update(ctx, "sessions", name, 10, func([]byte) ([]byte, error) { t.Errorf("called for %q", name); return nil, nil })
		for call, err := range map[string]error{"Read": read, "Remove": remove, "Update": update} {
			var f *FileError
			if !errors.Is(err, ErrName) || !errors.As(err, &f) || !strings.HasPrefix(f.Message, Shown(name)+": expected the name of a file, found ") {
				t.Errorf("%s(%q) = %v", call, name, err)
			}
		}
		for call, do := range map[string]func(){
			"Read":   func() { d.Read(name, "a.json", 10) },
			"Remove": func() { d.Remove(ctx, name, "a.json") },
			"Update": func() { d.Update(ctx, name, "a.json", 10, write("")) },
			"List":   func() { d.List(name, 10) },
		} {
			func() {
				defer func() {
					if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "state.Dir."+call+": ") {
						t.Errorf("%s in %q panicked with %s", call, name, said)
					}
				}()
				do()
			}()
		}
	}
	for name, want := range map[string]string{"a/b": "a path", "..": "a directory", "X.Tmp": "a name that ends in .tmp", ".gitignore": "the file that keeps the others out of version control", "nul": "a name that is a device on Windows"} {
		if _, err := d.Read("sessions", name, 10); err.Error() != name+": expected the name of a file, found "+want {
			t.Errorf("Read(%q) = %v, want that it is %s", name, err, want)
		}
	}
	if got := namesIn(t, d.Path); got != "" {
		t.Errorf("made %s", got)
	}
	for _, name := range []string{"a", "a.json", "0-b_c.D", ".json", "x.tmp.json", "com.json", "täg", strings.Repeat("a", 180)} {
		update(t, d, name, name)
		if got := session(t, d, name); string(got) != name {
			t.Errorf("Read(%q) = %q", name, got)
		}
	}
}

// FuzzName: a name that is taken stays in its directory.
func FuzzName(f *testing.F) {
	for _, name := range append(badNames, "a.json", "täg") {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if plain(name) != nil {
			return
		}
		if filepath.Base(name) != name || filepath.Dir(filepath.Join("d", name)) != "d" || !filepath.IsLocal(name) || strings.ContainsAny(name, "/\\\x00:") {
			t.Errorf("%q is taken", name)
		}
	})
}

func TestList(t *testing.T) {
	d := workspace(t)
	for _, name := range []string{"b.json", "a.json", "B.json2", "c"} {
		update(t, d, name, name)
	}
	sessions := filepath.Join(d.Path, "sessions")
	then := time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(sessions, "b.json"), then, then); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(sessions, newName), "half")
	put(t, filepath.Join(sessions, "dir", "file"), "")
	if err := os.Symlink("a.json", filepath.Join(sessions, "link.json")); err != nil {
		t.Log(err)
	}
	want := []Entry{{Name: "B.json2", Size: 7}, {Name: "a.json", Size: 6}, {Name: "b.json", Size: 6}, {Name: "c", Size: 1}}
	list, err := d.List("sessions", 7)
	if diff := cmp.Diff(want, list, cmpopts.IgnoreFields(Entry{}, "Modified")); diff != "" || err != nil {
		t.Fatalf("List: %v\n%s", err, diff)
	}
	if !list[2].Modified.Equal(then) || list[0].Modified.IsZero() {
		t.Errorf("List = %v", list)
	}
	list, err = d.List("sessions", 3)
	var f *FileError
	if !errors.Is(err, ErrTooLarge) || !errors.As(err, &f) || f.Message != sessions+": expected at most 3 files, found more" || f.Hint == "" || len(list) > 3 {
		t.Errorf("List of more = %v, %v", list, err)
	}
	if list, err := d.List("other", 3); list != nil || err != nil {
		t.Errorf("List of another = %v, %v", list, err)
	}
}

// links makes a state directory in which something is a link to somebody else's file or
// directory, and returns the file that must not change.
func links(t *testing.T, link string, inside bool) (d Dir, victim string) {
	t.Helper()
	dir := t.TempDir()
	d = Dir{Path: filepath.Join(dir, ".mwp")}
	target := filepath.Join(dir, "victim")
	if inside {
		target = filepath.Join(dir, filepath.Dir(link), "victim")
	}
	victim = target
	if !strings.HasSuffix(link, ".json") && !strings.HasSuffix(link, "locks/sessions") && !strings.HasSuffix(link, newName) {
		victim = filepath.Join(target, "a.json")
		if link == ".mwp" {
			victim = filepath.Join(target, "sessions", "a.json")
		}
	}
	put(t, victim, "somebody's")
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
		t.Skip(err)
	}
	return d, victim
}

// TestLinks: a repository can carry links where sessions belong. Nothing is read, written
// or removed through one, and they stay.
func TestLinks(t *testing.T) {
	ctx := context.Background()
	read := func(d Dir) error {
		b, err := d.Read("sessions", "a.json", 1000)
		if b != nil {
			t.Errorf("Read = %q", b)
		}
		return err
	}
	list := func(d Dir) error { _, err := d.List("sessions", 10); return err }
	update := func(d Dir) error { return d.Update(ctx, "sessions", "a.json", 1000, write("mine")) }
	remove := func(d Dir) error {
		was, err := d.Remove(ctx, "sessions", "a.json")
		if was {
			t.Error("removed")
		}
		return err
	}
	for _, c := range []struct {
		link string
		do   map[string]func(Dir) error
	}{
		{".mwp", map[string]func(Dir) error{"Read": read, "List": list, "Update": update, "Remove": remove}},
		{".mwp/sessions", map[string]func(Dir) error{"Read": read, "List": list, "Update": update, "Remove": remove}},
		{".mwp/sessions/a.json", map[string]func(Dir) error{"Read": read, "Update": update, "Remove": remove}},
		{".mwp/cache", map[string]func(Dir) error{"Update": update}},
		{".mwp/cache/locks", map[string]func(Dir) error{"Update": update}},
		{".mwp/cache/locks/sessions", map[string]func(Dir) error{"Update": update}},
	} {
		for name, do := range c.do {
			for _, inside := range []bool{false, true} {
				d, victim := links(t, c.link, inside)
				err := do(d)
				var f *FileError
				if !errors.As(err, &f) || !errors.Is(err, cas.ErrLink) && !strings.HasSuffix(c.link, "locks/sessions") {
					t.Errorf("%s, %s a link, %v: %v", name, c.link, inside, err)
				}
				if got := content(t, victim); got != "somebody's" {
					t.Errorf("%s, %s a link, %v: the victim is now %q", name, c.link, inside, got)
				}
				if got := namesIn(t, filepath.Dir(victim)); strings.Contains(got, "new.tmp") {
					t.Errorf("%s, %s a link, %v: beside the victim is %s", name, c.link, inside, got)
				}
				if info, err := os.Lstat(filepath.Join(filepath.Dir(d.Path), c.link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("%s, %s a link, %v: it is gone: %v", name, c.link, inside, err)
				}
			}
		}
	}
	// A new file is not written through a link either, which makes way for it.
	d, victim := links(t, ".mwp/sessions/"+newName, false)
	if err := update(d); err != nil || content(t, victim) != "somebody's" {
		t.Errorf("Update = %v, the victim is now %q", err, content(t, victim))
	}
	if got := namesIn(t, filepath.Join(d.Path, "sessions")); got != ".gitignore a.json" {
		t.Errorf("the directory holds %s", got)
	}
}

// TestNoFile: what is no regular file is an error, and stays.
func TestNoFile(t *testing.T) {
	d := workspace(t)
	ctx := context.Background()
	inner := filepath.Join(d.Path, "sessions", "a.json", "file")
	put(t, inner, "mine")
	put(t, filepath.Join(d.Path, "other"), "mine")
	for call, err := range map[string]error{
		"Read":          second(d.Read("sessions", "a.json", 10)),
		"Update":        d.Update(ctx, "sessions", "a.json", 10, write("")),
		"Remove":        second(d.Remove(ctx, "sessions", "a.json")),
		"Read in file":  second(d.Read("other", "a.json", 10)),
		"List of file":  second(d.List("other", 10)),
		"Update in one": d.Update(ctx, "other", "a.json", 10, write("")),
		"Remove in one": second(d.Remove(ctx, "other", "a.json")),
	} {
		var f *FileError
		if !errors.Is(err, cas.ErrLink) || !errors.As(err, &f) || f.Hint == "" {
			t.Errorf("%s = %v", call, err)
		}
	}
	if content(t, inner) != "mine" || content(t, filepath.Join(d.Path, "other")) != "mine" {
		t.Error("something changed")
	}
}

func second[T any](_ T, err error) error { return err }

// TestUpdateFails: an error at any step leaves the old content or none, nothing half, and
// what is said fits sessions.
func TestUpdateFails(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []string{"mkdir .mwp.d", "write .gitignore", "mkdir cache", "mkdir locks", "mkdir sessions", "write new.tmp", "rename a.json"} {
		d := besideFile(t)
		err := failing(d, at, stop).Update(context.Background(), "sessions", "a.json", 10, write("new"))
		var f *FileError
		if !errors.Is(err, stop) || !errors.As(err, &f) {
			t.Errorf("%s: %v", at, err)
		}
		if b := session(t, d, "a.json"); b != nil {
			t.Errorf("%s: the file holds %q", at, b)
		}
		if list, err := d.List("sessions", 0); len(list) > 0 || err != nil {
			t.Errorf("%s: left %v, %v", at, list, err)
		}
		update(t, d, "a.json", "next")
	}
	d := workspace(t)
	update(t, d, "a.json", "old")
	remove := func(d Dir) error { return second(d.Remove(context.Background(), "sessions", "a.json")) }
	forget := func(d Dir) error {
		return d.Update(context.Background(), "sessions", "a.json", 10, func([]byte) ([]byte, error) { return nil, nil })
	}
	for _, do := range []func(Dir) error{remove, forget} {
		err := do(failing(d, "remove a.json", os.ErrPermission))
		var f *FileError
		if !errors.Is(err, ErrUnwritable) || !errors.As(err, &f) || f.Message != "remove "+filepath.Join(d.Path, "sessions", "a.json")+": permission denied" ||
			f.Hint != "the directory has to be readable and writable to keep sessions" {
			t.Errorf("without permission: %v", err)
		}
	}
	err := failing(d, "write new.tmp", syscall.ENOSPC).Update(context.Background(), "sessions", "a.json", 10, write("new"))
	if f, _ := errors.AsType[*FileError](err); !errors.Is(err, ErrUnwritable) || f == nil || f.Hint != "make room on the disk and run the command again" {
		t.Errorf("on a full disk: %v", err)
	}
	if got := session(t, d, "a.json"); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
}

// TestGoroutines: many update one file and their own at the same time, and nothing is
// lost; whoever reads meanwhile sees whole contents that never go back.
func TestGoroutines(t *testing.T) {
	d := workspace(t)
	const writers, each = 6, 15
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				count(t, d, "shared.json")
				update(t, d, fmt.Sprintf("own-%d.json", w), strconv.Itoa(i))
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for last := 0; ; {
		if n := counted(t, d, "shared.json"); n < last {
			t.Fatalf("read %d after %d", n, last)
		} else {
			last = n
		}
		select {
		case <-done:
			if n := counted(t, d, "shared.json"); n != writers*each {
				t.Errorf("counted %d, want %d", n, writers*each)
			}
			if list, err := d.List("sessions", 100); len(list) != writers+1 || err != nil {
				t.Errorf("List = %v, %v", list, err)
			}
			return
		default:
		}
	}
}

// count adds one to the number in a session's file.
func count(t testing.TB, d Dir, name string) {
	t.Helper()
	err := d.Update(context.Background(), "sessions", name, 100, func(old []byte) ([]byte, error) {
		n, err := number(old)
		return fmt.Appendf(nil, "%d\n", n+1), err
	})
	if err != nil {
		t.Error(err)
	}
}

func counted(t testing.TB, d Dir, name string) int {
	t.Helper()
	n, err := number(session(t, d, name))
	if err != nil {
		t.Error(err)
	}
	return n
}

// number reads what count wrote, whole.
func number(text []byte) (int, error) {
	if text == nil {
		return 0, nil
	}
	digits, ok := strings.CutSuffix(string(text), "\n")
	if !ok {
		return 0, fmt.Errorf("half a file: %q", text)
	}
	return strconv.Atoi(digits)
}

func BenchmarkRead(b *testing.B) {
	d := workspace(b)
	for _, size := range []int{0, 4 << 10, 256 << 10} {
		put(b, filepath.Join(d.Path, "sessions", "a.json"), strings.Repeat("x", size))
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			for b.Loop() {
				if text, err := d.Read("sessions", "a.json", 1<<20); err != nil || len(text) != size {
					b.Fatal(len(text), err)
				}
			}
		})
	}
	b.Run("missing", func(b *testing.B) {
		for b.Loop() {
			if text, err := d.Read("sessions", "b.json", 1<<20); err != nil || text != nil {
				b.Fatal(len(text), err)
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	d := workspace(b)
	text := strings.Repeat("x", 4<<10)
	for b.Loop() {
		if err := d.Update(context.Background(), "sessions", "a.json", 1<<20, write(text)); err != nil {
			b.Fatal(err)
		}
	}
}
