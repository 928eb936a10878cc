//go:build unix

package mwp

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteFileToAPipe: a pipe is written to, also through a link, and stays.
func TestWriteFileToAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe", link); err != nil {
		t.Fatal(err)
	}
	// Open for both, so that neither side waits for the other.
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{pipe, link} {
		if err := WriteFile(path, []byte("map")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if n, err := f.Read(b); err != nil || string(b[:n]) != "map" {
			t.Errorf("the pipe gave %q, %v", b[:n], err)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe became %v, %v", info, err)
	}
}
