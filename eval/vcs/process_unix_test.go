//go:build unix

package vcs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCancelEndsEverything cancels a push whose remote is busy with a program that
// ignores polite signals.
func TestCancelEndsEverything(t *testing.T) {
	hermetic(t)
	dir := made(t, map[string]string{"x": "1"})
	bare := withRemote(t, dir)
	alive := filepath.Join(place(t), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	// The pipe is open for writing for as long as any of these processes lives.
	write(t, bare, "hooks/pre-receive", "#!/bin/sh\ntrap '' TERM\nexec 3>'"+alive+"'\necho ready >&3\nsleep 1000\nsleep 1000\n")
	if err := os.Chmod(filepath.Join(bare, "hooks", "pre-receive"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "tag", "v1")
	r := open(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pushed := make(chan error, 1)
	go func() { pushed <- r.PushTag(ctx, "origin", "v1") }()
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := io.ReadFull(pipe, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-pushed; !errors.Is(err, context.Canceled) {
		t.Errorf("PushTag = %v, want the context's error", err)
	}
	if _, err := io.ReadAll(pipe); err != nil {
		t.Errorf("waiting for the end of the remote's program: %v", err)
	}
}
