package vcs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTree(t *testing.T) {
	hermetic(t)
	files := map[string]string{
		"a.md": "A\n", "docs/b.md": "B", "docs/deep/c.md": "", "docs2/d.md": "D", "sp ace/new\nline": "N", "*": "star", ":(top)x": "magic",
		"cr\r": "R", "binary": "\x00\xff missing\n", "big": strings.Repeat("0123456789abcde\n", 1<<14),
	}
	for _, options := range [][]string{nil, {"--object-format=sha256"}} {
		dir := made(t, files, options...)
		if err := os.Symlink("docs/b.md", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "run", "#!")
		if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", "--all")
		git(t, dir, "update-index", "--add", "--cacheinfo", fmt.Sprintf("160000,%s,sub", git(t, dir, "rev-parse", "HEAD")))
		git(t, dir, "commit", "-q", "-m", "more")
		head := git(t, dir, "rev-parse", "HEAD")
		write(t, dir, "a.md", "changed since\n")
		r := open(t, filepath.Join(dir, "docs"))
		ctx := context.Background()
		for _, c := range []struct {
			under string
			want  []string
		}{
			{"docs", []string{"100644 1 docs/b.md", "100644 0 docs/deep/c.md"}},
			{"docs/deep", []string{"100644 0 docs/deep/c.md"}},
			{"sp ace", []string{"100644 1 sp ace/new\nline"}},
			{"link", []string{"120000 9 link"}},
			{"run", []string{"100755 2 run"}},
			{"sub", []string{"160000 -1 sub"}},
			{"*", []string{"100644 4 *"}},
			{":(top)x", []string{"100644 5 :(top)x"}},
			{"nothing", nil},
		} {
			var got []string
			err := r.ListTree(ctx, head, c.under, func(e Entry) error {
				got = append(got, fmt.Sprintf("%o %d %s", e.Mode, e.Size, e.Path))
				return nil
			})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("ListTree(%q): %v (-want +got):\n%s", c.under, err, diff)
			}
		}
		n := 0
		if err := r.ListTree(ctx, head, "", func(Entry) error { n++; return nil }); err != nil || n != len(files)+3 {
			t.Errorf("ListTree lists %d files, %v, want %d", n, err, len(files)+3)
		}
		readAll(t, r, head, files)
	}
}

func readAll(t *testing.T, r *Repository, head string, files map[string]string) {
	t.Helper()
	ctx := context.Background()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	got := map[string]string{}
	err := r.ReadBlobs(ctx, head, names, func(b Blob) error {
		if b.Path != names[len(got)] || b.Size != int64(len(files[b.Path])) {
			t.Errorf("blob %d is %q with %d bytes", len(got), b.Path, b.Size)
		}
		text, err := io.ReadAll(b.Content)
		got[b.Path] = string(text)
		return err
	})
	if diff := cmp.Diff(files, got); diff != "" || err != nil {
		t.Errorf("ReadBlobs: %v (-want +got):\n%s", err, diff)
	}
	// Content that nobody reads must not end up in the next answer.
	var order []string
	err = r.ReadBlobs(ctx, head, []string{"big", "a.md", "big", "link"}, func(b Blob) error {
		if b.Path != "big" {
			text, _ := io.ReadAll(b.Content)
			order = append(order, string(text))
		}
		return nil
	})
	if diff := cmp.Diff([]string{"A\n", "docs/b.md"}, order); diff != "" || err != nil {
		t.Errorf("ReadBlobs: %v (-want +got):\n%s", err, diff)
	}
	for _, name := range []string{"nothing", "docs", "sub", "no\nthing", "../a.md", "/a.md", "./a.md", "docs/../a.md", "", "."} {
		if err := r.ReadBlobs(ctx, head, []string{"a.md", name}, func(Blob) error { return nil }); !errors.Is(err, ErrNotFound) {
			t.Errorf("ReadBlobs(%q) = %v, want ErrNotFound", name, err)
		}
	}
	stop := errors.New("stop")
	if err := r.ReadBlobs(ctx, head, []string{"big", "big"}, func(Blob) error { return stop }); err != stop {
		t.Errorf("ReadBlobs = %v, want the error of the callback", err)
	}
	if err := r.ListTree(ctx, head, "", func(Entry) error { return stop }); err != stop {
		t.Errorf("ListTree = %v, want the error of the callback", err)
	}
	for _, bad := range []string{"HEAD", "", "--help", strings.Repeat("0", len(head)-1)} {
		if err := r.ListTree(ctx, bad, "", func(Entry) error { return nil }); !errors.Is(err, ErrNotFound) {
			t.Errorf("ListTree(%q) = %v, want ErrNotFound", bad, err)
		}
	}
	if err := r.ListTree(ctx, strings.Repeat("0", len(head)), "", func(Entry) error { return nil }); err == nil {
		t.Error("ListTree lists a commit that does not exist")
	}
}

// TestCancelStream ends git in the middle of an answer.
func TestCancelStream(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"big": strings.Repeat("0123456789abcde\n", 1<<16)})
	r := open(t, dir)
	head, err := r.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = r.ReadBlobs(ctx, head, []string{"big"}, func(b Blob) error {
		cancel()
		_, err := io.Copy(io.Discard, b.Content)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ReadBlobs = %v, want the context's error", err)
	}
}

func TestEntryIsBounded(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{"name\x00", nil}, {"", io.EOF}, {"name", errEnded}, {strings.Repeat("x", maxEntry+1) + "\x00", ErrTooLong},
	} {
		_, err := entry("test", bufio.NewReaderSize(strings.NewReader(c.text), maxEntry), 0)
		if !errors.Is(err, c.want) {
			t.Errorf("entry of %d bytes = %v, want %v", len(c.text), err, c.want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	h := &head{max: 4}
	if n, err := h.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if _, err := h.Write([]byte("de")); !errors.Is(err, ErrTooLong) || !h.over {
		t.Errorf("Write beyond the limit = %v", err)
	}
	var w tail
	for range 100 {
		w.Write([]byte(strings.Repeat("x", 1000)))
	}
	w.Write([]byte("fatal: the end"))
	if got := string(w.text()); len(got) > maxComplaint || !strings.HasSuffix(got, "fatal: the end") {
		t.Errorf("kept %d bytes that end in %q", len(got), got[len(got)-10:])
	}
}
