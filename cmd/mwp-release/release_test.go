package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sources makes a module that looks to this program like ours and takes no time to build.
func sources(t *testing.T, dir string) {
	t.Helper()
	const program = `package main

import "os"

var stamp string

func main() {
	for _, a := range append(os.Args[1:], stamp) {
		os.Stdout.WriteString(a + "\n")
	}
}
`
	for name, text := range map[string]string{
		"go.mod": "module example.com/mwp\n\ngo 1.26\n", "LICENSE": "Do as you like.\n", "README.md": "# mwp\n", "CHANGELOG.md": "# Changelog\n",
		"cmd/mwp/main.go": program, "cmd/mwp-git/main.go": program,
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTwoBuilds builds one platform in two directories whose files have other times, and
// compares every byte of what a release consists of.
func TestTwoBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds four programs")
	}
	host := platform{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(platforms, host) {
		t.Skipf("NOT CHECKED: no release is made for %s/%s", host.os, host.arch)
	}
	var names []string
	var built [2]map[string]string
	for i := range built {
		root := filepath.Join(t.TempDir(), strings.Repeat("longer", i))
		sources(t, filepath.Join(root, "source"))
		old := time.Unix(1e9*int64(i+1), 0)
		if err := os.Chtimes(filepath.Join(root, "source", "README.md"), old, old); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(root, "dist")
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"-version", "v1.2.3-rc.1", "-source", filepath.Join(root, "source"), "-o", out, "-only", host.os + "/" + host.arch}, &stdout, &stderr)
		if code != 0 {
			t.Fatalf("status %d: %s", code, &stderr)
		}
		built[i] = map[string]string{}
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			built[i][e.Name()] = string(data)
			names = append(names, e.Name())
		}
		if !strings.HasPrefix(stdout.String(), built[i][sumsFile]) || built[i][sumsFile] == "" {
			t.Errorf("stdout %q does not begin with the digests", &stdout)
		}
	}
	for _, name := range names {
		if built[0][name] != built[1][name] {
			t.Errorf("%s differs", name)
		}
	}
	archive := names[len(names)-1]
	if len(names) != 2 || names[0] != sumsFile || !strings.HasPrefix(archive, "mwp-1.2.3-rc.1-"+host.os) {
		t.Errorf("wrote %q", names)
	}
	if host.os != "windows" {
		if got := untar(t, built[0][archive])["mwp.1"]; got != "help\nman\nv1.2.3-rc.1\n" {
			t.Errorf("the man page is %q", got)
		}
	}
}

// untar returns the files by their names in the directory, and checks what their headers
// say of who made them and when.
func untar(t *testing.T, archive string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip names %q at %v", z.Name, z.ModTime)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(stamped) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s: %+v", h.Name, h)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		files[name] = string(data)
	}
}

var packed = []file{{"b/c", []byte("text"), false}, {"a", []byte("\x7fELF"), true}}

func TestPackTar(t *testing.T) {
	name, data, err := pack("x-1", false, packed)
	if err != nil || name != "x-1.tar.gz" {
		t.Fatalf("pack = %q, %v", name, err)
	}
	if diff := cmp.Diff(map[string]string{"a": "\x7fELF", "b/c": "text"}, untar(t, string(data))); diff != "" {
		t.Error(diff)
	}
	z, _ := gzip.NewReader(bytes.NewReader(data))
	r := tar.NewReader(z)
	for _, want := range []struct {
		name string
		mode int64
	}{{"x-1/a", 0o755}, {"x-1/b/c", 0o644}} {
		h, err := r.Next()
		if err != nil || h.Name != want.name || h.Mode != want.mode {
			t.Errorf("next is %+v, %v, want %+v", h, err, want)
		}
	}
}

func TestPackZip(t *testing.T) {
	name, data, err := pack("x-1", true, packed)
	if err != nil || name != "x-1.zip" {
		t.Fatalf("pack = %q, %v", name, err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name+" "+f.Mode().String())
		if !f.Modified.Equal(stamped) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if want := []string{"x-1/a -rwxr-xr-x", "x-1/b/c -rw-r--r--"}; !slices.Equal(names, want) {
		t.Errorf("the zip holds %q, want %q", names, want)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	sources(t, dir)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-only", "plan9/amd64"}, 2, `no release is made for "plan9/amd64"`},
		{[]string{"v1.2.3"}, 2, "expected no arguments"},
		{[]string{"-no-such-flag"}, 2, "not defined"},
		{[]string{"-version", "1.2.3"}, 1, "is no version"},
		{[]string{"-version", "v01.2.3"}, 1, "is no version"},
		{[]string{"-version", "v1.2.3,x"}, 1, "is no version"},
		{nil, 1, "there is no tag"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"-source", dir, "-o", filepath.Join(dir, "out")}, c.args...)
		if code := run(context.Background(), args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%q: status %d, %s%s, want %d and %q", c.args, code, &stdout, &stderr, c.code, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); !os.IsNotExist(err) {
		t.Error("a refused release has left a directory")
	}
}

func TestStamp(t *testing.T) {
	for _, c := range []struct {
		r    release
		want string
	}{
		{release{version: "v1.2.3"}, "v1.2.3"},
		{release{version: "v1.2.3", commit: "abc"}, "v1.2.3,abc"},
		{release{version: "v1.2.3", commit: "abc", modified: true}, "v1.2.3,abc,modified"},
	} {
		if got := c.r.stamp(); got != c.want {
			t.Errorf("stamp of %+v = %q, want %q", c.r, got, c.want)
		}
	}
}

func TestLicence(t *testing.T) {
	dir := t.TempDir()
	if _, err := licence(dir); err == nil {
		t.Error("a module without a licence has one")
	}
	for name, text := range map[string]string{"LICENCE.txt": "\r\nOne.\r\n", "NOTICE": "Two.", "licenses.go": "package x", "README": "Three."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := licence(dir); err != nil || got != "\nOne.\n\nTwo.\n" {
		t.Errorf("licence = %q, %v", got, err)
	}
}
