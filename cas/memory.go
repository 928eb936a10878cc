package cas

import "sync"

// Memory is a store that lives and dies with the process: for tests, and for runs
// that may not touch the disk.
type Memory struct {
	mu   sync.RWMutex // guards kept
	kept pending
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Value implements Store.
func (m *Memory) Value(d Digest) ([]byte, error) {
	m.mu.RLock()
	b, ok := m.kept.value(d)
	m.mu.RUnlock()
	if !ok {
		return nil, miss("no such value")
	}
	return checked(d, b)
}

// PutValue implements Store.
func (m *Memory) PutValue(d Digest, b []byte) error {
	if len(b) > MaxSize {
		return errTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.putValue(d, b)
	return nil
}

// Actions implements Store.
func (m *Memory) Actions(k Key) [][]byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.kept.newest(k)
}

// PutAction implements Store.
func (m *Memory) PutAction(k Key, b []byte) error {
	if len(b) > MaxSize {
		return errTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.putAction(k, b)
	return nil
}

// Flush implements Store; there is nowhere to write to.
func (m *Memory) Flush() error { return nil }

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = pending{}
	return nil
}

// checked returns b when its digest is d. A digest of bytes in memory is checked
// as well: it catches the caller that changed them after the put.
func checked(d Digest, b []byte) ([]byte, error) {
	if Sum(b) != d {
		return nil, miss("the bytes put for " + d.String() + " are others")
	}
	return b, nil
}
