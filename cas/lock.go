package cas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// waitingAfter is how long a lock is waited for in silence.
	waitingAfter = time.Second
	// The kernel has no queue that a context could leave, so the lock is tried
	// again: soon at first, because most holders write one small file.
	firstRetry = time.Millisecond
	lastRetry  = 50 * time.Millisecond
)

// errHeld is what a lock that another process holds is reported as.
var errHeld = errors.New("held by another process")

// Lock takes the advisory lock of the file at path, which it creates in an
// existing directory, and returns what releases it. It waits until ctx is done
// and then returns an error that wraps ctx's. After a second of waiting it calls
// waiting once, if not nil, from the same goroutine.
//
// The lock excludes goroutines of this process as well as other processes. The
// kernel releases it when the process ends in whatever way. The file stays:
// removing it would let two holders lock two files of the same name.
func Lock(ctx context.Context, path string, waiting func()) (unlock func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	p := patience{call: waiting}
	defer p.stop()
	release, err := inProcess.acquire(ctx, lockName(path), &p)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		f, err := lockPath(path)
		if err == nil {
			return unlocker(f, release), nil
		}
		if err == errHeld {
			err = p.wait(ctx, nil, delay)
		}
		if err != nil {
			release()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// TryLock takes the lock like Lock if nobody holds it. When somebody does, ok is
// false without an error.
func TryLock(path string) (unlock func() error, ok bool, err error) {
	release, ok := inProcess.try(lockName(path))
	if !ok {
		return nil, false, nil
	}
	f, err := lockPath(path)
	if err != nil {
		release()
		if err == errHeld {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	return unlocker(f, release), true, nil
}

// unlocker returns a function that releases both locks, once.
func unlocker(f *os.File, release func()) func() error {
	return sync.OnceValue(func() error {
		defer release()
		return f.Close() // which releases the file's lock
	})
}

// lockPath opens and locks the file at a path, anew when it was replaced between
// the two.
func lockPath(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
		if err != nil {
			return nil, err
		}
		current, err := lockOpened(f, path)
		if current && err == nil {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lockOpened locks an open file and reports whether it is still the one at the
// path. Somebody may have removed the directory meanwhile, and the lock of a file
// that nobody else can open excludes nobody.
func lockOpened(f *os.File, path string) (current bool, err error) {
	if err := tryLockFile(f); err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

// lockName makes two spellings of a path one. When it fails, the file's own lock
// still excludes.
func lockName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// patience waits and speaks up once.
type patience struct {
	call  func()
	timer *time.Timer
}

// wait returns nil when got is ready or, without got, when delay has passed; and
// the context's error when that is done first.
func (p *patience) wait(ctx context.Context, got chan<- struct{}, delay time.Duration) error {
	if p.timer == nil {
		p.timer = time.NewTimer(waitingAfter)
	}
	var retry <-chan time.Time
	if got == nil {
		t := time.NewTimer(delay)
		defer t.Stop()
		retry = t.C
	}
	for {
		select {
		case got <- struct{}{}:
			return nil
		case <-retry:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-p.timer.C:
			if p.call != nil {
				p.call()
			}
		}
	}
}

func (p *patience) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// inProcess comes before the files' locks, so that goroutines queue without
// asking the kernel again and again.
var inProcess keyedMutex

// keyedMutex is a mutex per name.
type keyedMutex struct {
	mu   sync.Mutex // guards held and the users of its locks
	held map[string]*keyedLock
}

type keyedLock struct {
	token chan struct{} // holds one element while locked
	users int           // holder and waiters
}

// enter registers a user of the lock of a name.
func (m *keyedMutex) enter(name string) *keyedLock {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.held[name]
	if l == nil {
		if m.held == nil {
			m.held = map[string]*keyedLock{}
		}
		l = &keyedLock{token: make(chan struct{}, 1)}
		m.held[name] = l
	}
	l.users++
	return l
}

// leave forgets the lock after its last user.
func (m *keyedMutex) leave(name string, l *keyedLock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(m.held, name)
	}
}

// try locks a name if it is free.
func (m *keyedMutex) try(name string) (release func(), ok bool) {
	l := m.enter(name)
	select {
	case l.token <- struct{}{}:
		return func() { <-l.token; m.leave(name, l) }, true
	default:
		m.leave(name, l)
		return nil, false
	}
}

// acquire locks a name, waiting until ctx is done.
func (m *keyedMutex) acquire(ctx context.Context, name string, p *patience) (release func(), err error) {
	l := m.enter(name)
	select {
	case l.token <- struct{}{}:
	default:
		if err := p.wait(ctx, l.token, 0); err != nil {
			m.leave(name, l)
			return nil, err
		}
	}
	return func() { <-l.token; m.leave(name, l) }, nil
}
