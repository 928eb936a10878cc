//go:build unix

package main

import (
	"bytes"
	"os/signal"
	"syscall"
	"testing"
)

// TestSignalsEndAnImport: an archive that comes through a pipe may never end, and whoever
// interrupts the import does not wait for it (U-23).
func TestSignalsEndAnImport(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			t.Logf("NOT CHECKED: %v is ignored by whoever runs this test", sig)
			continue
		}
		project(t, waiting)
		c, _ := started(t, "cache", "import", "-", "--unsigned")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var stderr bytes.Buffer
		c.Stderr = &stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the import is reading.
		if _, err := in.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		// Not Wait, which closes the pipe first.
		state, err := c.Process.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := statusOf(state), 128+int(sig); got != want {
			t.Errorf("%v: exit status %d, want %d; stderr %q", sig, got, want, stderr.String())
		}
	}
}
