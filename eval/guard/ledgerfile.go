package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/model-workspace-protocol/mwp/cas"
)

var (
	// ErrUnwritable is the reason of a FileError when the system lets nothing be
	// written: a read-only tree, a full disk, no permission. What was to be kept is
	// lost, what was computed still holds.
	ErrUnwritable = errors.New("cannot be written")
	// ErrBusy is the reason when another process held a lock for too long (D-103).
	ErrBusy = errors.New("locked by another process")
	// ErrKey is the reason when the per-user key cannot be used.
	ErrKey = errors.New("no usable key")
)

// FileError is why one of this package's files could not be read or changed. It wraps
// one of the reasons above, cas.ErrLink for something else than a file or directory of
// its own, or what the context or the system said.
type FileError struct {
	// Message is one sentence, safe for a terminal; Hint, if not empty, what to do next.
	Message, Hint string

	cause error
}

// Error returns the message.
func (e *FileError) Error() string { return e.Message }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.cause }

// unfit is the error of a file that is not what it should be, readable of one that
// others can read.
type unfit string

func (u unfit) Error() string { return string(u) }

type readable string

func (r readable) Error() string { return string(r) }

// fileFailed returns the error of doing something to a path.
func fileFailed(err error, what, path string) error {
	var known *FileError
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &FileError{Message: what + " " + shown(path) + ": " + plain(err).Error(), cause: err}
	switch {
	case errors.Is(err, cas.ErrLink):
		e.Message = shown(path) + ": " + cas.ErrLink.Error()
		e.Hint = "see where it came from, and move it away"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = what + " " + shown(path) + ": given up"
	case errors.Is(err, syscall.ENOSPC):
		e.Hint, e.cause = "make room on the disk and run the command again", errors.Join(ErrUnwritable, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Hint, e.cause = "the directory has to be writable to keep results and decisions", errors.Join(ErrUnwritable, err)
	}
	return e
}

// plain takes the names of calls and files from an error.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if p, ok := errors.AsType[*os.LinkError](err); ok {
		return p.Err
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return err
}

// shown makes text of strangers fit for one line on a terminal or in a note:
// everything that does not print is written out, the end of a long one is cut off.
func shown(s string) string {
	const limit = 500
	var b strings.Builder
	n := 0
	for i, c := range s {
		if n++; n > limit {
			b.WriteRune('…')
			break
		}
		switch {
		case c == unicode.ReplacementChar && s[i] != 0xef:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
	}
	return b.String()
}

// lockPatience is how long the lock of a side file is waited for (D-103).
const lockPatience = 5 * time.Second

// Project is the state directory of a workspace: where guards.cache.json, trust.lock
// and discoveries.md lie. Its methods may be called at the same time, by any number
// of processes. What is done stays in the directory: a repository can carry links
// under these names, and nothing is read or written through one.
type Project struct {
	// State is the absolute path of the directory, ".mwp" or ".mwp.d". Its parent must
	// exist; it is made by the first write.
	State string
	// Ignore is the text of its .gitignore file, which the first write brings along
	// (D-09). An existing file is left as it is, and "" makes none.
	Ignore string
	// Waiting, if not nil, is called once per lock, with its path, after a second of
	// waiting for it.
	Waiting func(lock string)

	patience time.Duration
	step     func(op, name string) error
}

// Personal is the per-user state directory, outside every repository.
type Personal struct {
	// Dir is its absolute path. It and its parents are made, for its owner only, by the
	// first write.
	Dir string

	patience time.Duration
	step     func(op, name string) error
}

// side is an open directory with side files. What is done in it stays in it,
// wherever links in it lead.
type side struct {
	root *os.Root
	path string
	perm fs.FileMode // of new files
	// step, when set, is asked before each change and may refuse it; tests end the
	// process there.
	step func(op, name string) error
}

func (s *side) close() { s.root.Close() }

func (s *side) join(name string) string { return filepath.Join(s.path, name) }

func (s *side) ask(op, name string) error {
	if s.step == nil {
		return nil
	}
	return s.step(op, name)
}

// open opens the state directory; it returns nil when there is none and none is to be
// made.
func (p Project) open(create bool) (*side, error) {
	around := filepath.Dir(p.State)
	root, err := os.OpenRoot(around)
	if err != nil {
		return nil, fileFailed(err, "open", around)
	}
	parent := &side{root: root, path: around, perm: projectPerm, step: p.step}
	defer parent.close()
	s, err := parent.enter(filepath.Base(p.State), create)
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}

// enter opens a directory below another one, which is made if asked for.
func (s *side) enter(name string, create bool) (*side, error) {
	path := s.join(name)
	info, err := s.root.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = s.ask("mkdir", name); err == nil {
			err = s.root.Mkdir(name, 0o777)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fileFailed(err, "make", path)
		}
		info, err = s.root.Lstat(name)
	}
	if err != nil {
		return nil, fileFailed(err, "open", path)
	}
	if !info.IsDir() {
		return nil, fileFailed(cas.ErrLink, "open", path)
	}
	root, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, fileFailed(err, "open", path)
	}
	// It may have become a link between the two calls.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, fileFailed(cas.ErrLink, "open", path)
	}
	return &side{root: root, path: path, perm: s.perm, step: s.step}, nil
}

// locked calls do with the open state directory, under the lock of a name.
func (p Project) locked(ctx context.Context, name string, do func(*side) error) error {
	s, err := p.open(true)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.ignore(p.Ignore); err != nil {
		return err
	}
	path, err := s.lockPath(name)
	if err != nil {
		return err
	}
	unlock, err := takeLock(ctx, path, p.patience, p.Waiting)
	if err != nil {
		return err
	}
	defer unlock()
	return do(s)
}

