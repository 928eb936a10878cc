package cas

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLockExcludesGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	counter := 0 // -race sees whether the lock orders its uses
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				unlock, err := Lock(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				counter++
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if counter != 160 {
		t.Errorf("counted %d, want 160", counter)
	}
	if n := len(inProcess.held); n != 0 {
		t.Errorf("%d locks are remembered after the last use", n)
	}
}

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, ok, err := TryLock(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := TryLock(path); ok || err != nil {
		t.Errorf("TryLock of a held lock = %v, %v", ok, err)
	}
	other, ok, err := TryLock(path + "2")
	if !ok || err != nil {
		t.Fatalf("TryLock of another path = %v, %v", ok, err)
	}
	defer other()
	for range 2 { // releasing twice is releasing once
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
	again, ok, err := TryLock(path)
	if !ok || err != nil {
		t.Fatalf("TryLock of a released lock = %v, %v", ok, err)
	}
	defer again()
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if _, ok, _ := TryLock(path); ok {
		t.Error("a holder's second release released the next holder's lock")
	}
}

func TestLockWithoutDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "lock")
	if _, err := Lock(t.Context(), path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Lock in a missing directory: %v", err)
	}
	if _, ok, err := TryLock(path); ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TryLock in a missing directory: %v, %v", ok, err)
	}
	if n := len(inProcess.held); n != 0 {
		t.Errorf("%d locks are remembered after failing", n)
	}
}

// A waiter speaks up once after a second, and leaves when its context ends: behind
// a goroutine of this process and behind another process, whose lock is played by
// a file descriptor of its own.
func TestLockWaits(t *testing.T) {
	holders := map[string]func(t *testing.T, path string) (release func()){
		"goroutine": func(t *testing.T, path string) func() {
			unlock, err := Lock(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return func() { unlock() }
		},
		"process": func(t *testing.T, path string) func() {
			f, err := lockPath(path)
			if err != nil {
				t.Fatal(err)
			}
			return func() { f.Close() }
		},
	}
	for name, hold := range holders {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			synctest.Test(t, func(t *testing.T) {
				release := hold(t, path)
				start, said := time.Now(), []time.Duration{}
				waiting := func() { said = append(said, time.Since(start)) }
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				_, err := Lock(ctx, path, waiting)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
					t.Errorf("Lock = %v after %v, want the deadline's error after 3s", err, time.Since(start))
				}
				if len(said) != 1 || said[0] != waitingAfter {
					t.Errorf("waiting was called at %v, want once after 1s", said)
				}
				got := make(chan error)
				go func() {
					unlock, err := Lock(t.Context(), path, nil)
					if err == nil {
						err = unlock()
					}
					got <- err
				}()
				time.Sleep(time.Minute) // of the bubble's clock
				release()
				if err := <-got; err != nil {
					t.Errorf("Lock after the release: %v", err)
				}
				ctx, cancel = context.WithCancel(t.Context())
				cancel()
				if _, err := Lock(ctx, path, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("Lock with a context that is done: %v", err)
				}
			})
		})
	}
}

// Somebody who removes the lock file makes a new one, and the lock is that one's.
func TestLockFileRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := lockPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Skipf("NOT TESTED: an open file cannot be removed here: %v", err)
	}
	if current, err := lockOpened(f, path); current || err != nil {
		t.Errorf("lockOpened of a removed file = %v, %v", current, err)
	}
	unlock, err := Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if current, err := lockOpened(f, path); current || err != nil {
		t.Errorf("lockOpened of a replaced file = %v, %v", current, err)
	}
	if g, err := lockPath(path); err != errHeld {
		t.Errorf("the new file is not locked: %v, %v", g, err)
	}
}
