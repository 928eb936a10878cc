package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/model-workspace-protocol/mwp/cas"
)

// Exclusive waits until no other process, and nobody else in this one, has the lock of
// a guard, and takes it. So a guard that two processes want to run at the same time
// runs once: whoever has had to wait reads the record again before running it.
//
// The lock is a file named after the key in lockDir, which is state.Dir.Locks and is made
// for the user alone if it is missing. It stays; removing it while somebody waits would
// make two locks of one. The lock ends with this process, and the guard does not have it. waiting is
// called once after a second, if not nil. The error wraps ctx's when that is done.
func Exclusive(ctx context.Context, lockDir, key string, waiting func()) (unlock func() error, err error) {
	if err := checkName(key); err != nil {
		return nil, fmt.Errorf("lock a guard: %w", err)
	}
	if err := os.MkdirAll(lockDir, 0o700); err != nil {
		return nil, fmt.Errorf("lock a guard: %w", err)
	}
	return cas.Lock(ctx, filepath.Join(lockDir, key+".lock"), waiting)
}