// Locks returns the directory for the locks of running guards, which is made like
// everything else in the state directory, and through no link.
func (p Project) Locks() (dir string, err error) {
	s, err := p.open(true)
	if err != nil {
		return "", err
	}
	defer s.close()
	if err := s.ignore(p.Ignore); err != nil {
		return "", err
	}
	path, err := s.lockPath("guard")
	return filepath.Dir(path), err
}

const ignoreName = ".gitignore"

// ignore makes a .gitignore file unless something has its name.
func (s *side) ignore(text string) error {
	if _, err := s.root.Lstat(ignoreName); text == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := s.write(ignoreName, []byte(text), quick); err != nil && !errors.Is(err, fs.ErrExist) {
		return fileFailed(err, "make", s.join(ignoreName))
	}
	return nil
}

// lockPath returns the path of a lock. The locks lie in the cache, which is out of
// version control, and whose upkeep leaves unknown names alone.
func (s *side) lockPath(name string) (string, error) {
	cache, err := s.enter("cache", true)
	if err != nil {
		return "", err
	}
	defer cache.close()
	if err := cas.Prepare(cache.path); err != nil {
		return "", fileFailed(err, "write", cache.path)
	}
	locks, err := cache.enter("locks", true)
	if err != nil {
		return "", err
	}
	locks.close()
	return locks.join(name), nil
}

func takeLock(ctx context.Context, path string, patience time.Duration, waiting func(string)) (unlock func() error, err error) {
	if patience == 0 {
		patience = lockPatience
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err = cas.Lock(limited, path, func() {
		if waiting != nil {
			waiting(path)
		}
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, &FileError{
			Message: fmt.Sprintf("lock %s: another process has held it for %v", shown(path), patience),
			Hint:    "run the command again when that process has ended",
			cause:   ErrBusy,
		}
	}
	return unlock, fileFailed(err, "lock", path)
}

// open opens the per-user directory, which is made if asked for. That it is a link is
// the user's choice.
func (p Personal) open(create bool) (*side, error) {
	if create {
		if err := os.MkdirAll(p.Dir, 0o700); err != nil {
			return nil, fileFailed(err, "make", p.Dir)
		}
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, fileFailed(err, "open", p.Dir)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = checkPersonal(info)
	}
	if err != nil {
		root.Close()
		return nil, personalError(err, p.Dir)
	}
	return &side{root: root, path: p.Dir, perm: personalPerm, step: p.step}, nil
}

func personalError(err error, dir string) error {
	err = fileFailed(err, "use the per-user state directory", dir)
	if e, ok := errors.AsType[*FileError](err); ok && e.Hint == "" {
		e.Hint = "give it to this user, with `chmod 700`, or name another one with XDG_STATE_HOME"
	}
	return err
}

// locked calls do with the open per-user directory, under its lock.
func (p Personal) locked(ctx context.Context, do func(*side) error) error {
	s, err := p.open(true)
	if err != nil {
		return err
	}
	defer s.close()
	unlock, err := takeLock(ctx, s.join("lock"), p.patience, nil)
	if err != nil {
		return err
	}
	defer unlock()
	return do(s)
}

// read returns the content of a regular file, nil without one. With more than limit
// bytes, it returns limit+1 of them.
func (s *side) read(name string, limit int64) ([]byte, error) {
	before, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileFailed(err, "read", s.join(name))
	}
	if !before.Mode().IsRegular() {
		return nil, fileFailed(cas.ErrLink, "read", s.join(name))
	}
	f, err := s.openSame(name, os.O_RDONLY, before)
	if err != nil {
		return nil, fileFailed(err, "read", s.join(name))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	return b, fileFailed(err, "read", s.join(name))
}

// openSame opens the regular file that was looked at, without waiting should a pipe
// have taken its place.
func (s *side) openSame(name string, flag int, before fs.FileInfo) (*os.File, error) {
	f, err := s.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		f.Close()
		return nil, errors.Join(cas.ErrLink, err)
	}
	return f, nil
}

// What may be done with a new file.
const (
	projectPerm  = 0o666
	personalPerm = 0o600
)

// Whether the bytes of a file are on the device before it has its name.
const (
	quick   = false
	durable = true
)

// write makes a file that does not exist yet.
func (s *side) write(name string, content []byte, sync bool) error {
	if err := s.ask("write", name); err != nil {
		return err
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.perm)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.root.Remove(name)
	}
	return err
}

// replace gives a file another content, or makes it. Another process sees the old
// content or the new, never a part. The caller holds the lock, so that one name
// serves for every new file, and a killed process leaves at most one behind; and has
// read the file, which refuses links. One that appears since is replaced, not followed.
func (s *side) replace(name string, content []byte, sync bool) error {
	path, temp := s.join(name), name+".tmp"
	if err := s.root.RemoveAll(temp); err != nil {
		return fileFailed(err, "write", path)
	}
	if err := s.write(temp, content, sync); err != nil {
		return fileFailed(err, "write", path)
	}
	if old, err := s.root.Lstat(name); err == nil && old.Mode().IsRegular() && s.perm == projectPerm {
		// The umask does not apply to what the old file was allowed.
		s.root.Chmod(temp, old.Mode().Perm())
	}
	err := s.ask("rename", name)
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		s.root.Remove(temp)
		return fileFailed(err, "write", path)
	}
	return nil
}
