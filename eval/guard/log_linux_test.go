package guard_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/model-workspace-protocol/mwp/eval/guard"
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

func TestLogReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := guard.WriteLog(dir, "k.log", guard.Log{Command: "old"}); err != nil {
		t.Fatal(err)
	}
	old := read(t, dir+"/k.log")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	asNobody(t, func() {
		for _, d := range []string{dir, dir + "/sub"} {
			if err := guard.WriteLog(d, "k.log", guard.Log{Command: "new"}); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("WriteLog(%s) = %v, want that it is not permitted", d, err)
			}
		}
	})
	if now := read(t, dir+"/k.log"); now != old {
		t.Errorf("the log holds %q", now)
	}
	if names := list(t, dir); len(names) != 1 {
		t.Errorf("left %q", names)
	}
}
