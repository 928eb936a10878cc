package cas

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inNamespace runs a second process that may mount a file system which only it
// sees and which goes away with it.
func inNamespace(t *testing.T, args ...string) {
	t.Helper()
	cmd := childCommand(t, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("NOT TESTED: cannot start a process in a mount namespace: %v", err)
	case strings.HasPrefix(string(out), "cannot mount"):
		t.Skipf("NOT TESTED: %s", out)
	case err != nil || string(out) != "ok\n":
		t.Errorf("child: %v: %s", err, out)
	}
}

func TestFullDisk(t *testing.T) { inNamespace(t, "full", t.TempDir()) }

func TestReadOnlyDisk(t *testing.T) { inNamespace(t, "readonly", t.TempDir()) }

// childSystem runs in the namespace.
func childSystem(args []string) error {
	dir := args[1]
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k")
	}
	if err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	switch args[0] {
	case "full":
		err = childFull(dir)
	case "readonly":
		err = childReadOnly(dir)
	default:
		err = fmt.Errorf("unknown child %q", args)
	}
	if err == nil {
		fmt.Println("ok")
	}
	return err
}

func childFull(dir string) error {
	root := filepath.Join(dir, formatDir)
	d := OpenDisk(filepath.Join(root, packsDir), DiskOptions{MaxSegments: 2})
	small := []byte("small")
	d.PutValue(Sum(small), small)
	if err := d.Flush(); err != nil {
		return err
	}
	// The first is written with the index, the second before it.
	var noise []byte
	for i, size := range []int{200 << 10, 300 << 10} {
		noise = make([]byte, size)
		rand.Read(noise)
		d.PutValue(Sum(noise), noise)
		d.PutAction(Key{1}, fmt.Append(nil, i))
		if err := d.Flush(); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("Flush on a full disk: %v, want ENOSPC", err)
		}
		if b, err := d.Value(Sum(noise)); err != nil || !bytes.Equal(b, noise) {
			return fmt.Errorf("the value is lost: %v", err)
		}
		if len(d.Actions(Key{1})) != i+1 || !has(d, "small") {
			return errors.New("what was there or pending is lost")
		}
		if files, err := listKept(root); err != nil || len(files) != 1 {
			return fmt.Errorf("files %v, %v, want one segment", files, err)
		}
	}
	s := OpenSlots(filepath.Join(root, slotsDir), nil)
	if err := s.Write(Key{1}, small); err != nil {
		return err
	}
	if err := s.Write(Key{1}, noise); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("Write on a full disk: %v, want ENOSPC", err)
	}
	if b, err := s.Read(Key{1}); string(b) != "small" {
		return fmt.Errorf("the slot that could not be replaced is %q, %v", b, err)
	}
	files, err := listKept(root)
	if err != nil || len(files) != 2 {
		return fmt.Errorf("files %v, %v, want one segment and one slot", files, err)
	}
	// There is room again.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		return err
	}
	if err := d.Flush(); err != nil {
		return err
	}
	d.Close()
	d = OpenDisk(filepath.Join(root, packsDir), DiskOptions{})
	defer d.Close()
	if !has(d, string(noise)) || len(d.Actions(Key{1})) != 2 {
		return errors.New("the next flush did not write what was kept")
	}
	return nil
}

func childReadOnly(dir string) error {
	a := OpenArea(filepath.Join(dir, "cache"), nil)
	d := a.Store(DiskOptions{})
	old := []byte("old")
	d.PutValue(Sum(old), old)
	if err := errors.Join(d.Flush(), d.Close(), a.Slots().Write(Key{1}, old)); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	for _, cache := range []string{"cache", "none"} {
		a := OpenArea(filepath.Join(dir, cache), nil)
		d := a.Store(DiskOptions{})
		defer d.Close()
		if has(d, "old") != (cache == "cache") {
			return fmt.Errorf("%s: old value there: %v", cache, has(d, "old"))
		}
		v := []byte("new")
		d.PutValue(Sum(v), v)
		if err := d.Flush(); !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("%s: Flush: %v, want EROFS", cache, err)
		}
		if !has(d, "new") {
			return errors.New("the pending value is lost")
		}
		s := a.Slots()
		if err := s.Write(Key{1}, v); !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("%s: Write: %v, want EROFS", cache, err)
		}
		if b, _ := s.Read(Key{1}); (string(b) == "old") != (cache == "cache") {
			return fmt.Errorf("%s: slot %q", cache, b)
		}
		tomorrow := func() time.Time { return time.Now().Add(25 * time.Hour) }
		if _, _, err := a.TrimIfDue(TrimOptions{Now: tomorrow}); cache == "cache" && !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("TrimIfDue: %v, want EROFS", err)
		}
		if _, err := a.Fsck(); err != nil {
			return err
		}
	}
	return nil
}

// A pipe in a slot's place must not be waited for, a link not followed.
func TestSlotThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	s := OpenSlots(dir, nil)
	if err := s.Write(Key{1}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(s.path(Key{2}), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.path(Key{1}), s.path(Key{3})); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.path(Key{4}), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range byte(3) {
		if b, err := s.Read(Key{i + 2}); !errors.Is(err, ErrAbsent) {
			t.Errorf("Read(%d) = %q, %v, want ErrAbsent", i+2, b, err)
		}
	}
}
