package mwp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp"
)

// TestCloseReleasesFiles: many questions share the open files of one cache, and
// Close lets them go; the Workspace can be asked again.
func TestCloseReleasesFiles(t *testing.T) {
	root := unpack(t, "-- .mwp --\ndescription = \"d\"\n-- a/.mwp-context.md --\nA\n-- b/x --\n")
	// Only what lies below root counts: other tests of the process leave files to the
	// garbage collector, which closes them when it likes.
	open := func() (n int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("SKIP: no /proc/self/fd to count open files in")
		}
		for _, fd := range fds {
			if name, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(name, root) {
				n++
			}
		}
		return n
	}
	ask := func(w *mwp.Workspace, target string) {
		t.Helper()
		r, err := w.Map(context.Background(), mwp.Request{Target: filepath.Join(root, target)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{"a/1", "a/2", "a/3", "b/1"} {
		w := mwp.Open(mwp.Options{Dir: root}) // each leaves a segment behind
		ask(w, target)
		w.Close()
	}
	before := open()
	w := mwp.Open(mwp.Options{Dir: root})
	ask(w, "a/4")
	used := open() - before
	for _, target := range []string{"a/5", "a/6", "b/2", "b/3"} {
		ask(w, target)
	}
	if used == 0 || open()-before > used+4 {
		t.Errorf("one question opened %d files, five %d", used, open()-before)
	}
	if err := w.Close(); err != nil || open() > before {
		t.Errorf("Close = %v, %d files open, want no more than %d", err, open(), before)
	}
	ask(w, "a/7")
	w.Close()
}
