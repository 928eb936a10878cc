package cas

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// childEnv makes the test binary a second process that does one thing.
const childEnv = "MWP_CAS_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(strings.Split(what, "\n")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs in the second process.
func child(args []string) error {
	switch args[0] {
	case "lock":
		return childLock(args[1])
	case "flush":
		return childFlush(args[1], args[2])
	case "merge":
		return childMerge(args[1], args[2])
	}
	return childSystem(args)
}

func childCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// childLock takes a lock, says so, and holds it until it is killed.
func childLock(path string) error {
	if _, err := Lock(context.Background(), path, nil); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// A lock excludes other processes and ends with the process that holds it.
func TestKilledProcessReleasesItsLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := childCommand(t, "lock", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if _, ok, err := TryLock(path); ok || err != nil {
		t.Errorf("TryLock while another process holds the lock = %v, %v", ok, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path, nil); err == nil {
		t.Error("Lock succeeded while another process holds the lock")
	}
	got := make(chan error)
	go func() {
		unlock, err := Lock(context.Background(), path, nil)
		if err == nil {
			err = unlock()
		}
		got <- err
	}()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if err := <-got; err != nil {
		t.Errorf("Lock after the holder was killed: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock file is gone: %v", err)
	}
}

const childFlushes = 25

// childFlush puts and flushes values and actions of its own and common ones.
func childFlush(dir, name string) error {
	d := OpenDisk(dir, DiskOptions{MaxSegments: 4})
	defer d.Close()
	for i := range childFlushes {
		for _, v := range []string{fmt.Sprint(name, i), fmt.Sprint("common", i)} {
			d.PutValue(Sum([]byte(v)), []byte(v))
		}
		d.PutAction(Key(Sum(fmt.Append(nil, name, i))), []byte(name))
		d.PutAction(Key{1}, fmt.Append(nil, name, i))
		if err := d.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Processes that flush and merge at the same time lose nothing of each other's.
func TestProcessesFlushAtOnce(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, packsDir)
	const processes = 4
	var wg sync.WaitGroup
	for p := range processes {
		cmd := childCommand(t, "flush", dir, strconv.Itoa(p))
		wg.Go(func() {
			if out, err := cmd.Output(); err != nil {
				t.Errorf("child: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
	d := OpenDisk(dir, DiskOptions{})
	defer d.Close()
	for i := range childFlushes {
		for p := range processes {
			name := strconv.Itoa(p)
			if !has(d, fmt.Sprint(name, i)) {
				t.Errorf("value %d of process %d is lost", i, p)
			}
			if got := d.Actions(Key(Sum(fmt.Append(nil, name, i)))); len(got) != 1 || string(got[0]) != name {
				t.Errorf("action %d of process %d = %q", i, p, got)
			}
		}
		if !has(d, fmt.Sprint("common", i)) {
			t.Errorf("common value %d is lost", i)
		}
	}
	if got := d.Actions(Key{1}); len(got) != MaxActions {
		t.Errorf("%d actions of the common key, want %d", len(got), MaxActions)
	}
	r, err := Fsck(root)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("Fsck = %+v, %v", r, err)
	}
	if files, err := listKept(root); err != nil || r.Segments != len(files) {
		t.Errorf("%d files, %d of them segments: %v", len(files), r.Segments, err)
	}
}

// childMerge flushes until a merge, and kills itself at a step of it.
func childMerge(dir, step string) error {
	d := OpenDisk(dir, DiskOptions{MaxSegments: 1})
	d.step = func(at string) {
		if at == step {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = p.Kill()
			}
			fmt.Println("not killed:", err)
			select {}
		}
	}
	d.PutAction(Key{1}, []byte("last"))
	return d.Flush()
}

// Whenever a merge ends, every record is there, and the next merge cleans up.
func TestKilledMergeLosesNothing(t *testing.T) {
	for _, step := range []string{"gathered", "written", "renamed", "removing"} {
		t.Run(step, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, packsDir)
			w := OpenDisk(dir, DiskOptions{})
			for i := range 5 {
				w.PutAction(Key{1}, fmt.Append(nil, i))
				putFlush(t, w, fmt.Sprint("v", i))
			}
			w.Close()
			before := len(segmentsIn(t, dir))
			if out, err := childCommand(t, "merge", dir, step).Output(); err == nil || len(out) > 0 {
				t.Fatalf("child was not killed: %v: %s", err, out)
			}
			if n := len(segmentsIn(t, dir)); n < before {
				t.Fatalf("%d segments were left of %d: the merge had ended", n, before)
			}
			check := func(d *Disk) {
				t.Helper()
				for i := range 5 {
					if !has(d, fmt.Sprint("v", i)) {
						t.Errorf("value %d is lost", i)
					}
				}
				if got := fmt.Sprintf("%q", d.Actions(Key{1})); got != `["last" "4" "3" "2" "1" "0"]` {
					t.Errorf("Actions = %s", got)
				}
			}
			d := OpenDisk(dir, DiskOptions{MaxSegments: 1})
			defer d.Close()
			check(d)
			putFlush(t, d, "next")
			check(d)
			if n := len(segmentsIn(t, dir)); n != 1 {
				t.Errorf("%d segments after the next merge, want 1", n)
			}
			if r, err := Fsck(root); err != nil || len(r.Problems) > 0 || r.Records != 12 {
				t.Errorf("Fsck = %+v, %v, want 12 records and no problem", r, err)
			}
			// What the killed process was writing goes after an hour.
			if _, err := Trim(root, TrimOptions{Now: func() time.Time { return time.Now().Add(30 * time.Minute) }}); err != nil {
				t.Fatal(err)
			}
			temps := tempsIn(t, dir)
			if want := step == "written"; len(temps) > 0 != want {
				t.Errorf("temporary files after half an hour: %q, want some: %v", temps, want)
			}
			if _, err := Trim(root, TrimOptions{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}); err != nil {
				t.Fatal(err)
			}
			if temps := tempsIn(t, dir); len(temps) > 0 {
				t.Errorf("temporary files after two hours: %q", temps)
			}
			check(d)
		})
	}
}

func tempsIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
