package module

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// inNamespace runs one of this file's tests again, in a process that may mount
// what only it sees. It returns false in the first process.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const env = "MWP_MODULE_TEST_NAMESPACE"
	if os.Getenv(env) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Skipf("NOT TESTED: cannot mount: %v", err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("NOT TESTED: cannot start a process in a mount namespace: %v", err)
	case err != nil, !strings.Contains(string(out), "--- "):
		t.Errorf("in the namespace: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("NOT TESTED: %s", out)
	}
	return false
}

func mount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("NOT TESTED: cannot mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// TestFullDisk: whichever of the writes does not fit, the error says so, nothing
// is left, and with room the fetch succeeds.
func TestFullDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := newWorld(t)
	disk := filepath.Join(w.dir, "p")
	r := simple("m")
	r.Trees[commit("m")]["large"] = strings.Repeat("x", 16<<10)
	url := w.serve("m", r)
	small := w.serve("s", simple("s"))
	// Each size ends the work at another place.
	full := 0
	for blocks := 1; ; blocks++ {
		if blocks > 100 {
			t.Fatal("never enough room")
		}
		mount(t, disk, fmt.Sprintf("nr_blocks=%d", blocks), 0)
		o := w.fetch(url + "@v1.0.0")
		if o.Err == nil {
			break
		}
		full++
		if code(o.Err) != protocol.IO || !strings.Contains(o.Err.Error(), "no space left") {
			t.Errorf("with %d blocks: %s: %v", blocks, code(o.Err), o.Err)
		}
		if left := w.snapshot(); len(left) > 1 || len(left) == 1 && left[".gitignore"] == "" {
			t.Errorf("with %d blocks, left: %v", blocks, left)
		}
		mount(t, disk, "nr_blocks=1000", syscall.MS_REMOUNT)
		w.must(url + "@v1.0.0")
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Fatal(err)
		}
	}
	if full < 3 {
		t.Errorf("the disk was full only %d times", full)
	}
	// A full disk harms nothing that is there.
	mount(t, disk, "nr_blocks=1000", syscall.MS_REMOUNT)
	w.must(small + "@v1.0.0")
	if problems, err := w.store.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

// TestReadOnlyDisk: what is there is of use, and what is not cannot be fetched.
func TestReadOnlyDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := newWorld(t)
	disk := filepath.Join(w.dir, "p")
	mount(t, disk, "size=1m", 0)
	url := w.serve("m", simple("m"))
	w.must(url + "@v1.0.0")
	w.write("modules/"+commit("m")+"/extra", "")
	before := w.snapshot()
	mount(t, disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY)
	w.must(url + "@v1.0.0")
	o := w.fetch(url + "//pkg/a@v1.0.0")
	if code(o.Err) != protocol.IO || !errors.Is(o.Err, syscall.EROFS) || o.Err.(*Error).Hint == "" {
		t.Errorf("Fetch = %s: %v", code(o.Err), o.Err)
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Error(diff)
	}
}
