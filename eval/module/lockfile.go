package module

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	// maxLockBytes is more than the longest lock file that pin.ParseLock takes.
	maxLockBytes = 16 << 20
	lockTemp     = lockName + ".tmp"
)

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// readLock returns the lock file's records, none when there is no file.
func (s *Store) readLock() (pin.Lock, error) {
	state, err := s.enter(false)
	if err != nil || state == nil {
		return pin.Lock{}, err
	}
	defer state.close()
	return state.readLock()
}

func (a *area) readLock() (pin.Lock, error) {
	name := filepath.Join(a.path, lockName)
	text, err := a.read(lockName, maxLockBytes)
	switch {
	case isAbsent(err):
		return pin.Lock{}, nil
	case err == errNotRegular, err == errTooLarge:
		return pin.Lock{}, &Error{
			Code: LockInvalid, Message: show(name) + ": expected a lock file, found one that is " + err.Error(),
			Hint: "restore the file from version control", cause: err,
		}
	case err != nil:
		return pin.Lock{}, failed(err, "read", name)
	}
	lock, bad := pin.ParseLock(text)
	if len(bad) == 0 {
		return lock, nil
	}
	e := &Error{Code: LockInvalid, Message: show(name) + ":" + bad[0].Error(), Hint: bad[0].Hint, cause: bad[0]}
	if n := len(bad) - 1; n > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", n)
	}
	return pin.Lock{}, e
}

// lockWritable refuses a lock file that somebody made read-only. Replacing it
// would work all the same, and is not what they want.
func (s *Store) lockWritable() error {
	state, err := s.enter(false)
	if err != nil || state == nil {
		return err
	}
	defer state.close()
	if info, err := state.root.Lstat(lockName); err == nil && info.Mode().Perm()&0o222 == 0 {
		return &Error{
			Code: LockInvalid, Message: show(filepath.Join(state.path, lockName)) + " is read-only, and a reference is to be recorded in it",
			Hint: "make it writable, or pin the reference elsewhere and commit the file",
		}
	}
	return nil
}

// record adds a record to the lock file. The caller holds the install lock and
// read the file under it. The bytes are on the device before they have the name: a
// pin is not computed again.
func (a *area) record(lock pin.Lock, r pin.Record) error {
	if old, ok := lock.Find(r.Key); ok && old == r {
		return nil
	}
	lock.Set(r)
	perm := fs.FileMode(0o666)
	info, err := a.root.Lstat(lockName)
	if err == nil {
		perm = info.Mode().Perm()
	}
	// Only a killed process leaves one.
	if err := a.remove(lockTemp); err != nil {
		return err
	}
	if err := a.write(lockTemp, pin.AppendLock(nil, lock), perm, true); err != nil {
		return err
	}
	if info != nil {
		// The umask does not apply to what the old file was allowed.
		a.root.Chmod(lockTemp, perm)
	}
	if err := a.rename(lockTemp, lockName); err != nil {
		a.remove(lockTemp)
		return err
	}
	a.flush()
	return nil
}
