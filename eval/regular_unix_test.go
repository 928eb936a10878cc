//go:build unix

package eval

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
)

// TestOpeningWhatIsNoFile holds what is opened when a path becomes something else
// between a look at it and the opening: no link is followed, and of nothing else is a
// byte read.
func TestOpeningWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o644), os.Symlink("file", at("link")), os.Mkdir(at("dir"), 0o755), syscall.Mkfifo(at("pipe"), 0o644),
	} {
		if err != nil {
			t.Skip("NOT TESTED:", err)
		}
	}
	for name, want := range map[string]graph.FileType{"dir": graph.Directory, "pipe": graph.Other} {
		if b, before, _, err := readRegular(at(name), 10); b != nil || before.Type != want || err != nil {
			t.Errorf("readRegular of a %v = %q, %v, %v", want, b, before.Type, err)
		}
		if d, n, before, _, err := sumRegular(at(name)); !d.IsZero() || n != 0 || before.Type != want || err != nil {
			t.Errorf("sumRegular of a %v = %v, %d, %v, %v", want, d, n, before.Type, err)
		}
	}
	if _, _, _, err := readRegular(at("link"), 10); !linkError(err) {
		t.Errorf("readRegular of a link = %v", err)
	}
	if _, _, _, _, err := sumRegular(at("link")); !linkError(err) {
		t.Errorf("sumRegular of a link = %v", err)
	}
	if d, n, before, after, err := sumRegular(at("file")); err != nil || n != 4 || before != after || d != cas.Sum([]byte("text")) {
		t.Errorf("sumRegular of a file = %v, %d, %v", d, n, err)
	}
}
